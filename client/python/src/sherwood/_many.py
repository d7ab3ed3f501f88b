# SPDX-License-Identifier: MIT
"""The calls on many keys, the same for a client, its `submit` and its `aio`."""

from __future__ import annotations

from typing import Any, Optional

from . import _plans, _times, _words
from ._facts import Layout
from ._native import lib


class Many:
    """Calls on arrays of keys.

    Keys are a numpy array, a torch tensor in host memory, a list of integers, or anything with the
    buffer protocol or DLPack, of any shape. Their dtype has the server's width: uint64 or int64, or
    uint32 or int32. An int64 stands for the unsigned integer of the same bits. Other dtypes raise
    TypeError: the client converts nothing silently. It does not copy contiguous arrays.

    Values are arrays of the shape of the keys. Rows have one more dimension. If the keys are a torch tensor,
    results are torch tensors (int64 for uint64); otherwise they are numpy arrays. Absent keys
    raise nothing. Keys may repeat: their operations take effect in order.

    Errors: TypeError and ValueError for arrays that do not fit, before the client sends anything; then Full,
    Lost, Timeout, Refused, Denied and Failed, of this package.
    """

    __slots__ = ()

    def _layout(self) -> Layout:
        raise NotImplementedError

    def _carry_out(self, plan: _plans.Plan) -> Any:
        raise NotImplementedError

    def get_many(self, keys: Any, *, default: Any = None, out: Any = None, found: Any = None) -> Any:
        """Reads the values of keys.

        Returns (values, found): found is bool, of the shape of the keys, and the value of an absent key
        is 0. With `default` absent keys have that value, and the call returns only the values, unless
        `found` is given. `out` and `found` are arrays for the results: C-contiguous and writable, of the
        shape and dtype of the results. With both of them the call allocates no arrays.
        """
        return self._carry_out(_plans.get(self._layout(), keys, default, out, found))

    def set_many(self, keys: Any, values: Any, *, only: Optional[str] = None, previous: bool = False,
                 ttl: Any = None, expire_at: Any = None, keep_ttl: bool = False) -> Any:
        """Stores values. One number stands for the same value everywhere.

        only="absent" leaves present keys unchanged, only="present" stores no new keys. With `only` the call
        returns bool: which keys were written. With previous=True it returns (old, was): the values before,
        and which keys had one. Otherwise it returns None.

        ttl: the written keys expire after this number of seconds, by the server's clock. expire_at: they expire at
        this time, in seconds since 1970. Both are one number, a timedelta or a datetime for all keys, or an array of
        the shape of the keys. keep_ttl: present keys keep their times. Without these arguments keys expire after
        the server's --default-ttl, or never.
        """
        return self._carry_out(_plans.store(self._layout(), keys, values, only, previous, ttl=ttl,
                                            expire_at=expire_at, keep_ttl=keep_ttl))

    def add_many(self, keys: Any, amounts: Any, *, previous: bool = False) -> Any:
        """Adds to values, modulo 2 to the power of their width; an absent key is stored.

        Adds rows number by number, also in a cache, if their value_dtype is float32, float64, float16, uint32, uint64 or int64;
        rows of bf16 have the value_dtype uint16. Returns None, or (old, was) as set_many does.
        """
        return self._carry_out(_plans.combine(self._layout(), "add", keys, amounts, previous))

    def min_many(self, keys: Any, values: Any, *, previous: bool = False) -> Any:
        """Keeps the smaller value (as unsigned integers); an absent key is stored. Returns as add_many."""
        return self._carry_out(_plans.combine(self._layout(), "min", keys, values, previous))

    def max_many(self, keys: Any, values: Any, *, previous: bool = False) -> Any:
        """Keeps the larger value (as unsigned integers); an absent key is stored. Returns as add_many."""
        return self._carry_out(_plans.combine(self._layout(), "max", keys, values, previous))

    def or_many(self, keys: Any, values: Any, *, previous: bool = False) -> Any:
        """Sets the bits of the values; an absent key is 0, and stored. Integers, and rows of bytes, u32, u64 or i64.

        The operations take effect in the order of the array, also on repeated keys. xor_many, and_many,
        andnot_many and cas_many take effect in the same way. Returns as add_many.
        """
        return self._carry_out(_plans.bits(self._layout(), "or", keys, values, previous))

    def xor_many(self, keys: Any, values: Any, *, previous: bool = False) -> Any:
        """Toggles the bits of the values; an absent key is 0, and stored. As or_many."""
        return self._carry_out(_plans.bits(self._layout(), "xor", keys, values, previous))

    def and_many(self, keys: Any, values: Any, *, previous: bool = False) -> Any:
        """Keeps only the bits that are set in the values; an absent key stays absent. As or_many."""
        return self._carry_out(_plans.bits(self._layout(), "and", keys, values, previous))

    def andnot_many(self, keys: Any, values: Any, *, previous: bool = False) -> Any:
        """Clears the bits that are set in the values; an absent key stays absent. As or_many."""
        return self._carry_out(_plans.bits(self._layout(), "andnot", keys, values, previous))

    def cas_many(self, keys: Any, old: Any, new: Any) -> Any:
        """Stores `new` where a key has the value `old`. Returns bool, of the shape of the keys: which were
        changed. The first of equal operations on one key changes it."""
        return self._carry_out(_plans.compare_and_set(self._layout(), keys, old, new))

    def assign_many(self, keys: Any) -> Any:
        """Returns (ids, new): the ids of keys, and which of them are new: bool, both of the shape of the keys.

        For a server or a table with --ids. An absent key gets the lowest free id. A key that repeats has one id, which is
        new at its first place. If the ids do not suffice, the call raises Full. With --engine cache an absent key gets any free
        id, or that of a key that it evicts; the id of a key that is not admitted has all bits set.
        """
        return self._carry_out(_plans.assign(self._layout(), keys))

    def insert_many(self, keys: Any) -> Any:
        """Adds keys. Returns bool, of the shape of the keys: which of them are new.

        For a server or a table with --value-type none, whose keys have no values. A key that repeats is new at its first
        place. So items[c.insert_many(hashes)] are the items that no call has seen before. If there is no room for all of
        them, the call raises Full.
        """
        return self._carry_out(_plans.insert(self._layout(), keys))

    def delete_many(self, keys: Any, *, found: Any = None) -> Any:
        """Deletes keys. Returns bool, of the shape of the keys: which were present. `found` as get_many."""
        return self._carry_out(_plans.ask(self._layout(), lib.SHERWOOD_DELETE, keys, found))

    def contains_many(self, keys: Any, *, found: Any = None) -> Any:
        """Returns which keys are present: bool, of the shape of the keys. In a cache this does not count as a use."""
        layout = self._layout()
        operation = lib.SHERWOOD_PEEK if layout.is_cache else lib.SHERWOOD_GET
        return self._carry_out(_plans.ask(layout, operation, keys, found))

    # --- when keys expire --------------------------------------------------------------------------
    def expire_many(self, keys: Any, *, ttl: Any = None, expire_at: Any = None, only: Optional[str] = None,
                    previous: bool = False) -> Any:
        """Sets the expiry times of present keys, as set_many does, and leaves their values. Returns bool, of the
        shape of the keys: which got a time. A time in the past removes its key.

        only="none": only keys without a time; "some": only keys with a time; "later", "earlier": only if the new
        time is later, or earlier (never is later than any time); "shorten": only keys with a later time. With
        previous=True it returns (values, got).
        """
        return self._carry_out(_times.expire(self._layout(), keys, ttl, expire_at, only, previous))

    def persist_many(self, keys: Any) -> Any:
        """Removes the expiry times of keys. Returns bool, of the shape of the keys: which had one."""
        return self._carry_out(_plans.ask(self._layout(), lib.SHERWOOD_PERSIST, keys, None))

    def ttl_many(self, keys: Any, *, at: bool = False) -> Any:
        """Returns (seconds, found): the seconds until keys expire, by the clock of this machine. They are inf for a
        key that never expires, and 0 for an absent key. With at=True it returns (times, found): uint64, in
        milliseconds since 1970, as the server stores them; 0: never, or absent.
        """
        return self._carry_out(_times.left(self._layout(), keys, at))

    # --- calls with more arguments than keys and values -------------------------------------------
    def add_rows(self, keys: Any, rows: Any, *, scale: float = 1.0, only: Optional[str] = None) -> Any:
        """Adds scale times each row to the row of its key, on the server: each product is rounded, then each
        sum. An absent key is stored, unless only="present".

        The rows have the value_dtype; if the server's rows are f16 or bf16 they may also be float32. A scale
        other than 1 and -1 needs rows of float32.
        """
        return self._carry_out(_words.add_rows(self._layout(), keys, rows, scale, only))

    def get_range_many(self, keys: Any, first: int, count: int) -> Any:
        """Reads `count` numbers of each row from number `first` on; of bytes and byte strings, bytes.

        Returns (parts, found): the parts have the shape of the keys and one dimension more, and are zeros
        for absent rows and behind the end of byte strings.
        """
        return self._carry_out(_words.get_range(self._layout(), keys, first, count))

    def set_range_many(self, keys: Any, first: int, parts: Any) -> Any:
        """Writes parts of rows, from number `first` on; the last dimension of `parts` is their count. A row
        that was absent gets zeros elsewhere. Returns bool, of the shape of the keys: which were present.
        """
        return self._carry_out(_words.set_range(self._layout(), keys, first, parts))

    def prefix(self, keys: Any) -> Any:
        """Returns the number of keys before the first absent one, in the order of the array."""
        return self._carry_out(_words.prefix(self._layout(), keys))
