#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""sherwood.torch with torch itself: operators, torch.compile, and on a GPU its allocators and JAX."""

import gc
import importlib.util
import os
import subprocess
import sys

from harness import BUILD, Skip, case, check, equal, main
from package import LIB, daemon, np, raises, sherwood
from torch_clients import COMMON, ROWS, clients, needs_gpu, needs_torch

KEYS = 300


def tables():
    """Yields a new Table of each kind on an empty server, with the device of its tensors."""
    import sherwood.torch  # pylint: disable=import-outside-toplevel,redefined-outer-name
    with clients() as kinds:
        for calls, wait in kinds:
            kinds[0][0].flush()
            table = sherwood.torch.Table(calls, wait=wait)
            yield table, table.state.device
            if not wait:
                calls.check(wait=True)


@case
def operators():
    """random operators have the results of a model, in any shape, into new tensors and into the caller's"""
    torch = needs_torch()
    for table, place in tables():
        rng, model = np.random.default_rng(40), {}
        for round_ in range(60):
            keys = rng.integers(0, KEYS, rng.choice((1, 8, 77, 640)))
            values = rng.integers(-2**40, 2**40, len(keys))
            on = [torch.from_numpy(array).to(place) for array in (keys, values)]
            if round_ % 3 == 0:
                (table.set_, table.add_)[round_ % 2](*on)
                for key, value in zip(keys.tolist(), values.tolist()):
                    model[key] = value + (model.get(key, 0) if round_ % 2 else 0)
            elif round_ % 7 == 0:
                found = table.delete_(on[0])
                equal(found.cpu().tolist(), [model.pop(key, None) is not None for key in keys.tolist()], f"round {round_}")
            default = None if round_ % 2 else 5
            wanted = [model.get(key, default or 0) for key in keys.tolist()], [key in model for key in keys.tolist()]
            shaped = on[0].reshape(-1, len(keys) if len(keys) != 8 else 2)
            got, found = table.lookup(shaped, default)
            equal((got.shape, found.shape, got.dtype, found.dtype), (shaped.shape, shaped.shape, torch.int64, torch.bool))
            equal((got.flatten().tolist(), found.flatten().tolist()), wanted, f"round {round_}")
            got, found = torch.full_like(on[0], 3), torch.ones(len(keys), dtype=torch.bool, device=place)
            table.lookup_into(on[0], got, found, default)
            equal((got.tolist(), found.tolist()), wanted, f"round {round_}")
            table.lookup_into(on[0].flip(0), got)
            equal(got.tolist(), [model.get(key, 0) for key in keys.tolist()][::-1], f"round {round_}, without a mask")


@case
def defaults():
    """absent keys have the default: an integer of 64 bits, signed or not, or a number of the rows, also in a compiled program"""
    torch = needs_torch()
    import sherwood.torch  # pylint: disable=import-outside-toplevel,redefined-outer-name
    for flags, dtype, numbers in (((), torch.int64, (5, -1, 2**63 + 3, 2**64 - 1, np.uint64(2**63), torch.tensor(-7))),
                                  (ROWS, torch.float32, (3, 2.5, -2**63, 2**63, np.uint64(2**63), np.float32(-1.5), torch.tensor(2.5)))):
        with clients(*flags) as kinds:
            for calls, wait in kinds:
                torch.compiler.reset()  # each number is another program, and a function has at most eight
                table = sherwood.torch.Table(calls, wait=wait)
                keys = torch.arange(9, device=table.state.device)
                compiled_lookup = torch.compile(lambda keys, default: table.lookup(keys, default), backend="aot_eager", fullgraph=True)
                for number in numbers:
                    wanted = float(number) if dtype.is_floating_point else (int(number) + 2**63) % 2**64 - 2**63
                    out = torch.zeros((9, *table.value_shape), dtype=dtype, device=keys.device)
                    table.lookup_into(keys, out, default=number)
                    for got in (out, table.lookup(keys, number)[0], *([] if isinstance(number, (np.generic, torch.Tensor)) else compiled_lookup(keys, number)[:1])):
                        equal((got.dtype, set(got.flatten().tolist())), (dtype, {wanted}), f"{number!r}")
                if dtype.is_floating_point:
                    equal(set(torch.library.opcheck(torch.ops.sherwood.lookup.float, (table.number, table.state, keys, 2.5)).values()), {"SUCCESS"})
                for number in (2**64, -2**63 - 1):
                    raises(ValueError, "has more than 64 bits", table.lookup, keys, number)


@case
def checked():
    """torch's own check accepts each operator: its schema, its shapes and what torch.compile makes of it"""
    torch = needs_torch()
    for table, place in tables():
        keys, ops = torch.arange(9, device=place), torch.ops.sherwood
        for op, more in ((ops.lookup.default, ()), (ops.lookup.default, (3,)), (ops.set_.default, (keys,)),
                         (ops.add_.default, (keys,)), (ops.delete_.default, ()),
                         (ops.lookup_into.default, (torch.empty_like(keys), torch.empty(9, dtype=torch.bool, device=place)))):
            result = torch.library.opcheck(op, (table.number, table.state, keys, *more))
            equal(set(result.values()), {"SUCCESS"}, str(op))


@case
def compiled():
    """a compiled program reads and writes in the order of its source, in each compiler, and so does its last write"""
    torch = needs_torch()
    for table, place in tables():
        def program(keys, values):
            table.set_(keys, values)
            first, _ = table.lookup(keys)
            table.set_(keys, values * 2)
            second, _ = table.lookup(keys)
            table.add_(keys, first)
            third, found = table.lookup(keys, default=9)
            was = table.delete_(keys)
            fourth, gone = table.lookup(keys, default=1)
            out, mask = torch.empty_like(keys), torch.empty(keys.shape, dtype=torch.bool, device=keys.device)
            table.set_(keys, values + 1)
            table.lookup_into(keys, out, mask)
            table.set_(keys, values * 5)
            return first, second, third, found, was, fourth, gone, out, mask

        keys, values = torch.arange(64, device=place), torch.arange(64, device=place) + 100
        wanted = [values, values * 2, values * 3, *[torch.ones_like(keys, dtype=torch.bool)] * 2, torch.ones_like(keys),
                  torch.zeros_like(keys, dtype=torch.bool), values + 1, torch.ones_like(keys, dtype=torch.bool)]
        for backend in ("eager", "aot_eager", "inductor"):
            torch.compiler.reset()
            run = torch.compile(program, backend=backend, fullgraph=True)
            for _ in range(2):
                for i, (got, want) in enumerate(zip(run(keys, values), wanted)):
                    check(torch.equal(got, want), f"{backend}, result {i}: {got}")
                check(torch.equal(table.lookup(keys)[0], values * 5), f"{backend}: the last write")


@case
def ids():
    """assign_ numbers keys in the order of a compiled program, and torch's own check accepts it"""
    torch = needs_torch()
    import sherwood.torch  # pylint: disable=import-outside-toplevel,redefined-outer-name
    with clients("--ids", "1000") as kinds:
        for calls, wait in kinds:
            kinds[0][0].flush()
            table = sherwood.torch.Table(calls, wait=wait)

            def program(keys):
                first, new = table.assign_(keys)
                was = table.delete_(keys[:2])
                second, again = table.assign_(keys)  # pylint: disable=cell-var-from-loop
                return first, new, was, second, again

            keys = torch.tensor([50, 60, 50, 70], device=table.state.device)
            for run in (program, torch.compile(program, backend="aot_eager", fullgraph=True)):
                kinds[0][0].flush()
                first, new, was, second, again = (each.tolist() for each in run(keys))
                equal((first, new, was), ([0, 1, 0, 2], [True, True, False, True], [True, True]))
                equal((second, again), ([0, 1, 0, 2], [True, True, False, False]))
            result = torch.library.opcheck(torch.ops.sherwood.assign_.default, (table.number, table.state, keys))
            equal(set(result.values()), {"SUCCESS"})


@case
def several_tables():
    """lookup_tables has the results of lookups of each table, in a compiled program also behind its writes; torch's own check accepts it"""
    torch = needs_torch()
    import sherwood.torch  # pylint: disable=import-outside-toplevel,redefined-outer-name
    with clients() as kinds:
        kinds[0][0].create_table("rows", value_type="f32", value_bytes=16)
        for calls, wait in kinds:
            tables_ = [sherwood.torch.Table(each, wait=wait) for each in (calls, calls.table("rows"))]
            place = tables_[0].state.device
            keys, more = torch.arange(99, device=place), torch.arange(40, 140, device=place).reshape(2, 50)[:, ::2]

            def program(keys, more, amounts, both=tables_):
                both[0].set_(keys, keys * 2)
                both[1].add_(more.flatten(), amounts)
                first = sherwood.torch.lookup_tables([(both[1], more), (both[0], more), (both[1], keys[:0])])
                both[0].delete_(keys)
                return first

            for run in (program, torch.compile(program, backend="aot_eager", fullgraph=True)):
                kinds[0][0].flush()
                calls.table("rows").delete_many(more.flatten())
                (rows, every), (values, some), (none, _) = run(keys, more, torch.ones(50, 4, device=place))
                equal((rows.tolist(), every.all().item(), none.shape), ([[[1.] * 4] * 25] * 2, True, (0, 4)))
                equal((values.tolist(), some.tolist()), (torch.where(more < 99, more * 2, 0).tolist(), (more < 99).tolist()))
                equal((values.dtype, some.dtype, rows.dtype), (torch.int64, torch.bool, torch.float32))
            torch.library.opcheck(torch.ops.sherwood.lookup_tables, ([table.number for table in tables_], [table.state for table in tables_], [keys, more]))
            equal(sherwood.torch.lookup_tables([]), [])
            if not wait:
                waits = sherwood.torch.Table(calls)
                raises(sherwood.Refused, "some Tables wait", sherwood.torch.lookup_tables, [(tables_[0], keys), (waits, keys)])
            raises(TypeError, "the dtype is int32", sherwood.torch.lookup_tables, [(tables_[0], keys.int())])


@case
def refusals():
    """operators refuse wrong dtypes, shapes and tables that are gone, with the text of the client; the table goes on"""
    torch = needs_torch()
    from sherwood import _operators  # pylint: disable=import-outside-toplevel
    for table, place in tables():
        keys = torch.arange(9, device=place)
        for call, arguments, error, text in (
                (table.lookup, (keys.int(),), TypeError, "the dtype is int32, and this call needs uint64 or int64: convert the tensor yourself (.to)"),
                (table.set_, (keys, keys[:8]), ValueError, "shape"),
                (table.lookup, (keys, torch.tensor(.5)), TypeError, "default: 0.5 is not an integer: give an integer"),
                (table.lookup, (keys, torch.tensor([1, 2])), ValueError, "default: a tensor of shape (2,): give one number"),
                (table.lookup_into, (keys, torch.empty_like(keys[:8])), ValueError, "shape")):
            raises(error, text, call, *arguments)
        equal([table.set_(keys, keys), table.lookup(keys)[0].tolist()], [None, list(range(9))])
        number, state = table.number, table.state
        gone = sherwood.torch.Table(table.calls).number
        gc.collect()
        raises(RuntimeError if place.type == "cuda" and _operators.of(torch) is not None else sherwood.Refused,
               "no longer exists", torch.ops.sherwood.lookup, gone, state, keys)
        equal(torch.ops.sherwood.lookup(number, state, keys)[1].all().item(), True)
        raises(TypeError, "not a client", sherwood.torch.Table, 3)
        if isinstance(table.calls, sherwood.Client):
            raises(ValueError, "wait=False is for a Device", sherwood.torch.Table, table.calls, wait=False)
        values = torch.ones(9, dtype=torch.float64, device=place, requires_grad=True)
        raises(TypeError, "the dtype is float64", table.set_, keys, values)
        raises(ValueError, "out: the tensor requires a gradient, and a read has none: give out.detach()", table.calls.get_many, keys, out=values)
        if isinstance(table.calls, sherwood.Client):
            raises(ValueError, "out: the tensor requires a gradient", torch.ops.sherwood.lookup_into, number, state, keys, values)
            raises(ValueError, "out: the tensor requires a gradient", table.calls.submit.get_many, keys, out=values)


ALLOCATOR = """
import ctypes, sys
sys.path.insert(0, sys.argv[1])
ctypes.CDLL(sys.argv[3] + "/libsherwood.so.0", mode=ctypes.RTLD_GLOBAL)
import sherwood, torch
device = sherwood.connect(sys.argv[2]).attach()
for count in (9, 1000, 10_000_000):
    for stream in (None, torch.cuda.current_stream(), torch.cuda.Stream()):
        keys = torch.arange(count, device="cuda") * 7 + count
        torch.cuda.synchronize()
        device.set_many(keys, keys * 3, stream=stream)
        values, found = device.get_many(keys, stream=stream)
        torch.cuda.synchronize()
        assert torch.equal(values, keys * 3) and found.all(), (count, stream)
device.check(wait=True)
print(device.staged_bytes > 0)
"""


@case
def allocators():
    """a Device takes tensors of each of torch's allocators, also above 64 MiB; those that cannot be mapped are copied"""
    needs_gpu()
    for setting, copied in (("expandable_segments:False", "False"), ("expandable_segments:True", "True"),
                            ("backend:cudaMallocAsync", "True")):
        with daemon("--backend", "cuda", "--capacity", "64M", "--key-bits", "64") as server:
            done = subprocess.run([sys.executable, "-c", ALLOCATOR, str(LIB), server.unix, str(BUILD)], capture_output=True, text=True,
                                  timeout=300, check=False, env={**os.environ, "PYTORCH_CUDA_ALLOC_CONF": setting})
            equal((done.returncode, done.stdout.strip()), (0, copied), f"{setting}: {done.stderr}")


@case
def cuda_graphs():
    """a graph of torch with calls reads and writes in each replay, beside torch's own work"""
    torch = needs_gpu()
    with daemon("--backend", "cuda", *COMMON) as server, sherwood.connect(server.unix) as client, client.attach() as device:
        keys, graph = torch.zeros(1000, dtype=torch.int64, device="cuda"), torch.cuda.CUDAGraph()
        out, mask = torch.empty_like(keys), torch.empty(1000, dtype=torch.bool, device="cuda")
        with torch.cuda.graph(graph):
            stream = torch.cuda.current_stream()
            device.add_many(keys * 2, keys + 1, stream=stream)
            device.get_many(keys * 2, default=0, out=out, found=mask, stream=stream)
            twice = out * 2
        equal(len(client), 0, "a capture carries out nothing")
        for replay in range(1, 4):
            keys.copy_(torch.arange(1000))
            graph.replay()
            torch.cuda.synchronize()
            check(torch.equal(twice, (keys + 1) * 2 * replay) and mask.all(), f"replay {replay}")
        device.check(wait=True)
        del graph


@case
def jax_arrays():
    """a Device takes arrays of JAX"""
    needs_gpu()
    if importlib.util.find_spec("jax") is None:
        raise Skip("jax is not installed (pip install jax[cuda13])")
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax  # pylint: disable=import-outside-toplevel,import-error
    jax.config.update("jax_enable_x64", True)
    if jax.default_backend() != "gpu":
        raise Skip("jax finds no GPU")
    with daemon("--backend", "cuda", *COMMON) as server, sherwood.connect(server.unix) as client, client.attach() as device:
        keys = jax.numpy.arange(1000)
        device.set_many(keys, keys * 3)
        values, found = device.get_many(keys + 1)
        equal(values.tolist(), [*range(3, 3000, 3), 0])
        equal(found.tolist(), [True] * 999 + [False])
        check(device.staged_bytes > 0, "JAX's memory is copied")


if __name__ == "__main__":
    main()
