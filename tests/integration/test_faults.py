#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""EIO, syncs that fail and slow disks, injected below the daemon: what is said, that nothing answered is lost, that a
failed sync is never repeated, and that reads do not wait for the disk."""

import json
import subprocess
import threading
import time

import wire
from data_directory import Directory, durable, next_segment
from faults import Faults
from harness import BUILD, Server, case, check, equal, eventually, main, run

LOST = "of the log has failed|no snapshot was written|cannot make the next segment|cannot be made"
LOAD = BUILD / "sherwood-load"
WRITES = 1000  # of 3.3 KB of the log each


def persistence(server, name):
    return server.metrics()[f"sherwood_persistence_{name}"]


def killed(server):
    server.end_by_kill()


@case
def syncs_that_fail():
    """after one failed sync a snapshot replaces its file, which is neither written nor synced again.
    After kill -9 every write exists."""
    for level in ("always", "everysec", "no"):
        faults = Faults()
        with Directory() as path:
            with durable(path, level, errors=LOST, environment=faults.environment()) as server, server.replies() as replies:
                equal(replies.ask("SET", 1, 1), "OK", "set")
                equal(replies.ask("WAITAOF", 1, 0, 5000), [1, 0], "on storage")
                next_segment(path)
                faults.sync.fail(1)
                equal(replies.ask("SET", 1, 2), "OK", "the write is answered")
                if level == "no":
                    equal(replies.ask("WAITAOF", 1, 0, 5000), [1, 0], "a snapshot has it")
                eventually(lambda: persistence(server, "log_mends_total") == 1, "mended")
                eventually(lambda: replies.ask("SET", 2, 3) == "OK", "service")
                equal(replies.ask("WAITAOF", 1, 0, 5000), [1, 0], "synced again, in another file")
                equal((faults.sync.failed, faults.repeated), (1, 0), f"failed, and used again, {level}")
                killed(server)
            with durable(path, "no") as server:
                equal(server.redis_cli("MGET", "1", "2").split(), ["2", "3"], f"all, {level}")


@case
def snapshots_that_fail():
    """a failed write, sync or directory sync fails the snapshot, and is not repeated.
    The snapshot before stays, and the next one succeeds."""
    faults = Faults()
    with Directory() as path:
        with Server("--data-dir", str(path), errors="no snapshot was written", environment=faults.environment()) as server:
            with server.replies() as replies:
                replies.ask("MSET", *range(2000))
                equal(replies.ask("SAVE"), "OK", "the first")
                for number, fault in enumerate((faults.write, faults.sync, faults.folder)):
                    equal(replies.ask("SET", 0, number + 10), "OK", "set")
                    fault.fail(1)
                    refused = replies.ask("SAVE")
                    check(isinstance(refused, wire.Error) and "Input/output error" in refused, refused)
                    check(not (path / "new-snapshot").exists(), "nothing unfinished is left")
                    check("rdb_last_bgsave_status:err" in replies.ask("INFO", "persistence").decode(), "INFO")
                    equal(replies.ask("SAVE"), "OK", "the next")
                equal(faults.repeated, 0, "what failed is not used again")
            killed(server)
        with Server("--data-dir", str(path)) as server:
            equal(server.redis_cli("MGET", "0", "1998").split(), ["12", "1999"], "the last one")


# --- a slow disk -----------------------------------------------------------------------------------
def load(server, operation, seconds, *words):
    return [str(word) for word in (LOAD, "-a", server.address(), "--protocol", "resp", "-n", 1000, "--key-bits", 64, "-t", 1,
                                   "-d", 1, "-o", operation, *(("--seconds", seconds) if seconds else ()), "--json", *words)]


def latency(text):
    report = json.loads(text[text.index("{"):])
    check(report["ok"], text)
    return report["phases"][-1]["latency_us"]


def gets(server):
    return latency(run(*load(server, "get", 1, "-c", 4)))["p99"]


@case
def a_slow_disk():
    """while writes wait for a slow disk, the 99th percentile of GETs is at most twice that without writes"""
    faults = Faults()
    with Directory() as path:
        with durable(path, "always", environment=faults.environment()) as server:
            run(*load(server, "set", None, "-c", 4))
            faults.sync.us, faults.write.us = 100000, 20000
            told = []
            end = time.monotonic() + 90
            while time.monotonic() < end and not (told and told[-1][1] <= 2 * told[-1][0]):
                alone = gets(server)
                with subprocess.Popen(load(server, "set", 2, "-c", 8), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                      text=True) as sets:
                    time.sleep(0.5)
                    beside = gets(server)
                    lasted = sets.poll() is None
                    slow = latency(sets.communicate(timeout=60)[0])
                check(slow["p50"] > 100000, f"the sets wait for the disk: {slow}")
                told += [(alone, beside)] if lasted else [] # a busy machine may have begun the GETs too late
            check(told and told[-1][1] <= 2 * told[-1][0], f"99th percentiles without and beside, us: {told}")
            check(persistence(server, "log_backlog_bytes") < 1 << 20, "what waits to be written")
            faults.end()


@case
def a_disk_that_hangs():
    """while writes of the log take seconds, the backlog is bounded and GETs are answered.
    In the end every write is answered."""
    faults = Faults()
    with Directory() as path:
        with durable(path, "always", "--log-backlog-bytes", "1M", environment=faults.environment()) as server:
            with server.connect() as one, server.connect() as two:
                writes, reads = wire.Replies(one), wire.Replies(two)
                equal(writes.ask("SET", 1, 0), "OK", "set")
                faults.write.us = 2000000
                text = wire.command("MSET", *(word for key in range(200) for word in (key, 7)))
                one.settimeout(60)
                sender = threading.Thread(target=one.sendall, args=(text * WRITES,))
                sender.start()
                most, answered, end, last = 0, 0, time.monotonic() + 1.5, time.monotonic() + 30
                while time.monotonic() < end or (time.monotonic() < last and (answered < 100 or most == 0)):
                    check(reads.ask("GET", 1) is not None, "get")
                    answered += 1
                    most = max(most, persistence(server, "log_backlog_bytes")) if answered % 100 == 0 else most
                check(answered >= 100, f"{answered} GETs")
                # a round or two of 1024 operations of 17 bytes may pass beside each other
                check(0 < most < (1 << 20) + (1 << 16), f"{most} bytes waited to be written")
                faults.end()
                equal([writes.read() for _ in range(WRITES)], ["OK"] * WRITES, "the writes")
                sender.join()
            killed(server)
        with durable(path, "no") as server:
            equal(server.redis_cli("GET", "199").strip(), "7", "all")


if __name__ == "__main__":
    main()
