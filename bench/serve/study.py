# SPDX-License-Identifier: MIT
"""study - what the studies of the daemon by socket share: options, starting, loading, rows, and what is written.

A study is a subclass of Study. Its parts are methods, named in its options; each begins with daemons of its own.
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

from daemons import Sherwood, environment
from failures import Failed, ended, made, positive, program_in, sentence, write_file
from results import RATE, Results, bar_of, bars

HERE = pathlib.Path(__file__).resolve().parent
# Frames in flight on each connection.
DEPTHS = {1024: 64, 4096: 32, 16384: 16, 65536: 4, 131072: 3, 262144: 2}
# Keys that a thread draws before a phase of --seconds: more than caches hold of their buckets.
DRAWN_KEYS = 1 << 20
RESP_KEYS = 1000000
RESP_CONNECTIONS = 64
MAX_LOAD = 0.98
# Leads in seconds: a concurrent load begins this long after the first one. If that was too early, which the
# study sees when both have ended, it runs both again with the next lead.
LEAD_SECONDS = (0.5, 2, 6)


def raise_open_files():
    """Lets this process and its children have as many open files as it may."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def number(text):
    """64Mi, 4Ki, 10000."""
    found = re.fullmatch(r"(\d+)(Ki|Mi|Gi)?", text)
    if not found or int(found.group(1)) == 0:
        raise argparse.ArgumentTypeError(f"{text}: a number is needed, as 65536 or 64Ki")
    return int(found.group(1)) << {None: 0, "Ki": 10, "Mi": 20, "Gi": 30}[found.group(2)]


def numbers(text):
    """4Ki,64Ki: a list of numbers."""
    return [number(part) for part in text.split(",")]


def add_options(parser, name, parts):
    """The options that every study has; `name` is its folder's."""
    cores = os.cpu_count() or 1
    add = parser.add_argument
    add("--output", type=pathlib.Path, help=f"folder of the results (output/<time>/{name})")
    add("--build", type=pathlib.Path, help="folder of the programs (build, or that of the bundle)")
    add("--parts", default=",".join(parts), help="which parts, in this order (%(default)s)")
    add("--quick", action="store_true", help="one repetition, rows of half the time")
    add("--repetitions", type=positive, default=3, help="of everything; medians are told (%(default)s)")
    add("--seconds", type=float, default=1, help="of a row that lasts as long as it is asked to (%(default)s)")
    add("--row-seconds", type=float, default=60, help="a row that takes longer is an error (%(default)s)")
    add("--budget", type=float, default=0, help="seconds after which no further part is begun; 0: none (%(default)s)")
    add("--backend", default="auto", choices=("auto", "cuda", "cpu"), help="of the daemons (%(default)s)")
    add("--loops", type=positive, default=8, help="I/O loops of the daemons (%(default)s)")
    add("--threads", type=positive, default=max(1, cores // 2), help="threads of the generator (half the cores)")
    add("--connections", type=positive, default=16, help="of the frames (%(default)s)")
    add("--redis", default="redis-server", help="the program (%(default)s, and first that of make bundle-redis); "
        "skipped if it is not there")
    add("--flags", default="", help="further flags of sherwoodd")
    add("--no-found", action="store_true", help="the frames decline the found bitmaps")


def parsed(parser, name, parts):
    """The command line, with what follows from it."""
    options = parser.parse_args()
    options.parts = options.parts.split(",")
    if set(options.parts) - set(parts):
        parser.error(f"parts are {','.join(parts)}")
    options.build = options.build or (HERE.parent if (HERE.parent / "sherwoodd").exists() else HERE.parents[1] / "build")
    if not options.build.is_dir():
        parser.error(f"--build {options.build} is no folder: run `make all`, or name the folder of the programs")
    now = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    options.output = options.output or pathlib.Path("output") / now / name
    if options.quick:
        options.repetitions, options.seconds = 1, options.seconds / 2
    return options


class Study:
    """One run."""

    def __init__(self, options, work):
        self.options, self.work = options, work
        self.build = options.build.resolve()
        self.begun = time.monotonic()
        self.errors, self.described = [], []
        self.repetition = 0
        self.results = Results(made(options.output, "--output"))

    # --- what a figure should be, and what else is written: of each study ------------------------

    @staticmethod
    def bar_of(key, metric):
        return bar_of(key, metric)

    def write_more(self):
        """Files of this study alone."""

    # --- what all parts use ----------------------------------------------------------------------

    def say(self, text):
        print(f"[{time.monotonic() - self.begun:5.0f} s] {text}", flush=True)

    def built(self, name):
        """The path of a program of this tree, which must be there."""
        return program_in(self.build, name)

    def program(self, name):
        """The path of a program, in a build folder or a bundle; None: it is not built."""
        for path in (self.build / name, self.build / "tests" / "gpu" / name):
            if path.exists():
                return path
        return None

    def start(self, program, *flags):
        """A daemon; what it says of itself is kept for run_info.txt."""
        options = self.options
        daemon = Sherwood(self.built(program), self.work, [
            "--backend", options.backend if program == "sherwoodd" else "cpu", "--loops", str(options.loops), *flags,
            *options.flags.split()])
        self.described.append(next(line for line in daemon.said().split("\n") if "RESP and bulk frames" in line))
        self.say(self.described[-1])
        return daemon

    def command(self, address, *words):
        found = ["--no-found"] if self.options.no_found and "resp" not in words else []
        return [str(w) for w in (self.built("sherwood-load"), "-a", address, "--json", *found, *words)]

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
        try:
            report = json.loads(output)
            phase = report["phases"][-1]
        except (ValueError, LookupError, TypeError) as error:
            raise Failed(f"{' '.join(command)}: its report cannot be read: name the programs of one build with --build") from error
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
        except (Failed, OSError) as failed:
            self.errors.append(f"{name}: {sentence(failed)}")
            self.say(f"ERROR: {self.errors[-1]}")

    def repeated(self, part, steps):
        for self.repetition in range(1, self.options.repetitions + 1):
            self.each(part, *steps)

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

    def redis_program(self):
        """That of the bundle, or the one that is asked for; None, and it is said, if there is none."""
        bundled = self.build / "redis" / "redis-server"
        program = bundled if bundled.exists() else shutil.which(self.options.redis)
        if program is None:
            self.say(f"redis is skipped: there is no {self.options.redis}")
        return program

    def describe_redis(self, program, flags):
        """Its version and flags, for run_info.txt."""
        version = subprocess.run([program, "--version"], text=True, capture_output=True, check=False,
                                 env=environment(program)).stdout
        self.described.append(f"{version.strip()}, --save '' {flags}")

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
        write_file(self.options.output / "run_info.txt", self.without_paths("\n".join(lines) + "\n"))

    def without_paths(self, text):
        """Folders of this machine by what they are for, the innermost first."""
        options = self.options
        names = {str(options.output.resolve()): "OUTPUT", str(options.output): "OUTPUT", str(self.build): "BUILD",
                 str(options.build): "BUILD", str(self.work): "WORK", str(getattr(options, "data", options.output)): "DATA"}
        for path in sorted((path for path in names if path.startswith("/")), key=len, reverse=True):
            text = text.replace(path, names[path])
        return text

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
        lines = list(bars(self.results.summary(), self.bar_of))
        if len(lines) > 1:
            text = "\n".join(lines) + "\n"
            write_file(self.options.output / "bars.txt", text)
            print(text, end="")
        self.write_more()
        self.write_info(ended)
        for error in self.errors:
            print(f"ERROR: {error}")
        self.say(f"files in {self.options.output}")
        return 1 if self.errors else 0


def run_study(kind, arguments):
    """Runs the study `kind`, a class, with the options that `arguments` reads. Returns the exit status."""
    def main():
        options = arguments()
        with tempfile.TemporaryDirectory(prefix=f"sherwood-{kind.__name__.lower()}-") as work:
            return kind(options, pathlib.Path(work)).run()

    raise_open_files()
    return ended(main)
