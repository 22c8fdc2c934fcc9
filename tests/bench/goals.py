#!/usr/bin/env python3
"""The goals of the procedure, held against `zephyr-ab simulate`.

Prints a Markdown table (goal, scenario, rounds, measured, limit, met) and the commands that made it; ends with 1 when a
goal is missed, with 2 when a command fails. Python 3.8 or later, standard library only.

    cargo build --release -p bot && python3 tests/bench/goals.py

A limit counts as missed only when the count is beyond the 99.9 % binomial quantile of the limit; `simulate` judges that
itself (--at-most, --at-least), so that every command below can be repeated alone and ends with 0 or 1.
"""
import argparse
import json
import math
import os
import re
import shlex
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
ALL_ROUNDS = "1,2,3,5,10"
FAMILY = "--stages 20"
WHOLE = "--stages 12 --metrics both --sizes zipf --margins impact --elapsed-cv 5%"
# The quantile of the normal distribution that belongs to 99.9 %.
Z = 3.0902


def cpu(options, schedule="--rounds " + ALL_ROUNDS):
    """One metric, 20 rows of equal size, flat margins, ten calibration ratios."""
    return "{} {} {}".format(FAMILY, options, schedule)


def whole(options, schedule="--rounds 1,2,3,5"):
    """The whole verdict: 12 rows, sizes by Zipf, tolerance by share, elapsed time with a cv of 5 %."""
    cv = "" if "--cv" in options else "--cv 1% "
    return "{} {}{} {}".format(WHOLE, cv, options, schedule)


def at_most(**limits):
    return [("--at-most", name, limit) for name, limit in limits.items()]


def at_least(**limits):
    return [("--at-least", name, limit) for name, limit in limits.items()]


def noises():
    """(options, whether the tails are heavy)"""
    for cv in ("0.5%", "1%", "2%", "5%"):
        yield "--cv " + cv, False
    yield "--noise mixed", False
    for noise in ("bimodal", "common", "drift", "t3", "outliers"):
        for cv in ("1%", "2%"):
            yield "--noise {} --cv {}".format(noise, cv), noise in ("t3", "outliers")


def goals(csv):
    """(goal, options of simulate, limits, series that may not fall)"""
    for options, heavy in noises():
        limits = at_most(confirmed="2%", false_regression="2%") if heavy else at_most(confirmed="1.5%", false_regression="1%")
        yield "1", cpu(options), limits, None
        yield "1", cpu(options, "--looks 1,2,3,5"), limits, None

    for noise in ("lognormal", "t3", "outliers"):
        heavy = noise != "lognormal"
        limits = at_most(confirmed="2%" if heavy else "1.5%", false_regression="1.5%" if heavy else "0.5%", tradeoff="0.5%")
        yield "1b", whole("--noise " + noise), limits, None
        three = at_most(confirmed={"lognormal": "1.5%", "t3": "2.5%", "outliers": "2%"}[noise]) + limits[1:]
        yield "1c", whole("--noise {} --treatments 3".format(noise)), three, None
        yield "1c", whole("--noise {} --unpaired 10".format(noise), "--rounds 3"), limits, None

    for rounds, limit in ((1, "4.5%"), (2, "3%"), (3, "3%"), (5, "2.2%")):
        options = "--from-csv {} --columns 20 --calibration 10 --rounds {}".format(shlex.quote(csv), rounds)
        yield "2", options, at_most(confirmed=limit, regression=limit), None

    for options, rounds, power in (
        ("--cv 1% --effect 5%", 2, "85%"), ("--cv 1% --effect 5%", 3, "93%"), ("--cv 2% --effect 10%", 2, "83%"),
        ("--cv 2% --effect 10%", 3, "95%"), ("--cv 2% --effect 5%", 10, "90%"), ("--cv 1% --effect 20%", 1, "95%"),
        ("--cv 1% --effect 5% --noise outliers", 5, "80%"),
    ):
        yield "3", cpu(options, "--rounds {}".format(rounds)), at_least(power=power), None

    for options, rounds, regression in (
        ("--cv 1% --effect 7%", 3, "70%"), ("--cv 1% --effect 7%", 5, "88%"), ("--cv 1% --effect 7%", 10, "98%"),
        ("--cv 1% --effect 10%", 2, "98%"), ("--cv 2% --effect 10%", 3, "84%"), ("--cv 2% --effect 10%", 5, "96%"),
        ("--cv 1% --effect 20%", 1, "95%"), ("--cv 1% --effect 20% --noise outliers", 5, "95%"),
    ):
        yield "3b", cpu(options, "--rounds {}".format(rounds)), at_least(regression=regression), None

    for options, rounds, name, limit in (
        ("--affected all --effect 5%", 3, "regression", "65%"), ("--affected all --effect 5%", 5, "regression", "95%"),
        ("--affected all --effect 10%", 2, "regression", "97%"), ("--affected largest --effect 10%", 2, "regression", "93%"),
        ("--affected largest --effect 10%", 3, "regression", "97%"), ("--affected share=0.03 --effect 30%", 2, "regression", "97%"),
        ("--affected all --elapsed-effect 40%", 2, "regression", "97%"),
        ("--affected all --effect 12% --elapsed-effect -35%", 2, "tradeoff", "97%"),
        ("--affected all --effect -10% --elapsed-effect 40%", 3, "tradeoff", "97%"),
    ):
        yield "3c", whole(options, "--rounds {}".format(rounds)), at_least(**{name: limit}), None

    for options in ("--cv 1%", "--cv 2%", "--noise t3 --cv 1%", "--noise t3 --cv 2%", "--noise bimodal --cv 1%",
                    "--noise bimodal --cv 2%", "--noise mixed"):
        yield "4", cpu(options + " --effect 5%"), at_most(**{"pass": "6%", "regression": "6%"}), None
        yield "4", cpu(options + " --effect 4%"), at_most(regression="2.5%"), None
        yield "4", cpu(options + " --effect 7.5%"), at_most(**{"pass": "1%"}), None

    for cv in ("1%", "2%"):
        for options in ("--affected all --effect 2%", "--affected largest --effect 4%", "--affected share=0.03 --effect 10%"):
            options = whole("--cv {} {}".format(cv, options), "--rounds " + ALL_ROUNDS)
            yield "4b", options, at_most(regression="5%"), "pass"
        for options in ("--affected all --effect 5%", "--affected largest --effect 10%"):
            options = whole("--cv {} {}".format(cv, options), "--rounds " + ALL_ROUNDS)
            yield "4b", options, at_most(**{"pass": "6%"}), "regression"

    yield "5", cpu("--cv 1%", "--rounds 2"), at_least(**{"pass": "95%"}), None

    looks = "--looks 1,2,3,5"
    for effect in ("", " --effect 10%"):
        yield "6", cpu("--cv 1%" + effect, looks), at_most(mean_rounds="2.5") + at_least(decided="97%"), None
    yield "6", cpu("--cv 1% --effect 7%", looks), at_least(regression="80%"), None

    extended = looks + " --extensions 20"
    yield "7", cpu("--cv 1% --effect 5%", extended), at_most(**{"pass": "7%", "regression": "7%"}), None
    for noise, limit in (("lognormal", "1.5%"), ("t3", "2%"), ("outliers", "2%")):
        yield "7", cpu("--cv 1% --noise " + noise, extended), at_most(confirmed=limit), None


def label(scenario):
    """A scenario for people: without what the column of rounds says, and what all scenarios of a kind share."""
    text = re.sub(r" --rounds [0-9,]+", "", scenario)
    text = text.replace(WHOLE, "whole verdict,").replace(FAMILY, "CPU,").replace("--from-csv", "real noise,")
    return re.sub(r"(^| )--", r"\1", text).strip(", ")


def share(value):
    return "{:.4f}".format(value) if 0 < value < 0.01 else "{:.3f}".format(value)


def row(goal, scenario, keys, values, limit, met):
    return "| {} | {} | {} | {} | {} | {} |".format(goal, label(scenario), "/".join(keys), " / ".join(values), limit, "yes" if met else "**no**")


def judged_rows(goal, scenario, answer):
    """One line per limit: every number of rounds side by side."""
    by_limit = {}
    for judged in answer["goals"]:
        by_limit.setdefault((judged["name"], judged["bound"], judged["limit"]), []).append(judged)
    for (name, bound, limit), group in by_limit.items():
        mean = name == "mean_rounds"
        values = ["{:.2f}".format(j["measured"]) if mean else share(j["measured"]) for j in group]
        shown = "{:g}".format(limit) if mean else "{:g} %".format(100 * limit)
        text = "{} {} {}".format(name.replace("_", " "), "at most" if bound == "at_most" else "at least", shown)
        met = all(j["met"] for j in group)
        yield row(goal, scenario, [j["rounds"] for j in group], values, text, met), met


def falling_row(goal, scenario, name, answer):
    """From two rounds on, a share may fall by at most .05 from one number of rounds to the next, and by what chance allows."""
    series = [(int(n), s) for n, s in answer["rounds"].items() if int(n) >= 2]
    met, falls = True, []
    for (_, a), (_, b) in zip(series, series[1:]):
        noise = math.sqrt(sum(s[name] * (1 - s[name]) / s["trials"] for s in (a, b)))
        falls.append(b[name] - a[name])
        met = met and a[name] - b[name] <= 0.05 + Z * noise
    keys = [str(n) for n, _ in series]
    return row(goal, scenario, keys, [share(s[name]) for _, s in series], "{} falls by at most .05".format(name), met), met


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--binary", default=os.path.join(ROOT, "target", "release", "zephyr-ab"))
    parser.add_argument("--csv", default=os.path.join("tests", "stats", "real_aa_enso_engine.csv"), help="seen from the top of the repository")
    parser.add_argument("--trials", type=int, default=20000)
    parser.add_argument("--windows", type=int, default=6000)
    parser.add_argument("--seed", type=int, default=20261129)
    parser.add_argument("--goal", action="append", help="only this goal; repeatable")
    options = parser.parse_args()

    lines, commands, missed, started = [], [], 0, time.monotonic()
    for goal, scenario, limits, series in goals(options.csv):
        if options.goal and goal not in options.goal:
            continue
        size = "--windows {}".format(options.windows) if "--from-csv" in scenario else "--trials {}".format(options.trials)
        flags = " ".join("{} {}={}".format(flag, name, limit) for flag, name, limit in limits)
        command = "simulate {} {} --seed {} {} --format json".format(scenario, size, options.seed, flags)
        done = subprocess.run([options.binary] + shlex.split(command), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
        if done.returncode not in (0, 1) or not done.stdout:
            sys.stderr.write("zephyr-ab {}\n{}".format(command, done.stderr))
            return 2
        answer = json.loads(done.stdout)
        rows = list(judged_rows(goal, scenario, answer))
        if series:
            rows.append(falling_row(goal, scenario, series, answer))
        lines += [text for text, _ in rows]
        missed += sum(not met for _, met in rows)
        commands.append("zephyr-ab " + command)

    print("| goal | scenario | rounds | measured | limit | met |")
    print("|---|---|---|---|---|---|")
    print("\n".join(lines))
    print("\n{} limits, {} missed; {:.0f} s\n".format(len(lines), missed, time.monotonic() - started))
    print("```\n{}\n```".format("\n".join(commands)))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
