#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Frames that set and read expiry times: the clock, errors, --default-ttl, sums of rows, rights. test_matrix.py compares such
frames, and commands on the same keys, with a model, a replica and the log."""

import struct
import time

import wire
from data_directory import Directory, durable
from harness import Server, case, check, equal, eventually, main
from matrix import FAR, MOST, now_ms

CPU = ("--backend", "cpu", "--capacity", "64K", "--frame-ops-max", "0")


def asked(connection, *frame, **header):
    return wire.call(connection, *frame, **header)


@case
def by_the_clock():
    """relative times start when the server executes the frame; an expired key is absent and counted"""
    with Server(*CPU) as server, server.connect() as connection, server.replies() as replies:
        def before_its_time():
            """Returns the replies while the keys exist; none if this program was delayed for longer than their
            lifetime."""
            equal(replies.ask("FLUSHALL"), "OK", "FLUSHALL")
            expired, began = server.metrics()["sherwood_expired_total"], now_ms()
            got = (asked(connection, wire.SET, (1, 2, 3), (5, 6, 7), times=wire.IN, each_ms=(300, 10**6, 300)),
                   asked(connection, wire.TTL, (1, 2, 4), want_values=True),
                   asked(connection, wire.EXPIRE, (3,), want_values=True, times=wire.IN, time_ms=10**7))
            return (expired, began, *got) if now_ms() < began + 300 else None
        expired, began, stored, got, taken = eventually(before_its_time, "three frames within 0.3 s")
        equal(stored.hits, 0, "SET")
        equal([got.width, got.has_values, got.found()], [8, True, [1, 1, 0]], "TTL")
        at = got.values()
        check(began + 300 <= at[0] <= now_ms() + 300 and at[1] - at[0] == 10**6 - 300 and at[2] == 0, at)
        equal(taken.values(), [7], "GETEX")
        time.sleep(max(0, at[0] - now_ms()) / 1000 + .01)
        got = asked(connection, wire.GET, (1, 2, 3), want_values=True)
        equal([got.values(), got.found(), got.hits], [[0, 6, 7], [0, 1, 1], 2], "one is gone")
        eventually(lambda: replies.ask("DBSIZE") == 2, "it is swept", 20)
        equal(server.metrics()["sherwood_expired_total"] - expired, 1, "expired")
        equal(asked(connection, wire.EXPIRE, (2,), times=wire.AT, time_ms=1).hits, 1, "over already")
        equal(replies.ask("EXISTS", 2), 0, "so it is removed")


@case
def what_is_refused():
    """contradictory fields, operations without times and wrong lengths get one error each, without effect"""
    with Server(*CPU) as server, server.connect() as connection, server.replies() as replies:
        equal(replies.ask("SET", 1, 5), "OK", "SET")
        rows = ((wire.SET, {"times": 4, "time_ms": 5}, "times must be UNSAID, AT, IN or KEEP"), (wire.SET, {"time_ms": 5}, "need times AT or IN"),
                (wire.SET, {"times": wire.KEEP, "time_ms": 5}, "need times AT or IN"), (wire.SET, {"times": wire.AT}, "an expiry time must be from 1"),
                (wire.SET, {"times": wire.IN, "time_ms": 2**63}, "an expiry time must be from 1"), (wire.SET_ABSENT, {"times": wire.KEEP}, "only SET and SET_PRESENT have times KEEP"),
                (wire.SET, {"times": wire.AT, "time_ms": 5, "each_ms": (5,)}, "one for each"), (wire.EXPIRE, {}, "EXPIRE needs an expiry time"),
                (wire.EXPIRE, {"times": wire.KEEP}, "EXPIRE needs an expiry time"), (wire.DECREMENT, {"times": wire.IN, "time_ms": 5}, "only EXPIRE and operations that store values"),
                (wire.SET, {"times": wire.AT, "has_times": True}, "body length contradicts"), (wire.GET, {"times": wire.AT, "time_ms": 5}, "only EXPIRE and operations that store values"),
                (wire.SET, {"times": wire.AT, "each_ms": (5,) * 9}, "body length contradicts"), (wire.OR, {"times": wire.IN, "time_ms": 5}, "only EXPIRE and operations that store values"),
                (wire.TTL, {"times": wire.AT, "time_ms": 5}, "only EXPIRE and operations that store values"), (wire.PERSIST, {"times": wire.AT, "time_ms": 5}, "only EXPIRE and operations that store values"))
        for operation, header, sentence in rows:
            values = None if operation in (wire.EXPIRE, wire.GET, wire.TTL, wire.PERSIST) else (9,)
            reply = asked(connection, operation, (1,), values, **header)
            check(reply.status == wire.BAD_REQUEST and sentence in reply.message, f"{operation} {header}: {reply.message}")
            equal([replies.ask("GET", 1), replies.ask("TTL", 1)], [b"5", -1], "as it was")
        for times, bad in ((wire.AT, 0), (wire.AT, 2**63), (wire.IN, 2**64 - 1), (wire.IN, MOST), (wire.IN, MOST - 1000)):
            for operation, values in ((wire.SET, (9,) * 3), (wire.SET_ABSENT, (9,) * 3), (wire.EXPIRE, None)):
                for how in ({"time_ms": bad}, {"each_ms": (1000, bad, 1000)}):
                    reply = asked(connection, operation, (2, 1, 3), values, times=times, **how)
                    check(reply.status == wire.BAD_REQUEST and "2^63 - 1" in reply.message, f"{operation} {how}: {reply.message}")
                    equal((reply.body, replies.ask("DBSIZE"), replies.ask("TTL", 1)), (b"", 1, -1), "nothing was changed")
        equal(asked(connection, wire.PERSIST, (1, 2)).hits, 0, "none expires")
        equal(asked(connection, wire.SET, (1,), (6,), times=wire.KEEP).hits, 1, "KEEP of none")
        equal(asked(connection, wire.HELLO).info.get(42), 1, "HELLO")
    for flags, sentence in ((("--engine", "cuckoo"), "the cuckoo engine has no"), (("--engine", "cache", "--value-format", "fixed", "--value-bytes", "8"), "the cache engine has no")):
        with Server(*CPU, *flags) as server, server.connect() as connection:
            for operation in (wire.TTL, wire.PERSIST, wire.EXPIRE_LATER):
                reply = asked(connection, operation, (1,))
                check(reply.status == wire.UNKNOWN_OPERATION and sentence in reply.message, f"{flags}: {reply.message}")
            reply = asked(connection, wire.SET, (1,), (9,), times=wire.IN, time_ms=5)
            check(reply.status == wire.BAD_REQUEST and sentence in reply.message, f"{flags}: {reply.message}")
            equal(asked(connection, wire.HELLO).info.get(42, 0), 0, "HELLO")


@case
def of_defaults():
    """--default-ttl applies to frames without a time; KEEP affects only present keys; PERSIST and EXPIRE ignore it"""
    with Server(*CPU, "--default-ttl", "100000") as server, server.connect() as connection, server.replies() as replies:
        asked(connection, wire.SET, (1, 2), (5, 5))
        asked(connection, wire.SET, (3,), (5,), times=wire.AT, time_ms=FAR)
        check(0 < replies.ask("TTL", 1) <= 100000, "the default")
        equal(replies.ask("PEXPIRETIME", 3), FAR, "that of the frame")
        reply = asked(connection, wire.SET, (3, 9, 3, 9), (6, 1, 8, 2), want_values=True, times=wire.KEEP)
        equal([reply.values(), reply.found(), reply.hits], [[5, 0, 6, 1], [1, 0, 1, 1], 3], "KEEP of keys twice")
        equal([replies.ask("MGET", 3, 9), replies.ask("PEXPIRETIME", 3)], [[b"8", b"2"], FAR], "kept")
        check(0 < replies.ask("TTL", 9) <= 100000, "a new one has the default")
        equal(asked(connection, wire.SET_PRESENT, (3, 4), (7, 7), times=wire.KEEP).hits, 1, "KEEP")
        equal([replies.ask("GET", 3), replies.ask("PEXPIRETIME", 3), replies.ask("EXISTS", 4)], [b"7", FAR, 0], "kept")
        equal([asked(connection, wire.PERSIST, (1, 1)).found(), replies.ask("TTL", 1)], [[1, 0], -1], "PERSIST")
        asked(connection, wire.EXPIRE_NONE, (1, 2), times=wire.AT, time_ms=FAR)
        equal(replies.ask("PEXPIRETIME", 1), FAR, "EXPIRE")
        check(0 < replies.ask("TTL", 2) <= 100000, "not this one")
    with Server("--backend", "cpu", "--capacity", "4K", "--frame-ops-max", "64", "--round-ops-max", "64", "--default-ttl", "5") as server, \
            server.connect() as connection:
        reply = asked(connection, wire.SET, range(33), range(33), times=wire.KEEP)
        check(reply.status == wire.BAD_REQUEST and "split the frame in two" in reply.message, reply.message)
        equal(asked(connection, wire.SET, range(32), range(32), times=wire.KEEP).hits, 0, "so many are taken")


@case
def sums_of_rows():
    """ADD gives new rows a time and keeps that of present ones, also with wider operands and after a restart"""
    for kind, operation, wide in (("f32", wire.ADD_F32, False), ("f16", wire.ADD_F16, False), ("f16", wire.ADD_F16, True)):
        with Directory() as directory:
            flags = ("--backend", "cpu", "--value-bytes", "8", "--value-type", kind)
            with durable(directory, "always", *flags) as server, server.connect() as connection, server.replies() as replies:
                operand = struct.pack("<2f" if kind == "f32" else "<4f" if wide else "<4e", *[1] * (2 if kind == "f32" else 4))
                for keys, at in (((1,), 0), ((1, 2, 2), FAR), ((3,), 1)):
                    header = {"times": wire.AT, "time_ms": at} if at else {}
                    body = wire.array(keys, 8) + wire.padded(operand * len(keys))
                    connection.sendall(wire.envelope(wire.header_of(
                        operation, count=len(keys), key_bytes=8, value_bytes=8, operand_type=4 if wide else 0, **header), body))
                    reply = wire.read_frame(connection)
                    equal([reply.status, reply.message], [wire.OK, ""], "ADD")
                wanted = [replies.ask("PEXPIRETIME", key) for key in (1, 2, 3)] + [replies.ask("MGET", 1, 2)]
                equal(wanted[:3], [-1, FAR, -2], f"{kind} {wide}")
            with durable(directory, "everysec", *flags) as server, server.replies() as replies:
                equal([replies.ask("PEXPIRETIME", key) for key in (1, 2, 3)] + [replies.ask("MGET", 1, 2)], wanted, "restarted")


@case
def rights_and_pauses_and_watchers():
    """frames need the rights of RESP commands, EXPIRE with values also GET; they obey PAUSE and mark watchers"""
    with Server(*CPU) as server, server.connect() as connection, server.replies() as replies:
        equal(asked(connection, wire.SET, (1,), (5,)).status, wire.OK, "SET")
        for name, rules in (("timer", "+expire +hello"), ("reader", "+@read"), ("both", "+expire +get")):
            equal(replies.ask("ACL", "SETUSER", name, "on", ">word", "~*", *rules.split()), "OK", name)
        expected = {"timer": (True, False, False, False), "reader": (False, False, False, True), "both": (True, True, False, False)}
        for name, wanted in expected.items():
            with server.connect() as other:
                other.sendall(wire.envelope(wire.header_of(wire.HELLO) + wire.field(21, name.encode()) + wire.field(22, b"word")))
                equal(wire.read_frame(other).status, wire.OK, name)
                given = {"times": wire.AT, "time_ms": FAR}
                got = (asked(other, wire.EXPIRE, (1,), **given), asked(other, wire.EXPIRE, (1,), want_values=True, **given),
                       asked(other, wire.PERSIST, (1,)), asked(other, wire.TTL, (1,)))
                equal(tuple(reply.status == wire.OK for reply in got), wanted, name)
        with server.replies() as watcher:
            for frame, changes in (((wire.TTL, (1,)), False), ((wire.PERSIST, (2,)), False), ((wire.PERSIST, (1,)), True)):
                equal([watcher.ask("WATCH", 1), asked(connection, *frame).status, watcher.ask("MULTI"), watcher.ask("PING")],
                      ["OK", wire.OK, "OK", "QUEUED"], "WATCH")
                equal(watcher.ask("EXEC"), None if changes else ["PONG"], f"{frame}")
        equal(replies.ask("CLIENT", "PAUSE", 20000, "WRITE"), "OK", "PAUSE")
        equal(asked(connection, wire.TTL, (1,)).status, wire.OK, "a read goes on")
        connection.sendall(wire.frame(wire.EXPIRE, (1,), times=wire.AT, time_ms=FAR))
        time.sleep(.2)
        equal(replies.ask("PEXPIRETIME", 1), -1, "a write waits")
        equal(replies.ask("CLIENT", "UNPAUSE"), "OK", "UNPAUSE")
        equal([wire.read_frame(connection).hits, replies.ask("PEXPIRETIME", 1)], [1, FAR], "and is carried out")


main()
