# SPDX-License-Identifier: MIT
"""torch_clients - torch, and what a sherwood.torch.Table may have on this machine, for the scripts that test sherwood.torch."""

import contextlib
import ctypes
import importlib.util
import os

from harness import BUILD, Skip
from package import daemon, sherwood

COMMON = ("--capacity", "64K", "--key-bits", "64")
ROWS = ("--value-type", "f32", "--value-bytes", "16")


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
