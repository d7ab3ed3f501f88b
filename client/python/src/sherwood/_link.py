# SPDX-License-Identifier: MIT
"""A handle of libsherwood: connected when it is first used, anew after it was lost, and after a fork.

Whoever calls `use` holds the lock of the link until it is done with the pointer.
"""

from __future__ import annotations

import dataclasses
import os
import threading
import weakref
from typing import Any, Callable, Optional

import numpy as np

from ._errors import Lost, Refused, error_of
from ._facts import Layout, Server, layout_of, server_of
from ._native import ffi, lib
from ._regions import Memory, Regions
from ._waits import Writes

_TEXT_BYTES = 512


@dataclasses.dataclass(frozen=True)
class Options:
    """What a client was made with; enough to make another one, in another process, too."""

    address: str
    stripes: int = 1
    timeout: float = 30.0
    connect_timeout: float = 5.0
    value_dtype: Optional[str] = None
    tls_ca: Optional[str] = None
    tls_cert: Optional[str] = None
    tls_key: Optional[str] = None
    tls_server_name: Optional[str] = None
    tls_insecure: bool = False
    user: Optional[str] = None
    password: Optional[str] = dataclasses.field(default=None, repr=False)
    password_file: Optional[str] = None
    nodes: tuple[str, ...] = ()  # of a cluster; `address` is the first of them

    @property
    def follows(self) -> bool:
        """Are there several addresses, of which one is the primary's?"""
        return "," in self.address and not self.nodes

    def secret(self) -> Optional[str]:
        """The password, or the first line of its file as it is now: so it may change meanwhile."""
        if self.password_file is None:
            return self.password
        if self.password is not None:
            raise Refused("password and password_file: give one of the two")
        with open(self.password_file, encoding="utf-8", errors="surrogateescape") as file:
            return file.readline().rstrip("\r\n")


def milliseconds(seconds: float, name: str) -> int:
    """A time for libsherwood, which knows no fraction of a millisecond and takes 0 for its default."""
    if not 0 < seconds <= 2_000_000:
        raise Refused(f"{name} is {seconds!r}: give seconds, more than 0 and at most 2000000")
    return max(1, int(seconds * 1000))


def _c_text(text: str, name: str) -> bytes:
    """A text for libsherwood, which would take a zero for its end."""
    if "\0" in text:
        raise Refused(f"{name}: it has a character 0 within")
    return os.fsencode(text)


def address_of(array: Optional[np.ndarray[Any, Any]]) -> Any:
    """The memory of an array, which the result keeps alive."""
    return ffi.NULL if array is None else ffi.from_buffer(array)


def dial(options: Options) -> Any:
    """Connects, and returns a handle that is closed when nobody has it any more."""
    if not 1 <= options.stripes <= lib.SHERWOOD_STRIPES_MAX:
        raise Refused(f"stripes is {options.stripes}: give 1 to {lib.SHERWOOD_STRIPES_MAX}")
    given = ffi.new("struct sherwood_options *")
    given.size = ffi.sizeof("struct sherwood_options")
    given.stripes = options.stripes
    given.request_timeout_ms = milliseconds(options.timeout, "timeout")
    given.connect_timeout_ms = milliseconds(options.connect_timeout, "connect_timeout")
    given.tls_insecure = options.tls_insecure
    texts = []  # they live as long as the struct is read
    for name in ("tls_ca", "tls_cert", "tls_key", "tls_server_name", "user", "password"):
        text = options.secret() if name == "password" else getattr(options, name)
        if text is not None:
            texts.append(ffi.new("char[]", _c_text(text, name)))
            setattr(given, name, texts[-1])
    out = ffi.new("struct sherwood **")
    said = ffi.new("char[]", _TEXT_BYTES)
    if options.nodes:
        nodes = [ffi.new("char[]", _c_text(node, "addresses")) for node in options.nodes]
        rc = lib.sherwood_connect_cluster_text(nodes, len(nodes), given, out, said, _TEXT_BYTES)
    else:
        rc = lib.sherwood_connect_text(_c_text(options.address, "address"), given, out, said, _TEXT_BYTES)
    if rc != lib.SHERWOOD_OK:
        raise error_of(rc, ffi.string(said).decode("utf-8", "replace"))
    return ffi.gc(out[0], lib.sherwood_close)


_links: weakref.WeakSet[Link] = weakref.WeakSet()


class Shared:
    """The regions that a handle has registered, and how many requests in flight use them."""

    def __init__(self) -> None:
        self.pointers: dict[Memory, Any] = {}
        self.flights = 0

    def lose(self) -> None:
        """The connection ended. The server may still write what was in flight."""
        for memory in self.pointers:
            memory.lose()

    def leave(self) -> None:
        """The handle is gone."""
        if self.flights > 0:
            self.lose()
        self.pointers.clear()
        self.flights = 0


class Link:
    """One handle and its lock. `on_drop` is called before a handle is closed."""

    def __init__(self, options: Options, writes: Optional[Writes] = None) -> None:
        self.options = options
        self.writes = Writes() if writes is None else writes  # those of the client
        self.lock = threading.RLock()
        self.on_drop: Optional[Callable[[], None]] = None
        self.closed = False
        self.regions = Regions()  # those of a client are in its own link
        self._shared = Shared()
        weakref.finalize(self, self._shared.leave).atexit = False
        self._pointer: Any = None
        self._handles = 0  # that were made
        self._is_doubted = False  # the writes of this handle are known to be in doubt
        self._server: Optional[Server] = None
        self._layout: Optional[Layout] = None
        _links.add(self)

    @property
    def is_open(self) -> bool:
        return self._pointer is not None

    def use(self) -> Any:
        """The handle; connects if there is none."""
        if self._pointer is not None:
            return self._pointer
        if self.closed:
            raise Refused("this client was closed")
        pointer = dial(self.options)
        server = server_of(pointer)
        if self._server is not None and not server.same_arrays(self._server):
            raise Refused(f"{self.options.address}: another server answers than before, whose keys or"
                          " values have another width: make a new client")
        self._layout = self._layout or layout_of(server, self.options.value_dtype, self.regions)
        self._pointer, self._server = pointer, server
        self._handles += 1
        self._is_doubted = False
        return pointer

    def doubt(self) -> None:
        """The handle has ended, or a connection of it has. Says so, once, before anybody gets an error of that."""
        if not self._is_doubted and lib.swpy_has_written(self._pointer):
            self._is_doubted = True
            self.writes.lose()

    @property
    def is_short(self) -> bool:
        """Has the handle lost a connection?"""
        return bool(lib.sherwood_stripes(self._pointer) < self.options.stripes)

    def connection(self) -> tuple[int, int]:
        """Which connections there are; connects if there are none. Others have other numbers."""
        pointer = self.use()
        return self._handles, int(lib.swpy_connections(pointer))

    def facts(self) -> tuple[Server, Layout]:
        """The server's facts and the arrays that fit it, as of the last time it was connected to."""
        if self._server is None or self._layout is None:
            with self.lock:
                self.use()
        assert self._server is not None and self._layout is not None
        return self._server, self._layout

    def check(self, code: int) -> None:
        """Raises what a negative code of the last call says. A handle that lost a connection is closed."""
        if code >= 0:
            return
        error = self.error(code)
        if self.is_short:
            self.drop()
        raise error

    def share(self, memories: tuple[Memory, ...]) -> int:
        """Registers regions that this handle has not registered yet. Returns libsherwood's code."""
        for memory in memories:
            if memory.is_open and memory not in self._shared.pointers:
                out = ffi.new("struct sherwood_region **")
                code: int = lib.swpy_memory_share(self.use(), memory.pointer, out)
                if code != lib.SHERWOOD_OK:
                    return code
                self._shared.pointers[memory] = out[0]
        return int(lib.SHERWOOD_OK)

    def begin_flight(self, memories: tuple[Memory, ...]) -> None:
        """A request uses these regions from now on."""
        self._shared.flights += bool(memories)

    def end_flight(self, memories: tuple[Memory, ...], code: int) -> None:
        """Its reply came. If the connection was lost instead, the server may still use them."""
        if code == lib.SHERWOOD_OK or lib.sherwood_stripes(self._pointer) == self.options.stripes:
            self._shared.flights -= bool(memories)
        elif memories:
            self._shared.lose()  # before the call that waits for this reply goes on

    def unshare(self) -> None:
        """Gives back the regions that were closed; waits for the requests on them. What a connection
        that fails meanwhile had registered is given back with it."""
        for memory in [memory for memory in self._shared.pointers if not memory.is_open]:
            lib.sherwood_region_destroy(self._shared.pointers.pop(memory))

    def error(self, code: int) -> Exception:
        """The exception of a code, with the sentence of the handle."""
        return error_of(code, ffi.string(lib.sherwood_error(self._pointer)).decode("utf-8", "replace"))

    def drop(self) -> None:
        """Closes the handle; the next use connects anew."""
        pointer = self._pointer
        if pointer is not None:
            if self.on_drop is not None:
                self.on_drop()
            self.doubt()
            self._pointer = None
            self._shared.leave()
            ffi.release(pointer)

    def close(self) -> None:
        """Closes the handle for good."""
        with self.lock:
            self.closed = True
            self.drop()

    def forget(self) -> None:
        """In a forked child: the parent's connection is left alone, and the lock is nobody's.

        on_drop is not called: it would change what the processes share.
        """
        self.lock = threading.RLock()
        self.on_drop = None
        self._shared.flights = 0
        self._shared.leave()
        pointer, self._pointer = self._pointer, None
        self.writes.forget()
        if pointer is not None:
            if lib.swpy_has_written(pointer):
                self.writes.lose()
            ffi.gc(pointer, None)  # what closes it here is another function
            lib.swpy_forget(pointer)


def _forked() -> None:
    for link in list(_links):
        link.forget()


def lost_in_fork() -> Lost:
    """What calls end with that were in flight when the process forked."""
    return Lost("the process forked while this call was in flight: its reply goes to the parent")


os.register_at_fork(after_in_child=_forked)
