#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""sherwood-cli: commands about expiry times, which it sends as frames, reply as the daemon does by RESP.

SHERWOOD_SEED=N repeats a run that failed."""

import random
import subprocess

from harness import BUILD, Server, case, check, drawn_seed, equal, eventually, main

CPU = ("--backend", "cpu", "--capacity", "4K")
FAR = 4000000000  # seconds since 1970


def drawn(rng):
    """Returns a random command on key 1 whose reply does not depend on the time of its execution."""
    at = rng.choice((1, -5, 0, FAR, FAR + 1, FAR + 1000))
    positive = rng.choice((1, FAR, FAR + 1))
    unit = rng.choice((("EXAT", positive), ("PXAT", positive * 1000 + rng.choice((7, 499, 500, 700)))))
    conditions = rng.choice(((), ("NX",), ("XX",), ("GT",), ("LT",), ("XX", "LT"), ("GT", "XX")))
    return rng.choice((
        ("SET", 1, 5, *unit), ("SET", 1, 6, "NX", *unit), ("SET", 1, 7, *unit, "xx"), ("SET", 1, 8, "GET", *unit),
        ("SET", 1, 9, "KEEPTTL"), ("SET", 1, 4, "XX", "KEEPTTL"), ("SET", 1, 3, "NX", "keepttl"), ("SET", 1, 2),
        ("EXPIREAT", 1, at, *conditions), ("PEXPIREAT", 1, at * 1000, *conditions), ("EXPIRE", 1, rng.choice((0, -1, -10**9))),
        ("PEXPIRE", 1, -3), ("PERSIST", 1), ("GETEX", 1), ("GETEX", 1, *unit), ("GETEX", 1, "PERSIST"),
        ("EXPIRETIME", 1), ("PEXPIRETIME", 1), ("GET", 1), ("INCR", 1)))


def asker(server):
    def ask(*words):
        done = subprocess.run([BUILD / "sherwood-cli", "-a", server.address(), *(str(word) for word in words)], text=True,
                              check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return done.stdout.strip()
    return ask


@case
def as_by_resp():
    """random commands on a key print the replies that a second daemon gives by RESP"""
    seed = drawn_seed()
    rng = random.Random(seed)
    with Server(*CPU) as server, Server(*CPU) as other, other.replies() as replies:
        ask = asker(server)
        for step in range(200):
            words = drawn(rng)
            wanted = replies.ask(*words)
            wanted = "" if wanted is None else wanted.decode() if isinstance(wanted, bytes) else str(wanted)
            equal(ask(*words), wanted, f"seed {seed}, step {step}: {words}")
            equal(ask("PEXPIRETIME", 1), str(replies.ask("PEXPIRETIME", 1)), f"seed {seed}, step {step}: {words}")


@case
def until_they_expire():
    """TTL and PTTL count down, and the server computes relative times"""
    with Server(*CPU) as server, server.replies() as replies:
        ask = asker(server)
        equal([ask("TTL", 1), ask("SET", 1, 5), ask("TTL", 1), ask("SET", 1, 5, "EX", 100), ask("PEXPIRE", 2, 100)],
              ["-2", "OK", "-1", "OK", "0"], "before")
        before, left, after = replies.ask("PTTL", 1), int(ask("TTL", 1)), replies.ask("PTTL", 1)
        check(before <= 100_000 and after - 500 <= left * 1000 <= before + 500, (before, left, after)) # it is rounded
        before, exact, after = replies.ask("PTTL", 1), int(ask("PTTL", 1)), replies.ask("PTTL", 1)
        check(after <= exact <= before, (before, exact, after))
        equal([ask("SET", 2, 6, "PX", 200), ask("PEXPIRE", 1, 100_000), ask("EXPIRE", 1, 1000, "GT"), ask("EXPIRE", 1, 1, "LT")],
              ["OK", "1", "1", "1"], "short ones")
        eventually(lambda: [ask("GET", 1), ask("EXISTS", 1, 2), ask("PTTL", 2)] == ["", "0", "-2"], "both are gone")


@case
def what_is_wrong():
    """invalid and contradictory times, and times where keys do not expire, are refused and change nothing"""
    with Server(*CPU) as server:
        ask = asker(server)
        ask("SET", 1, 5)
        for words in ((1, 6, "EX", 0), (1, 6, "PX", -1), (1, 6, "EX", "x"), (1, 6, "EX"), (1, 6, "EX", 5, "KEEPTTL"),
                      (1, 6, "EX", 5, "PX", 5), (1, 6, "EX", 2**63 // 1000 + 1), (1, 6, "PX", 2**63 - 1)):
            check("ERR" in ask("SET", *words) or "refused" in ask("SET", *words), words)
        for words in (("EXPIRE", 1, "x"), ("EXPIRE", 1, 5, "NX", "XX"), ("EXPIRE", 1, 5, "no"), ("GETEX", 1, "PX"), ("GETEX", 1, "PX", 0)):
            check("ERR" in ask(*words), words)
        equal([ask("GET", 1), ask("TTL", 1)], ["5", "-1"], "as it was")
    with Server(*CPU, "--engine", "cuckoo") as server:
        ask = asker(server)
        check("accepts no expiry times" in ask("SET", 1, 5, "EX", 5), "SET EX")
        check("has no TTL" in ask("TTL", 1), "TTL")
        check("accepts no expiry times" in ask("EXPIRE", 1, 5), "EXPIRE")
        equal(ask("GET", 1), "", "nothing was set")


main()
