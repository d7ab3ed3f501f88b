# SPDX-License-Identifier: MIT
"""Arrays of callers, as libsherwood takes them: contiguous, of the server's widths, never converted.

Nothing is copied but lists, and arrays that are not contiguous. An array whose dtype does not fit is
refused: a conversion in silence would store other keys than the caller has.
"""

from __future__ import annotations

import array
import importlib
from typing import Any, NamedTuple, Optional

import numpy as np

from ._regions import Memory, Regions

_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}
_type_of: Any = type
_BOOLS = frozenset((bool, np.bool_))
_DLPACK_CPU = (1, 3, 11)  # host memory, and host memory that is pinned for CUDA or ROCm


class Taken(NamedTuple):
    """A caller's array: its elements without gaps, the shape it had, and whether it was torch's."""

    flat: np.ndarray[Any, Any]
    shape: tuple[int, ...]
    is_torch: bool
    regions: Regions  # of the client, to look for other arrays in
    home: Optional[Memory]  # the region in which it lies

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """A new array, in the region of this one."""
        return np.empty(shape, dtype) if self.home is None else self.home.empty(shape, dtype)


def is_torch(given: Any) -> bool:
    return type(given).__module__.split(".")[0] == "torch" and hasattr(given, "data_ptr")


def _of_torch(given: Any, what: str) -> np.ndarray[Any, Any]:
    if given.device.type != "cpu":
        raise TypeError(f"{what}: a tensor on {given.device}; this client takes host memory, so move it"
                        " with .cpu() first")
    found: np.ndarray[Any, Any] = given.detach().numpy()
    return found


def plain(given: np.ndarray[Any, Any], what: str) -> np.ndarray[Any, Any]:
    """The same memory as an array of no other class. One whose elements are masked is refused."""
    if type(given) is np.ndarray:
        return given
    if isinstance(given, np.ma.MaskedArray):
        held: Any = given
        if held.count() != held.size:
            raise ValueError(f"{what}: {held.size - held.count()} elements of a masked array are masked, which a table"
                             " cannot have: give .compressed() or .filled(number)")
    return given.view(np.ndarray)


def _of_list(given: Any, dtype: np.dtype[Any], what: str) -> np.ndarray[Any, Any]:
    """The numbers of a list, each checked: by array.array, which takes no fractions."""
    if dtype.kind not in "iu":
        if dtype.kind == "f":
            return _of_floats(given, dtype, what)
        raise TypeError(f"{what}: give an array of {dtype}")
    if len(given) > 0 and isinstance(given[0], (list, tuple)):
        parts = [_of_list(part, dtype, what) for part in given if isinstance(part, (list, tuple))]
        if len(parts) != len(given) or any(part.shape != parts[0].shape for part in parts):
            raise ValueError(f"{what}: lists of one length in a list are an array, others are not")
        return np.stack(parts)
    code = _CODES[dtype.itemsize]
    if not _BOOLS.isdisjoint(map(_type_of, given)):
        raise TypeError(f"{what}: a list of what are not all integers, for {dtype}: it has a bool")
    try:
        return np.frombuffer(array.array(code if dtype.kind == "u" else code.lower(), given), dtype)
    except TypeError:
        raise TypeError(f"{what}: a list of what are not all integers, for {dtype}") from None
    except OverflowError:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        raise ValueError(f"{what}: a number in the list is not within {low} to {high}") from None


def _of_floats(given: Any, dtype: np.dtype[Any], what: str) -> np.ndarray[Any, Any]:
    try:
        found = np.asarray(given)
    except ValueError:
        found = np.empty(0, object)
    if found.dtype.kind not in "fiu" or (found.ndim == 1 and not _BOOLS.isdisjoint(map(_type_of, given))):
        raise TypeError(f"{what}: a list of what are not all numbers, for {dtype}")
    return _narrow(found, dtype, what)


def _narrow(found: np.ndarray[Any, Any], dtype: np.dtype[Any], what: str) -> np.ndarray[Any, Any]:
    """Numbers of a list as floats, rounded; one that is out of their range is refused."""
    with np.errstate(over="ignore"):
        made = found.astype(dtype)
    if not np.array_equal(np.isfinite(made), np.isfinite(found)):
        raise ValueError(f"{what}: a number is out of the range of {dtype}")
    return made


def as_numpy(given: Any, dtype: np.dtype[Any], what: str) -> np.ndarray[Any, Any]:
    """What was given, as an array over the same memory. Its dtype is not looked at."""
    if isinstance(given, np.ndarray):
        return plain(given, what)
    if is_torch(given):
        return _of_torch(given, what)
    if isinstance(given, (list, tuple, range)):
        return _of_list(given, dtype, what)
    if hasattr(given, "__cuda_array_interface__"):
        raise TypeError(f"{what}: an array in the memory of a GPU; this client takes host memory, so"
                        " copy it there first")
    if hasattr(given, "__dlpack_device__") and given.__dlpack_device__()[0] not in _DLPACK_CPU:
        raise TypeError(f"{what}: an array in the memory of a device; this client takes host memory, so"
                        " copy it there first")
    return _of_protocol(given, what)


def _of_protocol(given: Any, what: str) -> np.ndarray[Any, Any]:
    """By whichever protocol the object has, that of buffers first: it takes no copy."""
    try:
        return np.asarray(memoryview(given))
    except TypeError:
        pass
    if hasattr(given, "__array__"):  # pandas and pyarrow
        if _has_nulls(given):
            raise ValueError(f"{what}: there are nulls, which a table does not have")
        return plain(np.asanyarray(given), what)
    if hasattr(given, "__dlpack__"):
        return np.from_dlpack(given)
    raise TypeError(f"{what}: {type(given).__name__} is no array, list, buffer or DLPack tensor")


def _has_nulls(given: Any) -> bool:
    """Does a column have elements without a value, which numpy would show as NaN or as objects?"""
    nulls = getattr(given, "null_count", 0)  # an attribute of pyarrow, and a function of polars
    if nulls() if callable(nulls) else nulls:
        return True
    dtype = getattr(given, "dtype", None)
    return hasattr(given, "isna") and dtype is not None and not isinstance(dtype, np.dtype) and bool(np.any(given.isna()))


def fits(found: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    """May the memory be taken as it is? Integers of one width may, with and without a sign."""
    if found == wanted:
        return True
    return (found.kind in "iu" and wanted.kind in "iu" and found.itemsize == wanted.itemsize
            and found.isnative)


def _names(dtype: np.dtype[Any]) -> str:
    if dtype.kind in "iu":
        return f"uint{dtype.itemsize * 8} or int{dtype.itemsize * 8}"
    return str(dtype)


def check_dtype(found: np.dtype[Any], wanted: np.dtype[Any], what: str) -> None:
    if not fits(found, wanted):
        hint = "; bytes are taken by np.frombuffer(.., dtype)" if found.itemsize == 1 else ""
        raise TypeError(f"{what}: dtype {found}, and this server's are {_names(wanted)}: nothing is"
                        f" converted in silence{hint}")


def take(given: Any, dtype: np.dtype[Any], what: str, regions: Regions) -> Taken:
    """An array of integers to send, of any shape."""
    found = as_numpy(given, dtype, what)
    # An empty list of another library has some dtype or other.
    if found.size > 0 or isinstance(given, np.ndarray):
        check_dtype(found.dtype, dtype, what)
    flat = np.ascontiguousarray(found).reshape(-1)
    return Taken(flat, found.shape, is_torch(given), regions, regions.of(flat, dtype.itemsize))


def _full(shape: tuple[int, ...], number: Any, dtype: np.dtype[Any], keys: Optional[Taken]
          ) -> np.ndarray[Any, Any]:
    made = np.empty(shape, dtype) if keys is None else keys.empty(shape, dtype)
    made[...] = number
    return made


def take_values(given: Any, dtype: np.dtype[Any], shape: tuple[int, ...], what: str,
                keys: Optional[Taken] = None) -> np.ndarray[Any, Any]:
    """An array to send of exactly this shape, or one integer for all of them, beside the keys."""
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool) and dtype.kind in "iu":
        return _full(shape, _of_list([int(given)], dtype, what)[0], dtype, keys)
    if dtype.kind == "f" and isinstance(given, (int, float, np.floating)) and not isinstance(given, bool):
        return _full(shape, _narrow(np.asarray(given, np.float64), dtype, what), dtype, keys)
    found = as_numpy(given, dtype, what)
    if found.shape != shape and found.size == 0 and 0 in shape:
        return np.empty(shape, dtype)
    check_dtype(found.dtype, dtype, what)
    if found.shape != shape:
        raise ValueError(f"{what}: shape {found.shape}, and for these keys it is {shape}")
    return np.ascontiguousarray(found)


def receive_mask(given: Any, keys: Taken) -> np.ndarray[Any, Any]:
    """The caller's mask, or a new one."""
    mask = np.empty(keys.shape, np.bool_) if given is None else given
    return receive(mask, np.dtype(np.bool_), keys.shape, "found", keys)


def _to_receive(given: Any, dtype: np.dtype[Any], what: str) -> np.ndarray[Any, Any]:
    """The caller's own memory. A copy of it would receive what the caller never sees."""
    if isinstance(given, np.ma.MaskedArray):
        raise TypeError(f"{what}: a masked array, whose mask would stay as it is: give an array without one")
    found = as_numpy(given, dtype, what)
    if not isinstance(given, np.ndarray) and hasattr(given, "__array__") and found.size > 0 \
            and not np.may_share_memory(found, as_numpy(given, dtype, what)):
        raise TypeError(f"{what}: numpy can only copy a {type(given).__name__}, so that it would stay empty: give a numpy"
                        " array")
    return found


def receive(given: Any, dtype: np.dtype[Any], shape: tuple[int, ...], what: str,
            keys: Taken) -> np.ndarray[Any, Any]:
    """The caller's array to receive into: nothing stands for a new one, beside the keys."""
    if given is None:
        return keys.empty(shape, dtype)
    if isinstance(given, (list, tuple, range)):
        raise TypeError(f"{what}: give an array; a list holds objects")
    found = _to_receive(given, dtype, what)
    if dtype.kind == "b" and found.dtype == np.dtype("u1"):
        found = found.view(dtype)
    check_dtype(found.dtype, dtype, what)
    if found.shape != shape:
        raise ValueError(f"{what}: shape {found.shape}, and for these keys it is {shape}")
    if not found.flags.c_contiguous:
        raise ValueError(f"{what}: the array has gaps (it is not C-contiguous)")
    if not found.flags.writeable:
        raise ValueError(f"{what}: the array is read-only")
    if np.may_share_memory(found, keys.flat):
        raise ValueError(f"{what}: the array overlaps the keys")
    return found


def give(made: np.ndarray[Any, Any], given: Any, torch: bool) -> Any:
    """What the caller gets: the array it gave, or the new one, as a tensor where its keys were one."""
    if given is not None:
        return given
    if not torch:
        return made
    if made.dtype.kind == "u" and made.dtype.itemsize > 1:  # torch reckons with signed integers
        made = made.view(f"i{made.dtype.itemsize}")
    return importlib.import_module("torch").from_numpy(made)
