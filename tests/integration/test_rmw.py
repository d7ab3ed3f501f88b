#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Read-modify-write commands while other clients write by RESP and frames, on several loops."""

import random
import signal
import subprocess
import tempfile

import wire
from harness import Server, at_once, case, check, drawn_seed, equal, main
from replication import SMALL, caught_up, replica_of


def beside(server, workers):
    """Runs each worker(replies or socket) on its own connection and thread; raises the error of a worker."""
    def work(worker):
        with server.connect() as connection:
            return worker(connection)
    return at_once(work, [(worker,) for worker in workers])


def frames_add(key, times):
    """Returns a worker that adds 1 to the key `times` times, by frames."""
    def worker(connection):
        for _ in range(times):
            equal(wire.call(connection, wire.INCREMENT, [key], [1]).status, wire.OK, "INCREMENT")
        return times
    return worker


@case
def nobody_in_between():
    """SET IFEQ, MSETNX and RENAMENX beside writes by RESP and frames on several loops are atomic"""
    times, slots, tokens = 150, 12, 4

    def compare_and_set(connection):
        replies, done = wire.Replies(connection), 0
        for _ in range(times):
            old = int(replies.ask("GET", 1))
            done += replies.ask("SET", 1, old + 1, "IFEQ", old) == "OK"
        return done

    def increment(connection):
        replies = wire.Replies(connection)
        for _ in range(times):
            replies.ask("INCR", 1)
        return times

    def own_two(number):
        def worker(connection):
            replies, rng = wire.Replies(connection), random.Random(number)
            for _ in range(times):
                two = rng.sample([101, 102, 103], 2)
                if replies.ask("MSETNX", two[0], number, two[1], number) == 1:
                    equal(replies.ask("MGET", *two), [str(number).encode()] * 2, "both are mine")
                    equal(replies.ask("DEL", *two), 2, "both are there")
            return 0
        return worker

    def move(number):
        def worker(connection):
            replies, rng = wire.Replies(connection), random.Random(number)
            for _ in range(times):
                a, b = rng.sample(range(200, 200 + slots), 2)
                replies.ask("RENAMENX", a, b)
                there = replies.ask("MGET", *range(200, 200 + slots))
                equal(len([one for one in there if one is not None]), tokens, "tokens at one instant")
            return 0
        return worker

    with Server("--capacity", "64K", "--loops", "4") as server:
        with server.replies() as replies:
            replies.ask("SET", 1, 0)
            for token in range(tokens):
                replies.ask("SET", 200 + token, 1000 + token)
        counted = beside(server, [compare_and_set] * 4 + [increment] * 2 + [frames_add(1, times)] * 2
                          + [own_two(number) for number in range(3)] + [move(number) for number in range(3)])
        with server.replies() as replies:
            equal(int(replies.ask("GET", 1)), sum(counted), "every success counts once")
            left = replies.ask("MGET", *range(200, 200 + slots))
            equal(sorted(int(one) for one in left if one is not None), [1000 + t for t in range(tokens)], "tokens")


@case
def no_increment_is_lost():
    """RENAMENX takes a counter away repeatedly while others increment it: no increment is lost or doubled"""
    counts = 60000
    with Server("--capacity", "64K", "--loops", "4") as server, server.connect() as connection:
        replies, taken, moved = wire.Replies(connection), 0, 0
        with subprocess.Popen(["redis-benchmark", "-p", str(server.port), "-q", "-n", str(counts), "-c", "6", "-P", "4",
                               "INCR", "1"], stdout=subprocess.DEVNULL) as others:
            while others.poll() is None or moved == 0:
                if replies.ask("RENAMENX", 1, 2) == 1:
                    taken += int(replies.ask("GETDEL", 2))
                    moved += 1
        equal(others.returncode, 0, "redis-benchmark")
        equal(taken + int(replies.ask("GET", 1) or 0), counts, f"counts, in {moved} parts")


@case
def full_and_logged():
    """on a full table RENAME works and COPY to a new key is refused; acknowledged writes survive a kill"""
    with tempfile.TemporaryDirectory(prefix="sherwood-words-") as directory:
        flags = ("--capacity", "1K", "--max-load", "0.5", "--data-dir", directory, "--appendonly", "yes",
                 "--log-segment-bytes", "1M")
        with Server(*flags, stop_rc=-9) as server, server.replies() as replies:
            key = 0
            while replies.ask("SET", key, key) == "OK":
                key += 1
            equal(replies.ask("RENAME", 5, 2000), "OK", "RENAME")
            check(replies.ask("SET", 3000, 1).startswith("OOM"), "it is full")
            check(replies.ask("COPY", 6, 3000).startswith("OOM"), "COPY")
            check(replies.ask("MSETNX", 3000, 1, 3001, 1).startswith("OOM"), "MSETNX")
            equal(replies.ask("COPY", 6, 7, "REPLACE"), 1, "COPY REPLACE")
            equal(replies.ask("MGET", 5, 2000, 7, 3000), [None, b"5", b"6", None], "now")
            server.stop(signal.SIGKILL)
        with Server(*flags) as server, server.replies() as replies:
            equal(replies.ask("MGET", 5, 2000, 7, 3000), [None, b"5", b"6", None], "after a kill")


@case
def copies_to_another_table():
    """COPY .. DB copies the value and the time to a table by its number or name, and refuses what it cannot do"""
    for shape, values in ((("value-bytes", 20, "value-type", "string", "resp-keys", "hash"), (b"one", b"two")), ((), (b"1", b"2"))):
        with Server("--capacity", "4K", "--databases", "2") as server, server.replies() as replies, server.replies() as other:
            for name, number in (("a", 8), ("b", 9)):
                equal(replies.ask("TABLE", "CREATE", name, "NUMBER", number, *shape), "OK", name)
            equal([replies.ask("SELECT", "a"), other.ask("SELECT", "b")], ["OK", "OK"], "SELECT")
            replies.ask("MSET", 1, values[0], 2, values[1])
            equal([replies.ask("COPY", 1, 1, "DB", 9), other.ask("GET", 1), replies.ask("GET", 1)], [1, values[0], values[0]], "the same key")
            equal([replies.ask("COPY", 2, 1, "DB", "b"), other.ask("GET", 1)], [0, values[0]], "the key exists")
            equal([replies.ask("COPY", 2, 1, "REPLACE", "DB", "b"), other.ask("GET", 1)], [1, values[1]], "REPLACE")
            equal([replies.ask("COPY", 3, 1, "DB", 9, "REPLACE"), other.ask("EXISTS", 1)], [0, 1], "an absent key")
            equal([replies.ask("EXPIRE", 1, 1000), replies.ask("COPY", 1, 5, "DB", 9)], [1, 1], "a key that expires")
            equal(other.ask("PEXPIRETIME", 5), replies.ask("PEXPIRETIME", 1), "its time")
            equal([replies.ask("COPY", 2, 5, "DB", 9, "REPLACE"), other.ask("TTL", 5)], [1, -1], "no time is copied")
            equal([replies.ask("COPY", 2, 7, "DB", 9, "DB", 8), replies.ask("GET", 7), other.ask("EXISTS", 7)], [1, values[1], 0], "the last DB")
            equal(replies.ask("COPY", 1, 1, "DB", 8), wire.Error("ERR source and destination objects are the same"), "the same table")
            equal([other.ask("WATCH", 6), replies.ask("COPY", 1, 6, "DB", 9), other.ask("MULTI"), other.ask("GET", 6), other.ask("EXEC")],
                  ["OK", 1, "OK", "QUEUED", None], "WATCH in the other table")
            for words, error in (((7,), "ERR DB index is out of range"), (("x",), "ERR no such table: TABLE LIST shows the tables"), (("9x",), "ERR value is not an integer or out of range"),
                                 ((), "ERR syntax error")):
                equal(replies.ask("COPY", 1, 2, "DB", *words), wire.Error(error), f"DB {words}")
            if shape:
                said = replies.ask("COPY", 1, 2, "DB", 0)
                check(said.startswith("ERR COPY needs tables of one shape"), said)
            else:
                equal(replies.ask("COPY", 1, 2, "DB", 1), 1, "a table of databases")
            equal([replies.ask("MULTI"), str(replies.ask("COPY", 1, 2, "DB", 9))[:4], replies.ask("DISCARD")], ["OK", "ERR ", "OK"], "MULTI")


@case
def copies_beside_writes():
    """a COPY to another table has the value of one moment; copies both ways beside writes end, and survive a kill"""
    times = 150
    with tempfile.TemporaryDirectory() as folder:
        flags = ("--capacity", "4K", "--loops", "2", "--data-dir", folder, "--appendonly", "yes", "--frame-ops-max", "256",
                 "--round-ops-max", "1024", "--log-segment-bytes", "1M")

        def copies(connection, place, other, key):
            replies = wire.Replies(connection)
            with server.connect() as socket:
                reader = wire.Replies(socket)
                equal([replies.ask("SELECT", place), reader.ask("SELECT", other)], ["OK", "OK"], "SELECT")
                for _ in range(times):
                    before = int(replies.ask("GET", key))
                    equal(replies.ask("COPY", key, key, "DB", other, "REPLACE"), 1, "COPY")
                    copied, after = int(reader.ask("GET", key)), int(replies.ask("GET", key))
                    check(before <= copied <= after, f"{before} <= {copied} <= {after}")

        def counts(connection, place, key):
            replies = wire.Replies(connection)
            equal(replies.ask("SELECT", place), "OK", "SELECT")
            return [replies.ask("INCR", key) for _ in range(times * 2)][-1]

        with Server(*flags) as server, server.replies() as replies:
            equal(replies.ask("TABLE", "CREATE", "b", "LIKE", "default"), "OK", "CREATE")
            equal(replies.ask("MSET", 1, 0), "OK", "MSET")
            equal([replies.ask("SELECT", "b"), replies.ask("MSET", 2, 0)], ["OK", "OK"], "MSET")
            beside(server, [lambda c: copies(c, "default", "b", 1), lambda c: copies(c, "b", "default", 2),
                            lambda c: counts(c, "default", 1), lambda c: counts(c, "b", 2)])
            for place, other, key in (("default", "b", 1), ("b", "default", 2)):
                equal([replies.ask("SELECT", place), replies.ask("COPY", key, key, "DB", other, "REPLACE")], ["OK", 1], "the last COPY")
            server.end_by_kill()
        with Server(*flags) as server, server.replies() as replies:
            for place in ("default", "b"):
                equal([replies.ask("SELECT", place), replies.ask("MGET", 1, 2)], ["OK", [str(times * 2).encode()] * 2], place)


@case
def slow_log():
    """SLOWLOG shows each key of a read-modify-write command once, as the client sent it"""
    with Server("--capacity", "1K") as server, server.replies() as replies:
        equal(replies.ask("MSETNX", 1, 11, 2, 12), 1, "MSETNX")
        equal(replies.ask("CONFIG", "SET", "slowlog-log-slower-than", 0), "OK", "CONFIG SET")
        equal(replies.ask("COPY", 1, 2, "REPLACE"), 1, "COPY")
        equal(replies.ask("RENAME", 2, 3), "OK", "RENAME")
        equal([entry[3] for entry in replies.ask("SLOWLOG", "GET", 2)],
              [[b"rename", b"2", b"3"], [b"copy", b"1", b"2"]], "the two, the last one first")
        for words in (("DELIFEQ", 3, 5), ("CAS", 3, 5, 6), ("SET", 3, 7, "IFEQ", 11), ("DELEX", 3, "IFEQ", 7)):
            replies.ask(*words)
        equal([entry[3] for entry in replies.ask("SLOWLOG", "GET", 4)],
              [[b"delex", b"3"], [b"set", b"3", b"7"], [b"cas", b"3"], [b"delifeq", b"3"]], "a key is shown once")


@case
def replicated():
    """a replica has the writes of these commands in their order among others, and refuses the commands itself"""
    rng = random.Random(drawn_seed())
    with Server(*SMALL) as primary, replica_of(primary.port) as replica:
        with primary.replies() as replies:
            for _ in range(1000):
                a, b = rng.sample(range(20), 2)
                replies.ask(*rng.choice([("MSETNX", a, 1, b, 2), ("RENAME", a, b), ("COPY", a, b), ("INCR", a),
                                         ("SET", a, 5, "IFEQ", 1), ("DEL", a), ("RENAMENX", a, b)]))
            wanted = replies.ask("MGET", *range(20))
        caught_up(primary, replica) # compares the digests
        equal(replica.ask("MGET", *range(20)), wanted, "values")
        for words in (("MSETNX", 1, 1), ("RENAME", 1, 2), ("COPY", 1, 2), ("SET", 1, 2, "IFEQ", 1)):
            check(str(replica.ask(*words)).startswith("READONLY"), words)


@case
def counters_that_expire():
    """INCREX replies the value and what was added; EX sets the time to live, ENX keeps one that exists, PERSIST removes it"""
    for flags in ((), ("--value-bytes", "20", "--value-type", "string")):
        with Server(*flags) as server, server.replies() as replies:
            equal(replies.ask("INCREX", 1, "UBOUND", 2, "EX", 1000, "ENX"), [1, 1], flags)
            first = replies.ask("PEXPIRETIME", 1)
            check(first > 0, "a time to live")
            equal(replies.ask("INCREX", 1, "UBOUND", 2, "EX", 5000, "ENX"), [2, 1], flags)
            equal(replies.ask("INCREX", 1, "UBOUND", 2, "EX", 5000, "ENX"), [2, 0], "at the bound")
            equal(replies.ask("PEXPIRETIME", 1), first, "ENX keeps it")
            equal(replies.ask("INCREX", 1, "EX", 5000), [3, 1], flags)
            check(replies.ask("PEXPIRETIME", 1) >= first + 3_000_000, "EX alone sets it")
            equal(replies.ask("INCREX", 1, "PERSIST"), [4, 1], flags)
            equal(replies.ask("PEXPIRETIME", 1), -1, "PERSIST")
            equal(replies.ask("INCREX", 1, "EX", 1000, "ENX"), [5, 1], flags)
            check(replies.ask("PEXPIRETIME", 1) > 0, "ENX sets one where none is")


if __name__ == "__main__":
    main()
