# SPDX-License-Identifier: MIT
"""table_files - model of a data directory with several tables: one log, a snapshot of each table, and catalogs that name them.

The contents of a table are the tuple of the numbers of its writes, in the order in which they took effect. So a write that is
lost, applied twice or out of order shows. A fault is a crash after which a start finds no prefix of all writes and changes
that has everything durable.
"""

import collections

import search

RULES = {
    "name-waits-for-log": "a catalog gets its name only when the log is durable up to every number in it",
    "least-through": "segments go up to the least number that all tables of the catalog are through",
    "catalog-last": "a catalog gets its name after every snapshot that it names",
    "forget-after-catalog": "segments and files go only when the catalog that does without them is durable",
    "number-in-lock": "the number of an image is read while no write of its table is between number and effect",
    "through-in-lock": "the number that an idle table is through is read in the same way",
    "skip-by-table": "a start skips a write by the number of its own table, not by the catalog's",
    "files-by-catalog": "the files of a dropped table go with a catalog, not with the record of the drop",
    "ids-once": "the id of a table is never given again",
    "changes-by-catalog": "a start carries out the changes behind the catalog's number",
    "catalog-in-mutex": "the number and the places of a catalog are read while no change is carried out",
    "alter-by-record": "an ALTER is a record, unless the first table lies in place a, where it has the options of the command line",
    "swap-has-options": "the SWAP that moves the first table out of place a has its options",
    "own-options": "a start gives another table in place a the options of the catalog",
    "mend-all": "a catalog mends a broken log only if every table has what was handed in",
}

# How often each may happen. `breaks`: the log may break.
Budget = collections.namedtuple("Budget", "writes swaps drops creates saves breaks alters", defaults=(0, 0))

# history: all writes and changes by number. flying: (number, table) of writes without effect. first: the first record of the
# log. options: of the tables that were altered, the number of the ALTER, or -1 if it is no record. saver: its phase, the tables to do, the rows made, and an image. log: whether it is broken, and a mended gap.
World = collections.namedtuple("World", "history flying contents places options next_id first durable catalogs files saver used broken gap")
Saver = collections.namedtuple("Saver", "phase todo made image")
# A catalog: its number, its places, and rows of (table, number of its file, number that the file is through, options).
Catalog = collections.namedtuple("Catalog", "number places rows")

IDLE = Saver("idle", (), (), None)
PLACES = (("a", 1), ("b", 2))
START = World((), (), ((1, ()), (2, ())), PLACES, (), 3, 1, 0, (), (), IDLE, (0,) * 6, False, None)
NO_CATALOG = Catalog(0, PLACES, ((1, 0, 0, 0), (2, 0, 0, 0)))


def carry_out(what, number, places, contents, options):
    """Applies one write or change to dictionaries."""
    if what[0] == "write" and what[1] in contents:
        contents[what[1]] += (number,)
    elif what[0] == "swap" and {"a", "b"} <= set(places):
        places["a"], places["b"] = places["b"], places["a"]
        if what[1]:
            options[1] = what[1]
    elif what[0] == "drop":
        contents.pop(what[1], None)
        options.pop(what[1], None)
        for name in [name for name, table in places.items() if table == what[1]]:
            del places[name]
    elif what[0] == "create":
        places["c"], contents[what[1]] = what[1], ()
    elif what[0] == "alter":
        options[what[1]] = number


def state(places, contents, options):
    """Returns what a client sees behind a start. The first table has the options of the command line in place a."""
    return places, contents, {table: value for table, value in options.items() if value and (table != 1 or places["a"] != 1)}


def written(world):
    """The last number up to which every write was handed to the log."""
    return min([number for number, _ in world.flying] + [len(world.history) + 1]) - 1


class Model:
    def __init__(self, budget, off=None):
        self.budget, self.on = budget, {rule: rule != off for rule in RULES}

    # --- a start --------------------------------------------------------------------------------

    def recover(self, world, end):
        """Returns (fault or None, what a client sees) of a start whose log ends with the record `end`."""
        catalog = world.catalogs[-1] if world.catalogs else NO_CATALOG
        places, contents, options, since, files = dict(catalog.places), {}, {}, {}, dict(world.files)
        for table, number, through, value in catalog.rows:
            if number and (table, number) not in files:
                return "a snapshot is missing", None
            is_as_started = places["a"] == table and (table == 1 or not self.on["own-options"])
            options[table] = 0 if is_as_started else value
            contents[table] = files[(table, number)] if number else ()
            since[table] = max(number, through)
        needed = min([*since.values(), catalog.number]) + 1
        if needed <= end and needed < world.first:
            return "a segment is missing", None
        if world.gap and needed <= min(end, world.gap[1]) and max(needed, world.gap[0] + 1) <= world.gap[1]:
            return "a segment is missing", None
        for number in range(max(world.first, needed), end + 1):
            what = world.history[number - 1]
            if what[0] == "write":
                base = since.get(what[1], 0) if self.on["skip-by-table"] else catalog.number
                skips = number <= base
            else:
                skips = number <= catalog.number and self.on["changes-by-catalog"]
            skips |= what[0] == "alter" and not self.on["alter-by-record"]
            if what[0] == "swap" and not self.on["swap-has-options"]:
                what = ("swap", 0)
            if not skips:
                carry_out(what, number, places, contents, options)
            if what[0] == "create" and not skips:
                since[what[1]] = number
        return None, state(places, contents, options)

    def fault(self, world):
        """Returns what a crash would show, or None."""
        places, contents, options = dict(PLACES), {1: (), 2: ()}, {}
        prefixes = [state(dict(places), dict(contents), options)]
        for number, what in enumerate(world.history, 1):
            carry_out(what, number, places, contents, options)
            prefixes.append(state(dict(places), dict(contents), options))
        for end in range(world.durable, written(world) + 1):
            wrong, seen = self.recover(world, end)
            if wrong is None and seen not in prefixes[world.durable:]:
                wrong = "not a prefix"
            if wrong is not None:
                return wrong
        return None

    # --- steps ----------------------------------------------------------------------------------

    def steps(self, world):
        """Yields (name, world) of every possible next step."""
        for number, table in world.flying:
            contents = dict(world.contents)
            carry_out(("write", table), number, {}, contents, {})
            yield f"write {number} takes effect", self.next(
                world, contents=contents, flying=tuple(one for one in world.flying if one[0] != number))
        if not world.broken:
            yield from self.clients(world)
            if written(world) > world.durable:
                yield "sync", world._replace(durable=written(world))
                if self.budget.breaks and world.gap is None:
                    yield "the log breaks", world._replace(broken=True)
        yield from self.saves(world)

    @staticmethod
    def next(world, contents=None, places=None, options=None, uses=None, **fields):
        """Returns the world with sorted contents, places and options, and with a use of the budget."""
        if contents is not None:
            fields["contents"] = tuple(sorted(contents.items()))
        if places is not None:
            fields["places"] = tuple(sorted(places.items()))
        if options is not None:
            fields["options"] = tuple(sorted(options.items()))
        if uses is not None:
            fields["used"] = tuple(n + (i == uses) for i, n in enumerate(world.used))
        return world._replace(**fields)

    def clients(self, world):
        places, busy = dict(world.places), {table for _, table in world.flying}
        writes, swaps, drops, creates, _, alters = world.used
        number = len(world.history) + 1
        for table in sorted(set(places.values()) - busy) if writes < self.budget.writes else ():
            yield f"write {number} of table {table}", self.next(
                world, uses=0, history=world.history + (("write", table),), flying=world.flying + ((number, table),))
        if swaps < self.budget.swaps and {"a", "b"} <= set(places):
            kept = dict(world.options).get(1, 0) if places["a"] == 1 else 0
            yield "swap", self.change(world, 1, ("swap", kept))
        for place in ("a", "b") if alters < self.budget.alters else ():
            if place == "a" and places[place] == 1:
                yield "alter the first table", self.next(world, options={**dict(world.options), 1: -1}, uses=5)
            elif place in places:
                yield f"alter the table in {place}", self.change(world, 5, ("alter", places[place]))
        if drops < self.budget.drops and places.get("b", 0) not in busy and "b" in places:
            dropped = places["b"]
            left = world.files if self.on["files-by-catalog"] else tuple(
                one for one in world.files if one[0][0] != dropped)
            yield "drop", self.change(world, 2, ("drop", dropped), files=left)
        if creates < self.budget.creates and "c" not in places and (drops or self.on["ids-once"]):
            table = world.next_id if self.on["ids-once"] else next(t for t in range(1, 9) if t not in dict(world.contents))
            yield "create", self.change(world, 3, ("create", table), next_id=world.next_id + 1)

    def change(self, world, uses, what, **fields):
        places, contents, options = dict(world.places), dict(world.contents), dict(world.options)
        carry_out(what, len(world.history) + 1, places, contents, options)
        return self.next(world, contents, places, options, uses, history=world.history + (what,), **fields)

    # --- the saver ------------------------------------------------------------------------------

    def saves(self, world):
        saver = world.saver
        if saver.phase == "idle" and world.used[4] < self.budget.saves + world.broken:
            tables = tuple(table for table, _ in world.contents)
            yield "a save begins", self.next(world, uses=4, saver=Saver("tables", tables, (), None))
        elif saver.phase == "tables" and saver.image is not None:
            yield from self.writes_file(world)
        elif saver.phase == "tables" and saver.todo:
            yield from self.looks_at_table(world)
        elif saver.phase in ("tables", "catalog"):
            yield from self.writes_catalog(world)
        elif saver.phase == "torn" and world.durable >= len(world.history): # the number is read after the places
            catalog = Catalog(len(world.history), *saver.made)
            yield "the catalog is named", world._replace(
                catalogs=world.catalogs + (catalog,), saver=Saver("forget", (), (catalog,), saver.image))
        elif saver.phase == "late":
            yield "the catalog is named late", world._replace(
                catalogs=world.catalogs + saver.made, saver=saver._replace(phase="forget"))
        elif saver.phase == "forget":
            yield "old files go", self.forget(world, saver.made[0])._replace(saver=IDLE)

    def looks_at_table(self, world):
        saver, contents = world.saver, dict(world.contents)
        table, number, busy = saver.todo[0], len(world.history), {t for _, t in world.flying}
        if table not in contents:
            yield "the table was dropped", world._replace(saver=saver._replace(todo=saver.todo[1:]))
            return
        if table not in busy or not self.on["number-in-lock"]:
            yield f"an image of table {table}", world._replace(
                saver=saver._replace(image=(table, number, contents[table])))
        last = world.catalogs[-1] if world.catalogs else NO_CATALOG
        file = {row[0]: row[1] for row in last.rows}.get(table)
        saved = None if file is None else dict(world.files).get((table, file)) if file else ()
        if saved == contents[table] and (table not in busy or not self.on["through-in-lock"]):
            yield f"table {table} is idle", world._replace(
                saver=saver._replace(todo=saver.todo[1:], made=saver.made + ((table, file, number),)))

    def writes_file(self, world):
        saver, (table, number, what) = world.saver, world.saver.image
        made, files = saver.made + ((table, number, number),), dict(world.files)
        files[(table, number)] = what
        yield f"the file of table {table}", world._replace(
            files=tuple(sorted(files.items())), saver=saver._replace(todo=saver.todo[1:], made=made, image=None))
        if not self.on["catalog-last"] and len(saver.todo) == 1:
            yield "the file comes later", world._replace(saver=Saver("catalog", (), made, saver.image))

    def writes_catalog(self, world):
        number, made = len(world.history), {row[0]: row for row in world.saver.made}
        born = {what[1]: n for n, what in enumerate(world.history, 1) if what[0] == "create"}
        rows = tuple((*made.get(table, (table, 0, born.get(table, 0))), dict(world.options).get(table, 0)) for table, _ in world.contents)
        catalog = Catalog(number, world.places, rows)
        forgets = Saver("forget", (), (catalog,), world.saver.image)
        named = world._replace(catalogs=world.catalogs + (catalog,), saver=forgets)
        if world.broken:
            if not world.flying and (all(row[2] == number for row in rows) or not self.on["mend-all"]):
                yield "the log is mended", named._replace(durable=number, broken=False, gap=(world.durable, number))
        elif max([number] + [row[1] for row in rows]) <= world.durable or not self.on["name-waits-for-log"]:
            yield "the catalog is named", named
            if not self.on["catalog-in-mutex"]:
                yield "the places are read", world._replace(saver=Saver("torn", (), (world.places, rows), world.saver.image))
            if not self.on["forget-after-catalog"]:
                yield "segments go early", self.forget(world, catalog, False)._replace(saver=forgets._replace(phase="late"))

    def forget(self, world, catalog, files=True):
        """Removes the records and the files that a start with the catalog does not need."""
        choose = min if self.on["least-through"] else max
        least = choose([row[2] for row in catalog.rows] + [catalog.number])
        names = {(row[0], row[1]) for row in catalog.rows}
        left = tuple(one for one in world.files if one[0] in names) if files else world.files
        return world._replace(first=max(world.first, least + 1), files=left)


def explore(model):
    """Tries every history: (fault or None, the names of the steps that lead to it, the number of states)."""
    return search.explore(model, START, model.fault)
