#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""compare - compares the Python client with sherwood-load on the same sockets, redis-py and valkey-glide.

    make all python && client/python/bench/compare.py [--rounds 8] [--output FOLDER]

It starts a daemon and a redis-server on Unix sockets. valkey-glide supports no Unix sockets, and uses TCP. Each round
measures every library once, one after the other. compare prints the medians over the rounds. With --output it writes raw.csv,
summary.csv and run_info.txt in the form of bench/results.

bulk      get_many of 2^20 stored u64 keys into existing arrays, with a mask. It is compared with sherwood-load with the
          same number of connections and of keys in flight, which also receives values and bitmaps. The same again with
          arrays in a region.
entities  500 entities of 90 numbers each, as an online feature store reads them (feast#6856): one get_many of 45,000
          keys, compared with a pipeline of 500 HMGET by redis-py with hiredis, and a batch of them by valkey-glide.
          Every time ends when the numbers are in one array. A second time of the last two ends before that.
"""

import argparse
import datetime
import importlib.metadata
import json
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

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "build" / "python" / "lib"))
sys.path.append(str(ROOT / "bench" / "serve"))
# pylint: disable=wrong-import-position
from failures import Failed, ended, made, positive, program_in, write_file  # noqa: E402

try:
    import numpy as np
    import sherwood
except ImportError as absent:
    sys.exit(f"{pathlib.Path(sys.argv[0]).name}: error: {absent}: run `make python`, and this program with /usr/bin/python3")

KEYS = 1 << 20
ENTITIES, FIELDS = 500, 90
HEAD = "study,library,operation,slot_bits,F,batch,metric,value,unit"


class Table:
    """The results of a study: values by (library, operation, batch, metric, unit), in the order of rounds."""

    def __init__(self, study, slot_bits):
        self.study = study
        self.slot_bits = slot_bits
        self.values = {}

    def add(self, library, operation, batch, metric, value, unit):
        self.values.setdefault((library, operation, batch, metric, unit), []).append(value)

    def median(self, *key):
        return statistics.median(self.values[key])

    def write(self, folder, told):
        raw, summary = [f"repetition,{HEAD}"], [HEAD]
        for (library, operation, batch, metric, unit), values in self.values.items():
            row = f"{self.study},{library},{operation},{self.slot_bits},,{batch},{metric}"
            raw += [f"{i},{row},{value:.12g},{unit}" for i, value in enumerate(values, 1)]
            summary.append(f"{row},{statistics.median(values):.12g},{unit}")
        write_file(folder / "raw.csv", "\n".join(raw) + "\n")
        write_file(folder / "summary.csv", "\n".join(summary) + "\n")
        write_file(folder / "run_info.txt", told)


def best_of(function, seconds=0.6):
    """Returns the seconds of one call: the median of all calls in the given time, at least five."""
    took, end = [], time.perf_counter() + seconds
    while len(took) < 5 or time.perf_counter() < end:
        began = time.perf_counter()
        function()
        took.append(time.perf_counter() - began)
    return statistics.median(took)


def built(name):
    return program_in(ROOT / "build", name, "")


def load(*words):
    """Runs sherwood-load; what it printed."""
    done = subprocess.run([built("sherwood-load"), *words], check=False, text=True, capture_output=True)
    if done.returncode != 0:
        raise Failed(f"sherwood-load {' '.join(words)}: exit status {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def load_rate(address, connections, frame, seconds):
    """Returns the keys a second of sherwood-load. The keys in flight are as many as those of one call of the client."""
    depth = max(1, KEYS // frame // connections)
    said = load("-a", address, "-n", str(KEYS), "-o", "get", "-f", str(frame), "-c", str(connections), "-d", str(depth), "-t", "1",
                "--seconds", str(seconds), "--no-verify", "--json")
    phases = json.loads(said)["phases"]
    return phases[-1]["keys_per_second"]


def bulk(table, address, connections):
    with sherwood.connect(address, stripes=connections) as c:
        frame = c.server.frame_ops_max
        keys = np.concatenate([k for k, _ in c.scan()])[:KEYS]
        np.random.default_rng(1).shuffle(keys)
        out, mask = np.empty(KEYS, np.uint64), np.empty(KEYS, bool)
        c.get_many(keys, out=out, found=mask)
        assert mask.all(), "the keys are stored"
        took = best_of(lambda: c.get_many(keys, out=out, found=mask))
        with c.region(keys=KEYS) as region:
            here, there = region.copy(keys), region.empty(KEYS)
            in_region = best_of(lambda: c.get_many(here, out=there, found=mask))
            assert np.array_equal(there, out), "the same answers"
    rate = load_rate(address, connections, frame, 1)
    name = f"get_many_{connections}"
    table.add("sherwood", name, KEYS, "keys_per_second", KEYS / took, "1/s")
    table.add("sherwood-load", name, KEYS, "keys_per_second", rate, "1/s")
    table.add("sherwood", name, KEYS, "ratio_to_load", KEYS / took / rate, "")
    table.add("sherwood", name + "_region", KEYS, "keys_per_second", KEYS / in_region, "1/s")
    table.add("sherwood", name + "_region", KEYS, "ratio_to_socket", took / in_region, "")


def glide_asks(client, ids, names):
    """Returns a function that reads all fields of all entities by valkey-glide, in one batch."""
    import glide_sync  # pylint: disable=import-outside-toplevel

    def ask():
        batch = glide_sync.Batch(is_atomic=False)
        for entity in ids.tolist():
            batch.hmget(f"e:{entity}", names)
        return client.exec(batch, raise_on_error=True)
    return ask


def entities(table, address, redis_client, glide_client):
    count = ENTITIES * FIELDS
    rng = np.random.default_rng(2)
    ids = rng.integers(0, 1 << 40, ENTITIES, np.uint64)
    keys = (ids[:, np.newaxis] << np.uint64(8)) | np.arange(FIELDS, dtype=np.uint64)
    numbers = rng.integers(0, 1 << 30, (ENTITIES, FIELDS), np.uint64)
    names = [f"f{i}" for i in range(FIELDS)]

    with sherwood.connect(address) as c:
        c.set_many(keys, numbers)
        assert np.array_equal(c.get_many(keys)[0], numbers)
        took = best_of(lambda: c.get_many(keys))
        with c.region(keys=count) as region:
            here = region.copy(keys)
            in_region = best_of(lambda: c.get_many(here))
    table.add("sherwood", "entities_region", count, "latency_p50", in_region * 1e3, "ms")
    table.add("sherwood", "entities", count, "latency_p50", took * 1e3, "ms")
    if redis_client is None:
        return
    pipe = redis_client.pipeline(transaction=False)
    for entity, row in zip(ids.tolist(), numbers.tolist()):
        pipe.hset(f"e:{entity}", mapping=dict(zip(names, row)))
    pipe.execute()

    def ask():
        for entity in ids.tolist():
            pipe.hmget(f"e:{entity}", names)
        return pipe.execute()

    def array(asks):
        return np.array([[int(value) for value in row] for row in asks()], np.uint64)

    others = {"redis-py": ask}
    if glide_client is not None:
        others["valkey-glide"] = glide_asks(glide_client, ids, names)
    for name, asks in others.items():
        assert np.array_equal(array(asks), numbers)
        plain, whole = best_of(asks), best_of(lambda asks=asks: array(asks))
        table.add(name, "entities", count, "latency_p50", whole * 1e3, "ms")
        table.add(name, "entities_as_bytes", count, "latency_p50", plain * 1e3, "ms")
        short = "redis" if name == "redis-py" else "glide"
        table.add("sherwood", "entities", count, f"speedup_to_{short}", whole / took, "")
        table.add("sherwood", "entities", count, f"speedup_to_{short}_as_bytes", plain / took, "")


def start(command, path, what):
    log = tempfile.TemporaryFile()
    process = subprocess.Popen(command, stdout=log, stderr=log)
    end = time.monotonic() + 20
    while not os.path.exists(path):
        if process.poll() is not None or time.monotonic() > end:
            process.kill()
            process.wait()
            log.seek(0)
            raise Failed(f"{what} did not start: {' '.join(map(str, command))}: {log.read().decode(errors='replace').strip()[-400:]}")
        time.sleep(0.05)
    return process


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


def glide_of(port):
    """Returns (client, version). The client is None if valkey-glide is missing."""
    try:
        import glide_sync  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        return None, f"without valkey-glide: {error}"
    config = glide_sync.GlideClientConfiguration([glide_sync.NodeAddress("127.0.0.1", port)],
                                                 request_timeout=10_000)
    return glide_sync.GlideClient.create(config), f"valkey-glide-sync {importlib.metadata.version('valkey-glide-sync')}"


def redis_of(folder, port):
    """Returns (process, client, versions). The first two are None if redis-server, redis-py or hiredis is missing."""
    try:
        import hiredis  # pylint: disable=import-outside-toplevel
        import redis  # pylint: disable=import-outside-toplevel
    except ImportError as error:
        return None, None, f"without redis: {error}"
    if shutil.which("redis-server") is None:
        return None, None, "without redis: redis-server is not installed"
    path = f"{folder}/redis"
    process = start(["redis-server", "--port", str(port), "--unixsocket", path, "--save", "", "--dir", folder],
                    path, "redis-server")
    client = redis.Redis(unix_socket_path=path)
    return process, client, (f"redis-py {redis.__version__}, hiredis {hiredis.__version__},"
                             f" redis-server {client.info('server')['redis_version']}")


def options_of(parser):
    """The command line; the folder of --output exists."""
    options = parser.parse_args()
    if options.output:
        made(options.output, "--output")
    return options


def describe(program, versions, gpu="none"):
    """Returns the text of run_info.txt."""
    commit = "not known" if shutil.which("git") is None else subprocess.run(
        ["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, check=False, text=True, stdout=subprocess.PIPE).stdout.strip()
    cpu = [line.split(":")[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8") if line.startswith("model name")]
    return (f"date: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%dT%H:%M:%SZ}\n"
            f"command: client/python/bench/{program} {' '.join(sys.argv[1:])}\ncommit: {commit}\n"
            f"cpu: {cpu[0] if cpu else platform.machine()}, {len(cpu)} processors\ngpu: {gpu}\n"
            f"kernel: {platform.system()} {platform.release()} {platform.machine()}\n"
            f"load average at the end: {os.getloadavg()[0]:.1f} (of this study and whatever else ran)\n"
            f"python: {platform.python_version()}, numpy {np.__version__}; {versions}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=positive, default=8)
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--loops", default="1", help="I/O loops of the daemon (1)")
    options, table = options_of(parser), Table("python", 128)
    with tempfile.TemporaryDirectory(prefix="sherwood-") as folder:
        path = f"{folder}/s"
        daemon = start([built("sherwoodd"), "--port", "0", "--http-port", "0", "--unix-socket",
                        path, "--capacity", "4M", "--loops", options.loops], path, "sherwoodd")
        port, glide_client, redis_process = free_port(), None, None
        try:
            redis_process, client, versions = redis_of(folder, port)
            if client is not None:
                glide_client, glide_version = glide_of(port)
                versions += ", " + glide_version
            print(versions)
            address = "unix:" + path
            load("-a", address, "-n", str(KEYS), "-o", "set")
            for _ in range(options.rounds):
                for connections in (1, 4):
                    bulk(table, address, connections)
                entities(table, address, client, glide_client)
        finally:
            for process in (daemon, redis_process):
                if process is not None:
                    process.terminate()
                    process.wait(30)
    for (library, operation, batch, metric, unit), values in table.values.items():
        print(f"{library:14} {operation:18} {batch:8} {metric:26} median {statistics.median(values):12.4g}"
              f" ({min(values):.4g} to {max(values):.4g}) {unit}")
    if options.output:
        table.write(options.output, describe("compare.py", versions))


if __name__ == "__main__":
    sys.exit(ended(main, sherwood.Error))
