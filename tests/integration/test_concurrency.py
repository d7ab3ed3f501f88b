#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Concurrent connections: writes of the same keys, and event-loop iterations that serve several connections."""

import threading
import time

import wire
from harness import BUILD, DAEMON, Moves, Server, Skip, at_once, case, check, equal, main, send_beside, soon


@case
def every_frame_counts():
    """frames that increment the same keys at the same time all count"""
    frames, keys = 400, list(range(200))
    with Server("--loops", "1", "--frames-in-flight-max", "400") as server:
        with server.connect() as one, server.connect() as other:
            work = wire.frame(wire.INCREMENT, keys, [1] * len(keys)) * frames
            senders = [send_beside(connection, work) for connection in (one, other)]
            for connection in (one, other):
                for i in range(frames):
                    equal(wire.read_frame(connection).status, wire.OK, f"frame {i}")
            for sender in senders:
                sender.join()
            equal(wire.call(one, wire.GET, keys, want_values=True).values(), [2 * frames] * len(keys), "sums")


@case
def loops_increment_one_key():
    """16 connections on 4 loops increment own keys and a common one, exactly and in order"""
    lanes, each, burst = 16, 30, 40
    with Server("--loops", "4") as server:
        connections = [server.connect() for _ in range(lanes)]

        def run(lane):
            replies = wire.Replies(connections[lane])
            work = (wire.command("INCR", lane + 1) + wire.command("INCR", 1000)) * burst
            last = 0
            for i in range(each):
                connections[lane].sendall(work)
                for k in range(burst):
                    own, shared = replies.read(), replies.read()
                    check(own == i * burst + k + 1 and shared > last, f"connection {lane}: {own}, {shared} after {last}")
                    last = shared

        at_once(run, [(lane,) for lane in range(lanes)])
        equal(wire.Replies(connections[0]).ask("GET", 1000), str(lanes * each * burst).encode(),
              "the key of all")
        for connection in connections:
            connection.close()


@case
def sends_before_it_reads():
    """a client may send two frames larger than output-bytes-pause before it reads a reply"""
    keys = list(range(65536))
    frame = wire.frame(wire.GET, keys, want_values=True)
    with Server("--output-bytes-pause", "64K") as server:
        with Moves(server, frames_processed=40, output_limit_closes=0), \
                server.connect() as connection:
            equal(wire.call(connection, wire.SET, keys, keys).status, wire.OK, "SET")
            for _ in range(13):
                sender = send_beside(connection, frame * 3)
                time.sleep(0.02)
                for _ in range(3):
                    equal(wire.read_frame(connection).values(), keys, "values")
                sender.join()


@case
def others_get_their_turn():
    """a client of single commands is served while four others saturate the loop with large frames"""
    keys = list(range(65536))
    frame = wire.frame(wire.GET, keys, want_values=True)
    with Server("--loops", "1", "--arena-bytes", "64M") as server:
        stop = threading.Event()

        def load():
            with server.connect() as connection:
                connection.sendall(frame * 2)
                while not stop.is_set():
                    wire.read_frame(connection)
                    connection.sendall(frame)

        loaders = [threading.Thread(target=load, daemon=True) for _ in range(4)]
        for loader in loaders:
            loader.start()
        replies, asked = wire.Replies(server.connect()), 0
        end = time.monotonic() + 1
        while time.monotonic() < end or asked <= 20:
            equal(soon(lambda: (replies.ask("PING"), replies.ask("GET", 1)), 0.5, "PING and GET"), ("PONG", None), "answers")
            asked += 1
        stop.set()
        for loader in loaders:
            loader.join()


class Flood:
    """Connections that each keep FRAMES frames for a table in flight. `frames` are sent in turn."""
    FRAMES = 16

    def __init__(self, server, frames, connections):
        self.server, self.frames, self.ends, self.statuses = server, frames, threading.Event(), set()
        self.threads = [threading.Thread(target=self.run, args=(first,), daemon=True) for first in range(connections)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *why):
        self.ends.set()
        for thread in self.threads:
            thread.join()

    def run(self, at):
        with self.server.connect() as connection:
            in_flight = 0
            while in_flight or not self.ends.is_set():
                while in_flight < self.FRAMES and not self.ends.is_set():
                    connection.sendall(self.frames[at % len(self.frames)])
                    at, in_flight = at + 1, in_flight + 1
                self.statuses.add(wire.read_frame(connection).status)
                in_flight -= 1


def beside_a_flood(memory, flood, capacity, beside):
    """A client of the table `quiet` sends `beside`, a command and a frame, while 6 connections flood the default table. In front
    of each request and behind it, it asks for the server's figures. So they count what the server has done between the two.
    Returns the growths of the default table."""
    program, flags, connections = *memory, 6
    with Server("--loops", "1", "--capacity", capacity, "--max-capacity", "4M", *flags, program=program) as server, server.replies() as replies, \
            server.connect() as frames:
        equal([replies.ask("TABLE", "CREATE", "quiet", "NUMBER", 7, "CAPACITY", "4K"), replies.ask("SELECT", "quiet"), replies.ask("SET", 1, 5)],
              ["OK"] * 3, "the other table")
        command, frame = wire.command(*beside[0]), wire.frame(*beside[1], want_values=beside[1][0] == wire.GET, table=7)

        def by_resp():
            replies.socket.sendall(wire.command("INFO", "sherwood") + command + wire.command("INFO", "sherwood"))
            got = [replies.read() for _ in range(3)]
            check(got[1] in (b"5", "OK"), got[1])
            lines = [dict(line.split(":", 1) for line in got[i].decode().splitlines() if ":" in line) for i in (0, 2)]
            return [{name: int(line[name]) for name in ("batches", "growths")} for line in lines]

        def by_frames():
            frames.sendall(wire.frame(wire.STATS) + frame + wire.frame(wire.STATS))
            got = [wire.read_frame(frames) for _ in range(3)]
            equal(got[1].status, wire.OK, got[1].message)
            return [{name: got[i].figures()[name] for name in ("batches", "growths")} for i in (0, 2)]

        with Flood(server, flood, connections) as flooding:
            first = server.metrics()["sherwood_batches_total"]
            for ask in (by_resp, by_frames):
                between = []
                while len(between) < 20 or server.metrics()["sherwood_batches_total"] < first + 150 * (1 + (ask is by_frames)):
                    before, after = ask()
                    between.append({name: after[name] - before[name] for name in before})
                most = {name: max(counts[name] for counts in between) for name in between[0]}
                check(most["batches"] <= connections * Flood.FRAMES / 2 and most["growths"] <= 2,
                      f"{ask.__name__}: {most} between a request and its reply")
        check(flooding.statuses <= {wire.OK, wire.OUT_OF_MEMORY}, flooding.statuses)
        return server.metrics()["sherwood_table_growths_total"]


@case
def tables_share_a_loop():
    """a few batches of a flood of one table go before a request for another one: of writes, of reads, and of writes that make it grow"""
    memory, keys = (DAEMON, ("--arena-bytes", "128M")), 1 << 15
    beside_a_flood(memory, [wire.frame(wire.GET, range(keys))], "128K", WRITE)
    beside_floods_of_writes(memory, keys)


@case
def tables_share_a_gpu():
    """the same in GPU memory; reads of several frames are one launch there, so a flood of reads is no matter of batches"""
    emulated = BUILD / "emulator" / "sherwoodd"
    if not emulated.exists():
        raise Skip("make emulated-daemon has not been run")
    beside_floods_of_writes((emulated, ("--backend", "cuda", "--stash", "64", "--frame-ops-max", "512", "--round-ops-max", "512")), 512)


READ, WRITE = (("GET", 1), (wire.GET, [1])), (("SET", 1, 5), (wire.SET, [1], [5]))


def beside_floods_of_writes(memory, keys):
    beside_a_flood(memory, [wire.frame(wire.SET, range(keys), range(keys))], "128K", READ)
    new = [range(first, first + keys) for first in range(0, 64 * keys, keys)]
    growths = beside_a_flood(memory, [wire.frame(wire.SET, part, part) for part in new], "64", READ)
    check(growths > 3, f"{growths} growths")


def pour(connections, data, offsets):
    """Sends to each connection what it accepts, and reads what it has sent."""
    for i, connection in enumerate(connections):
        try:
            offsets[i] = (offsets[i] + connection.send(data[offsets[i]:])) % len(data)
        except BlockingIOError:
            pass
        try:
            connection.recv(1 << 18)
        except BlockingIOError:
            pass


@case
def reports_leave_others_their_turn():
    """another client is served while 60 connections request INFO, COMMAND and CONFIG GET in bursts"""
    with Server("--loops", "1") as server, server.replies() as replies:
        for line in (b"INFO all\r\n", b"COMMAND\r\n", b"CONFIG GET *\r\n", b"nothing\r\n"):
            connections = [server.connect() for _ in range(60)]
            for connection in connections:
                connection.setblocking(False)
            data, offsets = line * (48000 // len(line)), [0] * 60

            def served():
                pour(connections, data, offsets)
                return replies.ask("GET", 1)
            end = time.monotonic() + 0.5
            while time.monotonic() < end:
                equal(soon(served, 0.5, f"{line}: a GET beside"), None, "GET")
            for connection in connections:
                connection.close()
        check(server.metrics()["sherwood_turn_pauses_total"] > 0, "turn_pauses")


main()
