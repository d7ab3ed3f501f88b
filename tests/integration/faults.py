# SPDX-License-Identifier: MIT
"""faults - file calls of a daemon that fail, take long or do not return (faults.c, preloaded by LD_PRELOAD)."""

import ctypes
import errno
import mmap
import tempfile

from harness import BUILD, SANITIZED, Skip, check

KINDS = ("write", "sync", "folder", "open", "rename", "unlink", "allocate", "read")  # folder: the sync of a directory
# Errors of each kind. Never ENOENT: it means that the file does not exist.
ERRORS = {"write": (errno.EIO, errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG),
          "sync": (errno.EIO, errno.ENOSPC, errno.EDQUOT), "folder": (errno.EIO, errno.ENOSPC),
          "open": (errno.EIO, errno.ENOSPC, errno.EMFILE, errno.ENFILE, errno.EACCES, errno.EROFS),
          "rename": (errno.EIO, errno.ENOSPC, errno.EROFS), "unlink": (errno.EIO, errno.EROFS, errno.EBUSY),
          "allocate": (errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EOPNOTSUPP), "read": (errno.EIO,)}
RUNNING = tuple(kind for kind in KINDS if kind != "read")  # a daemon that has started reads no files
FOREVER = 2**32 - 1
LIBRARY = BUILD / "tests" / "libfaults.so"


class Fault(ctypes.Structure):
    """The fault of one kind of call: `struct fault`."""

    _fields_ = [(name, ctypes.c_uint32) for name in ("error", "after", "left", "us", "held", "waiting", "calls", "failed")]

    def fail(self, count=FOREVER, error=errno.EIO, after=0):
        """After `after` successful calls the next `count` calls fail. Without an error a write writes only a part."""
        self.left = 0
        self.error, self.after = error, after
        self.left = count

    def end(self):
        self.left = self.us = self.held = 0


class Words(ctypes.Structure):
    """`struct faults`."""

    _fields_ = [(kind, Fault) for kind in KINDS] + [(name, ctypes.c_uint32) for name in ("repeated", "spare_small", "silent", "asking",
                                                                                      "work_held", "work_waits", "map_held", "map_waits")]


class Faults:
    """The faults of a daemon: a Fault for each of KINDS, and `repeated`."""

    def __init__(self):
        if SANITIZED:
            raise Skip("a sanitizer must be the first library")
        check(LIBRARY.exists(), f"there is no {LIBRARY}: make peers")
        self.file = tempfile.NamedTemporaryFile(prefix="sherwood-faults-", delete=False)  # its folder goes with the process; pylint: disable=consider-using-with
        self.file.truncate(ctypes.sizeof(Words))
        self.words = Words.from_buffer(mmap.mmap(self.file.fileno(), ctypes.sizeof(Words)))

    def environment(self):
        return {"LD_PRELOAD": str(LIBRARY), "SHERWOOD_FAULTS": self.file.name}

    def __getattr__(self, name):
        return getattr(self.words, name)

    def end(self):
        for kind in KINDS:
            getattr(self, kind).end()
        self.words.work_held = self.words.map_held = 0
