#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Failed writes of the write-ahead log: the errors, what still works, and that service returns without a restart when
the disk works again."""

import contextlib
import random
import select
import shutil
import signal
import threading
import time

import wire
from data_directory import Directory, FilesLimited, durable, next_segment, small_disk
from harness import case, check, drawn_seed, equal, eventually, main, refusal

OUTCOME_UNKNOWN = 9  # enum Status


@case
def a_disk_that_is_full():
    """on a full disk both protocols refuse writes and serve reads; with space they serve writes again"""
    with Directory() as path, small_disk(path, "8M"):
        with durable(path, "always", errors="cannot (be )?ma[dk]e") as server, server.replies() as replies:
            equal(replies.ask("SET", 1, 1), "OK", "set")
            next_segment(path)
            ballast = path / "ballast"
            with open(ballast, "wb", buffering=0) as file, contextlib.suppress(OSError):
                while file.write(bytes(1 << 16)) == 1 << 16:
                    pass
            with server.connect() as writer:
                words = [word for key in range(1, 201) for word in (key, 1)]
                writer.sendall(b"".join(wire.command("MSET", *words) for _ in range(1000)))
                eventually(lambda: server.metrics()["sherwood_persistence_log_full"] == 1, "full")
                refused = replies.ask("SET", 1, 3)
                check(refused.startswith("MISCONF Errors writing to the append only file"), refused)
                equal(replies.ask("GET", 1), b"1", "reads go on")
                with server.connect() as other:
                    equal(wire.call(other, wire.SET, [7], [7]).status, wire.NOT_DURABLE, "a frame")
                status, _, text = server.http("/healthz")
                check(status == 200 and "degraded: The log cannot be written" in text, text)
                status, _, text = server.http("/readyz")
                check(status == 200 and "degraded: " in text and "no room for its next segment" in text, text)
                check("aof_last_write_status:err" in replies.ask("INFO", "persistence").decode(), "INFO")
                ballast.unlink()
                eventually(lambda: replies.ask("SET", 1, 2) == "OK", "service returns")
                answers = wire.Replies(writer)
                told = [answers.read() for _ in range(1000)]
                check(told[0] == "OK" and all(t == "OK" or t.startswith("MISCONF") for t in told), told[:5])
        with durable(path, "no") as server:
            equal(server.redis_cli("GET", "1").strip(), "2", "get")


@case
def a_write_that_fails():
    """a failed write of the log: writes are refused, reads go on, and the reply to an applied write waits.
    When the disk writes again, service returns without a restart, and no write is missing."""
    with Directory() as path:
        with durable(path, "always", errors="of the log has failed|no snapshot was written|cannot (be )?ma[dk]e") as server:
            with server.connect() as connection, server.connect() as other, server.connect() as frames:
                replies, others = wire.Replies(connection), wire.Replies(other)
                equal(replies.ask("SET", 1, 1), "OK", "set")
                limit = FilesLimited(server)
                connection.sendall(wire.command("MSET", *range(1000)))
                eventually(lambda: server.metrics()["sherwood_persistence_log_broken"] == 1, "the gauge")
                refused = others.ask("SET", 1, 2)
                check(refused.startswith("MISCONF"), refused)
                equal(wire.call(frames, wire.SET, [7], [7]).status, wire.NOT_DURABLE, "a frame")
                equal(others.ask("GET", 10), b"11", "it was applied")
                eventually(lambda: "no snapshot was written" in server.log(), "a try fails")
                limit.end()
                equal(replies.read(), "OK", "the write that waited")
                eventually(lambda: others.ask("SET", 1, 5) == "OK", "service returns")
                equal(server.http("/healthz")[2], "ok\n", "as before")
                equal(wire.call(frames, wire.SET, [7], [8]).status, wire.OK, "by frames, too")
                metrics = server.metrics()
                equal(metrics["sherwood_persistence_log_broken"], 0, "the gauge")
                equal((metrics["sherwood_persistence_log_breaks_total"],
                       metrics["sherwood_persistence_log_mends_total"]), (1, 1), "counted")
                check(metrics["sherwood_persistence_save_failures_total"] >= 1, "tries that failed")
            server.end_by_kill()
        with durable(path, "always") as server:
            equal(server.redis_cli("MGET", "0", "10", "998", "1", "7").split(), ["1", "11", "999", "5", "8"], "all")


@case
def killed_while_it_is_mended():
    """kill -9 at random moments of a failure and its repair: acknowledged writes exist, in order"""
    rng = random.Random(drawn_seed())
    for _ in range(6):
        with Directory() as path:
            with durable(path, rng.choice(["always", "everysec", "no"]),
                         errors="of the log has failed|no snapshot was written|cannot (be )?ma[dk]e") as server:
                with server.connect() as connection:
                    replies, answered = wire.Replies(connection), 1
                    equal(replies.ask("MSET", *(x for key in range(20) for x in (key, 1))), "OK", "the first")
                    limit = FilesLimited(server, rng.choice([8192, 12000, 20480]))
                    events = [threading.Timer(rng.uniform(0.02, 0.3), limit.end),
                              threading.Timer(rng.uniform(0.1, 1.6), server.kill)]
                    try:
                        for event in events:
                            event.start()
                        while True:
                            reply = replies.ask("MSET", *(x for key in range(20) for x in (key, answered + 1)))
                            check(reply == "OK" or reply.startswith("MISCONF"), reply)
                            answered += reply == "OK"
                            time.sleep(0 if reply == "OK" else 0.005)
                    except (wire.Closed, OSError):
                        pass
                for event in events:
                    event.join()
                server.process.wait()
                server.stop_rc = -signal.SIGKILL
            with durable(path, "always") as server:
                values = server.redis_cli("MGET", *(str(key) for key in range(20))).split()
                check(len(set(values)) == 1 and int(values[0]) in (answered, answered + 1), f"{answered}: {values}")


@case
def a_stop_while_the_outcome_is_unknown():
    """SIGTERM while a write waits for the log that it broke: a frame gets OUTCOME_UNKNOWN.
    A RESP connection is closed, and the daemon ends in time."""
    keys = list(range(250))  # more than the file may grow by
    for write in (wire.frame(wire.SET, keys, keys), wire.command("MSET", *(x for key in keys for x in (key, key)))):
        is_frame = write.startswith(wire.MAGIC)
        with Directory() as path:
            with durable(path, "always", errors="of the log has failed|no snapshot was written|cannot (be )?ma[dk]e|are lost|"
                         "may lack them") as server, server.connect() as connection:
                limit = FilesLimited(server)
                connection.sendall(write)
                eventually(lambda: server.metrics()["sherwood_persistence_log_broken"] == 1, "broken")
                server.process.terminate()
                if is_frame:
                    equal(wire.read_frame(connection).status, OUTCOME_UNKNOWN, "the frame")
                else:
                    equal(connection.recv(100), b"", "RESP is closed")
                server.stop_rc = server.process.wait(20)
                equal(server.stop_rc, 1, "writes that the log lacks are lost")
                limit.end()
            with durable(path, "always") as server, server.connect() as connection:
                found = wire.Replies(connection).ask("DBSIZE")
                check(found in (0, len(keys)), f"{found} keys: the write is there whole, or not at all")


@case
def reads_that_wait():
    """--read-durable yes: neither protocol shows a write before it is on storage"""
    with Directory() as path:
        check("set appendonly yes and appendfsync always" in
              refusal("--data-dir", str(path), "--appendonly", "yes", "--read-durable", "yes"), "everysec")
        with durable(path, "always", "--read-durable", "yes",
                     errors="of the log has failed|no snapshot was written|cannot (be )?ma[dk]e") as server:
            with contextlib.ExitStack() as stack:
                writer, reader, frames, scanner = (stack.enter_context(server.connect()) for _ in range(4))
                replies, reads, scans = wire.Replies(writer), wire.Replies(reader), wire.Replies(scanner)
                equal(replies.ask("SET", 1, 1), "OK", "set")
                equal(reads.ask("GET", 1), b"1", "all is on storage")
                equal(wire.call(frames, wire.GET, [1]).status, wire.OK, "a frame")
                limit = FilesLimited(server)
                writer.sendall(wire.command("MSET", *range(1000)))
                eventually(lambda: server.metrics()["sherwood_persistence_log_broken"] == 1, "broken")
                equal(scans.ask("PING"), "PONG", "what reads nothing does not wait")
                reader.sendall(wire.command("GET", 10))
                scanner.sendall(wire.command("SCAN", 0, "COUNT", 1))
                frames.sendall(wire.frame(wire.GET, [10]))
                silent = select.select([reader, scanner, frames], [], [], 0.5)[0]
                equal(silent, [], "nobody is told of what is not on storage")
                limit.end()
                equal(replies.read(), "OK", "the write")
                equal(reads.read(), b"11", "the read")
                reply = wire.read_frame(frames)
                equal((reply.status, reply.hits), (wire.OK, 1), "the frame")
                equal(len(scans.read()), 2, "the scan")


@case
def mended_when_asked():
    """BGREWRITEAOF repairs the log at once, before the next attempt is due.
    The stop of a server with a broken log writes what was applied."""
    with Directory() as path:
        with durable(path, "no", errors="of the log has failed|no snapshot was written|cannot (be )?ma[dk]e|may lack") as server:
            with server.connect() as connection, server.connect() as other:
                replies, others = wire.Replies(connection), wire.Replies(other)
                for turn in range(2):
                    limit = FilesLimited(server)
                    connection.sendall(wire.command("MSET", *range(1000)))
                    eventually(lambda: server.log().count("tries a snapshot again in 2 s") == turn + 1, "tries")
                    limit.end()
                    if turn == 0:
                        eventually(lambda: not str(others.ask("BGREWRITEAOF")).startswith("ERR"), "begun")
                        equal(replies.read(), "OK", "the write that waited")
                        eventually(lambda: others.ask("SET", 1, 5) == "OK", "service returns")
        with durable(path, "always") as server:
            equal(server.redis_cli("MGET", "0", "10", "998").split(), ["1", "11", "999"], "all")


@case
def a_start_on_a_full_disk():
    """a start on a full disk, after a stop or a kill, serves reads and refuses writes.
    With space service returns, and everything that was read exists after the next kill."""
    for is_killed in (False, True):
        with Directory() as path, small_disk(path, "8M"):
            with durable(path, "no") as server:
                for i in range(20):
                    equal(server.redis_cli("SET", str(i), "7").strip(), "OK", "set")
                if is_killed:
                    server.end_by_kill()
            ballast = path / "ballast"
            with open(ballast, "wb", buffering=0) as file, contextlib.suppress(OSError):
                while file.write(bytes(1 << 12)) == 1 << 12:
                    pass
            with durable(path, "always", errors="cannot (be )?ma[dk]e|no snapshot was written") as server:
                equal(server.redis_cli("DBSIZE").strip(), "20", "reads")
                refused = server.redis_cli("SET", "1", "8")
                check("MISCONF" in refused, refused)
                ballast.unlink()
                eventually(lambda: server.redis_cli("SET", "1", "8").strip() == "OK", "service returns")
                server.end_by_kill()
            with durable(path, "always") as server:
                equal(server.redis_cli("MGET", "0", "1", "19").split(), ["7", "8", "7"], "all")


@case
def a_directory_that_is_removed():
    """a removed data directory is noticed without a write; with a new one service returns and every write exists.
    Without one the stop logs the loss and fails."""
    said = "removed|no snapshot|lost|cannot (be )?ma[dk]e|may lack"
    for is_made_again in (False, True):
        with Directory() as path:
            with durable(path, "always", errors=said, stop_rc=int(not is_made_again)) as server:
                equal(server.redis_cli("SET", "1", "2").strip(), "OK", "set")
                shutil.rmtree(path)
                eventually(lambda: "the files of the log were removed" in server.log(), "noticed")
                check("MISCONF" in server.redis_cli("SET", "1", "3"), "refused")
                if is_made_again:
                    path.mkdir()
                    eventually(lambda: server.redis_cli("SET", "2", "4").strip() == "OK", "service returns")
                    server.end_by_kill()
            if is_made_again:
                with durable(path, "always") as server:
                    equal(server.redis_cli("MGET", "1", "2").split(), ["2", "4"], "all")


if __name__ == "__main__":
    main()
