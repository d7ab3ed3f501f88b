#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Counters, strings and locks in rows of strings with names as keys: golden/strings.txt has a session with redis 7.0.15, whose
replies are compared byte by byte. Where redis-server is installed, it answers the session again."""

import pathlib
import shlex
import shutil
import socket
import threading

import wire
from data_directory import Directory
from harness import Server, Skip, case, check, equal, main, redis_server
from replication import ask, caught_up

GOLDEN = pathlib.Path(__file__).parent / "golden" / "strings.txt"
FLAGS = ("--backend", "cpu", "--capacity", "1K", "--resp-keys", "hash", "--resp-key-text-bytes", "30", "--value-bytes", "68",
         "--value-type", "string", "--frame-ops-max", "512", "--round-ops-max", "1024")
ROOM = 64
FAR = 4102444800 # seconds since 1970: no test comes so far


class Raw(wire.Replies):
    """Replies as their bytes."""

    def line(self):
        line = super().line()
        self.taken += line + b"\r\n"
        return line

    def exactly(self, size):
        data = super().exactly(size)
        self.taken += data
        return data

    def bytes_of(self, *words):
        self.taken = b""
        self.ask(*words)
        return self.taken


def shown(reply):
    return reply.decode("latin-1").encode("unicode_escape").decode()


def session(connection):
    """The lines of the golden file, as this connection answers."""
    replies = Raw(connection)
    lines = []
    for line in GOLDEN.read_text(encoding="ascii").splitlines():
        if line.startswith("> "):
            words = [word.encode().decode("unicode_escape") for word in shlex.split(line[2:])]
            lines += [line, shown(replies.bytes_of(*words))]
        elif line.startswith("#"):
            lines.append(line)
    return lines


@case
def as_redis():
    """a session of counters, strings, times and transactions: every reply is that of redis"""
    wanted = GOLDEN.read_text(encoding="ascii").splitlines()
    with Server(*FLAGS) as server:
        for i, line in enumerate(session(server.connect())):
            equal(line, wanted[i], wanted[i - 1])
    if shutil.which("redis-server"):
        with redis_server() as path:
            theirs = socket.socket(socket.AF_UNIX)
            theirs.connect(path)
            equal(session(theirs), wanted, "redis itself")


if __name__ == "__main__":
    main()
