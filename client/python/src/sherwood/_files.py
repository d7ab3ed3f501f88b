# SPDX-License-Identifier: MIT
"""Pairs from files and to files: .npz, .npy, .csv, and .parquet if pyarrow is installed.

A file has a key and a value for each pair. The caller gives their names: arrays of an .npz,
fields of an .npy of records, columns of a .parquet. A .csv has two columns without names.
"""

from __future__ import annotations

import codecs
import contextlib
import importlib
import os
import sys
import tempfile
import zipfile
import zlib
from typing import IO, Any, Callable, Iterator, Optional, Union

import numpy as np

from ._facts import Layout
from ._native import ffi, lib

Pairs = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]
Progress = Union[bool, Callable[[int, Optional[int]], None]]
# (keys, values, number of pairs in the file, if known)
Batches = Iterator[tuple[Any, Any, Optional[int]]]
Names = tuple[str, ...]  # of the keys, and of the values; of a key set only of the keys

_NPY_HEAD_BYTES = 512  # the header of a dump: written first, and again when the number of pairs is known


def read(path: str, layout: Layout, names: Names, batch: int) -> Batches:
    """Yields the pairs of a file, `batch` at a time. Refuses a file with a value that arrays cannot hold exactly."""
    if not 1 <= batch < 2**32:
        raise ValueError(f"batch is {batch}: give 1 to {2**32 - 1}")
    reader = _of_suffix(path, {".npz": _read_npz, ".npy": _read_npy, ".csv": _read_csv,
                               ".parquet": _read_parquet})
    yield from reader(path, layout, _own(layout, names), batch)


def write(path: str, layout: Layout, names: Names, pairs: Iterator[Pairs]) -> None:
    """Writes pairs to a temporary file beside the path, and renames it when it is complete."""
    writer = _of_suffix(path, {".npz": _write_npz, ".npy": _write_npy, ".csv": _write_csv,
                               ".parquet": _write_parquet})
    folder, name = os.path.split(path)
    try:
        handle, part = tempfile.mkstemp(prefix=name + ".", suffix=".part", dir=folder or ".")
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None  # the caller's name, not the temporary one
    try:
        with os.fdopen(handle, "w+b") as file:
            writer(file, layout, _own(layout, names), pairs)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(part, 0o666 & ~mask)  # the mode that open() gives to a new file
        os.replace(part, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
        raise


def _own(layout: Layout, names: Names) -> Names:
    return names[:1] if layout.value_type == "none" else names


def _values(held: Any, names: Names, keys: Any) -> Any:
    """Returns the values of a file; of keys without values, those of 0 bytes."""
    return held[names[1]] if len(names) > 1 else np.empty((*np.shape(keys)[:1], 0), np.uint8)


def _of_suffix(path: str, known: dict[str, Callable[..., Any]]) -> Callable[..., Any]:
    suffix = os.path.splitext(path)[1].lower()
    if suffix not in known:
        raise ValueError(f"{path}: the file type is unknown: give a name that ends in {', '.join(known)}")
    return known[suffix]


def show(progress: Progress, path: str) -> Callable[[int, Optional[int]], None]:
    """Returns the function that reports progress: the caller's, one that prints a line on stderr, or one that does nothing."""
    if callable(progress):
        return progress

    def line(done: int, total: Optional[int]) -> None:
        share = f" of {total:,}" if total is not None else ""
        end = "\n" if done == total else ""
        print(f"\r{path}: {done:,}{share} pairs", end=end, file=sys.stderr, flush=True)

    return line if progress else lambda done, total: None


def _pyarrow(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(".parquet files need pyarrow: pip install pyarrow") from error


def _named(path: str, there: Any, names: Names) -> None:
    for name in names:
        if name not in there:
            wanted = "two of these with keys= and values=" if len(names) > 1 else "one of these with keys="
            raise ValueError(f"{path}: the file has no {name!r}, but {', '.join(there)}: name {wanted}")


# --- reading -------------------------------------------------------------------------------------
def _cut(path: str, keys: Any, values: Any, batch: int) -> Batches:
    if keys.ndim != 1 or values.ndim == 0:
        raise ValueError(f"{path}: keys of shape {keys.shape} and values of shape {values.shape}: keys need one dimension, values"
                         " at least one")
    if len(keys) != len(values):
        raise ValueError(f"{path}: {len(keys)} keys and {len(values)} values: each key needs one value")
    for at in range(0, len(keys), batch):
        yield keys[at: at + batch], values[at: at + batch], len(keys)


def _by_numpy(path: str, read: Callable[[], Any], wanted: str = "dtype") -> Any:
    """Returns what numpy reads, if it has the attribute `wanted`. numpy's own errors name no file, and propose to load pickles."""
    try:
        held = read()
        if hasattr(held, wanted):
            return held
        cause = None
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        cause = error
    suffix = os.path.splitext(path)[1].lower()
    raise ValueError(f"{path}: not a whole {suffix} file of numbers: write it with dump() or numpy.save{'z' * (suffix == '.npz')}()") from cause


def _read_npz(path: str, _layout: Layout, names: Names, batch: int) -> Batches:
    with _by_numpy(path, lambda: np.load(path, allow_pickle=False), "files") as file:
        _named(path, file.files, names)
        keys = _by_numpy(path, lambda: file[names[0]])
        values = _by_numpy(path, lambda: _values(file, names, keys))
    yield from _cut(path, keys, values, batch)


def _read_npy(path: str, _layout: Layout, names: Names, batch: int) -> Batches:
    found = _by_numpy(path, lambda: np.load(path, mmap_mode="r", allow_pickle=False))
    if found.dtype.names is not None and found.ndim == 1:
        _named(path, found.dtype.names, names)
        yield from _cut(path, found[names[0]], _values(found, names, found), batch)
    elif found.ndim == 1 and len(names) == 1:
        yield from _cut(path, found, _values(found, names, found), batch)
    elif found.ndim == 2 and found.shape[1] == 2 and len(names) == 2:
        yield from _cut(path, found[:, 0], found[:, 1], batch)
    else:
        raise ValueError(f"{path}: an array of dtype {found.dtype} and shape {found.shape} has neither records of"
                         f" {' and '.join(map(repr, names))} nor {('one dimension', 'two columns')[len(names) - 1]}")


def _has_no_rows(path: str, layout: Layout) -> None:
    """Raises ValueError if a .csv cannot hold the values."""
    if layout.value_type == "none":
        raise ValueError(f"{path}: keys without values need .npz, .npy or .parquet here; sherwood-cli load reads and dump writes"
                         " a .csv of them")
    if layout.value_shape or layout.value_dtype.names is not None:
        raise ValueError(f"{path}: a .csv cannot hold rows: use .npz, .npy or .parquet")
    if layout.value_dtype.kind not in "uif" or layout.value_dtype.itemsize not in (4, 8):
        raise ValueError(f"{path}: a .csv holds integers and floats of 32 or 64 bits, and value_dtype is"
                         f" {layout.value_dtype}: use .npz or .npy")


_CSV_BLOCK = 4 << 20  # bytes of one read
_CSV_LINE = 1 << 16  # the most bytes of a line
_WRONG = {1: "the line is not key,value", 2: "the key is not an unsigned integer of {} bits",
          3: "the value is not of the type {}, or out of its range", 4: "not enough memory"}


def _wrong_line(path: str, csv: Any, line: bytes, layout: Layout) -> ValueError:
    what = _WRONG[csv.status].format(layout.key_dtype.itemsize * 8 if csv.status == 2 else layout.value_dtype)
    shown = ascii(line[:80].decode("utf-8", "replace"))
    return ValueError(f"{path}:{csv.lines}: {what}: {shown}")


def _read_csv(path: str, layout: Layout, names: Names, batch: int) -> Batches:
    _has_no_rows(path, layout)
    if names != ("key", "value"):
        raise ValueError(f"{path}: load reads the first column of a .csv as keys and the second as values: leave keys= and values= out")
    csv = ffi.new("struct swpy_csv *")
    csv.key_bytes, csv.value_bytes = layout.key_dtype.itemsize, layout.value_dtype.itemsize
    csv.value_kind = layout.value_dtype.kind.encode("ascii")
    with open(path, "rb") as file:
        text, at = file.read(_CSV_BLOCK), 0
        at = len(codecs.BOM_UTF8) if text.startswith(codecs.BOM_UTF8) else 0
        while not csv.is_last or at < len(text):
            keys, values = np.empty(batch, layout.key_dtype), np.empty(batch, layout.value_dtype)
            filled = 0
            while filled < batch and not (csv.is_last and at == len(text)):
                lib.swpy_csv_read(csv, ffi.from_buffer(text) + at, len(text) - at, ffi.from_buffer(keys[filled:]),
                                  ffi.from_buffer(values[filled:]), batch - filled)
                at, filled = at + int(csv.used), filled + int(csv.count)
                rest = text[at: at + _CSV_LINE + 1]
                if csv.status != 0:
                    raise _wrong_line(path, csv, _first_line(rest), layout)
                if filled < batch and not csv.is_last:  # the text has no more whole lines
                    if len(text) - at > _CSV_LINE:
                        raise ValueError(f"{path}:{int(csv.lines) + 1}: the line has more than {_CSV_LINE} bytes")
                    more = file.read(_CSV_BLOCK)
                    csv.is_last = not more
                    text, at = text[at:] + more, 0
            if filled > 0:
                yield keys[:filled], values[:filled], None


def _first_line(text: bytes) -> bytes:
    return text.splitlines()[0] if text else text


def _read_parquet(path: str, layout: Layout, names: Names, batch: int) -> Batches:
    file = _pyarrow("pyarrow.parquet").ParquetFile(path)
    _named(path, file.schema_arrow.names, names)
    total, before = file.metadata.num_rows, 0
    for part in file.iter_batches(batch_size=batch, columns=list(names)):
        keys, values = part.column(names[0]), part.column(names[-1])
        for column, name in ((keys, names[0]), (values, names[-1])):
            if column.null_count:
                row = before + int(np.flatnonzero(np.asarray(column.is_null()))[0])
                raise ValueError(f"{path}: row {row} has a null in {name!r}, and a table has no nulls: drop or fill it")
        if len(names) == 1:
            made = np.empty((len(keys), 0), np.uint8)
        else:
            made = _rows(path, values, layout, before) if layout.value_shape else np.asarray(values)
        yield np.asarray(keys), made, total
        before += len(keys)


def _rows(path: str, column: Any, layout: Layout, before: int) -> Any:
    """Returns the rows of a column of lists. Each list must have the numbers of one row."""
    types = _pyarrow("pyarrow.types")
    wanted = layout.value_shape[0]
    if types.is_fixed_size_list(column.type):
        sizes = np.full(len(column), column.type.list_size)
    elif types.is_list(column.type) or types.is_large_list(column.type):
        sizes = np.asarray(column.value_lengths())
    else:
        raise ValueError(f"{path}: the values have the type {column.type}, and this server stores rows of {wanted} numbers: give"
                         " lists")
    other = np.flatnonzero(sizes != wanted)
    if other.size > 0:
        raise ValueError(f"{path}: row {before + int(other[0])} has {int(sizes[other[0]])} numbers, and the rows of"
                         f" this server have {wanted}")
    numbers = column.flatten()
    if numbers.null_count:
        at = int(np.flatnonzero(np.asarray(numbers.is_null()))[0])
        raise ValueError(f"{path}: row {before + at // wanted} contains a null, and a table has no nulls: drop or fill it")
    return np.asarray(numbers).reshape(len(column), wanted)


# --- writing -------------------------------------------------------------------------------------
def _write_npz(file: IO[bytes], layout: Layout, names: Names, pairs: Iterator[Pairs]) -> None:
    """Writes the values to a file of their own until the keys are complete."""
    shapes = ((layout.key_dtype, ()), (layout.value_dtype, layout.value_shape))
    with tempfile.TemporaryFile() as keys, tempfile.TemporaryFile() as values:
        count = 0
        for some, their in pairs:
            keys.write(some.tobytes())
            values.write(their.tobytes())
            count += len(some)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            for name, part, (dtype, shape) in zip(names, (keys, values), shapes):
                part.seek(0)
                with archive.open(name + ".npy", "w", force_zip64=True) as member:
                    member.write(_npy_head(dtype, (count, *shape)))
                    while block := part.read(1 << 20):
                        member.write(block)


def _npy_head(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """Returns the header of an .npy file. It always has the same length."""
    descr = dtype.str if dtype.names is None else dtype.descr
    fields = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode("ascii")
    room = _NPY_HEAD_BYTES - 10
    if len(fields) >= room:
        raise ValueError(f"dtype {dtype}: its description is too long for the header of an .npy file: give shorter names with keys="
                         " and values=")
    return b"\x93NUMPY\x01\x00" + room.to_bytes(2, "little") + fields.ljust(room - 1) + b"\n"


def _write_npy(file: IO[bytes], layout: Layout, names: Names, pairs: Iterator[Pairs]) -> None:
    fields = [(names[0], layout.key_dtype, ()), *((name, layout.value_dtype, layout.value_shape) for name in names[1:])]
    dtype = np.dtype(fields)
    file.write(_npy_head(dtype, (0,)))
    count = 0
    for keys, values in pairs:
        records = np.empty(len(keys), dtype)
        for name, column in zip(names, (keys, values)):
            records[name] = column
        file.write(records.tobytes())
        count += len(keys)
    file.seek(0)
    file.write(_npy_head(dtype, (count,)))


def _write_csv(file: IO[bytes], layout: Layout, names: Names, pairs: Iterator[Pairs]) -> None:
    _has_no_rows("dump", layout)
    for keys, values in pairs:
        lines = zip(keys.tolist(), values.tolist())
        file.write("".join(f"{key},{value!r}\n" for key, value in lines).encode("ascii"))


def _write_parquet(file: IO[bytes], layout: Layout, names: Names,
                   pairs: Iterator[Pairs]) -> None:
    arrow, parquet = _pyarrow("pyarrow"), _pyarrow("pyarrow.parquet")
    if layout.value_dtype.names is not None:
        raise ValueError("dump: a .parquet cannot hold byte strings with a length: use .npz or .npy")
    if len(names) == 1:
        schema = arrow.schema([(names[0], arrow.from_numpy_dtype(layout.key_dtype))])
        with parquet.ParquetWriter(file, schema) as writer:
            for keys, _ in pairs:
                writer.write_table(arrow.table([arrow.array(keys)], schema=schema))
        return
    value_type = arrow.from_numpy_dtype(layout.value_dtype)
    if layout.value_shape:
        value_type = arrow.list_(value_type, layout.value_shape[0])
    schema = arrow.schema([(names[0], arrow.from_numpy_dtype(layout.key_dtype)), (names[1], value_type)])
    with parquet.ParquetWriter(file, schema) as writer:
        for keys, values in pairs:
            column = arrow.array(values.reshape(-1))
            if layout.value_shape:
                column = arrow.FixedSizeListArray.from_arrays(column, layout.value_shape[0])
            writer.write_table(arrow.table([arrow.array(keys), column], schema=schema))
