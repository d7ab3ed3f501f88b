#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Unmodified clients of clusters by other authors: pushed topologies, moving slots, and a node that dies.

SHERWOOD_SEED=N repeats a run that failed."""

import logging
import random
import time

from cluster import cut, slot_of
from cluster_peers import Failed, Glide, LibValkey, NodeRedis, RedisPy
from harness import Skip, case, check, drawn_seed, equal, eventually, main
from moving import cluster, moved, mover

RANDOM = random.Random(drawn_seed())
MANY = 10000
logging.disable(logging.ERROR)  # redis-py logs every redirection with its traceback


def in_one_slot(first, count):
    """Returns keys of one slot."""
    slot, keys = slot_of(first), []
    while len(keys) < count:
        keys += [first] if slot_of(first) == slot else []
        first += 1
    return keys


def holds(client, keys, add):
    client.set(keys, add)
    equal([int(value or 0) for value in client.get(keys)], [key + add for key in keys], "what was written is read")


def refuses_two_slots(client, keys):
    try:
        said = client.mget(keys)
    except Failed as error:
        said = str(error)
    check("CROSSSLOT" in said.upper() or "don't hash to the same slot" in said, f"MGET over two slots: {said}")


def goes_through_moves(client, servers, keys):
    """Half the slots of a node move away and back: every increment is done once, and no client sees an error."""
    client.set(keys, 0)
    rounds = 0
    for words in (("0-2700", "s0", "s1"), ("0-2700", "s1", "s0")):
        process = mover(servers, *words)
        while process.poll() is None:
            rounds += 1
            equal(client.incr(keys), [key + rounds for key in keys], "increments while slots move")
        moved(process)
    rounds += 1
    equal(client.incr(keys), [key + rounds for key in keys], "increments after it")
    redirections = sum(s.metrics()["sherwood_cluster_moved_total"] for s in servers)
    print(f"# {rounds} rounds, {redirections:.0f} redirections")
    check(redirections > 0, "it was redirected")


def lives_through_a_death(client, servers, keys):
    """A node dies: its keys fail, and those of others only for a while. The node and the client recover."""
    lost = servers[2]
    near = [key for key in keys if slot_of(key) < 5000]
    lost.kill()

    def answers(those):
        try:
            client.set(those, 5)
            return [int(value or 0) for value in client.get(those)] == [key + 5 for key in those]
        except Failed:
            return False
    eventually(lambda: answers(near), "the other nodes are used", 60)
    time.sleep(0.2)  # it may try to connect meanwhile, and fails
    lost.restart()
    eventually(lambda: answers(keys), "all nodes are used", 60)


def scenario(kind):
    keys = RANDOM.sample(range(10**9), MANY)
    with cluster(3) as servers:
        client = kind(servers[1].port)
        try:
            holds(client, keys, 1)
            sizes = [server.ask("DBSIZE") for server in servers]
            equal(sum(sizes), MANY, "each key is in one node")
            check(min(sizes) > MANY // 5, f"all nodes have some: {sizes}")
            together = in_one_slot(10**9 + RANDOM.randrange(10**9), 3)
            try:
                equal(client.multi(together), [1, 1, 1], "MULTI")
            except Skip as why:
                print(f"# {why}")
            refuses_two_slots(client, [together[0], together[0] + 1])
            goes_through_moves(client, servers, keys[:100])
            for server in servers:
                server.set_topology(cut(servers, 20, 0, 1000, 15000, 16384))
            holds(client, keys, 3)
            lives_through_a_death(client, servers, keys[:300])
        finally:
            client.close()


@case
def redis_py():
    """redis-py's RedisCluster: 10,000 keys in pipelines, moves, a push, a node that dies and comes back"""
    scenario(RedisPy)


@case
def node_redis():
    """node-redis' cluster client: 10,000 keys, moves, a push, a node that dies and comes back"""
    scenario(NodeRedis)


@case
def libvalkey():
    """libvalkey's cluster client: 10,000 keys, moves, a push, a node that dies and comes back"""
    scenario(LibValkey)


@case
def glide():
    """valkey-glide: 10,000 keys, moves, a push, a node that dies and comes back"""
    scenario(Glide)


if __name__ == "__main__":
    main()
