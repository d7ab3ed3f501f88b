/* SPDX-License-Identifier: MIT
 *
 * reader.cuh - a reader: the queues that one thread has for several tables of a device. Their small
 * batches of reads share launches, which go to a stream of the reader. All other work of a queue
 * goes to the stream of its channel.
 *
 * Two rules order such a launch with the writes of each table that it reads:
 *
 *   1. The table's last write has completed when the launch is enqueued (sw_cuda_writes_are_done).
 *      So the reader's stream waits for no write, and long writes of one table delay no reads of
 *      another. A table with a write in flight has a launch of its own, which waits for that write.
 *   2. Each later write of the table waits for the launch: the channel's `shared_reads_pending` is
 *      set, and sw_cuda_wait_for_reads looks at it.
 *
 * The thread has the mutex `order` of every table of the launch from the check of rule 1 until the
 * launch is enqueued and rule 2's flag is set. So no write of these tables is enqueued in between.
 * It locks the mutexes in the order of the tables' addresses, and leaves out a table whose mutex
 * another thread keeps: no two threads wait for each other.
 *
 * Threads: only the reader's thread uses `waiting` and what sw_cuda_reader_add and _remove change.
 * Another thread may open and close the channels: at both times they have no deferred reads. The
 * launcher's `turn` guards the list of readers. Ownership: the launcher owns its readers.
 */
#ifndef SHERWOOD_TABLE_DEVICE_READER_CUH
#define SHERWOOD_TABLE_DEVICE_READER_CUH

#include "table/device/channel.cuh"

struct sw_cuda_reader {
    struct sw_cuda_reader *next;
    uint32_t thread; /* number of its thread */
    cudaStream_t stream;
    struct sw_cuda_channel *waiting; /* channels with deferred reads, in the order of the addresses
                                        of their tables */
    uint32_t waiting_count;
};

/* Adds an open channel to the reader of thread number `thread` of the owner's device. Creates the
 * reader if it does not exist. After a failure the channel has no reader. Takes the turn. */
cudaError_t sw_cuda_reader_join(struct sw_cuda_channel *channel, uint32_t thread);
/* Frees the readers of a launcher, which no channel uses. */
void sw_cuda_readers_close(struct sw_cuda_launcher *launcher);

/* Note that the channel has deferred reads, and that it has none. Do nothing without a reader. */
void sw_cuda_reader_add(struct sw_cuda_channel *channel);
void sw_cuda_reader_remove(struct sw_cuda_channel *channel);

#endif
