# SPDX-License-Identifier: MIT
"""The facts of a server, and the arrays of its keys and values."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ._errors import Refused
from ._native import ffi, lib
from ._regions import Regions

_FORMATS = {lib.SHERWOOD_VALUES_INTEGER: "integer", lib.SHERWOOD_VALUES_STRING: "string",
            lib.SHERWOOD_VALUES_FIXED: "fixed"}
# The dtype of each value_type, in the order of enum sherwood_type. numpy has no bfloat16.
_NUMBERS = {"bytes": "u1", "string": "u1", "u32": "u4", "u64": "u8", "f32": "f4", "f16": "f2", "bf16": "u2", "i64": "i8", "f64": "f8",
            "none": "u1"}
_TYPES = tuple(_NUMBERS)
_RESP_KEYS = ("decimal", "raw", "hash", "auto")  # by enum sherwood_resp_keys


@dataclasses.dataclass(frozen=True)
class Server:
    """The facts of a server. It reported capacity_slots and occupied_max when the client connected; see stats()."""

    version: str
    backend: str  # "cpu" or "cuda"
    backend_reason: str
    engine: str  # "robin_hood", "cuckoo" or "cache"; "" of an older server
    policy: str  # of a cache: "lru", "lfu", "epoch-lru", "epoch-lfu" or "custom"; else ""
    key_bytes: int  # 4 or 8
    value_bytes: int
    value_format: str  # "integer", "string" or "fixed"
    value_type: str  # "bytes", "string", "none", or the numbers of a row: "u32", "u64", "f32", "f16", "bf16", "i64", "f64"
    frame_ops_max: int  # the most keys of a frame
    requests_in_flight_max: int  # of a handle, over all its stripes
    capacity_slots: int
    occupied_max: int
    resp_keys: str  # how RESP clients write a key: "decimal", "raw", "hash" or "auto" (see hash_key, text_key)
    takes_times: bool  # keys may expire
    run: int  # another number at each start of the server: the first 8 digits of INFO's run_id; 0 of an older server

    def same_arrays(self, other: Server) -> bool:
        """Returns true if arrays made for one server fit the other."""
        return ((self.key_bytes, self.value_bytes, self.value_format, self.value_type)
                == (other.key_bytes, other.value_bytes, other.value_format, other.value_type))


def check_arrays(address: str, now: Server, before: Server) -> None:
    """Refuses a server whose arrays are others than before."""
    if not now.same_arrays(before):
        raise Refused(f"{address}: the keys or values of the server have another width or type than before: make a new client")


def server_of(pointer: Any) -> Server:
    """Returns the facts of the server that a handle of libsherwood is connected to."""
    return read_server(lib.sherwood_server(pointer))


def read_server(facts: Any) -> Server:
    """Returns the facts of a struct sherwood_server."""

    def text(field: Any) -> str:
        found: bytes = ffi.string(field)
        return found.decode("ascii", "replace")

    return Server(text(facts.version), text(facts.backend), text(facts.backend_reason),
                  text(facts.engine), text(facts.policy), facts.key_bytes, facts.value_bytes,
                  _FORMATS[facts.value_format], _TYPES[facts.value_type], facts.frame_ops_max,
                  facts.requests_in_flight_max, facts.capacity_slots, facts.occupied_max,
                  _RESP_KEYS[facts.resp_keys] if facts.resp_keys < len(_RESP_KEYS) else "", bool(facts.takes_times),
                  facts.run)


@dataclasses.dataclass(frozen=True)
class Digest:
    """A checksum of all entries: servers with equal entries have equal sums. `sequence` is the last write in it."""

    sequence: int
    entries: int
    sums: str


@dataclasses.dataclass(frozen=True)
class Layout:
    """The arrays of a server's requests and replies. value_shape: the dimensions of one value."""

    key_dtype: np.dtype[Any]
    value_dtype: np.dtype[Any]
    value_shape: tuple[int, ...]
    value_bytes: int
    value_type: str  # as that of Server
    is_integer: bool  # values are integers for the server; otherwise they are bytes
    is_cache: bool
    has_scores: bool
    resp_keys: str  # as that of Server
    regions: Regions = dataclasses.field(compare=False, repr=False)

    @property
    def adds(self) -> str:
        """The kind of numbers that the server adds up in values: "f32", "f64", "f16", "bf16", "u32" or "u64"; "": none."""
        if self.value_type == "bf16" and self.value_dtype == np.uint16:
            return "bf16"
        kinds = {("f", 2): "f16", ("f", 4): "f32", ("f", 8): "f64", ("u", 4): "u32", ("i", 4): "u32", ("u", 8): "u64", ("i", 8): "u64"}
        return kinds.get((self.value_dtype.kind, self.value_dtype.itemsize), "")


def string_dtype(value_bytes: int) -> np.dtype[Any]:
    """Returns the dtype of values of the format "string": a length, and value_bytes - 4 bytes."""
    return np.dtype([("length", "<u4"), ("bytes", "u1", (value_bytes - 4,))])


def layout_of(server: Server, wanted: Any, regions: Regions) -> Layout:
    """Returns the arrays of a server. `wanted`: the dtype of the caller's values, or None."""
    integer = server.value_format == "integer"
    natural = np.dtype(f"u{server.value_bytes}" if integer else _NUMBERS[server.value_type])
    if server.value_format == "string":
        natural = string_dtype(server.value_bytes)
    dtype = natural if wanted is None else np.dtype(wanted)
    if dtype.hasobject or dtype.itemsize == 0 or not dtype.isnative:
        raise Refused(f"value_dtype {dtype}: values are bytes in the byte order of this machine: give a dtype without objects")
    shape: tuple[int, ...] = ()
    if server.value_format == "string" and dtype != natural:
        raise Refused(f"value_dtype {dtype}: this server's values are byte strings with a length: leave value_dtype out to get"
                      " records of `length` and `bytes`")
    if integer and dtype.itemsize != server.value_bytes:
        raise Refused(f"value_dtype {dtype}: it has {dtype.itemsize} byte{'s' * (dtype.itemsize > 1)}, and this server's values have"
                      f" {server.value_bytes} bytes: leave it out, give a dtype of {server.value_bytes} bytes, or start the server with"
                      " --value-bytes and --value-type for rows of numbers")
    if server.value_format == "fixed":
        count, rest = divmod(server.value_bytes, dtype.itemsize)
        if rest != 0:
            raise Refused(f"value_dtype {dtype}: this server's values have {server.value_bytes} bytes,"
                          f" which is not a multiple of {dtype.itemsize}")
        shape = (count,)
    return Layout(np.dtype(f"u{server.key_bytes}"), dtype, shape, server.value_bytes, server.value_type,
                  integer, server.engine == "cache", server.policy != "", server.resp_keys, regions)
