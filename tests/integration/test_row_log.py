#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Rows in the write-ahead log: after kill -9 every acknowledged write exists bit by bit, on every level.

SHERWOOD_KILLS=N sets the number of kills; SHERWOOD_SEED=N repeats a run that failed.
"""

import os
import random
import struct
import time

import wire
from data_directory import Directory, does_not_start
from harness import BUILD, SANITIZED, Server, case, check, equal, main, run
from log_writer import LogWriter

SEED = int(os.environ.get("SHERWOOD_SEED", random.SystemRandom().randrange(2**32)))
KILLS = int(os.environ.get("SHERWOOD_KILLS", 4 if SANITIZED else 8))
CLI = str(BUILD / "sherwood-cli")
KEYS = 6
SUMS = 50 # the key of a writer that is only added to


def daemon(path, size, level, *flags, **how):
    log = ("--appendonly", "yes", "--appendfsync", level, "--log-segment-bytes", "1M") if level else ()
    return Server("--data-dir", str(path), "--backend", "cpu", "--capacity", "4096", "--frame-ops-max", "64",
                  "--round-ops-max", "256", "--value-type", "f32", "--value-bytes", str(size), *log, *flags, **how)


def single(number):
    return struct.unpack("<f", struct.pack("<f", number))[0]


class Writes:
    """The writes of a client: write n follows from n alone."""

    def __init__(self, base, size, adds):
        self.base, self.words, self.adds = base, size // 4, adds

    def row(self, n):
        return [single(n * 0.1 + w * 1e-3) for w in range(self.words)]

    def steps(self, n):
        if n % 4 == 0:
            return [("del", self.base + n % KEYS, None)]
        if n % 4 == 1 and self.adds:
            return [("add", self.base + SUMS, self.row(n))] * 2
        return [("set", self.base + (n + i) % KEYS, self.row(n)) for i in range(3 if n % 4 == 3 else 1)]

    def apply(self, state, n):
        for what, key, row in self.steps(n):
            if what == "del":
                state.pop(key, None)
            elif what == "set":
                state[key] = row
            else: # a sum in double precision, rounded once, is that of the two floats
                state[key] = [single(a + b) for a, b in zip(state.get(key, [0.0] * self.words), row)]

    def keys(self):
        return [self.base + i for i in (*range(KEYS), SUMS)]

    def packed(self, row):
        return struct.pack(f"<{self.words}f", *row)

    def as_frame(self, n):
        steps = self.steps(n)
        operation = {"set": wire.SET, "add": wire.ADD_F32, "del": wire.DELETE}[steps[0][0]]
        rows = None if steps[0][0] == "del" else [self.packed(row) for _, _, row in steps]
        return wire.cache_frame(operation, [key for _, key, _ in steps], rows, value_bytes=self.words * 4,
                                request_id=n)

    def as_command(self, n):
        steps = self.steps(n)
        if steps[0][0] == "del":
            return wire.command("DEL", steps[0][1])
        return wire.command("MSET", *(word for _, key, row in steps for word in (key, self.packed(row))))


class Writer(LogWriter):
    """Writes the rows of its own keys."""

    def __init__(self, server, number, size, frames, depth):
        super().__init__(server, frames, depth)
        self.writes = Writes(number * 100, size, frames)
        self.known = None
        self.as_frame, self.as_command = self.writes.as_frame, self.writes.as_command

    def check_prefix(self, held):
        """Checks that the state is that after some write between the last answered and the last sent one."""
        assert self.error is None, self.error
        state = {}
        for n in range(1, self.sent + 1):
            if n > self.acked and held == {key: self.writes.packed(row) for key, row in state.items()}:
                return
            self.writes.apply(state, n)
        equal(held, {key: self.writes.packed(row) for key, row in state.items()},
              f"after {self.acked} of {self.sent} writes were answered")


def held_by(replies, keys):
    return {key: row for key, row in zip(keys, replies.ask("MGET", *keys)) if row is not None}


def one_life(path, size, number, rng, known):
    """Starts the daemon, checks its contents, writes, and kills it. Returns the writers."""
    level = rng.choice(["always", "everysec", "no"])
    with daemon(path, size, level) as server:
        with server.replies() as replies:
            for writer in known:
                held = held_by(replies, writer.writes.keys())
                if writer.known is None:
                    writer.check_prefix(held)
                    writer.known = held
                equal(held, writer.known, f"life {number}, {level}")
        writers = [Writer(server, number * 10 + i, size, i % 2 == 0, rng.choice([1, 4, 16])) for i in range(1, 5)]
        for writer in writers:
            writer.start()
        time.sleep(rng.uniform(0.01, 0.2))
        if rng.random() < 0.3:
            server.redis_cli("BGREWRITEAOF")
        server.end_by_kill()
    for writer in writers:
        writer.join(20)
        check(not writer.is_alive(), "a client ends when its server does")
    run(CLI, "log", "check", str(path))
    return writers


@case
def rows_survive_kills():
    """kill -9 at random moments of consecutive runs: rows, and sums of floats, are exact bit by bit"""
    print(f"# SHERWOOD_SEED={SEED}")
    rng = random.Random(SEED)
    for size in rng.sample((4, 60, 256, 1028, 4096), 2):
        known = []
        with Directory() as path:
            for number in range(1, KILLS // 2 + 1):
                known += one_life(path, size, number, rng, known[-8:])
            one_life(path, size, KILLS, rng, known)
        check(sum(writer.acked for writer in known) > KILLS, "writes were answered")


@case
def a_torn_row_is_cut():
    """a write that is cut inside a row is dropped, and earlier writes stay; sherwood-cli reads the log"""
    size = 1028
    writes = Writes(0, size, True)
    with Directory() as path:
        with daemon(path, size, "always") as server, server.connect() as connection:
            for n in range(1, 12):
                equal(wire.exchange(connection, writes.as_frame(n)).status, wire.OK, "a write")
            server.end_by_kill()
        state = {}
        for n in range(1, 11):
            writes.apply(state, n)
        segment = path / "log-0000000000000001"
        whole = segment.read_bytes()
        end = max(i for i in range(4096, len(whole), 64) if whole[i:i + 4] == b"SWR1")
        lines = run(CLI, "log", "export", str(path)).splitlines()
        last = [line.split(",") for line in lines if line.startswith("11,")]
        equal([line[:3] for line in last], [["11", "SET", str((11 + i) % KEYS)] for i in range(3)], "exported")
        equal([single(float(word)) for word in last[0][3:]], writes.row(11), "its row")
        check(any(line.split(",")[1] == "ADD_F32" for line in lines[1:]), "sums are exported")
        for at in (end + 64 + 8, end + 64 + 64, end + 64 + 64 + size + 100, end + 64 + 64 + 3 * size - 4):
            cut = whole[:at] + bytes(len(whole) - at)
            check(cut != whole, f"something is behind byte {at}")
            for name in path.iterdir():
                name.unlink()
            segment.write_bytes(cut)
            with daemon(path, size, None, "--save", "") as server, server.connect() as connection:
                equal(held_by(wire.Replies(connection), writes.keys()),
                      {key: writes.packed(row) for key, row in state.items()}, f"cut at {at - end} of the record")
                server.end_by_kill()


@case
def another_shape_is_refused():
    """a log of rows is not replayed into rows of another size or type, or into integers"""
    with Directory() as path:
        with daemon(path, 60, "no") as server, server.connect() as connection:
            equal(wire.exchange(connection, Writes(0, 60, True).as_frame(1)).status, wire.OK, "a write")
            server.end_by_kill()
        for flags in (("--value-bytes", "64"), ("--value-bytes", "60", "--value-type", "u32"), ()):
            out = does_not_start("--data-dir", str(path), *flags)
            check("log-0000000000000001 has keys or values of another width, format, type or engine" in out, out)


if __name__ == "__main__":
    main()
