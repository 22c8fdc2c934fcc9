#!/usr/bin/env bash
# Time per comparison of the reference and of ours, side by side on the same 4,000 comparisons of 20 rows and 3 rounds.
# The goal: ours at most a hundredth.
set -euo pipefail
cd "$(dirname "$0")/../.."
python="${ZEPHYR_AB_PYTHON:-.venv/bin/python}"
cases="${1:-4000}"
folder="$(mktemp -d)"
trap 'rm -r "$folder"' EXIT
cargo bench --quiet -p stats --bench judge -- --cases "$cases" --write "$folder/cases" | tee "$folder/ours"
PYTHONDONTWRITEBYTECODE=1 OPENBLAS_NUM_THREADS=1 PYTHONPATH=tests/stats "$python" - "$folder" <<'PYTHON'
import json
import sys
import time

from oracle import judge

folder = sys.argv[1]
ours = {}
for line in open(f"{folder}/ours"):
    words = line.rsplit(" ", 1)
    if words[0] in ("judge", "read and judge"):
        ours[words[0]] = float(words[1])
lines = open(f"{folder}/cases").read().splitlines()


def microseconds(since):
    return (time.perf_counter() - since) * 1e6 / len(lines)


start = time.perf_counter()
cases = [json.loads(line) for line in lines]
reading = microseconds(start)
start = time.perf_counter()
for case in cases:
    judge(case)
judging = microseconds(start)
print(f"reference: judge {judging:.1f}, read and judge {reading + judging:.1f}")
# The reference checks the input as a part of judging it; ours does so while reading.
print(f"ours is {(reading + judging) / ours['read and judge']:.0f} times as fast from text to verdict, "
      f"{judging / ours['judge']:.0f} times for the verdict alone")
PYTHON
