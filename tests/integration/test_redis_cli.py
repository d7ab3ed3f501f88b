#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The daemon driven by redis-cli and redis-benchmark."""

import difflib
import pathlib
import re
import subprocess
import time

from harness import Server, case, check, equal, eventually, main, run

GOLDEN = pathlib.Path(__file__).parent / "golden" / "redis_cli.txt"
RANGE = "is not an unsigned integer or out of range"


@case
def transcript():
    """redis-cli: a session of every data command prints the golden transcript"""
    wanted = [l for l in GOLDEN.read_text().splitlines() if not l.startswith("# ")]
    typed = [l[2:] for l in wanted if l.startswith("> ")]
    with Server() as server:
        # One connection for all; each command is echoed by a PING with its number before it.
        text = "".join(f"ECHO ::{i}\n{line}\n" for i, line in enumerate(typed))
        shown = server.redis_cli("--no-raw", stdin=text).splitlines()
        got = []
        for line in shown:
            mark = re.fullmatch(r'"::(\d+)"', line)
            if mark:
                got.append("> " + typed[int(mark.group(1))])
            else:
                got.append(line)
        difference = "\n".join(difflib.unified_diff(wanted, got, "wanted", "got", lineterm="", n=2))
        check(not difference, difference)


@case
def number_errors():
    """redis-cli: a key or value that is not an unsigned 64-bit integer is refused, and changes nothing"""
    bad = ["-1", "+1", "1.5", "abc", "''", "18446744073709551616", "1e3", "0x10", "' 1'", "'1 '",
           "99999999999999999999999"]
    with Server("--resp-keys", "decimal") as server:
        server.redis_cli(stdin="SET 1 10\nSET 2 20\n")
        typed = []
        for word in bad:
            typed += [f"GET {word}", f"SET {word} 1", f"SET 1 {word}", f"DEL 1 {word}",
                      f"MSET 1 5 2 {word}", f"MGET 1 {word}", f"INCRBY {word} 1", f"EXISTS 1 {word}",
                      f"GETSET 1 {word}", f"SETNX 3 {word}", f"TTL {word}", f"GETDEL {word}"]
        shown = server.redis_cli("--no-raw", stdin="\n".join(typed) + "\n").splitlines()
        for line, answer in zip(typed, shown, strict=True):
            check(re.fullmatch(rf"\(error\) ERR [a-z ]*{RANGE}(; for string(s| keys) .*)?", answer), f"{line}: {answer}")
        equal(server.redis_cli("--no-raw", stdin="MGET 1 2\nDBSIZE\n"),
              '1) "10"\n2) "20"\n(integer) 2\n', "after refused commands")


@case
def resp3():
    """redis-cli -3: HELLO gives the map, INFO is verbatim text"""
    with Server() as server:
        hello = server.redis_cli("-3", "--no-raw", "HELLO", "3")
        for line in ("\"server\"", "\"version\"", "\"proto\" => (integer) 3", "\"mode\"",
                     "\"role\" => \"master\"", "\"modules\""):
            check(line in hello, f"{line} in {hello}")
        check("NOPROTO" in server.redis_cli("HELLO", "4"), "HELLO 4")
        equal(server.redis_cli("-3", "--no-raw", "GET", "1"), "(nil)\n", "GET in RESP3")


@case
def info():
    """redis-cli: INFO has the sections that tools read, with the right values"""
    with Server() as server:
        server.redis_cli(stdin="".join(f"SET {i} {i}\n" for i in range(10)))
        text = server.redis_cli("INFO").replace("\r", "")
        for section in ("Server", "Clients", "Memory", "Stats", "Keyspace"):
            check(f"# {section}\n" in text, f"section {section}")
        facts = dict(l.split(":", 1) for l in text.splitlines() if ":" in l)
        equal(int(facts["tcp_port"]), server.port, "tcp_port")
        equal(int(facts["process_id"]), server.pid(), "process_id")
        check(facts["db0"].startswith("keys=10,"), facts["db0"])
        check(int(facts["redis_version"].split(".")[0]) >= 7, facts["redis_version"])
        equal(int(facts["connected_clients"]), 1, "connected_clients")
        one = server.redis_cli("INFO", "keyspace")
        check("# Keyspace" in one and "# Server" not in one, one)


@case
def scan():
    """redis-cli --scan: every key of 20,000, each at least once"""
    count = 20000
    with Server() as server:
        keys = list(range(0, 7 * count, 7))
        server.redis_cli("--pipe", stdin="".join(f"SET {k} 1\r\n" for k in keys))
        equal(int(server.redis_cli("DBSIZE")), count, "DBSIZE")
        seen = server.redis_cli("--scan").split()
        equal(set(map(int, seen)), set(keys), "keys seen")
        check(len(seen) < count * 1.05, f"{len(seen)} keys for {count}")


@case
def pipe():
    """redis-cli --pipe: of 100,000 commands one is wrong: one error, all others executed"""
    count = 100000
    with Server() as server:
        lines = [f"SET {i} {i + 1}\r\n" for i in range(count)]
        lines[count // 2] = "SET 1 x\r\n"
        shown = server.redis_cli("--pipe", stdin="".join(lines), rc=None)
        check(f"errors: 1, replies: {count}" in shown, shown[-500:])
        equal(int(server.redis_cli("DBSIZE")), count - 1, "DBSIZE")
        equal(server.redis_cli("GET", str(count - 1)).strip(), str(count), "the last value")


def watch(server, *arguments, lines, seconds):
    """Runs a redis-cli mode that never ends until it has shown some lines."""
    process = subprocess.Popen(
        ["redis-cli", "-h", server.host, "-p", str(server.port), *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    shown = []
    end = time.monotonic() + seconds
    while len(shown) < lines and time.monotonic() < end:
        line = process.stdout.readline()
        if not line:
            break
        shown.append(line)
    process.terminate()
    process.wait()
    return shown


@case
def modes():
    """redis-cli --stat and --latency work"""
    with Server() as server:
        server.redis_cli(stdin="SET 1 1\nSET 2 2\n")
        shown = watch(server, "--stat", "-i", "0.1", lines=5, seconds=60)
        check(len(shown) >= 4 and re.match(r"\d+\s", shown[2]) and shown[2].startswith("2"),
              f"--stat: {shown}")

        def measured():
            minimum, maximum, _, samples = map(float, server.redis_cli("--latency", "--raw", "-i", "1", timeout=20).split()[:4])
            check(minimum <= maximum, f"--latency: {minimum} to {maximum}")
            return samples > 10
        eventually(measured, "more than 10 samples in a second")


@case
def inline():
    """inline commands work as typed by hand with netcat"""
    with Server() as server, server.connect() as connection:
        connection.sendall(b"SET 1 2\r\nGET 1\n\r\n\r\nping\r\nGET \"1\"\r\nQUIT\r\n")
        data = b""
        while True:
            part = connection.recv(4096)
            if not part:
                break
            data += part
        equal(data, b"+OK\r\n$1\r\n2\r\n+PONG\r\n$1\r\n2\r\n+OK\r\n", "replies")


@case
def benchmark():
    """redis-benchmark: numeric keys, pipeline 64, plain and many clients; every command counted"""
    requests = 200000
    with Server() as server:
        before = server.metrics()
        base = ("redis-benchmark", "-h", server.host, "-p", str(server.port), "-q")
        for arguments in (["-n", str(requests), "-P", "64", "-c", "20", "-r", "50000", "SET",
                           "__rand_int__", "42"],
                          ["-n", str(requests), "-P", "64", "-c", "20", "-r", "50000", "GET",
                           "__rand_int__"],
                          ["-n", "20000", "-c", "50", "-r", "50000", "INCRBY", "__rand_int__", "3"],
                          ["-n", "20000", "-t", "ping", "-c", "10"],
                          ["-n", "20000", "-P", "16", "-r", "50000", "--threads", "2", "MGET",
                           "__rand_int__", "__rand_int__", "__rand_int__"]):
            shown = run(*base, *arguments, timeout=120)
            check("requests per second" in shown and "rror" not in shown.replace(
                "WARNING: Could not fetch server CONFIG", ""), shown[-600:])
        def sets():
            now = server.metrics()
            return now['sherwood_operations_total{operation="upsert"}'] - before[
                'sherwood_operations_total{operation="upsert"}']
        equal(sets(), requests + 20000, "upserts")
        eventually(lambda: server.connections() == 0, "no connection is left")


if __name__ == "__main__":
    main()
