#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Frames that set and read expiry times, beside commands on the same keys: a model, errors, files and replicas.

SHERWOOD_SEED=N repeats a run that failed."""

import random
import struct
import time

import wire
from data_directory import Directory, durable
from harness import Server, case, check, drawn_seed, equal, eventually, main
from replication import SMALL, caught_up, replica_of

CPU = ("--backend", "cpu", "--capacity", "64K", "--frame-ops-max", "0")
KEYS = 14
MOST = 2**63 - 1  # the latest time
FAR = 4000000000000  # milliseconds since 1970
LONG_OVER = 5000
EXPIRES = {wire.EXPIRE: "", wire.EXPIRE_NONE: "NX", wire.EXPIRE_SOME: "XX", wire.EXPIRE_LATER: "GT",
           wire.EXPIRE_EARLIER: "LT", wire.EXPIRE_SHORTEN: "XX LT"}
INTEGERS = (wire.SUM, wire.MIN, wire.MAX, wire.INCREMENT)
GIVES = (wire.SET, wire.SET_PRESENT)  # also of a present key
TABLES = {(): (8, 8), ("--key-bits", "32"): (4, 4), ("--value-bytes", "20"): (8, 20),  # bytes of a key, of a value
          ("--default-ttl", "50000000"): (8, 8, 50000000000)}  # the third number: default milliseconds to live


def now_ms():
    return int(time.time() * 1000)


class Around(int):
    """A relative time: the values that it may have by the server's clock."""

    def __new__(cls, relative, now):
        self = super().__new__(cls, now + relative)
        self.relative = relative
        return self

    def holds(self, at):
        return int(self) - 2 <= at <= now_ms() + self.relative + 2


class Model:
    """What a server has: {key: [value, when it expires; 0: never]}."""

    def __init__(self, key_bytes, value_bytes, default=0):
        self.key_bytes, self.value_bytes, self.default, self.keys = key_bytes, value_bytes, default, {}

    def unsaid(self):
        return Around(self.default, now_ms()) if self.default else 0

    def give(self, key, value, at):
        if 0 < at <= LONG_OVER:
            self.keys.pop(key, None)
        else:
            self.keys[key] = [value, at]

    @staticmethod
    def condition_holds(operation, before, at):
        earlier = before == 0 or at < before
        return {wire.EXPIRE: True, wire.EXPIRE_NONE: before == 0, wire.EXPIRE_SOME: before != 0,
                wire.EXPIRE_LATER: before != 0 and at > before, wire.EXPIRE_EARLIER: earlier,
                wire.EXPIRE_SHORTEN: before != 0 and earlier}[operation]

    def value_after(self, operation, there, before, operand):
        """None: nothing is written."""
        most = 2**(8 * self.value_bytes) - 1
        return {wire.SET: lambda: operand, wire.SET_ABSENT: lambda: None if there else operand,
                wire.SET_PRESENT: lambda: operand if there else None,
                wire.SUM: lambda: before + operand & most, wire.MIN: lambda: min(before, operand) if there else operand,
                wire.MAX: lambda: max(before, operand) if there else operand,
                wire.INCREMENT: lambda: before + operand if before + operand <= most else None}[operation]()

    def apply(self, operation, key, operand, at):
        """Carries out one operation. Returns the value or time of its reply, its bit, and whether it overflowed.
        `at` None: KEEP."""
        there = key in self.keys
        before, time_before = self.keys.get(key, [0, 0])
        if operation == wire.TTL:
            return time_before, there, False
        if operation == wire.DELETE:
            self.keys.pop(key, None)
        elif operation == wire.PERSIST:
            if there:
                self.keys[key][1] = 0
            return before, there and time_before != 0, False
        elif operation in EXPIRES:
            changes = there and self.condition_holds(operation, time_before, at)
            if changes:
                self.give(key, before, at)
            return before, changes, False
        elif operation != wire.GET:
            after = self.value_after(operation, there, before, operand)
            if after is None:
                return before, there, operation == wire.INCREMENT
            if not there or operation in GIVES:
                kept = at is None and there
                self.give(key, after, time_before if kept else at or self.unsaid())
            else:
                self.keys[key][0] = after
        return before, there, False

    def body(self, keys, operands, each):
        parts = [wire.array(keys, self.key_bytes)]
        if operands is not None:
            parts.append(wire.padded(b"".join(n.to_bytes(self.value_bytes, "little") for n in operands)))
        if each is not None:
            parts.append(wire.array(each, 8))
        return b"".join(parts)

    def frame(self, operation, keys, operands=None, each=None, **header):
        return wire.envelope(wire.header_of(operation, count=len(keys), key_bytes=self.key_bytes, has_times=each is not None,
                                            value_bytes=self.value_bytes, **header), self.body(keys, operands, each))

    def same(self, got, key, what):
        """Checks the time of the key. This also narrows the range of a relative time."""
        wanted = self.keys[key][1] if key in self.keys else 0
        if isinstance(wanted, Around):
            check(wanted.holds(got), f"{what}: key {key} expires at {got}, not around {int(wanted)}")
            self.keys[key][1] = got
        else:
            equal(got, wanted, f"{what}: key {key} expires")

    def look(self, rng, connection, replies, what):
        """Compares every key, by either protocol."""
        keys = list(range(KEYS))
        values = wire.exchange(connection, self.frame(wire.GET, keys, want_values=True)).arrays()
        times = wire.exchange(connection, self.frame(wire.TTL, keys, want_values=True)).arrays()
        there = [int(key in self.keys) for key in keys]
        equal([values["found"], times["found"]], [there, there], f"{what}: keys")
        for key in keys:
            equal(int.from_bytes(values["values"][key], "little"), self.keys.get(key, [0])[0], f"{what}: value of {key}")
            self.same(int.from_bytes(times["values"][key], "little"), key, what)
        key = rng.choice(keys)
        wanted = -2 if key not in self.keys else self.keys[key][1] or -1
        equal(replies.ask("PEXPIRETIME", key), wanted, f"{what}: PEXPIRETIME {key}")


class Drawn:
    """A frame of a random operation, its times, and a check of its reply."""

    def __init__(self, rng, model, seed):
        is_row = model.value_bytes > 8
        self.operation = rng.choice([wire.GET, wire.TTL, wire.DELETE, wire.PERSIST, wire.SET, wire.SET, wire.SET_ABSENT,
                                     wire.SET_PRESENT, *EXPIRES, *EXPIRES, *(() if is_row else INTEGERS)])
        count = rng.choice((1, 1, 2, 3, 7, 64, 65, 130))
        self.keys = [rng.randrange(KEYS) for _ in range(count)]
        self.model, self.what = model, f"seed {seed}: operation {self.operation} of {self.keys}"
        writes = self.operation in (wire.SET, wire.SET_ABSENT, wire.SET_PRESENT, *INTEGERS)
        most = 2**(8 * model.value_bytes) - 1
        self.operands = [rng.choice((0, 1, 7, rng.randrange(most), most)) for _ in self.keys] if writes else None
        self.header = {"want_values": rng.random() < .6, "want_found": rng.choice((None, None, False))}
        self.each, self.times, self.at = None, wire.UNSAID, [0] * count
        if self.operation in EXPIRES or (writes and rng.random() < .7):
            self.draw_times(rng, count)
        self.header["times"] = self.times

    def draw_times(self, rng, count):
        self.times = rng.choice((wire.AT, wire.AT, wire.IN))
        if self.operation in GIVES and rng.random() < .25:
            self.times, self.at = wire.KEEP, [None] * count
            return
        def draw():
            return (rng.choice((1, LONG_OVER, FAR, FAR + 1, FAR + 2, FAR + 1000, MOST)) if self.times == wire.AT
                    else 10**8 + 2000 * rng.randrange(10**7))  # no two are close to each other
        if rng.random() < .5:
            self.header["time_ms"] = draw()
            raw = [self.header["time_ms"]] * count
        else:
            self.each = raw = [draw() for _ in range(count)]
        now = now_ms()
        self.at = raw if self.times == wire.AT else [Around(ms, now) for ms in raw]

    def send(self, connection):
        frame = self.model.frame(self.operation, self.keys, self.operands, self.each, **self.header)
        # relative times count from before the frame is sent
        answers = [self.model.apply(self.operation, key, self.operands[i] if self.operands else 0, self.at[i])
                   for i, key in enumerate(self.keys)]
        connection.sendall(frame)
        self.compare(wire.read_frame(connection), answers)

    def compare(self, reply, answers):
        equal([reply.status, reply.message, reply.count], [wire.OK, "", len(self.keys)], self.what)
        equal([reply.hits, reply.overflows], [sum(bit for _, bit, _ in answers), sum(over for _, _, over in answers)], self.what)
        arrays = reply.arrays()
        if self.header["want_found"] is None:
            equal(arrays["found"], [int(bit) for _, bit, _ in answers], self.what + ": bits")
        for i, data in enumerate(arrays.get("values", ())):
            got, wanted = int.from_bytes(data, "little"), answers[i][0]
            if isinstance(wanted, Around):
                check(wanted.holds(got), f"{self.what}: {got} is not around {int(wanted)}")
            else:
                equal(got, wanted, f"{self.what}: value {i}")


def command(rng, model, replies, what):
    """A command on the same keys."""
    fresh = model.unsaid()
    key, value, at = rng.randrange(KEYS), rng.randrange(100), rng.choice((1000, FAR, FAR + 1, FAR + 1000))
    there, before, text = key in model.keys, model.keys.get(key, [0, 0]), value
    if model.value_bytes > 8:
        text = value.to_bytes(model.value_bytes, "little")
    kind = rng.randrange(5)
    if kind == 0:
        equal(replies.ask("SET", key, text, "PXAT", at), "OK", what)
        model.give(key, value, at)
    elif kind == 1:
        equal(replies.ask("SET", key, text, "KEEPTTL"), "OK", what)
        model.give(key, value, before[1] if there else fresh)
    elif kind == 2:
        operation = rng.choice([op for op, words in EXPIRES.items()])
        changes = there and model.condition_holds(operation, before[1], at)
        equal(replies.ask("PEXPIREAT", key, at, *EXPIRES[operation].split()), int(changes), what)
        if changes:
            model.give(key, before[0], at)
    elif kind == 3:
        equal(replies.ask("PERSIST", key), int(there and before[1] != 0), what)
        if there:
            before[1] = 0
    else:
        equal(replies.ask("DEL", key), int(there), what)
        model.keys.pop(key, None)


def refused(rng, model, connection, what):
    """A frame with one invalid time is refused whole."""
    keys = [rng.randrange(KEYS) for _ in range(5)]
    operation = rng.choice((wire.SET, wire.EXPIRE, wire.SET_ABSENT))
    operands = None if operation == wire.EXPIRE else [9] * 5
    times = rng.choice((wire.AT, wire.IN))
    bad = rng.choice((0, 2**63, 2**64 - 1, *((MOST, MOST - 1000) if times == wire.IN else ())))
    each = [FAR if times == wire.AT else 1000] * 5
    each[rng.randrange(5)] = bad
    how = {"each": each} if rng.random() < .5 else {"time_ms": bad}
    reply = wire.exchange(connection, model.frame(operation, keys, operands, times=times, **how))
    check(reply.status == wire.BAD_REQUEST and "2^63 - 1" in reply.message, f"{what}: {bad}: {reply.message}")
    equal(reply.body, b"", what)


def steps(rng, seed, model, server, count):
    with server.connect() as connection, server.replies() as replies:
        for step in range(count):
            what = f"seed {seed}, step {step}"
            if rng.random() < .3:
                command(rng, model, replies, what)
            elif rng.random() < .1:
                refused(rng, model, connection, what)
            else:
                Drawn(rng, model, f"{seed}, step {step}").send(connection)
            model.look(rng, connection, replies, what)


@case
def beside_a_model():
    """random frames that set, change, remove and read times, and commands on the same keys, equal a model each step"""
    seed = drawn_seed()
    rng = random.Random(seed)
    for flags, widths in TABLES.items():
        with Server(*CPU, *flags) as server:
            steps(rng, seed, Model(*widths), server, 250)


@case
def files_and_replicas():
    """a restart from the log and a replica have what frames wrote; the replica has the same digest"""
    seed = drawn_seed()
    rng = random.Random(seed)
    for flags, widths in TABLES.items():
        model = Model(*widths)
        with Directory() as directory:
            for _ in range(3):
                with durable(directory, rng.choice(("always", "everysec")), *flags, "--backend", "cpu") as server, \
                        replica_of(server.port, "--backend", "cpu", *flags) as replica:
                    steps(rng, seed, model, server, 30)
                    caught_up(server, replica)
                    with replica.connect() as connection, replica.replies() as replies:
                        model.look(rng, connection, replies, f"seed {seed}: replica")
                    if rng.random() < .5:
                        server.ask("SAVE")
                    equal(replica.ask("REPLICAOF", "NO", "ONE"), "OK", "it takes over")
                    with replica.connect() as connection, replica.replies() as replies:
                        model.look(rng, connection, replies, f"seed {seed}: new primary")
            with durable(directory, "everysec", *flags, "--backend", "cpu") as server, server.connect() as connection, \
                    server.replies() as replies:
                model.look(rng, connection, replies, f"seed {seed}: restarted")


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
def defaults_in_a_log():
    """keys stored with KEEP under --default-ttl have their times after a restart, by frames and by commands"""
    for level in ("always", "everysec"):
        with Directory() as directory:
            flags = ("--backend", "cpu", "--default-ttl", "100000")
            with durable(directory, level, *flags) as server, server.connect() as connection, server.replies() as replies:
                asked(connection, wire.SET, (1,), (5,), times=wire.AT, time_ms=FAR)
                asked(connection, wire.SET, (1, 2, 2), (6, 7, 8), times=wire.KEEP)
                replies.ask("SET", 3, 9, "KEEPTTL")
                wanted = [replies.ask("MGET", 1, 2, 3)] + [replies.ask("PEXPIRETIME", key) for key in (1, 2, 3)]
                equal([wanted[0], wanted[1], abs(wanted[2] - wanted[3]) < 10000], [[b"6", b"8", b"9"], FAR, True], "before")
            with durable(directory, level, *flags) as server, server.replies() as replies:
                equal([replies.ask("MGET", 1, 2, 3)] + [replies.ask("PEXPIRETIME", key) for key in (1, 2, 3)], wanted, level)


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
