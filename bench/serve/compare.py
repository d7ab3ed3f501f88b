#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""compare.py - Sherwood beside redis-server on one machine: `make bench-serve`.

Gets in bulk frames, and SET, GET and MGET by RESP, each by the same tool against both servers. Both run all the time.
The study loads one after the other, in an order that changes with each repetition.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
# pylint: disable=wrong-import-position
from daemons import Redis, Sherwood  # noqa: E402
from failures import Failed, positive  # noqa: E402
from results import RATE, Row  # noqa: E402
from study import Study, add_options, number, parsed, run_study  # noqa: E402

PARTS = ("compare",)
CAPACITY = number("16Mi")
FRAME = number("64Ki")
MGET = 100
CONNECTIONS = 50
# Commands that redis-benchmark sends for each second of --seconds: SET or GET, and MGET.
PIPELINED, MGETS = 1000000, 20000
MGET_OPERATIONS = ("mget_p1 by sherwood-load", "mget_p16 by sherwood-load", "mget_p16 by redis-benchmark")


def arguments():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    add_options(parser, "serve", PARTS)
    parser.add_argument("--keys", type=positive, default=1000000, help="keys of each tool in both servers (%(default)s)")
    parser.add_argument("--depth", type=positive, default=2, help="frames in flight on each connection (%(default)s)")
    parser.add_argument("--io-threads", type=positive, default=1, help="of redis, which recommends more only with 4 cores and more "
                        "(%(default)s)")
    parser.set_defaults(repetitions=5, seconds=3, connections=4, row_seconds=600, loops=None)
    return parsed(parser, "serve", PARTS)


class Compare(Study):
    """One run."""

    def row(self, operation, library, batch):
        load = 2 * self.options.keys / CAPACITY if library == "sherwood" else None
        return Row(operation, 128 if library == "sherwood" else "", load, batch, library, "serve")

    def benchmark(self, server, *words):
        """Runs redis-benchmark; what it printed."""
        options = self.options
        threads = ("--threads", options.threads) if options.threads > 1 else ()
        command = [str(w) for w in ("redis-benchmark", "-h", "127.0.0.1", "-p", server.tcp[1], "-c", CONNECTIONS, "-r", options.keys,
                                    "--csv", *threads, *words)]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=options.row_seconds,
                                  check=False)
        except subprocess.TimeoutExpired as late:
            raise Failed(f"{' '.join(command)}: not done within {options.row_seconds:.0f} s") from late
        if done.returncode != 0:
            raise Failed(f"{' '.join(command)}: exit status {done.returncode}: {done.stderr.strip() or done.stdout}")
        return done.stdout

    def by_benchmark(self, server, library, operation, requests, pipeline, keys_each, *words):
        requests = max(1, int(self.options.seconds * requests))
        text = self.benchmark(server, "-P", pipeline, "-n", requests, *words)
        rate = float(text.strip().split("\n")[-1].split('","')[1].strip('"')) * keys_each
        row = self.row(f"{operation} by redis-benchmark", library, keys_each)
        self.results.add(self.repetition, row, RATE, rate, "1/s")
        self.say(f"  {library} {row.operation}: {rate / 1e6:.4g} M keys/s")

    def by_load(self, server, library, operation, batch, *words):
        phase = self.load(server.address(), "-n", self.options.keys, "-t", self.options.threads, *self.timed(), *words)[-1]
        self.note(self.row(f"{operation} by sherwood-load", library, batch), phase, "p99")

    def measure(self, server, library):
        """One repetition of everything of one server."""
        resp = ("--protocol", "resp", "-c", CONNECTIONS)
        if library == "sherwood":
            self.by_load(server, library, "get_bulk", FRAME, "-o", "get", "-f", FRAME, "-c", self.options.connections, "-d",
                         self.options.depth)
        for depth in (1, 16):
            self.by_load(server, library, f"mget_p{depth}", MGET, *resp, "-o", "mget", "--mget", MGET, "-d", depth)
        self.by_benchmark(server, library, "mget_p16", MGETS, 16, MGET, "MGET", *MGET * ["__rand_int__"])
        for operation in ("set", "get"):
            self.by_load(server, library, f"{operation}_p64", 1, *resp, "-o", operation, "-d", 64)
        for words in (("SET", "__rand_int__", 42), ("GET", "__rand_int__")):
            self.by_benchmark(server, library, f"{words[0].lower()}_p64", PIPELINED, 64, 1, *words)

    def fill(self, servers):
        """Both servers get the same contents: the keys of both tools. 5 r draws of r keys leave a share of e^-5 of the keys
        absent."""
        for library, server in servers.items():
            self.say(f"filling {library}")
            self.load(server.address(), "-n", self.options.keys, "--protocol", "resp", "-o", "set")
            self.benchmark(server, "-P", 64, "-n", 5 * self.options.keys, "SET", "__rand_int__", 42)

    def round(self, servers):
        order = list(servers) if self.repetition % 2 == 1 else list(servers)[::-1]
        for library in order:
            self.measure(servers[library], library)

    def ratios(self):
        """Rows of the medians of Sherwood over those of redis."""
        rates = {key[1:3]: (value, key[5]) for key, metric, _, value in self.results.summary() if metric == RATE}
        best = max((rates[key][0] for key in (("redis", name) for name in MGET_OPERATIONS) if key in rates), default=0)
        pairs = [(operation, batch, value, rates["redis", operation][0]) for (library, operation), (value, batch) in rates.items()
                 if library == "sherwood" and ("redis", operation) in rates and operation != MGET_OPERATIONS[0]]
        if best and ("sherwood", "get_bulk by sherwood-load") in rates:
            value, batch = rates["sherwood", "get_bulk by sherwood-load"]
            pairs.insert(0, (f"bulk GET of {FRAME} / best redis MGET of {MGET}", batch, value, best))
        print(f"\n{'keys/s, medians of ' + str(self.options.repetitions):<44} {'sherwood':>14} {'redis':>14} {'ratio':>9}")
        for operation, batch, ours, theirs in pairs:
            print(f"{operation:<44} {ours:14.0f} {theirs:14.0f} {ours / theirs:9.2f}")
            self.results.add(0, Row(operation, "", None, batch, "sherwood/redis", "serve"), "ratio", ours / theirs, "1")

    def compare(self):
        program = self.redis_program()
        if program is None or shutil.which("redis-benchmark") is None:
            raise Failed("redis-server and redis-benchmark are needed: install redis-server and redis-tools")
        options = self.options
        self.describe_redis(program, f"--appendonly no --io-threads {options.io_threads}")
        flags = ("--backend", options.backend, "--capacity", CAPACITY, "--key-bits", "64", "--resp-keys", "decimal",
                 *(("--loops", options.loops) if options.loops else ()), *options.flags.split())
        with Sherwood(self.built("sherwoodd"), self.work, flags) as ours, \
                Redis(program, self.work, options.io_threads) as theirs:
            self.described.append(next(line for line in ours.said().split("\n") if "RESP and bulk frames" in line))
            self.say(self.described[-1])
            servers = {"sherwood": ours, "redis": theirs}
            self.fill(servers)
            self.repeated("compare", [("both servers", lambda: self.round(servers))])
        self.ratios()


if __name__ == "__main__":
    sys.exit(run_study(Compare, arguments))
