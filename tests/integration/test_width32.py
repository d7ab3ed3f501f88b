#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A daemon with 32-bit keys and values, over RESP and frames."""

import wire
from harness import Server, case, check, equal, main

TOP = 2**32 - 1
RANGE = "is not an unsigned integer or out of range"


@case
def resp():
    """32-bit keys and values: the smallest and largest work, larger ones are refused"""
    with Server("--key-bits", "32") as server, server.replies() as replies:
        equal(replies.ask("MSET", 0, TOP, TOP, 0), "OK", "MSET")
        equal(replies.ask("MGET", 0, TOP), [str(TOP).encode(), b"0"], "MGET")
        for command in (("SET", TOP + 1, 1), ("SET", 1, TOP + 1), ("GET", TOP + 1),
                        ("DEL", 0, TOP + 1), ("MSET", 1, 1, 2, TOP + 1)):
            reply = replies.ask(*command)
            check(isinstance(reply, wire.Error) and RANGE in reply, f"{command}: {reply}")
        equal(replies.ask("DBSIZE"), 2, "DBSIZE")
        check(isinstance(replies.ask("INCR", 0), wire.Error), "INCR past the top")
        equal(replies.ask("GET", 0), str(TOP).encode(), "unchanged")
        equal(replies.ask("INCRBY", TOP, TOP), TOP, "INCRBY to the top")


@case
def frames():
    """32 bits: frames with both arrays and the limits of every mode; 64-bit frames are refused"""
    with Server("--key-bits", "32") as server, server.connect() as connection:
        def ask(operation, keys, values=None, **header):
            return wire.call(connection, operation, keys, values, width=4, **header)
        keys = [0, TOP, 5, 5, 77]
        equal(ask(wire.SET, keys, [1, 2, 3, 4, TOP]).hits, 1, "hits of SET: the repeated key")
        reply = ask(wire.GET, keys + [6], want_values=True)
        equal((reply.values(), reply.found()), ([1, 2, 4, 4, TOP, 0], [1, 1, 1, 1, 1, 0]), "GET")
        equal(ask(wire.SUM, [77], [3], want_values=True).values(), [TOP], "value before SUM")
        equal(ask(wire.GET, [77], want_values=True).values(), [2], "SUM wraps")
        equal(wire.call(connection, wire.GET, [1, 2]).status, wire.BAD_REQUEST, "64-bit frame")
        info = wire.call(connection, wire.HELLO).info
        equal((info[2], info[3]), (4, 4), "widths in HELLO")


if __name__ == "__main__":
    main()
