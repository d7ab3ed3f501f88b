#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""What a client asks for in the reply to a frame: values, the found bitmap, both or neither."""

import wire
from harness import case, equal, main, start


def in_every_way(connection, width, operation, keys, operands, present):
    """Asks with and without values and the bitmap; the first `present` keys are there each time."""
    values, bits = -(-len(keys) * width // 64) * 64, -(-len(keys) // 512) * 64
    for wants_values in (False, True):
        for wants_found in (None, True, False):
            what = f"operation {operation}, values {wants_values}, bitmap {wants_found}"
            connection.sendall(wire.frame(operation, keys, operands, width=width,
                                          want_values=wants_values, want_found=wants_found))
            reply = wire.read_frame(connection)
            equal((reply.status, reply.hits, reply.has_values), (wire.OK, present, wants_values), what)
            equal(reply.has_found, 0 if wants_found is False else None, what)
            equal(len(reply.body), wants_values * values + (wants_found is not False) * bits, what)
            if wants_found is not False:
                equal(reply.found(), [int(i < present) for i in range(len(keys))], what)
            if wants_values:
                equal(reply.values(), [3 * k * (i < present) for i, k in enumerate(keys)], what)


@case
def frames_without_the_bitmap():
    """every engine: a frame that declines the bitmap gets none, and one that says nothing gets it"""
    fixed = ("--value-bytes", "8", "--value-format", "fixed")
    for width, *flags in ((8,), (4, "--key-bits", "32"), (8, "--engine", "cuckoo"),
                          (8, "--engine", "cache", *fixed)):
        with start("--capacity", "64K", *flags) as server, server.connect() as connection:
            keys = list(range(1, 1001))
            connection.sendall(wire.frame(wire.SET, keys, [3 * k for k in keys], width=width,
                                          want_found=False))
            reply = wire.read_frame(connection)
            equal((reply.status, reply.hits, reply.body), (wire.OK, 0, b""), "SET of new keys")
            keys += range(2001, 2101)
            in_every_way(connection, width, wire.GET, keys, None, 1000)
            in_every_way(connection, width, wire.SET_PRESENT, keys, [3 * k for k in keys], 1000)
            in_every_way(connection, width, wire.DELETE, keys[1000:], None, 0)


main()
