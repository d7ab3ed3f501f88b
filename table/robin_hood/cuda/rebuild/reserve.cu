/* SPDX-License-Identifier: MIT
 *
 * reserve.cu - asks the owner of a table for memory, and allocates it.
 */
#include "table/robin_hood/cuda/rebuild/reserve.cuh"

#include <string.h>

#include "table/device/direct.cuh"
#include "table/growth.h"

uint64_t sw_cuda_table_bytes(const struct sw_cuda_table *table)
{
    const uint64_t rows = sw_cuda_has_rows(table) ? sw_cuda_arena_bytes(&table->arena) : 0;
    return table->scratch_bytes + table->arrays.bytes + sw_cuda_owner_bytes(table) + rows;
}

void sw_cuda_table_resized(struct sw_cuda_table *table)
{
    if (table->config.growth != NULL) {
        sw_growth_has(table->config.growth, sw_cuda_table_bytes(table) + table->times_bytes);
        sw_growth_has_host(table->config.growth, sw_cuda_arena_host_bytes(&table->arena));
        sw_growth_has_slots(table->config.growth, table->arrays.geometry.buckets * SW_BUCKET_SLOTS);
    }
}

bool sw_cuda_geometry_of(const struct sw_cuda_table *table, uint64_t capacity,
                         struct sw_geometry *geometry)
{
    struct sw_table_config config = table->config;
    config.capacity_slots = capacity;
    return sw_geometry_compute(&config, geometry, NULL, 0) == SW_OK;
}

static bool try_arrays(const struct sw_cuda_queue *queue, const struct sw_geometry *geometry,
                       struct sw_cuda_arrays *arrays)
{
    const struct sw_cuda_table *table = queue->table;
    if (sw_cuda_arrays_open(arrays, geometry, table->format, table->has_hints, false,
                            table->direct != NULL, table->pool, queue->stream) != cudaSuccess) {
        (void)cudaGetLastError(); /* clears the error: later launches must not report it */
        return false;
    }
    return true;
}

/* If memory is short, releases unused memory of the pool, whose pieces may be too small, and tries
 * again. */
static bool open_arrays(const struct sw_cuda_queue *queue, const struct sw_geometry *geometry,
                        struct sw_cuda_arrays *arrays)
{
    if (try_arrays(queue, geometry, arrays)) {
        return true;
    }
    sw_cuda_pool_release(queue->table->pool);
    return try_arrays(queue, geometry, arrays);
}

/* Maps memory for the rows of this geometry, if the table has rows. Mapped memory stays mapped,
 * even if the table becomes smaller. */
static bool map_rows(struct sw_cuda_table *table, const struct sw_geometry *geometry)
{
    if (sw_cuda_has_rows(table) &&
        sw_cuda_arena_map(&table->arena, geometry->occupied_max) != cudaSuccess) {
        (void)cudaGetLastError();
        return false;
    }
    return true;
}

static uint64_t bytes_of_arrays(const struct sw_cuda_table *table,
                                const struct sw_geometry *geometry)
{
    const uint64_t bytes = sw_cuda_arrays_bytes(geometry, table->format, table->has_hints);
    return table->direct != NULL ? sw_cuda_export_bytes(bytes) : bytes;
}

/* Asks the owner. `slots` as in sw_growth.permits. */
static bool is_permitted(const struct sw_cuda_table *table, uint64_t slots, uint64_t bytes,
                         struct sw_cuda_reserved *reserved)
{
    memset(reserved, 0, sizeof(*reserved));
    reserved->is_refused = !sw_growth_permits(table->config.growth, slots, bytes);
    reserved->permitted = reserved->is_refused ? 0 : bytes;
    return !reserved->is_refused;
}

static bool is_permitted_host(const struct sw_cuda_table *table, uint64_t bytes,
                              struct sw_cuda_reserved *reserved)
{
    reserved->is_refused = !sw_growth_permits_host(table->config.growth, bytes);
    reserved->permitted_host = reserved->is_refused ? 0 : bytes;
    return !reserved->is_refused;
}

bool sw_cuda_reserve(const struct sw_cuda_queue *queue, uint64_t capacity,
                     struct sw_cuda_reserved *reserved)
{
    struct sw_cuda_table *table = queue->table;
    struct sw_geometry geometry;
    memset(reserved, 0, sizeof(*reserved));
    if (!sw_cuda_geometry_of(table, capacity, &geometry)) {
        return false;
    }
    uint64_t rows = 0;
    uint64_t host = 0;
    if (sw_cuda_has_rows(table)) {
        sw_cuda_arena_needs(&table->arena, geometry.occupied_max, &rows, &host);
    }
    return is_permitted(table, capacity, bytes_of_arrays(table, &geometry) + rows, reserved) &&
           is_permitted_host(table, host, reserved) && map_rows(table, &geometry) &&
           open_arrays(queue, &geometry, &reserved->arrays);
}

bool sw_cuda_reserve_again(const struct sw_cuda_queue *queue, struct sw_cuda_reserved *reserved)
{
    const struct sw_cuda_table *table = queue->table;
    const struct sw_geometry geometry = table->arrays.geometry;
    return is_permitted(table, 0, bytes_of_arrays(table, &geometry), reserved) &&
           open_arrays(queue, &geometry, &reserved->arrays);
}

void sw_cuda_reserved_settle(struct sw_cuda_table *table, struct sw_cuda_reserved *reserved)
{
    sw_cuda_table_resized(table);
    if (reserved->permitted != 0) {
        sw_growth_settled(table->config.growth, reserved->permitted);
    }
    sw_growth_settled_host(table->config.growth, reserved->permitted_host);
    reserved->permitted = reserved->permitted_host = 0;
}
