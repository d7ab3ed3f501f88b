/* SPDX-License-Identifier: MIT
 *
 * sherwood-cuda.h - libsherwood-cuda: keys and values in the memory of the GPU that a Sherwood
 * server of the same machine uses. Nothing is copied: the server's kernels read and write the
 * caller's arrays.
 *
 *     struct sherwood_cuda *cuda;
 *     if (sherwood_cuda_attach("unix:/run/sherwood/sherwood.sock", NULL, &cuda, NULL, 0)) ...
 *     sherwood_cuda_run(cuda, SHERWOOD_GET, keys, NULL, count, values, found);     // waits
 *     sherwood_cuda_get(cuda, keys, count, values, found, stream);                 // in stream
 * order sherwood_cuda_close(cuda);
 *
 * Arrays are device pointers of the primary context of the server's device, into ordinary
 * allocations, as torch and cupy give them. Memory of CUDA's pools, managed memory and torch's
 * expandable segments cannot be shared (SHERWOOD_E_INVALID). Shapes, operations and `found` are
 * those of sherwood.h; values are aligned to 16, 8 or 4 bytes, whatever divides value_bytes.
 *
 * The first call on an allocation registers it with the server, which takes about 0.3 ms, and
 * later ones find it. The whole allocation is shared. An allocation that was freed, or whose
 * address another one has got, is noticed and given back at the next call; the system gets the
 * memory only then, or after sherwood_cuda_unregister.
 *
 * A call that waits is the fast one for small batches. In stream order a call returns at once, and
 * what the stream does later finds the answers; without the CUDA Multi-Process Service the GPU then
 * switches between the processes twice, which costs about 0.3 ms. deploy/README.md tells more.
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

/* Connects to "unix:/path" and finds the device of the server in this process, by its UUID; it
 * becomes current nowhere. `options` as those of sherwood_connect. On failure *out is NULL, and
 * `text`, which may be NULL, receives a sentence. */
int sherwood_cuda_attach(const char *address, const struct sherwood_options *options,
                         struct sherwood_cuda **out, char *text, size_t text_bytes);
/* Waits for calls in stream order, then frees everything. NULL is allowed. */
void sherwood_cuda_close(struct sherwood_cuda *cuda);

/* The facts of the server; valid until sherwood_cuda_close. */
const struct sherwood_server *sherwood_cuda_server(const struct sherwood_cuda *cuda);
/* The number of the server's device in this process. */
int sherwood_cuda_device(const struct sherwood_cuda *cuda);
/* A sentence about the last call of this thread that failed on any handle. */
const char *sherwood_cuda_error(void);

/* Does what sherwood_run does, with arrays on the device, and waits on the host. The operations are
 * GET to ADD_PRESENT_BF16 of enum sherwood_operation; what is listed behind them (EXPIRE and its
 * kinds, PERSIST, TTL, OR, CAS and other operations that look before they write, parts of rows) is
 * refused, SHERWOOD_E_INVALID: copy its arrays to the host and call sherwood_run. Keys and values
 * must be there when it is called: synchronise their stream before. The answers are there when it
 * returns, for every stream. */
int sherwood_cuda_run(struct sherwood_cuda *cuda, enum sherwood_operation operation,
                      const void *keys, const void *values, size_t count, void *previous,
                      uint64_t *found);

/* The same in the order of a stream: it takes place after what the stream was given before, and
 * before what it is given later. It returns at once. What goes wrong after that sherwood_cuda_check
 * tells; the stream goes on, with arrays that are not written. Not within a capture. Calls of one
 * stream take effect in their order. At most SHERWOOD_CUDA_ORDERED_MAX are under way; one more
 * waits for another. */
int sherwood_cuda_run_on(struct sherwood_cuda *cuda, enum sherwood_operation operation,
                         const void *keys, const void *values, size_t count, void *previous,
                         uint64_t *found, sherwood_cuda_stream stream);
#define SHERWOOD_CUDA_ORDERED_MAX 64
int sherwood_cuda_get(struct sherwood_cuda *cuda, const void *keys, size_t count, void *values,
                      uint64_t *found, sherwood_cuda_stream stream);
int sherwood_cuda_set(struct sherwood_cuda *cuda, const void *keys, const void *values,
                      size_t count, sherwood_cuda_stream stream);
int sherwood_cuda_delete(struct sherwood_cuda *cuda, const void *keys, size_t count,
                         uint64_t *found, sherwood_cuda_stream stream);
/* SHERWOOD_OK, or the first failure of a call in stream order that ended since this was last asked.
 * With `waits`, once all that were made before have ended. */
int sherwood_cuda_check(struct sherwood_cuda *cuda, bool waits);

/* Registers the allocation that the pointer is of, or gives it back, which is to be done before it
 * is freed if its memory is wanted at once. Neither is needed otherwise. */
int sherwood_cuda_register(struct sherwood_cuda *cuda, const void *pointer);
int sherwood_cuda_unregister(struct sherwood_cuda *cuda, const void *pointer);

#ifdef __cplusplus
}
#endif

#endif
