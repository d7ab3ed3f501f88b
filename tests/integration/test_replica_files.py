#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Replication and data directories: what a primary's files hold after its death, its replicas hold again.

SHERWOOD_SEED=N repeats a run that failed."""

import random

from data_directory import Directory, durable
from harness import case, check, drawn_seed, equal, eventually, free_port, main
from replication import SMALL, Load, ask, caught_up, info, replica_of, session, to_be_killed

FILES = (*SMALL, "--log-segment-bytes", "1M")


def logged(directory, level, *flags):
    """A daemon with a log, that replicas fit."""
    return durable(directory, level, *FILES, *flags)


@case
def primary_with_a_log():
    """a primary with a log and snapshots is killed and comes back: its replica has what the files have"""
    draw = random.Random(drawn_seed())
    port = str(free_port())
    with Directory() as directory:
        level = draw.choice(("always", "everysec"))
        with to_be_killed(logged(directory, level, "--port", port)) as primary, replica_of(port) as replica:
            load = Load(primary, draw.randrange(2**32), flushes=False)
            eventually(lambda: info(replica)["master_link_status"] == "up" and load.written > 30, "the load goes on")
            ask(primary, "BGSAVE")
            with session(primary) as replies:
                replies.ask("SET", 5000, 1)
                equal(replies.ask("WAIT", 1, 20000), 1, "the replica has it")
            eventually(lambda: ask(primary, "LASTSAVE") > 0, "a snapshot")
            history = info(primary)["master_replid"]
            primary.kill()
            load.end()
            with logged(directory, level, "--port", port) as again:
                equal(ask(again, "GET", 5000), b"1", "what WAIT counted is in the files")
                eventually(lambda: info(replica)["master_replid"] not in (history, "0" * 40), "another history")
                ask(again, "SET", 5001, 2)
                check(caught_up(again, replica)[1] > 1, "all of it")


if __name__ == "__main__":
    main()
