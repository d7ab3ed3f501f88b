/* SPDX-License-Identifier: MIT
 *
 * direct_table.c - where the server's table lies, for the kernels of direct reads.
 *
 * A thread asks the server every RENEW_MS, and soon after a call that the kernels could not answer.
 * So it notices other arrays, which growth makes, and a server that ended or that refuses. It maps
 * the table by CUDA IPC. It alone maps and unmaps, because unmapping may wait for the streams of
 * the device, and these may wait for the thread of ordered.c.
 */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/cuda/direct.h"

#define LAYOUT 1 /* SW_DIRECT_LAYOUT of table/exported_table.h */
#define RENEW_MS 100
/* Pause between renewals after calls that the server answered. */
#define RENEW_MS_MIN 10
#define POLL_US 20

/* --- the view; on the thread, with the context current ---------------------------------------- */

int sw_direct_copy(const struct sw_cuda_direct *direct, uintptr_t to, uintptr_t from, size_t bytes)
{
    const struct sw_driver *driver = &direct->cuda->driver;
    const int error = driver->copy(to, from, bytes, direct->stream);
    return error == 0 ? driver->stream_synchronize(direct->stream) : error;
}

/* Waits until no block of a kernel is active. New ones find the generation 0. */
static int wait_for_kernels(const struct sw_cuda_direct *direct)
{
    struct sw_direct_state states[SW_DIRECT_STATES];
    bool active = true;
    while (active) {
        const int error = sw_direct_copy(direct, (uintptr_t)states,
                                         direct->memory + offsetof(struct sw_direct_memory, states),
                                         sizeof(states));
        if (error != 0) {
            return error;
        }
        active = false;
        for (int i = 0; i < SW_DIRECT_STATES; i++) {
            active |= states[i].started != 0;
        }
        if (active) {
            (void)usleep(POLL_US);
        }
    }
    return 0;
}

/* After an error of the driver the memory stays mapped: kernels may still use it. */
static void unmap_arrays(struct sw_cuda_direct *direct)
{
    const uint64_t none = 0;
    if (direct->arrays == 0 ||
        sw_direct_copy(direct, direct->memory + offsetof(struct sw_direct_view, generation),
                       (uintptr_t)&none, sizeof(none)) != 0 ||
        wait_for_kernels(direct) != 0) {
        return;
    }
    (void)direct->cuda->driver.memory_close(direct->arrays);
    direct->arrays = 0;
    direct->table.generation = 0;
}

void sw_direct_unmap(struct sw_cuda_direct *direct)
{
    unmap_arrays(direct);
    if (direct->arrays == 0 && direct->page != 0) {
        (void)direct->cuda->driver.memory_close(direct->page);
        direct->page = 0;
    }
}

static int open_handle(const struct sw_cuda_direct *direct, const uint8_t bytes[64],
                       uintptr_t *memory)
{
    struct sw_driver_handle handle;
    memcpy(handle.bytes, bytes, sizeof(handle.bytes));
    return direct->cuda->driver.memory_open(memory, handle, SW_DRIVER_IPC_LAZY_PEERS);
}

/* Maps the table that is described. The generation is copied last. */
static int map(struct sw_cuda_direct *direct, const struct sherwood_table_memory *table)
{
    if (direct->page != 0 &&
        memcmp(direct->table.page_handle, table->page_handle, sizeof(table->page_handle)) != 0) {
        sw_direct_unmap(direct);
    }
    int error = direct->page == 0 ? open_handle(direct, table->page_handle, &direct->page) : 0;
    if (error == 0) {
        error = open_handle(direct, table->arrays_handle, &direct->arrays);
    }
    if (error != 0) {
        return error;
    }
    direct->table = *table;
    struct sw_direct_view view = {
        .page = direct->page,
        .slots = direct->arrays,
        .seed = table->seed,
        .buckets = table->buckets,
        .buckets_total = table->buckets_total,
        .max_probe = table->max_probe,
        .stash_buckets = table->stash_buckets,
        .stash_buckets_total = table->stash_buckets_total,
    };
    error = sw_direct_copy(direct, direct->memory, (uintptr_t)&view, sizeof(view));
    view.generation = table->generation;
    return error == 0 ? sw_direct_copy(direct,
                                       direct->memory + offsetof(struct sw_direct_view, generation),
                                       (uintptr_t)&view.generation, sizeof(view.generation))
                      : error;
}

/* --- the server --------------------------------------------------------------------------------
 */

/* Asks the server where the table lies. Returns a status, and its sentence in the thread's. */
int sw_direct_describe(struct sw_cuda_direct *direct, struct sherwood_table_memory *table)
{
    struct sherwood_cuda *cuda = direct->cuda;
    *table = (struct sherwood_table_memory)SHERWOOD_TABLE_MEMORY_INIT;
    sw_cuda_take_turn(cuda);
    int status = sherwood_region_table(cuda->client, &direct->region, table);
    if (status != SHERWOOD_OK) {
        (void)sw_cuda_fail(status, "%s", sherwood_error(cuda->client));
    }
    sw_cuda_give_turn(cuda);
    if (status == SHERWOOD_OK &&
        (table->layout != LAYOUT || (table->slot_bits != 64 && table->slot_bits != 128))) {
        status = sw_cuda_fail(SHERWOOD_E_REQUEST,
                              "the server's table has the layout %u, and this libsherwood-cuda "
                              "reads %d: install the same version of both",
                              table->layout, LAYOUT);
    }
    return status;
}

/* Maps what the server describes now, or nothing. */
int sw_direct_renew(struct sw_cuda_direct *direct)
{
    struct sherwood_table_memory table;
    int status = sw_direct_describe(direct, &table);
    if (status == SHERWOOD_OK && direct->arrays != 0 &&
        table.generation == direct->table.generation) {
        return SHERWOOD_OK;
    }
    unmap_arrays(direct);
    if (status != SHERWOOD_OK || direct->arrays != 0) {
        return status;
    }
    const int error = map(direct, &table);
    if (error != 0) {
        sw_direct_unmap(direct);
        status = sw_cuda_fail(SHERWOOD_E_REQUEST, "cannot map the server's table: %s",
                              sw_driver_text(&direct->cuda->driver, error));
    }
    return status;
}

/* Waits for the time of the next renewal. Returns whether the thread goes on. */
static bool wait_for_renewal(struct sw_cuda_direct *direct)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    const uint64_t ns = (uint64_t)until.tv_nsec + RENEW_MS * UINT64_C(1000000);
    until.tv_sec += (time_t)(ns / 1000000000);
    until.tv_nsec = (long)(ns % 1000000000);
    int waited = 0;
    pthread_mutex_lock(&direct->lock);
    while (!direct->ends && !direct->is_missed && waited == 0) {
        waited = pthread_cond_timedwait(&direct->changed, &direct->lock, &until);
    }
    direct->is_missed = false;
    const bool goes_on = !direct->ends;
    pthread_mutex_unlock(&direct->lock);
    return goes_on;
}

static void *run_thread(void *argument)
{
    struct sw_cuda_direct *direct = argument;
    const struct sw_driver *driver = &direct->cuda->driver;
    int mode;
    (void)sw_driver_enter(driver, direct->cuda->context, &mode);
    while (wait_for_renewal(direct)) {
        (void)sw_direct_renew(direct); /* after a failure nothing is mapped: the server answers */
        (void)usleep(RENEW_MS_MIN * 1000);
    }
    sw_direct_unmap(direct);
    sw_driver_leave(driver, mode);
    return NULL;
}

int sw_direct_start(struct sw_cuda_direct *direct)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&direct->lock, NULL);
    pthread_cond_init(&direct->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    direct->has_thread = pthread_create(&direct->thread, NULL, run_thread, direct) == 0;
    return direct->has_thread ? SHERWOOD_OK
                              : sw_cuda_fail(SHERWOOD_E_NOMEM, "cannot start a thread");
}
