#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Keys that expire: the commands beside redis, times by the clock, transactions that watch, and where keys do not
expire."""

import random
import shutil
import tempfile
import time

import wire
from beside import Both
from harness import Server, Skip, case, check, drawn_seed, equal, eventually, main, redis_server

KEYS = 12
CPU = ("--backend", "cpu", "--capacity", "64K")


# What is refused for its arguments is refused here as it is queued, and by redis in EXEC: these are not.
QUEUED = ("PERSIST", "EXPIRETIME", "PEXPIRETIME", "INCR", "GETSET", "SETNX", "GETDEL", "DEL", "GET")


def drawn(rng, now):
    """A command whose reply does not depend on when it is carried out: times are long over, or far away."""
    key, other = rng.randrange(KEYS), rng.randrange(KEYS)
    at = rng.choice([1, now - 50, now + 1000 + rng.randrange(4), now + 1000 + rng.randrange(4), now + 5000])
    unit = rng.choice([("EXAT", at), ("PXAT", at * 1000 + rng.randrange(1000))])
    conditions = rng.sample(["NX", "XX", "GT", "LT"], rng.choice([0, 0, 1, 1, 2]))
    return rng.choice([
        ("SET", key, rng.randrange(100), *unit, *rng.sample(["NX", "XX"], rng.randrange(2)), *rng.sample(["GET"], rng.randrange(2))),
        ("SET", key, rng.randrange(100), *rng.sample(["KEEPTTL", "XX"], rng.randrange(3))),
        ("EXPIREAT", key, at, *conditions), ("PEXPIREAT", key, at * 1000 + 1, *conditions),
        ("EXPIREAT", key, rng.choice(["", "x", -5, 2**63, 10**16, -10**17])), ("PEXPIREAT", key, 9223372036854770000),
        ("EXPIRE", key, rng.choice([9223370399119966, 9223372036854776, 10**16, -10**17, -1, 0])), ("PEXPIRE", key, -1000),
        ("SETEX", key, rng.choice([-10, 0, 10**16, "x"]), 1), ("PSETEX", key, rng.choice([-1, 0]), 1),
        ("SET", key, 1, "EX", rng.choice([0, -1, 10**16, "x"])), ("SET", key, 1, "EX", 10, "KEEPTTL"), ("SET", key, 1, "EX"),
        ("GETEX", key), ("GETEX", key, *unit), ("GETEX", key, "PERSIST"), ("GETEX", key, "PX"),
        ("PERSIST", key), ("EXPIRETIME", key), ("PEXPIRETIME", key), ("EXPIRETIME", key), ("PEXPIRETIME", key),
        ("INCR", key), ("DECRBY", key, 0), ("GETSET", key, 5), ("SETNX", key, 6), ("MSET", key, 7, other, 8),
        ("MSETNX", key, 9, other, 9), ("GETDEL", key), ("DEL", key), ("GET", key), ("EXISTS", key, other),
        ("RENAME", key, other), ("RENAMENX", key, other), ("COPY", key, other), ("COPY", key, other, "REPLACE")])


@case
def beside_redis():
    """random commands on keys with times, and transactions of them, have the replies of redis; so have all keys at the end"""
    if not shutil.which("redis-server"):
        raise Skip("redis-server is not installed")
    rng = random.Random(drawn_seed())
    with Server(*CPU) as server, redis_server() as path:
        for version in (2, 3):
            both = Both(server, path, version)
            for _ in range(1200):
                now = int(time.time())
                words = drawn(rng, now)
                if words[0] in QUEUED and rng.random() < 0.3:
                    both.ask("MULTI")
                    both.ask(*words)
                    both.ask("PEXPIRETIME", words[1])
                    both.ask("EXEC")
                    continue
                both.ask(*words)
            for key in range(KEYS):
                both.ask("GET", key)
                both.ask("PEXPIRETIME", key)
            both.ask("FLUSHALL")
            both.close()


@case
def times_come():
    """a key is there before its time and gone after it, with its value, in SCAN and KEYS, and in the figures"""
    with Server(*CPU) as server, server.connect() as connection:
        replies = wire.Replies(connection)
        for n, words in enumerate((("SET", 1, 5, "PX", 700), ("PSETEX", 2, 700, 5), ("SET", 3, 5))):
            equal(replies.ask(*words), "OK", str(n))
        equal(replies.ask("PEXPIRE", 3, 700), 1, "PEXPIRE")
        began = time.monotonic()
        equal([replies.ask("SET", 4, 5), replies.ask("EXPIRE", 4, 1000)], ["OK", 1], "EXPIRE")
        got = [replies.ask("GET", key) for key in (1, 2, 3)]
        left = replies.ask("PTTL", 1)
        if time.monotonic() - began < 0.6:
            equal(got, [b"5"] * 3, "before")
            check(0 < left <= 700, str(left))
        check(990 < replies.ask("TTL", 4) <= 1000, "TTL")
        check(990000 < replies.ask("PTTL", 4) <= 1000000, "PTTL")
        eventually(lambda: replies.ask("EXISTS", 1, 2, 3) == 0, "their time comes", 20)
        check(time.monotonic() - began >= 0.69, "not before its time")
        equal([replies.ask("TTL", 1), replies.ask("GET", 1), replies.ask("KEYS", "*"), replies.ask("SCAN", 0)[1]],
              [-2, None, [b"4"], [b"4"]], "after")
        equal([replies.ask("EXPIRE", 1, 10), replies.ask("INCR", 2), replies.ask("TTL", 2)], [0, 1, -1], "a dead key")
        eventually(lambda: replies.ask("DBSIZE") == 2, "they are swept", 20)
        info = replies.ask("INFO", "all").decode()
        check("expired_keys:3\r\n" in info and "db0:keys=2,expires=1,avg_ttl=" in info, info)


@case
def watched_keys_expire():
    """EXEC replies nil if a watched key has expired meanwhile, and if EXPIRE was carried out; not for one without effect"""
    with Server(*CPU) as server, server.connect() as connection, server.connect() as second:
        replies, others = wire.Replies(connection), wire.Replies(second)
        watched, ms = False, 150
        while not watched: # on a slow machine it may have come before WATCH looked
            ms *= 2
            equal(replies.ask("SET", 1, 5, "PX", ms), "OK", "SET")
            equal([replies.ask("WATCH", 1), replies.ask("MULTI"), replies.ask("SET", 2, 1)], ["OK", "OK", "QUEUED"], "WATCH")
            watched = others.ask("GET", 1) is not None
            if not watched:
                replies.ask("DISCARD")
        eventually(lambda: others.ask("GET", 1) is None, "its time comes", 60)
        equal([replies.ask("EXEC"), replies.ask("GET", 2)], [None, None], "it has expired")
        for words, reply, aborts in ((("EXPIRE", 3, 100), 1, True), (("EXPIRE", 3, 100, "NX"), 0, False),
                                     (("PERSIST", 3), 1, True), (("PERSIST", 3), 0, False), (("EXPIRE", 9, 5), 0, False)):
            replies.ask("SETNX", 3, 1)
            equal([replies.ask("WATCH", 3, 9), others.ask(*words), replies.ask("MULTI"), replies.ask("SET", 2, 1)],
                  ["OK", reply, "OK", "QUEUED"], words)
            equal(replies.ask("EXEC"), None if aborts else ["OK"], words)


@case
def where_keys_do_not_expire():
    """other engines, data-dir and servers with replicas say so; and a server whose keys expire takes no replica"""
    with Server("--engine", "cuckoo", "--capacity", "64K") as server, server.connect() as connection:
        replies = wire.Replies(connection)
        equal(replies.ask("EXPIRE", 1, 5), wire.Error("ERR the cuckoo engine has no EXPIRE"), "cuckoo")
        equal([replies.ask("SET", 1, 5, "KEEPTTL"), replies.ask("TTL", 1), replies.ask("PERSIST", 1)], ["OK", -1, 0], "of none")
    with tempfile.TemporaryDirectory() as directory:
        with Server(*CPU, "--data-dir", directory) as server, server.connect() as connection:
            check("data-dir" in wire.Replies(connection).ask("SET", 1, 5, "EX", 5), "data-dir")
    with Server(*CPU) as server, server.connect() as connection:
        replies = wire.Replies(connection)
        equal(replies.ask("SET", 1, 5, "EX", 500), "OK", "SET")
        check("keys expire in this server" in replies.ask("REPLICAOF", "127.0.0.1", 1), "REPLICAOF")
    with Server(*CPU) as server, server.connect() as connection:
        replies = wire.Replies(connection)
        equal([replies.ask("REPLICAOF", "127.0.0.1", 1), replies.ask("REPLICAOF", "NO", "ONE")], ["OK", "OK"], "REPLICAOF")
        check("has had replicas" in replies.ask("SET", 1, 5, "EX", 500), "a server that was a replica")


@case
def nobody_is_told_of_no_times():
    """PERSIST and KEEPTTL, where no key has a time, are in no log and reach no replica: both go on, whatever their engine"""
    cuckoo = ("--engine", "cuckoo", *CPU)
    with tempfile.TemporaryDirectory() as directory, \
            Server(*CPU, "--data-dir", directory, "--appendonly", "yes") as server, server.connect() as connection, \
            Server(*cuckoo, "--replicaof", f"127.0.0.1 {server.port}") as replica, replica.connect() as second:
        replies, others = wire.Replies(connection), wire.Replies(second)
        equal([replies.ask("SET", 1, 5), replies.ask("PERSIST", 1), replies.ask("GETEX", 1, "PERSIST"),
               replies.ask("SET", 2, 6, "KEEPTTL"), replies.ask("TTL", 2), replies.ask("PERSIST", 9)],
              ["OK", 0, b"5", "OK", -1, 0], "of none")
        eventually(lambda: others.ask("GET", 2) == b"6", "the replica follows", 20)
        check("READONLY" in others.ask("GETEX", 1, "PERSIST"), "GETEX writes")


@case
def readers_end_no_key():
    """a user who may only read cannot have a key expire, by GETEX neither"""
    with Server(*CPU) as server, server.connect() as connection, server.connect() as second:
        replies, others = wire.Replies(connection), wire.Replies(second)
        equal([replies.ask("SET", 1, 5), replies.ask("ACL", "SETUSER", "reader", "on", ">word", "~*", "+@read"),
               others.ask("AUTH", "reader", "word"), others.ask("GET", 1)], ["OK", "OK", "OK", b"5"], "a reader")
        for words in (("GETEX", 1, "PX", 1), ("EXPIRE", 1, 1), ("PERSIST", 1)):
            check("NOPERM" in others.ask(*words), words)
        equal(replies.ask("TTL", 1), -1, "as it was")


@case
def rows_expire():
    """rows: SETRANGE and COPY keep times, SET ends them"""
    with Server("--backend", "cpu", "--capacity", "64K", "--value-bytes", "8", "--value-type", "string") as server, \
            server.connect() as connection:
        replies = wire.Replies(connection)
        equal(replies.ask("SET", 1, "abc", "EXAT", 4000000000), "OK", "SET")
        equal([replies.ask("SETRANGE", 1, 1, "x"), replies.ask("COPY", 1, 2), replies.ask("EXPIRETIME", 1),
               replies.ask("EXPIRETIME", 2)], [3, 1, 4000000000, 4000000000], "kept")
        equal([replies.ask("GETEX", 2, "PERSIST"), replies.ask("SET", 1, "d"), replies.ask("TTL", 1), replies.ask("TTL", 2)],
              [b"axc", "OK", -1, -1], "ended")


main()
