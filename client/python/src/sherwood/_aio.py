# SPDX-License-Identifier: MIT
"""c.aio: the calls on many keys for asyncio. The event loop waits on the descriptor of libsherwood."""

from __future__ import annotations

import asyncio
import functools
import os
import weakref
from typing import Any, Callable, Optional

from . import _segments
from ._engine import Done, Engine, Job, Work, closed
from ._errors import Failed, Refused
from ._facts import Layout
from ._link import Link
from ._native import lib
from ._plans import Plan
from ._typed import AioCalls


class Reader:
    """The handle of one event loop. Everything here runs in that loop's thread."""

    def __init__(self, link: Link, loop: asyncio.AbstractEventLoop) -> None:
        self.link = link
        self.link.on_drop = self.unwatch
        self.engine = Engine(self.link, is_aio=True)
        self._loop = weakref.ref(loop)
        self._watched = -1
        self._opening = False
        self._turning = False  # the loop has scheduled a turn
        self._timer: Optional[asyncio.TimerHandle] = None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        loop = self._loop()
        assert loop is not None, "the loop runs this"
        return loop

    def push(self, work: Callable[[Done], Work]) -> asyncio.Future[Any]:
        future: asyncio.Future[Any] = self.loop.create_future()

        def done(result: Any, error: Optional[BaseException]) -> None:
            # The awaiting task may be cancelled. The arrays stay in use until this reply, whether it is or not.
            if future.cancelled():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result)

        self.engine.push(work(done))
        self.soon()
        return future

    def soon(self) -> None:
        """Schedules a turn. One turn sends everything that is pushed before it runs."""
        if not self._turning:
            self._turning = True
            self.loop.call_soon(self.turn)

    def turn(self) -> None:
        self._turning = False
        if self._opening:
            return
        if not self.link.is_open or self.engine.must_open:
            self.open()
            return
        self.engine.turn()
        if self.engine.has_more and (not self.link.is_open or self.engine.must_open):
            self.soon()
        if self._timer is None and not self.engine.is_idle:
            self._timer = self.loop.call_later(min(1.0, self.link.options.timeout / 4), self.tick)

    def tick(self) -> None:
        self._timer = None
        if not self.engine.is_idle:
            self.soon()

    def open(self) -> None:
        """Connects, and opens tables, in another thread, because that blocks. No request is in flight."""
        if self._opening or self.engine.is_idle:
            return
        self._opening = True
        self.unwatch()
        self.loop.run_in_executor(None, self.engine.open).add_done_callback(self.opened)

    def opened(self, opening: asyncio.Future[Any]) -> None:
        self._opening = False
        if opening.cancelled():
            self.engine.fail(closed())
            return
        error = opening.exception()
        if error is not None:
            self.engine.fail(error)
            return
        if self.link.closed:
            self.link.drop()
            return
        if not self.link.is_open:  # the connection ended while a table was opened
            self.soon()
            return
        self._watched = lib.sherwood_descriptor(self.link.use())
        if self._watched < 0:
            self.engine.abandon(Failed("cannot create the descriptor that the event loop waits on: too many open files, or no"
                                       " memory"))
            return
        self.loop.add_reader(self._watched, self.turn)
        self.turn()

    def unwatch(self) -> None:
        """Removes the descriptor from the event loop before it is closed: another file may get its number."""
        loop = self._loop()
        if self._watched >= 0 and loop is not None and not loop.is_closed():
            loop.remove_reader(self._watched)
        self._watched = -1

    def close(self) -> None:
        if self._opening:  # the other thread uses the handle: opened() closes it
            self.link.closed = True
            self.engine.fail(closed())
        else:
            self.engine.abandon(closed())
            self.link.close()
        if self._timer is not None:
            self._timer.cancel()


_aios: weakref.WeakSet[Aio] = weakref.WeakSet()


class Aio(AioCalls):
    """The calls of Many, which return awaitables. The client sends a call even if its result is not awaited.

    Each event loop has a connection of its own, made at its first call. With stripes=1 calls of a loop
    take effect in the order in which they were made. Between them and the client's other calls the order is
    not defined, except that a call with a result has taken effect. Arrays belong to the call until the server
    has replied, also after a cancelled await.
    """

    __slots__ = ("_link", "_readers", "__weakref__")

    def __init__(self, link: Link) -> None:
        self._link = link  # the client's link: the server's facts and the options
        self._readers: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Reader]
        self._readers = weakref.WeakKeyDictionary()
        _aios.add(self)

    def _layout(self) -> Layout:
        return self._link.facts()[1]

    def _carry_out(self, plan: Plan) -> asyncio.Future[Any]:
        return self._push(functools.partial(Job, plan))

    def get_segments(self, parts: Any, *, default: Any = None) -> asyncio.Future[list[Any]]:
        """Reads several tables together, as get_segments of the client does. Errors of the keys also come by the future."""
        return self._push(functools.partial(_segments.Read, _segments.named(self._link, parts), default))

    def _push(self, work: Callable[[Done], Work]) -> asyncio.Future[Any]:
        if self._link.closed:
            raise Refused("this client is closed: make a new one")
        loop = asyncio.get_running_loop()
        reader = self._readers.get(loop)
        if reader is None:
            reader = self._readers[loop] = Reader(self._link.beside(), loop)
        return reader.push(work)

    def _turn(self) -> None:
        """Makes the event loops unregister the closed regions."""
        for loop, reader in list(self._readers.items()):
            try:
                loop.call_soon_threadsafe(reader.soon)
            except RuntimeError:  # the loop is closed: its regions are released with its reader
                pass

    def close(self) -> None:
        """Closes the connections of all event loops. Calls in flight end with Lost."""
        readers, self._readers = list(self._readers.items()), weakref.WeakKeyDictionary()
        for loop, reader in readers:
            if loop.is_closed() or loop is _running():
                reader.close()
            else:
                loop.call_soon_threadsafe(reader.close)

    def forget(self) -> None:
        """In a forked child: forgets the event loops of the parent process."""
        self._readers = weakref.WeakKeyDictionary()


def _running() -> Optional[asyncio.AbstractEventLoop]:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _forked() -> None:
    for aio in list(_aios):
        aio.forget()


os.register_at_fork(after_in_child=_forked)
