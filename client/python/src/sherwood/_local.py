# SPDX-License-Identifier: MIT
"""A private server: sherwood.open() starts sherwoodd as a child process, and stops it with the client."""

from __future__ import annotations

import os
import re
import select
import shutil
import subprocess
import tempfile
import time
import weakref
from typing import Any, Optional, Union

import numpy as np

from ._client import Client
from ._errors import Failed, Refused
from ._link import Options

# Seconds for the server to send its replies and to write its snapshot, before it is killed.
_STOP_SECONDS = 120.0


def _program(given: Optional[Union[str, os.PathLike[str]]]) -> str:
    name = os.fspath(given) if given is not None else os.environ.get("SHERWOODD", "sherwoodd")
    path = shutil.which(name) or (shutil.which(name, path="/usr/sbin:/usr/bin:/usr/local/bin") if "/" not in name else None)
    if path is None:
        raise Refused(f"open: cannot find the program {name!r}: install the package sherwood-server, or give the path of"
                      " sherwoodd as program= or in the environment variable SHERWOODD")
    return path


def _text(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _flags(options: dict[str, Any]) -> list[str]:
    return [part for name, value in options.items() for part in ("--" + name.replace("_", "-"), _text(value))]


def _why(log: str) -> str:
    """Returns the last line of the server's log, without time and level."""
    try:
        with open(log, encoding="utf-8", errors="replace") as file:
            lines = [line.strip() for line in file if line.strip()]
    except OSError:
        lines = []
    return re.sub(r"^(\S+Z \w+|sherwoodd): ", "", lines[-1]) if lines else "it wrote no message"


def _stop(process: subprocess.Popen[bytes], folder: str, owner: int) -> None:
    """Stops the server. Does nothing in a process that was forked from its owner."""
    if os.getpid() != owner:
        return
    try:
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
        process.terminate()  # a forked child may hold the pipe open, so closing it is not enough
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Ends a server that is of no use, and closes its pipes."""
    with process:
        process.kill()


def _start(command: list[str], log: str, seconds: float) -> subprocess.Popen[bytes]:
    with open(log, "wb") as errors:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,  # pylint: disable=consider-using-with
                                   start_new_session=True)
    assert process.stdout is not None
    end = time.monotonic() + max(0.0, seconds)
    try:
        said = b""
        waiting = select.poll()  # select() refuses descriptors from 1024 on
        waiting.register(process.stdout, select.POLLIN)
        while waiting.poll(max(0.0, end - time.monotonic()) * 1000):
            part = os.read(process.stdout.fileno(), 4096)
            said += part
            if b"\n" in said:
                return process
            if not part:
                break
        status = process.wait(max(0.0, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        _kill(process)
        raise Failed(f"open: sherwoodd did not start within {seconds:g} s: {_why(log)}") from None
    except BaseException:
        _kill(process)
        raise
    with process:  # closes its pipes
        pass
    if status == 2:
        raise Refused(f"open: {_why(log)}")
    raise Failed(f"open: sherwoodd ended with status {status}: {_why(log)}")


class LocalClient(Client):
    """A client whose server is a child of this process. close() closes the client and stops the server."""

    __slots__ = ("_process", "_end")

    def __init__(self, options: Options, process: subprocess.Popen[bytes], folder: str) -> None:
        self._process = process
        self._end = weakref.finalize(self, _stop, process, folder, os.getpid())
        super().__init__(options)

    @property
    def pid(self) -> int:
        """The process id of the server."""
        return self._process.pid

    def close(self) -> None:
        """Closes the connections as Client.close does, then stops the server and waits for its end."""
        super().close()
        self._end()


def open_local(data_dir: Optional[Union[str, os.PathLike[str]]] = None, *, program: Optional[Union[str, os.PathLike[str]]] = None,
               value_dtype: Any = None, timeout: float = 30.0, start_timeout: float = 60.0, **options: Any) -> LocalClient:
    """Starts a private server and connects to it.

        with sherwood.open(value_type="f32", value_bytes=512) as c: ...

    The server listens on a Unix socket in a temporary folder that only this user may enter, and on no port. It stops
    when the client is closed or collected as garbage. It also stops when this process and its forked children end.

    data_dir: a folder for the table. The next open() of it has the same keys. None: the table is lost with the client.
    options: those of sherwoodd, with underscores: capacity="64M", key_bits=32, engine="cache", appendonly=True. Refused if
    the server does not accept them. Without them the server uses a GPU if there is one.
    program: the path or name of sherwoodd. None: the environment variable SHERWOODD, else sherwoodd in PATH.
    value_dtype, timeout: as in connect(). start_timeout: the longest wait for the start, in seconds. A large data_dir
    needs more.

    To share the table with other programs, start sherwoodd as a service and replace open() by connect().
    """
    command = [_program(program)]
    folder = tempfile.mkdtemp(prefix="sherwood-")
    socket, log = os.path.join(folder, "socket"), os.path.join(folder, "log")
    flags: dict[str, Any] = {"bind": "", "http_bind": "", "unix_socket": socket, "unix_socket_mode": "0600", "stop_with_stdin": True}
    if data_dir is not None:
        flags["data_dir"] = os.path.abspath(data_dir)
    flags.update(options)
    if flags["unix_socket"] != socket or flags["stop_with_stdin"] is not True:
        shutil.rmtree(folder, ignore_errors=True)
        raise Refused("open: it sets unix_socket and stop_with_stdin itself: leave them out, or start sherwoodd and use connect()")
    process: Optional[subprocess.Popen[bytes]] = None
    try:
        if data_dir is not None:
            os.makedirs(data_dir, mode=0o700, exist_ok=True)
        process = _start(command + _flags(flags), log, start_timeout)
        dtype = None if value_dtype is None else np.dtype(value_dtype).str
        return LocalClient(Options("unix:" + socket, timeout=float(timeout), value_dtype=dtype), process, folder)
    except BaseException:
        if process is not None:
            _kill(process)
        shutil.rmtree(folder, ignore_errors=True)
        raise
