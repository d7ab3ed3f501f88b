# SPDX-License-Identifier: MIT
"""The engine of `submit` and `aio`: many calls in flight on one handle, without waiting for any.

An engine belongs to one thread, which calls `turn` whenever the handle's descriptor is readable, and
`tick` now and then. Calls longer than a frame are cut into frames. With one stripe calls take effect in
the order in which they were pushed; with several, the frames of one write still do.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Callable, Optional

import numpy as np

from . import _trace
from ._errors import Lost
from ._link import Link
from ._native import ffi, lib
from ._plans import Plan
from ._regions import Memory

SPLIT_KEYS = 64  # the found bits of each frame begin at a word
_FOLLOWS_MAX = 4  # the most times that a frame is sent to another primary

Done = Callable[[Any, Optional[BaseException]], None]


class Work:
    """A call in progress. The engine calls `done` once, with the result or the error."""

    __slots__ = ("operation", "count", "shared", "done", "at", "frames", "error", "traceparent")

    def __init__(self, operation: int, count: int, shared: tuple[Memory, ...], done: Done) -> None:
        self.operation = operation
        self.count = count  # of keys
        self.shared = shared  # the regions of its arrays
        self.done = done
        self.traceparent = _trace.current()  # of the caller; the engine may be on another thread
        self.at = 0  # keys that were sent
        self.frames = 0  # frames without a reply yet
        self.error: Optional[BaseException] = None

    @property
    def is_over(self) -> bool:
        return self.frames == 0 and (self.error is not None or self.at >= self.count)

    def is_ready(self, link: Link) -> bool:  # pylint: disable=unused-argument
        """Returns false if open() must be called before the next frame."""
        return True

    def open(self, link: Link) -> None:
        """Opens what the frames need. Sends requests, and waits for their replies. Sets `error` if that fails."""

    def fill(self, request: Any, pointer: Any, at: int, left: int) -> Any:
        """Sets the arrays of a frame of at most `left` keys from `at` on, and its count. Returns what must outlive it."""
        raise NotImplementedError

    def submit(self, request: Any, pointer: Any, held: Any) -> int:  # pylint: disable=unused-argument
        """Queues a frame. Returns the code of libsherwood."""
        return int(lib.sherwood_submit(pointer, request))

    def result(self) -> Any:
        """Returns the result of the call. All replies have arrived."""
        raise NotImplementedError

    def finish(self) -> None:
        """Makes the result, and passes it to `done`."""
        result = None
        if self.error is None:
            try:
                result = self.result()
            except Exception as error:  # pylint: disable=broad-except
                self.error = error
        self.done(result, self.error)


class Job(Work):
    """A plan in progress."""

    __slots__ = ("plan", "bits", "arrays", "buffers", "operand_bytes", "answer_bytes")

    def __init__(self, plan: Plan, done: Done) -> None:
        super().__init__(plan.operation, plan.count, plan.shared, done)
        self.plan = plan
        wants_bits = plan.found is not None or plan.fill is not None
        self.bits = plan.bits
        if wants_bits and plan.bits is None:
            self.bits = np.empty((plan.count + 63) // 64, np.uint64)
        arrays = (plan.keys, plan.values, plan.previous, self.bits)
        self.operand_bytes, self.answer_bytes = (
            array.nbytes // plan.count if array is not None and plan.count > 0 else 0
            for array in (plan.values, plan.previous))
        # These buffers keep the memory at its address and at its size.
        self.buffers = [None if array is None else ffi.from_buffer(array) for array in arrays]
        self.arrays = [ffi.NULL if buffer is None else ffi.cast("char *", buffer)
                       for buffer in self.buffers]

    def fill(self, request: Any, pointer: Any, at: int, left: int) -> Any:
        keys, values, previous, bits = self.arrays
        request.keys = keys + at * lib.sherwood_server(pointer).key_bytes
        request.values = values + at * self.operand_bytes if values else ffi.NULL
        request.previous = previous + at * self.answer_bytes if previous else ffi.NULL
        request.found = ffi.cast("uint64_t *", bits + at // 8) if bits else ffi.NULL
        times, details = ffi.NULL, self.plan.details
        if details is not None:
            request.scale, request.operand_type = details.scale, details.operand_type
            request.range_offset, request.range_bytes = details.range_offset, details.range_bytes
            request.times = times = _times_of(details, at)
        most = lib.sherwood_frame_keys(pointer, request)
        request.count = left if left <= most else most // SPLIT_KEYS * SPLIT_KEYS
        return times

    def result(self) -> Any:
        plan = self.plan
        if self.bits is not None and plan.count > 0:
            into = [ffi.NULL if array is None else ffi.from_buffer(array)
                    for array in (plan.found, plan.previous, plan.fill)]
            bits = ffi.cast("uint64_t *", self.buffers[3])
            lib.swpy_spread(bits, plan.count, into[0], into[1], self.answer_bytes, into[2])
        return plan.result()


def _times_of(said: Any, at: int) -> Any:
    """Returns the expiry times of a frame from key `at` on: a struct that must outlive the frame, or NULL."""
    if said.when == lib.SHERWOOD_UNSAID:
        return ffi.NULL
    times = ffi.new("struct sherwood_times *")
    times.size, times.when, times.time_ms = ffi.sizeof("struct sherwood_times"), said.when, said.time_ms
    times.times_ms = said.times_ms + at if said.times_ms else ffi.NULL
    return times


class _Frame:
    """A frame: a range of the keys of a job. If a replica refuses it, the engine sends it again."""

    __slots__ = ("job", "at", "count", "follows", "held", "number", "error")

    def __init__(self, job: Work, at: int, count: int, follows: int, held: Any) -> None:
        self.job = job
        self.at = at
        self.count = count
        self.follows = follows  # how many replicas have refused it
        self.held = held  # objects that must outlive the frame
        self.number = 0  # its place in the order of sending
        self.error: Optional[BaseException] = None


class Engine:
    """The calls of one handle that have no reply yet."""

    def __init__(self, link: Link, *, is_aio: bool = False) -> None:
        self.link = link
        self._is_aio = is_aio
        self.waiting: deque[Work] = deque()
        self.flights: dict[int, tuple[Work, Any]] = {}
        self._refused: list[_Frame] = []  # frames that a replica refused, in the order of sending
        self._again: deque[_Frame] = deque()  # frames that go to the primary before all others
        self._done_last = 0  # number of the last frame whose write was executed
        self._next = 1
        self._out = ffi.new("struct sherwood_request **")
        self._by_region = False  # the frames in flight went by a region

    @property
    def is_idle(self) -> bool:
        return not self.has_more and not self.flights

    @property
    def has_more(self) -> bool:
        """Returns true if there is something to send."""
        return bool(self.waiting or self._again)

    @property
    def must_open(self) -> bool:
        """Returns true if the next thing to send must be opened first, and nothing is in flight."""
        job = self._again[0].job if self._again else self.waiting[0] if self.waiting else None
        return job is not None and not self.flights and not self._refused and job.error is None and not job.is_ready(self.link)

    def open(self) -> None:
        """Connects, and opens what the next thing to send needs. Blocks; no other thread uses the handle."""
        self.link.use()
        if self.must_open:
            (self._again[0].job if self._again else self.waiting[0]).open(self.link)

    def push(self, job: Work) -> None:
        """Adds a job. The next turn sends it."""
        self.waiting.append(job)

    def turn(self) -> None:
        """Sends what can be sent, and takes the replies that have arrived. Blocks only to connect a handle that is
        not open."""
        if self.is_idle and not self.link.is_open:
            return
        try:
            pointer = self.link.use()
        except Exception as error:  # pylint: disable=broad-except
            self.fail(error)
            return
        if self.flights:
            lib.swpy_waited(pointer)
        self.link.unshare()
        self._send(pointer)
        while self.link.is_open and (self._take(pointer) or self._opened()) and self.has_more and self.link.is_open:
            self._send(pointer)

    def _opened(self) -> bool:
        """Opens what the next thing to send needs, unless this would block an event loop. Returns true if it did."""
        if self._is_aio or not self.must_open:
            return False
        self.open()
        return True

    def _send(self, pointer: Any) -> None:
        while self._again and not self._refused:
            frame = self._again[0]
            if frame.job.error is None and not frame.job.is_ready(self.link):
                return
            if frame.job.error is None and not self._send_frame(pointer, frame.job, frame.at, frame.count, frame.follows):
                return
            self._again.popleft()
            if frame.job.error is not None:
                frame.job.frames -= 1
                self._end(frame.job)
        while self.waiting and not self._refused:
            job = self.waiting[0]
            if job.error is None and not job.is_ready(self.link):
                return
            left = job.count - job.at
            if left > 0 and job.error is None:
                # A frame could overtake another one on another connection, or a frame by a region one by the socket.
                if self.link.options.stripes == 1:
                    in_order = not self.flights or self._by_region == bool(job.shared)
                else:
                    in_order = not lib.sw_operation_writes(job.operation) or job.frames == 0
                if not in_order or not self._send_frame(pointer, job, job.at, left):
                    return
            if job.at >= job.count or job.error is not None:
                self.waiting.popleft()
                if job.is_over:
                    job.finish()

    def _send_frame(self, pointer: Any, job: Work, at: int, left: int, follows: int = 0) -> bool:
        """Queues a frame of the keys of a job from `at` on; with `follows`, one that was sent before. False: the
        limit of requests in flight is reached."""
        by_region = bool(job.shared)
        if by_region:
            lib.sherwood_descriptor(pointer)  # before the first use of the ring, so that its replies make the descriptor readable
            code = self.link.share(job.shared)
            if code != lib.SHERWOOD_OK:
                job.error = self.link.error(code)
                return True
        request = ffi.new("struct sherwood_request *")
        request.size = ffi.sizeof("struct sherwood_request")
        request.operation = job.operation
        request.flags = lib.SHERWOOD_DELAY
        request.user = ffi.cast("void *", self._next)
        held = job.fill(request, pointer, at, left)
        count = request.count
        self.link.trace(job.traceparent)
        rc = job.submit(request, pointer, held)
        if rc == lib.SHERWOOD_E_BUSY:
            return False
        if rc != lib.SHERWOOD_OK:
            job.error = self.link.error(rc)
            return True
        self.flights[self._next] = (job, _Frame(job, at, count, follows, (request, held)))
        self._by_region = by_region
        self.link.begin_flight(job.shared)
        self._next += 1
        if follows == 0:
            job.at += count
            job.frames += 1
        elif count < left:  # this primary accepts smaller frames: the next frame has the rest
            self._again.insert(1, _Frame(job, at + count, left - count, follows, None))
            job.frames += 1
        return True

    def _take(self, pointer: Any) -> int:
        """Takes all replies that have arrived, and returns their number. A handle that has lost all connections returns
        all its requests, and is then closed."""
        taken, silence = 0, None
        while True:
            rc = lib.sherwood_wait_any_for(pointer, self._out, 0)
            if self._out[0] == ffi.NULL:
                break
            taken += 1
            number = int(ffi.cast("uintptr_t", self._out[0].user))
            job, frame = self.flights.pop(number)
            self.link.end_flight(job.shared, rc)
            if rc != lib.SHERWOOD_OK and self.link.is_short:
                self.link.doubt()
            if lib.sw_operation_writes(job.operation):
                self.link.writes.note(pointer, self._is_aio)  # before the caller gets the result
            if rc == lib.SHERWOOD_E_TABLE:
                self.link.tables.are_stale = True
            if rc == lib.SHERWOOD_E_TIMEOUT and self.link.options.stripes == 1:
                silence = self.link.error(rc)
            if rc == lib.SHERWOOD_E_SHARD and self.link.options.follows and frame.follows < _FOLLOWS_MAX:
                frame.number, frame.error = number, self.link.error(rc)
                self._refused.append(frame)
                continue
            if rc == lib.SHERWOOD_OK and lib.sw_operation_writes(job.operation):
                self._done_last = max(self._done_last, number)
            elif rc == lib.SHERWOOD_OK and self._refused and self.link.options.stripes == 1 \
                    and number > min(other.number for other in self._refused):
                frame.number = number  # the frame read values that the refused write will change
                self._refused.append(frame)
                continue
            job.frames -= 1
            if rc != lib.SHERWOOD_OK and job.error is None:
                job.error = self.link.error(rc)
            self._end(job)
        if silence is not None and not self.flights:
            self.abandon(silence)  # the server may still carry out these calls: those that wait could overtake them
        elif not self.flights and (self._follow() or self.link.is_short):
            self.link.drop()
        return taken

    def _end(self, job: Work) -> None:
        """Finishes a job that has no frame in flight or left to send."""
        if job.is_over and (not self.waiting or self.waiting[0] is not job):
            job.finish()

    def _follow(self) -> bool:
        """Queues the frames that a replica has refused, to send them again by new connections. The replica did nothing
        of them. If the server has carried out a later frame, the order would change: then the refusals are the
        results. Returns true if there were refusals."""
        refused, self._refused = sorted(self._refused, key=lambda frame: frame.number), []
        for frame in refused:
            if refused[0].number < self._done_last:
                frame.job.error = frame.job.error or frame.error
                frame.job.frames -= 1
                self._end(frame.job)
            else:
                frame.follows += 1
                self._again.append(frame)
        return bool(refused)

    def abandon(self, error: BaseException) -> None:
        """Closes the handle. Jobs in flight and waiting jobs end with the error."""
        self.link.drop()
        self.fail(error)

    def fail(self, error: BaseException) -> None:
        """Ends all jobs with the error. The handle is closed, so it receives nothing more."""
        if self.flights and self.link.is_open:
            self.link.drop()
        jobs = {id(job): job for job, _ in self.flights.values()}
        jobs.update({id(job): job for job in self.waiting})
        jobs.update({id(frame.job): frame.job for frame in (*self._again, *self._refused)})
        self._again.clear()
        self._refused.clear()
        self.flights.clear()
        self.waiting.clear()
        for job in jobs.values():
            job.frames, job.error = 0, job.error or error
            job.finish()


def closed() -> Lost:
    """Returns the error of calls in flight while their client is closed."""
    return Lost("the client was closed while the call was in flight: whether it took effect is unknown")
