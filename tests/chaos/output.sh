#!/usr/bin/env bash
# A step that prints a gigabyte, and one that prints a gigabyte without a line break to standard error. The run goes on, its
# evidence stays small, and so does its memory.
. "$(dirname "$0")/world.sh"
commit topic "head -c 1000000000 /dev/zero | tr '\\\\0' x; echo; head -c 1000000000 /dev/zero | tr '\\\\0' y >&2"
"${run[@]}" rounds=1 >"$world/said" 2>&1 || { cat "$world/said"; exit 1; }
gone
clean
grep -h stdout_bytes "$world"/out/*/arms/head-*/steps.json
grep -q '"stdout_bytes": 1000000014' "$world"/out/*/arms/head-*/steps.json
size="$(du -sm "$world/out" | cut -f1)"
echo "evidence: $size MB"
[ "$size" -lt 32 ]
