#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The adapters of the Python package for other libraries, on the interfaces of these libraries where they are installed."""

import abc
import copy
import enum
import gc
import hashlib
import importlib.util
import os
import re
import socket
import subprocess
import sys
import tempfile
import textwrap
import types

from harness import ROOT, Skip, case, check, equal, eventually, main
from package import LIB, daemon, np, raises, sherwood

IDS = ("--backend", "cpu", "--key-bits", "64")


def needs(*modules):
    """Imports modules. Returns them."""
    missing = [name for name in modules if importlib.util.find_spec(name.split(".", maxsplit=1)[0]) is None]
    if missing:
        raise Skip(f"not installed: {', '.join(missing)}")
    return [importlib.import_module(name) for name in modules]


@case
def torchrec_rows():
    """a managed collision module gives the rows of a model, in training and in eval, and lists the rows to initialize"""
    torch, sparse = needs("torch", "torchrec.sparse.jagged_tensor")
    from sherwood.torchrec import ManagedCollision  # pylint: disable=import-outside-toplevel

    def features(*parts):
        return {str(i): sparse.JaggedTensor(torch.tensor(part, dtype=torch.int64), lengths=torch.tensor([len(part)]))
                for i, part in enumerate(parts)}

    def values(got):
        return [feature.values().tolist() for feature in got.values()]

    with daemon(*IDS, "--ids", "9") as server, sherwood.connect(server.unix) as client:
        users = ManagedCollision(client, 10)
        rng, rows, most = np.random.default_rng(9), {}, 0
        for step in range(60):
            raw = [int(key) for key in rng.integers(-12, 13, 5)]
            gone = list(rows)[:(5 if len(rows) > 4 or step % 4 == 3 else 0)]
            client.delete_many(np.array(gone, np.int64))
            rows = {key: row for key, row in rows.items() if key not in gone}
            new = [key for key in dict.fromkeys(raw) if key not in rows]
            for key in new:
                rows[key] = min(set(range(10)) - set(rows.values()))
            most = max(most, len(rows))
            got = users.train()(features(raw[:2], raw[2:], []))
            wanted = [rows[key] for key in raw]
            equal(values(got), [wanted[:2], wanted[2:], []], f"step {step}")
            equal([feature.lengths().tolist() for feature in got.values()], [[2], [3], [0]])
            to_reset = users.evict()
            equal([] if to_reset is None else sorted(to_reset.tolist()), sorted(rows[key] for key in new), f"new rows of step {step}")
            equal(users.open_slots().item(), 9 - len(rows))
            unknown = [*raw, 100]
            equal(values(users.eval()(features(unknown))), [[rows.get(key, 9) for key in unknown]], "eval")
        check(most >= 8, "the table was nearly full")
        raises(sherwood.Full, "no id is free", users.train(), features(list(range(200, 215))))
        users(features([*rows][:3]))
        equal((users.evict(), users.output_size(), users.buckets(), users.input_size()), (None, 10, 1, 2**63 - 1))
        state = users.state_dict()
        users.load_state_dict(state)
        client.delete_many(np.array([next(iter(rows))], np.int64))
        raises(sherwood.Refused, "start the server from the snapshot", users.load_state_dict, state)
        moved = ManagedCollision(client, 10, _first=5)
        moved.load_state_dict(moved.state_dict())
        raises(sherwood.Refused, "are no whole parts", moved.load_state_dict, {**state, "_extra_state": moved.get_extra_state()})
        raises(sherwood.Refused, "give shard=", users.rebuild_with_output_id_range, (0, 5), [0, 5, 10])
        client.flush()
        small = ManagedCollision(client, 3)
        for training in (True, True, False):  # also when the raw ids are no longer new
            small.train(training)
            raises(sherwood.Refused, "start the server with --ids 2", small, features([1, 2, 3]))
        equal(values(small(features([1, 2, 9]))), [[0, 1, 2]], "eval of other raw ids")


@case
def torchrec_traced():
    """torch.fx traces a collection with the module, as TorchRec's test_mc_collection_traceable does; copies of the module are modules of their own"""
    torch, sparse, fx, configs, modules = needs("torch", "torchrec.sparse.jagged_tensor", "torchrec.fx", "torchrec.modules.embedding_configs",
                                                "torchrec.modules.mc_modules")
    from sherwood.torchrec import ManagedCollision  # pylint: disable=import-outside-toplevel
    config = configs.EmbeddingBagConfig(name="t1", embedding_dim=8, num_embeddings=20, feature_names=["f1", "f2"])
    with daemon(*IDS, "--ids", "19") as server, sherwood.connect(server.unix) as client:
        collection = modules.ManagedCollisionCollection({"t1": ManagedCollision(client, 20)}, [config])
        features = sparse.KeyedJaggedTensor.from_lengths_sync(["f1", "f2"], torch.arange(1000, 1010), torch.ones(10, dtype=torch.int64))
        for training, wanted in ((False, [19] * 10), (True, [*range(10)]), (False, [*range(10)])):
            collection.train(training)
            traced = fx.symbolic_trace(collection, leaf_modules=[sparse.ComputeJTDictToKJT.__name__])
            equal((traced(features).values().tolist(), collection(features).values().tolist()), (wanted, wanted), f"training {training}")
        other = copy.deepcopy(collection).train()
        client.flush()
        equal((collection(features).values().tolist(), other(features).values().tolist()), ([19] * 10, [*range(10)]), "the copy trains")
        del collection, other
        gc.collect()
        raises(sherwood.Refused, "keep a reference", traced, features)


@case
def torchrec_eviction():
    """a server that evicts gives the row of the raw id that leaves to a new one, and lists it to be initialized; turned away: the last row"""
    torch, sparse = needs("torch", "torchrec.sparse.jagged_tensor")
    from sherwood.torchrec import ManagedCollision  # pylint: disable=import-outside-toplevel

    def rows_of(module, raw):
        raw = torch.as_tensor(raw)
        return module({"a": sparse.JaggedTensor(raw, lengths=torch.tensor([len(raw)]))})["a"].values().tolist()

    cache = (*IDS, "--ids", "256", "--capacity", "256", "--engine", "cache", "--policy")
    with daemon(*cache, "lru") as server, sherwood.connect(server.unix) as client:
        users, owners = ManagedCollision(client, 257).train(), {}
        for step in range(30):
            raw = list(range(40 * step, 40 * step + 60))
            rows = rows_of(users, raw)
            moved = {row for key, row in zip(raw, rows) if owners.get(row) != key}
            owners.update(zip(rows, raw))
            equal((len(set(rows)), max(rows) < 256, set((users.evict() if moved else torch.tensor([])).tolist())), (60, True, moved), f"step {step}")
        check(len(client) <= 256, "one row for a raw id")
    with daemon(*cache, "lfu") as server, sherwood.connect(server.unix) as client:
        users = ManagedCollision(client, 257).train()
        for _ in range(2):
            rows_of(users, range(2000))
        kept = [key for key, found in enumerate(client.contains_many(np.arange(2000))) if found]
        rows_of(users, kept)
        users.evict()
        equal((len(kept), rows_of(users, [5000]), users.evict(), rows_of(users.eval(), [5000])), (256, [256], None, [256]), "turned away")
    with tempfile.TemporaryDirectory() as path:
        full = (*IDS, "--ids", "2560", "--capacity", "2560", "--engine", "cache", "--data-dir", path)
        with daemon(*full) as server, sherwood.connect(server.unix) as client:
            users = ManagedCollision(client, 2561)
            rows_of(users, range(10000))
            state, held = users.state_dict(), len(client)
        with daemon(*full) as server, sherwood.connect(server.unix) as client:
            ManagedCollision(client, 2561).load_state_dict(state)
            check(len(client) < held, "the start dropped raw ids")


@case
def torchrec_expiry():
    """with a ttl, raw ids that training no longer has lose their rows to others, which are initialized again"""
    torch, sparse = needs("torch", "torchrec.sparse.jagged_tensor")
    from sherwood.torchrec import ManagedCollision  # pylint: disable=import-outside-toplevel

    def rows_of(module, *raw):
        return module({"a": sparse.JaggedTensor(torch.tensor(raw), lengths=torch.tensor([len(raw)]))})["a"].values().tolist()

    with daemon(*IDS, "--ids", "3") as server, sherwood.connect(server.unix) as client:
        users = ManagedCollision(client, 4, ttl=1000)
        equal((rows_of(users, 1, 2, 3), sorted(users.evict().tolist())), ([0, 1, 2], [0, 1, 2]))
        left = client.ttl_many(np.array([1, 2, 3], np.int64))[0]
        check((left > 900).all() and (left <= 1000).all(), f"seconds left: {left}")
        client.expire_many(np.array([1, 2], np.int64), ttl=5)
        equal(rows_of(users.eval(), 1), [0])
        check(client.ttl_many(np.array([1], np.int64))[0][0] <= 5, "eval renews nothing")
        equal(rows_of(users.train(), 2), [1])
        client.expire_many(np.array([1], np.int64), ttl=0.001)
        eventually(lambda: not client.contains_many(np.array([1], np.int64))[0], "raw id 1 to expire")
        equal((rows_of(users, 9, 2), users.evict().tolist()), ([0, 1], [0]))
        raises(sherwood.Full, "no id is free", rows_of, users, 10)
        state = users.state_dict()
        equal(rows_of(users, 9), [0])
        users.load_state_dict(state)


TORCHREC = """
import os, sys
sys.path.insert(0, sys.argv[1])
import torch, torch.distributed as dist
import sherwood
from sherwood.torchrec import ManagedCollision
from torchrec import EmbeddingCollection, EmbeddingConfig, KeyedJaggedTensor
from torchrec.distributed.mc_embedding import ManagedCollisionEmbeddingCollectionSharder
from torchrec.distributed.sharding_plan import construct_module_sharding_plan, row_wise
from torchrec.distributed.types import ShardingEnv
from torchrec.modules.mc_embedding_modules import ManagedCollisionEmbeddingCollection
from torchrec.modules.mc_modules import ManagedCollisionCollection

SIZE, rank, servers = 40, int(os.environ["RANK"]), sys.argv[2:]
made = []

def shard(first, size):
    made.append((first, size))
    return sherwood.connect(servers[first // size])

configs = [EmbeddingConfig(num_embeddings=SIZE, embedding_dim=4, name="t", feature_names=["a", "b"],
                           init_fn=lambda rows: torch.full_like(rows, 0.5))]
users = ManagedCollision(sherwood.connect(servers[0]), SIZE, input_size=1000, shard=shard)
module = ManagedCollisionEmbeddingCollection(EmbeddingCollection(tables=configs), ManagedCollisionCollection({"t": users}, configs),
                                             return_remapped_features=True)
dist.init_process_group("gloo")
sharder = ManagedCollisionEmbeddingCollectionSharder()
plan = construct_module_sharding_plan(module, per_param_sharding={"t": row_wise(compute_kernel="fused")}, local_size=2, world_size=2,
                                      device_type="cpu", sharder=sharder)
module = sharder.shard(module, plan, env=ShardingEnv.from_process_group(dist.group.WORLD), device=torch.device("cpu"))
assert made == [(rank * 20, 20)], made

def run(values, lengths=(1, 1, 2, 0)):
    rows, raw = module(KeyedJaggedTensor(keys=["a", "b"], values=torch.tensor(values), lengths=torch.tensor(lengths)))
    return rows["a"].values(), rows["b"].values(), raw.wait().values().tolist()

# The ranks have different features; raw ids below 500 belong to the first one.
mine = [3, 900, 900, 7] if rank == 0 else [900, 3, 499, 500]
a, b, remapped = run(mine)
wanted = {3: 0, 7: 1, 499: 2, 900: 20, 500: 21}
assert [wanted[key] for key in mine] == remapped, remapped
assert torch.equal(torch.cat((a, b)), torch.full((4, 4), 0.5)), "new rows are initialized"
(a.sum() + b.sum()).backward()
trained = torch.cat(run(mine)[:2])
assert (trained < 0.5).all(), "the rows were trained"
dist.barrier()
if rank == 0:  # the row of another raw id begins anew
    sherwood.connect(servers[0]).delete_many([3])
dist.barrier()
a, b, remapped = run([8, 900, 900, 8])
assert remapped == [0, 20, 20, 0] and torch.equal(a[0], torch.full((4,), 0.5)) and (a[1] < 0.5).all(), (remapped, a)
module.eval()
assert run([12, 999, 8, 7])[2] == [19, 39, 0, 1], "unknown raw ids have the last row of their rank"
print("done")
"""


@case
def torchrec_sharded():
    """TorchRec trains a sharded embedding on two ranks with rows of two servers, and initializes the rows of new raw ids"""
    needs("torch", "torchrec", "fbgemm_gpu")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    with daemon(*IDS, "--ids", "19") as first, daemon(*IDS, "--ids", "19") as second:
        ranks = [subprocess.Popen([sys.executable, "-c", TORCHREC, str(LIB), first.unix, second.unix], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, env={
                                      **os.environ, "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2",
                                      "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}) for rank in range(2)]
        for process in ranks:
            said, errors = process.communicate(timeout=300)
            equal((process.returncode, said.strip()), (0, "done"), errors[-3000:])


def dynamicemb():
    """Makes dynamicemb.types if it is not installed (its wheel needs CUDA): the methods of Storage that a storage must have."""
    if importlib.util.find_spec("dynamicemb") is not None:
        return importlib.import_module("dynamicemb.types")
    names = ("find insert dump load embedding_dtype embedding_dim value_dim max_embedding_dim max_value_dim embedding_dims all_dims_vec4"
             " init_optimizer_state export_keys_values").split()
    module = types.ModuleType("dynamicemb.types")
    module.Storage = abc.ABCMeta("Storage", (), {name: abc.abstractmethod(lambda self: None) for name in names})
    module.CopyMode = enum.Enum("CopyMode", {"EMBEDDING": "embedding", "VALUE": "value"})
    sys.modules.update({"dynamicemb": types.ModuleType("dynamicemb"), "dynamicemb.types": module})
    sys.modules["dynamicemb"].types = module
    return module


def storage_of(at, dims, states=lambda dim: 2 * dim):
    """Returns a storage for tables of these dimensions, as dynamicemb makes it, for an optimizer like Adam."""
    optimizer = types.SimpleNamespace(get_state_dim=states, get_ckpt_state_dim=states,
                                      get_initial_optim_states=lambda: 0.25, get_opt_args=lambda: {"opt_type": "adam", "lr": 0.1},
                                      set_opt_args=lambda args: None)
    return at([types.SimpleNamespace(dim=dim, dist_type="roundrobin", embedding_dtype=None) for dim in dims], optimizer)


@case
def dynamicemb_storage():
    """a storage of dynamicemb has the rows of a model, for two tables of different widths, and writes and reads its files"""
    torch, = needs("torch")
    mode = dynamicemb().CopyMode
    from sherwood import dynamicemb as adapter  # pylint: disable=import-outside-toplevel
    dims, width, first = (8, 4), 24, 8
    with daemon("--backend", "cpu", "--value-type", "f32", "--value-bytes", "96") as server, sherwood.connect(server.unix) as client, \
            tempfile.TemporaryDirectory() as folder:
        client.create_table("narrow", value_bytes=48)
        storage, model = storage_of(adapter.storage_at(server.unix, [None, "narrow"]), dims), {}
        equal((storage.embedding_dims().tolist(), storage.max_embedding_dim(), storage.max_value_dim(), storage.value_dim(1),
               storage.embedding_dim(1), storage.all_dims_vec4(), storage.init_optimizer_state()), ([8, 4], 8, 24, 12, 4, True, 0.25))
        rng = np.random.default_rng(12)
        for step in range(30):
            pairs = [divmod(number, 50) for number in rng.permutation(100)[:40].tolist()]
            tables, keys = (torch.tensor(column) for column in zip(*pairs))
            values = torch.from_numpy(rng.random((40, width), np.float32))
            if step % 3 == 0:
                storage.insert(keys[:20], tables[:20], values[:20], preserve_existing=step % 2 == 0)
                model.update(zip(pairs[:20], values))
            for copy_mode in mode:
                whole = copy_mode == mode.VALUE
                frequency = torch.arange(40) if step % 2 else None
                missing, gone, places, of, scores, found, out_scores, got = storage.find(keys, tables, copy_mode, frequency)
                wanted = [pair in model for pair in pairs]
                absent = [i for i, there in enumerate(wanted) if not there]
                equal((missing, gone.tolist(), places.tolist(), of.tolist(), found.tolist()),
                      (len(absent), keys[absent].tolist(), absent, tables[absent].tolist(), wanted), f"step {step}")
                equal((scores if frequency is None else scores.tolist(), out_scores.tolist()),
                      (None if frequency is None else absent, [i if wanted[i] and step % 2 else 0 for i in range(40)]))
                rows = torch.zeros(40, width if whole else first)
                for i, (table, key) in enumerate(pairs):
                    if wanted[i]:
                        rows[i, :dims[table]] = model[table, key][:dims[table]]
                        if whole:
                            rows[i, first: first + 2 * dims[table]] = model[table, key][first: first + 2 * dims[table]]
                check(torch.equal(got, rows), f"rows of step {step}, {copy_mode}")
        none = torch.empty(0, dtype=torch.int64)
        equal(storage.find(none, none, mode.VALUE)[0], 0, "no keys")
        files(storage, client, folder)
        raises(sherwood.Refused, "give the table --value-type f32 --value-bytes 64", storage_of,
               adapter.storage_at(server.unix), (8,), lambda dim: dim)
        raises(ValueError, "1 tables for 2 embedding tables", storage_of, adapter.storage_at(server.unix), dims)
        raises(ValueError, "more states than the widest", storage_of, adapter.storage_at(server.unix, [None, "narrow"]), dims, lambda dim: 16 - dim)
        raises(ValueError, "have the same name", storage_of, adapter.storage_at(server.unix, [None] * 2), (8, 8))
        client.create_table("short", key_bits=32, resp_keys="decimal")
        raises(sherwood.Refused, "give it --key-bits 64", storage_of, adapter.storage_at(server.unix, ["short"]), (8,))


def files(storage, client, folder):
    """Compares the rows of the narrow table before and after a dump, with and without states in the files."""
    narrow = client.table("narrow")
    before = dict(zip(*(array.tolist() for array in next(narrow.scan()))))
    paths = [f"{folder}/{name}" for name in ("meta", "keys", "rows", "scores", "states")]
    storage.dump(1, *paths, include_optim=True, include_meta=True, current_score=None)
    equal([os.path.getsize(path) for path in paths[1:]], [len(before) * size for size in (8, 16, 8, 32)], "bytes of the files")
    for with_states in (True, False):
        narrow.flush()
        storage.load(1, *paths, include_optim=with_states, timestamp=0)
        after = dict(zip(*(array.tolist() for array in next(narrow.scan()))))
        equal(after, before if with_states else {key: row[:4] + [0.25] * 8 for key, row in before.items()}, f"states: {with_states}")
    with open(paths[0], "w", encoding="ascii") as meta:
        meta.write('{"dist_type": "continuous"}')
    raises(ValueError, "is of dist_type 'continuous'", storage.load, 1, *paths)


def data_juicer():
    """Returns a deduplicator of data-juicer. If data-juicer is not installed: a class with as much of its interface as the adapter uses."""
    if importlib.util.find_spec("data_juicer") is not None:
        return importlib.import_module("data_juicer.ops.deduplicator.ray_document_deduplicator").RayDocumentDeduplicator
    constant = types.ModuleType("data_juicer.utils.constant")
    constant.HashKeys = types.SimpleNamespace(is_unique="__dj__is_unique")
    sys.modules.update({"data_juicer": types.ModuleType("data_juicer"), "data_juicer.utils": types.ModuleType("data_juicer.utils"),
                        "data_juicer.utils.constant": constant})

    class Deduplicator:
        _batched_op = False

        def __init__(self, lowercase=False):
            self.lowercase = lowercase
            self.compute_stats, self.process = self.compute_stats_batched, self.process_batched

        def calculate_hash(self, sample, _context=False):
            text = sample["text"].lower() if self.lowercase else sample["text"]
            return hashlib.md5(text.encode()).hexdigest() if text else "EMPTY"

        def is_batched_op(self):
            return self._batched_op

    return Deduplicator


@case
def data_juicer_operator():
    """an operator of data-juicer finds duplicates by a call a batch, within a batch and of earlier batches and operators"""
    kind = data_juicer()
    from sherwood import datajuicer  # pylint: disable=import-outside-toplevel
    with daemon("--backend", "cpu", "--value-type", "none") as server:
        operator = datajuicer.deduplicator(kind, server.unix, lowercase=True)
        check(operator.is_batched_op(), "the operator takes batches")
        rng, seen, texts = np.random.default_rng(3), set(), []
        for _ in range(10):
            texts = ["" if number == 5 else f"Text {number}" for number in rng.integers(0, 300, 100)]
            wanted = []
            for text in texts:
                wanted.append(text not in seen)
                seen.add(text)
            calls = server.metrics()["sherwood_frames_processed_total"]
            got = operator.compute_stats({"text": [text if i % 2 else text.upper() for i, text in enumerate(texts)], "n": [*range(100)]})
            equal((operator.process(got), got["n"]), (wanted, [*range(100)]))
            equal(server.metrics()["sherwood_frames_processed_total"], calls + 1, "one call for the batch")
        equal(operator.process(operator.compute_stats({"text": [], "n": []})), [], "no samples")
        other = datajuicer.deduplicator(kind, server.unix, {"timeout": 5.0}, lowercase=False)
        equal(other.process(other.compute_stats({"text": [texts[0].lower(), "Text 1"]})), [False, True], "an operator on another machine")
        equal([operator.backend.is_unique("x"), operator.backend.is_unique("x")], [True, False])
        equal(len(operator.backend.client), len(seen) + 2)


@case
def frames():
    """the recipe of deploy/docs/sets.md for pandas keeps the first of equal texts, over several frames"""
    needs("pandas")
    text = (ROOT / "deploy" / "docs" / "sets.md").read_text(encoding="utf-8")
    recipe = re.search(r"\n\n((?:    .*\n)+)", text[text.index("pandas has"):]).group(1)
    with daemon("--backend", "cpu", "--value-type", "none") as server, sherwood.connect(server.unix) as client:
        names = {"c": client, "pandas": importlib.import_module("pandas")}
        exec(textwrap.dedent(recipe), names)  # pylint: disable=exec-used
        kept = [names["keep_new_rows"](names["pandas"].DataFrame({"text": texts, "n": [*range(len(texts))]}))
                for texts in (["a", "b", "a"], ["b", "c"])]
        equal([frame["n"].tolist() for frame in kept], [[0, 1], [1]])


if __name__ == "__main__":
    main()
