#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The write-ahead log: its segments, options and errors. test_plans.py kills the daemon at any moment."""

import ctypes
import time

import wire
from data_directory import SMALL, Directory, does_not_start, durable
from harness import BUILD, SANITIZED, Server, Skip, case, check, equal, eventually, main, refusal, run

CLI = str(BUILD / "sherwood-cli")


@case
def large_frames():
    """frames of a MiB over many segments survive kill -9.
    Once syncs are large the server no longer fills new segments with zeros."""
    count, frame = 24, 65536
    with Directory() as path:
        flags = ("--log-segment-bytes", "4M", "--frame-ops-max", str(frame), "--round-ops-max", str(frame), "--capacity", "1M",
                 "--arena-bytes", "64M")
        with Server("--data-dir", str(path), "--appendonly", "yes", "--appendfsync", "always", *flags) as server:
            with server.connect() as connection:
                def written():
                    with open(f"/proc/{server.pid()}/io", encoding="ascii") as facts:
                        return int(next(line for line in facts if line.startswith("write_bytes")).split()[1])

                def store(numbers):
                    for n in numbers:
                        equal(wire.call(connection, wire.SET, range(frame), [n] * frame, request_id=n).status, wire.OK, "set")

                store(range(1, count))
                before = written()
                store(range(count, 2 * count))
                check(written() - before < 1.6 * count * frame * 16, f"{written() - before} bytes were written for {count} MiB")
            server.end_by_kill()
        check(len(list(path.glob("log-*"))) > count // 4, "segments")
        run(CLI, "log", "check", str(path))
        with Server("--data-dir", str(path), *flags) as server, server.connect() as connection:
            values = wire.Replies(connection).ask("MGET", *range(0, frame, 97))
            equal(set(values), {b"%d" % (2 * count - 1)}, "values")


# --- options, and words ------------------------------------------------------------------------
@case
def options_that_contradict():
    """a log without a directory, or of a cache, is refused in one sentence"""
    with Directory() as path:
        check("data-dir is not set" in refusal("--appendonly", "yes"), "no directory")
        check("snapshots only" in refusal("--appendonly", "yes", "--engine", "cache", "--data-dir",
                                          str(path)), "a cache")


@case
def torn_and_damaged():
    """a torn end is cut and logged, or refused; damage before it is refused, with file and offset"""
    with Directory() as path:
        with durable(path, "always") as server:
            with server.replies() as replies:
                for i in range(20):
                    equal(replies.ask("SET", i, i), "OK", "set")
            server.end_by_kill()
        segment = path / "log-0000000000000001"
        whole = segment.read_bytes()
        end = max(i for i in range(4096, len(whole), 64) if whole[i:i + 4] == b"SWR1")
        segment.write_bytes(whole[:end + 128] + bytes(len(whole) - end - 128))
        said = does_not_start("--data-dir", str(path), "--aof-load-truncated", "no")
        check("--aof-load-truncated yes to cut it" in said, said)
        segment.write_bytes(whole[:end + 64] + bytes([whole[end + 64] ^ 1]) + whole[end + 65:])
        said = does_not_start("--data-dir", str(path))
        check("is damaged at byte" in said and "(sequence 20)" in said and "may have been acknowledged" in said, said)
        first = 4096
        segment.write_bytes(whole[:first + 8] + b"\xff" + whole[first + 9:])
        said = does_not_start("--data-dir", str(path))
        check("log-0000000000000001 is damaged at byte 4096" in said, said)
        check("is damaged at byte 4096" in run(CLI, "log", "check", str(path), rc=1), "cli")
        segment.write_bytes(whole)
        with durable(path, "no") as server:
            equal(server.redis_cli("DBSIZE").strip(), "20", "keys")


@case
def two_daemons():
    """a second daemon on the same directory is refused"""
    with Directory() as path, durable(path, "always"):
        check("another sherwoodd" in does_not_start("--data-dir", str(path)), "the lock")


@case
def wait_and_rewrite():
    """WAITAOF replies as redis does, starts the sync and times out.
    BGREWRITEAOF writes a snapshot and removes older segments."""
    with Directory() as path:
        with durable(path, "no") as server, server.connect() as connection:
            check("snapshots and a log in" in server.line, server.line)
            replies = wire.Replies(connection)
            equal(replies.ask("WAITAOF", 1, 0, 0), [1, 0], "nothing was written")
            for i in range(3):
                equal(replies.ask("SET", i, i), "OK", "set")
                equal(replies.ask("WAITAOF", 1, 0, 5000), [1, 0], "waitaof")
            check(server.metrics()["sherwood_persistence_durable_sequence"] == 3, "durable")
            equal(replies.ask("WAITAOF", 2, 0, 0),
                  "ERR value is out of range, value must between 0 and 1", "numlocal")
            equal(replies.ask("WAITAOF", 1, -1, 0), "ERR value is out of range, must be positive",
                  "replicas")
            equal(replies.ask("WAITAOF", 1, 0, "x"), "ERR timeout is not an integer or out of range",
                  "timeout")
            connection.sendall(b"".join(wire.command("MSET", *(j if j % 2 == 0 else i for j in range(40)))
                                        for i in range(12000)))
            for _ in range(12000):
                equal(replies.read(), "OK", "mset")
            segments = len(list(path.glob("log-*")))
            check(segments > 2, f"{segments} segments")
            equal(replies.ask("BGREWRITEAOF"), "Background append only file rewriting started", "reply")
            eventually(lambda: b"aof_rewrite_in_progress:0" in replies.ask("INFO", "persistence")
                       and list(path.glob("snapshot-*")), "a snapshot")
            eventually(lambda: len(list(path.glob("log-*"))) <= 2, "older segments go")
            equal(replies.ask("CONFIG", "GET", "append*"),
                  [b"appendonly", b"yes", b"appendfsync", b"no"], "config")
            info = replies.ask("INFO", "persistence").decode()
            check("aof_enabled:1" in info and "aof_last_write_status:ok" in info, info)
            server.end_by_kill()
        with durable(path, "no") as server:
            equal(server.redis_cli("GET", "38").strip(), "11999", "get")
    with Server() as server, server.connect() as connection:
        equal(wire.Replies(connection).ask("WAITAOF", 1, 0, 0),
              "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled.", "off")


@case
def a_log_that_grows():
    """a snapshot starts once the log exceeds auto-aof-rewrite-percentage and auto-aof-rewrite-min-size"""
    with Directory() as path:
        with durable(path, "no", "--auto-aof-rewrite-percentage", "100", "--auto-aof-rewrite-min-size", "100K") as server:
            with server.replies() as replies:

                def write(bytes_of_log):
                    words = [word for key in range(100) for word in (key, 1)]
                    for _ in range(bytes_of_log // 1700 + 1):
                        equal(replies.ask("MSET", *words), "OK", "mset")

                write(50_000)
                time.sleep(0.3)
                equal(server.metrics()["sherwood_persistence_saves_total"], 0, "it is below the least")
                write(60_000)
                eventually(lambda: server.metrics()["sherwood_persistence_saves_total"] == 1, "the first")
                time.sleep(0.3)
                equal(server.metrics()["sherwood_persistence_saves_total"], 1, "not again")
                equal(replies.ask("CONFIG", "SET", "auto-aof-rewrite-percentage", "0"), "OK", "config")
                write(120_000)
                time.sleep(0.3)
                equal(server.metrics()["sherwood_persistence_saves_total"], 1, "never")
                equal(replies.ask("CONFIG", "SET", "auto-aof-rewrite-percentage", "100"), "OK", "config")
                eventually(lambda: server.metrics()["sherwood_persistence_saves_total"] == 2, "the second")
                write(20_000)
            server.end_by_kill()
        with durable(path, "no") as server:
            equal(server.redis_cli("DBSIZE").strip(), "100", "keys")


@case
def replies_tell_sequences():
    """bulk replies contain the sequence of their write, and the last sequence on storage"""
    with Directory() as path, durable(path, "always") as server, server.connect() as connection:
        for i in range(1, 4):
            reply = wire.call(connection, wire.SET, [i], [i])
            equal((reply.write_sequence, reply.durable_through), (i, i), "a write")
        reply = wire.call(connection, wire.GET, [1])
        equal((reply.write_sequence, reply.durable_through), (0, 3), "a read")
    with Server() as server, server.connect() as connection:
        reply = wire.call(connection, wire.SET, [1], [1])
        equal((reply.write_sequence, reply.durable_through), (0, 0), "without a log")


@case
def wait_durable():
    """WAIT_DURABLE starts a sync, and refuses sequences of an earlier run"""
    with Directory() as path, durable(path, "no") as server, server.connect() as connection:
        incarnation = wire.call(connection, wire.HELLO).info[14]

        def ask(sequence, life, timeout=5000):
            header = wire.field(1, 1) + wire.field(2, 41) + b"".join(
                wire.field(n, v) for n, v in ((18, sequence), (19, life), (20, timeout)) if v)
            return wire.exchange(connection, wire.envelope(header))

        equal(wire.call(connection, wire.SET, [1], [1]).write_sequence, 1, "a write")
        equal(ask(1, incarnation).durable_through, 1, "synced")
        equal(ask(9, incarnation, 30).durable_through, 1, "its time is over")
        equal(ask(1, incarnation + 2).status, wire.BAD_REQUEST, "another life")


@case
def wait_durable_by_the_library():
    """sherwood_wait_durable returns after the writes are on storage, or fails without a log"""
    if SANITIZED:
        raise Skip("an interpreter does not load a library with a sanitizer")
    library = ctypes.CDLL(str(BUILD / "libsherwood.so"))
    handle, text = ctypes.c_void_p(), ctypes.create_string_buffer(512)
    keys = (ctypes.c_uint64 * 3)(1, 2, 3)

    def connect(server):
        address = server.address().encode()
        equal(library.sherwood_connect_text(address, None, ctypes.byref(handle), text, 512), 0, text.value)

    with Directory() as path, durable(path, "no") as server:
        connect(server)
        equal(library.sherwood_set(handle, keys, keys, 3), 0, "set")
        equal(library.sherwood_wait_durable(handle, 5000), 0, "wait")
        equal(server.metrics()["sherwood_persistence_durable_sequence"], 1, "durable")
        library.sherwood_close(handle)
    with Server() as server:
        connect(server)
        equal(library.sherwood_wait_durable(handle, 0), -8, "without a log")
        library.sherwood_close(handle)


@case
def without_the_option():
    """an existing log is loaded without appendonly, and nothing is added to it"""
    with Directory() as path:
        with durable(path, "always") as server:
            equal(server.redis_cli("SET", "1", "2").strip(), "OK", "set")
        (path / "new-log").touch()  # a kill leaves what was being made
        with Server("--data-dir", str(path), *SMALL) as server:
            check(not (path / "new-log").exists(), "it is of no use")
            equal(server.redis_cli("GET", "1").strip(), "2", "get")
            equal(server.redis_cli("SET", "1", "3").strip(), "OK", "set")
        with durable(path, "always") as server:  # its end has written a snapshot
            equal(server.redis_cli("GET", "1").strip(), "3", "get")


if __name__ == "__main__":
    main()
