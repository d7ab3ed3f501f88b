# SPDX-License-Identifier: MIT
"""Regions: memory that client and server share, and the numpy arrays in it.

The memory stays mapped as long as an array in it exists, also after the region is closed or its connection ends. The
bytes of an array are free again when the array and all its views are gone.
"""

from __future__ import annotations

import bisect
import functools
import math
import operator
import os
import threading
import weakref
from collections import deque
from typing import Any, Optional

import numpy as np

from ._errors import Lost, Refused
from ._native import ffi, lib

_ALIGN = 64
_PAGE = 4096
_LOST = ("the connection was lost during a call on this region, and the server may still write to the region: copy what"
         " is needed, close the region, and make another one")

_memories: weakref.WeakSet[Memory] = weakref.WeakSet()


class Memory:
    """The pages of a region, and its free ranges."""

    def __init__(self, handle: Any, nbytes: int) -> None:
        """Makes the pages. The caller holds the lock of the handle, which has the error text if `code` is negative."""
        self.pointer = ffi.gc(ffi.new("struct swpy_memory *"), lib.swpy_memory_free)
        self.pointer.descriptor = -1
        self.code = lib.swpy_memory_make(handle, nbytes, self.pointer)
        self.base = int(ffi.cast("uintptr_t", self.pointer.address))
        self.nbytes = nbytes
        self.is_open = True
        self.is_lost = False
        self._lock = threading.Lock()
        self._holes = [(0, nbytes)]  # (offset, bytes), by offset
        self._given_back: deque[tuple[int, int]] = deque()  # destructors append here, because they may lock nothing
        _memories.add(self)

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """Returns a new array in this memory."""
        nbytes = math.prod(shape) * dtype.itemsize
        if nbytes == 0:
            return np.empty(shape, dtype)
        offset, taken = self._take(nbytes)
        cell = ffi.gc(ffi.cast("char *", self.base + offset), functools.partial(self._back, offset, taken))
        array: np.ndarray[Any, Any] = np.frombuffer(ffi.buffer(cell, nbytes), dtype)
        return array.reshape(shape)

    def _take(self, nbytes: int) -> tuple[int, int]:
        """Takes the first free range that is large enough. Returns (offset, bytes)."""
        wanted = -(-nbytes // _ALIGN) * _ALIGN
        if self.is_lost:
            raise Lost(_LOST)
        if not self.is_open:
            raise Refused("this region is closed, or belongs to the process from which this one was forked: make another region")
        with self._lock:
            self._collect()
            for i, (offset, room) in enumerate(self._holes):
                if room >= wanted:
                    self._holes[i: i + 1] = [(offset + wanted, room - wanted)] if room > wanted else []
                    return offset, wanted
        raise MemoryError(f"region: an array of {nbytes} bytes does not fit: {self.free} of {self.nbytes} bytes are free, perhaps"
                          " in pieces; delete arrays of the region, or make a larger one")

    def _back(self, offset: int, nbytes: int, _: Any) -> None:
        self._given_back.append((offset, nbytes))

    def _collect(self) -> None:
        """Adds the bytes of deleted arrays to the free ranges. The caller holds the lock."""
        while self._given_back:
            offset, nbytes = self._given_back.popleft()
            at = bisect.bisect(self._holes, (offset, 0))
            if at < len(self._holes) and offset + nbytes == self._holes[at][0]:
                nbytes += self._holes.pop(at)[1]
            if at > 0 and sum(self._holes[at - 1]) == offset:
                at -= 1
                before = self._holes.pop(at)
                offset, nbytes = before[0], nbytes + before[1]
            self._holes.insert(at, (offset, nbytes))

    @property
    def free(self) -> int:
        """The number of free bytes."""
        with self._lock:
            self._collect()
            return sum(nbytes for _, nbytes in self._holes)

    def lose(self) -> None:
        """Notes that the connection ended during a call: the server may still write, also to free bytes."""
        self.is_lost = True

    def leave_to_parent(self) -> None:
        """In a forked child: closes the region, because the parent uses the same pages."""
        self._lock = threading.Lock()
        self.is_open = False


class Regions:
    """The regions of a client, by the addresses of arrays."""

    def __init__(self) -> None:
        self.memories: tuple[Memory, ...] = ()
        self._lock = threading.Lock()

    def add(self, memory: Memory) -> None:
        with self._lock:
            self.memories += (memory,)

    def remove(self, memory: Memory) -> None:
        memory.is_open = False
        with self._lock:
            self.memories = tuple(other for other in self.memories if other is not memory)

    def of(self, array: np.ndarray[Any, Any], align: int) -> Optional[Memory]:
        """Returns the open region in which a contiguous array lies, or None if there is none or the array is misaligned."""
        if not self.memories or array.size == 0:
            return None
        address = array.__array_interface__["data"][0]
        for memory in self.memories:
            if 0 <= address - memory.base < memory.nbytes and memory.is_open:
                if memory.is_lost:
                    raise Lost(_LOST)
                return memory if address % align == 0 else None
        return None


class Region:
    """Memory that is shared with the server; Client.region makes it.

    If the keys, values and `out` of a call all lie in regions, the server reads and writes them there: no copy, and no
    byte of them in a socket. This holds for calls of the client, of its `submit` and of its `aio`. If the keys lie in a
    region, so do the values that the call returns. Masks and arrays with gaps lie elsewhere: the call makes a mask of
    the bits that the server wrote to the region.

    The arrays are ordinary arrays, and outlive the region. After close(), and in a forked child, calls on them use
    the socket. If the connection is lost during a call, the server may still write to the region. From then on
    calls on its arrays raise Lost until the region is closed.
    """

    __slots__ = ("_client", "_memory")

    def __init__(self, client: Any, memory: Memory) -> None:
        self._client = client
        self._memory = memory

    def empty(self, shape: Any, dtype: Any = None) -> np.ndarray[Any, Any]:
        """Returns a new array in the region, not initialised. dtype None: the dtype of the server's keys.

        MemoryError: the region has too few free bytes.
        """
        whole = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
        if any(length < 0 for length in whole):
            raise ValueError(f"shape {whole} has a negative length")
        kind = self._client.key_dtype if dtype is None else np.dtype(dtype)
        if kind.hasobject:
            raise TypeError(f"dtype {kind}: a region cannot hold Python objects")
        return self._memory.empty(whole, kind)

    def copy(self, array: Any) -> np.ndarray[Any, Any]:
        """Copies an array to the region; returns the copy."""
        given = np.asanyarray(array)
        if isinstance(given, np.ma.MaskedArray):
            raise TypeError("region: the copy would lose the mask of the array: give .filled(number) or .compressed()")
        made = self.empty(given.shape, given.dtype)
        made[...] = given
        return made

    @property
    def nbytes(self) -> int:
        """The bytes of the region."""
        return self._memory.nbytes

    @property
    def free(self) -> int:
        """The number of free bytes."""
        return self._memory.free

    def close(self) -> None:
        """Waits for the calls on the region, then unregisters it. Its arrays stay valid."""
        self._client._close_region(self._memory)

    def __enter__(self) -> Region:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "lost" if self._memory.is_lost else "open" if self._memory.is_open else "closed"
        return f"<sherwood.Region {self.nbytes} bytes, {self.free} free, {state}>"

    def __reduce__(self) -> Any:
        raise TypeError("a region belongs to one process and one client, and cannot be pickled: make another one there")


def bytes_of(nbytes: Optional[int], keys: Optional[int], key_bytes: int, value_bytes: int) -> int:
    """Returns the size of a region for the arguments of Client.region, in whole pages."""
    if (nbytes is None) == (keys is None):
        raise ValueError("region: give either nbytes, the size, or keys=, the number of keys of a call")
    if keys is not None:  # values to send, values to receive, bits
        keys = operator.index(keys)
        if keys < 0:
            raise ValueError(f"region: keys is {keys}: give the number of keys of a call")
        nbytes = keys * (key_bytes + 2 * value_bytes) + keys // 8 + 4 * _ALIGN
    assert nbytes is not None
    nbytes = operator.index(nbytes)
    if not 0 < nbytes < 2**48:
        raise ValueError(f"region: its size is {nbytes} bytes: give 1 to {2**48 - 1}")
    return -(-nbytes // _PAGE) * _PAGE


def _forked() -> None:
    for memory in list(_memories):
        memory.leave_to_parent()


os.register_at_fork(after_in_child=_forked)
