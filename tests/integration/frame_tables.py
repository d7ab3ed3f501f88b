# SPDX-License-Identifier: MIT
"""frame_tables - a server with several tables, what it shows of them, and bulk frames that name a place."""

import contextlib

import wire
from harness import Server, equal

FIRST = 65536  # the first number that the server chooses


@contextlib.contextmanager
def serving(*flags, loops=1):
    """Yields a server, replies by RESP and a connection for frames."""
    with Server("--capacity", "4K", "--loops", str(loops), *flags) as server, server.connect() as resp, \
            server.connect() as frames:
        yield server, wire.Replies(resp), frames


def create(replies, *words):
    equal(replies.ask("TABLE", "CREATE", *words), "OK", words)


def hello(frames, name):
    """Returns the fields of the ServerInfo about tables: whether they are there, number, name, id."""
    reply = wire.call(frames, wire.HELLO, table_name=name.encode())
    equal(reply.status, wire.OK, reply.message)
    return [reply.info.get(field) for field in (43, 44, 45, 46)]


def put(frames, table, keys, values, **named):
    reply = wire.call(frames, wire.SET, keys, values, table=table, **named)
    return reply.status


def got(frames, table, keys, **named):
    reply = wire.call(frames, wire.GET, keys, table=table, want_values=True, **named)
    return reply.values() if reply.status == wire.OK else reply.status


def pairs(reply):
    return dict(zip(reply[::2], reply[1::2]))


def table(replies, name):
    return {key.decode(): value.decode() if isinstance(value, bytes) else value
            for key, value in pairs(replies.ask("TABLE", "INFO", name)).items()}
