#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Keys that expire in a daemon with the CUDA backend on the emulator (make emulated-daemon): commands, expiry, files, a
replica on the CPU backend, rows, key strings. Holes of an idle table."""

import pathlib
import subprocess
import tempfile
import time

import wire
from collisions import other
from harness import BUILD, Server, case, check, equal, eventually, main
from replication import caught_up, replica_of

EMULATED = BUILD / "emulator" / "sherwoodd"
CUDA = ("--backend", "cuda", "--capacity", "512", "--max-capacity", "4K", "--stash", "64", "--loops", "1",
        "--frame-ops-max", "512", "--round-ops-max", "512")
FAR = 4000000000000 # milliseconds since 1970
COLLISION = wire.Error("COLLISION an existing key has the same hash (--resp-keys hash); nothing was changed")


@case
def commands():
    """commands set, read, keep and remove expiry times"""
    with Server(*CUDA, program=EMULATED) as server, server.replies() as replies:

        def says(*words_and_reply):
            *words, reply = words_and_reply
            equal(replies.ask(*words), reply, words)

        says("SET", 1, 5, "PXAT", FAR, "OK")
        says("PEXPIRETIME", 1, FAR)
        says("INCR", 1, 6)
        says("PEXPIRETIME", 1, FAR)
        says("SET", 1, 7, "OK")
        says("TTL", 1, -1)
        says("EXPIRE", 9, 5, 0)
        says("PEXPIREAT", 1, FAR, "XX", 0)
        says("PEXPIREAT", 1, FAR, "NX", 1)
        says("PEXPIREAT", 1, FAR + 1, "LT", 0)
        says("PEXPIREAT", 1, FAR + 1, "GT", 1)
        says("GETEX", 1, "PERSIST", b"7")
        says("PERSIST", 1, 0)
        says("SET", 2, 3, "PXAT", 1, "OK")
        says("EXISTS", 2, 0)
        says("SETEX", 2, 500, 4, "OK")
        says("RENAME", 2, 3, "OK")
        check(490 <= replies.ask("TTL", 3) <= 500, "a name's time")
        says("EXPIRE", 3, -1, 1)
        says("DBSIZE", 1)
        says("MSET", *range(100, 120), "OK")
        says("DEL", *range(100, 120, 2), 10)


@case
def times_come():
    """a key is absent for reads and writes from its expiry time on; the sweep removes and counts it"""
    with Server(*CUDA, program=EMULATED) as server, server.replies() as replies:
        for key in range(40):
            equal(replies.ask("SET", key, key, "PX", 4000), "OK", "SET")
        equal(replies.ask("SET", 100, 1), "OK", "one that stays")
        equal(replies.ask("GET", 39), b"39", "one that lives")
        time.sleep(4.1)
        equal(replies.ask("MGET", 0, 1, 100), [None, None, b"1"], "MGET")
        equal(replies.ask("INCR", 0), 1, "a new key")
        equal(replies.ask("TTL", 0), -1, "without a time")
        eventually(lambda: replies.ask("DBSIZE") == 2, "the sweep", 30)
        samples = server.metrics()
        equal((samples["sherwood_expired_total"], samples["sherwood_expiring_keys"]), (40, 0), "metrics")
        equal(sorted(replies.ask("KEYS", "*")), [b"0", b"100"], "KEYS")


@case
def files():
    """the log and snapshots have expiry times, which the CPU backend also reads"""
    with tempfile.TemporaryDirectory() as directory:
        kept = ("--data-dir", directory, "--appendonly", "yes", "--appendfsync", "no")
        with Server(*CUDA, *kept, program=EMULATED, stop_rc=-9) as server, server.replies() as replies:
            for key in range(30):
                equal(replies.ask("SET", key, key, "PXAT", FAR + key), "OK", "SET")
            equal(replies.ask("SET", 50, 1, "PX", 100), "OK", "one that ends")
            time.sleep(0.2)
            equal(replies.ask("SET", 50, 2, "NX"), "OK", "and comes again")
            server.kill()
        for program, flags in ((EMULATED, CUDA), (None, ("--backend", "cpu", "--capacity", "512"))):
            program_of = {} if program is None else {"program": program}
            with Server(*flags, *kept, **program_of) as server, server.replies() as replies:
                equal([replies.ask("PEXPIRETIME", key) for key in (0, 29, 50)], [FAR, FAR + 29, -1], "times")
                equal(replies.ask("GET", 50), b"2", "a value")
                equal(replies.ask("DBSIZE"), 31, "DBSIZE")
                equal(replies.ask("SAVE"), "OK", "SAVE")
        snapshot = str(next(pathlib.Path(directory).glob("snapshot-*")))
        done = subprocess.run([str(BUILD / "sherwood-cli"), "snapshot", "info", snapshot], capture_output=True, check=True)
        check(b"expires:yes\n" in done.stdout, done.stdout)


@case
def a_replica():
    """a CPU replica of a CUDA primary has its keys and times, and loses the keys that the primary removes"""
    with Server(*CUDA, program=EMULATED) as primary:
        for key in range(20):
            equal(primary.ask("SET", key, key, "PXAT", FAR + key), "OK", "SET")
        with replica_of(primary.port, "--backend", "cpu", "--capacity", "4K") as replica:
            caught_up(primary, replica)
            equal(primary.ask("SET", 30, 1, "PX", 200), "OK", "SET")
            equal(primary.ask("PEXPIREAT", 5, FAR + 100), 1, "PEXPIREAT")
            eventually(lambda: replica.ask("DBSIZE") == 20 and primary.ask("DBSIZE") == 20, "removed", 30)
            caught_up(primary, replica)
            equal([replica.ask("PEXPIRETIME", key) for key in (4, 5, 19, 30)], [FAR + 4, FAR + 100, FAR + 19, -2], "times")
            equal(primary.ask("DIGEST"), replica.ask("DIGEST"), "DIGEST")


@case
def rows():
    """rows expire, and their memory is reused"""
    with Server(*CUDA, "--value-bytes", "64", program=EMULATED) as server, server.replies() as replies:
        row = bytes(range(64))
        for life in range(3):
            for key in range(20):
                equal(replies.ask("SET", key, row, "PX", 4000), "OK", "SET")
            equal(replies.ask("GET", 19), row, f"life {life}")
            eventually(lambda: replies.ask("DBSIZE") == 0, "all have gone", 30)
        equal(replies.ask("SET", 1, row, "PXAT", FAR), "OK", "SET")
        equal(replies.ask("SETRANGE", 1, 2, b"xy"), 64, "SETRANGE")
        equal([replies.ask("PEXPIRETIME", 1), replies.ask("GETRANGE", 1, 0, 4)], [FAR, row[:2] + b"xy" + row[4:5]], "its time")


@case
def texts_of_keys():
    """string keys expire: another key may take the hash of an expired one; log and snapshots have strings and times"""
    texts = (*CUDA, "--resp-keys", "hash", "--resp-key-text-bytes", "30", "--value-bytes", "12", "--value-type", "string")
    key, keys = b"user:1000:name", [b"kept:%d" % i for i in range(20)]
    twin = other(key)
    with tempfile.TemporaryDirectory() as directory:
        kept = ("--data-dir", directory, "--appendonly", "yes", "--appendfsync", "no")
        with Server(*texts, *kept, program=EMULATED, stop_rc=-9) as server, server.replies() as replies:
            equal(replies.ask("SET", key, "one", "EX", 1000), "OK", "SET")
            equal([replies.ask(*words) for words in (("GET", twin), ("SET", twin, 2, "EX", 9), ("EXPIRE", twin, 9), ("TTL", twin), ("DEL", twin))],
                  [COLLISION] * 5, "while it lives")
            equal(replies.ask("GET", key), b"one", "it has lost nothing")
            for i, each in enumerate(keys):
                equal(replies.ask("SET", each, b"v%d" % i, "PXAT", FAR + i), "OK", "SET")
            equal(replies.ask("PEXPIRE", key, 300), 1, "PEXPIRE")
            eventually(lambda: replies.ask("EXISTS", twin) == 0, "its time comes", 30)
            equal([replies.ask("SET", twin, "two", "PXAT", FAR), replies.ask("GET", key), replies.ask("GET", twin)],
                  ["OK", COLLISION, b"two"], "the other's")
            equal(replies.ask("SET", keys[0], "gone", "PX", 300), "OK", "SET")
            eventually(lambda: replies.ask("DBSIZE") == len(keys), "it is swept", 30)
            server.kill()
        for life in range(2):
            with Server(*texts, *kept, program=EMULATED) as server, server.replies() as replies:
                equal(sorted(replies.ask("KEYS", "*")), sorted([twin, *keys[1:]]), f"KEYS, life {life}")
                equal([replies.ask("PEXPIRETIME", each) for each in (twin, keys[1], keys[19])], [FAR, FAR + 1, FAR + 19], "times")
                equal(replies.ask("GET", key), COLLISION, "its text")
                equal(replies.ask("SAVE"), "OK", "SAVE")


@case
def by_default():
    """--default-ttl gives keys a time"""
    with Server(*CUDA, "--default-ttl", "500", program=EMULATED) as server, server.replies() as replies:
        equal(replies.ask("SET", 1, 2), "OK", "SET")
        check(490 <= replies.ask("TTL", 1) <= 500, "TTL")


@case
def holes():
    """a frame of 2^18 deletes leaves holes, and the server closes them while the table is idle"""
    keys = range(1 << 18)
    with Server("--backend", "cuda", "--capacity", "320K", "--loops", "2", "--frame-ops-max", "256K", program=EMULATED) as server:
        with server.connect() as frames:
            equal(wire.call(frames, wire.SET, keys, keys).status, wire.OK, "written")
            equal(wire.call(frames, wire.DELETE, keys).status, wire.OK, "deleted")
            eventually(lambda: server.metrics()["sherwood_table_hole_passes_total"] == 1, "a pass")
            equal(server.metrics()["sherwood_table_holes_max_slots"], 0, "no holes")
            time.sleep(0.5)
            equal(server.metrics()["sherwood_table_hole_passes_total"], 1, "one pass")
            reply = wire.call(frames, wire.GET, keys)
            equal(sum(reply.found()), 0, "no key is left")


if __name__ == "__main__":
    main()
