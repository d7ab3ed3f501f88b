# SPDX-License-Identifier: MIT
"""people - servers with users, and ways to log in, for the scripts about users."""

import atexit
import contextlib
import os
import socket
import tempfile

import wire
from harness import Server, equal

WRONG = "WRONGPASS invalid username-password pair or user is disabled."
NOAUTH = "NOAUTH Authentication required."
ACL = """# who may do what
user default on >top ~* &* +@all
user alice on >pw ~1000-1999 +@read +@write +@connection +multi +exec -@dangerous
user reader on >pw ~* +@read +@fast
user off off >pw ~* +@all
"""


def secret(text, mode=0o600):
    """Writes a file with this text and returns its name."""
    handle, name = tempfile.mkstemp(prefix="sherwood-secret-")
    os.write(handle, text.encode())
    os.fchmod(handle, mode)
    os.close(handle)
    atexit.register(forget, name)
    return name


def forget(name):
    with contextlib.suppress(OSError):
        os.unlink(name)


def guarded(*flags, acl=ACL, **options):
    """Starts a server with these users."""
    return Server("--acl-file", secret(acl), *flags, **options)


def session(server, *login):
    replies = wire.Replies(server.connect())
    if login:
        equal(replies.ask("AUTH", *login), "OK", f"AUTH {login}")
    return replies


def text(reply):
    return reply.decode() if isinstance(reply, bytes) else reply


def hello(user=b"", password=b"", **header):
    login = (wire.field(21, user) if user else b"") + (wire.field(22, password) if password else b"")
    return wire.envelope(wire.header_of(wire.HELLO, **header) + login)


class Frames:
    """A connection for bulk frames."""

    def __init__(self, server, *login):
        self.socket = server.connect()
        if login:
            equal(self.ask(hello(*login)).status, wire.OK, f"HELLO {login}")

    def ask(self, data):
        return wire.exchange(self.socket, data)


class Redis:
    """A redis-server with the interface of Server."""

    def __init__(self, path):
        self.path = path

    def connect(self):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(self.path)
        return connection


def cannot_start(*flags):
    """Returns the output of a daemon that refuses to start with these flags."""
    server = Server(*flags)
    try:
        server.start()
    except AssertionError as why:
        return str(why)
    server.kill()
    raise AssertionError(f"it starts with {flags}")
