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
