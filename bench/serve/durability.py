#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""durability.py - what the write-ahead log and snapshots cost: the study of durability, by socket, on one disk.

Daemons that keep what they hold are loaded by sherwood-load, beside what they are compared with in the same repetition:
plain programs that write and sync as many bytes (disk.py), redis-server, and the daemon without a data directory.
bench/serve/README.md says what each row is. A row whose replies are not as they must be is an error, not a number.
"""

import argparse
import contextlib
import pathlib
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
# pylint: disable=wrong-import-position
import disk  # noqa: E402
from daemons import Redis, ask, facts  # noqa: E402
from failures import Failed, made  # noqa: E402
from results import RATE, Row  # noqa: E402
from study import DRAWN_KEYS, MAX_LOAD, RESP_CONNECTIONS, RESP_KEYS, Study, add_options, number, parsed, run_study  # noqa: E402

PARTS = ("frames", "resp", "snapshot")
FILL = 0.85
FRAME = 262144
PAIR_BYTES = 8
# Bytes of a log record besides its columns.
RECORD_HEAD = 64
# Keys of the frames whose latency is measured while a snapshot is written; frames in flight on each connection.
WAITING_FRAME, WAITING_DEPTH = 4096, 2
SLOTS_MAX = 1 << 27
# Flags of redis-server.
REDIS_LOG = ("--appendonly", "yes", "--appendfsync", "always")
# The most bytes that the plain streams write.
STREAM_MAX = 2 << 30
# (operation, metric): at least, or at most where it is negative.
BARS = {
    ("set_always", "ratio_to_plain"): 0.8,
    ("resp_set_p1_always", "ratio_to_redis"): 3,
    ("set_everysec", "ratio_to_lesser"): 0.9,
    ("get_beside_sets_everysec", "ratio_to_memory"): 0.8,
    ("set_beside_snapshot", "wait_added"): -50000,
    ("snapshot", "ratio_to_disk"): 0.8,
    ("snapshot_beside_sets", "ratio_to_disk"): 0.8,
    ("load_from_disk", "ratio_to_disk"): 0.8,
    ("load_from_cache", RATE): 1e9,
}


# Ceilings that durability-ceilings reports in bytes a second; the others are in keys or commands.
ALONE_BYTES = ("check", "copy", "image_gather", "image_seal")


def slots_here():
    """The largest power of two whose table, its copy, and as much again fit into half of the memory that is free."""
    text = pathlib.Path("/proc/meminfo").read_text(encoding="ascii")
    free = 1024 * int(re.search(r"^MemAvailable: +(\d+)", text, re.MULTILINE).group(1))
    return min(SLOTS_MAX, 1 << max(16, (free // 2 // (4 * PAIR_BYTES)).bit_length() - 1))


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    add_options(parser, "durability", PARTS)
    add = parser.add_argument
    add("--slots", type=number, default=slots_here(), help="of the table that is saved and loaded (as memory allows, at "
        "most 128Mi; here %(default)s)")
    add("--log-slots", type=number, default=number("16Mi"), help="of the tables that have a log (16Mi)")
    add("--data", type=pathlib.Path, help="folder for data directories, on the disk that is measured (--output)")
    options = parsed(parser, "durability", PARTS)
    options.data = made(options.data, "--data").resolve() if options.data else made(options.output, "--output").resolve()
    return options


def row_of(operation, batch=FRAME, library="sherwood", bits=8 * PAIR_BYTES):
    is_table = library.startswith("sherwood")
    return Row(operation, bits if is_table else "", FILL if is_table else None, batch, library, "durability")


def seconds_told(daemon, pattern):
    """The last line of a daemon's log like this: its groups, numbers. Times are told in ms: 0 is less than one."""
    found = re.findall(pattern, daemon.said())
    if not found:
        raise Failed(f"{daemon.name} did not tell '{pattern}':\n{daemon.said()[-2000:]}")
    return [max(float(text), 0.001) for text in found[-1]]


class Durability(Study):
    """One run. Each step begins with a daemon and a data directory of its own."""

    @staticmethod
    def bar_of(key, metric):
        return BARS.get((key[2], metric)) if key[1] == "sherwood" else None

    # --- what all parts use ----------------------------------------------------------------------

    def folder(self):
        return tempfile.TemporaryDirectory(prefix="data-", dir=self.options.data)

    @contextlib.contextmanager
    def daemon(self, slots, bits, *flags):
        """A daemon with 32-bit or 64-bit keys and values, and `flags`."""
        with self.start("sherwoodd", "--key-bits", str(bits), "--capacity", str(slots), "--max-load", str(MAX_LOAD),
                        *flags) as daemon:
            yield daemon

    @contextlib.contextmanager
    def logged(self, level, bits=32):
        """A daemon with a log in a directory that is removed afterwards."""
        with self.folder() as folder:
            with self.daemon(self.options.log_slots, bits, "--data-dir", folder, "--appendonly", "yes", "--appendfsync",
                             level) as daemon:
                yield daemon

    def tell(self, row, metric, value, unit=""):
        self.results.add(self.repetition, row, metric, value, unit)
        self.say(f"  {row.library} {row.operation}: {metric} {value:.4g} {unit}")

    def fill(self, daemon, slots):
        """Fresh keys up to FILL; the phase."""
        keys = int(FILL * slots)
        phase = self.load(daemon.unix(), "-f", 65536, "-d", 4, "-c", self.options.connections, "-t", self.options.threads,
                          "-o", "set", "-n", keys, hits=0)[0]
        if daemon.entries() != keys:
            raise Failed(f"{daemon.entries()} keys are stored, not {keys}")
        return phase

    def stored(self):
        return ("-n", int(FILL * self.options.log_slots))

    def sets(self, daemon, level):
        """Sets of stored keys by large frames: keys a second. What the daemon used for them is noted, too."""
        row = row_of(f"set_{level}")
        before, writes = daemon.usage(), self.logged_writes(daemon, level)
        phase = self.load(daemon.unix(), *self.stored(), *self.shape(FRAME), "-o", "set", *self.drawn(FRAME), hits=1)[0]
        if level != "memory":
            self.check_log(daemon, level, writes, phase["keys"] // FRAME)
        processors, written = (after - first for after, first in zip(daemon.usage(), before))
        self.note(row, phase, "p50", "p99")
        self.tell(row, "processors", processors / phase["seconds"])
        self.tell(row, "written_per_byte", written / (phase["keys"] * PAIR_BYTES))
        return phase[RATE]

    @staticmethod
    def logged_writes(daemon, level):
        """So many writes are in the log; at `always` on storage."""
        told = facts(daemon.socket, "persistence")
        return int(told.get("sherwood_durable_sequence" if level == "always" else "sherwood_written_sequence", 0))

    def check_log(self, daemon, level, before, requests):
        """The log must have so many more writes than `before`."""
        there = self.logged_writes(daemon, level) - before
        if there < requests:
            raise Failed(f"the log has {there} writes of {requests} that were answered")

    # --- ceilings --------------------------------------------------------------------------------

    def alone(self, part, slots=None):
        """What parts of the daemon do by themselves, as bench/serve/ceilings measures them: {name: a second}."""
        frame = min(FRAME, slots // 2) if slots else FRAME
        command = [self.built("durability-ceilings"), part, "--backend", self.options.backend, "--frame", frame,
                   "--seconds", min(0.5, self.options.seconds), *(("--slots", slots) if slots else ())]
        command = [str(word) for word in command]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=self.options.row_seconds, check=False)
        if done.returncode != 0:
            raise Failed(f"{' '.join(command)}: exit status {done.returncode}: {done.stderr.strip()}")
        found = {name: float(value) for name, value in (line.split() for line in done.stdout.splitlines())}
        for name, value in found.items():
            is_bytes = name in ALONE_BYTES
            row = row_of(name, 0 if part == "image" else FRAME if part in ("table", "bytes") else 1, "alone")
            self.tell(row, "bandwidth" if is_bytes else RATE, value / 1e9 if is_bytes else value, "GB/s" if is_bytes else "1/s")
        return found

    def under(self, row, metric, value, unit, ceiling):
        """Notes what a figure with a bar could be at most in this repetition, and how much of it was reached."""
        self.tell(row, f"ceiling_{metric}", ceiling, unit)
        self.tell(row, f"{metric}_of_ceiling", value / ceiling)

    # --- frames ----------------------------------------------------------------------------------

    def plain(self):
        """Plain programs that write and sync the bytes of one frame at a time: keys a second of the best."""
        best = 0
        for name, direct, recycled in (("append", False, False), ("append_direct", True, False),
                                       ("recycled", False, True), ("recycled_direct", True, True)):
            found = disk.pieces(self.options.data / "plain", FRAME * PAIR_BYTES + RECORD_HEAD, self.options.seconds, direct,
                                recycled)
            if found is None:
                self.say(f"  plain {name} is skipped: this file system has no O_DIRECT")
                continue
            row = row_of(f"write_{name}", library="plain")
            rate = found[0] * FRAME
            self.tell(row, RATE, rate, "1/s")
            self.tell(row, "latency_p50", found[1], "us")
            best = max(best, rate)
        self.tell(row_of("write_best", library="plain"), RATE, best, "1/s")
        return best

    def gets_beside(self, daemon, level):
        """Gets by large frames while sets are sent as fast as they are answered; keys a second."""
        drawn = max(1, DRAWN_KEYS // FRAME)
        sets = (daemon.unix(), *self.stored(), "-o", "set", "-f", FRAME, "-c", 4, "-d", 2, "-t",
                max(1, self.options.threads // 2), "--frames-prefilled", drawn)
        phase, writes = self.beside(sets, daemon.unix(), *self.stored(), *self.shape(FRAME), "-o", "get",
                                    *self.drawn(FRAME), hits=1, behind=1)
        row = row_of(f"get_beside_sets_{level}")
        self.note(row, phase, "p50", "p99")
        self.tell(row, "sets_per_second", writes[RATE], "1/s")
        return phase[RATE]

    def memory_only(self):
        """Sets, and gets beside sets, of a daemon without a data directory; keys a second."""
        with self.daemon(self.options.log_slots, 32) as daemon:
            self.fill(daemon, self.options.log_slots)
            return self.sets(daemon, "memory"), self.gets_beside(daemon, "memory")

    def always(self, memory, plain):
        """`memory`, `plain`: what the memory-only daemon and the best plain program reach, keys a second."""
        with self.logged("always") as daemon:
            self.fill(daemon, self.options.log_slots)
            rate = self.sets(daemon, "always")
        row = row_of("set_always")
        self.tell(row, "bandwidth", rate * PAIR_BYTES / 1e9, "GB/s")
        self.tell(row, "ratio_to_plain", rate / plain)
        self.under(row, "ratio_to_plain", rate / plain, "", min(plain, memory) / plain)
        self.tell(row, "ratio_to_memory", rate / memory)

    def everysec(self, memory, memory_gets):
        with self.logged("everysec") as daemon:
            self.fill(daemon, self.options.log_slots)
            sets, gets = self.sets(daemon, "everysec"), self.gets_beside(daemon, "everysec")
        count = min(STREAM_MAX, int(memory * PAIR_BYTES * self.options.seconds))
        written = disk.stream(self.options.data / "plain", count)[0]
        self.tell(row_of("write_stream", library="plain"), "bandwidth", written / 1e9, "GB/s")
        row = row_of("set_everysec")
        self.tell(row, "bandwidth", sets * PAIR_BYTES / 1e9, "GB/s")
        self.tell(row, "ratio_to_memory", sets / memory)
        self.tell(row, "ratio_to_lesser", sets / min(memory, written / PAIR_BYTES))
        self.under(row, "ratio_to_lesser", sets / min(memory, written / PAIR_BYTES), "", 1)
        row = row_of("get_beside_sets_everysec")
        self.tell(row, "ratio_to_memory", gets / memory_gets)
        self.under(row, "ratio_to_memory", gets / memory_gets, "", 1)

    def frames_step(self):
        plain = self.plain()
        self.alone("table", self.options.log_slots)
        self.alone("bytes")
        memory, memory_gets = self.memory_only()
        self.always(memory, plain)
        self.everysec(memory, memory_gets)

    def frames(self):
        self.repeated("frames", [("memory only, always, everysec", self.frames_step)])

    # --- RESP, beside redis ----------------------------------------------------------------------

    def resp_sets(self, daemon, library, level):
        """SET, one command at a time on each connection; commands a second. Those that wait at the same time can be one
        write of the log."""
        words = (daemon.address(), "--protocol", "resp", "-n", RESP_KEYS, "--key-bits", 64, "-c", RESP_CONNECTIONS, "-t",
                 self.options.threads, "-o", "set", "-d", 1)
        is_logged = library == "sherwood" and level != "memory"
        writes = self.logged_writes(daemon, level) if is_logged else 0
        before = daemon.usage()[0]
        phase = self.load(*words, *self.timed())[0]
        if is_logged:
            self.check_log(daemon, level, writes, phase["keys"] // RESP_CONNECTIONS)
        row = row_of(f"resp_set_p1_{level}", 1, library, 128)
        self.note(row, phase, "p50", "p99")
        self.tell(row, "processors", (daemon.usage()[0] - before) / phase["seconds"])
        return phase[RATE]

    def resp_step(self, program):
        rate, latency = disk.pieces(self.options.data / "plain", disk.PAGE, self.options.seconds, recycled=True)
        row = row_of("sync_page", 1, "plain")
        self.tell(row, "syncs_per_second", rate, "1/s")
        self.tell(row, "latency_p50", latency, "us")
        with self.daemon(self.options.log_slots, 64) as daemon:
            memory = self.resp_sets(daemon, "sherwood", "memory")
        with self.logged("always", 64) as daemon:
            ours = self.resp_sets(daemon, "sherwood", "always")
        row = row_of("resp_set_p1_always", 1, bits=128)
        self.tell(row, "ratio_to_memory", ours / memory)
        self.alone("parse")
        if program is not None:
            with self.folder() as folder, Redis(program, self.work, 1, folder, REDIS_LOG) as daemon:
                theirs = self.resp_sets(daemon, "redis", "always")
            self.tell(row, "ratio_to_redis", ours / theirs)
            # at most, each sync has one command of every connection
            self.under(row, "ratio_to_redis", ours / theirs, "", min(memory, RESP_CONNECTIONS * rate) / theirs)

    def resp(self):
        program = self.redis_program()
        if program is not None:
            self.describe_redis(program, " ".join(REDIS_LOG))
        self.repeated("resp", [("SET", lambda: self.resp_step(program))])

    # --- snapshots -------------------------------------------------------------------------------

    def save(self, daemon, folder, operation):
        """A snapshot from its beginning to its end: its row, seconds, the file."""
        before = int(facts(daemon.socket, "persistence")["rdb_saves"])
        ask(daemon.socket, "BGSAVE")
        end = time.monotonic() + self.options.row_seconds
        while int(facts(daemon.socket, "persistence")["rdb_saves"]) == before:
            if time.monotonic() > end:
                raise Failed(f"a snapshot took longer than {self.options.row_seconds:.0f} s")
            time.sleep(0.01)
        seconds, held = seconds_told(daemon, r"wrote .*, in ([\d.]+) s; writes waited ([\d.]+) ms")
        file = max(pathlib.Path(folder).glob("snapshot-*"))
        row = row_of(operation, 0)
        self.tell(row, "bandwidth", file.stat().st_size / 1e9 / seconds, "GB/s")
        self.tell(row, "writes_waited", 1e3 * held, "us")
        return row, seconds, file

    def waiting(self, seconds):
        """The words of the sets whose waiting is looked at."""
        return ("-n", int(FILL * self.options.slots), "-f", WAITING_FRAME, "-d", WAITING_DEPTH, "-c",
                self.options.connections, "-t", self.options.threads, "-o", "set", "--frames-prefilled",
                max(1, DRAWN_KEYS // WAITING_FRAME), "--seconds", seconds)

    def beside_snapshot(self, daemon, folder, alone):
        """Sets for as long with and without a snapshot beside them, which takes `alone` seconds by itself."""
        seconds = max(self.options.seconds, 4 * alone + 1)
        without = self.load(daemon.unix(), *self.waiting(seconds), hits=1)[0]
        self.note(row_of("set_without_snapshot", WAITING_FRAME), without, "p50", "p99", "max")
        command = self.command(daemon.unix(), *self.waiting(seconds))
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as sets:
            try:
                time.sleep(seconds / 4)
                saved = self.save(daemon, folder, "snapshot_beside_sets")
                is_short = sets.poll() is not None
                output, errors = sets.communicate(timeout=self.options.row_seconds)
            except subprocess.TimeoutExpired as late:
                raise Failed(f"{' '.join(command)}: not done in time") from late
            finally:
                sets.kill()
        phase = self.phases(command, sets.returncode, output, errors, 1)[0]
        if is_short:
            raise Failed(f"sets of {seconds:.1f} s ended before the snapshot beside them, of {saved[1]:.1f} s")
        row = row_of("set_beside_snapshot", WAITING_FRAME)
        self.note(row, phase, "p50", "p99", "max")
        self.tell(row, "wait_added", phase["latency_us"]["max"] - without["latency_us"]["max"], "us")
        self.tell(row, "ratio_to_alone", phase[RATE] / without[RATE])
        return saved

    def load_again(self, folder, operation):
        """A start with this data directory, and its end by kill -9; (keys, bytes) a second."""
        file = max(pathlib.Path(folder).glob("snapshot-*"))
        with self.daemon(self.options.slots, 32, "--data-dir", folder) as daemon:
            keys, seconds = seconds_told(daemon, r"loaded (\d+) keys of .*, in ([\d.]+) s")
            if daemon.entries() != int(FILL * self.options.slots):
                raise Failed(f"{daemon.entries()} keys were loaded, not {int(FILL * self.options.slots)}")
            daemon.kill()
        row = row_of(operation, 0)
        self.tell(row, RATE, keys / seconds, "1/s")
        self.tell(row, "bandwidth", file.stat().st_size / 1e9 / seconds, "GB/s")
        return keys / seconds, file.stat().st_size / seconds

    def snapshot_steps(self):
        with self.folder() as folder:
            with self.daemon(self.options.slots, 32, "--data-dir", folder) as daemon:
                inserts = self.fill(daemon, self.options.slots)
                self.note(row_of("insert", 65536), inserts)
                row, seconds, file = self.save(daemon, folder, "snapshot")
                beside, beside_seconds, _ = self.beside_snapshot(daemon, folder, seconds)
                daemon.kill()
            size = file.stat().st_size
            written, read = disk.stream(self.options.data / "plain", min(STREAM_MAX, size))
            self.tell(row_of("write_stream", 0, "plain"), "bandwidth", written / 1e9, "GB/s")
            self.tell(row_of("read_stream", 0, "plain"), "bandwidth", read / 1e9, "GB/s")
            alone = self.alone("image", self.options.slots)
            for each, rate in ((row, size / seconds), (beside, size / beside_seconds)):
                self.tell(each, "ratio_to_disk", rate / written)
                self.under(each, "ratio_to_disk", rate / written, "", min(written, alone["image_seal"]) / written)
            for name in pathlib.Path(folder).glob("snapshot-*"):
                disk.forget(name)
            row, rate = row_of("load_from_disk", 0), self.load_again(folder, "load_from_disk")[1]
            self.tell(row, "ratio_to_disk", rate / read)
            self.under(row, "ratio_to_disk", rate / read, "", min(read, alone["restore_checked"] * PAIR_BYTES) / read)
            row, loaded = row_of("load_from_cache", 0), self.load_again(folder, "load_from_cache")[0]
            self.tell(row, "ratio_to_insert", loaded / inserts[RATE])
            self.under(row, RATE, loaded, "1/s", alone["restore_checked"])

    def snapshot(self):
        self.repeated("snapshot", [("of a large table", self.snapshot_steps)])


if __name__ == "__main__":
    sys.exit(run_study(Durability, arguments))
