#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Nodes of a cluster: changes of the topology, and keys of other nodes."""

import json
import random
import threading

import xxhash

from cluster import Node, key_in, node_id, nodes, slot_of, topology
from harness import DAEMON, Moves, Server, case, check, drawn_seed, equal, eventually, main, refusal, run
from wire import Error, Replies, array, command, envelope, field, header_of, read_frame

RANDOM = random.Random(drawn_seed())


@case
def keys_of_two_nodes():
    """each node serves its slots, redirects keys of the other, and counts the commands that it refuses"""
    with nodes(2) as (one, other):
        near, far = key_in(0, 8191), key_in(8192, 16383)
        moved = Error(f"MOVED {slot_of(far)} 127.0.0.1:{other.port}")
        with Moves(one, cluster_moved=2, cluster_cross_slot=1, cluster_down=0):
            equal(one.ask("SET", near, 7), "OK", "a key of its own")
            equal(one.ask("SET", far, 7), moved, "a key of the other")
            equal(one.ask("GET", far), moved, "a key of the other")
            equal(one.ask("MGET", near, far), Error("CROSSSLOT Keys in request don't hash to the same slot"), "both")
        equal(other.ask("SET", far, 8), "OK", "a key of its own")
        for key in ("042", "00", "0" * 19 + "1"):
            equal(one.ask("GET", key),
                  Error("ERR key is not in canonical form, which cluster mode needs: write the integer without sign and leading zeros"), key)
        equal(one.ask("MSET", near, 1, f"0{near}", 2),
              Error("ERR key is not in canonical form, which cluster mode needs: write the integer without sign and leading zeros"), "the second key")
        for key, wrong in (("+1", "x"), ("-1", "x"), (" 1", "x"), ("", "x"), ("a", "x")):
            equal(one.ask("GET", key), Error("ERR key is not an unsigned integer or out of range; a cluster has no string keys: use integers"),
                  wrong)
        equal(one.ask("GET", near), b"7", "what was refused did nothing")
        moved = [line for line in (one.ask("SET", far, 1), one.ask("OBJECT", "ENCODING", far))]
        check(all(len(line.split()) == 3 and line.startswith("MOVED ") for line in moved), f"three words: {moved}")


@case
def several_slots():
    """with cluster-multi-slot node a command may name any keys of the node"""
    with nodes(2, "--cluster-multi-slot", "node") as (one, other):
        near = [key_in(0, 8191, i) for i in range(4)]
        far = key_in(8192, 16383)
        equal(one.ask("MSET", *[x for k in near for x in (k, k)]), "OK", "keys of several slots")
        equal(one.ask("MGET", *near), [str(k).encode() for k in near], "keys of several slots")
        equal(one.ask("MGET", near[0], far), Error(f"MOVED {slot_of(far)} 127.0.0.1:{other.port}"), "another's key")
        replies = one.replies()
        for words in (("MULTI",), *[("INCR", k) for k in near]):
            check(not isinstance(replies.ask(*words), Error), words)
        equal(replies.ask("EXEC"), [k + 1 for k in near], "EXEC")


@case
def transactions():
    """a transaction uses one slot; if a topology takes that slot before EXEC, EXEC redirects"""
    with nodes(2) as (one, other):
        near, next_one, far = key_in(0, 8191), key_in(0, 8191, 1), key_in(8192, 16383)
        replies = one.replies()
        for words, wanted in ((("MULTI",), "OK"), (("SET", near, 1), "QUEUED"), (("SET", next_one, 1), "QUEUED"),
                              (("EXEC",), Error("CROSSSLOT Keys in request don't hash to the same slot")),
                              (("EXEC",), Error("ERR EXEC without MULTI")), (("GET", near), None),
                              (("MULTI",), "OK"), (("GET", far), Error(f"MOVED {slot_of(far)} 127.0.0.1:{other.port}")),
                              (("EXEC",), Error("EXECABORT Transaction discarded because of previous errors.")),
                              (("MULTI",), "OK"), (("INCR", near), "QUEUED"), (("PING",), "QUEUED")):
            equal(replies.ask(*words), wanted, words)
        one.set_topology(topology(2, [{"port": one.port, "slots": []}, {"port": other.port, "slots": [[0, 16383]]}]))
        equal(replies.ask("EXEC"), Error(f"MOVED {slot_of(near)} 127.0.0.1:{other.port}"), "EXEC")
        equal(replies.ask("EXEC"), Error("ERR EXEC without MULTI"), "EXEC")


@case
def what_is_nobodys():
    """CLUSTERDOWN: a node without a topology or outside it, a slot without an owner, missing full coverage"""
    with Node(0) as server:
        down = "CLUSTERDOWN The cluster is down"
        equal(server.ask("GET", 1), Error(f"{down}: this node has no topology"), "no topology")
        equal(server.ask("CLUSTER", "SLOTS"), [], "no topology")
        equal(server.ask("CLUSTER", "SHARDS"), [], "no topology")
        equal(server.http("/readyz")[2], "not ready: the cluster has no topology yet\n", "/readyz")
        check(b" myself,master - 0 0 0 connected" in server.ask("CLUSTER", "NODES"), "NODES")
        elsewhere = {"port": 7000, "slots": [[0, 16383]], "id": node_id(7)}
        server.set_topology(topology(1, [elsewhere]))
        equal(server.ask("GET", 1), Error(f"{down}: this node is not in the topology"), "not in it")
        equal(server.http("/readyz")[0::2], (503, "not ready: this node is not in the cluster's topology\n"), "/readyz")
        equal(server.metrics()["sherwood_cluster_in_topology"], 0, "the metric")
        check("is not in the topology of epoch 1: it serves no key; set --cluster-node-id to an id" in server.log(), "the log says so")
        gap = slot_of(1)
        server.set_topology(topology(2, [{"port": server.port, "slots": [[0, gap - 1]]},
                                         {"port": 7000, "slots": [[gap + 1, 16383]]}]))
        equal(server.http("/readyz")[0], 200, "/readyz")
        equal(server.ask("GET", 1), Error("CLUSTERDOWN Hash slot not served"), "a gap")
        metrics = server.metrics()
        equal([metrics[f"sherwood_cluster_{n}"] for n in ("enabled", "in_topology", "epoch", "slots_owned")],
              [1, 1, 2, gap], "metrics")
    with Node(0, "--cluster-require-full-coverage", "yes") as server:
        server.set_topology(topology(1, [{"port": server.port, "slots": [[0, 16382]]}]))
        equal(server.ask("GET", 1), Error(down), "not all slots are somebody's")
        check(b"cluster_state:fail" in server.ask("CLUSTER", "INFO"), "INFO")
        server.set_topology(topology(2, [{"port": server.port, "slots": [[0, 16383]]}]))
        equal(server.ask("GET", 1), None, "all slots are somebody's")


@case
def what_it_says_of_itself():
    """HELLO, INFO and ROLE describe a node of a cluster; replicas redirect"""
    with nodes(1) as (one,), Node(5) as replica:
        text = topology(2, [{"port": one.port, "slots": [[0, 16383]]},
                            {"port": replica.port, "shard": "s0", "role": "replica", "id": node_id(5),
                             "hostname": "b.example"}])
        for server in (one, replica):
            server.set_topology(text)
        for server, hello, info in ((one, b"master", b"role:master"), (replica, b"replica", b"role:slave")):
            reply = server.ask("HELLO", 2)
            fields = dict(zip(reply[::2], reply[1::2]))
            equal((fields[b"mode"], fields[b"role"]), (b"cluster", hello), "HELLO")
            text = server.ask("INFO")
            for line in (b"redis_mode:cluster", b"cluster_enabled:1", info):
                check(line + b"\r\n" in text, line)
        equal(replica.ask("ROLE")[:3], [b"slave", b"127.0.0.1", one.port], "ROLE")
        replies = replica.replies()
        equal(replies.ask("GET", 1), Error(f"MOVED {slot_of(1)} 127.0.0.1:{one.port}"), "a read of a replica")
        equal(one.ask("CLUSTER", "MYSHARDID"), replica.ask("CLUSTER", "MYSHARDID"), "the shard")
        rows = one.ask("CLUSTER", "SLOTS")
        equal(rows, [[0, 16383, [b"127.0.0.1", one.port, node_id(0).encode(), []],
                      [b"127.0.0.1", replica.port, node_id(5).encode(), [b"hostname", b"b.example"]]]], "SLOTS")
        lines = replica.ask("CLUSTER", "NODES").decode().splitlines()
        equal(lines, [f"{node_id(0)} 127.0.0.1:{one.port}@{one.port + 10000} master - 0 0 2 connected 0-16383",
                      f"{node_id(5)} 127.0.0.1:{replica.port}@{replica.port + 10000},b.example myself,slave "
                      f"{node_id(0)} 0 0 2 connected"], "NODES")
        equal(one.ask("CONFIG", "GET", "cluster-enabled"), [b"cluster-enabled", b"yes"], "CONFIG GET")


@case
def names():
    """endpoints may be host names; ip stays an address"""
    with Node(0, "--cluster-preferred-endpoint-type", "hostname") as server:
        server.set_topology(topology(1, [
            {"port": server.port, "slots": [[0, 1]], "hostname": "a.example"},
            {"port": 7001, "slots": [[2, 8191]], "hostname": "b.example", "ip": "::1"},
            {"port": 7002, "slots": [[8192, 16383]], "ip": "2001:db8::2"}]))
        rows = server.ask("CLUSTER", "SLOTS")
        equal([row[2][0] for row in rows], [b"a.example", b"b.example", b"2001:db8::2"], "endpoints")
        equal([row[2][3] for row in rows], [[b"ip", b"127.0.0.1"], [b"ip", b"::1"], []], "what else is known")
        for shard in server.ask("CLUSTER", "SHARDS"):
            node = dict(zip(shard[3][0][::2], shard[3][0][1::2]))
            check(b"example" not in node[b"ip"] and b"address" not in node, f"ip is an address: {node}")
            equal(node[b"endpoint"], node.get(b"hostname", node[b"ip"]), "endpoint")
        key = key_in(2, 8191)
        equal(server.ask("GET", key), Error(f"MOVED {slot_of(key)} b.example:7001"), "MOVED")
        key = key_in(8192, 16383)
        equal(server.ask("GET", key), Error(f"MOVED {slot_of(key)} 2001:db8::2:7002"), "MOVED")


@case
def epochs():
    """SETTOPOLOGY accepts a higher epoch and the same text again, and refuses everything else with a reason"""
    with nodes(1) as (server,):
        whole = {"port": server.port, "slots": [[0, 16383]]}
        def push(text, *before):
            return server.ask("CLUSTER", "SETTOPOLOGY", *before, text)
        equal(push(topology(1, [whole])), "OK", "the same again")
        equal(push(topology(1, [{**whole, "hostname": "c.example"}])),
              Error("ERR epoch 1 exists with other contents: use a higher epoch"), "the same epoch")
        equal(push(topology(5, [whole]), "IFEPOCH", 2), Error("ERR the epoch is 1"), "IFEPOCH")
        equal(push(topology(5, [whole]), "IFEPOCH", 1), "OK", "IFEPOCH")
        equal(push(topology(4, [whole])), Error("ERR epoch 4 is older than epoch 5, which is in effect"), "an older one")
        equal(push("{}"), Error("ERR $.format is missing"), "a wrong one")
        equal(push("\r\n+"), Error("ERR line 2, column 1: '[' or '{' expected near '+'"), "no JSON")
        equal(push(topology(6, [whole]).replace("decimal", "raw")),
              Error("ERR $.keys: differs from --resp-keys of this node, decimal"), "raw keys")
        equal(push(topology(6, [whole]).replace('"test"', '"prod"')),
              Error('ERR $.cluster: this node belongs to the cluster "test"'), "another cluster")
        equal(push(topology(6, [whole]), "IFEPOCH", "x"),
              Error("ERR value is not an integer or out of range"), "IFEPOCH")
        equal(push(topology(6, [whole]), "EPOCH", 1), Error("ERR syntax error"), "a wrong word")
        equal(server.ask("CLUSTER", "SETTOPOLOGY"),
              Error("ERR wrong number of arguments for 'cluster|settopology' command"), "no text")
        equal(server.metrics()["sherwood_cluster_reload_failures_total"], 7, "refusals are counted")
        equal(server.metrics()["sherwood_cluster_epoch"], 5, "the epoch")
        equal(server.ask("SET", 1, 2), "OK", "a key")
        less = {**whole, "slots": [[0, 16382]]}
        equal(push(topology(6, [less])), Error("ERR it takes 1 slot from this node, which holds keys: move "
                                               'the slots first, or set "force": true to abandon these keys'), "slots from under keys")
        equal(push(topology(6, [{**whole, "id": node_id(9)}])),
              Error("ERR it takes 16384 slots from this node, which holds keys: move the slots first, "
                    'or set "force": true to abandon these keys'), "another node in its place")
        equal(push(topology(6, [less], force=True)), "OK", "by force")
        for word in ("MEET", "SETSLOT", "ADDSLOTS", "FAILOVER", "REPLICAS"):
            check(server.ask("CLUSTER", word, 1).startswith(f"ERR CLUSTER {word}: "), word)


@case
def who_may():
    """CLUSTER SETTOPOLOGY requires the category admin; commands that show the topology do not"""
    with nodes(1) as (server,):
        equal(server.ask("ACL", "SETUSER", "reader", "on", "nopass", "~1000-1999", "+@all", "-@admin"), "OK", "SETUSER")
        replies = server.replies()
        equal(replies.ask("AUTH", "reader", "x"), "OK", "AUTH")
        for words in (("SLOTS",), ("SHARDS",), ("NODES",), ("INFO",), ("MYID",), ("KEYSLOT", 1)):
            check(not isinstance(replies.ask("CLUSTER", *words), Error), words)
        for words in (("SETTOPOLOGY", "{}"), ("MEET", 1), ("COUNT-FAILURE-REPORTS", "x"), ("GETKEYSINSLOT", 1, 1), ("COUNTKEYSINSLOT", 1), ("COUNTFOREIGN",)):
            check(str(replies.ask("CLUSTER", *words)).startswith("NOPERM"), words)
        check(not isinstance(replies.ask("READONLY"), Error), "READONLY")


@case
def keys_of_the_node():
    """SCAN, RANDOMKEY, DBSIZE and the counts of slots show only keys in the node's slots"""
    keys = RANDOM.sample(range(10**6), 500)
    kept = sorted(k for k in keys if slot_of(k) < 5000)
    with nodes(1) as (server,):
        replies = server.replies()
        for key in keys:
            equal(replies.ask("SET", key, key), "OK", key)
        equal(replies.ask("DBSIZE"), 500, "all of them")
        slot = slot_of(keys[0])
        mine = sorted(k for k in keys if slot_of(k) == slot)
        equal(replies.ask("CLUSTER", "COUNTKEYSINSLOT", slot), len(mine), "COUNTKEYSINSLOT")
        equal(sorted(int(k) for k in replies.ask("CLUSTER", "GETKEYSINSLOT", slot, 100)), mine, "GETKEYSINSLOT")
        equal(len(replies.ask("CLUSTER", "GETKEYSINSLOT", slot, 1)), 1, "as many as were asked for")
        server.set_topology(topology(2, [{"port": server.port, "slots": [[0, 4999]]}], force=True))
        equal(replies.ask("DBSIZE"), len(kept), "DBSIZE")
        equal(replies.ask("MULTI"), "OK", "MULTI")
        equal(replies.ask("DBSIZE"), Error("ERR Command not allowed inside a transaction"), "in a transaction")
        equal(replies.ask("DISCARD"), "OK", "DISCARD")
        seen, cursor = [], "0"
        while True:
            cursor, some = replies.ask("SCAN", cursor, "COUNT", 37)
            seen += [int(k) for k in some]
            if cursor == b"0":
                break
        equal(sorted(set(seen)), kept, "SCAN")
        equal(sorted(int(k) for k in replies.ask("KEYS", "*")), kept, "KEYS")
        for _ in range(20):
            check(int(replies.ask("RANDOMKEY")) in kept, "RANDOMKEY")
        server.set_topology(topology(3, [{"port": server.port, "slots": [[0, 16383]]}]))
        equal(replies.ask("DBSIZE"), 500, "they come back with their slots")
        equal(replies.ask("FLUSHALL"), "OK", "FLUSHALL")
        equal(replies.ask("RANDOMKEY"), None, "RANDOMKEY")
    with nodes(1, "--engine", "cuckoo") as (server,):
        equal(server.ask("CLUSTER", "COUNTKEYSINSLOT", 1),
              Error("ERR the engine cannot count keys of a slot, because it has no SCAN"), "cuckoo")


def write_while(server, keys, text):
    """Writes each key by a connection of its own once a topology is being written to the state, and before it holds if
    that comes in time. Returns the replies."""
    connections = [server.connect() for _ in keys]
    taker = threading.Thread(target=server.set_topology, args=(text,))
    taker.start()
    while not (server.directory / "cluster.json.new").exists() and taker.is_alive():
        pass
    for connection, key in zip(connections, keys):
        connection.sendall(command("SET", key, 1))
    replies = [Replies(connection).read() for connection in connections]
    taker.join()
    for connection in connections:
        connection.close()
    return replies


@case
def keys_that_come_late():
    """keys written while a topology takes their slots from an empty node do not count in DBSIZE"""
    many = [{"port": 2 + i} for i in range(500)]  # so that writing the state takes a moment
    def late():
        with Node(0) as server:
            server.set_topology(topology(1, [{"port": server.port, "slots": [[0, 16383]]}, *many]))
            replies = write_while(server, [key_in(0, 0, i) for i in range(4)],
                                  topology(2, [{"port": server.port, "slots": [[1, 16383]]}, *many]))
            equal(server.ask("DBSIZE"), 0, "DBSIZE")
            return "OK" in replies
    eventually(late, "a key that came in time")


@case
def older_topologies():
    """a frame is refused if its client's topology is older than the node's last loss of a slot, whatever its keys"""
    def status(server, key, epoch):
        header = header_of(1, count=1, key_bytes=8, value_bytes=8) + field(40, epoch)
        with server.connect() as connection:
            connection.sendall(envelope(header, array([key], 8)))
            return read_frame(connection).status
    with Node(0) as server:
        me, other, stays = {"port": server.port}, {"port": 1, "id": node_id(7)}, key_in(4096, 8191)
        server.set_topology(topology(5, [{**me, "slots": [[0, 8191]]}, {**other, "slots": [[8192, 16383]]}]))
        equal([status(server, stays, epoch) for epoch in (0, 4, 5, 6)], [0, 40, 0, 0], "nobody knows what it had at 4")
        server.set_topology(topology(6, [{**other, "slots": [[0, 4095]]},
                                         {**me, "id": node_id(0), "slots": [[4096, 16383]]}]))
        equal([status(server, stays, epoch) for epoch in (0, 5, 6)], [0, 40, 0], "another shard, and fewer slots")
        server.set_topology(topology(7, [{**other, "slots": []}, {**me, "id": node_id(0), "slots": [[0, 16383]]}]))
        equal([status(server, stays, epoch) for epoch in (5, 6, 7)], [40, 0, 0], "it gets slots")
        server.stop()
        server.flags[server.flags.index("--port") + 1], server.ready = str(server.port), 200
        server.start()
        equal([status(server, stays, epoch) for epoch in (5, 6, 7)], [40, 0, 0], "after a restart")
    with Node(0, "--cluster-require-full-coverage", "yes") as server:
        server.set_topology(topology(1, [{"port": server.port, "slots": [[1, 16383]]}]))
        equal(status(server, stays, 1), 40, "a slot is nobody's")
        server.set_topology(topology(2, [{"port": server.port, "slots": [[0, 16383]]}]))
        equal([status(server, stays, epoch) for epoch in (1, 2)], [40, 0], "all slots are somebody's again")


class Writer:
    """Increments keys of its own in a node without end, and checks the replies while the node owns them, or does not."""

    def __init__(self, server, keys, phase):
        self.server, self.keys, self.phase = server, keys, phase
        self.counts = dict.fromkeys(keys, 0)
        self.checked = {}  # of each phase, how many times all keys
        self.failure = None
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        try:
            replies = self.server.replies()
            words = b"".join(command("INCR", key) for key in self.keys)
            while self.phase.now != "end":
                self.once(replies, words)
        except Exception as why:  # pylint: disable=broad-except
            self.failure = why

    def once(self, replies, words):
        before = self.phase.now
        replies.socket.sendall(words)
        got = [replies.read() for _ in self.keys]
        same = self.phase.now == before
        for key, reply in zip(self.keys, got):
            self.counts[key] += not isinstance(reply, Error)
            check(not isinstance(reply, Error) or reply.startswith("MOVED "), f"{key}: {reply}")
            if same and before is not None:
                equal(isinstance(reply, Error), before[1], f"{key} is redirected in {before}")
        if same:
            self.checked[before] = self.checked.get(before, 0) + 1


class Phase:
    """(epoch, are the slots another's?), None while a topology is on its way, "end" at the end."""

    now = None


@case
def changes_under_load():
    """after SETTOPOLOGY replies no loop uses an older topology; no increment is lost or applied twice"""
    with nodes(1, "--loops", "2") as (server,):
        phase = Phase()
        taken = RANDOM.sample(range(16384), 8000)
        ranges = [[s, s] for s in sorted(set(range(16384)) - set(taken))]
        gone = [{"port": server.port, "slots": ranges}, {"port": 1, "slots": [[s, s] for s in sorted(taken)]}]
        whole = [{"port": server.port, "slots": [[0, 16383]]}, {"port": 1, "slots": []}]
        keys = [key for key in RANDOM.sample(range(10**6), 1000) if slot_of(key) in set(taken)]
        writers = [Writer(server, keys[i * 20:i * 20 + 20], phase) for i in range(4)]
        for writer in writers:
            writer.thread.start()
        for epoch in range(2, 12):
            phase.now = None
            server.set_topology(topology(epoch, whole if epoch % 2 else gone, force=True))
            phase.now = (epoch, epoch % 2 == 0)
            eventually(lambda: all(w.failure or w.checked.get(phase.now, 0) >= 3 for w in writers), "all checked", 20)
        phase.now = "end"
        for writer in writers:
            writer.thread.join()
            check(writer.failure is None, writer.failure)
            for key, count in writer.counts.items():
                equal(int(server.ask("GET", key) or 0), count, f"increments of {key}")


@case
def files():
    """the topology file is read at the start and at SIGHUP; the state file survives, and wins by a higher epoch"""
    with Node(0, "--cluster-announce-port", "1234", errors="SIGHUP: the topology is unchanged") as server:
        path = server.directory / "topology.json"
        whole = {"port": server.port, "slots": [[0, 16383]]}
        server.stop()
        path.write_text(topology(3, [whole]))
        server.flags += ["--cluster-config", str(path)]
        server.ready = 200
        server.start()
        equal(server.metrics()["sherwood_cluster_epoch"], 3, "the file's")
        check("cluster-announce-ip, -hostname or -port differ" in server.log(), "what is announced differs")
        path.write_text(topology(4, [whole]))
        server.hang_up()
        eventually(lambda: server.metrics()["sherwood_cluster_epoch"] == 4, "SIGHUP")
        path.write_text("{")
        server.hang_up()
        eventually(lambda: server.metrics()["sherwood_cluster_reload_failures_total"] == 1, "a wrong file")
        path.unlink()
        server.hang_up()
        eventually(lambda: server.metrics()["sherwood_cluster_reload_failures_total"] == 2, "no file")
        equal(server.metrics()["sherwood_cluster_epoch"], 4, "nothing has changed")
        path.write_text(topology(3, [{**whole, "slots": []}]))
        server.stop()
        server.start()
        equal(server.metrics()["sherwood_cluster_epoch"], 4, "the state's, which is higher")
        check("has epoch 3, and epoch 4" in server.log(), "the log says so")
        equal(server.ask("SET", 1, 1), "OK", "and it serves")
        state = json.loads((server.directory / "cluster.json").read_text())
        equal((state["node"], state["topology"]["epoch"]), (node_id(0), 4), "the state")


def checked(body):
    """Returns a state file with the checksum of its bytes."""
    return f'{body},"check":"{xxhash.xxh3_64_intdigest(body.encode(), 0):016x}"}}\n'


def refused_start(server, what):
    """Starts a daemon that must not start, and checks its error text."""
    try:
        server.start()
    except AssertionError as why:
        check(what in str(why), f"{what}: {why}")
        return
    raise AssertionError(f"it started: {what}")


@case
def starts_that_are_refused():
    """a start is refused if the topology file is wrong, or the state is damaged or of another node or epoch"""
    with Node(0, errors="cluster: |has the state of node") as server:
        server.set_topology(topology(2, [{"port": server.port, "slots": [[0, 16383]]}]))
        server.stop()
        path, flags = server.directory / "topology.json", server.flags
        server.flags = flags + ["--cluster-config", str(path)]
        refused_start(server, "topology.json: No such file or directory")
        path.write_text(topology(2, [{"port": server.port, "slots": [[0, 100]]}]))
        refused_start(server, "epoch 2 exists with other contents: use a higher epoch")
        path.write_text('{"format": 2}')
        refused_start(server, "$.format must be 1")
        server.flags = [node_id(3) if f == node_id(0) else f for f in flags]
        refused_start(server, of_another := f"has the state of node {node_id(0)}, but --cluster-node-id is {node_id(3)}: give the id of the state, or name")
        check(of_another in (said := run(DAEMON, "--check-config", *server.flags, rc=None)), said)
        server.flags = flags
        state = server.directory / "cluster.json"
        whole = state.read_text()
        body = whole[:whole.rindex(',"check"')]
        for wrong in (whole[:-20], "", whole.replace(node_id(0), node_id(1), 1), body + "}\n", whole + "\n"):
            state.write_text(wrong)
            refused_start(server, "its checksum is wrong")
        for field_ in ("node", "may_have_foreign", "topology"):
            state.write_text(checked(body.replace(f'"{field_}":', f'"a{field_}":', 1)))
            refused_start(server, "it is not the state file of a cluster node")
        state.write_text(whole)
        server.ready = 200
        server.start()


@case
def drawn_id():
    """a node without a given id draws one once, and keeps it with the data"""
    server = Server(ready=503)
    server.flags += ["--cluster-state", str(server.directory / "state")]
    with server:
        drawn = Replies(server.connect()).ask("CLUSTER", "MYID")
        server.stop()
        server.start()
        equal(Replies(server.connect()).ask("CLUSTER", "MYID"), drawn, "the same after a restart")
        equal((len(drawn), drawn.strip(b"0123456789abcdef")), (40, b""), "40 hex digits")


@case
def raw_keys():
    """with raw keys the slot is that of the key's bytes, or of the bytes in braces"""
    def key(number):
        return number.to_bytes(8, "little")
    braces = b"\x01{ab}\x02\x03\x04"
    raw = topology(1, [{"port": 1, "slots": []}, {"port": 2, "slots": [[0, 16383]]}])
    with Node(0, "--resp-keys", "raw") as server:
        equal(server.ask("CLUSTER", "SETTOPOLOGY", raw), Error("ERR $.keys: differs from --resp-keys of this node, raw"), "decimal")
        server.set_topology(raw.replace("decimal", "raw"))
        for each in (braces, key(42), key(0)):
            equal(server.ask("GET", each), Error(f"MOVED {slot_of(each)} 127.0.0.1:2"), each)
        equal(slot_of(braces), slot_of(b"ab"), "braces")
        server.set_topology(topology(2, [{"port": 1, "slots": [[0, 16383]]}]).replace("decimal", "raw"))
        equal(server.ask("SET", braces, 1), "OK", "its own")
        equal(server.ask("CLUSTER", "GETKEYSINSLOT", slot_of(b"ab"), 5), [braces], "GETKEYSINSLOT")
        equal(server.ask("MSET", braces, 1, key(7), 2), Error("CROSSSLOT Keys in request don't hash to the same slot"),
              "two slots")


@case
def no_cluster():
    """a daemon without a cluster refuses CLUSTER commands and serves every key"""
    with Server("--resp-keys", "decimal") as server:
        replies = Replies(server.connect())
        for words in (("CLUSTER", "INFO"), ("CLUSTER", "x"), ("READONLY",), ("READWRITE",), ("ASKING",)):
            equal(replies.ask(*words), Error("ERR This instance has cluster support disabled"), words)
        equal(replies.ask("SET", "0042", 1), "OK", "zeros in front")
        equal(replies.ask("MGET", 42, 43), [b"1", None], "any keys")
        equal(server.metrics()["sherwood_cluster_enabled"], 0, "the metric")
    check("without a cluster" in refusal("--cluster-announce-port", "1"), "options of no cluster")


if __name__ == "__main__":
    main()
