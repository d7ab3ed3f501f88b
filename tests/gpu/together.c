/* SPDX-License-Identifier: MIT
 *
 * together.c - batches for two tables, submitted to one of them before any is polled, and compared.
 */
#include "tests/gpu/together.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((format(printf, 2, 3))) static bool fail(struct together *together,
                                                       const char *format, ...)
{
    if (together->failure[0] == '\0') {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(together->failure, sizeof(together->failure), format, arguments);
        va_end(arguments);
    }
    return false;
}

/* --- open and close --------------------------------------------------------------------------- */

bool together_open(struct together *together, struct sw_table *oracle, struct sw_table *tested,
                   uint64_t operations_max, uint64_t fresh, uint64_t seed)
{
    memset(together, 0, sizeof(*together));
    together->tables[0] = oracle;
    together->tables[1] = tested;
    together->random.state = seed;
    together->next_fresh = fresh;
    together->operations_max = operations_max;
    sw_table_info(tested, &together->info);
    uint64_t entry_bytes = together->info.key_bytes + together->info.value_bytes;
    together->memory_bytes =
        (operations_max + TOGETHER_COUNT_MAX) * (2 * entry_bytes + 16) +
        (size_t)TOGETHER_BATCHES_MAX * (TOGETHER_OUTPUTS * TOGETHER_GUARD_BYTES + 256);
    together->parts = calloc(TOGETHER_BATCHES_MAX, sizeof(*together->parts));
    bool good = together->parts != NULL && sw_queue_create(oracle, &together->oracle) == SW_OK;
    for (int q = 0; good && q < TOGETHER_QUEUES; q++) {
        good = sw_queue_create(tested, &together->queues[q]) == SW_OK;
    }
    for (int s = 0; good && s < 2; s++) {
        together->memory[s] = sw_io_alloc(together->tables[s], together->memory_bytes);
        good = together->memory[s] != NULL;
    }
    return good || fail(together, "no memory for the batches of a round");
}

void together_close(struct together *together)
{
    sw_queue_destroy(together->oracle);
    for (int q = 0; q < TOGETHER_QUEUES; q++) {
        sw_queue_destroy(together->queues[q]);
    }
    for (int s = 0; s < 2; s++) {
        sw_io_free(together->tables[s], together->memory[s], together->memory_bytes);
    }
    free(together->parts);
}

/* --- comparing them --------------------------------------------------------------------------- */

static bool compare_counters(struct together *together, uint32_t number)
{
    static const char *const names[] = {
        "get operations",    "get probes",    "get hits",     "get misses",
        "upsert operations", "upsert probes", "upsert hits",  "upsert misses",
        "delete operations", "delete probes", "delete hits",  "delete misses",
        "inserted",          "updated",       "deleted",      "failures",
        "refused",           "evicted",       "not admitted",
    };
    const struct together_part *part = &together->parts[number];
    const uint64_t *a = (const uint64_t *)&part->batch[0].counters;
    const uint64_t *b = (const uint64_t *)&part->batch[1].counters;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        bool skip = (i < 12 && i % 4 == 1) || strcmp(names[i], "failures") == 0;
        if (!skip && a[i] != b[i]) {
            return fail(together, "batch %u: %s: oracle %" PRIu64 ", tested %" PRIu64, number,
                        names[i], a[i], b[i]);
        }
    }
    return true;
}

static bool bit_of(const uint64_t *bits, uint32_t i)
{
    return bits != NULL && (bits[i / 64] >> (i % 64) & 1) != 0;
}

/* Whether the unused bits of the last word are zero. */
static bool ends_clean(const uint64_t *bits, uint32_t count)
{
    return bits == NULL || count % 64 == 0 || bits[count / 64] >> (count % 64) == 0;
}

static bool compare_operation(struct together *together, uint32_t number, uint32_t i)
{
    const struct sw_batch *a = &together->parts[number].batch[0];
    const struct sw_batch *b = &together->parts[number].batch[1];
    size_t bytes = together->info.value_bytes;
    const char *differs = NULL;
    if (bit_of(a->found, i) != bit_of(b->found, i)) {
        differs = "found";
    } else if (bit_of(a->not_admitted, i) != bit_of(b->not_admitted, i)) {
        differs = "not_admitted";
    } else if (a->previous != NULL &&
               memcmp((const uint8_t *)a->previous + i * bytes,
                      (const uint8_t *)b->previous + i * bytes, bytes) != 0) {
        differs = "previous";
    }
    return differs == NULL || fail(together, "batch %u, operation %u of %u (op %d): %s", number, i,
                                   a->count, a->ops != NULL ? a->ops[i] : (int)a->op, differs);
}

/* Compares the answers of each operation. Operations of refused groups have no answers. If all
 * groups were refused, the unused bits are also unspecified. */
static bool compare_operations(struct together *together, uint32_t number)
{
    const struct sw_batch *a = &together->parts[number].batch[0];
    const struct sw_batch *b = &together->parts[number].batch[1];
    uint32_t group = 0;
    for (uint32_t g = 0; g < a->group_count && b->group_refused != NULL; g++) {
        if (a->group_refused[g] != b->group_refused[g]) {
            return fail(together, "batch %u, group %u of %u: refused by oracle %d, by tested %d",
                        number, g, a->group_count, a->group_refused[g], b->group_refused[g]);
        }
    }
    if (a->group_count == 0 && a->status == SW_E_FULL) {
        return true;
    }
    for (uint32_t i = 0; i < a->count; i++) {
        while (a->group_count > 0 && a->group_ends[group] <= i) {
            group++;
        }
        if ((a->group_count == 0 || a->group_refused[group] == 0) &&
            !compare_operation(together, number, i)) {
            return false;
        }
    }
    return b->counters.refused == b->count ||
           (ends_clean(b->found, b->count) && ends_clean(b->not_admitted, b->count)) ||
           fail(together, "batch %u of %u operations: unused bits are not zero", number, b->count);
}

static bool check_guards(struct together *together, uint32_t number)
{
    const struct together_part *part = &together->parts[number];
    for (int s = 0; s < 2; s++) {
        for (uint32_t g = 0; g < part->guard_count; g++) {
            for (size_t i = 0; i < TOGETHER_GUARD_BYTES; i++) {
                if (together->memory[s][part->guards[g] + i] != TOGETHER_GUARD) {
                    return fail(together, "batch %u, table %d: byte %zu behind output %u", number,
                                s, i, g);
                }
            }
        }
    }
    return true;
}

static bool compare_part(struct together *together, uint32_t number)
{
    const struct sw_batch *a = &together->parts[number].batch[0];
    const struct sw_batch *b = &together->parts[number].batch[1];
    if (a->status != b->status || (a->status != SW_OK && a->status != SW_E_FULL)) {
        return fail(together, "batch %u: oracle: %s; tested: %s", number, sw_status_text(a->status),
                    sw_status_text(b->status));
    }
    if (a->write_sequence != b->write_sequence || a->leftover_count != b->leftover_count) {
        return fail(
            together, "batch %u: oracle: write %" PRIu64 ", %u left over; tested: %" PRIu64 ", %u",
            number, a->write_sequence, a->leftover_count, b->write_sequence, b->leftover_count);
    }
    return (a->kind != SW_BATCH_OPERATIONS || compare_operations(together, number)) &&
           compare_counters(together, number) && check_guards(together, number);
}

/* Writes are numbered in the order of their submission to all queues. */
static bool check_sequence(struct together *together)
{
    uint64_t last = 0;
    for (uint32_t p = 0; p < together->part_count; p++) {
        uint64_t sequence = together->parts[p].batch[1].write_sequence;
        if (sequence != 0 && last != 0 && sequence != last + 1) {
            return fail(together, "batch %u: write %" PRIu64 " follows write %" PRIu64, p, sequence,
                        last);
        }
        last = sequence != 0 ? sequence : last;
    }
    return true;
}

/* --- a round ---------------------------------------------------------------------------------- */

/* Polls each batch of table 1 that was submitted and is not done, in random order. Returns whether
 * any is not done after that. */
static bool poll_each(struct together *together)
{
    uint32_t order[TOGETHER_BATCHES_MAX];
    bool pending = false;
    for (uint32_t p = 0; p < together->part_count; p++) {
        uint32_t to = (uint32_t)random_below(&together->random, p + 1);
        order[p] = order[to];
        order[to] = p;
    }
    for (uint32_t p = 0; p < together->part_count; p++) {
        struct together_part *part = &together->parts[order[p]];
        part->done = part->done ||
                     sw_batch_poll(together->queues[part->queue], &part->batch[1]) != SW_PENDING;
        pending = pending || !part->done;
    }
    return pending;
}

bool together_run(struct together *together, const struct together_round *round)
{
    together_draw(together, round);
    memcpy(together->memory[1], together->memory[0], together->used);
    together->operations += together->round_operations;
    together->part_count = 0;
    for (uint32_t p = 0; p < round->batches; p++) {
        struct together_part *part = &together->parts[p];
        int status;
        part->done = false;
        while ((status = sw_batch_submit(together->queues[part->queue], &part->batch[1])) ==
               SW_E_BUSY) {
            poll_each(together); /* it has too many reads in flight */
        }
        if (status != SW_OK) {
            fail(together, "batch %u: submit: %s", p, sw_status_text(status));
            break;
        }
        together->part_count++;
    }
    for (uint32_t p = 0; p < together->part_count; p++) {
        struct sw_batch *batch = &together->parts[p].batch[0];
        if (sw_batch_run(together->oracle, batch) != batch->status) {
            fail(together, "batch %u: the oracle did not run it", p);
        }
    }
    while (poll_each(together)) {
    }
    for (uint32_t p = 0; p < together->part_count; p++) {
        if (!compare_part(together, p)) {
            return false;
        }
    }
    return together->failure[0] == '\0' && check_sequence(together);
}
