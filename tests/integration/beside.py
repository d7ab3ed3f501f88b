# SPDX-License-Identifier: MIT
"""A connection to the daemon and one to a redis-server, whose replies are compared."""

import socket

import wire
from harness import check, equal


class Both:
    """A connection to each of the two servers; ask() compares the bytes of their replies."""

    def __init__(self, server, path, version):
        theirs = socket.socket(socket.AF_UNIX)
        theirs.connect(path)
        self.ours, self.theirs = Recorded(server.connect()), Recorded(theirs)
        for replies in (self.ours, self.theirs):
            check("HELLO" and not isinstance(replies.ask("HELLO", version), wire.Error), "HELLO")

    def ask(self, *words):
        """Returns the reply. Two errors are equal if their first words are."""
        ours, theirs = self.ours.ask(*words), self.theirs.ask(*words)
        if isinstance(ours, wire.Error) and isinstance(theirs, wire.Error):
            equal(ours.split()[0], theirs.split()[0], words)
        else:
            equal(self.ours.taken, self.theirs.taken, words)
        return ours

    def close(self):
        self.ours.socket.close()
        self.theirs.socket.close()


class Recorded(wire.Replies):
    """Replies, and the bytes of the last one in `taken`."""

    taken = b""

    def ask(self, *words):
        self.taken = b""
        return super().ask(*words)

    def line(self):
        line = super().line()
        self.taken += line + b"\r\n"
        return line

    def exactly(self, size):
        data = super().exactly(size)
        self.taken += data
        return data
