#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A shard whose members have data directories: they restart with their data, and a write that the others lack is not
served.

SHERWOOD_SEED=N repeats a run that failed; FAILOVERS=N sets the number of fail-overs."""

import os
import random
import shutil

from data_directory import Directory
from harness import Server, case, check, drawn_seed, equal, eventually, main
from replication import SMALL, info
from shard import Etcd, Shard, agree, needs_etcd
from shard_chaos import Chaos, fail_over
from shard_history import Client, end_load
from shard_kept import LOGGED, Kept, KeptWired

class Everything(Chaos):
    """Also stops all members at once."""

    def kill_all(self, _):
        for member in self.shard.members:
            member.server.process.kill()
        for member in self.shard.members:
            member.restart()
        return lambda: None


@case
@needs_etcd
def fail_overs():
    """after fail-overs under load, and losses of all members at once, every write that WAIT counted exists"""
    draw = random.Random(drawn_seed())
    with Etcd() as etcd, Shard(etcd, "disk", 3, Kept) as shard:
        shard.whole()
        clients = [Client(shard, i, draw.randrange(2**32)) for i in range(2)]
        chaos = Everything(etcd, shard, draw)
        hows = [chaos.kill_all, draw.choice((chaos.kill, chaos.pause))]
        wanted = int(os.environ.get("FAILOVERS", "2"))
        hows += [draw.choice((chaos.kill_all, chaos.kill, chaos.pause, chaos.switch)) for _ in range(wanted - 2)]
        draw.shuffle(hows)
        for how in hows:
            waits = [client.waits for client in clients]
            eventually(lambda w=waits: all(c.waits > b or c.error for c, b in zip(clients, w)), "writes are safe")
            fail_over(chaos, how)
        end_load(shard, clients)


@case
@needs_etcd
def comes_back():
    """a member that was away resumes without a snapshot; of restarted members none that lacks a write is elected"""
    with Etcd(1) as etcd, Shard(etcd, "back", 3, Kept) as shard:
        primary = shard.whole()
        equal(primary.ask("MSET", *range(3000, 5000)), "OK", "writes")
        shard.whole()
        replica = shard.others(primary)[0]
        replica.server.process.kill()
        primary.ask("SET", 3001, 77)
        replica.restart()
        shard.whole()
        facts = info(replica.server)
        equal((facts["sherwood_resyncs"], int(facts["sherwood_resumes"]) > 0), ("0", True), "without a snapshot")
        agree(shard)
        behind = shard.others(primary)[1]
        behind.server.process.kill()
        primary.ask("SET", 3002, 78)  # that one lacks
        for member in shard.members:
            member.server.process.kill()
        for member in (behind, primary):
            member.restart()
        eventually(lambda: behind.status().get("ha_role") == "replica" and behind.status()["ha_term"] != "0", "it waits")
        check(behind.ask("GET", 3002) != b"78", "it lacks a write")
        shard.others(primary)[0].restart()
        new = shard.whole()
        check(new is not behind, "whoever lacks a write is not elected")
        equal([new.ask("GET", 3001), new.ask("GET", 3002)], [b"77", b"78"], "everything is there")
        agree(shard)
        check(not any(list(member.directory.glob("discarded-*")) for member in shard.members), "nothing was dropped")


def write_alone(shard, key):
    """Makes a primary write something that no other member receives, and kills it."""
    while True:
        primary = shard.whole()
        primary.to_peers.hold()
        said = primary.ask("SET", key, 1)
        primary.server.process.kill()
        primary.to_peers.cut()
        primary.to_peers.held.clear()
        if said == "OK":
            return primary
        primary.restart()


@case
@needs_etcd
def discarded():
    """writes that only an old primary has are never served again; their files are archived, and the log names them"""
    with Etcd(1) as etcd, Shard(etcd, "aside", 2, KeptWired) as shard:
        term = shard.whole().term()
        old = write_alone(shard, 4711)
        new = shard.primary(after=term)
        equal(new.ask("GET", 4711), None, "nobody was sent it")
        equal(new.ask("SET", 4712, 2), "OK", "the shard goes on")
        old.start()
        seen = []

        def is_back():
            seen.append(old.ask("GET", 4711))
            return old.ask("GET", 4712) == b"2"
        eventually(is_back, "the old primary has what the new one wrote")
        check(b"1" not in seen, "and never shows what was dropped")
        agree(shard)
        kept = eventually(lambda: list(old.directory.glob("discarded-*")), "a directory aside")
        log = old.log()
        check("are dropped" in log and f"{kept[0].name}, which a server can use" in log, log)
        equal(old.status()["ha_discards"], "1", "it is counted")
        with Directory() as copy:
            shutil.copytree(kept[0], copy / "data")
            with Server("--data-dir", str(copy / "data"), *LOGGED, *SMALL) as server:
                equal(server.ask("GET", 4711), b"1", "it is a data directory")


main()
