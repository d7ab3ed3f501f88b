#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A server that changes its role: requests that wait for its log, and sequences of another history."""

import time

import wire
from cluster import Node, node_id, topology
from data_directory import Directory, durable
from faults import Faults
from harness import Server, case, check, equal, eventually, main, raises
from replication import SMALL, caught_up, info, to_be_killed


def number(server):
    """Returns the sequence of the server's last write."""
    return int(info(server)["master_repl_offset"])


def waiting(server, faults, first):
    """Sends three writes by RESP and three by frames, all of which wait for the log."""
    plain, framed = [], []
    faults.words.spare_small = 1 # the files that name role and history are no log
    faults.sync.held = 1
    for key in range(first, first + 3):
        before = number(server)
        plain.append(server.connect())
        plain[-1].sendall(wire.command("SET", key, 7))
        framed.append(server.connect())
        framed[-1].sendall(wire.frame(wire.SET, (key + 100,), (7,)))
        eventually(lambda b=before: number(server) == b + 2, "both are in the table")
    eventually(lambda: faults.sync.waiting > 0, "a sync that takes long")
    return plain, framed


def outcome(connection):
    """Returns what a RESP client receives: only the end of the connection."""
    try:
        return connection.recv(100)
    except ConnectionResetError:
        return b""


def closed(plain, framed, faults):
    """Checks that waiting clients get no reply, or OUTCOME_UNKNOWN."""
    equal([outcome(each) for each in plain], [b""] * 3, "no answer, and the end")
    faults.sync.end()
    for each in framed:
        try:
            equal(wire.read_frame(each).status, wire.OUTCOME_UNKNOWN, "by frames")
            equal(outcome(each), b"", "then the end")
        except (wire.Closed, ConnectionResetError):
            pass


def held_answers(own, other):
    faults = Faults()
    with Directory() as path, Server(*SMALL) as primary, \
            durable(path, "always", *SMALL[4:], environment=faults.environment()) as server:
        for key in range(own):
            server.ask("SET", key, key)
        for key in range(other):
            primary.ask("SET", 1000 + key, key)
        plain, framed = waiting(server, faults, 5000)
        with server.replies() as reader:
            equal(reader.ask("REPLICAOF", "127.0.0.1", primary.port), "OK", "it follows")
            closed(plain, framed, faults)
            caught_up(primary, server)
            equal(reader.ask("EXISTS", *range(5000, 5200)), 0, "the writes are undone")


@case
def held_answers_of_the_one_ahead():
    """REPLICAOF while writes wait for a slow sync: they are cut or get OUTCOME_UNKNOWN (lower new sequences)"""
    held_answers(60, 3)


@case
def held_answers_of_the_one_behind():
    """REPLICAOF while writes wait for a slow sync: they are cut or get OUTCOME_UNKNOWN (higher new sequences)"""
    held_answers(3, 60)


@case
def held_answers_in_a_cluster():
    """a topology replaces the primary while writes wait for a slow sync: cut, or OUTCOME_UNKNOWN"""
    faults = Faults()
    with Directory() as path, \
            Node(0, "--data-dir", str(path), "--appendonly", "yes", "--appendfsync", "always", *SMALL,
                 environment=faults.environment()) as server, Node(1, *SMALL) as other:
        def text(epoch, primary):
            nodes = [{"port": node.port, "id": node_id(number), "shard": "s0",
                      **({"slots": [[0, 16383]]} if number == primary else {"role": "replica"})}
                     for number, node in enumerate((server, other))]
            return topology(epoch, sorted(nodes, key=lambda node: "role" in node))
        for node in (server, other):
            node.set_topology(text(1, 0))
        eventually(lambda: info(other)["master_link_status"] == "up", "a replica")
        plain, framed = waiting(server, faults, 5000)
        server.set_topology(text(2, 1))
        closed(plain, framed, faults)
        other.set_topology(text(2, 1))
        caught_up(other, server)


@case
def undone_is_not_durable():
    """WAITAOF of a write that REPLICAOF has undone replies 0, also after NO ONE; a later write is durable"""
    with Directory() as path, Server(*SMALL) as other, durable(path, "no", *SMALL[4:]) as server:
        for key in range(50):
            other.ask("SET", key, 1)
        with server.replies() as replies, server.replies() as reader:
            replies.ask("SET", 1000, 7)
            equal(replies.ask("WAITAOF", 1, 0, 20000), [1, 0], "durable")
            reader.ask("REPLICAOF", "127.0.0.1", other.port)
            caught_up(other, server)
            check("WAITAOF cannot be used with replica" in str(replies.ask("WAITAOF", 1, 0, 20000)), "a replica")
            reader.ask("REPLICAOF", "NO", "ONE")
            equal(replies.ask("EXISTS", 1000), 0, "undone")
            began = time.monotonic()
            equal(replies.ask("WAITAOF", 1, 0, 60000), [0, 0], "it is not there")
            check(time.monotonic() - began < 30, "and nobody waits for it")
            replies.ask("SET", 1001, 7)
            equal(replies.ask("WAITAOF", 1, 0, 20000), [1, 0], "a later one")


@case
def waitaof_ends():
    """a pending WAITAOF ends with an error when its server becomes a replica, as in redis"""
    faults = Faults()
    with Directory() as path, Server(*SMALL) as other, \
            durable(path, "no", *SMALL[4:], environment=faults.environment()) as server, server.replies() as replies:
        faults.words.spare_small = 1
        faults.sync.held = 1
        replies.ask("SET", 1, 7)
        replies.socket.sendall(wire.command("WAITAOF", 1, 0, 0))
        eventually(lambda: faults.sync.waiting > 0, "a sync")
        eventually(lambda: server.metrics()["sherwood_blocked_clients"] == 1, "WAITAOF waits")
        server.ask("REPLICAOF", "127.0.0.1", other.port)
        reply = str(replies.read())
        check("UNBLOCKED force unblock" in reply, f"it ends: {reply}")
        equal(server.metrics()["sherwood_blocked_clients"], 0, "nobody waits")
        faults.sync.end()


@case
def numbers_of_another_log():
    """WAIT_DURABLE refuses sequences from before its server took a primary's data.
    Clients that wrote by frames are disconnected."""
    with Directory() as path, Server(*SMALL) as other, durable(path, "no", *SMALL[4:]) as server:
        for key in range(50):
            other.ask("SET", key, 1)

        def hello(connection):
            return wire.call(connection, wire.HELLO).info[14]

        def wait(connection, sequence, life):
            header = wire.field(1, 1) + wire.field(2, 41) + b"".join(
                wire.field(n, v) for n, v in ((18, sequence), (19, life), (20, 20000)))
            return wire.exchange(connection, wire.envelope(header))

        with server.connect() as writer, server.connect() as reader:
            life = hello(writer)
            equal(hello(reader), life, "one log")
            equal(wire.call(writer, wire.SET, [1000], [1]).write_sequence, 1, "a write")
            equal(wait(reader, 1, life).durable_through, 1, "durable")
            server.ask("REPLICAOF", "127.0.0.1", other.port)
            equal(outcome(writer), b"", "who wrote is disconnected")
            caught_up(other, server)
            server.ask("REPLICAOF", "NO", "ONE")
            reply = wait(reader, 1, life)
            equal(reply.status, wire.BAD_REQUEST, "a number of before")
            equal(outcome(reader), b"", "and the end: HELLO tells the new log")
        with server.connect() as again:
            now = hello(again)
            check(now != life, "another log")
            equal(wait(again, 50, now).durable_through, 50, "its numbers")


@case
def silent_resolver():
    """a resolver without a reply blocks neither REPLICAOF NO ONE, nor another primary, nor the stop"""
    faults = Faults()
    with Server(*SMALL) as primary, Server(*SMALL, environment=faults.environment()) as server:
        primary.ask("SET", 1, 1)
        faults.words.silent = 1
        for turn in range(20): # no more threads than there may be
            equal(server.ask("REPLICAOF", f"host{turn}.example", 1), "OK", "it follows a name")
            eventually(lambda t=turn: faults.asking >= min(t + 1, 16), "the resolver is asked")
            equal(server.ask("REPLICAOF", "NO", "ONE"), "OK", "a primary again")
        check(faults.asking <= 16, "look-ups at a time")
        equal(server.ask("REPLICAOF", "127.0.0.1", primary.port), "OK", "an address needs no resolver")
        caught_up(primary, server)
        server.ask("REPLICAOF", "other.example", 1)
        server.stop()
        faults.words.silent = 0


@case
def large_frames():
    """a write larger than the backlog reaches a replica that has all earlier writes, without a snapshot"""
    flags = ("--capacity", "512K", "--frame-ops-max", "131072", "--repl-backlog-bytes", "1M")
    with Server(*flags) as primary, Server("--replicaof", f"127.0.0.1 {primary.port}", *flags) as replica, \
            primary.connect() as connection:
        caught_up(primary, replica)
        for turn in range(5):
            equal(wire.call(connection, wire.SET, range(1, 120_001), [turn] * 120_000).status, wire.OK, "written")
            caught_up(primary, replica)
        equal(info(replica)["sherwood_resyncs"], "1", "snapshots")


# --- the role, over a restart ---------------------------------------------------------------------
def node(path, *flags, **how):
    """Returns a server with a log that replies only to durable writes."""
    return durable(path, "always", *SMALL[4:], *flags, **how)


def role_of(server):
    words = server.ask("ROLE")
    return words[0] if words[0] == b"master" else (words[0], words[2])


def replicaof(server):
    return server.ask("CONFIG", "GET", "replicaof")[1].decode()


def asides(path):
    return sorted(each.name for each in path.glob("discarded-*"))


@case
def promoted_and_killed():
    """after REPLICAOF NO ONE, writes and kill -9, the same command line starts a primary with its writes"""
    with Directory() as path, Server(*SMALL) as primary:
        same = ("--replicaof", f"127.0.0.1 {primary.port}")
        primary.ask("SET", 1, 1)
        with to_be_killed(node(path, *same)) as server:
            caught_up(primary, server)
            equal(replicaof(server), same[1], "CONFIG GET of a replica")
            equal(server.ask("REPLICAOF", "NO", "ONE"), "OK", "promoted")
            equal(replicaof(server), "", "CONFIG GET of a primary")
            with server.replies() as replies:
                replies.ask("MSET", 10, 1, 11, 1)
                equal(replies.ask("WAITAOF", 1, 0, 20000), [1, 0], "durable")
            server.kill()
        for _ in range(2):
            with to_be_killed(node(path, *same)) as server:
                equal((role_of(server), server.ask("MGET", 1, 10, 11)), (b"master", [b"1"] * 3), "a primary")
                check("though replicaof is 127.0.0.1" in server.log(), "in words")
                equal(server.ask("SET", 12, 1), "OK", "it takes writes")
                server.kill()
        with node(path, "--replicaof", f"localhost {primary.port}") as server: # another option is a newer decision
            caught_up(primary, server)
            equal(role_of(server), (b"slave", primary.port), "a replica")
            check("the option is newer" in server.log(), "in words")
        (kept,) = asides(path)
        with node(path / kept, errors="x") as server:
            equal(server.ask("MGET", 1, 10, 11, 12), [b"1"] * 4, "the writes that the other primary lacks are aside")
        with node(path, *same) as server:
            equal(role_of(server), (b"slave", primary.port), "the role of before is forgotten")


@case
def replica_by_command():
    """a server that REPLICAOF made a replica stays one after kill -9 and a stop; its own writes are archived"""
    with Directory() as path, Server(*SMALL) as primary:
        primary.ask("MSET", 1, 1, 2, 2)
        with to_be_killed(node(path)) as server:
            server.ask("SET", 100, 7)
            equal(server.ask("REPLICAOF", "127.0.0.1", primary.port), "OK", "it follows")
            equal(replicaof(server), f"127.0.0.1 {primary.port}", "CONFIG GET")
            server.kill()
        with to_be_killed(node(path)) as server:
            caught_up(primary, server)
            equal(role_of(server), (b"slave", primary.port), "after kill -9")
            answer = str(server.ask("SET", 1, 2))
            check("READONLY" in answer, f"it takes no writes: {answer}")
        with node(path) as server:
            equal(role_of(server), (b"slave", primary.port), "after another")
            equal(info(server)["sherwood_resyncs"], "0", "resumed")
        (kept,) = asides(path)
        with node(path / kept) as server:
            equal((role_of(server), server.ask("GET", 100)), (b"master", b"7"), "what it had is aside")
        with node(path) as server:
            equal(server.ask("REPLICAOF", "NO", "ONE"), "OK", "promoted again")
        with node(path) as server:
            equal(role_of(server), b"master", "a primary")
            equal(server.ask("MGET", 1, 2), [b"1", b"2"], "with the data of the other")
            equal(server.ask("REPLICAOF", "127.0.0.1", primary.port), "OK", "back, with no write of its own")
            caught_up(primary, server)
        equal(asides(path), [kept], "nothing more is kept aside")


@case
def started_as_a_replica():
    """a start with replicaof on a primary's data archives them; if it cannot, it follows nobody and says why"""
    with Directory() as path, Server(*SMALL) as primary:
        primary.ask("SET", 1, 1)
        with node(path) as server:
            server.ask("SET", 100, 7)
        (path / "discarded-other").mkdir()
        flags = ("--replicaof", f"127.0.0.1 {primary.port}", "--ha-discarded-max")
        with node(path, *flags, "1") as server:
            eventually(lambda: "cannot be archived, so the server keeps them" in server.log(), "in words")
            check("raise --ha-discarded-max" in server.log(), "what to do")
            equal(server.ask("MGET", 100, 1), [b"7", None], "it has its own data, and serves them")
        with node(path, *flags, "2") as server:
            caught_up(primary, server)
        (kept, _) = asides(path)
        with node(path / kept) as server:
            equal(server.ask("GET", 100), b"7", "aside")


@case
def aside_without_a_log():
    """without a log, REPLICAOF first writes a snapshot, so that the archived files have every write"""
    with Directory() as path, Server(*SMALL) as primary, Server(*SMALL, "--data-dir", str(path)) as server:
        primary.ask("SET", 1, 1)
        server.ask("SET", 100, 7)
        server.ask("REPLICAOF", "127.0.0.1", primary.port)
        caught_up(primary, server)
        (kept,) = asides(path)
        with Server(*SMALL, "--data-dir", str(path / kept)) as other:
            equal(other.ask("GET", 100), b"7", "aside")


@case
def rewritten():
    """CONFIG REWRITE writes the current role, and the next start has it, also without a data directory"""
    with Directory() as path, Server(*SMALL) as primary:
        primary.ask("SET", 1, 1)
        file, data = path / "conf", path / "data"
        data.mkdir()
        here = f"127.0.0.1 {primary.port}"
        for flags in ((), ("--data-dir", str(data), "--appendonly", "yes")):
            file.write_text("[replication]\n", encoding="ascii")
            lines = lambda: [l.strip() for l in file.read_text(encoding="ascii").splitlines() if l.startswith("replicaof")]
            flags = ("--config", str(file), *SMALL, *flags)
            with Server(*flags) as server:
                server.ask("REPLICAOF", "127.0.0.1", primary.port)
                equal(server.ask("CONFIG", "REWRITE"), "OK", "a replica")
                equal(lines(), [f"replicaof = {here}"], "the line")
            with Server(*flags) as server:
                caught_up(primary, server)
                equal((role_of(server), replicaof(server)), ((b"slave", primary.port), here), "a replica")
                server.ask("REPLICAOF", "NO", "ONE")
                equal(server.ask("CONFIG", "REWRITE"), "OK", "a primary")
                equal(lines(), ["replicaof ="], "the line")
                server.ask("SET", 2, 2)
            with Server(*flags) as server:
                equal((role_of(server), replicaof(server)), (b"master", ""), "a primary")
                server.ask("REPLICAOF", "127.0.0.1", primary.port)
                equal(server.ask("CONFIG", "REWRITE"), "OK", "a replica")
                caught_up(primary, server)
                equal(server.ask("REPLICAOF", "NO", "ONE"), "OK", "a primary") # and not written: the data directory has it
            with Server(*flags) as server:
                equal(role_of(server), b"master" if "--data-dir" in flags else (b"slave", primary.port), "as redis")
            with Server(*flags, "--replicaof", here) as server: # a flag says the same as the file
                equal(role_of(server), b"master" if "--data-dir" in flags else (b"slave", primary.port), "as before")


@case
def role_file():
    """a role that cannot be written is refused without a change; an invalid role file ends the start with the reason"""
    with Directory() as path, Server(*SMALL) as primary:
        primary.ask("SET", 1, 1)
        follow = ("REPLICAOF", "127.0.0.1", primary.port)
        with node(path) as server:
            (path / "new-role").mkdir() # no file can be written there
            check("role cannot be written" in str(server.ask(*follow)), "refused")
            equal((role_of(server), server.ask("SET", 2, 2)), (b"master", "OK"), "nothing has changed")
            (path / "new-role").rmdir()
            equal(server.ask(*follow), "OK", "once more")
            caught_up(primary, server)
            (path / "new-role").mkdir()
            check("role cannot be written" in str(server.ask("REPLICAOF", "NO", "ONE")), "refused")
            equal(role_of(server)[0], b"slave", "nothing has changed")
            primary.ask("SET", 3, 3)
            caught_up(primary, server)
            (path / "new-role").rmdir()
            equal(server.ask("REPLICAOF", "NO", "ONE"), "OK", "once more")
        for text in ("", "sherwood-role 1\n", "sherwood-role 1\nprimary\nreplicaof x", "sherwood-role 1\nreplica of \nreplicaof \n",
                     "sherwood-role 2\nprimary\nreplicaof \n", "sherwood-role 1\nprimary\nreplicaof \n\n"):
            (path / "role").write_text(text, encoding="ascii")
            raises(AssertionError, "is damaged, so the role that REPLICAOF set is unknown: remove it", node(path).start)


if __name__ == "__main__":
    main()
