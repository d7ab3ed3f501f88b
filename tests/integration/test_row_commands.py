#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Commands that read or write a part of a value, or compute the new value from the old one, on rows and on integers."""

import random
import socket
import struct

import wire
from harness import Server, at_once, case, check, drawn_seed, equal, main, redis_server

SEED = drawn_seed()
CPU = ("--backend", "cpu", "--capacity", "64K", "--frame-ops-max", "0")
LONG = "ERR value would be longer than a row allows (--value-bytes)"


@case
def parts_of_strings():
    """GETRANGE, SETRANGE, STRLEN, RENAME, COPY and MSETNX on rows of strings reply and store as redis does"""
    rng = random.Random(SEED)
    with redis_server() as path, Server(*CPU, "--value-bytes", "64", "--value-type", "string") as server, \
            server.connect() as mine, socket.socket(socket.AF_UNIX) as theirs:
        theirs.connect(path)
        theirs.settimeout(30)
        both = wire.Replies(mine), wire.Replies(theirs)
        far = [0, 1, 2, 5, 30, 63, 64, 65, 1 << 40, 2**63 - 1, 2**63]
        for _ in range(4000):
            key, other, text = rng.randrange(5), rng.randrange(5), rng.randbytes(rng.randrange(20))
            sign = rng.choice((1, -1))
            words = rng.choice((
                ("SET", key, text), ("DEL", key), ("STRLEN", key), ("GET", key), ("EXISTS", key),
                ("GETRANGE", key, sign * rng.choice(far), rng.choice((1, -1)) * rng.choice(far)),
                ("GETRANGE", key, rng.randrange(-25, 25), rng.randrange(-25, 25)),
                ("GETRANGE", key, "x", 1), ("GETRANGE", key, 1, "1.0"), ("GETRANGE", key, 1, 2**63),
                ("GETRANGE", key, rng.choice(("-0", "01", "+1")), -1), ("SETRANGE", key, rng.choice(("-0", "01")), text),
                ("SETRANGE", key, rng.randrange(44), text), ("SETRANGE", key, -1, "x"), ("SETRANGE", key, "a", "x"),
                ("SETRANGE", key, rng.choice((0, 65, 1 << 40)), ""), ("RENAME", key, other), ("RENAMENX", key, other),
                ("COPY", key, other, "REPLACE"), ("COPY", key, other), ("MSETNX", key, text, other, "y")))
            equal(both[0].ask(*words), both[1].ask(*words), f"seed {SEED}: {words}")
        equal(both[0].ask("SETRANGE", 1, 63, "xx"), wire.Error(LONG), "past the row")
        equal(both[0].ask("SETRANGE", 1, 64, ""), both[1].ask("STRLEN", 1), "nothing")


@case
def parts_of_rows():
    """SETRANGE on rows of bytes fills new rows with zeros; GETRANGE of an integer returns its digits"""
    for size in (4, 60, 1028):
        with Server(*CPU, "--value-bytes", str(size)) as server, server.replies() as replies:
            equal([replies.ask("SETRANGE", 1, 2, ""), replies.ask("EXISTS", 1)], [0, 0], "an empty part stores nothing")
            equal([replies.ask("SETRANGE", 1, 2, "xy"), replies.ask("GET", 1)], [size, b"\0\0xy".ljust(size, b"\0")], "a new row")
            equal(replies.ask("SETRANGE", 1, size - 1, "xx"), wire.Error(LONG), "past the row")
    with Server(*CPU, "--key-bits", "32") as server, server.replies() as replies:
        replies.ask("SET", 1, 4294967295)
        equal([replies.ask("GETRANGE", 1, 2, -3), replies.ask("GETRANGE", 2, 0, -1)], [b"949672", b""], "digits")
        equal(replies.ask("SETRANGE", 1, 0, "7"), wire.Error("ERR SETRANGE needs rows: start the server with --value-bytes"), "SETRANGE")
        replies.ask("MULTI")
        equal(replies.ask("GETRANGE", 1, 0, 0), "QUEUED", "in a transaction")
        equal(replies.ask("EXEC"), [b"4"], "EXEC")


@case
def slow_ones():
    """SLOWLOG shows a command's key and operand as sent"""
    with Server(*CPU, "--slowlog-log-slower-than", "0") as server, server.replies() as replies:
        for words in (("SET", 1, 12), ("OR", 1, 3), ("SUM", 1, 2)):
            replies.ask(*words)
        logged = [entry[3] for entry in replies.ask("SLOWLOG", "GET", -1)]
        equal(logged, [[b"sum", b"1", b"2"], [b"or", b"1", b"3"], [b"set", b"1", b"12"]], "SLOWLOG")


def f32(number):
    return struct.unpack("<f", struct.pack("<f", number))[0]


@case
def fractions():
    """INCRBYFLOAT adds 32-bit floats, and its reply parses to the same number"""
    rng = random.Random(SEED)
    with Server(*CPU, "--value-bytes", "4", "--value-type", "f32") as server, server.connect() as connection:
        replies, model = wire.Replies(connection), {}
        for _ in range(1500):
            key = rng.randrange(4)
            text = rng.choice((f"{rng.uniform(-10, 10):.4f}", f"{rng.uniform(-1, 1) * 10.0 ** rng.randrange(-44, 37):g}",
                               "1", "-0", "3e-45", "0x1p-3"))
            number = f32(float.fromhex(text) if text.startswith("0x") else float(text))
            model[key] = f32(model.get(key, 0.0) + number)
            reply = replies.ask("INCRBYFLOAT", key, text)
            equal(struct.pack("<f", float(reply)), struct.pack("<f", model[key]), f"seed {SEED}: {text}")
            equal(replies.ask("GET", key), struct.pack("<f", model[key]), text)
        equal([replies.ask("MULTI"), replies.ask("INCRBYFLOAT", 5, "1.5"), replies.ask("INCRBYFLOAT", 5, "inf"),
               replies.ask("INCRBYFLOAT", 5, "0.25")], ["OK", *["QUEUED"] * 3], "MULTI")
        equal(replies.ask("EXEC"), [b"1.5", wire.Error("ERR increment would produce NaN or Infinity"), b"1.75"], "EXEC")
        replies.ask("SET", 9, struct.pack("<f", 3e38))
        produce = wire.Error("ERR increment would produce NaN or Infinity")
        for text in ("3e38", "inf", "-inf", "1e39"):
            equal(replies.ask("INCRBYFLOAT", 9, text), produce, text)
        for text in ("", " 1", "1 ", "x", "nan", "1" * 100, "1e"):
            equal(replies.ask("INCRBYFLOAT", 9, text), wire.Error("ERR value is not a valid float"), text)
        equal(replies.ask("GET", 9), struct.pack("<f", 3e38), "nothing was written")
    with Server(*CPU) as server, server.connect() as connection:
        equal(wire.Replies(connection).ask("INCRBYFLOAT", 1, 1), wire.Error(
            "ERR INCRBYFLOAT needs values that are strings (--value-type string) or rows of one number (--value-type f64 --value-bytes 8, or f32 and 4)"), "integers")


@case
def fractions_of_64_bits():
    """INCRBYFLOAT on rows of one f64: its reply parses to the same number, without an exponent as in redis"""
    rng = random.Random(SEED)
    with Server(*CPU, "--value-bytes", "8", "--value-type", "f64") as server, server.connect() as connection:
        replies, model = wire.Replies(connection), {}
        for _ in range(1500):
            key = rng.randrange(4)
            text = rng.choice((f"{rng.uniform(-10, 10):.4f}", f"{rng.uniform(-1, 1) * 10.0 ** rng.randrange(-323, 307):g}",
                               "1", "-0", "5e-324", "0x1p-3", "9007199254740993"))
            number = float.fromhex(text) if text.startswith("0x") else float(text)
            model[key] = model.get(key, 0.0) + number
            reply = replies.ask("INCRBYFLOAT", key, text)
            equal(float(reply), model[key], f"seed {SEED}: {text}")
            equal(replies.ask("GET", key), struct.pack("<d", model[key]), text)
        replies.ask("SET", 9, struct.pack("<d", 0.1))
        equal([replies.ask("INCRBYFLOAT", 9, text) for text in ("0.2", "-0.3", "3000", "1e22", "-1e22", "-0", "1e-20")],
              [b"0.30000000000000004", b"5.551115123125783e-17", b"3000", b"10000000000000000000000", b"0", b"0", b"1e-20"], "texts")
        equal([replies.ask("MULTI"), replies.ask("INCRBYFLOAT", 5, "1.5"), replies.ask("INCRBYFLOAT", 5, "inf"),
               replies.ask("INCRBYFLOAT", 5, "0.25")], ["OK", *["QUEUED"] * 3], "MULTI")
        equal(replies.ask("EXEC"), [b"1.5", wire.Error("ERR increment would produce NaN or Infinity"), b"1.75"], "EXEC")
        replies.ask("SET", 9, struct.pack("<d", 1.7e308))
        for text in ("1.7e308", "inf", "-inf", "1e309"):
            equal(replies.ask("INCRBYFLOAT", 9, text), wire.Error("ERR increment would produce NaN or Infinity"), text)
        for text in ("", " 1", "1 ", "x", "nan", "1" * 400, "1e"):
            equal(replies.ask("INCRBYFLOAT", 9, text), wire.Error("ERR value is not a valid float"), text)
        whole = b"%d" % int(1.7e308)
        equal([replies.ask("INCRBYFLOAT", 9, "0"), replies.ask("INCRBYFLOAT", 10, whole)], [whole, whole], "309 digits")
        equal([replies.ask("INCR", 9)], [wire.Error(
            "ERR the robin_hood engine has no INCR for rows: values are not integers; " + wire.COUNTERS)], "INCR")


@case
def none_is_lost():
    """no INCRBYFLOAT or SETRANGE is lost when several loops write parts of one row"""
    times, workers = 100, 4

    def work(server, number, add):
        with server.replies() as replies:
            for i in range(times):
                add(replies, number, i)
    with Server(*CPU, "--value-bytes", "4", "--value-type", "f32", "--loops", "4") as server:
        def add(replies, number, i):
            check(isinstance(replies.ask("INCRBYFLOAT", 1, number + 1), bytes), "a reply")
        at_once(work, [(server, number, add) for number in range(workers)])
        with server.connect() as connection:
            equal(wire.Replies(connection).ask("GET", 1),
                  struct.pack("<f", times * sum(range(1, workers + 1))), "the sum")
    with Server(*CPU, "--value-bytes", "64", "--loops", "4") as server:
        def put(replies, number, i):
            equal(replies.ask("SETRANGE", 1, 16 * number, bytes([i]) * 16), 64, "a part")
        at_once(work, [(server, number, put) for number in range(workers)])
        equal(server.ask("GET", 1), bytes([times - 1]) * 64, "each part")


@case
def a_batch_of_an_embedding_cache():
    """MSET, MGET and DEL of 16,384 raw keys with rows of 512 bytes, 8.8 MB, as the README's options allow"""
    count = 16384
    with Server(*CPU, "--value-bytes", "512", "--value-type", "f32", "--resp-keys", "raw", "--arena-bytes", "64M",
                "--resp-request-bytes-max", "16M", "--round-ops-max", "64K") as server, server.replies() as replies:
        keys = [struct.pack("<Q", 7 * i) for i in range(count)]
        rows = [struct.pack("<I", i) * 128 for i in range(count)]
        equal(replies.ask("MSET", *[word for pair in zip(keys, rows) for word in pair]), "OK", "MSET")
        check(replies.ask("MGET", *keys) == rows, "MGET")
        equal([replies.ask("DBSIZE"), replies.ask("DEL", *keys)], [count, count], "DEL")


if __name__ == "__main__":
    main()
