#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The replies of a cluster node equal those of redis in cluster mode byte by byte."""

from cluster import Node, key_in, raw, redis_nodes, slot_of, topology
from harness import case, check, equal, main
from wire import Error


def entries_of_commands(server, redis):
    """COMMAND has ten elements a command, with key positions and the categories of redis: redis-py needs them."""
    for name in ("get", "mset", "del", "readonly", "readwrite", "asking", "mget", "set", "incrby"):
        ours, theirs = (s.ask("COMMAND", "INFO", name)[0] for s in (server, redis))
        equal(len(ours), 10, f"elements of {name}")
        equal(ours[:2] + ours[3:6], theirs[:2] + theirs[3:6], f"{name}: name, arity, keys")
        equal(set(ours[6]), set(theirs[6]), f"categories of {name}")
    for words in (("SET", "1", "2"), ("MGET", "1", "2", "3"), ("MSET", "1", "2", "3", "4")):
        equal(server.ask("COMMAND", "GETKEYS", *words), redis.ask("COMMAND", "GETKEYS", *words), words)


@case
def replies_of_redis():
    """replies about the topology have the bytes of redis 7, by RESP2 and RESP3"""
    slots = [[0, 100], [200, 300], [5000, 5000]]
    with redis_nodes(slots) as (redis,):
        with Node(0, name=redis.id) as mine:
            mine.set_topology(topology(1, [{"port": redis.port, "slots": slots, "id": redis.id,
                                            "hostname": "a.example"}]))
            words = [("CLUSTER", *w) for w in (
                ("SLOTS",), ("SHARDS",), ("NODES",), ("INFO",), ("MYID",), ("LINKS",),
                ("KEYSLOT", "42"), ("KEYSLOT", "{a}b"), ("KEYSLOT", "a{}b"), ("KEYSLOT", b"\x00\xff{"),
                ("KEYSLOT", ""), ("KEYSLOT",), ("COUNTKEYSINSLOT", 5), ("COUNTKEYSINSLOT", 16384),
                ("COUNTKEYSINSLOT", -1), ("COUNTKEYSINSLOT", "x"), ("COUNTKEYSINSLOT",),
                ("GETKEYSINSLOT", 5, 10), ("GETKEYSINSLOT", 5, 0), ("GETKEYSINSLOT", 5, -1),
                ("GETKEYSINSLOT", 16384, 1), ("GETKEYSINSLOT", "x", 1), ("GETKEYSINSLOT", 1, "x"),
                ("COUNT-FAILURE-REPORTS", redis.id), ("COUNT-FAILURE-REPORTS", "x"),
                ("COUNT-FAILURE-REPORTS", "a" * 100), ("x",))]
            commands = [("CLUSTER",), *words, ("READONLY",), ("READWRITE",), ("ASKING",),
                        ("READONLY", "x"), ("SELECT", 0), ("SELECT", 1), ("SELECT", "x"), ("SWAPDB", 0, 1),
                        ("REPLICAOF", "127.0.0.1", 1),
                        ("GET", key_in(101, 199)), ("MGET", key_in(101, 199), key_in(0, 100)),
                        ("MGET", key_in(0, 100), key_in(101, 199)), ("MGET", key_in(0, 100), key_in(200, 300)),
                        ("MSET", key_in(0, 100), 1, key_in(200, 300), 2), ("DEL", key_in(0, 100), key_in(5000, 5000)),
                        ("EXISTS", key_in(0, 100)), ("GET", key_in(0, 100)),
                        ("MULTI",), ("GET", key_in(0, 100)), ("EXEC",),
                        ("MULTI",), ("GET", key_in(0, 100)), ("GET", key_in(200, 300)), ("EXEC",),
                        ("MULTI",), ("GET", key_in(101, 199)), ("EXEC",), ("EXEC",), ("ROLE",)]
            for version in (2, 3):
                wanted = raw(redis.port, ("HELLO", version), *commands)[1:]
                got = raw(mine.port, ("HELLO", version), *commands)[1:]
                for what, a, b in zip(commands, got, wanted):
                    if what == ("CLUSTER", "INFO"):
                        b = b.replace(b"cluster_current_epoch:0", b"cluster_current_epoch:1")
                    if what == ("ROLE",):
                        a, b = a[:20], b[:20]
                    equal(a, b, f"{what} by RESP{version}")
            entries_of_commands(mine, redis)


def sorted_shards(reply):
    return sorted(reply, key=repr)


@case
def replies_of_redis_with_others():
    """redirections of other nodes' keys, and replies about two nodes, are those of redis"""
    with redis_nodes([[0, 8191]], [[8192, 16383]]) as (one, other):
        with Node(0, name=one.id) as mine:
            text = topology(1, [{"port": n.port, "slots": [s], "id": n.id, "hostname": "a.example"}
                                for n, s in ((one, [0, 8191]), (other, [8192, 16383]))])
            mine.set_topology(text)
            far, near = key_in(8192, 16383), key_in(0, 8191)
            commands = [("GET", far), ("SET", far, 1), ("MGET", far, far), ("MGET", near, far),
                        ("MGET", far, key_in(8192, 16383, 1)), ("INCR", far), ("TYPE", far), ("TTL", far),
                        ("OBJECT", "ENCODING", far), ("MEMORY", "USAGE", far), ("EXISTS", far, near),
                        ("UNLINK", far), ("TOUCH", far), ("STRLEN", far), ("CLUSTER", "SLOTS"),
                        ("MULTI",), ("GET", far), ("EXEC",), ("MULTI",), ("GET", near), ("EXEC",)]
            for version in (2, 3):
                wanted = raw(one.port, ("HELLO", version), *commands)[1:]
                got = raw(mine.port, ("HELLO", version), *commands)[1:]
                for what, a, b in zip(commands, got, wanted):
                    equal(a, b, f"{what} by RESP{version}")
            equal(sorted_shards(mine.ask("CLUSTER", "SHARDS")), sorted_shards(one.ask("CLUSTER", "SHARDS")),
                  "SHARDS")


def envoy_address(entry):
    """Reads a node's address as Envoy's discovery of Redis Clusters does: a list that begins with a nonempty host and a
    port of at most 65535. If Envoy finds anything else, it drops the whole reply."""
    check(isinstance(entry, list) and len(entry) >= 2, f"{entry} is no node")
    host, port = entry[:2]
    check(isinstance(host, bytes) and host and isinstance(port, int) and 0 < port <= 0xFFFF, f"{entry} is no address")
    return host.decode(), port


def envoy_map(rows):
    """Returns {slot: primary}. Rows are lists of at least three elements; an empty list is an error."""
    check(isinstance(rows, list) and rows, f"{rows}")
    owners = {}
    for row in rows:
        check(isinstance(row, list) and len(row) >= 3, f"{row}")
        first, last, *nodes = row
        check(isinstance(first, int) and isinstance(last, int) and 0 <= first <= last < 16384, f"{row}")
        addresses = [envoy_address(node) for node in nodes]
        for slot in range(first, last + 1):
            check(slot not in owners, f"slot {slot} is listed twice")
            owners[slot] = addresses[0]
    return owners


@case
def rules_of_envoy():
    """Envoy's redis_proxy works: CLUSTER SLOTS without HELLO, redirections of three words, EXISTS as health check"""
    for flags, host in (((), "127.0.0.1"), (("--cluster-preferred-endpoint-type", "hostname"), "b.example")):
        with Node(0, *flags) as server:
            slots = [[0, 99], [101, 101], [200, 16000]]
            server.set_topology(topology(1, [
                {"port": server.port, "slots": slots, "hostname": "a.example"},
                {"port": 65535, "slots": [[100, 100], [102, 199]], "hostname": "b.example"},
                {"port": 1, "shard": "s1", "role": "replica", "ip": "::1"}]))
            owners = envoy_map(server.ask("CLUSTER", "SLOTS"))
            equal(sorted(owners), list(range(16001)), "the slots that somebody has")
            for slot, (_, port) in owners.items():
                mine = any(first <= slot <= last for first, last in slots)
                equal(port, server.port if mine else 65535, f"the owner of slot {slot}")
            equal(owners[100], (host, 65535), "the other node's endpoint")
            far = key_in(102, 199)
            for words in (("GET", far), ("SET", far, 1), ("INCRBY", far, 1), ("DEL", far)):
                said = server.ask(*words)
                check(isinstance(said, Error), f"{words}: {said}")
                equal(said.split(" "), ["MOVED", str(slot_of(far)), f"{host}:65535"], "three words")
            equal(server.ask("EXISTS", key_in(0, 99)), 0, "EXISTS, its health check")
            equal(server.ask("PING"), "PONG", "or PING")
            equal(server.ask("READONLY"), "OK", "which it sends where replicas may be read")


if __name__ == "__main__":
    main()
