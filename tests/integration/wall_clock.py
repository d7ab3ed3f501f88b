# SPDX-License-Identifier: MIT
"""wall_clock - sets the time of day of a running daemon."""

import mmap
import struct
import tempfile

from harness import BUILD, SANITIZED, Skip, check

LIBRARY = BUILD / "tests" / "libwall_clock.so"


class WallClock:
    """The time of day of one daemon (wall_clock.c, preloaded by LD_PRELOAD)."""

    def __init__(self):
        if SANITIZED:
            raise Skip("a sanitizer must be the first library")
        check(LIBRARY.exists(), f"there is no {LIBRARY}: make peers")
        self.file = tempfile.NamedTemporaryFile(prefix="sherwood-clock-")  # pylint: disable=consider-using-with
        self.file.truncate(8)
        self.memory = mmap.mmap(self.file.fileno(), 8)
        self.environment = {"LD_PRELOAD": str(LIBRARY), "SHERWOOD_WALL_CLOCK": self.file.name}

    def set(self, seconds):
        self.memory[:] = struct.pack("<q", seconds)
