# SPDX-License-Identifier: MIT
"""The errors of this package. Each has the error text of the server or of libsherwood, and a code."""

from __future__ import annotations

from ._native import ffi, lib


class Error(Exception):
    """The base class of all errors of this package. `code` is libsherwood's (sherwood.h), or 0."""

    code: int = 0


class Full(Error, MemoryError):
    """The table would pass its maximum load. Each frame was executed as a whole or not at all."""


class Lost(Error, ConnectionError):
    """The connection failed, and so did the calls on it: whether a write took effect is unknown."""


class Timeout(Error, TimeoutError):
    """No byte was sent or received for `timeout` seconds. The client closed the connection. As after Lost, whether a write
    took effect is unknown."""


class Refused(Error, ValueError):
    """This server or libsherwood does not support the request."""


class Denied(Error, PermissionError):
    """The client has not logged in, the user or password is wrong, or the user lacks the right."""


class Failed(Error, RuntimeError):
    """The server failed, is shutting down, or cannot write its log."""


_KINDS: dict[int, type[Error]] = {
    lib.SHERWOOD_E_INVALID: Refused,
    lib.SHERWOOD_E_NOMEM: Full,
    lib.SHERWOOD_E_ADDRESS: Refused,
    lib.SHERWOOD_E_CONNECTION: Lost,
    lib.SHERWOOD_E_TIMEOUT: Timeout,
    lib.SHERWOOD_E_PROTOCOL: Lost,
    lib.SHERWOOD_E_FULL: Full,
    lib.SHERWOOD_E_REQUEST: Refused,
    lib.SHERWOOD_E_LOGIN: Denied,
    lib.SHERWOOD_E_PERMISSION: Denied,
    lib.SHERWOOD_E_SHARD: Refused,
    lib.SHERWOOD_E_TABLE: Refused,
}


def error_of(code: int, sentence: str) -> Error:
    """Returns the exception of a negative code of libsherwood. An unknown code is Failed."""
    error = _KINDS.get(code, Failed)(sentence or text_of(code))
    error.code = code
    return error


def text_of(code: int) -> str:
    """Returns libsherwood's text for a code."""
    text: bytes = ffi.string(lib.sherwood_status_text(code))
    return text.decode("ascii", "replace")
