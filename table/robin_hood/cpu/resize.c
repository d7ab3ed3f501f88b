/* SPDX-License-Identifier: MIT
 *
 * resize.c - growth and shrinking, and the facts that they change.
 */
#include "table/robin_hood/cpu/resize.h"

#include "table/growth.h"
#include "table/host/cow_guard.h"
#include "table/host/memory.h"
#include "table/host/parts.h"
#include "table/robin_hood/cpu/arrays.h"
#include "table/robin_hood/cpu/expiry.h"
#include "table/robin_hood/cpu/image.h"
#include "table/robin_hood/cpu/row_image.h"
#include "table/robin_hood/cpu/row_passes.h"

/* Pause after a failed growth: RETRY_NS, or RETRY_TIMES times the duration of the attempt if that
 * is longer. */
#define RETRY_NS 1000000000ULL
#define RETRY_TIMES 20

static uint64_t capacity_of(const struct sw_cpu *cpu)
{
    return cpu->geometry.buckets * SW_BUCKET_SLOTS;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Returns the bytes of arrays of this geometry, and of the rows that they need in addition. */
static uint64_t bytes_for(const struct sw_cpu *cpu, const struct sw_geometry *geometry)
{
    const struct sw_arena *arena = &cpu->arena;
    return geometry->bytes_total + (arena->rows != NULL && geometry->occupied_max > arena->mapped
                                        ? sw_arena_bytes(arena, geometry->occupied_max) -
                                              sw_arena_bytes(arena, arena->mapped)
                                        : 0);
}

/* Moves all entries to arrays of this geometry, which the owner has permitted. */
static int move_to_arrays(struct sw_cpu *cpu, const struct sw_geometry *geometry,
                          uint64_t stash_limit)
{
    struct sw_state state = {0};
    void *slots = sw_cpu_arrays_map(geometry, cpu->geometry.bytes_total + cpu->scratch.bytes);
    if (slots == NULL) {
        return SW_E_NOMEM;
    }
    if (cpu->arena.rows != NULL && sw_arena_map(&cpu->arena, geometry->occupied_max) != SW_OK) {
        sw_memory_unmap(slots, geometry->bytes_total);
        return SW_E_NOMEM;
    }
    sw_cpu_arrays_empty(cpu, geometry, slots);
    union sw_cpu_table to = sw_cpu_arrays_table(cpu, geometry, slots, &state);
    stash_limit = smaller(stash_limit, geometry->stash_buckets * SW_BUCKET_SLOTS);
    if (!sw_cpu_arrays_rebuild(cpu, &to, stash_limit)) {
        sw_memory_unmap(slots, geometry->bytes_total);
        return SW_E_FULL;
    }
    sw_cpu_release_arrays(cpu, cpu->slots, cpu->geometry.bytes_total);
    cpu->slots = slots;
    cpu->geometry = *geometry;
    cpu->state = state;
    cpu->table = sw_cpu_arrays_table(cpu, geometry, slots, &cpu->state);
    return SW_OK;
}

/* Moves all entries to arrays of `capacity`. On SW_E_NOMEM nothing has changed. SW_E_FULL: more
 * than stash_limit entries would meet the cap there; nothing has changed. */
static int move_to(struct sw_cpu *cpu, uint64_t capacity, uint64_t stash_limit)
{
    struct sw_table_config config = cpu->config;
    struct sw_geometry geometry;
    config.capacity_slots = capacity;
    if (sw_geometry_compute(&config, &geometry, NULL, 0) != SW_OK) {
        return SW_E_NOMEM; /* no caller requests such a capacity */
    }
    const uint64_t bytes = bytes_for(cpu, &geometry);
    if (!sw_growth_permits(cpu->config.growth, capacity, bytes)) {
        return SW_E_NOMEM;
    }
    const int status = move_to_arrays(cpu, &geometry, stash_limit);
    sw_cpu_publish(cpu);
    sw_growth_settled(cpu->config.growth, bytes);
    return status;
}

/* Moves all entries to arrays of `capacity`. Doubles it until at most stash_limit entries meet the
 * cap. Also tries the current capacity on the way up, which always suffices. */
static int move_to_at_least(struct sw_cpu *cpu, uint64_t capacity, uint64_t stash_limit)
{
    uint64_t present = capacity_of(cpu);
    uint64_t most = sw_geometry_capacity_max(&cpu->config);
    int status = move_to(cpu, capacity, stash_limit);
    while (status == SW_E_FULL && capacity < most) {
        uint64_t twice = smaller(capacity * 2, most);
        capacity = capacity < present && twice > present ? present : twice;
        status = move_to(cpu, capacity, stash_limit);
    }
    if (cpu->arena.rows != NULL) {
        sw_cpu_lower_rows(cpu);
    }
    return status;
}

/* Fills in the facts. The caller holds facts_mutex. */
static void describe(struct sw_cpu *cpu)
{
    sw_geometry_facts(&cpu->config, &cpu->geometry, &cpu->facts);
    cpu->facts.bytes_reserved = cpu->geometry.bytes_total + sw_cpu_own_scratch_bytes(cpu) +
                                cpu->ids.bytes + (cpu->expiry != NULL ? cpu->expiry->bytes : 0);
    cpu->facts.image_bytes = sw_cow_guard_bytes(cpu->geometry.bytes_total);
    if (cpu->arena.rows != NULL) {
        cpu->facts.bytes_reserved += sw_arena_bytes(&cpu->arena, cpu->arena.mapped);
        cpu->facts.image_bytes += sw_row_image_bytes(cpu->arena.value_bytes, cpu->arena.mapped);
        cpu->facts.rows_mapped = cpu->arena.mapped;
        cpu->facts.rows_max = cpu->arena.reserved;
        cpu->facts.row_bytes_host = cpu->arena.mapped * cpu->arena.stride;
    }
    sw_growth_has(cpu->config.growth, cpu->facts.bytes_reserved);
    sw_growth_has_arrays(cpu->config.growth, cpu->geometry.bytes_total);
    sw_growth_has_slots(cpu->config.growth, capacity_of(cpu));
}

/* Adds an attempt to `count`, or to the failed ones, and publishes the result. */
static void record(struct sw_cpu *cpu, int status, uint64_t *count)
{
    pthread_mutex_lock(&cpu->facts_mutex);
    if (status == SW_OK) {
        ++*count;
    } else {
        cpu->facts.resize_failed++;
    }
    describe(cpu);
    pthread_mutex_unlock(&cpu->facts_mutex);
}

uint64_t sw_cpu_retry_pause_ns(uint64_t took_ns)
{
    return took_ns > RETRY_NS / RETRY_TIMES ? took_ns * RETRY_TIMES : RETRY_NS;
}

/* Returns whether the table is unchanged since growth failed because of the probe cap. Growth can
 * only succeed after fewer entries, another capacity or another stash. */
static bool is_still_full(const struct sw_cpu *cpu)
{
    const struct sw_cpu_failed *failed = &cpu->failed;
    return failed->full && capacity_of(cpu) == failed->capacity &&
           cpu->state.stash_occupied == failed->stash_occupied &&
           cpu->state.occupied >= failed->occupied;
}

/* Returns true if more slots would not admit more entries, because the number of rows, or of ids,
 * is the limit. */
static bool rows_are_the_limit(const struct sw_cpu *cpu)
{
    const uint64_t most = cpu->arena.rows != NULL ? cpu->arena.reserved : cpu->ids.limit;
    return most > 0 && cpu->geometry.occupied_max >= most &&
           cpu->state.stash_occupied <= cpu->geometry.stash_max;
}

bool sw_cpu_may_grow(const struct sw_cpu *cpu)
{
    return !rows_are_the_limit(cpu) && capacity_of(cpu) < sw_geometry_capacity_max(&cpu->config) &&
           (cpu->failed.retry_ns == 0 ||
            (!is_still_full(cpu) &&
             (sw_now_ns() >= cpu->failed.retry_ns || sw_growth_is_eased(cpu->config.growth))));
}

void sw_cpu_grow(struct sw_cpu *cpu, uint64_t entries)
{
    const uint64_t present = capacity_of(cpu);
    const uint64_t capacity =
        sw_growth_slots(cpu->config.growth, present,
                        sw_geometry_grown(&cpu->config, present, entries), SW_BUCKET_SLOTS);
    if (sw_cpu_pass_is_long(cpu) && !sw_phase_lock_is_long(&cpu->lock)) {
        sw_phase_lock_lengthen(&cpu->lock);
    }
    uint64_t began_ns = sw_now_ns();
    int status = move_to_at_least(cpu, capacity, cpu->geometry.stash_max);
    uint64_t ended_ns = sw_now_ns();
    cpu->failed = (struct sw_cpu_failed){0};
    if (status != SW_OK) {
        cpu->failed = (struct sw_cpu_failed){
            .retry_ns = ended_ns + sw_cpu_retry_pause_ns(ended_ns - began_ns),
            .full = status == SW_E_FULL,
            .capacity = capacity_of(cpu),
            .occupied = cpu->state.occupied,
            .stash_occupied = cpu->state.stash_occupied,
        };
    }
    record(cpu, status, &cpu->facts.grown);
}

bool sw_cpu_grow_or_postpone(struct sw_cpu *cpu, uint64_t entries)
{
    if (cpu->postpones && sw_cpu_pass_is_long(cpu)) {
        cpu->postponed = entries;
        return false;
    }
    sw_cpu_grow(cpu, entries);
    return true;
}

void sw_cpu_run_resize(void *table, struct sw_batch *batch)
{
    struct sw_cpu *cpu = table;
    uint64_t stash_before = cpu->state.stash_occupied;
    uint64_t stash_max = cpu->geometry.stash_max;
    uint64_t capacity = sw_geometry_admitting(&cpu->config, batch->capacity, cpu->state.occupied);
    int status =
        move_to_at_least(cpu, capacity, stash_before > stash_max ? stash_before : stash_max);
    if (status == SW_OK) {
        cpu->failed = (struct sw_cpu_failed){0};
        sw_expiry_resize(cpu);
    }
    record(cpu, status, &cpu->facts.resized);
    batch->status = status == SW_OK ? SW_OK : SW_E_NOMEM;
    batch->capacity = capacity_of(cpu);
    batch->_stash_change = (int64_t)(cpu->state.stash_occupied - stash_before);
}

void sw_cpu_publish(struct sw_cpu *cpu)
{
    pthread_mutex_lock(&cpu->facts_mutex);
    describe(cpu);
    pthread_mutex_unlock(&cpu->facts_mutex);
}

void sw_cpu_facts(void *table, struct sw_backend_facts *facts)
{
    struct sw_cpu *cpu = table;
    pthread_mutex_lock(&cpu->facts_mutex);
    *facts = cpu->facts;
    pthread_mutex_unlock(&cpu->facts_mutex);
}
