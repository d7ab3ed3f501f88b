# SPDX-License-Identifier: MIT
"""search - the search that models of moving slots share: breadth first, so that a fault comes with a shortest way to it."""

import collections


def explore(model, start, fault):
    """Goes through all worlds that model.steps leads to: (fault or None, the names of the steps that lead to it, how many states there are)."""
    came = {start: None}
    waiting = collections.deque([start])
    while waiting:
        world = waiting.popleft()
        for name, following in model.steps(world):
            if following in came:
                continue
            came[following] = (name, world)
            wrong = fault(following)
            if wrong:
                path = []
                while came[following] is not None:
                    name, following = came[following]
                    path.append(name)
                return wrong, path[::-1], len(came)
            waiting.append(following)
    return None, [], len(came)
