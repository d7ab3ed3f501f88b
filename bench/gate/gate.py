#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gate - compares the rates of this build with those of another build (--base), on one machine and in turns.

Prints a table with the ratio of each rate and adds a row to gate.csv. The exit status is 1 if a rate is below
--least of the base's. bench/gate/README.md says what each rate is. Needs python3 and the programs, no compiler.
"""

import argparse
import csv
import datetime
import functools
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "serve" if (HERE.parent / "serve").is_dir() else HERE))
# pylint: disable=wrong-import-position
from failures import Failed, made, sentence, write_file  # noqa: E402
from results import RATE, Row  # noqa: E402
from study import RESP_CONNECTIONS, RESP_KEYS, Study, add_options, number, parsed, run_study  # noqa: E402
from verdict import LEAST, Measured, record, slower, table, turns, verdict  # noqa: E402

PARTS = ["served", "table", "rows", "cache", "cuckoo", "device"]
FRAMES = {"1Ki": 1024, "4Ki": 4096, "64Ki": 65536}
RING_FRAMES = ("4Ki", "64Ki")
LOAD = 0.5
# Runs of the clients whose single GETs are measured: the kernel may place each on other cores.
SINGLE_RUNS = 3
# Rounds of a part with a slow rate, at most.
ROUNDS_MAX = 6
# Lines of test_attach_gpu --rates that are rates of the gate, by (text, keys).
DEVICE = {("GET, waits", 1 << 20): "device_get", ("GET, in stream order, alone", 1 << 20): "device_get_in_stream",
          ("SET of stored keys, waits", 1 << 20): "device_set"}
DEVICE_LINE = re.compile(r"^\s*([A-Z][^:]*), (\d+) keys: .*, ([\d.]+) G keys/s$", re.MULTILINE)
# The factors to operations a second of the studies' units.
UNITS = {"Gops/s": 1e9, "Mops/s": 1e6, "rows/s": 1}


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    add_options(parser, "gate", PARTS)
    add = parser.add_argument
    add("--base", type=pathlib.Path, required=True, help="folder of the other build's programs: a build folder or a bundle")
    add("--least", type=float, default=LEAST, help="least ratio of a rate (%(default)s)")
    add("--results", type=pathlib.Path, help="folder with a folder for each machine, for gate.csv (bench/results; from a "
        "bundle, or with --quick: that of --output)")
    add("--slots", type=number, help="slots of the served table (64Mi on a GPU, else 4Mi)")
    cores = os.cpu_count() or 1
    parser.set_defaults(repetitions=2, seconds=0.7, budget=300, loops=max(1, min(8, cores // 2)))
    options = parsed(parser, "gate", PARTS)
    for folder in (options.build, options.base):
        if not (folder / "sherwoodd").exists():
            parser.error(f"{folder} has no sherwoodd: name a build folder or a bundle")
    options.base = options.base.resolve()
    if options.backend == "auto":
        options.backend = "cuda" if pathlib.Path("/dev/nvidiactl").exists() else "cpu"
    options.slots = options.slots or (number("64Mi") if options.backend == "cuda" else number("4Mi"))
    results = HERE.parent / "results"
    # A quick run is for a look, and no result.
    options.results = options.results or (results if results.is_dir() and not options.quick else options.output)
    return options


class Side(Study):
    """One of the builds: `this` or `base`. Each part returns {name of a rate: value}."""

    def __init__(self, name, build, options, work):
        super().__init__(argparse.Namespace(**{**vars(options), "build": build, "output": options.output / name}), work)
        self.name, self.commit = name, ""
        self.on_gpu = options.backend == "cuda"

    def say(self, text):
        """The gate prints its own progress."""

    # --- served ----------------------------------------------------------------------------------

    def frames(self, address, frame, operation, *more):
        keys = int(LOAD * self.options.slots)
        words = ("-n", keys, *self.shape(FRAMES[frame]), "-o", operation, *self.drawn(FRAMES[frame]), *more)
        return self.load(address, *words, hits=1)[-1][RATE]

    def resp(self, address):
        """Pipelines, and single GETs of many clients and of one."""
        base = (address, "--protocol", "resp", "-n", min(RESP_KEYS, int(LOAD * self.options.slots)), "--key-bits", 64)
        many = (*base, "-c", RESP_CONNECTIONS, "-t", self.options.threads)
        self.load(*many, "-o", "set", "-d", 64)
        found = {f"resp_{word}_pipelined": self.load(*many, "-o", word, "-d", 64, *self.timed())[-1][RATE]
                 for word in ("get", "set")}
        for name, words in (("resp_get_64_clients", many), ("resp_get_1_client", (*base, "-c", 1, "-t", 1))):
            found[name] = statistics.median(
                self.load(*words, "-o", "get", "-d", 1, "--seconds", self.options.seconds / SINGLE_RUNS)[-1]["latency_us"]["p50"]
                for _ in range(SINGLE_RUNS))
        return found

    def served(self):
        """Frames by socket and by ring, and RESP, of one daemon. The first loads warm it up."""
        options, found = self.options, {}
        with self.start("sherwoodd", "--key-bits", "64", "--capacity", str(options.slots)) as daemon:
            unix = daemon.unix()
            self.load(unix, "-n", int(LOAD * options.slots), *self.shape(FRAMES["64Ki"]), "-o", "set-get")
            for frame in FRAMES:
                for operation in ("get", "set"):
                    found[f"socket_{operation}_{frame}"] = self.frames(unix, frame, operation)
            for frame in RING_FRAMES:
                for operation in ("get", "set"):
                    found[f"ring_{operation}_{frame}"] = self.frames(unix, frame, operation, "--region", "-c", options.threads)
            found.update(self.resp(daemon.address()))
        return found

    # --- the studies -----------------------------------------------------------------------------

    def study(self, name, wanted, *words):
        """Runs a study. `wanted`: {(library, operation, slot_bits, F, batch, metric): name of a rate}; an empty text matches
        any."""
        folder = self.options.output / name
        backend = () if name == "timing" else ("--backend", self.options.backend)
        command = [str(word) for word in (self.build / name, *backend, *words, "--output", folder)]
        self.finished(command)
        info = (folder / "run_info.txt").read_text(encoding="utf-8")
        self.commit = re.search(r"^commit: (.*)$", info + "\ncommit: ", re.MULTILINE).group(1)
        found = {}
        with open(folder / "summary.csv", encoding="ascii") as file:
            for row in csv.DictReader(file):
                key = tuple(row[column] for column in ("library", "operation", "slot_bits", "F", "batch", "metric"))
                for pattern, rate in wanted.items():
                    if all(part in ("", value) for part, value in zip(pattern, key)):
                        found[rate] = float(row["value"]) * UNITS[row["unit"]]
        return found

    def finished(self, command):
        """Runs a program to its end; what it printed."""
        limit = self.options.row_seconds
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, errors="replace", timeout=limit, check=False)
        except subprocess.TimeoutExpired as late:
            raise Failed(f"{' '.join(command)}: not done within {limit:.0f} s") from late
        if done.returncode != 0:
            raise Failed(f"{' '.join(command)}: exit status {done.returncode}: {done.stdout.strip()[-400:]}")
        return done.stdout

    def table(self):
        """The table alone: on a GPU batches of two sizes at two loads, else the whole table in one call."""
        if not self.on_gpu:
            size = 16 if self.options.quick else 20
            return self.study("cuckoo", {("robin_hood", f"insert_{size}", "64", "", "", "mops_max"): "table_insert",
                                         ("robin_hood", "lookup_0", "64", "", "", "mops_max"): "table_get"},
                              *self.cuckoo_words(size), "--tables", "robin_hood")
        sizes, loads = {"2^20": 1 << 20, "2^24": 1 << 24}, ("0.5", "0.85")
        names = {"get_batch": "get", "insert_batch": "insert", "upsert_at_F": "update", "delete": "delete"}
        wanted = {("sherwood", operation, "64", load, str(keys), "gops"): f"table_{word}_{text}_at_{load}"
                  for operation, word in names.items() for load in loads for text, keys in sizes.items()}
        batches = [word for kind in ("get", "insert", "upsert", "delete") for word in (f"--{kind}-batches", ",".join(sizes))]
        return self.study("timing", wanted, "--libraries", "sherwood", "--operations", ",".join(names), "--slot-bits", 64,
                          "--F", ",".join(loads), "--batch-F", ",".join(loads), *batches, "--reps", 5, "--series-seconds", 1)

    def cuckoo_words(self, size):
        return ("--experiments", "insert,lookup", "--first-log2", size, "--keys-log2", size, "--table-log2", size + 1,
                "--reps", 5)

    def cuckoo(self):
        """The engine's slots of 64 bits. Early builds of the study have a set of keys by that name, of 32 bits."""
        size = 24 if self.on_gpu else 16 if self.options.quick else 20
        return self.study("cuckoo", {("cuckoo2", f"insert_{size}", "64", "", "", "mops_max"): "cuckoo_insert",
                                     ("cuckoo2", "lookup_0", "64", "", "", "mops_max"): "cuckoo_get"},
                          *self.cuckoo_words(size), "--tables", "cuckoo2")

    def rows(self):
        """Rows of 512 bytes at load 0.85."""
        memory, batch = ("8G", "1M") if self.on_gpu else ("64M", "4K") if self.options.quick else ("256M", "64K")
        names = {"get": "get", "set_stored": "set", "add": "add"}
        wanted = {("sherwood", f"{operation}_512", "128", "0.85", "", "rows_per_second"): f"rows_{word}"
                  for operation, word in names.items()}
        return self.study("rows", wanted, "--value-bytes", 512, "--loads", 0.85, "--operations", ",".join(names),
                          "--memory", memory, "--batch", batch, "--reps", 5)

    def cache(self):
        """Values of 32 floats at load 0.75, two buckets a key."""
        capacity, batch = ("16M", "1M") if self.on_gpu else ("64K", "4K") if self.options.quick else ("1M", "64K")
        names = {"find": "find", "insert_or_assign": "set"}
        wanted = {("sherwood_memory", f"{operation}_dim32", "1088", "0.75", "", "gops"): f"cache_{word}"
                  for operation, word in names.items()}
        return self.study("cache", wanted, "--experiments", "operations", "--operations", ",".join(names), "--modes", "memory",
                          "--dims", 32, "--loads", 0.75, "--capacity", capacity, "--batch", batch, "--reps", 5)

    def device(self):
        """Arrays in GPU memory of another process, by CUDA IPC."""
        text = self.finished([str(self.program("test_attach_gpu")), str(self.build / "sherwoodd"), "--rates"])
        return {DEVICE[what, int(keys)]: float(rate) * 1e9 for what, keys, rate in DEVICE_LINE.findall(text)
                if (what, int(keys)) in DEVICE}

    def needs(self, part):
        """The programs of a part."""
        return {"served": ("sherwoodd", "sherwood-load"), "table": ("timing" if self.on_gpu else "cuckoo",),
                "device": ("test_attach_gpu",)}.get(part, (part,))


def rates(options):
    """The rates of each part, in the order of the table."""
    found = {part: [] for part in PARTS}

    def add(part, name, path, about, unit="1/s"):
        found[part].append(Measured(name, path, about, unit))

    for path, frames in (("socket", FRAMES), ("ring", RING_FRAMES)):
        for frame in frames:
            for operation in ("get", "set"):
                add("served", f"{path}_{operation}_{frame}", f"by {path}", f"{operation}, frames of {frame}")
    for operation in ("get", "set"):
        add("served", f"resp_{operation}_pipelined", "by RESP", f"{operation.upper()}, pipelines of 64")
    add("served", "resp_get_64_clients", "by RESP", "single GET, 64 clients, p50", "us")
    add("served", "resp_get_1_client", "by RESP", "single GET, 1 client, p50", "us")
    if options.backend != "cuda":
        for operation in ("get", "insert"):
            add("table", f"table_{operation}", "table alone", f"{operation}, one call")
    for operation in ("get", "insert", "update", "delete") if options.backend == "cuda" else ():
        for size in ("2^20", "2^24"):
            for load in ("0.5", "0.85"):
                add("table", f"table_{operation}_{size}_at_{load}", "table alone", f"{operation} of {size} at {load}")
    for operation in ("get", "set", "add"):
        add("rows", f"rows_{operation}", "rows alone", f"{operation}, 512 bytes")
    for operation in ("find", "set"):
        add("cache", f"cache_{operation}", "cache alone", f"{operation}, 32 floats")
    for operation in ("get", "insert"):
        add("cuckoo", f"cuckoo_{operation}", "cuckoo alone", f"{operation}, one call")
    for name, about in (("get", "get of 2^20, waits"), ("get_in_stream", "get of 2^20, in stream order"),
                        ("set", "set of 2^20, waits")):
        add("device", f"device_{name}", "device arrays", about)
    return found


class Gate:
    """One comparison."""

    def __init__(self, options, work):
        self.options, self.begun = options, time.monotonic()
        made(options.results, "--results")
        self.sides = {"this": Side("this", options.build, options, work), "base": Side("base", options.base, options, work)}
        self.rates = rates(options)
        self.took = {}
        self.notes, self.errors = [], []
        self.is_terminal = sys.stdout.isatty()

    def progress(self, text):
        """A line of progress; on a terminal the next one replaces it."""
        line = f"[{time.monotonic() - self.begun:4.0f} s] {text}"
        print(f"\r{line:<78.78}" if self.is_terminal else line, end="" if self.is_terminal else "\n", flush=True)

    def note(self, text):
        self.notes.append(text)
        self.progress(text)

    def parts(self):
        """The parts that both builds have programs for."""
        chosen = []
        for part in self.options.parts:
            lacking = {name: next((p for p in side.needs(part) if side.program(p) is None), None)
                       for name, side in self.sides.items()}
            if part == "device" and self.options.backend != "cuda":
                self.note("device is skipped: it needs a GPU")
            elif lacking["this"]:
                self.errors.append(f"{part}: this build has no {lacking['this']}: build it, or leave out the part by --parts")
            elif lacking["base"]:
                self.note(f"{part} is skipped: the base has no {lacking['base']}")
            else:
                chosen.append(part)
        return chosen

    def round(self, part, index):
        """Measures a part with both builds."""
        begun = time.monotonic()
        for name in turns(index):
            side = self.sides[name]
            self.progress(f"{part}, round {index + 1}: {'this build' if name == 'this' else 'the base'}")
            try:
                found = getattr(side, part)()
            except (Failed, OSError) as failed:
                self.errors.append(f"{part}, {'this build' if name == 'this' else 'base'}: {sentence(failed)}")
                continue
            for rate in self.rates[part]:
                if rate.name in found:
                    rate.values[name][index] = found[rate.name]
                    side.results.add(index + 1, Row(rate.name, "", None, "", study="gate"),
                                     "latency_p50" if rate.unit == "us" else "rate", found[rate.name], rate.unit)
        self.took[part] = time.monotonic() - begun

    def has_time(self, part):
        left = self.options.budget - (time.monotonic() - self.begun)
        return not self.options.budget or self.took[part] < left

    def measure(self):
        """--repetitions rounds of each part, the first one always, others within the budget. Then further rounds of the parts
        that have a slow rate."""
        parts = self.parts()
        for index in range(ROUNDS_MAX):
            for part in parts:
                is_due = index < self.options.repetitions or slower(self.rates[part], self.options.least)
                if index == 0 or (is_due and self.has_time(part)):
                    self.round(part, index)
        if self.is_terminal:
            print()

    def machine(self):
        """(name of the machine's folder of results, the machine in words)."""
        if self.options.backend == "cuda":
            name = output_of("nvidia-smi", "--query-gpu=name", "--format=csv,noheader").split("\n")[0]
            return re.sub(r"[^a-z0-9]+", "-", re.sub(r"^nvidia ", "", name.lower())) or "gpu", name
        return f"cpu-{os.cpu_count()}-cores", f"{os.cpu_count()} processors"

    def commits(self):
        """The commit of each build: that of the environment, of a study's program, or the checkout of its folder."""
        return [os.environ.get(word) or side.commit or
                output_of("git", "-C", side.build, "describe", "--always", "--dirty", "--abbrev=12", "--exclude", "*") or
                side.build.name for word, side in zip(("COMMIT", "BASE_COMMIT"), self.sides.values())]

    def run(self):
        """Returns the exit status."""
        self.measure()
        measured = [rate for part in PARTS for rate in self.rates[part] if any(rate.values.values())]
        status, words = verdict(measured, self.options.least)
        (folder, machine), (commit, base) = self.machine(), self.commits()
        head = [f"this build: {commit}; base: {base}; {machine}; {time.monotonic() - self.begun:.0f} s", *self.notes, ""]
        errors = [f"ERROR: {error}" for error in self.errors]
        text = "\n".join([*head, *table(measured), "", *errors, *words]) + "\n"
        for name in self.sides.values():
            name.results.write_summary()
        write_file(self.options.output / "gate.txt", text)
        print(text, end="")
        if measured:
            file = self.options.results / folder / "gate.csv"
            record(file, f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%dT%H:%M:%SZ}", commit, base, measured)
            print(f"row added to {file}, all values in {self.options.output}")
        return 1 if self.errors else status


@functools.lru_cache
def output_of(*command):
    try:
        return subprocess.run(command, text=True, capture_output=True, check=False).stdout.strip()
    except FileNotFoundError:
        return ""


if __name__ == "__main__":
    sys.exit(run_study(Gate, arguments))
