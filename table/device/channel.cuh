/* SPDX-License-Identifier: MIT
 *
 * channel.cuh - what the queues of every engine share on CUDA: a channel each, which is a CUDA
 * stream and a record in host memory for each batch in flight; tickets, completion by a polled
 * word, and the order of batches between channels.
 *
 * Order: a batch waits, on the device, for the last write batch; a write batch also waits for the
 * reads of every channel before it changes anything. So phases do not mix (rule 5 of
 * table/robin_hood/README.md; rule 1 of table/cuckoo/README.md). Submission happens under one
 * mutex, so "last" is well defined and no event is recorded twice at once. The host waits for
 * nothing but that mutex.
 *
 * A batch, from submit to completion:
 *
 *   ticket = sw_cuda_channel_ticket(channel)              0: SW_E_BUSY
 *   sw_cuda_channel_begin(channel)                        takes the mutex
 *     sw_cuda_wait_for_write(channel)                     before anything is read
 *     reads: channel->reads_pending = true, launch        the last kernel fills the batch's record
 *     writes: sw_cuda_wait_for_reads(channel), launch, sw_cuda_write_submitted(channel)
 *   sw_cuda_channel_end(channel, error)                   gives it back
 *   sw_cuda_channel_submitted(channel, ticket)
 *   sw_cuda_channel_poll(channel, ticket)                 until it is not SW_PENDING
 *   sw_cuda_channel_completed(channel, ticket)            the record may be used again
 *
 * Threads: `order` guards what submit changes in the owner and in other channels. Everything else
 * of a channel belongs to its queue's thread. An engine's table derives from the owner, its queue
 * from the channel; zeroed memory is a valid start of both, and of what _close takes.
 */
#ifndef SHERWOOD_TABLE_DEVICE_CHANNEL_CUH
#define SHERWOOD_TABLE_DEVICE_CHANNEL_CUH

#include <cuda_runtime.h>
#include <pthread.h>
#include <stdint.h>

#include "table/table.h"

/* Batches in flight on one channel; one more is refused with SW_E_BUSY. */
#define SW_CUDA_IN_FLIGHT_MAX 64

/* Polls that find nothing before the stream is asked whether it still lives. */
#define SW_CUDA_IDLE_POLLS 65536

struct sw_cuda_channel;

#define SW_CUDA_BUS_ID_BYTES 32

struct sw_cuda_channel_owner {
    int device;
    pthread_mutex_t order;
    struct sw_cuda_channel *channels; /* under `order` */
    cudaEvent_t write_done;           /* after the last write batch submitted */
    uint64_t writes;                  /* write batches submitted */
    int lost; /* atomic: a CUDA call failed, nothing can be trusted any more */
    char bus_id[SW_CUDA_BUS_ID_BYTES]; /* PCI address of the device; empty: not known */
};

struct sw_cuda_channel {
    struct sw_cuda_channel_owner *owner;
    struct sw_cuda_channel *next;
    cudaStream_t stream;
    cudaEvent_t reads_done;
    bool reads_pending;   /* reads were submitted that no write batch waits for yet */
    uint64_t writes_seen; /* the owner's `writes` when this stream last waited for them */

    char *records; /* mapped host memory [SW_CUDA_IN_FLIGHT_MAX] */
    size_t record_bytes;
    bool busy[SW_CUDA_IN_FLIGHT_MAX];
    uint64_t ticket; /* of the last batch submitted */
    uint32_t idle_polls;
};

/* --- tables (owner.cu) ------------------------------------------------------------------------ */

/* Makes device `ordinal` current; its name and the code that runs on it go to `reason`. SW_OK, or
 * SW_E_NODEVICE with a sentence in `reason`. */
int sw_cuda_choose_device(int ordinal, char *reason, size_t reason_size);
/* The status and the sentence for an error while a table of `bytes` of device memory was made, of
 * which nothing is left. */
int sw_cuda_explain(cudaError_t error, uint64_t bytes, char *reason, size_t reason_size);

/* The device must be current. After a failure, close too. */
cudaError_t sw_cuda_owner_open(struct sw_cuda_channel_owner *owner, int device);
/* Every channel must have been closed. Makes the device current. */
void sw_cuda_owner_close(struct sw_cuda_channel_owner *owner);

/* True if `error` is no error. Otherwise the table is lost from now on, and the first time this
 * happens one line on stderr says what failed. */
bool sw_cuda_check(struct sw_cuda_channel_owner *owner, cudaError_t error, const char *what);
static inline bool sw_cuda_is_lost(const struct sw_cuda_channel_owner *owner)
{
    return __atomic_load_n(&owner->lost, __ATOMIC_RELAXED) != 0;
}

/* For io_alloc and io_free of sw_backend. */
void *sw_cuda_io_alloc(const struct sw_cuda_channel_owner *owner, size_t bytes);
void sw_cuda_io_free(const struct sw_cuda_channel_owner *owner, void *memory);

/* --- queues (channel.cu) -------------------------------------------------------------------------
 */

/* Makes the device current. An engine's record begins with a word of 64 bits, which receives the
 * ticket once the batch is done (sw_cuda_record_ticket). After a failure, close too: nothing else
 * is to be done for cudaErrorMemoryAllocation, any other error is for sw_cuda_check. */
cudaError_t sw_cuda_channel_open(struct sw_cuda_channel *channel,
                                 struct sw_cuda_channel_owner *owner, size_t record_bytes);
/* Waits for the stream: what its batches used can be freed afterwards. */
void sw_cuda_channel_close(struct sw_cuda_channel *channel);

/* The record of a batch. */
static inline void *sw_cuda_channel_record(const struct sw_cuda_channel *channel, uint64_t ticket)
{
    return channel->records + ticket % SW_CUDA_IN_FLIGHT_MAX * channel->record_bytes;
}

/* The ticket that the next batch will have; 0 if there is no record for it. */
static inline uint64_t sw_cuda_channel_ticket(const struct sw_cuda_channel *channel)
{
    return channel->busy[(channel->ticket + 1) % SW_CUDA_IN_FLIGHT_MAX] ? 0 : channel->ticket + 1;
}
static inline void sw_cuda_channel_submitted(struct sw_cuda_channel *channel, uint64_t ticket)
{
    channel->ticket = ticket;
    channel->busy[ticket % SW_CUDA_IN_FLIGHT_MAX] = true;
}

/* Makes the device current and takes the mutex. Returns false on a lost table, without the
 * mutex. */
bool sw_cuda_channel_begin(struct sw_cuda_channel *channel);
/* Gives the mutex back. False if `error` is one: the table is lost, since nothing may follow a
 * batch of which only a part was enqueued. */
bool sw_cuda_channel_end(struct sw_cuda_channel *channel, cudaError_t error);

/* The order of batches; under the mutex. What is enqueued on the channel's stream afterwards comes
 * after the last write batch; after the reads of all channels. */
cudaError_t sw_cuda_wait_for_write(struct sw_cuda_channel *channel);
cudaError_t sw_cuda_wait_for_reads(struct sw_cuda_channel *channel);
cudaError_t sw_cuda_write_submitted(struct sw_cuda_channel *channel);

/* Waits until the device has done all that was submitted to the owner's channels, and nothing else.
 * Takes the mutex. The device must be current. */
cudaError_t sw_cuda_wait_for_channels(struct sw_cuda_channel_owner *owner);

/* What sw_cuda_channel_poll does once a poll does not find the batch done. */
int sw_cuda_channel_poll_slowly(struct sw_cuda_channel *channel, uint64_t ticket);

static inline bool sw_cuda_channel_is_done(const struct sw_cuda_channel *channel, uint64_t ticket)
{
    const uint64_t *done = (const uint64_t *)sw_cuda_channel_record(channel, ticket);
    return __atomic_load_n(done, __ATOMIC_ACQUIRE) == ticket;
}

/* SW_OK once the record is final, SW_PENDING before; SW_E_DEVICE on a lost table, once the device
 * can no longer write what batches of this channel point to. */
static inline int sw_cuda_channel_poll(struct sw_cuda_channel *channel, uint64_t ticket)
{
    if (sw_cuda_channel_is_done(channel, ticket)) {
        return SW_OK;
    }
    if (!sw_cuda_is_lost(channel->owner) && ++channel->idle_polls < SW_CUDA_IDLE_POLLS) {
        return SW_PENDING;
    }
    return sw_cuda_channel_poll_slowly(channel, ticket);
}
static inline void sw_cuda_channel_completed(struct sw_cuda_channel *channel, uint64_t ticket)
{
    channel->idle_polls = 0;
    channel->busy[ticket % SW_CUDA_IN_FLIGHT_MAX] = false;
}

/* M7: tells the host that a batch is done. For one thread; the rest of the record has been written
 * by it, or by threads of its block before a barrier. The fence orders all that before the ticket,
 * and a host that loads the ticket (acquire, sw_cuda_channel_is_done) sees it. */
static __device__ inline void sw_cuda_record_ticket(uint64_t *done, uint64_t ticket)
{
    __threadfence_system();
    *(volatile uint64_t *)done = ticket;
}

#endif
