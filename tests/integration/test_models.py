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
import table_files  # noqa: E402
import table_order  # noqa: E402
import table_replicas  # noqa: E402
import table_swaps  # noqa: E402


def holds(least, explore, *models):
    """Checks that no history of these models has a fault, and that each has more than `least` states."""
    for model in models:
        wrong, path, states = explore(model)
        equal(wrong, None, path)
        check(states > least, f"all {states} states were seen")


def needs(module, without, model_of, explore=None):
    """Checks that without a rule this fault is found after so many steps."""
    for rule, fault in without.items():
        found, path, _ = (explore or module.explore)(model_of(rule))
        equal((found, len(path)), tuple(fault), f"without {rule}: {path}")


@case
def static_moves_hold():
    """model of a slot's move with state files: two nodes never both serve; acknowledged writes stay, in order"""
    holds(30000, static_moves.explore, static_moves.Model())


@case
def static_moves_need_each_rule():
    """model of a slot's move with state files: without any one rule a fault is found"""
    without = {"handed_is_durable": ("both serve", 8), "freeze": ("both serve", 6), "ask_target": ("both serve", 8),
               "sync_first": ("lost", 10), "purge": ("order", 13), "by_sequence": ("lost", 13)}
    equal(set(without), set(static_moves.RULES), "every rule is tried")
    needs(static_moves, without, lambda rule: static_moves.Model(off=rule))


@case
def expiring_moves_hold():
    """model of an expiring key's move between two clocks: it is never revived, lost, or refused by the target"""
    holds(10000, expiring_moves.explore, expiring_moves.Model())


@case
def expiring_moves_need_each_rule():
    """model of an expiring key's move: without any one rule a fault is found"""
    without = {"hold": ("differs", 8), "no_clock": ("differs", 9), "named": ("differs", 8), "judged": ("differs", 8),
               "living": ("back again", 8), "instant": ("differs", 8)}
    equal(set(without), set(expiring_moves.RULES), "every rule is tried")
    needs(expiring_moves, without, lambda rule: expiring_moves.Model(off=rule))


SHARDS_WITHOUT = {"source_tells": ("both serve", 8), "asks_first": ("both serve", 9), "secured": ("lost", 11),
                  "target_tells": ("lost", 11), "own_attempt": ("both serve", 11), "newest": ("lost", 13),
                  "refuses": ("both serve", 9)}
# the same while topologies are pushed
PUSHES_WITHOUT = {"answers": ("stuck", 8), "renews": ("stuck", 7), "keeps": ("stuck", 11)}


@case
def shard_moves_hold():
    """model of moves between shards whose primaries die: two nodes never both serve; counted writes stay"""
    holds(5000, shard_moves.explore, shard_moves.Model(writes=1), shard_moves.Model(attempts=1))


@case
def shard_moves_need_each_rule():
    """model of moves between shards: without any one rule a fault is found"""
    equal({*SHARDS_WITHOUT, *PUSHES_WITHOUT}, set(shard_moves.RULES), "every rule is tried")
    needs(shard_moves, SHARDS_WITHOUT, lambda rule: shard_moves.Model(off=rule, writes=1))


@case
def shard_moves_go_on():
    """model: a topology of a higher epoch during a move loses nothing, and the slot is served in the end"""
    def model(rule=None):
        return shard_moves.Model(off=rule, writes=1, attempts=1, pushes=True)
    for search in (shard_moves.explore, shard_moves.stuck):
        holds(10000, search, model())
    needs(shard_moves, PUSHES_WITHOUT, model, shard_moves.stuck)
    needs(shard_moves, {"keeps": ("lost", 14)}, model)


@case
def registry_holds():
    """model of a topology in etcd: no unseen change is overwritten, no reply is false, an old primary writes nothing"""
    holds(500, registry.explore, *(registry.Model(operators=operators, members=members, messages=2)
                                   for operators, members in ((2, 0), (1, 1), (0, 2))))
    without = {"compares": ("overwritten", 4), "looks": ("told no", 3), "mark": ("told no", 4), "fence": ("deposed", 4)}
    equal(set(without), set(registry.RULES), "every rule is tried")
    needs(registry, without, lambda rule: registry.Model(off=rule, operators=0 if rule == "fence" else 2,
                                                         members=2 if rule == "fence" else 0))


# Rule: the smallest budget in which its absence is seen, what is seen, and after how many steps.
WRITES, SWAPS, DROPS, BREAKS, ALTERS = (table_files.Budget(*numbers) for numbers in (
    (2, 0, 0, 0, 1), (2, 1, 0, 0, 1), (1, 0, 1, 1, 1), (3, 0, 0, 0, 1, 1), (0, 2, 0, 0, 1, 0, 2)))
FILES_WITHOUT = {"name-waits-for-log": (WRITES, "not a prefix", 8), "least-through": (WRITES, "a segment is missing", 8),
                 "catalog-last": (WRITES, "a snapshot is missing", 8), "forget-after-catalog": (WRITES, "a segment is missing", 8),
                 "number-in-lock": (WRITES, "not a prefix", 8), "through-in-lock": (WRITES, "not a prefix", 7),
                 "skip-by-table": (WRITES, "not a prefix", 7), "files-by-catalog": (DROPS, "a snapshot is missing", 8),
                 "ids-once": (DROPS, "not a prefix", 9), "changes-by-catalog": (SWAPS, "not a prefix", 6),
                 "catalog-in-mutex": (SWAPS, "not a prefix", 7), "mend-all": (BREAKS, "a segment is missing", 7),
                 "alter-by-record": (ALTERS, "not a prefix", 2), "swap-has-options": (ALTERS, "not a prefix", 2),
                 "own-options": (ALTERS, "not a prefix", 7)}


@case
def table_files_hold():
    """model of one log and the catalogs of several tables: a start behind any crash finds a prefix with all that is durable"""
    budgets = (SWAPS, DROPS, BREAKS, ALTERS, table_files.Budget(2, 0, 0, 0, 2), table_files.Budget(2, 0, 1, 0, 1, 1))
    holds(7000, table_files.explore, *map(table_files.Model, budgets))


@case
def table_files_need_each_rule():
    """model of the files of several tables: without any one rule a fault is found"""
    equal(set(FILES_WITHOUT), set(table_files.RULES), "every rule is tried")
    needs(table_files, {rule: fault for rule, (_, *fault) in FILES_WITHOUT.items()},
          lambda rule: table_files.Model(FILES_WITHOUT[rule][0], off=rule))


@case
def table_swaps_hold():
    """model of SWAP and DROP beside frames: no request reaches an old table behind the reply, also after a crash"""
    holds(2500, table_swaps.explore, table_swaps.Model())
    without = {"look-again": ("old table", 6), "number-before-publish": ("wrong place", 7),
               "answer-after-publish": ("old table", 5), "answer-when-durable": ("undone", 3), "drop-drains": ("freed", 8)}
    equal(set(without), set(table_swaps.RULES), "every rule is tried")
    needs(table_swaps, without, lambda rule: table_swaps.Model(off=rule))


REPLICAS_WITHOUT = {"catalog-held": ("another place", 5), "images-later": ("other contents", 6),
                    "image-in-order": ("other contents", 5), "skip-by-table": ("other contents", 8),
                    "serve-at-the-highest": ("other contents", 6), "drop-raises": ("other contents", 6), "no-gap": ("other contents", 7)}


@case
def table_replicas_hold():
    """model of a full synchronisation beside writes, SWAP and DROP: a replica serves what its primary had at one number"""
    for budget in ((2, 1, 1), (3, 0, 0)):
        wrong, path, states = table_replicas.explore(table_replicas.Model(table_replicas.Budget(*budget)))
        equal(wrong, None, path)
        check(states > 5000, f"all {states} states were seen")
    equal(set(REPLICAS_WITHOUT), set(table_replicas.RULES), "every rule is tried")
    for rule, (wrong, steps) in REPLICAS_WITHOUT.items():
        found, path, _ = table_replicas.explore(table_replicas.Model(table_replicas.Budget(2, 1, 1), off=rule))
        equal((found, len(path)), (wrong, steps), f"without {rule}: {path}")


@case
def table_numbers_keep_the_order_sent():
    """model: numbers given when a write is handed to its table keep a prefix of a pipeline; those of launches do not"""
    equal([table_order.lost(at_launch) for at_launch in (False, True)], [(0, 6), (5, 6)], "orders that lose the prefix")


main()
