/* SPDX-License-Identifier: MIT
 *
 * shell.cuh - the common parts of the tables and queues of all engines on CUDA: open and close, and
 * submit and poll of a batch (channel.cuh) or of a combined launch (combined_launch.cuh).
 *
 * An engine E derives from sw_cuda_shell_defaults and has these types and static functions:
 *
 *   Table    derives from sw_cuda_channel_owner; has `struct sw_cuda_combined combined`
 *   Queue    derives from sw_cuda_channel; has `Table *table` and `Tally *tallies` [TALLIES], which
 *            are device memory
 *   Record   what the device reports of a batch
 *
 *   valid(config, reason, size)   SW_OK, or a status and the reason; the device is current
 *   allocate(table, config)       allocates all of the table; after a failure, call close
 *   bytes(table, config)          bytes of device memory it needs, also after such a failure
 *   close(table)                  frees a table, also one that is zeroed except its owner
 *   close_queue(queue)            frees parts of a queue besides channel and tallies
 *
 * and, if the engine uses sw_cuda_shell_submit:
 *
 *   prepare_image(queue, batch, parts)       `prepare` of sw_cuda_image_submit (image.cuh)
 *   enqueue(queue, batch, ticket)            under the mutex
 *   write(queue, combined, record, ticket)   the same for a gathered launch, after all reads
 *   status(record)                           address of the status; NULL: never SW_E_FULL
 *   copy_results(queue, batch, record)       copies the results; returns the status
 *
 * Threads: as in channel.cuh and combined_launch.cuh.
 */
#ifndef SHERWOOD_TABLE_DEVICE_SHELL_CUH
#define SHERWOOD_TABLE_DEVICE_SHELL_CUH

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table/device/combined_launch.cuh"
#include "table/device/image.cuh"
#include "table/device/memory.cuh"
#include "table/device/zeroed.cuh"

struct sw_cuda_shell_defaults {
    static int valid(const struct sw_table_config *, char *, size_t)
    {
        return SW_OK;
    }
    static void close_queue(struct sw_cuda_channel *)
    {
    }
};

/* --- members of sw_backend: tables ------------------------------------------------------------ */

template <typename E>
int sw_cuda_shell_open(const struct sw_table_config *config, void **out, char *reason,
                       size_t reason_size)
{
    *out = NULL;
    int status = sw_cuda_choose_device(config->device, reason, reason_size);
    if (status == SW_OK) {
        status = E::valid(config, reason, reason_size);
    }
    if (status != SW_OK) {
        return status;
    }
    typename E::Table *table = (typename E::Table *)calloc(1, sizeof(*table));
    if (table == NULL) {
        snprintf(reason, reason_size, "not enough host memory");
        return SW_E_NOMEM;
    }
    cudaError_t error = sw_cuda_owner_open(table, config);
    if (error == cudaSuccess) {
        error = E::allocate(table, config);
    }
    if (error != cudaSuccess) {
        const uint64_t bytes = E::bytes(table, config);
        E::close(table); /* first, so that sw_cuda_explain reports the free memory without the
                            table */
        return sw_cuda_explain(error, bytes, reason, reason_size);
    }
    *out = table;
    return SW_OK;
}

template <typename E> void *sw_cuda_shell_io_alloc(void *table, size_t bytes)
{
    return sw_cuda_io_alloc((typename E::Table *)table, bytes);
}

template <typename E> void sw_cuda_shell_io_free(void *table, void *memory, size_t bytes)
{
    sw_cuda_io_free((typename E::Table *)table, memory, bytes);
}

/* --- queues ----------------------------------------------------------------------------------- */

template <typename E> void sw_cuda_shell_queue_close(void *context)
{
    typename E::Queue *queue = (typename E::Queue *)context;
    sw_cuda_channel_close(queue);
    (void)cudaFree(queue->tallies);
    E::close_queue(queue);
    free(queue);
}

template <typename E> int sw_cuda_shell_queue_open(void *context, void **out)
{
    typename E::Table *table = (typename E::Table *)context;
    const size_t bytes = E::TALLIES * sizeof(typename E::Tally);
    static_assert(offsetof(typename E::Record, done) == 0, "channels poll the first word");
    *out = NULL;
    typename E::Queue *queue = (typename E::Queue *)calloc(1, sizeof(*queue));
    if (queue == NULL) {
        return SW_E_NOMEM;
    }
    queue->table = table;
    cudaError_t error = sw_cuda_channel_open(queue, table, sizeof(typename E::Record));
    if (error == cudaSuccess) {
        error = sw_cuda_allocate_zeroed((void **)&queue->tallies, bytes);
    }
    const bool is_short = error == cudaErrorMemoryAllocation;
    if (is_short) {
        (void)cudaGetLastError(); /* clears the runtime's last error */
    }
    if (is_short || !sw_cuda_check(table, error, "a new queue")) {
        sw_cuda_shell_queue_close<E>(queue);
        return is_short ? SW_E_NOMEM : SW_E_DEVICE;
    }
    *out = queue;
    return SW_OK;
}

template <typename E>
static inline typename E::Record *sw_cuda_shell_record(const typename E::Queue *queue,
                                                       uint64_t ticket)
{
    return (typename E::Record *)sw_cuda_channel_record(queue, ticket);
}

/* --- a batch ---------------------------------------------------------------------------------- */

template <typename E> int sw_cuda_shell_submit(void *context, struct sw_batch *batch)
{
    typename E::Queue *queue = (typename E::Queue *)context;
    const uint64_t ticket = sw_cuda_channel_ticket(queue);
    if (sw_cuda_is_lost(queue->table)) {
        return SW_E_DEVICE;
    }
    if (batch->kind == SW_BATCH_IMAGE) {
        return sw_cuda_image_submit(queue, batch, [=](struct sw_cuda_image_part *parts) {
            return E::prepare_image(queue, batch, parts);
        });
    }
    if (ticket == 0) {
        return SW_E_BUSY;
    }
    if (batch->kind == SW_BATCH_OPERATIONS && batch->group_refused != NULL) {
        memset(batch->group_refused, 0, batch->group_count);
    }
    if (!sw_cuda_channel_begin(queue) ||
        !sw_cuda_channel_end(queue, E::enqueue(queue, batch, ticket))) {
        return SW_E_DEVICE;
    }
    sw_cuda_channel_submitted(queue, ticket);
    batch->_ticket = ticket;
    return SW_OK;
}

template <typename E> int sw_cuda_shell_poll(void *context, struct sw_batch *batch)
{
    typename E::Queue *queue = (typename E::Queue *)context;
    if (batch->kind == SW_BATCH_IMAGE) {
        return sw_cuda_image_batch_poll((struct sw_cuda_image *)batch->image.memory, batch);
    }
    int status = sw_cuda_channel_poll(queue, batch->_ticket);
    if (status == SW_PENDING) {
        return SW_PENDING;
    }
    if (status == SW_OK) {
        status = E::copy_results(queue, batch, sw_cuda_shell_record<E>(queue, batch->_ticket));
    }
    sw_cuda_channel_completed(queue, batch->_ticket);
    batch->status = status;
    return status;
}

/* --- several writes together ------------------------------------------------------------------ */

/* Under the mutex. */
template <typename E>
cudaError_t sw_cuda_shell_enqueue_combined(typename E::Queue *queue,
                                           struct sw_combined_launch *combined, uint64_t ticket)
{
    struct sw_cuda_combined *memory = &queue->table->combined;
    typename E::Record *record = (typename E::Record *)memory->record;
    cudaError_t error = sw_cuda_wait_for_write(queue);
    if (error == cudaSuccess) {
        error = sw_cuda_combined_gather(memory, combined, queue->stream);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_wait_for_reads(queue);
    }
    if (error == cudaSuccess) {
        error = E::write(queue, combined, record, ticket);
    }
    if (error == cudaSuccess) {
        error = sw_cuda_combined_scatter(memory, combined, E::status(record),
                                         sw_cuda_channel_record(queue, ticket), queue->stream);
    }
    return error == cudaSuccess ? sw_cuda_write_submitted(queue) : error;
}

template <typename E>
int sw_cuda_shell_submit_combined(void *context, struct sw_combined_launch *combined)
{
    typename E::Queue *queue = (typename E::Queue *)context;
    return sw_cuda_combined_submit(queue, &queue->table->combined, combined, [=](uint64_t ticket) {
        return sw_cuda_shell_enqueue_combined<E>(queue, combined, ticket);
    });
}

template <typename E>
int sw_cuda_shell_poll_combined(void *context, struct sw_combined_launch *combined)
{
    typename E::Queue *queue = (typename E::Queue *)context;
    const int status = sw_cuda_shell_poll<E>(queue, &combined->whole);
    if (status != SW_PENDING) {
        sw_cuda_combined_finish(&queue->table->combined, combined, queue);
    }
    return status;
}

#endif
