#!/usr/bin/env bash
# Time to make a job's workspace: a fresh worktree and Python's zipfile, as the official client does it, and ours, on
# the same 20,000 files of 40 MB of which the second commit changes 20. Least of several runs each.
# The goal: the first arm in at most a fifth, the second in at most a thirtieth.
set -euo pipefail
cd "$(dirname "$0")/../.."
python="${ZEPHYR_AB_PYTHON:-python3}"
runs="${1:-5}"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cargo build --quiet --release -p lab --example bundle
ours="${CARGO_TARGET_DIR:-target}/release/examples/bundle"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.com

"$python" - "$folder/repo" <<'PYTHON'
import os
import random
import sys

dice = random.Random(1)
letters = "abcdefghijklmnopqrstuvwxyz"
words = ["".join(dice.choices(letters, k=dice.randint(2, 11))) for _ in range(3000)]
weights = [1 / (rank + 5) for rank in range(len(words))]
sizes = [dice.lognormvariate(6.9, 1.1) for _ in range(20_000)]
scale = 40_000_000 / sum(sizes)
for number, size in enumerate(sizes):
    at = os.path.join(sys.argv[1], f"lib/part{number % 40}/src/unit{number % 31}/module_{number}.py")
    os.makedirs(os.path.dirname(at), exist_ok=True)
    text = []
    left = int(size * scale)
    while left > 0:
        line = "    " * dice.randint(0, 3) + " ".join(dice.choices(words, weights, k=dice.randint(3, 11))) + "\n"
        text.append(line[:left])
        left -= len(line)
    with open(at, "w") as file:
        file.write("".join(text))
PYTHON
cd "$folder/repo"
git init --quiet --initial-branch=main . && git config gc.auto 0 && git config maintenance.auto false
git add . && git commit --quiet -m one
git ls-files | awk 'NR % 1000 == 1' | while read -r file; do echo "changed = 1" >> "$file"; done
git commit --quiet -a -m two
git gc --quiet
cd - >/dev/null

"$python" - "$folder" "$ours" "$runs" <<'PYTHON'
import io
import pathlib
import re
import subprocess
import sys
import time
import zipfile

folder, ours, runs = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
repo = folder / "repo"


def milliseconds(since):
    return (time.perf_counter() - since) * 1000


def official(name):
    start = time.perf_counter()
    work = folder / "work"
    subprocess.run(["git", "worktree", "add", "--quiet", "--detach", work, name], cwd=repo, check=True)
    checked_out = milliseconds(start)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=work, check=True, capture_output=True, text=True).stdout
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(filter(None, listed.split("\0"))):
            archive.write(work / path, path)
    took = milliseconds(start)
    subprocess.run(["git", "worktree", "remove", "--force", work], cwd=repo, check=True)
    return took, checked_out, made.getvalue()


def native():
    said = subprocess.run([ours, repo, "main~1", "main", folder / "zip"], check=True, capture_output=True, text=True)
    return [float(took) for took in re.findall(r" ([0-9.]+) ms", said.stdout)], said.stdout


theirs, first, second = [], [], []
for _ in range(runs):
    theirs.append(official("main"))
    (one, two), said = native()
    first.append(one)
    second.append(two)
print(said, end="")


def content(archive):
    with zipfile.ZipFile(archive) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


same = content(io.BytesIO(theirs[0][2])) == content(folder / "zip")
took, checked_out, made = min(theirs)
print(f"worktree and zipfile: {took:.0f} ms, of which {checked_out:.0f} ms the worktree; {len(made)} bytes")
print(f"ours, first arm: {min(first):.0f} ms, {took / min(first):.1f} times as fast; goal 5")
print(f"ours, second arm: {min(second):.0f} ms, {took / min(second):.1f} times as fast; goal 30")
print("same files with the same content" if same else "NOT the same content")
sys.exit(not same or took < 5 * min(first) or took < 30 * min(second))
PYTHON
