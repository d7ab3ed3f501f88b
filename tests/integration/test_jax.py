#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""sherwood.jax with JAX itself, on the CPU; and its handler without JAX, called as XLA would not."""

import contextlib
import importlib.util
import pathlib
import re
import tempfile
import threading

import cffi
from harness import ROOT, Server, Skip, case, check, equal, main, raises, run
from package import daemon, np, sherwood

COMMON = ("--backend", "cpu", "--capacity", "64K")
ROWS = ("--value-type", "f32", "--value-bytes", "16")
HEADER = ROOT / "client" / "python" / "xla_ffi.h"


def needs_jax():
    """Returns jax with integers of 64 bits."""
    if importlib.util.find_spec("jax") is None:
        raise Skip("jax is not installed (pip install jax)")
    import jax  # pylint: disable=import-outside-toplevel,import-error
    if not hasattr(jax, "ffi"):
        raise Skip(f"jax {jax.__version__} has no jax.ffi: sherwood.jax needs 0.5")
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    return jax


@contextlib.contextmanager
def table_of(*flags, value_dtype=None):
    """Yields jax, a client of a new server, and a Table of it."""
    jax = needs_jax()
    import sherwood.jax  # pylint: disable=import-outside-toplevel,redefined-outer-name
    with daemon(*COMMON, *flags) as server, sherwood.connect(server.unix, value_dtype=value_dtype) as client:
        yield jax, client, sherwood.jax.Table(client)


def fails(text, call, *arguments):
    """Checks the error of a call, which some versions of JAX raise as ValueError."""
    jax = needs_jax()
    raises((jax.errors.JaxRuntimeError, ValueError), text, lambda: jax.block_until_ready(call(*arguments)))


@case
def operators():
    """random calls in one compiled program a round have the results of a model, for keys of any shape and each width"""
    for flags, key, value in ((), np.int64, np.uint64), (("--key-bits", "32"), np.uint32, np.uint32):
        with table_of(*flags) as (jax, client, table):
            def program(state, keys, values, gone):
                state = table.set(state, keys[::2], values[::2])
                state = table.add(state, keys, values)
                was, state = table.delete(state, gone)
                got, found, state = table.lookup(state, keys.reshape(-1, 4), default=5)
                return was, got, found, state
            compiled, rng, model, state = jax.jit(program), np.random.default_rng(40), {}, table.state
            for round_ in range(30):
                keys = rng.integers(0, 300, 4 * rng.choice((1, 8, 77))).astype(key)
                values, gone = rng.integers(0, 2**20, len(keys)).astype(value), rng.integers(0, 300, 9).astype(key)
                pairs = list(zip(keys.tolist(), values.tolist()))
                model.update(pairs[::2])
                for name, number in pairs:
                    model[name] = model.get(name, 0) + number
                first = [model.pop(name, None) is not None for name in gone.tolist()]
                was, got, found, state = compiled(state, keys, values, gone)
                equal(was.tolist(), first, f"round {round_}")
                equal(got.flatten().tolist(), [model.get(name, 5) for name in keys.tolist()], f"round {round_}")
                equal(found.flatten().tolist(), [name in model for name in keys.tolist()], f"round {round_}")
                equal((got.shape, got.dtype), ((len(keys) // 4, 4), np.dtype(value)))
            equal(len(client), len(model))
            equal(table.lookup(state, np.empty((0, 3), key))[0].shape, (0, 3), "no keys")


@case
def ordered():
    """calls take place in the order of their states, in a program, in a loop and from program to program; an unused write takes place"""
    with table_of() as (jax, client, table):
        keys = jax.numpy.arange(64)

        @jax.jit
        def loop(state):
            def body(i, carry):
                state, sums = carry
                before, _, state = table.lookup(state, keys)
                state = table.set(state, keys, before + i.astype("uint64"))
                after, _, state = table.lookup(state, keys)
                return table.delete(state, keys[:1])[1], sums + after - before
            return jax.lax.fori_loop(0, 50, body, (state, jax.numpy.zeros(64, "uint64")))

        state = table.state
        for round_ in range(1, 4):
            state, sums = loop(state)
            equal(set(sums.tolist()), {sum(range(50))}, "each read is before or after the write beside it")
            values, found, state = table.lookup(state, keys)
            equal(values.tolist()[1:], [round_ * sum(range(50))] * 63)
            equal(found.tolist(), [False] + [True] * 63)
        jax.block_until_ready(jax.jit(lambda state: (table.set(state, keys, keys.astype("uint64")), 0)[1])(state))
        check(np.array_equal(client.get_many(np.arange(64), default=7), np.arange(64)), "a write whose state is not used")


@case
def training():
    """a model of JAX with rows on the server: gradients of the rows, which `add` applies, give the rows of the same model in memory"""
    with table_of(*ROWS, value_dtype=np.float32) as (jax, client, table):
        rng = np.random.default_rng(3)
        start = rng.normal(size=(50, 4)).astype(np.float32)
        client.set_many(np.arange(50), start)

        def loss(rows, wanted):
            return ((rows.sum(1) - wanted)**2).mean()

        @jax.jit
        def step(state, keys, wanted):
            rows, _, state = table.lookup(state, keys)
            return table.add(state, keys, -0.125 * jax.grad(loss)(rows, wanted))

        @jax.jit
        def in_memory(rows, keys, wanted):
            return rows[keys], -0.125 * jax.grad(loss)(rows[keys], wanted)

        state, model = table.state, start.copy()
        for _ in range(20):
            keys, wanted = rng.permutation(50)[:16], rng.normal(size=16).astype(np.float32)
            state = step(state, keys, wanted)
            model[keys] += np.asarray(in_memory(model, keys, wanted)[1])
        check(np.array_equal(np.asarray(table.lookup(state, np.arange(50))[0]), model), "rows differ")
        got, found, _ = table.lookup(state, np.array([3, 99]), default=0.5)
        equal((found.tolist(), got[1].tolist()), ([True, False], [0.5] * 4), "a default for rows")


@case
def ids():
    """`assign` numbers keys"""
    with table_of("--ids", "1000") as (jax, client, table):
        ids_, new, state = jax.jit(table.assign)(table.state, np.array([50, 60, 50]))
        equal((ids_.tolist(), new.tolist()), ([0, 1, 0], [True, True, False]))
        equal(table.lookup(state, np.array([60, 70]))[0].tolist(), [1, 0])


@case
def threads():
    """programs of several threads on one table, and on two"""
    with table_of("--max-capacity", "1M") as (jax, client, table):
        other = sherwood.jax.Table(client)

        def work(number):
            mine = (table, other)[number % 2]
            keys = np.arange(500) + 1000 * number
            add = jax.jit(lambda state, ones: mine.add(state, keys, ones))
            state = mine.state
            for _ in range(40):
                state = add(state, np.ones(500, np.uint64))
            jax.block_until_ready(state)

        workers = [threading.Thread(target=work, args=(i,)) for i in range(6)]
        for each in workers:
            each.start()
        for each in workers:
            each.join()
        equal(set(client.get_many((np.arange(500) + 1000 * np.arange(6)[:, None]).ravel(), default=0).tolist()), {40})


@case
def refusals():
    """wrong dtypes, shapes, servers and tables are refused in a sentence; after an error the table goes on"""
    with table_of("--max-capacity", "64K") as (jax, client, table):
        keys, state = jax.numpy.arange(9), table.state
        raises(TypeError, "the keys have the dtype int32, and this call needs uint64 or int64", table.lookup, state, keys.astype("int32"))
        raises(TypeError, "the default 0.5 is not an integer", table.lookup, state, keys, jax.numpy.float32(0.5))
        for default, error, text in ((0.5, TypeError, "0.5 is not an integer"), (np.int64(-1), ValueError, "-1 is not within 0 to 18446744073709551615"),
                                     (2**64, ValueError, "18446744073709551616 is not within")):
            raises(error, f"default: {text}", table.lookup, state, keys, default)
        for wrong, text in ((jax.numpy.zeros(3, "int32"), "the shape (3,) and the dtype int32"), (keys, "the shape (9,) and the dtype int64"),
                            (np.float32(1), "the shape () and the dtype float32"), (None, "NoneType"), (3, "int")):
            raises(TypeError, f"get: the first argument is {'an array of ' if '(' in text else ''}{text}, and no state: give", table.lookup, wrong, keys)
        raises(ValueError, "broadcast", table.lookup, state, keys, np.ones((4, *keys.shape), np.uint64))
        raises(TypeError, "the values have the dtype float32", table.set, state, keys, keys.astype("float32"))
        raises(ValueError, "the shape (8,), and these keys need (9,)", table.set, state, keys, keys[:8])
        raises(TypeError, "not a client", sherwood.jax.Table, 3)
        many = jax.numpy.arange(200_000)
        fails("larger --max-capacity", table.set, state, many, many)
        fails("ASSIGN", table.assign, state, keys)
        equal(table.lookup(table.set(state, keys, keys), keys)[0].tolist(), list(range(9)))
        gone = jax.jit(sherwood.jax.Table(client).lookup)
        compiled = gone.lower(state, keys).compile()
        del gone
        jax.clear_caches()
        fails("no longer exists: keep a reference", compiled, state, keys)
        jax.config.update("jax_enable_x64", False)
        raises(sherwood.Refused, "uint64, which JAX cuts to 32 bits: call", sherwood.jax.Table, client)
        jax.config.update("jax_enable_x64", True)
    with table_of() as (_, _, _), daemon("--backend", "cpu", "--value-type", "none") as keys_only, sherwood.connect(keys_only.unix) as client:
        raises(sherwood.Refused, "keys have none", sherwood.jax.Table, client)


@case
def restarts():
    """a program fails while the server is gone, and goes on with the next one; a server of another width is refused"""
    jax = needs_jax()
    import sherwood.jax  # pylint: disable=import-outside-toplevel,redefined-outer-name
    with tempfile.TemporaryDirectory() as folder:
        flags = ("--unix-socket", f"{folder}/s", *COMMON)
        with Server(*flags):
            table = sherwood.jax.Table(sherwood.connect(f"unix:{folder}/s"))
            look, keys = jax.jit(table.lookup), np.arange(9)
            equal(look(table.set(table.state, keys, keys.astype("u8")), keys)[0].tolist(), list(range(9)))
        for _ in range(2):
            fails("UNAVAILABLE", look, table.state, keys)
        with Server(*flags, "--key-bits", "32"):
            fails("another width or type than before", look, table.state, keys)
        with Server(*flags):
            equal(look(table.state, keys)[1].tolist(), [False] * 9, "the new server is empty")
            client = sherwood.connect(f"unix:{folder}/s")
            client.create_table("t")
            named = sherwood.jax.Table(client.table("t"))
            state = named.set(named.state, keys, keys.astype("u8"))
            client.drop_table("t")
            fails("no table has the number", named.lookup, state, keys)
            client.create_table("t")
            equal(named.lookup(state, keys)[1].tolist(), [False] * 9, "another table has the name")


# --- without JAX -----------------------------------------------------------------------------------
def declarations():
    """Returns the declarations of xla_ffi.h, for cffi."""
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(encoding="utf-8"), flags=re.S)
    return re.sub(r"^#.*$", "", text, flags=re.M)


class Caller:
    """Calls the handler as XLA does."""

    def __init__(self):
        self.ffi = ffi = cffi.FFI()
        ffi.cdef(declarations())
        self.kept, self.said = [], []

        @ffi.callback("struct xla_error *(struct xla_error_arguments *)")
        def create(arguments):
            self.said.append((int(arguments.code), ffi.string(arguments.message).decode()))
            return ffi.cast("struct xla_error *", 1)
        self.api = self.new("struct xla_api", error_create=create, version={"major": 0, "minor": 3})
        self.kept.append(create)
        self.handler = ffi.cast("struct xla_error *(*)(struct xla_call *)", int(sherwood._native.lib.swpy_jax_handler()))  # pylint: disable=protected-access

    def new(self, kind, **fields):
        made = self.ffi.new(f"{kind} *", fields)
        made.base.size = self.ffi.sizeof(kind)
        self.kept.append(made)
        return made

    def buffer(self, array):
        types = {"bool": 1, "int32": 4, "int64": 5, "uint8": 6, "uint32": 8, "uint64": 9, "complex64": 15}
        self.kept.append(dims := self.ffi.new("int64_t[]", list(array.shape)))
        return self.new("struct xla_buffer", type=types[array.dtype.name], data=self.ffi.cast("void *", array.ctypes.data),
                        rank=array.ndim, dims=dims)

    def group(self, kind, items, types, **more):
        self.kept += [pointers := self.ffi.new("void *[]", [self.ffi.cast("void *", item) for item in items]),
                      numbers := self.ffi.new("int[]", types)]
        return self.new(kind, count=len(items), types=numbers, values=pointers, **more)

    def attributes(self, given):
        names, scalars = [], []
        for name, number in given.items():
            self.kept += [text := self.ffi.new("char[]", name.encode()), value := self.ffi.new("int64_t *", number)]
            self.kept += [span := self.ffi.new("struct xla_text *", {"text": text, "length": len(name)}),
                          scalar := self.ffi.new("struct xla_scalar *", {"type": 5, "value": value})]
            names.append(span)
            scalars.append(scalar)
        self.kept.append(spans := self.ffi.new("struct xla_text *[]", names))
        return self.group("struct xla_attributes", scalars, [3] * len(scalars), names=spans)

    def version(self, api):
        metadata = self.ffi.new("struct xla_metadata *")
        asked = self.ffi.new("struct xla_metadata_extension *", {"extension": {"type": 1}, "metadata": metadata})
        call = self.new("struct xla_call", api=api)
        call.base.extensions = self.ffi.addressof(asked, "extension")
        equal(self.handler(call), self.ffi.NULL)
        return metadata.version.major, metadata.version.minor

    def call(self, arguments, results, stage=3, size=None, **attributes):
        """Returns None, or the code and the text of the error."""
        groups = [self.group("struct xla_values", [self.buffer(array) for array in arrays], [1] * len(arrays))[0]
                  for arrays in (arguments, results)]
        call = self.new("struct xla_call", api=self.api, stage=stage, arguments=groups[0], results=groups[1],
                        attributes=self.attributes(attributes)[0])
        call.base.size = size or call.base.size
        self.said.clear()
        failed = self.handler(call) != self.ffi.NULL
        equal(failed, bool(self.said))
        return self.said[0] if failed else None


@case
def handler():
    """the handler carries out calls, and refuses those with wrong sizes, types, arguments, attributes and tables"""
    from sherwood import _link, _native  # pylint: disable=import-outside-toplevel
    lib, caller = _native.lib, Caller()
    with daemon(*COMMON) as server:
        pointer = _link.open_client(_link.Options(server.unix))
        _native.ffi.gc(pointer, None)
        table = lib.swpy_jax_add(pointer)
        state, after, keys, got, found = np.int32([4]), np.int32([0]), np.arange(5), np.zeros(5, "u8"), np.zeros(5, bool)
        state, after = state.reshape(()), after.reshape(())
        equal(caller.call([state, keys, keys * 2], [after], table=table, operation=lib.SHERWOOD_SET, has_previous=0), None)
        equal(int(after), 5, "the next state")
        reads = {"table": table, "operation": lib.SHERWOOD_GET, "has_previous": 1}
        equal(caller.call([state, keys], [after, got, found], **reads), None)
        equal((got.tolist(), found.tolist()), ([0, 2, 4, 6, 8], [True] * 5))
        equal(caller.call([state, keys], [after, got, found], stage=0, **reads), None, "other stages do nothing")
        equal([caller.version(api) for api in (caller.api, caller.ffi.NULL)], [(0, 3), (0, 1)], "the version of the caller, as XLA asks for it")
        for arguments, results in (([state, keys], [after, got[:4], found]), ([state, keys], [after, got, found[:4]]),
                                   ([state, keys.astype("i4")], [after, got, found]), ([state, keys.astype("c8")], [after, got, found]),
                                   ([state, keys, keys[:3]], [after, got, found])):
            code, text = caller.call(arguments, results, **reads)
            check(code == 3 and "widths of the server's keys and values" in text, text)
        for arguments, results, more in (([], [], {}), ([state], [after], {}), ([keys, keys], [after, got], {}), ([state, keys], [], {}),
                                         ([state, keys], [after, got, found], {"size": 40})):
            check("no call of sherwood.jax" in caller.call(arguments, results, **reads, **more)[1], "a call without its parts")
        check("no call" in caller.call([state, keys], [after, got, found], table=table)[1], "no operation")
        check("no longer exists" in caller.call([state, keys], [after, got, found], **{**reads, "table": 99})[1], "another table")
        equal(caller.call([state, keys], [after, got, found], **{**reads, "operation": 9999})[0], 3, "no such operation")
        equal(caller.call([state, keys], [after, got, found], **reads), None, "it goes on")
        lib.swpy_jax_remove(table)
        lib.swpy_jax_remove(table)
        check("no longer exists" in caller.call([state, keys], [after, got, found], **reads)[1], "the table was removed")


@case
def declared():
    """xla_ffi.h lays out its structs as the header of jaxlib does"""
    jax = needs_jax()
    include = pathlib.Path(jax.ffi.include_dir())
    pairs = {"xla_extension": ("Extension_Base", "type next"), "xla_version": ("Api_Version", "major:major_version minor:minor_version"),
             "xla_metadata": ("Metadata", "version:api_version traits"), "xla_metadata_extension": ("Metadata_Extension", "metadata"),
             "xla_error_arguments": ("Error_Create_Args", "message code:errc"), "xla_buffer": ("Buffer", "type:dtype data rank dims"),
             "xla_values": ("Args", "count:size types values:args"), "xla_text": ("ByteSpan", "text:ptr length:len"),
             "xla_scalar": ("Scalar", "type:dtype value"), "xla_attributes": ("Attrs", "count:size types names values:attrs"),
             "xla_api": ("Api", "version:api_version error_create:XLA_FFI_Error_Create"),
             "xla_call": ("CallFrame", "api context:ctx stage arguments:args results:rets attributes:attrs")}
    lines = [f"_Static_assert(XLA_{name} == (int)XLA_FFI_{theirs}, \"{name}\");" for name, theirs in (
        *((name, f"Error_Code_{name}") for name in re.findall(r"XLA_([A-Z_]+) = \d+,", HEADER.read_text(encoding="utf-8").split("enum xla_code")[1].split("}")[0])),
        *((name, f"DataType_{name}") for name in ("PRED", "S8", "S16", "S32", "S64", "U8", "U16", "U32", "U64", "F16", "F32", "F64", "BF16")),
        ("METADATA", "Extension_Metadata"), ("ARG_BUFFER", "ArgType_BUFFER"), ("ATTRIBUTE_SCALAR", "AttrType_SCALAR"),
        ("EXECUTE", "ExecutionStage_EXECUTE"))]
    for ours, (theirs, fields) in pairs.items():
        for field in fields.split():
            mine, _, other = field.partition(":")
            lines.append(f'_Static_assert(offsetof(struct {ours}, {mine}) == offsetof(XLA_FFI_{theirs}, {other or mine}), "{ours}.{mine}");')
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "same.c"
        # In C the header lacks typedefs, which C++ does not need.
        text = (include / "xla/ffi/api/c_api.h").read_text(encoding="utf-8")
        text = "".join(f"typedef struct {name} {name};\n" for name in sorted(set(re.findall(r"^struct (XLA_FFI_\w+) \{", text, re.M)))) + text
        if "XLA_FFI_InternalExtension" in text:  # its name since version 0.4
            lines.insert(0, "typedef XLA_FFI_InternalExtension XLA_FFI_Extension_Base;")
        path.write_text("\n".join(('#include "xla_ffi.h"', '#include "c_api_typedefs.h"', *lines)) + "\n", encoding="ascii")
        (path.parent / "c_api_typedefs.h").write_text(text, encoding="utf-8")
        run("cc", "-std=gnu17", "-fsyntax-only", f"-I{HEADER.parent}", f"-I{folder}", path)


if __name__ == "__main__":
    main()
