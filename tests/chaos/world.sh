# Sourced by the scripts beside it: the release binary, a repository and a suite of its own, and how to look for what is
# left. Everything lies in $world and is removed at the end.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cargo build --quiet --release -p bot
program="$PWD/target/release/zephyr-ab"
world="$(mktemp -d)"
trap 'rm -rf "$world"' EXIT
mkdir "$world/tmp" "$world/repository"
export TMPDIR="$world/tmp"

# commit BRANCH SHELL: a commit on top of main, whose second step begins with SHELL.
commit() {
  [ "$1" = main ] || git -C "$world/repository" checkout --quiet -B "$1" main
  cat > "$world/repository/step.sh" <<SHELL
i=0
while [ "\$i" -lt 60000 ]; do i=\$(( i + 1 )); done
if [ "\$1" = two ]; then
  :
  $2
fi
echo '{"items": 7}'
SHELL
  git -C "$world/repository" add --all
  git -C "$world/repository" -c user.name=t -c user.email=t@localhost commit --quiet --allow-empty --message "$1"
}

git init --quiet --initial-branch=main "$world/repository"
commit main ""
cat > "$world/tiny.toml" <<'TOML'
schema = 1
name = "tiny"
title = "Tiny A/B test"
backend = "local"

[[steps]]
name = "one"
argv = [["sh", "step.sh", "one"]]

[[steps]]
name = "two"
argv = [["sh", "step.sh", "two"]]

[judging]
floor = { cpu = "0.005s", elapsed = "0.005s" }
TOML

# A run of topic against main, to be called with more arguments: a list and no function, so that in the background it is
# the program itself that is started.
run=("$program" run "$world/tiny.toml" --repo "$world/repository" --base main --head topic --out "$world/out")

# alive: the processes other than this script that have to do with $world.
alive() {
  local place
  for place in /proc/[0-9]*; do
    [ "${place#/proc/}" = "$$" ] && continue
    { tr '\0' ' ' < "$place/cmdline"; readlink "$place/cwd"; grep -z '^\(TMPDIR\|HOME\)=' "$place/environ" | tr '\0' ' '; } \
      2>/dev/null | grep -qF "$world" && [ "$(awk '{print $4}' "$place/stat" 2>/dev/null)" != "$$" ] && echo "${place#/proc/}"
  done
  true
}

# gone: waits until nothing of $world lives; fails after half a minute.
gone() {
  local turn left
  for turn in $(seq 300); do
    left="$(alive)"
    [ -z "$left" ] && return
    sleep 0.1
  done
  echo "still alive:" $left >&2
  return 1
}

# clean: no temporary file is left, and every finished folder verifies.
clean() {
  [ -z "$(ls -A "$world/tmp")" ] || { echo "left behind:" "$world"/tmp/* >&2; return 1; }
  local folder
  for folder in "$world"/out/*; do
    case "$folder" in *.open | *.json | *'*') continue ;; esac
    "$program" evidence verify "$folder" >/dev/null || { echo "$folder does not verify" >&2; return 1; }
  done
}
