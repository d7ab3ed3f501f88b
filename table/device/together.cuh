/* SPDX-License-Identifier: MIT
 *
 * together.cuh - several write batches as one: what the engines share on CUDA.
 *
 * Before the engine's kernels one kernel collects the operations of all parts, from where their
 * arrays lie, in arrays of device memory; behind them another one deals the results out to the
 * parts and counts them apart. In between the engine carries out one batch, each part of which is
 * one or more groups. The host copies nothing. Each key and operand is loaded once.
 *
 *   sw_cuda_together_collect(memory, together, stream)     fills together->whole in
 *   the engine enqueues whole, with memory->record as its record
 *   sw_cuda_together_deal(memory, together, record, ..)    completes the channel's record
 *   poll of the record; sw_cuda_together_finish(memory, together)
 *
 * Threads: calls for one table one at a time, in the order of the launches, with one stream.
 */
#ifndef SHERWOOD_TABLE_DEVICE_TOGETHER_CUH
#define SHERWOOD_TABLE_DEVICE_TOGETHER_CUH

#include <cuda_runtime.h>

#include "table/backend.h"
#include "table/device/channel.cuh"

static_assert(SW_CUDA_IN_FLIGHT_MAX >= SW_READS_MAX, "a channel takes the reads of a queue");

/* A block collects or deals so many operations of one part at a time, and as many groups. */
#define SW_TOGETHER_CHUNK 1024
/* The most operations that are gathered for a launch. While it runs no read does: this bounds what
 * a read may wait for. */
#define SW_TOGETHER_OPERATIONS_MAX (512U * 1024)
/* .. and of one that streams the table: with half of them it would take almost as long. */
#define SW_TOGETHER_STREAMED_MAX (4096U * 1024)
/* And the most chunks: each part may have one that is not full. */
#define SW_TOGETHER_CHUNKS_MAX (SW_TOGETHER_STREAMED_MAX / SW_TOGETHER_CHUNK + SW_TOGETHER_MAX)

/* One part, as kernels see it. */
struct sw_cuda_part {
    const void *keys;
    const uint8_t *values; /* NULL: none of its operations has an operand */
    const uint8_t *ops;    /* NULL: all are `op` */
    uint8_t *previous;     /* this and the next two: NULL where they are not wanted */
    uint64_t *found;
    uint64_t *not_admitted;
    const uint32_t *group_ends; /* NULL: it is one group */
    uint8_t *group_refused;     /* or NULL */
    uint32_t op;
    uint32_t count;
    uint32_t group_count; /* at least 1, at most `count` */
    uint32_t first;       /* of its operations among all */
    uint32_t first_group; /* of its groups */
    uint32_t first_chunk; /* of those that are collected or dealt for it */
};

/* All of a launch. */
struct sw_cuda_parts {
    uint16_t of_chunk[SW_TOGETHER_CHUNKS_MAX]; /* which part it is of */
    struct sw_cuda_part parts[SW_TOGETHER_MAX];
};

/* What was counted of one part. */
enum sw_cuda_part_word {
    SW_PART_OPERATIONS,            /* three, by class */
    SW_PART_HITS = SW_CLASS_COUNT, /* three */
    SW_PART_INSERTED = SW_PART_HITS + SW_CLASS_COUNT,
    SW_PART_UPDATED,
    SW_PART_DELETED,
    SW_PART_REFUSED,
    SW_PART_COLLIDED, /* refused, but for no lack of room */
    SW_PART_NOT_ADMITTED,
    SW_PART_WORDS
};

/* What the parts of one launch ask for, in device memory. */
struct sw_cuda_collected {
    uint8_t *keys, *values, *ops;
    uint32_t *group_ends;
    uint8_t *group_refused; /* the engine's answer; 0 when collected */
    struct sw_cuda_parts *parts;
};

/* Memory of a table for this. All arrays but those of the host are device memory. */
struct sw_cuda_together {
    uint32_t operations_max; /* there is room for */
    uint32_t key_bytes;
    uint32_t value_bytes; /* 0: values and what was before stay where the parts have them */
    bool counts_alone;    /* a part that is alone is counted as one of several is */
    size_t record_bytes;  /* of the engine's records, a multiple of 8 */
    size_t bytes;         /* of device memory */
    void *memory;         /* device; everything from here to `blocks_done` lies in it */
    struct sw_cuda_collected collected[SW_TOGETHERS]; /* of each launch in flight */
    uint8_t *previous;
    uint64_t *found, *not_admitted;
    const uint8_t *silent; /* [operations] 1: it is counted as one without an effect; NULL: none is.
                              The engine's, before it deals */
    uint64_t *record;      /* the whole batch's */
    uint32_t *words;       /* [parts][SW_PART_WORDS], zero between launches */
    unsigned int *blocks_done; /* zero between launches */
    void *host;                /* pinned and mapped; the next two lie in it, for each launch */
    struct sw_cuda_parts *staged[SW_TOGETHERS];
    uint32_t *results[SW_TOGETHERS]; /* [parts][SW_PART_WORDS] */
    cudaStream_t stream;             /* of collecting */
    cudaEvent_t done[SW_TOGETHERS];  /* collecting is */
};

/* The most operations for keys and values of these sizes, at most `most`. A pure function. */
uint32_t sw_cuda_together_max(uint32_t most, uint32_t batch_ops_max, uint32_t key_bytes,
                              uint32_t value_bytes);

/* Allocates. operations_max, key_bytes, value_bytes and record_bytes are set. After a failure,
 * close too. */
cudaError_t sw_cuda_together_open(struct sw_cuda_together *memory, bool is_cache);
void sw_cuda_together_close(struct sw_cuda_together *memory);

/* Fills together->whole in, whose arrays are device memory, `ops` included, and enqueues the kernel
 * that fills these: on a stream of its own, so that it runs beside the launch before this one,
 * which changes the table while this only reads host memory. What is enqueued on `stream` from here
 * on comes after it. The launch before the last must be done. */
cudaError_t sw_cuda_together_collect(struct sw_cuda_together *memory, struct sw_together *together,
                                     cudaStream_t stream);
/* How many chunks all parts have. */
uint32_t sw_cuda_together_chunks(const struct sw_cuda_together *memory,
                                 const struct sw_together *together);
/* Enqueues the kernel that deals the results out and copies memory->record to `record`, the first
 * word of it last. `status` is where in memory->record the engine says SW_E_FULL; NULL: it never
 * refuses. */
cudaError_t sw_cuda_together_deal(const struct sw_cuda_together *memory,
                                  const struct sw_together *together, const int32_t *status,
                                  void *record, cudaStream_t stream);
/* Once the whole batch is done: sets status and counters of its parts. What is counted only of the
 * whole (probes, failures, evictions, the change of the stash) is told of the first part. Parts are
 * counted by what each operation found: of one part that does not want to know, the engine counts
 * all, and whole.found is NULL, unless counts_alone. */
void sw_cuda_together_finish(const struct sw_cuda_together *memory, struct sw_together *together);

/* submit_together of an engine: calls enqueue(ticket) under the mutex. */
template <typename ENQUEUE>
static inline int sw_cuda_together_submit(struct sw_cuda_channel *channel,
                                          struct sw_together *together, ENQUEUE enqueue)
{
    uint64_t ticket = sw_cuda_channel_ticket(channel);
    if (ticket == 0) {
        return SW_E_BUSY;
    }
    if (!sw_cuda_channel_begin(channel)) {
        return SW_E_DEVICE;
    }
    cudaError_t error = enqueue(ticket);
    if (!sw_cuda_channel_end(channel, error)) {
        return SW_E_DEVICE;
    }
    sw_cuda_channel_submitted(channel, ticket);
    together->whole._ticket = ticket;
    return SW_OK;
}

#endif
