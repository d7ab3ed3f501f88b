#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Bulk frames that read several tables: each segment is for one table."""

import wire
from cluster import Node
from frame_tables import FIRST, create, hello, put, serving
from harness import case, equal, main


def by_segments(frames, parts, operation=wire.GET, **header):
    """Reads by segments, and returns the reply and the answers of each part."""
    reply = wire.exchange(frames, wire.segments_frame(operation, parts, **header))
    return reply, wire.segments_of(reply, parts) if reply.status == wire.OK else None


def eight(*values):
    return [value.to_bytes(8, "little") for value in values]


@case
def segments():
    """one frame reads tables of several widths and engines, and the same table twice; each segment has a body of its own"""
    with serving() as (_, replies, frames):
        create(replies, "strings", "NUMBER", 1, "value-bytes", 12, "value-type", "string", "resp-keys", "hash")
        create(replies, "cache", "NUMBER", 2, "engine", "cache", "value-bytes", 8, "capacity", "1K")
        create(replies, "more")
        keys = list(range(1, 131))
        equal([put(frames, 0, keys, keys), put(frames, FIRST, keys[:65], [10 * key for key in keys[:65]])], [wire.OK] * 2, "SET")
        text = (3).to_bytes(4, "little") + b"abc" + bytes(9)
        equal(wire.exchange(frames, wire.envelope(wire.header_of(wire.SET, 1, 8, 16, table=1), wire.array([7], 8) + wire.padded(text),
                                                  magic=wire.MAGIC_TABLES)).status, wire.OK, "a string")
        parts = [(0, keys, 8), (1, [7, 8], 16), (FIRST, keys, 8), (2, [1], 12), (0, [130, 131], 8)]
        reply, answers = by_segments(frames, parts)
        equal((reply.status, reply.count, reply.hits), (wire.OK, 265, 130 + 1 + 65 + 1), "the reply")
        equal(answers, [(eight(*keys), [1] * 130), ([text, bytes(16)], [1, 0]),
                        (eight(*(10 * key for key in keys[:65]), *[0] * 65), [1] * 65 + [0] * 65), ([bytes(12)], [0]),
                        (eight(130, 0), [1, 0])], "the answers")
        equal(by_segments(frames, parts, want_found=False)[1], [(values, None) for values, _ in answers], "values alone")
        equal(by_segments(frames, parts, want_values=False)[1], [(None, found) for _, found in answers], "found bits alone")
        empty = by_segments(frames, parts, want_values=False, want_found=False)[0]
        equal((empty.hits, empty.body), (197, b""), "neither")
        equal(by_segments(frames, [(2, [1], 12), (2, [2, 3], 12)], wire.PEEK)[0].status, wire.OK, "PEEK of caches")
        equal(wire.call(frames, wire.STATS).figures()["frame_segments"], 4 * 5 + 2, "counted")
        equal(wire.call(frames, wire.HELLO, table_name=b"cache").info[47], 64, "the most segments")


@case
def many_keys():
    """a frame whose keys arrive as a whole, and take more than a page"""
    with serving() as (_, replies, frames):
        create(replies, "other")
        keys = list(range(1, 1001))
        equal([put(frames, 0, keys, keys), put(frames, FIRST, keys, [10 * key for key in keys])], [wire.OK] * 2, "SET")
        equal(by_segments(frames, [(0, keys, 8), (FIRST, keys, 8)])[1],
              [(eight(*keys), [1] * 1000), (eight(*(10 * key for key in keys)), [1] * 1000)], "the answers")


@case
def bad_segments():
    """a frame with a wrong segment is refused in words, which name the segment; the connection goes on"""
    with serving() as (_, replies, frames):
        create(replies, "narrow", "NUMBER", 1, "key-bits", 32, "resp-keys", "decimal")
        create(replies, "t", "NUMBER", 5)
        create(replies, "texts", "NUMBER", 6, "value-bytes", 60, "value-type", "string", "resp-keys", "hash", "resp-key-text-bytes", 16)
        good = [(0, [1], 8), (5, [2], 8)]
        def lists(*numbers):
            return {"segments": numbers}
        def refused(status, sentence, parts=(), operation=wire.GET, **header):
            reply = by_segments(frames, parts or good, operation, **header)[0]
            equal((reply.status, sentence in reply.message, reply.body), (status, True, b""), f"{sentence}: {reply.message}")
        bad = wire.BAD_REQUEST
        refused(wire.NO_TABLE, "segment 1: no table has the number 9", [(0, [1], 8), (9, [1], 8)])
        refused(wire.TABLE_CHANGED, "segment 0: another table lies in place 5", [(5, [1], 8, 1), (0, [1], 8, 1)])
        refused(bad, "segment 1: key or value width differs", [(0, [1], 8), (1, [1], 4)])
        refused(bad, "segment 1: key or value width differs", [(0, [1], 8), (5, [1], 12)])
        refused(bad, "segment 0: key or value width differs", [(5, [1], 2**32 - 1)])
        refused(bad, "segment 1: the server stores keys as strings", [(0, [1], 8), (6, [1], 60)])
        refused(bad, "segment 1: count is zero", [(0, [1], 8), (5, [], 8)])
        refused(bad, "segment 0: count is zero or passes", **lists([0, 5], [2**32 - 1, 1], [8, 8]))
        refused(wire.UNKNOWN_OPERATION, "segment 0: the robin_hood engine has no PEEK: start the server with --engine cache", operation=wire.PEEK)
        for operation in (wire.SET, wire.DELETE, wire.TTL, wire.SCAN, wire.HELLO, wire.TABLE, wire.PING, wire.GETRANGE):
            refused(bad, "only GET and PEEK have segments", operation=operation)
        refused(bad, "leave out the fields of the request", table=5)
        refused(bad, "leave out the fields of the request", table_id=1)
        refused(bad, "leave out the fields of the request", value_bytes=8)
        refused(bad, "values and found bits alone", want_scores=1)
        refused(bad, "values and found bits alone", want_evicted=1)
        refused(bad, "the counts of the segments add up to 2, and count is 3", count=3)
        refused(bad, "body length contradicts", [(0, [1] * 9, 8), (5, [2], 8)], count=2, **lists([0, 5], [1, 1], [8, 8]))
        for wrong in ([[], [], [], [1]], [[0, 5], [1], [8, 8]], [[0, 5], [1, 1], [8]], [[0, 5], [1, 1], [8, 8], [1]],
                      [[0] * 65, [1] * 65, [8] * 65]):
            refused(bad, "cannot read the segments", **lists(*wrong))
        refused(bad, "only GETRANGE and SETRANGE", range_bytes=4)
        equal(by_segments(frames, good)[0].status, wire.OK, "the connection goes on")
        sixty_four = [(0 if i % 2 else 5, [i], 8) for i in range(64)]
        equal(by_segments(frames, sixty_four)[0].count, 64, "the most segments")


@case
def limits_of_segments():
    """frame-ops-max limits the keys of all segments together, and 64 segments fit the smallest arena"""
    with serving("--frame-ops-max", "1024", "--arena-bytes", "1M", "--resp-request-bytes-max", "64K") as (_, replies, frames):
        create(replies, "t", "NUMBER", 5)
        create(replies, "wide", "NUMBER", 6, "value-bytes", 400, "value-type", "bytes")
        halves = [(0, list(range(512)), 8), (5, list(range(512)), 8)]
        equal(by_segments(frames, halves)[0].status, wire.OK, "as many keys as a frame may have")
        reply = by_segments(frames, [*halves, (0, [1], 8)])[0]
        equal((reply.status, "passes the server's limit" in reply.message), (wire.BAD_REQUEST, True), reply.message)
        equal(by_segments(frames, [(6, list(range(16)), 400)] * 64)[0].status, wire.OK, "the longest reply")
    with serving("--frame-ops-max", "64") as (_, _, frames):
        reply = by_segments(frames, [(0, [i], 8) for i in range(64)])[0]
        equal((reply.status, reply.count), (wire.OK, 64), f"the padding of 64 segments: {reply.message}")


@case
def segments_in_a_cluster():
    """a node of a cluster, which has one table, refuses segments and further tables in words"""
    with Node(0) as node, node.connect() as frames:
        reply = by_segments(frames, [(0, [1], 8)])[0]
        equal((reply.status, reply.message),
              (wire.BAD_REQUEST, "a server in cluster mode has one table: send a request without segments"), "segments")
        equal(wire.call(frames, wire.PING).status, wire.OK, "the connection goes on")
        with node.replies() as replies:
            equal(replies.ask("TABLE", "CREATE", "a"),
                  wire.Error("ERR a node of a cluster has one table: start a server of its own for the others"), "TABLE CREATE")


@case
def versions_of_segments():
    """a frame with segments has version 2, which a server without tables refuses; version 1 ends the connection"""
    with serving() as (server, _, _):
        whole = wire.segments_frame(wire.GET, [(0, [1], 8)])
        with server.connect() as connection:
            reply = wire.exchange(connection, wire.MAGIC + whole[4:])
            equal((reply.status, reply.message), (wire.BAD_REQUEST, "unsupported frame version"), "version 1")
            equal(connection.recv(1), b"", "closed")


@case
def slow_segments():
    """each segment reads the table that its place has when the frame starts; a place that no longer fits refuses the frame"""
    with serving() as (_, replies, frames):
        def change(*words):
            """The one loop has read the frame's head before it replies to PING."""
            equal(replies.ask("PING"), "PONG", "PING")
            for command in words:
                equal(replies.ask("TABLE", *command.split()), "OK", command)
        def read(between, parts):
            request = wire.segments_frame(wire.GET, parts)
            frames.sendall(request[:-8])
            between()
            frames.sendall(request[-8:])
            reply = wire.read_frame(frames)
            return wire.segments_of(reply, parts) if reply.status == wire.OK else (reply.status, reply.message)
        create(replies, "a", "NUMBER", 5)
        create(replies, "b", "NUMBER", 6)
        for number in (5, 6):
            equal(put(frames, number, [1], [number]), wire.OK, "SET")
        parts = [(5, [1], 8), (6, [1], 8)]
        equal(read(lambda: None, parts), [(eight(5), [1]), (eight(6), [1])], "nothing changed")
        equal(read(lambda: change("SWAP a b"), parts), [(eight(6), [1]), (eight(5), [1])], "SWAP")
        ident = hello(frames, "b")[3]
        status, message = read(lambda: change("SWAP a b"), [(5, [1], 8), (6, [1], 8, ident)])
        equal((status, message[:40]), (wire.TABLE_CHANGED, "segment 1: another table lies in place 6"), "an id")
        status, message = read(lambda: change("DROP b"), parts)
        equal((status, message[:37]), (wire.NO_TABLE, "segment 1: no table has the number 6:"), "DROP")
        create(replies, "b", "NUMBER", 6)
        wider = "CREATE b NUMBER 6 value-bytes 60 value-type string resp-keys hash"
        equal(read(lambda: change("DROP b", wider), parts)[0], wire.TABLE_CHANGED, "another shape")
        equal(put(frames, 5, [2], [2]), wire.OK, "the connection goes on")


@case
def rights_to_segments():
    """a user needs the right to each table, the command and the keys of each segment; a logged-out connection gets NO_AUTH"""
    with serving() as (server, replies, _):
        create(replies, "own", "NUMBER", 5)
        create(replies, "other", "NUMBER", 6)
        for user, rules in (("reader", ("~*", "+get", "+hello", "db=0,own")), ("writer", ("~*", "+set", "+hello", "db=0,own")),
                            ("ranged", ("~1-10", "+get", "+hello"))):
            equal(replies.ask("ACL", "SETUSER", user, "on", ">secret", *rules), "OK", user)
        equal(replies.ask("ACL", "SETUSER", "default", "on", "resetpass", ">secret"), "OK", "default")
        def ask(user, parts):
            with server.connect() as frames:
                if user:
                    login = wire.header_of(wire.HELLO) + wire.field(21, user.encode()) + wire.field(22, b"secret")
                    equal(wire.exchange(frames, wire.envelope(login)).status, wire.OK, user)
                reply = by_segments(frames, parts)[0]
                return reply.status, reply.message
        both, all_three = [(0, [1], 8), (5, [1], 8)], [(0, [1], 8), (5, [1], 8), (6, [1], 8)]
        equal(ask("reader", both)[0], wire.OK, "its tables")
        equal(ask("reader", all_three), (wire.NO_PERMISSION, "segment 2: user reader may not run GET: it lacks the table (db=)"),
              "another table")
        status, message = ask("writer", both)
        equal((status, "it lacks the command get" in message), (wire.NO_PERMISSION, True), message)
        equal(ask("ranged", [(0, [1], 8), (5, [10], 8)])[0], wire.OK, "keys in the range")
        equal(ask("ranged", [(0, [1], 8), (5, [10, 11], 8)])[0], wire.NO_PERMISSION, "a key outside")
        equal(ask("", both)[0], wire.NO_AUTH, "no login")
        equal(ask("", [(9, [1], 8)])[0], wire.NO_AUTH, "no login, and no such table")


main()
