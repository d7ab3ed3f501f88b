# SPDX-License-Identifier: MIT
"""Clients that send random writes, and compute which states the daemon may hold afterwards."""

import random
import threading

import wire
from harness import check

KEYS = 24  # of each client
LARGEST = 2**64 - 1


# --- the model: what a write does, written from the description of the operations ------------------
class Write:
    """One request of a client: operations on the client's own keys that take effect together."""

    def __init__(self, operations, bytes_):
        self.operations, self.bytes = operations, bytes_

    def apply(self, state):
        for what, key, operand in self.operations:
            there = state.get(key)
            if what == "delete":
                state.pop(key, None)
            elif what == "set" or what == "present" and there is not None or what == "absent" and there is None:
                state[key] = operand
            elif what == "sum":
                state[key] = ((there or 0) + operand) % 2**64
            elif what == "min":
                state[key] = operand if there is None else min(there, operand)
            elif what == "max":
                state[key] = max(there or 0, operand)
            elif what == "increment":
                value = (there or 0) + operand
                if value <= LARGEST:
                    state[key] = value


FRAMES = {"set": wire.SET, "sum": wire.SUM, "min": wire.MIN, "max": wire.MAX, "absent": wire.SET_ABSENT,
          "present": wire.SET_PRESENT, "increment": wire.INCREMENT, "delete": wire.DELETE}


def drawn_write(rng, base, frames):
    """Returns a random write of a client whose keys begin at `base`. By RESP: SET, SET NX, SET XX, INCRBY, DEL, MSET,
    or several in a transaction. By frames: any operation, on keys that may repeat."""
    def key():
        return base + rng.randrange(KEYS)

    def operand():
        return rng.choice([rng.randrange(100), rng.randrange(2**62), LARGEST])

    if frames:
        what = rng.choice(sorted(FRAMES))
        done = [(what, key(), operand()) for _ in range(rng.choice([1, 3, 40]))]
        values = None if what == "delete" else [value for _, _, value in done]
        return Write(done, wire.frame(FRAMES[what], [k for _, k, _ in done], values))
    words = {"set": lambda k, v: ("SET", k, v), "absent": lambda k, v: ("SET", k, v, "NX"),
             "present": lambda k, v: ("SET", k, v, "XX"), "increment": lambda k, v: ("INCRBY", k, v),
             "delete": lambda k, v: ("DEL", k)}
    if rng.random() < 0.2:
        done = [("set", key(), operand()) for _ in range(rng.randrange(1, 12))]
        return Write(done, wire.command("MSET", *(x for _, k, v in done for x in (k, v))))
    done = []
    for _ in range(rng.choice([1, 1, 1, 4])):
        what = rng.choice(sorted(words))
        done.append((what, key(), rng.randrange(2**62) if what == "increment" else operand()))
    each = [wire.command(*words[what](k, v)) for what, k, v in done]
    if len(each) > 1:
        each = [wire.command("MULTI"), *each, wire.command("EXEC")]
    return Write(done, b"".join(each))


# --- the clients -----------------------------------------------------------------------------------
class Client(threading.Thread):
    """Sends random writes, some before the replies to earlier ones, until it must rest or the server ends. The replies
    and the writes sent determine what the server may hold."""

    def __init__(self, server, number, seed, known):
        super().__init__(daemon=True)
        self.base, self.known = number * 1000, dict(known)
        self.rng = random.Random(seed)
        self.frames, self.depth = self.rng.random() < 0.5, self.rng.choice([1, 3, 6])
        self.sent, self.answered, self.refused = [], 0, set()
        self.error, self.rests = None, threading.Event()
        self.socket = server.connect()
        self.replies = wire.Replies(self.socket)

    def receive(self):
        """Returns the next reply. Replies to frames come in any order, so this keeps those that come early."""
        write = self.sent[self.answered]
        if self.frames:
            reply = wire.read_frame(self.socket)
            check(reply.status in (wire.OK, wire.NOT_DURABLE), f"status {reply.status}: {reply.message}")
            is_refused = reply.status == wire.NOT_DURABLE
        else:
            count = write.bytes.count(b"$4\r\nEXEC") and len(write.operations) + 2 or 1
            replies = [self.replies.read() for _ in range(count)]
            last = replies[-1]
            is_refused = isinstance(last, wire.Error) and ("MISCONF" in last or last.startswith("EXECABORT"))
            check(is_refused or not isinstance(last, wire.Error) or "overflow" in last, str(replies))
        if is_refused:
            self.refused.add(self.answered)
        self.answered += 1

    def run(self):
        depth = 1 if self.frames else self.depth
        try:
            while not self.rests.is_set() or self.answered < len(self.sent):
                while len(self.sent) - self.answered < depth and not self.rests.is_set():
                    write = drawn_write(self.rng, self.base, self.frames)
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
        expected = dict(self.known)
        for number in range(self.answered):
            if number not in self.refused:
                self.sent[number].apply(expected)
        possible = [expected]
        for write in self.sent[self.answered:]:
            if state in possible:
                return
            after = [dict(each) for each in possible]
            for each in after:
                write.apply(each)
            possible = after + (possible if may_refuse else [])
        check(state in possible,
              f"{what}: client {self.base}, {self.answered} of {len(self.sent)} answered: {state}, not {expected}")


def held(server, number):
    """Returns what the daemon holds of the keys of a client."""
    keys = range(number * 1000, number * 1000 + KEYS)
    return {key: int(value) for key, value in zip(keys, server.ask("MGET", *keys)) if value is not None}
