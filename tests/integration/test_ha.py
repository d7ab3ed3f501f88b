#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A shard with real etcd: no fault of members or of etcd loses a write that WAIT has counted.

SHERWOOD_SEED=N repeats a run that failed; FAILOVERS=N sets the number of fail-overs."""

import contextlib
import os
import random
import statistics

import wire
from harness import SANITIZED, Server, case, check, drawn_seed, equal, eventually, free_port, main, run, DAEMON
from replication import SMALL
from shard import TTL, Etcd, MemberServer, Shard, Wired, needs_etcd
from shard_chaos import Chaos, fail_over
from shard_history import Client, Counter, Key, Wrong, end_load


@case
def refused():
    """an invalid --ha, or one with contradictory options, is refused with one sentence"""
    good = "etcd://127.0.0.1:2379/sherwood?shard=a"
    for text, why in (("http://h:1/p?shard=a", "the address does not begin with etcd://"),
                      ("etcd://h/p?shard=a", "a member of etcd is not host:port"),
                      ("etcds://h:1?shard=a", "/prefix is missing"), ("etcd://h:1?shard=a", "/prefix is missing"),
                      ("etcd://h:1", "/prefix is missing"), ("etcd://h:1/?shard=a", "/prefix is missing"),
                      ("etcd://h:1/p/?shard=a", "the prefix is not 1 to 63"),
                      ("etcd://h:1/p", "?shard=NAME is missing"), ("etcd://h:1/p?ttl=3", "shard=NAME is missing"),
                      ("etcd://h:1/p?shard=a&ttl=0", "ttl is not"), ("etcd://h:1/p?shard=a&quorum=9", "quorum is not"),
                      ("etcd://h:1/p?shard=a&x=1", "a parameter after the question mark is not"),
                      ("etcd://h:1/p?shard=a b", "NAME of shard=NAME is not 1 to 63"),
                      ("etcd://h:1/p?shard=a&announce=here", "announce is not")):
        said = run(DAEMON, "--port", free_port(), "--http-port", "0", "--ha", text, *SMALL, rc=2)
        check(f"--ha: {why}" in said or "built without libcurl" in said, (text, said))
    for flags, why in ((("--replicaof", "h:1"), "replicaof"), (("--engine", "cache"), "cache engine"),
                       (("--cluster-config", "/nowhere"), "a topology in a file")):
        said = run(DAEMON, "--port", free_port(), "--http-port", "0", "--ha", good, *flags, rc=None)
        check("ha cannot be combined with" in said and why in said, (flags, said))
    said = run(DAEMON, "--port", free_port(), "--http-port", "0", "--ha", good, "--ha-tls-cert", "/nowhere", rc=None)
    check("only one of ha-tls-cert and ha-tls-key is set: set both" in said, said)
    said = run(DAEMON, "--unix-socket", "/tmp/none", "--port", "0", "--http-port", "0", "--ha", good + "&announce=h:1", "--tls-replication",
               "yes", *SMALL, rc=1)
    check("set --tls-port" in said or "built without libcurl" in said, said)
    with Server(*SMALL) as server, server.connect() as connection:
        check("not a member of a shard" in wire.Replies(connection).ask("HA", "STATUS"), "without --ha")


@case
def checker():
    """the checker of histories finds the faults in forged ones"""
    key, counter = Key(), Counter()
    key.sent, key.safe, counter.sent, counter.safe = {1, 2, 3}, 2, 10, 5
    for what, good, bad in ((key, (2, 3, "2"), (None, 1, 4)), (counter, (5, 10), (None, 4, 11))):
        for value in good:
            what.check(value, what.safe, "forged")
        for value in bad:
            try:
                what.check(value, what.safe, "forged")
            except Wrong:
                continue
            check(False, f"{value} was not found to be wrong")


@case
@needs_etcd
def without_etcd():
    """a member that cannot reach etcd serves nothing; both protocols and /readyz say so"""
    url = f"etcd://127.0.0.1:{free_port()}/sherwood?shard=a&ttl=1"
    with MemberServer("--ha", url, "--port", str(free_port()), *SMALL) as server, server.replies() as replies:
        equal(server.http("/readyz")[0::2], (503, "not ready: this member of the shard knows no primary\n"), "/readyz")
        equal(server.http("/healthz")[0::2], (200, "ok\n"), "/healthz")
        for words in (("GET", 1), ("SET", 1, 1), ("DBSIZE",)):
            check(str(replies.ask(*words)).startswith("CLUSTERDOWN The cluster is down"), words)
        check(str(replies.ask("GET", 1)).endswith("knows no primary: see HA STATUS"), "what to look at")
        check("elected" in replies.ask("REPLICAOF", "NO", "ONE"), "nobody makes it primary")
        check("elected" in replies.ask("REPLICAOF", "127.0.0.1", "1"), "or a replica")
        def failures():
            return int(replies.ask("HA", "STATUS").split(b"ha_etcd_failures:")[1].split()[0])
        eventually(lambda: failures() >= 15, "failures are counted")
        check(0 < server.log().count("etcd did not answer") < failures(), "ten are logged in a minute")
        check("server: check etcd and the address in --ha\n" in server.log(), "what to check")
        with server.connect() as other:
            reply = wire.call(other, wire.GET, (1,))
            equal((reply.status, reply.message), (wire.NOT_PRIMARY, ""), "a frame")


@case
@needs_etcd
def by_hand():
    """sherwood-cli ha shows a shard, hands over, and forgets a member; INFO and metrics show it"""
    cli = DAEMON.with_name("sherwood-cli")
    with Etcd(1) as etcd, Shard(etcd, "by-hand", 3) as shard:
        primary = shard.whole()
        other = shard.others(primary)[0]
        term = primary.term()
        said = run(cli, "-a", other.name, "ha", "status")
        check(f"shard by-hand, term {term}: {primary.name} is primary of 3 members" in said, said)
        check("too far ahead" in primary.ask("HA", "POLL", "by-hand", 2**64 - 1), "a term that cannot be closes nothing")
        equal([primary.ask("SET", 7, 8), primary.ask("SET", 8, 8, "EXAT", 4000000000)], ["OK", "OK"], "writes")
        check("READONLY" in other.ask("SET", 7, 9), "at a replica")
        said = run(cli, "-a", other.name, "ha", "switch")
        new = shard.whole()
        check(new is not primary and f"{new.name} is primary" in said, said)
        equal([new.ask("GET", 7), new.ask("EXPIRETIME", 8)], [b"8", 4000000000], "nothing is lost")
        check("only the primary can hand over" in primary.ask("HA", "SWITCH"), "the old one")
        gone = shard.others(new)[0]
        gone.server.process.kill()
        check("usage:" in run(cli, "-a", new.name, "ha", "status", "now", rc=2), "usage")
        equal(run(cli, "-a", new.name, "ha", "forget", gone.name), "", "forget")
        eventually(lambda: new.status().get("ha_members") == "2", "two members are left")
        check("no other member has this address: HA STATUS shows the members" in run(cli, "-a", new.name, "ha", "forget", "h:1", rc=1), "a stranger")
        with Server("--ha", etcd.url("by-hand", "&quorum=2"), "--port", str(free_port()), *SMALL) as late:
            eventually(lambda: "quorum is 2 in --ha, and 1 in etcd" in late.log(), "another quorum has no effect")
        info = new.ask("INFO", "replication").decode()
        check("ha_shard:by-hand" in info and "ha_role:primary" in info, info)
        status, *_, text = new.server.http("/metrics")
        check(status == 200 and b"sherwood_ha_is_primary 1" in (text if isinstance(text, bytes) else text.encode()),
              "metrics")


@case
@needs_etcd
def handed_back():
    """a member that has handed over takes over again at once if its successor stops, although ttl is long"""
    with Etcd(1) as etcd:
        url = etcd.url
        etcd.url = lambda name: url(name).replace(f"ttl={TTL}", "ttl=30")
        with Shard(etcd, "back", 2) as shard:
            first = shard.whole()
            term = first.term()
            equal(first.ask("HA", "SWITCH"), "OK", "SWITCH")
            second = shard.primary(after=term)
            check(second is not first and shard.whole() is second, "the other one is primary")
            term = second.term()
            second.server.stop()
            check(shard.primary(after=term, seconds=10) is first, "long before ttl ends")


@case
@needs_etcd
def fail_overs():
    """after fail-overs of every kind under load, every write that WAIT counted exists, and all members agree"""
    draw = random.Random(drawn_seed())
    wanted = int(os.environ.get("FAILOVERS", "4" if SANITIZED else "10"))
    with Etcd() as etcd, Shard(etcd, "s", 3) as shard:
        shard.whole()
        clients = [Client(shard, i, draw.randrange(2**32)) for i in range(3)]
        chaos = Chaos(etcd, shard, draw)
        hows = [chaos.kill, chaos.pause, chaos.kill_beside_paused_etcd, chaos.stop_cleanly, chaos.switch] * wanted
        hows = hows[:wanted]
        draw.shuffle(hows)
        took = {}
        for i, how in enumerate(hows):
            took.setdefault(how.__name__, []).append(fail_over(chaos, how))
            if i % 5 == 4:
                chaos.disturb(shard.whole())
        shard.whole()
        safe = [client.waits for client in clients]
        eventually(lambda: all(c.waits > s or c.error for c, s in zip(clients, safe)), "writes are safe again", 60)
        end_load(shard, clients)
        for name, seconds in sorted(took.items()):
            seconds.sort()
            print(f"# {name}: {len(seconds)} times, a new primary after {statistics.median(seconds):.2f} s, at most "
                  f"{seconds[-1]:.2f} s")
        print(f"# {sum(c.writes for c in clients)} writes, {sum(c.waits for c in clients)} times safe, "
              f"{sum(c.reads for c in clients)} reads, {sum(c.breaks for c in clients)} broken connections")


def alone(shard):
    """Returns a primary that no other member reaches, once none is in sync. From then on no other member may be
    elected."""
    primary = shard.whole()
    primary.to_peers.cut_off()
    status = eventually(lambda: (s := primary.status()) and (s["ha_role"] != "primary" or s["ha_in_sync"] == "0") and s,
                        "the others are not in sync any more")
    if status["ha_role"] == "primary":
        return primary
    primary.to_peers.broken.clear()  # this machine was so busy that the term was over before that
    return None


@case
@needs_etcd
def cuts():
    """a primary cut from etcd, in one direction or both, is replaced under load; one cut from its replicas is not"""
    draw = random.Random(drawn_seed())
    with Etcd() as etcd, Shard(etcd, "cut", 3, Wired) as shard:
        shard.whole()
        clients = [Client(shard, i, draw.randrange(2**32)) for i in range(2)]
        for cut in (lambda line: line.cut_off(), lambda line: line.held.set()):
            primary = shard.whole()
            term = primary.term()
            cut(primary.to_etcd)
            eventually(lambda primary=primary, term=term: shard.primary(after=term) is not primary, "another one")
            eventually(lambda primary=primary: primary.status().get("ha_role") != "primary", "the old one is none")
            equal(str(primary.ask("SET", 2, 2))[:5] in ("CLUST", "READO"), True, "it writes nothing")
            primary.to_etcd.broken.clear()
            primary.to_etcd.held.clear()
        primary = eventually(lambda: alone(shard), "a primary alone", 120)

        def serves():
            with contextlib.suppress(OSError, wire.Closed), primary.server.replies() as replies:
                return (replies.ask("SET", 2, 3), replies.ask("WAIT", 1, 50)) == ("OK", 0)
        eventually(serves, "it serves, and WAIT counts nobody")
        for member in shard.others(primary):
            eventually(lambda member=member: member.status().get("ha_role") == "replica", "nobody else was elected")
        primary.to_peers.broken.clear()
        end_load(shard, clients)


main()
