#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Rows by sherwood-cli: lists of numbers as values, and CSV dumps that load back bit by bit."""

import os
import pathlib
import random
import struct
import tempfile

import harness
from harness import case, check, equal, main

CLI = harness.BUILD / "sherwood-cli"
FORMATS = {"u32": ("I", 32), "u64": ("Q", 64), "i64": ("Q", 64), "f64": ("Q", 64), "f32": ("I", 32), "f16": ("H", 16), "bf16": ("H", 16)}
SEED = int(os.environ.get("SW_TEST_SEED", random.randrange(2**32)))


def start(size, kind):
    return harness.Server("--backend", "cpu", "--capacity", "4096", "--frame-ops-max", "0",
                          "--value-bytes", str(size), "--value-type", kind)


def is_nan(kind, bits):
    masks = {"f32": (0x7fffffff, 0x7f800000), "f16": (0x7fff, 0x7c00), "bf16": (0x7fff, 0x7f80), "f64": (2**63 - 1, 0x7ff << 52)}
    return kind in masks and bits & masks[kind][0] > masks[kind][1]


@case
def every_bit_comes_back():
    """a CSV dump and a load restore rows of each type bit by bit, except the payloads of NaN"""
    print(f"# SW_TEST_SEED={SEED}")
    draw = random.Random(SEED)
    for kind, (letter, width) in FORMATS.items():
        size, numbers = 4096, 4096 * 8 // width
        edges = [0, 1, 2**width - 1, 2**(width - 1), 2**(width - 1) - 1, 0x7f800000 % 2**width, 0x7c00, 0x7bff,
                 0x0400, 0x03ff, 0x8001, 0xfc00, (0x7ff << 52) % 2**width, 0x7f7f, 0xff80, 0x80, 0x7f]
        with start(size, kind) as server, server.connect() as connection:
            def cli(*words, rc=0, **options):
                return harness.run(CLI, "-q", "-p", server.port, *words, rc=rc, **options)
            rows = {}
            for key in (0, 7, 2**64 - 1):
                bits = [draw.choice(edges) if draw.random() < .1 else draw.getrandbits(width) for _ in range(numbers)]
                bits = [0 if is_nan(kind, b) else b for b in bits]
                rows[key] = struct.pack(f"<{numbers}{letter}", *bits)
                equal(ask(connection, "SET", key, rows[key]), b"OK", kind)
            path = server.directory / "rows.csv"
            cli("dump", path)
            equal(len(path.read_text().splitlines()), len(rows), kind)
            equal(path.read_text().splitlines()[0].count(","), numbers, kind)
            cli("FLUSHALL")
            cli("load", path)
            for key, row in rows.items():
                got = ask(connection, "GET", key)
                differ = [i for i in range(len(row)) if got[i] != row[i]]
                equal(differ[:5], [], f"{kind}, key {key}, seed {SEED}")


def ask(connection, *words):
    """Returns the reply to one command: a bulk string or a status, as bytes."""
    connection.sendall(b"".join([b"*%d\r\n" % len(words)] + [
        b"$%d\r\n%s\r\n" % (len(raw), raw)
        for raw in (word if isinstance(word, bytes) else str(word).encode() for word in words)]))
    data = b""
    while b"\r\n" not in data:
        data += connection.recv(65536)
    head, rest = data.split(b"\r\n", 1)
    if head[:1] != b"$" or head == b"$-1":
        return head[1:]
    while len(rest) < int(head[1:]) + 2:
        rest += connection.recv(65536)
    return rest[:-2]


@case
def bytes_are_hex():
    """a CSV dump and a load restore rows of bytes, and strings of every length"""
    for kind, values in (("bytes", [b"\0" * 8, b"abc,\"\n\r\xff"]), ("string", [b"", b"x", b"a,b\0"])):
        with start(8, kind) as server, server.connect() as connection:
            for key, value in enumerate(values):
                equal(ask(connection, "SET", key, value), b"OK", kind)
            path = server.directory / "rows.csv"
            harness.run(CLI, "-q", "-p", server.port, "dump", path)
            equal(sorted(path.read_text().splitlines()),
                  [f"{key},{value.hex()}" for key, value in enumerate(values)], kind)
            harness.run(CLI, "-q", "-p", server.port, "FLUSHALL")
            path.write_text("id,row\n" + path.read_text().upper())
            harness.run(CLI, "-q", "-p", server.port, "load", path)
            for key, value in enumerate(values):
                equal(ask(connection, "GET", key), value, kind)
            wrong = f"stdin:1: the value must be {'at most ' * (kind == 'string')}8 bytes in hex, two digits for each"
            for line in ("5,abc", "5,zzzzzzzzzzzzzzzz", "5," + "00" * 9):
                text = harness.run(CLI, "-q", "-p", server.port, "load", "--format", "csv", "-", stdin=line + "\n", rc=1)
                check(wrong in text, f"{line}: {text}")


@case
def keys_alone():
    """dump writes the keys of a table without values, one a line, and load takes such lines, also with a comma or a header"""
    with tempfile.TemporaryDirectory() as folder, \
            harness.Server("--backend", "cpu", "--value-type", "none", "--data-dir", folder) as server:
        def cli(*words, rc=0, **options):
            return harness.run(CLI, "-q", "-p", server.port, *words, rc=rc, **options).strip()
        equal(cli("INSERT", "7", "8", "7").split(), ["1", "1", "0"], "INSERT")
        equal(sorted(cli("dump", "--format", "csv", "-").split()), ["7", "8"], "dump")
        cli("load", "--format", "csv", "-", stdin='hash\n9\n "10"\n11,\n')
        equal(sorted(map(int, cli("dump", "--format", "csv", "-").split())), [7, 8, 9, 10, 11], "load")
        for line in ("12,1", "x"):
            check("stdin:2: " in (text := cli("load", "--format", "csv", "-", stdin=f"12\n{line}\n", rc=1)), text)
        equal(cli("DBSIZE"), "5", "a bad line: nothing of its batch is stored")
        equal(server.ask("SAVE"), "OK", "SAVE")
        snapshot = next(str(path) for path in pathlib.Path(folder).glob("snapshot-*"))
        harness.run(CLI, "-q", "snapshot", "export", snapshot, folder + "/columns")
        columns = {path.name: path.read_bytes() for path in pathlib.Path(folder, "columns").iterdir()}
        equal((list(columns), len(columns["keys.u64"])), (["keys.u64"], 40), "a snapshot has a column of keys alone")


@case
def lists_of_numbers():
    """SET and GET take and print a row as a list of numbers; a malformed list or line is refused"""
    with start(12, "f32") as server:
        def cli(*words, rc=0, **options):
            return harness.run(CLI, "-q", "-p", server.port, *words, rc=rc, **options).strip()
        equal(cli("SET", "1", "1,2.5,-3e-2"), "OK", "SET")
        equal(cli("--raw", "GET", "1"), "1,2.5,-0.0299999993", "GET")
        equal(cli("--no-raw", "MGET", "1", "2"), '1) "1,2.5,-0.0299999993"\n2) (nil)', "MGET")
        for word, wrong in (("1,2", "2 numbers, but must have 3"), ("1,2,3,4", "4 numbers"), ("", "1 number,"),
                            ("1,2,x", "not a number of its type"), ("1,2,", "not a number of its type"),
                            ("1,2,3x", "not a number of its type"), ("1,2," + "3" * 70, "not a number of its type")):
            text = cli("SET", "1", word, rc=1)
            check(wrong in text and "3 of f32, separated by commas" in text, f"{word}: {text}")
        for line, wrong in (("5,1,2", "2 numbers, but must have 3"), ("5,1,2,3,4", "4 numbers"), ("x,1,2,3", "the key"),
                            ("5,1,,3", "not a number of its type"), ("5", "not key,value"),
                            ("5," + " " * 70000 + "1,2,3", "too long")):
            text = cli("load", "--format", "csv", "-", stdin=f"4,1,2,3\n{line}\n", rc=1)
            check("stdin:2: " in text and wrong in text, f"{line[:20]}: {text}")
        equal(cli("--no-raw", "GET", "4"), "(nil)", "a bad line: nothing of its batch is stored")
        equal(cli("load", "--format", "csv", "-", stdin=" 4 , 1 , 2,nan \n"), "", "blanks")
        equal(cli("--raw", "GET", "4"), "1,2,nan", "GET")


@case
def sums_and_parts():
    """ADD, GETRANGE and SETRANGE take numbers, hex and text; wrong operands are refused and change nothing"""
    def talks(server, *lines):
        for words, wanted in lines:
            rc = 0 if not wanted.startswith("(error)") else 1
            text = harness.run(CLI, "-q", "--no-raw", "-p", server.port, *words.split(), rc=rc).strip()
            check(text == wanted or (rc == 1 and wanted.removeprefix("(error) ") in text), f"{words}: {text}, not {wanted}")
    with start(16, "f32") as server:
        talks(server, ("ADD 1 1,2,3,4", "(integer) 0"), ("ADD 1 1,1,1,1 SCALE 0.5", "(integer) 1"),
              ("GET 1", '"1.5,2.5,3.5,4.5"'), ("ADD 2 1,1,1,1 XX scale -1", "(integer) 0"), ("EXISTS 2", "(integer) 0"),
              ("GETRANGE 1 4 11", '"2.5,3.5"'), ("GETRANGE 1 -4 -1", '"4.5"'), ("GETRANGE 1 12 99", '"4.5"'),
              ("GETRANGE 1 2 3 HEX", '"c03f"'), ("GETRANGE 9 0 -1", '""'), ("GETRANGE 1 8 3", '""'),
              ("SETRANGE 1 8 7,-8", "(integer) 1"), ("SETRANGE 3 4 0000803f hex", "(integer) 0"),
              ("MGET 1 3", '1) "1.5,2.5,7,-8"\n2) "0,1,0,0"'),
              ("GETRANGE 1 1 4", "(error) whole numbers of 4 bytes"), ("GETRANGE 1 0 x", "(error) not an integer"),
              ("GETRANGE 1 0 1 OCT", "(error) syntax error"), ("SETRANGE 1 12 1,2", "(error) within the 16"),
              ("SETRANGE 1 4 0g HEX", "(error) in hex"), ("SETRANGE 1 4 1,x", "(error) not a number of its type"),
              ("SETRANGE 1 -4 1", "(error) offset"), ("ADD 1 1,2,3", "(error) the row has 3 numbers, but must have 4"),
              ("ADD 1 1,2,3,4 SCALE x", "(error) SCALE must be a finite"), ("ADD 1 1,2,3,4 NX", "(error) syntax error"),
              ("GET 1", '"1.5,2.5,7,-8"'))
    with start(4, "f16") as server:
        talks(server, ("ADD 1 1,2 SCALE 0.25", "(integer) 0"), ("ADD 1 1,2 SCALE -1", "(integer) 1"), ("GET 1", '"-0.75,-1.5"'))
    with start(12, "string") as server:
        talks(server, ("SETRANGE 1 2 abc", "(integer) 0"), ("GET 1", '"\\x00\\x00abc"'), ("GETRANGE 1 -2 -1", '"bc"'),
              ("GETRANGE 1 1 99 HEX", '"00616263"'), ("SETRANGE 1 11 ab", "(error) within the 12"),
              ("ADD 1 1", "(error) ADD needs rows of numbers"))
    with harness.Server("--backend", "cpu") as server:
        talks(server, ("GETRANGE 1 0 1", "(error) needs rows"), ("SETRANGE 1 0 1", "(error) needs rows"),
              ("ADD 1 1", "(error) needs rows of numbers"))


if __name__ == "__main__":
    main()
