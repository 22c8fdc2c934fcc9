#!/usr/bin/env bash
# Hostile bytes and mutated cases through the input parser and the judge: 1,000,000, or as many as the argument says.
set -euo pipefail
cd "$(dirname "$0")/../.."
ZEPHYR_AB_FUZZ_CASES="${1:-1000000}" cargo test --release -p bot --test tests hostile -- --nocapture
