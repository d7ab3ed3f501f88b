#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""device - what calls on tensors of a GPU cost: gets beside the C call in them, writes and ids beside gets.

    device.py ADDRESS [cuda:N] [--output FOLDER]   of a server with the CUDA backend, keys and values of 64 bits and --capacity 64M, which gets 2^25 keys
    device.py .. --ids ADDRESS                     of another server with --ids 20M and --capacity 32M: ASSIGN of present keys beside GET

It needs torch, `make python` or an installed sherwood, and SHERWOOD_CUDA_LIBRARY or an installed library. One line for each number of keys and way: the median of
the times in us, its ratio to that of the C call, and how many bytes a call copied. PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True shows
memory that has to be copied. With --output it writes summary.csv and run_info.txt in the form of bench/results.
"""

import argparse
import pathlib
import re
import statistics
import sys
import time
from typing import Any, Callable

from compare import Table, describe, ended, options_of, sherwood
from sherwood import _device
from sherwood._native import lib

try:
    import torch

    import sherwood.torch
except ImportError as absent:
    sys.exit(f"device.py: error: {absent}: install torch")

ROUNDS = 400
COUNTS = (1024, 1 << 14, 1 << 20)
# Writes, and ids: stored keys, and the keys of a call.
STORED = 1 << 25
NUMBERED = 1 << 24
LARGE_COUNTS = (1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24)


def median_us(call: Callable[[], Any]) -> float:
    taken = []
    for i in range(ROUNDS + 30):
        begin = time.perf_counter()
        call()
        if i >= 30:
            taken.append((time.perf_counter() - begin) * 1e6)
    return statistics.median(taken)


def stored_keys(count: int, place: str, store: Callable[[Any], Any]) -> Any:
    """Stores keys by calls of 2^20; returns them shuffled."""
    keys = torch.arange(1, count + 1, device=place) * -7046029254386353131
    for part in keys.split(1 << 20):
        store(part)
    return keys[torch.randperm(count, device=place)]


def rates(table: Table, keys: Any, get: Callable[[Any], Any], others: "dict[str, Callable[[Any], Any]]") -> None:
    """Measures calls of many keys beside gets of the same keys. The thread waits for each call."""
    for count in LARGE_COUNTS:
        some, rounds = keys[:count].contiguous(), 40 if count < 1 << 22 else 10
        calls = {"get": get, **others}
        taken = {name: [] for name in calls}
        for i in range(rounds + 2):
            for name, call in calls.items():
                begin = time.perf_counter()
                call(some)
                torch.cuda.synchronize()
                if i >= 2:
                    taken[name].append(time.perf_counter() - begin)
        base = statistics.median(taken["get"])
        for name in others:
            took = statistics.median(taken[name])
            table.add("sherwood", name, count, "keys_per_second", count / took, "1/s")
            table.add("sherwood", name, count, "ratio_to_get", base / took, "")
            print(f"{count:8} {name:42} {took * 1e6:8.1f} us {count / took / 1e9:6.2f} G keys/s, {base / took:.2f} of gets", flush=True)


def ways(device: Any, keys: Any) -> "dict[str, Callable[[], Any]]":
    """Returns the ways to read keys, the C call first."""
    place, count = keys.device, keys.numel()
    table, ordered = sherwood.torch.Table(device), sherwood.torch.Table(device, wait=False)
    out, mask = torch.empty_like(keys), torch.empty(count, dtype=torch.bool, device=place)
    stream = torch.cuda.Stream(place)
    call = _device.ffi.new("struct sherwood_cuda_call *", (
        _device.ffi.sizeof("struct sherwood_cuda_call"), lib.SHERWOOD_GET, lib.SHERWOOD_FOUND_BYTES, keys.data_ptr(), 0, count, out.data_ptr(),
        mask.data_ptr(), 1, torch.cuda.current_stream(place).cuda_stream))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        device.get_many(keys, default=0, out=out, found=mask, stream=stream)

    def waited(one: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> None:
            one()
            torch.cuda.synchronize(place)
        return run

    return {"C call": lambda: device._lib.sherwood_cuda_call(device._pointer, call),
            "get_many(keys)": lambda: device.get_many(keys),
            "get_many(keys, default=0)": lambda: device.get_many(keys, default=0),
            "get_many(keys, out=, found=)": lambda: device.get_many(keys, out=out, found=mask),
            "lookup(keys)": lambda: table.lookup(keys),
            "lookup_into(keys, out, found)": lambda: table.lookup_into(keys, out, mask),
            "lookup_into in stream order, synchronised": waited(lambda: ordered.lookup_into(keys, out, mask)),
            "graph of get_many, synchronised": waited(graph.replay)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("address")
    parser.add_argument("device", nargs="?", default="cuda")
    parser.add_argument("--output", type=pathlib.Path)
    parser.add_argument("--ids", metavar="ADDRESS", help="a server with --ids, for ASSIGN")
    options, table = options_of(parser), Table("device", 128)
    with sherwood.connect(options.address) as client, client.attach(options.device) as device:
        stored = stored_keys(STORED, f"cuda:{device.ordinal}", lambda part: device.set_many(part, part))
        torch.cuda.synchronize()
        for count in COUNTS:
            base = 0.0
            for name, call in ways(device, stored[:count].clone()).items():
                before = device.staged_bytes
                took = median_us(call)
                base = base or took
                key = ("C" if name == "C call" else "sherwood", re.sub(r"\W+", "_", name).strip("_").lower(), count)
                for metric, value, unit in (("time", took, "us"), ("keys_per_second", count / took * 1e6, "1/s"), ("ratio_to_C_call", base / took, "")):
                    table.add(*key, metric, value, unit)
                print(f"{count:8} {name:42} {took:8.1f} us {took / base:6.2f} {(device.staged_bytes - before) // (ROUNDS + 30):9} bytes", flush=True)
        rates(table, stored, device.get_many, {"set_stored": lambda keys: device.set_many(keys, keys), "delete": device.delete_many,
                                               "insert": lambda keys: device.set_many(keys, keys)})
        device.check(wait=True)
    if options.ids:
        with sherwood.connect(options.ids) as client, client.attach(options.device) as device:
            rates(table, stored_keys(NUMBERED, f"cuda:{device.ordinal}", device.assign_many), device.get_many, {"assign": device.assign_many})
    if options.output:
        table.write(options.output, describe("device.py", f"torch {torch.__version__}", torch.cuda.get_device_name()))
    return 0


if __name__ == "__main__":
    sys.exit(ended(main, sherwood.Error))
