#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_load_cluster - sherwood-load with a cluster: every key goes to its owner and is verified, also while slots move."""

import json
import subprocess

from cluster import nodes, topology
from harness import BUILD, Server, case, check, drawn_seed, equal, eventually, main, run
from moving import cluster, moved, mover

LOAD = BUILD / "sherwood-load"
SEED = drawn_seed()
KEYS = 20000
SHAPE = ("--cluster", "--seed", SEED, "-n", KEYS, "-f", 700, "-c", 2)


def addresses(servers):
    return ",".join(server.address() for server in servers)


def load(servers, *words):
    """Runs a load that must succeed, and returns its report."""
    shown = run(LOAD, *SHAPE, "-a", addresses(servers), "--json", *words)
    return json.loads(shown[shown.index("{"):])  # a load of 2 s shows its progress before


def kept(servers):
    return [server.ask("DBSIZE") for server in servers]


@case
def shapes():
    """sets, gets, mixes, deletes, an open loop and prefilled frames use both nodes, and the report counts them"""
    with nodes(2) as servers:
        report = load(servers[1:])  # one node tells of the others
        told = report["cluster"]
        equal([node["address"] for node in told["nodes"]], [server.address() for server in servers], "nodes")
        equal([node["slots"] for node in told["nodes"]], [8192, 8192], "slots")
        equal((told["epoch"], told["left_out"]), (1, 0), "the topology")
        sizes = kept(servers)
        check(min(sizes) > 0, f"keys of both nodes: {sizes}")
        equal(sum(sizes), KEYS, "every key is kept once")
        equal([node["keys"] for node in told["nodes"]], [2 * size for size in sizes], "each was set and got at its owner")
        frames = sum(phase["units"] for phase in report["phases"])
        check(all(0 < node["frames"] <= frames for node in told["nodes"]), f"{told} of {frames} frames")
        equal([node["refusals"] for node in told["nodes"]], [0, 0], "refusals")
        for words in (("-o", "get", "--seconds", 0.1), ("-o", "get", "--rate", "200k", "--seconds", 0.1),
                      ("-o", "get", "--frames-prefilled", 3, "--seconds", 0.1), ("-o", "delete", "--want-previous"),
                      ("-o", "set-delete"), ("-o", "set-delete", "--frames-prefilled", "all", "--no-found"),
                      ("--mix", "get=40,set=20,sum=20,delete=10,insert=10", "--hit-ratio", 0.8, "--want-previous")):
            report = load(servers, *words)
            sent = sum(node["keys"] for node in report["cluster"]["nodes"])
            equal(sent, sum(phase["keys"] for phase in report["phases"]), f"{words}: keys of nodes and phases")
        text = run(LOAD, *SHAPE, "-a", addresses(servers), "-o", "set")
        for server, number in zip(servers, (0, 1)):
            check(f"node {server.address()} of shard s{number}, 8192 slots: " in text, text)


def during(servers, change, *words):
    """Makes a change during a load. Repeats this with longer loads, up to six times, until the change comes before the
    load's end. Returns the report."""
    for attempt in range(6):
        for server in servers:
            server.ask("FLUSHALL")
        command = [str(word) for word in (LOAD, *SHAPE, "-a", addresses(servers), "--json", *words, "--seconds", 1 << attempt)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            eventually(lambda p=process: p.poll() is not None or sum(kept(servers)) > KEYS // 2, "the load has begun", 30)
            epoch = change(attempt)
            output, errors = process.communicate(timeout=120)
        equal(process.returncode, 0, errors)
        report = json.loads(output)
        told = report["cluster"]
        if told["epoch"] >= epoch and sum(node["refusals"] for node in told["nodes"]) > 0:
            return report
    raise AssertionError("no load lasted longer than the change beside it")


@case
def moving():
    """a mix is verified while slots and their keys move to the other node"""
    with cluster(2) as servers:
        def change(attempt):
            moved(mover(servers, *(("100-4000", "s0", "s1") if attempt % 2 == 0 else ("100-4000", "s1", "s0"))))
            return 2 + attempt

        report = during(servers, change, "--mix", "get=40,set=30,sum=20,delete=10")
        equal([phase["missing"] + phase["wrong"] for phase in report["phases"]], [0, 0, 0], "answers")
        slots = sorted(node["slots"] for node in report["cluster"]["nodes"])
        check(slots in ([8192, 8192], [8192 - 3901, 8192 + 3901]), f"slots: {slots}")
        equal(sum(slots), 16384, "slots of the newest topology")


@case
def given():
    """sets follow a topology that assigns half of a node's slots to the other node"""
    with nodes(2) as servers:
        cuts = (8192, 4096)

        def change(attempt):
            cut = cuts[(attempt + 1) % 2]
            text = topology(2 + attempt, [{"port": server.port, "slots": [own]} for server, own in
                                          zip(servers, ([0, cut - 1], [cut, 16383]))], force=True)
            for server in servers:
                server.set_topology(text)
            return 2 + attempt

        report = during(servers, change, "-o", "set")
        told = report["cluster"]["nodes"]
        check([node["slots"] for node in told] in ([4096, 12288], [8192, 8192]), f"{told}")
        # The client sent refused keys again, so that the nodes got more keys than the phase has.
        check(sum(node["keys"] for node in told) > report["phases"][0]["keys"], f"{told}")
        load(servers)  # the new owners have the keys, verified


@case
def wrong():
    """options that a cluster does not support are refused with one sentence"""
    with nodes(1) as servers:
        for words, said in ((("--protocol", "resp"), "--cluster needs bulk frames"),
                            (("--region",), "--region shares memory with one server"),
                            (("-o", "get", "--seconds", "1", "--frames-prefilled", "2", "--splice", "always"), "leave out --splice"),
                            (("--idle-connections", "1"), "--idle-connections go to one server"),
                            (("-t", "1"), "set --threads to --connections"),
                            (("-a", "127.0.0.1:1,,127.0.0.1:2"), "with commas between them")):
            text = run(LOAD, *SHAPE, *(() if "-a" in words else ("-a", addresses(servers))), *words, rc=2)
            check(said in text, text)


@case
def alone():
    """--cluster with a server outside a cluster is refused"""
    with Server() as server:
        text = run(LOAD, *SHAPE, "-a", server.address(), rc=3)
        check("cluster mode" in text, text)


if __name__ == "__main__":
    main()
