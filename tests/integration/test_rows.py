#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Daemons whose values are rows: by RESP, in frames and with libsherwood, and the errors."""

import struct

import wire
from harness import BUILD, Server, case, check, equal, error_of, main, refusal, run

LOAD = BUILD / "sherwood-load"
ROWS = ("--backend", "cpu", "--capacity", "4096", "--frame-ops-max", "0", "--value-bytes")


@case
def rows_over_resp():
    """rows: values of every size are stored, counted, scanned, deleted and survive growth and RESIZE"""
    for size in (4, 60, 256, 1028, 4096):
        with Server(*ROWS, str(size), "--capacity", "64", "--max-capacity", "4096") as server, \
                server.replies() as replies:
            row = lambda i: struct.pack("<I", i) * (size // 4)
            pairs = [word for i in range(500) for word in (i, row(i))]
            equal(replies.ask("MSET", *pairs), "OK", "MSET")
            equal(replies.ask("MGET", *range(0, 1000, 100)),
                  [row(i) if i < 500 else None for i in range(0, 1000, 100)], "MGET")
            equal(replies.ask("SET", 7, row(9), "NX", "GET"), row(7), "SET NX GET")
            equal(replies.ask("SET", 1000, row(1), "XX"), None, "SET XX")
            equal(replies.ask("GETSET", 7, row(8)), row(7), "GETSET")
            equal(replies.ask("GETDEL", 7), row(8), "GETDEL")
            equal(replies.ask("STRLEN", 8), size, "STRLEN")
            equal(replies.ask("DEL", *range(400)), 399, "DEL")
            replies.ask("RESIZE", 64)
            equal(replies.ask("MGET", *range(400, 500)), [row(i) for i in range(400, 500)], "RESIZE")
            equal(sorted(int(key) for key in replies.ask("SCAN", 0, "COUNT", 1000)[1]),
                  list(range(400, 500)), "SCAN")
            equal(replies.ask("FLUSHALL"), "OK", "FLUSHALL")
            equal(replies.ask("DBSIZE"), 0, "DBSIZE")
            equal(error_of(replies, "INCR", 1), "ERR the robin_hood engine has no INCR for rows: values are not integers; " + wire.COUNTERS, "INCR")
            equal(error_of(replies, "SET", 1, row(1) + b"x"),
                  f"ERR value must have exactly {size} bytes (--value-bytes)", "another size")


@case
def rows_by_sherwood_load():
    """sherwood-load stores the same rows by RESP and by frames, and finds one wrong byte"""
    for size in (5 * 4, 256, 4096):
        with Server(*ROWS, str(size)) as server, server.connect() as connection:
            def load(*words, rc=0, at=server.address()):
                return run(LOAD, "-a", at, "-n", "300", "--quiet", *words, rc=rc)
            replies = wire.Replies(connection)
            by_resp = ("--protocol", "resp", "--value-bytes", str(size), "-d", "16", "-c", "3")
            load(*by_resp, "-o", "set-get")
            equal(replies.ask("DBSIZE"), 300, "DBSIZE")
            load("-o", "get", "-f", "100")
            equal(replies.ask("FLUSHALL"), "OK", "FLUSHALL")
            load("-o", "set", "-f", "100")
            load(*by_resp, "-o", "get")
            load(*by_resp, "-o", "mget", "--mget", "7")
            key = replies.ask("RANDOMKEY")
            row = bytearray(replies.ask("GET", key))
            row[-1] ^= 1
            equal(replies.ask("SET", key, bytes(row)), "OK", "SET")
            for words in ((*by_resp, "-o", "get"), (*by_resp, "-o", "mget"), ("-o", "get", "-f", "100")):
                check(key.decode() in load(*words, rc=1), f"{words}: {key} is not named")
            check("exactly" in load(*by_resp, "--value-bytes", str(size - 4), "-o", "set", rc=3), "another size")
            check("a mix needs integers" in load(*by_resp, "--mix", "get=1,set=1", rc=2), "a mix")


@case
def rows_are_limited():
    """a command that would exceed rows-max is refused whole, and nothing is evicted"""
    with Server(*ROWS, "16", "--rows-max", "100") as server, server.replies() as replies:
        row = b"0123456789abcdef"
        for first in (0, 50):
            equal(replies.ask("MSET", *[w for i in range(first, first + 50) for w in (i, row)]), "OK", "MSET")
        equal(error_of(replies, "MSET", 3, b"f" * 16, 100, row),
              wire.FULL_ROWS, "one more")
        equal(replies.ask("MGET", 3, 100), [row, None], "nothing of it")
        equal(replies.ask("DEL", 5), 1, "DEL")
        equal(replies.ask("SET", 100, row), "OK", "its row is free")
        figures = server.metrics()
        equal([figures[f"sherwood_table_rows_{name}"] for name in ("mapped", "max")], [100, 100], "metrics")


@case
def rows_in_frames():
    """rows in frames: HELLO describes the row, and strings have their length"""
    for flags, told in ((("256",), (2, 0, 1, 256)), (("256", "--value-type", "f32"), (2, 4, 64, 256)),
                        (("60", "--value-type", "string"), (1, 1, 1, 64)),
                        (("64", "--value-type", "bf16"), (2, 6, 32, 64))):
        with Server(*ROWS, *flags) as server, server.connect() as connection:
            info = wire.call(connection, wire.HELLO).info
            equal((info[11], info.get(32, 0), info[33], info[3]), told, f"{flags}: greeting")
            connection.sendall(wire.cache_frame(wire.SUM, [1], [b"x" * told[3]], value_bytes=told[3]))
            reply = wire.read_frame(connection)
            equal((reply.status, reply.message), (
                wire.UNKNOWN_OPERATION, "the robin_hood engine has no SUM for rows: values are not integers; " + wire.INTEGERS), "SUM")


@case
def rows_refused():
    """the start refuses options that tables of rows do not support, and options that contradict each other"""
    for flags, words in (
            (("--value-bytes", "62"), "value-bytes 62 is not a multiple of 4: 64 would be"),
            (("--value-bytes", "12", "--value-type", "u64"), "not a multiple of the 8 bytes of a u64"),
            (("--value-bytes", "4096", "--value-type", "string"), "strings have at most 4092"),
            (("--value-type", "f32"), "value-type needs rows"),
            (("--rows-max", "5"), "rows-max needs rows"),
            (("--rows-in", "host"), "rows-in needs rows"),
            (("--engine", "cuckoo", "--value-bytes", "64"), "value-bytes is not an option of the cuckoo engine"),
            (("--engine", "cache", "--rows-max", "5"), "rows-max is not an option of the cache engine")):
        check(words in refusal(*flags), f"{flags}: {refusal(*flags)}")


if __name__ == "__main__":
    main()
