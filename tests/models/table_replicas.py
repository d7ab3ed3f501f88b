# SPDX-License-Identifier: MIT
"""table_replicas - model of the full synchronisation of a replica with several tables (server/repl/stream.h).

The primary gives writes and changes their numbers, in one sequence. A write takes effect later, and its record is in the backlog
later still. The sender notes the catalog with the last number C, and takes an image of each table in turn. It sends the records
after C meanwhile. A DROP hides its table first, and gets its number later. The contents of a table are the numbers of its writes.
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

# change: what is carried out. backlog: the numbers that it has. sent: what the catalog has, its number C, the tables that have no
# snapshot yet, and R; -1: not known. replica: through: the number in the snapshot of each table. last: the last record.
World = collections.namedtuple("World", "history flying done contents places change backlog sent replica used")
Sent = collections.namedtuple("Sent", "places number todo early highest lacks")
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
        sent, replica = world.sent, world.replica
        is_between = world.change is not None and world.change[0] == "swap"
        if sent is None and not (is_between and self.on["catalog-held"]):
            todo = tuple(sorted(table for _, table in world.places))
            early = () if self.on["images-later"] else tuple(self.image(world, table) for table in todo)
            number = len(world.history) if self.on["images-later"] else -1
            if None not in early:
                yield "catalog", world._replace(sent=Sent(world.places, number, todo, early, -1, False), replica=Replica(
                    world.places, (), tuple((table, ()) for table in todo), number))
        elif sent is not None and sent.number < 0:
            number = len(world.history)
            yield "number", world._replace(sent=sent._replace(number=number), replica=replica._replace(last=number))
        elif sent is not None and sent.todo:
            table, following = sent.todo[0], sent._replace(todo=sent.todo[1:], early=sent.early[1:])
            image = sent.early[0] if sent.early else None
            if not sent.early and table not in dict(world.places).values():
                yield f"{table} is left out", world._replace(sent=following._replace(lacks=True))
            elif image is not None or self.image(world, table) is not None:
                _, number, rows = image or self.image(world, table)
                yield f"image of {table}", world._replace(sent=following, replica=replica._replace(
                    through=replica.through + ((table, number),), contents=freeze(dict(replica.contents) | {table: rows})))
        elif sent is not None and sent.highest < 0:
            waits = sent.lacks and self.on["drop-raises"]
            if not (waits and world.change is not None):
                highest = max([sent.number, *(number for _, number in replica.through), len(world.history) if waits else 0])
                yield "mark", world._replace(sent=sent._replace(highest=highest))

    def apply(self, world):
        if world.replica is None or not 0 <= world.replica.last < len(world.history):
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
        if replica is None or world.sent.highest < 0 or (replica.last < world.sent.highest and self.on["serve-at-the-highest"]):
            return None
        places, contents = dict(PLACES), {1: (), 2: ()}
        for number, what in enumerate(world.history[:replica.last], 1):
            carry_out(what, number, places, contents)
        # a table that the catalog lacks was hidden: no client sees it, and the record of its DROP follows
        for table in set(contents) - {table for _, table in world.sent.places}:
            carry_out(("drop", table), 0, places, contents)
        if freeze(places) != replica.places:
            return "another place"
        return None if freeze(contents) == replica.contents else "other contents"


def explore(model):
    """Tries every history: (fault or None, the names of the steps that lead to it, the number of states)."""
    return search.explore(model, START, model.fault)
