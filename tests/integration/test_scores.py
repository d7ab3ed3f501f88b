#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The operations of a cache by bulk frames: scores, evictions, ranges of scores, epochs, sums."""

import importlib.util
import random
import struct

import wire
from harness import BUILD, ROOT, Skip, case, check, drawn_seed, equal, main, run, start
from ring import (EVICTED_KEYS, EVICTED_SCORES, EVICTED_VALUES, FOUND, KEYS, NOT_ADMITTED, OPERANDS, SCORES, SCORES_OUT,
                  VALUES, Ring, numbers, place, serving)

CLI = BUILD / "sherwood-cli"
VALUE = 20
SLOTS = 128  # one bucket: who leaves is the lowest of all
FLAGS = ("--backend", "cpu", "--engine", "cache", "--cache-mode", "throughput", "--capacity", str(SLOTS),
         "--value-format", "fixed")


class Model:
    """A bucket with the policy custom, written from the documentation."""

    def __init__(self):
        self.held = {}  # key: [value, score]
        self.evicted, self.turned_away, self.found, self.values, self.scores = [], [], [], [], []

    def insert(self, key, value, score):
        if len(self.held) == SLOTS:
            lowest = min(self.held, key=lambda k: self.held[k][1])
            if score < self.held[lowest][1]:
                return True
            self.evicted.append((lowest, *self.held.pop(lowest)))
        self.held[key] = [value, score]
        return False

    def apply(self, operation, keys, values, scores):
        for i, key in enumerate(keys):
            entry = self.held.get(key)
            self.found.append(int(entry is not None))
            self.values.append(entry[0] if entry else bytes(VALUE))
            turned_away = False
            if operation == wire.DELETE:
                self.held.pop(key, None)
            elif entry is None:
                if operation in (wire.SET, wire.SET_ABSENT, wire.FIND_OR_INSERT, wire.ADD_U32):
                    turned_away = self.insert(key, values[i], scores[i] if scores else 0)
            else:
                if operation in (wire.SET, wire.SET_PRESENT, wire.SET_VALUE):
                    entry[0] = values[i]
                elif operation in (wire.ADD_U32, wire.ADD_PRESENT_U32):
                    both = zip(struct.unpack("<5I", entry[0]), struct.unpack("<5I", values[i]))
                    entry[0] = struct.pack("<5I", *((a + b) % 2**32 for a, b in both))
                uses = operation not in (wire.GET, wire.PEEK, wire.SET_VALUE, wire.SET_ABSENT)
                if scores and uses:
                    entry[1] = scores[i]
            self.turned_away.append(int(turned_away))
            self.scores.append(self.held[key][1] if key in self.held else 0)


WITH_VALUES = ("SET", "SET_ABSENT", "SET_PRESENT", "FIND_OR_INSERT", "SET_VALUE", "ADD_U32", "ADD_PRESENT_U32")
OPERATIONS = (*WITH_VALUES, "GET", "PEEK", "DELETE", "SET_SCORE")


def one_call(interface, model, draw, unused):
    """Carries out a random operation and checks its results."""
    name = draw.choice(["SET"] * 4 + list(OPERATIONS))
    keys = [draw.randrange(300) for _ in range(draw.randrange(1, 100) if draw.random() < .9 else 700)][:interface.keys_max]
    values = [struct.pack("<5I", *(draw.getrandbits(32) for _ in range(5))) for _ in keys] if name in WITH_VALUES else None
    scores = None if name == "PEEK" else [next(unused) for _ in keys]  # no two alike: a tie would go by slots
    wants = {"want_values": draw.random() < .5, "want_found": draw.choice([None, False]),
             "want_scores": draw.random() < .5, "want_not_admitted": draw.random() < .5,
             "want_evicted": draw.choice([0, 1, 2, 3, 4, 5, 7])}
    model.evicted, model.turned_away, model.found, model.values, model.scores = [], [], [], [], []
    model.apply(getattr(wire, name), keys, values, scores)
    expected = {
        "values": model.values if wants["want_values"] else None,
        "found": model.found if wants["want_found"] is None else None,
        "not_admitted": model.turned_away if wants["want_not_admitted"] else None,
        "scores": model.scores if wants["want_scores"] else None,
        "evicted_keys": [e[0] for e in model.evicted] if wants["want_evicted"] else None,
        "evicted_values": [e[1] for e in model.evicted] if wants["want_evicted"] & 2 else None,
        "evicted_scores": [e[2] for e in model.evicted] if wants["want_evicted"] & 4 else None,
    }
    what = f"{name} on {len(keys)} keys, {wants}"
    arrays, *counts = interface.call(name, keys, values, scores, wants)
    equal(arrays, {k: v for k, v in expected.items() if v is not None}, what)
    equal(counts, [sum(model.found), sum(model.turned_away)][:len(counts)], what)
    return len(model.evicted), sum(model.turned_away)


class Frames:
    """Bulk frames."""
    keys_max = 100

    def __init__(self, connection):
        self.connection = connection

    def ask(self, operation, **header):
        reply = wire.exchange(self.connection, wire.envelope(wire.header_of(operation, **header)))
        equal(reply.status, wire.OK, reply.message)
        return reply

    def call(self, name, keys, values, scores, wants):
        reply = wire.exchange(self.connection, wire.cache_frame(getattr(wire, name), keys, values, scores, VALUE, **wants))
        equal(reply.status, wire.OK, f"{name}: {reply.message}")
        return reply.arrays(), reply.hits, reply.not_admitted

    def count(self, low, high):
        return self.ask(wire.COUNT_SCORES, score_min=low, score_max=high).matched

    def erase(self, low, high):
        return self.ask(wire.ERASE_SCORES, score_min=low, score_max=high).matched

    def scan(self, *bounds):
        header = dict(zip(("score_min", "score_max"), bounds)) | ({"by_score": True} if bounds else {})
        reply = self.ask(wire.SCAN, count=SLOTS, want_scores=True, key_bytes=8, value_bytes=VALUE, **header)
        equal(reply.cursor, 0, "cursor")
        return reply.entries()


class Rings:
    """Records of a ring."""
    keys_max = 100
    AT = {i: place(0, i << 16) for i in range(10)}

    def __init__(self, ring):
        self.ring = ring

    def run(self, operation, count=0, arrays=(), **more):
        done = self.ring.run(operation, count, {i: self.AT[i] for i in arrays}, **more)
        equal(done.status, wire.OK, done.message)
        return done

    def words(self, i, count):
        return list(struct.unpack(f"<{count}Q", self.ring.get(self.AT[i], 8 * count)))

    def values(self, i, count):
        data = self.ring.get(self.AT[i], VALUE * count)
        return [data[at:at + VALUE] for at in range(0, len(data), VALUE)]

    def bits(self, i, count):
        data = self.ring.get(self.AT[i], -(-count // 64) * 8)
        return [data[k // 8] >> k % 8 & 1 for k in range(count)]

    def call(self, name, keys, values, scores, wants):
        given = {KEYS: numbers(keys, 8), OPERANDS: values and b"".join(values), SCORES: scores and numbers(scores, 8)}
        for i, data in given.items():
            self.ring.put(self.AT[i], data or b"")
        evicted, count = wants["want_evicted"], len(keys)
        results = {"values": (VALUES, wants["want_values"], self.values), "found": (FOUND, wants["want_found"] is None, self.bits),
                   "scores": (SCORES_OUT, wants["want_scores"], self.words),
                   "not_admitted": (NOT_ADMITTED, wants["want_not_admitted"], self.bits),
                   "evicted_keys": (EVICTED_KEYS, evicted, self.words), "evicted_values": (EVICTED_VALUES, evicted & 2, self.values),
                   "evicted_scores": (EVICTED_SCORES, evicted & 4, self.words)}
        wanted = {result: row for result, row in results.items() if row[1]}
        done = self.run(getattr(wire, name), count, [i for i in given if given[i]] + [row[0] for row in wanted.values()])
        return ({result: read(i, done.evicted_count if result.startswith("evicted") else count)
                 for result, (i, _, read) in wanted.items()}, done.hits, done.not_admitted)

    def count(self, low, high):
        return self.run(wire.COUNT_SCORES, arguments=(0, low, high)).matched

    def erase(self, low, high):
        return self.run(wire.ERASE_SCORES, arguments=(0, low, high)).matched

    def scan(self, *bounds):
        count = self.run(wire.SCAN, SLOTS, (KEYS, VALUES, SCORES_OUT), arguments=(0, *(bounds or (0, 0))), by_score=len(bounds) // 2).count
        return list(zip(self.words(KEYS, count), self.values(VALUES, count), self.words(SCORES_OUT, count)))


class Library:
    """libsherwood by the Python package, which splits calls into frames."""
    keys_max = 700

    def __init__(self, package, client):
        self.np, self.client = package.np, client
        self.count, self.erase = client.count_scores, client.erase_scores

    def call(self, name, keys, values, scores, wants):
        np, evicted = self.np, wants["want_evicted"]
        wanted = {"previous": wants["want_values"], "found": wants["want_found"] is None, "scores": wants["want_scores"],
                  "not_admitted": wants["want_not_admitted"], "evicted": evicted}
        got = self.client.run_many(
            name.lower(), keys, values and np.frombuffer(b"".join(values), np.uint32).reshape(-1, 5),
            scores=scores and np.array(scores, np.uint64), want=[result for result in wanted if wanted[result]])
        rows = {"values": got.previous, "evicted_values": got.evicted_values if evicted & 2 else None}
        arrays = {"found": got.found, "not_admitted": got.not_admitted, "scores": got.scores, "evicted_keys": got.evicted_keys,
                  "evicted_scores": got.evicted_scores if evicted & 4 else None}
        return {**{k: [row.tobytes() for row in v] for k, v in rows.items() if v is not None},
                **{k: [int(n) for n in v] for k, v in arrays.items() if v is not None}},

    def scan(self, *bounds):
        return [(int(key), value.tobytes(), 0) for keys, values in self.client.scan(batch=50, scores=bounds or None)
                for key, value in zip(keys, values)]


@case
def every_operation():
    """custom scores: frames of every operation equal a model, with and without requested results"""
    with start(*FLAGS, "--policy", "custom", "--value-bytes", str(VALUE)) as server, server.connect() as connection:
        beside_the_model(Frames(connection))


@case
def by_a_ring():
    """records of a ring equal the model, with and without requested results"""
    with serving(*FLAGS, "--policy", "custom", "--value-bytes", str(VALUE)) as server, Ring(server) as ring:
        beside_the_model(Rings(ring))


@case
def libsherwood():
    """libsherwood: calls of several frames, with scores and evictions, equal the model"""
    if not importlib.util.find_spec("numpy") or not (ROOT / "build/python/lib/sherwood").exists():
        raise Skip("the Python package is not built: make python")
    import package  # pylint: disable=import-outside-toplevel
    for limit in ("64", "256"):
        with start(*FLAGS, "--policy", "custom", "--value-bytes", str(VALUE), "--frame-ops-max", limit) as server, \
                package.sherwood.connect(server.address(), value_dtype=package.np.uint32) as client:
            beside_the_model(Library(package, client))


def beside_the_model(interface):
    draw = random.Random(drawn_seed())
    model, evicted, turned_away, unused = Model(), 0, 0, iter(draw.sample(range(1, 10**9), 80000))
    for turn in range(250):
        some = one_call(interface, model, draw, unused)
        evicted, turned_away = evicted + some[0], turned_away + some[1]
        if turn % 50 == 49:
            ranges(interface, model)
    check(evicted > 100 and turned_away > 100, f"{evicted} left, {turned_away} did not come")


def ranges(interface, model):
    """Counts, lists and erases a range of scores."""
    def listed(entries, *bounds):
        shows = not isinstance(interface, Library)  # the package shows no scores
        equal(sorted(interface.scan(*bounds)), sorted((k, v, s if shows else 0) for k, (v, s) in entries.items()), f"scan {bounds}")
    scores = sorted(entry[1] for entry in model.held.values())
    low, high = scores[len(scores) // 5], scores[len(scores) * 3 // 4]
    matching = {k: entry for k, entry in model.held.items() if low <= entry[1] <= high}
    equal(interface.count(low, high), len(matching), "count")
    listed(matching, low, high)
    equal(interface.erase(low, high), len(matching), "erase")
    for key in matching:
        del model.held[key]
    listed(model.held)


@case
def uses_by_resp():
    """RESP: reads and writes count as uses, but EXISTS, TTL and other inspections do not, as in redis"""
    lines = (("SET 1 abcdefgh", 1), ("GET 1", 2), ("EXISTS 1 1", 2), ("TYPE 1", 2), ("TTL 1", 2),
             ("PTTL 1", 2), ("OBJECT ENCODING 1", 2), ("MEMORY USAGE 1", 2), ("TOUCH 1 1", 4),
             ("STRLEN 1", 5), ("SETNX 1 bbbbbbbb", 5), ("SET 1 bbbbbbbb NX GET", 6),
             ("SET 1 cccccccc XX", 7), ("MGET 1 2", 8))
    with start(*FLAGS, "--policy", "lfu", "--value-bytes", "8") as server:
        with server.connect() as connection, server.connect() as frames:
            replies = wire.Replies(connection)
            for line, uses in lines:
                reply = replies.ask(*line.split())
                check(not isinstance(reply, wire.Error), f"{line}: {reply}")
                peek = wire.exchange(frames, wire.cache_frame(wire.PEEK, [1], want_scores=True))
                equal(peek.arrays()["scores"], [uses], f"uses after {line}")
            equal(replies.ask("SET", "9", "dddddddd", "NX", "GET"), None, "an absent key")
            equal(replies.ask("GET", "9"), b"dddddddd", "it was set")
            connection.sendall(b"EXISTS 1\r\nGET 1\r\nEXISTS 5\r\n")  # one round
            equal([replies.read() for _ in range(3)], [1, b"cccccccc", 0], "a mixed round")


@case
def epochs():
    """EPOCH returns and raises the epoch, and scores start with it"""
    with start(*FLAGS, "--policy", "epoch-lfu", "--value-bytes", "8") as server:
        with server.connect() as connection:
            for asked, status, epoch in ((0, wire.OK, 0), (7, wire.OK, 7), (0, wire.OK, 7),
                                         (6, wire.BAD_REQUEST, None), (2**32, wire.BAD_REQUEST, None)):
                reply = wire.exchange(connection, wire.envelope(wire.header_of(wire.EPOCH, epoch=asked)))
                equal(reply.status, status, f"epoch {asked}: {reply.message}")
                check(epoch is None or reply.epoch == epoch, f"epoch {reply.epoch}, not {epoch}")
            reply = wire.exchange(connection, wire.cache_frame(wire.SET, [1], [bytes(8)], [5], want_scores=True))
            equal(reply.arrays()["scores"], [(7 << 32) + 5], "a score of epoch 7")
            check("epoch 6 has passed: the current epoch is 7" in wire.exchange(connection, wire.envelope(
                wire.header_of(wire.EPOCH, epoch=6))).message, "what is wrong")


@case
def refusals():
    """a request that the engine or the policy does not support gets an error that says why"""
    rows = {
        (("--policy", "lru"), "SET with scores"): "the policy lru computes scores itself: send no scores",
        (("--policy", "lru"), "EPOCH"): "the lru policy has no EPOCH",
        (("--policy", "custom"), "SET_SCORE"): "SET_SCORE needs scores with the policy custom",
    }
    frames = {
        "SET with scores": wire.cache_frame(wire.SET, [1], [bytes(8)], [1]),
        "SET_SCORE": wire.cache_frame(wire.SET_SCORE, [1]),
        "EPOCH": wire.envelope(wire.header_of(wire.EPOCH)),
        "ADD_F32": wire.cache_frame(wire.ADD_F32, [1], [bytes(8)]),
        "PEEK": wire.cache_frame(wire.PEEK, [1]),
        "GET with scores": wire.cache_frame(wire.GET, [1], want_scores=True),
    }
    for (policy, frame), sentence in rows.items():
        with start(*FLAGS, *policy, "--value-bytes", "8") as server, server.connect() as connection:
            refused(connection, frames[frame], sentence)
    strings = ("--engine", "cache", "--capacity", str(SLOTS), "--value-bytes", "4")
    with start(*strings) as server, server.connect() as connection:
        refused(connection, frames["ADD_F32"], "ADD needs values that are numbers, not strings")
    with start("--capacity", "64K") as server, server.connect() as connection:
        refused(connection, frames["PEEK"], "the robin_hood engine has no PEEK: start the server with --engine cache")
        refused(connection, frames["GET with scores"], "the robin_hood engine has no scores")


def refused(connection, frame, sentence):
    reply = wire.exchange(connection, frame)
    check(sentence in reply.message, f"{sentence!r}, not {reply.message!r}")
    check(reply.status in (wire.BAD_REQUEST, wire.UNKNOWN_OPERATION), f"status {reply.status}")
    equal(wire.exchange(connection, wire.envelope(wire.header_of(wire.PING))).status, wire.OK, "the next frame")


@case
def frames_that_do_not_fit():
    """a frame whose reply might not fit the arena is refused, and a smaller one is not"""
    small = ("--value-bytes", "1024", "--arena-bytes", "16M", "--frame-ops-max", "7680")
    with start(*FLAGS, *small, "--policy", "custom") as server, server.connect() as connection:
        for count, status in ((7680, wire.BAD_REQUEST), (4800, wire.OK)):
            keys, values = list(range(count)), [bytes(1024)] * count
            reply = wire.exchange(connection, wire.cache_frame(wire.SET, keys, values, value_bytes=1024,
                                                     want_evicted=7, want_values=True))
            equal(reply.status, status, reply.message)
        equal(reply.evicted_count, 4800 - SLOTS, "evicted")


@case
def other_sizes():
    """a cache grows towards --max-capacity and evicts nothing; RESIZE shrinks it and keeps the highest scores"""
    flags = ("--backend", "cpu", "--engine", "cache", "--capacity", "256", "--max-capacity", "20K",
             "--policy", "custom", "--value-bytes", "8", "--value-format", "fixed")
    with start(*flags) as server, server.connect() as connection:
        replies = wire.Replies(server.connect())
        keys = list(range(5000))
        reply = wire.exchange(connection, wire.cache_frame(wire.SET, keys, [bytes(8)] * 5000,
                                                 [k + 1 for k in keys], want_evicted=1))
        equal((reply.status, reply.evicted_count), (wire.OK, 0), reply.message)
        equal(replies.ask("DBSIZE"), 5000, "keys")
        check("capacity_slots:16384" in replies.ask("INFO").decode(), "it grew")
        equal(replies.ask("RESIZE", 2048), 2048, "RESIZE")
        held = replies.ask("DBSIZE")
        check(1900 < held <= 2048, f"{held} keys are held")
        reply = wire.exchange(connection, wire.envelope(wire.header_of(wire.COUNT_SCORES, score_min=3500,
                                                             score_max=2**64 - 1)))
        check(reply.matched > 1400, f"of the 1501 highest {reply.matched} are there")
        reply = wire.exchange(connection, wire.envelope(wire.header_of(wire.RESIZE, capacity=30000)))
        equal(reply.status, wire.BAD_REQUEST, "more than max-capacity")


@case
def sherwood_cli():
    """sherwood-cli: PEEK, SCORE, COUNTSCORES, ERASESCORES and EPOCH work"""
    with start(*FLAGS, "--policy", "epoch-lfu", "--value-bytes", "8") as server:
        epoch = 3 << 32
        for words, wanted in (
                (("SET", 1, "abcdefgh"), "OK"), (("SCORE", 1), "1"), (("PEEK", 1), "abcdefgh"),
                (("SCORE", 1), "1"), (("SCORE", 1, 5), "6"), (("SCORE", 2, 5), ""),
                (("EPOCH",), "0"), (("EPOCH", 3), "3"), (("GET", 1), "abcdefgh"),
                (("SCORE", 1), str(epoch + 7)), (("SET", 2, "abcdefgh"), "OK"),
                (("COUNTSCORES", epoch, epoch + 6), "1"), (("ERASESCORES", epoch, epoch + 6), "1"),
                (("EXISTS", 1, 2), "1")):
            equal(run(CLI, "-p", server.port, *words).strip(), wanted, str(words))
        answer = run(CLI, "-p", server.port, "EPOCH", 2, rc=1)
        check("epoch 2 has passed" in answer, answer)
        check("policy:epoch-lfu\n" in run(CLI, "-p", server.port, "INFO"), "INFO")


main()
