#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The daemon without a table (make sherwoodd-null): it starts, serves both protocols, and stops."""

import subprocess

import wire
from harness import BUILD, Server, case, check, equal, main

NULL = BUILD / "sherwoodd-null"
GET, SET = 1, 2 # operations of frames


@case
def commands():
    """every key is found and writes are accepted; INFO and the metrics name the null backend"""
    with Server(program=NULL) as server, server.replies() as replies:
        check("robin_hood engine, null backend (stores nothing)" in server.line, server.line)
        equal(replies.ask("PING"), "PONG", "PING")
        equal(replies.ask("SET", "1", "2"), "OK", "SET")
        check(replies.ask("GET", "1").isdigit(), "GET")
        equal(len(replies.ask("MGET", *range(100))), 100, "MGET")
        equal(replies.ask("DEL", "1", "2", "3"), 3, "DEL")
        equal(replies.ask("EXISTS", "1"), 1, "EXISTS")
        equal(replies.ask("SCAN", "0"), [b"0", []], "SCAN")
        equal(replies.ask("FLUSHALL"), "OK", "FLUSHALL")
        check(b"\nbackend:null\r\n" in replies.ask("INFO", "sherwood"), "INFO")
        check(any('backend="null"' in name for name in server.metrics()), "metrics")


@case
def frames():
    """bulk frames get whole replies"""
    keys = list(range(10000))
    with Server(program=NULL) as server, server.connect() as connection:
        equal(wire.call(connection, SET, keys, keys).status, 0, "UPSERT")
        reply = wire.call(connection, GET, keys, want_values=True)
        equal(reply.status, 0, "GET")
        equal(len(reply.values()), len(keys), "values")
        check(all(reply.found()), "found")


@case
def other_engines():
    """the null backend refuses engines other than robin_hood"""
    for engine in ("cuckoo", "cache"):
        result = subprocess.run([str(NULL), "--engine", engine, "--port", "0",
                                 "--http-port", "0"], text=True, timeout=20, check=False,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE)
        check(result.returncode > 0, f"{engine}: exit {result.returncode}")
        check("has only the robin_hood engine" in result.stderr, result.stderr)


main()
