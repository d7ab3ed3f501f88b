#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""bench/scale/model.py: a small run of the model of a growing cluster."""

import csv
import importlib.util
import pathlib
import subprocess
import tempfile

from harness import BUILD, ROOT, SANITIZED, Skip, case, check, equal, main

MODEL = ROOT / "bench/scale/model.py"
HEAD = "study,library,operation,slot_bits,F,batch,metric,value,unit\n"


def model(*options):
    """Runs the model: (exit status, output, {(operation, nodes, batch, metric): value}, run_info.txt)."""
    if importlib.util.find_spec("numpy") is None:
        raise Skip("numpy is not installed")
    if SANITIZED:
        raise Skip("it is a program of Python")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        done = subprocess.run([MODEL, "--quick", "--calls", "2000", "--build", BUILD, "--output", folder, *options],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=120, check=False)
        if done.returncode:
            return done.returncode, done.stdout, {}, ""
        with open(folder / "summary.csv", encoding="ascii") as file:
            rows = {(r["operation"], int(r["F"]), int(r["batch"]), r["metric"]): float(r["value"])
                    for r in csv.DictReader(file)}
        return 0, done.stdout, rows, (folder / "run_info.txt").read_text(encoding="utf-8")


@case
def grows():
    """rates, tails, links and the map of up to 64 nodes are computed from one node's curve and a daemon's replies"""
    status, text, rows, info = model("--parts", "rates,tails,links,map,stampede", "--seed", "7")
    equal(status, 0, text)
    for operation in ("get", "update"):
        frame, key = rows[operation, 1, 0, "frame_cost"] * 1e-6, rows[operation, 1, 0, "key_cost"] * 1e-9
        check(frame > 0 and key > 0, f"{operation}: {frame} {key}")
        for nodes in (1, 8, 64):
            rate = rows[operation, nodes, 1 << 20, "keys_per_second"]
            # N nodes take frames of a Nth of the keys beside each other.
            wanted = (1 << 20) / (frame + key * (1 << 20) / nodes)
            check(abs(rate / wanted - 1) < 1e-3, f"{operation}, {nodes} nodes: {rate}, not {wanted}")
            check(rows[operation, nodes, 1 << 20, "ratio_to_ideal"] <= 1.0001, f"{operation}, {nodes} nodes")
    for nodes in (1, 64):
        for keys in (1 << 16, 1 << 20):
            tail = [rows[f"get_busy_{busy}", nodes, keys, "latency_p99"] for busy in ("0.3", "0.6", "0.8")]
            link = keys * 4.125 * 8 / 100e9 * 1e6
            check(min(tail) > link + 20, f"{nodes} nodes, {keys} keys: {tail} us, the link alone takes {link}")
    sizes = [rows["cluster_slots", 1 << i, 1, "reply_bytes"] for i in range(7)]
    check(all(1.8 < b / a < 2.2 for a, b in zip(sizes, sizes[1:])), f"the map of twice as many nodes: {sizes}")
    spread = [rows[f"map_from_{name}", 64, 10000, "busiest_node"]
              for name in ("any_node_within_100ms", "the_refusing_node_within_100ms")]
    check(spread[0] < spread[1] / 32, f"MiB of the busiest node: {spread}")
    check("\nseed: 7\n" in info and "\ncommit: " in info, info)


@case
def hot_shards():
    """with evenly drawn keys N nodes are worth N; with Zipf's law the hottest key limits them"""
    status, text, rows, _ = model("--parts", "hot")
    equal(status, 0, text)
    check(rows["zipf_0", 64, 0, "nodes_worth"] > 60, f"evenly: {rows['zipf_0', 64, 0, 'nodes_worth']}")
    for theta in ("zipf_0", "zipf_0.8", "zipf_0.99", "zipf_1.2"):
        worth = rows[theta, 64, 0, "nodes_worth"]
        bound = 100 / rows[theta, 1, 0, "share_of_hottest_key"]
        check(worth <= min(64, bound) * 1.0001, f"{theta}: {worth} nodes, at most {bound}")


@case
def wrong():
    """the model reports a missing file, an unknown part and missing input in one sentence"""
    status, text, _, _ = model("--served", "/nowhere/summary.csv")
    check(status == 2 and "there is no /nowhere/summary.csv" in text, text)
    status, text, _, _ = model("--parts", "rate")
    check(status == 2 and "there is no part rate" in text, text)
    status, text, _, _ = model("--parts", "stampede")
    check(status == 1 and "needs the part map before it" in text, text)
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        file.write(HEAD + "served,sherwood,get,64,0.85,4096,keys_per_second,1e9,1/s\n")
        file.flush()
        status, text, _, _ = model("--served", file.name, "--parts", "rates")
        check(status == 1 and "has no latencies of resp_get_one" in text, text)


if __name__ == "__main__":
    main()
