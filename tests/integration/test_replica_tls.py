#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Replication by TLS: no relay can read or change it, and each side verifies the other.

SHERWOOD_SEED=N repeats a run that failed."""

import pathlib
import random

from certificates import Authority
from harness import Server, case, check, drawn_seed, equal, eventually, free_port, main
from replication import SMALL, Load, Relay, caught_up, info


def primary_by_tls(authority, *more, **how):
    cert, key = authority.sign("localhost", "DNS:localhost")
    port = free_port()
    return port, Server("--tls-port", str(port), "--tls-cert", str(cert), "--tls-key", str(key), *SMALL, *more, **how)


def replica_by_tls(authority, port, *more, **how):
    return Server("--replicaof", f"localhost {port}", "--tls-replication", "yes", "--tls-ca", str(authority.ca),
                  *SMALL, *more, **how)


@case
def by_tls():
    """a replica joins by TLS under load, is cut, resumes, and has its primary's data"""
    with Authority() as authority:
        port, primary = primary_by_tls(authority)
        with primary, Relay(port) as relay, replica_by_tls(authority, relay.port) as replica:
            load = Load(primary, drawn_seed())
            for turn in range(3):
                passed = relay.passed
                eventually(lambda p=passed: relay.passed > p + 50000, "the stream goes on")
                check(int(info(replica)["sherwood_resumes"]) >= turn, "it goes on without a snapshot")
                relay.cut()
                eventually(lambda t=turn: int(info(replica)["sherwood_resumes"]) > t, "it comes back")
            load.end()
            caught_up(primary, replica)
            with primary.replies() as replies:
                replies.ask("SET", 5000, 1)
                equal(replies.ask("WAIT", 1, 20000), 1, "it acknowledges")


@case
def damaged():
    """after flipped bits a replica reconnects by TLS, and has its primary's data"""
    draw = random.Random(drawn_seed() + 1)
    flips = [0]

    def spoil(data):
        if draw.randrange(12) or len(data) < 100:
            return data
        flips[0] += 1
        at = draw.randrange(len(data))
        return data[:at] + bytes((data[at] ^ 1 << draw.randrange(8),)) + data[at + 1:]

    with Authority() as authority:
        port, primary = primary_by_tls(authority, errors="replica")
        with primary, Relay(port) as relay, replica_by_tls(authority, relay.port, errors="replica") as replica:
            eventually(lambda: info(replica)["master_link_status"] == "up", "connected")
            load = Load(primary, drawn_seed())
            relay.spoil = spoil
            eventually(lambda: flips[0] > 3, "some bits are flipped", 60)
            relay.spoil = None
            load.end()
            caught_up(primary, replica)
            equal(int(info(replica)["sherwood_resyncs"]) > 0, True, "by what was sent")


@case
def who_is_who():
    """an untrusted primary is refused, and so is a replica without the right; both see the reason"""
    with Authority() as authority:
        stranger = authority.stranger()
        cert, key = authority.sign("copies")
        port, primary = primary_by_tls(
            authority, "--tls-ca", str(authority.ca), "--tls-auth-clients", "optional", "--tls-user-from-cert", "yes",
            "--acl-file", str(acl(authority, "user default off", "user copies on nopass ~* +replicate", "user admin on "
                                  "nopass ~* +@all", "user nobody on nopass +ping")))
        with primary:
            trusts = ("--tls-ca", str(stranger))
            refused(replica_by_tls(authority, port, *trusts), "self-signed certificate in certificate chain: check that the port is its --tls-port, and the root certificates (--tls-ca)")
            refused(replica_by_tls(authority, port), "NOAUTH Authentication required.: set --primary-user and --primary-password-file")
            other = authority.sign("nobody")
            refused(replica_by_tls(authority, port, "--tls-cert", str(other[0]), "--tls-key", str(other[1])), "NOPERM")
            refused(Server("--replicaof", f"127.0.0.1 {port}", "--loops", "1"), "this port speaks TLS")
            refused(replica_by_tls(authority, port, "--replicaof", f"127.0.0.1 {port}"), "certificate was refused")
            with replica_by_tls(authority, port, "--tls-cert", str(cert), "--tls-key", str(key)) as replica:
                eventually(lambda: info(replica)["master_link_status"] == "up", "its certificate is its login")
            password = pathlib.Path(authority.folder, "password")
            password.write_text("any\n", encoding="ascii")
            password.chmod(0o600)
            with replica_by_tls(authority, port, "--primary-user", "copies", "--primary-password-file",
                                str(password)) as replica:
                eventually(lambda: info(replica)["master_link_status"] == "up", "or its password")


def acl(authority, *lines):
    path = pathlib.Path(authority.folder, "users.acl")
    path.write_text("\n".join(lines) + "\n", encoding="ascii")
    path.chmod(0o600)
    return path


def refused(server, said):
    with server:
        eventually(lambda: said in server.log(), f"{said!r} in {server.log()}")
        equal(info(server)["master_link_status"], "down", "no connection")


if __name__ == "__main__":
    main()
