#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Commands that redis has reply with its bytes, by RESP2 and RESP3. Commands that redis lacks: errors and ends of the range."""

import random

import wire
from beside import Both
from harness import Server, case, check, drawn_seed, equal, main, redis_server

NOT_A_VALUE = "ERR value is not an unsigned integer or out of range"
NO_TEXTS = NOT_A_VALUE + "; for strings start the server with --value-bytes N --value-type string"
TOP = 2**64 - 1


def beside_redis(flags, session):
    """Calls session(both, rng) with fresh servers, for each version of RESP."""
    rng = random.Random(drawn_seed())
    for version in (2, 3):
        with redis_server() as path, Server("--capacity", "64K", *flags) as server:
            both = Both(server, path, version)
            session(both, rng)
            both.close()


@case
def options():
    """SET with every combination of its options, GETEX, INCRBY and DECRBY by negative numbers reply as redis does"""
    def session(both, rng):
        values = {}
        for _ in range(1500):
            key = rng.randrange(8)
            value = rng.choice([0, 1, 41, 2**40, rng.randrange(2**62)])
            step = rng.randrange(-2**20, 2**20)
            kind = rng.randrange(8)
            if kind < 3:
                options = rng.sample(["NX", "XX", "GET", "KEEPTTL"], rng.randrange(4))
                both.ask("SET", key, value, *options)
            elif kind == 3:
                both.ask("GETEX", key, *rng.choice([(), ("PERSIST",), ("persist",), ("NOPE",), ("PERSIST", "X")]))
            elif kind == 4:
                now = int(both.ask("GET", key) or 0)
                if now + step >= 0: # below zero redis goes on
                    equal(both.ask("INCRBY", key, step), now + step, "INCRBY")
            elif kind == 5:
                now = int(both.ask("GET", key) or 0)
                if now - step >= 0:
                    equal(both.ask("DECRBY", key, step), now - step, "DECRBY")
            elif kind == 6:
                both.ask("DEL", key)
            else:
                both.ask("INCRBY", key, rng.choice(["", "-", "--1", "1.5", "x", "-x", " 1"]))
            values[key] = both.ask("GET", key)
    beside_redis((), session)


@case
def keys():
    """KEYS lists the same decimal keys as redis, in any order, and finds raw keys"""
    def session(both, rng):
        names = list({str(rng.randrange(10**rng.randrange(1, 9))) for _ in range(300)})
        for name in names:
            both.ask("SET", name, 1)
        for pattern in ("*", "1*", "*7", "?", "??", "[1-3]*", "[^1-3]??", "1[0-4]*[5-9]", "", "x*", "\\1*", "1**2"):
            ours, theirs = both.ours.ask("KEYS", pattern), both.theirs.ask("KEYS", pattern)
            equal(sorted(ours), sorted(theirs), pattern)
        both.ask("KEYS")
    beside_redis(("--resp-keys", "decimal"), session)
    rng = random.Random(drawn_seed())
    for flags in (("--capacity", "1M"), ("--capacity", "256K", "--engine", "cache")):
        names = {rng.randbytes(8) for _ in range(100000)}
        with Server("--resp-keys", "raw", *flags, "--frame-ops-max", "16K") as server, server.replies() as replies:
            for at in range(0, len(names), 5000):
                some = list(names)[at:at + 5000]
                equal(replies.ask("MSET", *[word for name in some for word in (name, 1)]), "OK", "MSET")
            equal(sorted(replies.ask("KEYS", "*")), sorted(names), "more than one batch of a scan")
            equal(sorted(replies.ask("KEYS", b"\0*")), sorted(n for n in names if n[0] == 0), "a byte")
            equal(replies.ask("KEYS", b"x" * 4096), [], "long")
            equal(replies.ask("KEYS", b"x" * 4097), wire.Error("ERR the pattern is longer than 4096 bytes"), "too long")
            equal(sorted(replies.ask("KEYS", b"[" + b"\\\0" * 1000 + b"]*" + b"*" * 2000)), sorted(n for n in names if n[0] == 0),
                  "a long pattern")
    with Server("--output-bytes-max", "64K", "--output-bytes-pause", "64K", "--resp-arguments-max", "1000",
                "--capacity", "64K") as server, server.replies() as replies:
        for at in range(0, 10000, 400):
            replies.ask("MSET", *[word for key in range(at, at + 400) for word in (key, 1)])
        got = replies.ask("KEYS", "*")
        equal(got, wire.Error("ERR the reply is longer than output-bytes-max: use SCAN"), "too many")
        equal(len(replies.ask("KEYS", "99*")), 111, "fewer")


@case
def numbers():
    """SUM, MIN, MAX, PREFIXLEN, INCRBY and DECRBY at the ends of the range, and wrong numbers"""
    for width in (64, 32):
        top = 2**width - 1
        with Server("--capacity", "64K", "--key-bits", str(width)) as server, server.replies() as replies:
            last = top if width == 32 else b"%d" % top  # numbers from 2^63 on are strings
            for words, reply in ((("MAX", top, top), last), (("SUM", top, 1), 0), (("MAX", 1, 9), 9), (("MIN", 1, 5), 5),
                                 (("INCRBY", 1, -5), 0), (("DECRBY", 1, -7), 7), (("MIN", 0, top), last),
                                 *(((name, key, n), wire.Error("ERR increment or decrement would overflow"))
                                   for name, key, n in (("INCRBY", 0, 1), ("DECRBY", 0, -1), ("INCRBY", 1, -8), ("DECRBY", 1, 8))),
                                 (("PREFIXLEN", 0, 1, top), 3), (("PREFIXLEN", 1, 1, 2, 0), 2), (("PREFIXLEN", 3), 0)):
                equal(replies.ask(*words), reply, words)
            for words in (("SUM", 1, -1), ("MIN", 1, "x"), ("MAX", 1, top + 1)):
                equal(replies.ask(*words), wire.Error(NOT_A_VALUE), words)
            for words in (("INCRBY", 1, -top - 1), ("DECRBY", 1, top + 1), ("INCRBY", 1, "01"), ("DECRBY", 1, "-0"), ("INCRBY", 1, "")):
                equal(replies.ask(*words), wire.Error("ERR value is not an integer or out of range"), words)
            equal(replies.ask("CONFIG", "SET", "slowlog-log-slower-than", 0), "OK", "CONFIG")
            replies.ask("INCRBY", 3, 9)
            replies.ask("INCRBY", 3, -7)
            logged = [entry[3] for entry in replies.ask("SLOWLOG", "GET", 10)]
            check([b"incrby", b"3", b"-7"] in logged and [b"incrby", b"3", b"9"] in logged, logged)
            equal(replies.ask("GETEX", 3, "EX", 0), wire.Error("ERR invalid expire time in 'getex' command"), "GETEX")
    with Server("--capacity", "64K", "--engine", "cache") as server, server.replies() as replies:
        replies.ask("MSET", 1, "a", 2, "b")
        equal([replies.ask("PREFIXLEN", 1, 2, 3, 1), replies.ask("GETEX", 2)], [2, b"b"], "of a cache")
        equal(replies.ask("SUM", 1, 1), wire.Error("ERR the cache engine has no SUM: values are not integers; " + wire.INTEGERS), "SUM")


@case
def conditional():
    """MSETNX, RENAME, RENAMENX and COPY reply as redis does, and leave the same keys"""
    def session(both, rng):
        for _ in range(1500):
            a, b, c = (rng.randrange(6) for _ in range(3))
            kind = rng.randrange(7)
            if kind == 0:
                both.ask("MSETNX", a, rng.randrange(100), b, rng.randrange(100), c, rng.randrange(100))
            elif kind == 1:
                both.ask("RENAME", a, b)
            elif kind == 2:
                both.ask("RENAMENX", a, b)
            elif kind == 3:
                both.ask("COPY", a, b, *rng.choice([(), ("REPLACE",), ("DB", 0), ("replace", "db", 0), ("DB", "x"),
                                                    ("DB",), ("NOPE",), ("DB", 99)]))
            elif kind == 4:
                both.ask("DEL", *rng.sample(range(6), 3))
            elif kind == 5:
                both.ask("MSETNX", a, 1, b)
            else:
                both.ask("INCR", a)
            both.ask("MGET", *range(6))
    beside_redis((), session)
    beside_redis(("--engine", "cuckoo"), session)


@case
def if_equal():
    """SET IFEQ, with and without GET, and its errors, which change nothing"""
    with Server("--capacity", "64K") as server, server.replies() as replies:
        for options, reply in (("IFEQ 3", None), ("get ifeq 3", None), ("", "OK"), ("IFEQ 3", None), ("IFEQ 7 GET", b"7"), ("get ifeq 7", b"7")):
            equal(replies.ask("SET", 1, 7, *options.split()), reply, options)
        for words in (("NX", "IFEQ", 1), ("IFEQ", 1, "XX"), ("IFEQ",), ("IFEQ", 1, "IFEQ", 2), ("IFEQ", 1, "NOPE")):
            equal(replies.ask("SET", 1, 2, *words), wire.Error("ERR syntax error"), words)
        for words in ((1, 2, "IFEQ", "x"), (1, "x", "IFEQ", 1), (1, 2, "IFEQ", -1)):
            equal(replies.ask("SET", *words), wire.Error(NO_TEXTS), words)
        for words in (("MSETNX", 1, 2), ("RENAME", 1, 2), ("COPY", 1, 2), ("SET", 1, 2, "IFEQ", 3)):
            replies.ask("MULTI")
            equal(replies.ask(*words), wire.Error("ERR Command not allowed inside a transaction"), words)
            check(replies.ask("EXEC").startswith("EXECABORT"), "EXEC")
    with Server("--capacity", "64K", "--engine", "cache") as server, server.replies() as replies:
        for name, words in (("MSETNX", (1, 2)), ("RENAME", (1, 2)), ("RENAMENX", (1, 2)), ("COPY", (1, 2)),
                            ("SET IFEQ", None)):
            words = ("SET", 1, 2, "IFEQ", 3) if words is None else (name, *words)
            equal(replies.ask(*words), wire.Error(
                f"ERR the cache engine has no {name}: a write may evict the entry between the read and the write; start the server with --engine robin_hood"), name)


if __name__ == "__main__":
    main()
