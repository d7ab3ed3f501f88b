#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A shard of rows whose members reach each other and etcd by TLS: no row that WAIT has counted is lost or torn.

SHERWOOD_SEED=N repeats a run that failed."""

import random
import struct

from certificates import Authority
from harness import BUILD, case, check, drawn_seed, equal, eventually, free_port, main, run
from replication import SMALL
from shard import Etcd, Member, MemberServer, Shard, needs_etcd
from shard_chaos import Chaos, fail_over
from shard_history import Client, Wrong, end_load


class ByTls(Member):
    """A member that uses TLS for other members and for etcd; clients connect without TLS."""
    touch = ("SET", 1, bytes(32))

    def __init__(self, etcd, shard):
        cert, key = etcd.authority.sign("member")
        by_tls = free_port()
        super().__init__(etcd, shard, "--value-bytes", "32", "--tls-port", str(by_tls), "--tls-cert", str(cert), "--tls-key",
                         str(key), "--tls-ca", str(etcd.authority.ca), "--tls-replication", "yes", *tls_to(etcd))
        self.name = f"127.0.0.1:{by_tls}"


def tls_to(etcd):
    cert, key = etcd.authority.sign("asks-etcd")
    return "--ha-tls-ca", str(etcd.authority.ca), "--ha-tls-cert", str(cert), "--ha-tls-key", str(key)


class Rows(Client):
    """Each row is one value, four times."""
    STEPS = ("set", "set", "set", "get", "wait")

    @staticmethod
    def write(value):
        return struct.pack("<4Q", value, value, value, value)

    @staticmethod
    def read(shown):
        if shown is None:
            return None
        words = set(struct.unpack("<4Q", shown))
        if len(words) != 1:
            raise Wrong(f"a torn row: {words}")
        return words.pop()

    def check(self, member):
        for at, key in self.keys.items():
            key.check(self.read(member.ask("GET", at)), key.safe, f"key {at} in the end")


@case
@needs_etcd
def fail_overs():
    """a shard of rows fails over by TLS"""
    draw = random.Random(drawn_seed())
    with Authority() as authority, Etcd(authority=authority) as etcd, Shard(etcd, "rows", 3, ByTls) as shard:
        primary = shard.whole()
        check(primary.status()["ha_primary"] == primary.name, "the address is that of TLS")
        for member in shard.members:
            equal(run(BUILD / "sherwood-cli", "-a", f"tls://{member.name}", "--cacert", str(authority.ca), "ha", "status").split()[4],
                  primary.name, "ha status finds the primary by TLS")
        clients = [Rows(shard, i, draw.randrange(2**32)) for i in range(2)]
        chaos = Chaos(etcd, shard, draw)
        for how in (chaos.kill, chaos.switch, chaos.pause):
            waits = [client.waits for client in clients]
            eventually(lambda w=waits: all(c.waits > b or c.error for c, b in zip(clients, w)), "rows are safe")
            fail_over(chaos, how)
        end_load(shard, clients)


@case
@needs_etcd
def strangers():
    """a member does not use an etcd with an untrusted certificate, nor one that requires a client certificate"""
    with Authority() as authority, Etcd(authority=authority) as etcd:
        for flags in (tls_to(etcd)[2:], tls_to(etcd)[:2]):
            with MemberServer("--ha", etcd.url("x"), "--port", str(free_port()), *flags, *SMALL) as server:
                eventually(lambda server=server: "etcd did not answer: 127.0.0.1" in server.log(), "it says so")
                check("is primary" not in server.log(), "and it is no primary")


main()
