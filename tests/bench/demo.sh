#!/usr/bin/env bash
# Shows every branch of the demo ten times, one after the other: demo.sh [HOW OFTEN]. On an idle machine of two cores each
# answer must be the one that the branch is made for; `same` may also be not known. Every folder is verified. About half a
# minute each. Prints a table; exit code 1 when an answer is wrong.
set -euo pipefail
cd "$(dirname "$0")/../.."
often="${1:-10}"
cargo build --quiet --release -p bot
program="$PWD/target/release/zephyr-ab"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/tmp"
wrong=0
: > "$folder/answers"
for branch in slower same dearer different; do
  case "$branch" in
    slower) right="^regression " ;;
    same) right="^(pass|inconclusive) " ;;
    dearer) right="^tradeoff " ;;
    different) right="^inconclusive DIFFERENT_WORK$" ;;
  esac
  for _ in $(seq "$often"); do
    TMPDIR="$folder/tmp" "$program" demo --plain --branch "$branch" --format json >"$folder/answer" 2>"$folder/said" ||
      { cat "$folder/said" >&2; exit 1; }
    # The two keys of the whole answer are those that are indented least.
    word() { sed -n "s/^  \"$1\": \"\\(.*\\)\",\\{0,1\\}$/\\1/p" "$folder/answer"; }
    answer="$(word verdict) $(word reason)"
    mark=right
    if ! grep -qE "$right" <<<"$answer"; then
      mark=WRONG
      wrong=$((wrong + 1))
    fi
    echo "$branch $answer $mark" | tee -a "$folder/answers"
    "$program" evidence verify "$folder"/tmp/zephyr-ab-demo-*/evidence/*/ >/dev/null
    rm -rf "$folder"/tmp/*
  done
done
echo
sort "$folder/answers" | uniq -c
[ "$wrong" = 0 ]
