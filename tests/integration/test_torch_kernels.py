#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The kernels in C of torch's operators, on a GPU of this machine, or on the emulator's, whose memory is that of the host: torch
calls them for the key CPU."""

import contextlib
import ctypes
import gc
import os
import signal
import threading
import weakref

import attached
import fake_torch
from attached import DRIVER, EMULATED, LIBRARY, loaded
from harness import DAEMON, Skip, case, check, equal, main
from package import daemon, in_child, np, raises, sherwood

KEYS = 300
_state = {}


def setup():
    """Returns torch, and a function that copies a tensor to the GPU. Without one it binds the kernels for the key CPU, once. Their
    new tensors then lie in the memory of the emulator."""
    if _state:
        return _state["torch"], _state["put"]
    try:
        import torch  # pylint: disable=import-outside-toplevel
    except ImportError:
        raise Skip("torch is not installed (pip install torch)") from None
    if not hasattr(ctypes.CDLL(torch._C.__file__), "torch_library_impl"):
        raise Skip(f"torch {torch.__version__} has no torch_library_impl: the kernels need 2.10")
    loaded()
    os.environ["SHERWOOD_CUDA_LIBRARY"] = str(LIBRARY)
    import sherwood.torch  # pylint: disable=import-outside-toplevel,redefined-outer-name
    if torch.cuda.is_available():
        _state.update(torch=torch, put=lambda tensor: tensor.cuda())
        return torch, _state["put"]
    arena = fake_torch.module(ctypes.CDLL(str(DRIVER)))
    library = ctypes.CDLL(torch._C.__file__)
    pointers, integers = ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_int64)
    made = library.aoti_torch_create_tensor_from_blob
    sizes = {library.aoti_torch_dtype_bool(): 1, library.aoti_torch_dtype_int32(): 4, library.aoti_torch_dtype_float32(): 4}

    def empty(dimensions, lengths, strides, dtype, kind, index, out):
        count = int(np.prod([lengths[i] for i in range(dimensions)], dtype=np.int64))
        memory = arena.empty((count,), np.dtype(f"u{sizes.get(dtype, 8)}"), fake_torch.Device(0))
        return made(ctypes.c_void_p(memory.ctypes.data), ctypes.c_int64(dimensions), lengths, strides, ctypes.c_int64(0), dtype, kind, index, out)

    def stream(_index, out):
        out[0] = _state.get("stream")
        return 0

    kept = (ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int64, integers, integers, ctypes.c_int32, ctypes.c_int32, ctypes.c_int32, pointers)(empty),
            ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32, pointers)(stream))
    names = ("aoti_torch_empty_strided", "aoti_torch_get_current_cuda_stream")
    from sherwood import _device_arrays, _operators  # pylint: disable=import-outside-toplevel
    _operators.bind(torch, "CPU", {name: ctypes.cast(each, ctypes.c_void_p).value for name, each in zip(names, kept)})

    def new(shape, dtype):
        return torch.from_numpy(np.asarray(arena.empty(tuple(shape), np.dtype(dtype), fake_torch.Device(0))))

    def put(tensor):
        memory = new(tensor.shape, str(tensor.dtype)[6:].replace("uint", "int"))
        return memory.view(tensor.dtype).copy_(tensor)

    _emulate(torch, _device_arrays, new)
    _state.update(torch=torch, put=put, kept=kept)
    return torch, put


def _emulate(torch, arrays, new):
    """Makes Python's own way take tensors in the memory of the emulator, as if they were a GPU's for torch."""
    arrays.Torch.empty = lambda self, shape, dtype, like, stream: new(shape, str(self._made[dtype])[6:])
    arrays.Torch.current = lambda self, like: 0
    arrays.Torch.keep = lambda self, array, stream: None

    def taken(self, given, dtype, _ordinal, what):
        if not given.is_contiguous():
            raise ValueError(f"{what}: the array has gaps: give a C-contiguous one")
        if dtype is not None:
            arrays._arrays.check_dtype(self._dtypes[given.dtype], dtype, what)
        return self.made(given)._replace(shape=tuple(given.shape))

    arrays.Torch.taken = taken
    torch.cuda.current_stream = lambda device: 0
    sherwood.torch._results = lambda table, keys: (new((*keys.shape, *table.value_shape), str(table.value_dtype)[6:]),
                                                   new(keys.shape, "bool"))


@contextlib.contextmanager
def table(*flags, wait=True, value_dtype=None):
    """Yields a Table on an empty server, and its Device."""
    torch, _ = setup()
    program = DAEMON if torch.cuda.is_available() else EMULATED
    with daemon(*attached.SMALL, "--key-bits", "64", *flags, program=program) as server, \
            sherwood.connect(server.unix, value_dtype=value_dtype) as client, client.attach() as device:
        yield sherwood.torch.Table(device, wait=wait), device


@case
def operators():
    """random operators have the results of a model: any shape, gaps, masks of any size and place, defaults, new tensors and the caller's"""
    torch, put = setup()
    for wait in (True, False):
        with table(wait=wait) as (one, device):
            rng, model = np.random.default_rng(40), {}
            for round_ in range(40):
                keys = rng.integers(0, KEYS, rng.choice((0, 1, 8, 77, 200)))
                values = rng.integers(-2**40, 2**40, len(keys))
                on = [put(torch.from_numpy(array)) for array in (keys, values)]
                if round_ % 3 == 0:
                    spread = [put(torch.stack((array, array + 1), 1))[:, 0] for array in on] if round_ % 6 else on
                    (one.set_, one.add_)[round_ % 2](*spread)
                    for key, value in zip(keys.tolist(), values.tolist()):
                        model[key] = value + (model.get(key, 0) if round_ % 2 else 0)
                elif round_ % 7 == 0:
                    found = one.delete_(on[0])
                    equal(found.tolist(), [model.pop(key, None) is not None for key in keys.tolist()], f"round {round_}")
                default = (None, 5, 2**62, -1)[round_ % 4]
                wanted = [model.get(key, default or 0) for key in keys.tolist()], [key in model for key in keys.tolist()]
                shaped = on[0].reshape(2, -1) if len(keys) == 8 else on[0]
                for lookup in (one.lookup, None if default else device.get_many):
                    if lookup is None:
                        continue
                    got, found = lookup(shaped, default) if lookup == one.lookup else lookup(shaped)
                    equal((got.shape, found.shape, got.dtype, found.dtype), (shaped.shape, shaped.shape, torch.int64, torch.bool))
                    equal((got.flatten().tolist(), found.flatten().tolist()), wanted, f"round {round_}")
                masks = [put(torch.ones(len(keys), dtype=torch.bool)), put(torch.ones(len(keys) + 1, dtype=torch.bool))[1:],
                         put(torch.ones(2 * len(keys), dtype=torch.bool))[::2]]
                for mask in masks:
                    got = put(torch.full((len(keys),), 3))
                    one.lookup_into(on[0], got, mask, default)
                    equal((got.tolist(), mask.tolist()), wanted, f"round {round_}")
                one.lookup_into(put(on[0].flip(0)), got)
                equal(got.tolist(), [model.get(key, 0) for key in keys.tolist()][::-1], f"round {round_}, without a mask")
                equal(device.get_many(on[0], default=7).tolist(), [model.get(key, 7) for key in keys.tolist()])
            device.check(wait=True)


@case
def shapes_of_values():
    """rows, 32-bit keys and values: operators, defaults of each kind of number, and the dtypes of results"""
    torch, put = setup()
    for flags, keys_of, values, default, filled in (
            (("--value-type", "f32", "--value-bytes", "16"), torch.int64, torch.rand(9, 4), 2.5, 2.5),
            (("--value-type", "f32", "--value-bytes", "16"), torch.int64, torch.rand(9, 4), 3, 3),
            (("--value-type", "f32", "--value-bytes", "16"), torch.int64, torch.rand(9, 4), 2**63, 2.**63),
            (("--value-type", "f32", "--value-bytes", "16"), torch.int64, torch.rand(9, 4), torch.tensor(2.5), 2.5),
            ((), torch.int64, torch.arange(9), np.uint64(2**63 + 3), 3 - 2**63),
            (("--value-type", "f64", "--value-bytes", "8"), torch.uint64, torch.rand(9, 1, dtype=torch.float64), -1.5, -1.5),
            (("--key-bits", "32"), torch.int32, torch.arange(9, dtype=torch.int32), 2**32 - 1, -1),
            (("--key-bits", "32"), torch.uint32, torch.arange(9, dtype=torch.int32).to(torch.uint32), 2**31 - 1, 2**31 - 1)):
        with table(*flags) as (one, device):
            keys, values = put(torch.arange(9).to(keys_of)), put(values)
            signed = values.to(one.value_dtype)
            one.set_(keys, values)
            more = put(torch.arange(5, 14).to(keys_of))
            got, found = one.lookup(more, default)
            equal((got.dtype, got.shape, found.tolist()), (one.value_dtype, signed.shape, [True] * 4 + [False] * 5))
            check(torch.equal(got[:4], signed[5:]) and (got[4:] == filled).all(), f"{got}, wanted {signed}")
            one.add_(keys, values)
            check(torch.equal(one.lookup(keys)[0], signed + signed), "sums")
            if values.is_floating_point():
                leaf = put(torch.zeros_like(values, device="cpu")).requires_grad_()
                raises(ValueError, "out: the tensor requires a gradient", one.lookup_into, keys, leaf)
                raises(ValueError, "out: the tensor requires a gradient", device.get_many, keys, default=0, out=leaf)
                raises(ValueError, "out: the tensor requires a gradient", device.get_many, keys, out=leaf, stream=0)
                raises(RuntimeError, "out: the tensor requires a gradient", torch.ops.sherwood.lookup_into, one.number, one.state, keys, leaf)
                raises(RuntimeError, "out: the tensor requires a gradient", torch.ops.sherwood.lookup_into, one.number, one.state, keys, leaf * 1)
                with torch.no_grad():
                    one.lookup_into(keys, leaf)
                check(torch.equal(leaf.detach(), signed + signed), "a leaf, without gradients")
    for dtype, highest in (("int8", 127), ("int16", 2**15 - 1), ("int32", 2**31 - 1), ("uint8", 255), ("uint16", 2**16 - 1)):
        with table("--value-bytes", "8", value_dtype=dtype) as (one, device):
            keys = put(torch.arange(9))
            lookups = one.lookup, lambda keys, default, device=device: (device.get_many(keys, default=default), None)
            for lookup in lookups:
                for default in (highest, -1):
                    filled = torch.tensor(default).to(one.value_dtype).item()
                    check((lookup(keys, default)[0] == filled).all(), f"{dtype}, default {default}")
                raises(ValueError, f"default: {highest + 1} is not within", lookup, keys, highest + 1)
            raises(ValueError, f"values: {highest + 1} is not within", device.set_many, keys, highest + 1)
            raises(ValueError, f"old: {highest + 1} is not within", device.cas_many, keys, highest + 1, 0)
            device.set_many(keys, -1)
            check((one.lookup(keys)[0] == filled).all(), f"{dtype}, one value for all keys")
    with table("--value-bytes", "8", value_dtype="bool") as (_, device):
        for default in (True, 1, np.True_):
            check(device.get_many(put(torch.arange(9)), default=default).all(), f"default {default} of bool")


@case
def ids():
    """assign_ numbers keys, and returns which are new, also of keys with gaps and of any shape"""
    torch, put = setup()
    for wait in (True, False):
        with table("--ids", "300", wait=wait) as (one, device):
            for keys in (torch.tensor([50, 60, 50, 70]), torch.arange(130).reshape(2, 65), torch.arange(400)[::2]):
                keys = put(keys) if keys.is_contiguous() else put(torch.arange(400))[::2]
                assigned, new = one.assign_(keys)
                seen = {}
                for key, number, is_new in zip(*(each.flatten().tolist() for each in (keys, assigned, new))):
                    equal((number, is_new), (seen.setdefault(key, number), is_new), f"key {key}")
                equal((assigned.shape, new.shape, new.dtype, len(set(seen.values()))), (keys.shape, keys.shape, torch.bool, len(seen)))
                again, still = one.assign_(keys)
                check(torch.equal(again, assigned) and not still.any(), "the ids stay")
                check(one.delete_(keys)[:1].all(), "the first key was present")
                equal(int(new.sum()), len(seen), "new keys")
            device.check(wait=True)


@case
def refusals():
    """methods raise the errors of the client, and operators RuntimeError with a sentence; no tensor leaks, and the table goes on"""
    torch, put = setup()
    ops = torch.ops.sherwood
    with table() as (one, device):
        keys, spread = put(torch.arange(9)), put(torch.arange(18))[::2]
        values, mask = put(torch.arange(9)), put(torch.ones(9, dtype=torch.bool))
        before = [each._use_count() for each in (keys, values, mask, one.state)]  # pylint: disable=protected-access
        for name, arguments, error, text, kernels_text in (
                ("lookup", (keys.int(),), TypeError, "the dtype is int32", "keys: the tensor has another dtype"),
                ("set_", (keys, values[:8]), ValueError, "values: an array of shape (8,)", "values: the tensor has another shape"),
                ("set_", (keys, values.float()), TypeError, "the dtype is float32", "values: the tensor has another dtype"),
                ("add_", (keys, values.reshape(3, 3)), ValueError, "values: an array", "values: the tensor has another shape"),
                ("lookup_into", (keys, values[:8]), ValueError, "out: an array of shape (8,)", "out: the tensor has another shape"),
                ("lookup_into", (keys, spread), ValueError, "out: the array has gaps", "out: the tensor has gaps"),
                ("lookup_into", (keys, values, mask[:3]), RuntimeError, "must match", "found: the tensor has another shape")):
            raises(RuntimeError, kernels_text, getattr(ops, name), one.number, one.state, *arguments)
            raises(error, text, getattr(one, name), *arguments)
        raises(RuntimeError, "found: the tensor has another dtype", ops.lookup_into, one.number, one.state, keys, values, keys)
        raises(RuntimeError, "Expected a value of type 'Tensor'", one.set_, [1], values)  # no kernel runs, so the failure above is not its own
        raises(ValueError, "out: an array of shape (8,)", device.get_many, keys, out=values[:8])
        for default, error, text in ((.5, TypeError, "0.5 is not an integer"), (float("nan"), TypeError, "nan is not an integer"),
                                     (2**64, ValueError, f"{2**64} is not within"), (-2**63 - 1, ValueError, f"{-2**63 - 1} is not within")):
            raises(error, f"default: {text}", device.get_many, keys, default=default)
            raises(error, f"default: {text}", device.get_many, keys, default=default, stream=0)
        raises(RuntimeError, "default: the number is no value of the table: give an integer of 8 bytes", ops.lookup, one.number, one.state, keys, 1.5)
        equal(ops.lookup(one.number, one.state, keys, -0.0)[0].tolist(), [0] * 9, "a default of no bits")
        for emptied, kind in enumerate((torch.int64, torch.int64, torch.bool)):
            given = [put(torch.zeros(16, dtype=torch.int64)), put(torch.zeros(16, dtype=torch.int64)), put(torch.zeros(16, dtype=torch.bool))]
            given[emptied] = torch.zeros(16, dtype=kind, device=keys.device)
            given[emptied].untyped_storage().resize_(0)
            raises(sherwood.Refused, f"{('keys', 'out', 'found')[emptied]}: the storage of the tensor is empty", one.lookup_into, *given)
            if emptied > 0:
                raises(sherwood.Refused, f"{('out', 'found')[emptied - 1]}: the storage of the tensor is empty", device.get_many, given[0],
                       out=given[1], found=given[2], stream=0)
        raises(sherwood.Refused, "found: the storage of the tensor is empty", device.delete_many, put(torch.arange(16)), found=given[2])
        with sherwood.connect(device._place[0].address) as client:  # pylint: disable=protected-access
            host = torch.zeros(16, dtype=torch.uint8)
            host.untyped_storage().resize_(0)
            raises(sherwood.Refused, "values: the storage of the tensor is empty", client.set_many, torch.arange(16), host)
        bytes_ = put(torch.full((9,), 7, dtype=torch.int64))
        one.lookup_into(keys, put(values), bytes_)  # Python stores a mask in any dtype
        equal(bytes_.tolist(), [0] * 9)
        for _ in range(3):
            one.set_(keys, values.copy_(torch.arange(9)))
            one.lookup_into(keys, bytes_, mask, 5)
            equal([each.tolist() for each in one.lookup(spread, 3)], [[0, 2, 4, 6, 8] + [3] * 4, [True] * 5 + [False] * 4])
        del arguments
        after = [each._use_count() for each in (keys, values, mask, one.state)]  # pylint: disable=protected-access
        equal(after, before, "references to tensors")
        if not torch.cuda.is_available():  # whose operators do not get tensors of the host, and whose children have no CUDA
            elsewhere = torch.arange(9)  # the daemon maps no memory of the host
            raises(sherwood.Refused, "are not in device memory", one.lookup, elsewhere)
            raises(sherwood.Refused, "are not in device memory", device.get_many, elsewhere)
            raises(RuntimeError, "are not in device memory", ops.lookup, one.number, one.state, elsewhere)
            raises(RuntimeError, "Expected a value of type 'Tensor'", one.lookup, [1])
            in_child(lambda: raises(RuntimeError, "no longer exists in this process", ops.lookup, one.number, one.state, keys))
            in_child(lambda: raises(sherwood.Lost, "belongs to the process", one.lookup, keys))
        equal(one.lookup(keys)[1].all().item(), True)
        number, state = one.number, one.state
        del one
        raises(RuntimeError, f"the table {number} of this operator no longer exists", ops.lookup, number, state, keys)


@case
def captured():
    """operators in stream order become a part of a graph, and each replay carries them out; one that waits refuses the capture"""
    torch, put = setup()
    if torch.cuda.is_available():
        raise Skip("the graph is one of the emulator: captured_by_torch captures on this GPU")
    driver, stream, graph = ctypes.CDLL(str(DRIVER)), ctypes.c_void_p(), ctypes.c_void_p()
    equal(driver.cuStreamCreate(ctypes.byref(stream), 0), 0)
    with table(wait=False) as (one, device):
        keys, amounts, out = (put(torch.arange(64)) for _ in range(3))
        mask, waits = put(torch.zeros(64, dtype=torch.bool)), sherwood.torch.Table(device)
        _state["stream"] = stream.value
        driver.fake_asynchronous(1)
        try:
            with attached.capture(driver, stream, graph):
                one.add_(keys, amounts)
                one.lookup_into(keys, out, mask)
            equal(one.lookup_into(keys, out, mask), None)
            equal((driver.cuStreamSynchronize(stream), mask.any().item()), (0, False), "a capture carries out nothing")
            for replay in range(1, 4):
                keys.copy_(torch.arange(64) + 64 * (replay // 3))  # the last replay finds new keys
                equal((driver.fake_launch(graph, stream), driver.cuStreamSynchronize(stream)), (0, 0))
                check(torch.equal(out, amounts * (1, 1, 2, 1)[replay]) and mask.all(), f"replay {replay}: {out}")
            device.check(wait=True)
            equal(driver.cuGraphDestroy(graph), 0)
            equal(driver.cuStreamBeginCapture_v2(stream, 0), 0)
            raises(sherwood.Refused, "make the call in the order of the stream", waits.lookup_into, keys, out, mask)
            equal(driver.cuStreamEndCapture(stream, ctypes.byref(graph)), 0, "the capture goes on")
            equal(driver.cuGraphDestroy(graph), 0)
        finally:
            driver.fake_asynchronous(0)
            del _state["stream"]


@case
def captured_by_torch():
    """a graph of torch on a GPU carries out operators in each replay, beside torch's own work; one that waits refuses the capture"""
    torch, put = setup()
    if not torch.cuda.is_available():
        raise Skip("torch finds no GPU")
    with table(wait=False) as (one, device):
        keys, out, graph, waits = put(torch.zeros(64, dtype=torch.int64)), put(torch.zeros(64, dtype=torch.int64)), torch.cuda.CUDAGraph(), \
            sherwood.torch.Table(device)
        with torch.cuda.graph(graph):
            one.add_(keys * 2, keys + 1)
            one.lookup_into(keys * 2, out, default=7)
            values, mask = one.lookup(keys * 2 + 1, 9)
        equal(one.lookup(keys)[1].any().item(), False, "a capture carries out nothing")
        for replay in range(1, 4):
            keys.copy_(torch.arange(64))
            graph.replay()
            torch.cuda.synchronize()
            check(torch.equal(out, (keys + 1) * replay) and (values == 9).all() and not mask.any(), f"replay {replay}: {out} {values}")
        device.check(wait=True)

        def refused():
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                raises(sherwood.Refused, "make the call in the order of the stream", waits.lookup_into, keys, out)
                one.lookup_into(keys, out)

        refused()
        check(one.lookup(keys * 2)[1].all(), "the table goes on")
        del graph


@case
def closing():
    """close waits for the calls of other threads, which then raise; a Device that is dropped closes itself, also beside its Table"""
    torch, put = setup()
    with table() as (one, device):
        keys, more, ended = put(torch.arange(64)), put(torch.arange(64) + 64), []

        def calls(call):
            try:
                while True:
                    call()
            except sherwood.Refused as error:
                ended.append(str(error))

        threads = [threading.Thread(target=calls, args=(call,)) for call in (
            lambda: equal(one.lookup(keys)[1].any().item(), False), lambda: device.set_many(more, keys), lambda: device.check(wait=True),
            lambda: device.staged_bytes)]
        for thread in threads:
            thread.start()
        for _ in range(20):
            check(not device.get_many(keys)[1].any(), "no key is present")
        part = device.table("default")
        its = sherwood.torch.Table(part)
        check(not its.lookup(keys)[1].any() and not part.get_many(keys)[1].any(), "no key is present")
        equal([each.any().item() for pair in sherwood.torch.lookup_tables([(one, keys), (its, more)]) for each in pair], [False, False, True, True])
        part.close()
        for lookup in (its.lookup, sherwood.torch.Table(part).lookup, part.get_many):
            raises(sherwood.Refused, "this Device is closed: open its table again", lookup, keys)
        raises(sherwood.Refused, "table: the text contains a NUL character", device.table, "default\0")
        device.close()
        for thread in threads:
            thread.join(60)
        equal(ended, ["this Device is closed: attach again"] * 4)
        raises(sherwood.Refused, "this Device is closed", sherwood.torch.Table(device).lookup, keys)
        raises(sherwood.Refused, "this Device is closed", device.get_many, keys)
        with sherwood.connect(device._place[0].address) as client:  # pylint: disable=protected-access
            other = client.attach()
            new, pointer = sherwood.torch.Table(other), weakref.ref(other)
            equal((new.lookup(keys)[1].any().item(), other.get_many(keys)[1].any().item()), (False, False))
            del other
            equal(new.lookup(keys)[1].any().item(), False)
            del new
            equal(pointer(), None)


@case
def forked():
    """a forked child makes no calls on a Device of its parent, also by a new Table, and may drop the Device"""
    torch, put = setup()
    if torch.cuda.is_available():
        raise Skip("a forked child has no CUDA")
    with table() as (_, other), sherwood.connect(other._place[0].address) as client:  # pylint: disable=protected-access
        keys, devices = put(torch.arange(9)), [client.attach()]
        sherwood.torch.Table(devices[0], wait=False).set_(keys, keys)
        devices[0].check(wait=True)

        def child():
            signal.alarm(60)
            raises(sherwood.Lost, "belongs to the process", devices[0].get_many, keys)
            raises(sherwood.Lost, "belongs to the process", sherwood.torch.Table(devices[0]).lookup, keys)
            devices.clear()
            gc.collect()

        in_child(child)
        equal(devices[0].get_many(keys)[1].tolist(), [True] * 9)


@case
def collected():
    """the garbage collector may forget a table while another one becomes known"""
    from sherwood import _operators  # pylint: disable=import-outside-toplevel
    from sherwood._native import ffi  # pylint: disable=import-outside-toplevel

    class Number(int):
        """A number whose hash, which the set of numbers needs, collects garbage."""

        def __hash__(self):
            gc.collect()
            return int(self)

    known, owner = _operators.Known(), threading.Event()
    first, second = next(_operators.numbers), next(_operators.numbers)
    known.add(first, ffi.new("struct swpy_table *"))
    weakref.finalize(owner, known.forget, first)
    owner.cycle = owner
    del owner
    thread = threading.Thread(target=known.add, args=(Number(second), ffi.new("struct swpy_table *")), daemon=True)
    thread.start()
    thread.join(10)
    check(not thread.is_alive(), "add ends")
    equal(known._numbers, {second})  # pylint: disable=protected-access


@case
def compiled():
    """a compiled program calls the kernels in the order of its source"""
    torch, put = setup()
    with table() as (one, device):
        keys, values = put(torch.arange(64)), put(torch.arange(64) + 100)
        ops = torch.ops.sherwood
        def program(keys, values, out, mask):
            one.set_(keys, values)
            first, _ = one.lookup(keys)
            one.add_(keys, values)
            if out is None:
                return first, *one.lookup(keys, 4)
            one.lookup_into(keys, out, mask)
            return first, out, mask

        results = put(values * 0), put(values < 0)
        for run, into in ((program, results), (torch.compile(program, backend="eager", fullgraph=True), results),
                          (torch.compile(program, backend="aot_eager", fullgraph=True), (None, None))):  # it would copy results
            first, second, found = run(keys, values, *into)
            check(torch.equal(first, values) and torch.equal(second, values * 2) and found.all(), f"{first} {second} {found}")

        def around(keys):
            one.set_(keys, keys)
            return device.get_many(keys)[0] + 1

        check(torch.equal(torch.compile(around, backend="aot_eager")(keys), keys + 1), "a call of the Device ends a graph")


if __name__ == "__main__":
    main()
