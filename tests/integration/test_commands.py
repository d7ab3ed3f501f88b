#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Every command of the command table, sent to every engine: each has a reply, and COMMAND, COMMAND
INFO, COUNT, LIST and DOCS agree about it."""

import redis

from harness import Server, case, check, equal, main

ENGINES = (("robin_hood",), ("cuckoo",), ("cache", "--value-format", "string"))
# The connection ends with these, or the server does.
ENDING = {"quit", "shutdown"}


def flags(engine):
    return ("--engine", *engine)


def names(connection):
    return [row[0].decode() for row in ask(connection, "COMMAND")]


def ask(connection, *words):
    connection.send_command(*words)
    return connection.read_response()


def open_connection(server):
    return redis.Connection(host=server.host, port=server.port, socket_timeout=10)


def reply_or_error(connection, *words):
    """The reply, an error included; a reply that does not come is a failure of the case."""
    try:
        return ask(connection, *words)
    except redis.ResponseError as error:
        return error


@case
def every_command_replies():
    """every command of every engine has one reply, with as few arguments as it takes and with more"""
    for engine in ENGINES:
        with Server(*flags(engine)) as server:
            everything = names(open_connection(server))
            check("get" in everything and "ping" in everything, everything)
            for name in everything:
                if name in ENDING:
                    continue
                connection = open_connection(server)
                arity = ask(connection, "COMMAND", "INFO", name)[0][1]
                for count in range(abs(arity), abs(arity) + (3 if arity < 0 else 1)):
                    words = [name.upper()] + ["1"] * (count - 1)
                    reply_or_error(connection, *words)
                    equal(ask(connection, "ECHO", f"after {words}"), f"after {words}".encode(),
                          "exactly one reply before this one")
                if arity > 0:
                    error = reply_or_error(connection, name, *["1"] * arity)
                    equal(str(error), f"wrong number of arguments for '{name}' command")


@case
def lists_agree():
    """COMMAND, COMMAND COUNT, INFO, LIST and DOCS name the same commands"""
    for engine in ENGINES:
        with Server(*flags(engine)) as server:
            connection = open_connection(server)
            rows = {row[0].decode(): row for row in ask(connection, "COMMAND")}
            equal(ask(connection, "COMMAND", "COUNT"), len(rows), "COUNT")
            equal({n.decode() for n in ask(connection, "COMMAND", "LIST")}, set(rows), "LIST")
            docs = ask(connection, "COMMAND", "DOCS")
            equal({n.decode() for n in docs[::2]}, set(rows), "DOCS")
            for name, row in rows.items():
                equal(ask(connection, "COMMAND", "INFO", name), [row], name)


if __name__ == "__main__":
    main()
