#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Replicas of tables of rows: snapshots and records have the rows, and digests cover every byte.

SHERWOOD_SEED=N repeats a run that failed."""

import random
import struct

import xxhash

import wire
from data_directory import Directory
from harness import Server, case, check, drawn_seed, equal, eventually, main
from replication import Load, Relay, caught_up, info, to_be_killed

KEYS = 600
WORD = 2**64 - 1


def flags(size, kind="f32", *more):
    return ("--backend", "cpu", "--capacity", "1K", "--max-capacity", "8K", "--frame-ops-max", "512",
            "--round-ops-max", "1024", "--repl-timeout", "10", "--value-bytes", str(size), "--value-type", kind, *more)


def replica_of(port, *how):
    return Server("--replicaof", f"127.0.0.1 {port}", *how)


class RowLoad(Load):
    """Writes rows of floats, and adds to them, by both protocols in turn, until it is stopped."""

    ends_with_server = False
    pace = 0

    def __init__(self, server, size, seed):
        self.size = size
        super().__init__(server, seed)

    def row(self):
        return struct.pack(f"<{self.size // 4}f", *(self.draw.uniform(-1e3, 1e3) for _ in range(self.size // 4)))

    def step(self, replies):
        draw = self.draw
        kind = draw.randrange(8)
        keys = [draw.randrange(KEYS) for _ in range(draw.choice((1, 5, 20)))]
        if kind == 0:
            replies.ask("DEL", *keys)
        elif kind == 1 and draw.randrange(30) == 0:
            replies.ask("FLUSHALL")
        elif kind == 2 and draw.randrange(10) == 0:
            replies.ask("RESIZE", draw.choice(("1K", "2K")))
        elif kind < 5:
            operation = draw.choice((wire.ADD_F32, wire.ADD_PRESENT_F32, wire.SET))
            self.frames.sendall(wire.cache_frame(operation, keys, [self.row() for _ in keys], value_bytes=self.size))
            equal(wire.read_frame(self.frames).status, wire.OK, "a frame")
        else:
            replies.ask("MSET", *(word for key in keys for word in (key, self.row())))


@case
def rows_follow():
    """replicas that join, are cut and killed while rows are written and added to have every byte at the end"""
    draw = random.Random(drawn_seed())
    size = draw.choice((4, 60, 256, 1028, 4096))
    print(f"# rows of {size} bytes")
    with Server(*flags(size)) as primary:
        loads = [RowLoad(primary, size, draw.randrange(2**32)) for _ in range(2)]
        with Relay(primary.port) as relay, replica_of(relay.port, *flags(size)) as cut, \
                to_be_killed(replica_of(primary.port, *flags(size))) as killed, \
                replica_of(primary.port, *flags(size, "f32", "--seed", "5", "--threads", "1")) as other:
            for _ in range(3):
                written = loads[0].written
                eventually(lambda: loads[0].written > written + 30, "load goes on", 30)
                relay.cut()
            killed.kill()
            for load in loads:
                load.end()
            equal(primary.ask("SET", 0, loads[0].row()), "OK", "the load may have ended with FLUSHALL")
            equal(caught_up(primary, cut), caught_up(primary, other), "digests")
            wanted = primary.ask("MGET", *range(KEYS))
            check(any(row is not None for row in wanted), "nothing is there")
            for replica in (cut, other):
                equal(replica.ask("MGET", *range(KEYS)), wanted, "rows, bit for bit")
                check("READONLY" in str(replica.ask("SET", 1, b"x" * size)), "a replica refuses writes")
            other.ask("REPLICAOF", "NO", "ONE")
            eventually(lambda: info(other)["role"] == "master", "promoted", 20)
            equal(other.ask("SET", 1, b"x" * size), "OK", "and then takes them")


def mix(z):
    z = ((z ^ (z >> 30)) * 0xbf58476d1ce4e5b9) & WORD
    z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & WORD
    return z ^ (z >> 31)


def digest_of(entries):
    """Computes what server/repl/digest.h defines, independently."""
    a = b = 0
    for key, row in entries.items():
        value = int.from_bytes(row, "little") if len(row) in (4, 8) else xxhash.xxh3_64_intdigest(row)
        a += mix((mix((key + 0x9e3779b97f4a7c15) & WORD) + value) & WORD)
        b += mix(mix(key ^ 0xd1b54a32d192ed03) ^ ((value + 0x8cb92ba72f3d8dd7) & WORD))
    return [len(entries), f"{a & WORD:016x}{b & WORD:016x}".encode()]


@case
def rows_follow_to_files():
    """a replica with its own log is killed while rows are written, and resumes from its files"""
    draw = random.Random(drawn_seed())
    size = draw.choice((4, 60, 256, 1028))
    with Directory() as path, Server(*flags(size)) as primary:
        files = ("--data-dir", str(path), "--appendonly", "yes", "--appendfsync", "no", "--log-segment-bytes", "1M")
        load = RowLoad(primary, size, draw.randrange(2**32))
        for _ in range(3):
            with to_be_killed(replica_of(primary.port, *flags(size, "f32", *files))) as replica:
                eventually(lambda: info(replica).get("master_link_status") == "up", "the link", 30)
                written = load.written
                eventually(lambda: load.written > written + 30, "load goes on", 30)
        load.end()
        with replica_of(primary.port, *flags(size, "f32", *files)) as replica:
            caught_up(primary, replica)
            equal(replica.ask("MGET", *range(KEYS)), primary.ask("MGET", *range(KEYS)), "rows, bit for bit")


@case
def digests_of_rows():
    """DIGEST covers every byte of every row, whatever the capacity and seed"""
    draw = random.Random(drawn_seed())
    for size in (4, 8, 60, 1028, 4096):
        entries = {draw.randrange(2**64): draw.randbytes(size) for _ in range(300)}
        for more in ((), ("--seed", "9", "--capacity", "4K")):
            with Server(*flags(size, "bytes", *more)) as server, server.replies() as replies:
                replies.ask("MSET", *(word for pair in entries.items() for word in pair))
                equal(replies.ask("DIGEST")[1:], digest_of(entries), f"{size} bytes")
                key = draw.choice(list(entries))
                changed = bytearray(entries[key])
                changed[draw.randrange(size)] ^= 1 << draw.randrange(8)
                replies.ask("SET", key, bytes(changed))
                equal(replies.ask("DIGEST")[1:], digest_of({**entries, key: bytes(changed)}), "one bit")


@case
def other_rows_are_refused():
    """a replica with another row size or type is refused with a reason; rows of bytes may follow any type"""
    def words(size, kind):
        return ("REPLICATE", 1, "0" * 40, 0, 8, size, 2 + 16 * kind, 0, 1 << 28)
    with Server(*flags(64)) as primary:
        check("the bytes of a value: the replica has 60, the primary 64: start the replica with the --value-bytes and --value-type of its primary" in str(primary.ask(*words(60, 4))), "size")
        check("the type of values: the replica has 2, the primary 4" in str(primary.ask(*words(64, 2))), "type")
        equal(primary.ask("SET", 1, b"r" * 64), "OK", "SET")
        with replica_of(primary.port, *flags(64, "bytes")) as replica:
            caught_up(primary, replica)
            equal(replica.ask("GET", 1), b"r" * 64, "bytes follow")


if __name__ == "__main__":
    main()
