/* SPDX-License-Identifier: MIT
 *
 * direct.c - calls of direct reads: kernels of this process look keys up in the server's table.
 * direct_get.cu has the kernels, direct_call.h the memory that it shares with the library, and
 * direct_table.c finds the table.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cuda/direct.h"

/* Attempts to map a table that writes move meanwhile, and the pause between them. */
#define TRIES 20
#define TRY_US 5000

/* --- calls ------------------------------------------------------------------------------------ */

static struct sw_cuda_direct *direct_of(struct sherwood_cuda *cuda)
{
    return __atomic_load_n(&cuda->direct, __ATOMIC_ACQUIRE);
}

bool sw_cuda_direct_takes(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call)
{
    static const bool reads[] = {[SHERWOOD_GET] = true};
    return direct_of(cuda) != NULL && call->count <= UINT32_MAX &&
           (size_t)call->operation < sizeof(reads) && reads[call->operation] &&
           call->cache == NULL && call->times == NULL && call->range_bytes == 0 && call->table == 0;
}

static int launch(const struct sw_cuda_direct *direct, void *kernel, unsigned blocks,
                  struct sw_direct_call parameters, uint32_t flags, void *stream)
{
    void *list[] = {&parameters};
    parameters.flags |= flags;
    return direct->cuda->driver.launch(kernel, blocks, 1, 1, SW_DIRECT_BLOCK, 1, 1, 0, stream, list,
                                       NULL);
}

/* Enqueues the attempts of a large call. No more blocks begin than the device runs at the same
 * time, so each looks many keys up for one load of the view. */
static int enqueue_large(const struct sw_cuda_direct *direct, struct sw_direct_call parameters,
                         void *stream)
{
    const uint64_t wanted = ((uint64_t)parameters.count + SW_DIRECT_BLOCK - 1) / SW_DIRECT_BLOCK;
    unsigned blocks = wanted < direct->blocks_max ? (unsigned)wanted : direct->blocks_max;
    int error = 0;
    for (int i = 0; i < SW_DIRECT_ATTEMPTS && error == 0; i++) {
        const uint32_t flags =
            (i == 0 ? SW_DIRECT_FIRST : 0) | (i == SW_DIRECT_ATTEMPTS - 1 ? SW_DIRECT_LAST : 0);
        error = launch(direct, direct->large, blocks, parameters, flags, stream);
        blocks = blocks < SW_DIRECT_BLOCKS_AGAIN ? blocks : SW_DIRECT_BLOCKS_AGAIN;
    }
    return error;
}

/* Enqueues the attempts of a call, which has the state with this number. `clears`: they set `done`
 * to 0 first. */
static int enqueue(struct sw_cuda_direct *direct, size_t number, uintptr_t words, uint32_t ticket,
                   bool clears, const struct sherwood_cuda_call *call, void *stream)
{
    const struct sw_direct_call parameters = {
        .view = direct->memory,
        .state = direct->memory + offsetof(struct sw_direct_memory, states) +
                 number * sizeof(struct sw_direct_state),
        .keys = (uintptr_t)call->keys,
        .previous = (uintptr_t)call->previous,
        .found = (uintptr_t)call->found,
        .ready = words + offsetof(struct sw_cuda_words, ready),
        .done = words + offsetof(struct sw_cuda_words, done),
        .count = (uint32_t)call->count,
        .ticket = ticket,
        .flags = (call->flags == SHERWOOD_FOUND_BYTES ? SW_DIRECT_BYTES : 0) |
                 (clears ? SW_DIRECT_CLEAR : 0),
    };
    const int error =
        call->count <= SW_DIRECT_SMALL
            ? launch(direct, direct->small, 1, parameters, SW_DIRECT_FIRST | SW_DIRECT_LAST, stream)
            : enqueue_large(direct, parameters, stream);
    __atomic_fetch_add(&direct->calls, 1, __ATOMIC_RELAXED);
    return error;
}

int sw_cuda_direct_enqueue(struct sherwood_cuda *cuda, const struct sw_cuda_ordered *entry,
                           uintptr_t words, const struct sherwood_cuda_call *call)
{
    return enqueue(direct_of(cuda), (size_t)(entry - cuda->ordered), words, entry->ticket,
                   entry->captured, call, call->stream);
}

bool sw_cuda_direct_read(struct sherwood_cuda *cuda, const struct sherwood_cuda_call *call)
{
    struct sw_cuda_direct *direct = direct_of(cuda);
    const struct sw_driver *driver = &cuda->driver;
    void *stream = call->when == SHERWOOD_CUDA_NOW ? direct->waiting : call->stream;
    pthread_mutex_lock(&direct->waits);
    const uint32_t ticket = ++direct->ticket;
    const bool read =
        enqueue(direct, SW_CUDA_ENTRIES, direct->words_address, ticket, false, call, stream) == 0 &&
        driver->stream_synchronize(stream) == 0 &&
        __atomic_load_n(&direct->words->done, __ATOMIC_ACQUIRE) == ticket;
    pthread_mutex_unlock(&direct->waits);
    if (!read) {
        sw_cuda_direct_missed(cuda);
    }
    return read;
}

void sw_cuda_direct_missed(struct sherwood_cuda *cuda)
{
    struct sw_cuda_direct *direct = direct_of(cuda);
    __atomic_fetch_add(&direct->missed, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(&direct->lock);
    direct->is_missed = true;
    pthread_cond_signal(&direct->changed);
    pthread_mutex_unlock(&direct->lock);
}

uint64_t sherwood_cuda_direct_calls(struct sherwood_cuda *cuda, uint64_t *by_server)
{
    const struct sw_cuda_direct *direct = cuda == NULL ? NULL : direct_of(cuda);
    if (by_server != NULL) {
        *by_server = direct == NULL ? 0 : __atomic_load_n(&direct->missed, __ATOMIC_RELAXED);
    }
    return direct == NULL ? 0 : __atomic_load_n(&direct->calls, __ATOMIC_RELAXED);
}

/* --- begin and end ---------------------------------------------------------------------------- */

/* Sets how many blocks of the kernel of large calls the device runs at the same time. */
static int count_blocks(struct sw_cuda_direct *direct)
{
    const struct sw_driver *driver = &direct->cuda->driver;
    int device = 0, multiprocessors = 0, each = 0;
    int error = driver->context_device(&device);
    if (error == 0) {
        error = driver->device_attribute(&multiprocessors, SW_DRIVER_MULTIPROCESSORS, device);
    }
    if (error == 0) {
        error = driver->resident_blocks(&each, direct->large, SW_DIRECT_BLOCK, 0);
    }
    const unsigned blocks = (unsigned)multiprocessors * (unsigned)each;
    direct->blocks_max = blocks < SW_DIRECT_BLOCKS_MAX ? blocks : SW_DIRECT_BLOCKS_MAX;
    return error;
}

static int load(struct sw_cuda_direct *direct, uint32_t slot_bits)
{
    const struct sw_driver *driver = &direct->cuda->driver;
    const bool narrow = slot_bits == 64;
    int error = driver->module_load(&direct->module, sw_cuda_direct_image);
    if (error == 0) {
        error = driver->module_function(&direct->small, direct->module,
                                        narrow ? "sw_direct_small_64" : "sw_direct_small_128");
    }
    if (error == 0) {
        error = driver->module_function(&direct->large, direct->module,
                                        narrow ? "sw_direct_large_64" : "sw_direct_large_128");
    }
    if (error == 0) {
        error = count_blocks(direct);
    }
    if (error != 0) {
        return sw_cuda_fail(SHERWOOD_E_REQUEST, "cannot load the kernel of direct reads: %s",
                            sw_cuda_direct_image[0] == '\0'
                                ? "this libsherwood-cuda was built without nvcc; build it with nvcc"
                                : sw_driver_text(driver, error));
    }
    return SHERWOOD_OK;
}

/* Allocates the memory, which is zero, and makes the streams. */
static int allocate(struct sw_cuda_direct *direct)
{
    const struct sw_driver *driver = &direct->cuda->driver;
    struct sw_direct_memory *zero = calloc(1, sizeof(*zero));
    int error = driver->memory_allocate(&direct->memory, sizeof(*zero));
    if (error == 0) {
        error = driver->stream_create(&direct->stream, SW_DRIVER_STREAM_NON_BLOCKING);
    }
    if (error == 0) {
        error = driver->stream_create(&direct->waiting, SW_DRIVER_STREAM_NON_BLOCKING);
    }
    if (error == 0) {
        error = driver->host_allocate((void **)&direct->words, sizeof(*direct->words),
                                      SW_DRIVER_HOST_PORTABLE | SW_DRIVER_HOST_MAPPED);
    }
    if (error == 0) {
        memset(direct->words, 0, sizeof(*direct->words));
        error = driver->host_address(&direct->words_address, direct->words, 0);
    }
    if (error == 0 && zero != NULL) {
        error = sw_direct_copy(direct, direct->memory, (uintptr_t)zero, sizeof(*zero));
    }
    const bool done = error == 0 && zero != NULL;
    free(zero);
    return done ? SHERWOOD_OK
                : sw_cuda_fail(SHERWOOD_E_NOMEM, "cannot allocate memory for direct reads: %s",
                               sw_driver_text(driver, error));
}

/* Maps the table. A write may replace its arrays between the server's reply and the mapping. */
static int map_first(struct sw_cuda_direct *direct)
{
    int status = sw_direct_renew(direct);
    for (int i = 1; i < TRIES && status != SHERWOOD_OK; i++) {
        (void)usleep(TRY_US);
        status = sw_direct_renew(direct);
    }
    return status;
}

/* With the context current. */
static int begin(struct sw_cuda_direct *direct)
{
    struct sherwood_table_memory table;
    uint8_t uuid[16];
    struct sherwood_cuda *cuda = direct->cuda;
    sw_cuda_take_turn(cuda);
    int status = sherwood_region_device(cuda->client, uuid);
    sw_cuda_give_turn(cuda);
    if (status == SHERWOOD_OK && memcmp(uuid, cuda->uuid, sizeof(uuid)) != 0) {
        return sw_cuda_fail(SHERWOOD_E_REQUEST,
                            "direct reads need the server's device, and this handle is of another "
                            "one: attach with the server's device");
    }
    status = sw_direct_describe(direct, &table);
    if (status == SHERWOOD_OK) {
        status = load(direct, table.slot_bits);
    }
    if (status == SHERWOOD_OK) {
        status = allocate(direct);
    }
    if (status == SHERWOOD_OK) {
        status = map_first(direct);
    }
    return status == SHERWOOD_OK ? sw_direct_start(direct) : status;
}

/* Frees what kernels use. With the context current, after sw_direct_unmap(). */
static void free_direct(struct sw_cuda_direct *direct)
{
    const struct sw_driver *driver = &direct->cuda->driver;
    if (direct->memory != 0) {
        (void)driver->memory_free(direct->memory);
    }
    if (direct->words != NULL) {
        (void)driver->host_free(direct->words);
    }
    if (direct->stream != NULL) {
        (void)driver->stream_destroy(direct->stream);
    }
    if (direct->waiting != NULL) {
        (void)driver->stream_destroy(direct->waiting);
    }
    if (direct->module != NULL) {
        (void)driver->module_unload(direct->module);
    }
    pthread_mutex_destroy(&direct->waits);
    free(direct);
}

/* Undoes what a failed begin has done. */
static void take_back(struct sw_cuda_direct *direct)
{
    struct sherwood_cuda *cuda = direct->cuda;
    sw_direct_unmap(direct);
    sw_cuda_take_turn(cuda);
    (void)sherwood_region_destroy(direct->region);
    sw_cuda_give_turn(cuda);
    free_direct(direct);
}

int sherwood_cuda_direct(struct sherwood_cuda *cuda)
{
    if (cuda == NULL) {
        return SHERWOOD_E_INVALID;
    }
    if (__atomic_exchange_n(&cuda->direct_begun, true, __ATOMIC_ACQ_REL)) {
        return direct_of(cuda) != NULL
                   ? SHERWOOD_OK
                   : sw_cuda_fail(SHERWOOD_E_BUSY,
                                  "another thread begins direct reads: wait for it");
    }
    struct sw_cuda_direct *direct = calloc(1, sizeof(*direct));
    if (direct == NULL) {
        __atomic_store_n(&cuda->direct_begun, false, __ATOMIC_RELEASE);
        return sw_cuda_fail(SHERWOOD_E_NOMEM, "not enough memory");
    }
    int mode;
    direct->cuda = cuda;
    pthread_mutex_init(&direct->waits, NULL);
    (void)sw_driver_enter(&cuda->driver, cuda->context, &mode);
    const int status = begin(direct);
    if (status == SHERWOOD_OK) {
        __atomic_store_n(&cuda->direct, direct, __ATOMIC_RELEASE);
    } else {
        take_back(direct);
        __atomic_store_n(&cuda->direct_begun, false, __ATOMIC_RELEASE);
    }
    sw_driver_leave(&cuda->driver, mode);
    return status;
}

void sw_cuda_direct_close(struct sherwood_cuda *cuda)
{
    struct sw_cuda_direct *direct = direct_of(cuda);
    if (direct == NULL) {
        return;
    }
    pthread_mutex_lock(&direct->lock);
    direct->ends = true;
    pthread_cond_signal(&direct->changed);
    pthread_mutex_unlock(&direct->lock);
    pthread_join(direct->thread, NULL);
}

void sw_cuda_direct_free(struct sherwood_cuda *cuda)
{
    struct sw_cuda_direct *direct = direct_of(cuda);
    if (direct != NULL) {
        pthread_mutex_destroy(&direct->lock);
        pthread_cond_destroy(&direct->changed);
        free_direct(direct);
    }
}
