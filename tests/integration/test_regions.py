#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Regions and rings have the effect of frames, for every operation and user, with a log."""

import contextlib
import pathlib
import random
import struct
import tempfile
import threading

import ring
import wire
from harness import BACKEND, BUILD, SANITIZED, Skip, case, check, drawn_seed, equal, main, run
from ring import (EVICTED_KEYS, EVICTED_SCORES, EVICTED_VALUES, FOUND, KEYS, NOT_ADMITTED, OPERANDS,
                  SCORES, SCORES_OUT, VALUES, Ring, all_gone, by_socket, everything, numbers, place,
                  scan_frames, serving)

MIB = 1 << 20
INTEGER_OPERATIONS = range(wire.GET, wire.DELETE + 1)
WITHOUT_OPERANDS = (wire.GET, wire.DELETE, wire.PEEK, wire.SET_SCORE)
# where the arrays of a request lie in a region
AT = {i: i * 64 * 1024 for i in range(10)}


def same(reply, done, what):
    for name in ("status", "count", "hits", "overflows", "cursor", "capacity", "evicted_count",
                 "not_admitted", "matched", "epoch", "message"):
        equal(getattr(done, name), getattr(reply, name), f"{what}: {name}")


# --- as frames -----------------------------------------------------------------------------------
def integers(width, flags, scans=True):
    """Sends the same requests by frames to one daemon, by a ring to another."""
    rng = random.Random(drawn_seed())
    with serving(*flags) as one, serving(*flags) as two:
        with by_socket(one) as frames, Ring(two) as own:
            for turn in range(150):
                operation = rng.choice(INTEGER_OPERATIONS)
                count = rng.choice((1, 2, 63, 64, 65, 500))
                keys = [rng.randrange(400) for _ in range(count)]
                values = [rng.choice((0, 1, rng.randrange(2**32), 2**(8 * width) - 1))
                          for _ in range(count)]
                if operation in WITHOUT_OPERANDS:
                    values = None
                wants, found = rng.random() < .7, rng.random() < .7
                frames.sendall(wire.frame(operation, keys, values, width, want_values=wants,
                                          want_found=None if found else False))
                reply = wire.read_frame(frames)
                own.put(AT[KEYS], numbers(keys, width))
                places = {KEYS: place(0, AT[KEYS])}
                if values is not None:
                    own.put(AT[OPERANDS], numbers(values, width))
                    places[OPERANDS] = place(0, AT[OPERANDS])
                if wants:
                    places[VALUES] = place(0, AT[VALUES])
                if found:
                    places[FOUND] = place(0, AT[FOUND])
                in_bytes = found and operation == wire.GET and rng.random() < .7
                what = f"turn {turn}: operation {operation} of {count}, found {found}, in bytes {in_bytes}"
                own.put(AT[FOUND], b"\xa5" * 512)
                same(reply, own.run(operation, count, places, flags=int(in_bytes)), what)
                if wants:
                    equal(own.get(AT[VALUES], count * width), numbers(reply.values(), width), what)
                if in_bytes:
                    padded = -(-count // 8) * 8
                    equal(own.get(AT[FOUND], padded), bytes(reply.found()) + bytes(padded - count), what)
                    equal(own.get(AT[FOUND] + padded, 512 - padded), b"\xa5" * (512 - padded), what)
                elif found:
                    bits = own.get(AT[FOUND], -(-count // 64) * 8)
                    equal([bits[i // 8] >> i % 8 & 1 for i in range(count)], reply.found(), what)
            if not scans:
                return
            seen = {}
            for ask in (lambda c: scan_frames(frames, c, width), lambda c: scan_ring(own, c, width)):
                cursor, got = 0, []
                while True:
                    cursor, entries = ask(cursor)
                    got += entries
                    if cursor == 0:
                        break
                seen[ask] = sorted(got)
            equal(*seen.values(), "SCAN")


def scan_ring(own, cursor, width):
    done = own.run(wire.SCAN, 100, {KEYS: place(0, AT[KEYS]), VALUES: place(0, AT[VALUES])},
                   arguments=(cursor, 0, 0))
    equal(done.status, wire.OK, done.message)
    letter = "Q" if width == 8 else "I"
    size = done.count * width
    return done.cursor, list(zip(struct.unpack(f"<{done.count}{letter}", own.get(AT[KEYS], size)),
                                 struct.unpack(f"<{done.count}{letter}", own.get(AT[VALUES], size))))


@case
def integers_64():
    """every operation on 64-bit integers replies as by frames, and leaves the same table"""
    integers(8, ())


@case
def integers_32():
    """every operation on 32-bit integers replies as by frames, and leaves the same table"""
    integers(4, ("--key-bits", "32"))


@case
def integers_cuckoo():
    """every operation of the cuckoo engine on 32-bit integers replies as by frames"""
    integers(4, ("--key-bits", "32", "--engine", "cuckoo"), scans=False)


CACHE_OPERATIONS = (wire.GET, wire.SET, wire.SET_ABSENT, wire.SET_PRESENT, wire.DELETE, wire.PEEK,
                    wire.FIND_OR_INSERT, wire.SET_SCORE, wire.SET_VALUE, wire.ADD_F32, wire.ADD_U32,
                    wire.ADD_U64, wire.ADD_PRESENT_F32, wire.ADD_PRESENT_U32, wire.ADD_PRESENT_U64)
WIDE = 24


@case
def cache():
    """every operation of a cache works, with scores, evicted entries and refused ones"""
    if BACKEND != "cpu":
        raise Skip("two caches on a GPU need not evict the same of entries with equal scores")
    rng = random.Random(drawn_seed())
    flags = ("--engine", "cache", "--value-bytes", str(WIDE), "--value-format", "fixed", "--policy",
             "custom", "--capacity", "1K", "--loops", "1")
    with serving(*flags) as one, serving(*flags) as two:
        with by_socket(one) as frames, Ring(two) as own:
            for turn in range(200):
                operation = rng.choice(CACHE_OPERATIONS)
                count = rng.choice((1, 64, 200))
                keys = rng.sample(range(3000), count)
                values = [rng.randbytes(WIDE) if operation < wire.ADD_F32 or operation % 3 == 1
                          else bytes(WIDE) for _ in keys]
                if operation in WITHOUT_OPERANDS:
                    values = None
                scores = ([rng.randrange(100) for _ in keys]
                          if operation == wire.SET_SCORE or rng.random() < .5 else None)
                wants = {"want_values": rng.random() < .5, "want_scores": rng.random() < .5,
                         "want_not_admitted": rng.random() < .5, "want_evicted": rng.choice((0, 7))}
                reply = wire.exchange(frames, wire.cache_frame(operation, keys, values, scores, WIDE, **wants))
                equal(reply.status, wire.OK, reply.message)
                told = reply.arrays()
                own.put(AT[KEYS], numbers(keys, 8))
                used = [KEYS, FOUND]
                if values is not None:
                    own.put(AT[OPERANDS], b"".join(values))
                    used.append(OPERANDS)
                if scores is not None:
                    own.put(AT[SCORES], numbers(scores, 8))
                    used.append(SCORES)
                used += [i for i, name in ((VALUES, "want_values"), (SCORES_OUT, "want_scores"),
                                           (NOT_ADMITTED, "want_not_admitted")) if wants[name]]
                if wants["want_evicted"]:
                    used += [EVICTED_KEYS, EVICTED_VALUES, EVICTED_SCORES]
                what = f"turn {turn}: operation {operation} of {count}, {wants}"
                done = own.run(operation, count, {i: place(0, AT[i]) for i in used})
                same(reply, done, what)
                for i, name, size in ((VALUES, "values", WIDE), (SCORES_OUT, "scores", 8),
                                      (EVICTED_KEYS, "evicted_keys", 8),
                                      (EVICTED_VALUES, "evicted_values", WIDE),
                                      (EVICTED_SCORES, "evicted_scores", 8)):
                    if i in used:
                        wanted = b"".join(v if isinstance(v, bytes) else numbers([v], 8)
                                          for v in told[name])
                        equal(own.get(AT[i], len(wanted)), wanted, f"{what}: {name}")
                        check(len(wanted) % size == 0, what)
                for i, name in ((FOUND, "found"), (NOT_ADMITTED, "not_admitted")):
                    if i in used:
                        bits = own.get(AT[i], -(-count // 64) * 8)
                        equal([bits[k // 8] >> k % 8 & 1 for k in range(count)], told[name], what)
            for operation in (wire.COUNT_SCORES, wire.ERASE_SCORES, wire.COUNT_SCORES):
                same(wire.call(frames, operation, score_min=10, score_max=50), own.run(operation, arguments=(0, 10, 50)), operation)


@case
def others():
    """PING, STATS, CLEAR, RESIZE and operations that need an engine or a log work by the ring"""
    with serving("--max-capacity", "4M") as server, Ring(server) as own:
        own.put(0, numbers(range(100), 8))
        equal(own.run(wire.SET, 100, {KEYS: place(0, 0), OPERANDS: place(0, 0)}).hits, 0, "SET")
        equal(own.run(wire.PING).status, wire.OK, "PING")
        done = own.run(wire.STATS, 128, {KEYS: place(0, 64 * 1024)})
        rows = struct.iter_unpack("<56sQ", own.get(64 * 1024, done.count * 64))
        figures = {name.rstrip(b"\0").decode(): value for name, value in rows}
        equal(figures["keys"], 100, "STATS")
        equal(own.run(wire.RESIZE, arguments=(1 << 21, 0, 0)).capacity, 1 << 21, "RESIZE")
        equal(own.run(wire.RESIZE, arguments=(1 << 62, 0, 0)).status, wire.BAD_REQUEST, "RESIZE")
        equal(own.run(wire.CLEAR).status, wire.OK, "CLEAR")
        equal(own.run(wire.GET, 100, {KEYS: place(0, 0)}).hits, 0, "after CLEAR")
        equal(own.run(wire.EPOCH, arguments=(1, 0, 0)).status, wire.UNKNOWN_OPERATION, "EPOCH")
        equal(own.run(41, arguments=(1, 0, 0)).status, wire.BAD_REQUEST, "WAIT_DURABLE, no log")
        for operation in (wire.HELLO, ring.ATTACH, ring.REGION, ring.RELEASE, ring.BELL):
            done = own.run(operation)
            equal(done.status, wire.BAD_REQUEST, operation)
            check("by the socket" in done.message, done.message)
        equal(own.ask(wire.frame(wire.PING, request_id=9)).request_id, 9, "frames go on beside it")


# --- who may -------------------------------------------------------------------------------------
@case
def users():
    """a ring has the rights and key ranges of its connection's user, even if a client changes keys meanwhile"""
    with tempfile.NamedTemporaryFile("w") as password:
        password.write("secret\n")
        password.flush()
        with serving("--requirepass-file", password.name) as server:
            rights(server)


def rights(server):
    with contextlib.ExitStack():
        with server.replies() as replies:
            replies.ask("AUTH", "secret")
            equal(replies.ask("ACL", "SETUSER", "bounded", "on", ">x", "+get", "+set", "+ping",
                              "~1-100"), "OK", "SETUSER")
        with Ring(server, attach=False) as nobody:
            equal(nobody.ask(wire.frame(ring.ATTACH)).status, wire.NO_AUTH, "ATTACH, nobody")
        own = Ring(server, attach=False)
        hello = wire.header_of(wire.HELLO) + wire.field(21, b"bounded") + wire.field(22, b"x")
        equal(own.ask(wire.envelope(hello)).status, wire.OK, "HELLO")
        equal(own.ask(wire.frame(ring.ATTACH)).status, wire.OK, "ATTACH")
        equal(own.open_ring(64).status, wire.OK, "ring")
        equal(own.register(0, MIB).status, wire.OK, "region")
        own.put(0, numbers(range(1, 101), 8))
        pair = {KEYS: place(0, 0), OPERANDS: place(0, 0)}
        equal(own.run(wire.SET, 100, pair).status, wire.OK, "SET within the range")
        own.put(0, numbers([500], 8))
        equal(own.run(wire.SET, 100, pair).status, wire.NO_PERMISSION, "SET outside of it")
        equal(own.run(wire.DELETE, 1, {KEYS: place(0, 8)}).status, wire.NO_PERMISSION, "DELETE")
        equal(own.run(wire.CLEAR).status, wire.NO_PERMISSION, "CLEAR")
        # keys that jump in and out of the range never get what lies outside
        stop = threading.Event()

        def flip():
            while not stop.is_set():
                own.put(0, numbers([500], 8))
                own.put(0, numbers([50], 8))
        thread = threading.Thread(target=flip)
        thread.start()
        try:
            for _ in range(300):
                own.run(wire.SET, 100, pair)
        finally:
            stop.set()
            thread.join()
        own.close()
        with server.replies() as replies:
            replies.ask("AUTH", "secret")
            equal(replies.ask("EXISTS", 500), 0, "a key outside of the range")
        all_gone(server)


@case
def slow_log():
    """SLOWLOG shows requests through a ring as it shows frames"""
    with serving("--slowlog-log-slower-than", "0") as server, Ring(server) as own:
        own.put(0, numbers(range(100), 8))
        own.run(wire.SET, 77, {KEYS: place(0, 0), OPERANDS: place(0, 0)})
        entries = server.ask("SLOWLOG", "GET", 10)
        check(any(e[3] == [b"frame", b"SET", b"77 keys"] for e in entries), f"{entries}")


# --- the log -------------------------------------------------------------------------------------
@case
def logged():
    """a restart from the write-ahead log has what was applied, even though clients change keys meanwhile"""
    with tempfile.TemporaryDirectory(prefix="sherwood-ring-data-") as data:
        flags = ("--data-dir", data, "--appendonly", "yes", "--appendfsync", "no")
        with serving(*flags) as server, Ring(server) as own:
            stop = threading.Event()
            rng = random.Random(drawn_seed())

            def flip():
                while not stop.is_set():
                    own.put(8 * rng.randrange(2000), numbers([rng.randrange(5000)], 8))
            own.put(0, numbers(range(2000), 8))
            thread = threading.Thread(target=flip)
            thread.start()
            try:
                for i in range(200):
                    done = own.run(rng.choice((wire.SET, wire.SUM, wire.SET_ABSENT)), 1000,
                                   {KEYS: place(0, 0), OPERANDS: place(0, 8000)})
                    equal(done.status, wire.OK, done.message)
                    check(done.write_sequence > i, "write_sequence")
            finally:
                stop.set()
                thread.join()
            before = everything(server)
        with serving(*flags) as server:
            equal(everything(server), before, "after a restart")


# --- the library ---------------------------------------------------------------------------------
@case
def library():
    """sherwood-load through regions: a set, gets and a mix, all verified; a single call; open loop"""
    with serving("--capacity", "4M") as server:
        load = [BUILD / "sherwood-load", "-a", f"unix:{server.unix_path}", "--region", "-q", "-c", "2"]
        run(*load, "-n", "200K", "-f", "4096", "-d", "8", timeout=120)
        run(*load, "-n", "200K", "-f", "1", "-d", "1", "-o", "get", "--seconds", "0.5", timeout=120)
        run(*load, "-n", "200K", "-f", "500", "-o", "get", "--rate", "100K", "--seconds", "1",
            timeout=120)
        run(*load, "-n", "200K", "-f", "1000", "-o", "get", "--seconds", "0.5", "--frames-prefilled",
            "8", timeout=120)
        run(*load, "-n", "200K", "-f", "1000", "-d", "2", "--ycsb", "a", timeout=120)
        check(server.metrics()["sherwood_ring_requests_total"] > 1000, "requests through rings")
        all_gone(server)
        said = run(BUILD / "sherwood-load", "-a", server.address(), "--region", rc=2)
        check("--region" in said, said)


@case
def example():
    """the example builds with the library, and reads back its million keys"""
    if SANITIZED:
        raise Skip("a program without a sanitizer cannot load the library that has one")
    root = pathlib.Path(__file__).resolve().parents[2]
    with serving("--capacity", "4M", "--frame-ops-max", "262144") as server, \
            tempfile.TemporaryDirectory() as directory:
        program = f"{directory}/region"
        run("cc", root / "client/examples/region.c", f"-I{root}/client", "-o", program,
            f"-L{BUILD}", "-lsherwood", f"-Wl,-rpath,{BUILD}")
        said = run(program, f"unix:{server.unix_path}")
        check("1000000 of 1000000" in said, said)


if __name__ == "__main__":
    main()
