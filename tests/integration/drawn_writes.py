# SPDX-License-Identifier: MIT
"""Clients that send random writes of every kind, and compute which contents the daemon may have afterwards. The effects are
those of the model in matrix.py."""

import random
import threading

import wire
from harness import check
from interfaces import frame_of
from matrix import Ask, Table, draw, has
from matrix_commands import IN_MULTI, ROWS, text_of, words_of

KEYS = 24  # of each client
READS = ("READ", "GETRANGE", "TTL", "USE")


class Write:
    """One request of a client: operations on the client's own keys that take effect together."""

    def __init__(self, parts, data, replies=1):
        self.parts, self.bytes, self.replies = parts, data, replies
        self.may_fail = any(row.guard == "FITS" or row.element == "STRING" for row, _, _, _ in parts)

    def apply(self, table):
        for part in self.parts:
            table.apply(*part)


def drawn_write(rng, table, base, frames):
    """Returns a random write of a client whose keys begin at `base`: a frame of any operation, on keys that may repeat, or a
    command, or several in a transaction. All times are absolute."""
    shape, pool = table.shape, range(base, base + KEYS)
    possible = [row for row in ROWS if row.verb not in READS and has(row, shape)]
    if frames:
        ask = draw(rng, rng.choice(possible), table, pool, rng.choice([1, 3, 40]), True)
        return Write([(ask.row, key, ask.operands and ask.operands[i], ask.at(i)) for i, key in enumerate(ask.keys)],
                     frame_of(ask, shape))
    if rng.random() < 0.2:
        ask = draw(rng, next(row for row in ROWS if row.name == "SET"), table, pool, rng.randrange(1, 12), True)
        pairs = list(zip(ask.keys, ask.operands))
        words = [word for key, value in pairs for word in (key, text_of(shape, value))]
        return Write([(ask.row, key, value, None) for key, value in pairs], wire.command("MSET", *words))
    parts, sent, count = [], [], rng.choice([1, 1, 1, 4])
    while len(parts) < count:
        ask = draw(rng, rng.choice(possible), table, pool, 1, True)
        row, key, operand = ask.row, ask.keys[0], ask.operands and ask.operands[0]
        if row.guard == "FITS" and shape.numbers == "integer":
            operand &= 2**31 - 1  # the command takes signed numbers
        at = ask.at(0) if row.verb in ("EXPIRE", "SET") and row.guard != "ABSENT" else None
        words = words_of(row, shape, key, operand, at)
        if words is not None and IN_MULTI[str(words[0]).lower()] == "QUEUED":
            parts.append((row, key, operand, at))
            sent.append(wire.command(*words))
    if count > 1:
        sent = [wire.command("MULTI"), *sent, wire.command("EXEC")]
    return Write(parts, b"".join(sent), len(sent))


class Client(threading.Thread):
    """Sends random writes, some before the replies to earlier ones, until it must rest or the server ends. The replies
    and the writes sent determine what the server may hold."""

    def __init__(self, server, number, seed, known):
        super().__init__(daemon=True)
        self.base, self.known, self.drawn = number * 1000, known, known.copy()
        self.rng = random.Random(seed)
        self.frames, self.depth = self.rng.random() < 0.5, self.rng.choice([1, 3, 6])
        self.sent, self.answered, self.refused = [], 0, set()
        self.error, self.rests = None, threading.Event()
        self.socket = server.connect()
        self.replies = wire.Replies(self.socket)

    def receive(self):
        """Reads the next reply, or the replies of a transaction."""
        write = self.sent[self.answered]
        if self.frames:
            reply = wire.read_frame(self.socket)
            if reply.status == wire.OUTCOME_UNKNOWN: # the log was broken for 10 s; by RESP the connection ends
                raise wire.Closed
            check(reply.status in (wire.OK, wire.NOT_DURABLE), f"status {reply.status}: {reply.message}")
            is_refused = reply.status == wire.NOT_DURABLE
        else:
            replies = [self.replies.read() for _ in range(write.replies)]
            last = replies[-1]
            is_refused = isinstance(last, wire.Error) and ("MISCONF" in last or last.startswith("EXECABORT"))
            check(is_refused or write.may_fail or not isinstance(last, wire.Error), f"{write.bytes}: {replies}")
        if is_refused:
            self.refused.add(self.answered)
        self.answered += 1

    def run(self):
        depth = 1 if self.frames else self.depth
        try:
            while not self.rests.is_set() or self.answered < len(self.sent):
                while len(self.sent) - self.answered < depth and not self.rests.is_set():
                    write = drawn_write(self.rng, self.drawn, self.base, self.frames)
                    write.apply(self.drawn)
                    self.sent.append(write)
                    self.socket.sendall(write.bytes)
                self.receive()
        except (wire.Closed, OSError):
            pass
        except BaseException as error:  # pylint: disable=broad-except
            self.error = error
        self.socket.close()

    def check(self, state, what, may_refuse):
        """The state is that after some write between the last answered one and the last sent one. With `may_refuse` the
        log was broken for a while: the server may have refused some unanswered writes before others."""
        check(self.error is None, f"{what}: {self.error}")
        expected = self.known.copy()
        for number in range(self.answered):
            if number not in self.refused:
                self.sent[number].apply(expected)
        possible = [expected]
        for write in self.sent[self.answered:]:
            if state in possible:
                return
            after = [each.copy() for each in possible]
            for each in after:
                write.apply(each)
            possible = after + (possible if may_refuse else [])
        check(state in possible, f"{what}: client {self.base}, {self.answered} of {len(self.sent)} answered: "
                                 f"{state.values} {state.times}, not {expected.values} {expected.times}")


def held(server, number, shape):
    """Returns what the daemon has of the keys of a client."""
    table, keys = Table(shape), list(range(number * 1000, number * 1000 + KEYS))
    rows = {row.name: row for row in ROWS}
    with server.connect() as connection:
        reply = wire.exchange(connection, frame_of(Ask(rows["GET"], keys, None), shape)).arrays()
        table.values = {key: shape.value_of(data) for key, data, bit in zip(keys, reply["values"], reply["found"]) if bit}
        if has(rows["TTL"], shape):
            times = wire.exchange(connection, frame_of(Ask(rows["TTL"], keys, None), shape)).arrays()["values"]
            table.times = {key: at for key, data in zip(keys, times) if (at := int.from_bytes(data, "little"))}
    return table
