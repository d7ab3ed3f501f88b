# SPDX-License-Identifier: MIT
"""The calls that list and change the tables of a server."""

from __future__ import annotations

import dataclasses
import operator
from typing import Any, Optional

from . import _segments
from ._link import Link, c_text
from ._native import ffi, lib

_ROWS = 64


@dataclasses.dataclass(frozen=True)
class Table:
    """A table of a server that has several, as of the call that returned it."""

    name: str
    number: int  # of its place: SWAP leaves it
    id: int  # of the table: no other table of the server has had it
    keys: int
    slots: int
    slots_max: int  # to which it may grow
    bytes: int  # of memory that it reserves


def _table_of(row: Any) -> Table:
    """Returns a row of sherwood_tables."""
    name: bytes = ffi.string(row.name)
    return Table(name.decode("ascii", "replace"), row.number, row.id, row.keys, row.slots, row.slots_max, row.bytes)


class TableCalls:
    """The calls of a client on the tables of its server. Refused: the server refuses the change; the text says why."""

    __slots__ = ()
    _link: Link

    def tables(self) -> list[Table]:
        """Returns the tables of the server that the user may use, by ascending numbers."""
        rows, found = ffi.new("struct sherwood_table_row[]", _ROWS), []
        at, count = ffi.new("uint32_t *"), ffi.new("uint32_t *")
        with self._link.lock:
            while True:
                self._link.check(lib.sherwood_tables(self._link.use(), at, rows, len(rows), count))
                found += [_table_of(rows[i]) for i in range(count[0])]
                if at[0] == 0:
                    return found

    def create_table(self, name: str, *, like: Optional[str] = None, number: Optional[int] = None, exist_ok: bool = False,
                     **options: Any) -> None:
        """Creates an empty table. like: the table whose options it has; else those of the default table.

        number: of its place, 1 to 65535; else the server chooses. exist_ok: a table of this name may exist: then
        nothing changes. options: those of the section [table], with "_" for "-", such as max_capacity="1G".
        """
        words = ["CREATE", name]
        words += ["LIKE", like] if like is not None else []
        words += ["NUMBER", str(operator.index(number))] if number is not None else []
        words += ["IF", "NOT", "EXISTS"] if exist_ok else []
        for option, value in options.items():
            words += [option.replace("_", "-"), str(value)]
        self._change(words)

    def drop_table(self, name: str, *, missing_ok: bool = False) -> None:
        """Removes a table with its keys. missing_ok: it need not exist."""
        self._change(["DROP", name] + (["IF", "EXISTS"] if missing_ok else []))

    def rename_table(self, name: str, new_name: str) -> None:
        """Gives a table another name. Clients that have opened it go on."""
        self._change(["RENAME", name, new_name])

    def swap(self, name: str, other: str, *, force: bool = False) -> None:
        """Exchanges two tables, for all clients of the server at once. force: their shapes may differ."""
        self._change(["SWAP", name, other] + (["FORCE"] if force else []))

    def get_segments(self, parts: Any, *, default: Any = None) -> list[Any]:
        """Reads several tables together: one round trip for up to 64 tables.

        parts: pairs (table, keys). A table is a name or a number as text, a client that table() returned, or None for the
        default table. Keys are as in get_many, of the same width in all tables. Returns a list with what get_many returns for each
        part: (values, found), or with `default` the values. The tables are read on the connections of this client.
        Refused: a table does not exist, the user may not read it, or the server is older than this call. If the arrays of all
        parts lie in regions of this client, no call copies them.
        """
        return _segments.get(self._link, _segments.named(self._link, parts), default)

    def alter_table(self, name: str, **options: Any) -> None:
        """Changes options of a table: max_capacity, memory_max, memory_min, default_ttl."""
        if not options:
            raise ValueError("alter_table: give an option, for example default_ttl=60")
        self._change(["ALTER", name] + [word for option, value in options.items() for word in (option.replace("_", "-"), str(value))])

    def save_table(self, name: str) -> None:
        """Writes a snapshot of the table into the data directory of the server, and waits for it."""
        self._change(["SAVE", name])

    def _change(self, words: list[str]) -> None:
        texts = [ffi.new("char[]", c_text(word, "table")) for word in words]
        with self._link.lock:
            self._link.check(lib.sherwood_table_change(self._link.use(), texts, len(texts)))
