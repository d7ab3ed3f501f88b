# SPDX-License-Identifier: MIT
"""Calls on arrays of JAX, also within jax.jit: handlers of XLA's foreign function interface, in C.

    import sherwood.jax
    table = sherwood.jax.Table(client)               # arrays of the CPU
    table = sherwood.jax.Table(client.attach())      # arrays of the server's GPU

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
from typing import Any, Optional, Union

import jax
import jax.numpy as jnp
import numpy as np

from . import _arrays, _plans
from ._client import Client
from ._device import Device
from ._errors import Full, Refused
from ._facts import check_arrays, server_of
from ._link import open_client
from ._native import ffi, lib

_TARGETS = {"cpu": "sherwood_run", "CUDA": "sherwood_run_on_cuda"}  # by platform; a table is known to one of them
_tables: weakref.WeakValueDictionary[int, Table] = weakref.WeakValueDictionary()


class Table:
    """The entries of a server, or of a table of a client, for programs of JAX: on the CPU with a Client, on a GPU with a Device.

    With a Client it has a connection of its own.
    Keys have any shape, and the dtype of the client's keys or the signed one of this width. Keys or values of 64 bits need
    jax_enable_x64. A call that fails ends its program with the server's error, as other errors of a computation do
    (jax.errors.JaxRuntimeError or ValueError). After a lost connection the next call connects again, and after
    TABLE DROP it opens the table that has the name then. Calls have no gradients, and no rule for vmap: pass keys of the whole shape.

    With a Device a call takes place in the order of XLA's stream, and the host does not wait for it. If it fails, its results are
    undefined. The next call on the Device then ends its program with the error, unless `Device.check` raises it before.
    """

    def __init__(self, calls: Union[Client, Device]) -> None:
        if not isinstance(calls, (Client, Device)):
            raise TypeError(f"Table: {type(calls).__name__} is not a client: give sherwood.connect(..), or its attach()")
        self._calls = calls
        self._platform = "CUDA" if isinstance(calls, Device) else "cpu"
        self._layout = calls._layout if isinstance(calls, Device) else calls._link.facts()[1]
        if self._layout.value_dtype.names is not None or self._layout.value_type == "none":
            raise Refused("Table: values are byte strings, or keys have none: start the server with --value-format fixed or integers")
        for dtype in (self._layout.key_dtype, self._layout.value_dtype):
            if jax.dtypes.canonicalize_dtype(dtype) != dtype:
                raise Refused(f"Table: the server has {dtype}, which JAX cuts to 32 bits: call"
                              ' jax.config.update("jax_enable_x64", True) first')
        _register(self._platform)
        self._number = self._known_to_cuda(calls) if isinstance(calls, Device) else self._connected(calls)

    def _known_to_cuda(self, device: Device) -> int:
        """Returns the number of a new table for the handler of CUDA."""
        device.warn_of_switches()
        known = device.operator_tables
        number = known.add_for_xla()
        weakref.finalize(self, known.forget, number).atexit = False
        return number

    def _connected(self, client: Client) -> int:
        """Returns the number of a new table for the handler of the host, which has a connection of its own."""
        self._options = dataclasses.replace(client._link.options, stripes=1)
        self._server = client._link.facts()[0]
        pointer = self._open()
        number = int(lib.swpy_jax_add(pointer))
        if number == 0:
            lib.swpy_close(pointer)
            raise Full("Table: no memory")
        _tables[number] = self
        weakref.finalize(self, lib.swpy_jax_remove, number)
        return number

    @property
    def state(self) -> jax.Array:
        """A state to begin with. A program that begins with it may take place beside programs that have not ended."""
        state = jnp.zeros((), jnp.int32)
        return jax.device_put(state, _gpu(self._calls.ordinal)) if isinstance(self._calls, Device) else state

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
        writes = bool(lib.sw_operation_writes(operation))
        results = [jax.ShapeDtypeStruct((), jnp.int32)]
        if previous:
            results.append(jax.ShapeDtypeStruct(shape, layout.value_dtype))
        if found:
            results.append(self._found(writes, keys))
        made = jax.ffi.ffi_call(_TARGETS[self._platform], results, has_side_effect=writes)(
            *arguments, table=np.int64(self._number), operation=np.int64(operation), has_previous=np.int64(previous))
        return [*made[:-1], _mask(made[-1], keys)] if found else made

    def _found(self, writes: bool, keys: jax.Array) -> jax.ShapeDtypeStruct:
        """Returns what the handler stores for found keys: a byte for each. A GPU stores bits of a write, and both in words."""
        if self._platform == "cpu" or (not writes and keys.size % 8 == 0):
            return jax.ShapeDtypeStruct(keys.shape, jnp.bool_)
        if writes:
            return jax.ShapeDtypeStruct(((keys.size + 63) // 64 * 8,), jnp.uint8)
        return jax.ShapeDtypeStruct(((keys.size + 7) // 8 * 8,), jnp.bool_)

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


def _mask(found: jax.Array, keys: jax.Array) -> jax.Array:
    """Returns a bool for each key of what the handler stored."""
    if found.dtype == jnp.uint8:
        return jnp.unpackbits(found, count=keys.size, bitorder="little").astype(jnp.bool_).reshape(keys.shape)
    return found if found.shape == keys.shape else found[:keys.size].reshape(keys.shape)


def _gpu(ordinal: int) -> jax.Device:
    """Returns the device of JAX with this number in the process."""
    try:
        return next(device for device in jax.local_devices(backend="cuda") if device.local_hardware_id == ordinal)
    except (RuntimeError, StopIteration):
        raise Refused(f"Table: JAX does not use the device cuda:{ordinal}: install jax[cuda13], and leave the device visible") from None


@functools.lru_cache(maxsize=None)
def _register(platform: str) -> None:
    handler = lib.swpy_jax_handler() if platform == "cpu" else lib.swpy_jax_cuda_handler()
    jax.ffi.register_ffi_target(_TARGETS[platform], jax.ffi.pycapsule(handler), platform=platform)


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
