#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""/metrics, /healthz and /readyz by curl and promtool; counters after known work."""

import re
import socket
import threading
import time

import wire
from harness import ROOT, SLOWER, Server, case, check, equal, eventually, main, parse_metrics, run, soon

TEXT = "text/plain; version=0.0.4; charset=utf-8"
OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"


def curl(server, path, *arguments):
    """Returns (status, headers in lower case, body)."""
    shown = run("curl", "-s", "-i", *arguments, f"http://{server.host}:{server.http_port}{path}")
    head, body = shown.replace("\r\n", "\n").split("\n\n", 1)
    lines = head.split("\n")
    headers = dict(l.lower().split(": ", 1) for l in lines[1:])
    return int(lines[0].split()[1]), headers, body


def operations(server):
    """Returns the samples that count table work, by short names."""
    names = {
        "get": 'sherwood_operations_total{operation="get"}',
        "upsert": 'sherwood_operations_total{operation="upsert"}',
        "delete": 'sherwood_operations_total{operation="delete"}',
        "get_hits": 'sherwood_hits_total{operation="get"}',
        "get_misses": 'sherwood_misses_total{operation="get"}',
        "upsert_hits": 'sherwood_hits_total{operation="upsert"}',
        "upsert_misses": 'sherwood_misses_total{operation="upsert"}',
        "delete_hits": 'sherwood_hits_total{operation="delete"}',
        "delete_misses": 'sherwood_misses_total{operation="delete"}',
        "get_probes": 'sherwood_probes_total{operation="get"}',
        "inserted": "sherwood_inserted_total",
        "updated": "sherwood_updated_total",
        "deleted": "sherwood_deleted_total",
        "failures": "sherwood_failures_total",
        "commands": "sherwood_commands_processed_total",
        "command_errors": "sherwood_command_errors_total",
        "frames": "sherwood_frames_processed_total",
        "frame_errors": "sherwood_frame_errors_total",
    }
    samples = server.metrics()
    return {short: samples[name] for short, name in names.items()}


def moved(server, before, **wanted):
    """Checks that the named samples of operations() changed by these amounts, and no other did. A reply may arrive
    before the counter changes: a loop counts bytes and commands after it has sent them."""
    probes = wanted.pop("get_probes_min", 0)
    end = time.monotonic() + 30 * SLOWER
    while True:
        now = operations(server)
        got = {n: now[n] - before[n] for n in now if now[n] != before[n]}
        got_probes = got.pop("get_probes", 0)
        if got == wanted or time.monotonic() > end:
            break
    equal(got, wanted, "counters moved")
    check(probes <= got_probes <= probes * 30, f"{got_probes} probes, at least {probes}")


@case
def health():
    """curl: /healthz and /readyz reply 200, unknown paths 404, other methods 405"""
    with Server() as server:
        for path in ("/healthz", "/readyz"):
            equal(curl(server, path)[0], 200, path)
        equal(curl(server, "/nothing")[0], 404, "/nothing")
        equal(curl(server, "/metrics/x")[0], 404, "/metrics/x")
        status, headers, _ = curl(server, "/metrics", "-X", "POST", "-d", "x=1")
        equal(status, 405, "POST /metrics")
        check("get" in headers.get("allow", "").lower(), f"Allow: {headers}")
        equal(curl(server, "/healthz", "-X", "DELETE")[0], 405, "DELETE /healthz")
        status, _, body = curl(server, "/metrics", "-I")
        equal((status, body), (200, ""), "HEAD /metrics")


@case
def formats():
    """curl gets the text format by default and OpenMetrics if it prefers that; promtool finds no fault"""
    with Server() as server:
        status, headers, body = curl(server, "/metrics")
        equal((status, headers["content-type"]), (200, TEXT), "default")
        shown = run("promtool", "check", "metrics", stdin=body)
        equal(shown, "", "promtool")
        check(body.endswith("\n") and "# EOF" not in body, "the end of the text format")
        for accept, wanted in (
                ("application/openmetrics-text; version=1.0.0", OPENMETRICS),
                ("application/openmetrics-text;version=1.0.0,application/openmetrics-text;"
                 "version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", OPENMETRICS),
                ("text/plain", TEXT), ("*/*", TEXT), ("application/json", TEXT),
                ("application/openmetrics-text;q=0.1,text/plain;q=0.9", TEXT)):
            _, headers, body = curl(server, "/metrics", "-H", f"Accept: {accept}")
            equal(headers["content-type"], wanted.lower(), accept)
            equal(body.endswith("# EOF\n"), wanted == OPENMETRICS, f"# EOF for {accept}")


@case
def openmetrics_shape():
    """OpenMetrics: families are named without _total, samples of counters with it"""
    with Server() as server:
        _, _, body = curl(server, "/metrics", "-H", "Accept: application/openmetrics-text")
        family, kind, seen = "", "", set()
        for line in body.splitlines()[:-1]:
            match = re.match(r"# (HELP|TYPE|UNIT) (\S+) (.+)$", line)
            if match:
                if match.group(2) != family:
                    check(match.group(2) not in seen, f"family {match.group(2)} in two places")
                    seen.add(match.group(2))
                family = match.group(2)
                kind = match.group(3) if match.group(1) == "TYPE" else kind
                check(not family.endswith("_total"), family)
                continue
            name = re.match(r"[a-z0-9_]+", line).group(0)
            suffix = name[len(family):]
            allowed = {"counter": ("_total",), "gauge": ("",), "info": ("_info",),
                       "histogram": ("_bucket", "_count", "_sum")}
            check(name.startswith(family) and suffix in allowed[kind], f"{kind} {family}: {line}")


@case
def series_unique():
    """/metrics: no sample occurs twice, every family has HELP and TYPE, histograms add up"""
    with Server() as server:
        _, _, body = curl(server, "/metrics")
        samples = server.metrics()
        helped = set(re.findall(r"^# HELP (\S+) \S", body, re.M))
        typed = dict(re.findall(r"^# TYPE (\S+) (\S+)$", body, re.M))
        equal(helped, set(typed), "families")
        for name in samples:
            base = name.split("{")[0]
            family = base if base in typed else re.sub(r"_(bucket|sum|count)$", "", base)
            check(family in typed, f"{name} belongs to no family")
        for family in (f for f, kind in typed.items() if kind == "histogram"):
            buckets = [v for n, v in samples.items() if n.startswith(family + "_bucket")]
            equal(buckets, sorted(buckets), f"buckets of {family}")
            check(any(n.startswith(family + "_bucket") and 'le="+Inf"' in n for n in samples), family)


@case
def documented():
    """deploy/docs/ref/metrics.md lists every family with its type, labels and meaning, and no other"""
    with Server() as server:
        _, _, body = curl(server, "/metrics")
    helps = dict(re.findall(r"^# HELP (\S+) (.*)$", body, re.M))
    types = dict(re.findall(r"^# TYPE (\S+) (\S+)$", body, re.M))
    labels = {}
    for name, inside in re.findall(r"^(\w+)(?:\{(.*)\})? \S+$", body, re.M):
        family = name if name in types else re.sub(r"_(bucket|sum|count)$", "", name)
        found = re.findall(r'(\w+)="(?:[^"\\\\]|\\\\.)*"', inside)
        labels[family] = labels.get(family) or ", ".join(found)
    document = (ROOT / "deploy/docs/ref/metrics.md").read_text(encoding="utf-8")
    listed = {line for line in document.splitlines() if line.startswith("| `")}
    wanted = {f"| `{name}` | {types[name]} | {labels.get(name, '')} | {helps[name]} |" for name in helps}
    equal(sorted(listed - wanted), [], "metrics.md lists what there is not: make docs")
    equal(sorted(wanted - listed), [], "metrics.md lacks: make docs")


@case
def resp_counters():
    """counters increase by exactly what RESP commands did"""
    with Server() as server:
        with server.replies() as replies:
            before = operations(server)
            for key in range(100):
                equal(replies.ask("SET", key, key), "OK", "SET")
            moved(server, before, upsert=100, upsert_misses=100, inserted=100, commands=100)
            before = operations(server)
            equal(len(replies.ask("MGET", *range(50, 150))), 100, "MGET")
            moved(server, before, get=100, get_hits=50, get_misses=50, commands=1,
                  get_probes_min=100)
            before = operations(server)
            equal(replies.ask("MSET", 0, 1, 0, 2, 200, 3), "OK", "MSET")
            moved(server, before, upsert=3, upsert_hits=2, upsert_misses=1, inserted=1, updated=2,
                  commands=1)
            before = operations(server)
            equal(replies.ask("DEL", 0, 0, 500), 1, "DEL")
            moved(server, before, delete=3, delete_hits=1, delete_misses=2, deleted=1, commands=1)
            before = operations(server)
            check(isinstance(replies.ask("SET", 1, "x"), wire.Error), "SET 1 x")
            check(isinstance(replies.ask("NOSUCH"), wire.Error), "NOSUCH")
            equal(replies.ask("PING"), "PONG", "PING")
            moved(server, before, commands=3, command_errors=2)
            before = operations(server)
            check(isinstance(replies.ask("INCRBY", 1, 2**64 - 1), wire.Error), "INCRBY overflows")
            check(isinstance(replies.ask("DECRBY", 1, 2), wire.Error), "DECRBY below zero")
            equal(replies.ask("DECRBY", 1, 1), 0, "DECRBY")
            moved(server, before, upsert=3, upsert_hits=3, updated=1, commands=3, command_errors=2)


@case
def frame_counters():
    """counters increase by exactly what bulk frames did"""
    with Server() as server, server.connect() as connection:
        before = operations(server)
        keys = list(range(1000))
        equal(wire.exchange(connection, wire.frame(wire.SET, keys, keys)).status, wire.OK, "SET")
        moved(server, before, upsert=1000, upsert_misses=1000, inserted=1000, frames=1)
        before = operations(server)
        reply = wire.exchange(connection, wire.frame(wire.GET, list(range(500, 1500)), want_values=True))
        equal((reply.hits, reply.values()), (500, keys[500:] + [0] * 500), "GET")
        moved(server, before, get=1000, get_hits=500, get_misses=500, frames=1,
              get_probes_min=1000)
        before = operations(server)
        equal(wire.exchange(connection, wire.frame(wire.DELETE, [1, 1, 5000])).hits, 1, "DELETE")
        moved(server, before, delete=3, delete_hits=1, delete_misses=2, deleted=1, frames=1)
        before = operations(server)
        equal(wire.exchange(connection, wire.frame(wire.PING)).status, wire.OK, "PING")
        equal(wire.exchange(connection, wire.frame(99)).status, wire.UNKNOWN_OPERATION, "unknown operation")
        moved(server, before, frames=2, frame_errors=1)


@case
def bytes_and_connections():
    """every byte and every connection is counted"""
    with Server() as server:
        before = server.metrics()
        sockets = [server.connect() for _ in range(20)]
        question = wire.command("PING")
        for connection in sockets:
            connection.sendall(question)
            equal(connection.recv(64), b"+PONG\r\n", "PING")
        eventually(lambda: server.metrics()["sherwood_net_output_bytes_total"]
                   == before["sherwood_net_output_bytes_total"] + 20 * 7, "bytes out")
        now = server.metrics()
        def change(name):
            return now[f"sherwood_{name}"] - before[f"sherwood_{name}"]
        equal(change("net_output_bytes_total"), 20 * 7, "bytes out")
        equal(change("net_input_bytes_total"), 20 * len(question), "bytes in")
        equal(change("connections_accepted_total"), 20, "accepted")
        equal(change("connected_clients"), 20, "connected_clients")
        for connection in sockets:
            connection.close()
        eventually(lambda: server.metrics()["sherwood_connections_closed_total"]
                   - before["sherwood_connections_closed_total"] == 20, "20 closed")
        equal(server.connections(), before["sherwood_connected_clients"], "connected_clients")


class Slow(threading.Thread):
    """HTTP clients that send a byte of a request now and then, and reconnect when closed."""

    def __init__(self, server, count):
        super().__init__(daemon=True)
        self.address = (server.host, server.http_port)
        self.sockets = [None] * count
        self.running = True

    def run(self):
        request = b"GET /healthz HTTP/1.1\r\nX: " + b"a" * 100000
        at = 0
        while self.running:
            for i, connection in enumerate(self.sockets):
                try:
                    if connection is None:
                        connection = self.sockets[i] = socket.create_connection(self.address, 5)
                    connection.sendall(request[at:at + 1])
                except OSError:
                    self.sockets[i] = None
            at += 1
            time.sleep(0.05)
        for connection in self.sockets:
            if connection:
                connection.close()


def probe(server, path):
    """Asks until there is an answer: clients that connect again and again, 64 of them in the moment between this
    one's connection and its request, push it out."""
    equal(eventually(lambda: server.http(path)[0], path), 200, path)


@case
def slow_http():
    """/healthz and /readyz answer within 1 s while 64, then 200 clients send requests byte by byte"""
    with Server("--http-timeout-ms", "1000") as server:
        for count in (64, 200):
            slow = Slow(server, count)
            slow.start()
            end, name, least = time.monotonic() + 2, *(("timeouts", 64) if count == 64 else ("evictions", 100))

            def long_enough():
                for path in ("/healthz", "/readyz"):
                    soon(lambda: probe(server, path), 1, f"{path} beside {count} slow clients")
                status, _, text = server.http("/metrics")
                if status == 0: # pushed out, as a probe may be
                    return False
                samples = parse_metrics(text)
                return (time.monotonic() > end and samples["sherwood_http_requests_total"] >= 20 and
                        samples[f"sherwood_http_{name}_total"] >= least)
            try:
                eventually(long_enough, f"{least} {name}")
            finally:
                slow.running = False
                slow.join(20)


@case
def slow_readers():
    """/healthz answers within 1 s while 64 clients ask for /metrics and do not read the replies"""
    with Server() as server:
        sockets = []
        for _ in range(64):
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.connect((server.host, server.http_port))
            connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 20)
            sockets.append(connection)
        for _ in range(20):
            equal(soon(lambda: server.http("/healthz")[0], 1, "/healthz"), 200, "/healthz")
        for connection in sockets:
            connection.close()


@case
def bad_http():
    """invalid requests on the HTTP port affect no other client"""
    with Server() as server:
        for data in (b"\x00\xff" * 1000, b"GET", b"GET /metrics HTTP/9.9\r\n\r\n",
                     b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n", b"PING\r\n"):
            with socket.create_connection((server.host, server.http_port), timeout=20) as raw:
                try:
                    raw.sendall(data)
                    raw.settimeout(0.5)
                    while raw.recv(4096):
                        pass
                except OSError:
                    pass
            equal(curl(server, "/healthz")[0], 200, "/healthz")


if __name__ == "__main__":
    main()
