#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Random plans of a durable daemon beside a model: writes of every kind by both protocols, snapshots, rewrites, failing
disks, kills and restarts with other options. After each restart the daemon has the state after some prefix of each
connection's writes, with every answered write in it.

SHERWOOD_PLANS=N sets the number of plans; SHERWOOD_SEED=N repeats a run that failed.
"""

import os
import random
import time

from data_directory import Directory
from drawn_writes import Client, held
from faults import ERRORS, RUNNING, Faults
from harness import Server, case, check, drawn_seed, equal, eventually, main

PLANS = int(os.environ.get("SHERWOOD_PLANS", 6))
LIVES = 5
CLIENTS = 3
LEVELS = ("always", "everysec", "no")
EXPECTED = "of the log has failed|no snapshot was written|cannot make the next segment|cannot be made|may lack"


# --- a plan ------------------------------------------------------------------------------------------
def shape(rng):
    """Returns the options of the next run: each must load what the run before has left."""
    return ("--appendfsync", rng.choice(LEVELS), "--capacity", rng.choice(["16K", "64K", "1M"]),
            "--seed", str(rng.randrange(1, 100)), "--loops", rng.choice(["1", "2"]), "--log-segment-bytes", "1M",
            "--frame-ops-max", "256", "--round-ops-max", rng.choice(["256", "1024"]),
            "--snapshots-keep", rng.choice(["1", "2"]))


def disturb(rng, server, faults):
    """Disturbs the server once during the writes. Returns whether it may refuse writes then."""
    what = rng.choice(["SAVE", "BGSAVE", "BGREWRITEAOF", "slow", "part", "wait", *RUNNING])
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
            state.clear()


def end_of_life(rng, server, clients, faults):
    """Ends the run by kill -9 during the writes, or by a stop after them. Returns how it ended."""
    if rng.random() < 0.75:
        server.end_by_kill()
        ended = "killed"
    else:
        faults.end()
        for client in clients:
            client.rests.set()
        ended = "stopped"
    for client in clients:
        client.join(30)
        check(not client.is_alive(), f"a client does not end, {ended}")
    return ended


def one_life(rng, path, engine, number, before):
    """Starts, compares with what the life before may have left, writes, disturbs, ends. Returns the clients of this life,
    and whether its log may have broken."""
    clients, may_refuse = before
    faults = Faults()
    states = []
    with Server("--data-dir", str(path), "--appendonly", "yes", "--engine", engine, *shape(rng), errors=EXPECTED,
                environment=faults.environment()) as server:
        for client in range(CLIENTS):
            state = held(server, client)
            if clients:
                clients[client].check(state, f"life {number}", may_refuse)
            states.append(state)
        equal(server.metrics()["sherwood_db_keys"], sum(map(len, states)), "keys")
        clear(rng, server, states)
        clients = [Client(server, client, rng.randrange(2**32), states[client]) for client in range(CLIENTS)]
        for client in clients:
            client.start()
        may_refuse = any([disturb(rng, server, faults) for _ in range(rng.randrange(4))])
        time.sleep(rng.uniform(0.01, 0.15))
        if end_of_life(rng, server, clients, faults) == "stopped":
            eventually(lambda: server.metrics()["sherwood_persistence_log_broken"] == 0, "the log continues")
        equal(faults.repeated, 0, "files were used again of which a sync had failed")
    return clients, may_refuse


@case
def random_plans():
    """after random plans of writes, snapshots, faults, kills and restarts the daemon has what the model has"""
    seed = drawn_seed()
    rng = random.Random(seed)
    answered = 0
    for _ in range(PLANS):
        with Directory() as path:
            engine, before = rng.choice(["robin_hood", "robin_hood", "cuckoo"]), ([], False)
            for number in range(LIVES):
                before = one_life(rng, path, engine, number, before)
                answered += sum(client.answered for client in before[0])
            one_life(rng, path, engine, LIVES, before)
    check(answered > 10 * PLANS * LIVES, f"{answered} writes were answered")


if __name__ == "__main__":
    main()
