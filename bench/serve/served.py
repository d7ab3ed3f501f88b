#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""served.py - what a client is served: the study of rates from a client's memory to the table and back.

Each daemon is started, loaded by sherwood-load and stopped: Sherwood with 32-bit and with 64-bit keys, the
daemon without a table, redis-server, and the other engines. bench/serve/README.md says what each row is.
Nothing is needed but bash's usual machine, python3, and the programs; redis-server and gnuplot if they are
there. A row whose replies are not as they must be is an error, not a number.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
# pylint: disable=wrong-import-position
from daemons import Failed, Redis, Sherwood, environment  # noqa: E402
from results import RATE, Results, Row, bars  # noqa: E402
from table import tables  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
PARTS = ("frames32", "clients", "frames64", "null", "redis", "engines")
# Frames in flight on each connection.
DEPTHS = {4096: 32, 65536: 4, 262144: 2}
# Keys that a thread draws before a phase of --seconds: more than caches hold of their buckets.
DRAWN_KEYS = 1 << 20
RESP_KEYS = 1000000
RESP_CONNECTIONS = 64
# What RESP clients ask the daemon without a table.
NULL_RESP = ("resp_get_p64", "resp_set_p64", "resp_get_p1")
# Loads of the steps: what is filled, the slices that are written and deleted by turns, and the engines'.
FILL = 0.85
SLICE = 0.1
MAX_LOAD = 0.98
ENGINE_LOADS = (0.5, 0.75)
CACHE_VALUE_BYTES = 60
# So long after a load another one is begun beside it. If that was too soon, as shows when both have ended, they
# are begun again with the next lead.
LEAD_SECONDS = (0.5, 2, 6)


def number(text):
    """64Mi, 4Ki, 10000."""
    found = re.fullmatch(r"(\d+)(Ki|Mi|Gi)?", text)
    if not found or int(found.group(1)) == 0:
        raise argparse.ArgumentTypeError(f"{text}: a number is needed, as 65536 or 64Ki")
    return int(found.group(1)) << {None: 0, "Ki": 10, "Mi": 20, "Gi": 30}[found.group(2)]


def arguments():
    """The command line."""
    cores = os.cpu_count() or 1
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    add = parser.add_argument
    add("--output", type=pathlib.Path, help="folder of the results (output/<time>/served)")
    add("--build", type=pathlib.Path, help="folder of the programs (build, or that of the bundle)")
    add("--parts", default=",".join(PARTS), help="which daemons, in this order (%(default)s)")
    add("--quick", action="store_true", help="one repetition, rows of half the time")
    add("--repetitions", type=int, default=3, help="of everything; medians are told (%(default)s)")
    add("--seconds", type=float, default=1, help="of a row that lasts as long as it is asked to (%(default)s)")
    add("--row-seconds", type=float, default=60, help="a row that takes longer is an error (%(default)s)")
    add("--budget", type=float, default=0, help="seconds after which no further part is begun; 0: none")
    add("--backend", default="auto", help="of the daemons: auto, cuda or cpu (%(default)s)")
    add("--slots", type=number, default=number("64Mi"), help="slots of the table (64Mi)")
    add("--loops", type=int, default=8, help="I/O loops of the daemons (%(default)s)")
    add("--threads", type=int, default=max(1, cores // 2), help="threads of the generator (half the cores)")
    add("--connections", type=int, default=16, help="of the frames (%(default)s)")
    add("--frames", default="4Ki,64Ki,256Ki", help="keys a frame (%(default)s)")
    add("--idle", type=int, default=10000, help="silent connections (%(default)s)")
    add("--redis", default="redis-server", help="the program (%(default)s, and first that of make bundle-redis); "
        "skipped if it is not there")
    add("--folder", default="h200/served", help="of bench/results, for the sources in tables.md (%(default)s)")
    add("--flags", default="", help="further flags of sherwoodd")
    add("--no-found", action="store_true", help="the frames decline the found bitmaps")
    options = parser.parse_args()
    options.frames = [number(text) for text in options.frames.split(",")]
    options.parts = options.parts.split(",")
    if set(options.parts) - set(PARTS) or set(options.frames) - set(DEPTHS):
        parser.error(f"parts are {','.join(PARTS)}; frames have {', '.join(map(str, DEPTHS))} keys")
    options.build = options.build or (HERE.parent if (HERE.parent / "sherwoodd").exists() else HERE.parents[1] / "build")
    now = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    options.output = options.output or pathlib.Path("output") / now / "served"
    if options.quick:
        options.repetitions, options.seconds = 1, options.seconds / 2
    return options


class Study:
    """One run. Parts are methods; each begins with an empty daemon of its own."""

    def __init__(self, options, work):
        self.options, self.work = options, work
        self.build = options.build.resolve()
        self.begun = time.monotonic()
        self.errors, self.described = [], []
        self.repetition = 0
        options.output.mkdir(parents=True, exist_ok=True)
        self.results = Results(options.output)

    # --- what all parts use ----------------------------------------------------------------------

    def say(self, text):
        print(f"[{time.monotonic() - self.begun:5.0f} s] {text}", flush=True)

    def start(self, program, *flags):
        """A daemon; what it says of itself is kept for run_info.txt."""
        options = self.options
        daemon = Sherwood(self.build / program, self.work, [
            "--backend", options.backend if program == "sherwoodd" else "cpu", "--loops", str(options.loops),
            "--connections-max", str(options.idle + 1000), *flags, *options.flags.split()])
        self.described.append(daemon.said().split("\n", maxsplit=1)[0])
        self.say(self.described[-1])
        return daemon

    def command(self, address, *words):
        found = ["--no-found"] if self.options.no_found and "resp" not in words else []
        return [str(w) for w in (self.build / "sherwood-load", "-a", address, "--json", *found, *words)]

    def load(self, address, *words, hits=None):
        """Runs sherwood-load; its phases. `hits`: the part of the last phase's keys that must have been there."""
        command = self.command(address, *words)
        limit = self.options.row_seconds
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit,
                                  check=False)
        except subprocess.TimeoutExpired as late:
            raise Failed(f"{' '.join(command)}: not done within {limit:.0f} s") from late
        return self.phases(command, done.returncode, done.stdout, done.stderr, hits)

    def phases(self, command, status, output, errors, hits=None):
        """The phases of a report that is as it must be."""
        if status != 0:
            raise Failed(f"{' '.join(command)}: exit status {status}: {errors.strip() or output}")
        report = json.loads(output)
        phase = report["phases"][-1]
        if not report["ok"] or phase["keys"] == 0 or phase.get("unsent", 0):
            raise Failed(f"{' '.join(command)}: {phase['keys']} keys, {phase.get('unsent', 0)} frames not sent")
        if hits is not None and phase["hits"] != hits * phase["keys"]:
            raise Failed(f"{' '.join(command)}: {phase['hits']} of {phase['keys']} keys were there")
        return report["phases"]

    def note(self, row, phase, *latencies):
        """A row of a phase: its rate, and percentiles of its latency."""
        self.results.add(self.repetition, row, RATE, phase[RATE], "1/s")
        for name in latencies:
            self.results.add(self.repetition, row, f"latency_{name}", phase["latency_us"][name], "us")
        where = f"F {row.load}" if row.load else ""
        times = ", ".join(f"{name} {phase['latency_us'][name]:.0f} us" for name in latencies)
        self.say(f"  {row.library} {row.operation} {row.bits} bits, batch {row.batch} {where}: "
                 f"{phase[RATE] / 1e6:.4g} M keys/s {times}")

    def timed(self):
        return ("--seconds", self.options.seconds)

    def shape(self, frame):
        """Options of a load by frames of this many keys."""
        return ("-f", frame, "-d", DEPTHS[frame], "-c", self.options.connections, "-t", self.options.threads)

    def drawn(self, frame):
        return ("--frames-prefilled", max(1, DRAWN_KEYS // frame), *self.timed())

    def each(self, part, *steps):
        """Runs steps of a part. One that fails is an error of the run, and the others go on."""
        for name, step in steps:
            if self.options.budget and time.monotonic() - self.begun > self.options.budget:
                self.errors.append(f"{part}, {name}: not begun, the budget was used up")
                self.say(self.errors[-1])
                continue
            self.say(f"{part}, {name}, repetition {self.repetition} of {self.options.repetitions}")
            self.attempt(f"{part}, {name}", step)
        self.results.write_summary()

    def attempt(self, name, step):
        try:
            step()
        except Failed as failed:
            self.errors.append(f"{name}: {failed}")
            self.say(f"ERROR: {self.errors[-1]}")

    def repeated(self, part, steps):
        for self.repetition in range(1, self.options.repetitions + 1):
            self.each(part, *steps)

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

    def beside(self, background, *words, behind=None, hits=None):
        """Runs a load while another one runs, which begins before and ends after it; the last phases of both. `hits`
        and `behind`: parts of their keys that must have been there."""
        for lead in LEAD_SECONDS:
            found = self.beside_after(lead, background, words, behind, hits)
            if found is not None:
                return found
        raise Failed(f"{' '.join(map(str, background))}: did not last from before to after the load beside it")

    def beside_after(self, lead, background, words, behind, hits):
        """The same; None if one was not beside the other all the time."""
        command = self.command(*background, "--seconds", 2 * self.options.seconds + 2 * lead)
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as other:
            try:
                time.sleep(lead)
                phase = self.load(*words, hits=hits)[-1]
                ended = time.monotonic()
                is_short = other.poll() is not None
                output, errors = other.communicate(timeout=self.options.row_seconds)
            except subprocess.TimeoutExpired as late:
                raise Failed(f"{' '.join(command)}: not done in time") from late
            finally:
                other.kill()
        last = self.phases(command, other.returncode, output, errors, behind)[-1]
        is_late = time.monotonic() - last["seconds"] > ended - phase["seconds"]
        return None if is_short or is_late else (phase, last)

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
        bits = "" if library == "redis" else 2 * key_bits
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

    def single_beside(self, daemon, filled):
        """Single GETs while frames are sent as fast as they are answered."""
        for operation, frame in (("get", self.options.frames[-1]), *(("set", f) for f in self.options.frames)):
            frames = (daemon.unix(), "-n", filled, "-o", operation, "-f", frame, "-c", 8, "-d", DEPTHS[frame], "-t",
                      max(1, self.options.threads // 2), "--frames-prefilled", max(1, DRAWN_KEYS // frame))
            phase, other = self.beside(frames, daemon.address(), "--protocol", "resp", "-n", RESP_KEYS, "--key-bits", 32, "-o", "get",
                                       "-c", RESP_CONNECTIONS, "-d", 1, "-t", max(1, self.options.threads // 4),
                                       *self.timed(), behind=1)
            what = "gets" if operation == "get" else "updates"
            row = Row(f"resp_get_p1_beside_{what}", 64, filled / self.options.slots, frame)
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
                ("single GETs beside frames", lambda: self.single_beside(daemon, filled)),
                ("twelve clients", lambda: self.mixed(daemon))])

    def null(self):
        for bits in (32, 64):
            with self.start("sherwoodd-null", "--key-bits", str(bits), "--capacity", str(self.options.slots)) as daemon:
                def gets(daemon=daemon, bits=bits):
                    for frame in self.options.frames:
                        words = (daemon.unix(), "-n", int(FILL * self.options.slots), *self.shape(frame), "-o", "get")
                        self.note(Row("get", 2 * bits, None, frame, "sherwood-null"),
                                  self.load(*words, *self.drawn(frame), hits=1)[0], "p50", "p99")
                    if bits == 32:
                        self.get_tcp(daemon, "sherwood-null", int(0.5 * self.options.slots), None)
                        self.resp(daemon.address(), "sherwood-null", None, 32, "--no-verify")

                self.repeated(f"no table, u{bits}", [("gets", gets)])

    def redis(self):
        bundled = self.build / "redis" / "redis-server"
        program = bundled if bundled.exists() else shutil.which(self.options.redis)
        if program is None:
            self.say(f"redis is skipped: there is no {self.options.redis}")
            return
        version = subprocess.run([program, "--version"], text=True, capture_output=True, check=False,
                                 env=environment(program)).stdout
        self.described.append(f"{version.strip()}, --save '' --appendonly no --io-threads {self.options.threads}")
        with Redis(program, self.work, self.options.threads) as daemon:
            self.repeated("redis", [("RESP", lambda: self.resp(daemon.address(), "redis", None, 64))])

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

    # --- what is written -------------------------------------------------------------------------

    def write_info(self, ended):
        """run_info.txt, as the other studies have it."""
        def output_of(*command):
            try:
                return subprocess.run(command, text=True, capture_output=True, check=False, cwd=HERE).stdout.strip()
            except FileNotFoundError:
                return ""

        commit = os.environ.get("COMMIT") or output_of("git", "describe", "--always", "--dirty", "--abbrev=12",
                                                       "--exclude", "*") or "not known"
        cpu = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(encoding="ascii"), re.MULTILINE)
        gpu = output_of("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
        lines = [f"date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%dT%H:%M:%SZ}",
                 f"command: {' '.join(sys.argv)}", f"commit: {commit}",
                 f"cpu: {cpu.group(1) if cpu else 'not known'}, {os.cpu_count()} processors", f"gpu: {gpu or 'none'}",
                 f"kernel: {os.uname().sysname} {os.uname().release} {os.uname().machine}",
                 f"sherwood-load: {output_of(str(self.build / 'sherwood-load'), '--version')}",
                 f"options: {' '.join(f'{name}={value}' for name, value in sorted(vars(self.options).items()))}",
                 *(f"started: {text}" for text in self.described),
                 *(f"error: {text}" for text in self.errors),
                 f"end: {ended} after {time.monotonic() - self.begun:.0f} s, {len(self.errors)} errors"]
        (self.options.output / "run_info.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def plot(self):
        if shutil.which("gnuplot") is None:
            self.say(f"there is no plot: gnuplot is not installed. In the folder of the results: gnuplot {HERE / 'plot.gp'}")
        elif subprocess.run(["gnuplot", HERE / "plot.gp"], cwd=self.options.output, check=False).returncode != 0:
            self.errors.append("gnuplot failed")

    def run(self):
        ended = "broken off"
        try:
            for part in self.options.parts:
                self.attempt(part, getattr(self, part))
                self.write_info("running")
            ended = "done"
        finally:
            self.results.write_summary()
            self.write_info(ended)
        text = "\n".join(bars(self.results.summary())) + "\n"
        (self.options.output / "bars.txt").write_text(text, encoding="ascii")
        (self.options.output / "tables.md").write_text(tables(self.results.summary(), self.options.folder), encoding="ascii")
        self.plot()
        self.write_info(ended)
        print(text, end="")
        for error in self.errors:
            print(f"ERROR: {error}")
        self.say(f"files in {self.options.output}")
        return 1 if self.errors else 0


def main():
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with tempfile.TemporaryDirectory(prefix="sherwood-served-") as work:
        sys.exit(Study(arguments(), work).run())


if __name__ == "__main__":
    main()
