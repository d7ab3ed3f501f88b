#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_cluster_client - a libsherwood handle of a cluster, while slots of the daemons change owners."""

import contextlib
import random
import threading

from cluster import Node, slot_of, topology
from handle import DELETE, GET, SET, SET_ABSENT, SUM, Handle
from harness import case, check, drawn_seed, equal, main

SLOTS = 16384
TOP = 2**64


def ranges(slots):
    """Ascending slots as [first, last] pairs."""
    found = []
    for slot in slots:
        if found and found[-1][1] == slot - 1:
            found[-1][1] = slot
        else:
            found.append([slot, slot])
    return found


class Cluster:
    """Daemons with equal parts of the slots. owner[slot] is the number of a node."""

    def __init__(self, count, *flags):
        self.owner = [slot * count // SLOTS for slot in range(SLOTS)]
        self.servers = [Node(i, *flags) for i in range(count)]
        self.epoch = 1
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        for server in self.servers:
            self.stack.enter_context(server)
        for i in range(len(self.servers)):
            self.load(i)
        return self

    def __exit__(self, *why):
        return self.stack.__exit__(*why)

    def load(self, i):
        """Lets node i load the topology. After it no request is checked by an older one."""
        owned = [[] for _ in self.servers]
        for slot, owner in enumerate(self.owner):
            if owner is not None:
                owned[owner].append(slot)
        nodes = [{"port": s.port, "slots": ranges(own)} for s, own in zip(self.servers, owned)]
        self.servers[i].set_topology(topology(self.epoch, nodes, force=True))

    def give(self, slots, to):
        """Makes the next topology, in which these slots belong to another node. No node has loaded it yet."""
        for slot in slots:
            self.owner[slot] = to
        self.epoch += 1

    def addresses(self):
        return [server.address() for server in self.servers]


def apply(operation, table, key, value):
    """Applies an operation to a dict. Returns the value before, or None."""
    before = table.get(key)
    if operation == SET or (operation == SET_ABSENT and before is None):
        table[key] = value
    elif operation == SUM:
        table[key] = ((before or 0) + value) % TOP
    elif operation == DELETE:
        table.pop(key, None)
    return before


def draw_pairs(rng, keys, count):
    """Returns keys, some of them many times, with operands."""
    few = rng.sample(keys, 5)
    return [(rng.choice(few if rng.random() < 0.2 else keys), rng.randrange(TOP)) for _ in range(count)]


def draw_keys(rng, count):
    """Returns keys of every length, 0 and all ones included."""
    return [0, TOP - 1, 10**19] + [rng.randrange(10 ** rng.randrange(1, 20)) for _ in range(count)]


@case
def calls():
    """Every call of a handle of three nodes works, and keys are stored on the nodes of their slots."""
    rng = random.Random(drawn_seed())
    with Cluster(3, "--frame-ops-max", "64") as cluster, Handle(cluster.addresses()[1]) as handle:
        equal(handle.first, "0", "connected by any node")
        table = {}
        keys = draw_keys(rng, 500)
        for operation in (SET, GET, SUM, DELETE, SET_ABSENT, GET):
            pairs = draw_pairs(rng, keys, 1000)
            wanted = [apply(operation, table, k, v) for k, v in pairs]
            equal(handle.run(operation, pairs), wanted, f"operation {operation}")
        equal(dict(tuple(map(int, each.split(":"))) for each in handle.ask("scan").split()), table, "scan")
        equal(handle.ask("stats"), f"0 {len(table)}", "the sum of the keys")
        for i, server in enumerate(cluster.servers):
            mine = sum(1 for key in table if cluster.owner[slot_of(key)] == i)
            equal(server.ask("DBSIZE"), mine, f"keys of node {i}")
        equal(handle.ask("ping"), "0", "ping")
        check("5461,1," in handle.ask("shards"), "shards tell slots and connections")
        for call in ("resize", "region", "epoch", "scores", "digest", "durable"):
            check("-1 " in (said := handle.ask(f"refused {call}")) and "connect to one node" in said, said)
        equal(handle.ask("secured 0 0"), "0 0", "there are no replicas")
        equal(handle.ask("clear"), "0", "clear")
        equal(handle.ask("stats"), "0 0", "every node is empty")


class Model:
    """The possible contents of the nodes for each key: a set of tuples, with a value or None for each node."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.worlds = {}

    @staticmethod
    def after(world, node, operation, steps):
        """Returns the tuple after operations (operand, answer) at a node, or None if an answer is wrong."""
        table = {} if world[node] is None else {0: world[node]}
        for operand, answer in steps:
            if apply(operation, table, 0, operand) != answer:
                return None
        return (*world[:node], table.get(0), *world[node + 1:])

    def fitting(self, world, operation, steps, old, new):
        """Returns the tuples after steps of which the first ones ran at one node, and the others at the next."""
        for place in range(len(steps) + 1 if old != new else 1):
            rest = self.after(world, new, operation, steps[place:])
            if rest is not None:
                yield rest
            world = self.after(world, old, operation, steps[place:place + 1])
            if world is None:
                return

    def follow(self, operation, requests, answers, before):
        """Requests ran while slots moved from their owners `before` to the present ones. The operations on a key took
        effect in order: up to some operation at the old node, the others at the new one. If no such operation exists,
        this fails."""
        by_key = {}
        for pairs, got in zip(requests, answers):
            for (key, operand), answer in zip(pairs, got):
                by_key.setdefault(key, []).append((operand, answer))
        for key, steps in by_key.items():
            old, new = before[slot_of(key)], self.cluster.owner[slot_of(key)]
            worlds = self.worlds.get(key, {(None,) * len(self.cluster.servers)})
            fits = {after for world in worlds for after in self.fitting(world, operation, steps, old, new)}
            check(fits, f"key {key}, from node {old} to {new}: {steps}, of {worlds}")
            self.worlds[key] = fits

    def settled(self, operation, pairs, answers):
        self.follow(operation, [pairs], [answers], self.cluster.owner)


def change(cluster, rng, order):
    """Moves some slots to other owners, and lets the nodes load the topology in this order."""
    to = rng.randrange(len(cluster.servers))
    first = rng.randrange(SLOTS)
    cluster.give([slot % SLOTS for slot in range(first, first + rng.randrange(1, 6000))], to)
    for i in order:
        cluster.load(i)


@case
def between_calls():
    """Slots change owners between calls: the handle finds the new owners, and every reply is right."""
    rng = random.Random(drawn_seed() + 1)
    with Cluster(3, "--frame-ops-max", "128") as cluster, Handle(*cluster.addresses()) as handle:
        model, keys = Model(cluster), draw_keys(rng, 300)
        for _ in range(5):
            for operation in rng.sample([SET, GET, SUM, DELETE, SET_ABSENT], 3):
                pairs = draw_pairs(rng, keys, 1000)
                model.settled(operation, pairs, handle.run(operation, pairs))
            change(cluster, rng, rng.sample(range(3), 3))
        handle.run(GET, [(key, 0) for key in keys])
        check(int(handle.ask("epoch")) > 1, "the handle has loaded another topology")


@case
def meanwhile():
    """Slots change owners while requests are in flight: operations on a key keep their order."""
    rng = random.Random(drawn_seed() + 2)
    refusals = 0
    with Cluster(3, "--frame-ops-max", "256") as cluster, Handle(*cluster.addresses()) as handle:
        model, keys = Model(cluster), draw_keys(rng, 40)
        for round_ in range(200):
            before = list(cluster.owner)
            changer = threading.Thread(target=change, args=(cluster, random.Random(rng.random()),
                                                            rng.sample(range(3), 3)))
            operation = rng.choice([SET, SUM, DELETE, SET_ABSENT])
            requests, answers = [], []
            changer.start()
            while changer.is_alive() and len(requests) < 200:
                batch = [draw_pairs(rng, keys, rng.randrange(1, 256)) for _ in range(8)]
                for pairs in batch:
                    handle.send(handle.words("submit", operation, pairs))
                handle.send("wait")
                for _ in batch:
                    equal(handle.line(), "0", "submitted")
                answers += [handle.answers(handle.line()) for _ in batch]
                requests += batch
            changer.join()
            model.follow(operation, requests, answers, before)
            # From now on the owner of each slot is certain.
            pairs = [(key, 0) for key in keys]
            model.settled(GET, pairs, handle.run(GET, pairs))
            refusals = sum(s.metrics()["sherwood_cluster_wrong_shard_total"] for s in cluster.servers)
            if round_ >= 5 and refusals >= 20:
                break
        check(refusals >= 20, f"only {refusals} frames were refused: nothing was tested")


def come_back(server, ready=200):
    """Restarts a stopped daemon on its port. It has its topology and no keys."""
    server.flags[server.flags.index("--port") + 1], server.ready = str(server.port), ready
    server.start()


@case
def lost_node():
    """If a node stops, only calls on its keys fail. The handle reconnects when the node is back."""
    with Cluster(2) as cluster, Handle(cluster.addresses()[0]) as handle:
        mine = [[key for key in range(200) if cluster.owner[slot_of(key)] == i] for i in range(2)]
        equal(handle.run(SET, [(key, key) for key in mine[0] + mine[1]]), [None] * 200, "set")
        cluster.servers[1].stop()
        status, sentence = handle.ask(handle.words("run", GET, [(mine[1][0], 0)])).split(" ", 1)
        check(status == "-4" and str(cluster.servers[1].port) in sentence, f"{status} {sentence}")
        status, sentence = handle.ask(handle.words("run", GET, [(mine[1][0], 0)])).split(" ", 1)
        check(status == "-4" and "start sherwoodd there" in sentence, f"{status} {sentence}")
        equal(handle.run(GET, [(key, 0) for key in mine[0]]), mine[0], "the other node serves on")
        equal(handle.ask("stripes"), "1", "connections that are left")
        come_back(cluster.servers[1])
        equal(handle.run(GET, [(key, 0) for key in mine[1]]), [None] * len(mine[1]), "it is back, and empty")
        equal(handle.run(GET, [(key, 0) for key in mine[0]]), mine[0], "and the other one still serves")


@case
def lost_shard():
    """A node ends and the next topology lacks its shard: calls to every node go to the remaining nodes."""
    with Cluster(3) as cluster, Handle(cluster.addresses()[0]) as handle:
        for call, answer in (("ping", "0"), ("stats", "0 0"), ("scan", "-16 scan: the topology has changed")):
            gone = cluster.servers.pop()
            cluster.give(range(SLOTS), 0)
            for i in range(len(cluster.servers)):
                cluster.load(i)
            gone.stop()
            handle.ask("ping")  # its connection has ended, or does now
            check((said := handle.ask(call)).startswith(answer), f"{call}: {said}")
            equal(handle.ask("stripes"), str(len(cluster.servers)), "connections")
            cluster.servers.append(Node(len(cluster.servers)))
            cluster.stack.enter_context(cluster.servers[-1])
            cluster.epoch += 1
            for i in range(len(cluster.servers)):
                cluster.load(i)
            equal(handle.ask("reload"), "0", "reload")
            equal(handle.ask("stripes"), "3", "connections")


@case
def nothing_left():
    """Requests end with an error if no primary is left; more than the limit in flight are refused."""
    with Node(0, "--frames-in-flight-max", "4") as primary, Node(1) as replica:
        text = topology(1, [{"port": primary.port, "slots": [[0, SLOTS - 1]]},
                            {"port": replica.port, "shard": "s0", "role": "replica"}])
        for server in (primary, replica):
            server.set_topology(text)
        with Handle(primary.address(), replica.address()) as handle:
            get = Handle.words("run", GET, [(7, 0)])
            primary.stop()
            for _ in range(2):
                check((said := handle.ask(get)).startswith("-4 "), said)
            equal(handle.ask("stripes"), "0", "connections")
            get = Handle.words("submit", GET, [(7, 0)])
            equal([handle.ask(get).split()[0] for _ in range(5)], ["0"] * 4 + ["-10"], "submitted")
            come_back(primary)
            handle.send("wait")
            equal([handle.line() for _ in range(5)][:4], ["0 0 0 0:0"] * 4, "it is back")


@case
def most_shards():
    """A handle with the maximum of connections reconnects all of them."""
    with Node(0, "--bind", "0.0.0.0") as server:
        server.set_topology(topology(1, [{"port": server.port, "ip": f"127.0.1.{i}",
                                          "slots": [] if i > 0 else [[0, SLOTS - 1]]} for i in range(256)]))
        with Handle(server.address()) as handle:
            equal(handle.ask("stripes"), "256", "connections")
            server.stop()
            for _ in range(2):
                check((said := handle.ask("ping")).startswith("-4 "), said)
            come_back(server)
            equal(handle.ask("ping"), "0", "they are back")
            equal(handle.ask("stripes"), "256", "connections")


@case
def other_cluster():
    """A handle ignores the topology of a node that has joined another cluster."""
    with Cluster(2) as cluster, Handle(cluster.addresses()[0]) as handle:
        port, old = cluster.servers[1].port, cluster.servers[1]
        old.stop()
        check(handle.ask("ping").startswith("-4 "), "a node is gone")
        with Node(1, "--port", str(port)) as other:
            other.set_topology(topology(9, [{"port": 1}, {"port": port, "slots": [[0, SLOTS - 1]]}], cluster="other"))
            cluster.servers[0].stop()
            key = next(key for key in range(200) if cluster.owner[slot_of(key)] == 0)
            for _ in range(2):
                said = handle.ask(Handle.words("run", GET, [(key, 0)]))
                check(said.startswith("-"), said)
            check('is a node of the cluster "other", not of this handle\'s cluster "test"' in said, said)
            equal(handle.ask("epoch"), "1", "the handle has the topology of its cluster")


@case
def gaps():
    """An error names a slot without an owner; it is served once it has one. A server without a cluster is refused."""
    with Cluster(2) as cluster, Handle(*cluster.addresses()) as handle:
        cluster.give([slot_of(7)], None)
        cluster.load(0)
        cluster.load(1)
        equal(handle.ask("reload"), "0", "reload")
        equal(handle.ask(handle.words("run", GET, [(1, 0), (7, 0)])),
              f"-16 slot {slot_of(7)} has no owner: assign it (see sherwood-cli cluster check)", "the call")
        equal(handle.run(GET, [(1, 0)]), [None], "other keys are served")
        cluster.give([slot_of(7)], 1)
        cluster.load(0)
        cluster.load(1)
        equal(handle.run(GET, [(1, 0), (7, 0)]), [None] * 2, "it has an owner")


main()
