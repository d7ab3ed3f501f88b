#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The topology of a cluster in real etcd: a written topology takes effect on all nodes, and no operator overwrites an
unseen change. Nodes go on without etcd. Members of shards that elect their primaries can be nodes of such a cluster."""

import contextlib
import itertools
import json
import logging
import pathlib
import signal
import socket
import threading
import time

import redis

import wire
from cluster import cut, key_in, topology
from handle import SET, Handle
from harness import DAEMON, SLOWER, at_once, case, check, equal, eventually, free_port, main, run
from registered import Gateway, Lossy, Registered, ShardNode, is_error, shards_topology, url_of
from replication import SMALL
from shard import Etcd, Shard, needs_etcd

logging.disable(logging.ERROR)  # redis-py logs every redirection with its traceback
CLI = DAEMON.with_name("sherwood-cli")


@contextlib.contextmanager
def registered(count, etcd, *flags, **options):
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Registered(i, etcd, *flags, **options)) for i in range(count)]


def agreed(servers, epoch, seconds=30.0):
    """Waits until all nodes have this epoch; returns the time that this took."""
    began = time.monotonic()
    for server in servers:
        eventually(lambda s=server: s.epoch() == epoch, f"epoch {epoch} at {server.address()}", seconds)
    return time.monotonic() - began


def stand_still(etcd, *members):
    """Stops members of etcd by SIGSTOP, and waits until they are stopped."""
    for i in members:
        etcd.signal(i, signal.SIGSTOP)
    for i in members:
        stat = pathlib.Path(f"/proc/{etcd.processes[i].pid}/stat")
        eventually(lambda stat=stat: ") T " in stat.read_text(), "it stands still")


@case
def refused():
    """an invalid etcd URL in --cluster-config, or one of another etcd than --ha, is refused in one sentence"""
    good = "etcd://127.0.0.1:2379/sherwood"
    for text, why in (("etcd://h/p", "not host:port"), ("etcds://h:1", "prefix"), ("etcd://h:1/p?x=1", "after the prefix"),
                      ("etcd://h:1/", "prefix")):
        said = run(DAEMON, "--port", free_port(), "--cluster-config", text, *SMALL, rc=2)
        check(why in said or "built without libcurl" in said, (text, said))
    said = run(DAEMON, "--port", free_port(), "--cluster-config", good, "--ha", "etcd://127.0.0.1:2380/sherwood?shard=a",
               *SMALL, rc=2)
    check("other members of etcd" in said or "built without libcurl" in said, said)


def operators(servers, etcd):
    """Several operators write as often as they can, by IFEPOCH. An operator that gets OK is the only one to replace
    that epoch."""
    gateway = Gateway(etcd)
    _, written, _ = gateway.key()
    won = []

    def write(server):
        for step in range(6):
            epoch = server.epoch()
            if server.set(cut(servers, 1, 0, 100 + step, 10000, 16384), "IFEPOCH", epoch) == "OK":
                won.append(epoch)
    at_once(write, [(server,) for server in servers], len(servers))
    equal(len(won), len(set(won)), "an epoch was replaced once")
    equal(gateway.key()[1], written + len(won), "writes of the key")
    check(len(won) >= 6, f"{len(won)} were written")
    return gateway.key()[0]


def no_topology_of_ours(servers, gateway, epoch):
    """Invalid content is refused with a reason, the old topology stays, and an operator repairs it."""
    whole = json.loads(cut(servers, 1, 0, 100, 10000, 16384))
    other = {**whole, "cluster": "other"}
    for value, why in (("{", "line 1"), ("\x00\xff", "line 1"), (json.dumps(other), "cluster \"test\""), ("[]", "object")):
        revision = gateway.put(value)
        for server in servers:
            eventually(lambda s=server, why=why, r=revision: why in s.info()["cluster_registry_refused"] and
                       int(s.info()["cluster_registry_epoch"]) == r, f"refused: {why}")
            equal(server.epoch(), epoch, "the old one stays")
    check(servers[0].metrics()["sherwood_registry_refused"] == 1, "metrics")
    check("is refused" in servers[0].log(), "the log")
    gateway.delete()
    eventually(lambda: "absent" in servers[1].info()["cluster_registry_refused"], "an absent key is told")
    equal(servers[1].set(json.dumps({**whole, "epoch": epoch + 1, "force": True})), "OK", "an operator repairs it")
    agreed(servers, gateway.key()[0])
    eventually(lambda: all(s.info()["cluster_registry_refused"] == "" for s in servers), "nothing is wrong any more")


@case
@needs_etcd
def pushed():
    """a topology written at one node reaches all by the watch; one of two operators wins; invalid content is refused"""
    with Etcd() as etcd, registered(3, etcd, errors="is refused") as servers:
        gateway = Gateway(etcd)
        check(is_error(servers[0].set(cut(servers, 7, 0, 99, 10000, 16384), "IFEPOCH", 3), "the current epoch is 0"), "IFEPOCH")
        equal(servers[0].set(cut(servers, 7, 0, 99, 10000, 16384)), "OK", "the first topology")
        epoch = gateway.key()[0]
        agreed(servers, epoch)
        for server in servers:
            eventually(lambda s=server: s.info()["cluster_registry_watch"] == "up", "it watches")
        check(b'"epoch"' not in gateway.key()[2], "the key's revision is the epoch")
        took = 99.0
        for step in range(40):  # the machine may be busy for a while
            if took < 0.5 * SLOWER:
                break
            equal(servers[step % 3].set(cut(servers, 1, 0, 200 + step, 9000, 16384), "IFEPOCH", epoch), "OK", "another one")
            epoch = gateway.key()[0]
            took = min(took, agreed(servers, epoch))
        check(took < 0.5 * SLOWER, f"all have it after {took:.2f} s at best: that was no watch")
        for text, why in ((topology(epoch - 1, [{"port": 1, "slots": []}]), "is older than"), ("{", "line 1"),
                          (cut(servers, epoch + 1, 0, 1, 2, 3).replace(', "force": true', ""), "other shards")):
            check(is_error(servers[0].set(text), why), why)
        check(is_error(servers[0].set(cut(servers, epoch, 0, 1, 2, 16384)), "exists with other contents"), "the same epoch")
        equal(servers[1].set(servers[1].ask("CLUSTER", "TOPOLOGY").decode()), "OK", "what is there")
        equal(gateway.key()[0], epoch, "is not written again")
        said = servers[0].ask("CLUSTER", "MOVE", "TAKE", servers[1].name, "9500")
        check(is_error(said, "cannot move slots while the topology is in etcd"), said)
        said = run(CLI, "-a", servers[2].address(), "cluster", "rebalance", rc=1)
        check("cannot move slots while the topology is in etcd" in said and "move " in said, said)
        said = run(CLI, "-a", servers[2].address(), "cluster", "check")
        check(f"3 nodes have the topology of epoch {epoch}" in said, said)
        no_topology_of_ours(servers, gateway, operators(servers, etcd))
        with Registered(9, etcd, "--cluster-config", url_of(etcd) + "-made") as other:
            made = other.directory / "made.json"
            run(CLI, "cluster", "create", "--nodes", ",".join(s.address() for s in servers), "--output", made)
            equal(other.set(made.read_text()), "OK", "what cluster create writes")
            equal(other.epoch(), gateway.key("/sherwood-made/topology")[0], "under another prefix")


@case
@needs_etcd
def watches():
    """a cut watch resumes at its revision, and rereads after a compaction; without etcd a node goes on"""
    with Etcd() as etcd, Lossy(etcd.clients[0]) as line, \
            Registered(0, etcd, port=line.port) as near, Registered(1, etcd) as far:
        gateway, servers = Gateway(etcd), [near, far]

        def step(first, epoch):
            equal(far.set(cut(servers, 1, 0, first, 16384), "IFEPOCH", epoch), "OK", "a step")
            return gateway.key()[0]
        epoch = step(1, 0)
        agreed(servers, epoch)
        before = int(near.info()["cluster_registry_watch_restarts"])
        line.cut()
        epoch = step(2, epoch)
        agreed(servers, epoch)
        eventually(lambda: int(near.info()["cluster_registry_watch_restarts"]) > before, "it was cut")
        line.hold()  # and what it does not hear of is compacted
        for first in range(3, 6):
            epoch = step(first, epoch)
        gateway.compact()
        line.cut()
        line.held.clear()
        agreed(servers, epoch)
        check(near.metrics()["sherwood_registry_watch_restarts_total"] > before, "metrics")
        stand_still(etcd, *range(3))
        said = []
        asked = threading.Thread(target=lambda: said.append(far.set(cut(servers, 1, 0, 9, 16384), "IFEPOCH", epoch)))
        asked.start()
        equal(far.ask("SET", key_in(5, 16383), 1), "OK", "keys are served")
        near.kill()
        near.ready = 200
        near.start()
        equal(near.epoch(), epoch, "a node that starts has the topology of its state")
        check(int(near.info()["cluster_registry_silent_ms"]) >= 0, "and says so")
        eventually(lambda: int(far.info()["cluster_registry_failures"]) > 0, "failures are counted")
        asked.join()
        check(is_error(said[0], "etcd"), said)
        for i in range(3):
            etcd.signal(i, signal.SIGCONT)
        eventually(lambda: far.set(cut(servers, 1, 0, 10, 16384), "IFEPOCH", gateway.key()[0]) == "OK", "etcd is back", 60)
        agreed(servers, gateway.key()[0], 15)


@case
@needs_etcd
def silent():
    """nodes notice that the etcd member of their watch stands still, and watch by another one"""
    with Etcd() as etcd:
        first = next(i for i in range(3) if not Gateway(etcd, i).is_leader())  # the others go on
        gateway = Gateway(etcd, (first + 1) % 3)
        with registered(2, etcd, first=first) as servers:
            equal(servers[0].set(cut(servers, 1, 0, 1, 16384)), "OK", "a topology")
            agreed(servers, gateway.key()[0])
            eventually(lambda: all(s.info()["cluster_registry_watch"] == "up" for s in servers), "they watch")
            stand_still(etcd, first)
            took = agreed(servers, gateway.put(cut(servers, 1, 0, 2, 16384)), 12)
            print(f"# seen after {took:.2f} s")
            eventually(lambda: all(int(s.info()["cluster_registry_watch_restarts"]) > 0 and
                                   s.info()["cluster_registry_watch"] == "up" for s in servers), "they watch by others")
            etcd.signal(first, signal.SIGCONT)


@case
@needs_etcd
def lost_answers():
    """if etcd's reply or the request is lost beside another write, the operator gets the true result"""
    with Etcd(1) as etcd, Lossy(etcd.clients[0]) as line, \
            Registered(0, etcd, port=line.port) as near, Registered(1, etcd) as far:
        gateway, servers = Gateway(etcd), [near, far]
        equal(near.set(cut(servers, 1, 0, 1, 16384)), "OK", "the first one")
        said = []

        def other(first):
            epoch = gateway.key()[0]
            said.append(far.set(cut(servers, 1, 0, first, 16384), "IFEPOCH", epoch))
        epoch, written, _ = gateway.key()
        line.answer_is_lost = lambda: other(3)
        equal(near.set(cut(servers, 1, 0, 2, 16384), "IFEPOCH", epoch), "OK", "it was written, and then the other one")
        equal((said.pop(), gateway.key()[1]), ("OK", written + 2), "each once")
        agreed(servers, gateway.key()[0])
        check("[0, 2]" in far.ask("CLUSTER", "TOPOLOGY").decode().replace("[0,2]", "[0, 2]"), "the later one holds")

        epoch, written, _ = gateway.key()
        line.request_is_lost = lambda: other(5)
        check(is_error(near.set(cut(servers, 1, 0, 4, 16384), "IFEPOCH", epoch), "the current epoch is"), "it never will be")
        equal((said.pop(), gateway.key()[1]), ("OK", written + 1), "the other one was written")

        epoch, written, _ = gateway.key()
        line.request_is_lost = lambda: None
        equal(near.set(cut(servers, 1, 0, 6, 16384), "IFEPOCH", epoch), "OK", "sent again")
        equal(gateway.key()[1], written + 1, "and written once")
        agreed(servers, gateway.key()[0])


class Writer(threading.Thread):
    """Writes ascending values to keys of all slots, each followed by WAIT, and follows MOVED; `safe` are the ones that
    WAIT has counted."""

    def __init__(self, members, keys):
        super().__init__(daemon=True)
        self.members, self.keys, self.ending, self.error = members, keys, threading.Event(), None
        self.safe, self.last, self.writes, self.moved = {}, 0, 0, 0
        self.start()

    def write(self, key, port):
        """Returns the port for the next command."""
        with socket.create_connection(("127.0.0.1", port), 1) as connection:
            connection.settimeout(1)
            replies = wire.Replies(connection)
            while not self.ending.is_set():
                self.last += 1
                said = replies.ask("SET", key, self.last)
                if isinstance(said, wire.Error):
                    self.moved += said.startswith("MOVED")
                    return int(said.rsplit(":", 1)[1]) if said.startswith("MOVED") else None
                self.writes += 1
                if replies.ask("WAIT", 1, 200) == 1:
                    self.safe[key] = self.last
                    return port
        return None

    def try_to_write(self, key, port):
        try:
            return self.write(key, port)
        except (OSError, wire.Closed):
            return None

    def run(self):
        ports = itertools.cycle([member.port for member in self.members])
        try:
            port = next(ports)
            for key in itertools.cycle(self.keys):
                before = self.safe.get(key)
                while self.safe.get(key) == before and not self.ending.is_set():
                    port = self.try_to_write(key, port)
                    if port is None:
                        time.sleep(0.01)
                        port = next(ports)
                if self.ending.is_set():
                    return
        except Exception as error:  # pylint: disable=broad-except
            self.error = error

    def end(self):
        self.ending.set()
        self.join(30)
        check(self.error is None, self.error)


class RedisPy(threading.Thread):
    """redis-py's RedisCluster, one object for all of it: what it is told, it reads again."""

    def __init__(self, port, keys):
        super().__init__(daemon=True)
        self.client = redis.RedisCluster(host="127.0.0.1", port=port, socket_timeout=1, retry_on_timeout=False)
        self.keys, self.done, self.failed, self.error, self.ending = keys, 0, 0, None, threading.Event()
        self.start()

    def run(self):
        for number in itertools.count(1):
            if self.ending.is_set():
                return
            try:
                self.client.set(self.keys[number % len(self.keys)], number)
                self.done += 1
            except (redis.RedisError, redis.exceptions.RedisClusterException, OSError) as error:
                self.failed, self.error = self.failed + 1, error
                time.sleep(0.02)

    def end(self):
        self.ending.set()
        self.join(30)
        self.client.close()

    def works_again(self):
        done = self.done
        try:
            eventually(lambda: self.done > done + 2 * len(self.keys), "redis-py follows", 20)
        except AssertionError:
            check(False, f"redis-py does not follow: {self.error!r}, alive: {self.is_alive()}")


def lose_primary(shard, others, kill):
    """Kills the primary, or lets it hand over. Returns the new one once every node of the cluster names it."""
    primary = shard.whole()
    term, began = primary.term(), time.monotonic()
    if kill:
        primary.server.process.kill()
    else:
        equal(primary.ask("HA", "SWITCH"), "OK", "it hands over")
    new = shard.primary(after=term)
    first = 0 if shard.members[0].shard == "a" else 8192
    key = key_in(first, first + 8191)
    for node in shard.members + others:
        if node is not new and not (kill and node is primary):
            wanted = f":{new.port}"
            eventually(lambda node=node, wanted=wanted: str(node.ask("GET", key)).endswith(wanted),
                       f"{node.name} names the new primary")
    print(f"# {'kill' if kill else 'switch'}: all nodes name the new primary after {time.monotonic() - began:.2f} s")
    if kill:
        primary.restart()
    return new


@case
@needs_etcd
def fail_overs():
    """two shards with elections: clients follow each primary, writes that WAIT counted stay, moves are refused"""
    with Etcd() as etcd, Shard(etcd, "a", 2, ShardNode) as one, Shard(etcd, "b", 2, ShardNode) as two:
        members, gateway = one.members + two.members, Gateway(etcd)
        equal(one.members[0].ask("CLUSTER", "SETTOPOLOGY", shards_topology((one, two))), "OK", "the topology")
        primaries = [one.whole(), two.whole()]
        keys = [key_in(0, 8191, i) for i in range(4)] + [key_in(8192, 16383, i) for i in range(4)]
        writer, py = Writer(members, keys), RedisPy(primaries[0].port, [key_in(0, 16383, 100 + i) for i in range(16)])
        with Handle(primaries[0].name) as handle:
            pairs = [(1000 + i, i) for i in range(64)]
            handle.run(SET, pairs)
            for shard, others, kill in ((one, two.members, True), (two, one.members, False), (two, one.members, True)):
                new = lose_primary(shard, others, kill)
                py.works_again()
                eventually(lambda pairs=pairs: handle.ask(Handle.words("run", SET, pairs)).startswith("0 "),
                           "libsherwood follows", 20)
                replica = shard.others(new)[0]
                shard.whole()
                with replica.server.replies() as replies:
                    key = keys[0] if shard is one else keys[-1]
                    equal(replies.ask("READONLY"), "OK", "READONLY")
                    check(int(replies.ask("GET", key)) > 0, "a replica serves reads")
                    check(is_error(replies.ask("SET", key, 1), "MOVED", str(new.port)), "and no writes")
        py.end()
        writer.end()
        for key, value in writer.safe.items():
            shard = one if key in keys[:4] else two
            check(int(shard.whole().ask("GET", key)) >= value, f"{key}: {value} was safe")
        check(len(writer.safe) == 8 and writer.moved > 0, "every key was written, and it was redirected")
        print(f"# {writer.writes} writes, {writer.moved} times redirected; redis-py: {py.done} done, {py.failed} failed")
        said = one.whole().ask("CLUSTER", "MOVE", "TAKE", two.whole().id, "9000")
        check(is_error(said, "cannot move slots while the topology is in etcd"), said)
        claims = sum(int(m.ask("INFO", "cluster").decode().split("cluster_registry_claims:")[1].split()[0]) for m in members)
        check(claims >= 1, "who was elected told it")
        stranger = json.loads(shards_topology((one, two)))
        stranger["nodes"][1]["shard"] = "b"
        said = two.whole().ask("CLUSTER", "SETTOPOLOGY", "IFEPOCH", gateway.key()[0], json.dumps(stranger))
        equal(said, "OK", "roles that nobody has elected, and a member in another shard")
        eventually(lambda: "member of another shard" in str(one.members[1].ask("GET", keys[0])), "that serves nothing")
        primary = two.whole()
        eventually(lambda: primary.ask("GET", keys[-1]) == str(writer.safe[keys[-1]]).encode() or
                   int(primary.ask("GET", keys[-1])) > writer.safe[keys[-1]], "who was elected serves, whatever it says")


main()
