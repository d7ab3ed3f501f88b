# SPDX-License-Identifier: MIT
"""Arrays of callers in the form that libsherwood reads: contiguous, of the server's widths, never converted.

The client copies only lists and arrays with gaps. It refuses an array of another dtype: a silent conversion
could store other keys than the caller has.
"""

from __future__ import annotations

import array
import importlib
import operator
import reprlib
from typing import Any, Callable, NamedTuple, Optional

import numpy as np

from ._errors import Refused
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
    regions: Regions  # the regions of the client, to find other arrays
    home: Optional[Memory]  # the region that has the array

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
        """Returns a new array, in the region of this one if it lies in one."""
        return np.empty(shape, dtype) if self.home is None else self.home.empty(shape, dtype)


def is_torch(given: Any) -> bool:
    return type(given).__module__.split(".")[0] == "torch" and hasattr(given, "data_ptr")


def check_storage(given: Any, what: str) -> None:
    """Refuses a tensor of torch whose storage was resized to 0: numpy shows other memory, and libsherwood takes it for no array."""
    if is_torch(given) and given.data_ptr() == 0 and given.numel() > 0:
        raise Refused(f"{what}: the storage of the tensor is empty: resize it to its elements")


def check_gradient(given: Any, what: str) -> None:
    """Refuses a tensor for results that requires a gradient, as torch's operators in place refuse a leaf: a read has no gradient."""
    if is_torch(given) and given.requires_grad and importlib.import_module("torch").is_grad_enabled():
        raise ValueError(f"{what}: the tensor requires a gradient, and a read has none: give {what}.detach()")


def _of_torch(given: Any, what: str) -> np.ndarray[Any, Any]:
    if given.device.type != "cpu":
        raise TypeError(f"{what}: the tensor is on {given.device}, and this call needs host memory: give .cpu()")
    check_storage(given, what)
    found: np.ndarray[Any, Any] = given.detach().numpy()
    return found


def plain(given: np.ndarray[Any, Any], what: str) -> np.ndarray[Any, Any]:
    """Returns the same memory as a plain numpy array. Refuses an array with masked elements."""
    if type(given) is np.ndarray:
        return given
    if isinstance(given, np.ma.MaskedArray):
        held: Any = given
        if held.count() != held.size:
            raise ValueError(f"{what}: {held.size - held.count()} elements of the array are masked, and a table has"
                             " no masked values: give .compressed() or .filled(number)")
    return given.view(np.ndarray)


def shown(given: Any) -> str:
    """A short text of a value, for an error."""
    return reprlib.repr(given)


def _is_integer(one: Any) -> bool:
    return not isinstance(one, (bool, np.bool_)) and hasattr(one, "__index__")


def _is_number(one: Any) -> bool:
    return isinstance(one, (int, float, np.integer, np.floating)) and not isinstance(one, bool)


def _wrong_element(given: Any, is_right: Callable[[Any], bool], what: str, why: str) -> str:
    """The error text of the first element that is wrong."""
    for at, one in enumerate(given):
        if not is_right(one):
            return f"{what}: element {at} of the list, {shown(one)}, {why}"
    return f"{what}: the list {shown(given)} {why}"


def _of_list(given: Any, dtype: np.dtype[Any], what: str) -> np.ndarray[Any, Any]:
    """Returns the numbers of a list. array.array checks each: it refuses fractions."""
    if dtype.kind not in "iu":
        if dtype.kind == "f":
            return _of_floats(given, dtype, what)
        raise TypeError(f"{what}: the client makes no {dtype} of a list: give a numpy array of them")
    if len(given) > 0 and isinstance(given[0], (list, tuple)):
        parts = [_of_list(part, dtype, what) for part in given if isinstance(part, (list, tuple))]
        if len(parts) != len(given) or any(part.shape != parts[0].shape for part in parts):
            raise ValueError(f"{what}: {shown(given)} has elements of several shapes: give lists of one length")
        return np.stack(parts)
    code = _CODES[dtype.itemsize]
    wrong = f"is not an integer: give integers ({dtype})"
    if what == "values" and any(isinstance(one, (str, bytes)) for one in given[:1]):
        wrong += ", or start the server with --value-bytes N --value-type string"
    if not _BOOLS.isdisjoint(map(_type_of, given)):
        raise TypeError(_wrong_element(given, _is_integer, what, wrong))
    try:
        return np.frombuffer(array.array(code if dtype.kind == "u" else code.lower(), given), dtype)
    except TypeError:
        raise TypeError(_wrong_element(given, _is_integer, what, wrong)) from None
    except OverflowError:
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        raise ValueError(_wrong_element(given, lambda one: low <= operator.index(one) <= high, what,
                                        f"is not within {low} to {high}")) from None


def _of_floats(given: Any, dtype: np.dtype[Any], what: str) -> np.ndarray[Any, Any]:
    try:
        found = np.asarray(given)
    except ValueError:
        found = np.empty(0, object)
    if found.dtype.kind not in "fiu" or (found.ndim == 1 and not _BOOLS.isdisjoint(map(_type_of, given))):
        raise TypeError(_wrong_element(given, _is_number, what, f"is not a number: give numbers ({dtype})"))
    return _narrow(found, dtype, what)


def _narrow(found: np.ndarray[Any, Any], dtype: np.dtype[Any], what: str) -> np.ndarray[Any, Any]:
    """Returns numbers as floats, rounded. Refuses a number out of range."""
    with np.errstate(over="ignore"):
        made = found.astype(dtype)
    if not np.array_equal(np.isfinite(made), np.isfinite(found)):
        wrong = found.reshape(-1)[np.isfinite(made.reshape(-1)) != np.isfinite(found.reshape(-1))]
        raise ValueError(f"{what}: {wrong[0]} is out of the range of {dtype}")
    return made


def as_numpy(given: Any, dtype: np.dtype[Any], what: str) -> np.ndarray[Any, Any]:
    """Returns an array over the memory of the argument. Does not check its dtype."""
    if isinstance(given, (np.ndarray, np.generic)):
        return plain(np.asanyarray(given), what)
    if is_torch(given):
        return _of_torch(given, what)
    if isinstance(given, (list, tuple, range)):
        return _of_list(given, dtype, what)
    if hasattr(given, "__cuda_array_interface__") or (
            hasattr(given, "__dlpack_device__") and given.__dlpack_device__()[0] not in _DLPACK_CPU):
        raise TypeError(f"{what}: the array is in the memory of a device, and this call needs host memory: copy it there"
                        " first")
    return _of_protocol(given, what)


def _of_protocol(given: Any, what: str) -> np.ndarray[Any, Any]:
    """Returns an array by a protocol of the object. The buffer protocol is first, because it copies nothing."""
    try:
        return np.asarray(memoryview(given))
    except TypeError:
        pass
    if hasattr(given, "__array__"):  # pandas and pyarrow arrays have it
        if _has_nulls(given):
            raise ValueError(f"{what}: the column has nulls, and a table has none: drop or fill them first")
        return plain(np.asanyarray(given), what)
    if hasattr(given, "__dlpack__"):
        return np.from_dlpack(given)
    raise TypeError(f"{what}: {type(given).__name__} is not an array, list, buffer or DLPack tensor: give one of these")


def _has_nulls(given: Any) -> bool:
    """Returns true if a column has nulls, which numpy would show as NaN or as objects."""
    nulls = getattr(given, "null_count", 0)  # an attribute of pyarrow, and a function of polars
    if nulls() if callable(nulls) else nulls:
        return True
    dtype = getattr(given, "dtype", None)
    return hasattr(given, "isna") and dtype is not None and not isinstance(dtype, np.dtype) and bool(np.any(given.isna()))


def fits(found: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    """Returns true if the memory needs no conversion: the same dtype, or integers of one width, signed or not."""
    if found == wanted:
        return True
    return (found.kind in "iu" and wanted.kind in "iu" and found.itemsize == wanted.itemsize
            and found.isnative)


def _names(dtype: np.dtype[Any]) -> str:
    if dtype.kind in "iu":
        return f"uint{dtype.itemsize * 8} or int{dtype.itemsize * 8}"
    return str(dtype)


def check_dtype(found: np.dtype[Any], wanted: np.dtype[Any], what: str, given: Any) -> None:
    """Refuses an array `given` whose dtype is not the one that a call needs."""
    if not fits(found, wanted):
        hint = "convert the tensor yourself (.to)" if is_torch(given) else "convert the array yourself (.astype)"
        hint = "np.frombuffer(.., dtype) reads bytes" if found.itemsize == 1 and found.kind != "b" else hint
        raise TypeError(f"{what}: the dtype is {found}, and this call needs {_names(wanted)}: {hint}")


def take(given: Any, dtype: np.dtype[Any], what: str, regions: Regions) -> Taken:
    """Returns an array of integers to send, of any shape."""
    found = as_numpy(given, dtype, what)
    # An empty list of another library may have any dtype.
    if found.size > 0 or isinstance(given, np.ndarray):
        check_dtype(found.dtype, dtype, what, given)
    flat = np.ascontiguousarray(found).reshape(-1)
    return Taken(flat, found.shape, is_torch(given), regions, regions.of(flat, dtype.itemsize))


def _full(shape: tuple[int, ...], number: Any, dtype: np.dtype[Any], keys: Optional[Taken]
          ) -> np.ndarray[Any, Any]:
    made = np.empty(shape, dtype) if keys is None else keys.empty(shape, dtype)
    made[...] = number
    return made


def one_number(given: Any, dtype: np.dtype[Any], what: str, signed: bool = False) -> Any:
    """Returns a number of the dtype. With `signed` a negative number of its width stands for the unsigned one of its bits."""
    if dtype.kind == "f":
        return _narrow(np.asarray(given, np.float64), dtype, what).item()
    if dtype.kind == "b" and isinstance(given, (bool, np.bool_, int)) and 0 <= given <= 1:
        return bool(given)
    if not _is_integer(given):
        raise TypeError(f"{what}: {shown(given)} is not an integer: give an integer ({dtype})")
    low, high = -2**(8 * dtype.itemsize - 1) if signed else np.iinfo(dtype).min, np.iinfo(dtype).max
    if not low <= given <= high:
        raise ValueError(f"{what}: {given} is not within {low} to {high}")
    return int(given)


def take_values(given: Any, dtype: np.dtype[Any], shape: tuple[int, ...], what: str,
                keys: Optional[Taken] = None) -> np.ndarray[Any, Any]:
    """Returns an array to send of exactly this shape. One number stands for all elements: then the array is made in
    the region of the keys."""
    if dtype.kind in "iuf" and _is_number(given):
        return _full(shape, one_number(given, dtype, what), dtype, keys)
    found = as_numpy(given, dtype, what)
    if found.shape != shape and found.size == 0 and 0 in shape:
        return np.empty(shape, dtype)
    check_dtype(found.dtype, dtype, what, given)
    if found.shape != shape:
        raise ValueError(f"{what}: an array of shape {found.shape}, and these keys need {shape}")
    return np.ascontiguousarray(found)


def receive_mask(given: Any, keys: Taken) -> np.ndarray[Any, Any]:
    """Returns the caller's mask, or a new one."""
    mask = np.empty(keys.shape, np.bool_) if given is None else given
    return receive(mask, np.dtype(np.bool_), keys.shape, "found", keys)


def _to_receive(given: Any, dtype: np.dtype[Any], what: str) -> np.ndarray[Any, Any]:
    """Returns the caller's own memory. Refuses an array that numpy can only copy: the caller would never see the results."""
    if isinstance(given, np.ma.MaskedArray):
        raise TypeError(f"{what}: the array is masked, and the call would not write its mask: give an array without one")
    found = as_numpy(given, dtype, what)
    if not isinstance(given, np.ndarray) and hasattr(given, "__array__") and found.size > 0 \
            and not np.may_share_memory(found, as_numpy(given, dtype, what)):
        raise TypeError(f"{what}: numpy copies a {type(given).__name__}, so the call cannot write to it: give a numpy array")
    return found


def receive(given: Any, dtype: np.dtype[Any], shape: tuple[int, ...], what: str,
            keys: Taken) -> np.ndarray[Any, Any]:
    """Returns the caller's array for results, or a new one beside the keys if it gave none."""
    if given is None:
        return keys.empty(shape, dtype)
    if isinstance(given, (list, tuple, range)):
        raise TypeError(f"{what}: a list cannot receive results: give a numpy array")
    check_gradient(given, what)
    found = _to_receive(given, dtype, what)
    if dtype.kind == "b" and found.dtype == np.dtype("u1"):
        found = found.view(dtype)
    check_dtype(found.dtype, dtype, what, given)
    if found.shape != shape:
        raise ValueError(f"{what}: an array of shape {found.shape}, and these keys need {shape}")
    if not found.flags.c_contiguous:
        raise ValueError(f"{what}: the array has gaps: give a C-contiguous one")
    if not found.flags.writeable:
        raise ValueError(f"{what}: the array is read-only: give one that the call can write to")
    if np.may_share_memory(found, keys.flat):
        raise ValueError(f"{what}: the array overlaps the keys: give separate memory")
    return found


def give(made: np.ndarray[Any, Any], given: Any, torch: bool) -> Any:
    """Returns the result of a call: the caller's array, or the new one, as a tensor if the keys were a tensor."""
    if given is not None:
        return given
    if not torch:
        return made
    if made.dtype.kind == "u" and made.dtype.itemsize > 1:  # torch calculates with signed integers
        made = made.view(f"i{made.dtype.itemsize}")
    return importlib.import_module("torch").from_numpy(made)
