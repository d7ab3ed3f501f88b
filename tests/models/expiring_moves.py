# SPDX-License-Identifier: MIT
"""expiring_moves - model of the move of a slot with one key, which may expire, between two nodes with their own clocks.

It adds expiry times, which static_moves.py and shard_moves.py leave out. Here no node crashes, and messages arrive in order;
those models cover failed attempts. A clock is 0 or 1, and advances at any moment, independently of the other one. A key has
the expiry time 1, or none (0). At clock 1 the former has expired. A write to it or a sweep removes it at some later moment.

A key that a client saw absent never reappears. A key that lives by the source's clock when the source sends FINAL, and by the
target's clock, exists. The target never has to refuse what it has received: the source would have frozen the slot in
vain.

Rules can be switched off one by one: each of them must be needed.
"""

import collections

import search

RULES = {
    "hold": "no sweep of the target removes the key before it serves it",
    "no_clock": "what the target carries out for the source it does without a clock",
    "named": "the source tells which keys were removed for their time",
    "judged": "the source tells of a time that had passed that it had",
    "living": "what is dead by the source's clock at the end is removed at the target, and in no digest",
    "instant": "the digest is of an instant, and the writes sent are exactly those before it",
}

# A key: None, or (value, time). The source's: owns, frozen, or final. The target's: none, takes, serves, or differs.
# `gone`: a client saw the key absent, and nobody has set it since. `must`: what lived when the source said final.
World = collections.namedtuple("World", "clocks source owner target state stream streams gone must written")
START = World((0, 0), None, "owns", None, "none", (), False, False, None, 0)


def lives(key, clock):
    return key is not None and (key[1] == 0 or key[1] > clock)


def fault(world):
    """Returns what is wrong in this state, or None."""
    clock = world.clocks[1]
    if world.state == "differs":
        return "differs"
    if world.state == "serves" and world.gone and lives(world.target, clock):
        return "back again"
    if world.state == "serves" and lives(world.must, clock) and world.target != world.must:
        return "lost"
    return None


class Model:
    def __init__(self, off=None, writes=3):
        self.on = {rule: rule != off for rule in RULES}
        self.writes = writes

    def steps(self, world):
        """Yields (name, world) of every possible next step."""
        source, target = world.clocks
        if source == 0:
            yield "the source's clock goes on", world._replace(clocks=(1, target))
        if target == 0:
            yield "the target's clock goes on", world._replace(clocks=(source, 1))
        if world.owner == "owns":
            yield from self.clients(world)
        if world.owner != "final" and world.source and not lives(world.source, source):
            yield "the source sweeps", self.tell(world._replace(source=None), ("remove",))
        yield from self.source_acts(world)
        if world.target and not lives(world.target, target) and (world.state == "serves" or not self.on["hold"]):
            yield "the target sweeps", world._replace(target=None)
        if world.stream:
            message, rest = world.stream[0], world.stream[1:]
            yield f"the target takes {message}", self.arrives(world._replace(stream=rest), message)

    def tell(self, world, *records):
        """The source has written. It sends the write to the target if it has sent a snapshot before."""
        heard = world.streams and (world.owner == "owns" or self.on["instant"])
        records = tuple(each for each in records if each != ("remove",) or self.on["named"])
        return world._replace(stream=world.stream + records) if heard else world

    def clients(self, world):
        clock, key = world.clocks[0], world.source
        yield "a client reads", world._replace(gone=world.gone or not lives(key, clock))
        if world.written == self.writes:
            return
        removed = (("remove",),) if key and not lives(key, clock) else ()
        key = key if lives(key, clock) else None
        value, more = world.written + 1, world._replace(written=world.written + 1)
        for time in (0, 1):
            passed = time != 0 and time <= clock
            told = ("set", value, "passed" if passed and self.on["judged"] else time)
            yield f"SET {value} {time}", self.tell(more._replace(
                source=None if passed else (value, time), gone=world.gone and passed), *removed, told)
            told = ("expire", told[2])
            after = key and (None if passed else (key[0], time))
            yield f"EXPIRE {time}", self.tell(more._replace(source=after), *removed, told)

    def source_acts(self, world):
        if world.owner == "owns" and world.state == "none":
            yield "the source sends a snapshot", world._replace(
                state="takes", streams=True, stream=world.stream + (("snapshot", world.source),))
        if world.owner == "owns" and world.streams:
            yield "the source serves no more", world._replace(owner="frozen")
        if world.owner == "frozen":
            living = world.source if lives(world.source, world.clocks[0]) else None
            dead = self.on["living"] and world.source != living
            digest = None if dead else world.source
            yield "the source says final", world._replace(
                owner="final", must=living, stream=world.stream + ((("end",),) if dead else ()) + (("final", digest),))

    def arrives(self, world, message):
        kind, key = message[0], world.target
        if not self.on["no_clock"] and kind in ("set", "expire") and key and not lives(key, world.clocks[1]):
            key = None
        if kind == "snapshot":
            return world._replace(target=message[1])
        if kind in ("remove", "end"):
            return world._replace(target=None)
        if kind == "set":
            return world._replace(target=None if message[2] == "passed" else message[1:])
        if kind == "expire":
            return world._replace(target=None if key is None or message[1] == "passed" else (key[0], message[1]))
        return world._replace(state="serves" if key == message[1] else "differs")


def explore(model):
    """As search.explore."""
    return search.explore(model, START, fault)
