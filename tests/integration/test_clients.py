#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The daemon driven by the C peers: hiredis and libsherwood, over TCP and a Unix socket."""

import os
import stat
import tempfile

from harness import BUILD, Server, case, check, equal, main, relay

PEERS = BUILD / "tests" / "integration"


def socket_path(name):
    return os.path.join(tempfile.mkdtemp(prefix="sherwood-"), name)


@case
def hiredis():
    """hiredis: deep pipelines, errors between commands, every split, TCP and Unix socket"""
    path = socket_path("resp.sock")
    with Server("--unix-socket", path) as server:
        check(stat.S_ISSOCK(os.stat(path).st_mode), path)
        equal(stat.S_IMODE(os.stat(path).st_mode), 0o660, "mode of the socket")
        relay(PEERS / "peer_hiredis", server.host, server.port, path)
    check(not os.path.exists(path), "the socket file is left behind")


@case
def libsherwood_64():
    """libsherwood: long calls, requests in flight, connections (64 bits)"""
    with Server() as server:
        relay(PEERS / "peer_sherwood", server.address())


@case
def libsherwood_32():
    """libsherwood: the same with 32-bit keys and values"""
    with Server("--key-bits", "32") as server:
        relay(PEERS / "peer_sherwood", server.address())


@case
def libsherwood_unix():
    """libsherwood: the same over a Unix socket, on one loop"""
    path = socket_path("bulk.sock")
    with Server("--unix-socket", path, "--loops", "1"):
        relay(PEERS / "peer_sherwood", "unix:" + path)


if __name__ == "__main__":
    main()
