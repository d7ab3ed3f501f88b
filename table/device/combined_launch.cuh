/* SPDX-License-Identifier: MIT
 *
 * combined_launch.cuh - combined launches on CUDA: several write batches executed as one, for all
 * engines.
 *
 * A part is one batch of the launch. Before the engine's kernels, one kernel gathers the operations
 * of all parts from their own arrays into arrays of device memory. After them, another kernel
 * scatters the results to the parts and counts each part separately. In between the engine executes
 * one batch, in which each part is one or more groups. The host copies nothing. Each key and
 * operand is loaded once.
 *
 *   sw_cuda_combined_borrow(memory, ..)                   borrows the memory of the launch
 *   sw_cuda_combined_gather(memory, combined, stream)     fills in combined->whole
 *   the engine enqueues whole, with memory->record as its record
 *   sw_cuda_combined_scatter(memory, combined, record, ..)    completes the channel's record
 *   sw_cuda_combined_started(memory, ..)
 *   poll of the record; sw_cuda_combined_finish(memory, combined, ..)
 *
 * Threads: one call at a time for one table, in the order of the launches, with one stream.
 */
#ifndef SHERWOOD_TABLE_DEVICE_COMBINED_LAUNCH_CUH
#define SHERWOOD_TABLE_DEVICE_COMBINED_LAUNCH_CUH

#include <cuda_runtime.h>

#include "table/backend.h"
#include "table/device/channel.cuh"
#include "table/device/launch_buffers.cuh"

static_assert(SW_CUDA_IN_FLIGHT_MAX >= SW_READS_MAX, "a channel takes the reads of a queue");

/* Operations of one part, and groups of it, that a block gathers or scatters at a time. */
#define SW_COMBINED_CHUNK 1024
/* Maximum operations gathered for a launch. No read runs during the launch, so this bounds the wait
 * of a read. */
#define SW_COMBINED_OPERATIONS_MAX (512U * 1024)
/* Maximum operations of a launch that streams the table: a launch of half the size takes almost as
 * long. */
#define SW_COMBINED_STREAMED_MAX (4096U * 1024)
/* Maximum chunks of a launch: each part may have one that is not full. */
#define SW_COMBINED_CHUNKS_MAX \
    (SW_COMBINED_STREAMED_MAX / SW_COMBINED_CHUNK + SW_COMBINED_BATCHES_MAX)

/* One part, as kernels see it. */
struct sw_cuda_part {
    const void *keys;
    const uint8_t *values;   /* NULL: no operation of the part has an operand */
    const uint8_t *ops;      /* NULL: all are `op` */
    const uint32_t *ranges;  /* sw_batch.ranges, or NULL */
    const uint8_t *expected; /* sw_batch.expected, or NULL */
    uint8_t *previous;       /* this and the next two: NULL: not requested */
    uint64_t *found;
    uint64_t *not_admitted;
    const uint32_t *group_ends; /* NULL: the part is one group */
    uint8_t *group_refused;     /* or NULL */
    uint32_t op;
    uint32_t count;
    uint32_t group_count; /* at least 1, at most `count` */
    uint32_t first;       /* index of its first operation in the whole batch */
    uint32_t first_group; /* index of its first group in the whole batch */
    uint32_t first_chunk; /* number of its first chunk */
};

/* Returns the group of operation i: the first group from `low` to `high` that ends after it. */
static __device__ inline uint32_t sw_group_of(const uint32_t *group_ends, uint32_t low,
                                              uint32_t high, uint32_t i)
{
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (group_ends[middle] > i) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* All parts of a launch. */
struct sw_cuda_parts {
    uint16_t of_chunk[SW_COMBINED_CHUNKS_MAX]; /* the part of each chunk */
    struct sw_cuda_part parts[SW_COMBINED_BATCHES_MAX];
};

/* Counters of one part. */
enum sw_cuda_part_word {
    SW_PART_OPERATIONS,            /* three words, by class */
    SW_PART_HITS = SW_CLASS_COUNT, /* three words, by class */
    SW_PART_INSERTED = SW_PART_HITS + SW_CLASS_COUNT,
    SW_PART_UPDATED,
    SW_PART_DELETED,
    SW_PART_REFUSED,
    SW_PART_COLLIDED, /* refused for a collision, not for lack of room */
    SW_PART_NOT_ADMITTED,
    SW_PART_INVALID, /* the engine counts it: operands that the operations cannot have */
    SW_PART_WORDS
};

/* The gathered operations of one launch, in device memory. */
struct sw_cuda_gathered {
    uint8_t *keys, *values, *ops;
    uint32_t *group_ends;
    uint8_t *group_refused; /* written by the engine; 0 when gathered */
    struct sw_cuda_parts *parts;
};

/* The pinned memory of a launch. */
struct sw_cuda_launch_host {
    struct sw_cuda_parts staged;
    uint32_t results[SW_COMBINED_BATCHES_MAX * SW_PART_WORDS]; /* by part */
};

/* The memory of a launch, as kernels see it: device memory, in a launch buffer. */
struct sw_cuda_combined_view {
    uint32_t key_bytes;
    uint32_t value_bytes; /* 0: values and previous values stay in the parts' own arrays */
    bool counts_alone;    /* the scatter kernel also counts a part that is alone in its launch */
    size_t record_bytes;  /* bytes of an engine's record, a multiple of 8 */
    uint8_t *previous;
    uint64_t *found, *not_admitted;
    uint8_t *expected;         /* of a launch with operations of SW_OPS_PAIR on integers */
    uint8_t *unmet;            /* the operations that such a launch counts as in `silent` */
    const uint8_t *silent;     /* [operations] 1: the operation is counted as one without an effect;
                                  NULL: no such operation. The engine sets it before the scatter */
    uint64_t *record;          /* record of the whole batch */
    uint32_t *words;           /* [parts][SW_PART_WORDS], zero between launches */
    unsigned int *blocks_done; /* zero between launches */
    unsigned int *launches;    /* launches that have the buffer: 0 or 1. SW_CUDA_LAUNCH_CHECKS */
};

/* A table's part of its combined launches. A launch borrows its memory (launch_buffers.cuh) when
 * it is submitted, and returns it when it is polled. The members of the view are those of the
 * launch submitted last. */
struct sw_cuda_combined : sw_cuda_combined_view {
    bool is_cache;
    uint32_t operations_max; /* operations of the largest launch */
    size_t bytes;            /* device memory of a buffer for it, which open had to allocate */
    struct sw_cuda_launch_buffers *buffers; /* the launcher's; NULL: one buffer of its own */
    struct sw_cuda_buffer_loan loans[SW_COMBINED_LAUNCHES];
    struct sw_cuda_gathered gathered[SW_COMBINED_LAUNCHES]; /* one for each launch in flight */
    struct sw_cuda_parts *staged[SW_COMBINED_LAUNCHES];     /* pinned and mapped, in `host` */
    uint32_t *results;       /* likewise, of the launch submitted last */
    cudaEvent_t gather_done; /* of its buffer */
    cudaStream_t stream;     /* of the gather kernels; the launcher's */
};

/* Returns the maximum operations of a launch for keys and values of these sizes, at most `most`. A
 * pure function. */
uint32_t sw_cuda_combined_max(uint32_t most, uint32_t batch_ops_max, uint32_t key_bytes,
                              uint32_t value_bytes);

/* Opens the table's part, and has the launcher keep a buffer for the largest launch. The caller has
 * set operations_max, key_bytes, value_bytes and record_bytes. Takes the turn. */
cudaError_t sw_cuda_combined_open(struct sw_cuda_combined *memory, bool is_cache,
                                  struct sw_cuda_launcher *launcher);

/* --- memory (combined_memory.cu) -------------------------------------------------------------- */

/* The part of sw_cuda_combined_open that reserves the buffer. */
cudaError_t sw_cuda_combined_reserve(struct sw_cuda_combined *memory,
                                     struct sw_cuda_launcher *launcher);
/* Allocates a buffer of its own, for one launch at a time, number 0, without the next three
 * functions. The caller has also set `stream`. After a failure the caller closes the buffer. */
cudaError_t sw_cuda_combined_reserve_own(struct sw_cuda_combined *memory,
                                         struct sw_cuda_launch_buffer *buffer);

/* Borrows the memory of a launch. Returns false if that failed, and the table is lost. */
bool sw_cuda_combined_borrow(struct sw_cuda_combined *memory, struct sw_cuda_channel_owner *owner,
                             const struct sw_combined_launch *combined);
/* Notes that the launch was enqueued on the channel. */
void sw_cuda_combined_started(struct sw_cuda_combined *memory,
                              const struct sw_combined_launch *combined,
                              const struct sw_cuda_channel *channel, uint64_t ticket);
/* Returns the memory of a launch that was not enqueued. `begun`: a part of it may have been. */
void sw_cuda_combined_cancel(struct sw_cuda_combined *memory,
                             const struct sw_combined_launch *combined,
                             const struct sw_cuda_channel *channel, bool begun);

/* --- kernels (combined_launch.cu) ------------------------------------------------------------- */

/* Fills in combined->whole, whose arrays are device memory (also `ops`), and enqueues the kernel
 * that fills these arrays. The kernel has a separate stream, so that it overlaps the previous
 * launch: that one changes the table, this kernel only reads the parts. Work enqueued on `stream`
 * afterwards runs after the kernel. */
cudaError_t sw_cuda_combined_gather(struct sw_cuda_combined *memory,
                                    struct sw_combined_launch *combined, cudaStream_t stream);
/* Returns the number of chunks of all parts. */
uint32_t sw_cuda_combined_chunks(const struct sw_cuda_combined *memory,
                                 const struct sw_combined_launch *combined);
/* Enqueues the kernel that scatters the results and copies memory->record to `record`, its first
 * word last. `status` points to the status in memory->record, where the engine reports SW_E_FULL;
 * NULL: the engine never refuses operations. */
cudaError_t sw_cuda_combined_scatter(const struct sw_cuda_combined *memory,
                                     const struct sw_combined_launch *combined,
                                     const int32_t *status, void *record, cudaStream_t stream);
/* Sets status and counters of the parts, and returns the memory of the launch; call it once the
 * whole batch is done. Counters that exist only for the whole batch (probes, failures, evictions,
 * the change of the stash) go to the first part. The scatter kernel counts parts from whole.found.
 * A single part that does not request `found` has the engine's counters, and whole.found is NULL,
 * unless counts_alone is set or the table is a cache. */
void sw_cuda_combined_finish(struct sw_cuda_combined *memory, struct sw_combined_launch *combined,
                             const struct sw_cuda_channel *channel);

/* Implements submit_combined of an engine: calls enqueue(ticket) under the mutex. */
template <typename ENQUEUE>
static inline int sw_cuda_combined_submit(struct sw_cuda_channel *channel,
                                          struct sw_cuda_combined *memory,
                                          struct sw_combined_launch *combined, ENQUEUE enqueue)
{
    uint64_t ticket = sw_cuda_channel_ticket(channel);
    if (ticket == 0) {
        return SW_E_BUSY;
    }
    if (!sw_cuda_combined_borrow(memory, channel->owner, combined)) {
        return SW_E_DEVICE;
    }
    const bool begun = sw_cuda_channel_begin(channel);
    if (!begun || !sw_cuda_channel_end(channel, enqueue(ticket))) {
        sw_cuda_combined_cancel(memory, combined, channel, begun);
        return SW_E_DEVICE;
    }
    sw_cuda_combined_started(memory, combined, channel, ticket);
    sw_cuda_channel_submitted(channel, ticket);
    combined->whole._ticket = ticket;
    return SW_OK;
}

#endif
