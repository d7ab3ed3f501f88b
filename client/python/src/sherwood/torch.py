# SPDX-License-Identifier: MIT
"""Calls on tensors as operators of torch, torch.ops.sherwood.*, so that torch.compile accepts them:

    import sherwood.torch
    table = sherwood.torch.Table(client)               # tensors of the host
    table = sherwood.torch.Table(client.attach())      # tensors of the server's GPU
    values, found = table.lookup(keys)
    layer = sherwood.torch.Embedding(table, 64, lr=0.1)   # a module with the rows of the table

Each operator takes a tensor `state` of its table. Writes mutate it and reads read it, so a compiled program keeps them in
order, and reads nothing again after a write. Operators have no gradients.

With torch 2.10 and later, operators on tensors of a GPU are C, and call no Python. An operator that is called without its
Table, or by a compiled program, then raises RuntimeError with the text of the error.
"""

from __future__ import annotations

import functools
import threading
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Callable, Iterable, Optional, Union

import numpy as np
import torch

from . import _operators
from ._client import Client
from ._device import Device
from ._errors import Refused
from ._link import Options

_SCHEMAS = {
    "lookup": "(int table, Tensor state, Tensor keys, int? default=None) -> (Tensor, Tensor)",
    "lookup.float": "(int table, Tensor state, Tensor keys, float default) -> (Tensor, Tensor)",
    "lookup_into": "(int table, Tensor state, Tensor keys, Tensor(a!) out, Tensor(b!)? found=None, int? default=None) -> ()",
    "lookup_into.float": "(int table, Tensor state, Tensor keys, Tensor(a!) out, Tensor(b!)? found, float default) -> ()",
    "lookup_tables": "(int[] tables, Tensor[] states, Tensor[] keys) -> Tensor[]",
    "set_": "(int table, Tensor(a!) state, Tensor keys, Tensor values) -> ()",
    "add_": "(int table, Tensor(a!) state, Tensor keys, Tensor values) -> ()",
    "delete_": "(int table, Tensor(a!) state, Tensor keys) -> Tensor",
    "assign_": "(int table, Tensor(a!) state, Tensor keys) -> (Tensor, Tensor)",
}
# A read is the same while the state is. Operators wait for a server, so torch.compile may not put them in a CUDA graph.
_TAGS = tuple(getattr(torch.Tag, name) for name in ("pt2_compliant_tag", "cudagraph_unsafe") if hasattr(torch.Tag, name))

_tables: weakref.WeakValueDictionary[int, Table] = weakref.WeakValueDictionary()


class Table:
    """The entries of a server as operators of torch: on tensors of the host with a Client, of a GPU with a Device.

    With a Device and wait=False a call returns at once and takes place in the order of the current stream. Then
    `Device.check` raises its errors. Otherwise a call returns when it is complete.
    """

    def __init__(self, calls: Union[Client, Device], *, wait: bool = True) -> None:
        if not isinstance(calls, (Client, Device)):
            raise TypeError(f"Table: {type(calls).__name__} is not a client: give sherwood.connect(..), or its attach()")
        if not wait and not isinstance(calls, Device):
            raise ValueError("Table: wait=False is for a Device: a client has no stream")
        if isinstance(calls, Device) and not wait:
            calls.warn_of_switches()
        self.calls = calls
        self.wait = wait
        self.value_shape = calls.value_shape
        self.value_dtype: torch.dtype = getattr(torch, _operators.name_of(calls.value_dtype))
        self.default_bits = 64 if self.value_dtype.is_floating_point else 8 * self.value_dtype.itemsize - (calls.value_dtype.kind == "i")
        place = "cpu"
        if isinstance(calls, Device):
            known = calls.operator_tables
            place, self.number = known.place(), known.add(not wait)
            weakref.finalize(self, known.forget, self.number).atexit = False
        else:
            self.number = next(_operators.numbers)
        self.state = torch.zeros(1, dtype=torch.int64, device=place)
        self._ahead: Optional[_Ahead] = None
        _tables[self.number] = self

    def __deepcopy__(self, _memo: Any) -> Table:
        return self  # a copy of a module reads and trains the same rows

    def __reduce__(self) -> Any:
        return functools.partial(type(self), wait=self.wait), (self.calls,)

    def lookup(self, keys: torch.Tensor, default: Any = None) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns the values of keys, and a mask of the present ones. An absent key has the value `default`, or 0."""
        values, found = self._call("lookup", keys, _number(self, default))
        return values, found

    def lookup_into(self, keys: torch.Tensor, out: torch.Tensor, found: Optional[torch.Tensor] = None,
                    default: Any = None) -> None:
        """Does the same, and stores the results in tensors of the caller."""
        if out.requires_grad and torch.is_grad_enabled():
            raise ValueError("out: the tensor requires a gradient, and a lookup has none: give out.detach()")
        self._call("lookup_into", keys, out, found, _number(self, default))

    def set_(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Stores values."""
        self._call("set_", keys, values)

    def add_(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Adds to values. An absent key is stored."""
        self._call("add_", keys, values)

    def set_absent(self, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        """Stores values of absent keys. Returns the value that each key then has. Not an operator: torch.compile ends a graph here."""
        if torch.compiler.is_dynamo_compiling():
            stored: torch.Tensor = torch.compiler.disable(self.set_absent)(keys, values)
            return stored
        old, was = self.calls.set_many(keys.contiguous(), values.contiguous(), only="absent", previous=True, **_options(self, keys))
        return torch.where(was.view(-1, *[1] * len(self.value_shape)), old, values)

    def delete_(self, keys: torch.Tensor) -> torch.Tensor:
        """Deletes keys. Returns a mask of those that were present."""
        found: torch.Tensor = self._call("delete_", keys)
        return found

    def assign_(self, keys: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns the ids of keys, of a server that numbers its keys (--ids), and a mask of the new keys."""
        ids, new = self._call("assign_", keys)
        return ids, new

    def begin_lookup(self, keys: torch.Tensor) -> Future[Any]:
        """Begins to read the values of keys. The result is that of lookup: of the writes that the caller has made before, and perhaps
        of later ones. Not an operator. A Table with wait=False raises Refused."""
        if not self.wait:
            raise Refused("prefetch, begin_lookup: this Table has wait=False, and a read ahead may miss its calls: make the Table with wait=True")
        if isinstance(self.calls, Client):
            return self.calls.submit.get_many(keys.contiguous())
        if self._ahead is None:
            self._ahead = _Ahead()
        return self._ahead.begin(self, keys.contiguous())

    def _call(self, name: str, *arguments: Any) -> Any:
        """Calls an operator. Raises the errors of the client, where the operator raises RuntimeError with their text."""
        try:
            return getattr(torch.ops.sherwood, name)(self.number, self.state, *arguments)
        except RuntimeError as error:
            if not _operators.refused(error):
                raise
            return _CALLS[name](self.number, self.state, *arguments)


def lookup_tables(parts: Iterable[tuple[Table, torch.Tensor]]) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Returns for pairs of a Table and keys what the Table's lookup returns. The reads are in flight together, and have no order among each other.

    The Tables are of one client and its `table` calls, or of one Device and its `table` calls, and all wait or none does.
    """
    pairs = list(parts)
    flat = torch.ops.sherwood.lookup_tables([table.number for table, _ in pairs], [table.state for table, _ in pairs], [keys for _, keys in pairs])
    return list(zip(flat[::2], flat[1::2]))


class _Ahead:
    """Reads of a Device in a thread. They wait on a stream of their own, so they do not wait for later work of the caller's stream."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "sherwood-ahead")
        self._stream: Any = None

    def begin(self, table: Table, keys: torch.Tensor) -> Future[Any]:
        """Begins a read behind the work that the caller's stream has: it may still use the memory of the keys and the results."""
        calls: Any = table.calls
        calls._use().use()  # in a forked child there is no thread
        values, found = _results(table, keys)
        if self._stream is None:
            self._stream = torch.cuda.Stream(keys.device)
        return self._pool.submit(self._read, calls, keys, values, found, torch.cuda.current_stream(keys.device).record_event())

    def _read(self, calls: Any, keys: torch.Tensor, values: torch.Tensor, found: torch.Tensor, after: Any) -> tuple[torch.Tensor, torch.Tensor]:
        self._stream.wait_event(after)
        with torch.cuda.stream(self._stream):
            calls.get_many(keys, default=0, out=values, found=found)
        self._stream.synchronize()  # torch may copy the mask after the call
        return values, found


class Embedding(torch.nn.Module):
    """The rows of a table as an embedding of any number of keys, trained by SGD on the server.

    `forward(keys)` returns the rows of keys of any shape. In training it first stores rows for absent keys: those of
    `init(keys)`, of the shape (keys, dim), or zeros. If another trainer was first with a key, its row counts. In eval
    absent keys have rows of zeros, and nothing is stored. The backward pass sums the gradients of equal keys, and adds -lr
    times each sum to the row of its key, also beside other trainers. That is a step of SGD, which rounds lr times the sum before it
    adds. So the module has no parameters for an optimizer: set `lr` where a program sets that of its optimizer.

    The table is a `Table` over float32 or float64 rows of `dim` numbers, in an engine that does not evict and without
    expiry: a row that vanishes between the passes would come back as its gradient alone. The rows are not in the
    state_dict: a checkpoint of them is a snapshot of the server (SAVE).

    `prefetch(keys)` begins to read the rows of a batch to come: over a connection of its own, or by a thread over a Device. A
    Table with wait=False has no prefetch:

        rows = layer(keys)
        layer.prefetch(next_keys)            # its rows come while this batch computes
        loss(rows).backward()
    """

    def __init__(self, table: Table, dim: int, init: Optional[Callable[[torch.Tensor], torch.Tensor]] = None, *,
                 lr: float, prefetched_max: int = 2) -> None:
        super().__init__()
        if not isinstance(table, Table):
            raise TypeError(f"Embedding: table is of type {type(table).__name__}: give a sherwood.torch.Table")
        if table.value_shape != (dim,) or not table.value_dtype.is_floating_point or table.value_dtype.itemsize < 4:
            raise ValueError(f"Embedding: the values have the shape {table.value_shape} and the dtype {table.value_dtype}: start the"
                             f" server with --value-type f32 --value-bytes {4 * dim} for {dim} numbers")
        self.table = table
        self.dim = dim
        self.init = init
        self.lr = lr
        self.prefetched_max = prefetched_max
        self._batches: list[_Batch] = []  # prefetched, and not used yet
        self._anchor = torch.empty(0, requires_grad=True, device=table.state.device)  # autograd calls backward because of it

    def forward(self, keys: torch.Tensor) -> torch.Tensor:
        """Returns the rows of keys, of the shape of the keys and one dimension more."""
        batch = next((batch for batch in self._batches if batch.is_of(keys)), None)
        if batch is None:
            batch = _Batch(self.table, keys)
        else:
            self._batches.remove(batch)
        rows = _Rows.apply(self._anchor, self, batch) if self.training else batch.read()[0]
        return torch.nn.functional.embedding(batch.places, rows)

    def prefetch(self, keys: torch.Tensor) -> None:
        """Begins to read the rows of keys. The next call of the layer with equal keys uses them.

        The results are those without prefetch: the layer reads rows again that a layer of this table has trained or stored
        meanwhile, also over another address of the server or over a Device that waits. A write of another trainer between the two calls
        may be missing. Over a Device the read begins after the work that the current stream has. A Table with wait=False raises
        Refused: make it with wait=True. At most `prefetched_max` batches wait for their call, and prefetch raises an error if that
        many wait.
        """
        if len(self._batches) >= self.prefetched_max:
            raise Refused(f"prefetch: {len(self._batches)} batches wait for a call of the layer with their keys: call it, drop them by"
                          " forget(), or give the layer a larger prefetched_max")
        batch = _Batch(self.table, keys.clone())
        batch.begin()
        self._batches.append(batch)

    def forget(self) -> None:
        """Drops the prefetched rows of batches that are not needed any more."""
        self._batches.clear()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_batches": []}

    def extra_repr(self) -> str:
        """Returns the arguments, for print(module)."""
        return f"dim={self.dim}, lr={self.lr}"


class _Rows(torch.autograd.Function):
    """Reads the rows of distinct keys, and sends their gradients. The backward pass of torch's own embedding sums them before."""

    @staticmethod
    def forward(ctx: Any, _anchor: torch.Tensor, layer: Embedding, batch: _Batch) -> torch.Tensor:
        """Returns the rows."""
        ctx.layer = layer
        ctx.save_for_backward(batch.keys)
        return _read_or_store(layer, batch)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[None, None, None]:
        """Adds -lr times the gradient to each row."""
        keys, table = ctx.saved_tensors[0], ctx.layer.table
        try:
            table.add_(keys, gradient * -ctx.layer.lr)
        finally:  # a call that failed may have taken effect
            _Batch.note(table, keys)
        return None, None, None


class _Batch:
    """The keys of a call of an Embedding, and with `begin` their rows as they were then."""

    _begun: weakref.WeakSet[_Batch] = weakref.WeakSet()
    _lock = threading.Lock()  # of _begun, and of _old of its batches

    def __init__(self, table: Table, given: torch.Tensor) -> None:
        self.given = given
        self.keys, self.places = torch.unique(given, return_inverse=True)
        self._table = table
        self._future: Optional[Future[Any]] = None
        self._old: Optional[torch.Tensor] = None  # mask of the keys whose rows layers of this process wrote since `begin`

    def is_of(self, keys: torch.Tensor) -> bool:
        """Returns whether the batch has these keys."""
        given = self.given
        return given.dtype == keys.dtype and given.device == keys.device and bool(torch.equal(given, keys))

    def begin(self) -> None:
        """Begins to read the rows."""
        with self._lock:
            self._begun.add(self)  # first, so that no write during the read is missed
        self._future = self._table.begin_lookup(self.keys)

    @classmethod
    def note(cls, table: Table, keys: torch.Tensor) -> None:
        """Notes that a layer wrote the rows of keys."""
        with cls._lock:
            for batch in cls._begun:
                if _may_be_one(table.calls._place, batch._table.calls._place):
                    old = torch.isin(batch.keys, keys.to(batch.keys.device))
                    batch._old = old if batch._old is None else batch._old | old

    def read(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns the rows of the distinct keys as they are now, and a mask of the present ones."""
        if self._future is None:
            return self._table.lookup(self.keys)
        with self._lock:
            self._begun.discard(self)
        rows, found = self._future.result()
        if self._old is not None and self._old.any():
            rows[self._old], found[self._old] = self._table.lookup(self.keys[self._old])
        return rows, found


def _may_be_one(one: tuple[Options, int], other: tuple[Options, int]) -> bool:
    """Returns whether the places of two clients may be one table. If they are two, rows are read again in vain."""
    (a, run), (b, other_run) = one, other
    tables = {a.table or "default", b.table or "default"}
    is_one_name = len(tables) == 1 or any(table.isdigit() for table in tables)
    return is_one_name and (a.address == b.address or run == other_run != 0 or bool(a.nodes or b.nodes))  # each node has another run


def _read_or_store(layer: Embedding, batch: _Batch) -> torch.Tensor:
    """Returns the rows of distinct keys. Stores those of absent keys."""
    rows, found = batch.read()
    absent = ~found
    if absent.any():
        new = batch.keys[absent]
        given = torch.zeros_like(rows[absent]) if layer.init is None else layer.init(new)
        if not isinstance(given, torch.Tensor):
            raise TypeError(f"Embedding: init returned an object of type {type(given).__name__}: return a tensor of shape"
                            f" ({len(new)}, {layer.dim})")
        given = given.to(rows)
        if given.shape != (len(new), layer.dim):
            raise ValueError(f"Embedding: init returned rows of shape {tuple(given.shape)} for {len(new)} keys: return"
                             f" ({len(new)}, {layer.dim})")
        rows[absent] = layer.table.set_absent(new, given)
        _Batch.note(layer.table, new)
    return rows


def _number(table: Table, default: Any) -> Any:
    """Returns a default as an argument of the operators: torch's integers are signed, and it rounds numpy's float32 to one of them."""
    if isinstance(default, torch.Tensor):
        if default.numel() != 1:
            raise ValueError(f"default: a tensor of shape {tuple(default.shape)}: give one number")
        default = default.item()  # torch would cut off its fraction
    if isinstance(default, np.floating):
        return float(default)
    if isinstance(default, (int, np.integer)) and not -2**63 <= default < 2**63:
        if not 0 <= default < 2**table.default_bits:
            raise ValueError(f"default: {default} has more than {table.default_bits} bits: give a value of the table")
        return float(default) if table.value_dtype.is_floating_point else int(default) - 2**64
    return default


def _table(number: int) -> Table:
    table = _tables.get(number)
    if table is None:
        raise Refused(f"the sherwood.torch.Table {number} of this operator no longer exists: keep a reference to it")
    return table


def _options(table: Table, keys: torch.Tensor) -> dict[str, Any]:
    return {} if table.wait else {"stream": torch.cuda.current_stream(keys.device)}


def _lookup_into(number: int, state: torch.Tensor, keys: torch.Tensor, out: torch.Tensor, found: Optional[torch.Tensor] = None,
                 default: Any = None) -> None:
    table = _table(number)
    dtype = table.calls.value_dtype
    if default is None:
        default = 0
    elif dtype.kind == "u" and -2**(8 * dtype.itemsize - 1) <= default < 0:
        default += 2**(8 * dtype.itemsize)  # the tensors are signed
    table.calls.get_many(keys.contiguous(), default=default, out=out, found=found, **_options(table, keys))


def _lookup(number: int, state: torch.Tensor, keys: torch.Tensor, default: Any = None) -> tuple[torch.Tensor, torch.Tensor]:
    values, found = _results(_table(number), keys)
    _lookup_into(number, state, keys, values, found, default)
    return values, found


def _lookup_tables(numbers: list[int], states: list[torch.Tensor], keys: list[torch.Tensor]) -> list[torch.Tensor]:
    tables = [_table(number) for number in numbers]
    if len({table.wait for table in tables}) > 1:
        raise Refused("lookup_tables: some Tables wait and some do not: make a call for each kind")
    if not tables:
        return []
    parts = [(table.calls, each.contiguous()) for table, each in zip(tables, keys)]
    return [array for pair in tables[0].calls.get_segments(parts, **_options(tables[0], keys[0])) for array in pair]


def _set(number: int, state: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> None:
    table = _table(number)
    table.calls.set_many(keys.contiguous(), values.detach().contiguous(), **_options(table, keys))


def _add(number: int, state: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> None:
    table = _table(number)
    table.calls.add_many(keys.contiguous(), values.detach().contiguous(), **_options(table, keys))


def _delete(number: int, state: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
    table = _table(number)
    found: torch.Tensor = table.calls.delete_many(keys.contiguous(), **_options(table, keys))
    return found


def _assign(number: int, state: torch.Tensor, keys: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    table = _table(number)
    ids, new = table.calls.assign_many(keys.contiguous(), **_options(table, keys))
    return ids, new


def _results(table: Table, keys: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns new tensors for the values and the mask of keys."""
    return (torch.empty((*keys.shape, *table.value_shape), dtype=table.value_dtype, device=keys.device),
            torch.empty(keys.shape, dtype=torch.bool, device=keys.device))


_CALLS: dict[str, Callable[..., Any]] = {"lookup": _lookup, "lookup_into": _lookup_into, "lookup_tables": _lookup_tables, "set_": _set,
                                         "add_": _add, "delete_": _delete, "assign_": _assign}


def _define() -> torch.library.Library:
    library = torch.library.Library("sherwood", "DEF")
    shapes = {"lookup": lambda number, state, keys, default=None: _results(_table(number), keys),
              "assign_": lambda number, state, keys: _results(_table(number), keys),
              "lookup_tables": lambda numbers, states, keys: [
                  array for number, each in zip(numbers, keys) for array in _results(_table(number), each)],
              "delete_": lambda number, state, keys: torch.empty(keys.shape, dtype=torch.bool, device=keys.device)}
    for name, schema in _SCHEMAS.items():
        base = name.partition(".")[0]
        library.define(name + schema, tags=_TAGS)
        library.impl(name, _CALLS[base], "CompositeExplicitAutograd")
        torch.library.register_fake(f"sherwood::{name}", shapes.get(base, lambda *_, **__: None), lib=library)
    return library


_library = _define()
_operators.bind(torch)  # on tensors of a GPU these replace Python's
