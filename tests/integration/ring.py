# SPDX-License-Identifier: MIT
"""ring - a client of regions and rings byte by byte, written from proto/region.h and not from the library. It can send
invalid data."""

import array
import contextlib
import fcntl
import mmap
import os
import select
import socket
import struct
import tempfile
import threading
import time

import wire
from harness import SLOWER, Server, eventually

ATTACH, REGION, RELEASE, BELL = 42, 43, 44, 45
RING, MEMFD, CUDA_IPC, TABLE = 1, 2, 3, 4
F_ADD_SEALS = 1033
SEAL_SEAL, SEAL_SHRINK, SEAL_GROW, SEAL_WRITE = 1, 2, 4, 8
NONE = (1 << 64) - 1
# where the words of a ring lie
SUBMITTED, TAKEN, COMPLETED, SEEN, SERVER_SLEEPS, CLIENT_SLEEPS = range(0, 384, 64)
RECORDS, SUBMISSION, COMPLETION = 4096, 128, 384
OPERATION = 8  # of a record, a byte
FOUND_BYTES, DETAILS, HAS_TIMES = 1, 2, 256
# the arrays of a submission
(KEYS, OPERANDS, SCORES, VALUES, FOUND, NOT_ADMITTED, SCORES_OUT, EVICTED_KEYS, EVICTED_VALUES,
 EVICTED_SCORES) = range(10)


def ring_bytes(entries):
    return -(-(RECORDS + (SUBMISSION + COMPLETION) * entries) // 4096) * 4096


def memfd(size, seals=SEAL_SHRINK | SEAL_GROW, filled=True, sealable=True):
    fd = os.memfd_create("ring", os.MFD_CLOEXEC | (os.MFD_ALLOW_SEALING if sealable else 0))
    os.ftruncate(fd, size)
    if filled:
        os.posix_fallocate(fd, 0, size)
    if sealable:
        fcntl.fcntl(fd, F_ADD_SEALS, seals)
    return fd


def region_frame(operation, request_id=1, **said):
    """Returns a REGION or RELEASE frame; `said` are fields of the message Region."""
    names = ("kind", "index", "bytes", "offset", "entries", "device_uuid", "handle")
    message = b"".join(wire.field(i, said[n]) for i, n in enumerate(names, 1) if said.get(n))
    return wire.envelope(wire.header_of(operation, request_id=request_id) + wire.field(23, message))


def place(region, offset):
    return region << 48 | offset


class Completion:
    """A completion, with its fields by name."""

    def __init__(self, data):
        (self.id, self.status, self.count, self.hits, self.overflows, self.cursor, self.capacity,
         self.evicted_count, self.not_admitted, self.matched, self.epoch, self.write_sequence,
         self.durable_through) = struct.unpack_from("<QII10Q", data)
        self.message = data[128:].rstrip(b"\0").decode() if self.status else ""


class Ring:
    """A connection with a ring and regions."""

    def __init__(self, server, entries=64, region_bytes=1 << 20, attach=True):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(20 * SLOWER)
        self.socket.connect(server.unix_path)
        self.entries, self.submitted, self.seen = entries, 0, 0
        self.maps, self.memory, self.words = {}, None, None
        self.fence = threading.Lock()
        if attach:
            self.attached = self.ask(wire.frame(ATTACH))
            assert self.attached.status == wire.OK, self.attached.message
            reply = self.open_ring(entries)
            assert reply.status == wire.OK, reply.message
            if region_bytes:
                reply = self.register(0, region_bytes)
                assert reply.status == wire.OK, reply.message

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    # --- by the socket ---------------------------------------------------------------------------
    def send(self, data, fds=()):
        if fds:
            self.socket.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                                          array.array("i", fds))])
        else:
            self.socket.sendall(data)

    def read(self):
        """Returns the next reply that is no doorbell."""
        while True:
            reply = wire.read_frame(self.socket)
            if reply.request_id or reply.status:
                return reply

    def ask(self, data, fds=()):
        self.send(data, fds)
        return self.read()

    def open_ring(self, entries, size=None, fd=None):
        size = ring_bytes(entries) if size is None else size
        own = memfd(size) if fd is None else fd
        try:
            reply = self.ask(region_frame(REGION, kind=RING, entries=entries, bytes=size), [own])
            if reply.status == wire.OK:
                self.memory = mmap.mmap(own, size)
                self.words = memoryview(self.memory).cast("I")
        finally:
            os.close(own)
        return reply

    def register(self, index, size, fd=None, **said):
        own = memfd(size) if fd is None else fd
        try:
            reply = self.ask(region_frame(REGION, **{"kind": MEMFD, "index": index, "bytes": size,
                                                     **said}), [own])
            if reply.status == wire.OK:
                self.maps[index] = mmap.mmap(own, size)
        finally:
            os.close(own)
        return reply

    def release(self, index):
        return self.ask(region_frame(RELEASE, index=index))

    # --- by the ring -----------------------------------------------------------------------------
    def word(self, at):
        return self.words[at // 4]

    def set_word(self, at, value):
        """Stores a word by a single store. struct.pack_into stores 0 first, which the server could read."""
        self.words[at // 4] = value & 0xFFFFFFFF

    def record(self, operation, count=0, places=None, request_id=1, arguments=(0, 0, 0), by_score=0,
               flags=0, table=0, table_id=0):
        where = [NONE] * 10
        for i, at in (places or {}).items():
            where[i] = at
        return struct.pack("<QBBHI3QII10Q", request_id, operation, by_score, flags, count,
                           *arguments, table, table_id, *where)

    def write(self, record):
        """Writes a record and publishes it."""
        at = RECORDS + SUBMISSION * (self.submitted % self.entries)
        self.memory[at:at + len(record)] = record
        self.submitted += 1
        self.set_word(SUBMITTED, self.submitted)
        with self.fence:  # its atomic instruction keeps the processor from loading before that store
            pass
        if self.word(SERVER_SLEEPS):
            self.set_word(SERVER_SLEEPS, 0)
            self.send(wire.frame(BELL))

    def bell(self):
        self.send(wire.frame(BELL))

    def has_ended(self):
        """Returns whether the server has closed the connection, or its side of it."""
        poll = select.poll()
        poll.register(self.socket, select.POLLRDHUP)
        return bool(poll.poll(0))

    def explain(self, why):
        """Returns an error that describes the state of the ring and its socket."""
        words = ("submitted", "taken", "completed", "seen", "server_sleeps", "client_sleeps")
        text = why + "; " + ", ".join(f"{name} {self.word(64 * i)}" for i, name in enumerate(words))
        self.socket.settimeout(0.1)
        try:
            while True:
                reply = self.read()
                text += f"; reply {reply.request_id}, status {reply.status}: {reply.message}"
        except (OSError, wire.Closed) as error:
            text += f"; socket: {error!r}"
        return AssertionError(text)

    def done(self, seconds=20.0):
        """Returns the next completion. Fails at once if the server ends the connection without one."""
        end = time.monotonic() + seconds * SLOWER
        while self.word(COMPLETED) == self.seen & 0xFFFFFFFF:
            if self.has_ended() and self.word(COMPLETED) == self.seen & 0xFFFFFFFF:
                raise self.explain("the server ended the connection")
            if time.monotonic() > end:
                raise self.explain(f"no completion in {seconds * SLOWER:g} s")
            time.sleep(0.0002)
        at = RECORDS + SUBMISSION * self.entries + COMPLETION * (self.seen % self.entries)
        completion = Completion(bytes(self.memory[at:at + COMPLETION]))
        self.seen += 1
        self.set_word(SEEN, self.seen)
        return completion

    def run(self, *arguments, **named):
        self.write(self.record(*arguments, **named))
        return self.done()

    def put(self, offset, data, region=0):
        self.maps[region][offset:offset + len(data)] = data

    def get(self, offset, size, region=0):
        return bytes(self.maps[region][offset:offset + size])


# --- a daemon to run them against ----------------------------------------------------------------
@contextlib.contextmanager
def serving(*flags, **named):
    """Starts a daemon with a Unix socket."""
    with tempfile.TemporaryDirectory(prefix="sherwood-ring-") as directory:
        with Server("--unix-socket", f"{directory}/s", *flags, **named) as server:
            yield server


def by_socket(server):
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(20 * SLOWER)
    connection.connect(server.unix_path)
    return connection


def gauges(server):
    metrics = server.metrics()
    return [metrics[f"sherwood_{name}"] for name in ("rings", "regions", "region_bytes")]


def all_gone(server):
    eventually(lambda: gauges(server) == [0, 0, 0], "everything that was shared is given back")


def numbers(values, width):
    return struct.pack(f"<{len(values)}{'Q' if width == 8 else 'I'}", *values)


def scan_frames(connection, cursor, width):
    connection.sendall(wire.frame(wire.SCAN, count=100, key_bytes=width, value_bytes=width,
                                  cursor=cursor))
    reply = wire.read_frame(connection)
    letter = "Q" if width == 8 else "I"
    keys = struct.unpack_from(f"<{reply.count}{letter}", reply.body)
    values = struct.unpack_from(f"<{reply.count}{letter}", reply.body,
                                -(-reply.count * width // 64) * 64)
    return reply.cursor, list(zip(keys, values))


def everything(server):
    found, cursor = [], 0
    with by_socket(server) as connection:
        while True:
            cursor, entries = scan_frames(connection, cursor, 8)
            found += entries
            if cursor == 0:
                return sorted(found)
