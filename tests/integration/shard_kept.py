# SPDX-License-Identifier: MIT
"""Members of a shard with data directories, which survive restarts."""

import pathlib
import shutil
import tempfile

from shard import Member, Wired

LOGGED = ("--appendonly", "yes", "--log-segment-bytes", "1M")


class Kept(Member):
    """A member with a data directory."""

    def __init__(self, etcd, shard):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="sherwood-member-"))
        super().__init__(etcd, shard, "--data-dir", str(self.directory), *LOGGED)

    def end(self):
        super().end()
        shutil.rmtree(self.directory, ignore_errors=True)


class KeptWired(Wired):
    """A member with a data directory that the others reach by a relay."""

    def __init__(self, etcd, shard):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="sherwood-member-"))
        super().__init__(etcd, shard, "--data-dir", str(self.directory), *LOGGED)

    def end(self):
        super().end()
        shutil.rmtree(self.directory, ignore_errors=True)
