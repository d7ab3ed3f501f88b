#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_shard_moves - slots move between shards with replicas; a topology replaces nodes that are killed meanwhile.

A write that WAIT 1 has counted exists once afterwards, at whichever step a node is killed.

SHERWOOD_SEED=N repeats a run that failed."""

import contextlib
import json
import random

from cluster import key_in, node_id, slot_of, topology
from harness import case, check, drawn_seed, equal, eventually, main, run
from moving import CLI, SOURCE_FAULTS, TARGET_FAULTS, Client, Keeper, Load, entries, moved, moved_at_last, mover, wait_killed
from replication import SMALL, caught_up, info
from wire import Closed, Error, Replies

SEED = drawn_seed()
RANDOM = random.Random(SEED)
HALVES = ([[0, 8191]], [[8192, 16383]])
KILLS = [(0, each) for each in SOURCE_FAULTS + ["move.source.told", "move.removing"]]
KILLS += [(1, each) for each in TARGET_FAULTS + ["move.target.secured", "move.target.told"]]
FAULTS_A_RUN = 3  # many_moves.py takes all of them, again and again


@contextlib.contextmanager
def shards(*flags, files=False):
    """Nodes 0 and 2 are of s0, 1 and 3 of s1; the last two are replicas."""
    with contextlib.ExitStack() as stack:
        servers = []
        for n in range(4):
            server = Keeper(n, *SMALL, "--backend", "cpu", *flags)
            if files:
                server.flags += ["--data-dir", str(server.directory / "data"), "--appendonly", "yes", "--appendfsync", "no",
                                 "--log-segment-bytes", "1M"]
                (server.directory / "data").mkdir()
            servers.append(stack.enter_context(server))
        nodes = [{"port": s.port, "shard": f"s{n % 2}", "id": node_id(n), "slots": HALVES[n % 2],
                  "role": "primary" if n < 2 else "replica"} for n, s in enumerate(servers)]
        for server in servers:
            server.set_topology(topology(1, nodes))
        for server in servers[2:]:
            eventually(lambda s=server: info(s)["master_link_status"] == "up", "the replica has its copy")
        yield servers


def promote(servers, dead):
    """Pushes a topology as an operator does: the newest one of any node, with the shard's other node as primary."""
    number = servers.index(dead)
    other = servers[(number + 2) % 4]
    living = [other, *(server for server in servers if server not in (dead, other))]
    claims = {}  # slots that moved while the topology was made, as a node says that refuses to lose them

    def pushed():
        newest = max((json.loads(server.ask("CLUSTER", "TOPOLOGY")) for server in living), key=lambda each: each["epoch"])
        for node in newest["nodes"]:
            if node["id"] in (node_id(number), node_id((number + 2) % 4)):
                node["role"] = "replica" if node["id"] == node_id(number) else "primary"
        for shard in newest["shards"]:
            shard["slots"] = claims.get(shard["name"], shard["slots"])
        newest["epoch"] += 10  # above what the dead one may have written
        for server in living:
            said = server.ask("CLUSTER", "SETTOPOLOGY", json.dumps(newest))
            if said != "OK":
                print(f"# {said}")
                there = json.loads(server.ask("CLUSTER", "TOPOLOGY"))
                claims.update((shard["name"], shard["slots"]) for shard in there["shards"])
                return None
        return json.dumps(newest)
    text = eventually(pushed, "all living nodes take it", 30)
    eventually(lambda: info(other)["role"] == "master", "it is a primary")
    return text


def come_back(server, text):
    """Restarts a killed node with the present topology, which makes it a replica."""
    path = server.directory / "topology.json"
    path.write_text(text)
    if "--cluster-config" not in server.flags:
        server.flags += ["--cluster-config", str(path)]
    server.restart()
    eventually(lambda: info(server).get("master_link_status") == "up", server.log()[-500:], 30)


def check_shards(servers):
    """Checks that each key is only in the shard of its slot, and that replicas are equal."""
    primaries = [server for server in servers if info(server)["role"] == "master"]
    equal(len(primaries), 2, "primaries")
    seen = {}
    for server in primaries:
        eventually(server.rests, server.status())
        equal(server.ask("CLUSTER", "COUNTFOREIGN"), 0, server.status())
        for key in entries(server):
            check(seen.setdefault(key, server) is server, f"key {key} is at two shards")
        replica = servers[(servers.index(server) + 2) % 4]
        caught_up(server, replica)
        eventually(lambda r=replica: r.ask("CLUSTER", "COUNTFOREIGN") == 0, "the replica knows the topology", 30)
        eventually(lambda r=replica, s=server: r.ask("DBSIZE") == s.ask("DBSIZE"), "DBSIZE", 30)  # it may be loading
    equal(len({same(server) for server in servers}), 1, "topologies")


def same(server):
    """Returns the topology without the epoch since which a shard has lost no slot: each node knows that itself."""
    text = json.loads(server.ask("CLUSTER", "TOPOLOGY"))
    for shard in text["shards"]:
        shard.pop("lost_after", None)
    return json.dumps(text, sort_keys=True)


FAR = 4 * 10**12  # a time that does not come


def time_of(version):
    """Returns the expiry time of a key with this version; 0: never."""
    return FAR + version if version % 3 else 0


class WaitLoad(Load):
    """Writers of versions, two thirds of which have a time of their own, and of sums by frames, each of which is answered
    when a replica has it."""

    def __init__(self, servers, seed):
        super().__init__(servers, seed, keys=150, tolerates=True)

    def add_clients(self, writers):
        self.add(self.frames)
        for i in range(writers):
            self.add(self.write, self.keys[i::writers])

    def write(self, keys):
        client, rand = Client(self.servers), random.Random(keys[0])
        while not self.stopping:
            key = rand.choice(keys)
            version = self.sent[key] + 1
            self.sent[key] = version
            try:
                at = time_of(version)
                client.ask(key, *(("SET", key, version, *(("PXAT", at) if at else ())) if version % 5 else ("DEL", key)))
                if client.at(client.owner[slot_of(key)]).ask("WAIT", 1, 2000) == 1:
                    self.answered[key] = version
            except (OSError, Closed) as error:
                self.unknown(error)
                client.close()
        client.close()

    def check(self):
        """Also checks that every key has the time of its version."""
        super().check()
        client = Client(self.servers)
        for key in self.keys:
            version = int(client.ask(key, "GET", key) or 0)
            wanted = -2 if version == 0 else time_of(version) or -1
            equal(client.ask(key, "PEXPIRETIME", key), wanted, f"when key {key} of version {version} expires")
        client.close()

    def frames(self):
        """Sends sums of all counters by libsherwood. They count as answered when sherwood_wait_replicas has counted
        them."""
        sums, done = self.sums(), 0
        with self.handle() as handle:
            check(handle.first.startswith("0"), handle.first)
            while not self.stopping:
                self.sums_sent += 1
                done += handle.ask(sums).startswith("0 ")
                said = handle.ask("secured 1 2000").split(" ", 1)
                if said[0] == "0" and int(said[1]) >= 1:
                    self.sums_answered += done
                    done = 0
                elif said[0] != "0":  # a connection has ended: the outcome is unknown
                    done = 0


@case
def shards_move():
    """slots move to and fro under load between shards with replicas, which follow the move on both sides"""
    with shards() as servers, WaitLoad(servers, SEED) as load:
        eventually(lambda: sum(load.answered.values()) > 100 or load.faults, "keys are there")
        mine, far = key_in(6000, 8000), FAR
        for source, target in (("s0", "s1"), ("s1", "s0")):
            client = Client(servers)
            equal(client.ask(mine, "SET", mine, 7), "OK", "SET")
            short = [key_in(6000, 8000, 1 + skip) for skip in range(40)]
            for skip, key in enumerate(short):
                equal(client.ask(key, "SET", key, 8, "PX", 10 + 15 * skip), "OK", "keys whose time comes while slots move")
            far += 1
            equal(client.ask(mine, "PEXPIREAT", mine, far), 1, "a time that does not come")
            client.close()
            moved(mover(servers, "5000-8191", source, target))
            replica, other = servers[2 + (target == "s1")], servers[2 + (source == "s1")]
            with contextlib.closing(replica.connect()) as connection:
                replies = Replies(connection)
                equal(replies.ask("READONLY"), "OK", "READONLY")
                eventually(lambda r=replies: r.ask("GET", mine) == b"7", "the replica of the target has it")
                equal(replies.ask("PEXPIRETIME", mine), far, "with its time")
                eventually(lambda r=replies: not any(r.ask("EXISTS", key) for key in short), "the others are gone", 20)
            eventually(lambda: mine not in entries(other), "the replica of the source has it no more")
        load.end()
        load.check()
        check(load.sums_answered > 0, "sums that a replica has")
        check_shards(servers)
        said = run(CLI, "-p", servers[0].port, "digest")
        equal([line.split(":")[0].split(" 127")[0] for line in said.splitlines()],
              ["s0", "s0, replica", "s1", "s1, replica"], said)


@case
def shards_fail_over():
    """source and target are killed at random steps, and their replicas take over and finish the move"""
    with shards(files=True) as servers, WaitLoad(servers, SEED) as load:
        eventually(lambda: sum(load.answered.values()) > 100 or load.faults, "keys are there")
        primaries = [0, 1]
        for which, fault in RANDOM.sample(KILLS, FAULTS_A_RUN):
            fail_over(servers, primaries, which, fault)
        load.end()
        load.check()
        check_shards(servers)


def fail_over(servers, primaries, which, fault):
    """Moves slots from s0 to s1, and kills the source (0) or the target (1) at a step; then moves them back."""
    print(f"# {fault}")
    dead = servers[primaries[which]]
    dead.restart(fault)
    for server in servers:
        eventually(lambda s=server: info(s)["role"] == "master" or info(s)["master_link_status"] == "up", "links", 30)
    process = mover(servers, "5000-8191", "s0", "s1")
    wait_killed(dead)
    process.kill()
    process.communicate()
    text = promote(servers, dead)
    primaries[which] = (primaries[which] + 2) % 4
    come_back(dead, text)
    for number in primaries:
        eventually(servers[number].rests, f"{fault}: {[s.status() for s in servers]}", 30)
    moved_at_last(servers, "5000-8191", "s0", "s1")
    moved_at_last(servers, "5000-8191", "s1", "s0")


def stale(text, **fields):
    """Returns an older topology with a higher epoch."""
    return json.dumps({**text, "epoch": text["epoch"] + 10, **fields})


@case
def pushed_meanwhile():
    """an outdated topology of a higher epoch arrives in the middle of a move: the target serves the slots"""
    with shards(files=True) as servers:
        key = key_in(5000, 8191)
        equal(servers[0].ask("SET", key, 7), "OK", "SET")
        servers[1].restart("move.target.decided")
        eventually(lambda: info(servers[3])["master_link_status"] == "up", "it is followed", 30)
        before = json.loads(servers[0].ask("CLUSTER", "TOPOLOGY"))
        process = mover(servers, "5000-8191", "s0", "s1")
        wait_killed(servers[1])
        process.kill()
        process.communicate()
        others = RANDOM.sample((0, 2), RANDOM.randrange(3))
        print(f"# the push comes to the target's replica, and to {others}")
        for server in [servers[3], *(servers[n] for n in others)]:
            equal(server.ask("CLUSTER", "SETTOPOLOGY", stale(before)), "OK", "it is newer")
        check("TRYAGAIN" in servers[0].ask("GET", key), "the source has handed it over")
        servers[1].restart()
        eventually(lambda: servers[1].ask("GET", key) == b"7", servers[1].log()[-800:], 30)
        for server in servers:
            eventually(server.rests, servers[1].log()[-800:], 30)
        check_shards(servers)
        check(json.loads(servers[3].ask("CLUSTER", "TOPOLOGY"))["epoch"] > before["epoch"] + 10, "at an epoch above that")
        # who knows that the slots came takes no topology without them, be it a replica
        later = json.loads(servers[3].ask("CLUSTER", "TOPOLOGY"))["epoch"] + 10
        for server in (servers[3], servers[1]):
            check("it takes 3192 slots from this node" in server.ask("CLUSTER", "SETTOPOLOGY", stale(before, epoch=later)), "refused")


@case
def killed_before_it_tells():
    """a target killed between its notice to the replica and that to the source sends the latter after its restart"""
    with shards(files=True) as servers:
        key = key_in(5000, 8191)
        equal(servers[0].ask("SET", key, 7), "OK", "SET")
        for n, fault in enumerate(RANDOM.sample(("move.target.told", "move.target.serves"), 2)):
            servers[1 - n].restart(fault)
            eventually(lambda s=servers[3 - n]: info(s)["master_link_status"] == "up", "it is followed", 30)
            process = mover(servers, "5000-8191", f"s{n}", f"s{1 - n}")
            wait_killed(servers[1 - n])
            process.kill()
            process.communicate()
            servers[1 - n].restart()
            for server in servers:
                eventually(server.rests, f"{fault}: {server.status()}", 30)
            eventually(lambda s=servers[1 - n]: s.ask("GET", key) == b"7", "it is served", 30)
        check_shards(servers)


@case
def foreign_keys_are_known():
    """keys of slots taken by force do not count in the shard, whichever node is the primary"""
    with shards() as servers:
        mine, other = key_in(101, 8191), key_in(0, 100)
        for key in (mine, other):
            equal(servers[0].ask("SET", key, 7), "OK", "SET")
        caught_up(servers[0], servers[2])
        text = json.loads(servers[0].ask("CLUSTER", "TOPOLOGY"))
        text["shards"][0]["slots"], text["shards"][1]["slots"] = [[101, 8191]], [[0, 100], [8192, 16383]]
        for server in servers:
            equal(server.ask("CLUSTER", "SETTOPOLOGY", stale(text, force=True)), "OK", "by force")
        for server in (servers[0], servers[2]):
            equal((server.ask("DBSIZE"), server.ask("CLUSTER", "COUNTFOREIGN"), entries(server)), (1, 1, [mine]), "one is foreign")
        servers[0].kill()
        come_back(servers[0], promote(servers, servers[0]))
        equal((servers[2].ask("DBSIZE"), servers[2].ask("CLUSTER", "COUNTFOREIGN"), entries(servers[2])), (1, 1, [mine]), "so it stays")


@case
def replicas_are_needed():
    """a move waits for a replica without a reply before it freezes any slot, and reports it; it is cancelled"""
    with shards() as servers:
        servers[3].kill()
        equal(servers[1].ask("CLUSTER", "MOVE", "TAKE", node_id(0), "5-7"), "OK", "TAKE")
        eventually(lambda: "Connection refused" in servers[1].status()["trouble"], "it says why")
        key = key_in(5, 7)
        equal(servers[0].ask("SET", key, 1), "OK", "the source serves")
        equal(servers[1].ask("CLUSTER", "MOVE", "CANCEL"), "OK", "CANCEL")
        servers[3].restart()
        eventually(servers[1].rests, servers[1].status())
        moved_at_last(servers, "5-7", "s0", "s1")
        equal(servers[1].ask("GET", key), b"1", "at the target")
        # what a topology may not do to a replica that is to lead
        other = json.loads(servers[3].ask("CLUSTER", "TOPOLOGY"))
        other["epoch"] += 1
        for node in other["nodes"]:
            if node["shard"] == "s1":
                node["role"] = "primary" if node["id"] == node_id(3) else "replica"
        other["shards"][0]["slots"], other["shards"][1]["slots"] = HALVES
        check("it takes 3 slots from this node" in servers[3].ask("CLUSTER", "SETTOPOLOGY", json.dumps(other)),
              "the slots of its shard are not left behind")
        for words in (("FOLLOW", "x", "y"), ("FOLLOW", "0", "y"), ("FOLLOW", "0")):
            check(isinstance(servers[3].ask("CLUSTER", "MOVE", *words), Error), words)
        said = run(CLI, "-p", servers[0].port, "cluster", "check")
        check("all slots have an owner" in said, said)


if __name__ == "__main__":
    main()
