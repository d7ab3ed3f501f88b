# SPDX-License-Identifier: MIT
"""Calls on arrays of torch and cupy in the memory of the server's GPU or of another one of its host, without a copy.

Attaching a client loads libsherwood-cuda and CUDA's driver.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import threading
import warnings
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from . import _operators
from ._arrays import check_gradient, check_storage, is_torch, one_number
from ._device_arrays import Kind, Taken, kind_of, named, take
from ._device_details import Details, Span
from ._device_library import ffi, load
from ._device_segments import Segments
from ._errors import Lost, Refused, error_of
from ._facts import Layout, Server, check_arrays, layout_of, read_server
from ._link import Options, c_text, milliseconds
from ._native import ffi as native
from ._native import lib as constants
from ._plans import combining, refuse_values

_BOOL = np.dtype(np.bool_)
_DEFAULTS = (type(None), int, float)  # of operators
_TEXT_BYTES = 512
_AFTER, _IN_ORDER = 1, 2  # enum sherwood_cuda_when
_READS = frozenset((constants.SHERWOOD_GET, constants.SHERWOOD_PEEK))
_ONLY = {None: constants.SHERWOOD_SET, "absent": constants.SHERWOOD_SET_ABSENT,
         "present": constants.SHERWOOD_SET_PRESENT}

_OF_CLIENT = frozenset(("scan", "load", "dump", "prefix", "submit", "aio"))

_CALL = ffi.typeof("struct sherwood_cuda_call *")
_CALL_BYTES = ffi.sizeof("struct sherwood_cuda_call")
_PLAIN_BYTES = ffi.offsetof("struct sherwood_cuda_call", "cache")  # of a call without details, for older libraries


class _Attached:
    """A handle of libsherwood-cuda, which the Devices of several tables share. It detaches when the last one is gone.

    `with` gives the pointer for a call, and `close` waits for the calls of other threads. A call takes no lock.
    """

    def __init__(self, options: Options, ordinal: Optional[int]) -> None:
        self.lib = load()
        given = ffi.new("struct sherwood_options *")
        given.size = ffi.sizeof("struct sherwood_options")
        given.request_timeout_ms = milliseconds(options.timeout, "timeout")
        given.connect_timeout_ms = milliseconds(options.connect_timeout, "connect_timeout")
        texts = [None if text is None else ffi.new("char[]", os.fsencode(text))
                 for text in (options.user, options.secret())]
        given.user, given.password = (ffi.NULL if text is None else text for text in texts)
        out = ffi.new("struct sherwood_cuda **")
        said = ffi.new("char[]", _TEXT_BYTES)
        rc = self.lib.sherwood_cuda_attach_on(os.fsencode(options.address), given, -1 if ordinal is None else ordinal,
                                              out, said, _TEXT_BYTES)
        if rc != constants.SHERWOOD_OK:
            raise error_of(rc, ffi.string(said).decode("utf-8", "replace"))
        self.known = _operators.Known()
        self.pointer: Any = ffi.gc(out[0], functools.partial(_detach, self.lib, self.known))
        self.ordinal = int(self.lib.sherwood_cuda_device(self.pointer))
        self.has_warned = False
        self._users: list[int] = []  # the thread of each call
        self._left = threading.Condition()  # a call has ended after close()

    def __enter__(self) -> Any:
        self._users.append(threading.get_ident())  # first: close() takes the pointer away, and then looks here
        try:
            return self.use()
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        self._users.remove(threading.get_ident())
        if self.pointer is None:
            with self._left:
                self._left.notify_all()

    def use(self) -> Any:
        """Returns the handle. Raises an error if it is closed, or of another process."""
        if self.known.process != os.getpid():
            raise Lost("this Device belongs to the process that attached it: attach again in this one")
        if self.pointer is None:
            raise Refused("this Device is closed: attach again")
        return self.pointer

    def open(self, name: Optional[str]) -> tuple[dict[str, int], Server]:
        """Opens a table. Returns the field of a call that names it, and its facts."""
        with self as pointer:
            if name is None:
                fields, address = {}, int(ffi.cast("uintptr_t", self.lib.sherwood_cuda_server(pointer)))
            else:
                number, facts = ffi.new("uint32_t *"), ffi.new("uintptr_t *")
                self.check(self.lib.sherwood_cuda_table(pointer, c_text(name, "table"), number, facts))
                fields, address = {"table": int(number[0])}, int(facts[0])
            return fields, read_server(native.cast("struct sherwood_server *", address))

    def check(self, code: int) -> None:
        """Raises the error of a code."""
        if code < 0:
            raise error_of(code, ffi.string(self.lib.sherwood_cuda_error()).decode("utf-8", "replace"))

    def close(self) -> None:
        """Waits for the calls of other threads and on streams, then detaches."""
        pointer, self.pointer = self.pointer, None
        if pointer is not None:
            with self._left:
                self._left.wait_for(lambda: self.known.process != os.getpid() or not self._is_used_elsewhere())
            ffi.release(pointer)

    def _is_used_elsewhere(self) -> bool:
        me = threading.get_ident()  # a handler of a signal may close the Device of the call that it interrupts
        return any(thread != me for thread in list(self._users))


class Device(Details, Segments):
    """The calls of a client on arrays of one GPU; `Client.attach` makes it.

    Keys, values and `out` are torch tensors or cupy arrays on that device, or others that have DLPack. They are
    contiguous. Memory of cudaMalloc is shared with the server. Calls copy arrays in other memory (torch's expandable
    segments, pools of CUDA, JAX) and in allocations below 256 KiB; `staged_bytes` counts the bytes.
    Results lie on the same device, and come from the same library, or for arrays that have only DLPack (JAX) from torch if it is
    imported, otherwise from cupy. dtypes, shapes and errors are those of the client's
    calls.

    Without `stream` a call first waits for the earlier work of the library's current stream. It returns when its
    results are complete. With a stream (torch's, cupy's, or its number) it returns at once and takes place in the
    order of that stream. `check` then raises its errors. If `switches` is true, such a call takes about 0.3 ms more,
    and the first one warns.

    A Device has no `scan`, `load`, `dump` and `prefix`. Call those of the client, and copy its arrays to the GPU.

    After Lost and Timeout all calls fail: attach again. Only clients connect again by themselves.
    """

    def __init__(self, options: Options, server: Server, layout: Layout, name: Any, direct: bool = False) -> None:
        if options.follows:
            raise Refused("attach: this client has several addresses: connect to the one server that shares this GPU")
        ordinal = named(name)
        if server.backend == "cpu":
            raise Refused("attach: the server does not run on a GPU (its backend is cpu): use the client's calls, with arrays in memory of the host")
        attached = _Attached(options, ordinal)
        try:
            details, facts = attached.open(options.table)
            check_arrays(options.address, facts, server)
            self._begin(attached, options, layout, details, facts.run)
            if direct:
                with self._use() as pointer:
                    self._raise(self._lib.sherwood_cuda_direct(pointer))
                self._warns = False
        except BaseException:
            attached.close()
            raise
        self._is_first = True

    def _begin(self, attached: _Attached, options: Options, layout: Layout, details: dict[str, int], run: int) -> None:
        """Makes these the calls for one table of the handle."""
        self._attached = attached
        self._lib = attached.lib
        self._ordinal = attached.ordinal
        self._layout = layout
        self._details = details
        self._place = options, run
        self._is_closed = self._is_first = False
        self._warns = self.switches
        self.operator_tables = _operators.Tables(attached.use(), self._lib, details.get("table", 0), self._ordinal, layout, attached.known)

    def table(self, name: str, value_dtype: Any = None) -> Device:
        """Returns the calls for a table of the server, by its name or its number. They share the connection of this Device, the memory that
        is registered with the server, and the memory that calls copy arrays through. They end with this Device, or before it by their
        own close(). A Device has 64 tables at most, without those that were dropped. value_dtype: as that of connect()."""
        if not isinstance(name, str):
            raise TypeError(f"table: {name!r:.40} is not a text: give the name of a table")
        details, facts = self._attached.open(name)
        options = dataclasses.replace(self._place[0], table=name, value_dtype=None if value_dtype is None else np.dtype(value_dtype).str)
        device = object.__new__(Device)
        device._begin(self._attached, options, layout_of(facts, options.value_dtype, self._layout.regions), details, facts.run)
        return device

    if not TYPE_CHECKING:  # a checker of types refuses these names by itself
        def __getattr__(self, name: str) -> Any:
            if name in _OF_CLIENT:
                raise AttributeError(f"a Device has no {name}: call {name} of the client, with arrays in memory of the host")
            raise AttributeError(f"a Device has no attribute {name!r}")

    def __repr__(self) -> str:
        options, _ = self._place
        state = "closed" if self._pointer is None else f"cuda:{self._ordinal}"
        return f"<sherwood.Device {options.address} {state}{'' if options.table is None else f' table {options.table}'}>"

    def __reduce__(self) -> Any:
        raise TypeError("a Device belongs to one process, and cannot be pickled: attach again in the other process")

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Waits for the calls of other threads and on streams, then detaches. A Device that `table` returned ends alone, without a wait."""
        self._is_closed = True
        if self._is_first:
            self._attached.close()
        else:
            self.operator_tables.close()

    @property
    def ordinal(self) -> int:
        """The number of the GPU in this process."""
        return int(self._ordinal)

    @property
    def value_dtype(self) -> np.dtype[Any]:
        """The dtype of a value, or of its elements, as of the client."""
        return self._layout.value_dtype

    @property
    def value_shape(self) -> tuple[int, ...]:
        """The dimensions of one value, as of the client."""
        return self._layout.value_shape

    @property
    def staged_bytes(self) -> int:
        """The bytes that calls have copied, because the server cannot map the memory of their arrays."""
        with self._use() as pointer:
            return int(self._lib.sherwood_cuda_staged_bytes(pointer))

    @property
    def switches(self) -> bool:
        """Whether the GPU works for this process and the server by turns. On another GPU, and with NVIDIA's Multi-Process
        Service, it does not, and an older libsherwood-cuda does not tell: False."""
        function = getattr(self._lib, "sherwood_cuda_switches", None)
        with self._use() as pointer:
            return function is not None and bool(function(pointer))

    def warn_of_switches(self) -> None:
        """Warns of the first call in stream order that it is slow, if it is. The warning is about the line of the program."""
        if self._warns and not self._attached.has_warned:
            self._attached.has_warned = True
            level, frame = 2, inspect.currentframe()
            while (frame := frame.f_back if frame else None) is not None and frame.f_globals.get("__package__") == __package__:
                level += 1
            warnings.warn(f"calls in the order of a stream take about 0.3 ms more on cuda:{self._ordinal}, because it switches between this"
                          " process and the server: run NVIDIA's Multi-Process Service, use another GPU, or leave stream out", stacklevel=level)

    @property
    def direct_calls(self) -> tuple[int, int]:
        """The number of calls that direct reads have begun, and of those that the server answered."""
        by_server = ffi.new("uint64_t *")
        with self._use() as pointer:
            return int(self._lib.sherwood_cuda_direct_calls(pointer, by_server)), int(by_server[0])

    # --- calls -----------------------------------------------------------------------------------
    def get_many(self, keys: Any, *, default: Any = None, out: Any = None, found: Any = None,
                 stream: Any = None) -> Any:
        """Reads the values of keys: (values, found), or with `default` the values alone.

        default=0 costs nothing, because an absent key has the value 0.
        """
        if stream is None and is_torch(keys):
            answer = self._get_by_operator(keys, default, out, found)
            if answer is not None:
                return answer
        taken = self._take(keys)
        into = self._into(out, taken, "out", stream)
        values = into.array if out is None else out
        fills = default is not None and default != 0
        if fills and isinstance(default, (int, float, np.number)):
            default = one_number(default, self._layout.value_dtype, "default", signed=True)
        wants = default is None or found is not None or fills
        mask = self._run(constants.SHERWOOD_GET, taken, None, into, wants, found, stream)
        if fills:
            taken.kind.fill(values, mask, default, stream)
        return values if default is not None and found is None else (values, mask)

    def set_many(self, keys: Any, values: Any, *, only: Optional[str] = None, previous: bool = False, ttl: Span = None,
                 expire_at: Span = None, ttl_ms: Any = None, expire_at_ms: Any = None, keep_ttl: bool = False,
                 stream: Any = None) -> Any:
        """Stores values. Returns as the client's set_many does. The times are those of expire_many."""
        if only not in _ONLY:
            raise ValueError(f'only is {only!r}: give "absent", "present" or None')
        times = self._times(keys, ttl, expire_at, ttl_ms, expire_at_ms, keep_ttl)
        result = self._write(_ONLY[only], keys, values, previous, stream,
                             only is not None and not previous, **times)
        if only == "absent" and not previous:
            return kind_of(keys).invert(result, stream)
        return result

    def add_many(self, keys: Any, amounts: Any, *, previous: bool = False, stream: Any = None) -> Any:
        """Adds to values, modulo 2 to the power of their width; an absent key is stored."""
        return self._write(combining(self._layout, "add"), keys, amounts, previous, stream, False)

    def min_many(self, keys: Any, values: Any, *, previous: bool = False, stream: Any = None) -> Any:
        """Keeps the smaller value (as unsigned integers); an absent key is stored."""
        return self._write(combining(self._layout, "min"), keys, values, previous, stream, False)

    def max_many(self, keys: Any, values: Any, *, previous: bool = False, stream: Any = None) -> Any:
        """Keeps the larger value (as unsigned integers); an absent key is stored."""
        return self._write(combining(self._layout, "max"), keys, values, previous, stream, False)

    def assign_many(self, keys: Any, *, stream: Any = None) -> Any:
        """Returns (ids, new) of a server that numbers its keys (--ids): the id of each key, and whether it is new."""
        taken = self._take(keys)
        ids = self._into(None, taken, "ids", stream)
        present = self._run(constants.SHERWOOD_ASSIGN, taken, None, ids, True, None, stream)
        return ids.array, taken.kind.invert(present, stream)

    def insert_many(self, keys: Any, *, stream: Any = None) -> Any:
        """Adds keys to a server whose keys have no values (--value-type none). Returns bool, of the shape of the keys: which
        are new. A key that repeats is new at its first place."""
        refuse_values(self._layout)
        taken = self._take(keys)
        present = self._run(constants.SHERWOOD_SET_ABSENT, taken, None, None, True, None, stream)
        return taken.kind.invert(present, stream)

    def delete_many(self, keys: Any, *, found: Any = None, stream: Any = None) -> Any:
        """Deletes keys. Returns bool, of the shape of the keys: which were present."""
        taken = self._take(keys)
        return self._run(constants.SHERWOOD_DELETE, taken, None, None, True, found, stream)

    def contains_many(self, keys: Any, *, found: Any = None, stream: Any = None) -> Any:
        """Returns bool, of the shape of the keys: which are present."""
        operation = constants.SHERWOOD_PEEK if self._layout.is_cache else constants.SHERWOOD_GET
        return self._run(operation, self._take(keys), None, None, True, found, stream)

    def check(self, *, wait: bool = False) -> None:
        """Raises the first error of the calls on streams that ended since the last check. With `wait` it first waits for
        all calls on streams."""
        with self._use() as pointer:
            self._raise(self._lib.sherwood_cuda_check(pointer, wait))

    def forget(self, array: Any) -> None:
        """Unregisters the allocation that holds an array, so that freeing the array also frees its memory."""
        address = take(array, None, self._ordinal, "array").pointer
        with self._use() as pointer:
            self._raise(self._lib.sherwood_cuda_unregister(pointer, address))

    # --- parts of the calls ----------------------------------------------------------------------
    @property
    def _pointer(self) -> Any:
        """The handle of libsherwood-cuda, or None if it is closed."""
        return None if self._is_closed else self._attached.pointer

    def _use(self) -> _Attached:
        if self._is_closed and not self._is_first:
            raise Refused("this Device is closed: open its table again")
        return self._attached

    def _raise(self, code: int) -> None:
        self._attached.check(code)

    def _get_by_operator(self, keys: Any, default: Any, out: Any, found: Any) -> Any:
        """Does what get_many does by an operator of torch. Returns None if there is none for these arguments."""
        kind: Any = kind_of(keys)
        kernels = kind.kernels
        is_plain = (type(default) in _DEFAULTS and (out is None or is_torch(out)) and (found is None or is_torch(found))
                    and (type(default) is not int or -2**63 <= default < 2**63))
        if kernels is None or keys.is_cuda != kernels.is_cuda or not is_plain:
            return None
        check_gradient(out, "out")
        if kernels.torch.compiler.is_dynamo_compiling():  # a graph does not order this read and the writes beside it
            return kernels.torch.compiler.disable(self.get_many)(keys, default=default, out=out, found=found)
        number = self.operator_tables.own()
        try:
            if out is None and found is None and default is None:
                return kernels.ops.lookup(number, keys, keys)
            if out is None:
                out = kind.empty(tuple(keys.shape) + self._layout.value_shape, self._layout.value_dtype, keys, None)
            if found is None and default is None:
                found = kind.empty(keys.shape, _BOOL, keys, None)
            kernels.ops.lookup_into(number, keys, keys, out, found, default)
        except RuntimeError as error:
            if not _operators.refused(error):
                raise
            return None
        return out if found is None else (out, found)

    def _take(self, keys: Any) -> Taken:
        return take(keys, self._layout.key_dtype, self._ordinal, "keys")

    def _into(self, given: Any, keys: Taken, what: str, stream: Any) -> Taken:
        """Returns the caller's array for values, or a new one."""
        shape = keys.shape + self._layout.value_shape
        if given is None:
            return keys.kind.made(keys.kind.empty(shape, self._layout.value_dtype, keys.array, stream))
        check_gradient(given, what)
        into = take(given, self._layout.value_dtype, self._ordinal, what)
        if into.shape != shape:
            raise ValueError(f"{what}: an array of shape {into.shape}, and these keys need {shape}")
        return into

    def _write(self, operation: int, keys: Any, values: Any, previous: bool, stream: Any,
               wants_mask: bool, **details: Any) -> Any:
        taken = self._take(keys)
        shape = taken.shape + self._layout.value_shape
        sent = taken.kind.values(values, shape, self._layout.value_dtype, taken.array, stream)
        held = take(sent, self._layout.value_dtype, self._ordinal, "values")
        if held.shape != shape:
            raise ValueError(f"values: an array of shape {held.shape}, and these keys need {shape}")
        old = self._into(None, taken, "old", stream) if previous else None
        mask = self._run(operation, taken, held, old, previous or wants_mask, None, stream, **details)
        return mask if old is None else (old.array, mask)

    def _run(self, operation: int, keys: Taken, values: Optional[Taken], previous: Optional[Taken], wants: bool,
             found: Any, stream: Any, **details: Any) -> Any:
        """Carries out an operation. Returns the mask, or None if the caller wants none. `details`: fields of the call, and
        as `held` arrays that they point to."""
        kind: Kind = keys.kind
        reads = operation in _READS  # the server stores a byte for each key, which is the mask
        made = None
        if found is not None:
            check_storage(found, "found")
        if wants:
            made = kind.bytes(keys, found, stream) if reads else kind.bits(keys, stream)
        flags = constants.SHERWOOD_FOUND_BYTES if wants and reads else 0
        when, number = (_AFTER, kind.current(keys.array)) if stream is None else (_IN_ORDER, kind.number(stream))
        held = details.pop("held", ())
        details |= self._details
        call = ffi.new(_CALL, (_CALL_BYTES if details else _PLAIN_BYTES, operation, flags, keys.pointer, 0 if values is None else values.pointer, keys.size,
                               0 if previous is None else previous.pointer, 0 if made is None else made.pointer, when, number))
        for field, value in details.items():
            setattr(call, field, value)
        with self._use() as pointer:
            if stream is not None:
                self.warn_of_switches()
                for array in (keys, values, previous, made, *held):
                    if array is not None:
                        kind.keep(array.array, stream)
            self._raise(self._lib.sherwood_cuda_call(pointer, call))
        if made is None:
            return None
        return (kind.whole if reads else kind.spread)(made.array, keys.size, keys.shape, found, stream)


def _detach(library: Any, known: _operators.Known, pointer: Any) -> None:
    if known.process == os.getpid():  # the handle's threads are not in a forked child
        known.close()
        library.sherwood_cuda_close(pointer)
