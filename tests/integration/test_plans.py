#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Random plans of a durable daemon beside a model: writes of every kind by both protocols on tables of every kind, snapshots,
rewrites, failing disks, kills and restarts with other options. After each restart the daemon has the state after some prefix of each
connection's writes, with every answered write in it.

SHERWOOD_PLANS=N sets the number of plans for each kind of table; SHERWOOD_SEED=N repeats a run that failed.
"""

import csv
import io
import os
import random
import shutil
import subprocess
import time

from data_directory import Directory
from drawn_writes import Client, held
from faults import ERRORS, RUNNING, Faults
from harness import BUILD, SANITIZED, Server, case, check, drawn_seed, equal, eventually, main, run
from matrix import SHAPES, Table
from matrix_commands import ROWS

CLI = BUILD / "sherwood-cli"
PLANS = int(os.environ.get("SHERWOOD_PLANS", 1))
LIVES = 5
CLIENTS = 3
LEVELS = ("always", "everysec", "no")
EXPECTED = "of the log has failed|no snapshot was written|cannot make the next segment|cannot be made|may lack"


# --- a plan ------------------------------------------------------------------------------------------
def options(rng, shape):
    """Returns the options of the next run: each must load what the run before has left."""
    return (*shape.options, "--appendfsync", rng.choice(LEVELS), "--capacity", rng.choice(["16K", "64K", "1M"]),
            "--seed", str(rng.randrange(1, 100)), "--loops", rng.choice(["1", "2"]), "--log-segment-bytes", "1M",
            "--frame-ops-max", "256", "--round-ops-max", rng.choice(["256", "1024"]),
            "--snapshots-keep", rng.choice(["1", "2"]))


def disturb(rng, server, faults):
    """Disturbs the server once during the writes. Returns whether it may refuse writes then."""
    what = rng.choice(["SAVE", "BGSAVE", "BGREWRITEAOF", "wait", *(["slow", "part", *RUNNING] if faults else [])])
    if what in ("SAVE", "BGSAVE", "BGREWRITEAOF"):
        server.ask(what)  # it may be refused, where one is written
    elif what == "slow":
        faults.sync.us = rng.choice([0, 2000, 20000])
    elif what == "part":
        faults.write.fail(rng.randrange(1, 9), 0, rng.randrange(9))
    elif what in RUNNING:
        getattr(faults, what).fail(rng.randrange(1, 4), rng.choice(ERRORS[what]), rng.randrange(9))
    time.sleep(rng.uniform(0, 0.05))
    return what in RUNNING


def clear(rng, server, states):
    """FLUSHALL, when nobody writes."""
    if rng.random() < 0.2:
        equal(server.ask("FLUSHALL"), "OK", "FLUSHALL")
        for state in states:
            state.values.clear()
            state.times.clear()


def end_of_life(rng, server, clients, faults):
    """Ends the run by kill -9 during the writes, or by a stop after them. Returns how it ended."""
    if rng.random() < 0.75:
        server.end_by_kill()
        ended = "killed"
    else:
        if faults:
            faults.end()
        for client in clients:
            client.rests.set()
        ended = "stopped"
    for client in clients:
        client.join(30)
        check(not client.is_alive(), f"a client does not end, {ended}")
    return ended


def kill_at_start(rng, flags):
    """Kills a daemon at a random moment of its start."""
    server = Server(*flags)
    process = subprocess.Popen([str(server.program)] + server.flags, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(rng.uniform(0, 0.03))
    process.kill()
    process.wait()
    shutil.rmtree(server.directory, ignore_errors=True)


def exported(path, shape):
    """Returns what the log alone has, as sherwood-cli prints it. None: a snapshot precedes it, or keys have times."""
    if list(path.glob("snapshot-*")) or shape.engine != "cuckoo":
        return None
    table, rows = Table(shape), {row.name: row for row in ROWS}
    for line in csv.DictReader(io.StringIO(run(CLI, "log", "export", path))):
        name, key, operand = line["operation"], int(line["key"] or 0), int(line["operand"] or 0)
        if name == "CLEAR":
            table.values.clear()
        else:
            table.apply(rows[name], key, operand)
    return table.values


def one_life(rng, path, shape, number, before):
    """Starts, compares with what the life before may have left, writes, disturbs, ends. Returns the clients of this life,
    and whether its log may have broken."""
    clients, may_refuse = before
    faults = None if SANITIZED else Faults()  # a sanitizer must be the first library
    states = []
    flags = ("--data-dir", str(path), "--appendonly", "yes", *options(rng, shape))
    if rng.random() < 0.1:
        kill_at_start(rng, flags)
    from_log = None
    if clients and not may_refuse:
        run(CLI, "log", "check", path)
        from_log = exported(path, shape)
    with Server(*flags, errors=EXPECTED, environment=faults and faults.environment()) as server:
        for client in range(CLIENTS):
            state = held(server, client, shape)
            if clients:
                clients[client].check(state, f"life {number}", may_refuse)
            states.append(state)
        if from_log is not None:
            equal({key: value for state in states for key, value in state.values.items()}, from_log, "the daemon, and the log")
        equal(server.metrics()["sherwood_db_keys"], sum(len(state.values) for state in states), "keys")
        clear(rng, server, states)
        clients = [Client(server, client, rng.randrange(2**32), states[client]) for client in range(CLIENTS)]
        for client in clients:
            client.start()
        may_refuse = any([disturb(rng, server, faults) for _ in range(rng.randrange(4))])
        time.sleep(rng.uniform(0.01, 0.15))
        if end_of_life(rng, server, clients, faults) == "stopped":
            eventually(lambda: server.metrics()["sherwood_persistence_log_broken"] == 0, "the log continues")
        equal(faults.repeated if faults else 0, 0, "files were used again of which a sync had failed")
    return clients, may_refuse


@case
def random_plans():
    """after random plans of writes, snapshots, faults, kills and restarts the daemon has what the model has"""
    seed = drawn_seed()
    rng = random.Random(seed)
    answered = 0
    # Random bytes may be NaN as floats, and default times depend on the clock.
    shapes = [shape for shape in SHAPES if shape.engine != "cache" and shape.numbers != "bytes" and not shape.default_ms and not shape.ids]
    for shape in (rng.sample(shapes, 3) if SANITIZED else shapes) * PLANS:
        with Directory() as path:
            before = [], False
            for number in range(LIVES):
                before = one_life(rng, path, shape, number, before)
                answered += sum(client.answered for client in before[0])
            one_life(rng, path, shape, LIVES, before)
    check(answered > 100 * LIVES, f"{answered} writes were answered")


if __name__ == "__main__":
    main()
