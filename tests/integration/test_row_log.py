#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Rows in the write-ahead log: a torn end, and rows of another shape. test_plans.py kills daemons of rows."""

import struct

import wire
from data_directory import Directory, does_not_start
from harness import BUILD, Server, case, check, equal, main, run

CLI = str(BUILD / "sherwood-cli")


def daemon(path, size, level, *flags, **how):
    log = ("--appendonly", "yes", "--appendfsync", level, "--log-segment-bytes", "1M") if level else ()
    return Server("--data-dir", str(path), "--backend", "cpu", "--capacity", "4096", "--frame-ops-max", "64",
                  "--round-ops-max", "256", "--value-type", "f32", "--value-bytes", str(size), *log, *flags, **how)


def row_of(n):
    return struct.pack("<257f", *(n + w / 1024 for w in range(257)))


@case
def a_torn_row_is_cut():
    """a write that is cut inside a row is dropped, and earlier writes stay; sherwood-cli reads the log"""
    size, keys = 1028, list(range(6))
    with Directory() as path:
        with daemon(path, size, "always") as server, server.connect() as connection, server.replies() as replies:
            def write(operation, n):
                rows = [row_of(n + i) for i in range(3)]
                equal(wire.exchange(connection, wire.cache_frame(operation, [(n + i) % 6 for i in range(3)], rows, value_bytes=size)).status,
                      wire.OK, "a write")
            for n in range(5):
                write(wire.SET, n)
            write(wire.ADD_F32, 1)
            wanted = replies.ask("MGET", *keys)
            write(wire.SET, 7)
            server.end_by_kill()
        segment = path / "log-0000000000000001"
        whole = segment.read_bytes()
        end = max(i for i in range(4096, len(whole), 64) if whole[i:i + 4] == b"SWR1")
        lines = run(CLI, "log", "export", str(path)).splitlines()
        last = [line.split(",") for line in lines if line.startswith("7,")]
        equal([line[:3] for line in last], [["7", "SET", str(1 + i)] for i in range(3)], "exported")
        equal(struct.pack("<257f", *map(float, last[0][3:])), row_of(7), "its row")
        check(any(line.split(",")[1] == "ADD_F32" for line in lines[1:]), "sums are exported")
        for at in (end + 64 + 8, end + 64 + 64, end + 64 + 64 + size + 100, end + 64 + 64 + 3 * size - 4):
            cut = whole[:at] + bytes(len(whole) - at)
            check(cut != whole, f"something is behind byte {at}")
            for name in path.iterdir():
                name.unlink()
            segment.write_bytes(cut)
            with daemon(path, size, None, "--save", "") as server, server.connect() as connection:
                equal(wire.Replies(connection).ask("MGET", *keys), wanted, f"cut at {at - end} of the record")
                server.end_by_kill()


@case
def another_shape_is_refused():
    """a log of rows is not replayed into rows of another size or type, or into integers"""
    with Directory() as path:
        with daemon(path, 60, "no") as server, server.connect() as connection:
            equal(wire.exchange(connection, wire.cache_frame(wire.SET, [1], [bytes(60)], value_bytes=60)).status, wire.OK, "a write")
            server.end_by_kill()
        for flags in (("--value-bytes", "64"), ("--value-bytes", "60", "--value-type", "u32"), ()):
            out = does_not_start("--data-dir", str(path), *flags)
            check("log-0000000000000001 has keys or values of another width, format, type or engine than the server: start with the --engine, " in out, out)


if __name__ == "__main__":
    main()
