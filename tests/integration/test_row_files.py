#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Rows on disk: an independent reader and sherwood-cli read the snapshots, and a start refuses unsuitable ones."""

import array
import signal
import struct

import harness
import wire
from data_directory import Directory, does_not_start
from harness import case, check, equal, main
from snapshot_file import read_snapshot

CLI = harness.BUILD / "sherwood-cli"
TYPES = {"bytes": 0, "string": 1, "u32": 2, "u64": 3, "f32": 4, "f16": 5, "bf16": 6, "i64": 7, "f64": 8}


def rows(size, *flags):
    return ("--backend", "cpu", "--capacity", "4096", "--frame-ops-max", "0", "--value-bytes", str(size), *flags)


def row(i, size):
    return struct.pack(f"<{size // 4}I", *((i * 2654435761 * (2 * w + 1)) % 2**32 for w in range(size // 4)))


def fill(replies, keys, size):
    words = [word for key in keys for word in (key, row(key, size))]
    for first in range(0, len(words), 200):
        equal(replies.ask("MSET", *words[first:first + 200]), "OK", "MSET")


def server_of(place, *flags, **how):
    return harness.Server("--data-dir", str(place), *flags, **how)


@case
def rows_are_saved():
    """SAVE, BGSAVE and SIGTERM: an independent reader of the format and the next start find every row"""
    for size, kind in ((4, "u32"), (60, "f32"), (256, "bf16"), (1028, "bytes"), (4096, "u64"), (24, "i64"), (40, "f64")):
        flags = rows(size, "--value-type", kind)
        pairs = {key: row(key, size) for key in (*range(600), 2**64 - 1)}
        with Directory() as place:
            with server_of(place, *flags, stop_rc=-signal.SIGKILL) as server, server.replies() as replies:
                fill(replies, pairs, size)
                equal(replies.ask("SAVE"), "OK", "SAVE")
                replies.ask("SET", 1, row(999, size))
                server.stop(signal.SIGKILL)
            (path,) = place.glob("snapshot-*")
            found, facts = read_snapshot(path)
            equal({key: value for key, (value, _) in found.items()}, pairs, f"{size}: the file")
            equal([facts[name] for name in ("value_bytes", "value_format", "value_type", "engine")],
                  [size, 2, TYPES[kind], 0], "header")
            with server_of(place, *flags, "--capacity", "64", "--max-capacity", "8192") as server, \
                    server.replies() as replies:
                equal(replies.ask("MGET", *pairs), list(pairs.values()), f"{size}: loaded")
                equal(replies.ask("DEL", *range(300)), 300, "DEL")
                fill(replies, range(10_000, 10_100), size)
            with server_of(place, *flags) as server, server.replies() as replies:
                equal(replies.ask("DBSIZE"), 401, "SIGTERM saves")
                equal(replies.ask("MGET", 0, 300, 10_000, 10_099),
                      [None, row(300, size), row(10_000, size), row(10_099, size)], "loaded again")


@case
def rows_of_another_kind_are_refused():
    """a daemon with other value-bytes, value-type or engine refuses the file with a reason"""
    with Directory() as place:
        with server_of(place, *rows(60, "--value-type", "f32")) as server, server.connect() as connection:
            fill(wire.Replies(connection), range(10), 60)
        for flags, words in (
                (rows(64, "--value-type", "f32"),
                 "fixed values of 60 bytes, which do not fit this table of keys of 8 and fixed values of 64"),
                (rows(60, "--value-type", "u32"),
                 "has rows of f32, and this table rows of u32: start with value-type f32"),
                (rows(64, "--value-type", "f64"), "has rows of f32, and this table rows of f64"),
                (rows(56, "--value-type", "i64"), "has rows of f32, and this table rows of i64"),
                (rows(56, "--value-type", "string"), "do not fit this table"),
                (("--backend", "cpu"), "do not fit this table of keys of 8 and integer values of 8"),
                (("--engine", "cuckoo"), "do not fit this table"),
                (("--engine", "cuckoo"), "start with the --engine and the --value-bytes it was written with"),
                (rows(60, "--value-type", "f32", "--capacity", "8", "--max-capacity", "0"), "more than the table takes: it needs --capacity")):
            out = does_not_start("--data-dir", str(place), *flags)
            check(words in out, out)
        with server_of(place, "--engine", "cache", "--value-bytes", "60", "--value-format", "fixed") as server, \
                server.connect() as connection:
            equal(wire.Replies(connection).ask("GET", 7), row(7, 60), "a cache of bytes as wide takes them")


@case
def one_instant_of_rows():
    """BGSAVE during writes: each snapshot has whole rows of one instant"""
    size, keys = 256, range(500)
    with Directory() as place:
        with server_of(place, *rows(size)) as server, server.connect() as connection, server.connect() as other:
            replies, saver = wire.Replies(connection), wire.Replies(other)
            for value in range(1, 40):
                words = [word for key in keys for word in (key, struct.pack("<I", value) * (size // 4))]
                connection.sendall(wire.command("MSET", *words))
                if value % 8 == 0:
                    equal(saver.ask("SAVE"), "OK", "SAVE")
                equal(replies.read(), "OK", "MSET")
        files = sorted(place.glob("snapshot-*"))
        check(len(files) >= 2, files)
        for path in files:
            found, _ = read_snapshot(path)
            values = {value for value, _ in found.values()}
            equal(len(values), 1, "one instant")
            equal(len(set(struct.unpack(f"<{size // 4}I", values.pop()))), 1, "whole rows")


@case
def cli_reads_rows():
    """sherwood-cli snapshot on rows of every type: info, verify, export as CSV and columns, load"""
    numbers = {"u32": "I", "u64": "Q", "i64": "q", "f64": "d", "f32": "f", "f16": "e", "bf16": None, "bytes": None}
    for kind, code in numbers.items():
        with Directory() as place:
            with server_of(place, *rows(16, "--value-type", kind)) as server, server.connect() as connection:
                fill(wire.Replies(connection), range(100), 16)
            (path,) = place.glob("snapshot-*")
            info = harness.run(CLI, "snapshot", "info", path)
            check("value_bytes:16\n" in info and (kind == "bytes" or f"value_type:{kind}\n" in info), info)
            check("is whole: 100 keys" in harness.run(CLI, "-q", "snapshot", "verify", path), "verify")
            lines = harness.run(CLI, "-q", "snapshot", "export", path, "-").split()
            equal(len(lines), 100, "CSV")
            for line in lines:
                key, *words = line.split(",")
                want = row(int(key), 16)
                if kind == "bytes":
                    equal(words, [want.hex()], "hex")
                elif kind == "bf16":
                    near = [struct.unpack("<I", struct.pack("<f", float(word)))[0] + 0x8000 for word in words]
                    halves = [struct.pack("<H", bits >> 16 & 0xffff) for bits in near]
                    same = [a == b or float(w) != float(w) for a, b, w in
                            zip(halves, (want[i:i + 2] for i in range(0, 16, 2)), words)]
                    check(all(same) and len(same) == 8, line)
                else:
                    got = [float(word) if code in "fed" else int(word) for word in words]
                    equal([repr(g) for g in struct.unpack(f"<{len(got)}{code}", struct.pack(f"<{len(got)}{code}", *got))],
                          [repr(w) for w in struct.unpack(f"<{len(got)}{code}", want)], "numbers")
            harness.run(CLI, "-q", "snapshot", "export", path, place / "columns")
            keys = array.array("Q", (place / "columns" / "keys.u64").read_bytes())
            values = (place / "columns" / f"values.{kind}").read_bytes()
            equal(values, b"".join(row(key, 16) for key in keys), "columns")
            with harness.Server(*rows(16, "--value-type", kind)) as server, server.connect() as connection:
                harness.run(CLI, "-p", server.port, "-q", "snapshot", "load", path)
                equal(wire.Replies(connection).ask("MGET", *range(101)), [row(i, 16) for i in range(100)] + [None], "load")
            other = "f32" if kind == "u32" else "u32"
            with harness.Server(*rows(16, "--value-type", other)) as server:
                out = harness.run(CLI, "-p", server.port, "-q", "snapshot", "load", path, rc=0 if kind == "bytes" else 1)
                check(kind == "bytes" or f"has rows of {kind}, but the server has rows of {other}" in out, out)


@case
def cli_takes_long_rows():
    """sherwood-cli gets and sets the largest rows"""
    text = "x" * 4096
    with harness.Server(*rows(4096)) as server:
        equal(harness.run(CLI, "-p", server.port, "SET", "5", text).strip(), "OK", "SET")
        equal(harness.run(CLI, "-p", server.port, "GET", "5").strip().strip('"'), text, "GET")


if __name__ == "__main__":
    main()
