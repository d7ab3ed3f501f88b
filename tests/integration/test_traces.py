#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Spans of bulk frames by OTLP/HTTP: what a collector gets, and collectors that fail, hang or refuse."""

import json
import socket
import tempfile
import time

import certificates
import cluster
import wire
from collector import Collector, attributes
from harness import Moves, Server, case, check, equal, eventually, free_port, main, refusal

TRACE, PARENT = bytes.fromhex("4bf92f3577b34da6a3ce929d0e0e4736"), bytes.fromhex("00f067aa0ba902b7")
SAMPLED, NOT_SAMPLED = TRACE + PARENT + b"\x01", TRACE + PARENT + b"\x00"


def traced(collector, *flags, **named):
    """A server with one loop that exports to the collector."""
    return Server("--otlp-endpoint", collector.url, "--loops", "1", *flags, **named)


def send(connection, *frames):
    """Sends frames, each after the reply to the one before. Returns the statuses of the replies."""
    return [wire.exchange(connection, frame).status for frame in frames]


@case
def fields():
    """a span has the ids, times, attributes and status that OpenTelemetry's conventions name"""
    with Collector() as collector, traced(collector) as server, server.connect() as connection:
        began = time.time_ns()
        statuses = send(connection, wire.frame(wire.SET, [1, 2, 3], [4, 5, 6], traceparent=SAMPLED),
                        wire.frame(wire.GET, [1], traceparent=TRACE + PARENT + b"\x03"),
                        wire.frame(wire.GET, [1], traceparent=SAMPLED, width=4),
                        wire.frame(wire.GET, [1], traceparent=NOT_SAMPLED), wire.frame(wire.GET, [1]),
                        wire.frame(wire.GET, [1], traceparent=bytes(16) + PARENT + b"\x01"),
                        wire.frame(wire.PING, traceparent=SAMPLED))
        ended = time.time_ns()
        equal(statuses, [wire.OK, wire.OK, wire.BAD_REQUEST, wire.OK, wire.OK, wire.OK, wire.OK], "statuses")
        spans = collector.spans(4)
        equal([span["name"] for span in spans], ["SET default", "GET default", "GET default", "PING default"], "names")
        for span in spans:
            equal([span["traceId"], span["parentSpanId"], span["kind"]], [TRACE.hex(), PARENT.hex(), 2], span["name"])
            begin, end = int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"])
            check(began - 10**9 <= begin <= end <= ended + 10**9, f"{began} <= {begin} <= {end} <= {ended}")
        equal([span["flags"] for span in spans], [0x301, 0x303, 0x301, 0x301], "flags")
        equal(len({span["spanId"] for span in spans}), 4, "different span ids")
        check(all(len(span["spanId"]) == 16 for span in spans), "ids of 8 bytes")
        peer = connection.getsockname()
        common = {"db.system.name": "sherwood", "db.collection.name": "default", "server.address": "127.0.0.1",
                  "server.port": server.port, "network.transport": "tcp", "network.peer.address": peer[0],
                  "network.peer.port": peer[1]}
        error = {"db.response.status_code": "BAD_REQUEST", "error.type": "BAD_REQUEST"}
        equal([attributes(span) for span in spans],
              [{**common, "db.operation.name": "SET", "db.operation.batch.size": 3},
               {**common, "db.operation.name": "GET"}, {**common, **error, "db.operation.name": "GET"},
               {**common, "db.operation.name": "PING"}], "attributes")
        width = "key or value width differs from the table's: the request has keys of 4 and values of 4 bytes, the table 8 and 8"
        equal([span.get("status") for span in spans],
              [None, None, {"code": 2, "message": width}, None], "statuses")
        resource = attributes(collector.exports[0]["resourceSpans"][0]["resource"])
        equal(resource["service.name"], "sherwood", "service.name")
        run_id = dict(line.split(":", 1) for line in server.ask("INFO", "server").decode().splitlines() if ":" in line)["run_id"]
        equal(resource["service.instance.id"], run_id, "service.instance.id")
        equal(resource["host.name"], socket.gethostname(), "host.name")
        eventually(lambda: server.metrics()["sherwood_spans_exported_total"] == 4, "4 spans are counted")


@case
def tables_and_sockets():
    """spans of another table, of a dropped one and of a Unix socket; a stop exports the spans that wait"""
    with Collector() as collector, tempfile.TemporaryDirectory(prefix="sherwood-traces-") as folder:
        with traced(collector, "--databases", "2", "--unix-socket", f"{folder}/socket") as server:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(server.unix_path)
                equal(send(connection, wire.frame(wire.GET, [1], table=1, traceparent=SAMPLED),
                           wire.frame(wire.GET, [1], table=7, traceparent=SAMPLED)), [wire.OK, wire.NO_TABLE], "statuses")
            server.stop()
        first, second = collector.spans(2)
        equal([first["name"], second["name"]], ["GET db1", "GET"], "names")
        equal(attributes(first), {"db.system.name": "sherwood", "db.operation.name": "GET", "db.collection.name": "db1",
                                  "network.transport": "unix"}, "attributes")
        equal(attributes(second)["error.type"], "NO_TABLE", "error.type")


@case
def no_keys():
    """the span of a key of another node does not have the message of the reply, which names the key"""
    with Collector() as collector, cluster.nodes(2, "--otlp-endpoint", collector.url) as (one, _), one.connect() as connection:
        equal(send(connection, wire.frame(wire.GET, [cluster.key_in(8192, 16383)], traceparent=SAMPLED)), [wire.WRONG_SHARD], "status")
        span = collector.spans(1)[0]
        equal([span["status"], attributes(span)["error.type"]], [{"code": 2, "message": ""}, "WRONG_SHARD"], "status of the span")


@case
def no_login():
    """a client that must log in causes no span before its login"""
    with Collector() as collector, traced(collector) as server:
        server.ask("ACL", "SETUSER", "alice", "on", ">secret", "allkeys", "+@all")
        server.ask("ACL", "SETUSER", "default", "off")
        with server.connect() as connection:
            equal(send(connection, wire.frame(wire.GET, [1], traceparent=SAMPLED)), [wire.NO_AUTH], "status")
            login = wire.envelope(wire.header_of(wire.HELLO) + wire.field(21, b"alice") + wire.field(22, b"secret"))
            equal(send(connection, login, wire.frame(wire.GET, [2, 3], traceparent=SAMPLED)), [wire.OK, wire.OK], "statuses")
        equal([attributes(span)["db.operation.batch.size"] for span in collector.spans(1)], [2], "spans")


@case
def bound():
    """a collector that hangs delays no request: spans beyond otlp-spans-max are dropped and counted"""
    with Collector() as collector, traced(collector, "--otlp-spans-max", "64") as server, server.connect() as connection:
        collector.free.clear()
        send(connection, wire.frame(wire.GET, [1], traceparent=SAMPLED))
        collector.spans(1) # its answer is held back
        with Moves(server, spans_dropped=36, spans_exported=0, spans_failed=0, frames_processed=100):
            send(connection, *[wire.frame(wire.GET, [key], traceparent=SAMPLED) for key in range(100)])
        with Moves(server, spans_dropped=0, spans_exported=65, spans_failed=0):
            collector.free.set()
        equal(len(collector.spans()), 65, "spans")


@case
def retries():
    """503 is tried again, 400 is not, and a partial success counts the spans that the collector rejected"""
    with Collector() as collector, traced(collector) as server, server.connect() as connection:
        frame = wire.frame(wire.GET, [1], traceparent=SAMPLED)
        collector.answers = [(503, b"", {}), (429, b"", {"Retry-After": "0"}), (200, b"{}", {})]
        with Moves(server, spans_exported=1, spans_failed=0):
            send(connection, frame)
        equal(len(collector.exports), 3, "attempts")
        equal(collector.exports[0], collector.exports[2], "the export that is tried again")
        collector.answers = [(400, b"{}", {})]
        with Moves(server, spans_exported=0, spans_failed=1):
            send(connection, frame)
        equal(len(collector.exports), 4, "attempts")
        check("otlp: cannot export spans to" in server.log() and "HTTP status 400" in server.log(), server.log())
        collector.answers = [(200, json.dumps({"partialSuccess": {"rejectedSpans": "1"}}).encode(), {})]
        with Moves(server, spans_exported=1, spans_failed=1):
            send(connection, frame, frame)
        check("otlp: exporting spans to" in server.log(), server.log())


@case
def nobody():
    """without a collector the spans are dropped after five attempts, and the server stops at once"""
    with Server("--otlp-endpoint", f"http://127.0.0.1:{free_port()}/", "--loops", "1") as server:
        with server.connect() as connection, Moves(server, spans_exported=0, spans_failed=1):
            send(connection, wire.frame(wire.GET, [1], traceparent=SAMPLED))
        check(f"otlp: cannot export spans to {server.flags[server.flags.index('--otlp-endpoint') + 1]}v1/traces"
              in server.log(), server.log())


@case
def by_tls():
    """https: the collector's certificate must be signed by otlp-tls-ca"""
    with certificates.Authority() as authority:
        with Collector(authority.sign("collector")) as collector:
            with traced(collector, "--otlp-tls-ca", str(authority.ca)) as server, server.connect() as connection:
                send(connection, wire.frame(wire.GET, [1], traceparent=SAMPLED))
                equal(len(collector.spans(1)), 1, "spans")
            with traced(collector, "--otlp-tls-ca", str(authority.stranger())) as server, server.connect() as connection:
                with Moves(server, spans_exported=0, spans_failed=1):
                    send(connection, wire.frame(wire.GET, [1], traceparent=SAMPLED))
            equal(len(collector.spans()), 1, "spans")


@case
def off():
    """without otlp-endpoint, and for options that are wrong"""
    with Server() as server, server.connect() as connection, Moves(server, spans_exported=0, spans_dropped=0, spans_failed=0):
        equal(send(connection, wire.frame(wire.GET, [1], traceparent=SAMPLED)), [wire.OK], "status")
    check("otlp-tls-ca" in refusal("--otlp-endpoint", "https://localhost:4318", "--otlp-tls-ca", "/nowhere"), "the option is named")


if __name__ == "__main__":
    main()
