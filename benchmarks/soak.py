"""The explorer's server under clients that mean well and clients that do not: how long do the good ones wait?

`make soak` builds the command and runs this on a port of its own, on this machine only. Three good clients
ask what a page asks while a slider moves. Beside them come, one crowd after the other, nobody; clients that
begin requests and never end them; clients that send drafts that take long, and leave; and all of these with
others that send what is no request at all. Good requests that are lost, or answered with anything but 200,
are errors; so is memory that grows: in the last quarter of a part it may be a fifth and 20 megabytes more
than in the second, as the server keeps up to 16 megabytes of answers.

usage: soak.py path/to/unspent [seconds of each part]
"""

import http.client
import json
import random
import re
import socket
import subprocess
import sys
import threading
import time

GOOD = 3
HALF_OPEN = 300
HEAVY = 4


class Server:
    """The command, serving."""

    def __init__(self, command):
        self.process = subprocess.Popen([command, "serve", "--port", "0"], stdout=subprocess.PIPE, text=True)
        found = re.search(r"http://([^:]+):(\d+)/", self.process.stdout.readline())
        self.host, self.port = found.group(1), int(found.group(2))

    def memory(self):
        """Megabytes: now, and at most."""
        with open(f"/proc/{self.process.pid}/status") as status:
            fields = dict(line.split(":", 1) for line in status)
        return [int(fields[name].split()[0]) // 1024 for name in ("VmRSS", "VmHWM")]

    def client(self, timeout=60):
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)


def ask(client, path, body):
    client.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    answer = client.getresponse()
    return answer.status, answer.read()


def preset(server, name):
    client = server.client()
    client.request("GET", f"/api/presets/{name}")
    return json.loads(client.getresponse().read())["draft"]


def good_client(server, draft, seed, end, times, errors):
    """Moves a slider, as the page does: a certificate, a curve or a trade-off function, and the noise."""
    chance = random.Random(seed)
    draft = json.loads(json.dumps(draft))
    total = {"scope": "total", "name": None}
    client = None
    while time.monotonic() < end:
        draft["levels"][1]["share"] = f"0.{chance.randrange(10**6, 4 * 10**6)}"
        path, body = chance.choice(
            [
                ("/api/certificate", {"release": [{"draft": draft}], "reductions": False}),
                ("/api/figure", {"figure": "curve", "draft": draft, "start": None, "part": total}),
                ("/api/figure", {"figure": "tradeoff", "draft": draft, "start": None, "part": total}),
                ("/api/spending", {"allocation": {"draft": draft}}),
            ]
        )
        began = time.monotonic()
        # As a browser does: one more try where an idle connection turns out to be closed.
        for again in (client is not None, False):
            try:
                client = client or server.client()
                status, _ = ask(client, path, body)
                if status != 200:
                    errors.append(f"{path}: {status}")
                break
            except (OSError, http.client.HTTPException) as error:
                client = None
                if not again:
                    errors.append(f"{path}: {error!r}")
                    break
        times.append(time.monotonic() - began)
        if chance.random() < 0.1:
            # Another page: its connection is a new one.
            client = client and client.close()
        time.sleep(0.02)


def half_open_client(server, end):
    """Begins requests and does not end them, on many connections, over and over."""
    crowd = []
    while time.monotonic() < end:
        try:
            stream = socket.create_connection((server.host, server.port), timeout=5)
            stream.sendall(b"POST /api/certificate HTTP/1.1\r\nHost: ")
            crowd.append(stream)
        except OSError:
            pass
        if len(crowd) > HALF_OPEN:
            crowd.pop(0).close()
        time.sleep(0.002)


def heavy_draft(chance):
    """Fractions of 100 digits that have nothing in common: little to send, long to work out."""
    digits = chance.choice([6, 30, 60, 100])

    def share():
        least, most = 10 ** (digits - 1), 10**digits
        return f"{chance.randrange(least, most)}/{chance.randrange(least, most) | 1}"

    queries = [f"q{i}" for i in range(chance.choice([5, 11, 25]))]
    levels = range(chance.choice([6, 20, 40]))
    return {
        "name": "heavy",
        "source": None,
        "record": "person",
        "neighbours": "bounded",
        "delta": "1e-10",
        "conversion": "canonne-kamath-steinke",
        "epsilon": None,
        "nested": True,
        "attributes": [],
        "queries": [{"name": name, "attributes": [], "shift": 1} for name in queries],
        "rho": "2",
        "table": None,
        "levels": [
            {"name": f"l{i}", "share": share(), "shares": [{"query": q, "share": share()} for q in queries]}
            for i in levels
        ],
    }


def heavy_client(server, seed, end, answers):
    """Asks what takes long. Leaves, sometimes, before it is answered."""
    chance = random.Random(seed)
    while time.monotonic() < end:
        draft = heavy_draft(chance)
        path, body = chance.choice(
            [
                ("/api/certificate", {"release": [{"draft": draft}], "reductions": False}),
                ("/api/certificate", {"release": [{"draft": draft}], "reductions": True}),
                ("/api/calibration", {"allocation": {"draft": draft}, "scaling": "level"}),
                ("/api/spending", {"allocation": {"draft": draft}}),
            ]
        )
        client = server.client(timeout=chance.choice([0.2, 1, 30]))
        try:
            answers.append(ask(client, path, body)[0])
        except (OSError, http.client.HTTPException):
            answers.append("left")
        client.close()


def broken_client(server, draft, seed, end, answers):
    """Sends good requests of which some bytes are others, parts of them, or noise."""
    chance = random.Random(seed)
    body = json.dumps({"release": [{"draft": draft}], "reductions": False}).encode()
    head = (
        f"POST /api/certificate HTTP/1.1\r\nHost: {server.host}:{server.port}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()
    while time.monotonic() < end:
        request = bytearray(head + body)
        for _ in range(chance.choice([1, 3, 30])):
            request[chance.randrange(len(head) if chance.random() < 0.5 else len(request))] = (
                chance.randrange(256)
            )
        if chance.random() < 0.2:
            request = request[: chance.randrange(len(request))]
        if chance.random() < 0.1:
            request = chance.randbytes(chance.randrange(1, 5000))
        try:
            with socket.create_connection((server.host, server.port), timeout=2) as stream:
                stream.sendall(request)
                if chance.random() < 0.8:
                    answer = stream.recv(4096)
                    answers.append(answer[9:12].decode("latin-1") if answer else "closed")
        except OSError:
            answers.append("closed")
        time.sleep(0.005)


def watch_memory(server, end, memory):
    """What the server has in memory, in megabytes, twice a second."""
    while time.monotonic() < end:
        memory.append(server.memory()[0])
        time.sleep(0.5)


def is_flat(memory):
    """Says how it went over the four quarters, and whether it grew."""
    quarter = max(1, len(memory) // 4)
    medians = [sorted(memory[i * quarter : (i + 1) * quarter])[quarter // 2] for i in range(4)]
    print(f"    memory by quarters: {', '.join(map(str, medians))} MB", flush=True)
    return medians[3] <= 1.2 * medians[1] + 20


def run(name, clients, server, end, times, errors):
    memory = []
    clients = [*clients, threading.Thread(target=watch_memory, args=(server, end, memory))]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    times.sort()
    at = [1e3 * times[min(len(times) - 1, int(q * len(times)))] for q in (0.5, 0.99, 1)]
    now, most = server.memory()
    print(
        f"{name:<32} {len(times):6} good requests, {len(errors)} lost; "
        f"p50 {at[0]:6.1f} ms, p99 {at[1]:6.1f} ms, longest {at[2]:6.1f} ms; {now} MB, at most {most}",
        flush=True,
    )
    for error in errors[:5]:
        print("   ", error)
    return is_flat(memory) and not errors


def main():
    command, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 30
    server = Server(command)
    fine = True
    try:
        draft = preset(server, "dhc-persons-us-2020")
        parts = (
            "alone",
            "half-open connections",
            "heavy drafts",
            "all at once, and broken requests",
            "alone again",
        )
        for name in parts:
            everything = "all" in name
            end = time.monotonic() + seconds
            times, errors, answers = [], [], []
            clients = [
                threading.Thread(target=good_client, args=(server, draft, i, end, times, errors))
                for i in range(GOOD)
            ]
            if "half-open" in name or everything:
                clients.append(threading.Thread(target=half_open_client, args=(server, end)))
            if "heavy" in name or everything:
                clients += [
                    threading.Thread(target=heavy_client, args=(server, i, end, answers))
                    for i in range(HEAVY)
                ]
            if everything:
                clients += [
                    threading.Thread(target=broken_client, args=(server, draft, i, end, answers))
                    for i in range(2)
                ]
            fine &= run(name, clients, server, end, times, errors)
            if answers:
                print("    others:", {str(a): answers.count(a) for a in sorted(set(answers), key=str)})
            # An answer that is in the making when all have left is no one's, and ends.
            fine &= "500" not in map(str, answers)
        fine &= server.process.poll() is None
    finally:
        server.process.kill()
    sys.exit(0 if fine else 1)


if __name__ == "__main__":
    main()
