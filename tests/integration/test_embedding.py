#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""sherwood.torch.Embedding with torch itself: training, prefetch, copies, and rows of a GPU."""

import concurrent.futures
import contextlib
import copy
import ctypes
import gc
import os
import pickle
import signal
import types
import unittest.mock

import fake_torch
from attached import DRIVER, EMULATED, LIBRARY, SMALL, loaded
from harness import Skip, case, check, equal, eventually, main
from package import daemon, in_child, np, pause, raises, sherwood
from torch_clients import COMMON, ROWS, clients, needs_gpu, needs_torch


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
                layer.init = lambda _: None
                raises(TypeError, "init returned an object of type NoneType: return a tensor of shape (2, 4)", layer, unknown + 10)
                raises(TypeError, "table is of type int: give a sherwood.torch.Table", sherwood.torch.Embedding, 5, 4, lr=lr)
                equal(layer.table.set_absent(unknown[0], torch.ones(2, 4, device=unknown.device)).tolist(), [[0] * 4] * 2, "the first of two trainers counts")
                raises(ValueError, "start the server with --value-type f32 --value-bytes 32", sherwood.torch.Embedding, table, 8, lr=1)
    with clients() as kinds:
        raises(ValueError, "torch.int64", sherwood.torch.Embedding, sherwood.torch.Table(kinds[0][0]), 1, lr=1)


def trained(torch, table, ahead):
    """Trains two layers of one table on batches that share keys. Each prefetches at `ahead`. Returns the losses and the rows."""
    torch.manual_seed(11)  # calls of init in another order would give other rows
    place = table.state.device
    layers = [sherwood.torch.Embedding(table, 4, lambda keys: torch.randn(len(keys), 4).to(place), lr=0.1) for _ in range(2)]
    rng, losses = np.random.default_rng(5), []
    batches = [[torch.from_numpy(rng.integers(0, 40 + 5 * i, (6, 3))).to(place) for _ in layers] for i in range(25)]
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
    return losses, table.lookup(torch.arange(200, device=place))


def compare_prefetches(torch, table, client):
    """Trains at each place of prefetch, and compares with a training without it."""
    client.flush()
    wanted = trained(torch, table, None)
    for ahead in ("start", "forward", "backward"):
        client.flush()
        got = trained(torch, table, ahead)
        check(got[0] == wanted[0] and all(torch.equal(a, b) for a, b in zip(got[1], wanted[1])), f"losses and rows of prefetch at {ahead}")


@case
def embedding_prefetched():
    """layers that prefetch have the losses and rows of layers that do not, bit by bit, wherever they do it; limits and failures"""
    torch = needs_torch()
    import sherwood.torch  # pylint: disable=import-outside-toplevel,redefined-outer-name
    with daemon("--backend", "cpu", *COMMON, *ROWS) as server, sherwood.connect(server.unix) as client:
        table = sherwood.torch.Table(client)
        compare_prefetches(torch, table, client)
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
def embedding_prefetched_on_gpu():
    """layers over a Device of this machine's GPU that prefetch have the losses and rows of layers that do not; refused in stream order"""
    torch = needs_gpu()
    import sherwood.torch  # pylint: disable=import-outside-toplevel,redefined-outer-name
    with clients(*ROWS) as kinds:
        device = kinds[1][0]
        compare_prefetches(torch, sherwood.torch.Table(device), kinds[0][0])
        layer, keys = sherwood.torch.Embedding(sherwood.torch.Table(device, wait=False), 4, lr=1), torch.tensor([901, 902], device="cuda")
        raises(sherwood.Refused, "make the Table with wait=True", layer.prefetch, keys)
        equal(layer(keys).tolist(), [[0] * 4] * 2, "the layer reads without prefetch")
        device.check(wait=True)


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
            stream, began, waited, ended = object(), [], [], []
            fakes = {"current_stream": lambda device: types.SimpleNamespace(record_event=lambda: len(began)),
                     "Stream": lambda device: types.SimpleNamespace(wait_event=waited.append, synchronize=lambda: ended.append(len(began)), fake=stream),
                     "stream": lambda given: began.append(given.fake) or contextlib.nullcontext()}
            with unittest.mock.patch.multiple(torch.cuda, **fakes):
                compare_prefetches(torch, table, client)
                layer = sherwood.torch.Embedding(table, 4, lr=1)
                in_child(lambda: raises(sherwood.Lost, "belongs to the process", layer.prefetch, keys))
                layer.prefetch(keys)
                layer._batches[0]._future.result()  # pylint: disable=protected-access
                table.wait = False  # as of a Table in stream order
                raises(sherwood.Refused, "wait=False, and a read ahead may miss its calls: make the Table with wait=True", layer.prefetch, keys)
                equal(len(layer._batches), 1, "a batch that was refused is gone")  # pylint: disable=protected-access
                table.wait = True
                device.close()
                raises(sherwood.Refused, "this Device is closed", layer.prefetch, keys)
            check(set(began) == {stream} and len(began) == len(waited) > 100, f"reads: {len(began)}, events: {len(waited)}")
            equal(ended, list(range(1, len(began) + 1)), "each read waits for its stream: torch may copy the mask")
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


if __name__ == "__main__":
    main()
