#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_moves - slots move with their keys while clients write and nodes are killed."""

import contextlib
import json
import logging
import random
import re
import select
import struct
import threading
import time

import redis
import xxhash

from cluster import key_in, node_id, redis_cli_cluster, slot_of, topology
from faults import Faults
from harness import case, check, drawn_seed, equal, eventually, main, run
from moving import CLI, SOURCE_FAULTS, TARGET_FAULTS, Load, check_nodes, cluster, entries, moved, moved_at_last, mover, wait_killed
from replication import Relay
from wire import Error, Replies, array, envelope, field, header_of, read_frame

logging.disable(logging.ERROR)  # redis-py logs every redirection with its traceback
SEED = drawn_seed()
RANDOM = random.Random(SEED)
FAULTS_A_RUN = 8  # many_moves.py takes all of them, again and again
MOVE_FINAL, MOVE_HEAD_BYTES = b"SMV1\x07", 80  # how the last message of a move begins (server/move/stream.h)


def some_slots():
    """Returns random ranges of slots of node 0 of three."""
    first = RANDOM.randrange(0, 2500)
    last = RANDOM.randrange(2600, 5000)
    return f"{first}-{first + RANDOM.randrange(0, 99)},{last}-{last + RANDOM.randrange(0, 400)}"


@case
def under_load():
    """no client sees an error, an old value or a key twice while slots move to and fro"""
    with cluster(3) as servers, Load(servers, SEED) as load:
        for _ in range(3):
            slots = some_slots()
            for source, target in (("s0", "s1"), ("s1", "s2"), ("s2", "s0")):
                moved(mover(servers, slots, source, target))
        eventually(lambda: load.rounds > 0 or load.faults, "frames were sent")
        load.end()
        load.check()
        check_nodes(servers)
        taken = sum(int(server.metrics()["sherwood_cluster_moves_taken_total"]) for server in servers)
        equal(taken, 9, "moves")


def moved_to(servers, process, slots):
    """Waits for the move, by another program if the first was killed, and moves the slots back."""
    process.communicate(timeout=120)
    moved_at_last(servers, slots, "s0", "s1")
    moved_at_last(servers, slots, "s1", "s0")


@case
def killed():
    """source and target are killed at random steps and restart: every acknowledged write exists, once"""
    faults = [(1, fault) for fault in TARGET_FAULTS] + [(0, fault) for fault in SOURCE_FAULTS]
    faults = RANDOM.sample(faults + [(0, "move.removing")], FAULTS_A_RUN)
    with cluster(3, durable=True) as servers, Load(servers, SEED, keys=300, tolerates=True) as load:
        eventually(lambda: sum(load.answered.values()) > 600, "keys are there", 120)
        for victim, fault in faults:
            slots = some_slots()
            servers[victim].restart(fault)
            process = mover(servers, slots, "s0", "s1")
            wait_killed(servers[victim])
            if RANDOM.random() < 0.3:  # and the program that shows it
                process.kill()
            servers[victim].restart()
            moved_to(servers, process, slots)
        load.end()
        load.check()
        check_nodes(servers)


@case
def clients():
    """redis-py sees no error during moves, and redis-cli -c at most TRYAGAIN"""
    with cluster(3) as servers:
        client = redis.RedisCluster(host="127.0.0.1", port=servers[1].port)
        keys = [key_in(0, 3000, skip) for skip in range(60)]
        stopping, faults = threading.Event(), []

        def write():
            try:
                while not stopping.is_set():
                    for key in keys:
                        client.incr(key)
            except Exception as error:  # pylint: disable=broad-except
                faults.append(repr(error))
        thread = threading.Thread(target=write)
        thread.start()
        for source, target in (("s0", "s1"), ("s1", "s2"), ("s2", "s0")):
            process = mover(servers, "0-3000", source, target)
            while process.poll() is None:
                said = redis_cli_cluster(servers[0].port, "EXISTS", keys[0])
                check(said == "1\n" or said.startswith("TRYAGAIN"), f"redis-cli -c: {said}")
            moved(process)
        stopping.set()
        thread.join()
        equal(faults, [], "redis-py")
        equal(len({int(client.get(key)) for key in keys}) <= 2, True, "each increment was done once")
        check_nodes(servers)


@case
def nothing_comes_back():
    """keys deleted at the target do not reappear when the slots move back"""
    with cluster(2, durable=True) as servers:
        one, other = servers
        keys = [key_in(100, 300, skip) for skip in range(20)]
        for key in keys:
            equal(one.ask("SET", key, 1), "OK", "SET")
        moved(mover(servers, "100-300", "s0", "s1"))
        for key in keys[::2]:
            equal(other.ask("DEL", key), 1, "DEL")
        for server in servers:
            server.restart()
        moved(mover(servers, "100-300", "s1", "s0"))
        equal([one.ask("GET", key) for key in keys], [None, b"1"] * 10, "after the way back")
        check_nodes(servers, [(other, slot_of(key)) for key in keys])
        said = run(CLI, "-p", one.port, "cluster", "check")
        check("ok: 2 nodes" in said, said)


def set_frame(number, keys, value, epoch, seen):
    """Returns a frame of a cluster client that sets keys."""
    header = header_of(2, len(keys), 8, 8, request_id=number)
    return envelope(header + field(40, epoch) + (field(41, seen) if seen else b""),
                    array(keys, 8) + array([value] * len(keys), 8))


def waits_once(source, key):
    """Returns whether three commands on a frozen slot that arrived together are refused before one sent after the first
    refusal."""
    with source.connect() as one, source.connect() as other:
        one.sendall(f"GET {key}\r\n".encode() * 3)
        replies = Replies(one)
        said = [replies.read()]
        other.sendall(f"GET {key}\r\n".encode())
        said += [replies.read() for _ in range(2)]
        is_first = not select.select([other], [], [], 0)[0]
        said.append(Replies(other).read())
    check(all(isinstance(each, Error) and each.startswith("TRYAGAIN") for each in said), said)
    return is_first


@case
def frozen():
    """during the hand-over of a slot its commands wait and are refused; others run, and frames keep their order"""
    with cluster(2, durable=True) as servers:
        source, target = servers
        frozen_key, own = key_in(100, 200), key_in(300, 400)
        equal(source.ask("SET", frozen_key, 1), "OK", "SET")
        target.restart("move.target.final")
        process = mover(servers, "100-200", "s0", "s1")
        wait_killed(target)
        equal(source.status()["phase"], "handed", "the source")
        equal(source.ask("GET", frozen_key),
              Error(f"TRYAGAIN Slot {slot_of(frozen_key)} is being handed over to another node"), "after a while")
        eventually(lambda: waits_once(source, frozen_key), "what came together waits once")
        equal(source.ask("SET", own, 2), "OK", "another slot")
        equal(source.ask("DBSIZE"), 2, "its keys are still here")
        equal(sorted(entries(source)), sorted([own, frozen_key]), "SCAN")
        check("slots migrate from this node" in source.ask("CLUSTER", "SETTOPOLOGY", topology(
            9, [{"port": s.port, "slots": []} for s in servers])), "no topology is taken")
        said = run(CLI, "-p", source.port, "cluster", "slots")
        check("s0" in said, said)
        with source.connect() as connection:
            # the second was sent before the reply to the first had come; the third one after both
            connection.sendall(set_frame(1, [frozen_key, own], 7, 1, 0) + set_frame(2, [own], 8, 1, 0))
            equal([read_frame(connection).status for _ in range(2)], [41, 41], "SLOT_FROZEN")
            connection.sendall(set_frame(3, [own], 9, 1, 2))
            equal(read_frame(connection).status, 0, "it has seen both")
        equal(source.ask("GET", own), b"9", "only that one was done")
        waiting = []
        thread = threading.Thread(target=lambda: waiting.append(source.ask("SET", frozen_key, 3)))
        target.restart()
        thread.start()
        moved(process)
        thread.join()
        address = f"{slot_of(frozen_key)} 127.0.0.1:{target.port}"
        check(waiting[0] in ("OK", Error(f"ASK {address}"), Error(f"MOVED {address}")) or waiting[0].startswith("TRYAGAIN"),
              waiting)
        equal(target.ask("GET", frozen_key), b"3" if waiting[0] == "OK" else b"1", "at the target")
        equal(target.ask("ASKING"), "OK", "ASKING")
        eventually(lambda: source.ask("GET", frozen_key) == Error(f"MOVED {address}"), "MOVED, after ASK")


@case
def refusals():
    """an impossible move is refused with one sentence, and nothing changes"""
    with cluster(3) as servers:
        zero, one, two = servers

        def refused(server, what, *words):
            reply = server.ask("CLUSTER", "MOVE", *words)
            check(isinstance(reply, Error) and what in reply, f"{words}: {reply}")
        refused(one, "is not a primary in the topology", "TAKE", "f" * 40, "0")
        refused(one, "does not belong to node", "TAKE", node_id(0), "16000")
        refused(one, "this node has the slots already", "TAKE", node_id(1), "6000")
        refused(one, "the list of slots is empty", "TAKE", node_id(0), "")
        refused(one, "40 hex digits", "TAKE", "s0", "0")
        for wrong in ("x", "1-", "5-3", "16384", "1,,2", "1,"):
            refused(one, "invalid slots: write ranges", "TAKE", node_id(0), wrong)
        refused(one, "no slots migrate to this node", "CANCEL")
        refused(one, "syntax error", "GIVE")
        equal(one.ask("EXPORTSLOTS", *"abcdefghijk"), Error("ERR syntax error: EXPORTSLOTS is sent by a node that receives slots"), "words")
        for words, said in ((("0-10", "s0", "s9"), "no primary of the cluster is called s9"),
                            (("a", "s0", "s1"), "is not a list of slots"), (("16000", "s0", "s1"), "does not belong to node")):
            check(said in run(CLI, "-q", "-p", one.port, "cluster", "move", *words, rc=1), said)
        said = run(CLI, "-q", "-p", one.port, "cluster", "move", "0-9", "s1", "s0")
        check("s0 already owns the slots: no key moves" in said and "10 slots are at s0" in said, said)
        check("\n0 keys moved" in run(CLI, "-p", one.port, "cluster", "move", "0-9", "s1", "s0"), "no key moves")
        # a source that is gone: the target goes on trying, takes no topology, and does not remove everything
        zero.kill()
        equal(one.ask("CLUSTER", "MOVE", "TAKE", node_id(0), "5-7"), "OK", "TAKE")
        eventually(lambda: one.status()["trouble"], "the first attempt fails")
        check("Connection refused" in one.status()["trouble"], one.status())
        refused(one, "slots migrate to this node already", "TAKE", node_id(0), "8")
        check("while slots migrate to this node" in one.ask("FLUSHALL"), "FLUSHALL")
        check("wait until that is done" in one.ask("CLUSTER", "SETTOPOLOGY", topology(
            9, [{"port": s.port, "slots": []} for s in servers])), "SETTOPOLOGY")
        check("this node is the target" in run(CLI, "-p", two.port, "cluster", "check", rc=1), "check")
        equal(one.ask("CLUSTER", "MOVE", "CANCEL"), "OK", "CANCEL")
        eventually(one.rests, "it is given up")
        equal(one.ask("FLUSHALL"), "OK", "FLUSHALL")
        zero.restart()
        check_nodes(servers)
        other = json.loads(zero.ask("CLUSTER", "TOPOLOGY"))
        other["nodes"].reverse()
        other["epoch"] += 1
        zero.set_topology(json.dumps(other))
        said = run(CLI, "-q", "-p", one.port, "cluster", "move", "0", "s0", "s1", rc=1)
        check("has a topology with other nodes, or in another order" in said, said)


@case
def given_back():
    """a topology that returns slots whose keys are being removed applies after the removal, which spares new keys"""
    with cluster(2, durable=True) as servers:
        one, two = servers
        keys = [key_in(100, 300, skip) for skip in range(20)]
        for key in keys:
            equal(one.ask("SET", key, 1), "OK", "SET")
        one.restart("move.source.resolved")  # its state says that the slots are to be emptied
        process = mover(servers, "100-300", "s0", "s1")
        wait_killed(one)
        process.kill()
        process.communicate()
        path = one.directory / "topology.json"
        path.write_text(topology(9, [{"port": one.port, "slots": [[0, 8191]]}, {"port": two.port, "slots": [[8192, 16383]]}]))
        one.flags += ["--cluster-config", str(path)]
        one.restart()
        equal(one.ask("SET", keys[0], 2), Error(f"MOVED {slot_of(keys[0])} 127.0.0.1:{two.port}"), "not yet")
        check("whose moved keys it is still removing" in one.log(), one.log()[-500:])
        eventually(one.rests, "the keys are removed")
        one.hang_up()
        eventually(lambda: one.ask("SET", keys[0], 2) == "OK", "it is taken")
        equal([one.ask("GET", key) for key in keys], [b"2"] + [None] * 19, "empty slots")


@case
def older_snapshot():
    """keys that an older snapshot restores after their slots have moved are neither served nor counted"""
    with cluster(2) as servers:
        one = servers[0]
        one.flags += ["--data-dir", str(one.directory)]
        one.restart()
        equal(one.ask("SET", key_in(100, 300), 1), "OK", "SET")
        equal(one.ask("SAVE"), "OK", "SAVE")
        moved(mover(servers, "100-300", "s0", "s1"))
        one.restart()
        equal([one.ask("DBSIZE"), one.ask("CLUSTER", "COUNTFOREIGN"), entries(one)], [0, 1, []], "after a kill")


@case
def unwritable():
    """a move that cannot end because its state cannot be written is retried after a while, not continuously"""
    with cluster(2) as servers:
        one, two = servers
        two.errors = "cannot be written: a directory, not a regular file"
        one.kill()
        equal(two.ask("CLUSTER", "MOVE", "TAKE", node_id(0), "5-7"), "OK", "TAKE")
        beside = two.directory / "cluster.json.new"

        def is_taken():  # the name; a state that is just being written has it for a moment
            with contextlib.suppress(FileExistsError):
                beside.mkdir()
                return True
            return False
        eventually(is_taken, "there is a folder in the way")
        equal(two.ask("CLUSTER", "MOVE", "CANCEL"), "OK", "CANCEL")
        eventually(lambda: two.errors in two.log(), "it is said")
        failures = int(two.status()["failures"])
        time.sleep(0.5)
        check(int(two.status()["failures"]) < failures + 100, f"{failures} attempts, then {two.status()}")  # five; it was thousands
        check(not two.rests(), "it still takes slots")
        beside.rmdir()
        eventually(two.rests, "it is given up")
        one.restart()
        moved(mover(servers, "5-7", "s0", "s1"))


def hangs(faults, stack, then):
    """Starts a move whose target cannot sync its log, and then calls `then` with the target."""
    one, two = servers = stack.enter_context(cluster(2, durable=True))
    two.environment = faults.environment()
    two.restart()
    key = key_in(100, 300)
    equal(one.ask("SET", key, 1), "OK", "SET")
    faults.sync.held = 1
    process = mover(servers, "100-300", "s0", "s1")
    eventually(lambda: one.status()["phase"] == "handed" and faults.sync.waiting > 0, "the slots are frozen")
    then(two)
    return one, two, key, process


@case
def gives_back():
    """a target that cannot sync its log, or write its state, returns the slots and says so"""
    log, state = Faults(), Faults()
    with contextlib.ExitStack() as stack:
        def block(two):
            two.errors = "cannot be written: a directory, not a regular file"
            (two.directory / "cluster.json.new").mkdir()
            state.end()
        moves = [hangs(log, stack, lambda two: None), hangs(state, stack, block)]
        for one, _, key, _ in moves:
            eventually(lambda one=one: one.ask("SET", key, 7) == "OK", "the source serves again", 30)
            check(one.rests(), one.status())
        log.end()
        (moves[1][1].directory / "cluster.json.new").rmdir()
        for (_, two, _, process), why in zip(moves, ("has not synced the received keys", "cannot be written")):
            said = process.communicate(timeout=60)[0]
            check("the slots were not moved" in said and why in said, said)
            eventually(two.rests, two.status())
            equal(two.ask("CLUSTER", "COUNTFOREIGN"), 0, "what came is removed")


@case
def cancelled_early():
    """a cancelled move ends at once although keys of an earlier one are not removed yet"""
    faults = Faults()
    with cluster(2, durable=True) as servers:
        one = servers[0]
        one.environment = faults.environment()
        one.restart()
        key = key_in(100, 300)
        equal(one.ask("SET", key, 1), "OK", "SET")
        faults.sync.held = 1  # a removal is over when the log has it
        process = mover(servers, "100-300", "s0", "s1")
        eventually(lambda: faults.sync.waiting > 0 and one.status()["leaving_slots"] == "201", "the removal waits")
        eventually(lambda: one.ask("CLUSTER", "MOVE", "TAKE", node_id(1), "100-300") == "OK", "it does not send any more: TAKE")
        equal(one.ask("CLUSTER", "MOVE", "CANCEL"), "OK", "CANCEL")
        eventually(lambda: one.status()["role"] == "none", "it is given up")
        check(faults.sync.waiting > 0, "it was held all the while")
        faults.end()
        moved(process)
        equal(servers[1].ask("GET", key), b"1", "at the target")
        check_nodes(servers)


@case
def slow_link():
    """slots move over a link that delays every packet"""
    with cluster(2) as servers:
        one, two = servers
        with Relay(one.port, lambda data: time.sleep(0.03) or data) as relay:
            text = topology(2, [{"port": relay.port, "slots": [[0, 8191]]}, {"port": two.port, "slots": [[8192, 16383]]}])
            for server in servers:
                server.set_topology(text)
            key = key_in(100, 300)
            equal(one.ask("SET", key, 1), "OK", "SET")
            moved(mover(servers, "100-300", "s0", "s1"))
            equal(two.ask("GET", key), b"1", "at the target")


def with_another_digest(spoiled):
    """Returns what a relay does to the bytes of a source: it changes the digest in the last message of each move."""
    salt = [0]

    def change(data):
        begun = re.match(rb"\+EXPORT (\d+)\r\n", data)
        salt[0] = int(begun[1]) if begun else salt[0]
        at = data.rfind(MOVE_FINAL)
        if at < 0 or len(data) < at + MOVE_HEAD_BYTES:
            return data
        words = list(struct.unpack_from("<10Q", data, at))
        if words[9] != xxhash.xxh3_64_intdigest(data[at:at + 72], salt[0]):
            return data
        words[5] ^= 1
        head = struct.pack("<9Q", *words[:9])
        spoiled.append(at)
        return data[:at] + head + struct.pack("<Q", xxhash.xxh3_64_intdigest(head, salt[0])) + data[at + MOVE_HEAD_BYTES:]
    return change


@case
def another_digest():
    """a target whose keys differ from the source's takes no slot, and tries again"""
    with cluster(2) as servers:
        one, two = servers
        spoiled = []
        with Relay(one.port, with_another_digest(spoiled)) as relay:
            text = topology(2, [{"port": relay.port, "slots": [[0, 8191]]}, {"port": two.port, "slots": [[8192, 16383]]}])
            for server in servers:
                server.set_topology(text)
            key = key_in(100, 300)
            equal(one.ask("SET", key, 1), "OK", "SET")
            process = mover(servers, "100-300", "s0", "s1")
            eventually(lambda: "differ from the source's" in two.log(), lambda: f"{len(spoiled)} attempts were changed", 60)
            eventually(lambda: one.ask("GET", key) == b"1", "the source serves between two attempts", 60)
            check(str(two.ask("GET", key)).startswith(f"MOVED {slot_of(key)} "), "the target serves none")
            relay.spoil = None
            moved(process)
            equal(two.ask("GET", key), b"1", "at the target")


@case
def rebalance():
    """cluster rebalance prints its plan, carries it out, and then has nothing to do"""
    with cluster(3) as servers:
        keys = RANDOM.sample(range(10**9), 200)
        equal(run(CLI, "-p", servers[0].port, "cluster", "rebalance", "--dry-run"),
              "every shard has its share of the slots\n", "16384 slots are no multiple of 3")
        moved(mover(servers, "0-4000", "s0", "s2"))
        client = redis.RedisCluster(host="127.0.0.1", port=servers[1].port)
        for key in keys:
            client.set(key, key)
        plan = run(CLI, "-q", "-p", servers[0].port, "cluster", "rebalance", "--dry-run")
        check(plan.startswith("move ") and plan.endswith(" s2 s0 (4001 slots)\n"), plan)
        check(run(CLI, "-q", "-p", servers[0].port, "cluster", "rebalance").startswith(plan), "the same")
        equal(run(CLI, "-p", servers[0].port, "cluster", "rebalance"), "every shard has its share of the slots\n", "again")
        equal([int(client.get(key)) for key in keys], keys, "keys")
        check_nodes(servers)


main()
