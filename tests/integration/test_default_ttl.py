#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""--default-ttl: which writes give a key the default time, by commands and by frames. Logs, snapshots and replicas keep
the primary's time. Tables without expiry refuse the option.

SHERWOOD_SEED=N repeats a run that failed."""

import random
import subprocess
import tempfile
import time

import wire
from harness import BUILD, DAEMON, Server, case, check, drawn_seed, equal, eventually, main
from replication import SMALL, caught_up, replica_of, to_be_killed

TTL = 100000 # seconds; no test is as long
DEFAULT = ("--default-ttl", str(TTL))
CPU = ("--backend", "cpu", "--capacity", "64K", "--frame-ops-max", "0")
FAR = 4000000000 # seconds since 1970: a time that a command has given
NEVER, GIVEN, FRESH = "never", "given", "default" # who said when a key expires
KEYS = 10


class Clock:
    """Distinguishes the default times of writes since its creation from all other times."""

    def __init__(self):
        self.began = int(time.time() * 1000) - 5000

    def kind(self, at):
        """Returns the kind of a PEXPIRETIME reply. None is an absent key."""
        if at == -2:
            return None
        if at in (-1, FAR * 1000):
            return NEVER if at == -1 else GIVEN
        latest = int(time.time() * 1000) + 65000
        check(self.began <= at - TTL * 1000 <= latest, f"{at} is no time that somebody may have given")
        return FRESH


class Model:
    """The expected state of each key: [its value, the origin of its expiry time]."""

    def __init__(self):
        self.keys = {}

    def set(self, key, value, kind):
        self.keys[key] = [value, kind]

    def change(self, key, value, present=True, absent=True):
        """A write that keeps the time of a present key."""
        if key in self.keys:
            self.keys[key][0] = value if present else self.keys[key][0]
        elif absent:
            self.keys[key] = [value, FRESH]

    def drawn(self, rng):
        """Returns a random command and applies it to the model."""
        key, other, value = rng.randrange(KEYS), rng.randrange(KEYS), rng.randrange(100)
        there = key in self.keys
        before = self.keys.get(key, [0, FRESH])

        def move(keeps):
            if there and key != other:
                self.keys[other] = list(before)
                if not keeps:
                    del self.keys[key]

        def pairs():
            self.set(key, value, FRESH)
            self.set(other, 8, FRESH)

        def marks(kind):
            if there:
                before[1] = kind

        return rng.choice([
            (("SET", key, value), lambda: self.set(key, value, FRESH)),
            (("SET", key, value, "EXAT", FAR), lambda: self.set(key, value, GIVEN)),
            (("SET", key, value, "KEEPTTL"), lambda: self.change(key, value)),
            (("SET", key, value, "KEEPTTL", "GET"), lambda: self.change(key, value)),
            (("SET", key, value, "XX", "KEEPTTL"), lambda: self.change(key, value, absent=False)),
            (("SET", key, value, "NX", "KEEPTTL"), lambda: self.change(key, value, present=False)),
            (("SET", key, value, "NX", "GET"), lambda: self.change(key, value, present=False)),
            (("SETNX", key, value), lambda: self.change(key, value, present=False)),
            (("SET", key, value, "XX"), lambda: there and self.set(key, value, FRESH)),
            (("GETSET", key, value), lambda: self.set(key, value, FRESH)),
            (("MSET", key, value, other, 8), pairs),
            (("MSETNX", key, value, other, 8), lambda: there or other in self.keys or pairs()),
            (("INCR", key), lambda: self.change(key, before[0] + 1)),
            (("INCRBY", key, 5), lambda: self.change(key, before[0] + 5)),
            (("OR", key, 3), lambda: self.change(key, before[0] | 3)),
            (("AND", key, 3), lambda: self.change(key, before[0] & 3, absent=False)),
            (("CAS", key, before[0], value), lambda: self.change(key, value, absent=False)),
            (("SET", key, value, "IFEQ", before[0]), lambda: there and self.set(key, value, FRESH)),
            (("SET", key, value, "IFEQ", before[0], "KEEPTTL"), lambda: self.change(key, value, absent=False)),
            (("SET", key, value, "IFEQ", before[0] + 1), lambda: None),
            (("RENAME", key, other), lambda: move(False)),
            (("COPY", key, other, "REPLACE"), lambda: move(True)),
            (("PERSIST", key), lambda: marks(NEVER)), (("GETEX", key, "PERSIST"), lambda: marks(NEVER)),
            (("EXPIREAT", key, FAR), lambda: marks(GIVEN)), (("GETEX", key, "EXAT", FAR), lambda: marks(GIVEN)),
            (("EXPIREAT", key, FAR, "NX"), lambda: marks(GIVEN if before[1] == NEVER else before[1])),
            (("DEL", key), lambda: self.keys.pop(key, None)), (("GETDEL", key), lambda: self.keys.pop(key, None)),
            (("GET", key), lambda: None)])


@case
def commands():
    """random commands, in batches and in transactions, give each key the default time, another one or none"""
    rng = random.Random(drawn_seed())
    with Server(*CPU, *DEFAULT) as server, server.connect() as connection:
        replies = wire.Replies(connection)
        clock, model = Clock(), Model()
        for _ in range(120):
            sent, apart = [], rng.random() < 0.3
            for _ in range(rng.randrange(1, 24)):
                words, effect = model.drawn(rng)
                effect()
                queued = words[0] not in ("MSETNX", "RENAME", "COPY") and "IFEQ" not in words
                sent += [("MULTI",), words, ("EXEC",)] if apart and queued else [words]
            sent += [(word, key) for key in range(KEYS) for word in ("GET", "PEXPIRETIME")]
            connection.sendall(b"".join(wire.command(*words) for words in sent))
            got = [replies.read() for _ in sent][-2 * KEYS:]
            for key in range(KEYS):
                value, kind = got[2 * key], clock.kind(got[2 * key + 1])
                equal([value if value is None else int(value), kind], model.keys.get(key, [None, None]), f"{key} after {sent}")


@case
def none_without():
    """without --default-ttl a key has an expiry time only if a command gives it one"""
    with Server(*CPU) as server, server.replies() as replies:
        equal([replies.ask("SET", 1, 5), replies.ask("INCR", 2), replies.ask("MSET", 3, 4, 5, 6), replies.ask("SET", 7, 1, "KEEPTTL")],
              ["OK", 1, "OK", "OK"], "writes")
        equal([replies.ask("TTL", key) for key in (1, 2, 3, 5, 7)], [-1] * 5, "TTL")
        check(b"expires=0" in replies.ask("INFO", "keyspace"), "INFO")


def answered(connection, request):
    reply = wire.exchange(connection, request)
    equal(reply.status, wire.OK, reply.message)
    return reply


@case
def refused_frames():
    """a frame for which there is no room gives no key a time"""
    with Server(*CPU, *DEFAULT, "--max-capacity", "64K") as server, server.replies() as replies, server.connect() as frames_of:
        equal(replies.ask("SET", 1, 6), "OK", "SET")
        many = list(range(2, 70000))
        frames_of.sendall(wire.frame(wire.SET, many, many))
        check(wire.read_frame(frames_of).status != wire.OK, "a frame for which there is no room")
        check(b"keys=1,expires=1," in replies.ask("INFO", "keyspace"), "times of nobody")


@case
def time_comes():
    """a key expires and is swept after the default time; one with a longer time of its own stays"""
    with Server(*CPU, "--default-ttl", "1") as server, server.replies() as replies, server.connect() as frames_of:
        began = time.monotonic()
        equal([replies.ask("SET", 1, 5), replies.ask("SET", 2, 5, "EX", TTL)], ["OK", "OK"], "SET")
        answered(frames_of, wire.frame(wire.SET, [3, 4], [5, 5]))
        eventually(lambda: replies.ask("DBSIZE") == 1, "they are swept", 20)
        check(time.monotonic() - began >= 0.99, "not before their time")
        equal([replies.ask("GET", key) for key in (1, 2, 3, 4)], [None, b"5", None, None], "after")


def write_everything(server):
    """Writes by each interface; returns the keys."""
    with server.connect() as connection, server.connect() as frames_of:
        replies = wire.Replies(connection)
        equal([replies.ask("SET", 1, 5), replies.ask("MSET", 2, 6, 3, 7), replies.ask("INCR", 4), replies.ask("SET", 5, 1, "EXAT", FAR),
               replies.ask("PERSIST", 2), replies.ask("RENAME", 3, 6), replies.ask("COPY", 5, 7), replies.ask("SET", 8, 1, "KEEPTTL")],
              ["OK", "OK", 1, "OK", 1, "OK", 1, "OK"], "commands")
        connection.sendall(b"".join(wire.command(*words) for words in (
            ("SET", 9, 1), ("GET", 9), ("SET", 10, 1, "EXAT", FAR), ("PERSIST", 9), ("INCR", 11), ("DEL", 11), ("INCR", 12))))
        equal([replies.read() for _ in range(7)], ["OK", b"1", "OK", 1, 1, 1, 1], "many at once")
        answered(frames_of, wire.frame(wire.SET, [13, 14], [5, 5]))
        answered(frames_of, wire.frame(wire.SUM, [2, 15], [5, 5]))
        answered(frames_of, wire.frame(wire.OR, [2, 16], [5, 5]))
    return range(1, 17)


def times(server, keys):
    with server.replies() as replies:
        return [replies.ask("PEXPIRETIME", key) for key in keys]


@case
def files_and_replicas():
    """a replica keeps the times of its primary whatever its own default, and so do the log and snapshots"""
    with tempfile.TemporaryDirectory() as directory:
        files = ("--data-dir", directory, "--appendonly", "yes", "--appendfsync", "always", *SMALL, "--backend", "cpu")
        with to_be_killed(Server(*files, *DEFAULT)) as server, \
                replica_of(server.port, "--backend", "cpu", "--default-ttl", "7") as replica:
            keys = write_everything(server)
            given = times(server, keys)
            clock = Clock()
            equal([clock.kind(at) for at in given], [FRESH, NEVER, None, FRESH, GIVEN, FRESH, GIVEN, FRESH, NEVER, GIVEN, None,
                                                     FRESH, FRESH, FRESH, FRESH, FRESH], "given")
            caught_up(server, replica)
            equal(times(replica, keys), given, "the replica's")
            equal([replica.ask("REPLICAOF", "NO", "ONE"), replica.ask("SET", 20, 1)], ["OK", "OK"], "it takes over")
            check(0 < replica.ask("TTL", 20) <= 7, "now its own default holds")
            equal(times(replica, keys), given, "those that there are stay")
        with to_be_killed(Server(*files)) as server: # from the log
            equal(times(server, keys), given, "after a kill")
            equal([server.ask("SET", 20, 1), server.ask("TTL", 20), server.ask("DEL", 20), server.ask("SAVE")],
                  ["OK", -1, 1, "OK"], "without a default")
        with Server(*files, "--default-ttl", "9") as server: # from the snapshot
            equal(times(server, keys), given, "after a snapshot")


@case
def rows():
    """sums with operands of another type, and writes of parts, keep the times of rows, also at a replica"""
    with Server(*SMALL, "--backend", "cpu", "--value-bytes", "8", "--value-type", "f16", *DEFAULT) as server, \
            server.replies() as replies, server.connect() as frames_of, \
            replica_of(server.port, "--backend", "cpu", "--value-bytes", "8", "--value-type", "f16") as replica:
        clock = Clock()
        equal([replies.ask("SET", 1, bytes(8)), replies.ask("SET", 2, bytes(8)), replies.ask("PERSIST", 2),
               replies.ask("SET", 3, bytes(8), "EXAT", FAR)], ["OK", "OK", 1, "OK"], "SET")
        answered(frames_of, wire.cache_frame(wire.ADD_F16, [1, 2, 3, 4], [bytes(16)] * 4, value_bytes=8, operand_type=4))
        answered(frames_of, wire.cache_frame(wire.SETRANGE, [2, 5], [bytes(2)] * 2, value_bytes=8, range_offset=2, range_bytes=2))
        given = times(server, range(1, 6))
        equal([clock.kind(at) for at in given], [FRESH, NEVER, GIVEN, FRESH, FRESH], "times")
        caught_up(server, replica)
        equal(times(replica, range(1, 6)), given, "the replica's")


@case
def refused():
    """a backend or an engine without expiry refuses --default-ttl at the start"""
    for program, flags, words in (
            (BUILD / "sherwoodd-null", (), "default-ttl: keys do not expire with the null backend: choose --backend cpu"),
            (DAEMON, ("--backend", "cpu", "--engine", "cuckoo"), "default-ttl is not an option of the cuckoo engine"),
            (DAEMON, ("--backend", "cpu", "--default-ttl", "-1"), "default-ttl: '-1' is not a whole number")):
        done = subprocess.run([str(program), "--port", "0", "--http-port", "0", "--capacity", "64K", *DEFAULT, *flags], text=True,
                              timeout=60, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        check(done.returncode in (1, 2) and words in done.stderr, done)


main()
