#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Regions and rings: operations without keys, users, a log, and the library. test_matrix.py has the operations on keys, and
test_scores.py those of a cache."""

import contextlib
import pathlib
import random
import struct
import tempfile
import threading

import ring
import wire
from harness import BUILD, SANITIZED, Skip, case, check, drawn_seed, equal, main, run
from ring import KEYS, OPERANDS, VALUES, Ring, all_gone, everything, numbers, place, serving

MIB = 1 << 20


@case
def others():
    """PING, STATS, SCAN, CLEAR, RESIZE and operations that need an engine or a log work by the ring"""
    with serving("--max-capacity", "4M") as server, Ring(server) as own:
        own.put(0, numbers(range(100), 8))
        equal(own.run(wire.SET, 100, {KEYS: place(0, 0), OPERANDS: place(0, 0)}).hits, 0, "SET")
        equal(own.run(wire.PING).status, wire.OK, "PING")
        done = own.run(wire.STATS, 128, {KEYS: place(0, 64 * 1024)})
        rows = struct.iter_unpack("<56sQ", own.get(64 * 1024, done.count * 64))
        figures = {name.rstrip(b"\0").decode(): value for name, value in rows}
        equal(figures["keys"], 100, "STATS")
        scanned, cursor = [], None
        while cursor != 0:
            done = own.run(wire.SCAN, 30, {KEYS: place(0, 1 << 17), VALUES: place(0, 1 << 18)}, arguments=(cursor or 0, 0, 0))
            equal((done.status, done.count <= 30), (wire.OK, True), f"SCAN: {done.message}")
            scanned += [struct.unpack("<QQ", own.get((1 << 17) + at, 8) + own.get((1 << 18) + at, 8))
                        for at in range(0, 8 * done.count, 8)]
            cursor = done.cursor
        equal(sorted(scanned), everything(server), "SCAN")
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
        run(*load, "-n", "2K", "-f", "1", "-d", "1", "-o", "get", timeout=120)
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
    """the example builds with the library, reads back its million keys, and refuses a server of other widths"""
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
        with serving("--key-bits", "32") as narrow:
            said = run(program, f"unix:{narrow.unix_path}", rc=1)
            check("keys and values of 8 bytes" in said, said)


if __name__ == "__main__":
    main()
