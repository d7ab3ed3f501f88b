#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A server that changes its role: what waits for its log, and numbers of writes of another history."""

import time

import wire
from data_directory import Directory, durable
from faults import Faults
from harness import Server, case, check, equal, eventually, main
from replication import SMALL, ask, caught_up, info, session


def number(server):
    """The number of the server's last write."""
    return int(info(server)["master_repl_offset"])


def waiting(server, faults, first):
    """Three writes by RESP and three by frames, none of which the log has answered."""
    plain, framed = [], []
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
    """What a client hears by RESP: nothing but the end of the connection."""
    try:
        return connection.recv(100)
    except ConnectionResetError:
        return b""


def held_answers(own, other):
    faults = Faults()
    with Directory() as path, Server(*SMALL) as primary, \
            durable(path, "always", *SMALL[4:], environment=faults.environment()) as server:
        for key in range(own):
            ask(server, "SET", key, key)
        for key in range(other):
            ask(primary, "SET", 1000 + key, key)
        plain, framed = waiting(server, faults, 5000)
        with session(server) as reader:
            equal(reader.ask("REPLICAOF", "127.0.0.1", primary.port), "OK", "it follows")
            equal([outcome(each) for each in plain], [b""] * 3, "no answer, and the end")
            faults.sync.end()
            for each in framed:
                try:
                    equal(wire.read_frame(each).status, wire.OUTCOME_UNKNOWN, "by frames")
                    equal(outcome(each), b"", "then the end")
                except (wire.Closed, ConnectionResetError):
                    pass
            caught_up(primary, server)
            equal(reader.ask("EXISTS", *range(5000, 5200)), 0, "the writes are undone")


@case
def held_answers_of_the_one_ahead():
    """REPLICAOF while writes wait for a slow sync: they hear nothing, or that their outcome is unknown (its numbers are higher)"""
    held_answers(60, 3)


@case
def held_answers_of_the_one_behind():
    """the same, where the numbers of the new primary are higher"""
    held_answers(3, 60)


@case
def undone_is_not_durable():
    """WAITAOF of a write that REPLICAOF has undone says no, on the replica and after NO ONE; a later write is durable"""
    with Directory() as path, Server(*SMALL) as other, durable(path, "no", *SMALL[4:]) as server:
        for key in range(50):
            ask(other, "SET", key, 1)
        with session(server) as replies, session(server) as reader:
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
    """a WAITAOF that waits when its server becomes a replica ends with an error, as in redis"""
    faults = Faults()
    with Directory() as path, Server(*SMALL) as other, \
            durable(path, "no", *SMALL[4:], environment=faults.environment()) as server, session(server) as replies:
        faults.sync.held = 1
        replies.ask("SET", 1, 7)
        replies.socket.sendall(wire.command("WAITAOF", 1, 0, 0))
        eventually(lambda: faults.sync.waiting > 0, "a sync")
        ask(server, "REPLICAOF", "127.0.0.1", other.port)
        check("UNBLOCKED force unblock" in str(replies.read()), "it ends")
        faults.sync.end()


@case
def numbers_of_another_log():
    """WAIT_DURABLE takes no number from before the server took the data of a primary; who wrote by frames is disconnected"""
    with Directory() as path, Server(*SMALL) as other, durable(path, "no", *SMALL[4:]) as server:
        for key in range(50):
            ask(other, "SET", key, 1)

        def hello(connection):
            connection.sendall(wire.frame(wire.HELLO))
            return wire.read_frame(connection).info[14]

        def wait(connection, sequence, life):
            header = wire.field(1, 1) + wire.field(2, 41) + b"".join(
                wire.field(n, v) for n, v in ((18, sequence), (19, life), (20, 20000)))
            connection.sendall(wire.envelope(header))
            return wire.read_frame(connection)

        with server.connect() as writer, server.connect() as reader:
            life = hello(writer)
            equal(hello(reader), life, "one log")
            writer.sendall(wire.frame(wire.SET, [1000], [1]))
            equal(wire.read_frame(writer).write_sequence, 1, "a write")
            equal(wait(reader, 1, life).durable_through, 1, "durable")
            ask(server, "REPLICAOF", "127.0.0.1", other.port)
            equal(outcome(writer), b"", "who wrote is disconnected")
            caught_up(other, server)
            equal(wait(reader, 1, life).status, wire.NOT_PRIMARY, "a replica")
            ask(server, "REPLICAOF", "NO", "ONE")
            reply = wait(reader, 1, life)
            equal(reply.status, wire.BAD_REQUEST, "a number of before")
            equal(outcome(reader), b"", "and the end: HELLO tells the new log")
        with server.connect() as again:
            now = hello(again)
            check(now != life, "another log")
            equal(wait(again, 50, now).durable_through, 50, "its numbers")


if __name__ == "__main__":
    main()
