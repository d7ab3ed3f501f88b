# SPDX-License-Identifier: MIT
"""Calls on arrays of JAX on the CPU, also within jax.jit: handlers of XLA's foreign function interface, in C.

    import sherwood.jax
    table = sherwood.jax.Table(client)

    @jax.jit
    def step(state, keys):
        values, found, state = table.lookup(state, keys)
        return table.add(state, keys, 2 * values)

    state = step(table.state, keys)

A compiled program has no order but that of its data. So each call takes a state, and returns the next one: it takes place after
the call that returned its state. The values of a state mean nothing.
"""

from __future__ import annotations

import dataclasses
import functools
import weakref
from typing import Any, Optional

import jax
import jax.numpy as jnp
import numpy as np

from . import _arrays, _plans
from ._client import Client
from ._errors import Full, Refused
from ._facts import check_arrays, server_of
from ._link import open_client
from ._native import ffi, lib

_TARGET = "sherwood_run"
_tables: weakref.WeakValueDictionary[int, Table] = weakref.WeakValueDictionary()


class Table:
    """The entries of a server, or of a table of a client, for programs of JAX on the CPU. It has a connection of its own.

    Keys have any shape, and the dtype of the client's keys or the signed one of this width. Keys or values of 64 bits need
    jax_enable_x64. A call that fails ends its program with the server's error, as other errors of a computation do
    (jax.errors.JaxRuntimeError or ValueError). After a lost connection the next call connects again, and after
    TABLE DROP it opens the table that has the name then. Calls have no gradients, and no rule for vmap: pass keys of the whole shape.
    """

    def __init__(self, client: Client) -> None:
        if not isinstance(client, Client):
            raise TypeError(f"Table: {type(client).__name__} is not a client: give sherwood.connect(..)")
        self._options = dataclasses.replace(client._link.options, stripes=1)
        self._server, self._layout = client._link.facts()
        if self._layout.value_dtype.names is not None or self._layout.value_type == "none":
            raise Refused("Table: values are byte strings, or keys have none: start the server with --value-format fixed or integers")
        for dtype in (self._layout.key_dtype, self._layout.value_dtype):
            if jax.dtypes.canonicalize_dtype(dtype) != dtype:
                raise Refused(f"Table: the server has {dtype}, which JAX cuts to 32 bits: call"
                              ' jax.config.update("jax_enable_x64", True) first')
        _register()
        pointer = self._open()
        self._number = lib.swpy_jax_add(pointer)
        if self._number == 0:
            lib.swpy_close(pointer)
            raise Full("Table: no memory")
        _tables[self._number] = self
        weakref.finalize(self, lib.swpy_jax_remove, self._number)

    @property
    def state(self) -> jax.Array:
        """A state to begin with. A program that begins with it may take place beside programs that have not ended."""
        return jnp.zeros((), jnp.int32)

    def lookup(self, state: jax.Array, keys: jax.Array, default: Any = 0) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Returns the values of keys, a mask of the present ones, and the next state. An absent key has the value `default`."""
        state, values, found = self._call("get", lib.SHERWOOD_GET, state, keys, previous=True, found=True)
        if isinstance(default, (int, float, np.integer, np.floating)) and not isinstance(default, bool):
            default = _arrays.one_number(default, self._layout.value_dtype, "default")
        if not (isinstance(default, int) and default == 0):  # absent keys have zeros
            if self._layout.value_dtype.kind in "iu" and jnp.issubdtype(jnp.result_type(default), jnp.floating):
                raise TypeError(f"get: the default {default} is not an integer: give a value of {values.dtype}")
            mask = found.reshape(found.shape + (1,) * len(self._layout.value_shape))
            values = jnp.where(mask, values, jnp.broadcast_to(jnp.asarray(default, values.dtype), values.shape))
        return values, found, state

    def set(self, state: jax.Array, keys: jax.Array, values: jax.Array) -> jax.Array:
        """Stores values. Returns the next state."""
        return self._call("set", lib.SHERWOOD_SET, state, keys, values)[0]

    def add(self, state: jax.Array, keys: jax.Array, values: jax.Array) -> jax.Array:
        """Adds to values; repeated keys add up. An absent key is stored. Returns the next state."""
        return self._call("add", _plans.combining(self._layout, "add"), state, keys, values)[0]

    def delete(self, state: jax.Array, keys: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Deletes keys. Returns a mask of those that were present, and the next state."""
        state, found = self._call("delete", lib.SHERWOOD_DELETE, state, keys, found=True)
        return found, state

    def assign(self, state: jax.Array, keys: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        """Returns the ids of keys, of a server that numbers its keys (--ids), a mask of the new keys, and the next state."""
        state, ids, found = self._call("assign", lib.SHERWOOD_ASSIGN, state, keys, previous=True, found=True)
        return ids, ~found, state

    def _call(self, name: str, operation: int, state: jax.Array, keys: jax.Array, values: Optional[jax.Array] = None, *,
              previous: bool = False, found: bool = False) -> Any:
        """Traces a call. Returns the next state, and the results."""
        layout = self._layout
        keys = jnp.asarray(keys)
        _check_dtype(f"{name}: the keys", keys.dtype, layout.key_dtype)
        _check_state(name, state)
        arguments = [state, keys]
        shape = keys.shape + layout.value_shape
        if values is not None:
            values = jnp.asarray(values)
            _check_dtype(f"{name}: the values", values.dtype, layout.value_dtype)
            if values.shape != shape:
                raise ValueError(f"{name}: the values have the shape {values.shape}, and these keys need {shape}")
            arguments.append(values)
        results = [jax.ShapeDtypeStruct((), jnp.int32)]
        if previous:
            results.append(jax.ShapeDtypeStruct(shape, layout.value_dtype))
        if found:
            results.append(jax.ShapeDtypeStruct(keys.shape, jnp.bool_))
        writes = bool(lib.sw_operation_writes(operation))
        return jax.ffi.ffi_call(_TARGET, results, has_side_effect=writes)(
            *arguments, table=np.int64(self._number), operation=np.int64(operation), has_previous=np.int64(previous))

    def _open(self) -> Any:
        """Returns a new handle, which no garbage collector closes."""
        pointer = open_client(self._options)
        check_arrays(self._options.address, server_of(pointer), self._server)
        ffi.gc(pointer, None)
        return pointer


def _check_state(name: str, state: Any) -> None:
    shape, dtype = getattr(state, "shape", None), getattr(state, "dtype", None)
    if shape != () or dtype != jnp.int32:
        found = type(state).__name__ if dtype is None else f"an array of the shape {shape} and the dtype {dtype}"
        raise TypeError(f"{name}: the first argument is {found}, and no state: give Table.state, or the state that the call before returned")


def _check_dtype(what: str, dtype: Any, wanted: np.dtype[Any]) -> None:
    signed = f"int{wanted.itemsize * 8}"
    if dtype != wanted and not (wanted.kind == "u" and dtype == signed):
        allowed = f"{wanted} or {signed}" if wanted.kind == "u" else str(wanted)
        raise TypeError(f"{what} have the dtype {dtype}, and this call needs {allowed}: convert the array yourself (.astype)")


@functools.lru_cache(maxsize=None)
def _register() -> None:
    jax.ffi.register_ffi_target(_TARGET, jax.ffi.pycapsule(lib.swpy_jax_handler()), platform="cpu")


def _open_again(number: int, text: Any, text_bytes: int) -> Any:
    """Returns a new handle for the table after it lost its connection, or was dropped."""
    try:
        table = _tables.get(number)
        if table is None:
            raise Refused("the sherwood.jax.Table of this program no longer exists: keep a reference to it")
        return table._open()
    except Exception as error:  # pylint: disable=broad-except
        said = str(error).encode()[:text_bytes - 1]
        ffi.memmove(text, said + b"\0", len(said) + 1)
        return ffi.NULL


ffi.def_extern(name="swpy_jax_open")(_open_again)
