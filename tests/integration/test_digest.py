#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""DIGEST: equal entries have equal digests in every table, and any change shows.

SHERWOOD_SEED=N repeats a run that failed."""

import random
import struct

import wire
from data_directory import Directory, durable
from faults import Faults
from harness import BUILD, Server, case, check, drawn_seed, equal, eventually, main, run
from replication import SMALL, Relay, info

CLI = BUILD / "sherwood-cli"

WORD = 2**64 - 1


def mix(z):
    z = ((z ^ (z >> 30)) * 0xbf58476d1ce4e5b9) & WORD
    z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & WORD
    return z ^ (z >> 31)


def expected(entries):
    """Computes what server/repl/digest.h defines, independently."""
    a = b = 0
    for key, value in entries.items():
        a += mix((mix((key + 0x9e3779b97f4a7c15) & WORD) + value) & WORD)
        b += mix(mix(key ^ 0xd1b54a32d192ed03) ^ ((value + 0x8cb92ba72f3d8dd7) & WORD))
    return [len(entries), f"{a & WORD:016x}{b & WORD:016x}".encode()]


def digest(replies):
    sequence, count, text = replies.ask("DIGEST")
    return sequence, [count, text]


@case
def tables_agree():
    """the digest depends on the entries only: not on capacity, seed, engine or width"""
    draw = random.Random(drawn_seed())
    entries = {draw.randrange(2**32): draw.randrange(2**32) for _ in range(3000)}
    entries.update({0: 0, 2**32 - 1: 2**32 - 1})
    for flags in ((), ("--capacity", "64K", "--seed", "7", "--max-capacity", "1M"), ("--engine", "cuckoo"),
                  ("--key-bits", "32")):
        with Server(*flags) as server, server.replies() as replies:
            equal(digest(replies), (0, [0, b"0" * 32]), "an empty table")
            order = list(entries)
            draw.shuffle(order)
            for i in range(0, len(order), 100):
                replies.ask("MSET", *(x for key in order[i:i + 100] for x in (key, entries[key])))
            sequence, got = digest(replies)
            equal(got, expected(entries), flags)
            equal(sequence, (len(order) + 99) // 100, "every MSET was a write")
            gone = draw.choice(order)
            replies.ask("DEL", gone)
            equal(digest(replies), (sequence + 1, expected({k: v for k, v in entries.items() if k != gone})),
                  "one key less")


@case
def at_one_instant():
    """a DIGEST during writes covers exactly the writes up to the sequence that it names"""
    draw = random.Random(drawn_seed() + 1)
    with Server() as server, server.connect() as one, server.connect() as two:
        writer, reader = wire.Replies(one), wire.Replies(two)
        history = [{}]
        pairs = [(draw.randrange(500), draw.randrange(2**64)) for _ in range(1500)]
        for key, value in pairs:
            history.append({**history[-1], key: value})
        seen = []
        for i in range(0, len(pairs), 10):
            if i % 500 == 0:
                two.sendall(wire.command("DIGEST"))
            for key, value in pairs[i:i + 10]:
                one.sendall(wire.command("SET", key, value))
            for _ in range(10):
                equal(writer.read(), "OK", "SET")
            if i % 500 == 490:
                sequence, count, text = reader.read()
                # a batch of commands is one write, so the digest must be that of some prefix of the commands
                prefixes = [expected(h) for h in history[max(0, i - 500):i + 11]]
                check([count, text] in prefixes, f"the digest at {sequence} is of no prefix")
                seen.append(sequence)
        equal((len(seen), seen), (3, sorted(seen)), "digests, none of an earlier write than the one before")


@case
def survives():
    """after a restart from the log or a snapshot the digest and the sequence are the same"""
    with Directory() as path:
        with durable(path, "no") as server, server.replies() as replies:
            for key in range(100):
                replies.ask("SET", key, key * key)
            before = digest(replies)
        with durable(path, "no") as server, server.replies() as replies:
            equal(digest(replies), before, "by the log")
            equal(replies.ask("SAVE"), "OK", "SAVE")
        with durable(path, "no") as server, server.connect() as connection:
            equal(digest(wire.Replies(connection)), before, "by the snapshot")


@case
def beside_saves():
    """DIGEST and BGSAVE wait for each other, and a connection that closes during DIGEST breaks neither"""
    with Directory() as path, Server("--data-dir", str(path)) as server, server.replies() as replies:
        for i in range(0, 100000, 1000):
            replies.ask("MSET", *(x for key in range(i, i + 1000) for x in (key, key)))
        _, wanted = digest(replies)
        for _ in range(8):
            with server.connect() as gone:
                gone.sendall(wire.command("DIGEST"))
            check("in progress" in (said := str(replies.ask("BGSAVE"))) or "started" in said, said)
            equal(digest(replies)[1], wanted, "beside a snapshot")
        eventually(lambda: replies.ask("SAVE") == "OK", "SAVE, once no BGSAVE is under way", 20)
        check(b"rdb_last_bgsave_status:ok" in replies.ask("INFO", "persistence"), "no snapshot failed")


@case
def program_compares():
    """sherwood-cli digest names servers with other entries, and those that it cannot ask"""
    with Server("--capacity", "1K") as one, Server("--capacity", "64K", "--seed", "7") as two:
        for server in (one, two):
            equal(server.ask("MSET", 1, 2, 3, 4), "OK", "MSET")
        _, (count, text) = told(one)
        line = f"write 1, {count} keys, {text.decode()}"
        equal(run(CLI, "-p", one.port, "digest"), f"127.0.0.1:{one.port}: {line}\n", "one")
        equal(run(CLI, "-p", one.port, "digest", f"127.0.0.1:{two.port}"),
              f"127.0.0.1:{one.port}: {line}\n127.0.0.1:{two.port}: {line}\n", "equal ones")
        equal(two.ask("SET", 3, 5), "OK", "SET")
        said = run(CLI, "-p", one.port, "digest", f"127.0.0.1:{two.port}", f"127.0.0.1:{one.port}", rc=1)
        equal([": not the same" in each for each in said.splitlines()], [False, True, False], said)
        said = run(CLI, "digest", f"127.0.0.1:{two.port}", f"127.0.0.1:{one.port}", rc=1)
        equal([each.split(": ")[0] for each in said.splitlines()], [f"127.0.0.1:{s.port}" for s in (two, one)],
              "those that are named, and no third one")
        two.stop()
        check("127.0.0.1" in run(CLI, "-p", one.port, "digest", f"127.0.0.1:{two.port}", rc=1), "one that is gone")


@case
def while_a_snapshot_comes():
    """a DIGEST that a replica began before its table was replaced covers the new table, or replies LOADING"""
    faults = Faults()
    keys, passed, flags = 800_000, 6 << 20, (*SMALL, "--repl-timeout", "60")

    def spoil(data):
        if relay.passed > passed:
            relay.held.set()
        return data

    def digests():
        """By RESP and by a frame: both admitted, and no thread has begun either."""
        faults.words.work_held = 1
        connections = server.connect(), server.connect()
        connections[0].sendall(wire.command("DIGEST"))
        connections[1].sendall(wire.frame(wire.DIGEST, ()))
        eventually(lambda: faults.words.work_waits == 2, "both are admitted")
        return connections

    with Server(*flags) as primary, Relay(primary.port) as relay, \
            Server(*flags, "--seed", "2", environment=faults.environment()) as server:
        with primary.connect() as connection:
            connection.sendall(b"".join(wire.frame(wire.SET, range(at, at + 4000), range(4000)) for at in range(0, keys, 4000)))
            for _ in range(0, keys, 4000):
                equal(wire.read_frame(connection).status, wire.OK, "a SET")
        server.ask("SET", keys, 1)
        relay.hold()
        equal(server.ask("REPLICAOF", "127.0.0.1", relay.port), "OK", "it follows, and hears nothing")
        plain, framed = digests()
        relay.spoil = spoil
        relay.held.clear()
        eventually(lambda: int(info(server).get("master_sync_read_bytes", 0)) > 0, "a part of the snapshot")
        faults.words.work_held = 0
        check("LOADING" in str(wire.Replies(plain).read()), "by RESP")
        equal(wire.read_frame(framed).status, wire.LOADING, "by a frame")
        relay.spoil = None
        relay.held.clear()
        eventually(lambda: info(server)["master_link_status"] == "up", "a replica")
        # once more, and the table is whole when the threads begin
        server.ask("REPLICAOF", "NO", "ONE")
        server.ask("SET", keys, 1)
        relay.hold()
        equal(server.ask("REPLICAOF", "127.0.0.1", relay.port), "OK", "it follows again")
        again, framed_again = digests()
        relay.held.clear()
        eventually(lambda: info(server)["master_link_status"] == "up", "a replica")
        equal(info(server)["sherwood_resyncs"], "2", "snapshots")
        faults.words.work_held = 0
        wanted = primary.ask("DIGEST")
        equal(wire.Replies(again).read(), wanted, "by RESP")
        got = wire.read_frame(framed_again).digest
        equal([got[1], got[2], b"%016x%016x" % struct.unpack("<2Q", got[3])], wanted, "by a frame")
        for each in (plain, framed, again, framed_again):
            each.close()


def told(server):
    with server.replies() as replies:
        return digest(replies)


if __name__ == "__main__":
    main()
