#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""model - how a cluster of Sherwood servers grows to 1,024 nodes: rates, tails, hot shards, replicas, the map.

The curve of one node is a measured one (a summary.csv of the study of served rates); what many nodes make of it is
computed or simulated here. The map of a cluster is measured: a daemon of build/ is started with it, and asked.
"""

import argparse
import csv
import datetime
import math
import os
import pathlib
import platform
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "bench/serve"))
# pylint: disable=wrong-import-position
from failures import Failed, ended, made, program_in, write_file  # noqa: E402

try:
    import numpy
except ImportError as absent:
    sys.exit(f"model.py: error: {absent}: install python3-numpy")
HEAD = "study,library,operation,slot_bits,F,batch,metric,value,unit"
PARTS = ["rates", "tails", "hot", "links", "map", "stampede"]
NODES = [1 << i for i in range(11)]
CALLS = {"64 Ki": 1 << 16, "1 Mi": 1 << 20, "16 Mi": 1 << 24}
SLOTS = 16384
# A topology has no more shards (proto/cluster); maps of more are taken to grow in proportion.
SHARDS_MAX = 256
# Bytes of a 32-bit key and its value, and of an answer with its found bit.
GET_IN, GET_OUT, WRITE_IN = 4, 4.125, 8
# The 99th percentile of the standard normal distribution.
NORMAL_99 = 2.3263


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--served", type=pathlib.Path, default=ROOT / "bench/results/h200/served/summary.csv",
        help="the curve of one node: summary.csv of the study of served rates (%(default)s)")
    add("--build", type=pathlib.Path, default=ROOT / "build", help="folder of sherwoodd and sherwood-cli (%(default)s)")
    add("--output", type=pathlib.Path, help="folder of the results (output/<time>/scaling)")
    add("--parts", default=",".join(PARTS), help="which, in this order (%(default)s)")
    add("--link-gbit", type=float, default=100, help="of a node's and of a client's network (%(default)s)")
    add("--network-us", type=float, default=10, help="one way through the network (%(default)s)")
    add("--clients", type=int, default=10000, help="of the stampede for the map (%(default)s)")
    add("--calls", type=int, default=20000, help="simulated for each tail (%(default)s)")
    add("--seed", type=int, default=None, help="of the draws; drawn and printed if not given")
    add("--quick", action="store_true", help="a tenth of the calls, up to 64 nodes")
    options = parser.parse_args()
    options.parts = options.parts.split(",")
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}: they are {', '.join(PARTS)}")
    if not options.served.is_file():
        parser.error(f"there is no {options.served}: --served names summary.csv of the study of served rates")
    now = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    options.output = options.output or pathlib.Path("output") / now / "scaling"
    options.seed = options.seed if options.seed is not None else int.from_bytes(os.urandom(4), "little")
    options.nodes = [n for n in NODES if n <= 64] if options.quick else NODES
    options.calls = options.calls // 10 if options.quick else options.calls
    return options


class Curve:
    """One node: a frame of b keys takes it `frame` + b * `key` seconds, with many frames in flight."""

    def __init__(self, rows, operation):
        self.points = sorted((int(r["batch"]), int(r["batch"]) / float(r["value"])) for r in rows
                             if r["operation"] == operation and r["slot_bits"] == "64" and r["F"] == "0.85"
                             and r["metric"] == "keys_per_second" and r["library"] == "sherwood")
        if len(self.points) < 2:
            raise Failed(f"the served rates have no two sizes of frames of {operation} at F 0.85, 32-bit keys")
        self.frame, self.key = self.fitted()

    def fitted(self):
        """The least squares of the logarithms: by ever finer grids around the best so far."""
        low, high = (math.log(min(t for _, t in self.points)) - 5, math.log(max(t / b for b, t in self.points)) - 3)
        centre, width = (low + 4, high + 2), 4.0
        while width > 1e-4:
            grid = [(centre[0] + i * width / 8, centre[1] + j * width / 8) for i in range(-8, 9) for j in range(-8, 9)]
            centre = min(grid, key=lambda g: self.error(math.exp(g[0]), math.exp(g[1])))
            width /= 2
        return math.exp(centre[0]), math.exp(centre[1])

    def error(self, frame, key):
        return sum((math.log(frame + key * b) - math.log(t)) ** 2 for b, t in self.points)

    def seconds(self, keys):
        return self.frame + self.key * keys


class Results:
    def __init__(self, output):
        self.raw = open(made(output, "--output") / "raw.csv", "w", encoding="ascii")
        self.raw.write(HEAD + "\n")
        self.output, self.rows = output, []

    def add(self, library, operation, nodes, batch, metric, value, unit=""):
        """A row; the column F has the number of nodes, since the load of the table is that of the curve."""
        self.raw.write(f"scaling,{library},{operation},,{nodes},{batch},{metric},{value:.6g},{unit}\n")
        self.raw.flush()
        self.rows.append(f"scaling,{library},{operation},,{nodes},{batch},{metric},{value:.6g},{unit}")

    def write(self):
        write_file(self.output / "summary.csv", "\n".join([HEAD, *self.rows]) + "\n")


# --- rates: a call of B keys becomes a frame of B/N keys for each of N nodes -----------------------
def rates(options, curves, results):
    for operation, curve in curves.items():
        results.add("model", operation, 1, 0, "frame_cost", curve.frame * 1e6, "us")
        results.add("model", operation, 1, 0, "key_cost", curve.key * 1e9, "ns")
        for batch, seconds in curve.points:
            results.add("model", operation, 1, batch, "fit_to_measured", curve.seconds(batch) / seconds)
        # This number of keys makes the fixed cost of a frame half of its time.
        results.add("model", operation, 1, 0, "keys_of_half_rate", curve.frame / curve.key, "keys")
        for keys in CALLS.values():
            for nodes in options.nodes:
                rate = keys / curve.seconds(keys / nodes)
                results.add("model", operation, nodes, keys, "keys_per_second", rate, "1/s")
                results.add("model", operation, nodes, keys, "ratio_to_ideal", rate / (nodes * keys / curve.seconds(keys)))


# --- tails: a call is answered when the slowest of its frames is ------------------------------------
def tails(options, curves, base, results, say):
    """First come, first served at each node, calls at random moments; base: (median, 99 %) of a frame alone, in s."""
    draw = numpy.random.default_rng(options.seed)
    spread = math.log(base[1] / base[0]) / NORMAL_99
    curve = curves["get"]
    for keys in (CALLS["64 Ki"], CALLS["1 Mi"]):
        link = keys * max(GET_IN, GET_OUT) * 8 / (options.link_gbit * 1e9)
        for busy in (0.3, 0.6, 0.8):
            for nodes in options.nodes:
                gaps = draw.exponential(curve.seconds(keys / nodes) / busy, options.calls)
                waiting = numpy.zeros(nodes)
                taken = numpy.empty(options.calls)
                for i in range(options.calls):
                    waiting = numpy.maximum(waiting - gaps[i], 0) + curve.seconds(draw.poisson(keys / nodes, nodes))
                    taken[i] = (waiting + base[0] * numpy.exp(spread * draw.standard_normal(nodes))).max()
                taken += 2 * options.network_us * 1e-6 + link
                operation = f"get_busy_{busy}"
                for name, part in (("p50", 50), ("p99", 99), ("p99.9", 99.9)):
                    results.add("model", operation, nodes, keys, f"latency_{name}", numpy.percentile(taken, part) * 1e6, "us")
        say(f"tails of calls of {keys} keys")


# --- hot shards: keys are drawn by Zipf's law, slots belong to nodes --------------------------------
def hot(options, results, say):
    draw = numpy.random.default_rng(options.seed + 1)
    keys, placed = 100_000_000, 1 << 20
    for theta in (0.0, 0.8, 0.99, 1.2):
        weights = numpy.arange(1, placed + 1, dtype=numpy.float64) ** -theta
        # Weight of the other keys, as an integral: each weighs next to nothing.
        others = ((keys + 0.5) ** (1 - theta) - (placed + 0.5) ** (1 - theta)) / (1 - theta)
        total = weights.sum() + others
        weights, rest = weights / total, others / total / (keys - placed)
        found = {nodes: [] for nodes in options.nodes}
        for _ in range(3 if options.quick else 20):
            slots = numpy.bincount(draw.integers(0, SLOTS, placed), weights, SLOTS)
            slots += rest * draw.poisson((keys - placed) / SLOTS, SLOTS)
            for nodes in options.nodes:
                owner = numpy.arange(SLOTS) * nodes // SLOTS
                found[nodes].append(numpy.bincount(owner, slots, nodes).max())
        results.add("model", f"zipf_{theta:g}", 1, 0, "share_of_hottest_key", weights[0] * 100, "%")
        for nodes, shares in found.items():
            share = statistics.median(shares)
            results.add("model", f"zipf_{theta:g}", nodes, 0, "share_of_hottest_node", share * 100, "%")
            results.add("model", f"zipf_{theta:g}", nodes, 0, "nodes_worth", 1 / share)
        say(f"hot shards, Zipf {theta:g}")


# --- links: what the network of a node allows, and what replicas take of it -------------------------
def links(options, curves, results):
    link = options.link_gbit * 1e9 / 8
    results.add("model", "get", 1, 0, "link_keys_per_second", link / max(GET_IN, GET_OUT), "1/s")
    results.add("model", "get", 1, 0, "link_to_table", link / max(GET_IN, GET_OUT) * curves["get"].key)
    for replicas in (0, 1, 2):
        allowed = link / (WRITE_IN * max(1, replicas))
        results.add("model", f"update_{replicas}_replicas", 1, 0, "link_keys_per_second", allowed, "1/s")
        results.add("model", f"update_{replicas}_replicas", 1, 0, "link_to_table", allowed * curves["update"].key)


# --- the map: what nodes say of a cluster of N ------------------------------------------------------
class Node:
    """A daemon that is the first node of a cluster of `nodes`."""

    def __init__(self, build, nodes, work):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        addresses = [f"127.0.0.1:{self.port}"] + [f"10.{i >> 16}.{i >> 8 & 255}.{i & 255}:7379" for i in range(1, nodes)]
        topology = work / f"topology-{nodes}.json"
        made_it = subprocess.run([program_in(build, "sherwood-cli"), "cluster", "create", "--nodes", ",".join(addresses), "--output",
                                  topology], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if made_it.returncode != 0:
            raise Failed(f"sherwood-cli cluster create: {made_it.stderr.strip() or f'exit status {made_it.returncode}'}")
        self.file_bytes = topology.stat().st_size
        self.process = subprocess.Popen(
            [program_in(build, "sherwoodd"), "--backend", "cpu", "--capacity", "64K", "--loops", "1", "--port", str(self.port),
             "--bind", "127.0.0.1", "--http-port", "0", "--cluster-config", topology, "--cluster-announce-ip", "127.0.0.1"],
            stdout=subprocess.DEVNULL, stderr=open(work / f"node-{nodes}.log", "wb"))
        self.log = work / f"node-{nodes}.log"

    def connected(self):
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                return socket.create_connection(("127.0.0.1", self.port), 5)
            except OSError:
                time.sleep(0.02)
        raise Failed(f"the daemon does not serve: {self.log.read_text(encoding='utf-8', errors='replace')[-600:]}")

    def stop(self):
        self.process.terminate()
        self.process.wait()


def asked(connection, word, times):
    """Bytes of the answer to CLUSTER `word`, and seconds that an answer takes where so many are asked for at once."""
    begun = time.perf_counter()
    connection.sendall(f"CLUSTER {word}\r\n".encode() * times + b"PING\r\n")
    answer = b""
    while not answer.endswith(b"+PONG\r\n"):
        piece = connection.recv(1 << 20)
        if not piece:
            raise Failed(f"the daemon closed the connection at CLUSTER {word}")
        answer += piece
    if answer.startswith(b"-"):
        raise Failed(f"CLUSTER {word}: {answer[:200]!r}")
    return (len(answer) - 7) // times, (time.perf_counter() - begun) / times


def measure_map(options, results, say):
    """{nodes: (bytes, seconds)} of CLUSTER SLOTS, what RESP clients ask for."""
    found = {}
    with tempfile.TemporaryDirectory() as work:
        for nodes in [n for n in options.nodes if n <= SHARDS_MAX]:
            node = Node(options.build, nodes, pathlib.Path(work))
            try:
                with node.connected() as connection:
                    for word in ("SLOTS", "SHARDS", "NODES"):
                        # The shortest of 20 runs: no other program used the processor in it.
                        size, seconds = min(asked(connection, word, 100) for _ in range(20))
                        results.add("sherwood", f"cluster_{word.lower()}", nodes, 1, "reply_bytes", size, "B")
                        results.add("sherwood", f"cluster_{word.lower()}", nodes, 1, "seconds_a_reply", seconds * 1e6, "us")
                        if word == "SLOTS":
                            found[nodes] = (size, seconds)
                results.add("sherwood", "topology_file", nodes, 1, "file_bytes", node.file_bytes, "B")
            finally:
                node.stop()
        say("the map, as a daemon tells it")
    most = max(found)
    for nodes in [n for n in options.nodes if n > most]:
        found[nodes] = tuple(v * nodes / most for v in found[most])
        results.add("model", "cluster_slots", nodes, 1, "reply_bytes", found[nodes][0], "B")
    return found


# --- the stampede: every client has to learn of a new map -------------------------------------------
def stampede(options, sizes, results, say):
    """All clients hit the moved slot within 10 ms and ask for the map: where, and when, is the strategy."""
    draw = numpy.random.default_rng(options.seed + 2)
    link = options.link_gbit * 1e9 / 8
    for nodes, (size, seconds) in sizes.items():
        service = max(seconds, size / link)
        noticed = numpy.sort(draw.uniform(0, 0.010, options.clients))
        for name, jitter, is_spread in (("the_refusing_node_at_once", 0, False), ("the_refusing_node_within_100ms", 0.1, False),
                                        ("any_node_within_100ms", 0.1, True)):
            moment = noticed + draw.uniform(0, jitter, options.clients) if jitter else noticed
            node = draw.integers(0, nodes, options.clients) if is_spread else numpy.zeros(options.clients, int)
            answered = numpy.empty(options.clients)
            free = numpy.zeros(nodes)
            for i in numpy.argsort(moment):
                free[node[i]] = answered[i] = max(free[node[i]], moment[i]) + service
            waits = answered - moment
            results.add("model", f"map_from_{name}", nodes, options.clients, "wait_p99", numpy.percentile(waits, 99) * 1e3, "ms")
            results.add("model", f"map_from_{name}", nodes, options.clients, "until_all_know", answered.max() * 1e3, "ms")
            results.add("model", f"map_from_{name}", nodes, options.clients, "busiest_node",
                        numpy.bincount(node).max() * size / 2**20, "MiB")
    say("the stampede for the map")


# --- all of it --------------------------------------------------------------------------------------
def commit():
    if shutil.which("git") is None:
        return "not known"
    told = subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=12"], cwd=HERE, text=True,
                          capture_output=True, check=False)
    return told.stdout.strip() or "not known"


def plot(output, say):
    if shutil.which("gnuplot") is None:
        say("no plot: gnuplot is not installed")
    elif subprocess.run(["gnuplot", HERE / "plot.gp"], cwd=output, check=False).returncode != 0:
        say("no plot: gnuplot says why")


def main():
    options = parsed()
    for name in ("sherwood-cli", "sherwoodd") if "map" in options.parts else ():
        program_in(options.build, name)
    code = commit()  # before the first result, which may itself change the checkout
    begun = time.monotonic()

    def say(text):
        print(f"[{time.monotonic() - begun:5.0f} s] {text}", flush=True)

    with open(options.served, encoding="ascii", newline="") as file:
        served = list(csv.DictReader(file))
    alone = {r["metric"]: float(r["value"]) * 1e-6 for r in served
             if r["operation"] == "resp_get_one" and r["library"] == "sherwood" and r["unit"] == "us"}
    if not {"latency_p50", "latency_p99"} <= alone.keys():
        raise Failed(f"{options.served} has no latencies of resp_get_one, which the tails begin with")
    curves = {operation: Curve(served, operation) for operation in ("get", "update")}
    results = Results(options.output)
    say(f"into {options.output}, seed {options.seed}")
    sizes = {}
    for part in options.parts:
        if part == "rates":
            rates(options, curves, results)
        elif part == "tails":
            tails(options, curves, (alone["latency_p50"], alone["latency_p99"]), results, say)
        elif part == "hot":
            hot(options, results, say)
        elif part == "links":
            links(options, curves, results)
        elif part == "map":
            sizes = measure_map(options, results, say)
        elif sizes:
            stampede(options, sizes, results, say)
        else:
            raise Failed("the part stampede needs the part map before it")
    results.write()
    source = options.served.resolve()
    source = source.relative_to(ROOT) if source.is_relative_to(ROOT) else source.name
    info = {"study": "scaling: a model; what a daemon of this machine was asked is its map",
            "curve of one node": source, "commit": code, "command": " ".join(map(str, sys.argv[1:])) or "(none)",
            "link": f"{options.link_gbit:g} Gbit/s, {options.network_us:g} us one way", "clients": options.clients,
            "calls": options.calls, "seed": options.seed, "machine of the map": platform.processor() or platform.machine(),
            "processors": os.cpu_count(), "numpy": numpy.__version__, "seconds": round(time.monotonic() - begun)}
    write_file(options.output / "run_info.txt", "".join(f"{k}: {v}\n" for k, v in info.items()))
    if len(options.parts) == len(PARTS):
        plot(options.output, say)
    say(f"done: {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(ended(main))
