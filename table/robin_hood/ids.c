/* SPDX-License-Identifier: MIT
 *
 * ids.c - takes and frees ids.
 */
#include "table/robin_hood/ids.h"

#include <assert.h>
#include <string.h>

#include "table/host/memory.h"

static uint64_t words_for(uint64_t bits)
{
    return (bits + 63) / 64;
}

uint64_t sw_ids_bytes(uint64_t limit)
{
    uint64_t words = 0, bits = limit;
    do {
        bits = words_for(bits);
        words += bits;
    } while (bits > 1);
    return words * sizeof(uint64_t);
}

/* Sets the bits of a level behind its last one: they stand for nothing, and are never free. */
static void fill_tail(uint64_t *level, uint64_t bits)
{
    if (bits % 64 != 0) {
        level[bits / 64] |= UINT64_MAX << bits % 64;
    }
}

static void fill_tails(const struct sw_ids *ids)
{
    uint64_t bits = ids->limit;
    for (uint32_t level = 0; level < ids->level_count; level++) {
        fill_tail(ids->levels[level], bits);
        bits = words_for(bits);
    }
}

int sw_ids_open(struct sw_ids *ids, uint64_t limit)
{
    assert(limit > 0 && limit <= 1ULL << 32);
    *ids = (struct sw_ids){.limit = limit, .bytes = sw_ids_bytes(limit)};
    uint64_t *next = sw_memory_map(ids->bytes);
    if (next == NULL) {
        *ids = (struct sw_ids){0};
        return SW_E_NOMEM;
    }
    for (uint64_t bits = limit; ids->level_count == 0 || bits > 1;) {
        ids->levels[ids->level_count++] = next;
        bits = words_for(bits);
        next += bits;
    }
    fill_tails(ids);
    return SW_OK;
}

void sw_ids_close(struct sw_ids *ids)
{
    sw_memory_unmap(ids->levels[0], ids->bytes);
    *ids = (struct sw_ids){0};
}

void sw_ids_clear(struct sw_ids *ids)
{
    uint64_t bits = ids->high;
    for (uint32_t level = 0; level < ids->level_count; level++) {
        bits = words_for(bits);
        memset(ids->levels[level], 0, bits * sizeof(uint64_t));
    }
    ids->high = 0;
    ids->in_use = 0;
    fill_tails(ids);
}

void sw_ids_mark(struct sw_ids *ids, uint64_t id)
{
    uint64_t at = id;
    assert(id < ids->limit && !sw_ids_is_in_use(ids, id));
    ids->high = id < ids->high ? ids->high : id + 1;
    ids->in_use++;
    for (uint32_t level = 0; level < ids->level_count; level++) {
        uint64_t *word = &ids->levels[level][at / 64];
        *word |= 1ULL << at % 64;
        if (*word != UINT64_MAX) {
            break;
        }
        at /= 64;
    }
}

uint64_t sw_ids_take(struct sw_ids *ids)
{
    uint64_t at = 0;
    assert(ids->in_use < ids->limit);
    for (uint32_t level = ids->level_count; level-- > 0;) {
        at = at * 64 + (uint64_t)__builtin_ctzll(~ids->levels[level][at]);
    }
    sw_ids_mark(ids, at);
    return at;
}

void sw_ids_give(struct sw_ids *ids, uint64_t id)
{
    uint64_t at = id;
    assert(id < ids->limit && sw_ids_is_in_use(ids, id));
    ids->in_use--;
    for (uint32_t level = 0; level < ids->level_count; level++) {
        uint64_t *word = &ids->levels[level][at / 64];
        const bool was_full = *word == UINT64_MAX;
        *word &= ~(1ULL << at % 64);
        if (!was_full) {
            break;
        }
        at /= 64;
    }
}
