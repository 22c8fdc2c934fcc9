#!/usr/bin/env python3
"""How soon a service answers deliveries, and whether it has what it said it has. CPython alone; Linux.

    tests/bench/ack.py target/release/zephyr-ab
    tests/bench/ack.py target/release/zephyr-ab --kills 5

Starts `BINARY serve` with a configuration of its own in a new folder below --folder and sends signed deliveries of 10 to
20 kB at an even rate over connections that stay open. Times count from when a delivery was to be sent, so that a service
that stands still is not spared what it held up. In the same minute 16 kB are written and synchronised over and over in the
folder of the database: what the disk itself takes. With --kills the service is killed in the middle, started again, and
asked for each delivery that it had acknowledged; exit code 1 where one is lost.
"""

import argparse
import asyncio
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECRET = os.urandom(20).hex()
APP = 4711


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("--port", type=int, default=18080)
    parser.add_argument("--folder", type=pathlib.Path, default=None, help="on the disk that is meant (default: the current one)")
    parser.add_argument("--database", default=None, help="sqlite:FILE or postgres://... (default: a file in the folder)")
    parser.add_argument("--rate", type=float, default=300.0, help="deliveries per second")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--kills", type=int, default=0, help="kill it this often instead, each after a part of the time")
    parser.add_argument("--query", default=None, help="SQL that gives the ids in a SQLite database, as a second witness")
    parser.add_argument("--key", type=pathlib.Path, default=ROOT / "app/bot/src/config/fixtures/rsa-pkcs1.pem")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


class Service:
    """The service, its configuration and its log."""

    def __init__(self, args, folder):
        self.args, self.folder, self.process = args, folder, None
        secret = folder / "secret"
        secret.write_text(SECRET)
        key = folder / "key.pem"
        key.write_bytes(args.key.read_bytes())
        for path in (secret, key):
            path.chmod(0o600)
        self.database = args.database or f"sqlite:{folder / 'ack.db'}"
        store = f'url = "{self.database}"'
        if self.database.startswith("postgres"):
            (folder / "store").write_text(self.database)
            (folder / "store").chmod(0o600)
            store = 'url_file = "store"'
        self.config = folder / "zephyr-ab.toml"
        # Nobody is at the address of the API: what the service would say or ask there fails at once.
        self.config.write_text(
            f'[server]\nlisten = "127.0.0.1:{args.port}"\n'
            f'[github]\napp_id = {APP}\nslug = "ack"\nprivate_key_file = "key.pem"\nwebhook_secret_file = "secret"\n'
            f'api_url = "http://127.0.0.1:9"\n[store]\n{store}\n'
            f'[service]\ndata_dir = "data"\nsuites = ["demo"]\nlocal_backend = true\n[log]\nlevel = "warn"\n'
        )

    def start(self):
        log = open(self.folder / "serve.log", "ab")
        command = [str(self.args.binary), "serve", "--config", str(self.config)]
        self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)
        log.close()
        until = time.monotonic() + 30
        while time.monotonic() < until:
            if self.process.poll() is not None:
                break
            if self.answers():
                return
            time.sleep(0.05)
        self.kill()
        sys.exit("the service does not start:\n" + (self.folder / "serve.log").read_text(errors="replace")[-4000:])

    def answers(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.args.port, timeout=2)
        try:
            connection.request("GET", "/healthz")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def memory(self):
        for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        return float("nan")

    def kill(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()


class Deliveries:
    """Makes requests. Each has an id and a payload of its own."""

    def __init__(self, args):
        self.random = random.Random(args.seed)
        self.port = args.port
        self.run = os.urandom(4).hex()
        self.count = 0

    def next(self):
        self.count += 1
        guid = f"{self.run}-0000-4000-8000-{self.count:012x}"
        return guid, self.request(guid)

    def request(self, guid):
        # A comment without a command, in a repository that has not installed anything: stored, looked at, done with.
        text = "x" * self.random.randint(10_000, 20_000)
        payload = json.dumps({
            "action": "created", "n": self.count, "installation": {"id": 1},
            "repository": {"id": 1, "name": "r", "full_name": "o/r", "owner": {"login": "o", "id": 2}},
            "issue": {"number": 1, "pull_request": {}, "body": text},
            "comment": {"id": self.count, "body": "looks good to me", "user": {"id": 3, "login": "u", "type": "User"}},
            "sender": {"id": 3, "login": "u", "type": "User"},
        }).encode()
        signature = hmac.new(SECRET.encode(), payload, hashlib.sha256).hexdigest()
        head = (
            f"POST /webhook HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nContent-Type: application/json\r\n"
            f"User-Agent: ack\r\nX-GitHub-Event: issue_comment\r\nX-GitHub-Delivery: {guid}\r\n"
            f"X-GitHub-Hook-Installation-Target-Type: integration\r\nX-GitHub-Hook-Installation-Target-ID: {APP}\r\n"
            f"X-Hub-Signature-256: sha256={signature}\r\nContent-Length: {len(payload)}\r\n\r\n"
        )
        return head.encode() + payload


async def answer(reader):
    """Status and body of one answer."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    lines = head.split("\r\n")
    length = next((int(line.split(":")[1]) for line in lines if line.lower().startswith("content-length:")), 0)
    return int(lines[0].split()[1]), (await reader.readexactly(length)).decode("utf-8", "replace").strip()


async def send(args, deliveries, rate, seconds):
    """Sends at an even rate. Returns the ids that were acknowledged, their times, and what else was answered."""
    queue, acknowledged, times, other = asyncio.Queue(), [], [], {}

    async def connection():
        reader = writer = None
        while (item := await queue.get()) is not None:
            due, guid, request = item
            try:
                if writer is None:
                    reader, writer = await asyncio.open_connection("127.0.0.1", args.port)
                writer.write(request)
                await writer.drain()
                status, text = await answer(reader)
            except (OSError, asyncio.IncompleteReadError) as error:
                other[type(error).__name__] = other.get(type(error).__name__, 0) + 1
                if writer is not None:
                    writer.close()
                writer = None
                continue
            if status == 202 and text == "stored":
                acknowledged.append(guid)
                times.append(time.monotonic() - due)
            else:
                other[f"{status} {text}"] = other.get(f"{status} {text}", 0) + 1
        if writer is not None:
            writer.close()

    workers = [asyncio.create_task(connection()) for _ in range(args.connections)]
    began, sent = time.monotonic(), 0
    while sent < rate * seconds:
        due = began + sent / rate
        if (wait := due - time.monotonic()) > 0:
            await asyncio.sleep(wait)
        guid, request = deliveries.next()
        queue.put_nowait((due, guid, request))
        sent += 1
    for _ in workers:
        queue.put_nowait(None)
    await asyncio.gather(*workers)
    return acknowledged, times, other


class Disk(threading.Thread):
    """What the disk takes for 16 kB, written and synchronised, ten times a second."""

    def __init__(self, folder):
        super().__init__(daemon=True)
        self.path, self.over, self.times = folder / "disk", threading.Event(), []

    def run(self):
        data = os.urandom(16 << 10)
        with open(self.path, "wb", buffering=0) as file:
            while not self.over.wait(0.1):
                began = time.monotonic()
                file.write(data)
                os.fsync(file.fileno())
                self.times.append(time.monotonic() - began)


def shown(what, times):
    if not times:
        return f"{what:24} none"
    times = sorted(times)
    at = lambda part: times[min(len(times) - 1, int(part * len(times)))] * 1e3
    return f"{what:24} n {len(times):6}  p50 {at(0.5):7.2f} ms  p99 {at(0.99):7.2f} ms  max {times[-1] * 1e3:7.2f} ms"


def measure(args, service):
    service.start()
    time.sleep(5)
    print(f"{'memory at rest':24} {service.memory():.1f} MiB", flush=True)
    disk = Disk(service.folder)
    disk.start()
    acknowledged, times, other = asyncio.run(send(args, Deliveries(args), args.rate, args.seconds))
    disk.over.set()
    disk.join()
    print(shown(f"answers at {args.rate:g}/s", times))
    print(shown("16 kB and fsync", disk.times))
    print(f"{'memory under load':24} {service.memory():.1f} MiB")
    print(f"{'not stored':24} {other or 'none'}")
    service.stop()
    return 0 if acknowledged and not other else 1


async def known(args, deliveries, guids):
    """Which of these the service does not know."""
    reader, writer = await asyncio.open_connection("127.0.0.1", args.port)
    lost = []
    for guid in guids:
        writer.write(deliveries.request(guid))
        await writer.drain()
        if await answer(reader) != (202, "known"):
            lost.append(guid)
    writer.close()
    return lost


def kills(args, service):
    deliveries, chance = Deliveries(args), random.Random(args.seed)
    everything, lost, missing = [], [], []
    for n in range(args.kills):
        service.start()
        seconds = args.seconds / args.kills
        killer = threading.Timer(seconds * chance.uniform(0.3, 0.9), service.kill)
        killer.start()
        acknowledged, _, other = asyncio.run(send(args, deliveries, args.rate, seconds))
        killer.join()
        everything += acknowledged
        # Asked of the file before the service may repair anything, and of the service after it has started.
        if args.query and service.database.startswith("sqlite:"):
            with sqlite3.connect(service.database.removeprefix("sqlite:")) as database:
                there = {row[0] for row in database.execute(args.query)}
            missing += [guid for guid in acknowledged if guid not in there]
        service.start()
        gone = asyncio.run(known(args, deliveries, acknowledged))
        lost += gone
        service.kill()
        print(f"kill {n + 1}: {len(acknowledged)} acknowledged, {len(gone)} lost, otherwise {other}", flush=True)
    service.start()
    lost += asyncio.run(known(args, deliveries, everything))
    service.stop()
    print(f"{len(everything)} acknowledged, {len(lost)} not known afterwards, {len(missing)} not in the database")
    return 1 if lost or missing or not everything else 0


def main():
    args = arguments()
    args.binary = args.binary.resolve()
    with tempfile.TemporaryDirectory(prefix="ack-", dir=args.folder or ".") as folder:
        service = Service(args, pathlib.Path(folder).resolve())
        try:
            return kills(args, service) if args.kills else measure(args, service)
        finally:
            if service.process is not None:
                service.kill()


if __name__ == "__main__":
    sys.exit(main())
