# SPDX-License-Identifier: MIT
"""The keys of texts."""

from __future__ import annotations

from ._native import ffi, lib


def hash_key(text: str | bytes | bytearray | memoryview) -> int:
    """The key that a server with --resp-keys hash makes of this text; a str is taken as UTF-8."""
    held = ffi.from_buffer(text.encode() if isinstance(text, str) else text)
    return int(lib.sherwood_hash_key(held, len(held)))


def text_key(text: str | bytes | bytearray | memoryview) -> int:
    """The key that a server with --resp-keys auto makes of this text; a str is taken as UTF-8.

    Digits without a leading zero, up to 2^64 - 1, are that integer; any other text has the key of hash_key."""
    held = ffi.from_buffer(text.encode() if isinstance(text, str) else text)
    return int(lib.sherwood_text_key(held, len(held)))
