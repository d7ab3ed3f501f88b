#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""test_models - the models of tests/models: with all their rules nothing goes wrong, and without any one something does."""

import pathlib
import sys

from harness import case, check, equal, main

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "models"))
import static_moves  # noqa: E402  (its folder is no package)

# Rule: what happens without it, and after how many steps at least.
WITHOUT = {"handed_is_durable": ("both serve", 8), "freeze": ("both serve", 6), "ask_target": ("both serve", 8),
           "sync_first": ("lost", 10), "purge": ("order", 13), "by_sequence": ("lost", 13)}


@case
def static_moves_hold():
    """moving slots with state files: in no history two nodes serve, or an answered write is missing or out of order"""
    wrong, path, states = static_moves.explore(static_moves.Model())
    equal(wrong, None, path)
    check(states > 30000, f"all {states} states were seen")


@case
def static_moves_need_each_rule():
    """and each rule of it is needed"""
    equal(set(WITHOUT), set(static_moves.RULES), "every rule is tried")
    for rule, (wrong, steps) in WITHOUT.items():
        found, path, _ = static_moves.explore(static_moves.Model(off=rule))
        equal((found, len(path)), (wrong, steps), f"without {rule}: {path}")


main()
