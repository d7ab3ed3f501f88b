#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Tables of ids (--ids): who may set values, full tables, expiry, restarts, a replica that takes over, several tables."""

import collections
import random
import select
import struct
import threading

import wire
from data_directory import SMALL, Directory, does_not_start, durable, next_segment
from faults import Faults
from frame_tables import table
from harness import Server, case, check, equal, error_of, eventually, main, refusal, start
from replication import caught_up, info, replica_of
from ring import FOUND, KEYS, VALUES, Ring, numbers, place, serving

IDS = ("--backend", "cpu", "--ids", "1000")
CACHE = ("--engine", "cache")


def ids_of(replies, *keys):
    """Returns the ids of keys, and the places of those that are new."""
    flat = replies.ask("ASSIGN", *keys)
    return flat[0::2], [i for i, new in enumerate(flat[1::2]) if new]


class Model:
    """The ids of keys, by the rule: an absent key gets the lowest free id."""

    def __init__(self):
        self.ids, self.most = {}, 0

    def assign(self, keys):
        new = []
        for i, key in enumerate(keys):
            if key not in self.ids:
                self.ids[key] = min(set(range(len(self.ids) + 1)) - set(self.ids.values()))
                new.append(i)
            self.most = max(self.most, len(self.ids))
        return [self.ids[key] for key in keys], new

    def step(self, rng, replies, pool=range(60)):
        """Assigns or deletes some keys, on the server and here."""
        keys = rng.choices(pool, k=rng.randrange(1, 20))
        if rng.random() < .6:
            equal(ids_of(replies, *keys), self.assign(keys), f"ASSIGN {keys}")
            check(max(self.ids.values()) < self.most, "an id is not below the most keys at one time")
            return
        equal(replies.ask("DEL", *keys), len(set(keys) & set(self.ids)), f"DEL {keys}")
        for key in keys:
            self.ids.pop(key, None)

    def compare(self, replies, what):
        keys = sorted(self.ids)
        equal(keys and [int(value) for value in replies.ask("MGET", *keys)], [self.ids[key] for key in keys], what)
        equal(replies.ask("DBSIZE"), len(keys), what)


@case
def only_the_table_sets_ids():
    """every command and every operation that would set a value is refused, and changes nothing"""
    words = {"set": "1 9", "setex": "1 100 9", "psetex": "1 100 9", "mset": "1 9", "msetnx": "7 9", "setnx": "7 9", "getset": "1 9",
             "incr": "1", "decr": "1", "incrby": "1 9", "decrby": "1 9", "increx": "1", "incrbyfloat": "1 9", "append": "1 9",
             "sum": "1 9", "min": "1 9", "max": "1 9", "or": "1 9", "xor": "1 9", "and": "1 9", "andnot": "1 9", "mul": "1 9",
             "cas": "1 0 9", "add": "1 9", "setrange": "1 0 9", "rename": "1 7", "renamenx": "1 7", "copy": "1 7"}
    with start(*IDS) as server, server.connect() as connection, server.replies() as replies:
        equal(ids_of(replies, 1, 2, 1), ([0, 1, 0], [0, 1]), "ASSIGN")
        listed = {name.decode() for name in replies.ask("COMMAND", "LIST")}
        check(not listed & set(words), f"COMMAND lists {listed & set(words)}")
        for command, arguments in words.items():
            got = error_of(replies, command, *arguments.split())
            check("the table chooses the ids of keys" in got, f"{command}: {got}")
        with Server("--backend", "cpu") as other, other.replies() as others:
            writers = {row[0].decode() for row in others.ask("COMMAND") if b"write" in [bytes(str(f), "ascii") for f in row[2]]}
        writers -= {"del", "unlink", "delex", "delifeq", "getdel", "getex", "expire", "pexpire", "expireat", "pexpireat", "persist",
                    "flushall", "flushdb", "swapdb"}
        check(writers <= set(words) | {"assign"}, f"commands that write, and that this test does not try: {writers - set(words)}")
        for name in ("SET", "SET_ABSENT", "SET_PRESENT", "SUM", "FIND_OR_INSERT", "CAS", "OR", "INCREMENT", "MIN"):
            values = [9, 9] if name == "CAS" else [9]
            reply = wire.call(connection, wire.NUMBERS[name], [1], values)
            equal((reply.status, "the table chooses the ids" in reply.message), (wire.UNKNOWN_OPERATION, True), f"{name}: {reply.message}")
        equal([int(value) for value in replies.ask("MGET", 1, 2)], [0, 1], "nothing has changed")
    with start() as server, server.connect() as connection, server.replies() as replies:
        check("has no ASSIGN: the table has no ids; start the server with --engine robin_hood --ids N" in error_of(replies, "ASSIGN", 1), "no ids: ASSIGN")
        reply = wire.call(connection, wire.ASSIGN, [1])
        check("has no ASSIGN: the table has no ids; start the server with --engine robin_hood --ids N" in reply.message, f"no ids: {reply.message}")


@case
def a_full_table_refuses():
    """if the ids do not suffice for a command, a transaction or a frame, it is refused as a whole"""
    with start(*IDS[:2], "--ids", "5") as server, server.connect() as connection, server.replies() as replies:
        equal(ids_of(replies, 10, 11, 12), ([0, 1, 2], [0, 1, 2]), "ASSIGN")
        check("no id is free" in error_of(replies, "ASSIGN", 10, 13, 14, 15), "three for two")
        check("in TABLE CREATE of another" in error_of(replies, "ASSIGN", 10, 13, 14, 15), "a created table")
        reply = wire.call(connection, wire.ASSIGN, [13, 14, 15])
        equal((reply.status, "--ids" in reply.message), (wire.OUT_OF_MEMORY, True), reply.message)
        for command in (("MULTI",), ("ASSIGN", 13, 14), ("DEL", 10), ("ASSIGN", 15), ("ASSIGN", 16)):
            replies.ask(*command)
        check("OOM" in str(replies.ask("EXEC")), "EXEC")
        equal(replies.ask("DBSIZE"), 3, "nothing has changed")
        equal(ids_of(replies, 13, 12, 14), ([3, 2, 4], [0, 2]), "what fits")
        equal(replies.ask("DEL", 11, 13), 2, "DEL")
        equal(ids_of(replies, 15, 16), ([1, 3], [0, 1]), "the freed ids, the lowest one first")


@case
def expiry_frees_ids():
    """an expired key loses its id; default-ttl is for new keys alone"""
    with start(*IDS, "--default-ttl", "100") as server, server.replies() as replies:
        equal(ids_of(replies, 1, 2), ([0, 1], [0, 1]), "ASSIGN")
        check(0 < replies.ask("TTL", 1) <= 100, "default-ttl")
        equal([replies.ask("PERSIST", 1), replies.ask("PEXPIRE", 2, 1)], [1, 1], "times")
        eventually(lambda: replies.ask("EXISTS", 2) == 0, "key 2 to expire")
        equal(ids_of(replies, 1, 3, 2), ([0, 1, 2], [1, 2]), "id 1 is free")
        equal(replies.ask("TTL", 1), -1, "ASSIGN leaves the time of a present key")


@case
def restarts_keep_ids():
    """the log and snapshots give every key its id again, and new keys the ids that they would have had"""
    rng, model = random.Random(4), Model()
    with Directory() as path:
        for restart in range(6):
            with durable(path, "no", *IDS) as server, server.replies() as replies:
                model.compare(replies, f"start {restart}")
                for _ in range(25):
                    model.step(rng, replies)
                if restart % 2 == 1:
                    equal(replies.ask("SAVE"), "OK", "SAVE")
                    model.step(rng, replies)
        with durable(path, "no", *IDS) as server, server.replies() as replies:
            model.compare(replies, "the last start")
            equal(replies.ask("ASSIGN", *range(100, 160))[1], 1, "60 new keys")
            equal(replies.ask("DEL", *range(100, 150)), 50, "only high ids stay")
            equal(replies.ask("SAVE"), "OK", "SAVE")
        said = does_not_start("--data-dir", str(path), "--appendonly", "yes", "--ids", "60")
        check("start the server with the --ids" in said, said)
        with durable(path, "no", *IDS[:2], "--ids", "200") as server, server.replies() as replies:
            equal([replies.ask("EXPIRE", 155, 1000), replies.ask("SAVE")], [1, "OK"], "fewer ids, and one that expires")
        said = does_not_start("--data-dir", str(path), "--appendonly", "yes", "--ids", "60")
        check("start the server with the --ids" in said, said)
        with durable(path, "no", *IDS[:2], "--ids", "200") as server, server.replies() as replies:
            equal([replies.ask("FLUSHALL"), replies.ask("SAVE")], ["OK", "OK"], "no id in the snapshot")
            equal(replies.ask("ASSIGN", *range(200, 270))[1], 1, "ids that the log has alone")
        said = does_not_start("--data-dir", str(path), "--appendonly", "yes", "--ids", "60")
        check("start with a larger --ids" in said, said)
    with Directory() as path:
        with durable(path, "no", *IDS[:2]) as server, server.replies() as replies:
            equal([replies.ask("MSET", 1, 7, 2, 7), replies.ask("SAVE")], ["OK", "OK"], "integers")
        check("start the server with the --ids" in (said := does_not_start("--data-dir", str(path), *IDS)), said)
    with Directory() as path:
        with durable(path, "no", *IDS[:2]) as server:
            equal(server.ask("SET", 1, 7000), "OK", "an integer in the log")
            server.end_by_kill()
        said = does_not_start("--data-dir", str(path), "--appendonly", "yes", *IDS)
        check("or without --ids if it had none" in said, said)


@case
def by_rings():
    """a ring assigns ids; the log gets the server's ids, whatever clients write to the replies meanwhile"""
    def assign(own, keys, wants=(VALUES, FOUND)):
        own.put(0, numbers(keys, 8))
        places = {KEYS: place(0, 0), VALUES: place(0, 1 << 16), FOUND: place(0, 1 << 17)}
        done = own.run(wire.ASSIGN, len(keys), {at: places[at] for at in (KEYS, *wants)})
        return done, struct.unpack(f"<{len(keys)}Q", own.get(1 << 16, 8 * len(keys))), own.get(1 << 17, 8)

    with serving(*IDS) as server, Ring(server) as own:
        done, ids, found = assign(own, [7, 9, 7])
        equal((done.status, done.hits, ids, found[0]), (wire.OK, 1, (0, 1, 0), 4), done.message)
        equal([assign(own, [9, 8], ())[0].hits, server.ask("GET", 8)], [1, b"2"], "without replies")
    rng = random.Random(6)
    with Directory() as path:
        flags = ("--data-dir", str(path), "--appendonly", "yes", "--appendfsync", "no", *SMALL, *IDS)
        with serving(*flags) as server, Ring(server) as own, server.replies() as replies:
            stop = threading.Event()

            def spoil():
                while not stop.is_set():
                    own.put((1 << 16) + 8 * rng.randrange(50), numbers([rng.randrange(1000)], 8))
            thread = threading.Thread(target=spoil)
            thread.start()
            try:
                for _ in range(100):
                    done = assign(own, rng.sample(range(500), 50), rng.choice(((), (VALUES,), (FOUND,), (VALUES, FOUND))))[0]
                    equal(done.status, wire.OK, done.message)
                    own.run(wire.DELETE, 20, {KEYS: place(0, 0)})
            finally:
                stop.set()
                thread.join()
            done, ids, _ = assign(own, range(200))
            equal(done.status, wire.OK, done.message)
            equal([int(value) for value in replies.ask("MGET", *range(200))], list(ids), "the ids of the reply")
        with serving(*flags) as server, server.replies() as replies:
            equal([int(value) for value in replies.ask("MGET", *range(200))], list(ids), "after a restart")


@case
def ids_wait_for_the_disk():
    """--read-durable yes: ASSIGN of present keys shows no id whose write is not on storage"""
    faults = Faults()
    with Directory() as path, durable(path, "always", *IDS, "--read-durable", "yes", environment=faults.environment()) as server, \
            server.connect() as writer, server.connect() as reader, server.connect() as frames:
        replies, reads = wire.Replies(writer), wire.Replies(reader)
        equal(ids_of(replies, 1), ([0], [0]), "on storage")
        next_segment(path)
        faults.sync.held = 1
        writer.sendall(wire.command("ASSIGN", 2))
        eventually(lambda: faults.sync.waiting > 0, "a sync that does not end")
        reader.sendall(wire.command("ASSIGN", 2))
        frames.sendall(wire.frame(wire.ASSIGN, [2], want_values=True))
        equal(select.select([writer, reader, frames], [], [], 0.3)[0], [], "nobody sees the id")
        faults.end()
        equal([replies.read(), reads.read()], [[1, 1], [1, 0]], "the replies")
        reply = wire.read_frame(frames)
        equal((reply.status, reply.hits), (wire.OK, 1), "the frame")


@case
def a_replica_takes_over():
    """a replica has the ids of its primary; promoted, it gives new keys the lowest free ids"""
    rng, model = random.Random(5), Model()
    with Directory() as path:
        own = (*SMALL, *IDS)
        with Server(*own, "--data-dir", str(path), "--appendonly", "yes", "--appendfsync", "no") as primary, \
                primary.replies() as replies:
            for _ in range(30):
                model.step(rng, replies)
            with replica_of(primary.port, *IDS[:2]) as other, Server(*SMALL, *IDS[:2]) as first, \
                    replica_of(first.port, *IDS) as lonely, replica_of(primary.port, *IDS[:2], "--ids", "5", errors="replication", ready=None) as less:
                eventually(lambda: "only the primary has --ids" in other.log(), "a replica without ids")
                eventually(lambda: "only the replica has --ids" in lonely.log(), "a primary without ids")
                eventually(lambda: "more entries than this table has room for: start with a larger --ids" in less.log(), "fewer ids, in a snapshot")
            with Server(*SMALL, *IDS) as small, small.replies() as ours, replica_of(small.port, *IDS[:2], "--ids", "5", errors="replication") as less:
                eventually(lambda: info(less)["master_link_status"] == "up", "the replica is connected")
                equal(len(ours.ask("ASSIGN", *range(9))), 18, "ASSIGN")
                eventually(lambda: "a record of the primary does not fit: start with a larger --ids" in less.log(), "fewer ids, in a record")
            with replica_of(primary.port, *IDS) as replica, replica.replies() as others:
                for _ in range(30):
                    model.step(rng, replies)
                caught_up(primary, replica)
                model.compare(others, "the replica")
                check(error_of(others, "ASSIGN", 1).startswith("READONLY"), "a replica gives no ids")
                equal(others.ask("REPLICAOF", "NO", "ONE"), "OK", "REPLICAOF NO ONE")
                for _ in range(30):
                    model.step(rng, others)
                model.compare(others, "the promoted replica")


@case
def several_tables():
    """TABLE CREATE has ids, files keep them, and tables of another shape are not exchanged"""
    with Directory() as path:
        with durable(path, "no", *IDS[:2]) as server, server.replies() as replies:
            equal(replies.ask("TABLE", "CREATE", "words", "ids", "50"), "OK", "TABLE CREATE")
            check("set ids or value-bytes to 0" in error_of(replies, "TABLE", "CREATE", "rows", "ids", "5", "value-bytes", "8"), "rows")
            equal(replies.ask("SELECT", "words"), "OK", "SELECT")
            equal(ids_of(replies, 70, 71), ([0, 1], [0, 1]), "ASSIGN")
            equal(replies.ask("DEL", 70), 1, "DEL")
        with durable(path, "no", *IDS[:2]) as server, server.replies() as replies:
            equal(replies.ask("SET", 1, 70), "OK", "the default table")
            equal(replies.ask("SELECT", "words"), "OK", "SELECT")
            equal(ids_of(replies, 71, 72, 73), ([1, 0, 2], [1, 2]), "after a restart")
            check("different shapes" in (said := error_of(replies, "TABLE", "SWAP", "default", "words")), said)
        for largest in ("0", "2M"):  # of the default table, which limits other tables
            with start(*IDS[:2], "--max-capacity", largest) as server, server.replies() as replies:
                for words, slots in (("ids 1000", (896, 896)), ("ids 100K", (64 << 10, 102400)), ("ids 1000 capacity 256", (256, 896)),
                                     ("capacity 256 max-capacity 0 ids 1000", (256, 256)), ("ids 1000 max-capacity 512", (512, 512))):
                    equal(replies.ask("TABLE", "CREATE", "cached", "engine", "cache", *words.split()), "OK", words)
                    facts = table(replies, "cached")
                    equal((facts["slots"], facts["slots-max"]), slots, words)
                    equal(replies.ask("TABLE", "DROP", "cached"), "OK", words)


class Held:
    """The ids of a cache's keys, by its replies: which key leaves is the cache's choice."""

    def __init__(self):
        self.ids, self.none = {}, 0

    def assign(self, connection, keys, **named):
        """Assigns ids, and checks the reply. A key keeps its id until it is listed as evicted; no id has two keys."""
        reply = wire.call(connection, wire.ASSIGN, keys, want_values=True, want_evicted=7, want_not_admitted=True, **named)
        equal(reply.status, wire.OK, reply.message)
        arrays = reply.arrays()
        rows = [(key, int.from_bytes(value, "little"), *bits)
                for key, value, *bits in zip(keys, arrays["values"], arrays["found"], arrays["not_admitted"])]
        pairs = [(key, value, found) for key, value, found, refused in rows if not refused]
        self.none += len(keys) - len(pairs)
        check(all(value == 2**64 - 1 for _, value, _, refused in rows if refused), "a key without id has all ones")
        came = collections.Counter(self.ids.items()) + collections.Counter((key, value) for key, value, found in pairs if not found)
        for key, value, found in pairs:
            check(value < 1000 and came[key, value] > 0, f"key {key} has id {value}")
        left = collections.Counter(zip(arrays["evicted_keys"], (int.from_bytes(value, "little") for value in arrays["evicted_values"])))
        equal(left - came, collections.Counter(), "evicted entries that were not there")
        now = came - left
        self.ids = dict(now.keys())
        equal((len(self.ids), len(set(self.ids.values()))), (sum(now.values()),) * 2, "an id for each key")

    def compare(self, replies, what):
        equal(replies.ask("DBSIZE"), len(self.ids), what)
        equal(self.ids and [int(value) for value in replies.ask("MGET", *self.ids)], self.ids and list(self.ids.values()), what)

    def settle(self, replies, what):
        """Drops the keys that left when the cache moved to other buckets, at a start or by RESIZE. The others keep their ids."""
        there = replies.ask("MGET", *self.ids) if self.ids else []
        self.ids = {key: number for (key, number), value in zip(self.ids.items(), there) if value is not None}
        self.compare(replies, what)


@case
def a_cache_gives_ids_of_evicted_keys():
    """--engine cache: a new key takes the id of the key that it evicts, which the reply lists; SAVE, RESIZE and DEL keep ids apart"""
    rng, held = random.Random(7), Held()
    for policy, mode in (("lru", "memory"), ("lfu", "throughput"), ("custom", "memory")):
        flags = (*SMALL, *IDS, *CACHE, "--capacity", "1000", "--cache-mode", mode)
        with Directory() as path:
            for restart in range(3):
                with Server(*flags, "--policy", policy, "--data-dir", str(path)) as server, server.connect() as connection, server.replies() as replies:
                    held = Held() if restart == 0 else held
                    held.settle(replies, f"start {restart} of {policy}")
                    check(restart == 0 or len(held.ids) > 700, "nearly all keys stay")
                    for _ in range(20):
                        keys = rng.choices(range(3000), k=rng.randrange(1, 200))
                        scores = {"values": [rng.randrange(1, 9) for _ in keys], "has_scores": True} if policy != "lru" else {}
                        held.assign(connection, keys, **scores)
                        gone = rng.sample(sorted(held.ids), min(20, len(held.ids)))
                        equal(replies.ask("DEL", *gone), len(gone), "DEL")
                        held.ids = {key: value for key, value in held.ids.items() if key not in gone}
                    equal([replies.ask("SAVE"), replies.ask("INFO").count(b"\ncapacity_slots:896")], ["OK", 1], "SAVE")
                    held.compare(replies, policy)
            if policy != "lru":
                check(held.none > 0, f"{policy}: some keys were not admitted")
            with Server(*flags, "--policy", "epoch-lru", "--data-dir", str(path)) as server, server.connect() as connection, server.replies() as replies:
                held.settle(replies, "a start with another policy")
                held.assign(connection, range(5000, 5200))
                check(replies.ask("RESIZE", 256) == 256 and replies.ask("DBSIZE") <= 256, "RESIZE")
                held.settle(replies, "RESIZE")
                equal(replies.ask("RESIZE", 896), 896, "RESIZE")
                held.assign(connection, range(6000, 6200))
                held.compare(replies, "after RESIZE")
            said = does_not_start("--data-dir", str(path), *flags, "--ids", "700", "--capacity", "700")
            check("start the server with the --ids" in said, said)


@case
def a_cache_reports_keys_without_ids():
    """a key that a full cache does not admit has no id: null in RESP"""
    with start(*IDS[:2], "--ids", "256", "--capacity", "256", *CACHE, "--policy", "lfu") as server, server.replies() as replies:
        replies.ask("ASSIGN", *range(2000))
        held = [key for key in range(2000) if replies.ask("EXISTS", key)]
        replies.ask("ASSIGN", *held)
        equal([replies.ask("DBSIZE"), replies.ask("ASSIGN", 5000)], [256, [None, 0]], "a key used once, and others more often")
        kept = held[0]
        value = int(replies.ask("GET", kept))
        equal([replies.ask("ASSIGN", kept), error_of(replies, "SET", kept, 1).startswith("ERR the cache engine has no SET for ids")], [[value, 0], True])
        listed = {name.decode() for name in replies.ask("COMMAND", "LIST")}
        check("assign" in listed and not listed & {"set", "setnx", "incr", "append", "add", "expire"}, f"COMMAND lists {listed}")


@case
def refused_options():
    """options that exclude ids are refused in one sentence"""
    for flags, words in ((("--value-bytes", "8"), "leave value-bytes out"), (("--engine", "cuckoo"), "robin_hood"),
                         ((*CACHE, "--value-format", "fixed"), "has no value-format"), ((*CACHE, "--value-bytes", "8"), "has no value-bytes"),
                         ((*CACHE, "--rows-in", "host"), "has no rows-in"), ((*CACHE, "--ids", "255"), "from 256 to"),
                         ((*CACHE, "--capacity", "1001"), "each slot has an id"), ((*CACHE, "--appendonly", "yes", "--data-dir", "/tmp"), "a cache may evict"),
                         (("--cluster-state", "/tmp/no-such"), "leave --ids out"), (("--ids", "5G"), "at most 4294967295 ids")):
        said = refusal(*IDS, *flags)
        check(words in said, f"{flags}: {said}")


if __name__ == "__main__":
    main()
