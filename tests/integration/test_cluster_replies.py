#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What a node of a cluster replies, byte by byte beside redis in cluster mode."""

from cluster import Node, key_in, raw, redis_nodes, topology
from harness import case, equal, main


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
    """the topology is told in the bytes of redis 7, by RESP2 and RESP3"""
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
    """keys of other nodes are redirected as redis does it, and what it says of two nodes is the same"""
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


if __name__ == "__main__":
    main()
