#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Memory of several tables: memory-max, memory-min, tables-memory-max, and TABLE ALTER, in host memory and on emulated GPUs."""

import re
import tempfile

import wire
from data_directory import Directory, does_not_start, durable
from frame_tables import table
from harness import BUILD, DAEMON, Server, Skip, case, check, equal, eventually, main
from replication import SMALL, info, replica_of, to_be_killed

EMULATED = BUILD / "emulator" / "sherwoodd"
CUDA = ("--backend", "cuda", "--loops", "1", "--stash", "64", "--frame-ops-max", "512", "--round-ops-max", "512")


class Memory:
    """The memory that the tables of a case lie in: `program` and `flags` of its servers. The emulator is slow: sizes and
    slots are divided by `part`, and a command has `keys` keys."""

    def __init__(self, program, flags, part, keys):
        self.program, self.flags, self.part, self.keys = program, flags, part, keys

    def of(self, number):
        """A part of the number, as the server shows it."""
        number = int(number) // self.part
        unit = next((unit for unit in (30, 20, 10) if number % (1 << unit) == 0), 0)
        return str(number >> unit) + {30: "G", 20: "M", 10: "K", 0: ""}[unit]

    def server(self, *flags, **how):
        return Server(*self.flags, *flags, program=self.program, **how)

    def fill(self, replies, start=0):
        """Adds keys to the selected table until a write is refused. Returns the error."""
        for first in range(start, start + 10**6, self.keys):
            got = replies.ask("MSET", *(word for key in range(first, first + self.keys) for word in (key, key)))
            if got != "OK":
                return got
        raise AssertionError("the table has no limit")


HOST = Memory(DAEMON, (), 1, 2000)
GPU = Memory(EMULATED, CUDA, 16, 100)
KIB, MIB = 1 << 10, 1 << 20


def on_gpu(function):
    if not EMULATED.exists():
        raise Skip("make emulated-daemon has not been run")
    function(GPU)


@case
def memory():
    """a table grows up to its memory-max, and takes no memory that memory-min promises to another; each refusal names the option"""
    limited(HOST, "22.0", "6.0")


@case
def gpu_memory():
    """the same in GPU memory"""
    on_gpu(lambda memory: limited(memory, "1.0", "0.4"))


def limited(memory, of_slots, of_promise):
    size = lambda mib: str(int(mib * MIB) // memory.part)  # noqa: E731
    flags = ("--capacity", memory.of(KIB), "--max-capacity", "1M", "--tables-memory-max", size(8))
    with memory.server(*flags) as server, server.connect() as connection, server.connect() as frames:
        replies = wire.Replies(connection)

        def fill(name):
            """Returns the error and the memory of the table."""
            equal(replies.ask("SELECT", name), "OK", name)
            return memory.fill(replies), int(table(replies, name)["bytes"])
        error = {"c": f"it needs {of_slots} MiB, more than tables-memory-max leaves", "d": f"it needs {of_promise} MiB, more than tables-memory-max leaves",
                 "e": "more than its memory-max", "f": f"memory-min {size(2)} is more than memory-max {size(1)}",
                 "g": f"memory-min {size(16)} is more than tables-memory-max {size(8)}"}
        for words in (f"a max-capacity 1M memory-max {size(0.5)}", f"b max-capacity 1M memory-min {size(4)}"):
            equal(replies.ask("TABLE", "CREATE", *words.split(), "capacity", memory.of(KIB)), "OK", words)
        for words in (f"c capacity {size(1)}", f"d capacity 1K memory-min {size(6)}", f"e capacity 64K memory-max {size(1 / 16)}",
                      f"f memory-max {size(1)} memory-min {size(2)}", f"g memory-min {size(16)}"):
            got = replies.ask("TABLE", "CREATE", *words.split())
            check(isinstance(got, wire.Error) and error[words[0]] in got, f"{words}: {got}")
        got, of_a = fill("a")
        check(got.startswith("OOM the table a cannot grow, that would pass its memory-max: raise memory-max"), got)
        check(of_a <= MIB // 2 // memory.part, f"a has {of_a} bytes")
        frames.sendall(wire.frame(wire.SET, range(10**6, 10**6 + 512), range(512), table=65536))
        reply = wire.read_frame(frames)
        equal(reply.status, wire.OUT_OF_MEMORY, "a frame")
        check("the table a cannot grow" in reply.message, reply.message)
        got = replies.ask("RESIZE", 1 << 17)
        check("the table a cannot grow, that would pass its memory-max" in got, got)
        got, of_default = fill("default")
        check("the table default cannot grow, the other tables leave too little of tables-memory-max" in got, got)
        got, of_b = fill("b")
        check("the table b cannot grow" in got, got)
        check(of_default + of_a <= 4 * MIB // memory.part < 2 * of_b <= 8 * MIB // memory.part, f"default has {of_default} bytes, b {of_b}")
        equal(replies.ask("TABLE", "DROP", "b"), "OK", "DROP")
        check(fill("default")[1] > of_default, "the table grows into the memory of b")
        equal([replies.ask("FLUSHDB"), replies.ask("TABLE", "ALTER", "default", "memory-max", table(replies, "default")["bytes"])], ["OK"] * 2, "ALTER")
        fewer = int(table(replies, "default")["slots"]) // 2
        equal(replies.ask("RESIZE", fewer), fewer, "no limit refuses fewer slots")


@case
def expiry_times():
    """a table with expiring keys grows up to its memory-max: its memory for batches of times counts as memory of the device"""
    with Server("--frame-ops-max", "512K", "--capacity", "1K", "--max-capacity", "1M") as server, server.replies() as replies:
        equal([replies.ask("TABLE", "CREATE", "a", "capacity", "1K", "memory-max", "4M"), replies.ask("SELECT", "a")], ["OK"] * 2, "CREATE")
        shown = lambda: int(re.search(r"used_memory:(\d+)", replies.ask("INFO", "memory").decode())[1])  # noqa: E731
        before = shown()
        equal(replies.ask("SET", 10**7, 1, "EX", 1000), "OK", "a key that expires")
        check(int(table(replies, "a")["bytes"]) < MIB, f"{table(replies, 'a')}")
        check(shown() - before > 16 * MIB, "the memory for batches is shown")
        check("the table a cannot grow, that would pass its memory-max" in HOST.fill(replies), "memory-max")
        check(table(replies, "a")["keys"] > 20000, f"{table(replies, 'a')}")


@case
def engines():
    """the limits hold for rows, key sets and caches, through RESIZE, TRUNCATE, SWAP and a restart; a cache that cannot grow evicts"""
    limit_engines(HOST)


@case
def engines_on_a_gpu():
    """the same in GPU memory"""
    on_gpu(limit_engines)


def limit_engines(memory):
    limits = {"rows": 1300000 if memory is GPU else 8 * MIB, "keys": 64 * KIB, "cached": 160 * KIB}
    kinds = {"rows": ("value-bytes", "64"), "keys": ("value-type", "none"), "cached": ("engine", "cache", "policy", "lru", "value-bytes", "64")}
    with tempfile.TemporaryDirectory() as folder:
        flags = ("--capacity", "256", "--max-capacity", "64K", "--stash", "64", "--tables-memory-max", "12M", "--data-dir", folder)

        def fill(replies, name, first=0):
            value = "" if name == "keys" else b"x" * 64
            step, steps = (125, 3) if name == "cached" else (memory.keys, 50)
            for key in range(first, first + steps * step, step):
                got = replies.ask("MSET", *(word for k in range(key, key + step) for word in (k, value)))
                if got != "OK":
                    return got
            return "OK"

        with memory.server(*flags) as server, server.replies() as replies:
            for words, error in (("engine cuckoo capacity 64K memory-max 1M", "more than its memory-max"), ("capacity 1M max-capacity 1M", "tables-memory-max")):
                got = replies.ask("TABLE", "CREATE", "large", *words.split())
                check("the table cannot be created: it needs" in got and error in got, f"{words}: {got}")
            for name, words in kinds.items():
                equal([replies.ask("TABLE", "CREATE", name, "capacity", "256", "max-capacity", "64K", "memory-max", limits[name], *words), replies.ask("SELECT", name)], ["OK", "OK"], name)
                got, resized = fill(replies, name), replies.ask("RESIZE", 64 << 10)
                for text in [resized] if name == "cached" else [got, resized]:
                    check(f"the table {name} cannot grow, that would pass its memory-max" in text, f"{name}: {text}")
                facts = table(replies, name)
                check(int(facts["bytes"]) <= limits[name], f"{name}: {facts}")
                check(int(facts["slots"]) > 256 and facts["keys"] > 200, f"{name} has grown: {facts}")
                equal([replies.ask("TABLE", "TRUNCATE", name), fill(replies, name) == got], ["OK", True], f"{name} once more")
            equal([replies.ask("TABLE", "RENAME", "rows", "first"), replies.ask("TABLE", "SWAP", "first", "keys", "FORCE"), replies.ask("SELECT", "keys")],
                  ["OK"] * 3, "SWAP")
            check("the table keys cannot grow, that would pass its memory-max" in fill(replies, "rows", 10**6), "the limit of the swapped table")
            before = {name: table(replies, name)["keys"] for name in ("first", "keys", "cached")}
            equal(replies.ask("SAVE"), "OK", "SAVE")
            server.end_by_kill()
        with memory.server(*flags) as server, server.replies() as replies:
            equal({name: table(replies, name)["keys"] for name in before}, before, "behind a kill")
            equal(replies.ask("SELECT", "keys"), "OK", "SELECT")
            eventually(lambda: "the table keys cannot grow, that would pass its memory-max" in fill(replies, "rows", 2 * 10**6), "the limit")


@case
def rows_in_host_memory():
    """tables-host-memory-max limits the rows and values that tables in GPU memory keep in host memory"""
    on_gpu(limit_rows)


def limit_rows(memory):
    flags = ("--capacity", "256", "--max-capacity", "64K", "--rows-in", "host", "--value-bytes", "64", "--tables-host-memory-max", "1M")
    with memory.server(*flags) as server, server.replies() as replies:
        def fill(most, size=64):
            for key in range(0, most, 125):
                got = replies.ask("MSET", *(word for k in range(key, key + 125) for word in (k, b"x" * size)))
                if got != "OK":
                    return got
            return "OK"
        equal(replies.ask("TABLE", "CREATE", "integers", "value-bytes", 0, "capacity", "64K"), "OK", "a table without rows")
        equal(replies.ask("TABLE", "CREATE", "v2", "engine", "cache", "policy", "lru", "capacity", "256", "max-capacity", "64K"), "OK", "CREATE")
        got = fill(20000)
        check("the table default cannot grow, its rows or values would pass tables-host-memory-max" in got, got)
        check("cannot grow, its rows or values would pass" in replies.ask("RESIZE", 64 << 10), "RESIZE")
        bytes_of = server.metrics()['sherwood_table_row_bytes{memory="host"}']
        check(256 << 10 < bytes_of <= 1 << 20, f"{bytes_of} bytes")
        for words in ("capacity 16K", "engine cache policy lru capacity 16K"):
            got = replies.ask("TABLE", "CREATE", "more", *words.split())
            check("its rows or values need more host memory than tables-host-memory-max leaves" in got, got)
        equal([replies.ask("SELECT", "v2"), fill(500, 60), replies.ask("TABLE", "TRUNCATE", "default")], ["OK"] * 3, "a cache grows")
        got, slots = replies.ask("RESIZE", 64 << 10), int(table(replies, "v2")["slots"])
        check("the table v2 cannot grow, its rows or values would pass" in got and 256 < slots <= 2048, f"{slots} slots: {got}")


@case
def alter():
    """TABLE ALTER changes the limits of a table at once, and a restart finds them; a change that is refused changes nothing"""
    alter_and_restart(HOST, "--appendonly", "no")


@case
def alter_with_a_log():
    """with a log too, whose replay is not limited by what TABLE ALTER lowers"""
    alter_and_restart(HOST, "--appendonly", "yes", "--frame-ops-max", "256", "--round-ops-max", "4096", "--log-segment-bytes", "4M")


@case
def alter_in_gpu_memory():
    """the same of tables in GPU memory"""
    on_gpu(lambda memory: alter_and_restart(memory, "--appendonly", "yes", "--log-segment-bytes", "4M"))


def alter_and_restart(memory, *log):
    fill, of = memory.fill, memory.of
    first, slots = of(KIB), 256 * KIB // memory.part
    with tempfile.TemporaryDirectory() as folder:
        flags = ("--capacity", first, "--max-capacity", of(MIB), "--tables-memory-max", of(16 * MIB), "--data-dir", folder, *log)
        wanted = {"max-capacity": of(64 * KIB), "memory-max": of(4 * MIB), "memory-min": of(MIB)}
        with memory.server(*flags) as server, server.connect() as connection:
            replies = wire.Replies(connection)
            equal(replies.ask("TABLE", "CREATE", "a", "capacity", first, "max-capacity", of(256 * KIB), "memory-max", of(256 * KIB)), "OK", "CREATE")
            equal(replies.ask("SELECT", "a"), "OK", "SELECT")
            check("would pass its memory-max" in fill(replies), "memory-max")
            logged = lambda: [server.metrics()[f'sherwood_table_log_bytes_total{{table="{name}"}}'] for name in ("a", "default")]  # noqa: E731
            writes = logged()
            check((writes[0] > 16 * table(replies, "a")["keys"]) == ("yes" in log) and writes[1] == 0, writes)
            equal(replies.ask("SET", 1, 2, "IFEQ", 1), "OK", "a read-modify-write command")
            equal(logged()[0] > writes[0], "yes" in log, "its bytes in the log")
            before = table(replies, "a")
            for words, error in (("memory-max 1K", "more than this memory-max"), (f"memory-min {of(64 * MIB)}", f"memory-min {64 * MIB // memory.part} is more than"),
                                 (f"max-capacity {of(MIB)}", f"was created for at most {slots} slots"), ("default-ttl -1", "default-ttl: '-1' is not a whole number"),
                                 (f"max-capacity {first}", "slots, more than this max-capacity"),
                                 ("engine cuckoo", "does not change"), ("capacity 2K", "does not change"), ("foo 1", "unknown option 'foo'"),
                                 ("memory-max", "wrong number of arguments"), ("memory-max 1M memory-min", "has no value"),
                                 (f"memory-min {of(16 * MIB)} memory-max 0", "more than the other tables leave")):
                got = replies.ask("TABLE", "ALTER", "a", *words.split())
                check(isinstance(got, wire.Error) and error in got, f"{words}: {got}")
                equal(table(replies, "a"), before, words)
            equal(replies.ask("TABLE", "ALTER", "nothing", "memory-max", 0), wire.Error("ERR no such table: TABLE LIST shows the tables"), "ALTER")
            equal(replies.ask("TABLE", "ALTER", "a", "MEMORY-MAX", of(8 * MIB), "max-capacity", of(64 * KIB)), "OK", "ALTER")
            check("would pass its max-capacity" in fill(replies), "max-capacity")
            equal(int(table(replies, "a")["slots"]), slots // 4, "growth stops at the limit and not before")
            full = {name: server.metrics()[f'sherwood_table_{name}{{table="a"}}'] for name in ("full_ratio", "slots_max")}
            check(full["full_ratio"] > 0.9 and full["slots_max"] == slots // 4, f"figures of a full table: {full}")
            equal(replies.ask("TABLE", "ALTER", "a", *(word for pair in wanted.items() for word in pair)), "OK", "ALTER")
            equal(replies.ask("TABLE", "CREATE", "brief", "capacity", first, "default-ttl", 1), "OK", "CREATE")
            equal(replies.ask("TABLE", "ALTER", "brief", "default-ttl", 1000), "OK", "ALTER")
            equal(replies.ask("TABLE", "CREATE", "still", "engine", "cuckoo", "capacity", of(4 * KIB), "stash", "128"), "OK", "CREATE")
            equal(replies.ask("TABLE", "ALTER", "still", "memory-max", "8M"), "OK", "ALTER of a table that does not grow")
            equal(replies.ask("TABLE", "ALTER", "default", "memory-max", of(2 * MIB), "default-ttl", 9), "OK", "ALTER of the default table")
            server.end_by_kill()
        with memory.server(*flags) as server, server.connect() as connection:
            replies = wire.Replies(connection)
            got = table(replies, "a")
            equal({name: got[name] for name in wanted}, wanted, "behind a kill")
            equal([table(replies, "brief")["default-ttl"], table(replies, "still")["memory-max"]], ["1000", "8M"], "likewise")
            equal([table(replies, "default")[name] for name in ("memory-max", "default-ttl")], ["0", "0"], "as the command line says")
            equal(replies.ask("TABLE", "CREATE", "c", "LIKE", "a", "memory-min", 0), "OK", "CREATE LIKE")
            got = replies.ask("TABLE", "ALTER", "c", "max-capacity", of(256 * KIB))
            check(f"was created for at most {slots // 4} slots" in got, f"a table of its own limit: {got}")
            equal(replies.ask("SELECT", "a"), "OK", "SELECT")
            equal(replies.ask("TABLE", "ALTER", "a", "memory-max", of(16 * MIB)), "OK", "ALTER")
            check("would pass its max-capacity" in fill(replies, 20 * 10**5), "the limit of before the kill")
            for words, wanted in ((of(512 * KIB), f"was created for at most {slots} slots"), (of(128 * KIB), "OK")):
                got = replies.ask("TABLE", "ALTER", "a", "max-capacity", words)
                check(wanted in got, f"{words}: {got}")
            check("would pass its max-capacity" in fill(replies, 21 * 10**5), "the raised limit")
            equal(int(table(replies, "a")["slots"]), slots // 2, "growth reaches the raised limit")
            equal(replies.ask("SAVE"), "OK", "SAVE")
        with memory.server(*flags) as server, server.replies() as replies:
            equal(replies.ask("TABLE", "ALTER", "a", "max-capacity", of(256 * KIB), "memory-max", "0"), "OK", "the slots of the creation, once more")
            equal(table(replies, "still")["memory-max"], "8M", "a table that does not grow")


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
def a_replica_ignores_limits():
    """a replica in GPU memory, which needs more than its primary, takes the writes that its primary admits; memory-max limits it once promoted"""
    on_gpu(follow)


def follow(memory):
    with Server(*SMALL, *memory.flags[-6:]) as primary, primary.replies() as ours, \
            replica_of(primary.port, *memory.flags, program=memory.program) as replica, replica.replies() as theirs:
        equal(ours.ask("TABLE", "CREATE", "a", "capacity", "64", "max-capacity", "64K", "memory-max", "256K"), "OK", "CREATE")
        eventually(lambda: info(replica)["master_link_status"] == "up" and theirs.ask("SELECT", "a") == "OK", "the replica has the table")
        equal([ours.ask("SELECT", "a"), ours.ask("SET", 10**7, 1, "EX", 1000)], ["OK", "OK"], "a key that expires")
        check("would pass its memory-max" in memory.fill(ours), "the primary refuses writes")
        equal([ours.ask("WAIT", 1, 30000), theirs.ask("DBSIZE"), info(replica)["sherwood_resyncs"]], [1, ours.ask("DBSIZE"), "1"], "the replica")
        check(int(table(ours, "a")["bytes"]) <= 256 << 10 < int(table(theirs, "a")["bytes"]), "times take more memory on a GPU")
        equal(theirs.ask("REPLICAOF", "NO", "ONE"), "OK", "promotion")
        eventually(lambda: "would pass its memory-max" in memory.fill(theirs, 10**6), "memory-max of the new primary")


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
def start_with_times():
    """a server whose expiry times took more than tables-memory-max starts again with the same options"""
    with tempfile.TemporaryDirectory() as folder:
        flags = ("--capacity", "1K", "--max-capacity", "1M", "--tables-memory-max", "2M", "--data-dir", folder)
        with Server(*flags) as server, server.replies() as replies:
            equal(replies.ask("TABLE", "CREATE", "a", "capacity", "1K", "max-capacity", "1M"), "OK", "CREATE")
            equal(replies.ask("SELECT", "a"), "OK", "SELECT")
            check("cannot grow" in HOST.fill(replies), "a table that takes all")
            keys = int(table(replies, "a")["keys"])
            equal(replies.ask("SELECT", "default"), "OK", "SELECT")
            check("cannot grow" in HOST.fill(replies), "the other one takes the rest")
            equal(replies.ask("TABLE", "ALTER", "default", "default-ttl", 100_000), "OK", "ALTER")
            times = int(table(replies, "default")["keys"])
            for first in range(0, times, 1000):
                equal(replies.ask("MSET", *(word for key in range(first, first + 1000) for word in (key, key))), "OK", "MSET")
            check(sum(int(table(replies, name)["bytes"]) for name in ("a", "default")) > 2 * MIB, "times take more than the limit")
            equal(replies.ask("SAVE"), "OK", "SAVE")
        with Server(*flags) as server, server.replies() as replies:
            equal([int(table(replies, name)["keys"]) for name in ("default", "a")], [times, keys], "keys behind the restart")


@case
def start_after_a_resize():
    """a table that grew, or was created, in the memory that RESIZE took from another one has room when the log is replayed, which has no RESIZE"""
    replay_without_resize()
    replay_without_resize("TABLE", "CREATE", "c", "capacity", "64K")


def replay_without_resize(*behind):
    with tempfile.TemporaryDirectory() as folder:
        flags = ("--capacity", "1K", "--max-capacity", "1M", "--tables-memory-max", "6M", "--data-dir", folder, "--appendonly", "yes", "--appendfsync", "always")
        with Server(*flags) as server, server.replies() as replies:
            for name, ttl in (("a", 0), ("b", 100_000)):
                equal(replies.ask("TABLE", "CREATE", name, "capacity", "1K", "max-capacity", "1M", "default-ttl", ttl), "OK", "CREATE")
            keys = {"default": 0}
            for name in ("a", "default", "b"):
                equal(replies.ask("SELECT", name), "OK", "SELECT")
                check("cannot grow" in HOST.fill(replies), name)
                keys[name] = int(table(replies, name)["keys"])
                if name == "default":
                    equal([replies.ask("FLUSHDB"), replies.ask("RESIZE", "1K")], ["OK", 1024], "the memory of default")
                    keys[name] = 0
                    check(not behind or replies.ask(*behind) == "OK", behind)
            equal(replies.ask("MSET", 1, 10**9, 2, 10**9), "OK", "a write behind them")
            server.end_by_kill()
        with Server(*flags) as server, server.replies() as replies:
            equal({name: int(table(replies, name)["keys"]) for name in keys}, keys, "keys behind the restart")
            equal([replies.ask("SELECT", "b"), replies.ask("MGET", 1, 2, 3)], ["OK", [b"1000000000", b"1000000000", b"3"]], "values")


@case
def a_replica_after_a_resize():
    """a replica, which has no RESIZE of its primary, receives a snapshot if a table cannot grow, and takes slots of its tables for a new one"""
    follow_without_resize("a")
    follow_without_resize("c", "TABLE", "CREATE", "c", "capacity", "128K")


def follow_without_resize(name, *behind):
    with Directory() as of_primary, Directory() as of_replica:
        flags = ("--capacity", "1K", "--max-capacity", "1M", "--tables-memory-max", "6M")
        with Server(*flags, "--data-dir", str(of_primary)) as primary, primary.replies() as ours, \
                Server(*flags, "--data-dir", str(of_replica), "--replicaof", f"127.0.0.1 {primary.port}") as replica:
            eventually(lambda: info(replica)["master_link_status"] == "up", "the replica is connected")
            equal(ours.ask("TABLE", "CREATE", "a", "capacity", "1K", "max-capacity", "1M"), "OK", "CREATE")
            check("cannot grow" in HOST.fill(ours), "default")
            equal([ours.ask("WAIT", 1, 30000), ours.ask("FLUSHDB"), ours.ask("RESIZE", "1K")], [1, "OK", 1024], "RESIZE")
            check(not behind or ours.ask(*behind) == "OK", behind)
            equal([ours.ask("SELECT", name), ours.ask("SET", 1, 1)], ["OK"] * 2, "a write")
            check(behind or "cannot grow" in HOST.fill(ours), name)
            equal(ours.ask("WAIT", 1, 30000), 1, "WAIT")
            full = "a record of the primary does not fit: start with a larger --tables-memory-max" in replica.log()
            check(full != bool(behind) and "cannot be made" not in replica.log(), replica.log())
            with replica.replies() as theirs:
                equal([theirs.ask("SELECT", name), theirs.ask("DIGEST")], ["OK", ours.ask("DIGEST")], "its keys")


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
        check("need more memory than tables-memory-max: start with a larger --tables-memory-max" in said, said)
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
            what = "has 30000 keys, more than the table takes" if name == "default" else "the keys of the data directory need more memory"
            check(what in said and "start with a larger --tables-memory-max" in said, f"{name}: {said}")


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
            eventually(lambda: server.resident_bytes() < before - (24 << 20), f"{engine} frees its memory")
            check("keeps its memory" not in server.log(), server.log())
            equal([replies.ask("SET", 1, 2), replies.ask("GET", 1), replies.ask("DBSIZE")], ["OK", b"2", 1], "the other table")


main()
