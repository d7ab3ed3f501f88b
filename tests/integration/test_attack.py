#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Attacks by strangers, with and without logins: damaged frames and commands, requests whose replies nobody reads,
connections that never log in. No attack reaches the table, others are served, and memory stays within the documented
bounds."""

import random
import resource
import socket
import time

import wire
from harness import SANITIZED, SLOWER, Server, Skip, case, check, drawn_seed, equal, eventually, main
from people import NOAUTH, guarded, session, text

MIB = 1 << 20


class Watched:
    """A bystander with a login. Keys, batches and memory must not change while its block runs."""

    def __init__(self, server, *login, memory=32 * MIB):
        self.server, self.memory = server, memory
        self.known = session(server, *login)
        self.took = []

    def __enter__(self):
        equal(self.known.ask("SET", "7", "42"), "OK", "SET")
        self.batches = self.server.metrics()["sherwood_batches_total"]
        self.resident = self.server.resident_bytes()
        return self

    def look(self):
        """Checks that the bystander is served at once."""
        began = time.monotonic()
        equal(self.known.ask("PING"), "PONG", "PING")
        self.took.append(time.monotonic() - began)
        grown = self.server.resident_bytes() - self.resident
        check(grown < self.memory * SLOWER, f"memory grew by {grown}")

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.look()
            # Not the worst: the machine may have been busy once.
            check(sorted(self.took)[len(self.took) // 2] < 2 * SLOWER, f"PINGs took {self.took}")
            equal(self.server.metrics()["sherwood_batches_total"], self.batches, "batches")
            equal(text(self.known.ask("GET", "7")), "42", "GET")
            equal(self.known.ask("DBSIZE"), 1, "DBSIZE")


def throw(server, data):
    """Sends the bytes on a new connection and returns what comes back soon."""
    with server.connect() as connection:
        connection.settimeout(0.005)
        got = b""
        try:
            connection.sendall(data)
            while chunk := connection.recv(65536):
                got += chunk
        except OSError:
            pass
        return got


def damaged(data):
    """Returns the bytes with up to three of them changed, cut, or inserted."""
    data = bytearray(data)
    for _ in range(random.randrange(4)):
        at = random.randrange(len(data))
        kind = random.randrange(3)
        if kind == 0:
            data[at] = random.randrange(256)
        elif kind == 1:
            data[at:at] = random.randbytes(random.randrange(1, 9))
        else:
            del data[at:at + random.randrange(1, 9)]
        if not data:
            return b"\0"
    return bytes(data)


@case
def damaged_frames_before_login():
    """no frame of a client without a login reaches the table, whether it is whole or damaged at random"""
    random.seed(drawn_seed())
    with guarded() as server, Watched(server, "default", "top") as watched:
        for i in range(400 // SLOWER):
            keys = [random.randrange(99) for _ in range(random.randrange(12))]
            operation = random.choice([*range(1, 21), *range(33, 46), 90])
            throw(server, damaged(wire.frame(operation, keys, keys if random.random() < 0.6 else None)))
            if i % 50 == 0:
                watched.look()


@case
def damaged_commands_before_login():
    """no command before a login reaches the table: damaged, in pipelines, in transactions and inline"""
    random.seed(drawn_seed())
    commands = [("SET", "7", "1"), ("DEL", "7"), ("MSET", "1", "1", "2", "2"), ("FLUSHALL",), ("MULTI",), ("EXEC",),
                ("INCR", "7"), ("GET", "7"), ("SCAN", "0"), ("CONFIG", "SET", "maxclients", "1"), ("SHUTDOWN",),
                ("RESIZE", "8"), ("HELLO", "3"), ("AUTH", "alice", "x"), ("ACL", "SETUSER", "x", "on", "nopass", "+@all"),
                ("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "no"), ("RESET",), ("SAVE",), ("DEBUG", "SLEEP", "9")]
    with guarded() as server, Watched(server, "default", "top") as watched:
        for i in range(400 // SLOWER):
            several = b"".join(random.choice((
                wire.command(*words), " ".join(words).encode() + b"\r\n"))
                for words in random.choices(commands, k=random.randrange(1, 6)))
            got = throw(server, damaged(several))
            check(b"+QUEUED" not in got and b"42" not in got, got)
            if i % 50 == 0:
                watched.look()


def flood(server, watched, request, connections):
    """Opens `connections` connections. They send requests while one of them accepts some, for at most two seconds, and
    read no reply."""
    sockets = []
    data = request * (256 * 1024 // len(request))
    sent = 0
    for _ in range(connections):
        connection = server.connect()
        connection.setblocking(False)
        sockets.append(connection)
    begun = last = time.monotonic()
    while time.monotonic() < min(last + 0.5, begun + 2):
        before = sent
        for connection in sockets:
            try:
                sent += connection.send(data)
            except OSError:
                pass # it takes no more, or was closed
        watched.look()
        if sent > before:
            last = time.monotonic()
        else:
            time.sleep(0.02)
    for connection in sockets:
        connection.close()
    check(sent >= connections * 1024, f"{sent} bytes were sent")


@case
def unread_replies():
    """60 connections request the longest replies and read none: memory is bounded, and others are served"""
    longest = (b"COMMAND\r\n", b"INFO everything\r\n", wire.command("COMMAND", "DOCS"))
    # SW_LOGIN_REQUEST_BYTES_MAX, SW_LOGIN_OUTPUT_BYTES_PAUSE, SW_ITERATION_TEXT_BYTES each; SW_RESP_BATCH_TEXT_BYTES_MAX of all
    with guarded() as server, \
            Watched(server, "default", "top", memory=60 * (16 + 16 + 64 << 10) + 16 * MIB) as watched:
        for request in longest:
            flood(server, watched, request, 60)
        reply = session(server).ask("COMMAND")
        check(reply == NOAUTH, reply)
    # without logins output-bytes-max and SW_READ_BYTES each
    with Server("--output-bytes-max", "2M", "--output-bytes-pause", "256K") as server, \
            Watched(server, memory=60 * (2 * MIB + (256 << 10)) + 16 * MIB) as watched:
        for request in longest:
            flood(server, watched, request, 60)


def many_connections(count):
    """Raises the limit of connections of this process and its daemons, or skips the case."""
    need = count + 2000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < need:
        raise Skip(f"a process may have {hard} descriptors here, and this needs {need}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, need), hard))


# A busy machine may take a minute until all have connected, and no time-out may close the first of them meanwhile.
PATIENT = ("--login-timeout-ms", "600000", "--request-timeout-ms", "600000")
HALF = b"*3\r\n$4\r\nAUTH\r\n$5\r\nalice\r\n$16000\r\n" + b"x" * 15900


@case
def ten_thousand_half_logins():
    """10,000 connections that send most of an AUTH take 18 KiB each at most, and others are served"""
    count = 1000 if SANITIZED else 10000
    many_connections(count)
    with guarded("--connections-max", "12000", "--connections-before-login-max", "12000", "--input-bytes-max", "1G",
                 *PATIENT) as server, \
            Watched(server, "default", "top", memory=count * (18 << 10) + 8 * MIB) as watched:
        sockets = []
        for i in range(count):
            connection = socket.create_connection((server.host, server.port), timeout=60)
            connection.sendall(HALF)
            sockets.append(connection)
            if i % 1000 == 0:
                watched.look()
        def arrived():
            metrics = server.metrics()
            return (metrics["sherwood_connections_without_login"] == count and
                    metrics["sherwood_net_input_bytes_total"] >= count * len(HALF))
        eventually(arrived, "all of it has arrived", 240)
        watched.look()
        print(f"# {count} of them: {(server.resident_bytes() - watched.resident) / count / 1024:.1f} KiB each", flush=True)
        for connection in sockets:
            connection.close()
        eventually(lambda: server.metrics()["sherwood_connections_without_login"] == 0, "they are gone", 240)


@case
def limit_of_strangers():
    """10,000 connections do not log in: connections-before-login-max keeps 1,000 open, and bounds their memory"""
    count = 1500 if SANITIZED else 10000
    many_connections(count)
    with guarded("--connections-max", "12000", *PATIENT) as server, \
            Watched(server, "default", "top", memory=1000 * (18 << 10) + 16 * MIB) as watched:
        sockets = []
        for i in range(count):
            connection = socket.create_connection((server.host, server.port), timeout=60)
            try:
                connection.sendall(HALF)
            except OSError:
                pass # it was refused before that
            sockets.append(connection)
            if i % 1000 == 0:
                watched.look()
        eventually(lambda: server.metrics()["sherwood_login_limit_refusals_total"] == count - 1000, "the others are refused",
                   60)
        eventually(lambda: server.metrics()["sherwood_connections_without_login"] == 1000, "those who wait are left", 60)
        watched.look()
        equal(still_open(sockets), 1000, "connections that are open")
        for connection in sockets:
            connection.close()


def still_open(sockets):
    """Returns the number of connections that the server has not closed."""
    count = 0
    for connection in sockets:
        connection.setblocking(False)
        try:
            connection.recv(1)
        except BlockingIOError:
            count += 1
        except OSError:
            pass
    return count


if __name__ == "__main__":
    main()
