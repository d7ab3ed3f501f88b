#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Invalid bulk frames: an error reply, at most that connection is closed, and all others are served."""

import random
import struct
import time

import wire
from harness import Bystander, Moves, Server, case, check, drawn_seed, equal, eventually, main

FLAGS = ("--request-timeout-ms", "60000", "--frame-ops-max", "4096",
         "--resp-request-bytes-max", "256K")
KEYS = [1, 2, 3]
GOOD = wire.frame(wire.SET, KEYS, [10, 20, 30])

# The stream cannot be followed after these: BAD_REQUEST, then closed.
BROKEN = {
    "a wrong magic": wire.envelope(b"\x08\x01", magic=b"\xd5SX\x01"),
    "a version of tomorrow": wire.envelope(b"\x08\x01", magic=b"\xd5SW\x02"),
    "no header": wire.envelope(b""),
    "a header of 1 MiB": wire.envelope(b"\x00" * (1 << 20)),
    "a header said to have 4 GiB": wire.envelope(b"\x08\x01", header_bytes=0xFFFFFFFF),
    "a body said to have 2^63 bytes": wire.envelope(b"\x08\x01", body_bytes=1 << 63),
    "a body above the limit": wire.envelope(b"\x08\x01", body_bytes=4096 * 32 + 64),  # keys, pairs of CAS, and times
    "a header that is no message": wire.envelope(b"\xff" * 40),
    "a header cut inside a field": wire.envelope(wire.header_of(wire.GET, 3, 8, 8)[:-1] + b"\x80"),
}

# These frames are framed well: refused, and the connection goes on.
REFUSED = {
    "operation 0": (wire.frame(0), wire.UNKNOWN_OPERATION),
    "an unknown operation": (wire.frame(11, KEYS), wire.UNKNOWN_OPERATION),
    "an unknown control operation": (wire.frame(4000000000), wire.UNKNOWN_OPERATION),
    "keys of 4 bytes": (wire.frame(wire.GET, KEYS, width=4), wire.BAD_REQUEST),
    "keys of 3 bytes": (wire.frame(wire.GET, KEYS, key_bytes=3), wire.BAD_REQUEST),
    "values of 4 bytes": (wire.frame(wire.SET, KEYS, KEYS, value_bytes=4), wire.BAD_REQUEST),
    "widths of 0": (wire.frame(wire.GET, KEYS, key_bytes=0, value_bytes=0), wire.BAD_REQUEST),
    "count 0": (wire.frame(wire.GET, KEYS, count=0), wire.BAD_REQUEST),
    "a count above the limit": (wire.frame(wire.GET, KEYS, count=4097), wire.BAD_REQUEST),
    "a count of 2^32 - 1": (wire.frame(wire.GET, KEYS, count=0xFFFFFFFF), wire.BAD_REQUEST),
    "more keys than the body has": (wire.frame(wire.GET, KEYS, count=9), wire.BAD_REQUEST),
    "no operands": (wire.frame(wire.SET, KEYS), wire.BAD_REQUEST),
    "operands for a GET": (wire.frame(wire.GET, KEYS, KEYS), wire.BAD_REQUEST),
    "a body with a PING": (wire.envelope(wire.header_of(wire.PING), bytes(64)), wire.BAD_REQUEST),
    "a body that is not padded": (
        wire.envelope(wire.header_of(wire.GET, 3, 8, 8), bytes(24)) + b"", wire.BAD_REQUEST),
}


def send(connection, data):
    try:
        connection.sendall(data)
    except OSError:
        pass  # it may be closed before everything was sent


@case
def broken():
    """a frame that cannot be parsed gets BAD_REQUEST with the reason, closes its connection and counts once"""
    with Server(*FLAGS) as server, Bystander(server) as bystander:
        for what, data in BROKEN.items():
            with Moves(server, frame_protocol_errors=1, frame_errors=1, frames_processed=2):
                with server.connect() as connection:
                    send(connection, GOOD + data)
                    # Replies are matched by request_id: the refusal may overtake the answer.
                    replies = {r.request_id: r for r in (wire.read_frame(connection)
                                                         for _ in range(2))}
                    equal(replies[1].status, wire.OK, f"the frame before {what}")
                    equal(replies[0].status, wire.BAD_REQUEST, what)
                    check(replies[0].message, f"no reason for {what}")
                    try:
                        equal(connection.recv(1), b"", f"closed after {what}")
                    except ConnectionResetError:
                        pass
            bystander.ask()


@case
def refused():
    """a frame that contradicts itself or the table is refused without effect, and the next one is served"""
    with Server(*FLAGS) as server, Bystander(server), server.connect() as connection:
        connection.sendall(GOOD)
        equal(wire.read_frame(connection).status, wire.OK, "SET")
        for i, (what, (data, status)) in enumerate(REFUSED.items()):
            if what == "a body that is not padded":
                continue
            with Moves(server, frame_protocol_errors=0, frame_errors=1, frames_processed=2):
                connection.sendall(data + wire.frame(wire.GET, KEYS, want_values=True,
                                                     request_id=1000 + i))
                replies = {r.request_id: r for r in (wire.read_frame(connection)
                                                     for _ in range(2))}
                equal(replies[1].status, status, what)
                check(replies[1].message, f"no reason for {what}")
                equal((replies[1000 + i].values(), replies[1000 + i].found()),
                      ([10, 20, 30], [1, 1, 1]), f"GET after {what}")
    with Server(*FLAGS) as server, Bystander(server), server.connect() as connection:
        data, status = REFUSED["a body that is not padded"]
        connection.sendall(data)
        equal(wire.read_frame(connection).status, status, "a body that is not padded")


@case
def huge_count_fits_nothing():
    """a count times a width that overflows is refused before any memory is touched"""
    with Server(*FLAGS) as server, Bystander(server), server.connect() as connection:
        before = server.resident_bytes()
        for count in (1 << 24, (1 << 29) + 1, 0x20000000, 0xFFFFFFFF):
            equal(wire.call(connection, wire.GET, KEYS, count=count).status, wire.BAD_REQUEST, f"count {count}")
        check(server.resident_bytes() < before + (1 << 20), "resident memory")


@case
def half_a_frame():
    """half a frame, then silence: TIMED_OUT at request-timeout, the connection closes and its memory is freed"""
    cuts = (1, 3, 8, 16, 40, 64, 65, len(GOOD) - 1)
    with Server(*FLAGS, "--request-timeout-ms", "1000") as server, Bystander(server) as bystander:
        with Moves(server, request_timeouts=len(cuts), frame_protocol_errors=0):
            sockets = [server.connect() for _ in cuts]
            began = time.monotonic()
            for connection, cut in zip(sockets, cuts):
                connection.sendall(GOOD[:cut])
            time.sleep(0.5)
            bystander.ask()
            for connection, cut in zip(sockets, cuts):
                equal(wire.read_frame(connection).status, wire.TIMED_OUT, f"cut at {cut}")
                equal(connection.recv(1), b"", f"closed after a cut at {cut}")
                took = time.monotonic() - began
                check(0.9 < took < 20, f"cut at {cut}: closed after {took:.1f} s")
                connection.close()


@case
def half_a_frame_then_gone():
    """half a frame, then the client leaves, 200 times: nothing is executed, and the memory is freed"""
    with Server(*FLAGS, "--arena-bytes", "1M") as server, Bystander(server) as bystander:
        big = wire.frame(wire.SET, list(range(10000, 14096)), list(range(4096)))
        for i in range(200):
            with server.connect() as connection:
                connection.sendall(big[:len(big) * (i % 10) // 10 + 1])
        eventually(lambda: server.connections() == bystander.before, "connections closed")
        with server.connect() as connection:
            equal(wire.call(connection, wire.STATS).figures()["keys"], 1, "the bystander's key only")
            connection.sendall(big)
            equal(wire.read_frame(connection).status, wire.OK, "a whole frame")


@case
def every_cut():
    """a frame that arrives in two pieces, cut at any byte, gets the reply of a whole one"""
    with Server(*FLAGS) as server, server.connect() as connection:
        for cut in range(1, len(GOOD)):
            connection.sendall(GOOD[:cut])
            time.sleep(0.0005)
            connection.sendall(GOOD[cut:])
            equal(wire.read_frame(connection).status, wire.OK, f"cut at {cut}")


@case
def in_flight():
    """200 frames at once with frames-in-flight-max 4: all are answered, and executed in order"""
    with Server(*FLAGS, "--frames-in-flight-max", "4") as server, server.connect() as connection:
        data = b"".join(wire.frame(wire.INCREMENT, [7], [1], request_id=i + 1, want_values=True)
                        for i in range(200))
        connection.sendall(data)
        replies = {r.request_id: r for r in (wire.read_frame(connection) for _ in range(200))}
        equal([replies[i + 1].values()[0] for i in range(200)], list(range(200)), "values before")


@case
def small_arena():
    """20 connections whose frames together exceed the arena are paused, and all are answered"""
    with Server("--frame-ops-max", "32768", "--resp-request-bytes-max", "256K", "--arena-bytes", "1M", "--loops", "1") as server:
        keys = list(range(32768))  # the arena has room for one frame of them
        data = wire.frame(wire.INCREMENT, keys, [1] * len(keys), want_values=True)
        sockets = [server.connect() for _ in range(20)]
        for connection in sockets:
            connection.settimeout(30)
        for _ in range(5):
            for connection in sockets:
                connection.sendall(data)
            for connection in sockets:
                equal(wire.read_frame(connection).status, wire.OK, "status")
        with server.connect() as connection:
            equal(wire.call(connection, wire.GET, keys, want_values=True).values(), [100] * len(keys), "sums")
        for connection in sockets:
            connection.close()
        check(server.metrics()["sherwood_arena_pauses_total"] > 0, "nobody was ever paused")


@case
def garbage():
    """mutated frames of 400 connections: the daemon serves others, and its memory does not grow"""
    rng = random.Random(drawn_seed())
    samples = [GOOD, wire.frame(wire.GET, list(range(100)), want_values=True), wire.frame(wire.SCAN,
               count=10, key_bytes=8, value_bytes=8), wire.frame(wire.HELLO), wire.frame(wire.STATS)]
    with Server("--request-timeout-ms", "300", "--frame-ops-max", "4096") as server, \
            Bystander(server) as bystander:
        def burst(count):
            for i in range(count):
                data = bytearray(b"".join(rng.choices(samples, k=rng.randrange(1, 5))))
                for _ in range(rng.randrange(1, 6)):
                    data[rng.randrange(len(data))] = rng.randrange(256)
                if rng.random() < 0.3:
                    at = rng.randrange(0, len(data), 64) + 4
                    data[at:at + 12] = struct.pack("<IQ", rng.randrange(2000), rng.randrange(1 << 20))
                data[0] = 0xD5
                if b"\x10%c" % wire.CLEAR in data:
                    continue  # by chance a good request that takes the bystander's key away
                with server.connect() as connection:
                    send(connection, bytes(data))
                    connection.settimeout(0.005)
                    try:
                        connection.recv(4096)
                    except OSError:
                        pass
                if i % 50 == 0:
                    bystander.ask()
        burst(200)
        eventually(lambda: server.connections() == bystander.before, "connections closed")
        before, files = server.resident_bytes(), server.open_files()
        burst(200)
        eventually(lambda: server.connections() == bystander.before, "connections closed")
        grown = server.resident_bytes() - before
        check(grown < 8 << 20, f"resident memory grew by {grown}")
        check(server.open_files() <= files + 2, "open files")


if __name__ == "__main__":
    main()
