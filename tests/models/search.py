# SPDX-License-Identifier: MIT
"""search - the breadth-first search of the models. It finds a shortest path to a fault."""

import collections


def path_to(came, world):
    """Returns the names of the steps that led to the world."""
    path = []
    while came[world] is not None:
        name, world = came[world]
        path.append(name)
    return path[::-1]


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
                return wrong, path_to(came, following), len(came)
            waiting.append(following)
    return None, [], len(came)


def stuck(model, start, is_good):
    """The same for worlds from which no steps of model.own lead to a good one: "stuck" instead of a fault."""
    came, before = {start: None}, {start: []}
    waiting = collections.deque([start])
    while waiting:
        world = waiting.popleft()
        for name, following in model.steps(world):
            if following not in came:
                came[following] = (name, world)
                before[following] = []
                waiting.append(following)
        for _, following in model.own(world):
            before[following].append(world)
    good = {world for world in came if is_good(world)}
    waiting.extend(good)
    while waiting:
        for world in before[waiting.popleft()]:
            if world not in good:
                good.add(world)
                waiting.append(world)
    for world in came:
        if world not in good:
            return "stuck", path_to(came, world), len(came)
    return None, [], len(came)
