#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Unmodified clients of clusters: redis-py, redis-cli, redis-benchmark, and nutcracker before two daemons."""

import asyncio
import contextlib
import logging
import pathlib
import random
import re
import subprocess
import tempfile

import redis
import redis.asyncio

from cluster import cut, key_in, nodes, slot_of
from harness import Server, case, check, drawn_seed, equal, eventually, main, run

RANDOM = random.Random(drawn_seed())
logging.disable(logging.ERROR)  # redis-py logs every redirection with its traceback


def follow(client, keys):
    """Writes and reads every key, each by a command of its own."""
    for key in keys:
        check(client.set(key, key), key)
    equal([int(client.get(key)) for key in keys], keys, "what was written is read")


@case
def redis_py():
    """redis-py's RedisCluster learns the nodes, splits batches, and follows when slots change owners"""
    keys = RANDOM.sample(range(10**9), 200)
    with nodes(3) as servers:
        client = redis.RedisCluster(host="127.0.0.1", port=servers[1].port)
        equal(len(client.get_primaries()), 3, "primaries")
        follow(client, keys)
        equal(client.keyslot(keys[0]), client.cluster_keyslot(keys[0]), "slots are the server's")
        check(client.mset_nonatomic({key: key + 1 for key in keys}), "mset_nonatomic")
        equal([int(v) for v in client.mget_nonatomic(keys)], [key + 1 for key in keys], "mget_nonatomic")
        with client.pipeline() as pipeline:
            for key in keys:
                pipeline.incrby(key, 1)
            equal(pipeline.execute(), [key + 2 for key in keys], "a pipeline")
        equal(client.dbsize(target_nodes=redis.RedisCluster.PRIMARIES), 200, "DBSIZE of all")
        equal(sum(s.ask("DBSIZE") for s in servers), 200, "each key is in one node")
        seen = sorted(int(key) for key in client.scan_iter(target_nodes=redis.RedisCluster.PRIMARIES, count=50))
        equal(seen, sorted(keys), "SCAN of all")
        equal(client.exists(*keys[:50]), 50, "EXISTS is split")
        equal(client.delete(*keys), 200, "DEL is split")
        for server in servers:
            server.set_topology(cut(servers, 2, 0, 15000, 15001, 16384))
        follow(client, keys)
        equal(len(client.cluster_nodes()), 3, "CLUSTER NODES is parsed")
        equal(client.cluster_info(target_nodes=client.get_random_node())["cluster_state"], "ok", "CLUSTER INFO")
        moved = sum(s.metrics()["sherwood_cluster_moved_total"] for s in servers)
        check(moved > 0, "it was redirected")
        client.close()


@case
def redis_py_async():
    """redis.asyncio's RedisCluster reads and writes every key, also after a change of the topology"""
    keys = RANDOM.sample(range(10**9), 200)

    async def talk(servers):
        async with redis.asyncio.RedisCluster(host="127.0.0.1", port=servers[0].port) as client:
            equal(await asyncio.gather(*[client.set(key, key) for key in keys]), [True] * 200, "SET")
            equal([int(v) for v in await asyncio.gather(*[client.get(key) for key in keys])], keys, "GET")
            for server in servers:
                server.set_topology(cut(servers, 2, 0, 100, 16384))
            # One after the other: on a redirection 4.3.4 closes connections that other commands use.
            for key in keys:
                check(await client.set(key, 7), "after a change")
                equal(await client.get(key), b"7", "after a change")

    with nodes(2) as servers:
        asyncio.run(talk(servers))


@case
def redis_cli():
    """redis-cli -c follows MOVED, and its check finds every slot served"""
    with nodes(2) as (one, other):
        near, far = key_in(0, 8191), key_in(8192, 16383)
        words = "".join(f"set {key} 1{key}\nget {key}\n" for key in (near, far, near))
        output = run("redis-cli", "-c", "-p", one.port, stdin=words)
        arrow = re.findall(r"-> Redirected to slot \[(\d+)\] located at 127.0.0.1:(\d+)", output)
        equal(arrow, [(str(slot_of(far)), str(other.port)), (str(slot_of(near)), str(one.port))], "redirections")
        output = re.sub(r"-> .*\n", "", output)
        equal(output.split(), ["OK", f"1{near}", "OK", f"1{far}", "OK", f"1{near}"], "replies")
        equal(one.ask("GET", near), b"1%d" % near, "in the one node")
        equal(other.ask("GET", far), b"1%d" % far, "in the other")
        equal(run("redis-cli", "-c", "-p", one.port, "GET", far).split()[-1], f"1{far}", "one command")
        output = run("redis-cli", "--cluster", "check", f"127.0.0.1:{one.port}")
        check("[OK] All 16384 slots covered." in output and "[OK] All nodes agree" in output, output)


@case
def redis_benchmark():
    """redis-benchmark --cluster finds the nodes, and sends to each"""
    with nodes(2) as servers:
        output = run("redis-benchmark", "--cluster", "-p", servers[0].port, "-n", 2000, "-c", 4, "-q", "PING")
        check(re.search(r"PING.*requests per second", output.replace("\r", "\n")), output)
        check(output.count("Master ") == 2 or "Cluster has 2 master nodes" in output, output)
        sent = [s.metrics()['sherwood_commands_total{cmd="ping"}'] for s in servers]
        check(min(sent) > 0, f"it sends to both: {sent}")


@contextlib.contextmanager
def nutcracker(servers):
    """Starts the proxy before these daemons, on a Unix socket whose path this yields."""
    with tempfile.TemporaryDirectory(prefix="sherwood-nutcracker-") as name:
        directory = pathlib.Path(name)
        path = directory / "socket"
        lines = "".join(f"   - 127.0.0.1:{s.port}:1 node{i}\n" for i, s in enumerate(servers))
        (directory / "conf").write_text(
            f"pool:\n  listen: {path} 0600\n  hash: fnv1a_64\n  distribution: ketama\n  redis: true\n"
            f"  timeout: 20000\n  servers:\n{lines}")
        while True:  # its port of statistics may be another's
            port = random.SystemRandom().randrange(20000, 60000)
            process = subprocess.Popen(["nutcracker", "-c", directory / "conf", "-s", str(port), "-a", "127.0.0.1",
                                        "-o", directory / "log"])
            if eventually(lambda p=process: "gone" if p.poll() is not None else path.exists(), "it listens", 20) is True:
                break
        try:
            yield str(path)
        finally:
            process.terminate()
            process.wait(30)


@case
def behind_nutcracker():
    """nutcracker distributes keys over two daemons that do not know each other"""
    keys = RANDOM.sample(range(10**9), 300)
    with Server() as one, Server() as other, nutcracker([one, other]) as path:
        client = redis.Redis(unix_socket_path=path)
        follow(client, keys)
        check(client.mset({key: key + 1 for key in keys}), "MSET is split")
        equal([int(v) for v in client.mget(keys)], [key + 1 for key in keys], "MGET is split")
        with client.pipeline(transaction=False) as pipeline:
            for key in keys:
                pipeline.incr(key)
            equal(pipeline.execute(), [key + 2 for key in keys], "a pipeline")
        sizes = [s.metrics()["sherwood_db_keys"] for s in (one, other)]
        equal(sum(sizes), 300, "each key is in one of them")
        check(min(sizes) > 0, f"both have some: {sizes}")
        equal(client.delete(*keys), 300, "DEL is split")
        client.close()


@case
def slots_of_redis_py():
    """redis-py, the server and the documented algorithm compute the same slots for numbers"""
    from redis.crc import key_slot  # pylint: disable=import-outside-toplevel
    with nodes(1) as (server,):
        replies = server.replies()
        for _ in range(300):
            key = RANDOM.randrange(2 ** RANDOM.randrange(1, 64))
            text = str(key).encode()
            equal({replies.ask("CLUSTER", "KEYSLOT", key), slot_of(key)}, {key_slot(text)}, key)


if __name__ == "__main__":
    main()
