# SPDX-License-Identifier: MIT
"""What the calls of Many return, for type checkers: at run time these classes add nothing to it.

With keys that are numpy's or a list, results are numpy's; with those of others they are Any.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Optional, Union, overload

import numpy as np

from ._many import Many

if TYPE_CHECKING:
    from typing import Literal, Protocol

    Array = np.ndarray[Any, np.dtype[Any]]
    Mask = np.ndarray[Any, np.dtype[np.bool_]]

    class Column(Protocol):
        """pandas and pyarrow."""

        def to_numpy(self) -> Any: ...

    class Tensor(Protocol):
        """torch."""

        def data_ptr(self) -> int: ...

    Keys = Union[Array, Sequence[int], Column]
    Out = Union[Array, Tensor, bytearray, memoryview]
    Default = Union[int, float, bytes, Array]
    Only = Literal["absent", "present"]
    No = Literal[False]
    Yes = Literal[True]


# An argument of a numpy type holds Any. Where that fits two declarations with different results, a
# checker takes none of them: so no call fits two of these.
class ClientCalls(Many):
    """The calls that block."""

    __slots__ = ()
    if TYPE_CHECKING:
        @overload
        def get_many(self, keys: Keys) -> tuple[Array, Mask]: ...
        @overload
        def get_many(self, keys: Keys, *, default: Default) -> Array: ...
        @overload
        def get_many(self, keys: Keys, *, default: Optional[Default] = None, out: Out,
                     found: Optional[Out] = None) -> Any: ...
        @overload
        def get_many(self, keys: Keys, *, default: Optional[Default] = None, found: Out) -> Any: ...
        @overload
        def get_many(self, keys: Tensor, *, default: Optional[Default] = None, out: Optional[Out] = None,
                     found: Optional[Out] = None) -> Any: ...
        def get_many(self, keys: Any, *, default: Any = None, out: Any = None,
                     found: Any = None) -> Any: ...

        @overload  # type: ignore[override]  # `only` is a literal here, and any text in Many
        def set_many(self, keys: Union[Keys, Tensor], values: Any) -> None: ...
        @overload
        def set_many(self, keys: Keys, values: Any, *, only: Only, previous: No = False) -> Mask: ...
        @overload
        def set_many(self, keys: Keys, values: Any, *, only: Optional[Only] = None,
                     previous: Yes) -> tuple[Array, Mask]: ...
        @overload
        def set_many(self, keys: Tensor, values: Any, *, only: Only, previous: No = False) -> Any: ...
        @overload
        def set_many(self, keys: Tensor, values: Any, *, only: Optional[Only] = None,
                     previous: Yes) -> Any: ...
        def set_many(self, keys: Any, values: Any, *, only: Any = None, previous: bool = False) -> Any: ...

        @overload
        def delete_many(self, keys: Keys) -> Mask: ...
        @overload
        def delete_many(self, keys: Keys, *, found: Out) -> Any: ...
        @overload
        def delete_many(self, keys: Tensor, *, found: Optional[Out] = None) -> Any: ...
        def delete_many(self, keys: Any, *, found: Any = None) -> Any: ...

        @overload
        def contains_many(self, keys: Keys) -> Mask: ...
        @overload
        def contains_many(self, keys: Keys, *, found: Out) -> Any: ...
        @overload
        def contains_many(self, keys: Tensor, *, found: Optional[Out] = None) -> Any: ...
        def contains_many(self, keys: Any, *, found: Any = None) -> Any: ...


class SubmitCalls(Many):
    """The same as futures of threads."""

    __slots__ = ()
    if TYPE_CHECKING:
        def get_many(self, keys: Any, *, default: Any = None, out: Any = None,
                     found: Any = None) -> Future[Any]: ...
        def set_many(self, keys: Any, values: Any, *, only: Optional[str] = None,
                     previous: bool = False) -> Future[Any]: ...
        def add_many(self, keys: Any, amounts: Any, *, previous: bool = False) -> Future[Any]: ...
        def min_many(self, keys: Any, values: Any, *, previous: bool = False) -> Future[Any]: ...
        def max_many(self, keys: Any, values: Any, *, previous: bool = False) -> Future[Any]: ...
        def delete_many(self, keys: Any, *, found: Any = None) -> Future[Any]: ...
        def contains_many(self, keys: Any, *, found: Any = None) -> Future[Any]: ...


class AioCalls(Many):
    """The same as futures of asyncio."""

    __slots__ = ()
    if TYPE_CHECKING:
        def get_many(self, keys: Any, *, default: Any = None, out: Any = None,
                     found: Any = None) -> asyncio.Future[Any]: ...
        def set_many(self, keys: Any, values: Any, *, only: Optional[str] = None,
                     previous: bool = False) -> asyncio.Future[Any]: ...
        def add_many(self, keys: Any, amounts: Any, *, previous: bool = False) -> asyncio.Future[Any]: ...
        def min_many(self, keys: Any, values: Any, *, previous: bool = False) -> asyncio.Future[Any]: ...
        def max_many(self, keys: Any, values: Any, *, previous: bool = False) -> asyncio.Future[Any]: ...
        def delete_many(self, keys: Any, *, found: Any = None) -> asyncio.Future[Any]: ...
        def contains_many(self, keys: Any, *, found: Any = None) -> asyncio.Future[Any]: ...
