# SPDX-License-Identifier: MIT
"""network_switch - passes Ethernet frames between the interfaces s0, s1, .. of this network namespace, with faults:

    network_switch.py COUNT SEED

writes an empty line once it passes packets. It then reads lines of JSON: {"loss": 0.05, "delay": 0.05, "jitter": 0.02,
"cut": [[1, 2], ..]}. It replies to each with an empty line once the line is in effect. Loss (a share of frames), delay
and jitter (seconds; frames may overtake each other) do not affect s0, the host of the test itself. A cut is one way:
nothing from the first host reaches the second."""

import heapq
import json
import random
import select
import socket
import sys
import time

ETH_P_ALL = 3
OUTGOING = 4  # PACKET_OUTGOING: what the kernel of this namespace sends itself


class Switch:
    def __init__(self, count, seed):
        self.ports, self.where, self.queue = [], {}, []
        for i in range(count):
            port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
            port.bind((f"s{i}", 0))
            port.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
            port.setblocking(False)
            self.ports.append(port)
        self.random, self.number = random.Random(seed), 0
        self.rules = {}
        self.obey({})

    def obey(self, rules):
        self.rules = {"loss": 0.0, "delay": 0.0, "jitter": 0.0, **rules,
                      "cut": {tuple(pair) for pair in rules.get("cut", ())}}

    def take(self, i):
        for _ in range(64):
            try:
                frame, address = self.ports[i].recvfrom(1 << 16)
            except BlockingIOError:
                return
            if address[2] == OUTGOING:
                continue
            self.where[frame[6:12]] = i
            known = self.where.get(frame[:6])
            for j in range(len(self.ports)) if known is None else (known,):
                if j != i:
                    self.pass_on(frame, i, j)

    def pass_on(self, frame, i, j):
        rules, draw = self.rules, self.random
        if (i, j) in rules["cut"]:
            return
        due = time.monotonic()
        if i and j:
            if draw.random() < rules["loss"]:
                return
            due += rules["delay"] + rules["jitter"] * draw.random()
        self.number += 1
        heapq.heappush(self.queue, (due, self.number, frame, j))

    def send(self):
        now = time.monotonic()
        while self.queue and self.queue[0][0] <= now:
            _, _, frame, j = heapq.heappop(self.queue)
            try:
                self.ports[j].send(frame)
            except OSError:
                pass  # lost, as where a queue is full

    def run(self):
        print(flush=True)
        while True:
            wait = max(0.0, self.queue[0][0] - time.monotonic()) if self.queue else None
            ready, _, _ = select.select([sys.stdin, *self.ports], [], [], wait)
            for one in ready:
                if one is sys.stdin:
                    line = sys.stdin.readline()
                    if not line:
                        return
                    self.obey(json.loads(line))
                    print(flush=True)
                else:
                    self.take(self.ports.index(one))
            self.send()


if __name__ == "__main__":
    Switch(int(sys.argv[1]), int(sys.argv[2])).run()
