# SPDX-License-Identifier: MIT
"""table_replicas - model of the full synchronisation of a replica with several tables (server/repl/stream.h).

The primary gives writes and changes their numbers, in one sequence. A write takes effect later, and its record is in the backlog
later still. The sender notes the catalog with the last number C, takes an image of each table in turn, and then sends the
records after C. A DROP hides its table first, and gets its number later. The contents of a table are the numbers of its writes.
"""

import collections

import search

RULES = {
    "catalog-held": "the catalog and its number are read while no change is between number and publication",
    "images-later": "the image of each table is taken after the catalog's number is read",
    "image-in-order": "an image has all writes of its table up to the number in its header",
    "skip-by-table": "the replica skips the records of a table up to the number in its snapshot",
    "serve-at-the-highest": "the replica serves when it has applied the highest number in a snapshot",
    "drop-raises": "a table that is dropped before its image raises that number to the one of its DROP",
    "no-gap": "a record is sent when the backlog has all records before it",
}

Budget = collections.namedtuple("Budget", "writes swaps drops")

# change: what is carried out, and its stage. backlog: the numbers that it has. sent: (places, C, todo, snapshots, R), where a
# snapshot is (table, number, contents). replica: (places, snapshots, contents, the last number).
World = collections.namedtuple("World", "history flying done contents places change backlog sent replica used")
Sent = collections.namedtuple("Sent", "places number todo images highest lacks")
Replica = collections.namedtuple("Replica", "places through contents last")

PLACES = (("a", 1), ("b", 2))
START = World((), (), (), ((1, ()), (2, ())), PLACES, None, frozenset(), None, None, (0, 0, 0))


def carry_out(what, number, places, contents):
    """Applies one write or change to dictionaries."""
    if what[0] == "write" and what[1] in contents:
        contents[what[1]] += (number,)
    elif what[0] == "swap":
        places["a"], places["b"] = places["b"], places["a"]
    elif what[0] == "drop":
        contents.pop(what[1], None)
        for name in [name for name, table in places.items() if table == what[1]]:
            del places[name]


def freeze(mapping):
    return tuple(sorted(mapping.items()))


class Model:
    def __init__(self, budget, off=None):
        self.budget, self.on = budget, {rule: rule != off for rule in RULES}

    def steps(self, world):
        """Yields (name, world) of every possible next step."""
        yield from self.writes(world)
        yield from self.changes(world)
        yield from self.send(world)
        yield from self.apply(world)

    def writes(self, world):
        writes, *others = world.used
        if writes < self.budget.writes:
            for _, table in world.places:
                number = len(world.history) + 1
                yield f"write to {table}", world._replace(history=world.history + (("write", table),),
                                                          flying=world.flying + ((number, table),), used=(writes + 1, *others))
        for i, (number, table) in enumerate(world.flying):
            if any(other == table for _, other in world.flying[:i]):
                continue  # a table carries out its writes in their order
            contents = dict(world.contents)
            carry_out(("write", table), number, {}, contents)
            yield f"{number} takes effect", world._replace(flying=world.flying[:i] + world.flying[i + 1:],
                                                           done=world.done + (number,), contents=freeze(contents))
        for number in world.done:
            yield f"{number} is added", world._replace(done=tuple(n for n in world.done if n != number),
                                                       backlog=world.backlog | {number})

    def changes(self, world):
        writes, swaps, drops = world.used
        number = len(world.history) + 1
        if world.change is None and swaps < self.budget.swaps and len(world.places) == 2:
            yield "swap gets its number", world._replace(history=world.history + (("swap",),), change=("swap", number),
                                                         backlog=world.backlog | {number}, used=(writes, swaps + 1, drops))
        if world.change is None and drops < self.budget.drops:
            table = dict(world.places)["b"]
            yield f"{table} is hidden", world._replace(places=world.places[:1], change=("drop", table), used=(writes, swaps, drops + 1))
        if world.change is not None and world.change[0] == "swap":
            places = dict(world.places)
            carry_out(("swap",), 0, places, {})
            yield "swap is published", world._replace(places=freeze(places), change=None)
        busy = [number for number, table in world.flying if world.change == ("drop", table)]
        if world.change is not None and world.change[0] == "drop" and not busy:
            contents = dict(world.contents)
            contents.pop(world.change[1])
            yield f"{world.change[1]} is dropped", world._replace(history=world.history + (world.change,), contents=freeze(contents),
                                                                  backlog=world.backlog | {number}, change=None)

    def image(self, world, table):
        """Returns the snapshot of a table that is taken now, or None: it must wait."""
        flying = [number for number, other in world.flying if other == table]
        contents = dict(world.contents)[table]
        if flying and self.on["image-in-order"]:
            return None
        return table, max([0, *contents, *flying]), contents

    def send(self, world):
        sent = world.sent
        is_between = world.change is not None and world.change[0] == "swap"
        if sent is None and not (is_between and self.on["catalog-held"]):
            todo = tuple(table for _, table in sorted(world.places, key=lambda place: place[1]))
            images = () if self.on["images-later"] else tuple(filter(None, (self.image(world, table) for table in todo)))
            number = len(world.history) if self.on["images-later"] else None
            yield "catalog", world._replace(sent=Sent(world.places, number, todo, images, 0, False))
        elif sent is not None and sent.number is None:
            yield "number", world._replace(sent=sent._replace(number=len(world.history), todo=()))
        elif sent is not None and sent.todo and world.replica is None:
            table, rest = sent.todo[0], sent.todo[1:]
            if table not in dict(world.places).values():
                yield f"{table} is left out", world._replace(sent=sent._replace(todo=rest, lacks=True))
            elif self.image(world, table) is not None:
                yield f"image of {table}", world._replace(sent=sent._replace(todo=rest, images=sent.images + (self.image(world, table),)))
        elif sent is not None and world.replica is None:
            waits = sent.lacks and self.on["drop-raises"]
            if not (waits and world.change is not None):
                highest = max([sent.number, *(image[1] for image in sent.images), len(world.history) if waits else 0])
                contents = {table: () for _, table in sent.places} | {table: rows for table, _, rows in sent.images}
                through = tuple((table, number) for table, number, _ in sent.images)
                yield "mark", world._replace(sent=sent._replace(highest=highest),
                                             replica=Replica(sent.places, through, freeze(contents), sent.number))

    def apply(self, world):
        if world.replica is None or world.replica.last == len(world.history):
            return
        replica, number = world.replica, world.replica.last + 1
        if number not in world.backlog:
            if self.on["no-gap"] or not any(later > number for later in world.backlog):
                return
            yield f"{number} is passed over", world._replace(replica=replica._replace(last=number))
            return
        what, places, contents = world.history[number - 1], dict(replica.places), dict(replica.contents)
        skips = what[0] == "write" and number <= dict(replica.through).get(what[1], 0) and self.on["skip-by-table"]
        if not skips:
            carry_out(what, number, places, contents)
        yield f"replica applies {number}", world._replace(
            replica=replica._replace(places=freeze(places), contents=freeze(contents), last=number))

    def fault(self, world):
        """Returns what is wrong, or None. The replica serves what the primary had after the replica's last number."""
        replica = world.replica
        if replica is None or (replica.last < world.sent.highest and self.on["serve-at-the-highest"]):
            return None
        places, contents = dict(PLACES), {1: (), 2: ()}
        for number, what in enumerate(world.history[:replica.last], 1):
            carry_out(what, number, places, contents)
        if not self.on["serve-at-the-highest"] and replica.last < world.sent.number:
            return None
        # a table that the catalog lacks was hidden: no client sees it, and the record of its DROP follows
        for table in set(contents) - {table for _, table in world.sent.places}:
            carry_out(("drop", table), 0, places, contents)
        if freeze(places) != replica.places:
            return "another place"
        return None if freeze(contents) == replica.contents else "other contents"


def explore(model):
    """Tries every history: (fault or None, the names of the steps that lead to it, the number of states)."""
    return search.explore(model, START, model.fault)
