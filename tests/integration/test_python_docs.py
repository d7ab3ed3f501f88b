#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""The Python package and its documents: the examples run, and the wheel has the right contents."""

import contextlib
import doctest
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import zipfile

from harness import ROOT, Skip, case, check, equal, main, run
from package import LIB, daemon, np, sherwood

PACKAGE = ROOT / "client" / "python"


@contextlib.contextmanager
def world():
    """Yields a daemon, a cache, and the names that the examples use for them."""
    with tempfile.TemporaryDirectory() as folder, daemon("--max-capacity", "4M") as server, \
            daemon("--engine", "cache", "--value-bytes", "16", "--value-format", "fixed") as cache, \
            daemon("--backend", "cpu", "--ids", "1000") as ids, daemon("--backend", "cpu", "--value-type", "none") as keys:
        yield {"address": server.unix, "cache_address": cache.unix, "ids_address": ids.unix, "set_address": keys.unix, "folder": folder}


def examples_hold(path, least=10, address="address"):
    with world() as names:
        parser, text = doctest.DocTestParser(), path.read_text(encoding="utf-8")
        text = text.replace('connect("127.0.0.1:7379")', f"connect({address})")
        test = parser.get_doctest(text, names, path.name, str(path), 0)
        said = []
        result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=said.append)
        check(result.failed == 0 and result.attempted >= least, "".join(said)[-3000:])


@case
def readme():
    """the examples of client/python/README.md run"""
    examples_hold(PACKAGE / "README.md", least=6)


@case
def by_task():
    """the examples of deploy/docs/python.md run"""
    examples_hold(ROOT / "deploy" / "docs" / "python.md", least=50)


@case
def half_minute():
    """the Python example of the tree's README runs"""
    examples_hold(ROOT / "README.md", least=7)


@case
def tutorial():
    """the examples of deploy/docs/tutorial.md run"""
    examples_hold(ROOT / "deploy" / "docs" / "tutorial.md", least=20)


@case
def row_numbers():
    """the example of deploy/docs/ids.md runs"""
    examples_hold(ROOT / "deploy" / "docs" / "ids.md", address="ids_address")


@case
def duplicates():
    """the example of deploy/docs/sets.md runs"""
    examples_hold(ROOT / "deploy" / "docs" / "sets.md", address="set_address")


@case
def docstrings():
    """every public call and every error has a docstring"""
    for owner in (sherwood.Client, type(sherwood.Client.submit), sherwood.Error, sherwood.Full,
                  sherwood.Lost, sherwood.Timeout, sherwood.Refused, sherwood.Failed, sherwood.connect,
                  sherwood.Region, sherwood.Region.empty, sherwood.Region.copy, sherwood.Region.close):
        check(owner.__doc__, f"{owner} has none")
    for name in dir(sherwood.Client):
        if not name.startswith("_") and name not in ("submit", "aio"):
            check(getattr(sherwood.Client, name).__doc__, f"Client.{name} has no docstring")
    pages = "".join(path.read_text(encoding="utf-8") for path in (PACKAGE / "README.md", ROOT / "deploy" / "docs" / "python.md"))
    for name in dir(sherwood.Client):
        if not name.startswith("_") and name not in ("ping", "pack", "address", "wait_durable", "key_dtype"):
            check(re.search(rf"\b{name}\b", pages), f"README.md and deploy/docs/python.md do not name {name}")


@case
def declarations():
    """build_ffi.py declares every function of sherwood.h that the package uses"""
    header = "".join((ROOT / "client" / name).read_text(encoding="utf-8") for name in ("sherwood.h", "sherwood-regions.h", "sherwood-times.h", "sherwood-words.h"))
    text = (PACKAGE / "build_ffi.py").read_text(encoding="utf-8")
    there = set(re.findall(r"^(?!static)\w[\w *]*?\b(sherwood_\w+)\(", header, flags=re.M))
    declared = set(re.findall(r"\b(sherwood_\w+)\(", text))
    # What others of the list or of native.c do as well, and waiting without an end, which would hold a lock.
    absent = {"sherwood_wait_durable", "sherwood_connect", "sherwood_get", "sherwood_set", "sherwood_delete", "sherwood_run",
              "sherwood_cas", "sherwood_add", "sherwood_set_times", "sherwood_run_times", "sherwood_expire", "sherwood_persist", "sherwood_ttl", "sherwood_get_range", "sherwood_set_range", "sherwood_wait", "sherwood_wait_for", "sherwood_wait_any"}
    # Regions: native.c makes their memory, which outlives the handle, and registers it. libsherwood-cuda reads the table.
    absent |= {f"sherwood_region_{what}" for what in ("create", "memory", "allocate", "reset", "register",
                                                      "device", "table")}
    absent.add("sherwood_read_found_bytes")  # native.c unpacks bits in the pass that stores default
    equal(there - declared, absent, "functions of sherwood.h without a declaration")
    check(len(there) > 25, "the header is read")


@case
def wheel():
    """the wheel has the right files; its module needs only glibc, exports one name, and contains no path"""
    path, = (ROOT / "build" / "python" / "dist").glob("sherwood-*.whl")
    check(re.fullmatch(r"sherwood-[\d.]+-cp39-abi3-(manylinux_2_\d+|linux)_\w+\.whl", path.name), path.name)
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    for name in ("sherwood/py.typed", "sherwood/_native.abi3.so", "sherwood/_native.pyi",
                 "sherwood/__init__.py"):
        check(name in names, f"{name} is not in the wheel")
    check(any(name.endswith("LICENSE.protobuf-c") for name in names), "the licence of protobuf-c")
    check(any(name.endswith("LICENSE.xxhash") for name in names), "the licence of xxHash")
    check(not any(name.endswith((".c", ".h", ".o")) for name in names), "no sources")
    said = run(sys.executable, PACKAGE / "check_module.py", LIB / "sherwood" / "_native.abi3.so")
    check("linux_" in said, said)
    version = re.search(r"^VERSION := (\S+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    equal(sherwood.__version__, version.group(1))


def example(name, *modules, flags=()):
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        raise Skip(f"not installed: {', '.join(missing)}")
    with daemon(*flags) as server:
        return program(name, server.unix)


def program(name, *arguments, rc=0):
    """Runs a program of examples. Returns its output."""
    result = subprocess.run([sys.executable, str(PACKAGE / "examples" / name), *arguments],
                            env={**os.environ, "PYTHONPATH": str(LIB)}, text=True, timeout=120,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    equal(result.returncode, rc, result.stdout)
    return result.stdout


@case
def torch_example():
    """examples/embedding.py (torch): every row is right, and most come from the cache"""
    said = example("embedding.py", "torch", flags=("--engine", "cache", "--value-bytes", "256",
                                                   "--value-format", "fixed", "--capacity", "1M",
                                                   "--arena-bytes", "64M"))
    check("step 20" in said, said)


@case
def frames_example():
    """examples/frames.py (pandas, pyarrow) runs"""
    said = example("frames.py", "pandas", "pyarrow")
    check("loaded 1000" in said and "sold [11  2  1]" in said, said)


@case
def recommender_example():
    """examples/recommender.py runs with small sizes, also the smallest; it checks its duplicates, its ids and that the model learns"""
    for flags in ([], ["--torch"]):
        if flags and importlib.util.find_spec("torch") is None:
            continue
        said = program("recommender.py", "--events", "50000", "--steps", "200", *flags)
        check(re.search(r"duplicates: 5,000 of 55,000 .*\nids: \d+ items .*\nembeddings: \d+ rows on ", said), said)
        before, after = re.search(r"error ([\d.]+) before, ([\d.]+) after 200", said).groups()
        check(float(after) < 0.7 * float(before), said)
        check("duplicates: 0 of 1 " in program("recommender.py", "--events", "1", "--steps", "1", *flags), "the smallest sizes")
    for option in "--events", "--steps":
        check(f"{option}: 0 is less than 1" in program("recommender.py", option, "0", rc=2), "a wrong number")


@case
def torch_tensors():
    """torch tensors go in and come out: int64, uint64, bool masks and out=; unsuitable ones are refused"""
    if importlib.util.find_spec("torch") is None:
        raise Skip("torch is not installed")
    import torch  # pylint: disable=import-outside-toplevel

    with daemon() as server, sherwood.connect(server.unix) as c:
        keys = torch.arange(-3, 3)
        c.set_many(keys, keys * 2)
        values, found = c.get_many(torch.tensor([[-3, 2], [1, 99]]))
        check(torch.equal(values, torch.tensor([[-6, 4], [2, 0]])), str(values))
        check(torch.equal(found, torch.tensor([[True, True], [True, False]])), str(found))
        out, mask = torch.zeros(2, dtype=torch.int64), torch.zeros(2, dtype=torch.bool)
        check(c.get_many(torch.tensor([-1, 5]), out=out, found=mask)[0] is out, "out is returned")
        equal((out.tolist(), mask.tolist()), ([-2, 0], [True, False]))
        equal(c.submit.delete_many(keys[:2]).result().tolist(), [True, True])
        for bad in (torch.zeros(2), torch.zeros(2, dtype=torch.int32)):
            try:
                c.get_many(bad)
            except TypeError as error:
                check("uint64 or int64" in str(error), str(error))
            else:
                raise AssertionError(f"{bad.dtype} was taken")
        check(np.array_equal(c.get_many(np.array([1]), default=0), [2]), "numpy beside it")


if __name__ == "__main__":
    main()
