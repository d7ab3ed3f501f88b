# SPDX-License-Identifier: MIT
"""A libsherwood handle of a cluster, in a process of its own that executes commands."""

import subprocess

from harness import BUILD, check, equal

PEER = BUILD / "tests" / "integration" / "peer_cluster"
GET, SET, SUM, SET_ABSENT, DELETE = 1, 2, 3, 6, 10


class Handle:
    """A handle of a cluster, in a process of its own."""

    def __init__(self, *addresses):
        self.process = subprocess.Popen([str(PEER), *addresses], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.first = self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.process.stdin.close()
        code = self.process.wait(60)
        self.process.stdout.close()
        if why[0] is None:
            equal(code, 0, "the peer's exit status")

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def line(self):
        line = self.process.stdout.readline()
        check(line.endswith("\n"), "the peer has ended")
        return line.strip()

    def ask(self, line):
        self.send(line)
        return self.line()

    @staticmethod
    def words(verb, operation, pairs):
        return f"{verb} {operation} {len(pairs)} " + " ".join(f"{k} {v}" for k, v in pairs)

    @staticmethod
    def answers(line):
        """Returns [(value or None)] of the line of a run or a wait. Fails if the line is an error."""
        words = line.split()
        equal(words[0], "0", line[:300])
        return [int(word.split(":")[0]) if word.endswith(":1") else None for word in words[3:]]

    def run(self, operation, pairs):
        return self.answers(self.ask(self.words("run", operation, pairs)))
