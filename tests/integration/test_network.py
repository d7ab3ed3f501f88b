#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Replicas, moving slots and a shard on hosts of their own. Between them packets are lost, late or out of order, or do
not arrive at all, in one direction or both.

SHERWOOD_SEED=N repeats a run that failed, as far as the machine allows."""

import contextlib
import random
import time

import wire
from cluster import topology
from harness import Server, case, check, drawn_seed, equal, eventually, main
from moving import Keeper, Load, check_nodes, moved, mover
from network import PORT, Network, enter
from replication import SMALL, caught_up, info
from shard import Etcd, Member, Shard, needs_etcd
from shard_history import Client, end_load

enter()
BAD = {"loss": 0.05, "delay": 0.05, "jitter": 0.02}
RANDOM = random.Random(drawn_seed())


def options(host):
    return {"host": host.address, "wrapper": host.enters}


@case
def replicas():
    """on a network that loses, delays, reorders and cuts, replicas catch up: WAIT counts, and tables are equal"""
    with Network(3, RANDOM.randrange(2**32)) as net, contextlib.ExitStack() as stack:
        hosts = net.hosts[1:]
        small = (*SMALL, "--repl-timeout", "1")
        servers = [stack.enter_context(Server(*host.flags(), *small, **options(host),
                                              errors="replica|primary")) for host in hosts]
        primary, *others = servers
        net.rules(**BAD)
        for replica in others:
            equal(replica.ask("REPLICAOF", hosts[0].address, PORT), "OK", "REPLICAOF")
        with primary.replies() as replies:

            def counted(at_least):
                def look():
                    replies.ask("MSET", *(RANDOM.randrange(10**5) for _ in range(40)))
                    return replies.ask("WAIT", 2, 1000) >= at_least
                eventually(look, f"WAIT counts {at_least}", 60)
            counted(2)
            cut = RANDOM.choice((Network.between([1], [2, 3]), [(1, 2)], [(3, 1)]))
            net.rules(**BAD, cut=cut)
            # After a second without a byte both sides close the connection, also if only one direction is cut.
            eventually(lambda: info(primary)["connected_slaves"] < "2", f"a replica is given up behind {cut}")
            counted(2 - len({host for pair in cut for host in pair} - {1}))
            net.rules(**BAD)
            counted(2)
        net.rules()
        for replica in others:
            caught_up(primary, replica)


@case
def moves():
    """slots move under load on a network that loses, delays, reorders and cuts: nothing is lost"""
    with Network(2, RANDOM.randrange(2**32)) as net, contextlib.ExitStack() as stack:
        hosts = net.hosts[1:]
        servers = [stack.enter_context(Keeper(i, *host.flags(), **options(host))) for i, host in enumerate(hosts)]
        text = topology(1, [{"ip": host.address, "port": int(PORT), "slots": [[8192 * i, 8192 * i + 8191]]}
                            for i, host in enumerate(hosts)])
        for server in servers:
            server.set_topology(text)
        # The clients write as fast as they can, and the slots' writes have to go by this network.
        bad = {"loss": 0.02, "delay": 0.01, "jitter": 0.01}
        net.rules(**bad)
        with Load(servers, RANDOM.randrange(2**32)) as load:
            process = mover(servers, "0-2000", "s0", "s1")
            time.sleep(RANDOM.random() / 2)
            net.rules(**bad, cut=RANDOM.choice((Network.between([1], [2]), [(1, 2)], [(2, 1)])))
            time.sleep(RANDOM.random())
            net.rules(**bad)
            moved(process)
            load.end()
        net.rules()
        load.check()
        check_nodes(servers)


class HostedEtcd(Etcd):
    """One member of etcd on a host of its own."""

    def __init__(self, host):
        self.host, self.wrapper = host.address, host.enters
        super().__init__(1)


class Hosted(Member):
    """A member of a shard on a host of its own."""

    def __init__(self, etcd, name, host):
        self.at, self.options = host, options(host)
        self.arguments = ("--ha", etcd.url(name), *host.flags(), *SMALL)
        self.is_stopped = False
        self.start()


def lone(member):
    """Returns whether the member answers no key, because it has no lease."""
    try:
        said = [member.ask("GET", 1000), member.ask("SET", 5, 5)]
    except (OSError, wire.Closed):
        return False
    return all(str(each).startswith(("CLUSTERDOWN", "READONLY", "MOVED")) for each in said)


@case
@needs_etcd
def partitions():
    """a shard is partitioned in one direction or both, with writers on both sides: writes that WAIT counted stay"""
    with Network(4, RANDOM.randrange(2**32)) as net:
        *hosts, store = net.hosts[1:]
        with HostedEtcd(store) as etcd, Shard(etcd, "net", 0) as shard:
            shard.members += [Hosted(etcd, "net", host) for host in hosts]
            shard.whole()
            clients = [Client(shard, i, RANDOM.randrange(2**32)) for i in range(3)]
            kinds = ["both", "out", "in"]
            RANDOM.shuffle(kinds)
            for kind in kinds:
                part(net, shard, kind, bad=RANDOM.random() < 0.5)
            net.rules()
            end_load(shard, clients)


def part(net, shard, kind, bad):
    """Isolates the primary in one direction or both; clients reach every member."""
    primary = shard.whole()
    term, alone = primary.term(), primary.at.number
    others = [host.number for host in net.hosts[1:] if host.number != alone]
    cut = {"both": Network.between([alone], others), "out": [(alone, other) for other in others],
           "in": [(other, alone) for other in others]}[kind]
    rules = BAD if bad else {}
    began = time.monotonic()
    net.rules(**rules, cut=cut)
    new = shard.primary(after=term)
    check(new is not primary, f"{kind}: another one is primary")
    print(f"# cut {kind}{' of a bad network' if bad else ''}: a new primary after {time.monotonic() - began:.1f} s")
    eventually(lambda: lone(primary), f"{kind}: who has no lease refuses reads and writes")
    net.rules(**rules)


if __name__ == "__main__":
    main()
