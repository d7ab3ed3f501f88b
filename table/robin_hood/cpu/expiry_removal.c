/* SPDX-License-Identifier: MIT
 *
 * expiry_removal.c - stores expiry times, and finds and removes expired entries.
 */
#include "table/robin_hood/cpu/expiry_removal.h"

#include <stdlib.h>
#include <string.h>

#include "table/robin_hood/cpu/row_image.h"

/* Entries that one scan of a part returns. */
#define VISIT_ENTRIES 64U
/* A search is long if it visits more parts, which takes some 0.5 ms. */
#define SEARCH_PARTS 128U

/* --- times ------------------------------------------------------------------------------------ */

static const struct sw_table_s128 *table_of(const struct sw_expiry *expiry)
{
    return &expiry->times->table.s128;
}

uint64_t sw_expiry_of(const struct sw_expiry *expiry, uint64_t key)
{
    uint64_t probes = 0;
    return sw_locate_s128(table_of(expiry), sw_mix_s128(table_of(expiry), key), &probes).value;
}

void sw_expiry_prefetch(const struct sw_expiry *expiry, uint64_t key)
{
    sw_prefetch_s128(table_of(expiry), sw_mix_s128(table_of(expiry), key));
}

void sw_expiry_put(struct sw_expiry *expiry, uint64_t key, uint64_t at)
{
    const struct sw_table_s128 *table = table_of(expiry);
    const uint64_t m = sw_mix_s128(table, key);
    struct sw_work_s128 work = {0}; /* no leftovers, since the table has a stash */
    uint64_t probes = 0;
    struct sw_place_s128 place = sw_locate_s128(table, m, &probes);
    if (at == 0 && place.found) {
        sw_remove_s128(table, &work, &place, m, &probes);
    } else if (at != 0 && place.found) {
        sw_write_at_s128(table, &place, m, at);
    } else if (at != 0) {
        sw_insert_s128(table, &work, m, at, &probes);
    }
    if (at != 0) {
        sw_expiry_pass_set(&expiry->pass, at);
        sw_due_set(&expiry->due, m, at);
    }
}

/* --- removing expired entries ----------------------------------------------------------------- */

/* Reports a removed key, if the batch wants the keys. Returns false if memory is short. */
static bool note_expired(struct sw_expiry *expiry, const void *key, size_t key_bytes)
{
    if (!expiry->wants_expired_keys) {
        return true;
    }
    if (expiry->expired_keys_count == expiry->expired_keys_room) {
        const uint32_t room = expiry->expired_keys_room == 0 ? 64 : 2 * expiry->expired_keys_room;
        uint8_t *expired_keys = realloc(expiry->expired_keys, room * key_bytes);
        if (expired_keys == NULL) {
            return false;
        }
        expiry->expired_keys = expired_keys;
        expiry->expired_keys_room = room;
    }
    memcpy(expiry->expired_keys + expiry->expired_keys_count++ * key_bytes, key, key_bytes);
    return true;
}

#define RH_FIELD SW_WIDTH_SUFFIX
#define SW_WIDTH_BODY "table/robin_hood/cpu/expiry_removal.inl"
#include "table/each_width.inl"

void sw_expiry_remove(struct sw_cpu *cpu, uint64_t key)
{
    SW_BY_WIDTH(cpu->config.slot_bits, sw_remove_expired, cpu, key);
}

/* --- sweeps ----------------------------------------------------------------------------------- */

/* Records that an entry stays, although it may have expired. */
static void keep(struct sw_cpu *cpu, uint64_t key, uint64_t at, uint64_t clock_ms)
{
    struct sw_expiry *expiry = cpu->expiry;
    sw_expiry_pass_kept(&expiry->pass, at);
    if (at <= clock_ms && sw_expiry_is_suspended(cpu, key)) {
        expiry->leaves_suspended = true;
    } else {
        sw_due_pass_kept(&expiry->due, sw_mix_s128(table_of(expiry), key), at);
    }
}

uint32_t sw_expiry_sweep_piece(struct sw_cpu *cpu, uint64_t clock_ms, uint32_t count, uint32_t most)
{
    struct sw_expiry *expiry = cpu->expiry;
    struct sw_batch scan = {.kind = SW_BATCH_SCAN,
                            .count = count < SW_EXPIRY_PIECE ? count : SW_EXPIRY_PIECE,
                            .scan.cursor = expiry->pass.cursor,
                            .scan.keys = expiry->piece_keys,
                            .scan.values = expiry->piece_times};
    if (expiry->pass.cursor == 0) {
        sw_due_pass_begin(&expiry->due);
    }
    sw_expiry_pass_begin(&expiry->pass, clock_ms);
    sw_cpu_scan_slots(expiry->times, &scan);
    for (uint32_t i = 0; i < scan.scan.got; i++) {
        const uint64_t at = expiry->piece_times[i];
        const bool removes =
            at <= clock_ms && !sw_expiry_is_suspended(cpu, expiry->piece_keys[i]) && most > 0;
        if (removes) {
            sw_expiry_remove(cpu, expiry->piece_keys[i]);
            most -= !expiry->failed;
        }
        if (!removes || expiry->failed) {
            keep(cpu, expiry->piece_keys[i], at, clock_ms);
        }
    }
    expiry->pass.cursor = scan.scan.cursor;
    sw_due_pass_reached(&expiry->due, scan.scan.cursor);
    return scan.scan.got;
}

/* --- searches for room ------------------------------------------------------------------------ */

/* Returns whether a search visits parts. A table with fewer times is searched by passes: one takes
 * less than a write of a few thousand keys, and the next search goes on with it. */
static bool is_searched_by_parts(const struct sw_expiry *expiry)
{
    return expiry->times->geometry.buckets * SW_BUCKET_SLOTS >= SW_DUE_PART_SLOTS
                                                                    << SW_DUE_BITS_MIN;
}

/* Removes expired entries until it removed `most` or all of them. */
static void remove_by_passes(struct sw_cpu *cpu, uint64_t clock_ms, uint32_t most)
{
    struct sw_expiry *expiry = cpu->expiry;
    const uint64_t before = expiry->expired;
    int ends = 0; /* the current pass, and one whole pass */
    while (ends < 2 && expiry->pass.next <= clock_ms && expiry->expired - before < most &&
           !expiry->failed) {
        sw_expiry_sweep_piece(cpu, clock_ms, SW_EXPIRY_PIECE,
                              most - (uint32_t)(expiry->expired - before));
        if (expiry->pass.cursor == 0) {
            sw_expiry_pass_end(&expiry->pass, clock_ms);
            ends++;
        }
    }
}

/* A search for expired entries in parts of the table. */
struct search {
    struct sw_cpu *cpu;
    uint64_t clock_ms;
    uint64_t most;  /* entries that it removes or counts */
    uint64_t found; /* of them so far */
    bool removes;   /* otherwise it changes only the bounds of the parts */
};

/* Visits an entry. Returns its time, if it stays and is no longer suspended then. */
static uint64_t visit_entry(struct search *search, uint64_t key, uint64_t at)
{
    struct sw_expiry *expiry = search->cpu->expiry;
    if (at > search->clock_ms) {
        return at;
    }
    if (sw_expiry_is_suspended(search->cpu, key)) {
        expiry->leaves_suspended = true;
        return SW_EXPIRY_NEVER;
    }
    if (search->found < search->most && search->removes && !expiry->failed) {
        sw_expiry_remove(search->cpu, key);
        search->found += !expiry->failed;
        return expiry->failed ? at : SW_EXPIRY_NEVER;
    }
    search->found += !search->removes;
    return at;
}

/* Visits the entries of a part, and makes its bound exact. */
static void visit_part(struct search *search, uint64_t part)
{
    struct sw_expiry *expiry = search->cpu->expiry;
    const bool is_last = part + 1 == sw_due_parts(&expiry->due);
    const uint64_t end = is_last ? 0 : sw_due_first_of(&expiry->due, part + 1);
    struct sw_batch scan = {.kind = SW_BATCH_SCAN,
                            .count = VISIT_ENTRIES,
                            .scan.cursor = sw_due_first_of(&expiry->due, part),
                            .scan.keys = expiry->piece_keys,
                            .scan.values = expiry->piece_times};
    uint64_t least = SW_EXPIRY_NEVER;
    bool ends = false;
    while (!ends) {
        sw_cpu_scan_slots(expiry->times, &scan);
        ends = scan.scan.cursor == 0 || (!is_last && scan.scan.cursor >= end);
        for (uint32_t i = 0; i < scan.scan.got; i++) {
            const uint64_t key = expiry->piece_keys[i];
            if (ends && !is_last && sw_mix_s128(table_of(expiry), key) >= end) {
                break;
            }
            const uint64_t at = visit_entry(search, key, expiry->piece_times[i]);
            least = at < least ? at : least;
        }
    }
    sw_due_know(&expiry->due, part, least);
}

/* Visits parts that may have expired entries, at most `parts` of them, until it has found enough.
 * Returns false if further parts may have some. */
static bool visit_parts(struct search *search, uint64_t parts)
{
    struct sw_expiry *expiry = search->cpu->expiry;
    uint64_t part = sw_due_find(&expiry->due, 0, search->clock_ms);
    for (; part < sw_due_parts(&expiry->due) && search->found < search->most && !expiry->failed;
         part = sw_due_find(&expiry->due, part + 1, search->clock_ms)) {
        if (parts-- == 0) {
            return false;
        }
        visit_part(search, part);
    }
    return true;
}

void sw_expiry_remove_for_room(struct sw_cpu *cpu, uint64_t clock_ms, uint32_t most)
{
    struct search search = {cpu, clock_ms, most, 0, true};
    if (is_searched_by_parts(cpu->expiry)) {
        (void)visit_parts(&search, UINT64_MAX);
    } else {
        remove_by_passes(cpu, clock_ms, most);
    }
}

bool sw_expiry_search_is_long(struct sw_cpu *cpu, const struct sw_batch *batch)
{
    const uint64_t clock_ms = sw_expiry_advance_clock(&cpu->clock_ms, batch->clock_ms);
    struct search search = {cpu, clock_ms, batch->count, 0, false};
    return cpu->expiry != NULL && sw_cpu_is_short_of_room(cpu, batch->count) &&
           is_searched_by_parts(cpu->expiry) && !visit_parts(&search, SEARCH_PARTS);
}
