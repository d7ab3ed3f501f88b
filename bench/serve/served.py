#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""served.py - what a client is served: the study of rates from a client's memory to the table and back.

Each daemon is started, loaded by sherwood-load and stopped: Sherwood with 32-bit and with 64-bit keys, the
daemon without a table, redis-server, the other engines, and rows. bench/serve/README.md says what each row is.
Nothing is needed but bash's usual machine, python3, and the programs; redis-server and gnuplot if they are
there. A row whose replies are not as they must be is an error, not a number.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
# pylint: disable=wrong-import-position
from daemons import Redis  # noqa: E402
from failures import Failed  # noqa: E402
from results import RATE, Row  # noqa: E402
from study import (DEPTHS, DRAWN_KEYS, MAX_LOAD, RESP_CONNECTIONS, RESP_KEYS, Study, add_options, number, numbers,  # noqa: E402
                   parsed, run_study)

HERE = pathlib.Path(__file__).resolve().parent
PARTS = ("frames32", "clients", "frames64", "null", "cluster", "redis", "engines", "rows")
# Parts that run only if --parts names them.
OTHER_PARTS = ("gets", "host", "tables")
# The commands that RESP clients send to the daemon without a table.
NULL_RESP = ("resp_get_p64", "resp_set_p64", "resp_get_p1")
# Keys a frame: of all parts except `gets`, and of `gets`.
FRAMES = "4Ki,64Ki,256Ki"
GET_FRAMES = "4Ki,16Ki,64Ki,128Ki,256Ki"
# The frames of `gets` that one connection sends, one at a time.
LONE_FRAMES = (4096, 65536)
# Loads of the steps: the fills, the slices that are written and deleted in turn, and the loads of the other engines.
FILL = 0.85
SLICE = 0.1
ENGINE_LOADS = (0.5, 0.75)
NODE_ID = 39 * "0" + "1"
CACHE_VALUE_BYTES = 60
# Rows of floats: the most keys of a frame, the load, and the memory of a loop for the bodies of frames and replies.
ROW_FRAME_MAX = 65536
ROW_LOAD = 0.75
ROW_ARENA = "256M"
# The table in host memory: its slots and keys.
HOST_SLOTS = "128Mi"
HOST_KEYS = 100_000_000
# Several tables: their number, the keys of a frame for one of them, and of each table in a frame that reads all of them.
TABLES = 64
TABLE_FRAMES = (4096, 65536)
SEGMENT_KEYS = 4096
TABLES_MULTIPLE = TABLES * max(TABLES * SEGMENT_KEYS, *TABLE_FRAMES)  # the keys are a multiple of this, so that all frames are full
# Reads of one table beside a flood of writes on another: frames of this many keys, sent when they are due.
FLOODED_FRAME = 64
FLOODED_KEYS_PER_SECOND = 6400


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    add_options(parser, "served", PARTS)
    add = parser.add_argument
    add("--slots", type=number, default=number("64Mi"), help="slots of the table (64Mi)")
    add("--frames", type=numbers, help=f"keys a frame ({FRAMES}; of the part gets {GET_FRAMES})")
    add("--row-bytes", type=int, default=256, help="bytes of a row of floats (%(default)s)")
    add("--row-slots", type=number, default=number("16Mi"), help="slots of the table of rows (16Mi)")
    add("--host-slots", type=number, default=number(HOST_SLOTS), help="slots of the table in host memory (%(default)s)")
    add("--host-keys", type=number, default=HOST_KEYS, help="keys in it (%(default)s)")
    add("--idle", type=int, default=10000, help="silent connections (%(default)s)")
    options = parsed(parser, "served", PARTS + OTHER_PARTS)
    options.get_frames, options.frames = (options.frames or numbers(standard) for standard in (GET_FRAMES, FRAMES))
    if set(options.frames) - set(DEPTHS):
        parser.error(f"frames have {', '.join(map(str, DEPTHS))} keys")
    if "tables" in options.parts and options.slots < 2 * TABLES_MULTIPLE:
        parser.error(f"--slots {options.slots} is too few for the part tables: give {2 * TABLES_MULTIPLE} or more, for a frame of"
                     f" {TABLES_MULTIPLE // TABLES} keys for each of {TABLES} tables in half of the slots")
    return options


class Served(Study):
    """One run. Each part begins with an empty daemon of its own."""

    def start(self, program, *flags):
        return super().start(program, "--connections-max", str(self.options.idle + 1000), *flags)

    # --- frames ----------------------------------------------------------------------------------

    def turns(self, daemon, row_of, load, frame, inserts=True):
        """Fresh keys up to `load` from SLICE below it, and out again, by turns for the time of a row. A rate is
        of all turns together; F is the highest load of the step."""
        slots = self.options.slots
        first, keys = int((load - SLICE) * slots), int(SLICE * slots)
        phases = self.load(daemon.unix(), *self.shape(frame), "-o", "set-delete", "--first", first, "-n", keys,
                           "--frames-prefilled", "all", *self.timed(), hits=1)
        if phases[0]["hits"] != 0:
            raise Failed(f"inserts of frames of {frame} keys to {load}: {phases[0]['hits']} keys were there")
        if inserts:
            self.note(row_of("insert", load), phases[0])
        self.note(row_of("delete", load), phases[1])

    def insert(self, daemon, frame, keys, first=0):
        """Fresh keys, each once; the phase."""
        phase = self.load(daemon.unix(), *self.shape(frame), "-o", "set", "--first", first, "-n", keys,
                          "--frames-prefilled", "all", hits=0)[0]
        if daemon.entries() != first + keys:
            raise Failed(f"{daemon.entries()} keys are stored, not {first + keys}")
        return phase

    def frames(self, daemon, bits, frame):
        """The rows of one size of frames: inserts, gets, updates, deletes, gets beside updates."""
        slots, unix = self.options.slots, daemon.unix()
        filled = int(FILL * slots)

        def row_of(operation, load):
            return Row(operation, 2 * bits, load, frame)

        daemon.clear()
        self.insert(daemon, frame, int((0.5 - SLICE) * slots))
        self.turns(daemon, row_of, 0.5, frame)
        daemon.clear()
        self.note(row_of("insert", FILL), self.insert(daemon, frame, filled))
        stored = ("-n", filled, *self.shape(frame))
        self.load(unix, *stored, "-o", "get", hits=1)
        get = self.load(unix, *stored, "-o", "get", *self.drawn(frame), hits=1)[0]
        self.note(row_of("get", FILL), get, "p50", "p99")
        self.note(row_of("update", FILL), self.load(unix, *stored, "-o", "set", *self.drawn(frame), hits=1)[0],
                  "p50", "p99")
        self.attempt("gets beside updates",
                     lambda: self.beside_updates(daemon, row_of("get_beside_updates", FILL), frame, filled, get))
        self.turns(daemon, row_of, FILL + SLICE, frame)
        self.load(unix, *self.shape(frame), "-o", "delete", "--first", int((FILL - SLICE) * slots), "-n",
                  filled - int((FILL - SLICE) * slots), "--frames-prefilled", "all", hits=1)
        self.turns(daemon, row_of, FILL, frame, inserts=False)
        self.load(unix, "-n", int((FILL - SLICE) * slots), *self.shape(frame), "-o", "get", hits=1)

    def beside_updates(self, daemon, row, frame, filled, get):
        """Gets while updates of a tenth of their rate are sent: open loop, on connections of their own."""
        asked = int(get[RATE] / 10)
        threads = max(1, self.options.threads // 4)
        writer = (daemon.unix(), "-o", "set", "-n", filled, "-f", frame, "-c", max(4, threads), "-t", threads, "-d",
                  DEPTHS[frame], "--frames-prefilled", max(1, DRAWN_KEYS // frame), "--rate", asked)
        phase, writes = self.beside(writer, daemon.unix(), "-n", filled, *self.shape(frame), "-o", "get",
                                    *self.drawn(frame), hits=1, behind=1)
        self.note(row, phase, "p50", "p99")
        self.results.add(self.repetition, row, "updates_per_second", writes[RATE], "1/s")
        if writes[RATE] < 0.9 * asked:
            raise Failed(f"updates beside gets: {asked} keys/s were asked for, {writes[RATE]:.0f} were written")

    # --- parts -----------------------------------------------------------------------------------

    def frames_of(self, bits):
        with self.start("sherwoodd", "--key-bits", str(bits), "--capacity", str(self.options.slots), "--max-load",
                        str(MAX_LOAD)) as daemon:
            self.repeated(f"u{bits} frames", [(f"{frame} keys a frame", lambda f=frame: self.frames(daemon, bits, f))
                                              for frame in self.options.frames])

    def frames32(self):
        self.frames_of(32)

    def frames64(self):
        self.frames_of(64)

    def get_tcp(self, daemon, library, filled, load):
        """Gets by TCP; beside silent connections, too."""
        for frame in self.options.frames:
            words = (daemon.address(), "-n", filled, *self.shape(frame), "-o", "get", *self.drawn(frame))
            self.note(Row("get_tcp", 64, load, frame, library), self.load(*words, hits=1)[0], "p50", "p99")
        if library == "sherwood":
            frame = self.options.frames[-1]
            row = Row("get_tcp_idle", 64, load, frame)
            self.note(row, self.load(*words, "--idle-connections", self.options.idle, hits=1)[0], "p50", "p99")
            self.results.add(self.repetition, row, "memory_anonymous", daemon.memory_mib(), "MiB")

    def resp(self, address, library, load, key_bits, *checks):
        """Commands on RESP_CONNECTIONS connections: pipelines, one at a time, MGET, and one client alone."""
        bits = "" if library.startswith("redis") else 2 * key_bits
        base = (address, "--protocol", "resp", "-n", RESP_KEYS, "--key-bits", key_bits, *checks)
        many = (*base, "-c", RESP_CONNECTIONS, "-t", self.options.threads)
        if not checks:
            self.load(*many, "-o", "set", "-d", 64)
        for name, batch, words in (("resp_get_p64", 1, (*many, "-o", "get", "-d", 64)),
                                   ("resp_set_p64", 1, (*many, "-o", "set", "-d", 64)),
                                   ("resp_get_p1", 1, (*many, "-o", "get", "-d", 1)),
                                   ("resp_mget100", 100, (*many, "-o", "mget", "--mget", 100, "-d", 16)),
                                   ("resp_get_one", 1, (*base, "-o", "get", "-c", 1, "-t", 1, "-d", 1))):
            if library != "sherwood-null" or name in NULL_RESP:
                self.note(Row(name, bits, load, batch, library), self.load(*words, *self.timed())[0], "p50", "p99")

    def single_beside(self, daemon, load, frames, library="sherwood", study="served"):
        """Single GETs while frames, pairs of an operation and their keys, are sent as fast as they are answered."""
        filled = int(load * self.options.slots)
        for operation, frame in frames:
            flood = (daemon.unix(), "-n", filled, "-o", operation, "-f", frame, "-c", 8, "-d", DEPTHS[frame], "-t",
                     max(1, self.options.threads // 2), "--frames-prefilled", max(1, DRAWN_KEYS // frame))
            phase, other = self.beside(flood, daemon.address(), "--protocol", "resp", "-n", min(RESP_KEYS, filled), "--key-bits", 32,
                                       "-o", "get", "-c", RESP_CONNECTIONS, "-d", 1, "-t", max(1, self.options.threads // 4),
                                       *(["--no-verify"] if library != "sherwood" else []), *self.timed(), behind=1)
            what = "gets" if operation == "get" else "updates"
            row = Row(f"resp_get_p1_beside_{what}", 64, load, frame, library, study)
            self.note(row, phase, "p50", "p99")
            self.results.add(self.repetition, row, "frames_beside", other[RATE], "1/s")

    def mixed(self, daemon):
        """Twelve clients with one frame in flight each, of 1 to 5,000 keys and one of four operations, previous
        values and found bitmaps wanted. First against the model, then drawn beforehand."""
        words = (daemon.unix(), "--mix", "get=1,set=1,sum=1,delete=1", "--want-previous", "-f", 5000, "--frame-min", 1,
                 "-c", 12, "-d", 1, "-t", min(12, 2 * self.options.threads), *self.timed())
        daemon.clear()
        self.load(*words, "-n", min(RESP_KEYS, self.options.slots // 2))
        daemon.clear()
        phase = self.load(*words, "-n", int(0.5 * self.options.slots), "--frames-prefilled", 200)[-1]
        self.note(Row("mixed_12_clients", 64, 0.5, 5000), phase, "mean", "p50", "p99")

    def clients(self):
        filled = int(0.5 * self.options.slots)
        with self.start("sherwoodd", "--key-bits", "32", "--capacity", str(self.options.slots), "--max-load",
                        str(MAX_LOAD)) as daemon:
            def fill():
                daemon.clear()
                self.insert(daemon, self.options.frames[-1], max(filled, RESP_KEYS))

            self.repeated("u32 clients", [
                ("filling", fill), ("TCP", lambda: self.get_tcp(daemon, "sherwood", filled, 0.5)),
                ("RESP", lambda: self.resp(daemon.address(), "sherwood", 0.5, 32)),
                ("single GETs beside frames", lambda: self.single_beside(
                    daemon, 0.5, [("get", self.options.frames[-1]), *(("set", frame) for frame in self.options.frames)])),
                ("twelve clients", lambda: self.mixed(daemon))])

    def null(self):
        for bits in (32, 64):
            with self.start("sherwoodd-null", "--key-bits", str(bits), "--capacity", str(self.options.slots)) as daemon:
                def gets(daemon=daemon, bits=bits):
                    for frame in self.options.frames:
                        filled = int(FILL * self.options.slots)
                        words = (daemon.unix(), "-n", filled, *self.shape(frame), "-o", "get")
                        get = self.load(*words, *self.drawn(frame), hits=1)[0]
                        self.note(Row("get", 2 * bits, None, frame, "sherwood-null"), get, "p50", "p99")
                        beside = Row("get_beside_updates", 2 * bits, None, frame, "sherwood-null")
                        self.attempt("gets beside updates, no table", lambda r=beside, f=frame, n=filled, g=get:
                                     self.beside_updates(daemon, r, f, n, g))
                    if bits == 32:
                        self.get_tcp(daemon, "sherwood-null", int(0.5 * self.options.slots), None)
                        self.resp(daemon.address(), "sherwood-null", None, 32, "--no-verify")

                self.repeated(f"no table, u{bits}", [("gets", gets)])

    def gets(self):
        """Gets by socket and by ring, and single GETs beside frames, in turns with the daemon without a table."""
        filled = int(FILL * self.options.slots)
        for bits in (32, 64):
            flags = ("--key-bits", str(bits), "--capacity", str(self.options.slots))
            with self.start("sherwoodd", "--max-load", str(MAX_LOAD), *flags) as table, self.start("sherwoodd-null", *flags) as null:
                daemons = ((table, "sherwood"), (null, "sherwood-null"))
                self.insert(table, self.options.get_frames[-1], filled)
                steps = [(f"{frame} keys a frame", lambda b=bits, f=frame, d=daemons: self.gets_of(d, b, f)) for frame in self.options.get_frames]
                if bits == 32:
                    few = {self.options.get_frames[i] for i in (0, len(self.options.get_frames) // 2, -1)}
                    beside = [*(("get", frame) for frame in sorted(few)), ("set", sorted(few)[len(few) // 2])]
                    steps.append(("single GETs beside frames", lambda d=daemons, b=beside: [
                        self.single_beside(daemon, FILL, b, library, "gets_served") for daemon, library in d]))
                self.repeated(f"u{bits} gets", steps)

    def gets_of(self, daemons, bits, frame):
        """Gets by frames of one size of each daemon: by socket and by ring, and those of one connection, one frame at a time."""
        ring = ("--region", "-c", self.options.threads)
        one = ("-c", 1, "-d", 1, "-t", 1)
        kinds = [("get", ()), ("get_ring", ring), *([("get_one", one), ("get_one_ring", ("--region", *one))] if frame in LONE_FRAMES else [])]
        for name, words in kinds:
            for daemon, library in daemons:
                phase = self.load(daemon.unix(), "-n", int(FILL * self.options.slots), *self.shape(frame), "-o", "get", *self.drawn(frame),
                                  *words, hits=1)[0]
                if "ring" in name and phase["system_calls"]["ring_requests"] == 0:
                    raise Failed(f"gets of {frame} keys by ring: no request used the ring")
                self.note(Row(name, 2 * bits, FILL, frame, library, "gets_served"), phase, "p50", "p99")

    def cluster(self):
        """Gets beside gets of a node of a cluster, which looks at the slot of each key; it owns all of them."""
        filled = int(FILL * self.options.slots)
        topology = pathlib.Path(self.work) / "topology.json"
        topology.write_text(json.dumps({
            "format": 1, "cluster": "one", "epoch": 1, "keys": "decimal",
            "shards": [{"id": NODE_ID[::-1], "name": "s1", "slots": [[0, 16383]]}],
            "nodes": [{"id": NODE_ID, "shard": "s1", "ip": "127.0.0.1", "role": "primary", "port": 7379}]}), encoding="ascii")
        for bits in (32, 64):
            for operation, flags in (("get_alone", ()), ("get_in_cluster", (
                    "--cluster-config", topology, "--cluster-node-id", NODE_ID))):
                with self.start("sherwoodd", "--key-bits", str(bits), "--capacity", str(self.options.slots), "--max-load",
                                str(MAX_LOAD), *flags) as daemon:
                    self.insert(daemon, self.options.frames[-1], filled)

                    def gets(daemon=daemon, bits=bits, operation=operation):
                        for frame in self.options.frames:
                            words = (daemon.unix(), "-n", filled, *self.shape(frame), "-o", "get")
                            get = self.load(*words, *self.drawn(frame), hits=1)[0]
                            self.note(Row(operation, 2 * bits, FILL, frame), get, "p50", "p99")

                    self.repeated(f"u{bits}, {operation}", [("gets", gets)])

    def redis(self):
        program = self.redis_program()
        if program is None:
            return
        self.describe_redis(program, f"--appendonly no --io-threads {self.options.threads}; redis-1: --io-threads 1")
        for library, io_threads in (("redis", self.options.threads), ("redis-1", 1)):
            if library == "redis" or self.options.threads != 1:
                with Redis(program, self.work, io_threads) as daemon:
                    self.repeated(library, [("RESP", lambda d=daemon, name=library: self.resp(d.address(), name, None, 64))])

    def engines(self):
        for engine, bits, slots, flags in (
                ("cuckoo", 64, self.options.slots, ("--key-bits", "32")),
                ("cache", 64 + 8 * CACHE_VALUE_BYTES, self.options.slots // 4,
                 ("--key-bits", "64", "--value-bytes", str(CACHE_VALUE_BYTES)))):
            with self.start("sherwoodd", "--engine", engine, "--capacity", str(slots), *flags) as daemon:
                steps = [(f"{frame} keys a frame", lambda d=daemon, e=engine, b=bits, s=slots, f=frame:
                          self.engine(d, e, b, s, f)) for frame in self.options.frames]
                self.repeated(engine, steps)

    def engine(self, daemon, engine, bits, slots, frame):
        """Inserts, gets and updates at two loads; then all keys are deleted, from the fuller table."""
        daemon.clear()
        stored = 0

        def row_of(operation, load):
            return Row(operation, bits, load, frame, f"sherwood-{engine}", "served_engines")

        for load in ENGINE_LOADS:
            keys = int(load * slots)
            self.note(row_of("insert", load), self.insert(daemon, frame, keys - stored, stored))
            stored = keys
            words = (daemon.unix(), "-n", keys, *self.shape(frame))
            self.load(*words, "-o", "get", hits=1)
            self.note(row_of("get", load), self.load(*words, "-o", "get", *self.drawn(frame), hits=1)[0], "p50", "p99")
            self.note(row_of("update", load), self.load(*words, "-o", "set", *self.drawn(frame), hits=1)[0], "p50",
                      "p99")
        for load, below in zip(reversed(ENGINE_LOADS), (*reversed(ENGINE_LOADS[:-1]), 0)):
            first = int(below * slots)
            self.note(row_of("delete", load), self.load(
                daemon.unix(), *self.shape(frame), "-o", "delete", "--first", first, "-n", int(load * slots) - first,
                "--frames-prefilled", "all", hits=1)[0])

    def rows(self):
        """Rows, of a table and without one."""
        flags = ("--key-bits", "64", "--capacity", str(self.options.row_slots), "--value-bytes",
                 str(self.options.row_bytes), "--value-type", "f32", "--arena-bytes", ROW_ARENA, "--frame-ops-max", "0")
        frames = [frame for frame in self.options.frames if frame <= ROW_FRAME_MAX]
        for program, library in (("sherwoodd", "sherwood"), ("sherwoodd-null", "sherwood-null")):
            with self.start(program, *flags) as daemon:
                self.repeated(f"rows, {library}", [
                    (f"{frame} keys a frame", lambda d=daemon, n=library, f=frame: self.rows_of(d, n, f))
                    for frame in frames])

    def rows_of(self, daemon, library, frame):
        """Fresh rows up to a load; gets and sets of stored ones. Without a table: gets and sets."""
        bits, keys = 128 + 8 * self.options.row_bytes, int(ROW_LOAD * self.options.row_slots)
        stored = ("-n", keys, *self.shape(frame))

        def row_of(operation):
            return Row(operation, bits, ROW_LOAD, frame, library, "rows_served")

        if library == "sherwood":
            daemon.clear()
            self.note(row_of("insert"), self.insert(daemon, frame, keys))
            self.load(daemon.unix(), *stored, "-o", "get", hits=1)
        for operation, word in (("get", "get"), ("update", "set")):
            self.note(row_of(operation), self.load(
                daemon.unix(), *stored, "-o", word, *self.drawn(frame),
                *(["--no-verify"] if library != "sherwood" else []), hits=1)[0], "p50", "p99")

    def host(self):
        """Gets and sets of stored keys of a table in host memory, beside random lines of that memory."""
        with self.start("sherwoodd", "--key-bits", "64", "--capacity", str(self.options.host_slots), "--max-load",
                        "0.85", "--backend", "cpu") as daemon:
            self.insert(daemon, self.options.frames[-1], self.options.host_keys)
            self.repeated("host memory", [("random lines", self.random_lines),
                                          *((f"{frame} keys a frame", lambda f=frame: self.host_frames(daemon, f))
                                            for frame in self.options.frames)])

    def random_lines(self):
        """The ceiling: all processors read, then write, random lines of 64 bytes."""
        done = subprocess.run([self.built("random-lines"), "--seconds", str(self.options.seconds / 2)], text=True,
                              capture_output=True, check=False)
        if done.returncode != 0:
            raise Failed(f"random-lines: {done.stderr.strip()}")
        for line in done.stdout.splitlines():
            name, rate = line.split()
            self.results.add(self.repetition, Row(name, "", None, 1, "plain", "host_served"), RATE, float(rate), "1/s")
            self.say(f"  {name}: {float(rate) / 1e6:.4g} M lines/s")

    def host_frames(self, daemon, frame):
        stored = (daemon.unix(), "-n", self.options.host_keys, *self.shape(frame))
        load = self.options.host_keys / self.options.host_slots
        for operation, word in (("get", "get"), ("update", "set")):
            self.note(Row(operation, 128, load, frame, "sherwood", "host_served"),
                      self.load(*stored, "-o", word, *self.drawn(frame), hits=1)[0], "p50", "p99")

    def tables(self):
        """Gets and sets of several tables by frames for one of them, and gets by segments of all, beside one table that
        has as many keys and slots."""
        together = TABLES * SEGMENT_KEYS
        keys = self.options.slots // 2 // TABLES_MULTIPLE * TABLES_MULTIPLE
        kinds = [(f"{operation}_by_tables", frame, ("-o", operation)) for operation in ("get", "set") for frame in TABLE_FRAMES]
        kinds.append(("get_by_segments", together, ("-o", "get", "--segments")))
        one, several = {}, {}

        def run(rates, tables):
            with self.start("sherwoodd", "--key-bits", "64", "--tables-max", str(TABLES + 1), "--capacity",
                            str(self.options.slots // tables), "--max-capacity", str(self.options.slots)) as daemon:
                base = (daemon.unix(), "-n", keys, "--no-found", *(("--tables", tables) if tables > 1 else ()))
                self.load(*base, *self.shape(TABLE_FRAMES[-1]), "-o", "set")
                for name, frame, words in kinds:
                    words = [word for word in words if tables > 1 or word != "--segments"]
                    phase = self.load(*base, *self.shape(frame), *words, *self.drawn(frame), hits=1)[0]
                    row = Row(name if tables > 1 else f"{name}_one", 128, None, frame, "sherwood", "tables_served")
                    self.note(row, phase, "p50", "p99")
                    rates[name, frame] = phase[RATE]
                    if tables > 1:
                        self.results.add(self.repetition, row, "ratio_to_one", phase[RATE] / one[name, frame], "")
                for frame in self.options.frames if tables > 1 else ():
                    self.attempt(f"a flood of {frame} keys a frame", lambda f=frame: self.flooded(daemon, keys // TABLES, f))

        self.repeated("tables", [("one table", lambda: run(one, 1)), (f"{TABLES} tables", lambda: run(several, TABLES))])

    def flooded(self, daemon, keys, frame):
        """Small reads of a table while other connections write to the default one as fast as they are answered."""
        self.load(daemon.unix(), "-n", keys, *self.shape(frame), "-o", "set")
        flood = (daemon.unix(), "-n", keys, *self.shape(frame), "-o", "set", "--frames-prefilled", max(1, DRAWN_KEYS // frame))
        phase, other = self.beside(flood, daemon.unix(), "-n", keys, "--tables", 1, "-f", FLOODED_FRAME, "-c", 8, "-d", 1, "-t", 1,
                                   "-o", "get", "--rate", FLOODED_KEYS_PER_SECOND, *self.timed(), behind=1)
        row = Row("get_beside_flood", 128, None, frame, "sherwood", "tables_served")
        self.note(row, phase, "p50", "p99")
        self.results.add(self.repetition, row, "frames_beside", other[RATE], "1/s")

    # --- what is written -------------------------------------------------------------------------

    def write_more(self):
        self.plot()

    def plot(self):
        if shutil.which("gnuplot") is None:
            self.say(f"there is no plot: gnuplot is not installed. In the folder of the results: gnuplot {HERE / 'plot.gp'}")
        elif subprocess.run(["gnuplot", HERE / "plot.gp"], cwd=self.options.output, check=False).returncode != 0:
            self.errors.append("gnuplot failed")


if __name__ == "__main__":
    sys.exit(run_study(Served, arguments))
