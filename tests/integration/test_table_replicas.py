#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Replicas of a server with several tables: one stream of writes and changes, full and partial synchronisation, files, and
replicas and primaries of the version with one table."""

import contextlib
import os
import random
import socket
import threading
import time

import wire
from data_directory import Directory, durable
from harness import PACE, Server, case, check, drawn_seed, equal, eventually, main
from replication import SMALL, Relay, acknowledged, info, replica_of, to_be_killed

SEED = drawn_seed()
FOOTER_BYTES = 4096  # of a snapshot
READONLY = wire.Error("READONLY You can't write against a read only replica.")


def create(replies, *words):
    equal(replies.ask("TABLE", "CREATE", *words), "OK", words)


def put(replies, name, *pairs):
    equal(replies.ask("SELECT", name), "OK", name)
    equal(replies.ask("MSET", *pairs), "OK", pairs)


def get(replies, name, key):
    said = replies.ask("SELECT", name)
    return replies.ask("GET", key) if said == "OK" else said


def fill(frames, keys, **named):
    for first in range(0, len(keys), 4096):
        some = keys[first:first + 4096]
        equal(wire.call(frames, wire.SET, some, some, **named).status, wire.OK, "SET")


def places(replies):
    """Returns {name: (number, id)}."""
    rows = [dict(zip(row[::2], row[1::2])) for row in replies.ask("TABLE", "LIST")]
    found = {}
    for row in rows:
        facts = replies.ask("TABLE", "INFO", row[b"name"])
        found[row[b"name"].decode()] = (row[b"number"], dict(zip(facts[::2], facts[1::2]))[b"id"])
    return found


def contents(replies):
    """Returns the places with the digests of their tables."""
    found = {}
    for name, ids in places(replies).items():
        if replies.ask("SELECT", name) == "OK":
            found[name] = (ids, replies.ask("DIGEST")[1:])
    return found


def settled(primary, replica):
    """Waits until the replica has all that the primary has, and compares every table."""
    with primary.replies() as ours, replica.replies() as theirs:
        eventually(lambda: info(replica)["master_link_status"] == "up", "the replica is connected")
        put(ours, "default", 999999, 1)
        acknowledged(ours)
        equal(contents(theirs), contents(ours), "the tables")


def resyncs(server):
    return int(info(server)["sherwood_resyncs"])


@contextlib.contextmanager
def pair(*flags, loops=2):
    """Yields a primary and a replica that follows it, and replies of both."""
    with Server(*SMALL, "--loops", str(loops), *flags) as primary, replica_of(primary.port, "--loops", str(loops)) as replica, \
            primary.replies() as ours, replica.replies() as theirs:
        eventually(lambda: info(replica)["master_link_status"] == "up", "the replica is connected")
        yield primary, replica, ours, theirs


@case
def every_change():
    """a replica serves each table and follows each change; WAIT counts a change; it refuses writes and changes itself"""
    with pair() as (primary, replica, ours, theirs):
        create(ours, "a")
        create(ours, "narrow", "key-bits", 32, "resp-keys", "decimal")
        create(ours, "words", "NUMBER", 7, "value-bytes", 60, "value-type", "string", "resp-keys", "hash")
        equal(ours.ask("WAIT", 1, 30000), 1, "WAIT behind a change")
        equal(places(theirs), places(ours), "the places")
        put(ours, "a", 1, 10)
        put(ours, "narrow", 1, 20)
        put(ours, "words", "key", "text")
        equal(ours.ask("WAIT", 1, 30000), 1, "WAIT")
        equal([get(theirs, *key) for key in (("a", 1), ("narrow", 1), ("words", "key"))], [b"10", b"20", b"text"], "values")
        create(ours, "b", "LIKE", "a")
        put(ours, "b", 1, 11)
        for change in (("SWAP", "a", "b"), ("RENAME", "narrow", "other"), ("TRUNCATE", "words"), ("SWAP", "default", "b")):
            equal(ours.ask("TABLE", *change), "OK", change)
        put(ours, "a", 2, 12)
        settled(primary, replica)
        equal([get(theirs, name, 1) for name in ("a", "default", "other")], [b"11", b"10", b"20"], "behind the changes")
        for _ in range(2):
            equal(ours.ask("TABLE", "SWAP", "other", "words", "FORCE"), "OK", "SWAP of other shapes")
            settled(primary, replica)
        refused = ours.ask("TABLE", "SWAP", "default", "words", "FORCE")
        check("the default table keeps its shape" in refused, refused)
        equal(ours.ask("TABLE", "DROP", "a"), "OK", "DROP")
        equal(ours.ask("TABLE", "DROP", "b"), "OK", "DROP of the table that the server began with")
        settled(primary, replica)
        equal(places(theirs), places(ours), "behind DROP")
        for words in (("TABLE", "CREATE", "c"), ("TABLE", "DROP", "other"), ("TABLE", "TRUNCATE", "words"), ("SWAPDB", 0, 7)):
            equal(theirs.ask(*words), READONLY, words)
        equal([theirs.ask("SELECT", 7), theirs.ask("SET", "key", "x")], ["OK", READONLY], "a write")
        equal(theirs.ask("REPLICAOF", "NO", "ONE"), "OK", "promotion")
        before = places(theirs)
        create(theirs, "c")
        check(places(theirs)["c"][1] > max(table for _, table in before.values()), "ids are not given again")
        put(theirs, "other", 5, 50)


@case
def frames():
    """frames read each table of a replica by its number; one that names the id of a table that SWAP moved is refused"""
    with pair() as (primary, replica, ours, _), replica.connect() as plain, primary.connect() as writes:
        create(ours, "a", "NUMBER", 5)
        create(ours, "b", "NUMBER", 6)
        for number in (5, 6):
            equal(wire.call(writes, wire.SET, [1, 2], [number, 10 * number], table=number).status, wire.OK, "SET")
        settled(primary, replica)
        ids = {number: table for number, table in places(ours).values()}
        def read(number, **named):
            reply = wire.call(plain, wire.GET, [1, 2], table=number, want_values=True, **named)
            return reply.values() if reply.status == wire.OK else reply.status
        equal([read(5, table_id=ids[5]), read(6)], [[5, 50], [6, 60]], "values")
        equal(wire.call(writes, wire.TABLE, words=("SWAP", "5", "6")).status, wire.OK, "SWAP")
        equal(wire.call(writes, wire.WAIT, count=1, timeout=30000).status, wire.OK, "WAIT")
        equal([read(5, table_id=ids[5]), read(5, table_id=ids[6]), read(5)], [wire.TABLE_CHANGED, [6, 60], [6, 60]], "behind SWAP")
        equal(wire.call(plain, wire.SET, [1], [1], table=5).status, wire.NOT_PRIMARY, "SET")
        equal(wire.call(plain, wire.TABLE, words=("DROP", "5")).status, wire.NOT_PRIMARY, "DROP")
        said = wire.call(plain, wire.TABLE, words=("save", "5")).message
        check("there is no persistence" in said, f"a save is no change: {said}")
        equal(ours.ask("TABLE", "DROP", 6), "OK", "DROP")
        equal(ours.ask("WAIT", 1, 30000), 1, "WAIT")
        equal(read(6), wire.NO_TABLE, "behind DROP")


class Changes(threading.Thread):
    """Writes to several tables and changes them, until stopped or the server is gone."""

    def __init__(self, server, seed, drops=True):
        super().__init__(daemon=True)
        self.server, self.draw, self.drops = server, random.Random(seed), drops
        self.ending, self.steps, self.error = threading.Event(), 0, None
        self.start()

    def step(self, replies, names):
        kind, draw = self.draw.randrange(8), self.draw
        if kind == 0 and len(names) < 6:
            name = f"t{self.steps}"
            shape = ("LIKE", "default") if draw.randrange(2) else ("key-bits", 32, "resp-keys", "decimal")
            replies.ask("TABLE", "CREATE", name, *shape)
            names.append(name)
        elif kind == 1 and self.drops and len(names) > 2:
            replies.ask("TABLE", "DROP", names.pop(draw.randrange(1, len(names))))
        elif kind == 2:
            replies.ask("TABLE", "SWAP", draw.choice(names), draw.choice(names))
        elif kind == 3 and len(names) > 1:
            at = draw.randrange(1, len(names))
            replies.ask("TABLE", "RENAME", names[at], f"r{self.steps}")
            names[at] = f"r{self.steps}"
        else:
            replies.ask("SELECT", draw.choice(names))
            keys = [draw.randrange(300) for _ in range(draw.choice((1, 10, 100)))]
            replies.ask("MSET", *(x for key in keys for x in (key, self.steps)))
            replies.ask("DEL", draw.randrange(300))
        self.steps += 1

    def run(self):
        try:
            with self.server.replies() as replies:
                names = ["default"]
                while not self.ending.is_set():
                    self.step(replies, names)
                    time.sleep(PACE)
        except (OSError, wire.Closed):
            pass  # the server was killed
        except Exception as why:  # pylint: disable=broad-except
            self.error = why

    def end(self):
        self.ending.set()
        self.join(60)
        check(not self.is_alive(), "the changes end")
        equal(self.error, None, "the changes")


@case
def joins_beside_changes():
    """replicas join beside writes and changes, by a snapshot of each table, and have the same tables in the end"""
    for turn in range(3):
        with Server(*SMALL, "--loops", "2") as primary:
            changes = Changes(primary, SEED + turn)
            eventually(lambda c=changes: c.steps > 60, "changes")
            with replica_of(primary.port, "--loops", "2") as replica:
                eventually(lambda r=replica: info(r)["master_link_status"] == "up", "connected", 60)
                seen = changes.steps
                eventually(lambda c=changes, s=seen: c.steps > s + 40, "more changes")
                changes.end()
                settled(primary, replica)
                equal(resyncs(replica), 1, "snapshots")


@case
def resumes_over_changes():
    """a replica that is cut off continues from the backlog, also over changes"""
    with Server(*SMALL, "--repl-backlog-bytes", "64M") as primary, Relay(primary.port) as relay, \
            replica_of(relay.port) as replica:
        eventually(lambda: info(replica)["master_link_status"] == "up", "connected")
        changes = Changes(primary, SEED + 10)
        for _ in range(4):
            seen = changes.steps
            eventually(lambda s=seen: changes.steps > s + 30, "changes")
            relay.cut()
        changes.end()
        settled(primary, replica)
        equal(resyncs(replica), 1, "snapshots")
        check(int(info(replica)["sherwood_resumes"]) > 0, "it has continued")


@case
def kept_in_a_log():
    """a replica with a log is killed beside changes, serves what it had acknowledged, and continues without a snapshot"""
    draw = random.Random(SEED)
    with Directory() as directory, to_be_killed(Server(*SMALL, "--repl-backlog-bytes", "64M")) as primary, primary.replies() as ours:
        def follower(*flags, level="no", port=None):
            return durable(directory, level, *SMALL, "--replicaof", f"127.0.0.1 {port or primary.port}", *flags, errors="replica")
        create(ours, "kept")
        changes = Changes(primary, SEED + 20)
        for turn in range(3):
            with to_be_killed(follower(level=draw.choice(("always", "everysec", "no")))) as replica:
                eventually(lambda r=replica: info(r)["master_link_status"] == "up", "connected", 60)
                put(ours, "kept", turn, 100 + turn)
                acknowledged(ours)
                seen = changes.steps
                eventually(lambda s=seen: changes.steps > s + 30, "changes")
                equal(resyncs(replica), int(turn == 0), "snapshots")
                if draw.randrange(2):
                    replica.ask("BGSAVE")
                replica.kill()
            with follower(port=1) as alone, alone.replies() as theirs:
                equal([get(theirs, "kept", key) for key in range(turn + 1)], [b"%d" % (100 + key) for key in range(turn + 1)], "kept")
        changes.end()
        with follower() as replica:
            settled(primary, replica)
            equal(resyncs(replica), 0, "snapshots")
            before = places(ours)
            primary.kill()
            with replica.replies() as theirs:
                equal(theirs.ask("REPLICAOF", "NO", "ONE"), "OK", "promotion")
                equal(places(theirs), before, "ids")
                create(theirs, "later")
                put(theirs, "later", 1, 1)
            replica.end_by_kill()
        with durable(directory, "no", *SMALL) as again, again.replies() as theirs:
            equal(get(theirs, "later", 1), b"1", "a change of the new primary")
            equal(get(theirs, "kept", 0), b"100", "a write of the old one")


@case
def promoted_beside_changes():
    """a replica that is promoted among changes has whole ones, goes on with its own, and keeps all of them over a kill"""
    draw = random.Random(SEED + 30)
    with Directory() as directory, Server(*SMALL, "--loops", "2") as primary, primary.replies() as ours:
        changes, flags = Changes(primary, SEED + 31), (directory, draw.choice(("always", "everysec")), *SMALL)
        with to_be_killed(durable(*flags, "--replicaof", f"127.0.0.1 {primary.port}", errors="replica")) as replica, replica.replies() as theirs:
            eventually(lambda: info(replica)["master_link_status"] == "up", "connected", 60)
            time.sleep(draw.random() * 0.2)
            equal(theirs.ask("REPLICAOF", "NO", "ONE"), "OK", "promotion")
            equal(contents(theirs), contents(theirs), "it takes no change of the primary")
            own = Changes(replica, SEED + 32)
            eventually(lambda: own.steps > 60, "its own changes")
            own.end()
            wanted = contents(theirs)
            replica.kill()
        changes.end()
        with to_be_killed(durable(*flags, errors="replica")) as again, again.replies() as theirs:
            equal(contents(theirs), wanted, "behind a kill")
            equal(ours.ask("REPLICAOF", "127.0.0.1", again.port), "OK", "the old primary follows")
            settled(again, primary)
            again.kill()


@case
def kept_in_snapshots():
    """without a log the files of several tables are at no position: a replica serves them and begins with a snapshot"""
    with Directory() as directory, Server(*SMALL) as primary, primary.replies() as ours:
        flags = (*SMALL, "--data-dir", directory, "--save", "")
        create(ours, "a")
        put(ours, "a", 1, 10)
        for turn in range(2):
            with to_be_killed(replica_of(primary.port, *flags[len(SMALL):])) as replica:
                settled(primary, replica)
                equal(resyncs(replica), 1, "snapshots")
                equal(replica.ask("SAVE"), "OK", "SAVE")
                put(ours, "a", 2, 20 + turn)
                create(ours, f"b{turn}")
                settled(primary, replica)
                replica.kill()
        with Server(*flags) as alone, alone.replies() as theirs:
            equal([get(theirs, "a", 1), get(theirs, "b1", 1)], [b"10", None], "what the files have")
        with to_be_killed(replica_of(primary.port, *flags[len(SMALL):])) as replica:
            settled(primary, replica)
            put(ours, "b0", 7, 70)
            equal(ours.ask("TABLE", "SWAP", "default", "b0"), "OK", "SWAP")
            settled(primary, replica)
            replica.kill()
        with Server(*flags) as alone, alone.replies() as theirs:
            equal(get(theirs, "default", 7), b"70", "SWAP saves what the tables had")


@case
def two_histories():
    """a primary with several tables that joins another one takes its tables; its own files stay in an archive"""
    with Directory() as directory, Server(*SMALL) as primary, primary.replies() as ours:
        create(ours, "a")
        put(ours, "a", 1, 10)
        with durable(directory, "always", *SMALL) as other, other.replies() as theirs:
            create(theirs, "x")
            create(theirs, "y", "key-bits", 32, "resp-keys", "decimal")
            put(theirs, "y", 1, 77)
            equal(theirs.ask("SAVE"), "OK", "SAVE")
            equal(theirs.ask("TABLE", "SWAP", "default", "x"), "OK", "SWAP")
            equal(theirs.ask("TABLE", "DROP", "x"), "OK", "DROP of the table that the server began with")
            equal(other.ask("REPLICAOF", "127.0.0.1", primary.port), "OK", "REPLICAOF")
            settled(primary, other)
            with other.replies() as again:
                equal(sorted(places(again)), ["a", "default"], "the tables of the primary")
        archive = next(name for name in os.listdir(directory) if name.startswith("discarded-"))
        with durable(directory, "no", *SMALL, "--replicaof", f"127.0.0.1 {primary.port}") as other:
            settled(primary, other)
            equal(resyncs(other), 0, "snapshots")
        with Server(*SMALL, "--data-dir", directory / archive, "--appendonly", "yes") as old, old.replies() as theirs:
            equal(get(theirs, "y", 1), b"77", "the archive")
        with Server(*SMALL) as single, single.replies() as theirs:
            put(theirs, "default", 3, 30)
            equal(ours.ask("REPLICAOF", "127.0.0.1", single.port), "OK", "REPLICAOF of a server with one table")
            settled(single, primary)
            with primary.replies() as again:
                equal(sorted(places(again)), ["default"], "one table")


def hello(server, version):
    """Sends REPLICATE as a replica of this version, and returns the connection and the first line."""
    connection = server.connect()
    connection.sendall(wire.command("REPLICATE", version, "0" * 40, 0, 8, 8, 0, 0, 1 << 28))
    replies = wire.Replies(connection)
    return connection, replies.line(), replies


@case
def earlier_versions():
    """a replica of version 1 gets the bytes of one table and is refused once there are several; so is a primary met"""
    with Server(*SMALL) as primary, primary.replies() as ours:
        put(ours, "default", 1, 10)
        connection, line, replies = hello(primary, 1)
        with connection:
            check(line.startswith(b"+SNAPSHOT "), line)
            equal(replies.exactly(8), b"SWSNAP\0\1", "a snapshot follows at once")
            create(ours, "a")
            connection.settimeout(20)
            received = replies.buffer
            with contextlib.suppress(OSError):
                while more := connection.recv(65536):
                    received += more
            check(b"default" not in received, "no change of the tables was sent")
        eventually(lambda: "the replica has one: upgrade the replica" in primary.log(), "the log tells why")
        connection, line, _ = hello(primary, 1)
        with connection:
            check(b"-ERR this server has, or had, several tables" in line, line)
    with socket.create_server(("127.0.0.1", 0)) as old, replica_of(old.getsockname()[1], errors="replication"):
        old.settimeout(30)
        asked = []
        for reply in (b"-ERR the version of replication: the replica has 2, the primary 1\r\n", b"-ERR no\r\n"):
            connection, _ = old.accept()
            with connection:
                asked.append(connection.recv(4096).split(b"\r\n")[4])
                connection.sendall(reply)
        equal(asked, [b"2", b"1"], "the versions that a replica says")


@case
def records_between_snapshots():
    """a primary sends the writes that it has by then behind the snapshot of each table, so that its backlog need not keep them"""
    with Server(*SMALL) as primary, primary.replies() as ours, primary.connect() as frames, socket.socket() as replica:
        fill(frames, range(400000))
        create(ours, "a")
        replica.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        replica.settimeout(30)
        replica.connect(("127.0.0.1", primary.port))
        replica.sendall(wire.command("REPLICATE", 2, "0" * 40, 0, 8, 8, 0, 0, 1 << 28))
        received = bytearray(wire.receive_exactly(replica, 1 << 16))  # the first snapshot does not fit into the buffers
        put(ours, "a", 1, 10)
        while (footer := received.find(b"SWSNAPEN", max(0, len(received) - (1 << 17)))) < 0:
            received += replica.recv(1 << 16)
        while len(received) < footer + FOOTER_BYTES + 8:
            received += replica.recv(1 << 12)
        behind = received[footer + FOOTER_BYTES:]
        check(not behind.startswith(b"SWSNAP"), "a record is behind the first snapshot")


@case
def keys_of_another_history():
    """a server that becomes a replica drops its keys before the first record arrives: they would take the room of the primary's"""
    def hold(data):
        if relay.passed > 1 << 17 and not held.is_set():  # in the snapshot of the first table, which does not fit into the buffers
            relay.held.set()
            held.set()
        return data
    held = threading.Event()
    with Server(*SMALL) as primary, primary.replies() as ours, primary.connect() as frames, Relay(primary.port, hold) as relay, \
            Server("--seed", "2", *SMALL, "--max-capacity", "64K") as replica, replica.connect() as own:
        create(ours, "a", "NUMBER", "1", "capacity", "512K")
        fill(frames, range(400000), table=1)
        create(ours, "b")
        equal(ours.ask("TABLE", "SWAP", "default", "b"), "OK", "SWAP: the snapshot of the default table is the last one now")
        equal(ours.ask("TABLE", "DROP", "b"), "OK", "DROP")
        fill(own, range(1000000, 1050000))
        equal(replica.ask("REPLICAOF", "127.0.0.1", relay.port), "OK", "REPLICAOF")
        check(held.wait(30), "the primary sends a snapshot")
        fill(frames, range(20000))
        relay.held.clear()
        settled(primary, replica)
        check("does not fit" not in replica.log(), "the records have room")


@case
def expiry_and_rights():
    """keys expire in each table of a replica by records of the primary; rights follow a table that is renamed"""
    with pair() as (primary, replica, ours, theirs):
        create(ours, "a")
        equal(theirs.ask("ACL", "SETUSER", "u", "on", ">p", "~*", "+@all", "db=a"), "OK", "ACL")
        put(ours, "a", 1, 10, 2, 20)
        equal([ours.ask("EXPIRE", 2, 100000), ours.ask("PEXPIRE", 1, 30)], [1, 1], "EXPIRE")
        eventually(lambda: get(theirs, "a", 1) is None and theirs.ask("DBSIZE") == 1, "the key expires on both")
        check(99000 < theirs.ask("TTL", 2) <= 100000, "TTL")
        equal(ours.ask("TABLE", "RENAME", "a", "b"), "OK", "RENAME")
        settled(primary, replica)
        with replica.replies() as user:
            equal(user.ask("AUTH", "u", "p"), "OK", "AUTH")
            equal([user.ask("SELECT", "b"), user.ask("GET", 2)], ["OK", b"20"], "the right has the new name")


@case
def no_room():
    """a replica that cannot have the tables of its primary says so, and follows when it can"""
    with Server(*SMALL) as primary, primary.replies() as ours:
        create(ours, "a")
        with Server(*SMALL, "--tables-max", "1", errors="replication") as replica:
            equal(replica.ask("REPLICAOF", "127.0.0.1", primary.port), "OK", "REPLICAOF")
            eventually(lambda: "raise tables-max" in replica.log(), "the reason is logged")
        with replica_of(primary.port, "--tables-max", "2", errors="replication") as replica:
            settled(primary, replica)
            create(ours, "b")
            eventually(lambda: "raise tables-max" in replica.log(), "the reason is logged")
            with replica.replies() as theirs:
                equal(get(theirs, "a", 1), None, "it serves what it has")


@case
def another_shape_in_place_0():
    """a replica says that the primary's default table has another shape than the command line, and follows when it is back"""
    with Server(*SMALL) as primary, primary.replies() as ours:
        create(ours, "wide", "value-bytes", 16)
        equal(ours.ask("TABLE", "SWAP", "default", "wide", "FORCE"), "OK", "SWAP")
        with replica_of(primary.port, ready=503) as replica:
            eventually(lambda: "gave the primary's default table another shape, swap it back" in replica.log(), "the reason is logged")
            equal(ours.ask("TABLE", "SWAP", "default", "wide", "FORCE"), "OK", "the way back")
            settled(primary, replica)
            refused = ours.ask("TABLE", "SWAP", "default", "wide", "FORCE")
            check("keeps its shape" in str(refused), refused)


@case
def no_cache():
    """a cache has no replicas: a server with a replica makes none, and a replica does not follow a server that has one"""
    refused = "a cache may evict any entry, so it has no replicas"
    with Server(*SMALL) as primary, primary.replies() as ours:
        create(ours, "c", "engine", "cache")
        with replica_of(primary.port, ready=503) as replica:
            eventually(lambda: refused in replica.log(), "the reason is logged")
    with pair() as (primary, replica, ours, theirs):
        check(refused in str(ours.ask("TABLE", "CREATE", "c", "engine", "cache")), "CREATE")
        create(ours, "a")
        settled(primary, replica)


main()
