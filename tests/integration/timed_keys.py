# SPDX-License-Identifier: MIT
"""timed_keys - clients that write keys with and without expiry times while slots move, and a model of each key's
states.

Each key has one writer. A state of a key is None, or its value and its expiry time in milliseconds since 1970 (0:
never). The model has all states that a key may have. There are several if a connection ended before the reply, or if
the key expired while a command was in flight. A reply that fits none of them is a fault. Times are absolute, and all
nodes of these tests have one clock.
"""

import contextlib
import random
import time

from harness import PACE, check, equal
from moving import Client, Threads

FAR = 4 * 10**12  # a time that does not come


def now_ms():
    return time.time_ns() // 10**6


def apply(state, words, clock):
    """Returns (reply, state after it) of a command on a key that has not expired."""
    name, value = words[0], state[0] if state else None
    if name == "SET":
        at = int(words[4]) if len(words) > 4 else 0
        at = state[1] if words[3:] == ("KEEPTTL",) and state else at
        return "OK", living((words[2], at), clock)
    if name == "GET":
        return value, state
    if name == "PEXPIRETIME":
        return -2 if state is None else state[1] or -1, state
    if name == "DEL":
        return int(state is not None), None
    if name == "INCR":
        number = int(value or 0) + 1
        return number, (number, state[1] if state else 0)
    if state is None:
        return (None if name == "GETEX" else 0), None
    if name == "PERSIST":
        return int(state[1] != 0), (value, 0)
    if name == "GETEX":
        return value, living((value, int(words[3])), clock)
    equal(name, "PEXPIREAT", "a command of the model")
    at, before = int(words[2]), state[1]
    holds = {"": True, "NX": before == 0, "XX": before != 0, "GT": before != 0 and at > before,
             "LT": before == 0 or at < before}[words[3] if len(words) > 3 else ""]
    return (1, living((value, at), clock)) if holds else (0, state)


def living(state, clock):
    return None if state[1] and state[1] <= clock else state


def outcomes(states, words, began, ended):
    """Returns all (reply, state) of a command that was executed at some moment between these two."""
    found = set()
    for state in states:
        for clock in (began, ended):
            found.add(apply(living(state, clock) if state else None, words, clock))
    return found


def text_of(reply):
    return reply.decode() if isinstance(reply, bytes) else reply


class TimedLoad(Threads):
    """Writers of keys with and without times, who check each reply."""

    def __init__(self, servers, seed, keys=60, writers=2, tolerates=False, base=0):
        super().__init__(servers, tolerates)
        draw = random.Random(seed)
        self.states = {key: {None} for key in draw.sample(range(base, base + 10**9), keys * writers)}
        self.done, self.ended = 0, 0
        names = list(self.states)
        for i in range(writers):
            self.add(self.write, names[i::writers], seed + i)
        self.start()

    def write(self, keys, seed):
        draw = random.Random(seed)
        with contextlib.closing(Client(self.servers)) as client:
            while not self.stopping:
                self.step(client, draw.choice(keys), draw)
                time.sleep(PACE)

    @staticmethod
    def drawn(key, draw):
        at = draw.choice([FAR + draw.randrange(10), FAR + draw.randrange(10), now_ms() + draw.randrange(-20, 700)])
        value = str(draw.randrange(10**6))
        return draw.choice([
            ("SET", key, value), ("SET", key, value, "PXAT", str(at)), ("SET", key, value, "PXAT", str(at)),
            ("SET", key, value, "KEEPTTL"), ("PEXPIREAT", key, str(at)),
            ("PEXPIREAT", key, str(at), draw.choice(["NX", "XX", "GT", "LT"])), ("PERSIST", key),
            ("GETEX", key, "PXAT", str(at)), ("INCR", key), ("DEL", key), ("GET", key), ("PEXPIRETIME", key)])

    def step(self, client, key, draw):
        self.ask(client, key, self.drawn(key, draw))

    def ask(self, client, key, words):
        began = now_ms()
        try:
            reply = text_of(client.ask(key, *words))
        except OSError as error:
            self.unknown(error)
            self.states[key] |= {after for _, after in outcomes(self.states[key], words, began, now_ms())}
            self.ended += 1
            return
        may = outcomes(self.states[key], words, began, now_ms())
        # a value is a text here and a number there
        after = {state for said, state in may if str(said) == str(reply)}
        check(after, f"{words} has the reply {reply!r} at {began}, and may have {sorted(map(str, may))[:9]}")
        self.states[key] = {state and (str(state[0]), state[1]) for state in after}
        self.done += 1

    def end(self):
        """Stops the writers, then compares every key and its time at its present node."""
        super().end()
        client = Client(self.servers)
        self.tolerates = False
        for key in self.states:
            self.ask(client, key, ("GET", key))
            self.ask(client, key, ("PEXPIRETIME", key))
        client.close()
        return sum(any(state and state[1] for state in states) for states in self.states.values())
