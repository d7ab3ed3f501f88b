#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""libsherwood-cuda and Client.attach without a GPU: each error is one sentence, and the daemon goes on."""

import ctypes
import os

from harness import BUILD, case, check, equal, main
from package import daemon, np, raises, sherwood

LIBRARY = BUILD / "libsherwood-cuda.so.0"
EMULATED = BUILD / "emulator" / "sherwoodd"
DRIVER = BUILD / "emulator" / "driver" / "libcuda.so.1"
E_INVALID, E_ADDRESS, E_REQUEST = -1, -3, -8
# enum sherwood_operation
ONLY_FOR_HOST = {"EXPIRE": 25, "EXPIRE_NONE": 26, "EXPIRE_SOME": 27, "EXPIRE_LATER": 28, "EXPIRE_EARLIER": 29,
                 "EXPIRE_SHORTEN": 30, "OR": 64, "XOR": 65, "AND": 66, "ANDNOT": 67, "CAS": 68, "SETRANGE": 69,
                 "GETRANGE": 70, "PERSIST": 71, "TTL": 72}
GET, SET = 1, 2


def loaded():
    """Loads libsherwood-cuda, with the libsherwood beside it."""
    ctypes.CDLL(str(BUILD / "libsherwood.so.0"), mode=ctypes.RTLD_GLOBAL)
    library = ctypes.CDLL(str(LIBRARY))
    library.sherwood_cuda_error.restype = ctypes.c_char_p
    return library


def refused(library, address):
    """Attaches. Returns the status and the text of the error."""
    pointer, text = ctypes.c_void_p(1), ctypes.create_string_buffer(512)
    status = library.sherwood_cuda_attach(address, None, ctypes.byref(pointer), text, 512)
    check(not pointer.value, "a handle came with the refusal")
    equal(library.sherwood_cuda_error(), text.value, "the sentence of the thread")
    return status, text.value.decode()


@case
def from_c():
    """sherwood_cuda_attach refuses a server without a GPU, an address without a server, and a missing address"""
    library = loaded()
    with daemon("--backend", "cpu") as server:
        status, sentence = refused(library, server.unix.encode())
        equal(status, E_REQUEST, sentence)
        check("does not run on a GPU" in sentence and "cpu" in sentence, sentence)
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
    """Client.attach raises an error for a server without a GPU, an invalid device name and a missing library"""
    os.environ["SHERWOOD_CUDA_LIBRARY"] = str(LIBRARY)
    ctypes.CDLL(str(BUILD / "libsherwood.so.0"), mode=ctypes.RTLD_GLOBAL)
    with daemon("--backend", "cpu") as server:
        client = sherwood.connect(server.unix)
        raises(sherwood.Refused, "does not run on a GPU", client.attach, "cuda:0")
        raises(sherwood.Refused, "does not run on a GPU", client.attach)
        for name in ("gpu", "cuda:x", "cpu", -1):
            raises(ValueError, "cuda:0", client.attach, name)
        os.environ["SHERWOOD_CUDA_LIBRARY"] = "/nowhere/libsherwood-cuda.so.0"
        raises(sherwood.Refused, "attach: cannot load /nowhere/libsherwood-cuda.so.0: ", client.attach)
        client.set_many(np.arange(3), np.arange(3))
        equal(len(client), 3)


@case
def operations_for_the_host():
    """sherwood_cuda_run and _run_on refuse operations for the host by name; GET and SET reach the driver"""
    library = loaded()
    driver = ctypes.CDLL(str(DRIVER))
    driver.fake_memory.restype = ctypes.c_void_p
    memory, handle = driver.fake_memory(), ctypes.c_void_p()
    with daemon("--backend", "cuda", "--capacity", "512", "--max-capacity", "4K", "--stash", "64", "--loops", "1",
                "--frame-ops-max", "512", "--round-ops-max", "512", program=EMULATED) as server:
        text = ctypes.create_string_buffer(512)
        status = library.sherwood_cuda_attach(server.unix.encode(), None, ctypes.byref(handle), text, 512)
        equal((status, text.value), (0, b""))

        def refusal(call, operation, *more):
            """Returns the error of a call on 9 keys with values behind them."""
            keys, values, previous = (ctypes.c_void_p(memory + at) for at in (0, 4096, 8192))
            equal(call(handle, operation, keys, values, ctypes.c_size_t(9), previous, None, *more) < 0, True, operation)
            return library.sherwood_cuda_error().decode()

        for name, operation in ONLY_FOR_HOST.items():
            wanted = (f"SHERWOOD_{name} does not run on device memory: copy the arrays to the host, and"
                      " call libsherwood there")
            equal(refusal(library.sherwood_cuda_run, operation), wanted)
            equal(refusal(library.sherwood_cuda_run_on, operation, None), wanted)
        for operation in (GET, SET):  # no other process can open the memory of this driver
            sentence = refusal(library.sherwood_cuda_run, operation)
            check("cudaIpcOpenMemHandle" in sentence, sentence)
        library.sherwood_cuda_close(handle)
        connection = sherwood.connect(server.unix)
        connection.set_many([1, 2], [3, 4])
        equal(list(connection.get_many([1, 2, 3], default=0)), [3, 4, 0])


if __name__ == "__main__":
    main()
