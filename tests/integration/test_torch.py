#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""sherwood.torch with torch itself: operators, torch.compile, and on a GPU its allocators and JAX."""

import concurrent.futures
import contextlib
import copy
import ctypes
import gc
import importlib.util
import os
import pickle
import signal
import subprocess
import sys

import fake_torch
from attached import DRIVER, EMULATED, LIBRARY, SMALL, loaded
from harness import BUILD, Skip, case, check, equal, eventually, main
from package import LIB, daemon, np, pause, raises, sherwood

KEYS = 300
COMMON = ("--capacity", "64K", "--key-bits", "64")


def needs_torch():
    """Returns torch."""
    if importlib.util.find_spec("torch") is None:
        raise Skip("torch is not installed (pip install torch)")
    import torch  # pylint: disable=import-outside-toplevel
    if not hasattr(torch.library, "register_fake"):
        raise Skip(f"torch {torch.__version__} has no torch.library.register_fake: the operators need 2.4")
    return torch


def needs_gpu():
    """Returns torch. Makes Client.attach find the libraries that were built."""
    torch = needs_torch()
    if not torch.cuda.is_available():
        raise Skip("torch finds no GPU")
    os.environ["SHERWOOD_CUDA_LIBRARY"] = str(BUILD / "libsherwood-cuda.so.0")
    ctypes.CDLL(str(BUILD / "libsherwood.so.0"), mode=ctypes.RTLD_GLOBAL)
    return torch


@contextlib.contextmanager
def clients(*flags):
    """Yields a list of what a Table may have: a client, and if there is a GPU its Device, with calls that wait and without."""
    torch = needs_torch()
    has_gpu = torch.cuda.is_available() and needs_gpu() is torch
    with daemon("--backend", "cuda" if has_gpu else "cpu", *COMMON, *flags) as server, sherwood.connect(server.unix) as client:
        device = client.attach() if has_gpu else None
        yield [(client, True)] + ([(device, True), (device, False)] if has_gpu else [])


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
def refusals():
    """operators refuse wrong dtypes, shapes and tables that are gone, with the text of the client; the table goes on"""
    torch = needs_torch()
    from sherwood import _operators  # pylint: disable=import-outside-toplevel
    for table, place in tables():
        keys = torch.arange(9, device=place)
        for call, arguments, error, text in (
                (table.lookup, (keys.int(),), TypeError, "the dtype is int32"),
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


ROWS = ("--value-type", "f32", "--value-bytes", "16")


def trainings(torch, layer, lr, start):
    """Trains two small models on the same batches: with the layer, and with torch's own embedding of the rows `start`.
    Compares losses and rows bit by bit in each step."""
    rng = np.random.default_rng(41)
    names = torch.from_numpy(rng.integers(-2**63, 2**63 - 1, len(start)))
    index = {name: i for i, name in enumerate(names.tolist())}
    layer.init = lambda keys: start[[index[key] for key in keys.tolist()]]
    dense = torch.nn.Embedding.from_pretrained(start.clone(), freeze=False)
    heads = [torch.nn.Linear(4, 1).to(layer.table.state.device) for _ in range(2)]
    heads[1].load_state_dict(heads[0].state_dict())
    exact = torch.optim.SGD(dense.parameters(), lr=lr) if lr in (0.125, 0.5) else None  # it rounds lr * gradient with the sum
    for step in range(30):
        at = torch.from_numpy(rng.integers(0, len(start), (8, 5)) // rng.integers(1, 9)).to(start.device)
        losses = []
        for rows, head in ((layer(names.to(start.device)[at]), heads[0]), (dense(at), heads[1])):
            loss = (head(rows.sum(1)).sigmoid() - 0.3).square().mean()
            head.zero_grad()
            loss.backward()
            with torch.no_grad():
                for parameter in head.parameters():
                    parameter -= parameter.grad * 0.5
            losses.append(loss.item())
        if exact is not None:
            exact.step()
        else:
            with torch.no_grad():
                dense.weight += dense.weight.grad * -lr
        dense.zero_grad()
        equal(losses[0], losses[1], f"loss of step {step}")
        with torch.no_grad():
            got, wanted = layer.eval()(names.to(start.device)), dense.weight
            layer.train()
        seen = (got != 0).any(1) | (wanted == 0).all(1)
        check(torch.equal(got[seen].view(torch.int32), wanted[seen].view(torch.int32)), f"rows after step {step}")
    check(seen.sum() > len(start) // 2, "rows were trained")


@case
def embedding():
    """training with an Embedding gives the losses and rows of torch's own embedding bit by bit, over each kind of calls, also compiled"""
    torch = needs_torch()
    import sherwood.torch  # pylint: disable=import-outside-toplevel,redefined-outer-name
    with clients(*ROWS) as kinds:
        for calls, wait in kinds:
            for lr in (0.125, 0.1, 0.5):
                kinds[0][0].flush()
                torch.manual_seed(7)
                layer = sherwood.torch.Embedding(table := sherwood.torch.Table(calls, wait=wait), 4, lr=lr)
                equal((list(layer.parameters()), layer.state_dict()), ([], {}), "nothing for an optimizer, nothing in a checkpoint")
                layer.compile(backend="eager", disable=lr != 0.5)
                trainings(torch, layer, lr, torch.randn(60, 4).to(table.state.device))
                unknown = torch.tensor([[5, 6]], device=table.state.device)
                equal((layer.eval()(unknown).tolist(), table.lookup(unknown)[1].any().item()), ([[[0] * 4] * 2], False), "eval stores nothing")
                layer.init = None
                equal((layer.train()(unknown).tolist(), table.lookup(unknown)[1].all().item()), ([[[0] * 4] * 2], True), "rows of zeros")
                equal(layer(unknown[:, :0]).shape, (1, 0, 4), "no keys")
                layer.init = lambda keys: torch.zeros(len(keys), 3)
                raises(ValueError, "init returned rows of shape (2, 3) for 2 keys", layer, unknown + 10)
                equal(layer.table.set_absent(unknown[0], torch.ones(2, 4, device=unknown.device)).tolist(), [[0] * 4] * 2, "the first of two trainers counts")
                raises(ValueError, "start the server with --value-type f32 --value-bytes 32", sherwood.torch.Embedding, table, 8, lr=1)
    with clients() as kinds:
        raises(ValueError, "torch.int64", sherwood.torch.Embedding, sherwood.torch.Table(kinds[0][0]), 1, lr=1)


def trained(torch, table, ahead):
    """Trains two layers of one table on batches that share keys. Each prefetches at `ahead`. Returns the losses and the rows."""
    torch.manual_seed(11)  # calls of init in another order would give other rows
    layers = [sherwood.torch.Embedding(table, 4, lambda keys: torch.randn(len(keys), 4), lr=0.1) for _ in range(2)]
    rng, losses = np.random.default_rng(5), []
    batches = [[torch.from_numpy(rng.integers(0, 40 + 5 * i, (6, 3))) for _ in layers] for i in range(25)]
    for batch, following in zip(batches, [*batches[1:], None]):
        def prefetch(at, keys=following):
            for layer, each in zip(layers, keys or ()) if at == ahead else ():
                layer.prefetch(each)
        prefetch("start")
        rows = [layer(keys.clone()) for layer, keys in zip(layers, batch)]
        prefetch("forward")
        loss = ((rows[0] * rows[1]).sum(2) - 1).square().sum()
        loss.backward()
        prefetch("backward")
        losses.append(loss.item())
    return losses, table.lookup(torch.arange(200))


@case
def embedding_prefetched():
    """layers that prefetch have the losses and rows of layers that do not, bit by bit, wherever they do it; limits and failures"""
    torch = needs_torch()
    import sherwood.torch  # pylint: disable=import-outside-toplevel,redefined-outer-name
    with daemon("--backend", "cpu", *COMMON, *ROWS) as server, sherwood.connect(server.unix) as client:
        table = sherwood.torch.Table(client)
        wanted = trained(torch, table, None)
        for ahead in ("start", "forward", "backward"):
            client.flush()
            got = trained(torch, table, ahead)
            check(got[0] == wanted[0] and all(torch.equal(a, b) for a, b in zip(got[1], wanted[1])), f"losses and rows of prefetch at {ahead}")
        with concurrent.futures.ThreadPoolExecutor(4) as pool, sherwood.connect(server.address(), table="default", timeout=.5) as other:
            list(pool.map(lambda _: trained(torch, table, "start"), range(4)))
            trains, layer = (sherwood.torch.Embedding(sherwood.torch.Table(calls), 4, lr=1) for calls in (other, client))
            loss = trains(keys := torch.arange(600, 604)).sum()
            layer.prefetch(keys)
            layer._batches[0]._future.result()  # pylint: disable=protected-access
            pause(server)
            raises(sherwood.Timeout, "unknown", loss.backward)
            os.kill(server.pid(), signal.SIGCONT)
            eventually(lambda: table.lookup(keys)[0][0, 0].item() == -1, "the step takes place")
            equal(layer(keys)[0].tolist(), [-1.] * 4, "a step over another address that failed may have changed the rows")
        layer, keys = sherwood.torch.Embedding(table, 4, lr=1), torch.tensor([[300, 301], [300, 5]])
        layer.prefetch(keys)
        layer._batches[0]._future.result()  # pylint: disable=protected-access
        table.set_(torch.tensor([5]), torch.full((1, 4), 2.))  # past the layer: the prefetched row counts
        check(not torch.equal(layer.eval()(keys.clone())[1, 1], layer(keys)[1, 1]), "the second call reads")
        layer.prefetch(keys)
        keys, mine = keys.clone(), keys.add_(1000)  # the caller's array may change
        equal(layer(mine).abs().sum().item(), 0, "other keys are read")
        layer.prefetch(mine.int().long()[:1])
        raises(sherwood.Refused, "2 batches wait for a call of the layer", layer.prefetch, keys)
        for each in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
            each.prefetch(keys)
        layer.forget()
        pause(server)
        layer.prefetch(keys)  # returns before the reply
        os.kill(server.pid(), signal.SIGCONT)
        equal(layer(keys)[1, 1].tolist(), [2.] * 4, "the rows came later")
        server.end_by_kill()
        layer.prefetch(keys)
        layer.prefetch(mine)
        raises(sherwood.Lost, "connect", layer, keys)
        equal(len(layer._batches), 1, "a batch that failed is gone")  # pylint: disable=protected-access


@case
def embedding_copies():
    """a deep copy and a pickle of an Embedding read the same rows, also without the original"""
    torch = needs_torch()
    import sherwood.torch  # pylint: disable=import-outside-toplevel,redefined-outer-name
    with clients(*ROWS) as kinds:
        layer, keys = sherwood.torch.Embedding(sherwood.torch.Table(kinds[0][0]), 4, lr=1), torch.tensor([1, 2])
        layer.table.set_(keys, torch.tensor([[1.] * 4, [2.] * 4]))
        copies = copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))
        del layer
        gc.collect()
        equal([each.eval()(keys)[:, 0].tolist() for each in copies], [[1, 2]] * 2)


@case
def embedding_attached():
    """an Embedding over attach, on the emulator's GPU, has the rows of torch's own embedding"""
    torch = needs_torch()
    if torch.cuda.is_available():
        raise Skip("this process uses the driver of a GPU: the case embedding trains there")
    import sherwood.torch  # pylint: disable=import-outside-toplevel,redefined-outer-name
    from sherwood import _device_arrays  # pylint: disable=import-outside-toplevel
    loaded()
    os.environ["SHERWOOD_CUDA_LIBRARY"] = str(LIBRARY)
    arena = fake_torch.module(ctypes.CDLL(str(DRIVER)))

    class Emulated(_device_arrays.Torch):
        """Tensors of the host as tensors of the emulator's GPU: those that a call takes are copied there."""

        def empty(self, shape, dtype, like, stream):
            return torch.from_numpy(np.asarray(arena.empty(shape, dtype, fake_torch.Device(0))))

        def taken(self, given, dtype, ordinal, what):
            copied = self.empty(given.shape, self._dtypes[given.dtype], given, None)
            return self.made(copied.copy_(given))

        current = staticmethod(lambda like: 0)

    with daemon(*SMALL, "--key-bits", "64", *ROWS, program=EMULATED) as server, sherwood.connect(server.unix) as client, \
            client.attach() as device:
        _device_arrays._kinds["torch"] = Emulated()  # pylint: disable=protected-access
        try:
            table = sherwood.torch.Table(client)
            table.calls = Returned(torch, device)
            trainings(torch, sherwood.torch.Embedding(table, 4, lr=0.125), 0.125, torch.randn(20, 4))
            check(len(client) > 10, "the rows are in the server")
            ahead, keys = sherwood.torch.Embedding(sherwood.torch.Table(client), 4, lr=1), torch.tensor([901, 902])
            ahead.eval().prefetch(keys)
            sherwood.torch.Embedding(table, 4, lr=1)(keys).sum().backward()
            equal(ahead(keys).tolist(), [[-1] * 4] * 2, "a Device trained rows that a client prefetched")
        finally:
            del _device_arrays._kinds["torch"]  # pylint: disable=protected-access


class Returned:
    """The calls of a Device, with results copied to `out`, because the memory of the emulator is not that of torch."""

    def __init__(self, torch, device):
        self.torch, self.device = torch, device

    def get_many(self, keys, *, default, out, found):
        values, mask = self.device.get_many(keys)
        equal(default, 0)
        out.copy_(values)
        found.copy_(mask)

    def __getattr__(self, name):
        return getattr(self.device, name)


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
