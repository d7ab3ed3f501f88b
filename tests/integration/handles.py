# SPDX-License-Identifier: MIT
"""Handles of libsherwood and of its tables, for tests of their calls on integers."""

import ctypes

from harness import BUILD, check, equal

OK, E_INVALID, E_CONNECTION, E_REQUEST, E_TABLE = 0, -1, -4, -8, -17


class Library:
    """libsherwood.so by ctypes."""

    def __init__(self):
        self.calls = ctypes.CDLL(str(BUILD / "libsherwood.so.0"))
        for name in ("sherwood_error", "sherwood_table_name"):
            getattr(self.calls, name).restype = ctypes.c_char_p
        self.calls.sherwood_server.restype = ctypes.c_void_p
        self.calls.sherwood_close.restype = None

    def connect(self, server):
        pointer = ctypes.c_void_p()
        address = (f"unix:{server.unix_path}" if getattr(server, "unix_path", None) else f"{server.host}:{server.port}").encode()
        equal(self.calls.sherwood_connect(address, None, ctypes.byref(pointer)), OK, "connect")
        return Handle(self, pointer)


LIBRARY = Library()


class Handle:
    """A handle of libsherwood, with calls on integers."""

    def __init__(self, library, pointer):
        self.calls, self.pointer, self.region = library.calls, pointer, None

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self.calls.sherwood_close(self.pointer)

    def open(self, name):
        """Returns the handle of a table, or the status and the sentence of a refusal."""
        pointer = ctypes.c_void_p()
        status = self.calls.sherwood_table_open(self.pointer, name.encode(), ctypes.byref(pointer))
        check(bool(pointer) == (status == OK), f"{status}: {pointer}")
        return Handle(LIBRARY, pointer) if status == OK else (status, self.error())

    def error(self):
        return self.calls.sherwood_error(self.pointer).decode()

    def widths(self):
        """Returns the bytes of a key and of a value."""
        facts = ctypes.string_at(self.calls.sherwood_server(self.pointer), 32 + 16 + 128 + 8)
        return int.from_bytes(facts[176:180], "little"), int.from_bytes(facts[180:184], "little")

    def shared(self, content):
        """Returns the address of a copy in the region, which the first call makes: a call with arrays there goes by the ring."""
        self.calls.sherwood_region_allocate.restype = ctypes.c_void_p
        if self.region is None:
            self.region = ctypes.c_void_p()
            equal(self.calls.sherwood_region_create(self.pointer, ctypes.c_size_t(1 << 18), ctypes.byref(self.region)), OK, self.error())
        at = self.calls.sherwood_region_allocate(self.region, ctypes.c_size_t(len(content)))
        check(at, "room in the region")
        ctypes.memmove(at, content, len(content))
        return at

    def array(self, numbers):
        kind = (ctypes.c_uint64 if self.widths()[0] == 8 else ctypes.c_uint32) * len(numbers)
        return kind(*numbers) if self.region is None else kind.from_address(self.shared(bytes(kind(*numbers))))

    def set(self, pairs):
        keys, values = self.array(list(pairs)), self.array(list(pairs.values()))
        return self.calls.sherwood_set(self.pointer, keys, values, ctypes.c_size_t(len(pairs)))

    def renew(self):
        return self.calls.sherwood_table_renew(self.pointer)

    def get(self, keys):
        """Returns the values, 0 for an absent key, or the status of an error."""
        values = self.array([0] * len(keys))
        status = self.calls.sherwood_get(self.pointer, self.array(keys), ctypes.c_size_t(len(keys)), values, None)
        return list(values) if status == OK else status

    def scan(self, cursor, capacity=64):
        """Returns the status, the next cursor and the keys."""
        at, count = ctypes.c_uint64(cursor), ctypes.c_uint32()
        keys, values = self.array([0] * capacity), self.array([0] * capacity)
        status = self.calls.sherwood_scan(self.pointer, ctypes.byref(at), keys, values, capacity, ctypes.byref(count))
        return status, at.value, list(keys)[:count.value]

    def scan_all(self):
        status, cursor, keys = self.scan(0)
        while status == OK and cursor != 0:
            status, cursor, more = self.scan(cursor)
            keys += more
        equal(status, OK, self.error())
        return sorted(keys)
