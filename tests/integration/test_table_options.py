#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Tables beside the default one, for their operators: sections [table NAME] of the configuration file, metrics."""

import contextlib
import json
import os
import pathlib
import signal
import struct
import tempfile

import wire
from frame_tables import pairs, table
from harness import DAEMON, Server, case, check, equal, eventually, main, refusal, run

SECTIONS = """[table]
capacity = 4K

[table users]
value-bytes = 16
capacity = 1K
[limits]
databases = 3
[table cached]
policy = lfu
number = 5
engine = cache
[table db2]
default-ttl = 5000 ; in memory alone
[table plain]
"""


@contextlib.contextmanager
def configured(text, *flags):
    """A server with this configuration file, and a connection to it."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "sherwood.conf"
        path.write_text(text, encoding="utf-8")
        with Server("--config", str(path), *flags) as server, server.connect() as connection:
            yield server, wire.Replies(connection), path


def names(replies):
    return {pairs(row)[b"name"].decode(): pairs(row)[b"number"] for row in replies.ask("TABLE", "LIST")}


@case
def sections():
    """a section [table NAME] makes a table with its options, and the others of [table]"""
    with configured(SECTIONS) as (server, replies, path):
        equal(names(replies), {"default": 0, "db1": 1, "db2": 2, "cached": 5, "users": 65536, "plain": 65537}, "TABLE LIST")
        for name, wanted in (("users", {"value-bytes": "16", "capacity": "1K"}), ("cached", {"policy": "lfu", "engine": "cache"}),
                             ("db2", {"default-ttl": "5000"}), ("db1", {"default-ttl": "0"}), ("plain", {"value-bytes": "0"})):
            got = table(replies, name)
            equal({option: got[option] for option in wanted}, wanted, name)
        equal([replies.ask("SELECT", "users"), replies.ask("SET", 1, "a" * 16), replies.ask("GET", 1)], ["OK", "OK", b"a" * 16], "users")
        shown = run(DAEMON, "--config", path, "--check-config")
        printed = shown[shown.index("[table users]"):]
        path.write_text(printed, encoding="utf-8")
        equal(run(DAEMON, "--config", path, "--check-config").split("[table users]")[1], shown.split("[table users]")[1], "printed and read again")
        path.write_text(SECTIONS, encoding="utf-8")
        equal(replies.ask("CONFIG", "SET", "slowlog-max-len", "99"), "OK", "CONFIG SET")
        equal(replies.ask("TABLE", "ALTER", "default", "default-ttl", 9), "OK", "ALTER")
        equal(replies.ask("CONFIG", "REWRITE"), "OK", "REWRITE")
        written = path.read_text(encoding="utf-8")
        check("slowlog-max-len = 99" in written and "\ndefault-ttl = 9\n" in written and all(line in written for line in SECTIONS.splitlines()[2:]), written)
        server.process.send_signal(signal.SIGHUP)
        eventually(lambda: "the configuration was read" in server.log(), "SIGHUP")
        check("[table NAME] differ" not in server.log(), server.log())
        path.write_text(SECTIONS.replace("5000", "6000"), encoding="utf-8")
        server.process.send_signal(signal.SIGHUP)
        eventually(lambda: "the sections [table NAME] differ from those at the start" in server.log(), "a changed section")
        equal(table(replies, "db2")["default-ttl"], "5000", "the table is unchanged")


@case
def saved_sections():
    """a section beside a saved table of another shape or number ends the start, and the error names both; else the table stays"""
    with tempfile.TemporaryDirectory() as folder:
        with configured("[table users]\nvalue-bytes = 16\nnumber = 5\n", "--data-dir", folder) as (_, replies, _):
            equal([replies.ask("SELECT", 5), replies.ask("SET", 1, "a" * 16), replies.ask("SAVE")], ["OK"] * 3, "users")
        for text, words in (("value-bytes = 32", "exists with another shape: it has value-bytes 16, not value-bytes 32"),
                            ("value-bytes = 16\nnumber = 7", "exists with another number: it has 5, not 7"),
                            ("key-bits = 32\nresp-keys = decimal", "and value-bytes 16")):
            with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
                file.write(f"[table users]\n{text}\n")
                file.flush()
                said = run(DAEMON, "--config", file.name, "--backend", "cpu", "--port", 0, "--http-port", 0, "--data-dir", folder,
                           "--capacity", "1M", "--max-capacity", "0", rc=1)
                check(f"{file.name}:1: cannot create the table users: the table " in said and words in said, said)
        with configured("[table users]\nvalue-bytes = 16\n[table more]\n", "--data-dir", folder) as (_, replies, _):
            equal(names(replies), {"default": 0, "users": 5, "more": 65536}, "TABLE LIST")
            equal([replies.ask("SELECT", "users"), replies.ask("GET", 1)], ["OK", b"a" * 16], "what was saved")


@case
def metrics():
    """/metrics has series of the largest tables, whose sums are the series of before; the fullest table raises its alert"""
    with Server("--capacity", "4K", "--max-capacity", "0", "--metrics-tables-max", "2") as server, server.connect() as connection:
        replies = wire.Replies(connection)
        for words in (("CREATE", "tiny", "capacity", "64", "max-capacity", "0", "max-load", "0.5"), ("CREATE", "large", "capacity", "16K")):
            equal(replies.ask("TABLE", *words), "OK", words)
        for table, keys in (("tiny", 30), ("large", 50), ("default", 5)):
            equal(replies.ask("SELECT", table), "OK", table)
            equal(replies.ask("MSET", *(word for key in range(keys) for word in (key, 1))), "OK", table)
            equal(replies.ask("GET", 1), b"1", table)
        got = server.metrics()
        equal({name: value for name, value in got.items() if name.startswith("sherwood_table_keys")},
              {'sherwood_table_keys{table="default"}': 5, 'sherwood_table_keys{table="large"}': 50}, "the largest tables")
        equal([got["sherwood_db_keys"], got["sherwood_tables"], got["sherwood_tables_without_series"]], [85, 3, 1], "of all tables")
        equal(got['sherwood_table_operations_total{table="large",operation="upsert"}'], 50, "operations")
        equal(got['sherwood_table_hits_total{table="default",operation="get"}'], 1, "hits")
        check(got["sherwood_tables_fullest_ratio"] > 0.9, "the fullest table")
        status = json.loads(server.http("/status.json")[2])
        equal([(table["name"], table["keys"]) for table in status["tables"]], [("default", 5), ("large", 50)], "/status.json")
        check(any("The table tiny holds 9" in problem["text"] for problem in status["problems"]), status["problems"])


@case
def alter_default_ttl():
    """another default-ttl is for keys written from then on, by every connection; it meets frames and transactions that have begun"""
    ttl = lambda replies, key: min(replies.ask("TTL", key), 1)  # noqa: E731: -2 absent, -1 without a time, 1 with one
    with Server("--backend", "cpu", "--capacity", "1K", "--loops", "1") as server, server.connect() as frames, \
            server.replies() as ours, server.replies() as theirs:
        equal(ours.ask("TABLE", "CREATE", "fixed", "engine", "cuckoo"), "OK", "CREATE")
        got = ours.ask("TABLE", "ALTER", "fixed", "default-ttl", 5)
        check("default-ttl is not an option of the cuckoo engine" in got, got)
        for place, number in (("default", 0), ("a", 1)):
            def alter_to(seconds, place=place):
                equal(ours.ask("TABLE", "ALTER", place, "default-ttl", seconds), "OK", "ALTER")
                equal(table(ours, place)["default-ttl"], str(seconds), "TABLE INFO")
            equal(ours.ask("TABLE", "CREATE", place, "IF", "NOT", "EXISTS", "NUMBER", 1), "OK", "CREATE")
            equal([ours.ask("SELECT", place), theirs.ask("SELECT", place)], ["OK", "OK"], "SELECT")
            keep = wire.frame(wire.SET, (1, 2), (5, 5), times=wire.KEEP, table=number)
            equal(ours.ask("SET", 1, 1), "OK", "SET")
            for seconds, statuses in ((1000, (wire.TABLE_CHANGED, wire.OK)), (2000, (wire.OK,)), (0, (wire.OK,))):
                equal([theirs.ask("MULTI"), theirs.ask("SET", 3, 3), theirs.ask("SET", 4, 4, "EX", 50), theirs.ask("SET", 1, 1, "KEEPTTL")],
                      ["OK", "QUEUED", "QUEUED", "QUEUED"], "MULTI")
                frames.sendall(keep[:-8])
                equal(ours.ask("PING"), "PONG", "the one loop has read the frame's head")
                alter_to(seconds)
                frames.sendall(keep[-8:])
                for status in statuses:
                    equal(wire.read_frame(frames).status, status, f"KEEP beside default-ttl {seconds}")
                    if status != wire.OK:
                        equal(ours.ask("EXISTS", 2), 0, "nothing was done")
                        frames.sendall(keep)
                equal(theirs.ask("EXEC"), ["OK"] * 3, "EXEC")
                equal([ttl(ours, key) for key in (1, 2, 3, 4)], [-1, 1 if seconds else -1, 1 if seconds else -1, 1], f"TTL by {seconds}")
                equal([theirs.ask("DEL", 2, 3, 4), theirs.ask("SET", 3, 1), ttl(theirs, 3)], [3, "OK", 1 if seconds else -1], "later")


@case
def wrong_sections():
    """a wrong section ends the start with status 2, and the error names its line"""
    for line, text, words in (
            (1, "[table default]", "belong in section [table]"),
            (1, "[table 9x]", "a table's name is"), (1, "[table x y]", "a table's name is"),
            (1, "[table " + "x" * 64 + "]", "at most 63 bytes"),
            (1, "[tables users]", "unknown section [tables]; did you mean [table]?"),
            (1, "[table a]\nengine = cuckoo\npolicy = lfu", "policy is not an option of the cuckoo engine"),
            (2, "[table a]\nport = 1", "port is an option of the server"),
            (2, "[table a]\nfoo = 1", "unknown option 'foo' of a table"),
            (2, "[table a]\n[table a]", "was already in line 1"),
            (3, "[table a]\ncapacity = 1\ncapacity = 2", "option 'capacity' was already set"),
            (2, "[table a]\nnumber = 70000", "not an integer from 1 to 65535"),
            (2, "[table db9]\nnumber = 8", "the name db9 is for the table with its number"),
            (3, "[table a]\nnumber = 8\n[table b]\nnumber = 8", "the table a has the number 8"),
            (2, "[table a]\ncapacity 7", "have '=' between them"), (2, '[table a]\ncapacity = "7"', "without quotes"),
            (1, "[table a]\ncapacity = 8\nmax-capacity = 4", "max-capacity 4 is less than capacity 8"),
            (4, "[limits]\ntables-max = 2\n[table a]\n[table b]", "more tables than tables-max 2")):
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
            file.write(text + "\n")
            file.flush()
            said = run(DAEMON, "--config", file.name, rc=2)
            check(words in said and f"{file.name}:{line}: " in said, f"{text}: {said}")
            check(words in refusal("--config", file.name), f"--check-config of {text}")
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        file.write("[limits]\ntables-max = 2\ndatabases = 2\n[table a]\n")
        file.flush()
        said = run(DAEMON, "--config", file.name, "--backend", "cpu", "--port", 0, "--http-port", 0, rc=1)
        check("cannot create the tables of databases 2: tables-max 2 is reached" in said, said)


@case
def many_small_tables():
    """each of many tables of 1,024 slots takes at most 128 KiB, no thread and no file, and commands on it share their memory"""
    with Server("--capacity", "1K", "--max-capacity", "1K", "--tables-max", "1100") as server, server.replies() as replies:
        def create(numbers):
            for i in numbers:
                equal(replies.ask("TABLE", "CREATE", f"t{i}", "capacity", "1024"), "OK", i)

        def counted():
            return len(os.listdir(f"/proc/{server.pid()}/task")), server.open_files()

        def mapped():
            return int(pathlib.Path(f"/proc/{server.pid()}/statm").read_text(encoding="ascii").split()[0]) * 4096

        create(range(20))
        resident, before = server.resident_bytes(), counted()
        create(range(20, 220))
        each = (server.resident_bytes() - resident) / 200
        check(each <= 128 << 10, f"{each / 1024:.0f} KiB each")
        equal(counted(), before, "threads and files")
        idle = mapped()
        for i in range(220):
            equal([replies.ask("SELECT", f"t{i}"), replies.ask("INCR", 1), replies.ask("MSETNX", 1, 7)], ["OK", 1, 0], i)
        check(mapped() < idle + (32 << 20), f"memory for commands: {mapped() - idle} bytes")
        equal([replies.ask("INCR", 1), replies.ask("SELECT", "t7"), replies.ask("COPY", 1, 2, "DB", "t8"), replies.ask("INCR", 1),
               replies.ask("SELECT", "t8"), replies.ask("MGET", 1, 2)], [2, "OK", 1, 2, "OK", [b"1", b"1"]], "commands afterwards")


@case
def created_and_dropped():
    """a thousand tables that are filled, swapped and dropped leave no memory, thread or file behind, and each has an id of its own"""
    with Server("--capacity", "4K", "--loops", "2") as server, server.replies() as replies:
        def cycle(count):
            for _ in range(count):
                equal([replies.ask(*words) for words in (("TABLE", "CREATE", "t", "LIKE", "default"), ("SELECT", "t"), ("MSET", *range(20)),
                                                         ("EXPIRE", 2, 1000), ("SELECT", 0), ("TABLE", "SWAP", "t", "default"), ("TABLE", "DROP", "t"))],
                      ["OK", "OK", "OK", 1, "OK", "OK", "OK"], "a cycle")
            return server.resident_bytes(), len(os.listdir(f"/proc/{server.pid()}/task")), server.open_files()
        before, after = cycle(300), cycle(700)
        check(after[0] < before[0] + (1 << 17), f"700 tables left {after[0] - before[0]} bytes")
        equal(after[1:], before[1:], "threads and files")
        facts = replies.ask("TABLE", "INFO", "default")
        equal(facts[facts.index(b"id") + 1], 1001, "the id of the last table")


@case
def tables_without_rows():
    """rows-in of the server is for its tables with rows: others are created beside them, and a restart has all of them"""
    kinds = {"integers": "value-bytes 0", "keys": "value-bytes 0 value-type none", "still": "engine cuckoo", "numbers": "value-bytes 0 ids 1K",
             "slots": "engine cache ids 1K", "rows": "like integers value-bytes 64", "cached": "engine cache value-bytes 64"}
    for where in ("host", "gpu+host"):
        with tempfile.TemporaryDirectory() as folder:
            flags = ("--rows-in", where, "--value-bytes", "64", "--capacity", "4K", "--data-dir", folder)
            for state in ("created", "loaded"):
                with Server(*flags) as server, server.replies() as replies:
                    for name, words in kinds.items():
                        got = replies.ask("TABLE", "CREATE", name, *words.split()) if state == "created" else replies.ask("SELECT", name)
                        if name == "cached" and where == "gpu+host":
                            check(isinstance(got, wire.Error), got)
                        else:
                            equal(got, "OK", f"{where}, {name} {state}")
                    got = [replies.ask("SELECT", "integers"), replies.ask("INCR", 1), replies.ask("SELECT", "rows"), replies.ask("SET", 1, b"x" * 64)]
                    equal(got, ["OK", 1 + (state == "loaded"), "OK", "OK"], "values")
                    equal(replies.ask("SAVE"), "OK", "SAVE")


@case
def adds_by_table():
    """ADD calculates with the numbers of its table, and no table without rows of numbers takes it"""
    def row(*numbers):
        return struct.pack(f"<{len(numbers)}f", *numbers)
    for first in ((), ("--value-bytes", "8", "--value-type", "u32"), ("--value-bytes", "8", "--value-type", "f32")):
        with Server("--capacity", "4K", *first) as server, server.replies() as replies:
            for kind in ("f32", "bytes"):
                equal([replies.ask("TABLE", "CREATE", kind, "value-bytes", 8, "value-type", kind), replies.ask("SELECT", kind),
                       replies.ask("SET", 1, row(1, 2))], ["OK"] * 3, kind)
                added = replies.ask("ADD", 1, row(1, 2), "SCALE", "0.5")
                equal((str(added)[:12], replies.ask("GET", 1)),
                      ("1", row(1.5, 3)) if kind == "f32" else ("ERR ADD need", row(1, 2)), f"{first}, {kind}")
            equal([replies.ask("TABLE", "CREATE", "integers", "value-bytes", 0, "value-type", "bytes"), replies.ask("SELECT", "integers")], ["OK"] * 2)
            check("needs rows of numbers" in str(replies.ask("ADD", 1, "12345678")), "integers")


main()
