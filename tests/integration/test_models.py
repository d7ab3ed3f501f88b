#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_models - the models of tests/models: with all their rules no history has a fault, and without any one rule some
has."""

import pathlib
import sys

from harness import case, check, equal, main

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
import expiring_moves  # noqa: E402  (its folder is no package)
import registry  # noqa: E402
import shard_moves  # noqa: E402
import static_moves  # noqa: E402

# Rule: what happens without it, and after how many steps at least.
WITHOUT = {"handed_is_durable": ("both serve", 8), "freeze": ("both serve", 6), "ask_target": ("both serve", 8),
           "sync_first": ("lost", 10), "purge": ("order", 13), "by_sequence": ("lost", 13)}


@case
def static_moves_hold():
    """model of a slot's move with state files: two nodes never both serve; acknowledged writes stay, in order"""
    wrong, path, states = static_moves.explore(static_moves.Model())
    equal(wrong, None, path)
    check(states > 30000, f"all {states} states were seen")


@case
def static_moves_need_each_rule():
    """model of a slot's move with state files: without any one rule a fault is found"""
    equal(set(WITHOUT), set(static_moves.RULES), "every rule is tried")
    for rule, (wrong, steps) in WITHOUT.items():
        found, path, _ = static_moves.explore(static_moves.Model(off=rule))
        equal((found, len(path)), (wrong, steps), f"without {rule}: {path}")


EXPIRING_WITHOUT = {"hold": ("differs", 8), "no_clock": ("differs", 9), "named": ("differs", 8), "judged": ("differs", 8),
                    "living": ("back again", 8), "instant": ("differs", 8)}


@case
def expiring_moves_hold():
    """model of an expiring key's move between two clocks: it is never revived, lost, or refused by the target"""
    wrong, path, states = expiring_moves.explore(expiring_moves.Model())
    equal(wrong, None, path)
    check(states > 10000, f"all {states} states were seen")


@case
def expiring_moves_need_each_rule():
    """model of an expiring key's move: without any one rule a fault is found"""
    equal(set(EXPIRING_WITHOUT), set(expiring_moves.RULES), "every rule is tried")
    for rule, (wrong, steps) in EXPIRING_WITHOUT.items():
        found, path, _ = expiring_moves.explore(expiring_moves.Model(off=rule))
        equal((found, len(path)), (wrong, steps), f"without {rule}: {path}")


SHARDS_WITHOUT = {"source_tells": ("both serve", 8), "asks_first": ("both serve", 9), "secured": ("lost", 11),
                  "target_tells": ("lost", 11), "own_attempt": ("both serve", 11), "newest": ("lost", 13),
                  "refuses": ("both serve", 9)}
# the same while topologies are pushed
PUSHES_WITHOUT = {"answers": ("stuck", 8), "renews": ("stuck", 7), "keeps": ("stuck", 11)}


@case
def shard_moves_hold():
    """model of moves between shards whose primaries die: two nodes never both serve; counted writes stay"""
    for model in (shard_moves.Model(writes=1), shard_moves.Model(attempts=1)):
        wrong, path, states = shard_moves.explore(model)
        equal(wrong, None, path)
        check(states > 5000, f"all {states} states were seen")


@case
def shard_moves_need_each_rule():
    """model of moves between shards: without any one rule a fault is found"""
    equal({*SHARDS_WITHOUT, *PUSHES_WITHOUT}, set(shard_moves.RULES), "every rule is tried")
    for rule, (wrong, steps) in SHARDS_WITHOUT.items():
        found, path, _ = shard_moves.explore(shard_moves.Model(off=rule, writes=1))
        equal((found, len(path)), (wrong, steps), f"without {rule}: {path}")


@case
def shard_moves_go_on():
    """model: a topology of a higher epoch during a move loses nothing, and the slot is served in the end"""
    model = shard_moves.Model(writes=1, attempts=1, pushes=True)
    for search in (shard_moves.explore, shard_moves.stuck):
        wrong, path, states = search(model)
        equal(wrong, None, path)
        check(states > 10000, f"all {states} states were seen")
    for rule, (wrong, steps) in PUSHES_WITHOUT.items():
        found, path, _ = shard_moves.stuck(shard_moves.Model(off=rule, writes=1, attempts=1, pushes=True))
        equal((found, len(path)), (wrong, steps), f"without {rule}: {path}")
    found, path, _ = shard_moves.explore(shard_moves.Model(off="keeps", writes=1, attempts=1, pushes=True))
    equal((found, len(path)), ("lost", 14), f"without keeps: {path}")


REGISTRY_WITHOUT = {"compares": ("overwritten", 4), "looks": ("told no", 3), "mark": ("told no", 4), "fence": ("deposed", 4)}


@case
def registry_holds():
    """model of a topology in etcd: no unseen change is overwritten, no reply is false, an old primary writes nothing"""
    for operators, members in ((2, 0), (1, 1), (0, 2)):
        wrong, path, states = registry.explore(registry.Model(operators=operators, members=members, messages=2))
        equal(wrong, None, path)
        check(states > 500, f"all {states} states were seen")
    equal(set(REGISTRY_WITHOUT), set(registry.RULES), "every rule is tried")
    for rule, (wrong, steps) in REGISTRY_WITHOUT.items():
        deposes = rule == "fence"
        model = registry.Model(off=rule, operators=0 if deposes else 2, members=2 if deposes else 0)
        found, path, _ = registry.explore(model)
        equal((found, len(path)), (wrong, steps), f"without {rule}: {path}")


main()
