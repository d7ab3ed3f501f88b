# SPDX-License-Identifier: MIT
"""The client: calls that block, single keys, and calls on the whole server."""

from __future__ import annotations

import dataclasses
import operator
import os
from typing import Any, Iterator, Optional, Sequence, Union

import numpy as np

from . import _arrays, _cache, _files, _keys, _plans, _waits
from ._aio import Aio
from ._device import Device
from ._errors import Lost, Refused
from ._facts import Digest, Layout, Server
from ._keys import one_key
from ._link import Link, Options, address_of, milliseconds
from ._native import ffi, lib
from ._regions import Memory, Region, bytes_of
from ._submit import Submit
from ._tables import TableCalls
from ._typed import ClientCalls

_NULL = ffi.NULL
_Path = Union[str, "os.PathLike[str]", None]


class _Cursor:
    """The place of a scan. It is valid only for the connection that it came by."""

    def __init__(self) -> None:
        self.place = ffi.new("uint64_t *")
        self.connection: Optional[tuple[int, int]] = None  # None: the scan has not begun

    def check(self, connection: tuple[int, int]) -> None:
        """Raises Lost if the scan began by another connection than this one."""
        if self.connection not in (None, connection):
            raise Lost("scan: its connection ended, and the scan lost its place in the table: call scan() again for all"
                       " entries")


class Client(ClientCalls, TableCalls):
    """A connection to a server. Make one with sherwood.connect.

    Threads: any number may use one client; it has one lock, so their calls run one after another.
    clone() returns a client with connections of its own. Every call releases the GIL once. After a fork the
    child's first call connects again. After Lost or Timeout the next call connects again; the client does not
    repeat the lost calls.
    """

    __slots__ = ("_link", "submit", "aio", "__weakref__")

    def __init__(self, options: Options) -> None:
        self._link = Link(options)
        self.submit = Submit(self._link)
        self.aio = Aio(self._link)
        with self._link.lock:
            self._link.use()

    # --- as a Python object ----------------------------------------------------------------------
    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        server, layout = self._link.facts()
        state = "closed" if self._link.closed else "open" if self._link.is_open else "not connected"
        return (f"<sherwood.Client {self.address} {server.engine or 'table'}/{server.backend}"
                f" {layout.key_dtype} -> {layout.value_dtype}{list(layout.value_shape) or ''} {state}>")

    def __reduce__(self) -> tuple[Any, ...]:
        return Client, (self._link.options,)

    def clone(self) -> Client:
        """Returns another client of the same server, with connections of its own."""
        return Client(self._link.options)

    def table(self, name: str, value_dtype: Any = None) -> Client:
        """Returns a client of a table of the same server, by its name or its number, with connections of its own.

        Its calls are those of any client. They follow TABLE SWAP. Refused: no table has this name, or the server is
        older than tables. value_dtype: as that of connect().
        """
        if not isinstance(name, str):
            raise TypeError(f"table: {name!r:.40} is not a text: give the name of a table")
        dtype = None if value_dtype is None else np.dtype(value_dtype).str
        return Client(dataclasses.replace(self._link.options, table=name, value_dtype=dtype))

    def attach(self, device: Any = "cuda", *, direct: bool = False) -> Device:
        """Returns the calls for arrays in the memory of one GPU, without a copy.

        The server must run on this machine ("unix:/path"), with the CUDA backend. device: "cuda" for the server's GPU,
        or "cuda:1" for a GPU of this process that the server's has peer access to. For several GPUs attach once for
        each. direct: get_many and contains_many look keys up in the server's table by a kernel of this process, on
        the server's GPU. Refused unless the server has --direct-readers-max and this process has its user.
        """
        if direct and self._link.options.table is not None:
            raise Refused("attach: direct reads are of the default table alone: leave direct out")
        return Device(self._link.options, *self._link.facts(), device, direct)

    def region(self, nbytes: Optional[int] = None, *, keys: Optional[int] = None) -> Region:
        """Makes memory that is shared with the server, for arrays that no call copies. The server must run on
        this machine ("unix:/path").

        nbytes: its size. keys: room for one call on this number of keys, with its values, the values that it
        returns, and its bits. `submit` and each event loop of `aio` also register the region at its first
        use: the server counts it once for each of them. Refused: the server shares no memory, or a limit is
        reached, which the error names. Full: the machine lacks the memory. The region belongs to this client
        until one of the two is closed.
        """
        layout, link = self._layout(), self._link
        size = bytes_of(nbytes, keys, layout.key_dtype.itemsize, layout.value_bytes)
        with link.lock:
            memory = Memory(link.use(), size)
            link.check(memory.code or link.share((memory,)))
        link.regions.add(memory)
        return Region(self, memory)

    def _close_region(self, memory: Memory) -> None:
        self._link.regions.remove(memory)
        self.submit._turn()
        self.aio._turn()
        with self._link.lock:
            self._link.unshare()

    def close(self) -> None:
        """Waits for the calls of `submit`, then closes the connections and the regions. The arrays of the
        regions stay valid. Calls of `aio` that are in flight end with Lost. A second close does nothing."""
        self.submit.close()
        self.aio.close()
        self._link.close()
        for memory in self._link.regions.memories:
            self._link.regions.remove(memory)

    @property
    def address(self) -> str:
        """The address that connect was given; several of them with commas between them."""
        return self._link.options.address

    # --- what Many needs -------------------------------------------------------------------------
    def _layout(self) -> Layout:
        return self._link.facts()[1]

    def _carry_out(self, plan: _plans.Plan) -> Any:
        link = self._link
        with link.lock:
            pointer = link.use()
            code = link.share(plan.shared)
            if code == lib.SHERWOOD_OK:
                link.begin_flight(plan.shared)
                code = lib.swpy_run(
                    pointer, plan.operation, address_of(plan.keys), address_of(plan.values), plan.count,
                    address_of(plan.previous), address_of(plan.found), address_of(plan.fill),
                    ffi.from_buffer("uint64_t[]", plan.bits) if plan.bits is not None else _NULL,
                    plan.details or _NULL)
                link.end_flight(plan.shared, code)
            link.check(code)
        return plan.result()

    def prefix(self, keys: Any) -> int:
        """Returns the number of keys before the first absent one, in the order of the array. Reads 65,536 keys at a
        time, and stops after those with an absent key."""
        layout = self._layout()
        taken, present = _keys.take(keys, layout), ffi.new("size_t *")
        with self._link.lock:
            self._link.check(lib.sherwood_prefix(self._link.use(), address_of(taken.flat), taken.flat.size, present))
        return int(present[0])

    # --- single keys: a round trip each ----------------------------------------------------------
    def __getitem__(self, key: Union[int, str, bytes]) -> Any:
        values, found = self.get_many([one_key(key)])
        if not found[0]:
            raise KeyError(key)
        return self._plain(values[0])

    def _plain(self, value: Any) -> Any:
        layout = self._layout()
        if layout.value_dtype.names is not None:
            return _plans.unpack(np.asarray(value))[0]
        return value if layout.value_shape else value.item()

    def get(self, key: Union[int, str, bytes], default: Any = None) -> Any:
        """Returns the value of a key, or `default` if it is absent. A key is an integer, or a text if the server has
        --resp-keys auto or hash: a redis client finds the same entry by that text."""
        values, found = self.get_many([one_key(key)])
        return self._plain(values[0]) if found[0] else default

    def __setitem__(self, key: Union[int, str, bytes], value: Any) -> None:
        given: Any = [value]
        layout = self._layout()
        if layout.value_dtype.kind not in "iuf" and layout.value_dtype.names is None:  # numpy makes the array of other elements
            given = _arrays.plain(np.asanyarray(value), "value")[np.newaxis]
        elif layout.value_shape and not isinstance(value, (list, tuple)):
            given = value if isinstance(value, (int, float, np.integer, np.floating)) else _arrays.plain(np.asanyarray(value), "value")[np.newaxis]
        self.set_many([one_key(key)], given)

    def __delitem__(self, key: Union[int, str, bytes]) -> None:
        if not self.delete_many([one_key(key)])[0]:
            raise KeyError(key)

    def __contains__(self, key: Union[int, str, bytes]) -> bool:
        return bool(self.contains_many([one_key(key)])[0])

    def __len__(self) -> int:
        known, figures = self._ask_stats()
        if figures.get("loading", 0):  # older servers do not say so
            raise Refused("len: the server is loading its data, and knows only a part of its keys: try again")
        return int(known.occupied)

    def __bool__(self) -> bool:
        return True

    # Without this, Python would iterate over the keys 0, 1, 2, ..: scan() returns the stored keys.
    __iter__ = None

    # --- the server ------------------------------------------------------------------------------
    @property
    def _place(self) -> tuple[Options, int]:
        """The addresses and the table of this client, and the run of its server."""
        return self._link.options, self.server.run

    @property
    def server(self) -> Server:
        """The server's facts, as of the last time this client connected."""
        return self._link.facts()[0]

    @property
    def key_dtype(self) -> np.dtype[Any]:
        """The dtype of keys: uint64 or uint32 (int64 or int32 are also accepted)."""
        return self._layout().key_dtype

    @property
    def value_dtype(self) -> np.dtype[Any]:
        """The dtype of values in arguments and results."""
        return self._layout().value_dtype

    @property
    def value_shape(self) -> tuple[int, ...]:
        """The shape of one value: () for integers, (n,) for the rows of a cache."""
        return self._layout().value_shape

    def ping(self) -> None:
        """Sends a request without effect, and waits for the reply."""
        with self._link.lock:
            self._link.check(lib.sherwood_ping(self._link.use()))

    def stats(self) -> dict[str, int]:
        """Returns every statistic of the server by its name (deploy/docs/ref/metrics.md)."""
        return self._ask_stats()[1]

    def _ask_stats(self) -> tuple[Any, dict[str, int]]:
        """Returns libsherwood's struct, and every statistic by the server's name for it."""
        figures: dict[str, int] = {}
        name, value = ffi.new("const char **"), ffi.new("uint64_t *")
        known = ffi.new("struct sherwood_stats *")
        with self._link.lock:
            pointer = self._link.use()
            self._link.check(lib.sherwood_stats(pointer, known, ffi.sizeof(known[0])))
            number = 0
            while lib.sherwood_figure(pointer, number, name, value):
                figures[ffi.string(name[0]).decode("ascii")] = int(value[0])
                number += 1
        return known, figures

    def flush(self) -> None:
        """Deletes every key."""
        with self._link.lock:
            self._link.check(lib.sherwood_clear(self._link.use()))

    def resize(self, slots: int) -> int:
        """Sets the number of slots of the table, within the server's limits. Returns the number in effect."""
        now, count = ffi.new("uint64_t *"), operator.index(slots)
        if not 0 <= count < 2**64:
            raise Refused(f"slots is {count}: give 1 to {2**64 - 1}")
        with self._link.lock:
            self._link.check(lib.sherwood_resize(self._link.use(), count, now))
        return int(now[0])

    def wait_durable(self, timeout: Optional[float] = None) -> None:
        """Waits until this client's writes survive a crash of the machine. timeout None: no limit.

        These are the writes of blocking calls, and of futures of `submit` and `aio` that are done.
        Timeout: they do not survive yet. Refused: the server does not log writes. Lost: a connection ended after
        writes, since the last call. Whether those writes survive is not known. The next call waits for later writes.
        """
        _waits.durable(self._link, -1 if timeout is None else milliseconds(timeout, "timeout"))

    def wait_replicas(self, replicas: int, timeout: Optional[float] = None) -> int:
        """Waits until `replicas` replicas have all writes of this client, and returns the number that have them.

        timeout None: no limit. If the time ends first, the number is smaller. The writes are those of blocking calls
        and of `submit`. In a cluster the number is the smallest of the nodes that this client wrote to.
        Refused: `aio` has written, or a callback of a `submit` future calls this in the thread that must send the
        request. Lost: a connection ended after writes, since the last call. Whether replicas have those writes is not
        known. The next call waits for later writes.
        """
        limit = -1 if timeout is None else 0 if timeout == 0 else milliseconds(timeout, "timeout")
        count = operator.index(replicas)
        if not 0 <= count < 2**32:
            raise Refused(f"replicas is {count}: give 0 to {2**32 - 1}")
        return _waits.on_replicas(self._link, self.submit, count, limit)

    def digest(self) -> Digest:
        """Returns a checksum of all entries; the server reads its whole table. Needs the right to DIGEST."""
        out = ffi.new("struct sherwood_digest *")
        with self._link.lock:
            self._link.check(lib.sherwood_digest(self._link.use(), out))
        return Digest(int(out.sequence), int(out.entries), f"{out.sums[0]:016x}{out.sums[1]:016x}")

    # --- all entries -----------------------------------------------------------------------------
    def scan(self, batch: int = 1 << 20, *, scores: Optional[tuple[int, int]] = None
             ) -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
        """Yields (keys, values) of all entries, new arrays of up to `batch` keys each.

        An entry that is present throughout comes at least once; the scan may or may not see writes meanwhile.
        In a cache with scores, scores=(low, high) yields the entries with scores from low to high.
        Lost: the connection of the scan has ended, and its place in the table is lost; call scan() again for
        all entries.
        """
        batch = operator.index(batch)
        if not 1 <= batch < 2**32:
            raise ValueError(f"batch is {batch}: give 1 to {2**32 - 1}")
        scores = None if scores is None else _cache.span(scores)
        layout, cursor = self._layout(), _Cursor()
        is_last = False
        while not is_last:
            keys = np.empty(batch, layout.key_dtype)
            values = np.empty((batch, *layout.value_shape), layout.value_dtype)
            filled = 0
            while filled < batch and not is_last:
                filled += self._scan_some(cursor, keys[filled:], values[filled:], scores)
                is_last = cursor.place[0] == 0
            if filled > 0:
                yield keys[:filled], values[:filled]

    def _scan_some(self, cursor: _Cursor, keys: np.ndarray[Any, Any], values: np.ndarray[Any, Any],
                   scores: Optional[tuple[int, int]]) -> int:
        """Reads one frame of a scan into these arrays. Returns the number of entries."""
        count = ffi.new("uint32_t *")
        into = (ffi.from_buffer(keys), ffi.from_buffer(values))
        with self._link.lock:
            cursor.check(self._link.connection())
            pointer, place = self._link.use(), cursor.place
            if scores is None:
                rc = lib.sherwood_scan(pointer, place, *into, len(keys), count)
            else:
                rc = lib.sherwood_scan_scores(pointer, place, *scores, *into, _NULL, len(keys), count)
            self._link.check(rc)
            cursor.connection = self._link.connection()
        return int(count[0])

    def load(self, path: Any, *, keys: str = "key", values: str = "value", batch: int = 1 << 20,
             progress: _files.Progress = False) -> int:
        """Stores the pairs of a file, and returns how many there were.

        .npz: arrays of these names. .npy: records with these fields, or two columns. .parquet: columns
        of these names (pyarrow). .csv: lines of key,value, without keys= and values=; a first line of two names, which
        begin with a letter of ASCII, is skipped. A table without values takes the keys alone, but no .csv. dtypes as in set_many. progress: True for a line on stderr, or a
        function of (pairs stored, pairs of the file or None). ValueError, with the line or the row: a value that
        the table cannot store exactly, such as a null, a list of another length than a row, or a number out of
        range. The batches before it are stored.
        """
        name, done = os.fspath(path), 0
        tell = _files.show(progress, name)
        for some, their, total in _files.read(name, self._layout(), (keys, values), operator.index(batch)):
            try:
                plan = _plans.store(self._layout(), some, their, None, False)
            except (TypeError, ValueError) as error:
                kind = TypeError if isinstance(error, TypeError) else ValueError
                raise kind(f"{name}: pairs {done} to {done + len(some) - 1}: {error}") from None
            self._carry_out(plan)
            done += len(some)
            tell(done, total)
        return done

    def dump(self, path: Any, *, keys: str = "key", values: str = "value", batch: int = 1 << 20,
             progress: _files.Progress = False) -> int:
        """Writes all pairs to a file that load reads, and returns their number. The file appears when it
        is complete. It is a scan: a pair that is moved meanwhile may come twice. Lost: the connection ended
        meanwhile; there is no file."""
        name, done = os.fspath(path), 0
        tell, about = _files.show(progress, name), len(self)

        def told() -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
            nonlocal done
            for some, their in self.scan(batch):
                yield some, their
                done += len(some)
                tell(done, max(about, done))

        _files.write(name, self._layout(), (keys, values), told())
        return done

    # --- a cache ---------------------------------------------------------------------------------
    def run_many(self, operation: str, keys: Any, values: Any = None, *, scores: Any = None,
                 want: Any = ("previous", "found")) -> _cache.Result:
        """Carries out any operation of libsherwood by its name, such as "find_or_insert" or "peek".

        want: the names of the results: "previous", "found", "scores", "not_admitted", "evicted".
        scores: uint64 of the shape of the keys, or one integer: the number of uses, or the score.
        Only a cache has scores, evicted entries and keys that were not admitted. sherwood.h defines each. A value
        that cannot take the operand stays, and `overflows` counts it: an increment too large, incrby of a text
        that is no integer, append to a string that would be too long.
        """
        return _cache.run_many(self._link, self._layout(), operation, keys, values, scores, want)

    def count_scores(self, low: int, high: int) -> int:
        """Returns the number of cache entries with scores from low to high."""
        return _cache.of_range(self._link, lib.sherwood_count_scores, (low, high))

    def erase_scores(self, low: int, high: int) -> int:
        """Deletes the cache entries with scores from low to high. Returns their number."""
        return _cache.of_range(self._link, lib.sherwood_erase_scores, (low, high))

    def epoch(self, to: int = 0) -> int:
        """Advances a cache with epochs to the epoch `to` (0: stays). Returns the current epoch."""
        now = ffi.new("uint64_t *")
        with self._link.lock:
            self._link.check(lib.sherwood_epoch(self._link.use(), _cache.number(to, "to"), now))
        return int(now[0])

    # --- byte strings of a cache -----------------------------------------------------------------
    def pack(self, strings: Any) -> np.ndarray[Any, Any]:
        """Converts byte strings to the records of a server with string values; set_many also does this."""
        return _plans.pack(self._layout(), strings)

    def unpack(self, records: np.ndarray[Any, Any]) -> list[bytes]:
        """Converts such records, as get_many and scan return them, to byte strings."""
        if records.dtype.names is None:
            raise Refused(f"unpack: an array of {records.dtype} has no records of `length` and `bytes`: give values of get_many"
                          " or scan")
        return _plans.unpack(records)


def connect(address: Union[str, Sequence[str]], *, stripes: int = 1, timeout: float = 30.0, connect_timeout: float = 5.0,
            value_dtype: Any = None, username: Optional[str] = None, password: Optional[str] = None,
            password_file: _Path = None, tls_ca: _Path = None, tls_cert: _Path = None,
            tls_key: _Path = None, tls_server_name: Optional[str] = None,
            tls_insecure: bool = False, table: Optional[str] = None, _nodes: tuple[str, ...] = ()) -> Client:
    """Connects to "host:port", "[v6]:port" or "unix:/path", or by TLS to "tls://host:port".

    Several addresses, a list or "host:port,host:port", are a primary and its replicas: the client connects to
    the primary, and follows a fail-over. If a replica refuses a write, the client sends it to the primary. After
    Lost the next call searches for the present primary for up to connect_timeout seconds. With one address such
    a write is Refused, and the error has the address of the primary.

    stripes: connections of the client, 1 to 256. With more than one, calls that are in flight at the
    same time may take effect in any order, but the writes of one call keep their order.
    timeout: a call ends with Timeout after this many seconds without a byte sent or received; bytes of later calls do not
    count. connect_timeout: seconds.
    value_dtype: the dtype of this program's values, if it is not the server's unsigned integer: float64 for
    8 bytes, float32 for the rows of a cache. The server stores the bytes unchanged.

    username, password: the login of each connection; without a username "default". password_file: a file with
    the password in its first line, read whenever the client connects; pickles contain only its name.

    For tls:// addresses: tls_ca, root certificates, a file or a folder (None: the system's); tls_cert
    and tls_key, a certificate for servers that require one; tls_server_name, the name that the server's
    certificate must have (None: the host of the address); tls_insecure: accept any certificate.

    table: the name or the number of a table of a server that has several; None: the default table.
    """
    if not isinstance(address, str):
        if not hasattr(address, "__iter__"):
            raise TypeError(f"address: {address!r:.40} is neither a text nor a list of texts: give one such as 127.0.0.1:7379")
        if not address or not all(isinstance(one, str) and one and "," not in one for one in address):
            raise Refused(f"address: {address!r} is neither an address nor a list of at least one address without commas")
        address = ",".join(address)
    dtype = None if value_dtype is None else np.dtype(value_dtype).str
    ca, cert, key, secret = (None if path is None else os.fspath(path)
                             for path in (tls_ca, tls_cert, tls_key, password_file))
    return Client(Options(address, operator.index(stripes), float(timeout), float(connect_timeout),
                          dtype, ca, cert, key, tls_server_name, bool(tls_insecure), username, password,
                          secret, table, _nodes))


def connect_cluster(addresses: Sequence[str], **options: Any) -> Client:
    """Connects to a cluster through a node at one of the addresses, with the options of connect().

    The calls are those of any client. The client splits the keys by the nodes that own their slots; the nodes
    work at the same time, and results come in the order of the keys. Each node executes its part whole or not at all.
    stripes must be 1. resize, epochs, scores, regions, digest and wait_durable are Refused, since they belong to one node.
    """
    if isinstance(addresses, str) or not addresses:
        raise Refused(f"addresses: {addresses!r} is not a list of at least one address")
    return connect(addresses[0], _nodes=tuple(addresses), **options)
