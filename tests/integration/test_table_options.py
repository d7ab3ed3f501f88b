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
from data_directory import Directory, does_not_start, durable
from harness import DAEMON, Server, case, check, equal, eventually, main, refusal, run
from replication import SMALL, info, replica_of, to_be_killed

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


def pairs(reply):
    return dict(zip(reply[::2], reply[1::2]))


def table(replies, name):
    return {key.decode(): value.decode() if isinstance(value, bytes) else value
            for key, value in pairs(replies.ask("TABLE", "INFO", name)).items()}


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
def memory():
    """a table grows up to its memory-max, and takes no memory that memory-min promises to another; each refusal names the option"""
    flags = ("--capacity", "1K", "--max-capacity", "1M", "--tables-memory-max", "8M")
    with Server(*flags) as server, server.connect() as connection, server.connect() as frames:
        replies = wire.Replies(connection)

        def fill(name):
            """Adds keys until a write is refused. Returns the error and the memory of the table."""
            equal(replies.ask("SELECT", name), "OK", name)
            for first in range(0, 10**6, 2000):
                got = replies.ask("MSET", *(word for key in range(first, first + 2000) for word in (key, key)))
                if got != "OK":
                    return got, int(table(replies, name)["bytes"])
            raise AssertionError(f"{name} has no limit")
        error = {"c": "it needs 22.0 MiB, more than tables-memory-max leaves", "d": "it needs 6.0 MiB, more than tables-memory-max leaves",
                 "e": "more than its memory-max", "f": "memory-min 2097152 is more than memory-max 1048576",
                 "g": "memory-min 16777216 is more than tables-memory-max 8388608"}
        for words in ("a max-capacity 1M memory-max 512K", "b max-capacity 1M memory-min 4M"):
            equal(replies.ask("TABLE", "CREATE", *words.split(), "capacity", "1K"), "OK", words)
        for words in ("c capacity 1M", "d capacity 1K memory-min 6M", "e capacity 64K memory-max 64K", "f memory-max 1M memory-min 2M",
                      "g memory-min 16M"):
            got = replies.ask("TABLE", "CREATE", *words.split())
            check(isinstance(got, wire.Error) and error[words[0]] in got, f"{words}: {got}")
        got, size = fill("a")
        check(got.startswith("OOM the table a cannot grow, that would pass its memory-max: raise memory-max"), got)
        check(size <= 512 << 10, f"a has {size} bytes")
        frames.sendall(wire.frame(wire.SET, range(10**6, 10**6 + 999), range(999), table=65536))
        reply = wire.read_frame(frames)
        equal(reply.status, wire.OUT_OF_MEMORY, "a frame")
        check("the table a cannot grow" in reply.message, reply.message)
        got = replies.ask("RESIZE", 1 << 17)
        check("the table a cannot grow, that would pass its memory-max" in got, got)
        got, of_default = fill("default")
        check("the table default cannot grow, the other tables leave too little of tables-memory-max" in got, got)
        got, of_b = fill("b")
        check("the table b cannot grow" in got, got)
        check(of_default + size <= 4 << 20 < 2 * of_b <= 8 << 20, f"default has {of_default} bytes, b {of_b}")
        equal(replies.ask("TABLE", "DROP", "b"), "OK", "DROP")
        eventually(lambda: fill("default")[1] > of_default, "the table grows into the memory of b, at the end of its pause")


@case
def alter():
    """TABLE ALTER changes the limits of a table at once, and a restart finds them; a change that is refused changes nothing"""
    alter_and_restart("--appendonly", "no")


@case
def alter_with_a_log():
    """with a log too, whose replay is not limited by what TABLE ALTER lowers"""
    alter_and_restart("--appendonly", "yes", "--frame-ops-max", "256", "--round-ops-max", "4096", "--log-segment-bytes", "4M")


def alter_and_restart(*log):
    with tempfile.TemporaryDirectory() as folder:
        flags = ("--capacity", "1K", "--max-capacity", "1M", "--tables-memory-max", "16M", "--data-dir", folder, *log)
        wanted = {"max-capacity": "64K", "memory-max": "4M", "memory-min": "1M"}
        def fill(replies, start=0):
            for first in range(start, start + 10**6, 2000):
                got = replies.ask("MSET", *(word for key in range(first, first + 2000) for word in (key, key)))
                if got != "OK":
                    return got
            raise AssertionError("the table has no limit")

        with Server(*flags) as server, server.connect() as connection:
            replies = wire.Replies(connection)
            equal(replies.ask("TABLE", "CREATE", "a", "capacity", "1K", "max-capacity", "256K", "memory-max", "256K"), "OK", "CREATE")
            equal(replies.ask("SELECT", "a"), "OK", "SELECT")
            check("would pass its memory-max" in fill(replies), "memory-max")
            logged = [server.metrics()[f'sherwood_table_log_bytes_total{{table="{name}"}}'] for name in ("a", "default")]
            check((logged[0] > 16 * table(replies, "a")["keys"]) == ("yes" in log) and logged[1] == 0, logged)
            before = table(replies, "a")
            for words, error in (("memory-max 1K", "more than this memory-max"), ("memory-min 64M", "memory-min 67108864 is more than"),
                                 ("max-capacity 1M", "was created for at most 262144 slots"), ("default-ttl -1", "default-ttl: '-1' is not a whole number"),
                                 ("max-capacity 1K", "slots, more than this max-capacity"),
                                 ("engine cuckoo", "does not change"), ("capacity 2K", "does not change"), ("foo 1", "unknown option 'foo'"),
                                 ("memory-max", "wrong number of arguments"), ("memory-max 1M memory-min", "has no value"),
                                 ("memory-min 16M memory-max 0", "more than the other tables leave")):
                got = replies.ask("TABLE", "ALTER", "a", *words.split())
                check(isinstance(got, wire.Error) and error in got, f"{words}: {got}")
                equal(table(replies, "a"), before, words)
            equal(replies.ask("TABLE", "ALTER", "nothing", "memory-max", 0), wire.Error("ERR no such table: TABLE LIST shows the tables"), "ALTER")
            equal(replies.ask("TABLE", "ALTER", "a", "MEMORY-MAX", "8M", "max-capacity", "64K"), "OK", "ALTER")
            eventually(lambda: "would pass its max-capacity" in fill(replies), "max-capacity")
            equal(int(table(replies, "a")["slots"]), 64 << 10, "growth stops at the limit and not before")
            full = {name: server.metrics()[f'sherwood_table_{name}{{table="a"}}'] for name in ("full_ratio", "slots_max")}
            check(full["full_ratio"] > 0.9 and full["slots_max"] == 64 << 10, f"figures of a full table: {full}")
            equal(replies.ask("TABLE", "ALTER", "a", *(word for pair in wanted.items() for word in pair)), "OK", "ALTER")
            equal(replies.ask("TABLE", "CREATE", "brief", "capacity", "1K", "default-ttl", 1), "OK", "CREATE")
            equal(replies.ask("TABLE", "ALTER", "brief", "default-ttl", 1000), "OK", "ALTER")
            equal(replies.ask("TABLE", "CREATE", "still", "engine", "cuckoo", "capacity", "4K", "stash", "128"), "OK", "CREATE")
            equal(replies.ask("TABLE", "ALTER", "still", "memory-max", "8M"), "OK", "ALTER of a table that does not grow")
            equal(replies.ask("TABLE", "ALTER", "default", "memory-max", "2M", "default-ttl", 9), "OK", "ALTER of the default table")
            server.end_by_kill()
        with Server(*flags) as server, server.connect() as connection:
            replies = wire.Replies(connection)
            got = table(replies, "a")
            equal({name: got[name] for name in wanted}, wanted, "behind a kill")
            equal([table(replies, "brief")["default-ttl"], table(replies, "still")["memory-max"]], ["1000", "8M"], "likewise")
            equal([table(replies, "default")[name] for name in ("memory-max", "default-ttl")], ["0", "0"], "as the command line says")
            equal(replies.ask("TABLE", "CREATE", "c", "LIKE", "a", "memory-min", 0), "OK", "CREATE LIKE")
            got = replies.ask("TABLE", "ALTER", "c", "max-capacity", "256K")
            check("was created for at most 65536 slots" in got, f"a table of its own limit: {got}")
            equal(replies.ask("SELECT", "a"), "OK", "SELECT")
            equal(replies.ask("TABLE", "ALTER", "a", "memory-max", "16M"), "OK", "ALTER")
            eventually(lambda: "would pass its max-capacity" in fill(replies, 20 * 10**5), "the limit of before the kill")
            for words, wanted in (("max-capacity 512K", "was created for at most 262144 slots"), ("max-capacity 128K", "OK")):
                got = replies.ask("TABLE", "ALTER", "a", *words.split())
                check(wanted in got, f"{words}: {got}")
            eventually(lambda: "would pass its max-capacity" in fill(replies, 21 * 10**5), "the raised limit")
            equal(int(table(replies, "a")["slots"]), 128 << 10, "growth reaches the raised limit")
            equal(replies.ask("SAVE"), "OK", "SAVE")
        with Server(*flags) as server, server.replies() as replies:
            equal(replies.ask("TABLE", "ALTER", "a", "max-capacity", "256K", "memory-max", "0"), "OK", "the slots of the creation, once more")
            equal(table(replies, "still")["memory-max"], "8M", "a table that does not grow")


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


def alterable(replies, name):
    facts = table(replies, name)
    return [facts[option] for option in ("default-ttl", "memory-max", "memory-min", "max-capacity")]


@case
def alter_beside_a_replica():
    """TABLE ALTER reaches a replica and its files, and a promoted replica; the options of place 0 are each server's own"""
    flags = (*SMALL, "--tables-memory-max", "4G")
    with Directory() as of_primary, Directory() as of_replica, to_be_killed(durable(of_primary, "no", *flags)) as primary, \
            primary.replies() as ours:
        def follower(port):
            return to_be_killed(durable(of_replica, "no", *flags, "--replicaof", f"127.0.0.1 {port}", errors="replica"))
        def alter_to(name, *words):
            equal(ours.ask("TABLE", "ALTER", name, *words), "OK", words)
            equal(ours.ask("WAIT", 1, 30000), 1, "WAIT")
        wanted = ["1000", "1G", "1M", "4K"]
        with follower(primary.port) as replica, replica.replies() as theirs:
            eventually(lambda: info(replica)["master_link_status"] == "up", "the replica is connected")
            equal(ours.ask("TABLE", "CREATE", "a", "capacity", "1K", "max-capacity", "64K"), "OK", "CREATE")
            alter_to("default", "default-ttl", 77)
            alter_to("a", "default-ttl", 1000, "memory-max", "1G", "memory-min", "1M", "max-capacity", "4K")
            equal([alterable(ours, "a"), alterable(theirs, "a")], [wanted, wanted], "the table")
            equal([alterable(replies, "default")[0] for replies in (ours, theirs)], ["77", "0"], "default-ttl of place 0")
            check("READONLY" in theirs.ask("TABLE", "ALTER", "a", "default-ttl", 0), "ALTER of a replica")
            alter_to("a", "memory-min", 0, "memory-max", table(ours, "a")["bytes"])
            equal(alterable(theirs, "a"), alterable(ours, "a"), "memory-max")
            equal([ours.ask("TABLE", "SWAP", "default", "a"), ours.ask("WAIT", 1, 30000)], ["OK", 1], "SWAP")
            equal([alterable(replies, "a")[0] for replies in (ours, theirs)], ["77", "77"], "it takes its options along")
            alter_to("a", "memory-min", "2M")
            equal([alterable(replies, "a")[::2] for replies in (ours, theirs)], [["77", "2M"]] * 2, "memory-min")
            equal(info(replica)["sherwood_resyncs"], "1", "snapshots")
            replica.kill()
        with follower(1) as replica, replica.replies() as theirs:
            equal(alterable(theirs, "a")[::2], ["77", "2M"], "behind a kill of the replica")
            equal([theirs.ask("REPLICAOF", "NO", "ONE"), theirs.ask("SELECT", "a"), theirs.ask("SET", 1, 10)], ["OK"] * 3, "promotion")
            check(0 < theirs.ask("TTL", 1) <= 77, "default-ttl of the new primary")
            equal(theirs.ask("SAVE"), "OK", "SAVE")
            replica.kill()
        primary.kill()
        for directory in of_primary, of_replica:
            with durable(directory, "no", *flags) as again, again.replies() as theirs:
                equal(alterable(theirs, "a")[::2], ["77", "2M"], "behind a kill")


@case
def alter_beyond_a_replica():
    """a replica that cannot promise memory-min to its table says so"""
    with Server(*SMALL, "--tables-memory-max", "4G") as primary, primary.replies() as ours, \
            replica_of(primary.port, "--tables-memory-max", "1G", errors="replication") as replica:
        eventually(lambda: info(replica)["master_link_status"] == "up", "the replica is connected")
        equal(ours.ask("TABLE", "CREATE", "a", "capacity", "1K"), "OK", "CREATE")
        equal(ours.ask("TABLE", "ALTER", "a", "memory-min", "2G"), "OK", "ALTER")
        eventually(lambda: "raise tables-memory-max" in replica.log(), "the reason is logged")


@case
def a_full_table_is_loaded():
    """a start loads a table that fills its memory-max, with keys that expire: old and new slots do not count together"""
    with tempfile.TemporaryDirectory() as folder:
        flags = ("--capacity", "1K", "--max-capacity", "1M", "--frame-ops-max", "256", "--round-ops-max", "1024", "--data-dir", folder)
        for _ in range(2):
            with Server(*flags) as server, server.connect() as connection:
                replies = wire.Replies(connection)
                if replies.ask("TABLE", "CREATE", "a", "capacity", "4K", "max-capacity", "1M") == "OK":
                    equal(replies.ask("SELECT", "a"), "OK", "SELECT")
                    for first in range(0, 50000, 500):
                        connection.sendall(b"".join(wire.command("SET", first + i, i, "EX", 10000) for i in range(500)))
                        equal({replies.read() for _ in range(500)}, {"OK"}, "SET")
                    equal(replies.ask("TABLE", "ALTER", "a", "memory-max", table(replies, "a")["bytes"]), "OK", "ALTER")
                equal(replies.ask("SELECT", "a"), "OK", "SELECT")
                equal(replies.ask("GET", 49999), b"499", "the keys")


@case
def a_load_names_the_limit():
    """a start that tables-memory-max refuses the memory of a table names this option: of one table, of several, and of a log"""
    with tempfile.TemporaryDirectory() as folder:
        flags = ("--max-capacity", "1M", "--data-dir", folder, "--appendonly", "yes", "--capacity", "1K", "--frame-ops-max", "256",
                 "--round-ops-max", "4096", "--log-segment-bytes", "1M")
        with Server(*flags) as server, server.replies() as replies:
            equal(replies.ask("TABLE", "CREATE", "a", "capacity", "1K", "max-capacity", "1M"), "OK", "CREATE")
            equal(replies.ask("SELECT", "a"), "OK", "SELECT")
            for first in range(0, 30000, 2000):
                equal(replies.ask("MSET", *(word for key in range(first, first + 2000) for word in (key, key))), "OK", "MSET")
            server.end_by_kill()
        said = does_not_start("--tables-memory-max", "300K", *flags)
        check("than the table a has room for" in said and "; start with a larger --tables-memory-max" in said, said)
    with tempfile.TemporaryDirectory() as folder:
        flags = ("--max-capacity", "1M", "--data-dir", folder)
        for name in ("default", "a"):
            with Server("--capacity", "1K", *flags) as server, server.connect() as connection:
                replies = wire.Replies(connection)
                if name == "a":
                    equal(replies.ask("FLUSHALL"), "OK", "FLUSHALL")
                    equal(replies.ask("TABLE", "CREATE", "a", "capacity", "1K", "max-capacity", "1M"), "OK", "CREATE")
                equal(replies.ask("SELECT", name), "OK", "SELECT")
                for first in range(0, 30000, 2000):
                    equal(replies.ask("MSET", *(word for key in range(first, first + 2000) for word in (key, key))), "OK", "MSET")
                equal(replies.ask("SAVE"), "OK", "SAVE")
            said = does_not_start("--capacity", "1K", "--tables-memory-max", "300K", *flags)
            check("has 30000 keys, more than the table takes" in said and "start with a larger --tables-memory-max" in said, f"{name}: {said}")


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
def dropped_memory():
    """the memory of the table that the server began with is free after DROP, with an engine that resizes and one that does not"""
    for engine in ("robin_hood", "cuckoo"):
        with Server("--engine", engine, "--capacity", "2M", "--frame-ops-max", "65536") as server, server.replies() as replies, \
                server.connect() as frames:
            for first in range(0, 1 << 20, 1 << 16):
                keys = list(range(first, first + (1 << 16)))
                equal(wire.call(frames, wire.SET, keys, keys).status, wire.OK, "SET")
            equal([replies.ask("TABLE", "CREATE", "v2", "capacity", "1K"), replies.ask("TABLE", "SWAP", "default", "v2")], ["OK"] * 2, "SWAP")
            before = server.resident_bytes()
            equal(replies.ask("TABLE", "DROP", "v2"), "OK", "DROP")
            eventually(lambda: server.resident_bytes() < before - (24 << 20), f"{engine} frees its memory", 10)
            check("keeps its memory" not in server.log(), server.log())
            equal([replies.ask("SET", 1, 2), replies.ask("GET", 1), replies.ask("DBSIZE")], ["OK", b"2", 1], "the other table")


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
