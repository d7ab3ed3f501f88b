#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Clients that exceed limits: slow readers, floods of connections, a full table."""

import socket
import threading
import time

import wire
from harness import (Bystander, Moves, Server, SLOWER, case, check, equal, eventually, main)


def fill_pipe(connection, data, seconds=2.0):
    """Sends data over and over without reading, until the peer takes no more for a while."""
    connection.setblocking(False)
    sent, last = 0, time.monotonic()
    while time.monotonic() - last < seconds:
        try:
            count = connection.send(data[sent % len(data):])
            sent += count
            last = time.monotonic()
        except BlockingIOError:
            time.sleep(0.01)
        except OSError:
            return sent, True
        if sent > 1 << 30:
            break
    return sent, False


def narrow(server):
    """Returns a connection with a small receive buffer, so that the daemon soon cannot send."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect((server.host, server.port))
    return connection


@case
def never_reads_resp():
    """a RESP client that never reads is paused, its memory is bounded, and it is closed at write-timeout"""
    with Server("--write-timeout-ms", "3000", "--output-bytes-pause", "64K") as server:
        with server.connect() as helper:
            for at in range(0, 1000, 100):
                wire.Replies(helper).ask("MSET", *[v for k in range(at, at + 100)
                                                   for v in (k, 2**64 - 1)])
        with Bystander(server) as bystander:
            before = server.resident_bytes()
            with Moves(server, write_timeouts=1, request_timeouts=0, resp_protocol_errors=0):
                connection = narrow(server)
                pauses = server.metrics()["sherwood_output_pauses_total"]
                sent, closed = fill_pipe(connection, wire.command("MGET", *range(1000)) * 20, 1.0)
                check(not closed, "closed while it could only have been paused")
                check(sent < 64 << 20, f"{sent} bytes were taken from a client that never reads")
                eventually(lambda: server.metrics()["sherwood_output_pauses_total"] > pauses, "output_pauses")
                bystander.ask()
                grown = server.resident_bytes() - before
                check(grown < 24 << 20, f"resident memory grew by {grown}")
                eventually(lambda: server.connections() == bystander.before, "closed")
            connection.close()


@case
def never_reads_bulk():
    """a bulk client that never reads is paused, its memory is bounded, and it is closed at write-timeout"""
    with Server("--write-timeout-ms", "3000", "--output-bytes-pause", "64K") as server, \
            Bystander(server) as bystander:
        before = server.resident_bytes()
        with Moves(server, write_timeouts=1, request_timeouts=0, frame_protocol_errors=0):
            connection = narrow(server)
            frame = wire.frame(wire.GET, list(range(4096)), want_values=True)
            sent, closed = fill_pipe(connection, frame, 1.0)
            check(not closed, "closed while it could only have been paused")
            check(sent < 64 << 20, f"{sent} bytes were taken from a client that never reads")
            bystander.ask()
            # The arena of 16 MiB a loop is the bound.
            grown = server.resident_bytes() - before
            check(grown < 48 << 20, f"resident memory grew by {grown}")
            eventually(lambda: server.connections() == bystander.before, "closed")
        connection.close()


@case
def output_limit():
    """a client whose replies exceed output-bytes-max is closed and counted, and its memory is freed"""
    with Server("--output-bytes-pause", "32K", "--output-bytes-max", "512K",
                "--resp-request-bytes-max", "16M", "--arena-bytes", "64M") as server:
        with Bystander(server) as bystander:
            with Moves(server, output_limit_closes=1, write_timeouts=0):
                connection = narrow(server)
                # One command whose answer is 13 MB: more than the kernel takes.
                connection.sendall(wire.command("ECHO", "x" * 13000000))
                eventually(lambda: server.connections() == bystander.before, "closed")
            connection.close()
            bystander.ask()


@case
def least_output_limit():
    """with the lowest output-bytes-max a slow client gets the longest MGET and SCAN"""
    with Server("--output-bytes-pause", "4K", "--output-bytes-max", "64K", "--tcp-buffer-bytes",
                "16K", "--capacity", "32K") as server, server.connect() as helper:
        most = int(wire.Replies(helper).ask("CONFIG", "GET", "resp-arguments-max")[1])
        check(2000 < most < 2500, f"{most} arguments")
        keys = [2**64 - 1 - k for k in range(20000)]
        for at in range(0, len(keys), 1000):
            wire.Replies(helper).ask("MSET", *[v for k in keys[at:at + 1000] for v in (k, k)])
        slow = narrow(server)
        with Moves(server, output_limit_closes=0, output_pauses=2):
            for command in (("MGET", *keys[:most - 1]), ("SCAN", 0, "COUNT", 1000000)):
                pauses = server.metrics()["sherwood_output_pauses_total"]
                slow.sendall(wire.command(*command))
                eventually(lambda: server.metrics()["sherwood_output_pauses_total"] > pauses, "a pause")
                answer = wire.Replies(slow).read()
                got = {int(key) for key in (answer if command[0] == "MGET" else answer[1])}
                check(got <= set(keys) and len(got) > 2000, f"{command[0]}: {len(got)} of {most}")
        slow.sendall(wire.command("MGET", *keys[:most]))
        check(isinstance(wire.Replies(slow).read(), wire.Error), "one argument more")
        slow.close()


@case
def slow_reader():
    """a client that reads late gets every reply, in order"""
    with Server("--output-bytes-pause", "64K") as server:
        connection = narrow(server)
        count = 40000
        data = b"".join(wire.command("ECHO", "x" * 1000 + str(i)) for i in range(count))
        connection.setblocking(False)
        sent = stalled = 0
        while stalled < 20:
            try:
                sent += connection.send(data[sent:sent + 65536])
                stalled = 0
                if sent == len(data):
                    break
            except BlockingIOError:
                stalled += 1
                time.sleep(0.01)
        check(sent < len(data), "all commands were taken although nothing was read")
        replies = wire.Replies(connection)
        connection.settimeout(60 * SLOWER) # for all that is sent
        sender = threading.Thread(target=connection.sendall, args=(data[sent:],))
        sender.start()
        for i in range(count):
            equal(replies.read(), b"x" * 1000 + str(i).encode(), f"answer {i}")
        sender.join()
        connection.close()


@case
def thousand_connections():
    """1,000 connections that leave in every state, 3 times: all close, and no memory is kept"""
    with Server("--request-timeout-ms", "20000") as server, Bystander(server) as bystander:
        accepted = server.metrics()["sherwood_connections_accepted_total"]

        def wave(number):
            sockets = [server.connect() for _ in range(1000)]
            for i, connection in enumerate(sockets):
                connection.sendall((b"", b"*", wire.command("GET", 1), b"\xd5SW",
                                    wire.frame(wire.PING), wire.command("MGET", *range(200)),
                                    wire.frame(wire.SET, [1], [2])[:100])[i % 7])
            bystander.ask()
            for i, connection in enumerate(sockets):
                if i % 3 == 0:  # reset instead of an orderly end
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
                connection.close()
            eventually(lambda: server.metrics()["sherwood_connections_accepted_total"] == accepted + 1000 * number, "all accepted")
            eventually(lambda: server.connections() == bystander.before, "all closed")
        wave(1)
        kept, files = server.resident_bytes(), server.open_files()
        wave(2)
        wave(3)
        grown = server.resident_bytes() - kept
        check(grown < (8 << 20) * min(SLOWER, 4), f"resident memory grew by {grown}")
        check(server.open_files() <= files + 2, "open files")


@case
def connections_max():
    """connections-max: one client more gets an error in its protocol, is closed and counted"""
    with Server("--connections-max", "10") as server:
        sockets = [server.connect() for _ in range(10)]
        for connection in sockets:
            equal(wire.Replies(connection).ask("PING"), "PONG", "PING")
        with Moves(server, connections_rejected=3):
            for _ in range(3):
                with server.replies() as replies:
                    equal(replies.read(), "ERR max number of clients reached", "the eleventh")
                    check(replies.closed(), "not closed")
        for connection in sockets:
            equal(wire.Replies(connection).ask("PING"), "PONG", "PING of the ten")
        sockets.pop().close()
        def served():
            return server.ask("PING") == "PONG"
        eventually(served, "a place that became free is given away")
        for connection in sockets:
            connection.close()


@case
def idle_timeout():
    """idle-timeout closes a client without requests, and keeps one with requests"""
    with Server("--idle-timeout-ms", "3000") as server:
        began = time.monotonic()
        busy, idle = server.connect(), server.connect()
        with Moves(server, idle_timeouts=1):
            idle.settimeout(0.05)
            while time.monotonic() - began < 20:
                equal(wire.Replies(busy).ask("PING"), "PONG", "PING")
                try:
                    if idle.recv(10) == b"":
                        break
                except TimeoutError:
                    continue
            check(2.8 < time.monotonic() - began < 20, "idle for the time given")
            equal(wire.Replies(busy).ask("PING"), "PONG", "PING")
        busy.close()
        idle.close()


@case
def table_full_refused_counter():
    """operations refused for lack of room are counted as refused, and as nothing else"""
    with Server("--capacity", "4K", "--max-load", "0.5") as server, server.connect() as connection:
        equal(wire.call(connection, wire.SET, list(range(2000)), list(range(2000))).status, wire.OK, "2,000 keys")
        with Moves(server, refused_operations=1000, inserted=0, updated=0, frame_errors=1):
            equal(wire.call(connection, wire.SET, list(range(5000, 6000)), [1] * 1000).status, wire.OUT_OF_MEMORY, "1,000 more")


if __name__ == "__main__":
    main()
