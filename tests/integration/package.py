# SPDX-License-Identifier: MIT
"""package - the Python package as `make python` has built it, for the scripts that test it."""

import contextlib
import os
import signal
import sys
import tempfile

from harness import DAEMON, ROOT, Server, equal, eventually, raises

os.environ["SHERWOODD"] = str(DAEMON)  # what sherwood.open starts
LIB = ROOT / "build" / "python" / "lib"
sys.path.insert(0, str(LIB))

import numpy as np  # noqa: E402  pylint: disable=wrong-import-position
import sherwood  # noqa: E402  pylint: disable=wrong-import-position

__all__ = ["LIB", "daemon", "in_child", "np", "pause", "raises", "same", "sherwood"]


@contextlib.contextmanager
def daemon(*flags, **options):
    """Starts a daemon that also has a Unix socket. Yields it, with the socket's address as `unix`."""
    with tempfile.TemporaryDirectory(prefix="sherwood-") as folder:
        path = os.path.join(folder, "s")
        with Server("--unix-socket", path, *flags, **options) as server:
            server.unix = "unix:" + path
            yield server


def same(got, wanted, what=""):
    """Checks that two arrays have the same dtype, shape and elements."""
    wanted = np.asarray(wanted)
    if got.dtype != wanted.dtype or got.shape != wanted.shape or not np.array_equal(got, wanted):
        raise AssertionError(f"{what}: got {got!r}, wanted {wanted!r}")


def pause(server):
    """Stops the daemon by SIGSTOP, and waits until all its threads are stopped."""
    os.kill(server.pid(), signal.SIGSTOP)

    def stopped():
        return all(" T " in _read(f"/proc/{server.pid()}/task/{task}/stat")
                   for task in os.listdir(f"/proc/{server.pid()}/task"))
    eventually(stopped, "the daemon is stopped")


def _read(path):
    with open(path, encoding="ascii") as file:
        return file.read()


def in_child(function):
    """Runs the function in a forked child. Fails if the child fails."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            function()
            status = 0
        except BaseException as error:  # pylint: disable=broad-except
            print(f"  in the child: {error!r}", flush=True)
        finally:
            os._exit(status)
    equal(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0, "exit status of the child")
