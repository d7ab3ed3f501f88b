#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The limit of open files: the daemon serves fewer connections, and no client waits for a descriptor."""

import contextlib
import os
import pathlib
import resource
import signal
import socket
import subprocess
import time

import wire
from harness import DAEMON, Moves, Server, case, check, equal, eventually, main


def limited(files):
    """Starts a program with a hard limit of open files."""
    return ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh"]


@case
def a_low_limit_lowers_maxclients():
    """ulimit -n 128: INFO and CONFIG GET show the lower limit, one client more is refused, pages are served"""
    with Server("--loops", "1", wrapper=limited(128), errors="the limit of open files") as server:
        replies = wire.Replies(server.connect())
        most = int(replies.ask("CONFIG", "GET", "maxclients")[1])
        check(20 <= most < 64, f"{most} clients")
        check(b"maxclients:%d\r\n" % most in replies.ask("INFO", "clients"), "INFO")
        equal(server.metrics()["sherwood_clients_max"], most, "sherwood_clients_max")
        log = server.log_path.read_text()
        check(f"the limit of open files is 128: at most {most} connections are served "
              "(connections-max 10000)" in log, log)
        error = replies.ask("CONFIG", "SET", "maxclients", 5000)
        check("the limit of open files allows" in str(error), error)
        error = replies.ask("CONFIG", "SET", "maxclients", 5000, "timeout", 10)
        check("argument 'maxclients'" in str(error) and "the limit of open files allows" in str(error), error)
        equal(replies.ask("CONFIG", "SET", "maxclients", most), "OK", "what is possible")
        others = [server.connect() for _ in range(most - 1)]
        for connection in others:
            equal(wire.Replies(connection).ask("PING"), "PONG", "PING")
        with Moves(server, connections_rejected=1), server.connect() as extra:
            equal(wire.Replies(extra).read(), "ERR max number of clients reached", "one more")
        equal(server.http("/healthz")[0], 200, "/healthz")
        for connection in others:
            connection.close()


@case
def a_limit_below_its_own_needs_is_named():
    """ulimit -n 16: the start fails with status 2 and names the limit"""
    flags = ["--backend", "cpu", "--port", "0", "--http-port", "0", "--capacity", "64K", "--loops", "1"]
    run = subprocess.run(limited(16) + [str(DAEMON)] + flags, capture_output=True, text=True, timeout=60)
    equal(run.returncode, 2, "status")
    check("the limit of open files is 16, and the server needs at least" in run.stderr, run.stderr)


def lasting_descriptors(server):
    """The daemon's descriptors without those that a thread has open for a moment, such as of /proc."""
    directory = f"/proc/{server.pid()}/fd"
    before = {}
    while True:
        now = {}
        for name in os.listdir(directory):
            with contextlib.suppress(FileNotFoundError):
                now[int(name)] = os.readlink(f"{directory}/{name}")
        if now == before:
            return set(now)
        before = now
        time.sleep(0.02)


def is_stopped(pid):
    """Returns whether the process is stopped by SIGSTOP."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].startswith("T")


def use_up(server, clients):
    """Opens clients until the daemon's descriptors have no gaps, then lowers its limit to their number."""
    while True:
        used = lasting_descriptors(server)
        if len(used) == max(used) + 1:
            break
        clients.append(server.connect())
        equal(wire.Replies(clients[-1]).ask("PING"), "PONG", "PING")
    before = resource.prlimit(server.pid(), resource.RLIMIT_NOFILE)
    resource.prlimit(server.pid(), resource.RLIMIT_NOFILE, (len(used), before[1]))
    return before


@case
def without_descriptors_nobody_waits():
    """at the limit of open files, clients of RESP, frames and HTTP are refused at once"""
    with Server("--loops", "1", errors="was refused: accept: Too many open files") as server:
        clients = [server.connect()]
        equal(wire.Replies(clients[0]).ask("PING"), "PONG", "PING")
        before = use_up(server, clients)
        for _ in range(3):
            with server.replies() as replies:
                equal(replies.read(), "ERR max number of clients reached", "RESP")
                check(replies.closed(), "not closed")
        server.process.send_signal(signal.SIGSTOP)  # so that the frame is there when it is accepted
        eventually(lambda: is_stopped(server.pid()), "the server has stopped")
        with server.connect() as extra:
            extra.sendall(wire.frame(wire.PING))
            server.process.send_signal(signal.SIGCONT)
            equal(wire.read_frame(extra).status, wire.TOO_MANY_CONNECTIONS, "frames")
        with socket.create_connection((server.host, server.http_port), 20) as page:
            page.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            check(page.recv(1 << 16).startswith(b"HTTP/1.1 503 "), "/healthz")
        for client in clients:
            equal(wire.Replies(client).ask("GET", 1), None, "those that are served")
        resource.prlimit(server.pid(), resource.RLIMIT_NOFILE, before)
        eventually(lambda: server.http("/healthz")[0] == 200, "/healthz again")
        equal(server.ask("PING"), "PONG", "PING")
        check(server.metrics()["sherwood_connections_rejected_total"] >= 4, "rejected")
        for client in clients:
            client.close()


main()
