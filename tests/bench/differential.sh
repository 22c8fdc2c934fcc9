#!/usr/bin/env bash
# Generated cases through the reference and through ours: 30,000 from seed 1, or as the arguments say.
set -euo pipefail
cd "$(dirname "$0")/../.."
CI=1 ZEPHYR_AB_DIFF_CASES="${1:-30000}" ZEPHYR_AB_DIFF_SEED="${2:-1}" \
  cargo test --release -p bot --test tests differential -- --nocapture
