#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""If a shard cannot elect a primary, an operator adopts a member. The command says what that may lose."""

from harness import DAEMON, case, check, equal, eventually, main, run
from shard import Etcd, Shard, agree, needs_etcd
from shard_kept import Kept

CLI = DAEMON.with_name("sherwood-cli")


def adopt(member):
    """Adopts the member as an operator does. Returns the command's output."""
    text = member.ask("HA", "ADOPT").decode()
    write = int(text.rsplit(" ", 1)[1])
    check("Lost for good: every write after the first" in text, text)
    check("read HA ADOPT again" in member.ask("HA", "ADOPT", write + 1), "another number")
    return run(CLI, "-a", member.name, "ha", "adopt", write)


@case
@needs_etcd
def other_terms():
    """a member whose files have a later term than etcd takes no part until an operator adopts it"""
    with Etcd(1) as etcd, Shard(etcd, "later", 1, Kept) as shard:
        member = shard.whole()
        equal(member.ask("SET", 3001, 2), "OK", "a write")
        member.server.process.kill()
        member.arguments = tuple(word.replace("shard=later", "shard=new") for word in member.arguments)
        member.restart()
        eventually(lambda: "has seen term" in member.log(), "it says so")
        check("CLUSTERDOWN" in str(member.ask("GET", 3001)), "it serves nothing")
        said = adopt(member)
        check(f"shard new, term 2: {member.name} is primary" in said, said)
        equal(member.ask("GET", 3001), b"2", "what it has")


@case
@needs_etcd
def adopted():
    """an operator makes a member primary if all others are lost, not beside a primary; the others then follow"""
    with Etcd() as etcd, Shard(etcd, "adopt", 3, Kept) as shard:
        primary = shard.whole()
        check("this member is the primary" in primary.ask("HA", "ADOPT"), "of the primary")
        member = shard.others(primary)[0]
        term = primary.term()
        equal(primary.ask("SET", 3001, 5), "OK", "a write")
        shard.whole()
        write = eventually(lambda: (t := member.ask("HA", "ADOPT").decode().rsplit(" ", 1)[1].strip())
                           and member.ask("HA", "ADOPT", t) == "OK" and t, "its last write")
        eventually(lambda: "is not adopted: there is a primary" in member.log(), "it says so")
        equal(shard.whole().term(), term, f"nothing has changed at write {write}")
        for one in shard.members:
            one.server.process.kill()
        member.restart()
        eventually(lambda: member.status().get("ha_members") == "3", "it waits for the others")
        check("Lost for good" in run(CLI, "-a", member.name, "ha", "adopt"), "the text")
        said = adopt(member)
        check(f"{member.name} is primary" in said, said)
        equal(member.ask("GET", 3001), b"5", "what it has")
        equal(member.ask("SET", 3002, 6), "OK", "it goes on")
        for one in shard.others(member):
            one.restart()
        equal(shard.whole(), member, "the others follow")
        agree(shard)


main()
