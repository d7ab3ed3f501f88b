# SPDX-License-Identifier: MIT
"""table_swaps - model of SWAP and DROP beside frames on their way, on a server with a log.

Two frames address the place a. A frame looks its place up when its head arrives, and its batch starts much later. Then it gets
a number, takes effect, and is answered when it is durable. Beside it an administrator swaps a and b, and drops what was in a.
"""

import collections

import search

RULES = {
    "look-again": "a frame looks its place up again when its batch starts",
    "number-before-publish": "a swap takes its number before any loop sees the new places",
    "answer-after-publish": "a swap is answered after every loop has adopted the new places",
    "answer-when-durable": "a swap is answered when its record is durable",
    "drop-drains": "a drop takes its number, and frees the memory, when no batch of the table is on its way",
}

# swapped: the number of the swap; 0: it has none. Frame: `late`: a swap was answered before its batch started.
World = collections.namedtuple("World", "log places swap swapped drop durable frames")
Frame = collections.namedtuple("Frame", "stage table number late")

BEFORE, AFTER = (("a", 1), ("b", 2)), (("a", 2), ("b", 1))
START = World((), BEFORE, "no", 0, "no", 0, (Frame("new", 0, 0, False),) * 2)


class Model:
    def __init__(self, off=None):
        self.on = {rule: rule != off for rule in RULES}

    def steps(self, world):
        """Yields (name, world) of every possible next step."""
        for i, frame in enumerate(world.frames):
            for name, following, log in self.frame(world, frame, i):
                yield f"frame {i} {name}", world._replace(log=log, frames=world.frames[:i] + (following,) + world.frames[i + 1:])
        handed = min([frame.number for frame in world.frames if frame.stage == "numbered"] + [len(world.log) + 1]) - 1
        if handed > world.durable:
            yield "sync", world._replace(durable=handed)
        yield from self.swap(world)
        yield from self.drop(world)

    def frame(self, world, frame, i):
        """Yields (name, frame, log) of the steps of one frame."""
        table = dict(world.places)["a"]
        if frame.stage == "new":
            yield "arrives", frame._replace(stage="head", table=table), world.log
        elif frame.stage == "head":
            yield "starts", frame._replace(stage="started", table=table if self.on["look-again"] else frame.table,
                                           late=world.swap == "answered"), world.log
        elif frame.stage == "started":
            yield "gets its number", frame._replace(stage="numbered", number=len(world.log) + 1), world.log + (
                ("write", frame.table, i),)
        elif frame.stage == "numbered":
            yield "takes effect", frame._replace(stage="done"), world.log
        elif frame.stage == "done" and world.durable >= frame.number:
            yield "is answered", frame._replace(stage="answered"), world.log

    def swap(self, world):
        numbered = world._replace(log=world.log + (("swap",),), swapped=len(world.log) + 1)
        if world.swap == "no" and self.on["number-before-publish"]:
            yield "swap gets its number", numbered._replace(swap="numbered")
        elif world.swap in ("no", "numbered"):
            yield "swap is published", world._replace(places=AFTER, swap="published")
            if world.swap == "numbered" and not self.on["answer-after-publish"] and world.durable >= world.swapped:
                yield "swap is answered", world._replace(swap="answered")
        elif world.swap == "published" and world.swapped == 0:
            yield "swap gets its number", numbered
        elif world.swap == "published" and (world.durable >= world.swapped or not self.on["answer-when-durable"]):
            yield "swap is answered", world._replace(swap="answered")

    def drop(self, world):
        busy = any(frame.stage in ("started", "numbered") and frame.table == 1 for frame in world.frames)
        if world.swap == "answered" and world.drop == "no" and world.places == AFTER:
            yield "the table is hidden", world._replace(places=(("a", 2),), drop="hidden")
        elif world.drop == "hidden" and not (busy and self.on["drop-drains"]):
            yield "the table is freed", world._replace(log=world.log + (("drop", 1),), drop="freed")


def fault(world):
    """Returns what is wrong, or None."""
    drops = [number for number, what in enumerate(world.log) if what[0] == "drop"]
    if any(frame.stage in ("started", "numbered") and frame.table == 1 for frame in world.frames) and world.drop == "freed":
        return "freed"
    if any(frame.late and frame.table == 1 for frame in world.frames):
        return "old table"
    if drops and any(what[:2] == ("write", 1) for what in world.log[drops[0]:]):
        return "behind the drop"
    for end in range(world.durable, len(world.log) + 1):
        swapped = ("swap",) in world.log[:end]
        if world.swap == "answered" and not swapped:
            return "undone"
        if not swapped and any(frame.stage == "answered" and frame.table == 2 and frame.number <= end for frame in world.frames):
            return "wrong place"
    return None


def explore(model):
    """Tries every history: (fault or None, the names of the steps that lead to it, the number of states)."""
    return search.explore(model, START, fault)
