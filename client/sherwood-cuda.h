/* SPDX-License-Identifier: MIT
 *
 * sherwood-cuda.h - libsherwood-cuda: keys and values in the memory of a GPU, for a Sherwood server
 * that runs on a GPU of the same machine: on the same one, or on one with peer access to it.
 * The server's kernels read and write the caller's arrays. Nothing is copied, except arrays in
 * memory that another process cannot map (see below).
 *
 *     struct sherwood_cuda *cuda;
 *     if (sherwood_cuda_attach("unix:/run/sherwood/sherwood.sock", NULL, &cuda, NULL, 0)) ...
 *     if (sherwood_cuda_run(cuda, SHERWOOD_GET, keys, NULL, count, values, found)) ... // waits
 *     if (sherwood_cuda_get(cuda, keys, count, values, found, stream)) ... // in stream order
 *     sherwood_cuda_close(cuda);
 *
 * A handle is of one device: a program with arrays on several devices attaches once for each.
 * Arrays are device pointers of the primary context of the handle's device. Memory of another
 * device is refused (SHERWOOD_E_INVALID). Shapes, operations and `found` are those of sherwood.h;
 * values are aligned to 16, 8 or 4 bytes, whatever divides value_bytes.
 *
 * The first call on an allocation registers it with the server, which takes about 0.3 ms. Later
 * calls find the registration. The whole allocation is shared. The next call notices an allocation
 * that was freed, or whose address belongs to another one now, and unregisters it. The system gets
 * the memory back only then, or after sherwood_cuda_unregister.
 *
 * Arrays in memory of CUDA's pools, in managed memory, in torch's expandable segments, in memory of
 * JAX and in allocations below 256 KiB are not registered. Calls copy them through a stage: memory
 * of the handle on the same device, SHERWOOD_CUDA_STAGE_BYTES (64 MiB) for each stream that makes
 * such calls in stream order, and one for the calls that wait. In stream order the copies are steps
 * of the stream. A call whose copied arrays are larger goes in pieces. Each piece takes effect as
 * a call of its own. After a failure the copied answers are undefined.
 *
 * A call that waits is the fast one for small batches. In stream order a call returns at once, and
 * the later work of the stream finds the answers. If the client uses the server's device without
 * the CUDA Multi-Process Service, the GPU then switches between the processes twice, which costs
 * about 0.3 ms. On another device nothing switches. deploy/README.md has more.
 *
 * Threads: any thread may call. Calls that wait take turns. The program links neither CUDA's
 * runtime nor its driver: libcuda.so.1 is loaded by sherwood_cuda_attach.
 */
#ifndef SHERWOOD_CUDA_H
#define SHERWOOD_CUDA_H

#include "sherwood.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sherwood_cuda;
/* A stream of CUDA's driver or runtime; NULL: the default stream. */
typedef void *sherwood_cuda_stream;

/* Connects to "unix:/path" and attaches with the server's device, which it finds by its UUID. If
 * this process does not see that device, it attaches with the calling thread's current device, or
 * with device 0 if no context is current. It does not make the device current in any thread.
 * `options` as for sherwood_connect. On failure *out is NULL, and `text`, which may be NULL,
 * receives a sentence.
 */
SHERWOOD_MUST_CHECK int sherwood_cuda_attach(const char *address,
                                             const struct sherwood_options *options,
                                             struct sherwood_cuda **out, char *text,
                                             size_t text_bytes);
/* Does the same with a device of this process, given by its number; a negative number is
 * sherwood_cuda_attach. With another device than the server's it first registers 2 MiB for a
 * moment: SHERWOOD_E_REQUEST if the server's device has no peer access to the device. */
SHERWOOD_MUST_CHECK int sherwood_cuda_attach_on(const char *address,
                                                const struct sherwood_options *options, int device,
                                                struct sherwood_cuda **out, char *text,
                                                size_t text_bytes);
/* Waits for calls in stream order, then frees everything. NULL is allowed. */
void sherwood_cuda_close(struct sherwood_cuda *cuda);

/* Returns the facts of the server; valid until sherwood_cuda_close. */
const struct sherwood_server *sherwood_cuda_server(const struct sherwood_cuda *cuda);
/* Returns the number of the handle's device in this process. */
int sherwood_cuda_device(const struct sherwood_cuda *cuda);
/* Returns whether the GPU switches between this process and the server, which costs a call in
 * stream order about 0.3 ms: the device is the server's, and this process does not use the CUDA
 * Multi-Process Service. */
bool sherwood_cuda_switches(const struct sherwood_cuda *cuda);
/* Returns a sentence about the last call of this thread that failed on any handle. */
const char *sherwood_cuda_error(void);

/* Does what sherwood_run does, with arrays on the device, and waits on the host. Keys and values
 * must be in memory when the call begins: synchronise their stream before. When it returns, every
 * stream sees the answers. Of some operations the device copies the arrays to the server's memory
 * and the answers back; the manual page libsherwood-cuda(3) lists them. A server of an older
 * version refuses these (SHERWOOD_E_INVALID). */
SHERWOOD_MUST_CHECK int sherwood_cuda_run(struct sherwood_cuda *cuda,
                                          enum sherwood_operation operation, const void *keys,
                                          const void *values, size_t count, void *previous,
                                          uint64_t *found);

/* When a call takes place. */
enum sherwood_cuda_when {
    SHERWOOD_CUDA_NOW = 0,   /* at once: keys and values are complete. The call waits on the host */
    SHERWOOD_CUDA_AFTER = 1, /* the same, after the work that `stream` has */
    SHERWOOD_CUDA_IN_ORDER = 2 /* in the order of `stream`, as sherwood_cuda_run_on */
};
/* A call with all that it may have. Begin with SHERWOOD_CUDA_CALL_INIT. */
struct sherwood_cuda_call {
    size_t size; /* sizeof(struct sherwood_cuda_call) */
    enum sherwood_operation operation;
    uint32_t flags; /* SHERWOOD_FOUND_BYTES, or 0 */
    const void *keys;
    const void *values; /* operands, or NULL */
    size_t count;       /* of keys */
    void *previous;     /* out; NULL: declined */
    void *found;        /* out; NULL: declined; bits, or with SHERWOOD_FOUND_BYTES a byte of 0 or 1
                           for each key, and zeros up to a multiple of 8 */
    enum sherwood_cuda_when when;
    sherwood_cuda_stream stream;
    /* The rest as in struct sherwood_request, or zeros. The arrays of `cache`, and
     * times_ms of `times`, lie on the device. The library borrows `cache` until the call has ended
     * (of a captured call: until its graph is destroyed), and then stores its counts. */
    struct sherwood_cache *cache;
    const struct sherwood_times *times;
    float scale;
    enum sherwood_type operand_type; /* with a scale */
    uint32_t range_offset, range_bytes;
    uint32_t table;                 /* of sherwood_cuda_table; 0: the default table */
    struct sherwood_cache *_counts; /* private to the library */
};
#define SHERWOOD_CUDA_CALL_INIT SHERWOOD_INIT_OF(sherwood_cuda_call)
/* Opens the table with this name, for calls of this handle, as sherwood_table_open does. *table
 * receives the number for struct sherwood_cuda_call, and *server, unless `server` is NULL, the
 * facts of the table, which are valid until sherwood_cuda_close or until the table is dropped. All
 * tables of a handle share its connection and its registered memory. The same name gives the same
 * number, until the name is that of another place or of a table of another shape: then open it
 * again. A handle has at most SHERWOOD_CUDA_TABLES_MAX tables (SHERWOOD_E_BUSY). One more takes the
 * place of a table that was dropped, unless a call or a graph uses that. Calls with the number of
 * the dropped table are then refused (SHERWOOD_E_INVALID). */
#define SHERWOOD_CUDA_TABLES_MAX 64
SHERWOOD_MUST_CHECK int sherwood_cuda_table(struct sherwood_cuda *cuda, const char *name,
                                            uint32_t *table, const struct sherwood_server **server);
/* Does what sherwood_cuda_run or sherwood_cuda_run_on does. In stream order, a call with arrays of
 * evicted entries must fit into one stage if any of its arrays has to be copied.
 * SHERWOOD_FOUND_BYTES is for GET and PEEK: the answer is then an array of bool, and nothing has to
 * unpack bits. */
SHERWOOD_MUST_CHECK int sherwood_cuda_call(struct sherwood_cuda *cuda,
                                           const struct sherwood_cuda_call *call);

/* Carries out several GETs and PEEKs with their requests in flight together, for example of several
 * tables. All calls have the same `when` and `stream`, and no order among each other. Calls with
 * arrays that have to be copied, with more keys than frame_ops_max, and in a graph go one by one.
 * On an error some calls may have been carried out, and the contents of their arrays are undefined.
 * The sentence begins with the number of the call that failed, from 0 on. */
SHERWOOD_MUST_CHECK int sherwood_cuda_reads(struct sherwood_cuda *cuda,
                                            const struct sherwood_cuda_call *calls, size_t count);

/* Does what sherwood_cuda_run does in the order of a stream: after the work that the stream has,
 * and before the work that it gets later. It returns at once. sherwood_cuda_check reports later
 * failures; after a failure the stream goes on, and the answers are not written. Calls of one
 * stream take effect in their order. At most SHERWOOD_CUDA_ORDERED_MAX calls are in flight; one
 * more blocks until another has ended. */
SHERWOOD_MUST_CHECK int sherwood_cuda_run_on(struct sherwood_cuda *cuda,
                                             enum sherwood_operation operation, const void *keys,
                                             const void *values, size_t count, void *previous,
                                             uint64_t *found, sherwood_cuda_stream stream);
#define SHERWOOD_CUDA_ORDERED_MAX 64
/* While the stream is captured, a call becomes a part of the graph: each replay carries it out on
 * the same arrays, and sherwood_cuda_check reports its failures, but does not wait for replays.
 * Arrays that have to be copied must fit into one stage. The graphs of a handle have at most
 * SHERWOOD_CUDA_CAPTURED_MAX calls (SHERWOOD_E_BUSY); destroying a graph and its executable copies
 * frees its calls. Replays of one graph must not run at the same time, as those of two executable
 * copies could. After sherwood_cuda_close a replay goes on without answers. While a graph has
 * calls, a thread polls for replays. */
#define SHERWOOD_CUDA_CAPTURED_MAX 64
SHERWOOD_MUST_CHECK int sherwood_cuda_get(struct sherwood_cuda *cuda, const void *keys,
                                          size_t count, void *values, uint64_t *found,
                                          sherwood_cuda_stream stream);
SHERWOOD_MUST_CHECK int sherwood_cuda_set(struct sherwood_cuda *cuda, const void *keys,
                                          const void *values, size_t count,
                                          sherwood_cuda_stream stream);
SHERWOOD_MUST_CHECK int sherwood_cuda_delete(struct sherwood_cuda *cuda, const void *keys,
                                             size_t count, uint64_t *found,
                                             sherwood_cuda_stream stream);
/* Returns SHERWOOD_OK, or the status of the first call in stream order that failed since the last
 * sherwood_cuda_check. With `waits` it first waits until all earlier calls have ended. */
SHERWOOD_MUST_CHECK int sherwood_cuda_check(struct sherwood_cuda *cuda, bool waits);

#define SHERWOOD_CUDA_STAGE_BYTES 67108864U
#define SHERWOOD_CUDA_STAGE_BYTES_MIN 65536U
/* The most streams with a stage of their own. More streams share stages: a call then waits for the
 * calls of another stream, on the device. */
#define SHERWOOD_CUDA_STAGES_MAX 8
/* Gives each stage this number of bytes, at least SHERWOOD_CUDA_STAGE_BYTES_MIN. The memory is
 * allocated in units of 2 MiB. SHERWOOD_E_INVALID after the first call that copied arrays. */
SHERWOOD_MUST_CHECK int sherwood_cuda_stage(struct sherwood_cuda *cuda, uint64_t bytes);
/* Returns the number of bytes that calls of this handle have copied into and out of stages. 0: all
 * arrays were registered. */
uint64_t sherwood_cuda_staged_bytes(const struct sherwood_cuda *cuda);

/* Begins direct reads. From now on a kernel of this process looks the keys of a GET up in the
 * server's table, in calls that wait, in stream order and in captured graphs. If a write is under
 * way, or the table is not where it was, the server answers the call as before. The answers are the
 * same: no write of any client is under way between the first look-up and the last.
 * SHERWOOD_E_REQUEST, with the reason in sherwood_cuda_error: the handle's device must be the
 * server's, the server needs --direct-readers-max, this process must run as the server's user or as
 * root, and this library must have been built with nvcc. The end of the server, and a change of
 * rights, take effect within 0.2 s. While there are direct readers, each write of the server
 * launches two more kernels. */
SHERWOOD_MUST_CHECK int sherwood_cuda_direct(struct sherwood_cuda *cuda);
/* Returns the number of calls that direct reads have begun, without replays of graphs, and stores
 * in *by_server, which may be NULL, how many of them and of the replays the server answered. */
uint64_t sherwood_cuda_direct_calls(struct sherwood_cuda *cuda, uint64_t *by_server);

/* Register and unregister the allocation that the pointer lies in. Registering is optional.
 * Unregister an allocation before you free it if the system must get its memory back at once. */
SHERWOOD_MUST_CHECK int sherwood_cuda_register(struct sherwood_cuda *cuda, const void *pointer);
int sherwood_cuda_unregister(struct sherwood_cuda *cuda, const void *pointer);

#ifdef __cplusplus
}
#endif

#endif
