#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""SCAN by RESP visits every key, whatever the size of the table and the keys in it. Its cursors stay below 2^53,
because some clients keep them in a double or a signed integer."""

import collections
import random

import wire
from harness import Server, case, check, drawn_seed, equal, main

LIMIT = 2**53
MASK = 2**64 - 1
SEED = 1  # of every server of the harness


def unmix(m):
    """Returns the key that a table of 64-bit keys stores as m (table/mix.h)."""
    m ^= m >> 33
    m = m * 0x9cb4b2f8129337db & MASK
    m ^= m >> 33
    m = m * 0x4f74430c22a54005 & MASK
    m ^= m >> 33
    return m ^ SEED


def put(replies, keys):
    for at in range(0, len(keys), 5000):
        pairs = [word for key in keys[at:at + 5000] for word in (key, 1)]
        equal(replies.ask("MSET", *pairs), "OK", "MSET")


def scan(replies, *options, calls_max=1000000):
    """Returns the keys of a whole scan, in order. It reads cursors as a client with doubles does."""
    seen, cursor, calls = [], "0", 0
    while calls == 0 or cursor != "0":
        text, keys = replies.ask("SCAN", cursor, *options)
        check(int(text) < LIMIT, f"cursor {text}")
        cursor = f"{float(text):.0f}"
        equal(cursor, text.decode(), "the cursor as a double")
        seen += [int(key) for key in keys]
        calls += 1
        check(calls <= calls_max, "the scan does not end")
    return seen


@case
def cursors_are_small():
    """SCAN visits every key, few twice, and no cursor reaches 2^53, at any COUNT and capacity"""
    rng = random.Random(drawn_seed())
    keys = [0, 1, 2**63, MASK] + [rng.randrange(2**64) for _ in range(30000)]
    for capacity, count in (("64K", 1), ("64K", 10), ("1M", 7), ("16M", 1000), ("64K", 100000)):
        with Server("--capacity", capacity) as server, server.replies() as replies:
            some = keys[:3000] if count == 1 else keys
            put(replies, some)
            seen = scan(replies, "COUNT", count)
            equal(set(seen), set(some), f"keys at {capacity}, COUNT {count}")
            check(len(seen) <= len(some) * 1.02 + 5,
                  f"{len(seen)} keys for {len(some)} at {capacity}, COUNT {count}")


@case
def few_keys_of_a_large_table():
    """a scan of three keys in a large table ends"""
    with Server("--capacity", "16M") as server, server.replies() as replies:
        put(replies, [1, 4, 2**64 - 3])
        equal(set(scan(replies, calls_max=2000)), {1, 4, 2**64 - 3}, "keys")
        equal(scan(replies, "MATCH", "9*", calls_max=2000), [], "no key matches")


@case
def keys_of_one_range():
    """thousands of keys that share one 53-bit cursor, and their neighbours, are all visited"""
    shift = 11
    places = [0, 1, 12345 << 40, (LIMIT - 2) << shift, (LIMIT - 1) << shift]
    mixed = {(place & ~(2**shift - 1)) + low for place in places for low in range(2**shift)}
    mixed |= {place + step for place in places for step in (-1, 1 << shift, 1 << 40)
              if 0 <= place + step <= MASK}
    keys = [unmix(m) for m in mixed]
    with Server("--capacity", "64K") as server, server.replies() as replies:
        put(replies, keys)
        for count in (1, 10, 2047, 2048, 2049, 5000, 100000):
            seen = scan(replies, "COUNT", count, calls_max=len(keys))
            equal(set(seen), set(keys), f"COUNT {count}")


@case
def least_output_limit():
    """the lowest output-bytes-max is enough for a reply that must hold a whole range"""
    keys = [unmix((77 << 11) + low) for low in range(2**11)]
    with Server("--capacity", "64K", "--output-bytes-max", "64K", "--output-bytes-pause", "64K",
                "--resp-arguments-max", "1000") as server, server.replies() as replies:
        for at in range(0, len(keys), 400):
            put(replies, keys[at:at + 400])
        equal(len(replies.ask("SCAN", 77, "COUNT", 10)[1]), len(keys), "they are of one range")
        equal(set(scan(replies, "COUNT", 10)), set(keys), "keys")


@case
def other_cursors():
    """a cursor of 2^53 or more is invalid; tables of 32-bit keys and caches keep whole cursors"""
    with Server() as server, server.replies() as replies:
        for cursor in (LIMIT, 2**63, MASK, 2**64, "-1", "x"):
            equal(replies.ask("SCAN", cursor), wire.Error("ERR invalid cursor"), cursor)
        equal(replies.ask("SCAN", LIMIT - 1), [b"0", []], "the last cursor")
    for flags in (("--key-bits", "32"), ("--engine", "cache", "--key-bits", "32"),
                  ("--engine", "cache")):
        with Server(*flags, "--capacity", "64K") as server, server.replies() as replies:
            put(replies, list(range(1, 2000)))
            equal(set(scan(replies, "COUNT", 9)), set(range(1, 2000)), flags)


@case
def random_keys_are_even():
    """RANDOMKEY draws each of 20 keys 50 to 150 times in 2000 draws"""
    for flags in ((), ("--key-bits", "32"), ("--engine", "cache"), ("--value-bytes", "256", "--arena-bytes", "64M")):
        with Server("--loops", "1", "--capacity", "64K", *flags) as server, server.connect() as connection:
            replies = wire.Replies(connection)
            value = "x" * 256 if "256" in flags else "1"
            for key in range(20):
                equal(replies.ask("SET", key, value), "OK", "SET")
            draws = collections.Counter()
            for _ in range(20):
                connection.sendall(wire.command("RANDOMKEY") * 100)
                draws.update(replies.read() for _ in range(100))
            equal(len(draws), 20, "keys")
            check(min(draws.values()) >= 50 and max(draws.values()) <= 150, f"{flags}: {sorted(draws.values())}")


if __name__ == "__main__":
    main()
