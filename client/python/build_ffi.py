# SPDX-License-Identifier: MIT
"""build_ffi - the extension module sherwood._native: libsherwood and native.c, for cffi's API mode.

The C compiler checks these declarations against sherwood.h. Structs that may grow end in "...;".
"""

import os
import pathlib
import re
import subprocess
import sys

from cffi import FFI

CSRC = pathlib.Path("csrc")

DECLARATIONS = """
enum sherwood_status { SHERWOOD_OK, SHERWOOD_E_INVALID, SHERWOOD_E_NOMEM, SHERWOOD_E_ADDRESS,
    SHERWOOD_E_CONNECTION, SHERWOOD_E_TIMEOUT, SHERWOOD_E_PROTOCOL, SHERWOOD_E_FULL,
    SHERWOOD_E_REQUEST, SHERWOOD_E_SERVER, SHERWOOD_E_BUSY, SHERWOOD_E_PENDING,
    SHERWOOD_E_NOT_DURABLE, SHERWOOD_E_UNKNOWN_OUTCOME, SHERWOOD_E_LOGIN, SHERWOOD_E_PERMISSION,
    SHERWOOD_E_SHARD, SHERWOOD_E_TABLE, ... };
enum sherwood_operation { @OPERATIONS@ ... };
enum sherwood_when { SHERWOOD_UNSAID, SHERWOOD_AT, SHERWOOD_IN, SHERWOOD_KEEP, ... };
enum sherwood_values { SHERWOOD_VALUES_INTEGER, SHERWOOD_VALUES_STRING, SHERWOOD_VALUES_FIXED, ... };
enum sherwood_request_flag { SHERWOOD_DELAY, SHERWOOD_FOUND_BYTES, ... };
#define SHERWOOD_STRIPES_MAX ...
#define SHERWOOD_SEGMENTS_MAX ...
#define SHERWOOD_SEGMENTS_ROOM ...

struct sherwood;
struct sherwood_region;
struct sherwood_options {
    size_t size; int connect_timeout_ms; int request_timeout_ms; uint32_t stripes;
    const char *tls_ca; const char *tls_cert; const char *tls_key; const char *tls_server_name;
    uint32_t tls_insecure; const char *user; const char *password; ...; };
enum sherwood_type { SHERWOOD_BYTES, SHERWOOD_F32, ... };
struct sherwood_server {
    char version[32]; char backend[16]; char backend_reason[128];
    uint32_t key_bytes, value_bytes, frame_ops_max, requests_in_flight_max;
    uint64_t capacity_slots, occupied_max; char engine[16]; enum sherwood_values value_format;
    char policy[16]; uint64_t frame_bytes_max; uint32_t resp_keys;
    enum sherwood_type value_type; uint32_t dimension, takes_times, run; ...; };
struct sherwood_times {
    size_t size; enum sherwood_when when; uint64_t time_ms; const uint64_t *times_ms; ...; };
struct sherwood_cache {
    size_t size; const uint64_t *scores; uint64_t *scores_out; uint64_t *not_admitted;
    void *evicted_keys; void *evicted_values; uint64_t *evicted_scores;
    uint64_t evicted_count, not_admitted_count; ...; };
struct sherwood_request {
    size_t size; enum sherwood_operation operation; uint32_t count; const void *keys;
    const void *values; void *previous; uint64_t *found; uint32_t flags; int status;
    uint64_t hits, overflows; void *user; float scale; enum sherwood_type operand_type;
    uint32_t range_offset, range_bytes; const struct sherwood_times *times; ...; };
struct sherwood_traffic { uint64_t bytes_received, bytes_sent, ring_requests; ...; };
struct sherwood_stats { uint64_t occupied, capacity_slots; ...; };

const char *sherwood_status_text(int status);
uint64_t sherwood_hash_key(const void *text, size_t size);
uint64_t sherwood_text_key(const void *text, size_t size);
int sherwood_connect_text(const char *address, const struct sherwood_options *options,
                          struct sherwood **out, char *text, size_t text_bytes);
int sherwood_connect_cluster_text(const char *const *addresses, size_t count,
                                  const struct sherwood_options *options, struct sherwood **out,
                                  char *text, size_t text_bytes);
uint64_t sherwood_cluster_epoch(const struct sherwood *client);
void sherwood_close(struct sherwood *client);
int sherwood_table_open(struct sherwood *client, const char *name, struct sherwood **table);
int sherwood_table_change(struct sherwood *client, const char *const *words, size_t count);
struct sherwood_table_row {
    char name[64]; uint32_t number, id; uint64_t keys, keys_that_expire, slots, slots_max, bytes; ...; };
struct sherwood_segment {
    struct sherwood *table; const void *keys; void *values; uint64_t *found; uint32_t count; };
int sherwood_get_segments(struct sherwood *client, const struct sherwood_segment *segments, size_t count);
int sherwood_submit_segments(struct sherwood *client, struct sherwood_request *request,
                             const struct sherwood_segment *segments, uint32_t count, void *room);
int sherwood_tables(struct sherwood *client, uint32_t *from, struct sherwood_table_row *rows,
                    uint32_t capacity, uint32_t *count);
void swpy_close(struct sherwood *client);
const struct sherwood_server *sherwood_server(const struct sherwood *client);
const char *sherwood_error(const struct sherwood *client);
int sherwood_run_cache(struct sherwood *client, enum sherwood_operation operation,
                       const void *keys, const void *values, size_t count, void *previous,
                       uint64_t *found, struct sherwood_cache *cache);
int sherwood_prefix(struct sherwood *client, const void *keys, size_t count, size_t *present);
uint64_t sherwood_overflows(const struct sherwood *client);
int sherwood_traceparent(struct sherwood *client, const char *traceparent);
int sherwood_submit(struct sherwood *client, struct sherwood_request *request);
uint32_t sherwood_frame_keys(const struct sherwood *client, const struct sherwood_request *request);
int sherwood_wait_any_for(struct sherwood *client, struct sherwood_request **out, int timeout_ms);
int sherwood_descriptor(struct sherwood *client);
uint32_t sherwood_stripes(const struct sherwood *client);
int sherwood_region_destroy(struct sherwood_region *region);
void sherwood_traffic(const struct sherwood *client, struct sherwood_traffic *traffic, size_t size);
int sherwood_ping(struct sherwood *client);
int sherwood_clear(struct sherwood *client);
int sherwood_resize(struct sherwood *client, uint64_t capacity_slots, uint64_t *now);
int sherwood_scan(struct sherwood *client, uint64_t *cursor, void *keys, void *values,
                  uint32_t capacity, uint32_t *count);
int sherwood_scan_scores(struct sherwood *client, uint64_t *cursor, uint64_t score_min,
                         uint64_t score_max, void *keys, void *values, uint64_t *scores,
                         uint32_t capacity, uint32_t *count);
int sherwood_count_scores(struct sherwood *client, uint64_t score_min, uint64_t score_max,
                          uint64_t *matched);
int sherwood_erase_scores(struct sherwood *client, uint64_t score_min, uint64_t score_max,
                          uint64_t *matched);
int sherwood_epoch(struct sherwood *client, uint64_t epoch, uint64_t *now);
int sherwood_wait_replicas(struct sherwood *client, uint32_t replicas, int timeout_ms,
                           uint32_t *reached);
struct sherwood_digest { uint64_t sequence; uint64_t entries; uint64_t sums[2]; };
int sherwood_digest(struct sherwood *client, struct sherwood_digest *digest);
int sherwood_stats(struct sherwood *client, struct sherwood_stats *stats, size_t size);
bool sherwood_figure(const struct sherwood *client, uint32_t i, const char **name, uint64_t *value);

struct swpy_details {
    uint32_t operand_bytes, answer_bytes; float scale; int operand_type;
    uint32_t range_offset, range_bytes; int when; uint64_t time_ms; const uint64_t *times_ms; };
int swpy_run(struct sherwood *client, int operation, const void *keys, const void *values,
             size_t count, void *previous, uint8_t *found, const void *fill, uint64_t *bits,
             const struct swpy_details *details);
bool swpy_may_keep(int operation);
size_t swpy_kept(int operation, const uint64_t *found, const void *previous, const void *operands,
                 size_t count, uint32_t bytes);
void swpy_spread(const uint64_t *bits, size_t count, uint8_t *found, void *previous,
                 size_t value_bytes, const void *fill);
struct swpy_memory { void *address; size_t bytes; int descriptor; };
int swpy_memory_make(struct sherwood *client, size_t bytes, struct swpy_memory *out);
int swpy_memory_share(struct sherwood *client, const struct swpy_memory *memory,
                      struct sherwood_region **out);
void swpy_memory_free(struct swpy_memory *memory);
struct swpy_csv {
    uint32_t key_bytes, value_bytes; char value_kind; bool has_begun, is_last; uint64_t lines;
    size_t used, count; int status; };
void swpy_csv_read(struct swpy_csv *csv, const char *text, size_t size, void *keys, void *values, size_t room);
uint32_t swpy_connections(const struct sherwood *client);
uint64_t swpy_last_write(const struct sherwood *client);
uint64_t swpy_log(const struct sherwood *client);
int swpy_wait_durable(struct sherwood *client, uint64_t log, uint64_t sequence, int timeout_ms);
void swpy_waited(struct sherwood *client);
bool swpy_has_written(const struct sherwood *client);
void swpy_forget(struct sherwood *client);
uintptr_t swpy_jax_handler(void);
uintptr_t swpy_jax_cuda_handler(void);
int64_t swpy_jax_add(struct sherwood *client);
void swpy_jax_remove(int64_t number);
extern "Python+C" struct sherwood *swpy_jax_open(int64_t number, char *text, size_t text_bytes);
struct swpy_table {
    uintptr_t cuda, call, check, error; uint32_t table; int in_order; int32_t key_bytes, value_bytes; int64_t row;
    int32_t device_index, device_type; int32_t key_types[2]; int32_t value_types[2]; int is_integer, is_signed; int add; uintptr_t bit_values; };
enum swpy_failure { SWPY_NONE, SWPY_ARGUMENTS, SWPY_LATE };
const char *swpy_torch_function(uint32_t i);
int swpy_torch_bind(const uintptr_t *addresses, const char *key);
int swpy_torch_failure(char *text, size_t text_bytes);
int swpy_table_add(int64_t number, const struct swpy_table *table);
void swpy_table_remove(int64_t number);
bool sw_operation_adds(uint32_t operation);
bool sw_operation_has_operands(uint32_t operation);
bool sw_operation_has_pairs(uint32_t operation);
bool sw_operation_has_range(uint32_t operation);
bool sw_operation_needs_expiry(uint32_t operation);
bool sw_operation_of_integers(uint32_t operation);
bool sw_operation_takes_device(uint32_t operation);
bool sw_operation_writes(uint32_t operation);
"""


def archive(name: str) -> str:
    """Returns the path of a static library in the folders of the compiler, or "" if there is none."""
    compiler = os.environ.get("CC", "cc").split()
    asked = subprocess.run([*compiler, f"-print-file-name={name}"], stdout=subprocess.PIPE,
                           check=False, text=True).stdout.strip()
    return asked if os.path.isabs(asked) else ""


def tls_kind() -> str:
    """Returns how TLS is linked: SHERWOOD_TLS, or the system's OpenSSL if its headers are installed, or "none"."""
    chosen = os.environ.get("SHERWOOD_TLS", "")
    if chosen not in ("", "system", "static", "none"):
        sys.exit(f"sherwood: SHERWOOD_TLS is {chosen!r}: set it to system, static or none")
    if chosen == "static" and not (archive("libssl.a") and archive("libcrypto.a")):
        sys.exit("sherwood: SHERWOOD_TLS is static, but libssl.a or libcrypto.a is missing: install libssl-dev, or set"
                 " SHERWOOD_TLS=system")
    try:
        there = subprocess.run(["pkg-config", "--atleast-version=3", "openssl"], check=False).returncode == 0
    except FileNotFoundError:
        there = False
    return chosen or ("system" if there else "none")


def libraries(tls: str) -> "tuple[list[str], list[str]]":
    """Returns (archives, names of shared libraries). The kind system uses shared libraries only; the others prefer archives."""
    if tls == "system":
        return [], ["ssl", "crypto", "protobuf-c"]
    protobuf = archive("libprotobuf-c.a")
    archives, names = ([protobuf], []) if protobuf else ([], ["protobuf-c"])
    if tls == "static":
        archives += [archive("libssl.a"), archive("libcrypto.a")]
    return archives, names


def operations(header: str) -> str:
    """Returns the names of enum sherwood_operation in sherwood.h, each with a comma."""
    body = header[header.index("enum sherwood_operation {"):]
    return "".join(f"{name}, " for name in re.findall(r"^    (SHERWOOD_\w+) = \d+", body[:body.index("};")], flags=re.M))


def builder() -> FFI:
    """Returns the builder of the module. setup.py fills csrc/ first."""
    tls = tls_kind()
    archives, names = libraries(tls)
    version = (CSRC / "VERSION").read_text(encoding="ascii").strip()
    left_out = ["client/transport_tls.c", "proto/tls/"] if tls == "none" else ["client/python/no_tls.c"]
    sources = sorted(str(path) for path in CSRC.rglob("*.c")
                     if not path.relative_to(CSRC).as_posix().startswith(tuple(left_out)))
    made = FFI()
    made.cdef(DECLARATIONS.replace("@OPERATIONS@", operations((CSRC / "client" / "sherwood.h").read_text(encoding="utf-8"))))
    made.set_source(
        "sherwood._native", '#include "client/sherwood-cluster.h"\n#include "client/sherwood-replicas.h"\n#include "client/sherwood-tables.h"\n#include "client/sherwood-trace.h"\n#include "client/python/csv.h"\n#include "client/python/jax_cuda.h"\n#include "client/python/jax_ffi.h"\n#include "client/python/native.h"\n#include "client/python/operators.h"\n#include "proto/operation.h"\n',
        sources=sources, include_dirs=[str(CSRC)], extra_objects=archives, libraries=names,
        # sigprocmask makes the same system call for the calling thread, and its symbol is older: with it
        # the wheel runs with glibc 2.17.
        define_macros=[("_GNU_SOURCE", None), ("SHERWOOD_VERSION", f'"{version}"'),
                       ("pthread_sigmask", "sigprocmask")],
        # torch's exceptions pass through the frames of operators.c.
        extra_compile_args=["-std=c11", "-O2", "-fvisibility=hidden", "-fexceptions", "-pthread"],
        extra_link_args=["-Wl,--exclude-libs,ALL", "-pthread"])
    return made


def declared(header: str) -> "set[str]":
    """Returns the functions that sherwood.h declares. A test compares them with the declarations here."""
    return set(re.findall(r"^\w[\w *]*?\b(sherwood_\w+)\(", header, flags=re.M))


ffibuilder = builder()
