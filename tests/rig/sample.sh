#!/bin/bash
# sample.sh [d150] [d1500]: make the samples of the suite `rig`, both where none is named. Idempotent.
# A sample has two sources, web and code, of two shards each; the number is the documents of a source's first shard, the
# second has twice as many. Production's rule that a sample never changes holds here too: what makes it is in the stamp.
set -euo pipefail
HERE=$(cd "$(dirname "$0")" && pwd); RIG=${RIG:-/var/tmp/zephyr-ab-rig}
MAKE=$HERE/bench/experiments/datakit/make_sample.py
PYTHON=$RIG/venv/bin/python; "$PYTHON" -c '' 2>/dev/null || PYTHON=python3 # in the variant with another root it does not start here
[ $# -gt 0 ] || set -- d150 d1500
for name in "$@"; do
  docs=${name#d}
  case $docs in '' | *[!0-9]*) echo "$name: a sample is named d and a number, as d150" >&2; exit 2 ;; esac
  stamp="$RIG/sample/$name/.made-$(sha256sum "$MAKE" | cut -c1-16)"
  [ ! -f "$stamp" ] || continue
  rm -rf "$RIG/sample/$name" "$RIG/sample/$name.new"
  mkdir -p "$RIG/sample"
  "$PYTHON" "$MAKE" "$RIG/sample/$name.new" --sources web,code --shards 2 --docs "$docs" >/dev/null
  touch "$RIG/sample/$name.new/${stamp##*/}"
  mv "$RIG/sample/$name.new" "$RIG/sample/$name"
  echo "sample made: file://$RIG/sample/$name"
done
