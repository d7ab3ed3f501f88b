# SPDX-License-Identifier: MIT
"""shard_moves - model of the move of a slot between two shards, each with a primary and a replica.

It adds what static_moves.py leaves out: nodes that die and do not return, and a topology that makes the replica the primary
of its shard. A write counts once the replica has it (WAIT). Data are the writes in their order. A replica that becomes the
primary continues the move from the last record that its primary sent it. Messages between the shards arrive whole and in
order within an attempt, or not at all (in static_moves.py they may be late and out of order).

With `pushes` there is a topology from before the decision, with the slot at the source and a higher epoch than the target's
decision. It reaches the nodes of the target's shard one by one, or not at all. No history may then lead to a state in which
no step of the nodes lets the slot be served again (stuck). Deaths and pushes are not steps of the nodes.

Rules can be switched off one by one: each of them must be needed.
"""

import collections

import search

RULES = {
    "source_tells": "the source's replica knows that the slot is handed over before the target hears of it",
    "asks_first": "a replica that is made the primary and knows of a slot that was handed over asks before it serves it",
    "secured": "the target decides only when its replica has what came",
    "target_tells": "the target serves only when its replica knows the decision",
    "own_attempt": "a new primary of the target decides no attempt of the old one",
    "newest": "a replica that knows that the slot came is not made the primary by a topology without it",
    "refuses": "the target answers that an attempt is not decided only if it never will be",
    "answers": "the target tells the source that it has decided only when its replica knows that",
    "renews": "a target whose replica has a newer topology decides anew in that one, and tells again",
    "keeps": "a replica that knows that the slot came takes no topology without it, but from its primary",
}
PUSHED, LATER = 9, 99  # epochs: of the topology that is pushed, and of one that makes the replica the primary

OWNS, HANDED, GONE = "owns", "handed", "gone"
# A node of the source's shard: does it live, its state, the attempt that it was handed over in, its data.
Source = collections.namedtuple("Source", "lives state attempt data")
# A node of the target's shard: does it live, has it decided, does it serve, the last attempt that it began or refused, the
# attempt that it takes (0: none), has it everything of that, its data, the epoch of its topology.
Target = collections.namedtuple("Target", "lives decided serves last takes whole data epoch")
# leads: the primary of each shard, 0 or 1. `final`: attempts whose FINAL is on its way; `no`: refused attempts.
World = collections.namedtuple("World", "sources targets leads final no answered written attempts")

START = World((Source(True, OWNS, 0, ()), Source(True, OWNS, 0, ())),
              (Target(True, False, False, 0, 0, False, (), 0), Target(True, False, False, 0, 0, False, (), 0)),
              (0, 0), frozenset(), frozenset(), (), 0, 0)


def serving(world):
    """Returns the data of every node that serves the slot."""
    source, target = world.sources[world.leads[0]], world.targets[world.leads[1]]
    return ([source.data] if source.lives and source.state == OWNS else []) + \
           ([target.data] if target.lives and target.serves else [])


def fault(world):
    """Returns what is wrong in this state, or None."""
    data = serving(world)
    if len(data) > 1:
        return "both serve"
    if data and any(a >= b for a, b in zip(data[0], data[0][1:])):
        return "order"
    return "lost" if data and not set(world.answered) <= set(data[0]) else None


class Model:
    def __init__(self, off=None, writes=2, attempts=2, pushes=False):
        self.on = {rule: rule != off for rule in RULES}
        self.writes, self.attempts, self.pushes = writes, attempts, pushes

    def steps(self, world):
        """Yields (name, world) of every possible next step."""
        yield from self.own(world)
        yield from self.dies(world)
        if self.pushes:
            yield from self.pushed(world)

    def own(self, world):
        """Yields the steps of the nodes and their clients."""
        yield from self.clients(world)
        yield from self.replicas(world)
        yield from self.takes(world)
        yield from self.hands_over(world)
        yield from self.decides(world)
        yield from self.asks(world)

    @staticmethod
    def put(world, side, number, node, **more):
        nodes = list(getattr(world, side))
        nodes[number] = node
        return world._replace(**{side: tuple(nodes)}, **more)

    def clients(self, world):
        for side, lead in zip(("sources", "targets"), world.leads):
            node = getattr(world, side)[lead]
            serves = node.lives and (node.state == OWNS if side == "sources" else node.serves)
            if serves and world.written < self.writes:
                yield f"write {world.written} at {side}", self.put(
                    world, side, lead, node._replace(data=node.data + (world.written,)), written=world.written + 1)
            other = getattr(world, side)[1 - lead]
            if serves and other.lives and other.data == node.data and set(node.data) - set(world.answered):
                yield f"{side} answer", world._replace(answered=tuple(sorted(set(world.answered) | set(node.data))))

    def replicas(self, world):
        """A replica copies its primary's data. Its knowledge of moves arrives separately."""
        for side, lead in zip(("sources", "targets"), world.leads):
            node, other = getattr(world, side)[lead], getattr(world, side)[1 - lead]
            if node.lives and other.lives and other.data != node.data:
                yield f"{side}: data come to the replica", self.put(world, side, 1 - lead, other._replace(data=node.data))

    def takes(self, world):
        """The target begins, removes what it has of the slot, and receives what the source has; that is one step, as often
        as there are attempts; writes behind it come with the next one."""
        lead = world.leads[1]
        node, source = world.targets[lead], world.sources[world.leads[0]]
        if node.lives and not node.decided and world.attempts < self.attempts and source.lives and source.state == OWNS:
            attempt = max(node.last, node.takes) + 1
            yield f"attempt {attempt}", self.put(world, "targets", lead, node._replace(
                last=attempt, takes=attempt, whole=False, data=source.data), attempts=world.attempts + 1)

    def hands_over(self, world):
        """The source freezes the slot for an attempt, tells its replica, and says FINAL with the rest of the data."""
        lead = world.leads[0]
        source, replica = world.sources[lead], world.sources[1 - lead]
        target = world.targets[world.leads[1]]
        if source.lives and source.state == OWNS and target.lives and target.takes and not target.decided and \
                target.takes not in world.no:
            yield f"hands over {target.takes}", self.put(world, "sources", lead, source._replace(
                state=HANDED, attempt=target.takes))
        if source.lives and source.state == HANDED:
            if replica.lives and (replica.state, replica.attempt) != (HANDED, source.attempt):
                yield "the source's replica is told", self.put(world, "sources", 1 - lead, replica._replace(
                    state=HANDED, attempt=source.attempt))
            told = not replica.lives or (replica.state, replica.attempt) == (HANDED, source.attempt)
            if (told or not self.on["source_tells"]) and source.attempt not in world.final:
                yield f"final {source.attempt}", world._replace(final=world.final | {source.attempt})

    def decides(self, world):
        lead = world.leads[1]
        node, replica = world.targets[lead], world.targets[1 - lead]
        source = world.sources[world.leads[0]]
        if not node.lives:
            return
        if node.takes in world.final and not node.decided and not node.whole and source.lives and source.state == HANDED:
            yield "the rest comes", self.put(world, "targets", lead, node._replace(whole=True, data=source.data))
        hears = not replica.lives or replica.epoch <= node.epoch  # a replica listens to no older topology
        secured = not replica.lives or (replica.data == node.data and hears)
        if node.whole and not node.decided and node.takes > 0 and (secured or not self.on["secured"]):
            yield f"decides {node.takes}", self.put(world, "targets", lead, node._replace(
                decided=True, serves=not self.on["target_tells"], epoch=node.epoch + 1))
        if node.decided and not node.serves and (not replica.lives or replica.decided):
            yield "the target serves", self.put(world, "targets", lead, node._replace(serves=True))
        if replica.lives and hears and node.takes and not node.decided and (replica.takes, replica.whole) != (node.takes, node.whole):
            yield "the target's replica is told of the move", self.put(world, "targets", 1 - lead, replica._replace(
                takes=node.takes, last=max(replica.last, node.takes), whole=node.whole, epoch=node.epoch))
        if replica.lives and hears and node.decided and not replica.decided:
            yield "the target's replica is told", self.put(world, "targets", 1 - lead, replica._replace(
                decided=True, last=max(replica.last, node.last), epoch=node.epoch))
        if not hears and node.decided and not node.serves and self.on["renews"]:
            yield "the target decides anew", self.put(world, "targets", lead, node._replace(epoch=replica.epoch + 1))
        if node.takes and not node.decided:
            yield "the target gives up", self.put(world, "targets", lead, node._replace(takes=0, whole=False))

    def asks(self, world):
        """A source that has handed over the slot sends a request to the primary of the target."""
        lead = world.leads[0]
        source, target = world.sources[lead], world.targets[world.leads[1]]
        if not source.lives or source.state != HANDED or not target.lives:
            return
        if target.serves or (target.decided and not self.on["answers"]):
            yield "the source lets go", self.put(world, "sources", lead, source._replace(state=GONE))
        elif not target.decided and (target.takes != source.attempt or not self.on["refuses"]):
            last = max(target.last, source.attempt) if self.on["refuses"] else target.last
            yield "the source serves again", self.put(
                self.put(world, "targets", world.leads[1], target._replace(last=last)),
                "sources", lead, source._replace(state=OWNS, attempt=0), no=world.no | {source.attempt})

    def pushed(self, world):
        """The topology reaches a node. A primary that has decided refuses it, and by the rule `keeps`
        so does a replica. It ends the attempt of another primary."""
        for number, node in enumerate(world.targets):
            leads = number == world.leads[1]
            if not node.lives or node.epoch >= PUSHED or (node.decided and (leads or self.on["keeps"])):
                continue
            taken = node._replace(epoch=PUSHED, takes=0, whole=False) if leads else node._replace(epoch=PUSHED, decided=False)
            yield f"the push comes to {number}", self.put(world, "targets", number, taken)

    def dies(self, world):
        """A primary dies and does not return. Its replica becomes the primary."""
        for place, side in enumerate(("sources", "targets")):
            lead = world.leads[place]
            node, other = getattr(world, side)[lead], getattr(world, side)[1 - lead]
            leads = tuple(1 - lead if i == place else each for i, each in enumerate(world.leads))
            if node.lives and other.lives:
                dead = self.put(world, side, lead, node._replace(lives=False), leads=leads)
                if side == "targets":
                    other = other._replace(epoch=LATER)
                if side == "sources":
                    state = other.state if self.on["asks_first"] or other.state == GONE else OWNS
                    new = other._replace(state=state)
                elif other.decided and self.on["newest"]:
                    new = other._replace(serves=True)
                elif self.on["own_attempt"]:
                    new = other._replace(decided=False, serves=False, takes=0, whole=False)
                else:
                    new = other._replace(decided=False, serves=False)
                yield f"{side}: the primary dies", self.put(dead, side, 1 - lead, new)
            if node.lives and other.lives:
                yield f"{side}: the replica dies", self.put(world, side, 1 - lead, other._replace(lives=False))


def explore(model):
    """As search.explore."""
    return search.explore(model, START, fault)


def stuck(model):
    """As explore: what is searched for are worlds from which nothing that the nodes do leads to one that serves the slot."""
    return search.stuck(model, START, serving)
