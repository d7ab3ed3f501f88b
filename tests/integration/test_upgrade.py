#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""An upgrade: the previous release writes files, replicates and serves; this one continues and loses nothing.

The old programs are built from the newest tag v* before this commit or, before the first release, from the commit
FIRST. They are kept in build/upgrade. SHERWOOD_SEED=N repeats a run that failed."""

import contextlib
import functools
import os
import random
import shutil
import signal
import subprocess

from cluster import Node, cut, key_in, node_id
from data_directory import Directory
from harness import DAEMON, ROOT, SANITIZED, Server, Skip, case, check, drawn_seed, equal, eventually, free_port, main, run
from replication import SMALL, Load, caught_up, info
from shard import Etcd, Member, Shard, agree, needs_etcd

FIRST = "7a447696ecbf8244e41eedc11b20314f84067792"
# Variables of the Makefile, and the files that tests/join joins for them: headers are most of what the old build parses.
JOINED = {"TABLE_SRC": ("table/*.c", "table/*/*.c", "table/*/cpu/*.c"), "PROTO_SRC": ("proto/*.c",), "CLIENT_SRC": ("client/*.c",),
          "SERVER_SRC": ("server/[!m]*.c", "server/*/*.c"), "CLI_SRC": ("client/cli/*.c",)}
# Flags of a table, and what a client writes to it: (key, value) by a number.
TABLES = {"integers of 64 bits": ((), lambda i: (i, i * 7)),
          "integers of 32 bits": (("--key-bits", "32"), lambda i: (i, i * 7)),
          "rows": (("--value-type", "f32", "--value-bytes", "16"), lambda i: (i, b"%015dz" % i)),
          "strings by texts": (("--value-type", "string", "--value-bytes", "64", "--resp-keys", "hash",
                                "--resp-key-text-bytes", "32"), lambda i: (f"user:{i}", f"name {i}"))}
LOGGED = ("--appendonly", "yes", "--appendfsync", "always", "--log-segment-bytes", "1M")


def git(*words):
    if shutil.which("git") is None:
        return ""
    done = subprocess.run(("git", *words), cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def joined(tree):
    """Yields the assignments that let the tree's Makefile compile joined files."""
    for variable, patterns in JOINED.items():
        files = [path.relative_to(tree) for pattern in patterns for path in sorted(tree.glob(pattern))]
        done = subprocess.run([ROOT / "tests" / "join", f"build/joined/{variable}", *files], cwd=tree, stdout=subprocess.PIPE, text=True,
                              check=True)
        yield f"{variable}={done.stdout.strip()}"


@functools.cache
def old(program="sherwoodd"):
    """Returns the old program, built if necessary."""
    if SANITIZED:
        raise Skip("the old programs have no sanitizer")
    commit = git("rev-parse", "--verify", "--quiet", (git("describe", "--tags", "--match", "v*", "--abbrev=0", "HEAD^") or FIRST) + "^{commit}")
    if not commit:
        raise Skip("git does not have the release before this one (a clone of the whole history has it)")
    tree = ROOT / "build" / "upgrade" / commit
    if not (tree / "complete").exists():
        shutil.rmtree(tree, ignore_errors=True)
        tree.mkdir(parents=True)
        archive = subprocess.Popen(["git", "archive", commit], cwd=ROOT, stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", tree], stdin=archive.stdout, check=True)
        equal(archive.wait(), 0, "git archive")
        run("env", "-u", "MAKEFLAGS", "make", "-C", tree, "--silent", f"-j{os.cpu_count()}", "NVCC=", "CFLAGS=-O0 -g0 -w",
            "CPPFLAGS=-U_FORTIFY_SOURCE", *joined(tree), "build/sherwoodd", "build/sherwood-cli", timeout=600)
        (tree / "complete").touch()
    return tree / "build" / program


def put(server, make, numbers):
    with server.replies() as replies:
        for i in numbers:
            equal(replies.ask("SET", *make(i)), "OK", f"SET {i}")


def has(server, make, numbers):
    with server.replies() as replies:
        for i in numbers:
            key, value = make(i)
            value = value if isinstance(value, bytes) else str(value).encode()
            equal(replies.ask("GET", key), value, f"GET {key}")


@case
def files():
    """data directories of each kind of table, killed or stopped, load: snapshot, log and expiry times"""
    for name, (flags, make) in TABLES.items():
        with Directory() as path:
            more = ("--data-dir", str(path), *LOGGED, *SMALL, *flags)
            with Server(*more, program=old(), stop_rc=-signal.SIGKILL) as server:
                put(server, make, range(200))
                equal(server.ask("SAVE"), "OK", name)
                put(server, make, range(200, 400))
                equal(server.ask("PEXPIREAT", make(0)[0], 4000000000000), 1, name)
                server.kill()
            with Server(*more) as server:
                has(server, make, range(400))
                equal(server.ask("PEXPIRETIME", make(0)[0]), 4000000000000, name)
                put(server, make, range(400, 500))
            with Server(*more) as server:
                has(server, make, range(500))
                equal(server.ask("DBSIZE"), 500, name)


@case
def back():
    """the old release loads a snapshot of this one, given alone"""
    flags, make = TABLES["integers of 64 bits"]
    with Directory() as path:
        more = ("--data-dir", str(path), *SMALL, *flags)
        with Server(*more) as server:
            put(server, make, range(300))
            with server.replies() as replies:
                equal(replies.ask("SAVE"), "OK", "SAVE")
        with Server(*more, program=old()) as server:
            has(server, make, range(300))


@case
def replicas():
    """replicas, then their primary, are upgraded under load: writes that WAIT counted stay, digests are equal"""
    draw = random.Random(drawn_seed())
    with contextlib.ExitStack() as stack:
        primary = stack.enter_context(Server(*SMALL, program=old(), errors="replica"))
        with Server(*SMALL, "--replicaof", f"127.0.0.1 {primary.port}", program=old(), errors="replica") as replica:
            caught_up(primary, replica)
        load = Load(primary, draw.randrange(2**32), flushes=False)
        new = stack.enter_context(Server(*SMALL, "--replicaof", f"127.0.0.1 {primary.port}", errors="replica"))
        eventually(lambda: info(new)["master_link_status"] == "up" and load.written > 100, "a new replica follows the old primary")
        with primary.replies() as replies:
            equal(replies.ask("SET", 5000, 77), "OK", "SET")
            equal(replies.ask("WAIT", 1, 20000), 1, "the new replica has it")
        load.end()
        caught_up(primary, new)
        equal(new.ask("REPLICAOF", "NO", "ONE"), "OK", "the new one is primary")
        equal(new.ask("GET", 5000), b"77", "what WAIT counted")
        again = stack.enter_context(Server(*SMALL, "--replicaof", f"127.0.0.1 {new.port}", errors="replica"))
        load = Load(new, draw.randrange(2**32), flushes=False)
        eventually(lambda: info(again)["master_link_status"] == "up" and load.written > 100, "the other one follows it")
        load.end()
        check(caught_up(new, again)[1] > 1, "all of it")


@case
def clients():
    """the old sherwood-cli works with the new server and the new one with the old: frames, times and a scan"""
    for program, cli in ((DAEMON, old("sherwood-cli")), (old(), DAEMON.with_name("sherwood-cli"))):
        with Server(*SMALL, program=program) as server:
            def asked(*words):
                return run(cli, "-p", server.port, *words).strip()  # pylint: disable=cell-var-from-loop
            equal(asked("MSET", 1, 10, 2, 20), "OK", f"{cli}")
            equal(asked("INCRBY", 1, 5), "15", f"{cli}")
            equal(asked("MGET", 1, 2), "15\n20", f"{cli}")
            equal(asked("DBSIZE"), "2", f"{cli}")
            equal(asked("DEL", 1), "1", f"{cli}")


@case
def cluster():
    """one node of a cluster is upgraded: the other serves on, slots move from the old node to the new one and stay"""
    half, moved = 8192, 100
    with Directory() as path, contextlib.ExitStack() as stack:
        kept = ("--data-dir", str(path), *LOGGED)
        first = stack.enter_context(Node(0, *kept, "--capacity", "64K", "--port", str(free_port()), program=old()))
        other = stack.enter_context(Node(1, "--capacity", "64K", program=old()))
        for node in (first, other):
            node.set_topology(cut((first, other), 1, 0, half, 16384))
        low, high, mid = key_in(0, half - 1), key_in(half, half + moved - 1), key_in(half + moved, 16383)
        for node, key in ((first, low), (other, high), (other, mid)):
            equal(node.ask("SET", key, key + 1), "OK", f"SET {key}")
        first.stop()
        first.program, first.ready = DAEMON, 200
        first.start()
        equal((first.ask("GET", low), other.ask("GET", mid)), (b"%d" % (low + 1), b"%d" % (mid + 1)), "both serve")
        said = str(first.ask("GET", high))
        check(said.startswith("MOVED") and said.endswith(f":{other.port}"), said)
        run(DAEMON.with_name("sherwood-cli"), "-q", "-a", first.address(), "cluster", "move", f"{half}-{half + moved - 1}",
            node_id(1), node_id(0))
        equal(first.ask("GET", high), b"%d" % (high + 1), "the slot has moved")
        eventually(lambda: str(other.ask("GET", high)).startswith("MOVED"), lambda: f"the old node says {other.ask('GET', high)}")


@case
@needs_etcd
def shard_that_fails_over():
    """the members of an --ha shard are replaced one by one under writes: every write that WAIT counted stays"""
    old()
    with Etcd(1) as etcd:
        Member.options = {"program": old(), "errors": "."}
        try:
            shard = Shard(etcd, "upgraded", 3)
        finally:
            Member.options = {}
        with shard:
            primary = shard.whole()
            count = 0
            for member in (*shard.others(primary), primary):
                now = shard.whole()
                equal(now.ask("SET", 100 + count, count), "OK", "SET")
                check(now.is_followed(2), "both replicas have it")
                count += 1
                member.options = {"errors": "."}
                member.restart()
            now = shard.whole()
            equal(now.ask("MGET", *range(100, 100 + count)), [b"%d" % i for i in range(count)], "all writes")
            agree(shard)


main()
