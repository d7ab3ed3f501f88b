# SPDX-License-Identifier: MIT
"""libsherwood-cuda: its declarations, and its loading."""

from __future__ import annotations

import os
import pathlib
from typing import Any

from cffi import FFI

from ._errors import Refused

_DECLARATIONS = """
struct sherwood_options {
    size_t size; int connect_timeout_ms; int request_timeout_ms; uint32_t stripes, send_buffer_bytes,
    receive_buffer_bytes; const char *tls_ca, *tls_cert, *tls_key, *tls_server_name;
    uint32_t tls_insecure; const char *user, *password; };
struct sherwood_cache {
    size_t size; uintptr_t scores, scores_out, not_admitted, evicted_keys, evicted_values, evicted_scores;
    uint64_t evicted_count, not_admitted_count; };
struct sherwood_times { size_t size; int when; uint64_t time_ms; uintptr_t times_ms; };
struct sherwood_cuda;
int sherwood_cuda_attach_on(const char *address, const struct sherwood_options *options, int device,
                            struct sherwood_cuda **out, char *text, size_t text_bytes);
void sherwood_cuda_close(struct sherwood_cuda *cuda);
const void *sherwood_cuda_server(const struct sherwood_cuda *cuda);
int sherwood_cuda_device(const struct sherwood_cuda *cuda);
bool sherwood_cuda_switches(const struct sherwood_cuda *cuda);
const char *sherwood_cuda_error(void);
struct sherwood_cuda_call {
    size_t size; int operation; uint32_t flags; uintptr_t keys, values; size_t count; uintptr_t previous, found;
    int when; uintptr_t stream; struct sherwood_cache *cache; const struct sherwood_times *times; float scale;
    int operand_type; uint32_t range_offset, range_bytes, table; struct sherwood_cache *counts; };
int sherwood_cuda_table(struct sherwood_cuda *cuda, const char *name, uint32_t *table, void *server);
int sherwood_cuda_call(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call);
int sherwood_cuda_reads(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *calls, size_t count);
int sherwood_cuda_check(struct sherwood_cuda *cuda, bool waits);
int sherwood_cuda_unregister(struct sherwood_cuda *cuda, uintptr_t pointer);
int sherwood_cuda_direct(struct sherwood_cuda *cuda);
uint64_t sherwood_cuda_direct_calls(struct sherwood_cuda *cuda, uint64_t *by_server);
uint64_t sherwood_cuda_staged_bytes(const struct sherwood_cuda *cuda);
"""
_LIBRARY = "libsherwood-cuda.so.0"
_BUNDLED = pathlib.Path(__file__).with_name(_LIBRARY)  # wheels of `make wheel` have it

ffi = FFI()
ffi.cdef(_DECLARATIONS)


def load() -> Any:
    name = os.environ.get("SHERWOOD_CUDA_LIBRARY") or (str(_BUNDLED) if _BUNDLED.exists() else _LIBRARY)
    try:
        return ffi.dlopen(name)
    except OSError as error:
        reason = str(error).split(".  Additionally,")[0].split(f"'{name}': {name}: ")[-1]  # without what cffi and ctypes tried
        raise Refused(f"attach: cannot load {name}: {reason}; install libsherwood or a wheel that has it, or set SHERWOOD_CUDA_LIBRARY to"
                      " its path") from None
