#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Rows of a daemon with the CUDA backend on the emulator (make emulated-daemon): their memory, operands of f32, key
strings, and errors."""

import tempfile

import numpy as np

import wire
from collisions import other
from harness import BUILD, Server, case, equal, main

EMULATED = BUILD / "emulator" / "sherwoodd"
CUDA = ("--backend", "cuda", "--capacity", "512", "--max-capacity", "4K", "--stash", "64", "--loops", "1",
        "--frame-ops-max", "512", "--round-ops-max", "512", "--value-bytes", "64")


def row_of(key):
    return bytes(key * 7 + i & 255 for i in range(64))


@case
def in_both_memories():
    """rows fill the GPU memory of --rows-gpu-bytes, then host memory; /metrics and INFO show both sizes"""
    with Server(*CUDA, "--rows-in", "gpu+host", "--rows-gpu-bytes", "32K", program=EMULATED) as server, \
            server.connect() as connection:
        keys = list(range(2000))
        for at in range(0, len(keys), 500):
            part = keys[at:at + 500]
            connection.sendall(wire.cache_frame(wire.SET, part, [row_of(k) for k in part], value_bytes=64))
            equal(wire.read_frame(connection).status, wire.OK, "SET")
        for at in range(0, len(keys), 500):
            part = keys[at:at + 500]
            connection.sendall(wire.cache_frame(wire.GET, part, value_bytes=64, want_values=True))
            equal(wire.read_frame(connection).body[:64 * 500], b"".join(row_of(k) for k in part), "GET")
        samples = server.metrics()
        gpu, host = (samples[f'sherwood_table_row_bytes{{memory="{where}"}}'] for where in ("gpu", "host"))
        equal((gpu, host > 64 * 1400), (32768, True), "row_bytes")
        text = server.ask("INFO", "sherwood").decode()
        info = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
        equal((int(info["row_bytes_gpu"]), int(info["row_bytes_host"])), (gpu, host), "INFO")


@case
def wide_operands():
    """ADD of f32 operands to f16 rows rounds each sum; the log restores the result"""
    with tempfile.TemporaryDirectory() as folder:
        flags = (*CUDA, "--value-type", "f16", "--data-dir", folder, "--appendonly", "yes", "--appendfsync", "no")
        row = np.zeros(32, np.float16)
        with Server(*flags, program=EMULATED, stop_rc=-9) as server, server.connect() as connection:
            for _ in range(2):
                operands = [(np.arange(32, dtype=np.float32) + k) / 3000 for k in range(8)]
                connection.sendall(wire.cache_frame(wire.ADD_F16, [5] * 8, [o.tobytes() for o in operands],
                                                    value_bytes=64, operand_type=4))
                equal(wire.read_frame(connection).status, wire.OK, "ADD")
                for operand in operands:
                    row = (row.astype(np.float32) + operand).astype(np.float16)
            server.kill()
        with Server(*flags, program=EMULATED) as server, server.connect() as connection:
            equal(wire.Replies(connection).ask("GET", 5), row.tobytes(), "the row, from the log")


TEXTS = (*CUDA[:-2], "--resp-keys", "hash", "--resp-key-text-bytes", "30", "--value-bytes", "12", "--value-type", "string")
COLLISION = wire.Error("COLLISION an existing key has the same hash (--resp-keys hash); nothing was changed")


@case
def texts_of_keys():
    """two key strings with one hash give an error, in pipelines and transactions; SCAN shows strings"""
    one, twin = b"user:1000:name", other(b"user:1000:name")
    with Server(*TEXTS, program=EMULATED) as server, server.connect() as connection:
        replies = wire.Replies(connection)

        def pipeline(*commands):
            connection.sendall(b"".join(wire.command(*words) for words in commands))
            return [replies.read() for _ in commands]

        equal(pipeline(("SET", one, 1), ("GET", twin), ("DEL", one), ("SET", twin, 2), ("GET", one), ("MGET", twin)),
              ["OK", COLLISION, 1, "OK", COLLISION, [b"2"]], "a pipeline")
        equal(pipeline(("MULTI",), ("DEL", twin), ("SET", one, 3), ("GET", one), ("EXEC",))[-1], [1, "OK", b"3"],
              "the one leaves, the other comes")
        equal(pipeline(("MULTI",), ("SET", b"beside", 1), ("GET", twin), ("EXEC",))[-1], COLLISION, "all or nothing")
        equal([replies.ask("EXISTS", b"beside"), replies.ask("DEL", twin), replies.ask("GET", one)], [0, COLLISION, b"3"], "nothing")
        equal([replies.ask("DEL", one), replies.ask("MSET", one, 1, twin, 2), replies.ask("DBSIZE")], [1, COLLISION, 0], "in itself")
        keys = [b"key:%d" % i for i in range(200)]
        equal(replies.ask("MSET", *(word for key in keys for word in (key, b"v"))), "OK", "MSET")
        equal(sorted(replies.ask("KEYS", "*")), sorted(keys), "KEYS")
        equal(server.metrics()["sherwood_key_collisions_total"], 5, "counted")
        equal(replies.ask("INCR", 1), 1, "INCR of a string")
        equal(replies.ask("SUM", 1, 2), wire.Error("ERR the robin_hood engine has no SUM for rows: values are not integers; " + wire.INTEGERS), "SUM")


@case
def texts_are_kept():
    """the log and snapshots keep key strings: after restarts a key with another one's hash is still refused"""
    keys = [b"kept:%d" % i for i in range(5)]
    with tempfile.TemporaryDirectory() as folder:
        flags = (*TEXTS, "--data-dir", folder, "--appendonly", "yes", "--appendfsync", "no")
        for life, by_kill in enumerate((True, True, False)):
            with Server(*flags, program=EMULATED, stop_rc=-9 if by_kill else 0) as server, server.replies() as replies:
                for key in keys:
                    equal(replies.ask("GET", key), b"v%d" % (life - 1) if life > 0 else None, "what was there")
                    equal(replies.ask("SET", other(key), "x"), COLLISION if life > 0 else "OK", "its twin")
                    if life == 0:
                        equal(replies.ask("DEL", other(key)), 1, "DEL")
                    equal(replies.ask("SET", key, b"v%d" % life), "OK", "SET")
                equal(sorted(replies.ask("KEYS", "*")), sorted(keys), "KEYS")
                if life == 1:
                    equal(replies.ask("SAVE"), "OK", "SAVE")
                if by_kill:
                    server.kill()


if __name__ == "__main__":
    main()
