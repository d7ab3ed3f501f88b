#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gpus - the study of several GPUs of one host: a daemon on each, all loaded at the same time, beside one alone.

Runs every part with each number of daemons of --gpus. Reports the sum of their rates, and its ratio to the rate
of one daemon in the same run. Without a GPU the daemons use the CPU backend, as a test of the study.
"""

import argparse
import contextlib
import functools
import os
import pathlib
import random
import re
import socket
import subprocess
import sys
import tempfile
import time

SERVE = pathlib.Path(__file__).resolve().parents[1] / "serve"
sys.path.insert(0, str(SERVE if SERVE.is_dir() else pathlib.Path(__file__).resolve().parent))
# pylint: disable=wrong-import-position
from daemons import facts  # noqa: E402
from failures import Failed, positive  # noqa: E402
from results import RATE, Row  # noqa: E402
from study import Study, add_options, number, parsed, run_study  # noqa: E402

PARTS = ["sockets", "null", "regions", "device", "cluster"]
# Share of the shortest load's time during which all loads must run; otherwise the study runs them again.
TOGETHER = 0.9
TRIES = 5
# Least rate of four daemons, divided by the rate of one daemon or by the rate of four daemons without tables.
BARS = {("device_get", "ratio_to_one"): 3.6, ("regions_get", "ratio_to_one"): 2.5, ("sockets_update", "ratio_to_one"): 3.4,
        ("sockets_get", "ratio_to_null"): 0.9}
LINE = re.compile(r"^\s*(GET, waits|SET of stored keys, waits), (\d+) keys: .*, ([\d.]+) G keys/s$", re.MULTILINE)


def free_ports(count):
    """Returns unused ports below the range from which the kernel assigns ports."""
    found = set()
    while len(found) < count:
        port = random.SystemRandom().randrange(12000, 29000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            found.add(port)
    return sorted(found)


class Gpus(Study):
    """One run."""

    @staticmethod
    def bar_of(key, metric):
        return BARS.get((key[2], metric)) if key[1] == "sherwood" and key[4] == "4" else None

    def started(self, count, program="sherwoodd", more=None):
        """Starts `count` daemons, each on its own GPU and in a folder of its own; `more`: further flags of each."""
        work, daemons = self.work, []
        try:
            for gpu in range(count):
                self.work = pathlib.Path(tempfile.mkdtemp(dir=work))
                device = ["--device", str(gpu)] if program == "sherwoodd" else []
                daemons.append(self.start(program, "--key-bits", "32", "--capacity", str(self.options.slots),
                                          "--max-load", "0.98", *device, *(more[gpu] if more else ())))
        except BaseException:
            self.stopped(daemons)
            raise
        finally:
            self.work = work
        return daemons

    @staticmethod
    def stopped(daemons):
        for daemon in daemons:
            daemon.stop()

    @staticmethod
    def moved(daemons):
        """Bytes that went through the sockets of the daemons so far."""
        told = [facts(daemon.socket, "stats") for daemon in daemons]
        return sum(int(one[f"total_net_{way}_bytes"]) for one in told for way in ("input", "output"))

    @staticmethod
    def used(daemons):
        """Seconds of processors that daemons, and loads which have ended, used so far."""
        times = os.times()
        return sum(daemon.usage()[0] for daemon in daemons) + times.children_user + times.children_system

    def printed(self, runs):
        """What each of these processes printed, and when it ended: [(output, errors, seconds)]. If one takes too long, ends all."""
        limit = self.options.row_seconds
        try:
            return [(*run.communicate(timeout=limit), time.monotonic()) for run in runs]
        except subprocess.TimeoutExpired as late:
            raise Failed(f"{' '.join(map(str, late.cmd))}: not done within {limit:.0f} s") from late
        finally:
            for run in runs:
                run.kill()
                run.wait()

    def together(self, daemons, operation, words):
        """Loads each daemon for the same time: (their phases, processors in use by daemons and loads, bytes a key that went
        through sockets)."""
        for _ in range(TRIES):
            sent, used, begun = self.moved(daemons), self.used(daemons), time.monotonic()
            commands = [self.command(daemon.unix(), "-o", operation, *words) for daemon in daemons]
            loads = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True) for command in commands]
            printed = self.printed(loads)
            ends = [end for _, _, end in printed]
            phases = [self.phases(command, load.returncode, output, errors, hits=1)[-1]
                      for command, load, (output, errors, _) in zip(commands, loads, printed)]
            took, busy = time.monotonic() - begun, self.used(daemons) - used
            shared = min(ends) - max(end - phase["seconds"] for end, phase in zip(ends, phases))
            if shared >= TOGETHER * min(phase["seconds"] for phase in phases):
                return phases, busy / took, (self.moved(daemons) - sent) / sum(phase["keys"] for phase in phases)
        raise Failed(f"{operation}: the loads of {len(daemons)} daemons were never beside each other")

    def clustered(self, count):
        """So many daemons with a topology that gives each as many slots, as sherwood-cli makes it."""
        file = pathlib.Path(tempfile.mkdtemp(dir=self.work)) / "topology.json"
        nodes = ",".join(f"127.0.0.1:{port}" for port in free_ports(count))
        done = subprocess.run([self.built("sherwood-cli"), "cluster", "create", "--nodes", nodes, "--output", file],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        flags = [line.split() for line in re.findall(r"sherwoodd (--port .*)$", done.stdout, re.MULTILINE)]
        if done.returncode != 0 or len(flags) != count:
            raise Failed(f"sherwood-cli cluster create: {done.stderr.strip() or done.stdout}")
        for words in flags:
            words += ["--http-port", "0"]
            pathlib.Path(words[words.index("--data-dir") + 1]).mkdir(parents=True, exist_ok=True)
        return self.started(count, more=flags)

    def tell(self, library, operation, count, rate, batch):
        """A rate of so many daemons together; the column F has their number."""
        row = Row(operation, 64, count, batch, library, "scale")
        self.results.add(self.repetition, row, RATE, rate, "1/s")
        self.say(f"  {library} {operation}, daemons: {count}: {rate / 1e6:.4g} M keys/s")
        return row

    def step(self, part, count, program="sherwoodd", more=()):
        """Gets and updates of stored keys, of so many daemons at the same time."""
        options = self.options
        daemons = self.started(count, program)
        try:
            threads = max(1, options.threads // count)
            shape = ("-n", options.slots // 2, "-f", options.frame, "-d", options.depth, "-t", threads,
                     "-c", threads if more else max(threads, options.connections // count), *more)
            for daemon in daemons:
                self.load(daemon.unix(), *shape, "-o", "set")
            for operation, word in (("get", "get"), ("update", "set")):
                phases, processors, moved = self.together(daemons, word, (*shape, *self.drawn(options.frame)))
                row = self.tell("sherwood-null" if program == "sherwoodd-null" else "sherwood", f"{part}_{operation}",
                                count, sum(phase[RATE] for phase in phases), options.frame)
                self.results.add(self.repetition, row, "processors", processors, "")
                self.results.add(self.repetition, row, "socket_bytes_a_key", moved, "B")
        finally:
            self.stopped(daemons)

    def step_of_cluster(self, count):
        """The same of daemons that are a cluster, by one load at all of them; each key is at the daemon that owns it."""
        options = self.options
        daemons = self.clustered(count)
        try:
            nodes = ",".join(daemon.address() for daemon in daemons)
            shape = ("--cluster", "-n", count * (options.slots // 2), "-f", options.frame, "-d", options.depth, "-t",
                     options.threads, "-c", options.threads)
            self.load(nodes, *shape, "-o", "set")
            for operation, word in (("get", "get"), ("update", "set")):
                before, used, begun = self.moved(daemons), self.used(daemons), time.monotonic()
                phase = self.load(nodes, *shape, "-o", word, *self.drawn(options.frame), hits=1)[-1]
                processors = (self.used(daemons) - used) / (time.monotonic() - begun)
                row = self.tell("sherwood", f"cluster_{operation}", count, phase[RATE], options.frame)
                self.results.add(self.repetition, row, "processors", processors, "")
                self.results.add(self.repetition, row, "socket_bytes_a_key",
                                 (self.moved(daemons) - before) / phase["keys"], "B")
        finally:
            self.stopped(daemons)

    def counted(self, part, *arguments):
        """The steps of a part, for each number of daemons."""
        self.repeated(part, [(f"daemons: {count}", functools.partial(self.step, part, count, *arguments))
                             for count in self.options.gpus])

    def sockets(self):
        self.counted("sockets")

    def null(self):
        self.counted("sockets", "sherwoodd-null")

    def regions(self):
        self.counted("regions", "sherwoodd", ("--region",))

    def cluster(self):
        self.repeated("cluster", [(f"daemons: {count}", functools.partial(self.step_of_cluster, count))
                                  for count in self.options.gpus])

    def device(self):
        """Arrays in the memory of each GPU: the program of the GPU suite that tells rates, on all of them at once."""
        program = self.program("test_attach_gpu")
        if program is None or self.options.backend == "cpu":
            self.say("device is skipped: it needs a GPU and test_attach_gpu")
            return
        for self.repetition in range(1, self.options.repetitions + 1):
            for count in self.options.gpus:
                self.attempt(f"device, {count} GPUs", lambda count=count: self.on_devices(program, count))
        self.results.write_summary()

    def on_devices(self, program, count):
        runs = [subprocess.Popen([program, self.built("sherwoodd"), "--rates"], stdin=subprocess.DEVNULL, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 env={**os.environ, "CUDA_VISIBLE_DEVICES": str(gpu)}) for gpu in range(count)]
        said = [output for output, _, _ in self.printed(runs)]
        if any(run.returncode for run in runs):
            raise Failed("test_attach_gpu --rates: " + next(t for r, t in zip(runs, said) if r.returncode)[-400:])
        rates = {}
        for text in said:
            for what, keys, rate in LINE.findall(text):
                rates.setdefault((what, int(keys)), []).append(float(rate) * 1e9)
        for (what, keys), found in sorted(rates.items()):
            if len(found) == count and keys >= 1 << 20:
                self.tell("sherwood", "device_get" if what.startswith("GET") else "device_update", count, sum(found), keys)

    def ratios(self):
        """Of each rate to that of one daemon."""
        rates = {key: value for key, metric, _, value in self.results.summary() if metric == RATE}
        for (study, library, operation, bits, count, batch), rate in rates.items():
            one = rates.get((study, library, operation, bits, "1", batch))
            if one and count != "1":
                self.results.add(0, Row(operation, bits, int(count), batch, library, study), "ratio_to_one", rate / one, "")


def counts(text):
    found = sorted({int(word) for word in text.split(",") if word.isdigit() and int(word) > 0})
    if not found or len(found) != len(text.split(",")):
        raise argparse.ArgumentTypeError(f"{text}: numbers of daemons are needed, as 1,2,4")
    return found


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser, "scale", PARTS)
    parser.add_argument("--gpus", type=counts, default=[1, 2, 4], help="how many daemons, each on a GPU (1,2,4)")
    parser.add_argument("--slots", type=number, default=1 << 26, help="of each table (64Mi)")
    parser.add_argument("--frame", type=number, default=1 << 18, help="keys a frame (256Ki)")
    parser.add_argument("--depth", type=positive, default=2, help="frames in flight on each connection (%(default)s)")
    options = parsed(parser, "scale", PARTS)
    options.parts.append("ratios")
    return options


if __name__ == "__main__":
    sys.exit(run_study(Gpus, arguments))
