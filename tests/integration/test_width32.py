#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A daemon with 32-bit keys and values, over RESP."""

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


if __name__ == "__main__":
    main()
