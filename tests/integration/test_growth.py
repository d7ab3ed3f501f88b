#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A table that grows and is resized: every key stays, the limits hold, and the counters are current."""

import re
import resource
import tempfile
import threading
import time

import ring
import wire
from faults import Faults
from harness import (BUILD, SANITIZED, Moves, Server, Skip, case, check, equal, eventually, main,
                     run)

MAX = 65536
SMALL = ("--capacity", "1024", "--max-capacity", str(MAX))
FRAME = 2500
KEYS = 50000


def value_of(key):
    return key * 7 + 1


def info(replies):
    lines = replies.ask("INFO", "sherwood").decode().splitlines()
    return dict(line.split(":", 1) for line in lines if ":" in line)


def put_by_frames(connection, keys):
    for at in range(0, len(keys), FRAME):
        part = keys[at:at + FRAME]
        equal(wire.call(connection, wire.SET, part, [value_of(k) for k in part]).status, wire.OK, f"frame at {at}")


def put_by_resp(replies, keys, step=500):
    for at in range(0, len(keys), step):
        part = keys[at:at + step]
        if at // step % 2 == 0:
            replies.socket.sendall(b"".join(wire.command("SET", k, value_of(k)) for k in part))
            equal([replies.read() for _ in part], ["OK"] * len(part), f"SETs at {at}")
        else:
            pairs = [word for k in part for word in (k, value_of(k))]
            equal(replies.ask("MSET", *pairs), "OK", f"MSET at {at}")


def read_all(server, keys):
    """Compares every key, by both protocols."""
    with server.connect() as connection:
        for at in range(0, len(keys), FRAME):
            part = keys[at:at + FRAME]
            reply = wire.call(connection, wire.GET, part, want_values=True)
            equal(reply.found(), [1] * len(part), f"found at {at}")
            equal(reply.values(), [value_of(k) for k in part], f"values at {at}")
    with server.replies() as replies:
        for at in range(0, len(keys), FRAME):
            part = keys[at:at + FRAME]
            equal(replies.ask("MGET", *part), [b"%d" % value_of(k) for k in part], f"MGET at {at}")


@case
def grows():
    """a table of 1,024 slots takes 50,000 keys over RESP and frames; all are read back"""
    with Server(*SMALL) as server, server.replies() as replies, server.connect() as two:
        keys = list(range(10**12, 10**12 + KEYS))
        equal(server.metrics()["sherwood_table_capacity_slots"], 1024, "capacity at start")
        equal(server.metrics()["sherwood_table_growths_total"], 0, "growths at start")
        check(f"growing to at most {MAX}" in server.line, server.line)
        for at in range(0, KEYS, KEYS // 10):
            half = at + KEYS // 20
            put_by_resp(replies, keys[at:half])
            put_by_frames(two, keys[half:at + KEYS // 10])
        read_all(server, keys)
        equal(replies.ask("DBSIZE"), KEYS, "DBSIZE")
        now, facts = server.metrics(), info(replies)
        equal(now["sherwood_table_capacity_slots"], MAX, "capacity at the end")
        equal(now["sherwood_table_max_capacity_slots"], MAX, "max capacity")
        equal(now["sherwood_table_occupied_max"], int(MAX * 0.85), "occupied_max")
        equal(now["sherwood_table_growths_total"], 6, "growths: 1024 doubled to 65536")
        equal(now["sherwood_table_resize_failures_total"], 0, "failures")
        equal(now["sherwood_refused_operations_total"], 0, "refused operations")
        check(abs(now["sherwood_table_load_ratio"] - KEYS / MAX) < 1e-6, "load ratio")
        equal(int(facts["capacity_slots"]), MAX, "INFO capacity_slots")
        equal(int(facts["growths"]), 6, "INFO growths")
        equal(float(facts["load"]), round(KEYS / MAX, 6), "INFO load")
        equal(replies.ask("CONFIG", "GET", "max-capacity"), [b"max-capacity", b"65536"], "CONFIG")
        equal(replies.ask("CONFIG", "GET", "capacity"), [b"capacity", b"1024"], "CONFIG")
        reply = replies.ask("CONFIG", "SET", "max-capacity", "1M")
        check(isinstance(reply, wire.Error) and "immutable" in reply, reply)
        eventually(lambda: "the table has 65536 slots now" in server.log(), "a line of the log")


@case
def grows_by_default():
    """without --max-capacity a table grows to what half of the memory holds; the start line and --check-config agree"""
    limits = ("--backend", "cpu", "--capacity", "1024", "--max-capacity", "auto")
    with Server(*limits) as server, server.connect() as one:
        most = int(re.search(r"growing to at most (\d+) \(max-capacity: what half of the memory holds\)",
                             server.line).group(1))
        replies = wire.Replies(one)
        put_by_resp(replies, list(range(5000)))
        check(server.metrics()["sherwood_table_capacity_slots"] > 5000, "it has grown")
        equal(replies.ask("RESIZE", 1 << 14), 1 << 14, "RESIZE up")
        equal(replies.ask("CONFIG", "GET", "max-capacity"), [b"max-capacity", b"%d" % most], "CONFIG GET")
        text = run(BUILD / "sherwoodd", *server.flags, "--check-config")
        table = re.search(r"# table: ([0-9.]+) MiB", text).group(1)
        check(f" {table} MiB, and " in server.line, f"{table} MiB: {server.line}")


@case
def full_at_the_maximum():
    """at the maximum, by growth or from the start: OOM, nothing lost, nothing changed; deletes make room again"""
    for capacity in ("1024", "4096"):
        with Server("--capacity", capacity, "--max-capacity", "4096", "--max-load", "0.5") as server, \
                server.connect() as one, server.connect() as two:
            replies, most = wire.Replies(one), 0
            while replies.ask("SET", most, value_of(most)) == "OK":
                most += 1
            equal(most, 2048, "keys in 4,096 slots at load 0.5")
            equal(replies.ask("SET", most, 1), wire.FULL, "what to do")
            refused = replies.ask("MSET", 1, 500, 90001, 1)
            check(isinstance(refused, wire.Error) and refused.startswith("OOM "), refused)
            reply = wire.call(two, wire.SET, [2, 91000], [9, 9])
            equal((reply.status, "OOM " + reply.message), (wire.OUT_OF_MEMORY, wire.FULL), "a frame")
            equal(replies.ask("SET", 0, value_of(0)), "OK", "an update")
            read_all(server, list(range(most)))
            equal(replies.ask("MGET", most, 90001, 91000), [None] * 3, "what was refused")
            equal([server.metrics()[f"sherwood_table_{name}"] for name in ("capacity_slots", "resize_failures_total")], [4096, 0], "no lack of memory")
            equal([replies.ask("DEL", 5), replies.ask("SET", 90001, 5)], [1, "OK"], "a new key in its place")


@case
def resize_on_request():
    """RESIZE down after deletes and up again, over RESP, frames and sherwood-cli"""
    with Server(*SMALL) as server, server.connect() as one, server.connect() as two:
        replies, keys = wire.Replies(one), list(range(20000))
        put_by_frames(two, keys)
        equal(replies.ask("RESIZE", "64K"), 65536, "up")
        read_all(server, keys)
        smallest = replies.ask("RESIZE", 1)
        check(20000 / 0.85 <= smallest < 20000 / 0.85 + 8, f"RESIZE 1 gives {smallest}")
        read_all(server, keys)
        equal(replies.ask("DEL", *keys[1000:]), 19000, "DEL")
        equal(replies.ask("RESIZE", 2048), 2048, "down")
        equal(replies.ask("RESIZE", 2047), 2048, "whole buckets")
        read_all(server, keys[:1000])
        equal(replies.ask("MGET", *keys[1000:1100]), [None] * 100, "deleted keys")
        reply = wire.call(two, wire.RESIZE, capacity=8192)
        equal((reply.status, reply.capacity), (wire.OK, 8192), "a frame")
        stats = wire.call(two, wire.STATS).figures()
        equal((stats["capacity_slots"], stats["max_capacity_slots"], stats["resizes"]),
              (8192, MAX, 5), "STATS")
        cli = BUILD / "sherwood-cli"
        equal(run(cli, "-a", server.address(), "RESIZE", "4k"), "4096\n", "sherwood-cli")
        check("capacity_slots:4096\n" in run(cli, "-a", server.address(), "INFO"), "cli INFO")
        refused = run(cli, "-a", server.address(), "RESIZE", "1G", rc=1)
        check("choose 1 to 65536" in refused, refused)
        equal(server.metrics()["sherwood_table_resizes_total"], 6, "resizes")
        equal(server.metrics()["sherwood_table_capacity_slots"], 4096, "capacity")
        # It fits its keys again by itself.
        put_by_resp(replies, keys)
        read_all(server, keys)
        eventually(lambda: re.search(r"resized [1-6] times?", server.log()), "a line of the log")


@case
def resize_refused():
    """RESIZE to 0, garbage or above the maximum is an error and changes nothing"""
    with Server(*SMALL) as server, server.replies() as replies, server.connect() as two:
        put_by_frames(two, list(range(500)))
        with Moves(server, table_resizes=0, table_growths=0, table_resize_failures=0,
                   command_errors=11, frame_errors=3):
            for word in ("", "x", "-1", "1.5", "1KB", "0x10", "18446744073709551616",
                         "99999999999T"):
                equal(replies.ask("RESIZE", word), "ERR slots is not an integer (K, M, G or T "
                      "may follow) or out of range", word)
            for word, slots in (("0", 0), ("65537", 65537), ("1T", 1 << 40)):
                equal(replies.ask("RESIZE", word), f"ERR cannot resize to {slots} slots: choose "
                      "1 to 65536, the larger of capacity and max-capacity", word)
            for slots in (0, 65537, (1 << 64) - 1):
                reply = wire.call(two, wire.RESIZE, capacity=slots)
                equal(reply.status, wire.BAD_REQUEST, f"a frame to {slots}")
                check("choose 1 to 65536" in reply.message, reply.message)
        for words in ((), ("1", "2")):
            equal(replies.ask("RESIZE", *words),
                  "ERR wrong number of arguments for 'resize' command", words)
        read_all(server, list(range(500)))
        equal(server.metrics()["sherwood_table_capacity_slots"], 1024, "capacity")


@case
def resized_tables_start_again():
    """tables that RESIZE gave fewer slots than their capacity are loaded beside one that grew since, with the same limit; a replica follows them"""
    limits = ("--max-capacity", "1M", "--tables-memory-max", "6M")
    with tempfile.TemporaryDirectory() as folder:
        flags = ("--capacity", "128K", *limits, "--data-dir", folder)
        with Server(*flags) as server, server.replies() as replies:
            equal([replies.ask("RESIZE", 1024), replies.ask("SET", 1, 1)], [1024, "OK"], "default")
            for name, capacity in (("a", "128K"), ("b", "1K")):
                equal([replies.ask("TABLE", "CREATE", name, "capacity", capacity, "max-capacity", "1M"), replies.ask("SELECT", name)], ["OK"] * 2, name)
                equal([replies.ask("RESIZE", 1024), replies.ask("SET", 1, 2)], [1024, "OK"], name)
            put_by_resp(replies, range(40000), 2000)
            with Server("--capacity", "1K", *limits, "--replicaof", f"127.0.0.1 {server.port}") as replica, replica.replies() as theirs:
                eventually(lambda: theirs.ask("SELECT", "b") == "OK" and theirs.ask("DIGEST") == replies.ask("DIGEST"), "the replica has all keys")
            equal(replies.ask("SAVE"), "OK", "SAVE")
        with Server(*flags) as server, server.replies() as replies:
            for name, value in (("default", b"1"), ("a", b"2"), ("b", b"%d" % value_of(1))):
                equal([replies.ask("SELECT", name), replies.ask("GET", 1)], ["OK", value], name)
            equal(replies.ask("DBSIZE"), 40000, "keys of b")


@case
def a_log_beside_a_resized_table():
    """a log lets a table grow into the memory that RESIZE took from one that the log does not write, and to slots that RESIZE gave; so does a snapshot"""
    with tempfile.TemporaryDirectory() as folder:
        flags = ("--capacity", "1K", "--max-capacity", "1M", "--tables-memory-max", "6M", "--data-dir", folder, "--appendonly", "yes",
                 "--frame-ops-max", "512", "--round-ops-max", "4096", "--log-segment-bytes", "1M", "--appendfsync", "always")
        with Server(*flags) as server, server.replies() as replies:
            for words, wanted in (("TABLE CREATE a capacity 128K", "OK"), ("SELECT a", "OK"), ("SET 1 2", "OK"), ("RESIZE 1K", 1024), ("SELECT 0", "OK")):
                equal(replies.ask(*words.split()), wanted, words)
            for _ in range(40): # until no segment has the writes of a
                put_by_resp(replies, range(4000), 2000)
            equal(replies.ask("SAVE"), "OK", "SAVE")
            put_by_resp(replies, range(40000), 2000)
            server.end_by_kill()
        with Server(*flags) as server, server.replies() as replies:
            equal([replies.ask("DBSIZE"), replies.ask("SELECT", "a"), replies.ask("GET", 1)], [40000, "OK", b"2"], "behind the restart")
    for log, most, slots, keys, *last in (("yes", "1M", 50000, 40000), ("yes", "1M", 80000, 66000), ("yes", "60000", 60000, 50000), ("no", "1M", 80000, 66000, "SAVE"), ("no", "1M", 80000, 66000, "EXPIRE 1 999", "SAVE")):
        with tempfile.TemporaryDirectory() as folder: # no room for twice the slots, and none beside those that the start has
            flags = ("--capacity", "70K" if last else "1K", "--max-capacity", most, "--tables-memory-max", "4M" if most == "1M" else "3M", "--data-dir", folder, "--appendonly", log)
            with Server(*flags) as server, server.replies() as replies:
                equal([replies.ask("RESIZE", count) for count in (1024, slots)], [1024, slots], "RESIZE")
                put_by_resp(replies, [*range(keys), *range(1990), *range(keys, keys + 10)], 2000)
                check(all(replies.ask(*words.split()) in (1, "OK") for words in last), last)
            with Server(*flags) as server, server.replies() as replies:
                equal(replies.ask("DBSIZE"), keys + 10, f"behind a restart: {slots} {last}")


@case
def pipelined():
    """RESIZE takes its turn in a pipeline"""
    with Server(*SMALL) as server, server.connect() as connection:
        replies = wire.Replies(connection)
        commands, wanted = [], []
        for i in range(300):
            slots = 4096 if i % 2 else 8192
            commands += [("SET", i, i), ("RESIZE", slots), ("GET", i), ("DBSIZE",)]
            wanted += ["OK", slots, b"%d" % i, i + 1]
        connection.sendall(b"".join(wire.command(*c) for c in commands))
        equal([replies.read() for _ in wanted], wanted, "replies")


@case
def scan_while_it_grows():
    """SCAN over a table that grows and shrinks misses no key that is there throughout"""
    with Server(*SMALL) as server, server.connect() as one, server.connect() as two:
        scanning, still = wire.Replies(one), set(range(800))
        put_by_frames(two, sorted(still))
        failures, stop = [], threading.Event()

        def change():
            try:
                with server.connect() as connection:
                    other, first = wire.Replies(connection), 10**6
                    while not stop.is_set():
                        extra = list(range(first, first + 20000))
                        put_by_frames(two, extra)
                        equal(other.ask("DEL", *extra), len(extra), "DEL")
                        other.ask("RESIZE", 1)
                        first += 20000
            except BaseException as error:  # pylint: disable=broad-except
                failures.append(error)

        def whole_scan():
            cursor, seen, calls = b"0", [], 0
            while calls == 0 or cursor != b"0":
                cursor, keys = scanning.ask("SCAN", cursor, "COUNT", 50)
                seen += [int(k) for k in keys]
                calls += 1
            check(still <= set(seen), f"{len(still - set(seen))} keys missed")

        changer = threading.Thread(target=change)
        changer.start()
        try:
            rounds = 0
            while rounds < 5 or server.metrics()["sherwood_table_resizes_total"] < 3:
                whole_scan()
                rounds += 1
                if failures:
                    break
        finally:
            stop.set()
            changer.join()
        check(not failures, failures)
        check(server.metrics()["sherwood_table_growths_total"] >= 10, "it grew meanwhile")


@case
def more_than_the_machine_has():
    """a max-capacity beyond the machine's memory: a warning at the start and in --check-config, then refused writes"""
    flags = ("--backend", "cpu", "--capacity", "1024", "--max-capacity", "1T")
    text = run(BUILD / "sherwoodd", *flags, "--check-config")
    check("\n# in host memory it cannot grow so far: this machine has " in text, text)
    with Server(*flags) as server, server.connect() as one:
        check(" warning: the table cannot grow to max-capacity: that takes " in server.log(), server.log())
        refused = wire.Replies(one).ask("RESIZE", "1T")
        check(isinstance(refused, wire.Error) and refused.startswith("OOM "), refused)
        equal(server.metrics()["sherwood_table_capacity_slots"], 1024, "capacity")
    with Server(*SMALL) as server:
        check("cannot grow" not in server.log(), server.log())


@case
def no_growth_in_vain():
    """a frame or MSET that no allowed size can hold is refused and does not make the table grow"""
    with Server("--capacity", "64", "--max-capacity", "1024", "--backend", "cpu") as server, \
            server.connect() as one, server.connect() as two:
        replies, keys = wire.Replies(one), list(range(871))  # floor(1024 * 0.85) + 1
        equal(wire.call(two, wire.SET, keys, keys).status, wire.OUT_OF_MEMORY, "a frame")
        refused = replies.ask("MSET", *[word for k in keys for word in (k, k)])
        check(isinstance(refused, wire.Error) and refused.startswith("OOM "), refused)
        now = server.metrics()
        equal(now["sherwood_table_capacity_slots"], 64, "capacity")
        equal(now["sherwood_table_growths_total"], 0, "growths")
        put_by_frames(two, keys[:870])
        read_all(server, keys[:870])
        equal(server.metrics()["sherwood_table_capacity_slots"], 1024, "capacity")


def no_more_memory(server, spare_bytes):
    """Leaves the daemon this much address space beyond what it uses now."""
    with open(f"/proc/{server.pid()}/statm", encoding="ascii") as statm:
        used = int(statm.read().split()[0]) * resource.getpagesize()
    resource.prlimit(server.pid(), resource.RLIMIT_AS, (used + spare_bytes, used + spare_bytes))


@case
def no_memory():
    """without memory to grow, writes and RESIZE are refused as at the maximum, and nothing is lost"""
    if SANITIZED:
        raise Skip("sanitizers end the process when they find no memory themselves")
    began = time.monotonic()
    with Server("--capacity", "64K", "--max-capacity", "1G", "--loops", "1") as server, \
            server.connect() as one, server.connect() as two:
        replies, keys = wire.Replies(one), list(range(50000))
        put_by_frames(two, keys)
        no_more_memory(server, 32 << 20)
        refused = replies.ask("RESIZE", "512M")
        equal(refused, "OOM cannot resize: no memory for the old and the new table at once, or too many "
              "keys would meet the probe cap; nothing was changed", "RESIZE")
        reply = wire.call(two, wire.RESIZE, capacity=1 << 29)
        equal(reply.status, wire.OUT_OF_MEMORY, "a frame")
        equal(reply.message, refused[4:], "its message")
        equal(server.metrics()["sherwood_table_resize_failures_total"], 2, "failures")
        equal(server.metrics()["sherwood_table_capacity_slots"], 65536, "capacity")
        # It grows as far as there is memory, and refuses from then on.
        first = at = 10**9
        while True:
            part = list(range(at, at + 50000))
            reply = wire.call(two, wire.SET, part, [value_of(k) for k in part])
            if reply.status != wire.OK:
                break
            at += 50000
            check(at - first < 10**7, "the limit is never met")
        equal(reply.status, wire.OUT_OF_MEMORY, "the frame that does not fit")
        refused = replies.ask("MSET", *[w for k in range(at, at + 50000) for w in (k, 1)])
        check(isinstance(refused, wire.Error) and refused.startswith("OOM "), refused)
        now = server.metrics()
        check(now["sherwood_table_resize_failures_total"] >= 3, "a failed growth is counted")
        equal(now["sherwood_db_keys"], 50000 + at - first, "keys")
        keys += range(first, at)
        read_all(server, keys)
        equal(replies.ask("GET", at), None, "a refused key")
        eventually(lambda: " warning: the table could not grow or be resized" in server.log(),
                   "a warning in the log")
        check(server.log().count("could not grow") <= 1 + (time.monotonic() - began) // 60, f"one warning a minute: {server.log()}")


def fill(connection, number, keys):
    """Puts keys into the table of this number, by frames."""
    for at in range(0, len(keys), FRAME):
        connection.sendall(wire.frame(wire.SET, keys[at:at + FRAME], keys[at:at + FRAME], table=number))
    for at in range(0, len(keys), FRAME):
        equal(wire.read_frame(connection).status, wire.OK, f"frame at {at}")


@case
def other_tables_go_on():
    """while a table of 16 MiB grows or is resized, and frames wait for it, its loop serves another table; kill -9 loses no such write"""
    faults, keys, more = Faults(), range(880_000), range(880_000, 900_000)
    held = lambda: faults.words.map_waits == 1

    def use_other(replies, value):
        for command in (("SET", 1, value), ("MSET", 2, value, 3, value)):
            equal(replies.ask(*command), "OK", command)
        equal(replies.ask("GET", 1), b"%d" % value, "GET")
        with server.connect() as frames:
            equal(wire.call(frames, wire.GET, [1, 2], want_values=True).values(), [value, value], "a frame")
        equal([replies.ask(*words) for words in (("MULTI",), ("INCR", 1), ("EXEC",))], ["OK", "QUEUED", [value + 1]], "EXEC")
        check(held(), "it still grows")

    with tempfile.TemporaryDirectory() as folder:
        flags = ("--backend", "cpu", "--loops", "1", "--capacity", "4K", "--data-dir", folder, "--appendonly", "yes",
                 "--appendfsync", "always", "--latency-monitor-threshold", "5", "--arena-bytes", "16M", "--unix-socket", f"{folder}/s")
        with Server(*flags, environment=faults.environment()) as server, server.replies() as other, server.connect() as one, \
                server.connect() as two, server.replies() as three, server.connect() as small, server.replies() as copier:
            equal(other.ask("TABLE", "CREATE", "big", "NUMBER", 7, "CAPACITY", "1M", "MAX-CAPACITY", "4M"), "OK", "CREATE")
            equal(three.ask("SELECT", "big"), "OK", "SELECT")
            fill(one, 7, keys)
            faults.words.map_held = 1
            one.sendall(wire.frame(wire.SET, more, more, table=7))
            eventually(held, "the growth")
            two.sendall(wire.frame(wire.GET, more, want_values=True, table=7))
            three.socket.sendall(wire.command("INCR", 5) + wire.command("TTL", 5))
            many = [server.connect() for _ in range(80)]
            for connection in many:
                connection.sendall(wire.frame(wire.GET, more, want_values=True, table=7))
            eventually(lambda: server.metrics()["sherwood_arena_pauses_total"] > 0, "frames that get no memory")
            listing = [server.replies() for _ in range(50)]
            for replies in listing:
                equal(replies.ask("SELECT", 7), "OK", "SELECT")
                replies.socket.sendall(wire.command("SCAN", 0, "COUNT", 65536, "MATCH", 899_999))
            shared = ring.Ring(server)
            shared.put(0, ring.numbers(more, 8))
            for at in range(32):
                shared.write(shared.record(wire.SET, len(more), {ring.KEYS: 0, ring.OPERANDS: 0}, request_id=at + 1, table=7))
            eventually(lambda: server.metrics()["sherwood_arena_pauses_total"] >= 100, "commands and records that get none")
            equal(wire.call(small, wire.SET, [4], [40]).status, wire.OK, "a frame for the other table")
            copier.socket.sendall(wire.command("COPY", 1, 6, "DB", 7, "REPLACE"))
            use_other(other, 10)
            faults.words.map_held = 0
            equal(copier.read(), 1, "COPY to the table that grew")
            for connection in many:
                equal(wire.read_frame(connection).found(), [1] * len(more), "a frame that waited for memory")
                connection.close()
            equal(wire.read_frame(one).status, wire.OK, "the frame that let it grow")
            equal(wire.read_frame(two).found(), [1] * len(more), "a frame behind it")
            check(all(replies.read()[0] != b"0" for replies in listing), "SCAN that waited for memory")
            equal([shared.done().status for _ in range(32)], [wire.OK] * 32, "records that waited for memory")
            shared.close()
            equal([three.read(), three.read()], [6, -1], "commands behind it")
            check(b"table-growth" in str(other.ask("LATENCY", "LATEST")).encode(), "the growth is an event")
            faults.words.map_held = 1
            three.socket.sendall(wire.command("RESIZE", "4M"))
            eventually(held, "the resize")
            use_other(other, 20)
            server.end_by_kill()
        with Server(*flags) as server, server.replies() as other, server.connect() as one:
            equal(other.ask("MGET", 1, 2, 3), [b"21", b"20", b"20"], "what was answered beside the resize")
            equal(other.ask("SELECT", "big"), "OK", "SELECT")
            equal(other.ask("DBSIZE"), len(keys) + len(more), "DBSIZE")
            equal(other.ask("FLUSHDB"), "OK", "FLUSHDB")
            equal(other.ask("DBSIZE"), 0, "DBSIZE")


@case
def sessions_go_on():
    """while the default table grows and commands wait for it, other connections get replies to PING and SELECT, and use another table"""
    sessions_beside("default", 0)


@case
def sessions_of_another_table_go_on():
    """the same while another table grows"""
    sessions_beside("large", 7)


def sessions_beside(name, number):
    faults, more = Faults(), range(880_000, 900_000)
    flags = ("--backend", "cpu", "--loops", "1", "--capacity", "1M" if name == "default" else "4K", "--max-capacity", "4M")
    with Server(*flags, environment=faults.environment()) as server, server.connect() as one, server.replies() as two, server.replies() as three:
        equal(three.ask("TABLE", "CREATE", "small", "CAPACITY", "4K"), "OK", "CREATE")
        if number:
            equal(three.ask("TABLE", "CREATE", name, "NUMBER", number, "CAPACITY", "1M", "MAX-CAPACITY", "4M"), "OK", "CREATE")
        fill(one, number, range(880_000))
        others = [server.replies() for _ in range(100)]
        for replies in (two, three, *others):
            equal(replies.ask("SELECT", name), "OK", "SELECT")
        faults.words.map_held = 1
        one.sendall(wire.frame(wire.SET, more, more, table=number))
        eventually(lambda: faults.words.map_waits == 1, "the growth")
        two.socket.sendall(b"".join(wire.command("SET", i, i) + wire.command("PING") for i in range(1000)))
        for other in others:
            other.socket.sendall(wire.command("PING"))
        equal([other.read() for other in others], ["PONG"] * 100, "PING")
        for words, wanted in ((("SELECT", "small"), "OK"), (("SET", 1, 2), "OK"), (("GET", 1), b"2"), (("SELECT", name), "OK"),
                              (("DBSIZE",), 880_000)):
            equal(three.ask(*words), wanted, words)
        check(faults.words.map_waits == 1, "it still grows")
        faults.words.map_held = 0
        equal([two.read() for _ in range(2000)], ["OK", "PONG"] * 1000, "replies in the order of their commands")
        equal(wire.read_frame(one).status, wire.OK, "the frame that let it grow")
        for other in others:
            other.socket.close()


if __name__ == "__main__":
    main()
