# SPDX-License-Identifier: MIT
"""flows.py - pictures of what happens in which order: a request, a fail-over, a slot's move."""

import canvas
from canvas import Picture, constant, named


def step(picture, x, y, count, colour="blue"):
    picture.add("circle", colour, cx=x, cy=y, r=9)
    picture.parts.append(f'<text x="{x}" y="{canvas.number(y + 4)}" class="middle" style="fill: var(--page); font-size: 11px">{count}</text>')


def timeline(picture, y):
    """RESP batches of one loop: the next one fills while one runs."""
    picture.text(16, y, "RESP batches of one loop over time: the next one fills while one runs", "bold")
    picture.text(16, y + 28, "fills", "small")
    picture.text(16, y + 58, "runs", "small")
    ends = [70, 84, 174, 284, 414, 544]
    for i, end in enumerate(ends[1:]):
        colour = ("blue", "orange")[i % 2]
        picture.rect(ends[i], y + 14, end - ends[i] - 2, 20, f"{colour}-wash", 2)
        after = ends[i + 2] if i + 2 < len(ends) else 690
        picture.rect(end, y + 44, after - end - 2, 20, f"{colour}-wash", 2)
        picture.text((end + after) / 2, y + 58, f"batch {i + 1}", "small middle")
    picture.text(92, y + 84, "An idle server sends batch 1 at once. Under load, batches become larger. No batch waits for a timer.", "small")


def request():
    launches = constant("table/backend.h", "SW_COMBINED_LAUNCHES")
    picture = Picture(760, 560, "The life of a request",
                      "A request travels from the socket of a client through an event loop, a batch and a launch on the GPU, and its "
                      "reply travels back. Eight numbered steps name the rooms and files of the source code.")
    picture.text(16, 28, "The life of a request", "head")
    picture.rect(128, 48, 436, 196, "frame")
    picture.text(140, 66, f"one event loop, one thread: {named('server/loop.c')}", "small")
    picture.box(16, 92, 84, 126, "client", ("request", "reply"))
    rooms = ((140, "net/", ("`conn_read.c", "`conn.c")), (284, "resp/, bulk/", ("`resp.c", "`bulk.c")),
             (428, "batch/", ("`flight.c", "`batches.c")))
    for file in ("server/net/conn_read.c", "server/net/conn.c", "server/resp/resp.c", "server/bulk/bulk.c",
                 "server/batch/flight.c", "server/batch/batches.c", "server/resp/write_replies.c", "server/bulk/output.c",
                 "server/net/transport.c", "table/table.h"):
        named(file)
    for x, head, files in rooms:
        picture.box(x, 78, 124, 72, head, files)
    picture.box(140, 164, 124, 66, "net/", ("`transport.c",))
    picture.box(284, 164, 124, 66, "resp/, bulk/", ("`write_replies.c", "`output.c"))
    picture.box(428, 164, 124, 66, "batch/", ("`batches.c",))
    picture.box(596, 78, 148, 72, "table/", ("`table.h", "queues of all loops"))
    picture.box(596, 164, 148, 66, "launch", ("kernels on the GPU,", "or the CPU"), "green-wash")
    for number, (x1, x2) in enumerate(((100, 140), (264, 284), (408, 428), (552, 596)), 1):
        picture.arrow(x1, 114, x2, 114)
        step(picture, (x1 + x2) / 2, 96, number)
    picture.arrow(670, 150, 670, 164)
    step(picture, 690, 157, 5)
    for number, (x1, x2) in enumerate(((596, 552), (428, 408), (284, 264)), 6):
        picture.arrow(x1, 196, x2, 196)
        step(picture, (x1 + x2) / 2, 178, number, "orange")
    picture.arrow(140, 196, 100, 196)
    steps = (("blue", "net/ reads the socket. A connection stays on one loop, so its state needs no lock."),
             ("blue", "resp/ parses commands. bulk/ checks the head of a frame, and the socket is read straight into I/O memory."),
             ("blue", "RESP commands on keys of all connections of the loop share a batch. A bulk frame is a batch of its own."),
             ("blue", "batch/ submits the batch to the table, which reads and writes the arrays in I/O memory."),
             ("blue", f"On a GPU, writes of all loops wait while {launches} launches of writes are in flight, then go together."),
             ("orange", "The loop polls the table for batches that are done. Replies to writes wait for the log, if there is one."),
             ("orange", "resp/ and bulk/ make the replies from the results of the batch."),
             ("orange", "net/ sends them, many in one system call. The rest waits in the connection's output."))
    for i, (colour, words) in enumerate(steps):
        step(picture, 26, 268 + i * 22, i + 1, colour)
        picture.text(44, 272 + i * 22, words)
    timeline(picture, 466)
    return picture


def lanes(picture, rows, left, right):
    for y, name in rows:
        picture.text(16, y + 4, name, "bold")
        picture.line(left, y, right, y, "faint")


def fail_over():
    picture = Picture(760, 560, "A fail-over with etcd",
                      "Primary A renews its lease in etcd. A is cut off and stops serving when its lease ends. Members B and C then close "
                      "the old term, B has the most writes and becomes primary by one transaction in etcd. The write that WAIT counted is kept.")
    named("server/ha/member.h")
    picture.text(16, 28, "A fail-over: three members, quorum=1, B and C in sync", "head")
    picture.text(744, 28, "not to scale", "small end")
    client, a, etcd, b, c = 76, 140, 210, 280, 340
    lanes(picture, ((client, "client"), (a, "A, primary"), (etcd, "etcd"), (b, "B, replica"), (c, "C, replica")), 104, 744)
    for x in (130, 200, 270):
        picture.arrow(x, a, x, etcd - 2, "blue-line")
    picture.text(238, etcd + 17, "A renews three times per ttl", "small")
    picture.arrow(150, client, 150, a, "green-line")
    picture.arrow(152, a, 180, b, "green-line")
    picture.arrow(180, b, 226, a + 2, "green-line")
    picture.arrow(226, a, 226, client + 2, "green-line")
    picture.text(110, client - 10, "write w1, then WAIT 1: B has w1", "small")
    picture.arrow(312, client, 312, a, "orange-line")
    picture.arrow(328, a, 328, client + 2, "orange-line")
    picture.text(304, client - 10, "write w2, no WAIT", "small")
    picture.add("rect", "red-wash", x=344, y=a - 24, width=320, height=48, rx=4)
    picture.text(350, a - 9, "A is cut off from etcd and from the members", "small")
    picture.line(478, a - 2, 478, 418, "faint")
    picture.text(350, a + 16, "no renewal succeeds", "small")
    picture.text(484, a + 16, "lease over: no replies", "small")
    picture.line(512, etcd - 14, 512, 394, "faint")
    picture.text(372, b - 14, "B and C see no renewal", "small")
    picture.arrow(516, b, 538, c - 2, "violet-line")
    picture.arrow(538, c, 560, b + 2, "violet-line")
    picture.text(520, c + 17, "C closes the old term, then answers", "small")
    picture.arrow(580, b, 580, etcd + 2, "violet-line")
    picture.text(588, etcd + 22, "one transaction: term 8", "small")
    picture.text(600, b - 8, "B is primary", "bold")
    picture.arrow(730, a, 730, b - 2, "blue-line")
    picture.text(724, a + 42, "A returns, follows B", "small end")
    top = 394
    picture.text(16, top + 17, "may serve", "bold")
    picture.rect(110, top, 366, 26, "blue-wash", 2)
    picture.text(290, top + 17, "A holds the lease of term 7", "middle")
    picture.rect(478, top, 104, 26, "frame", 2)
    picture.text(530, top + 17, "nobody", "middle")
    picture.rect(584, top, 160, 26, "green-wash", 2)
    picture.text(664, top + 17, "B, term 8", "middle")
    rows = (("blue", "A's lease ends ttl / 1.021 after it sent its last renewal. The others wait ttl × 1.021 from when they saw it."),
            ("violet", "Enough members in sync answer: their number - quorum + 1, here both. The one with the most writes wins."),
            ("green", "Kept: w1. WAIT counted it with n ≥ quorum, so a member that answers has it, and so has the winner."),
            ("orange", "Lost: w2, if A had not sent it to B. A loads a snapshot of B and keeps its own files in a directory discarded-…"))
    for i, (colour, words) in enumerate(rows):
        picture.rect(16, 442 + 26 * i, 12, 12, colour, 2)
        picture.text(36, 453 + 26 * i, words)
    return picture


def slot_move():
    ms = constant("server/limits.h", "SW_FROZEN_MS")
    ask = constant("server/cluster/view.h", "SW_CLUSTER_ASK_NS") / 1e9
    picture = Picture(760, 600, "A slot's move between two nodes of a cluster",
                      "The target asks the source for slots. The source sends a snapshot and the later writes while it serves. Then no node "
                      "serves the slots until the target has compared checksums and decided. Afterwards the source redirects clients.")
    for room in ("server/move/move.h", "server/cluster/moving.h"):
        named(room)
    picture.text(16, 28, "A slot's move: the source keeps serving until the target is close behind", "head")
    source, target, top = 360, 610, 62
    picture.text(source, top - 8, "source", "bold middle")
    picture.text(target, top - 8, "target", "bold middle")
    picture.text(16, top - 8, "a command on a key of the slot", "bold")
    bands = ((70, 176, "blue", "the source serves it"), (252, 140, "orange", f"it waits, at most {ms / 1000:g} s,"),
             (398, 60, "violet", "the source replies -ASK"), (464, 56, "green", "the source replies -MOVED"))
    for y, height, colour, words in bands:
        picture.rect(16, y, 210, height, f"{colour}-wash")
        picture.text(26, y + 20, words)
    picture.lines(26, 290, ("then gets -TRYAGAIN.", "A frame gets SLOT_FROZEN", "at once. No node serves", "the slot."))
    picture.text(26, 438, f"for {ask:g} s, to the target", "small")
    picture.text(26, 504, "to the target, which serves it", "small")
    for x in (source, target):
        picture.line(x, 62, x, 520, "faint")

    def message(y, to_target, words, code, colour="blue"):
        ends = (source, target - 2) if to_target else (target, source + 2)
        picture.arrow(ends[0], y, ends[1], y, f"{colour}-line")
        picture.text((source + target) / 2, y - 5, code, "code middle")
        if words:
            picture.text((source + target) / 2, y + 14, words, "small middle")
    message(88, False, "the target connects", "EXPORTSLOTS slots")
    message(128, True, "keys at one instant", "ENTRIES ... BEGIN")
    message(168, True, "the writes since then", "WRITES, UP_TO n")
    message(208, False, "all of them are applied", "+ACK n")
    picture.text(source - 8, 246, "the target is close", "small end")
    picture.text(source - 8, 261, "behind: stop serving", "small end")
    message(276, True, "the last writes, and a checksum", "FINAL", "orange")
    picture.lines(target + 10, 292, ("compares the", "checksum, syncs", "its log (if any),", "decides: its state", "file has the new", "topology"), "small", 15)
    message(392, False, "the topology of the next epoch", "+DONE", "green")
    picture.text(source + 10, 436, "takes this topology,", "small")
    picture.text(source + 10, 452, "then removes the keys", "small")
    picture.rect(target + 10, 388, 128, 24, "green-wash")
    picture.text(target + 74, 404, "serves the slot", "middle")
    rows = ("Each step is in the node's state file before it takes effect. Replicas have it before FINAL and before +DONE.",
            "If a node is killed before the decision, the source serves, and the target begins another attempt.",
            "A source that lacks the outcome asks the target, and does not serve meanwhile: no two nodes serve the slot.")
    picture.lines(16, 548, rows, "", 19)
    return picture
