# SPDX-License-Identifier: MIT
"""static_moves - model of the move of a slot between two nodes with state files.

The search tries every history, breadth first, so it finds a shortest one. Crashes lose unsynced data. Messages may be lost,
late and out of order. Writes are numbers, and the data of a node is the list of its writes. Rules can be switched off one
by one: each must be needed.
"""

import collections

import search

RULES = {
    "handed_is_durable": "the source says FINAL only when its state file says that the slot is handed over",
    "freeze": "the source takes no write of the slot once it has said FINAL",
    "ask_target": "the source takes the slot back only if the target says that this attempt has failed for ever",
    "sync_first": "the target decides only when what it has received is durable",
    "purge": "the target empties the slot before an attempt",
    "by_sequence": "the target takes records only in their order",
}

# The source: its state (OWNS, HANDED or GONE), the attempt that it was handed over in, its data, how much of them is
# durable, the attempt that it sends (None or (attempt, next record)), and whether HANDED is only in memory.
Source = collections.namedtuple("Source", "state attempt data durable sends volatile")
# The target: whether it serves, the attempt that made it serve, the last attempt that it refused, its data, the durable
# part of the data, and the attempt that it receives (None or (attempt, next record); -1: no snapshot yet).
Target = collections.namedtuple("Target", "serves attempt refused data durable takes")
World = collections.namedtuple("World", "source target messages answered written attempts crashes")

OWNS, HANDED, GONE = "owns", "handed", "gone"
START = World(Source(OWNS, 0, (), 0, None, False), Target(False, 0, 0, (), 0, None), frozenset(), (), 0, 0, 0)


def fault(world):
    """Returns what is wrong in this state, or None."""
    source, target = world.source, world.target
    if source.state == OWNS and target.serves:
        return "both serve"
    if source.state == OWNS or target.serves:
        data = source.data if source.state == OWNS else target.data
        if any(a >= b for a, b in zip(data, data[1:])):
            return "order"
        if not set(world.answered) <= set(data):
            return "lost"
    return None


class Model:
    def __init__(self, off=None, writes=2, attempts=2, crashes=2, messages=2):
        self.on = {rule: rule != off for rule in RULES}
        self.writes, self.attempts, self.crashes, self.messages = writes, attempts, crashes, messages

    def steps(self, world):
        """Yields (name, world) of every possible next step."""
        has_room = len(world.messages) < self.messages
        yield from self.clients(world)
        if world.attempts < self.attempts and has_room and not world.target.serves:
            attempt = world.attempts + 1
            yield f"attempt {attempt} begins", world._replace(
                messages=world.messages | {("start", attempt)}, attempts=attempt)
        yield from self.source_acts(world, has_room)
        if world.target.takes and not world.target.serves:
            yield "target gives up", world._replace(target=world.target._replace(
                refused=max(world.target.refused, world.target.takes[0]), takes=None))
        if world.crashes < self.crashes:
            yield from self.crash(world)
        for message in world.messages:
            without = world._replace(messages=world.messages - {message})
            yield f"lost {message[:2]}", without
            yield from self.arrives(without, message)

    def clients(self, world):
        for name, node, serves in (("source", world.source, world.source.state == OWNS),
                                   ("target", world.target, world.target.serves)):
            if serves and world.written < self.writes:
                yield f"write {world.written} at {name}", world._replace(
                    **{name: node._replace(data=node.data + (world.written,))}, written=world.written + 1)
            if serves and node.durable < len(node.data):
                answered = tuple(sorted(set(world.answered) | set(node.data[node.durable:])))
                yield f"{name} syncs and answers", world._replace(
                    **{name: node._replace(durable=len(node.data))}, answered=answered)

    def source_acts(self, world, has_room):
        source = world.source
        if source.sends and source.state == OWNS:
            attempt, following = source.sends
            if following < len(source.data) and has_room:
                yield f"source sends record {following}", world._replace(
                    source=source._replace(sends=(attempt, following + 1)),
                    messages=world.messages | {("record", attempt, following, source.data[following])})
            if following == len(source.data) == source.durable:
                if self.on["freeze"]:
                    yield f"source hands over {attempt}", world._replace(source=source._replace(
                        state=HANDED, attempt=attempt, volatile=not self.on["handed_is_durable"]))
                elif has_room:
                    yield "source says final", world._replace(
                        messages=world.messages | {("final", attempt, following)})
        if source.state == HANDED and has_room:
            yield "source says final", world._replace(
                messages=world.messages | {("final", source.attempt, len(source.data))})
            yield "source asks", world._replace(messages=world.messages | {("ask", source.attempt)})
        if source.state == HANDED and not self.on["ask_target"]:
            yield "source takes the slot back", world._replace(
                source=Source(OWNS, 0, source.data, source.durable, None, False))

    @staticmethod
    def crash(world):
        source, target = world.source, world.target
        kept = ("owns", 0) if source.volatile else (source.state, source.attempt)
        yield "source crashes", world._replace(crashes=world.crashes + 1, source=Source(
            *kept, source.data[:source.durable], source.durable, None, False))
        yield "target crashes", world._replace(crashes=world.crashes + 1, target=target._replace(
            data=target.data[:target.durable], takes=None))

    def arrives(self, world, message):
        kind, attempt, *rest = message
        source, target = world.source, world.target
        takes = target.takes if target.takes and target.takes[0] == attempt else None
        if kind == "start" and not target.serves and attempt > target.refused and \
                (target.takes is None or target.takes[0] < attempt):
            emptied = {"data": (), "durable": 0} if self.on["purge"] else {}
            yield "target prepares", world._replace(
                target=target._replace(refused=max(target.refused, attempt - 1), takes=(attempt, -1), **emptied),
                messages=world.messages | {("ready", attempt)})
        elif kind == "ready" and source.state == OWNS and (source.sends is None or source.sends[0] < attempt):
            yield "source sends a snapshot", world._replace(
                source=source._replace(sends=(attempt, len(source.data))),
                messages=world.messages | {("snapshot", attempt, len(source.data), source.data)})
        elif kind == "snapshot" and takes and takes[1] < 0:
            data = rest[1] if self.on["purge"] else target.data + rest[1]
            yield "target takes the snapshot", world._replace(
                target=target._replace(data=data, takes=(attempt, rest[0])))
        elif kind == "record" and takes and takes[1] >= 0 and (takes[1] == rest[0] or not self.on["by_sequence"]):
            yield f"target takes record {rest[0]}", world._replace(
                target=target._replace(data=target.data + (rest[1],), takes=(attempt, rest[0] + 1)))
        elif kind == "final" and takes and takes[1] == rest[0] and attempt > target.refused and not target.serves:
            durable = len(target.data) if self.on["sync_first"] else target.durable
            yield f"target decides {attempt}", world._replace(
                target=target._replace(serves=True, attempt=attempt, durable=durable, takes=None),
                messages=world.messages | {("done", attempt)})
        elif kind == "ask" and target.serves and target.attempt == attempt:
            yield "target says done", world._replace(messages=world.messages | {("done", attempt)})
        elif kind == "ask" and not target.serves and not takes:
            yield "target says no", world._replace(
                target=target._replace(refused=max(target.refused, attempt)),
                messages=world.messages | {("no", attempt)})
        elif kind == "done" and source.state == HANDED and source.attempt == attempt:
            yield "source lets go", world._replace(source=Source(GONE, 0, (), 0, None, False))
        elif kind == "no" and source.state == HANDED and source.attempt == attempt:
            yield "source serves again", world._replace(
                source=Source(OWNS, 0, source.data, source.durable, None, False))


def explore(model):
    """As search.explore."""
    return search.explore(model, START, fault)
