#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Strings: no interface, log or snapshot keeps the bytes that a client sends behind a string, for rows and for a cache."""

import contextlib
import os
import struct
import tempfile
import threading

import wire
from harness import case, check, equal, eventually, main
from people import session
from ring import KEYS, OPERANDS, VALUES, Ring, by_socket, place, serving

VALUE = 68  # bytes, 4 of them the length
ROWS = ("--value-bytes", "64", "--value-type", "string")
CACHE = ("--engine", "cache", "--value-bytes", "64", "--value-format", "string")
SECRET = 0xE7
TEXTS = [b"", b"a", b"abc", b"b" * 63, b"c" * 64]


def strings(texts, tail):
    return b"".join(struct.pack("<I", len(text)) + text.ljust(64, bytes([tail])) for text in texts)


def digest(server):
    return session(server).ask("DIGEST")[1:]


def padded(data):
    return data + b"\0" * (-len(data) % 64)


def request(operation, keys, operands, **header):
    header = wire.header_of(operation, count=len(keys), key_bytes=8, value_bytes=VALUE, want_values=True, **header)
    return wire.envelope(header, padded(struct.pack(f"<{len(keys)}Q", *keys)) + padded(operands))


def writes(flags, tail):
    """Yields (operation, keys, operands, fields) for each kind of frame that contains strings."""
    keys, other = range(5), [text[::-1] for text in reversed(TEXTS)]
    yield wire.SET, keys, strings(TEXTS, tail), {}
    yield wire.SET_ABSENT, range(3, 8), strings(TEXTS, tail), {}
    yield wire.SET_PRESENT, range(6, 11), strings(other, tail), {}
    if flags is CACHE:
        yield wire.FIND_OR_INSERT, range(10, 15), strings(TEXTS, tail), {}
    else:
        pairs = b"".join(strings([old], tail) + strings([new], tail) for old, new in zip(TEXTS, other))
        yield wire.CAS, keys, pairs, {}
        yield wire.APPEND, range(4, 9), strings([b"x"] * 5, tail), {}
        yield wire.INCRBY, range(20, 25), strings([b"7"] * 5, tail), {}
        yield wire.INCRBYFLOAT, range(20, 25), strings([b"-1.5"] * 5, tail), {}
        yield wire.SET, keys, strings(TEXTS, tail), {"times": wire.IN, "time_ms": 10**9}
        yield wire.SET, keys, strings(other, tail), {"times": wire.KEEP}


def check_clean(reply, what):
    equal(reply.status, wire.OK, f"{what}: {reply.message}")
    check(bytes([SECRET]) * 2 not in reply.body, f"{what}: {reply.body!r}")


def read_all(connection):
    connection.sendall(wire.envelope(wire.header_of(wire.GET, count=20, key_bytes=8, value_bytes=VALUE, want_values=True),
                                     padded(struct.pack("<20Q", *range(20)))))
    reply = wire.read_frame(connection)
    check_clean(reply, "GET")
    return reply.body


def frames_and_rings(flags):
    with contextlib.ExitStack() as stack:
        clean, frames, rings = [stack.enter_context(serving(*flags)) for _ in range(3)]
        zeros, dirty, reader = [stack.enter_context(by_socket(server)) for server in (clean, frames, rings)]
        own = stack.enter_context(Ring(rings))
        for without, (operation, keys, operands, fields) in zip(writes(flags, 0), writes(flags, SECRET)):
            what = f"operation {operation} {fields}"
            wanted = wire.exchange(zeros, request(without[0], keys, without[2], **fields))
            check_clean(wanted, what)
            reply = wire.exchange(dirty, request(operation, keys, operands, **fields))
            check_clean(reply, what)
            equal(reply.body, wanted.body, what)
            own.put(0, struct.pack(f"<{len(keys)}Q", *keys))
            own.put(4096, operands)
            if fields or operation in (wire.CAS, wire.APPEND, wire.INCRBY, wire.INCRBYFLOAT):  # no records of a ring
                check_clean(wire.exchange(reader, request(operation, keys, operands, **fields)), what)
            else:
                done = own.run(operation, len(keys), {KEYS: place(0, 0), OPERANDS: place(0, 4096), VALUES: place(0, 8192)})
                equal(done.status, wire.OK, done.message)
            equal(read_all(dirty), read_all(zeros), what)
            equal(read_all(reader), read_all(zeros), f"{what} by a ring")
        if flags is ROWS:  # without times, which differ
            for server in (clean, frames, rings):
                for key in range(20):
                    session(server).ask("PERSIST", str(key))
        sums = [digest(server) for server in (clean, frames, rings)]
        equal(sums, [sums[0]] * 3, "DIGEST")


@case
def rows():
    """frames and ring records store zeros behind strings of rows, so that equal strings have equal digests"""
    frames_and_rings(ROWS)


@case
def a_cache():
    """frames and ring records store zeros behind strings of a cache"""
    frames_and_rings(CACHE)


@case
def memory_that_changes():
    """a client rewrites its memory during a SET: it is refused, or a valid string with zeros behind it is stored"""
    with serving(*ROWS) as server, by_socket(server) as reader, Ring(server) as own:
        over = threading.Event()

        def rewrite():
            while not over.is_set():
                own.put(4096, strings([b"x"] * 100, SECRET))
                own.put(4096, strings([b"y" * 64] * 100, SECRET))
                own.put(4096, b"\xff" * VALUE * 100)
        own.put(0, struct.pack("<100Q", *range(100)))
        thread = threading.Thread(target=rewrite)
        thread.start()
        try:
            done = [own.run(wire.SET, 100, {KEYS: place(0, 0), OPERANDS: place(0, 4096)}).status for _ in range(200)]
        finally:
            over.set()
            thread.join()
        check(set(done) <= {wire.OK, wire.BAD_REQUEST} and wire.OK in done, set(done))
        reader.sendall(wire.envelope(wire.header_of(wire.GET, count=100, key_bytes=8, value_bytes=VALUE, want_values=True),
                                     padded(struct.pack("<100Q", *range(100)))))
        body = wire.read_frame(reader).body
        for i in range(100):
            length, = struct.unpack_from("<I", body, i * VALUE)
            check(length <= 64, f"length {length}")
            equal(body[i * VALUE + 4 + length:(i + 1) * VALUE], b"\0" * (64 - length), f"behind string {i}")


@case
def log_and_snapshot():
    """bytes that a client sent behind strings are neither in the log nor in a snapshot"""
    with tempfile.TemporaryDirectory(prefix="sherwood-") as directory:
        flags = (*ROWS, "--data-dir", directory, "--appendonly", "yes", "--appendfsync", "always")
        with serving(*flags) as server, by_socket(server) as frames:
            for operation, keys, operands, fields in writes(ROWS, SECRET):
                check_clean(wire.exchange(frames, request(operation, keys, operands, **fields)), operation)
            before = digest(server)
            equal(session(server).ask("SAVE"), "OK", "SAVE")
            check_clean(wire.exchange(frames, request(wire.SET, range(5), strings(TEXTS, SECRET))), "SET")
            last = digest(server)
            check(before != last, "what is in the log")
            eventually(lambda: not os.path.exists(os.path.join(directory, "new-log")), "the segment of the log has its name")
            for name in os.listdir(directory):
                with open(os.path.join(directory, name), "rb") as file:
                    check(bytes([SECRET]) * 8 not in file.read(), name)
        with serving(*flags) as server:
            equal(digest(server), last, "after a restart")


if __name__ == "__main__":
    main()
