#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Every kind of call on files fails, or is held, below a running daemon and below one that starts: what is said meanwhile,
that reads go on, that service returns, and that what was answered is there after kill -9.

Each case draws some of what there is: SHERWOOD_CALLS=100 takes all of it, SHERWOOD_SEED=N repeats a run that failed.
"""

import contextlib
import errno
import os
import random
import select
import shutil
import signal
import threading

import wire
from data_directory import SMALL, Directory, durable
from drawn_writes import Client, held
from faults import ERRORS, FOREVER, RUNNING, Faults
from harness import BUILD, Server, at_once, case, check, drawn_seed, equal, eventually, main, run
from matrix import SHAPES, Table

LEVELS = ("always", "everysec", "no")
SAID = "of the log has failed|no snapshot was written|cannot make the next segment|cannot be made|may lack"
FILLED = range(900000, 900100)  # keys
PROBE, PROBE_FRAME = 800000, 800001
AT_ONCE = 4
CALLS = int(os.environ.get("SHERWOOD_CALLS", 5))


def some(rng, plans):
    """Returns as many of them as a case takes."""
    return rng.sample(plans, min(CALLS, len(plans)))


def kill(server):
    server.end_by_kill()


class Filler(threading.Thread):
    """Sets all its keys to 1, 2, 3, .., so that the log fills its segments."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.sent, self.stored, self.open = 0, 0, set()  # the last one that was stored, and those since that nobody answered
        self.error, self.rests = None, threading.Event()
        self.socket = server.connect()
        self.replies = wire.Replies(self.socket)

    def run(self):
        try:
            while not self.rests.is_set():
                first, count = self.sent + 1, 8
                for _ in range(count):
                    self.sent += 1
                    self.open.add(self.sent)
                    self.socket.sendall(wire.command("MSET", *(word for key in FILLED for word in (key, self.sent))))
                for number in range(first, first + count):
                    reply = self.replies.read()
                    self.open.discard(number)
                    if reply == "OK":
                        self.stored = number
                    else:
                        check(reply.startswith("MISCONF"), reply)
        except (wire.Closed, OSError):
            pass
        except BaseException as error:  # pylint: disable=broad-except
            self.error = error

    def check(self, server):
        check(self.error is None, self.error)
        values = {int(value or 0) for value in server.ask("MGET", *FILLED)}
        check(len(values) == 1 and values <= {self.stored} | self.open, f"{values}, not {self.stored} or of {self.open}")


class Reader(threading.Thread):
    """Reads one key by both protocols repeatedly; `answered` counts the replies."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.answered, self.error, self.rests = 0, None, threading.Event()
        self.text, self.frames = server.connect(), server.connect()

    def run(self):
        try:
            replies = wire.Replies(self.text)
            while not self.rests.is_set():
                equal(replies.ask("GET", PROBE), b"7", "a read")
                self.frames.sendall(wire.frame(wire.GET, [PROBE_FRAME], want_values=True))
                reply = wire.read_frame(self.frames)
                equal((reply.status, reply.values()), (wire.OK, [7]), "a read by a frame")
                self.answered += 1
        except BaseException as error:  # pylint: disable=broad-except
            self.error = error


class Probe:
    """Two connections that write now and then, one for each protocol."""

    def __init__(self, server):
        self.text, self.frames = server.connect(), server.connect()
        self.replies = wire.Replies(self.text)

    def write(self):
        """Returns the replies to a SET and to a frame."""
        self.frames.sendall(wire.frame(wire.SET, [PROBE_FRAME], [7]))
        return self.replies.ask("SET", PROBE, 7), wire.read_frame(self.frames).status

    def is_served(self):
        return self.write() == ("OK", wire.OK)

    def refused(self):
        """Returns the error replies to both. Neither write may take effect."""
        said = self.replies.ask("SET", PROBE, 8)
        self.frames.sendall(wire.frame(wire.SET, [PROBE_FRAME], [8]))
        equal(wire.read_frame(self.frames).status, wire.NOT_DURABLE, f"a frame, where a SET is told {said}")
        return said

    def close(self):
        self.text.close()
        self.frames.close()


class Load:
    """Clients that write and one that reads, for the length of a block."""

    def __init__(self, server, rng):
        self.clients = [Client(server, number, rng.randrange(2**32), Table(SHAPES[0])) for number in range(2)]
        self.filler, self.reader = Filler(server), Reader(server)
        self.threads = [*self.clients, self.filler, self.reader]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, kind, value, trace):
        for thread in self.threads:
            thread.rests.set()
        for thread in self.threads:
            thread.join(30)

    def read_on(self):
        """Further reads are answered."""
        before = self.reader.answered
        eventually(lambda: self.reader.answered >= before + 20 or self.reader.error, "reads go on")
        check(self.reader.error is None, self.reader.error)

    def check(self, server):
        """After kill -9: what was answered is there, and nothing that was refused."""
        for number, client in enumerate(self.clients):
            client.check(held(server, number, SHAPES[0]), "after the kill", may_refuse=True)
        self.filler.check(server)
        equal(server.ask("MGET", PROBE, PROBE_FRAME), [b"7", b"7"], "what was refused was not done")


def persistence(server, name):
    return server.metrics()[f"sherwood_persistence_{name}"]


def refuses_for_good(server):
    """Does the log refuse writes? A snapshot that began before the fault may still mend it: then it does not yet."""
    now = server.metrics()
    log_broken, log_full, saving = (now[f"sherwood_persistence_{name}"] for name in ("log_broken", "log_full", "saving"))
    return log_broken + log_full == 1 and saving == 0


def is_degraded(server, words):
    status, _, text = server.http("/healthz")
    return status == 200 and text.startswith("degraded: ") and words in text


def poke(server):
    """A snapshot makes files, names and removes them."""
    server.ask("BGREWRITEAOF")
    return False


# --- calls that fail ---------------------------------------------------------------------------------
def fails_for_good(level, kind, error, after, rng):
    """A kind of calls fails under load until it is told not to. Without unlink nothing is refused; a segment that cannot be
    allocated is written."""
    faults, refuses = Faults(), kind != "unlink" and error != errno.EOPNOTSUPP
    fault = getattr(faults, kind)
    with Directory() as path:
        with durable(path, level, errors=SAID, environment=faults.environment()) as server:
            probe = Probe(server)
            check(probe.is_served(), "at first")
            with Load(server, rng) as load:
                load.read_on()
                fault.fail(error=error, after=after)
                eventually(lambda: fault.failed > 0 or poke(server), "a call that fails")
                if refuses:
                    eventually(lambda: refuses_for_good(server), "the gauges")
                    said = probe.refused()
                    check(said.startswith("MISCONF Errors writing to the append only file"), said)
                    check(is_degraded(server, "The log cannot be written, and writes are refused"), "/healthz")
                    check(server.http("/readyz")[0] == 200, "/readyz")
                    check("aof_last_write_status:err" in server.redis_cli("INFO", "persistence"), "INFO")
                else:
                    eventually(probe.is_served, "writes go on")
                load.read_on()
                if refuses and rng.random() < .3:
                    kill(server)
                else:
                    faults.end()
                    eventually(lambda: probe.is_served() or (rng.random() < .1 and poke(server)), "service returns")
                    equal(server.http("/healthz")[2], "ok\n", "as before")
                    equal((persistence(server, "log_broken"), persistence(server, "log_full")), (0, 0), "the gauges")
                    load.read_on()
                    kill(server)
                equal(faults.repeated, 0, "a file was used again of which a sync had failed")
            probe.close()
        with durable(path, "no") as server:
            load.check(server)


@case
def calls_that_fail():
    """a random file call fails with a random error under load, for each kind of call on each level.
    Both protocols refuse writes, reads go on, and pages and metrics show the error. No failed sync is repeated.
    Service returns, and after kill -9 every acknowledged write exists."""
    rng = random.Random(drawn_seed())
    # On the other levels most syncs are those of snapshots, one after another: 40 of them take a slow disk a minute.
    plans = [(level, kind, rng.choice(ERRORS[kind]), rng.randrange(40 if (level, kind) == ("always", "sync") or kind == "write" else 3),
              random.Random(rng.randrange(2**32)))
             for level in LEVELS for kind in RUNNING if (level, kind) != ("always", "allocate")]
    at_once(fails_for_good, some(rng, plans), AT_ONCE)


@case
def save_points_that_fail():
    """without a log, a failed snapshot of --save stops writes but not reads; a later snapshot brings service back.
    After kill -9 the server has what the last successful snapshot had."""
    rng = random.Random(drawn_seed())

    def one(kind, error):
        faults = Faults()
        with Directory() as path:
            with Server("--data-dir", str(path), *SMALL, "--save", "3600 1", errors=SAID,
                        environment=faults.environment()) as server:
                probe = Probe(server)
                check(probe.is_served(), "at first")
                reader = Reader(server)
                reader.start()
                replies, count = probe.replies, 0
                for _ in range(3):
                    count = replies.ask("INCR", 1)
                equal(replies.ask("SAVE"), "OK", "the first")
                replies.ask("INCR", 1)
                getattr(faults, kind).fail(error=error)
                replies.ask("BGSAVE")
                eventually(lambda: persistence(server, "writes_refused") == 1, "the gauge")
                said = probe.refused()
                check(said.startswith("MISCONF"), said)
                check(is_degraded(server, "The last snapshot could not be written"), "/healthz")
                before = reader.answered
                eventually(lambda: reader.answered >= before + 20 or reader.error, "reads go on")
                faults.end()
                if rng.random() < .5:
                    equal(replies.ask("SAVE"), "OK", "the next")
                    equal((probe.is_served(), server.http("/healthz")[2]), (True, "ok\n"), "service returns")
                    count = replies.ask("INCR", 1)
                    equal(replies.ask("SAVE"), "OK", "another")
                equal(faults.repeated, 0, "a file was used again of which a sync had failed")
                reader.rests.set()
                reader.join()
                check(reader.error is None, reader.error)
                kill(server)
                probe.close()
            with Server("--data-dir", str(path), *SMALL) as server:
                value = int(server.redis_cli("GET", "1"))
                check(count <= value <= count + 1, f"{value} where {count} was saved, {kind}")

    at_once(one, [(kind, rng.choice(ERRORS[kind])) for kind in ("write", "sync", "folder", "open", "rename")], AT_ONCE)


# --- calls that are held -----------------------------------------------------------------------------
def answers(server, connections):
    """Checks that every request that writes nothing is answered."""
    replies = [wire.Replies(connection) for connection in connections[::2]]
    for number in range(200):
        equal(replies[number % len(replies)].ask("GET", PROBE), b"7", "a read")
    for each, frames in zip(replies, connections[1::2]):
        equal(each.ask("PING"), "PONG", "PING")
        check(b"aof_enabled" in each.ask("INFO", "persistence"), "INFO")
        equal(wire.call(frames, wire.GET, [PROBE_FRAME], want_values=True).values(), [7], "a frame")
    equal((server.http("/healthz")[0], server.http("/metrics")[0]), (200, 200), "pages")
    equal(server.ask("GET", PROBE), b"7", "of a new connection")


def is_held(level, kind):
    """Calls of a kind do not return, under load, until they are told to."""
    faults = Faults()
    fault = getattr(faults, kind)
    with Directory() as path:
        with durable(path, level, environment=faults.environment()) as server:
            probe = Probe(server)
            check(probe.is_served(), "at first")
            connections = [server.connect() for _ in range(4)]
            filler = Filler(server)
            fault.held = 1
            filler.start()
            eventually(lambda: fault.waiting > 0 or poke(server), "a call that is held")
            asker = server.connect()
            asker.sendall(wire.command("SET", PROBE + 2, 1))
            answers(server, connections)
            if kind == "write" or (kind, level) == ("sync", "always"):
                equal(select.select([asker], [], [], 0.2)[0], [], "a write that is not on storage is not answered")
            check(fault.waiting > 0, "it was held all the while")
            faults.end()
            equal(wire.Replies(asker).read(), "OK", "the write")
            filler.rests.set()
            filler.join()
            kill(server)
            probe.close()
            for each in (asker, *connections):
                each.close()
        with durable(path, "no") as server:
            equal(server.redis_cli("GET", str(PROBE + 2)).strip(), "1", "the write")
            filler.check(server)


def is_held_beside_a_snapshot(kind):
    """Calls of a snapshot alone do not return: writes do not wait either."""
    faults = Faults()
    fault = getattr(faults, kind)
    with Directory() as path:
        with Server("--data-dir", str(path), *SMALL, environment=faults.environment()) as server:
            probe = Probe(server)
            connections = [server.connect() for _ in range(4)]
            check(probe.is_served(), "at first")
            fault.held = 1
            probe.replies.ask("BGSAVE")
            eventually(lambda: fault.waiting > 0, "a call that is held")
            for _ in range(50):
                check(probe.is_served(), "a write")
            answers(server, connections)
            check(fault.waiting > 0, "it was held all the while")
            faults.end()
            eventually(lambda: persistence(server, "saves_total") == 1, "the snapshot")
            probe.close()
            for each in connections:
                each.close()


@case
def calls_that_are_held():
    """while a file call of the log or of a snapshot does not return, no loop waits.
    Reads, pages and new connections are answered, and writes as soon as the call returns."""
    rng = random.Random(drawn_seed())
    at_once(is_held, some(rng, [(level, kind) for level in LEVELS for kind in RUNNING
                                if kind not in ("unlink", "allocate") or level == "everysec"]), AT_ONCE)
    at_once(is_held_beside_a_snapshot, [(kind,) for kind in ("write", "sync", "folder", "open", "rename")], AT_ONCE)


def stops_while_held(level, kind, returns):
    """SIGTERM while a call on the log does not return: the daemon ends when the call returns, or at a second signal."""
    faults = Faults()
    fault = getattr(faults, kind)
    with Directory() as path:
        with durable(path, level, environment=faults.environment(), stop_rc=0 if returns else 1) as server:
            with server.connect() as connection:
                replies = wire.Replies(connection)
                equal(replies.ask("SET", 1, 1), "OK", "set")
                fault.held = 1
                connection.sendall(wire.command("SET", 1, 2))
                eventually(lambda: fault.waiting > 0, "a call that is held")
                server.process.send_signal(signal.SIGTERM)
                eventually(lambda: "SIGTERM: " in server.log(), "it has heard")
                equal(server.http("/healthz")[0], 200, "it goes on")
                check(fault.waiting > 0 and server.alive(), "it was held all the while")
                if returns:
                    faults.end()
                    with contextlib.suppress(wire.Closed): # replies are sent within 2 s, and the machine may be busy
                        equal(replies.read(), "OK", "what was accepted")
                    server.wait_stopped()
                else:
                    server.process.send_signal(signal.SIGTERM)
                    server.wait_stopped()
        with durable(path, "no") as server:
            value = server.redis_cli("GET", "1").strip()
            check(value == "2" if returns else value in ("1", "2"), f"{value}, {level}, {kind}")


@case
def a_stop_while_a_call_is_held():
    """a stop waits for the disk and keeps accepted writes; a second signal ends it at once"""
    at_once(stops_while_held, [(level, kind, returns) for level, kind in (("always", "sync"), ("always", "write"), ("no", "write"))
                               for returns in (True, False)], AT_ONCE)


# --- a start whose calls fail ------------------------------------------------------------------------
class Starting(Server):
    """A daemon that may exit before it serves."""

    def http(self, path, *how, **more):
        check(self.alive(), f"exit {self.process.returncode}: {self.log()}")
        return super().http(path, *how, **more)


def lived(path, rng):
    """A snapshot and a log behind it, left by kill -9; what was answered."""
    with durable(path, "always") as server:
        with server.replies() as replies:
            for n in range(1, 61):
                equal(replies.ask("MSET", *(word for key in range(100) for word in (key, n))), "OK", "set")
                if n == 20:
                    equal(replies.ask("SAVE"), "OK", "save")
            segments = rng.choice([1, 3])
            while len(list(path.glob("log-*"))) < segments + 1:
                equal(replies.ask("MSET", *(word for key in range(200) for word in (key, n))), "OK", "set")
        kill(server)
    return n


def start_once(original, flags, faults, number, error):
    """A start of a copy. It serves all, and takes writes soon; or it ends and says why, and the next one serves all."""
    with Directory() as path:
        copy = path / "copy"
        shutil.copytree(original, copy)
        server = Starting("--data-dir", str(copy), *flags, *SMALL, errors=".", environment=faults.environment())
        try:
            with server:
                with server.replies() as replies:
                    equal(set(replies.ask("MGET", *range(100))), {b"%d" % number}, "all is there")
                    eventually(lambda: replies.ask("SET", 1000, 1) == "OK", "writes are taken")
                kill(server)
            ended = False
        except AssertionError as reason:
            check(server.process.returncode == 1, f"it has neither started nor ended: {reason}")
            check(os.strerror(error) in str(reason), f"it does not say {os.strerror(error)}: {reason}")
            ended = True
        equal(faults.repeated, 0, "a file was used again of which a sync had failed")
        with durable(copy, "no") as server:
            equal(set(server.redis_cli("MGET", *map(str, range(100))).split()), {str(number)}, "all is there, afterwards")
        run(BUILD / "sherwood-cli", "log", "check", str(copy))
        return ended


@case
def a_start_whose_calls_fail():
    """one file call of a start fails: the server has every acknowledged write and takes new ones, or ends with a reason.
    After such an end the next start has every write."""
    rng = random.Random(drawn_seed())
    with Directory() as path:
        number = lived(path, rng)
        flags = ("--appendonly", "yes", "--appendfsync", rng.choice(LEVELS))
        whole, counted = Faults(), []
        check(not start_once(path, flags, whole, number, 0), "a start without faults")
        for kind in ERRORS:
            counted += [(kind, call) for call in range(min(getattr(whole, kind).calls, 40))]
        check(any(kind == "read" for kind, _ in counted), "the start has read files")
        ends = []

        def one(kind, call, error, count):
            faults = Faults()
            getattr(faults, kind).fail(count, error, call)
            ends.append(start_once(path, flags, faults, number, error))

        # A start that cannot read one snapshot goes on with the log. Without any read it ends.
        calls = [(kind, call, rng.choice(ERRORS[kind]), 1) for kind, call in some(rng, counted)]
        at_once(one, [*calls, ("read", 0, errno.EIO, FOREVER)], AT_ONCE)
        check(any(ends), "no start has ended, though one could not read")


if __name__ == "__main__":
    main()
