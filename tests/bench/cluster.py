#!/usr/bin/env python3
"""What the program says on a real Iris and Finelog, with the numbers of trials that its promises are about.

    tests/rig/up.sh && tests/rig/sample.sh && python3 tests/bench/cluster.py

Needs the rig of tests/rig and a quiet machine: two hours for everything with the sample d1500. Parts can be run one by one
(`--parts pr,work`), with `--calibration FILE` from an earlier one; `--preset small --trials 4 --aa 1` only shows that this
script works. Prints a table of claims with what was measured, writes it as JSON, and ends with 1 where a claim does not hold.
Python 3.8 or later, standard library only.
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RIG = ROOT / "tests" / "rig"
STEP = "minhash"
SEPARATOR = " · "


class Bench:
    def __init__(self, args):
        self.args = args
        self.folder = pathlib.Path(args.folder or f"/tmp/zephyr-ab-bench-{int(time.time())}")
        self.folder.mkdir(parents=True, exist_ok=True)
        self.repository = self.folder / "repository"
        subprocess.run([RIG / "repo.sh", self.repository], check=True, stdout=sys.stderr)
        self.calibration = pathlib.Path(args.calibration).resolve() if args.calibration else None
        self.claims = []
        self.facts = {}

    def claim(self, part, what, holds, measured):
        self.claims.append({"part": part, "claim": what, "holds": bool(holds), "measured": str(measured)})
        print(f"{'ok  ' if holds else 'FAIL'} {part}: {what}: {measured}", flush=True)

    def call(self, *words):
        """The program; its exit code, standard output and standard error, which is shown while it comes."""
        words = [str(word) for word in words]
        print(f"$ zephyr-ab {' '.join(words)}", file=sys.stderr, flush=True)
        child = subprocess.Popen([self.args.program, *words], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said = []
        for line in child.stderr:
            said.append(line)
            print(f"  {line}", end="", file=sys.stderr, flush=True)
        out = child.stdout.read()
        return child.wait(), out, "".join(said)

    def run(self, head, *more, suite="rig"):
        """A run of main against a branch: its JSON, with the exit code in it."""
        words = ["run", suite, f"preset={self.args.preset}", "--repo", self.repository, "--base", "main", "--head", head,
                 "--out", self.folder / "evidence", "--format", "json", "--yes"]
        if self.calibration and suite == "rig":
            words += ["--calibration", self.calibration]
        if self.args.config:
            words += ["--config", pathlib.Path(self.args.config).resolve()]
        code, out, said = self.call(*words, *more)
        answer = json.loads(out) if out.strip() else {"verdict": None, "context": {"view": {}}}
        answer["code"], answer["said"] = code, said
        return answer

    def comment(self, answer):
        return (self.folder / answer["context"]["evidence"]["folder"] / "comment.md").read_text()


def rounds_of(answer):
    return answer["context"]["view"]["rounds"]


def in_short(answer):
    rounds = rounds_of(answer)
    return f"{answer['verdict']} ({answer.get('reason')}) after {rounds['looked']} of {rounds['looks']} rounds"


def noise(values):
    """Standard deviation of one run as a share of it: of the logarithms, whose drift over the trials cancels in pairs."""
    logs = [math.log(value) for value in values if value > 0]
    steps = [after - before for before, after in zip(logs, logs[1:])]
    return math.sqrt(sum(step * step for step in steps) / (2 * len(steps))) if steps else float("nan")


def calibrate(bench):
    file = bench.folder / f"{bench.args.preset}.calibration.json"
    words = ["calibrate", "rig", f"preset={bench.args.preset}", "--repo", bench.repository, "--at", "main", "--trials", bench.args.trials,
             "--file", file, "--out", bench.folder / "evidence"]
    if bench.args.config:
        words += ["--config", pathlib.Path(bench.args.config).resolve()]
    code, out, said = bench.call(*words)
    print(out)
    bench.claim("calibrate", "a calibration is written", code == 0 and file.exists(), f"exit code {code}: {said.splitlines()[-1:]}")
    if code != 0:
        return
    bench.calibration = file
    trials = json.loads(file.read_text())["trials"]
    bench.claim("calibrate", "as many trials as were asked for", len(trials) >= bench.args.trials, f"{len(trials)} trials")
    rows = {}
    for row in trials[0]["rows"]:
        for metric in ("cpu", "elapsed"):
            values = [trial["rows"][row][metric] for trial in trials]
            rows[f"{row} {metric}"] = {"mean_s": statistics.mean(values), "noise": noise(values)}
    for metric in ("cpu", "elapsed"):
        values = [sum(row[metric] for row in trial["rows"].values()) for trial in trials]
        rows[f"TOTAL {metric}"] = {"mean_s": statistics.mean(values), "noise": noise(values)}
    bench.facts["noise"] = rows
    for name, row in rows.items():
        print(f"     {name}: {row['mean_s']:.3f} s, noise of a run {100 * row['noise']:.1f} %")


def dearer(bench):
    answer = bench.run("pr")
    rounds = rounds_of(answer)
    bench.claim("pr", "MinHash at twice the cost is a regression", answer["verdict"] == "regression", in_short(answer))
    bench.claim("pr", "at the first look that is allowed", rounds["looked"] == rounds["looks"][0], f"{rounds['looked']} of {rounds['looks']}")
    named = bench.comment(answer).splitlines()[1]
    bench.claim("pr", "the heading names its row", STEP in named, named)
    rows = {row: value["cpu"]["ratio"] for row, value in answer["table"].items() if row.startswith(STEP + SEPARATOR)}
    bench.claim("pr", "its CPU time is about twice as much", rows and all(1.7 < ratio < 2.4 for ratio in rows.values()), rows)


def other_work(bench):
    answer = bench.run("work")
    bench.claim("work", "more output is no comparison", (answer["verdict"], answer["reason"]) == ("inconclusive", "DIFFERENT_WORK"), in_short(answer))
    table = answer["table"]
    told = [row for row, value in table.items() if all(value[metric][key] is not None for metric in ("cpu", "elapsed") for key in ("control", "treatment", "ratio"))]
    bench.claim("work", "every row is shown with its ratio", len(told) == len(table) > 1, f"{len(told)} of {len(table)} rows")
    missing = [row for row in table if f"`{row}`" not in bench.comment(answer) and row != "TOTAL"]
    bench.claim("work", "every row is in the comment", not missing, f"missing: {missing}")
    bench.facts["work"] = {row: value["cpu"]["ratio"] for row, value in table.items()}


def same(bench):
    answers = []
    for _ in range(bench.args.aa):
        answers.append(bench.run("aa"))
        print(f"     {len(answers)} of {bench.args.aa}: {in_short(answers[-1])}", flush=True)
    verdicts = [answer["verdict"] for answer in answers]
    bad = sum(verdict in ("regression", "tradeoff", None) for verdict in verdicts)
    bench.claim("aa", "a comment is never a regression or a tradeoff", bad == 0, verdicts)
    passes, least = verdicts.count("pass"), math.ceil(0.8 * len(verdicts))
    bench.claim("aa", f"at least {least} of {len(verdicts)} pass by the last look", passes >= least, f"{passes} pass")
    looked = [rounds_of(answer)["looked"] for answer in answers]
    bench.facts["aa"] = {"verdicts": verdicts, "rounds": looked, "mean_rounds": statistics.mean(looked)}
    print(f"     mean rounds {statistics.mean(looked):.2f}")


def broken(bench):
    answer = bench.run("broken")
    comment = bench.comment(answer)
    troubles = answer["context"]["view"]["troubles"]
    failed = [trouble for trouble in troubles if trouble["arm"] == "head"]
    bench.claim("broken", "it is told what failed, after one confirmation", failed and failed[0]["times"] == 2, [(t["times"], t["what"]) for t in troubles])
    bench.claim("broken", "with its last lines", "broken on purpose" in comment, [line for line in comment.splitlines() if "broken on purpose" in line][:1])
    bench.claim("broken", "a change that fails by itself is a regression", answer["verdict"] == "regression", in_short(answer))


def unnamed(bench):
    text = (ROOT / "config" / "suites" / "rig.toml").read_text()
    marked = text.replace("env         = {", 'env         = { BENCH_NAMED_EXECUTIONS = "0",')
    assert marked != text
    suite = bench.folder / "unnamed.toml"
    suite.write_text(marked)
    answer = bench.run("pr", "rounds=1", suite=suite)
    rows = [row for row in answer["table"] if row != "TOTAL"]
    bench.claim("unnamed", "no row names a step", rows and not any(step in row for row in rows for step in ("minhash", "tokenize")), rows)
    bench.claim("unnamed", "minhash and tokenize share a row", len(rows) == 5, f"{len(rows)} rows")
    line = [line for line in bench.comment(answer).splitlines() if "steps with the same stages share a row" in line]
    bench.claim("unnamed", "the comment says why", line, line[:1])


def by_hand(bench):
    """Jobs that curl launched, compared; the numbers of the store are those that tests/rig/ab.sh prints."""
    tag = f"b{int(time.time())}"
    ran = subprocess.run([RIG / "ab.sh", tag], check=True, stdout=subprocess.PIPE, text=True).stdout
    jobs = {arm: f"/bot/zephyr-ab-{tag}-{name}" for arm, name in (("control", "ctl"), ("treatment", "trt"))}
    words = ["compare", "rig", f"control={jobs['control']}", f"treatment=pr@{jobs['treatment']}", "--out", bench.folder / "by-hand", "--format", "json"]
    code, out, _ = bench.call(*words, *(["--config", bench.args.config] if bench.args.config else []))
    bench.claim("ab", "jobs that curl launched can be compared", code == 0, f"exit code {code}")
    evidence = json.loads(pathlib.Path(bench.folder, json.loads(out)["context"]["evidence"]["folder"], "evidence.json").read_text())
    sums = {}
    for line in ran.splitlines():
        cells = line.split(" | ")
        if len(cells) != 9:
            continue
        job, execution, stage, status = cells[:4]
        key = (job, execution.split("-")[0] + SEPARATOR + stage)
        row = sums.setdefault(key, [0.0, 0.0, 0, 0, 0])
        for at in range(4):
            row[at] += float(cells[4 + at])
        row[4] = max(row[4], float(cells[8]))
    keys = ("cpu_time_total", "elapsed", "items", "bytes_processed", "mem_peak_bytes_max")
    wrong, compared = [], 0
    for arm, job in jobs.items():
        stages = evidence["case"]["rounds"][0][arm]["stages"]
        stored = {row: values for (of, row), values in sums.items() if of == job}
        if set(stages) != set(stored):
            wrong.append(f"{arm}: rows {sorted(set(stages) ^ set(stored))}")
        for row, values in stored.items():
            for key, value in zip(keys, values):
                compared += 1
                if not math.isclose(stages.get(row, {}).get(key, math.nan), value, rel_tol=1e-9):
                    wrong.append(f"{arm} {row} {key}")
    bench.claim("ab", "every number is that of the store", compared and not wrong, f"{compared} numbers, wrong: {wrong}")


PARTS = {"calibrate": calibrate, "pr": dearer, "work": other_work, "aa": same, "broken": broken, "unnamed": unnamed, "ab": by_hand}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(PARTS), help="of %(default)s, in this order")
    parser.add_argument("--preset", default="full", choices=["full", "small"])
    parser.add_argument("--trials", type=int, default=12, help="of the calibration [%(default)s]")
    parser.add_argument("--aa", type=int, default=10, help="runs of the branch aa [%(default)s]")
    parser.add_argument("--calibration", help="an earlier one, in place of the part calibrate")
    parser.add_argument("--program", help="the release build [built now]")
    parser.add_argument("--config", help="how the cluster rig is reached")
    parser.add_argument("--folder", help="where evidence is kept [a new one in /tmp]")
    parser.add_argument("--json", help="file for the summary [summary.json of the folder]")
    args = parser.parse_args()
    parts = args.parts.split(",")
    if unknown := [part for part in parts if part not in PARTS]:
        parser.error(f"unknown parts {unknown}; there are {', '.join(PARTS)}")
    if not args.program:
        subprocess.run(["cargo", "build", "--release", "-p", "bot"], cwd=ROOT, check=True)
        args.program = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"), "release", "zephyr-ab")
    args.program = str(pathlib.Path(args.program).resolve())
    bench = Bench(args)
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"the load is {load:.1f}: times are those of a busy machine", file=sys.stderr)
    began = time.time()
    for part in parts:
        try:
            PARTS[part](bench)
        except Exception as error:  # one part that breaks is no reason to lose the others
            bench.claim(part, "the part runs to its end", False, f"{type(error).__name__}: {error}")
    print()
    width = max(len(claim["claim"]) for claim in bench.claims)
    for claim in bench.claims:
        print(f"{'ok  ' if claim['holds'] else 'FAIL'}  {claim['part']:10} {claim['claim']:{width}}  {claim['measured'][:110]}")
    missed = [claim for claim in bench.claims if not claim["holds"]]
    summary = {"preset": args.preset, "load_at_begin": load, "seconds": round(time.time() - began), "claims": bench.claims, "facts": bench.facts}
    place = pathlib.Path(args.json or bench.folder / "summary.json")
    place.write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n")
    print(f"{len(bench.claims)} claims, {len(missed)} missed; {place}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
