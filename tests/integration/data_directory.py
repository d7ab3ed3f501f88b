# SPDX-License-Identifier: MIT
"""Data directories for tests: a daemon with a log in one, small disks, and a limit of file sizes."""

import contextlib
import pathlib
import shutil
import subprocess
import tempfile

from harness import Server, Skip, check, eventually

SMALL = ("--log-segment-bytes", "1M", "--frame-ops-max", "256", "--round-ops-max", "1024",
         "--capacity", "64K")


def durable(directory, level, *flags, **how):
    return Server("--data-dir", str(directory), "--appendonly", "yes", "--appendfsync", level,
                  *SMALL, *flags, **how)


def next_segment(path):
    """Waits for the second segment of a new log. A thread makes and syncs it beside the first writes, and a test that
    holds syncs or lets one fail would else meet that sync."""
    eventually(lambda: len(list(path.glob("log-*"))) == 2, "the next segment is made")


def does_not_start(*flags):
    """Runs a daemon that must end instead of serving. Returns its output."""
    server = Server(*SMALL, *flags)
    result = subprocess.run([str(server.program)] + server.flags, text=True, timeout=20,
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    shutil.rmtree(server.directory, ignore_errors=True)
    check(result.returncode not in (0, None), "it has started")
    return result.stderr


class Directory:
    """A data directory that the end of the block removes."""

    def __enter__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="sherwood-log-"))
        return self.path

    def __exit__(self, kind, value, trace):
        shutil.rmtree(self.path, ignore_errors=True)


@contextlib.contextmanager
def small_disk(path, size):
    """Mounts a file system of this size, if this process has the right."""
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(path)],
                      stderr=subprocess.DEVNULL, check=False).returncode != 0:
        raise Skip("file systems cannot be mounted here")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


class FilesLimited:
    """Limits the size of the daemon's files, so that writes of the log fail."""

    def __init__(self, server, size=12000):
        self.command = ["prlimit", "--pid", str(server.process.pid)]
        subprocess.run([*self.command, f"--fsize={size}:unlimited"], check=True)

    def end(self):
        subprocess.run([*self.command, "--fsize=unlimited:unlimited"], stderr=subprocess.DEVNULL, check=False)
