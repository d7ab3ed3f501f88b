#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A shard whose members have data directories: they restart with their data, and a write that the others lack is not
served.

SHERWOOD_SEED=N repeats a run that failed; FAILOVERS=N sets the number of fail-overs."""

import contextlib
import os
import random
import shutil
import threading

import wire
from data_directory import Directory
from harness import Server, case, check, drawn_seed, equal, eventually, free_port, main
from replication import SMALL, info
from shard import Etcd, Member, Shard, agree, needs_etcd
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


class Tables:
    """One client that writes to several tables and changes them, and what they have after each step. The shard writes key 1."""

    def __init__(self, draw):
        self.draw, self.number = draw, 0
        # after each step: the tables by their names, with "ttl" of an altered one. The first table is not altered: it has the options
        # of the command line when a member starts with it in place 0. The value of a key that expires is negative.
        self.states = [{"default": {"first": 1}}]
        self.safe = 0  # steps that WAIT has counted

    def step(self):
        """Returns the commands of the next step, and notes what the tables have after it."""
        draw, tables = self.draw, {name: dict(rows) for name, rows in self.states[-1].items()}
        names, kind = sorted(tables), draw.randrange(11)
        self.number += 1
        if kind == 0 and len(tables) < 6:
            words = [("TABLE", "CREATE", f"t{self.number}", "LIKE", "default")]
            tables[f"t{self.number}"] = {"ttl": tables["default"]["ttl"]} if "ttl" in tables["default"] else {}
        elif kind == 1 and len(tables) > 1:
            name = draw.choice([name for name in names if name != "default"])
            words = [("TABLE", "DROP", name)]
            del tables[name]
        elif kind in (2, 3) and len(tables) > 1:
            one, other = draw.sample(names, 2)
            words = [("TABLE", "SWAP", one, other)]
            tables[one], tables[other] = tables[other], tables[one]
        elif kind == 4 and len(tables) > 1:
            name = draw.choice([name for name in names if "first" not in tables[name]])
            words = [("TABLE", "ALTER", name, "default-ttl", 100000 + self.number)]
            tables[name]["ttl"] = 100000 + self.number
        elif kind == 5 and len(tables) > 1:
            name = draw.choice([name for name in names if name != "default"])
            words = [("TABLE", "RENAME", name, f"t{self.number}")]
            tables[f"t{self.number}"] = tables.pop(name)
        elif kind == 6:
            name = draw.choice(names)
            words = [("TABLE", "TRUNCATE", name)]
            tables[name] = {key: value for key, value in tables[name].items() if isinstance(key, str)}
        else:
            name, (key, *others), how = draw.choice(names), draw.sample(range(2, 22), 3), draw.randrange(3)
            one, more = ("SET", key, self.number, "EX", 100000), ("MSET", *(word for other in others for word in (other, self.number)))
            words = [("SELECT", name), *((one,), (more,), (("MULTI",), one, more, ("EXEC",)))[how]]
            expires = "ttl" in tables[name]
            if how != 1:
                tables[name][key] = -self.number
            if how != 0:
                tables[name].update({other: -self.number if expires else self.number for other in others})
        self.states.append(tables)
        return words

    def run(self, replies, steps):
        """Takes `steps` steps, or fewer if the connection or the role of the member is lost."""
        for _ in range(steps):
            for words in self.step():
                said = replies.ask(*words)
                if said not in ("OK", "QUEUED", ["OK", "OK"]):
                    check(str(said).startswith(("CLUSTERDOWN", "READONLY", "EXECABORT", "ERR the change may be lost")), (words, said))
                    return
            if replies.ask("WAIT", 1, 5000) >= 1:
                self.safe = len(self.states) - 1

    @staticmethod
    def found(member):
        """Returns what the tables of the member have; None if it does not serve reads."""
        found = {}
        with contextlib.suppress(OSError, wire.Closed), member.server.replies() as replies:
            for row in replies.ask("TABLE", "LIST"):
                name = dict(zip(row[::2], row[1::2]))[b"name"].decode()
                got = replies.ask("SELECT", name) == "OK" and replies.ask("MGET", *range(2, 22))
                if not isinstance(got, list):
                    return None
                found[name] = {key: -int(value) if replies.ask("EXPIRETIME", key) != -1 else int(value)
                               for key, value in enumerate(got, 2) if value is not None}
                facts = replies.ask("TABLE", "INFO", name)
                if not isinstance(facts, list):
                    return None
                facts = dict(zip(facts[::2], facts[1::2]))
                found[name].update({"first": 1} if facts[b"id"] == 1 else {})
                found[name].update({"ttl": int(facts[b"default-ttl"])} if facts[b"default-ttl"] != b"0" else {})
        return found or None

    def check(self, member):
        """The tables of the member are those after some step that is not before the last safe one; goes on from there."""
        found = eventually(lambda: self.found(member), "the member serves reads")
        check(found in self.states[self.safe:], f"step {self.safe} is safe; found {found}, wanted one of {self.states[self.safe:]}")
        self.states, self.safe = [found], 0


@case
@needs_etcd
def several_tables():
    """a primary that is killed, or hands over, beside writes to several tables and changes of them loses none that WAIT has counted"""
    draw = random.Random(drawn_seed() + 3)
    with Etcd(1) as etcd, Shard(etcd, "tables", 3, draw.choice((Kept, Member))) as shard:
        tables = Tables(draw)
        for turn in range(3):
            primary, term = shard.whole(), shard.primary().term()
            with primary.server.replies() as replies:
                tables.run(replies, 30)
                killer = threading.Timer(draw.random() * 0.05, primary.server.process.kill)
                killer.start()
                with contextlib.suppress(OSError, wire.Closed):
                    tables.run(replies, 10000)
                killer.join()
            tables.check(shard.primary(after=term))
            primary.restart()
            if turn == 1:
                primary = shard.whole()
                term = primary.term()
                def switch(old=primary):
                    eventually(lambda: old.ask("HA", "SWITCH") == "OK" or old.status().get("ha_role") != "primary", "SWITCH")
                switcher = threading.Timer(draw.random() * 0.05, switch)
                with primary.server.replies() as replies:
                    switcher.start()
                    with contextlib.suppress(OSError, wire.Closed):
                        tables.run(replies, 10000)
                    switcher.join()
                tables.check(shard.primary(after=term))
        whole = shard.whole()
        for member in shard.others(whole):
            tables.check(member)


@case
@needs_etcd
def tables_without_a_log():
    """a member with snapshots and no log refuses a second table in words"""
    with Etcd(1) as etcd, Directory() as directory, Server(
            "--ha", etcd.url("unlogged"), "--port", str(free_port()), "--data-dir", str(directory), *SMALL) as server:
        said = eventually(lambda: (said := server.ask("TABLE", "CREATE", "a")) and "CLUSTERDOWN" not in str(said) and str(said), "a primary")
        check("need a log: start it with appendonly yes" in said, said)


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
        # A member that a busy machine stops for longer than its lease has another term first.
        first = eventually(lambda: not isinstance(got := new.ask("GET", 4711), wire.Error) and [got], "a reply to a read")
        equal(first, [None], "nobody was sent it")
        eventually(lambda: new.ask("SET", 4712, 2) == "OK", "the shard goes on")
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
