#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""sherwood-cli summary describes the entries that the test has stored."""

import math
import random
import re

import wire
from harness import BUILD, Server, case, check, drawn_seed, equal, main, run

CLI = str(BUILD / "sherwood-cli")
MOST = 2**64 - 1
OPERATIONS = "operations since the start of the server: number, keys found, buckets read for each"


def summary(server, *options):
    return run(CLI, "-h", server.host, "-p", server.port, *options, "-q", "summary")


def section(text, name):
    """Returns the lines below a heading, without their indent."""
    found = re.search(rf"^{re.escape(name)}\n((?:  .*\n)+)", text, re.M)
    check(found, f"{name}: {text}")
    return [line.strip() for line in found.group(1).splitlines()]


def fits_column(text, name, numbers):
    """Compares the column of this name with the sorted numbers."""
    rows = {}
    for line in section(text, name):
        label, number = re.fullmatch(r"(.+?)(?: up to)? +([0-9.]+)", line).groups()
        rows[label.strip()] = number
    equal((int(rows["least"]), int(rows["greatest"])), (numbers[0], numbers[-1]), f"{name}: least and greatest")
    mean = sum(numbers) / len(numbers)
    check(abs(float(rows["mean"]) - mean) <= 1e-9 * mean + 0.06, f"{name}: mean {rows['mean']}, {mean}")
    for label, share in (("1 %", .01), ("10 %", .1), ("half", .5), ("90 %", .9), ("99 %", .99)):
        exact = numbers[max(math.ceil(share * len(numbers) - 1e-9), 1) - 1]
        shown = int(rows[label])
        check(exact <= shown <= exact + exact // 16, f"{name}: {label} is {exact}, shown as {shown}")
    powers = {}
    for line in section(text, name + " by powers of two"):
        first, last, count = map(int, re.match(r"(\d+) \.\. (\d+) +(\d+) ", line).groups())
        equal(last, 0 if first == 0 else 2 * first - 1, "a power of two")
        powers[first] = count
    wanted = {}
    for number in numbers:
        first = 0 if number == 0 else 1 << (number.bit_length() - 1)
        wanted[first] = wanted.get(first, 0) + 1
    equal(powers, wanted, f"{name} by powers of two")


@case
def numbers_as_they_are():
    """summaries of random numbers: least, greatest, quantiles, powers of two, greatest values and their keys"""
    random.seed(drawn_seed())
    pairs = {random.getrandbits(random.randrange(1, 65)): random.getrandbits(random.randrange(1, 65))
             for _ in range(20000)}
    pairs.update({0: 0, MOST: MOST, 15: 15, 16: 16, 17: 17, 1 << 63: 1 << 63})
    keys = list(pairs)
    with Server() as server:
        with server.connect() as connection:
            equal(wire.call(connection, wire.SET, keys, [pairs[key] for key in keys]).status, 0, "SET")
        text = summary(server)
        zeros = sum(value == 0 for value in pairs.values())
        check(text.startswith(f"{len(pairs)} keys; {zeros} values are 0\n"), text)
        fits_column(text, "keys", sorted(pairs))
        fits_column(text, "values", sorted(pairs.values()))
        greatest = [tuple(map(int, re.fullmatch(r"(\d+) of key (\d+)", line).groups()))
                    for line in section(text, "greatest values")]
        equal([value for value, _ in greatest], sorted(pairs.values(), reverse=True)[:5], "greatest values")
        check(all(pairs[key] == value for value, key in greatest), greatest)
        name, number, share, _, probes = section(text, OPERATIONS)[0].split()
        equal((name, int(number), float(share)), ("upsert", len(pairs), 0), "operations")
        check(float(probes) >= 1, text)


@case
def few_and_none():
    """summaries of no key, one and four; progress and its last line; an extra word is an error"""
    with Server() as server:
        equal(summary(server), "0 keys; 0 values are 0\n", "an empty table")
        server.redis_cli("SET", "7", "9")
        server.redis_cli("MGET", "7", "7", "7", "8")
        equal(section(summary(server), OPERATIONS)[0].split()[:4], ["get", "4", "75.0", "%"], "gets")
        fits_column(summary(server), "values", [9])
        server.redis_cli("MSET", "1", "4", "2", "5", "3", "3")
        equal(section(summary(server), "greatest values"),
              ["9 of key 7", "5 of key 2", "4 of key 1", "3 of key 3"], "greatest")
        check("4 keys counted in " in run(CLI, "-p", server.port, "summary"), "the last line")
        run(CLI, "-p", server.port, "summary", "x", rc=2)
    run(CLI, "-p", server.port, "summary", rc=1)


@case
def lengths_of_strings():
    """a summary of strings shows their lengths; a summary of 32-bit keys shows the keys"""
    with Server("--engine", "cache", "--value-bytes", "68") as server:
        for key in range(1, 33):
            server.redis_cli("SET", str(key), "x" * (2 * key))
        server.redis_cli("SET", "99", "")
        text = summary(server)
        check(text.startswith("33 keys; 1 value is empty\n"), text)
        fits_column(text, "lengths of values", [0] + [2 * key for key in range(1, 33)])
        equal(section(text, "greatest lengths of values")[0], "64 of key 32", "the longest")
    with Server("--key-bits", "32") as server:
        server.redis_cli("MSET", "4294967295", "4294967295", "5", "6")
        fits_column(summary(server), "keys", [5, 2**32 - 1])


if __name__ == "__main__":
    main()
