#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""sherwood.jax with JAX itself, on the CPU and on a GPU of this machine or of the emulator; and its handlers without JAX, called as
XLA would not."""

import contextlib
import ctypes
import functools
import importlib.util
import os
import pathlib
import re
import sys
import tempfile
import threading

import attached
from attached import EMULATED, LIBRARY
from fake_xla import HEADER, Caller, DeviceCaller
from harness import Server, Skip, case, check, equal, main, raises, run
from package import daemon, in_child, np, sherwood

COMMON = ("--backend", "cpu", "--capacity", "64K")
ROWS = ("--value-type", "f32", "--value-bytes", "16")


def needs_jax():
    """Returns jax with integers of 64 bits."""
    if importlib.util.find_spec("jax") is None:
        raise Skip("jax is not installed (pip install jax)")
    import jax  # pylint: disable=import-outside-toplevel,import-error
    if not hasattr(jax, "ffi"):
        raise Skip(f"jax {jax.__version__} has no jax.ffi: sherwood.jax needs 0.5")
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_default_device", jax.devices("cpu")[0])
    return jax


@contextlib.contextmanager
def table_of(*flags, value_dtype=None, place="host"):
    """Yields jax, a client of a new server, and a Table of it. The place "device" is a GPU of this machine, or of the emulator."""
    jax = needs_jax()
    import sherwood.jax  # pylint: disable=import-outside-toplevel,redefined-outer-name
    if place == "host":
        with daemon(*COMMON, *flags) as server, sherwood.connect(server.unix, value_dtype=value_dtype) as client:
            yield jax, client, sherwood.jax.Table(client)
        return
    os.environ["SHERWOOD_CUDA_LIBRARY"] = str(LIBRARY)
    attached.loaded()
    gpu = gpu_of(jax)
    if gpu is None:
        emulate(jax)
    with daemon(*attached.SMALL, "--key-bits", "64", *flags, **({"program": EMULATED} if gpu is None else {})) as server, \
            sherwood.connect(server.unix, value_dtype=value_dtype) as client, client.attach() as device, jax.default_device(gpu):
        yield jax, client, sherwood.jax.Table(device)
        if device._pointer is not None:  # pylint: disable=protected-access
            device.check(wait=True)


def gpu_of(jax):
    """Returns a GPU that JAX uses, or None."""
    try:
        return jax.devices("cuda")[0]
    except RuntimeError:
        return None


@functools.lru_cache(maxsize=None)
def emulate(jax):
    """Makes XLA call the handler of CUDA on the CPU, with arrays in the memory of the emulator's GPU."""
    register, caller = sherwood.jax._register, DeviceCaller()  # pylint: disable=protected-access
    sherwood.jax._register = functools.lru_cache(maxsize=None)(  # pylint: disable=protected-access
        lambda platform: register(platform) if platform == "cpu" else jax.ffi.register_ffi_target(
            sherwood.jax._TARGETS[platform], jax.ffi.pycapsule(int(caller.address)), platform="cpu"))
    sherwood.jax._gpu = lambda ordinal: jax.devices("cpu")[0]  # pylint: disable=protected-access


def fails(text, call, *arguments):
    """Checks the error of a call, which some versions of JAX raise as ValueError."""
    jax = needs_jax()
    raises((jax.errors.JaxRuntimeError, ValueError), text, lambda: jax.block_until_ready(call(*arguments)))


@case
def operators():
    """random calls in one compiled program a round have the results of a model, for keys of any shape and each width"""
    for flags, key, value, place in (((), np.int64, np.uint64, "host"), (("--key-bits", "32"), np.uint32, np.uint32, "host"),
                                     ((), np.int64, np.uint64, "device"), (("--key-bits", "32"), np.uint32, np.uint32, "device")):
        with table_of(*flags, place=place) as (jax, client, table):
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
    for place in ("host", "device"):
        with table_of(place=place) as (jax, client, table):
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
    for place in ("host", "device"):
        with table_of(*ROWS, value_dtype=np.float32, place=place) as (jax, client, table):
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
            trained = np.asarray(table.lookup(state, np.arange(50))[0])
            # A GPU compiles the gradient with other roundings in another program.
            check(np.array_equal(trained, model) if gpu_of(jax) is None else np.allclose(trained, model, 1e-5, 1e-6), "rows differ")
            got, found, _ = table.lookup(state, np.array([3, 99]), default=0.5)
            equal((found.tolist(), got[1].tolist()), ([True, False], [0.5] * 4), "a default for rows")


@case
def ids():
    """`assign` numbers keys"""
    for place in ("host", "device"):
        with table_of("--ids", "1000", place=place) as (jax, client, table):
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
def late():
    """on a GPU an error ends the next program, or check raises it; then the table goes on, until its Device is closed"""
    with table_of(place="device") as (jax, client, table):
        keys, many, state = np.arange(9), np.arange(5000), table.state
        write, look = jax.jit(table.set), jax.jit(table.lookup)
        for is_checked in (False, True):
            state = jax.block_until_ready(write(state, many, many))
            if is_checked:
                raises(sherwood.Full, "larger --max-capacity", table._calls.check, wait=True)  # pylint: disable=protected-access
            else:
                fails("an earlier call in the order of a stream failed: ", look, state, keys)
            state = write(table.state, keys, keys * 3)
            equal(look(state, keys)[0].tolist(), (keys * 3).tolist())
        closed = "no longer exists in this process: keep a reference to it, and its Device open"
        client.create_table("t")
        other = table._calls.table("t")  # pylint: disable=protected-access
        named = sherwood.jax.Table(other)
        seek, after = jax.jit(named.lookup), named.set(named.state, keys, keys * 5)
        equal(seek(after, keys)[0].tolist(), (keys * 5).tolist())
        other.close()
        fails(closed, seek, after, keys)
        fails(closed, sherwood.jax.Table(other).lookup, after, keys)
        equal(look(state, keys)[0].tolist(), (keys * 3).tolist())
        table._calls.close()  # pylint: disable=protected-access
        fails(closed, look, state, keys)
        raises(sherwood.Refused, "this Device is closed", table._calls.check)  # pylint: disable=protected-access


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
def handler_of_cuda():
    """the handler of CUDA enqueues calls on XLA's stream, and refuses those with wrong sizes, streams and tables"""
    from sherwood import _native  # pylint: disable=import-outside-toplevel
    if importlib.util.find_spec("jax") is not None and gpu_of(needs_jax()) is not None:
        raise Skip("this process uses the driver of a GPU: the other cases call the handler there")
    os.environ["SHERWOOD_CUDA_LIBRARY"] = str(LIBRARY)
    attached.loaded()
    lib, caller = _native.lib, DeviceCaller()
    driver, graph = caller.driver, ctypes.c_void_p()
    with daemon(*attached.SMALL, "--key-bits", "64", program=EMULATED) as server, sherwood.connect(server.unix) as client:
        device = client.attach()
        table = device.operator_tables.add_for_xla()
        state, after, keys, values = (caller.array(each) for each in (np.int32(4), np.int32(0), np.arange(70), np.arange(70) * 2))
        got, found, bits = caller.array(np.full(70, 7)), caller.array(np.ones(72, bool)), caller.array(np.zeros(16, "u1"))
        sets, gets = ({"table": table, "operation": each, "has_previous": int(each == lib.SHERWOOD_GET)}
                      for each in (lib.SHERWOOD_SET, lib.SHERWOOD_GET))
        driver.fake_asynchronous(1)
        try:
            with attached.capture(driver, caller.stream, graph):
                equal(caller.call([state, keys, values], [after], **sets), None)
                equal(caller.call([state, keys], [after, got, found], **gets), None)
            equal((driver.cuStreamSynchronize(caller.stream), len(client), got[0]), (0, 0, 7), "a capture carries out nothing, so no call has waited")
            equal((driver.fake_launch(graph, caller.stream), driver.cuStreamSynchronize(caller.stream)), (0, 0))
            equal((got.tolist(), found.tolist()), (list(range(0, 140, 2)), [True] * 70 + [False] * 2))
            equal(driver.cuGraphDestroy(graph), 0)
            deletes = {"table": table, "operation": lib.SHERWOOD_DELETE, "has_previous": 0}
            equal(caller.call([state, keys[5:]], [after, bits], **deletes), None)
            equal(caller.call([state, keys], [after, got, found], **gets), None)
            driver.cuStreamSynchronize(caller.stream)
            equal((np.unpackbits(bits, bitorder="little").sum(), found.sum()), (65, 5), "deleted keys, and those left")
        finally:
            driver.fake_asynchronous(0)
        for arguments, results in (([state, keys], [after, got[:4], found]), ([state, keys], [after, got, found[:70]]),
                                   ([state, keys.view("i4")], [after, got, found]), ([state, keys, keys[:3]], [after, got, found])):
            code, text = caller.call(arguments, results, **gets)
            check(code == 3 and "widths of the server's keys and values" in text, text)
        check("are not in device memory" in caller.call([state, np.arange(8)], [after, got[:8], found[:8]], **gets)[1], "memory of the host")
        check("no longer exists" in caller.call([state, keys], [after, got, found], **{**gets, "table": 10**6})[1], "another table")
        if "jax" not in sys.modules:  # its threads do not survive a fork
            in_child(lambda: check("no longer exists" in caller.call([state, keys], [after, got, found], **gets)[1], "the parent's table"))
        if "torch" not in sys.modules and importlib.util.find_spec("cupy") is None:
            array = type("Array", (), {"__dlpack__": None, "__dlpack_device__": lambda self: (2, 0)})()
            raises(sherwood.Refused, "import torch before the call, or install cupy", device.get_many, array)
        full = caller.array(np.arange(5000))
        equal(caller.call([state, full, full], [after], **sets), None, "a call that fails later")
        raises(sherwood.Full, "larger --max-capacity", device.check, wait=True)
        equal(caller.call([state, full, full], [after], **sets), None)
        driver.cuStreamSynchronize(caller.stream)
        code, text = caller.call([state, keys], [after, got, found], **gets)
        check(code == 8 and "an earlier call in the order of a stream failed: " in text and "larger --max-capacity" in text, text)
        size, caller.ordinal = caller.api.base.size, 1
        code, text = caller.call([state, keys], [after, got, found], **gets)
        check(code == 3 and "runs on cuda:1, and the Device of its sherwood.jax.Table is of cuda:0" in text, text)
        caller.api.base.size = caller.ffi.offsetof("struct xla_api", "device_get")
        equal(caller.call([state, keys], [after, got, found], **gets), None, "a jaxlib without XLA_FFI_DeviceOrdinal_Get")
        caller.api.base.size = caller.ffi.offsetof("struct xla_api", "stream_get")
        check("XLA_FFI_Stream_Get" in caller.call([state, keys], [after, got, found], **gets)[1], "an old jaxlib")
        caller.api.base.size, caller.ordinal = size, 0
        equal(caller.call([state, keys], [after, got, found], **gets), None, "it goes on")
        device.close()
        check("no longer exists" in caller.call([state, keys], [after, got, found], **gets)[1], "the device is closed")


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
             "xla_api": ("Api", "version:api_version error_create:XLA_FFI_Error_Create stream_get:XLA_FFI_Stream_Get device_get:XLA_FFI_DeviceOrdinal_Get"),
             "xla_stream_arguments": ("Stream_Get_Args", "context:ctx stream"), "xla_device_arguments": ("DeviceOrdinal_Get_Args", "context:ctx number:device_ordinal"),
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
