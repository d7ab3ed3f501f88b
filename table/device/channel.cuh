/* SPDX-License-Identifier: MIT
 *
 * channel.cuh - the common part of the CUDA queues of all engines. Each queue has a channel: a CUDA
 * stream, and a record in host memory for each batch in flight. The file defines tickets,
 * completion by a polled word, and the order of batches between channels.
 *
 * Order: every batch waits, on the device, for the last write batch. A write batch also waits for
 * the reads of every channel before it changes anything. So phases do not mix (rule 5 of
 * table/robin_hood/README.md; rule 1 of table/cuckoo/README.md). All submissions hold one mutex, so
 * "last" is well defined and no event is recorded twice at once. The host waits only for that
 * mutex.
 *
 * A batch, from submit to completion:
 *
 *   ticket = sw_cuda_channel_ticket(channel)              0: SW_E_BUSY
 *   sw_cuda_channel_begin(channel)                        locks the mutex
 *     sw_cuda_wait_for_write(channel)                     before anything is read
 *     reads: sw_cuda_reads_launched(channel), launch      the last kernel fills the batch's record
 *     writes: sw_cuda_wait_for_reads(channel), launch, sw_cuda_write_submitted(channel)
 *   sw_cuda_channel_end(channel, error)                   unlocks the mutex
 *   sw_cuda_channel_submitted(channel, ticket)
 *   sw_cuda_channel_poll(channel, ticket)                 until it is not SW_PENDING
 *   sw_cuda_channel_completed(channel, ticket)            the record may be used again
 *
 * Threads: `order` guards what submit changes in the owner and in other channels. Only the queue's
 * thread uses the rest of a channel. An engine's table derives from the owner, its queue from the
 * channel. Zeroed memory is a valid initial state of both, also for the _close functions.
 */
#ifndef SHERWOOD_TABLE_DEVICE_CHANNEL_CUH
#define SHERWOOD_TABLE_DEVICE_CHANNEL_CUH

#include <cuda_runtime.h>
#include <pthread.h>
#include <stdint.h>

#include "table/device/records.cuh"
#include "table/table.h"

/* Maximum batches in flight on one channel; submitting one more returns SW_E_BUSY. */
#define SW_CUDA_IN_FLIGHT_MAX 64

/* Unsuccessful polls before the host checks the stream for errors. */
#define SW_CUDA_IDLE_POLLS 65536

struct sw_cuda_channel;
struct sw_cuda_direct;   /* direct.cuh */
struct sw_cuda_lane;     /* launcher.cuh */
struct sw_cuda_launcher; /* launcher.cuh */
struct sw_cuda_reader;   /* reader.cuh */
struct sw_device;        /* device.h */

#define SW_CUDA_BUS_ID_BYTES 32

struct sw_cuda_channel_owner {
    int device;
    struct sw_device *own_device; /* NULL: the table shares a device */
    struct sw_cuda_launcher *launcher;
    pthread_mutex_t order;
    bool pins_mapped;                 /* the device uses mapped memory at the host's addresses */
    uint32_t order_tries;             /* to lock `order`, before a thread sleeps (brief_lock.h) */
    struct sw_cuda_channel *channels; /* under `order` */
    uint32_t channel_count;           /* with a stream; under the launcher's turn */
    cudaEvent_t write_done;           /* recorded after the last write batch submitted */
    uint64_t writes;                  /* write batches submitted */
    struct sw_cuda_direct *direct;    /* under `order`; NULL: no direct reads */
    int lost;                         /* atomic; 1: a CUDA call failed, and the table is unusable */
    char bus_id[SW_CUDA_BUS_ID_BYTES]; /* PCI address of the device; empty: unknown */
};

struct sw_cuda_channel {
    struct sw_cuda_channel_owner *owner;
    struct sw_cuda_channel *next;
    cudaStream_t stream;
    cudaEvent_t reads_done;
    bool reads_pending;    /* reads were submitted, and no write batch waits for them yet */
    uint64_t reads;        /* launches of reads on this stream */
    uint64_t reads_polled; /* atomic: `reads` when the queue last had no batch in flight */
    uint64_t writes_seen;  /* the owner's `writes` when this stream last waited for them */
    uint64_t writes_done;  /* the owner's `writes` when they were last known to have completed */
    struct sw_cuda_reader *reader;        /* NULL: none */
    struct sw_cuda_channel *next_waiting; /* of the reader's list */
    bool shared_reads_pending;            /* like reads_pending, for reads on the reader's stream */
    bool has_turn;                        /* this and `lane`: launcher.cuh */
    struct sw_cuda_lane *lane;
    uint64_t writes_before; /* the owner's `writes` when the turn began */

    /* Records, in mapped host memory. A batch takes the first free place, so a channel with one
     * batch in flight has one record. Block b has the places after b * SW_CUDA_BLOCK_RECORDS. */
    char *first;                                                 /* record of place 0 */
    char *blocks[SW_CUDA_IN_FLIGHT_MAX / SW_CUDA_BLOCK_RECORDS]; /* NULL: none yet */
    size_t record_bytes;
    uint64_t busy;   /* bit p: place p has the record of a batch in flight */
    uint64_t ticket; /* ticket of the last batch submitted. A ticket modulo SW_CUDA_IN_FLIGHT_MAX is
                        the place of its record */
    uint32_t idle_polls;
};

/* --- tables (owner.cu) ------------------------------------------------------------------------ */

/* Makes device `ordinal` current; writes its name and the code that runs on it to `reason`. Returns
 * SW_OK, or SW_E_NODEVICE with an error text in `reason`. */
int sw_cuda_choose_device(int ordinal, char *reason, size_t reason_size);
/* Returns the status, and writes the error text, of a failure to create a table with `bytes` of
 * device memory. Call it after the table's memory was freed. */
int sw_cuda_explain(cudaError_t error, uint64_t bytes, char *reason, size_t reason_size);

/* The configured device must be current. After a failure, call sw_cuda_owner_close. */
cudaError_t sw_cuda_owner_open(struct sw_cuda_channel_owner *owner,
                               const struct sw_table_config *config);
/* Every channel must have been closed. Makes the device current. */
void sw_cuda_owner_close(struct sw_cuda_channel_owner *owner);
/* Returns the bytes of the table's own struct sw_device; 0: it shares one. */
uint64_t sw_cuda_owner_bytes(const struct sw_cuda_channel_owner *owner);

/* Returns true if `error` is cudaSuccess. Otherwise marks the table as lost; the first time, also
 * writes one line on stderr that names the failed step `what`. */
bool sw_cuda_check(struct sw_cuda_channel_owner *owner, cudaError_t error, const char *what);
static inline bool sw_cuda_is_lost(const struct sw_cuda_channel_owner *owner)
{
    return __atomic_load_n(&owner->lost, __ATOMIC_RELAXED) != 0;
}

/* Implement io_alloc and io_free of sw_backend. */
void *sw_cuda_io_alloc(const struct sw_cuda_channel_owner *owner, size_t bytes);
void sw_cuda_io_free(const struct sw_cuda_channel_owner *owner, void *memory, size_t bytes);

/* --- queues (channel.cu) -------------------------------------------------------------------------
 */

/* Makes the device current. An engine's record begins with a 64-bit word, which receives the ticket
 * once the batch is done (sw_cuda_record_ticket). After a failure, call sw_cuda_channel_close. Pass
 * the error to sw_cuda_check unless it is cudaErrorMemoryAllocation. */
cudaError_t sw_cuda_channel_open(struct sw_cuda_channel *channel,
                                 struct sw_cuda_channel_owner *owner, size_t record_bytes);
/* Waits for the stream: afterwards the caller may free the memory that its batches used. */
void sw_cuda_channel_close(struct sw_cuda_channel *channel);

/* Returns the record of a batch. */
static inline void *sw_cuda_channel_record(const struct sw_cuda_channel *channel, uint64_t ticket)
{
    const uint64_t place = ticket % SW_CUDA_IN_FLIGHT_MAX;
    return place == 0 ? channel->first
                      : channel->blocks[(place - 1) / SW_CUDA_BLOCK_RECORDS] +
                            (place - 1) % SW_CUDA_BLOCK_RECORDS * channel->record_bytes;
}

/* Allocates the block of this place, which is not 0. Returns false if there is no memory, or the
 * table is lost. */
bool sw_cuda_channel_add_block(struct sw_cuda_channel *channel, uint32_t place);

/* Returns the ticket of the next batch; 0 if no record is free for it, or there is no memory for
 * another block of records. */
static inline uint64_t sw_cuda_channel_ticket(struct sw_cuda_channel *channel)
{
    static_assert(SW_CUDA_IN_FLIGHT_MAX == 64, "`busy` has a bit for each place");
    if (~channel->busy == 0) {
        return 0;
    }
    const uint32_t place = (uint32_t)__builtin_ctzll(~channel->busy);
    if (place != 0 && channel->blocks[(place - 1) / SW_CUDA_BLOCK_RECORDS] == NULL &&
        !sw_cuda_channel_add_block(channel, place)) {
        return 0;
    }
    return (channel->ticket / SW_CUDA_IN_FLIGHT_MAX + 1) * SW_CUDA_IN_FLIGHT_MAX + place;
}
/* Returns whether the batch submitted last is in flight. */
static inline bool sw_cuda_channel_is_busy(const struct sw_cuda_channel *channel)
{
    return (channel->busy >> channel->ticket % SW_CUDA_IN_FLIGHT_MAX & 1) != 0;
}
static inline void sw_cuda_channel_submitted(struct sw_cuda_channel *channel, uint64_t ticket)
{
    channel->ticket = ticket;
    channel->busy |= 1ULL << ticket % SW_CUDA_IN_FLIGHT_MAX;
}

/* Makes the device current, if the thread has another one. */
cudaError_t sw_cuda_use_device(int device);
/* Makes the device current and locks the mutex. Returns false on a lost table, with the mutex
 * unlocked. */
bool sw_cuda_channel_begin(struct sw_cuda_channel *channel);
/* Locks the mutex likewise if it is unlocked at one of 1 + `tries` attempts. Otherwise returns
 * false. The device must be current. */
bool sw_cuda_channel_try_begin(struct sw_cuda_channel *channel, uint32_t tries);
/* Unlocks the mutex. If `error` is not cudaSuccess, marks the table as lost and returns false: no
 * batch may follow a partly enqueued one. */
bool sw_cuda_channel_end(struct sw_cuda_channel *channel, cudaError_t error);

/* Notes that reads are launched on the channel's stream. Under the mutex. */
static inline void sw_cuda_reads_launched(struct sw_cuda_channel *channel)
{
    channel->reads_pending = true;
    channel->reads++;
}

/* The order of batches; call these under the mutex. Work enqueued on the channel's stream
 * afterwards runs after the last write batch (wait_for_write) or after the reads of all channels
 * (wait_for_reads). write_submitted marks the work enqueued so far as the last write batch. */
cudaError_t sw_cuda_wait_for_write(struct sw_cuda_channel *channel);
cudaError_t sw_cuda_wait_for_reads(struct sw_cuda_channel *channel);
cudaError_t sw_cuda_write_submitted(struct sw_cuda_channel *channel);
/* Returns whether all writes of the table submitted so far have completed. Then work that is
 * enqueued on any stream sees them (M1). Under the mutex. */
bool sw_cuda_writes_are_done(struct sw_cuda_channel *channel);

/* Waits until the device has completed all work submitted to the owner's channels; does not wait
 * for other streams. Locks the mutex. The device must be current. */
cudaError_t sw_cuda_wait_for_channels(struct sw_cuda_channel_owner *owner);

/* The slow path of sw_cuda_channel_poll: for a lost table, or after SW_CUDA_IDLE_POLLS unsuccessful
 * polls. */
int sw_cuda_channel_poll_slowly(struct sw_cuda_channel *channel, uint64_t ticket);

/* M7: the device stores the ticket after the answers, so the acquire load makes them visible. */
static inline bool sw_cuda_channel_is_done(const struct sw_cuda_channel *channel, uint64_t ticket)
{
    const uint64_t *done = (const uint64_t *)sw_cuda_channel_record(channel, ticket);
    return __atomic_load_n(done, __ATOMIC_ACQUIRE) == ticket;
}

/* Returns SW_OK once the record is final, SW_PENDING before. On a lost table returns SW_E_DEVICE
 * once the device can no longer write the memory of this channel's batches. */
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
    channel->busy &= ~(1ULL << ticket % SW_CUDA_IN_FLIGHT_MAX);
    if (channel->busy == 0) {
        __atomic_store_n(&channel->reads_polled, channel->reads, __ATOMIC_RELEASE);
    }
}

/* M7: reports to the host that a batch is done. One thread calls it; that thread, or threads of its
 * block before a barrier, have written the rest of the record. The fence orders these writes before
 * the ticket. A host that loads the ticket (acquire, sw_cuda_channel_is_done) sees them. */
static __device__ inline void sw_cuda_record_ticket(uint64_t *done, uint64_t ticket)
{
    __threadfence_system();
    *(volatile uint64_t *)done = ticket;
}

#endif
