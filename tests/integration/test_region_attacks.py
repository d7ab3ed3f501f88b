#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Clients that write invalid records, shrink shared memory, change data that is read, or die: no other client is
affected."""

import contextlib
import os
import pathlib
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile

import ring
import wire
from harness import SLOWER, Bystander, Moves, at_once, case, check, drawn_seed, equal, eventually, main, run
from ring import (DETAILS, EVICTED_VALUES, FOUND, HAS_TIMES, KEYS, OPERANDS, SCORES, VALUES, Ring, all_gone, by_socket,
                  everything, gauges, numbers, place, serving)

MIB = 1 << 20
NONE_BUT_ONE = ring.NONE - 1


# --- bad clients ---------------------------------------------------------------------------------
@case
def refused_memory():
    """unsuitable memory is refused with its reason, and the connection stays open"""
    with serving() as server, Bystander(server), Ring(server) as own:
        plain = tempfile.TemporaryFile()
        plain.truncate(MIB)
        cases = (
            ("not sealed", ring.memfd(MIB, seals=0), {}, "sealed against shrinking"),
            ("sealed against seals", ring.memfd(MIB, seals=ring.SEAL_SEAL), {}, "the memfd cannot be sealed"),
            ("not to be sealed", ring.memfd(MIB, sealable=False), {}, "the memfd cannot be sealed"),
            ("sealed against writes", ring.memfd(MIB, seals=ring.SEAL_SHRINK | ring.SEAL_WRITE), {},
             "cannot be mapped"),
            ("a file", os.dup(plain.fileno()), {}, "is not a memfd"),
            ("a socket", os.dup(own.socket.fileno()), {}, "is not a memfd"),
            ("too short", ring.memfd(MIB), {"bytes": 2 * MIB}, "differs from the size"),
            ("longer", ring.memfd(2 * MIB), {"bytes": MIB}, "differs from the size"),
            ("without pages", ring.memfd(MIB, filled=False), {}, "does not have all of its pages"),
            ("not of pages", ring.memfd(MIB + 64), {"bytes": MIB + 64}, "multiple of 4096"),
            ("of no bytes", ring.memfd(MIB), {"bytes": 0}, "multiple of 4096"),
            ("an index that is taken", ring.memfd(MIB), {"index": 0}, "a region with this index exists"),
            ("an index too large", ring.memfd(MIB), {"index": 1 << 31}, "below regions-max"),
            ("no such kind", ring.memfd(MIB), {"kind": 9}, "unknown kind of region"),
            ("a descriptor of no use", ring.memfd(MIB), {"kind": ring.CUDA_IPC}, "a region in GPU memory has none"),
            ("a table", ring.memfd(4096), {"kind": ring.TABLE, "bytes": 4096}, "direct reads are disabled"),
            ("more than the limit", ring.memfd(4096), {"bytes": 1 << 50}, "region-bytes-max"),
        )
        before = gauges(server)
        with Moves(server, region_refusals=len(cases) + 2, connections_closed=0):
            for what, fd, said, words in cases:
                reply = own.register(**{"index": 5, "size": MIB, "fd": fd, **said})
                equal(reply.status, wire.BAD_REQUEST, what)
                check(words in reply.message, f"{what}: {reply.message}")
            reply = own.ask(ring.region_frame(ring.REGION, kind=ring.MEMFD, index=5, bytes=MIB))
            check("without a file descriptor" in reply.message, reply.message)
            reply = own.open_ring(64)
            check("has a ring" in reply.message, reply.message)
        equal(gauges(server), before, "nothing was taken")
        reply = own.ask(ring.region_frame(ring.REGION, kind=ring.CUDA_IPC, index=5, bytes=MIB,
                                          handle=bytes(64), device_uuid=bytes(16)))
        check(reply.status == wire.BAD_REQUEST and reply.message, "CUDA memory on a CPU")
        equal(own.run(wire.PING).status, wire.OK, "the ring goes on")
    with serving("--direct-readers-max", "1") as server, Ring(server) as own:
        for size, words in ((8192, "use 4096 bytes"), (4096, "cannot be read directly"), (4096, "cannot be read directly")):
            reply = own.register(index=5, size=size, fd=ring.memfd(size), kind=ring.TABLE, bytes=size)
            check(words in reply.message, reply.message)
        equal(server.metrics()["sherwood_direct_readers"], 0)
    with serving() as server, server.connect() as connection:
        reply = wire.call(connection, ring.ATTACH)
        check("by Unix socket" in reply.message, reply.message)
        connection.sendall(ring.region_frame(ring.REGION, kind=ring.MEMFD, bytes=MIB))
        check("send ATTACH before" in wire.read_frame(connection).message, "REGION before ATTACH")


@case
def descriptors():
    """unexpected descriptors are closed, and end at most their own connection"""
    with serving() as server, Bystander(server) as bystander:
        Ring(server).close()
        all_gone(server)
        files = server.open_files()
        with Ring(server) as own:
            own.send(wire.frame(wire.PING), [ring.memfd(4096) for _ in range(3)])
            with contextlib.suppress(wire.Closed):
                while True:
                    own.read()
        bystander.ask()
        with Ring(server) as own:
            own.send(wire.frame(wire.PING), [ring.memfd(4096) for _ in range(100)])
            with contextlib.suppress(wire.Closed):
                while True:
                    own.read()
        with by_socket(server) as connection:  # one that has not attached
            connection.sendmsg([wire.frame(wire.PING)],
                               [(socket.SOL_SOCKET, socket.SCM_RIGHTS, struct.pack("i", 0))])
            equal(wire.read_frame(connection).status, wire.OK, "PING")
        all_gone(server)
        eventually(lambda: server.open_files() <= files, "descriptors are given back")


@case
def limits():
    """regions-max, region-bytes-max, rings-max and ring-entries-max are enforced with an error"""
    with serving("--regions-max", "3", "--region-bytes-max", "4M", "--rings-max", "2",
                 "--ring-entries-max", "64") as server:
        with Ring(server) as one, Ring(server, entries=8) as two:
            equal(gauges(server), [2, 2, 2 * MIB], "gauges")
            equal(one.register(1, MIB).status, wire.OK, "the second")
            equal(one.register(2, MIB).status, wire.OK, "the third")
            check("below regions-max" in one.register(3, 4096).message, "the fourth")
            check("region-bytes-max" in two.register(1, 4096).message, "a byte too many")
            equal(one.release(2).status, wire.OK, "RELEASE")
            check("no region has this index" in one.release(2).message, "RELEASE again")
            equal(two.register(1, MIB).status, wire.OK, "what was given back")
            with Ring(server, attach=False) as three:
                equal(three.ask(wire.frame(ring.ATTACH)).status, wire.OK, "ATTACH")
                check("rings-max" in three.open_ring(8).message, "a third ring")
            with Ring(server, attach=False) as three:
                three.ask(wire.frame(ring.ATTACH))
                for entries in (0, 1, 4, 65, 128, 1 << 31):
                    reply = three.open_ring(entries, size=ring.ring_bytes(64))
                    check("power of two" in reply.message, f"{entries}: {reply.message}")
                reply = three.open_ring(8, size=ring.ring_bytes(64))
                check("does not match its number of entries" in reply.message, reply.message)
        all_gone(server)
    with serving("--rings-max", "0") as server, Ring(server, attach=False) as own:
        check("--rings-max above 0" in own.ask(wire.frame(ring.ATTACH)).message, "no rings")


@case
def bad_records():
    """a record with one invalid field is refused with a reason, for each field, and the next record is served"""
    with serving("--frame-ops-max", "4096") as server, Bystander(server), Ring(server) as own:
        own.register(3, 4096)
        own.put(0, numbers(range(1000, 1512), 8))
        good = {KEYS: place(0, 0), OPERANDS: place(0, 0)}
        cases = [("count 0", {"count": 0}), ("a count above the limit", {"count": 4097}),
                 ("a count of 2^32 - 1", {"count": 2**32 - 1}), ("operation 0", {"operation": 0}),
                 ("operation 255", {"operation": 255}), ("found bytes of SET", {"flags": 1}), ("unknown flags", {"flags": 4}),
                 ("a table of no place", {"table": 1}), ("the id of no table", {"table_id": 9}), ("by_score", {"by_score": 2}),
                 ("no operands", {"places": {KEYS: place(0, 0)}}), ("no keys", {"places": {}}),
                 ("scores of integers", {"places": {**good, SCORES: place(0, 0)}}),
                 ("evicted of integers", {"places": {**good, EVICTED_VALUES: place(0, 0)}})]
        details = {  # flags DETAILS: arguments of SET, unless another operation is named
            "a field of no detail": (0, 0, 512), "no kind of times": (9, 0, 4), "a time without its kind": (9, 0, 0),
            "no time": (0, 0, wire.AT), "a time above 2^63": (1 << 63, 0, wire.IN), "no array of times": (ring.NONE, 0, wire.AT | HAS_TIMES),
            "times elsewhere": (place(9, 0), 0, wire.AT | HAS_TIMES), "times that are 0": (place(0, 1 << 19), 0, wire.AT | HAS_TIMES),
            "times that are unaligned": (place(0, 4), 0, wire.AT | HAS_TIMES), "KEEP with a time": (9, 0, wire.KEEP),
            "a range": (0, 1 << 32, 0)}
        cases += [(what, {"flags": DETAILS, "arguments": lie}) for what, lie in details.items()]
        cases += [("details of CLEAR", {"operation": 35, "places": {}, "flags": DETAILS}),
                  ("found bytes of TTL", {"operation": 72, "places": {KEYS: place(0, 0), FOUND: place(0, 8192)}, "flags": 1}),
                  ("GETRANGE of integers", {"operation": 70, "places": {KEYS: place(0, 0)}, "flags": DETAILS, "arguments": (0, 1 << 32, 0)}),
                  ("half of the pairs", {"operation": 68, "places": {KEYS: place(0, 0), OPERANDS: place(0, MIB - 4096)}})]
        for i in (KEYS, OPERANDS, VALUES, FOUND):
            for where in (place(1, 0), place(2, 0), place(63, 0), place(64, 0), place(65535, 0),
                          place(0, MIB - 56), place(0, MIB), place(0, MIB + 8),
                          place(0, (1 << 48) - 8), place(0, 4), place(0, 1), place(3, 4096),
                          place(3, 8 if i != FOUND else 4096 - 56), NONE_BUT_ONE):
                cases.append((f"array {i} at {where:#x}", {"places": {**good, i: where}}))
        with Moves(server, connections_closed=0, ring_errors=0, frame_errors=len(cases)):
            for number, (what, lie) in enumerate(cases, 100):
                said = {"operation": wire.SET, "count": 512, "places": good, "request_id": number,
                        **lie}
                done = own.run(**said)
                check(done.status in (wire.BAD_REQUEST, wire.UNKNOWN_OPERATION, wire.NO_TABLE, wire.TABLE_CHANGED), what)
                equal(done.id, number, what)
                check(done.message, f"no reason for {what}")
        equal(server.ask("DBSIZE"), 1, "nothing but the bystander's key")
        done = own.run(wire.GET, 512, {KEYS: place(0, 0), VALUES: place(0, 8192)}, flags=1)
        check(done.status == wire.BAD_REQUEST and "found bytes" in done.message, "found bytes without an array")
        done = own.run(wire.GET, 512, {KEYS: place(0, 0), FOUND: place(0, MIB - 504)}, flags=1)
        check(done.status == wire.BAD_REQUEST and "512 bytes" in done.message, "found bytes behind the end")
        equal(own.run(wire.SET, 512, good).status, wire.OK, "the next one")


@case
def scribbled_rings():
    """impossible counters end only their own connection; other changed bytes of the ring end nothing"""
    with serving() as server, Bystander(server) as bystander:
        for what, at, value in (("submitted", ring.SUBMITTED, 65), ("far", ring.SUBMITTED, 1 << 31),
                                ("backwards", ring.SUBMITTED, -1)):
            with Ring(server) as own, Moves(server, ring_errors=1, connections_closed=1):
                own.run(wire.PING)
                own.set_word(at, value + 1)
                own.bell()
                reply = own.read()
                equal((reply.request_id, reply.status), (0, wire.BAD_REQUEST), what)
                check("more records" in reply.message, reply.message)
                equal(own.socket.recv(1), b"", f"closed after {what}")
                own.close()
            bystander.ask()
        with Ring(server) as own, Moves(server, ring_errors=1):
            own.run(wire.PING)
            own.set_word(ring.SEEN, 7)  # more than were completed
            own.write(own.record(wire.PING))
            equal(own.read().status, wire.BAD_REQUEST, "seen")
        with Ring(server) as own:  # what the server wrote itself it does not read back
            for _ in range(200):
                own.set_word(ring.TAKEN, random.getrandbits(32))
                own.set_word(ring.COMPLETED, own.seen)
                own.set_word(ring.SERVER_SLEEPS, 1)
                own.set_word(ring.CLIENT_SLEEPS, random.getrandbits(32))
                own.write(own.record(wire.PING, request_id=own.submitted + 1))
                equal(own.done().id, own.submitted, "PING")
        all_gone(server)


@case
def words_are_whole():
    """the server sees no intermediate value while the client of these tests stores a word"""
    class Number:
        """A number that runs code when the store asks for its value."""

        def __and__(self, _):
            return self

        def __index__(self):
            seen.append(own.word(ring.SUBMITTED))
            own.bell()
            equal(own.ask(wire.frame(wire.PING, request_id=9)).request_id, 9, "the reply during the store")
            return 2

    seen = []
    with serving() as server, Ring(server) as own, Moves(server, ring_errors=0, connections_closed=0):
        own.run(wire.PING)
        own.write(own.record(wire.PING))
        own.set_word(ring.SUBMITTED, Number())
        equal(seen, [2], "SUBMITTED during the store")
        equal(own.done().status, wire.OK, "the second record")


def write_random_records(own, rng):
    """Writes random records until the daemon closes the connection. Returns whether it changed the counters of the ring."""
    has_tampered = False
    for _ in range(100):
        record = bytearray(own.record(
            rng.choice((wire.GET, wire.SET, wire.SCAN, wire.STATS, wire.DELETE)),
            rng.choice((1, 8, 300)),
            {i: place(rng.randrange(2), 8 * rng.randrange(1 << 17))
             for i in rng.sample(range(10), rng.randrange(6))}))
        for _ in range(rng.choice((0, 0, 1, 8))):
            record[rng.randrange(len(record))] = rng.randrange(256)
        if record[ring.OPERATION] == wire.CLEAR:  # may be carried out: the bystander's key would go
            record[ring.OPERATION] = wire.PING
        tampers = rng.random() < .01
        try:
            own.write(bytes(record))
            if tampers:
                has_tampered = True
                own.set_word(rng.choice((ring.SUBMITTED, ring.SEEN)), rng.getrandbits(32))
                own.bell()
        except (BrokenPipeError, ConnectionResetError):
            return has_tampered
        if own.submitted - own.seen >= own.entries:
            try:
                own.done(.2)
            except AssertionError:  # the daemon has closed the connection, or waits for counters that make sense
                return has_tampered
    return has_tampered


@case
def random_rings():
    """random records and counters of 20 connections: the daemon answers or ends each, and a bystander goes on"""
    rng, answered = random.Random(drawn_seed()), 0
    with serving("--frame-ops-max", "4096") as server, Bystander(server) as bystander:
        for number in range(20):
            with Ring(server) as own:
                if not write_random_records(own, rng):
                    eventually(lambda r=own: r.word(ring.COMPLETED) > 0 or r.has_ended(), f"connection {number} is answered or ended")
                answered += own.word(ring.COMPLETED) > 0
            bystander.ask()
        all_gone(server)
    check(answered >= 5, f"the daemon answered records of {answered} of 20 connections")  # of about 18


@case
def truncation():
    """shared memory cannot be shrunk; a hole in it affects only its client"""
    with serving() as server, Bystander(server), Ring(server, region_bytes=0) as own:
        fd = ring.memfd(MIB)
        kept = os.dup(fd)
        equal(own.register(0, MIB, fd).status, wire.OK, "region")
        for size in (0, 4096, 2 * MIB):
            try:
                os.ftruncate(kept, size)
                raise AssertionError(f"truncated to {size}")
            except PermissionError:
                pass
        own.put(0, numbers(range(1001, 2001), 8))
        pair = {KEYS: place(0, 0), OPERANDS: place(0, 0)}
        equal(own.run(wire.SET, 1000, pair).status, wire.OK, "SET")
        run("fallocate", "--punch-hole", "--offset", 0, "--length", MIB, f"/proc/{os.getpid()}/fd/{kept}")
        done = own.run(wire.GET, 1000, {KEYS: place(0, 0), VALUES: place(0, 65536)})
        equal((done.status, done.hits), (wire.OK, 0), "GET of zeros")
        os.close(kept)


# --- dying ---------------------------------------------------------------------------------------
DIES = """
import os, random, sys, signal
sys.path.insert(0, %r)
import ring, wire
class S: unix_path = sys.argv[1]
rng = random.Random(int(sys.argv[2]))
own = ring.Ring(S, attach=False)
steps = [lambda: own.ask(wire.frame(ring.ATTACH)), lambda: own.open_ring(64),
         lambda: own.register(0, 8 << 20), lambda: own.register(1, 4096)]
at = rng.randrange(10)
for step in steps[:at]:
    step()
if at < 4:
    own.send(ring.region_frame(ring.REGION, kind=2, index=0, bytes=8 << 20), [ring.memfd(8 << 20)])
else:
    own.put(0, bytes(rng.randrange(256) for _ in range(8 << 10)) * 1024)
    for i in range(rng.randrange(40)):
        own.write(own.record(rng.choice((1, 2, 3, 10)), 65536, {0: 0, 1: 1 << 20}
                             if rng.random() < .5 else {0: 0}))
    if at > 7:
        own.send(ring.region_frame(ring.RELEASE, index=0))
os.kill(os.getpid(), signal.SIGKILL)
"""


@case
def dying():
    """clients are killed at any moment: everything is freed, and others are served"""
    seed = drawn_seed()
    with serving() as server, Bystander(server) as bystander:
        script = DIES % str(pathlib.Path(__file__).parent)
        for first in range(0, 24, 4):
            processes = [subprocess.Popen([sys.executable, "-c", script, server.unix_path,
                                           str(seed + first + i)]) for i in range(4)]
            for process in processes:
                equal(process.wait(60), -signal.SIGKILL, "the client's end")
            bystander.ask()
        all_gone(server)


@case
def released_late():
    """a region is released after the last batch on it, and not used after its release began"""
    with serving() as server, Ring(server, region_bytes=0) as own:
        equal(own.register(0, 8 * MIB).status, wire.OK, "region")
        own.put(0, os.urandom(4 * MIB))
        for _ in range(32):
            own.write(own.record(wire.SET, 65536, {KEYS: place(0, 0), OPERANDS: place(0, MIB)}))
        own.send(ring.region_frame(ring.RELEASE, index=0, request_id=7))
        own.write(own.record(wire.GET, 1, {KEYS: place(0, 0)}, request_id=99))
        equal(own.read().request_id, 7, "RELEASE")
        equal(gauges(server), [1, 0, 0], "released")
        done = [own.done() for _ in range(33)]
        check(all(d.status in (wire.OK, wire.BAD_REQUEST, wire.OUT_OF_MEMORY) for d in done),
              f"{[d.message for d in done]}")


@case
def stopping():
    """a daemon that stops completes the records that it took, and clients see the connection end"""
    with serving() as server:
        own = Ring(server)
        own.put(0, numbers(range(1000), 8))
        for _ in range(20):
            own.write(own.record(wire.SET, 1000, {KEYS: place(0, 0), OPERANDS: place(0, 0)}))
        server.stop()
        completed = own.word(ring.COMPLETED)
        equal(completed, own.word(ring.TAKEN), "what was taken is completed")
        with contextlib.suppress(wire.Closed):
            while True:
                own.read()
        server.start()


# --- together ------------------------------------------------------------------------------------
@case
def two_clients():
    """two clients change operands while batches of both run: the table stays consistent"""
    with serving("--loops", "2") as server:
        def work(seed):
            rng = random.Random(seed)
            with Ring(server) as own:
                own.put(0, os.urandom(MIB // 2))
                for _ in range(120 // SLOWER): # a sanitizer sees a race without losing it
                    for _ in range(4):
                        own.write(own.record(
                            rng.choice((wire.SET, wire.DELETE, wire.GET, wire.SET_ABSENT)),
                            30000, {KEYS: place(0, 0)}))
                        record = own.record(wire.SET, 30000, {KEYS: place(0, 0),
                                                              OPERANDS: place(0, 8)})
                        own.write(record)
                    for _ in range(200):
                        own.put(8 * rng.randrange(30000), numbers([rng.randrange(4000)], 8))
                    for _ in range(8):
                        own.done()
        at_once(work, [(drawn_seed() + i,) for i in range(2)])
        entries = everything(server)
        equal(len({key for key, _ in entries}), len(entries), "no key is there twice")
        equal(server.ask("DBSIZE"), len(entries), "DBSIZE")


if __name__ == "__main__":
    main()
