# SPDX-License-Identifier: MIT
"""Cluster nodes with their topology in etcd, for tests, and etcd's gateway as operators use it."""

import base64
import contextlib
import http.client
import itertools
import json
import socket

import wire
from cluster import Node, node_id
from harness import free_port
from replication import SMALL, Relay
from shard import Member

KEY = "/sherwood/topology"


def text64(text):
    return base64.b64encode(text if isinstance(text, bytes) else text.encode()).decode()


def url_of(etcd, port=None, first=0):
    ports = etcd.clients[first:] + etcd.clients[:first] if port is None else [port]
    return "etcd://" + ",".join(f"127.0.0.1:{p}" for p in ports) + "/sherwood"


class Gateway:
    """A client of etcd with the requests of etcdctl."""

    def __init__(self, etcd, member=0):
        self.port = etcd.clients[member]

    def post(self, path, body):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)) as connection:
            connection.request("POST", path, json.dumps(body))
            return json.loads(connection.getresponse().read())

    def put(self, value, key=KEY):
        return int(self.post("/v3/kv/put", {"key": text64(key), "value": text64(value)})["header"]["revision"])

    def key(self, key=KEY):
        """Returns the revision, the number of writes and the value of the key."""
        found = self.post("/v3/kv/range", {"key": text64(key)}).get("kvs")
        if not found:
            return 0, 0, None
        return int(found[0]["mod_revision"]), int(found[0]["version"]), base64.b64decode(found[0].get("value", ""))

    def is_leader(self):
        status = self.post("/v3/maintenance/status", {})
        return status["leader"] == status["header"]["member_id"]

    def delete(self):
        return int(self.post("/v3/kv/deleterange", {"key": text64(KEY)})["header"]["revision"])

    def compact(self):
        self.post("/v3/kv/compaction", {"revision": str(self.key()[0]), "physical": True})


class Lossy(Relay):
    """A relay before etcd that loses one write or its reply; `beside` runs first."""

    def __init__(self, port):
        self.answer_is_lost = self.request_is_lost = None
        super().__init__(port, self.lose_answer)

    def lose_answer(self, data):
        beside = self.answer_is_lost
        if beside is None or b'"response_put"' not in data:
            return data
        self.answer_is_lost = None
        beside()
        return None

    def pass_on(self, one):
        pair = next((p for p in self.pairs if one in p), None)
        if pair is not None and one is pair[0] and self.request_is_lost is not None:
            data = one.recv(1 << 16, socket.MSG_PEEK)
            if b"request_put" in data:
                beside, self.request_is_lost = self.request_is_lost, None
                beside()
                self.drop(pair)
                return
        super().pass_on(one)


class Registered(Node):
    """A node with its topology in etcd, on a fixed port, and the requests that tests send to it."""

    def __init__(self, number, etcd, *flags, port=None, first=0, **options):
        super().__init__(number, "--cluster-config", url_of(etcd, port, first), "--port", str(free_port()), "--http-port",
                         str(free_port()), *SMALL, *flags, **options)
        self.number, self.name = number, node_id(number)

    def epoch(self):
        text = self.ask("CLUSTER", "INFO").decode()
        return int(text.split("cluster_current_epoch:")[1].split()[0])

    def info(self):
        text = self.ask("INFO", "cluster").decode()
        return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)

    def set(self, text, *before):
        return self.ask("CLUSTER", "SETTOPOLOGY", *before, text)


class ShardNode(Member):
    """A member of a shard that is also a node of a cluster."""

    def __init__(self, etcd, shard, *flags):
        self.number = next(ShardNode.numbers)
        self.id, self.shard = node_id(self.number), shard
        super().__init__(etcd, shard, "--cluster-config", url_of(etcd), "--cluster-node-id", self.id, *flags)

    numbers = itertools.count(1)
    options = {"ready": 503}

    def restart(self):
        self.options = {}
        super().restart()


def shards_topology(shards):
    """Returns JSON that gives these shards equal parts of the slots. An election replaces the primary that it names."""
    nodes, ranges = [], [[i * 16384 // len(shards), (i + 1) * 16384 // len(shards) - 1] for i in range(len(shards))]
    for shard in shards:
        for i, member in enumerate(shard.members):
            nodes.append({"id": member.id, "shard": member.shard, "role": "replica" if i else "primary",
                          "ip": "127.0.0.1", "port": member.port})
    return json.dumps({"format": 1, "cluster": "test", "epoch": 1, "keys": "decimal", "nodes": nodes, "shards": [
        {"id": node_id(1000 + i), "name": shard.members[0].shard, "slots": [own]}
        for i, (shard, own) in enumerate(zip(shards, ranges))]})


def is_error(answer, *words):
    return isinstance(answer, wire.Error) and all(word in answer for word in words)
