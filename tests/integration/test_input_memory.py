#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Unfinished requests: their memory is bounded, reported, and freed."""

import time

import wire
from harness import BUILD, Moves, SANITIZED, Server, case, check, equal, eventually, main, run

MIB = 1 << 20


def begin(server, size, announced=4000000):
    """Returns a connection that has sent the first bytes of a larger request."""
    connection = server.connect()
    try:
        connection.sendall(b"*2\r\n$4\r\nECHO\r\n$%d\r\n" % announced + b"x" * size)
    except OSError:
        pass  # it was closed for the memory it held
    return connection


def used(server):
    return server.metrics()["sherwood_input_memory_bytes"]


def last_words(connection):
    """Returns what a connection received before it was closed."""
    connection.settimeout(20)
    told = b""
    try:
        while True:
            part = connection.recv(65536)
            if not part:
                break
            told += part
    except ConnectionResetError:
        pass
    return told


@case
def given_back():
    """the memory of large unfinished requests returns to the system when their connections close"""
    with Server("--input-bytes-max", "512M") as server:
        for each, count in ((3900000, 40), (1000000, 100), (60000, 1000)):
            before = server.resident_bytes()
            for _ in range(3):
                connections = [begin(server, each) for _ in range(count)]
                eventually(lambda: used(server) > 0.9 * each * count, "received")
                for connection in connections:
                    connection.close()
                eventually(lambda: server.connections() == 0, "closed")
                equal(used(server), 0, "sherwood_input_memory_bytes")
            kept = server.resident_bytes() - before
            # ASan keeps freed memory, so the limit does not apply there.
            check(kept < 24 * MIB or SANITIZED, f"{count} x {each} bytes: {kept} bytes were kept")


@case
def bounded():
    """input-bytes-max bounds the sum; the connection with the most gets an error, is closed and counted"""
    most = 32 * MIB
    # The small request is unfinished until all of this has been checked.
    with Server("--input-bytes-max", str(most), "--loops", "1", "--request-timeout-ms", "600000") as server:
        equal(server.metrics()["sherwood_input_memory_max_bytes"], most, "the gauge of it")
        with server.connect() as honest, begin(server, 2000, 100000) as small:
            before = server.resident_bytes()
            connections = [begin(server, 1000000 + 50000 * i, 4000000) for i in range(40)]
            eventually(lambda: server.metrics()["sherwood_input_memory_closes_total"] >= 8,
                       "connections were closed")
            for _ in range(50):
                check(used(server) <= most, f"{used(server)} bytes in use")
                equal(wire.Replies(honest).ask("SET", 1, 1), "OK", "another client")
            grown = server.resident_bytes() - before
            check(grown < 1.5 * most or SANITIZED, f"resident memory grew by {grown}")
            small.sendall(b"x" * 98000 + b"\r\n")
            equal(len(wire.Replies(small).read()), 100000, "a small request goes on")
            closes = server.metrics()["sherwood_input_memory_closes_total"]
            told = 0
            for connection in connections:
                connection.setblocking(False)
                try:
                    told += b"input-bytes-max" in connection.recv(65536)
                except (BlockingIOError, ConnectionResetError):
                    pass
            check(told >= closes - 2, f"{told} of {closes} were told")
            for connection in connections:
                connection.close()
        eventually(lambda: used(server) == 0, "all is given back")


@case
def small_requests_go_on():
    """small requests are served while large ones on every loop use up input-bytes-max"""
    with Server("--input-bytes-max", "16M", "--loops", "2") as server:
        large = [begin(server, 3000000) for _ in range(30)]
        eventually(lambda: server.metrics()["sherwood_input_memory_closes_total"] > 0, "full")
        for i in range(60):
            with server.connect() as small:
                request = wire.command("MSET", *range(2000))
                small.sendall(request[:7000])
                time.sleep(0.005)
                small.sendall(request[7000:])
                equal(wire.Replies(small).read(), "OK", f"small request {i}")
        for connection in large:
            connection.close()


@case
def announced():
    """a large request of which only the announcement arrives costs at most 8 KiB of input memory"""
    with Server() as server:
        connections = [begin(server, 100) for _ in range(200)]
        for connection in connections:
            connection.sendall(b"x")
        eventually(lambda: server.metrics()["sherwood_net_input_bytes_total"] >= 200 * 100, "sent")
        check(used(server) <= 200 * 8192, f"{used(server)} bytes")
        for connection in connections:
            connection.close()


@case
def told_in_a_frame():
    """a frame tells a bulk client that connections-max is reached, and sherwood-cli prints it"""
    with Server("--connections-max", "2") as server:
        two = [server.connect() for _ in range(2)]
        for connection in two:
            equal(wire.Replies(connection).ask("PING"), "PONG", "PING")
        with Moves(server, connections_rejected=3):
            with server.connect() as third:
                reply = wire.call(third, wire.HELLO)
                equal((reply.status, reply.request_id), (wire.TOO_MANY_CONNECTIONS, 0), "status")
                equal(third.recv(100), b"", "closed")
            with server.connect() as third:
                third.sendall(wire.command("PING"))
                equal(last_words(third), b"-ERR max number of clients reached\r\n", "in RESP")
            said = run(BUILD / "sherwood-cli", "-p", server.port, "get", 1, rc=None)
            check("connections" in said and "check the port" not in said, said)
        for connection in two:
            connection.close()


if __name__ == "__main__":
    main()
