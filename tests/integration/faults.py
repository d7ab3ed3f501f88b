# SPDX-License-Identifier: MIT
"""faults - writes and syncs of a daemon's files that fail, or take long (faults.c, loaded before it by LD_PRELOAD)."""

import ctypes
import errno
import mmap
import tempfile

from harness import BUILD, SANITIZED, Skip

NAMES = ("write_error", "writes_left", "sync_error", "syncs_left", "folder_error", "folders_left", "write_us", "sync_us",
         "writes", "syncs", "failed", "repeated")
FOREVER = 2**32 - 1


class Faults:
    """What goes wrong. Attributes are the words of `struct faults`; those that are errors come before their counts."""

    def __init__(self):
        if SANITIZED:
            raise Skip("a sanitizer must be the first library")
        self.__dict__["file"] = tempfile.NamedTemporaryFile(prefix="sherwood-faults-")  # pylint: disable=consider-using-with
        self.file.truncate(4 * len(NAMES))
        memory = mmap.mmap(self.file.fileno(), 4 * len(NAMES))
        self.__dict__["words"] = (ctypes.c_uint32 * len(NAMES)).from_buffer(memory)

    def environment(self):
        return {"LD_PRELOAD": str(BUILD / "tests" / "libfaults.so"), "SHERWOOD_FAULTS": self.file.name}

    def __getattr__(self, name):
        return self.words[NAMES.index(name)]

    def __setattr__(self, name, value):
        self.words[NAMES.index(name)] = value

    def writes_fail(self, count=FOREVER, error=errno.EIO):
        self.write_error, self.writes_left = error, count

    def syncs_fail(self, count=FOREVER, error=errno.EIO):
        self.sync_error, self.syncs_left = error, count

    def folders_fail(self, count=FOREVER, error=errno.EIO):
        self.folder_error, self.folders_left = error, count

    def end(self):
        self.writes_left = self.syncs_left = self.folders_left = self.write_us = self.sync_us = 0
