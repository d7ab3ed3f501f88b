#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Invalid RESP input: the protocol's own error, at most that connection is closed, and all others are served."""

import random
import socket
import time

import wire
from harness import Bystander, Moves, Server, at_once, case, check, drawn_seed, equal, eventually, main

FLAGS = ("--request-timeout-ms", "60000", "--resp-arguments-max", "1000",
         "--resp-request-bytes-max", "128K")

# What is sent, and the text after "Protocol error: ", as in redis.
MALFORMED = {
    "a count that is no number": (b"*x\r\n", "invalid multibulk length"),
    "a count that is too large": (b"*2147483648\r\n", "invalid multibulk length"),
    "more arguments than allowed": (b"*1001\r\n", "invalid multibulk length"),
    "a count line that never ends": (b"*" + b"1" * 70000, "too big mbulk count string"),
    "no bulk string": (b"*1\r\n:1\r\n", "expected '$', got ':'"),
    "nested arrays": (b"*1\r\n*1\r\n*1\r\n$4\r\nPING\r\n", "expected '$', got '*'"),
    "a bulk length that is no number": (b"*1\r\n$x\r\n", "invalid bulk length"),
    "a negative bulk length": (b"*1\r\n$-1\r\n", "invalid bulk length"),
    "a bulk length of 512 GB": (b"*1\r\n$549755813888\r\n", "invalid bulk length"),
    "a bulk length line that never ends": (b"*1\r\n$" + b"1" * 70000, "too big bulk count string"),
    "an inline line that never ends": (b"A" * 70000, "too big inline request"),
    "unbalanced quotes": (b'SET 1 "2\r\n', "unbalanced quotes in request"),
}


def reply_then_close(server, data, before=()):
    """Sends data; returns the lines that come before the end of the stream."""
    with server.connect() as connection:
        try:
            connection.sendall(b"".join(before) + data)
        except OSError:
            pass  # the daemon may have closed before it read everything
        got = b""
        try:
            while True:
                part = connection.recv(65536)
                if not part:
                    return got
                got += part
        except ConnectionResetError:
            return got


@case
def malformed():
    """a malformed command gets redis's error, closes its own connection only, and counts once"""
    with Server(*FLAGS) as server, Bystander(server) as bystander:
        for what, (data, text) in MALFORMED.items():
            with Moves(server, resp_protocol_errors=1, request_timeouts=0):
                got = reply_then_close(server, data)
                equal(got.decode(), f"-ERR Protocol error: {text}\r\n", what)
            bystander.ask()


@case
def earlier_commands():
    """the commands before a protocol error in a pipeline are executed and answered first"""
    with Server(*FLAGS) as server, Bystander(server):
        with Moves(server, resp_protocol_errors=1):
            before = [wire.command("SET", i, i + 1) for i in range(50)]
            before += [wire.command("GET", i) for i in range(50)]
            got = reply_then_close(server, b"*1\r\n:1\r\n" + wire.command("SET", 0, 99), before)
        wanted = b"+OK\r\n" * 50 + b"".join(b"$%d\r\n%d\r\n" % (len(str(i + 1)), i + 1)
                                            for i in range(50))
        equal(got, wanted + b"-ERR Protocol error: expected '$', got ':'\r\n", "replies")
        equal(server.ask("GET", 0), b"1", "nothing after the error was done")


@case
def reply_that_is_too_long():
    """a report longer than the limit of replies gets an error; the connection stays open, nothing is logged"""
    with Server("--resp-arguments-max", "128K") as server, server.connect() as connection:
        replies = wire.Replies(connection)
        equal(str(replies.ask("COMMAND", "INFO", *["get"] * 100000))[:100],
              "ERR the reply to 'command' would be longer than the limit: request less", "a long one")
        check(isinstance(replies.ask("COMMAND", "INFO", *["get"] * 10), list), "a short one")
        connection.sendall(wire.command("CLIENT", "REPLY", "SKIP") +
                           wire.command("COMMAND", "INFO", *["get"] * 100000))
        equal(replies.ask("PING"), "PONG", "after one whose reply was skipped")


@case
def error_in_the_middle():
    """an error of one command in a pipeline: all others are answered in order, and the connection stays open"""
    with Server(*FLAGS) as server, Bystander(server), server.connect() as connection:
        with Moves(server, command_errors=3, resp_protocol_errors=0, commands_processed=7):
            connection.sendall(wire.command("SET", 1, 10) + wire.command("SET", 1, "x")
                               + wire.command("GET", 1) + wire.command("GET")
                               + wire.command("INCRBY", 1, 5) + wire.command("NOSUCH", "a b")
                               + wire.command("GET", 1))
            replies = wire.Replies(connection)
            got = [replies.read() for _ in range(7)]
        check(got[0] == "OK" and got[2] == b"10" and got[4] == 15 and got[6] == b"15", got)
        check(all(isinstance(got[i], wire.Error) for i in (1, 3, 5)), got)


@case
def half_a_command():
    """half a command, then silence: the connection closes at request-timeout, not before"""
    def silent_after(half):
        with Server(*FLAGS, "--request-timeout-ms", "1000") as server, Bystander(server) as bystander:
            with Moves(server, request_timeouts=1, resp_protocol_errors=0):
                with server.connect() as connection:
                    began = time.monotonic()
                    connection.sendall(half)
                    time.sleep(0.5)
                    bystander.ask()
                    while connection.recv(4096):
                        pass
                    took = time.monotonic() - began
                    check(0.9 < took < 20, f"{half!r}: closed after {took:.1f} s")

    at_once(silent_after, [(b"*",), (b"*3\r\n$3\r\nSET\r\n$1\r\n1\r\n",),
                           (b"*1\r\n$4\r\nPI",), (b"GET 1",)], 4)


@case
def slow_command():
    """a command that arrives byte by byte within request-timeout is answered"""
    with Server(*FLAGS) as server, server.connect() as connection:
        data = wire.command("SET", 1, 2) * 3
        for i in range(len(data)):
            connection.sendall(data[i:i + 1])
            time.sleep(0.005)
        replies = wire.Replies(connection)
        equal([replies.read() for _ in range(3)], ["OK"] * 3, "replies")


@case
def dripping_command():
    """a long command whose last length arrives byte by byte is refused before it costs the loop much time"""
    with Server("--request-timeout-ms", "60000") as server, Bystander(server) as bystander:
        count = 100000
        with server.connect() as connection, Moves(server, resp_protocol_errors=1):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sendall(b"*%d\r\n$4\r\nMGET\r\n" % count + b"$7\r\n1234567\r\n" * (count - 2))
            connection.sendall(b"$")
            sent = 0
            try:
                for sent in range(5000):
                    connection.sendall(b"0")
                    time.sleep(0.001)  # or the daemon would read several at once
                    if sent % 100 == 0:
                        bystander.ask()
            except OSError:
                pass
            check(sent < 4999, "5,000 single bytes were all taken")
        bystander.ask()


@case
def http_on_the_data_port():
    """POST and Host: on the data port close the connection and execute nothing"""
    with Server(*FLAGS) as server, Bystander(server):
        for data in (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nSET 1 2\r\n",
                     b"Host: x\r\nSET 1 2\r\n", b"post / HTTP/1.1\r\n\r\nSET 1 2\r\n"):
            got = reply_then_close(server, data)
            check(b"+OK" not in got, got)
        equal(server.ask("EXISTS", 1), 0, "nothing was executed")


@case
def oversized():
    """a command larger than resp-request-bytes-max is refused, and its bytes are not kept"""
    with Server(*FLAGS) as server, Bystander(server):
        before = server.resident_bytes()
        with Moves(server, resp_protocol_errors=1):
            got = reply_then_close(server, b"*3\r\n$3\r\nSET\r\n$1\r\n1\r\n$100000000\r\n" + b"9" * 200000)
            check(got.startswith(b"-ERR Protocol error: "), got[:80])
        with Moves(server, resp_protocol_errors=1):
            got = reply_then_close(server, b"*900\r\n$3\r\nDEL\r\n" + b"$200\r\n%b\r\n" % (b"0" * 200) * 899)
            check(got.startswith(b"-ERR Protocol error: "), got[:80])
        check(server.resident_bytes() < before + (8 << 20), "resident memory")


@case
def garbage():
    """random bytes of 300 connections: the daemon serves others, and its memory does not grow"""
    rng = random.Random(drawn_seed())
    words = [b"*", b"$", b"\r\n", b"3", b"-1", b"SET", b"GET", b"1", b"\x00", b"\xd5", b"\xd5SW\x01",
             b"99999999999", b'"', b"'", b"\\x", b" ", b":", b"%", b"*1\r\n$4\r\nPING\r\n"]
    with Server("--request-timeout-ms", "300") as server, Bystander(server) as bystander:
        def burst(count):
            for i in range(count):
                with server.connect() as connection:
                    data = b"".join(rng.choice(words) for _ in range(rng.randrange(1, 200)))
                    if i % 3 == 0:
                        data = rng.randbytes(rng.randrange(1, 3000))
                    try:
                        connection.sendall(data)
                        connection.settimeout(0.01)
                        connection.recv(4096)
                    except OSError:
                        pass
                if i % 50 == 0:
                    bystander.ask()
        burst(150)
        eventually(lambda: server.connections() == bystander.before, "connections closed")
        before, files = server.resident_bytes(), server.open_files()
        burst(150)
        eventually(lambda: server.connections() == bystander.before, "connections closed")
        grown = server.resident_bytes() - before
        check(grown < 4 << 20, f"resident memory grew by {grown}")
        check(server.open_files() <= files + 2, "open files")


@case
def log_flood():
    """500 HTTP requests on the RESP port: the log has 10 lines of them, and a counter has the rest"""
    with Server() as server:
        for _ in range(500):
            with server.connect() as connection:
                connection.sendall(b"POST / HTTP/1.1\r\n\r\n")
                connection.settimeout(20)
                try:
                    while connection.recv(4096):
                        pass
                except ConnectionResetError:
                    pass
        lines = server.log().count("speaks HTTP to the RESP port")
        equal(lines, 10, "lines of the log")
        equal(server.metrics()["sherwood_log_lines_left_out_total"], 490, "lines left out")


if __name__ == "__main__":
    main()
