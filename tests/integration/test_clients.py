#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The daemon driven by hiredis, over TCP and a Unix socket."""

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


if __name__ == "__main__":
    main()
