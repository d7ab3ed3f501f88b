# SPDX-License-Identifier: MIT
"""table_order - where the writes of a connection get their numbers, if they are about several tables.

A connection sends writes to the tables A, B, A, B without waiting. Each table launches its own in the order sent, at any time.
A crash keeps the writes up to any number. It must keep a prefix of the connection's writes.
"""

import itertools

SENT = "ABAB"


def launches():
    """Yields every order in which the writes may be launched."""
    for order in itertools.permutations(range(len(SENT))):
        if all(order.index(i) < order.index(j) for i, j in itertools.combinations(range(len(SENT)), 2) if SENT[i] == SENT[j]):
            yield order


def lost(at_launch):
    """Counts the orders of launches in which a crash may keep a write and lose an earlier one. `at_launch`: a write gets its
    number when it is launched, not when it is handed to its table."""
    count = 0
    for order in launches():
        numbers = [order.index(i) if at_launch else i for i in range(len(SENT))]
        count += numbers != sorted(numbers)
    return count, len(list(launches()))
