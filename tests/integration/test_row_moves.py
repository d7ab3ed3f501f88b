#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_row_moves - slots of tables of rows move with their keys, while clients write, add to and delete rows.

SHERWOOD_SEED=N repeats a run that failed."""

import random
import struct
import time

import wire
from cluster import node_id, slot_of
from harness import PACE, case, check, drawn_seed, equal, eventually, main, run
from moving import CLI, SOURCE_FAULTS, TARGET_FAULTS, Client, Threads, check_nodes, cluster, moved, moved_at_last, mover, wait_killed
from wire import Error

SEED = drawn_seed()
RANDOM = random.Random(SEED)
DELETES = 5
RETRY = (wire.WRONG_SHARD, wire.SLOT_FROZEN, wire.LOADING)


def rows(size, kind="f32", *more):
    return ("--backend", "cpu", "--capacity", "4K", "--max-capacity", "16K", "--frame-ops-max", "2000",
            "--round-ops-max", "1K", "--value-bytes", str(size), "--value-type", kind, *more)


class Load(Threads):
    """A writer of versions by RESP, and one that adds 1 to every float of many rows by a frame. Each knows the answered
    writes."""

    def __init__(self, servers, size, seed, tolerates=False):
        super().__init__(servers, tolerates)
        self.size, self.rounds = size, 0
        draw = random.Random(seed)
        keys = draw.sample(range(10**9), 60 + 2600)
        self.versions = {key: [0, 0] for key in keys[:60]}  # answered, sent
        self.sums = {key: [0, 0] for key in keys[60:]}
        self.add(self.write)
        self.add(self.add_rows)
        self.start()

    def row(self, number):
        return struct.pack("<I", number) * (self.size // 4)

    def write(self):
        client, draw = Client(self.servers), random.Random(self.size)
        while not self.stopping:
            key = draw.choice(list(self.versions))
            self.versions[key][1] += 1
            version = self.versions[key][1]
            try:
                client.ask(key, *(("SET", key, self.row(version)) if version % DELETES else ("DEL", key)))
                self.versions[key][0] = version
            except OSError as error:
                self.unknown(error)
            time.sleep(PACE)
        client.close()

    def add_at(self, server, keys):
        """Adds to rows of one node in one frame. Returns whether it was answered."""
        for key in keys:
            self.sums[key][1] += 1
        one = struct.pack("<f", 1) * (self.size // 4)
        with server.connect() as connection:
            connection.sendall(wire.cache_frame(wire.ADD_F32, keys, [one] * len(keys), value_bytes=self.size))
            status = wire.read_frame(connection).status
        for key in keys:
            if status == wire.OK:
                self.sums[key][0] += 1
            else:
                self.sums[key][1] -= 1
        check(status == wire.OK or status in RETRY, f"a frame: status {status}")
        return status == wire.OK

    def add_rows(self):
        """Sends a frame to each node with the keys that it had when asked. A frame whose slots move meanwhile is
        refused whole."""
        while not self.stopping:
            for server in self.servers:
                try:
                    owned = [range(first, last + 1) for first, last, node, *_ in server.ask("CLUSTER", "SLOTS")
                             if node[1] == server.port]
                    keys = [key for key in self.sums if any(slot_of_key(key) in each for each in owned)][:2000]
                    self.rounds += bool(keys) and self.add_at(server, keys)
                except (OSError, wire.Closed) as error:
                    self.unknown(error)
                time.sleep(10 * PACE)

    def end(self):
        super().end()
        client = Client(self.servers)
        for key, (answered, sent) in self.versions.items():
            got = client.ask(key, "GET", key)
            if got is None:
                check(sent // DELETES > (answered - 1) // DELETES, f"key {key} is not there: {answered} to {sent}")
            else:
                number = struct.unpack_from("<I", got)[0]
                check(answered <= number <= sent and got == self.row(number), f"key {key} is {number}, not {answered} to {sent}")
        for key, (answered, sent) in self.sums.items():
            got = client.ask(key, "GET", key) or bytes(self.size)
            floats = set(struct.unpack(f"<{self.size // 4}f", got))
            check(len(floats) == 1 and answered <= floats.pop() <= sent, f"row {key} is {floats}, not {answered} to {sent}")
        client.close()


SLOTS = {}


def slot_of_key(key):
    if key not in SLOTS:
        SLOTS[key] = slot_of(key)
    return SLOTS[key]


@case
def rows_move_under_load():
    """rows move to and fro under load bit by bit, also with a frame larger than a message of a move"""
    for size in (4096, RANDOM.choice((4, 8, 60, 256, 1028))):
        print(f"# rows of {size} bytes")
        with cluster(2, *rows(size)) as servers:
            load = Load(servers, size, SEED)
            eventually(lambda: load.rounds > 2 or load.faults, "frames were sent")
            slots = f"{RANDOM.randrange(0, 100)}-{RANDOM.randrange(8000, 8192)}"  # some 1250 of the rows, more than 4 MiB
            for source, target in (("s0", "s1"), ("s1", "s0")):
                rounds = load.rounds
                moved(mover(servers, slots, source, target))
                eventually(lambda rounds=rounds: load.rounds > rounds + 2 or load.faults, "frames go on")
            load.end()
            check_nodes(servers)


@case
def rows_move_past_kills():
    """nodes of rows are killed at a random step and go on: every acknowledged write exists, once"""
    size = RANDOM.choice((4, 60, 1028))
    faults = [(1, each) for each in TARGET_FAULTS] + [(0, each) for each in SOURCE_FAULTS]
    with cluster(2, *rows(size), durable=True) as servers:
        load = Load(servers, size, SEED, tolerates=True)
        for victim, fault in RANDOM.sample(faults, 3):
            servers[victim].restart(fault)
            eventually(lambda: load.rounds > 0 or load.faults, "rows are there")
            process = mover(servers, "100-4000", "s0", "s1")
            wait_killed(servers[victim])
            servers[victim].restart()
            process.communicate(timeout=120)
            moved_at_last(servers, "100-4000", "s0", "s1")
            moved_at_last(servers, "100-4000", "s1", "s0")
        load.end()
        check_nodes(servers)


@case
def other_rows():
    """slots do not move to a table with other rows; a target without room gives them up and keeps nothing"""
    with cluster(2, *rows(64)) as servers:
        one, two = servers
        for flags in (("--value-bytes", "60"), ("--value-type", "u32")):
            two.flags += flags
            two.restart()
            equal(two.ask("CLUSTER", "MOVE", "TAKE", node_id(0), "5-7"), "OK", "TAKE")
            eventually(lambda: "the same widths and types of keys and values" in two.status()["trouble"], two.status())
            equal(two.ask("CLUSTER", "MOVE", "CANCEL"), "OK", "CANCEL")
            eventually(two.rests, "it is given up")
        two.flags += ["--value-bytes", "64", "--value-type", "f32", "--rows-max", "10", "--max-capacity", "0"]
        two.restart()
        keys = [key for key in range(200) if slot_of(key) < 8000]
        client = Client(servers)
        for key in keys:
            equal(client.ask(key, "SET", key, b"r" * 64), "OK", "SET")
        client.close()
        said = run(CLI, "-q", "-p", one.port, "cluster", "move", "0-8000", "s0", "s1", rc=1)
        check("the table refuses keys" in said, said)
        eventually(two.rests, "what came is removed")
        equal((two.ask("DBSIZE"), two.ask("CLUSTER", "COUNTFOREIGN")), (0, 0), "at the target")
        equal([one.ask("GET", key) for key in keys], [b"r" * 64] * len(keys), "at the source")
        check(not isinstance(one.ask("SET", keys[0], b"s" * 64), Error), "it is served")


main()
