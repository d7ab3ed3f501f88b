#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Connections that wait for a slow peer, a busy loop or the stop: none is forgotten."""

import signal
import socket
import struct
import threading
import time

import wire
from harness import Moves, Server, SLOWER, case, check, equal, eventually, main, send_beside


def narrow(server):
    """Returns a connection with a small receive buffer, so that the daemon soon cannot send."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.settimeout(20 * SLOWER)
    connection.connect((server.host, server.port))
    return connection


@case
def paused_is_not_late():
    """a request that the daemon stopped reading does not time out, whole or in part"""
    count, text = 200, "x" * 100000
    with Server("--request-timeout-ms", "3000", "--idle-timeout-ms", "3000") as server:
        with Moves(server, request_timeouts=0, idle_timeouts=0, commands_processed=count):
            connection = narrow(server)
            sender = send_beside(connection, wire.command("ECHO", text) * count)
            eventually(lambda: server.metrics()["sherwood_output_pauses_total"] > 0, "paused")
            time.sleep(3.5)
            replies = wire.Replies(connection)
            for at in range(count):
                check(replies.read() == text.encode(), f"answer {at}")
            sender.join()
        connection.close()


@case
def body_paused_is_not_late():
    """a bulk frame whose body the daemon stopped reading does not time out"""
    count, keys = 60, list(range(20000))
    with Server("--request-timeout-ms", "3000", "--idle-timeout-ms", "3000") as server:
        with Moves(server, request_timeouts=0, idle_timeouts=0, frames_processed=count):
            connection = narrow(server)
            sender = send_beside(connection, wire.frame(wire.GET, keys, want_values=True) * count)
            eventually(lambda: server.metrics()["sherwood_output_pauses_total"] > 0, "paused")
            time.sleep(3.5)
            for at in range(count):
                equal(wire.read_frame(connection).status, wire.OK, f"answer {at}")
            sender.join()
        connection.close()


@case
def read_ahead_is_paused():
    """commands read before the pause also wait for the client to read, and all are answered"""
    count = 3000 # the server reads them at once; their replies have more bytes than --output-bytes-max allows
    with Server("--output-bytes-max", "24M") as server:
        with server.connect() as helper:
            helper.sendall(b"COMMAND\r\nPING\r\n")
            size = 0
            while True:
                data = helper.recv(1 << 16)
                size += len(data)
                if data.endswith(b"+PONG\r\n"):
                    break
        size -= len(b"+PONG\r\n")
        check(count * size > 2 * (24 << 20), f"{size} bytes a reply")
        with Moves(server, output_limit_closes=0, commands_processed=count):
            connection = narrow(server)
            connection.sendall(b"COMMAND\r\n" * count)
            time.sleep(1.0)
            received = 0
            while received < count * size:
                data = connection.recv(1 << 20)
                check(data, f"closed after {received} of {count * size} bytes")
                received += len(data)
        equal(received, count * size, "bytes")
        connection.close()


@case
def long_scan_leaves_others_their_turn():
    """RANDOMKEY over a large empty table does not block other connections"""
    searches = 30
    with Server("--capacity", "16M", "--loops", "1") as server:
        searcher, other = server.connect(), wire.Replies(server.connect())
        other.ask("PING")
        replies = wire.Replies(searcher)

        def pings_beside():
            searcher.sendall(wire.command("RANDOMKEY") * searches)
            pings, done = 0, threading.Event()

            def read():
                for _ in range(searches):
                    equal(replies.read(), None, "a key of an empty table")
                done.set()
            threading.Thread(target=read, daemon=True).start()
            while not done.is_set():
                equal(other.ask("PING"), "PONG", "PING")
                pings += 1
            return pings
        eventually(lambda: pings_beside() > 5 * searches, f"more than {5 * searches} answers beside {searches} searches")


@case
def scan_within_small_limits():
    """SCAN and RANDOMKEY work with batches smaller than their usual number of entries"""
    with Server("--frame-ops-max", "64", "--round-ops-max", "8", "--resp-arguments-max",
                "8") as server:
        replies = wire.Replies(server.connect())
        for key in range(500):
            equal(replies.ask("SET", key, key), "OK", "SET")
        check(int(replies.ask("RANDOMKEY")) < 500, "RANDOMKEY")
        seen, cursor = [], b"0"
        while True:
            cursor, keys = replies.ask("SCAN", cursor, "COUNT", 1000)
            check(len(keys) <= 64, "entries of a batch")
            seen += keys
            if cursor == b"0":
                break
        equal(sorted(map(int, seen)), list(range(500)), "keys")


@case
def a_pause_is_counted_once():
    """a connection that waits for room in the batch counts as paused once, whatever the attempts"""
    count = 1000
    with Server("--frame-ops-max", "64", "--round-ops-max", "8", "--resp-arguments-max", "8",
                "--loops", "1") as server:
        with server.connect() as connection:
            replies = wire.Replies(connection)
            connection.sendall(b"GET 1\r\n" * count)
            for _ in range(count):
                equal(replies.read(), None, "GET")
        pauses = server.metrics()["sherwood_round_pauses_total"]
        check(1 <= pauses <= 3, f"{pauses} pauses")  # one a read, and the kernel may split it


def stop_behind(server, requests):
    """Returns a connection whose `requests` arrive just before the stop, while the loop is busy."""
    busy, asked = server.connect(), server.connect()
    for connection in (busy, asked):
        wire.call(connection, wire.PING)
    count = 1 << 20
    body = struct.pack(f"<{count}Q", *range(count))
    work = wire.envelope(wire.header_of(wire.GET, count=count, key_bytes=8, value_bytes=8), body)
    busy.sendall(work[:-64])
    time.sleep(0.3)
    busy.sendall(work[-64:])
    time.sleep(0.003)
    asked.sendall(requests)
    server.process.send_signal(signal.SIGTERM)
    return asked


@case
def stalled_requests_are_answered_at_the_stop():
    """frames that wait behind another one are all answered at a stop, or none"""
    ping = wire.frame(wire.PING)
    for _ in range(3):
        with Server("--frame-ops-max", "1M", "--arena-bytes", "64M", "--loops", "1",
                    "--threads", "1") as server:
            asked = stop_behind(server, wire.frame(wire.GET, [1]) + wire.frame(wire.STATS) + ping * 3)
            data = b""
            try:
                while part := asked.recv(1 << 16):
                    data += part
            except ConnectionResetError:
                pass
            # All of it if it was received before the stop, or nothing: never a part.
            frames = data.count(wire.MAGIC)
            check(frames in (0, 5), f"{frames} of 5 requests were answered")
            server.wait_stopped()


@case
def small_answers_take_little_memory():
    """requests whose replies are not read are not read without limit: each costs more than its bytes"""
    lanes, count = 10, 30000
    requests = (wire.frame(wire.PING) + wire.envelope(wire.header_of(99))) * (count // 2)
    with Server("--loops", "1") as server:
        with server.connect() as before:
            wire.call(before, wire.PING)
        resident = server.resident_bytes()
        connections = [narrow(server) for _ in range(lanes)]
        senders = [send_beside(connection, requests) for connection in connections]
        received = [0]

        def settled():
            """Returns whether the daemon has read all requests, or pauses connections and reads no more."""
            now, before = server.metrics(), received[0]
            received[0] = now["sherwood_net_input_bytes_total"]
            return received[0] == before and (now["sherwood_paused_clients"] > 0 or before >= lanes * len(requests))
        eventually(settled, lambda: f"all is read, or connections are paused: {received[0]} of {lanes * len(requests)} bytes are read")
        grown = server.resident_bytes() - resident
        for connection in connections:
            for at in range(count):
                wanted = wire.UNKNOWN_OPERATION if at % 2 else wire.OK
                equal(wire.read_frame(connection).status, wanted, f"answer {at}")
            connection.close()
        for sender in senders:
            sender.join()
        check(grown < (32 << 20) * SLOWER, f"the daemon grew by {grown} bytes")


main()
