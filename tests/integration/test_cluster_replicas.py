#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Replicas in a topology: they copy their primaries, serve reads after READONLY, and become primaries by a push.

SHERWOOD_SEED=N repeats a run that failed."""

import contextlib
import logging
import random

import redis

import wire
from cluster import Node, key_in, node_id, topology
from harness import check, case, drawn_seed, equal, eventually, main
from replication import SMALL, Load, caught_up, info

HALVES = ([[0, 8191]], [[8192, 16383]])


def text_of(epoch, servers, primaries=(0, 1), **more):
    """Returns a topology of shards s0 and s1. Nodes 0 and 2 are in s0, nodes 1 and 3 in s1."""
    nodes = [{"port": servers[n].port, "slots": HALVES[n % 2], "shard": f"s{n % 2}", "id": node_id(n)}
             for n in primaries]
    nodes += [{"port": s.port, "shard": f"s{n % 2}", "role": "replica", "id": node_id(n)}
              for n, s in enumerate(servers) if n not in primaries]
    return topology(epoch, nodes, **more)


@contextlib.contextmanager
def two_shards():
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(Node(n, *SMALL)) for n in range(4)]
        for server in servers:
            server.set_topology(text_of(1, servers))
        for server in servers[2:]:
            eventually(lambda s=server: info(s)["master_link_status"] == "up", "the replica has its copy")
        yield servers


def keys_of(shard, count):
    return [key_in(*HALVES[shard][0], skip) for skip in range(count)]


@case
def reads_by_word():
    """a replica redirects; after READONLY it serves reads of its own shard, until READWRITE or RESET"""
    with two_shards() as servers:
        primary, replica = servers[0], servers[2]
        key, foreign = keys_of(0, 1)[0], keys_of(1, 1)[0]
        equal(primary.ask("SET", key, 7), "OK", "SET")
        caught_up(primary, replica)
        moved = f"MOVED {wire_slot(key)} 127.0.0.1:{primary.port}"
        with replica.replies() as replies:
            equal(str(replies.ask("GET", key)), moved, "before READONLY")
            for end in (("READWRITE",), ("RESET",)):
                equal(replies.ask("READONLY"), "OK", "READONLY")
                equal(replies.ask("GET", key), b"7", "a read")
                check(str(replies.ask("GET", foreign)).startswith("MOVED "), "of the other shard")
                equal(str(replies.ask("SET", key, 8)), moved, "a write")
                equal(replies.ask("MULTI"), "OK", "MULTI")
                replies.ask("GET", key)
                equal(replies.ask("EXEC"), [b"7"], "a transaction")
                equal((replies.ask("DBSIZE"), replies.ask("CLUSTER", "COUNTKEYSINSLOT", wire_slot(key))), (1, 1), "keys")
                check(replies.ask(*end) in ("OK", "RESET"), end)
                equal(str(replies.ask("GET", key)), moved, end)
            check(str(replies.ask("REPLICAOF", "NO", "ONE")).startswith("ERR REPLICAOF not allowed"), "REPLICAOF")
        with replica.connect() as connection:
            equal(wire.call(connection, wire.GET, (key,)).status, wire.WRONG_SHARD, "a frame")
        equal(redis.Redis(port=replica.port).role()[:3], [b"slave", b"127.0.0.1", primary.port], "ROLE")
        shards = replica.ask("CLUSTER", "SHARDS")
        equal([len(shard[3]) for shard in shards], [2, 2], "each shard shows its replica")


def wire_slot(key):
    return redis.crc.key_slot(str(key).encode())


@case
def redis_py_reads_replicas():
    """redis-py's RedisCluster reads at replicas as well, and follows a push that lets them take over"""
    draw = random.Random(drawn_seed())
    with two_shards() as servers:
        client = redis.RedisCluster(host="127.0.0.1", port=servers[0].port, read_from_replicas=True)
        values = {key: draw.randrange(2**32) for shard in (0, 1) for key in keys_of(shard, 60)}
        for key, value in values.items():
            client.set(key, value)
        for n in (0, 1):
            caught_up(servers[n], servers[n + 2])
        read = [reads_at(server) for server in servers]
        for _ in range(3):
            equal({key: int(client.get(key)) for key in values}, values, "reads")
        check(all(reads_at(server) > before for server, before in zip(servers, read)), "all four nodes read")
        for server in (*servers[2:], *servers[:2]):  # the new primaries first, as an operator does after a failure
            server.set_topology(text_of(2, servers, (2, 3)))
        for n in (2, 3):
            eventually(lambda s=servers[n]: info(s)["role"] == "master", "a primary")
            eventually(lambda s=servers[n - 2]: info(s)["master_link_status"] == "up", "and its replica")
        for key in values:
            values[key] += 1
            client.set(key, values[key])
        for n in (2, 3):
            caught_up(servers[n], servers[n - 2])
        equal({key: int(client.get(key)) for key in values}, values, "after the push")
        client.close()


def reads_at(server):
    stats = redis.Redis(port=server.port).info("stats")
    return stats["keyspace_hits"] + stats["keyspace_misses"]


@case
def takes_over_under_load():
    """topologies that swap primary and replica under load end with equal tables, and replicas do not write"""
    with two_shards() as servers:
        primaries = (0, 1)
        for epoch in range(2, 5):
            load = ShardLoad(servers[primaries[0]], drawn_seed() + epoch)
            eventually(lambda: load.written > 50, "the load goes on")
            primaries = (2, 3) if primaries == (0, 1) else (0, 1)
            for server in servers:
                server.set_topology(text_of(epoch, servers, primaries))
            eventually(lambda: load.refused > 0, "the old primary redirects")
            load.end()
            for n in primaries:
                other, key = servers[(n + 2) % 4], keys_of(n % 2, 1)[0]
                eventually(lambda s=servers[n]: info(s)["role"] == "master", "a primary")
                equal(servers[n].ask("SET", key, epoch, "PXAT", 4 * 10**12 + epoch), "OK", "it writes")
                eventually(lambda s=servers[n], o=other: s.ask("DIGEST") == o.ask("DIGEST"), "equal tables, once all is swept", 30)
                with other.replies() as replies:
                    equal([replies.ask("READONLY"), replies.ask("PEXPIRETIME", key)], ["OK", 4 * 10**12 + epoch], "with times")


class ShardLoad(Load):
    """Writes keys of the first shard and counts the refused writes."""

    def __init__(self, server, seed):
        self.keys, self.refused = keys_of(0, 200), 0
        super().__init__(server, seed)

    def step(self, replies):
        time = ("PX", self.draw.randrange(1, 300)) if self.draw.random() < 0.3 else ()
        reply = replies.ask("SET", self.draw.choice(self.keys), self.draw.randrange(2**32), *time)
        if reply != "OK":
            check(str(reply).startswith(("MOVED ", "CLUSTERDOWN ")), reply)
            self.refused += 1


@case
def primary_moves():
    """a replica follows the primary of the newest topology, also at another port"""
    with Node(0, *SMALL) as primary, Node(1, *SMALL) as replica:
        nodes = [{"port": 1, "slots": [[0, 16383]], "shard": "s0", "id": node_id(0)},
                 {"port": replica.port, "shard": "s0", "role": "replica", "id": node_id(1)}]
        replica.set_topology(topology(1, nodes))
        eventually(lambda: info(replica)["role"] == "slave", "a replica of nobody")
        nodes[0]["port"] = primary.port
        primary.set_topology(topology(2, nodes))
        replica.set_topology(topology(2, nodes))
        equal(primary.ask("SET", 1, 1), "OK", "SET")
        caught_up(primary, replica)
        equal(info(replica)["master_link_status"], "up", "it follows the next topology")


if __name__ == "__main__":
    logging.disable()  # redis-py tells of each MOVED
    main()
