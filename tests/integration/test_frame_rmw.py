#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Read-modify-write frames, OR, XOR, AND, ANDNOT, CAS and SETRANGE, and GETRANGE: long ones, errors, rights, other clients.
test_matrix.py compares each, with repeated keys and in pipelines, with a model."""

import operator
import random

import wire
from harness import Server, at_once, case, check, drawn_seed, equal, main
from replication import replica_of
from wire import cache_frame as frame

SEED = drawn_seed()
CPU = ("--backend", "cpu", "--capacity", "64K", "--frame-ops-max", "0")
NAMES = {wire.OR: "OR", wire.XOR: "XOR", wire.AND: "AND", wire.ANDNOT: "ANDNOT", wire.CAS: "CAS",
         wire.SETRANGE: "SETRANGE", wire.GETRANGE: "GETRANGE"}


def word(number):
    return number.to_bytes(8, "little")


@case
def long_frames():
    """Frames of 40,000 keys, many of them repeated, are right, and another client is served meanwhile"""
    rng, count, model = random.Random(SEED), 40000, {}
    keys = [rng.randrange(count) for _ in range(count)]
    operands = [rng.getrandbits(64) for _ in keys]
    with Server(*CPU, "--loops", "2", "--capacity", "256K") as server, server.connect() as one, server.replies() as replies:
        for operation, change in ((wire.XOR, operator.xor), (wire.ANDNOT, lambda one, other: one & ~other)):
            one.sendall(wire.frame(operation, keys, operands, want_values=True))
            check(isinstance(replies.ask("INCR", count + 1), int), "another client is served")
            reply, wanted = wire.read_frame(one), []
            for key, operand in zip(keys, operands):
                wanted.append((model.get(key, 0), int(key in model)))
                model[key] = change(model.get(key, 0), operand)
            check((reply.values(), reply.found()) == tuple(map(list, zip(*wanted))), f"seed {SEED}: {NAMES[operation]}")
        check(wire.call(one, wire.GET, sorted(model), want_values=True).values() == [model[key] for key in sorted(model)], f"seed {SEED}")


@case
def none_is_lost():
    """CAS and SETRANGE by frames, RMW commands of RESP and INCRBY on several loops: no write is lost"""
    times, workers = 60, 4

    def add(server, number):
        with server.connect() as connection, server.connect() as other:
            replies, done = wire.Replies(other), 0
            while done < times:
                value, = wire.call(connection, wire.GET, [1], want_values=True).values()
                done += wire.exchange(connection, frame(wire.CAS, [1], [word(value), word(value + 1)])).hits
                replies.ask("INCRBY", 1, 1 << 32)
                replies.ask("OR", 2, 1 << number)
    with Server(*CPU, "--loops", "4") as server, server.replies() as replies:
        replies.ask("SET", 1, 0)
        at_once(add, [(server, number) for number in range(workers)])
        value = int(replies.ask("GET", 1))
        equal(value & 0xffffffff, times * workers, "increments by CAS")
        equal(replies.ask("GET", 2), str((1 << workers) - 1).encode(), "bits")
        check(server.metrics()['sherwood_frames_total{operation="CAS"}'] >= times * workers, "frames are counted")


@case
def what_is_refused():
    """Ranges outside a row, bit operations on other values, RMW on a cache and unknown fields are refused"""
    def refusals(options, value_bytes, *rows):
        with Server(*CPU, *options) as server, server.connect() as connection:
            for operation, header, status, message in rows:
                size = {wire.GETRANGE: 0, wire.CAS: 2 * value_bytes,
                        wire.SETRANGE: header.get("range_bytes", 0)}.get(operation, value_bytes)
                reply = wire.exchange(connection, frame(operation, [7], [bytes(size)], value_bytes=value_bytes, **header))
                equal((reply.status, reply.message), (status, message), (options, NAMES.get(operation, operation)))
            equal(wire.exchange(connection, frame(wire.GET, [7], value_bytes=value_bytes)).hits, 0, "nothing was changed")
    def part(size, at, whole):
        return (f"cannot read or write {size} byte{'s' * (size != 1)} from byte {at} on: values have {whole} bytes, "
                "and range_bytes must be at least 1")
    numbers = "bit operations need values that are integers, or rows of bytes, u32, u64 or i64 (--value-type)"
    refusals((), 8,
             (wire.GETRANGE, {"range_bytes": 1}, wire.BAD_REQUEST, "GETRANGE needs rows: start the server with --value-bytes"),
             (wire.SETRANGE, {"range_bytes": 1}, wire.BAD_REQUEST, "SETRANGE needs rows: start the server with --value-bytes"),
             (wire.OR, {"range_offset": 1}, wire.BAD_REQUEST, "only GETRANGE and SETRANGE have the fields range_offset and range_bytes: leave them out"),
             (wire.OR, {"scale": 1}, wire.BAD_REQUEST, "only ADD has the fields scale and operand_type: leave them out"))
    refusals(("--value-bytes", "64"), 64,
             *((operation, {"range_offset": at, "range_bytes": size}, wire.BAD_REQUEST, part(size, at, 64))
               for operation in (wire.GETRANGE, wire.SETRANGE) for at, size in ((0, 0), (0, 65), (1, 64), (2**32 - 1, 1))))
    refusals(("--value-bytes", "64", "--value-type", "f32"), 64,
             *((operation, {}, wire.BAD_REQUEST, numbers) for operation in (wire.OR, wire.XOR, wire.AND, wire.ANDNOT)))
    refusals(("--value-bytes", "64", "--value-type", "string"), 68, (wire.OR, {}, wire.BAD_REQUEST, numbers))
    why = ": of the operations that depend on a stored value it has only ADD; start the server with --engine robin_hood"
    refusals(("--engine", "cache", "--value-bytes", "64", "--value-format", "fixed"), 64,
             *((operation, {}, wire.UNKNOWN_OPERATION, f"the cache engine has no {NAMES[operation]}{why}")
               for operation in (wire.OR, wire.CAS, wire.SETRANGE)))
    with Server(*CPU, "--value-bytes", "4", "--value-type", "string") as server, server.connect() as connection:
        reply = wire.exchange(connection, frame(wire.CAS, [7, 8], [b"\4\0\0\0\0\0\0\0"] * 3 + [b"\5\0\0\0aaaa"]))
        equal(reply.message, "value 3 has a length of 5 bytes: at most 4; nothing was changed", "CAS")


@case
def parts_in_a_cache():
    """GETRANGE on a cache returns parts of present rows, and zeros for absent ones"""
    with Server(*CPU, "--engine", "cache", "--value-bytes", "64", "--value-format", "fixed") as server, \
            server.connect() as connection:
        row = bytes(range(64))
        equal(wire.exchange(connection, frame(wire.SET, [7], [row], value_bytes=64)).status, wire.OK, "SET")
        reply = wire.exchange(connection, frame(wire.GETRANGE, [7, 8, 7], value_bytes=64, want_values=True, range_offset=5, range_bytes=9))
        equal(reply.arrays(), {"values": [row[5:14], bytes(9), row[5:14]], "found": [1, 0, 1]}, "parts")


@case
def a_full_table():
    """A frame that has no room for one of its keys changes nothing"""
    with Server(*CPU, "--capacity", "64", "--max-load", "0.5") as server, server.connect() as connection, server.replies() as replies:
        replies.ask("SET", 1, 6)
        many = [1, *range(1000, 1064)]
        equal(wire.call(connection, wire.OR, many, [1] * 65).status, wire.OUT_OF_MEMORY, "OR")
        equal([replies.ask("GET", 1), replies.ask("DBSIZE")], [b"6", 1], "nothing was changed")
        equal([wire.call(connection, wire.AND, many, [3] * 65).hits, replies.ask("GET", 1)], [1, b"2"], "AND stores nothing")


@case
def what_others_see():
    """CAS marks a watched key only if it changes it; a replica refuses frames that change values"""
    row = bytes([1]) * 20
    with Server(*CPU, "--value-bytes", "20") as server, server.connect() as connection, server.replies() as replies, \
            replica_of(server.port, *CPU, "--value-bytes", "20") as replica, replica.connect() as other:
        for old, expected in ((row, None), (bytes(20), ["OK"])):
            replies.ask("SET", 50, row)
            replies.ask("WATCH", 50)
            equal(wire.exchange(connection, frame(wire.CAS, [50], [old, bytes(20)], value_bytes=20)).hits, int(old == row), "CAS")
            replies.ask("MULTI")
            replies.ask("SET", 51, row)
            equal(replies.ask("EXEC"), expected, "EXEC")
        equal(wire.exchange(other, frame(wire.OR, [1], [row], value_bytes=20)).status, wire.NOT_PRIMARY, "OR at a replica")


@case
def who_may():
    """Frames need the rights of the command of the same name, for each of their keys"""
    with Server(*CPU, "--value-bytes", "8") as server, server.connect() as connection, server.replies() as replies:
        equal(replies.ask("ACL", "SETUSER", "default", "resetkeys", "~1000-1999", "-setrange"),
              "OK", "SETUSER")
        part = {"range_offset": 1, "range_bytes": 1}
        for operation, keys, operands, header, status, message in (
                (wire.SETRANGE, [1000], [b"x"], part, wire.NO_PERMISSION,
                 "user default may not run SETRANGE: it lacks the command setrange"),
                (wire.OR, [1000, 7], [bytes(8)] * 2, {}, wire.NO_PERMISSION,
                 "a key is outside the key ranges of the user; nothing was changed"),
                (wire.GETRANGE, [7], [], part, wire.NO_PERMISSION,
                 "a key is outside the key ranges of the user; nothing was changed"),
                (wire.OR, [1000, 1999], [bytes(8)] * 2, {}, wire.OK, "")):
            reply = wire.exchange(connection, frame(operation, keys, operands, **header))
            equal((reply.status, reply.message), (status, message), NAMES[operation])


if __name__ == "__main__":
    main()
