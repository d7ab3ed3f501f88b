#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""duplicates - compares a key set of the Python client with redis, set and dict of Python, and a Bloom filter.

    make all python && client/python/bench/duplicates.py [--keys 10000000] [--rounds 3] [--output FOLDER]

Each library gets the same random 64-bit keys twice, 2^20 at a time, and returns for each key whether it is new. In "fresh"
all keys are new, in "seen" none is. Sherwood gets the keys in one call, by a Unix socket. redis-py sends one SADD a key,
10,000 in a pipeline, because a SADD of several keys returns only a number. The others get the keys one by one.

bytes_per_key is the resident memory that the keys cost. wrong is the share of new keys that the Bloom filter (rbloom, made
for an error of 1 %) takes for duplicates. The others make no mistakes, which the program checks.
"""

import argparse
import importlib.metadata
import importlib.util
import multiprocessing
import os
import pathlib
import sys
import tempfile
import time

from compare import Failed, Table, built, describe, ended, np, options_of, positive, redis_of, sherwood, start

CALL, PIPELINE = 1 << 20, 10_000


def resident(process):
    """Returns the resident bytes of a process."""
    for line in pathlib.Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("/proc has no VmRSS")


def by_redis(client):
    def run(keys):
        said, pipe, raw = [], client.pipeline(transaction=False), keys.tobytes()
        for at in range(0, len(raw), 8 * PIPELINE):
            for i in range(at, min(at + 8 * PIPELINE, len(raw)), 8):
                pipe.sadd("seen", raw[i: i + 8])
            said += pipe.execute()
        return np.array(said, bool)
    return run


def by_members(seen):
    """By an object that has `in` and add()."""
    def run(keys):
        said = []
        for key in keys.tolist():
            said.append(key not in seen)
            seen.add(key)
        return np.array(said)
    return run


def by_set(_count):
    return by_members(set())


def by_dict(_count):
    seen = {}

    def run(keys):
        said = []
        for key in keys.tolist():
            said.append(seen.setdefault(key, False) is False)
            seen[key] = True
        return np.array(said)
    return run


def by_bloom(count):
    import rbloom  # pylint: disable=import-outside-toplevel
    return by_members(rbloom.Bloom(count, 0.01))


def measure(run, keys, process, exact=True):
    """Runs both operations. Returns [(operation, metric, value, unit)]."""
    found, before = [], resident(process)
    for operation, wanted in (("fresh", True), ("seen", False)):
        began, wrong = time.perf_counter(), 0
        for at in range(0, len(keys), CALL):
            wrong += int(np.count_nonzero(run(keys[at: at + CALL]) != wanted))
        found.append((operation, "keys_per_second", len(keys) / (time.perf_counter() - began), "1/s"))
        if operation == "fresh":
            found.append((operation, "bytes_per_key", (resident(process) - before) / len(keys), "B"))
        assert wrong == 0 or (not exact and operation == "fresh"), f"{operation}: {wrong} answers are wrong"
        if not exact and operation == "fresh":
            found.append((operation, "wrong", 100 * wrong / len(keys), "%"))
    return found


def keys_of(count, round_):
    """Returns distinct keys in random order."""
    return np.random.default_rng(round_).permutation(count).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)


OTHERS = {"python-set": by_set, "python-dict": by_dict, "rbloom": by_bloom}


def work(name, count, round_, pipe):
    pipe.send(measure(OTHERS[name](count), keys_of(count, round_), os.getpid(), name != "rbloom"))


def in_child(name, count, round_):
    """Returns what measure returns, for a library in a new process."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    child = context.Process(target=work, args=(name, count, round_, there))
    child.start()
    there.close()
    try:
        return here.recv()
    except EOFError as error:
        raise Failed(f"{name}: its process ended without a result: the lines above have its error") from error
    finally:
        child.join()


def in_servers(keys):
    """Yields (library, what measure returns, versions) for Sherwood and redis, each on an empty server."""
    with tempfile.TemporaryDirectory(prefix="sherwood-") as folder:
        path = f"{folder}/s"
        daemon = start([built("sherwoodd"), "--port", "0", "--http-port", "0", "--unix-socket", path, "--backend", "cpu",
                        "--loops", "1", "--value-type", "none", "--capacity", "64K", "--max-capacity", str(max(1 << 16, 2 * len(keys)))], path, "sherwoodd")
        redis = None
        try:
            redis, client, versions = redis_of(folder, 0)
            with sherwood.connect("unix:" + path) as c:
                yield "sherwood", measure(c.insert_many, keys, daemon.pid), versions
            if client is not None:
                yield "redis-py", measure(by_redis(client), keys, redis.pid), versions
        finally:
            for process in (daemon, redis):
                if process is not None:
                    process.terminate()
                    process.wait(30)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--keys", type=positive, default=10_000_000)
    parser.add_argument("--rounds", type=positive, default=3)
    parser.add_argument("--output", type=pathlib.Path)
    options = options_of(parser)
    table = Table("duplicates", 64)
    bloom = "without rbloom"
    if importlib.util.find_spec("rbloom") is not None:
        bloom = f"rbloom {importlib.metadata.version('rbloom')}"
    for round_ in range(options.rounds):
        found = list(in_servers(keys_of(options.keys, round_)))
        found += [(name, in_child(name, options.keys, round_), bloom) for name in OTHERS if name != "rbloom" or bloom != "without rbloom"]
        for name, rows, _ in found:
            for operation, metric, value, unit in rows:
                table.add(name, operation, options.keys, metric, value, unit)
                print(f"{name:12} {operation:6} {metric:16} {value:14.4g} {unit}", flush=True)
    if options.output:
        table.write(options.output, describe("duplicates.py", f"{found[0][2]}, {bloom}"))


if __name__ == "__main__":
    sys.exit(ended(main, sherwood.Error))
