#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""libsherwood-cuda and Client.attach where there is no GPU: each refusal is one sentence, the daemon goes on."""

import ctypes
import os

from harness import BUILD, case, check, equal, main
from package import daemon, np, raises, sherwood

LIBRARY = BUILD / "libsherwood-cuda.so.0"
E_INVALID, E_ADDRESS, E_REQUEST = -1, -3, -8


def loaded():
    """libsherwood-cuda, whose libsherwood lies beside it."""
    ctypes.CDLL(str(BUILD / "libsherwood.so.0"), mode=ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(str(LIBRARY))
    library.sherwood_cuda_error.restype = ctypes.c_char_p
    return library


def refused(library, address):
    """Attaches; the status and the sentence of the refusal."""
    pointer, text = ctypes.c_void_p(1), ctypes.create_string_buffer(512)
    status = library.sherwood_cuda_attach(address, None, ctypes.byref(pointer), text, 512)
    check(not pointer.value, "a handle came with the refusal")
    equal(library.sherwood_cuda_error(), text.value, "the sentence of the thread")
    return status, text.value.decode()


@case
def from_c():
    """sherwood_cuda_attach: a server without a GPU, no server, no address"""
    library = loaded()
    with daemon("--backend", "cpu") as server:
        status, sentence = refused(library, server.unix.encode())
        equal(status, E_REQUEST, sentence)
        check("not on a GPU" in sentence and "cpu" in sentence, sentence)
        connection = sherwood.connect(server.unix)
        connection.set_many([1, 2], [3, 4])
        equal(list(connection.get_many([1, 2], default=0)), [3, 4])
        status, sentence = refused(library, server.address().encode())
        check(status < 0 and "Unix" in sentence, sentence)
    status, sentence = refused(library, b"unix:/nowhere/at/all")
    check(status < 0 and "/nowhere/at/all" in sentence, sentence)
    equal(library.sherwood_cuda_attach(None, None, None, None, 0), E_INVALID)
    for call in (library.sherwood_cuda_check, library.sherwood_cuda_register,
                 library.sherwood_cuda_unregister):
        equal(call(None, None), E_INVALID)
    library.sherwood_cuda_close(None)


@case
def from_python():
    """Client.attach: a server without a GPU, names that are none, a library that is not there"""
    os.environ["SHERWOOD_CUDA_LIBRARY"] = str(LIBRARY)
    ctypes.CDLL(str(BUILD / "libsherwood.so.0"), mode=ctypes.RTLD_GLOBAL)
    with daemon("--backend", "cpu") as server:
        client = sherwood.connect(server.unix)
        raises(sherwood.Refused, "not on a GPU", client.attach, "cuda:0")
        raises(sherwood.Refused, "not on a GPU", client.attach)
        for name in ("gpu", "cuda:x", "cpu", -1):
            raises(ValueError, "cuda:0", client.attach, name)
        os.environ["SHERWOOD_CUDA_LIBRARY"] = "/nowhere/libsherwood-cuda.so.0"
        raises(sherwood.Refused, "cannot be loaded", client.attach)
        client.set_many(np.arange(3), np.arange(3))
        equal(len(client), 3)


if __name__ == "__main__":
    main()
