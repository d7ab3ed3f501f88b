# SPDX-License-Identifier: MIT
"""Keys: those of texts, and the arrays of keys that calls accept."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _arrays
from ._native import ffi, lib

if TYPE_CHECKING:
    from ._facts import Layout


def _bytes_of(text: Any) -> Any:
    try:
        return ffi.from_buffer(text.encode() if isinstance(text, str) else text)
    except TypeError:
        raise TypeError(f"{_arrays.shown(text)}: {type(text).__name__} is not a text: give a str or bytes") from None


def hash_key(text: str | bytes | bytearray | memoryview) -> int:
    """Returns the key that a server with --resp-keys hash makes of this text. A str is encoded as UTF-8."""
    held = _bytes_of(text)
    return int(lib.sherwood_hash_key(held, len(held)))


def text_key(text: str | bytes | bytearray | memoryview) -> int:
    """Returns the key that a server with --resp-keys auto makes of this text. A str is encoded as UTF-8.

    Digits without a leading zero, up to 2^64 - 1, are that integer; any other text has the key of hash_key."""
    held = _bytes_of(text)
    return int(lib.sherwood_text_key(held, len(held)))


_BY_FORM = {"auto": text_key, "hash": hash_key}  # the key of a text, by Server.resp_keys
_TEXT = (str, bytes)


def one_key(key: Any) -> Any:
    """Returns a single key as an element of a list for `take`: an integer or a text."""
    if isinstance(key, bool):
        raise TypeError(f"key {key}: a bool is not a key: give an integer")
    if isinstance(key, _TEXT):
        return key
    try:
        return operator.index(key)
    except TypeError:
        raise TypeError(f"key {_arrays.shown(key)}: {type(key).__name__} is not a key: give an integer or a text") from None


def _texts(given: Any) -> Any:
    """Returns the texts that were given as keys, or None for an array or a list of numbers. `take` refuses arrays of
    dtype S later, because numpy cuts zeros from their ends."""
    if isinstance(given, (list, tuple)):
        return given if any(isinstance(key, _TEXT) for key in given[:1]) else None
    if isinstance(given, np.ndarray) and given.dtype.kind in "UO":
        flat = given.reshape(-1).tolist()
        return flat if any(isinstance(key, _TEXT) for key in flat[:1]) else None
    return None


def _of_texts(texts: Any, layout: Layout) -> np.ndarray[Any, Any]:
    """Returns the keys of texts: redis clients of this server have the same."""
    convert = _BY_FORM.get(layout.resp_keys)
    if convert is None:
        raise TypeError(f"keys: {_arrays.shown(texts[0])} is a text, and this server's keys are integers (--resp-keys"
                        f" {layout.resp_keys}): give integers, for example sherwood.hash_key(text)")
    for at, text in enumerate(texts):
        if not isinstance(text, _TEXT):
            raise TypeError(f"keys: element {at} of the list, {_arrays.shown(text)}, is not a text, and the first one is: give"
                            " only texts, or only integers (sherwood.text_key(text) is the integer of a text)")
    return np.fromiter((convert(text) for text in texts), layout.key_dtype, len(texts))


def take(given: Any, layout: Layout) -> _arrays.Taken:
    """Returns the keys of a call: an array of integers of any shape, or a list or array of texts."""
    texts = _texts(given)
    if isinstance(given, str):
        raise TypeError(f"keys: {_arrays.shown(given)} is one text: give a list of texts")
    if texts is not None:
        found = _of_texts(texts, layout)
        given = found.reshape(given.shape) if isinstance(given, np.ndarray) else found
    return _arrays.take(given, layout.key_dtype, "keys", layout.regions)
