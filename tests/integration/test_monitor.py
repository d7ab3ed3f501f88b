#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""MONITOR: the lines of redis, from all loops, without secrets; monitors are bounded and do not disturb other clients."""

import re
import socket
import tempfile
import threading

import wire
from harness import Moves, Server, at_once, case, check, equal, eventually, main, redis_server
from people import guarded, session

SCRIPT = ["SET 1 2", "get 1", "NOSUCH", "GET", "MULTI", "SET 1 5", "GET 1", "EXEC", "MULTI", "DISCARD", "EXEC",
          "MULTI", "GET", "EXEC", "HELLO 3", "HELLO 2 SETNAME x", "HELLO 3 AUTH default secret", "AUTH secret",
          "AUTH default secret", "CONFIG GET port", "CLIENT SETNAME a",
          "CLIENT LIST", "CLIENT KILL ID 99999", "CLIENT GETNAME", "ACL WHOAMI", "ACL LIST", "ACL SETUSER x >secret",
          "ACL DELUSER x", "COMMAND COUNT", "INFO clients", "SLOWLOG LEN", "LATENCY LATEST", "PING", "PING x",
          'ECHO "a\\x01\\n\\r\\t\\a\\b\\"\\\\z\\xff \'"', 'ECHO ""', "INCR 1", "EXISTS 1 2 3", "SELECT 0", "SELECT 99",
          "DBSIZE", "WAIT 0 0", "OBJECT ENCODING 1", "SAVE x", "CLIENT PAUSE 0", "MGET 1 2", "DEL 1", "MONITOR x", "RESET",
          "PING last"]


class Monitor(wire.Replies):
    def __init__(self, connection):
        super().__init__(connection)
        equal(self.ask("MONITOR"), "OK", "MONITOR")

    def until(self, word):
        """Returns the lines up to the one with this word."""
        lines = []
        while not lines or word not in lines[-1]:
            lines.append(self.line().decode("latin-1"))
        return lines


def without_times(lines):
    for line in lines:
        check(re.match(r"^\+\d{10}\.\d{6} \[0 ", line), line)
    return [line.split(" ", 1)[1] for line in lines]


@case
def as_redis_shows_it():
    """a script prints the lines that redis prints, except time and address, and no password"""
    def shown(path):
        with socket.socket(socket.AF_UNIX) as one, socket.socket(socket.AF_UNIX) as two:
            for connection in (one, two):
                connection.settimeout(30)
                connection.connect(path)
            monitor = Monitor(one)
            replies = wire.Replies(two)
            for line in SCRIPT:
                two.sendall((line + "\r\n").encode())
                replies.read()
            lines = monitor.until("last")
            check(not any("secret" in line for line in lines), lines)
            return [line.replace(path, "PATH") for line in without_times(lines)]
    with redis_server() as path, tempfile.TemporaryDirectory(prefix="sherwood-") as directory, \
            Server("--unix-socket", directory + "/socket"):
        wanted, got = shown(path), shown(directory + "/socket")
    for i, line in enumerate(wanted):
        equal(got[i] if i < len(got) else "nothing", line, f"line {i} of {got}")
    equal(len(got), len(wanted), "lines")


@case
def all_loops():
    """two monitors show each command of pipelines on four loops once, in the order of its connection"""
    count = 300
    with Server("--loops", "4") as server:
        monitors = [Monitor(server.connect()) for _ in range(2)]

        def work(i):
            with server.connect() as connection:
                replies = wire.Replies(connection)
                for first in range(0, count, 10):
                    connection.sendall(b"".join(wire.command("GET", f"{i}{k:05}") for k in range(first, first + 10)))
                    for _ in range(10):
                        replies.read()
        at_once(work, [(i,) for i in range(1, 9)])
        server.ask("ECHO", "over")
        for monitor in monitors:
            seen = {}
            for line in without_times(monitor.until("over"))[:-1]:
                address, command, key = re.match(r'\[0 (\S+)\] "(\w+)" "(\d+)"$', line).groups()
                equal(command, "GET", line)
                seen.setdefault(address, []).append(key)
            equal(sorted(seen.values()), [[f"{i}{k:05}" for k in range(count)] for i in range(1, 9)], "commands")
            monitor.socket.close()


@case
def bounded():
    """monitors-max is a limit; a monitor that does not read is closed alone; RESET and a close end monitoring"""
    with Server("--monitors-max", "2", "--output-bytes-max", "1M", "--output-bytes-pause", "64K") as server, \
            server.connect() as connection:
        replies = wire.Replies(connection)
        first, second = Monitor(server.connect()), Monitor(server.connect())
        refused = replies.ask("MONITOR")
        check(isinstance(refused, wire.Error) and "monitors-max" in refused, refused)
        second.socket.sendall(wire.command("RESET"))
        while (line := second.line()) != b"+RESET":
            check(b'"RESET"' not in line, line)
        deaf = Monitor(server.connect())
        done, seen = threading.Event(), []

        def read():
            for line in iter(first.line, None):
                if b'"over"' in line:
                    done.set()
                    return
                seen.append(b'"ECHO"' in line)
        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        with Moves(server, output_limit_closes=1):
            sent = 0
            while server.metrics()["sherwood_output_limit_closes_total"] == 0:
                connection.sendall(wire.command("ECHO", "x" * 20000) * 20)
                sent += 20
                for _ in range(20):
                    replies.read()
                # Less than the limit is on its way to the monitor that reads, however slow it is.
                eventually(lambda sent=sent: seen.count(True) >= sent, "the other monitor reads", 60)
        replies.ask("ECHO", "over")
        check(done.wait(60), "the other monitor has all lines")
        deaf.socket.close()
        equal(replies.ask("CONFIG", "SET", "monitors-max", 0), "OK", "CONFIG SET")
        check(isinstance(replies.ask("MONITOR"), wire.Error), "none are allowed")
        eventually(lambda: replies.ask("CLIENT", "LIST").decode().count("flags=O ") == 1, "one is left")
        first.socket.close()
        eventually(lambda: replies.ask("CLIENT", "LIST").decode().count("flags=O ") == 0, "it is gone")


@case
def silent():
    """an idle monitor stays open when idle connections are closed"""
    with Server() as server, server.connect() as connection:
        monitor = Monitor(server.connect())
        with Moves(server, idle_timeouts=1):
            equal(wire.Replies(connection).ask("CONFIG", "SET", "timeout", 1), "OK", "CONFIG SET")
        with server.connect() as other:
            other.sendall(wire.command("CONFIG", "SET", "timeout", 0) + wire.command("ECHO", "still"))
            monitor.until("still")


@case
def passwords():
    """MONITOR and SLOWLOG show no password of HELLO, with any number of AUTH and any client name"""
    with Server("--slowlog-log-slower-than", "0") as server, server.connect() as connection:
        monitor, replies = Monitor(server.connect()), wire.Replies(connection)
        for words in ("AUTH default secret", "SETNAME AUTH AUTH default secret", "AUTH default secret SETNAME x",
                      "AUTH default secret AUTH default secret", "AUTH AUTH secret AUTH default secret x",
                      "x AUTH default secret"):
            replies.ask("HELLO", 2, *words.split())
        replies.ask("ECHO", "over")
        lines = monitor.until("over")
        check(len(lines) == 7 and not any("secret" in line for line in lines), lines)
        log = str(replies.ask("SLOWLOG", "GET", -1))
        check("HELLO" in log and "secret" not in log, log)


@case
def who_may():
    """only users with +monitor and all keys may monitor; one that is deleted or limited sees nothing more"""
    with guarded() as server, server.connect() as stranger:
        said = wire.Replies(stranger).ask("MONITOR")
        check(said.startswith("NOAUTH"), said)
        admin = session(server, "default", "top")
        equal(admin.ask("ACL", "SETUSER", "reader", "on", ">r", "~*", "+@read"), "OK", "SETUSER")
        equal(admin.ask("ACL", "SETUSER", "watcher", "on", ">w", "~1-9", "+monitor"), "OK", "SETUSER")
        said = session(server, "watcher", "w").ask("MONITOR")
        check(said.startswith("NOPERM") and "all keys" in said, said)
        equal(admin.ask("ACL", "SETUSER", "watcher", "~*"), "OK", "SETUSER")
        said = session(server, "reader", "r").ask("MONITOR")
        check(said.startswith("NOPERM"), said)
        watcher = Monitor(session(server, "watcher", "w").socket)
        admin.ask("GET", "77")
        check('"77"' in watcher.until("GET")[-1], "GET is shown")
        equal(admin.ask("ACL", "SETUSER", "watcher", "resetkeys", "~1-9"), "OK", "SETUSER")
        admin.ask("GET", "78")
        equal(watcher.socket.recv(1000), b"", "a user who is limited to keys meanwhile")
        equal(admin.ask("ACL", "SETUSER", "watcher", "~*"), "OK", "SETUSER")
        watcher = Monitor(session(server, "watcher", "w").socket)
        equal(admin.ask("ACL", "DELUSER", "watcher"), 1, "DELUSER")
        eventually(lambda: "user=watcher" not in admin.ask("CLIENT", "LIST").decode(), "it is closed")


if __name__ == "__main__":
    main()
