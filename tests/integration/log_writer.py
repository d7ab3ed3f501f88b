# SPDX-License-Identifier: MIT
"""A client that writes as fast as the server answers, until the server ends: the log must have every acknowledged write."""

import threading

import wire


class LogWriter(threading.Thread):
    """A writer with several requests in flight. `as_frame` and `as_command` return the bytes of write number n."""

    def __init__(self, server, frames, depth):
        super().__init__(daemon=True)
        self.frames, self.depth = frames, depth
        self.sent = self.acked = 0
        self.error = None
        self.socket = server.connect()
        self.replies = wire.Replies(self.socket)

    def as_frame(self, n):
        raise NotImplementedError

    def as_command(self, n):
        raise NotImplementedError

    def receive(self):
        if self.frames:
            reply = wire.read_frame(self.socket)
            assert reply.status == wire.OK, reply.message
            assert reply.request_id <= self.sent
            self.acked = max(self.acked, reply.request_id)
        else:
            reply = self.replies.read()
            assert not isinstance(reply, wire.Error), reply
            self.acked += 1

    def run(self):
        try:
            while True:
                while self.sent - self.acked < self.depth:
                    self.sent += 1
                    self.socket.sendall((self.as_frame if self.frames else self.as_command)(self.sent))
                self.receive()
        except (wire.Closed, OSError):
            pass
        except Exception as error:  # pylint: disable=broad-except
            self.error = error
        self.socket.close()
