/* SPDX-License-Identifier: MIT
 *
 * audit.cu - reads a whole table back from the device and checks it on the host.
 */
#include "table/robin_hood/check.h"
#include "table/robin_hood/cuda/times/expiry.cuh"
#include "table/robin_hood/id_audit.h"
#include "table/robin_hood/row_audit.h"
#include "table/robin_hood/time_audit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_back(struct sw_cuda_table *table, struct sw_state *state, void *slots)
{
    cudaError_t error = cudaSetDevice(table->device);
    if (error == cudaSuccess) {
        error = sw_cuda_wait_for_channels(table);
    }
    if (error == cudaSuccess) {
        error = cudaMemcpyAsync(state, table->state, sizeof(*state), cudaMemcpyDeviceToHost,
                                cudaStreamPerThread);
    }
    if (error == cudaSuccess) {
        error = cudaMemcpyAsync(slots, table->arrays.slots,
                                table->arrays.geometry.slots_total *
                                    sw_format_slot_bytes(table->format),
                                cudaMemcpyDeviceToHost, cudaStreamPerThread);
    }
    if (error == cudaSuccess) {
        error = cudaStreamSynchronize(cudaStreamPerThread);
    }
    return sw_cuda_check(table, error, "reading the table back") ? SW_OK : SW_E_DEVICE;
}

static cudaError_t copy_back(void *to, const void *from, size_t bytes)
{
    cudaError_t error =
        cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, cudaStreamPerThread);
    return error == cudaSuccess ? cudaStreamSynchronize(cudaStreamPerThread) : error;
}

static int check_rows(struct sw_cuda_table *table, const struct sw_state *state, const void *slots,
                      char *violation, size_t violation_size)
{
    struct sw_cuda_row_stack stack = {};
    const struct sw_cuda_rows *view = &table->arena.view;
    cudaError_t error = copy_back(&stack, view->stack, sizeof(stack));
    uint32_t *free_rows = (uint32_t *)malloc((stack.free_count + 1) * sizeof(uint32_t));
    if (error == cudaSuccess && free_rows != NULL) {
        error = copy_back(free_rows, view->free, stack.free_count * sizeof(uint32_t));
    }
    const struct sw_rows_in_use rows = {free_rows, stack.free_count, stack.high,
                                        sw_cuda_arena_mapped(&table->arena)};
    int status = free_rows == NULL ? SW_E_NOMEM : SW_E_DEVICE;
    if (sw_cuda_check(table, error, "reading the rows back") && free_rows != NULL) {
        status = sw_check_rows(table->slot_bits, &table->arrays.geometry, state, slots, &rows,
                               violation, violation_size);
    }
    free(free_rows);
    return status;
}

/* Counts the free ids of each word of level `level` in a copy of the map, where the words of the
 * level below are bits or counts. Returns false with a text if a count differs. */
static bool counts_are_right(const struct sw_cuda_id_map *copy, uint32_t level, char *violation,
                             size_t violation_size)
{
    const uint64_t words = sw_cuda_id_words(copy->limit, level - 1);
    for (uint64_t w = 0; w < words; w += 32) {
        uint32_t count = 0;
        for (uint64_t below = w; below < w + 32; below++) {
            const uint32_t word = copy->levels[level - 1][below];
            count += level == 1 ? (uint32_t)__builtin_popcount(word) : word;
        }
        if (copy->levels[level][w / 32] != count) {
            snprintf(violation, violation_size,
                     "I16: word %llu of level %u of the map of ids counts %u free ids, not %u",
                     (unsigned long long)(w / 32), (unsigned)level,
                     (unsigned)copy->levels[level][w / 32], (unsigned)count);
            return false;
        }
    }
    return true;
}

/* Checks a copy of the map against the entries. */
static int check_id_map(const struct sw_cuda_id_map *copy, const struct sw_id_entries *entries,
                        char *violation, size_t violation_size)
{
    struct sw_ids in_use;
    for (uint32_t level = 1; level < copy->level_count; level++) {
        if (!counts_are_right(copy, level, violation, violation_size)) {
            return SW_E_INVALID;
        }
    }
    if (sw_ids_open(&in_use, copy->limit) != SW_OK) {
        return SW_E_NOMEM;
    }
    for (uint64_t id = 0; id < copy->limit; id++) {
        if ((copy->levels[0][id / 32] >> id % 32 & 1) == 0) {
            sw_ids_mark(&in_use, id);
        }
    }
    const int status = sw_check_ids(entries, &in_use, violation, violation_size);
    sw_ids_close(&in_use);
    return status;
}

static int check_ids(struct sw_cuda_table *table, const struct sw_state *state, const void *slots,
                     char *violation, size_t violation_size)
{
    const struct sw_cuda_id_map *map = &table->ids.map;
    const struct sw_id_entries entries = {table->slot_bits, slots,
                                          table->arrays.geometry.slots_total, state};
    struct sw_cuda_id_map copy = *map;
    bool allocated = true;
    cudaError_t error = cudaSuccess;
    for (uint32_t level = 0; level < map->level_count; level++) {
        const uint64_t bytes = sw_cuda_id_words(map->limit, level) * sizeof(uint32_t);
        copy.levels[level] = (uint32_t *)malloc(bytes);
        allocated = allocated && copy.levels[level] != NULL;
        if (allocated && error == cudaSuccess) {
            error = copy_back(copy.levels[level], map->levels[level], bytes);
        }
    }
    int status = allocated ? SW_E_DEVICE : SW_E_NOMEM;
    if (sw_cuda_check(table, error, "reading the ids back") && allocated) {
        status = check_id_map(&copy, &entries, violation, violation_size);
    }
    for (uint32_t level = 0; level < map->level_count; level++) {
        free(copy.levels[level]);
    }
    return status;
}

/* Checks the expiry times against the entries. Nothing may change the times meanwhile. */
static int check_times(struct sw_cuda_table *table, struct sw_state *state, void *slots,
                       char *violation, size_t violation_size)
{
    struct sw_cuda_table *times = table->expiry->times;
    struct sw_state times_state;
    void *times_slots = malloc((size_t)times->arrays.geometry.bytes_total);
    if (times_slots == NULL) {
        return SW_E_NOMEM;
    }
    int status = read_back(times, &times_state, times_slots);
    if (status == SW_OK) {
        const struct sw_audited entries = {table->slot_bits, &table->arrays.geometry, state, slots,
                                           table->config.seed};
        const struct sw_audited at = {128, &times->arrays.geometry, &times_state, times_slots,
                                      times->config.seed};
        status = sw_check_times(&entries, &at, table->expiry->pass.next, violation, violation_size);
    }
    free(times_slots);
    return status;
}

int sw_cuda_audit(void *context, char *violation, size_t violation_size)
{
    struct sw_cuda_table *table = (struct sw_cuda_table *)context;
    struct sw_state state;
    void *slots = malloc((size_t)table->arrays.geometry.bytes_total);
    if (slots == NULL) {
        return SW_E_NOMEM;
    }
    int status = read_back(table, &state, slots);
    if (status == SW_OK) {
        status = sw_check_slots(table->format, &table->arrays.geometry, &state, slots, violation,
                                violation_size);
    }
    if (status == SW_OK && sw_cuda_has_rows(table)) {
        status = check_rows(table, &state, slots, violation, violation_size);
    }
    if (status == SW_OK && sw_cuda_has_ids(table)) {
        status = check_ids(table, &state, slots, violation, violation_size);
    }
    if (status == SW_OK && table->expiry != NULL && sw_cuda_expiry_is_open(table->expiry)) {
        status = check_times(table, &state, slots, violation, violation_size);
    }
    free(slots);
    return status;
}

/* Writes the entries of an array with holes to `slots`, in the canonical layout. A table with holes
 * has an empty stash. */
template <int BITS>
static bool close_holes(const struct sw_geometry *geometry, struct sw_state *state, void *holed,
                        void *slots)
{
    typedef sw_width<BITS> W;
    typename W::table from = {};
    from.main.slots = (typename W::slot *)holed;
    from.main.buckets = geometry->buckets;
    from.main.buckets_total = geometry->buckets_total;
    from.main.max_probe = geometry->max_probe;
    from.state = state;
    typename W::table to = from;
    to.main.slots = (typename W::slot *)slots;
    return W::rebuild(&from, &to);
}

/* Copies the canonical slots. The holes of the table stay. */
int sw_cuda_raw_copy(void *context, void *slots)
{
    struct sw_cuda_table *table = (struct sw_cuda_table *)context;
    const struct sw_geometry *geometry = &table->arrays.geometry;
    struct sw_state state;
    int status = read_back(table, &state, slots);
    if (status != SW_OK || state.holes == 0) {
        return status;
    }
    void *holed = malloc((size_t)geometry->bytes_total);
    if (holed == NULL) {
        return SW_E_NOMEM;
    }
    memcpy(holed, slots, (size_t)geometry->bytes_total);
    memset(slots, 0xff, (size_t)geometry->bytes_total);
    status = SW_BY_FORMAT_NUMBER(table->format, close_holes, geometry, &state, holed, slots)
                 ? SW_OK
                 : SW_E_DEVICE;
    free(holed);
    return status;
}
