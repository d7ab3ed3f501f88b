#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""many_moves - many moves of slots under load, while nodes and the program that shows the moves are killed: run by
hand.

    tests/integration/many_moves.py MOVES [SEED [shards]]

In half of the moves a node kills itself at a random step, or is killed after a random time, and restarts. After every
20 moves all clients stop, and the script checks every key and its expiry time. The last line has the statistics. With
`shards` each move is between shards with replicas. In each a primary is killed at a random step, a topology promotes
its replica, and the slots move back.
"""

import random
import sys
import time

import test_shard_moves as shard_moves
from harness import eventually
from moving import SOURCE_FAULTS, TARGET_FAULTS, Load, check_nodes, cluster, moved_at_last, mover, wait_killed
from timed_keys import TimedLoad


def one_move(servers, rand, figures):
    """One move between two nodes, perhaps with a kill."""
    source, target = rand.sample(range(len(servers)), 2)
    first = rand.randrange(16300)
    owner = servers[source].ask("CLUSTER", "SLOTS")
    mine = [row[:2] for row in owner if row[2][1] == servers[source].port]
    if not mine:
        return
    low, high = rand.choice(mine)
    first = rand.randrange(low, high + 1)
    slots = f"{first}-{min(high, first + rand.randrange(300))}"
    kind = rand.choice(["none", "none", "fault", "time"])
    victim = None
    if kind == "fault":
        victim, faults = rand.choice([(source, SOURCE_FAULTS), (target, TARGET_FAULTS)])
        servers[victim].restart(rand.choice(faults))
    process = mover(servers, slots, f"s{source}", f"s{target}")
    if kind == "fault":
        wait_killed(servers[victim])
    elif kind == "time":
        time.sleep(rand.random() * 0.3)
        victim = rand.choice([source, target])
        servers[victim].kill()
    if victim is not None:
        figures["kills"] += 1
        if rand.random() < 0.3:
            process.kill()
            figures["movers killed"] += 1
        servers[victim].restart()
    process.communicate(timeout=180)
    moved_at_last(servers, slots, f"s{source}", f"s{target}")
    figures["moves"] += 1
    figures["freezes"].append(max(int(server.status()["freeze_us"]) for server in servers))


def many_fail_overs(wanted, rand):
    """Moves between shards. In each a primary is killed."""
    began, done = time.monotonic(), 0
    while done < wanted:
        with shard_moves.shards(files=True) as servers, shard_moves.WaitLoad(servers, rand.randrange(2**32)) as load:
            primaries = [0, 1]
            eventually(lambda load=load: sum(load.answered.values()) > 100 or load.faults, "keys are there")
            for _ in range(min(20, wanted - done)):
                shard_moves.fail_over(servers, primaries, *rand.choice(shard_moves.KILLS))
                done += 1
            load.end()
            load.check()
            shard_moves.check_shards(servers)
        print(f"{done} fail-overs, {sum(load.answered.values())} writes were waited for, {time.monotonic() - began:.0f} s",
              flush=True)
    print(f"ok {done} fail-overs, {2 * done} moves")


def main():
    wanted, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(2**32)
    print(f"SEED {seed}", flush=True)
    rand = random.Random(seed)
    if sys.argv[3:] == ["shards"]:
        many_fail_overs(wanted, rand)
        return
    figures = {"moves": 0, "kills": 0, "movers killed": 0, "times": 0, "freezes": []}
    began = time.monotonic()
    with cluster(3, "--backend", "cpu", durable=True) as servers:
        while figures["moves"] < wanted:
            with Load(servers, rand.randrange(2**32), keys=200, tolerates=True,
                      number=figures["moves"]) as load:
                eventually(lambda load=load: sum(load.answered.values()) > 200, "keys are there")
                timed = TimedLoad(servers, rand.randrange(2**32), tolerates=True, base=10**15 + figures["moves"] * 10**9)
                for _ in range(min(20, wanted - figures["moves"])):
                    one_move(servers, rand, figures)
                load.end()
                load.check()
                figures["times"] += timed.end()
            check_nodes(servers)
            print(f"{figures['moves']} moves, {figures['kills']} kills, {time.monotonic() - began:.0f} s", flush=True)
    freezes = sorted(figures.pop("freezes"))
    print(f"ok {figures}, freeze p50 {freezes[len(freezes) // 2] / 1000:.1f} ms, most {freezes[-1] / 1000:.1f} ms, "
          f"{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
