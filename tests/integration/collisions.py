# SPDX-License-Identifier: MIT
"""Strings of 8 bytes with a given XXH3-64. For this length the hash is a bijection, and this module inverts it."""

import struct

import xxhash

_MASK = 2**64 - 1
_PRIME = pow(0x9FB21C651E98DF25, -1, 2**64)
_FLIP = int.from_bytes(bytes.fromhex("7c01812cf721ad1c"), "little") ^ int.from_bytes(
    bytes.fromhex("ded46de9839097db"), "little")


def _rotated(x, bits):
    return (x << bits | x >> (64 - bits)) & _MASK


def text_of(number):
    """Returns the string of 8 bytes whose hash is the number."""
    x = number ^ number >> 28 ^ number >> 56
    x = x * _PRIME & _MASK
    x ^= (x >> 35) + 8
    x = x * _PRIME & _MASK
    for _ in range(63): # 64 times is nothing
        x ^= _rotated(x, 49) ^ _rotated(x, 24)
    x ^= _FLIP
    text = struct.pack("<II", x >> 32, x & 0xffffffff)
    assert xxhash.xxh3_64_intdigest(text) == number
    return text


def other(text):
    """Returns another string with the hash of this one."""
    twin = text_of(xxhash.xxh3_64_intdigest(text))
    assert twin != text
    return twin
