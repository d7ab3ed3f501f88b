# SPDX-License-Identifier: MIT
"""registry - model of a topology in etcd that two operators and two members of a shard write.

etcd may execute a request late, and its reply may be lost. A member may lose its term at any moment. An operator learns that
the topology was written, or that it was not and never will be. Rules can be switched off one by one: each must be
needed.
"""

import collections

import search

RULES = {
    "compares": "a write is carried out only over the revision that its author has seen",
    "looks": "an author whose answer is lost reads before he says what became of his write, or sends it again",
    "mark": "a write leaves a mark of its author, which says that it was carried out when another one has followed",
    "fence": "a member that was elected tells it only while its term is the one in etcd",
}

# An author. State: IDLE, WAITS for the answer to a try, LOOKS because the answer was lost, or DONE. Then the entry that he
# saw, the number of tries, the answer that he got, and the term of his claim to be primary (0: an operator).
Author = collections.namedtuple("Author", "state seen tries told term")
# etcd: the log of the key, an entry (author, what its author had seen) a revision; which marks there are; the term.
World = collections.namedtuple("World", "log marks term authors messages wrong")

IDLE, WAITS, LOOKS, DONE = "idle", "waits", "looks", "done"


def fault(world):
    """Returns what is wrong in this state, or None."""
    if world.wrong:
        return world.wrong
    written = [author for author, _ in world.log]
    if len(set(written)) < len(written):
        return "twice"
    for number, author in enumerate(world.authors):
        if author.told == "ok" and number not in written:
            return "told ok"
        if author.told == "no" and number in written:
            return "told no"
    return None


class Model:
    def __init__(self, off=None, operators=2, members=2, tries=2, messages=3):
        self.on = {rule: rule != off for rule in RULES}
        self.operators, self.members, self.tries, self.messages = operators, members, tries, messages

    def start(self):
        """Members are elected one after the other: member i by term i + 1."""
        authors = [Author(IDLE, 0, 0, None, 0) for _ in range(self.operators)]
        authors += [Author(IDLE, 0, 0, None, 1 + i) for i in range(self.members)]
        return World((), frozenset(), 0, tuple(authors), frozenset(), None)

    def steps(self, world):
        """Yields (name, world) of every possible next step."""
        if world.term < self.members:
            yield f"term {world.term + 1} begins", world._replace(term=world.term + 1)
        for number, author in enumerate(world.authors):
            yield from self.authors(world, number, author)
        for message in world.messages:
            rest = world._replace(messages=world.messages - {message})
            yield from (self.carry_out if message[0] == "write" else self.answered)(rest, message)

    def authors(self, world, number, author):
        # one who was elected claims; he does not know when that is over
        if author.state == IDLE and world.term >= author.term:
            yield f"{number} begins", self.send(world, number, author._replace(seen=len(world.log)))
        elif author.state == WAITS:
            after = author._replace(state=LOOKS) if self.on["looks"] else author._replace(state=DONE, told="no")
            yield f"the answer to {number} does not come", with_author(world, number, after)
        elif author.state == LOOKS:
            told = self.judge(author, len(world.log), number in world.marks)
            if told is not None:
                yield f"{number} looks: {told}", with_author(world, number, author._replace(state=DONE, told=told))
            elif author.tries < self.tries:
                yield f"{number} looks, and sends again", self.send(world, number, author)

    def send(self, world, number, author):
        if len(world.messages) == self.messages:
            return world
        author = author._replace(state=WAITS, tries=author.tries + 1)
        world = with_author(world, number, author)
        return world._replace(messages=world.messages | {("write", number, author.tries, author.seen, author.term)})

    def judge(self, author, revision, has_mark):
        """Returns the reply that an author may get for the contents of etcd; None: none yet."""
        if has_mark and self.on["mark"]:
            return "ok"
        return "no" if revision != author.seen else None

    def carry_out(self, world, message):
        """etcd executes the request; its reply is in flight."""
        _, number, tried, seen, term = message
        is_right = seen == len(world.log) or not self.on["compares"]
        is_right = is_right and (term in (0, world.term) or not self.on["fence"])
        if is_right:
            wrong = "overwritten" if seen != len(world.log) else "deposed" if term not in (0, world.term) else None
            world = world._replace(log=world.log + ((number, seen),), marks=world.marks | {number}, wrong=wrong)
        answer = ("answer", number, tried, is_right, len(world.log), number in world.marks)
        yield f"{number}'s try {tried} reaches etcd", world._replace(messages=world.messages | {answer})
        yield f"{number}'s try {tried} reaches etcd, whose answer is lost", world

    def answered(self, world, message):
        _, number, tried, was_done, revision, has_mark = message
        author = world.authors[number]
        if author.state == WAITS and author.tries == tried:
            told = "ok" if was_done else self.judge(author, revision, has_mark) or "no"
            world = with_author(world, number, author._replace(state=DONE, told=told))
        yield f"{number} hears of try {tried}", world


def with_author(world, number, author):
    authors = list(world.authors)
    authors[number] = author
    return world._replace(authors=tuple(authors))


def explore(model):
    """See search.explore."""
    return search.explore(model, model.start(), fault)
