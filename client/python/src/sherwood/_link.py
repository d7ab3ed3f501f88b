# SPDX-License-Identifier: MIT
"""A handle of libsherwood. Its first use connects it, and so does the next use after a loss or a fork.

The caller of `use` holds the lock of the link until it no longer needs the pointer.
"""

from __future__ import annotations

import dataclasses
import os
import threading
import weakref
from typing import Any, Callable, Optional

import numpy as np

from . import _trace
from ._errors import Lost, Refused, error_of
from ._facts import Layout, Server, check_arrays, layout_of, server_of
from ._native import ffi, lib
from ._regions import Memory, Regions
from ._waits import Writes

_TEXT_BYTES = 512


@dataclasses.dataclass(frozen=True)
class Options:
    """The arguments of a client. Another process can make the same client from them."""

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
    table: Optional[str] = None  # name or number of a table; None: the default table
    nodes: tuple[str, ...] = ()  # the nodes of a cluster; `address` is the first

    @property
    def follows(self) -> bool:
        """Returns true if there are several addresses: a primary and its replicas."""
        return "," in self.address and not self.nodes

    def secret(self) -> Optional[str]:
        """Returns the password, or the first line of its file, which this call reads."""
        if self.password_file is None:
            return self.password
        if self.password is not None:
            raise Refused("password and password_file: give only one of the two")
        with open(self.password_file, encoding="utf-8", errors="surrogateescape") as file:
            return file.readline().rstrip("\r\n")


def milliseconds(seconds: float, name: str) -> int:
    """Returns a time in whole milliseconds, at least 1: libsherwood uses its default for 0."""
    if not 0 < seconds <= 2_000_000:
        raise Refused(f"{name} is {seconds!r}: give seconds, more than 0 and at most 2000000")
    return max(1, int(seconds * 1000))


def c_text(text: str, name: str) -> bytes:
    """Returns a text for libsherwood. Refuses a NUL character, which would end the text in C."""
    if not isinstance(text, str):
        raise TypeError(f"{name}: {text!r:.40} is not a text: give a str")
    if "\0" in text:
        raise Refused(f"{name}: the text contains a NUL character: remove it")
    return os.fsencode(text)


def address_of(array: Optional[np.ndarray[Any, Any]]) -> Any:
    """Returns the memory of an array. The result keeps the array alive."""
    return ffi.NULL if array is None else ffi.from_buffer(array)


def open_client(options: Options) -> Any:
    """Connects. Returns a handle, which the garbage collector closes."""
    if not 1 <= options.stripes <= lib.SHERWOOD_STRIPES_MAX:
        raise Refused(f"stripes is {options.stripes}: give 1 to {lib.SHERWOOD_STRIPES_MAX}")
    given = ffi.new("struct sherwood_options *")
    given.size = ffi.sizeof("struct sherwood_options")
    given.stripes = options.stripes
    given.request_timeout_ms = milliseconds(options.timeout, "timeout")
    given.connect_timeout_ms = milliseconds(options.connect_timeout, "connect_timeout")
    given.tls_insecure = options.tls_insecure
    texts = []  # keeps the C strings alive until the library has read the struct
    for name in ("tls_ca", "tls_cert", "tls_key", "tls_server_name", "user", "password"):
        text = options.secret() if name == "password" else getattr(options, name)
        if text is not None:
            texts.append(ffi.new("char[]", c_text(text, name)))
            setattr(given, name, texts[-1])
    out = ffi.new("struct sherwood **")
    said = ffi.new("char[]", _TEXT_BYTES)
    if options.nodes:
        nodes = [ffi.new("char[]", c_text(node, "addresses")) for node in options.nodes]
        rc = lib.sherwood_connect_cluster_text(nodes, len(nodes), given, out, said, _TEXT_BYTES)
    else:
        rc = lib.sherwood_connect_text(c_text(options.address, "address"), given, out, said, _TEXT_BYTES)
    if rc != lib.SHERWOOD_OK:
        raise error_of(rc, ffi.string(said).decode("utf-8", "replace"))
    if options.table is not None:
        return open_table(out[0], options.table)
    return ffi.gc(out[0], lib.swpy_close)


def open_table(root: Any, name: str) -> Any:
    """Returns the handle of a table on these connections, which the handle owns from now on."""
    out = ffi.new("struct sherwood **")
    try:
        rc = lib.sherwood_table_open(root, c_text(name, "table"), out)
        if rc != lib.SHERWOOD_OK:
            raise error_of(rc, ffi.string(lib.sherwood_error(root)).decode("utf-8", "replace"))
    except BaseException:
        lib.swpy_close(root)
        raise
    return ffi.gc(out[0], lib.swpy_close)


_links: weakref.WeakSet[Link] = weakref.WeakSet()


class Shared:
    """The regions that a handle has registered, and the number of requests in flight that use them."""

    def __init__(self) -> None:
        self.pointers: dict[Memory, Any] = {}
        self.flights = 0

    def lose(self) -> None:
        """The connection ended. The server may still write what was in flight."""
        for memory in self.pointers:
            memory.lose()

    def leave(self) -> None:
        """Forgets the regions: their handle is closed."""
        if self.flights > 0:
            self.lose()
        self.pointers.clear()
        self.flights = 0


class Tables:
    """The handles of tables on the connections of a link, by the names of the tables."""

    def __init__(self) -> None:
        self.handles: dict[str, Any] = {}
        self.are_stale = False  # a table was dropped or replaced: open the tables of these names again
        self.closings = 0  # how often they were closed

    def close(self) -> None:
        """Closes them. The handle that has the connections must still be open, and has no request of theirs in flight."""
        self.are_stale = False
        self.closings += 1
        for handle in self.handles.values():
            lib.sherwood_close(handle)
        self.handles.clear()


class Link:
    """One handle and its lock. `on_drop` is called before a handle is closed."""

    def __init__(self, options: Options, writes: Optional[Writes] = None) -> None:
        self.options = options
        self.writes = Writes() if writes is None else writes  # shared by all links of a client
        self.lock = threading.RLock()
        self.on_drop: Optional[Callable[[], None]] = None
        self.closed = False
        self._blocks = not options.nodes  # its calls wait for their replies, from one server
        self.regions = Regions()  # a client uses the regions of its own link
        self._shared = Shared()
        weakref.finalize(self, self._shared.leave).atexit = False
        self.tables = Tables()
        weakref.finalize(self, self.tables.close).atexit = False  # runs before the garbage collector closes `_pointer`
        self._pointer: Any = None
        self._traceparent: Optional[bytes] = None  # the trace context of the handle
        self._handles = 0  # number of handles made
        self._is_doubted = False  # the writes of this handle are known to be in doubt
        self._server: Optional[Server] = None
        self._layout: Optional[Layout] = None
        _links.add(self)

    def beside(self) -> Link:
        """Returns a link with connections of its own. It refuses a server or a table that the arrays of this link do not fit."""
        link = Link(self.options, self.writes)
        link._server = self._server
        link._blocks = False
        return link

    @property
    def is_open(self) -> bool:
        return self._pointer is not None

    def use(self) -> Any:
        """Returns the handle, which sends requests with the trace context of the caller. Connects if there is none."""
        if self._blocks and self._pointer is not None and lib.sherwood_stripes(self._pointer) == 0:
            self.drop()  # ^C came before the call that lost the connections could close it
        if self._pointer is None:
            self._connect()
        self.trace(_trace.current())
        return self._pointer

    def trace(self, traceparent: Optional[bytes]) -> None:
        """Sets the trace context of the requests that follow. There is a handle."""
        if traceparent != self._traceparent:
            lib.sherwood_traceparent(self._pointer, ffi.NULL if traceparent is None else traceparent)
            self._traceparent = traceparent

    def _connect(self) -> None:
        if self.closed:
            raise Refused("this client is closed: make a new one")
        pointer = open_client(self.options)
        server = server_of(pointer)
        if self._server is not None:
            check_arrays(self.options.address, server, self._server)
        self._layout = self._layout or layout_of(server, self.options.value_dtype, self.regions)
        self._pointer, self._server = pointer, server
        self._traceparent = None
        self._handles += 1
        self._is_doubted = False

    def doubt(self) -> None:
        """Notes once, before a caller gets the error, that the handle or one of its connections has ended after writes."""
        if not self._is_doubted and lib.swpy_has_written(self._pointer):
            self._is_doubted = True
            self.writes.lose()

    @property
    def is_short(self) -> bool:
        """Returns true if the handle has lost a connection."""
        return bool(lib.sherwood_stripes(self._pointer) < self.options.stripes)

    def connection(self) -> tuple[int, int]:
        """Returns numbers that identify the present connections. Connects if there are none."""
        pointer = self.use()
        return self._handles, int(lib.swpy_connections(pointer))

    def facts(self) -> tuple[Server, Layout]:
        """Returns the server's facts and the arrays that fit it, as of the last connection."""
        if self._server is None or self._layout is None:
            with self.lock:
                self.use()
        assert self._server is not None and self._layout is not None
        return self._server, self._layout

    def check(self, code: int) -> None:
        """Raises the exception of the last call if its code is negative. Closes a handle that lost a connection."""
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
        """Counts a request that uses these regions."""
        self._shared.flights += bool(memories)

    def end_flight(self, memories: tuple[Memory, ...], code: int) -> None:
        """Ends the count of a request. If the connection was lost, the server may still use the regions."""
        if code == lib.SHERWOOD_OK or lib.sherwood_stripes(self._pointer) == self.options.stripes:
            self._shared.flights -= bool(memories)
        elif memories:
            self._shared.lose()  # before the call that waits for this reply continues

    def unshare(self) -> None:
        """Unregisters the closed regions after the requests on them. If a connection fails meanwhile, the server
        unregisters its regions."""
        for memory in [memory for memory in self._shared.pointers if not memory.is_open]:
            lib.sherwood_region_destroy(self._shared.pointers.pop(memory))

    def error(self, code: int) -> Exception:
        """Returns the exception of a code, with the error text of the handle."""
        return error_of(code, ffi.string(lib.sherwood_error(self._pointer)).decode("utf-8", "replace"))

    def drop(self) -> None:
        """Closes the handle. The next use connects again."""
        pointer = self._pointer
        if pointer is not None:
            if self.on_drop is not None:
                self.on_drop()
            self.doubt()
            self._pointer = None
            self._shared.leave()
            self.tables.close()
            ffi.release(pointer)

    def close(self) -> None:
        """Closes the handle for good."""
        with self.lock:
            self.closed = True
            self.drop()

    def forget(self) -> None:
        """In a forked child: leaves the parent's connection open, and makes a new lock.

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
            self.tables.close()
            ffi.gc(pointer, None)  # swpy_forget closes the handle instead
            lib.swpy_forget(pointer)


def _forked() -> None:
    for link in list(_links):
        link.forget()


def lost_in_fork() -> Lost:
    """Returns the error of calls that were in flight when the process forked."""
    return Lost("the process forked while this call was in flight: the parent process gets the reply")


os.register_at_fork(after_in_child=_forked)
