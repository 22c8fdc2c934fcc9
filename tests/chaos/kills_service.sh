#!/usr/bin/env bash
# Kills the service at random moments while GitHub misbehaves: kills_service.sh [HOW OFTEN] [SEED]. About a second each.
# Prints what came of it; exit code 1 when a command has no answer or two, or anything is left.
set -euo pipefail
cd "$(dirname "$0")/../.."
export ZEPHYR_AB_KILLS="${1:-200}"
export ZEPHYR_AB_SEED="${2:-$RANDOM}"
exec cargo test -p bot --test tests app::kills:: -- --nocapture
