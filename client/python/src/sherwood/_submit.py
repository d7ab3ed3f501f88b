# SPDX-License-Identifier: MIT
"""c.submit: the calls on many keys as concurrent.futures.Future, many in flight."""

from __future__ import annotations

import functools
import os
import select
import threading
import weakref
from concurrent.futures import Future
from typing import Any, Callable, Optional

from . import _segments, _waits
from ._engine import Done, Engine, Job, Work
from ._errors import Refused
from ._facts import Layout
from ._link import Link, lost_in_fork
from ._native import lib
from ._plans import Plan
from ._typed import SubmitCalls


class Worker:
    """A thread that carries out jobs on a handle of its own. It ends once it is stopped and idle."""

    def __init__(self, link: Link, calls_max: int) -> None:
        self.engine = Engine(link)
        self.room = threading.Semaphore(calls_max)
        self.lock = threading.Lock()
        self.inbox: list[Work] = []
        self.asked: list[tuple[Callable[[Link], Any], Future[Any]]] = []
        self.futures: set[Future[Any]] = set()
        self.stopping = False
        self.asleep = False
        self.wake_read, self.wake_write = os.pipe()
        os.set_blocking(self.wake_read, False)
        self.thread = threading.Thread(target=self.run, name="sherwood.submit", daemon=True)
        self.thread.start()

    def push(self, work: Callable[[Done], Work]) -> Future[Any]:
        """Queues a call. Blocks while the server's limit of requests in flight is reached."""
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()

        # Callbacks of futures run in this thread. This thread must not block, because only it makes room.
        has_room = self.room.acquire(blocking=threading.current_thread() is not self.thread)

        def done(result: Any, error: Optional[BaseException]) -> None:
            with self.lock:
                self.futures.discard(future)
            if has_room:
                self.room.release()
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result)

        job = work(done)
        with self.lock:
            if not self.stopping:
                self.inbox.append(job)
                self.futures.add(future)
                self.wake()
                return future
        if has_room:
            self.room.release()
        raise Refused("this client is closed: make a new one")

    def ask(self, function: Callable[[Link], Any]) -> Future[Any]:
        """Queues a function for the thread, which calls it with its link. No other thread may use that link."""
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        with self.lock:
            if self.stopping:
                raise Refused("this client is closed: make a new one")
            self.asked.append((function, future))
            self.futures.add(future)
            self.wake()
        return future

    def answer(self, function: Callable[[Link], Any], future: Future[Any]) -> None:
        """Calls a queued function, and sets the result of its future."""
        result, error = None, None
        try:
            result = function(self.engine.link)
        except Exception as raised:  # pylint: disable=broad-except
            error = raised
        with self.lock:
            self.futures.discard(future)
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)

    def wake(self) -> None:
        """Wakes the thread; the caller holds the lock."""
        if self.asleep:
            self.asleep = False
            os.write(self.wake_write, b"!")

    def stop(self) -> None:
        """Makes the thread end after the calls in flight."""
        with self.lock:
            self.stopping = True
            self.wake()

    def run(self) -> None:
        while self.collect():
            try:
                self.engine.turn()
                self.sleep()
            except Exception as error:  # pylint: disable=broad-except
                self.engine.abandon(error)
        self.engine.link.close()
        os.close(self.wake_read)
        os.close(self.wake_write)

    def collect(self) -> bool:
        """Takes the queued jobs and functions. Returns false if the thread can end."""
        with self.lock:
            jobs, self.inbox = self.inbox, []
            asked, self.asked = self.asked, []
            for job in jobs:
                self.engine.push(job)
        for one in asked:
            self.answer(*one)
        with self.lock:
            return bool(self.inbox or self.asked) or not (self.stopping and self.engine.is_idle)

    def sleep(self) -> None:
        """Waits for a reply, for a job, or until the next check of the time-out."""
        link = self.engine.link
        with self.lock:
            if self.inbox or self.asked or (self.stopping and self.engine.is_idle):
                return
            if self.engine.has_more and not link.is_open:
                return
            self.asleep = True
        poll = select.poll()
        poll.register(self.wake_read, select.POLLIN)
        if link.is_open and not self.engine.is_idle:
            poll.register(lib.sherwood_descriptor(link.use()), select.POLLIN)
        limit = None if self.engine.is_idle else min(1.0, link.options.timeout / 4) * 1000
        ready = poll.poll(limit)
        with self.lock:
            self.asleep = False
        if any(descriptor == self.wake_read for descriptor, _ in ready):
            os.read(self.wake_read, 64)


_submits: weakref.WeakSet[Submit] = weakref.WeakSet()


class Submit(SubmitCalls):
    """The calls of Many, which return a concurrent.futures.Future at once.

    They have a connection and a thread of their own; the first call makes both. With stripes=1 they take
    effect in the order in which they were submitted. Between them and the client's other calls the order is
    not defined, except that a call with a result has taken effect. Arrays belong to the call until its future
    is done. A call blocks while the server's limit of requests in flight is reached. A future cannot be
    cancelled.
    """

    __slots__ = ("_link", "_worker", "_lock", "__weakref__")

    def __init__(self, link: Link) -> None:
        self._link = link  # the client's link: the server's facts and the options
        self._worker: Optional[Worker] = None
        self._lock = threading.Lock()
        _submits.add(self)

    def _layout(self) -> Layout:
        return self._link.facts()[1]

    def _carry_out(self, plan: Plan) -> Future[Any]:
        return self._push(functools.partial(Job, plan))

    def get_segments(self, parts: Any, *, default: Any = None) -> Future[list[Any]]:
        """Reads several tables together, as get_segments of the client does. Errors of the keys also come by the future."""
        return self._push(functools.partial(_segments.Read, _segments.named(self._link, parts), default))

    def _push(self, work: Callable[[Done], Work]) -> Future[Any]:
        with self._lock:
            if self._link.closed:
                raise Refused("this client is closed: make a new one")
            if self._worker is None:
                calls_max = self._link.facts()[0].requests_in_flight_max
                self._worker = Worker(self._link.beside(), calls_max)
                weakref.finalize(self, self._worker.stop).atexit = False
            worker = self._worker
        return worker.push(work)

    def _wait_replicas(self, replicas: int, next_ms: Callable[[], int]) -> Optional[int]:
        """Waits until replicas have the writes of `submit`. Returns their number, or None if it has written nothing."""
        while True:
            with self._lock:
                worker = self._worker
            if worker is None:
                return None
            if threading.current_thread() is worker.thread:
                raise Refused("wait_replicas: a callback of a `submit` future called this in the thread that must send the request:"
                              " wait in another thread")
            wait_ms = next_ms()
            reached: Optional[int] = worker.ask(functools.partial(
                _waits.wait_of_worker, replicas=replicas, wait_ms=wait_ms)).result()
            if reached is None or reached >= replicas or wait_ms == 0:
                return reached

    def _turn(self) -> None:
        """Makes the thread unregister the closed regions."""
        with self._lock:
            worker = self._worker
        if worker is not None:
            with worker.lock:
                worker.wake()

    def close(self) -> None:
        """Waits for the calls in flight, then closes the connection."""
        with self._lock:
            worker, self._worker = self._worker, None
        if worker is not None:
            worker.stop()
            if threading.current_thread() is not worker.thread:
                worker.thread.join()

    def forget(self) -> None:
        """In a forked child, which has no such thread: ends its calls with Lost. The next call makes a new thread."""
        worker, self._worker, self._lock = self._worker, None, threading.Lock()
        if worker is not None:
            worker.lock, worker.asleep, worker.stopping = threading.Lock(), False, True
            worker.engine.flights.clear()
            os.close(worker.wake_read)
            os.close(worker.wake_write)
            for future in list(worker.futures):
                # A thread that exists only in the parent may hold its lock. The threads that wait for it are also there.
                parts: Any = future
                parts._condition, parts._waiters = threading.Condition(), []
                future.set_exception(lost_in_fork())


def _forked() -> None:
    for submit in list(_submits):
        submit.forget()


os.register_at_fork(after_in_child=_forked)
