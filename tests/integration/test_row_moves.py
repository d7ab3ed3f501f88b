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
from moving import CLI, SOURCE_FAULTS, TARGET_FAULTS, Client, Load, check_nodes, cluster, moved, moved_at_last, mover, wait_killed
from wire import Error

SEED = drawn_seed()
RANDOM = random.Random(SEED)
RETRY = (wire.WRONG_SHARD, wire.SLOT_FROZEN, wire.LOADING)


def rows(size, kind="f32", *more):
    return ("--backend", "cpu", "--capacity", "4K", "--max-capacity", "16K", "--frame-ops-max", "2000",
            "--round-ops-max", "1K", "--value-bytes", str(size), "--value-type", kind, *more)


class RowLoad(Load):
    """A writer of versions by RESP, and one that adds 1 to every float of many rows by a frame. Each knows the answered
    writes."""

    def __init__(self, servers, size, seed, tolerates=False):
        self.size = size
        super().__init__(servers, seed, keys=60, writers=1, tolerates=tolerates)
        self.start()

    def add_clients(self, writers):
        self.row_sums = {key: [0, 0] for key in self.random.sample(range(10**9, 2 * 10**9), 2600)}  # answered, sent
        self.add(self.write, self.keys)
        self.add(self.add_rows)

    def value(self, version):
        return struct.pack("<I", version) * (self.size // 4)

    def version(self, value):
        check(value == value[:4] * (self.size // 4), value)
        return int.from_bytes(value[:4], "little")

    def add_at(self, server, keys):
        """Adds to rows of one node in one frame. Returns whether it was answered."""
        for key in keys:
            self.row_sums[key][1] += 1
        one = struct.pack("<f", 1) * (self.size // 4)
        with server.connect() as connection:
            connection.sendall(wire.cache_frame(wire.ADD_F32, keys, [one] * len(keys), value_bytes=self.size))
            status = wire.read_frame(connection).status
        for key in keys:
            if status == wire.OK:
                self.row_sums[key][0] += 1
            else:
                self.row_sums[key][1] -= 1
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
                    keys = [key for key in self.row_sums if any(slot_of_key(key) in each for each in owned)][:2000]
                    self.rounds += bool(keys) and self.add_at(server, keys)
                except (OSError, wire.Closed) as error:
                    self.unknown(error)
                time.sleep(10 * PACE)

    def check_sums(self, client):
        for key, (answered, sent) in self.row_sums.items():
            got = client.ask(key, "GET", key) or bytes(self.size)
            floats = set(struct.unpack(f"<{self.size // 4}f", got))
            check(len(floats) == 1 and answered <= floats.pop() <= sent, f"row {key} is {floats}, not {answered} to {sent}")

    def end(self):
        super().end()
        self.check()


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
            load = RowLoad(servers, size, SEED)
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
        load = RowLoad(servers, size, SEED, tolerates=True)
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
