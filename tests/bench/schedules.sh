#!/bin/sh
# Ten thousand random schedules of the simulated world, then one run that is crashed at each of its points, then the
# planted mistake, which must be found; then as many schedules of pull requests, and each of their planted mistakes.
# Arguments are handed on: --count N, --first SEED.
set -eu
cd "$(dirname "$0")/../.."
cargo run --quiet --release -p engine --example schedules -- --count 10000 "$@"
cargo run --quiet --release -p engine --example schedules -- --pulls --count 10000 "$@"
cargo run --quiet --release -p engine --example schedules -- --count 1000 --blind
cargo run --quiet --release -p engine --example schedules -- --habits --count 400
