# SPDX-License-Identifier: MIT
"""The keys of texts, and keys as calls take them."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _arrays
from ._native import ffi, lib

if TYPE_CHECKING:
    from ._facts import Layout


def hash_key(text: str | bytes | bytearray | memoryview) -> int:
    """The key that a server with --resp-keys hash makes of this text; a str is taken as UTF-8."""
    held = ffi.from_buffer(text.encode() if isinstance(text, str) else text)
    return int(lib.sherwood_hash_key(held, len(held)))


def text_key(text: str | bytes | bytearray | memoryview) -> int:
    """The key that a server with --resp-keys auto makes of this text; a str is taken as UTF-8.

    Digits without a leading zero, up to 2^64 - 1, are that integer; any other text has the key of hash_key."""
    held = ffi.from_buffer(text.encode() if isinstance(text, str) else text)
    return int(lib.sherwood_text_key(held, len(held)))


_BY_FORM = {"auto": text_key, "hash": hash_key}  # what a server makes of texts, by Server.resp_keys
_TEXT = (str, bytes)


def one_key(key: Any) -> Any:
    """A single key, as an element of a list for `take`: an integer or a text."""
    if isinstance(key, bool):
        raise TypeError(f"key {key}: a bool is no key: give an integer")
    return key if isinstance(key, _TEXT) else operator.index(key)


def _texts(given: Any) -> Any:
    """The list of texts that was given as keys, or None: then it is an array or a list of numbers. Arrays of S are
    refused as those of other dtypes: numpy cuts zeros from their ends."""
    if isinstance(given, (list, tuple)):
        return given if any(isinstance(key, _TEXT) for key in given[:1]) else None
    if isinstance(given, np.ndarray) and given.dtype.kind in "UO":
        flat = given.reshape(-1).tolist()
        return flat if any(isinstance(key, _TEXT) for key in flat[:1]) else None
    return None


def _of_texts(texts: Any, layout: Layout) -> np.ndarray[Any, Any]:
    """The keys of texts, as redis clients of this server have them."""
    convert = _BY_FORM.get(layout.resp_keys)
    if convert is None:
        raise TypeError(f"keys: texts, and this server's keys are integers (--resp-keys {layout.resp_keys}): give"
                        " integers, for example sherwood.hash_key(text)")
    if not all(isinstance(text, _TEXT) for text in texts):
        raise TypeError("keys: texts beside what is none; give texts alone, or integers alone"
                        " (sherwood.text_key(text) is the integer of a text)")
    return np.fromiter((convert(text) for text in texts), layout.key_dtype, len(texts))


def take(given: Any, layout: Layout) -> _arrays.Taken:
    """The keys of a call: an array of integers of any shape, or a list or array of texts."""
    texts = _texts(given)
    if isinstance(given, str):
        raise TypeError("keys: a text is one key; give a list of texts")
    if texts is not None:
        found = _of_texts(texts, layout)
        given = found.reshape(given.shape) if isinstance(given, np.ndarray) else found
    return _arrays.take(given, layout.key_dtype, "keys", layout.regions)
