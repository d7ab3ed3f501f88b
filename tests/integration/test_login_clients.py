#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Clients that log in: those of redis, unmodified, and our own."""

import asyncio
import os
import pty

import redis
import redis.asyncio

from harness import BUILD, Server, case, check, equal, main, run
from people import NOAUTH, WRONG, guarded, secret
from replication import SMALL, caught_up, replica_of


@case
def unmodified_clients():
    """redis-cli, redis-py and redis-py's asyncio log in as they do with redis"""
    with guarded() as server:
        quiet = ("--no-auth-warning",)
        equal(server.redis_cli(*quiet, "--user", "alice", "--pass", "pw", "set", "1000", "7").strip(),
              "OK", "redis-cli")
        equal(server.redis_cli(*quiet, "-a", "top", "acl", "whoami").strip(), "default", "redis-cli -a")
        check(NOAUTH in server.redis_cli("get", "1000"), "redis-cli without a login")
        url = f"redis://alice:pw@{server.host}:{server.port}/0"
        client = redis.Redis.from_url(url)
        equal(client.get(1000), b"7", "redis-py")
        equal(client.ping(), True, "redis-py")
        try:
            client.get(1)
            raise AssertionError("redis-py: a key of somebody else")
        except redis.exceptions.NoPermissionError:
            pass
        for login in ({}, {"username": "alice", "password": "x"}):
            try:
                redis.Redis(host=server.host, port=server.port, **login).ping()
                raise AssertionError(f"redis-py: {login}")
            except redis.exceptions.ResponseError as why:
                check(str(why) in (WRONG, NOAUTH, "Authentication required."), str(why))
            except redis.exceptions.AuthenticationError as why:
                check("uthentication" in str(why), str(why))
        admin = redis.Redis(host=server.host, port=server.port, password="top")
        check(admin.acl_setuser("py", enabled=True, passwords=["+one", "+two"], keys=["5-9"],
                                commands=["+get"], categories=["-@all"]), "acl_setuser")
        equal(admin.acl_getuser("py")["commands"], ["+get"], "acl_getuser")
        check(len(admin.acl_list()) == 5 and "py" in admin.acl_users(), "acl_list, acl_users")
        equal(len(admin.acl_genpass()), 64, "acl_genpass")

        async def asynchronous():
            client = redis.asyncio.Redis.from_url(url)
            equal(await client.get(1000), b"7", "redis.asyncio")
            await client.close()
        asyncio.run(asynchronous())


@case
def own_clients():
    """sherwood-cli, sherwood-load and libsherwood log in with a password from a file, the environment or a terminal"""
    cli, load = BUILD / "sherwood-cli", BUILD / "sherwood-load"
    password = secret("pw\n")
    with guarded() as server:
        where = ("-h", server.host, "-p", server.port)
        equal(run(cli, *where, "--user", "alice", "--pass-file", password, "set", "1000", "7"), "OK\n",
              "--pass-file")
        equal(run(cli, *where, "--user", "alice", "--pass", "pw", "get", "1000"), "7\n", "--pass")
        check("outside the key ranges" in run(cli, *where, "--user", "alice", "--pass", "pw", "get", "1",
                                          rc=1), "a key of somebody else")
        equal(run("env", "SHERWOODCLI_AUTH=top", cli, *where, "get", "1000"), "7\n", "SHERWOODCLI_AUTH")
        check("invalid username-password" in run(cli, *where, "--pass", "x", "get", "1", rc=1), "wrong")
        check("authentication required" in run(cli, *where, "get", "1", rc=1), "none")
        check("sherwood-cli: --user and --pass-file" in run(cli, *where, "get", "1", rc=1), "what to do")
        check("use only one of --pass" in run(cli, "--pass", "x", "--askpass", "get", "1", rc=2), "two")
        check("--askpass needs a terminal" in run("setsid", "-w", cli, *where, "--askpass", "get", "1", rc=2),
              "no terminal")
        equal(typed(cli, *map(str, where), "--askpass", "get", "1000"), 'Password: \n"7"\n', "--askpass")
        admin = redis.Redis(host=server.host, port=server.port, password="top")
        for size in (105, 106, 512):
            long = size * "p"
            check(admin.acl_setuser(f"u{size}", enabled=True, passwords=["+" + long], keys=["*"], commands=["+@all"]), size)
            equal(run(cli, *where, "--user", f"u{size}", "--pass", long, "get", "1000"), "7\n", f"a password of {size}")
        run(load, "-a", server.address(), "-n", "1000", "--user", "u512", "--pass-file", secret(512 * "p" + "\n"))
        admin.close()
        for protocol in ("bulk", "resp"):
            common = (load, "-a", server.address(), "--protocol", protocol, "-n", "1000")
            run("env", "SHERWOODCLI_AUTH=top", *common)
            check(run(*common, rc=3) != "", f"{protocol} without a login")
            run(*common, "--user", "reader", "--pass-file", password, "-o", "get")
            run(*common, "--user", "reader", "--pass-file", password, "-o", "set", rc=3)
    os.unlink(password)


@case
def roles_without_rights():
    """a user without the right to WAIT, given a replica and its primary, reads from the primary, and no refusal is counted"""
    with Server(*SMALL) as primary, replica_of(primary.port) as replica:
        primary.ask("SET", 1, 2)
        caught_up(primary, replica)
        for server in (primary, replica):
            equal(server.ask("ACL", "SETUSER", "reader", "on", ">pw", "~*", "+@read"), "OK", "SETUSER")
        both = f"{replica.address()},{primary.address()}"
        equal(run(BUILD / "sherwood-cli", "-a", both, "--user", "reader", "--pass", "pw", "get", "1"), "2\n", "GET")
        got = [(now["sherwood_hits_total{operation=\"get\"}"], now["sherwood_permission_refusals_total"])
               for now in (primary.metrics(), replica.metrics())]
        equal(got, [(1, 0), (0, 0)], "hits and refusals of the primary and the replica")
        said = run(BUILD / "sherwood-cli", "-a", both, "--user", "reader", "--pass", "pw", "wait", "1", "1", rc=1)
        check("lacks the command wait" in said, said)


def typed(*command):
    """Returns what a program shows on a terminal where the user types the password pw."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(command[0], command)
    shown = b""
    while b"Password: " not in shown:
        shown += os.read(terminal, 4096)
    os.write(terminal, b"top\n")
    while True:
        try:
            data = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            break
        if not data:
            break
        shown += data
    os.waitpid(pid, 0)
    return shown.decode().replace("\r\n", "\n")


if __name__ == "__main__":
    main()
