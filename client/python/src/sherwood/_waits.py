# SPDX-License-Identifier: MIT
"""Waits until the writes of a client survive a crash, or until replicas have them.

A client writes by several connections: its own, that of `submit` and those of `aio`. Python handles no signal
while a call of the C library blocks. So a wait here is many short ones, and ^C raises KeyboardInterrupt between them.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Optional

from ._errors import Lost, Refused
from ._native import ffi, lib

if TYPE_CHECKING:
    from ._link import Link
    from ._submit import Submit

_SLICE_MS = 200  # the longest wait before Python handles its signals
_UNKNOWN = ("a connection of this client ended since the last call, after writes: whether these writes are {} is not"
            " known")


class Writes:
    """The last writes of the connections of a client, and whether a connection with writes has ended. Threads: any."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.by_aio = False  # whether the client has written by `aio`
        self._lost = {"durable": False, "replicas": False}  # a connection that had written ended since the last wait
        self._latest = (0, 0)  # the log of the server, and the last write in it, by `submit` and `aio`

    def note(self, pointer: Any, by_aio: bool) -> None:
        """Notes the last write of a handle. The thread of the handle calls this before it sets the result of the write."""
        log, sequence = int(lib.swpy_log(pointer)), int(lib.swpy_last_write(pointer))
        with self.lock:
            self.by_aio = self.by_aio or by_aio
            if self._latest[1] > 0 and self._latest[0] != log:
                self._lost["durable"] = True  # the earlier writes are in another log
                self._latest = (0, 0)
            self._latest = (log, max(sequence, self._latest[1]))

    def lose(self) -> None:
        """Notes that a connection with writes has ended."""
        with self.lock:
            self._lost = {"durable": True, "replicas": True}

    def check(self, kind: str) -> None:
        """Raises Lost once after a connection with writes has ended."""
        with self.lock:
            lost, self._lost[kind] = self._lost[kind], False
        if lost:
            raise Lost(_UNKNOWN.format("durable" if kind == "durable" else "on replicas"))

    def forgive(self, kind: str) -> None:
        """Forgets an ended connection: another error has reported it to the caller."""
        with self.lock:
            self._lost[kind] = False

    def last(self, pointer: Any) -> tuple[int, int]:
        """Returns the log of the handle's server, and the last write of the client in it."""
        log, sequence = int(lib.swpy_log(pointer)), int(lib.swpy_last_write(pointer))
        with self.lock:
            other, latest = self._latest
            if latest > 0 and other != log:
                self._latest = (0, 0)
                raise Lost(_UNKNOWN.format("durable"))
            return log, max(sequence, latest)

    def forget(self) -> None:
        """In a forked child: makes a new lock."""
        self.lock = threading.Lock()


class _Clock:
    """The remaining time of a call."""

    def __init__(self, limit_ms: int) -> None:
        self._until = None if limit_ms < 0 else time.monotonic() + limit_ms / 1000

    def next_ms(self) -> int:
        """Returns the milliseconds of the next wait; 0: the time is over."""
        if self._until is None:
            return _SLICE_MS
        return max(0, min(_SLICE_MS, round((self._until - time.monotonic()) * 1000)))


def durable(link: Link, limit_ms: int) -> None:
    """Waits until all writes that have a result survive a crash."""
    clock = _Clock(limit_ms)
    with link.lock:
        pointer = link.use()
        link.writes.check("durable")
        log, sequence = link.writes.last(pointer)
        connection = link.connection()
    while True:
        with link.lock:  # the lock is free between two waits, for other calls
            if link.connection() != connection:
                link.writes.forgive("durable")
                raise Lost(_UNKNOWN.format("durable"))
            wait_ms = clock.next_ms()
            code = lib.swpy_wait_durable(pointer, log, sequence, wait_ms)
            is_late = code == lib.SHERWOOD_E_TIMEOUT and not link.is_short
            if not is_late or wait_ms == 0:
                if code == lib.SHERWOOD_E_CONNECTION:
                    _raise(link, "durable", code)
                link.check(code)
                return


def _raise(link: Link, kind: str, code: int) -> None:
    """Raises Lost for the writes up to now."""
    try:
        link.check(code)
    finally:
        link.writes.forgive(kind)


def _wait_once(link: Link, pointer: Any, replicas: int, wait_ms: int) -> int:
    """Returns the number of replicas that have the writes of a handle. Waits at most wait_ms."""
    reached = ffi.new("uint32_t *")
    code = lib.sherwood_wait_replicas(pointer, replicas, wait_ms, reached)
    if code == lib.SHERWOOD_E_CONNECTION:
        _raise(link, "replicas", code)
    link.check(code)
    return int(reached[0])


def _until_reached(link: Link, replicas: int, clock: _Clock) -> int:
    """Waits until replicas have the writes of the client's own handle. Returns their number."""
    with link.lock:
        pointer, connection = link.use(), link.connection()
    while True:
        with link.lock:
            if link.connection() != connection:
                link.writes.forgive("replicas")
                raise Lost(_UNKNOWN.format("on replicas"))
            wait_ms = clock.next_ms()
            reached = _wait_once(link, pointer, replicas, wait_ms)
        if reached >= replicas or wait_ms == 0:
            return reached


def on_replicas(link: Link, submit: Submit, replicas: int, limit_ms: int) -> int:
    """Waits until replicas have all writes that have a result. Returns their number."""
    clock = _Clock(limit_ms)
    with link.lock:
        link.writes.check("replicas")
        if link.writes.by_aio:
            raise Refused("wait_replicas: this client has written by `aio`, and cannot wait for the writes of those connections:"
                          " write by blocking calls or by `submit`")
        has_written = bool(lib.swpy_has_written(link.use()))
    theirs: Optional[int] = submit._wait_replicas(replicas, clock.next_ms)
    link.writes.check("replicas")  # a connection may have ended meanwhile
    if theirs is not None and not has_written:
        return theirs
    own = _until_reached(link, replicas, clock)
    return own if theirs is None else min(own, theirs)


def wait_of_worker(link: Link, replicas: int, wait_ms: int) -> Optional[int]:
    """The wait of the thread of `submit`. Returns None if it has written nothing."""
    if not link.is_open or not lib.swpy_has_written(link.use()):
        return None
    return _wait_once(link, link.use(), replicas, wait_ms)


