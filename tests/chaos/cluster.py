#!/usr/bin/env python3
"""Breaks what a run on a cluster needs, and looks at what the program makes of it.

    tests/rig/up.sh && tests/rig/sample.sh d150 && python3 tests/chaos/cluster.py

  finelog  the store refuses connections from the launch of a trial until some time after its end: the run waits, says so, goes
           on, and repeats nothing. A proxy refuses them; the store itself goes on and loses nothing.
  killed   SIGKILL of the program: what is left, and how an operator finds and ends it.
  restart  the controller is restarted and forgets its jobs, which count as lost after ten minutes: the round is replaced.
           A rig of its own is started for that: another folder and other ports (CHAOS_RIG, 10010 and 10011). Fifteen minutes.

Parts can be chosen: `cluster.py finelog killed`. Ends with 1 where something is not as said above. Python 3.8 or later, standard
library only.
"""
import argparse
import http.server
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RIG = ROOT / "tests" / "rig"
USUAL = pathlib.Path(os.environ.get("RIG", "/var/tmp/zephyr-ab-rig"))
ENDED = ("SUCCEEDED", "FAILED", "KILLED", "UNSCHEDULABLE")


def post(base, method, request):
    body = json.dumps(request).encode()
    call = urllib.request.Request(f"{base}/{method}", body, {"content-type": "application/json"})
    with urllib.request.urlopen(call, timeout=30) as answer:
        return json.load(answer)


def controller(base, method, request):
    return post(base, f"iris.cluster.ControllerService/{method}", request)


def jobs(base, prefix):
    query = {"jobIdPrefix": prefix, "scope": "JOB_QUERY_SCOPE_ALL", "limit": 500}
    return {job["jobId"]: job["state"] for job in controller(base, "ListJobs", {"query": query}).get("jobs", [])}


class Proxy:
    """Before one server, on a port of its own; counts calls, and can refuse connections."""

    def __init__(self, upstream):
        self.upstream, self.calls, self.server, self.port = upstream, [], None, 0
        self.open()

    def open(self):
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def pass_on(self):
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                headers = {name: value for name, value in self.headers.items() if name.lower() in ("content-type", "connect-protocol-version")}
                call = urllib.request.Request(proxy.upstream + self.path, body or None, headers, method=self.command)
                try:
                    with urllib.request.urlopen(call, timeout=200) as answer:
                        status, said = answer.status, answer.read()
                except urllib.error.HTTPError as error:
                    status, said = error.code, error.read()
                except urllib.error.URLError:
                    # The server is away: so is whoever stands before it.
                    self.close_connection = True
                    return
                proxy.calls.append((self.path.rsplit("/", 1)[-1], status, body, said))
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(said)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(said)

            do_GET = do_POST = do_HEAD = pass_on

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def refuse(self):
        self.server.shutdown()
        self.server.server_close()

    def launched(self):
        """The names of the jobs that the controller accepted, in their order."""
        return [json.loads(body)["name"] for method, status, body, _ in self.calls if method == "LaunchJob" and status == 200]

    def ended(self, job):
        """Whether the program was told that a job has ended."""
        answers = [json.loads(said) for method, status, _, said in self.calls if method == "GetJobState" and status == 200]
        return any(answer.get("states", {}).get(job, "").endswith(ENDED) for answer in answers)


class Run:
    """The program in the background, with its standard error line by line."""

    def __init__(self, program, folder, iris, finelog, head="pr"):
        self.folder = folder
        (folder / "cluster.toml").write_text(f'[clusters.rig]\ncontroller = "{iris}"\nfinelog = "{finelog}"\n')
        subprocess.run([RIG / "repo.sh", folder / "repository"], check=True, stdout=sys.stderr)
        words = ["run", "rig", "preset=small", "rounds=1", "--repo", "repository", "--base", "main", "--head", head, "--out", "evidence",
                 "--config", "cluster.toml", "--format", "json"]
        sample = f"file://{USUAL}/sample/d150"
        if USUAL != pathlib.Path("/var/tmp/zephyr-ab-rig"):
            words += [f"sample={sample}", "--yes"]
        self.out = open(folder / "stdout", "w+")
        self.child = subprocess.Popen([program, *words], cwd=folder, stdout=self.out, stderr=subprocess.PIPE, text=True)
        self.said = []
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.child.stderr:
            self.said.append(line.rstrip())
            print(f"  {line}", end="", flush=True)

    def until(self, what, so, patience=300):
        for _ in range(patience * 5):
            if so():
                return
            if self.child.poll() is not None:
                raise RuntimeError(f"it ended before {what}")
            time.sleep(0.2)
        raise RuntimeError(f"never {what}")

    def wait(self):
        code = self.child.wait()
        self.out.seek(0)
        text = self.out.read()
        return code, json.loads(text) if text.strip() else None

    def folders(self):
        return sorted(path.name for path in (self.folder / "evidence").iterdir() if path.is_dir())


class Chaos:
    def __init__(self, program):
        self.program, self.claims = program, []

    def claim(self, what, holds, measured=""):
        self.claims.append(bool(holds))
        print(f"{'ok  ' if holds else 'FAIL'} {what}: {measured}", flush=True)

    def verifies(self, run):
        [name] = run.folders()
        folder = run.folder / "evidence" / name
        ran = subprocess.run([self.program, "evidence", "verify", folder], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.claim("the evidence verifies", ran.returncode == 0, ran.stdout.strip().splitlines()[-1:])


def finelog(chaos, folder):
    iris, store = Proxy("http://127.0.0.1:10000"), Proxy("http://127.0.0.1:10001")
    run = Run(chaos.program, folder, f"http://127.0.0.1:{iris.port}", f"http://127.0.0.1:{store.port}")
    run.until("the first launch", lambda: iris.launched())
    store.refuse()
    first = iris.launched()[0]
    run.until("the end of the first trial", lambda: iris.ended(first))
    run.until("a word of the wait", lambda: any("collecting (" in line for line in run.said))
    time.sleep(15)
    store.open()
    code, answer = run.wait()
    said = [line for line in run.said if "collecting (" in line]
    chaos.claim("it waits and says for what", any("not reachable" in line for line in said), said[:1])
    chaos.claim("it goes on to a verdict", code == 0 and answer and answer["verdict"], f"exit code {code}, {answer and answer['verdict']}")
    launched = iris.launched()
    chaos.claim("no trial is repeated", len(launched) == len(set(launched)) == 2, launched)
    chaos.verifies(run)


def killed(chaos, folder):
    base = "http://127.0.0.1:10000"
    run = Run(chaos.program, folder, base, "http://127.0.0.1:10001")
    run.until("a folder", lambda: (folder / "evidence").is_dir() and run.folders())
    name = run.folders()[0].replace(".open", "")
    # This is how the jobs of a run are found: their names begin with its own.
    prefix = f"/zephyr-ab/zab-{name}"
    run.until("a job that runs", lambda: any(state.endswith("_RUNNING") for state in jobs(base, prefix).values()))
    run.child.send_signal(signal.SIGKILL)
    run.child.wait()
    chaos.claim("the folder says that the run was not finished", run.folders() == [f"{name}.open"], run.folders())
    left = {job: state for job, state in jobs(base, prefix).items() if not state.endswith(ENDED)}
    chaos.claim("the job goes on, and is found by the name of the run", left, left)
    for job in [job for job in left if job.count("/") == 2]:
        print(f"  curl -d '{{\"jobId\":\"{job}\"}}' -H 'content-type: application/json' {base}/iris.cluster.ControllerService/TerminateJob")
        controller(base, "TerminateJob", {"jobId": job})
    for _ in range(100):
        alive = [job for job, state in jobs(base, prefix).items() if not state.endswith(ENDED)]
        if not alive:
            break
        time.sleep(0.2)
    chaos.claim("it is ended with all that it started", not alive, alive)


def restart(chaos, folder):
    rig = pathlib.Path(os.environ.get("CHAOS_RIG", "/var/tmp/zephyr-ab-rig-chaos"))
    environment = {**os.environ, "RIG": str(rig), "IRIS_PORT": "10010", "FINELOG_PORT": "10011"}
    rig.mkdir(parents=True, exist_ok=True)
    # The same packages as those of the usual rig, where it has them: an installation takes a minute and a gigabyte.
    if (USUAL / "venv").is_dir() and not (rig / "venv").exists():
        (rig / "venv").symlink_to(USUAL / "venv")

    def server(script):
        subprocess.run([RIG / script], env=environment, check=True, stdout=sys.stderr)

    server("up.sh")
    try:
        iris = Proxy("http://127.0.0.1:10010")
        run = Run(chaos.program, folder, f"http://127.0.0.1:{iris.port}", "http://127.0.0.1:10011")
        run.until("the launch of the treatment", lambda: len(iris.launched()) == 2)
        lost = iris.launched()[1]
        run.until("it at work", lambda: jobs("http://127.0.0.1:10010", lost).get(lost, "").endswith("_RUNNING"))
        server("down.sh")
        server("up.sh")
        began = time.time()
        run.until("the round measured anew", lambda: len(iris.launched()) >= 3, 1200)
        print(f"  measured anew {time.time() - began:.0f} s after the restart")
        code, answer = run.wait()
        launched = iris.launched()
        said = [line for line in run.said if "measured anew" in line]
        chaos.claim("it says why", any("no longer knew its job" in line for line in said), said[:1])
        chaos.claim("the round is replaced", len(launched) == len(set(launched)) == 4, launched)
        chaos.claim("it goes on to a verdict", code == 0 and answer and answer["verdict"], f"exit code {code}, {answer and answer['verdict']}")
        [name] = run.folders()
        comment = (folder / "evidence" / name / "comment.md").read_text()
        lines = [line for line in comment.splitlines() if "1 infrastructure failure" in line and "1 round replaced" in line]
        chaos.claim("the comment says what happened", lines, lines[:1])
        chaos.verifies(run)
    finally:
        server("down.sh")


PARTS = {"finelog": finelog, "killed": killed, "restart": restart}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)} [all]")
    parser.add_argument("--program", help="the release build [built now]")
    args = parser.parse_args()
    if unknown := [part for part in args.parts if part not in PARTS]:
        parser.error(f"unknown parts {unknown}; there are {', '.join(PARTS)}")
    if not args.program:
        subprocess.run(["cargo", "build", "--release", "-p", "bot"], cwd=ROOT, check=True)
        args.program = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"), "release", "zephyr-ab")
    chaos = Chaos(str(pathlib.Path(args.program).resolve()))
    for part in args.parts or PARTS:
        print(f"== {part}", flush=True)
        with tempfile.TemporaryDirectory(prefix="zab-chaos-") as folder:
            try:
                PARTS[part](chaos, pathlib.Path(folder))
            except Exception as error:  # one part that breaks is no reason to lose the others
                chaos.claim(f"{part} runs to its end", False, f"{type(error).__name__}: {error}")
    print(f"{len(chaos.claims)} claims, {chaos.claims.count(False)} missed")
    return 0 if all(chaos.claims) else 1


if __name__ == "__main__":
    sys.exit(main())
