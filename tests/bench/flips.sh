#!/usr/bin/env bash
# Flips 10,000 random bytes of a sealed evidence folder, one at a time, in all files in turn, sha256sums.txt among them:
# each must be found, and its file named and no other. About ten seconds once it is built.
set -euo pipefail
cd "$(dirname "$0")/../.."
exec cargo test -p evidence --test folder -- --ignored --nocapture ten_thousand_flipped_bytes
