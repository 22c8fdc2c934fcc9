#!/usr/bin/env bash
# Ends a run at a random moment of its life, again and again: kills.sh [HOW OFTEN] [SIGNAL]. With KILL nothing can be tidied
# up: no process may live on, and the next start sweeps. With INT or TERM the folder is sealed as well. About three seconds
# each. Prints a table; exit code 1 when something is left.
. "$(dirname "$0")/world.sh"
often="${1:-50}"
signal="${2:-KILL}"
commit topic "setsid sleep 1000 & sleep 0.5"
ended=0
open=0
sealed=0
for turn in $(seq "$often"); do
  rm -rf "$world/out"
  "${run[@]}" rounds=2 >"$world/said" 2>&1 &
  child=$!
  sleep "$(awk -v seed="$turn$RANDOM" 'BEGIN { srand(seed); print 3.5 * rand() }')"
  kill -s "$signal" "$child" 2>/dev/null || true
  code=0
  wait "$child" 2>/dev/null || code=$?
  gone
  if [ "$code" = 0 ]; then
    ended=$((ended + 1))
  elif compgen -G "$world/out/*.open" >/dev/null; then
    open=$((open + 1))
  elif [ -d "$world/out" ]; then
    sealed=$((sealed + 1))
  fi
  # A signal that can be handled is, once the run has begun; before that it ends the program as usual.
  if [ "$signal" != KILL ] && compgen -G "$world/out/*.open" >/dev/null; then
    echo "not sealed after $signal:" >&2
    cat "$world/said" >&2
    exit 1
  fi
done
rm -rf "$world/out"
"${run[@]}" rounds=1 >/dev/null 2>&1
gone
clean
printf '%-10s %6s\n' signal "$signal" sent "$often" "too late" "$ended" unfinished "$open" sealed "$sealed" "too early" \
  "$((often - ended - open - sealed))"
