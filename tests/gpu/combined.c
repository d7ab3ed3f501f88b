/* SPDX-License-Identifier: MIT
 *
 * combined.c - batches for two tables, submitted to one of them before any is polled, and compared.
 */
#include "tests/gpu/combined.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define fail_round(combined, ...) \
    keep_failure((combined)->failure, sizeof((combined)->failure), __VA_ARGS__)

/* --- open and close --------------------------------------------------------------------------- */

bool combined_open(struct combined *combined, struct sw_table *oracle, struct sw_table *tested,
                   uint64_t operations_max, uint64_t fresh, uint64_t seed)
{
    memset(combined, 0, sizeof(*combined));
    combined->tables[0] = oracle;
    combined->tables[1] = tested;
    combined->random.state = seed;
    combined->next_fresh = fresh;
    combined->operations_max = operations_max;
    sw_table_info(tested, &combined->info);
    uint64_t entry_bytes = combined->info.key_bytes + combined->info.value_bytes;
    combined->memory_bytes =
        (operations_max + COMBINED_COUNT_MAX) * (2 * entry_bytes + 16) +
        (size_t)COMBINED_BATCHES_MAX * (COMBINED_OUTPUTS * COMBINED_GUARD_BYTES + 256);
    combined->parts = calloc(COMBINED_BATCHES_MAX, sizeof(*combined->parts));
    bool good = combined->parts != NULL && sw_queue_create(oracle, &combined->oracle) == SW_OK;
    for (int q = 0; good && q < COMBINED_QUEUES; q++) {
        good = sw_queue_create(tested, &combined->queues[q]) == SW_OK;
    }
    for (int s = 0; good && s < 2; s++) {
        combined->io[s].table = combined->tables[s];
        combined->memory[s] = io_array(&combined->io[s], combined->memory_bytes);
    }
    return good || fail_round(combined, "no memory for the batches of a round");
}

void combined_close(struct combined *combined)
{
    sw_queue_destroy(combined->oracle);
    for (int q = 0; q < COMBINED_QUEUES; q++) {
        sw_queue_destroy(combined->queues[q]);
    }
    for (int s = 0; s < 2; s++) {
        io_free(&combined->io[s]);
    }
    free(combined->parts);
}

/* --- comparing them --------------------------------------------------------------------------- */

static bool compare_counters(struct combined *combined, uint32_t number)
{
    static const char *const names[] = {
        "get operations",    "get probes",    "get hits",     "get misses",
        "upsert operations", "upsert probes", "upsert hits",  "upsert misses",
        "delete operations", "delete probes", "delete hits",  "delete misses",
        "inserted",          "updated",       "deleted",      "failures",
        "refused",           "evicted",       "not admitted",
    };
    const struct combined_part *part = &combined->parts[number];
    const uint64_t *a = (const uint64_t *)&part->batch[0].counters;
    const uint64_t *b = (const uint64_t *)&part->batch[1].counters;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        bool skip = (i < 12 && i % 4 == 1) || strcmp(names[i], "failures") == 0;
        if (!skip && a[i] != b[i]) {
            return fail_round(combined, "batch %u: %s: oracle %" PRIu64 ", tested %" PRIu64, number,
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

static bool compare_operation(struct combined *combined, uint32_t number, uint32_t i)
{
    const struct sw_batch *a = &combined->parts[number].batch[0];
    const struct sw_batch *b = &combined->parts[number].batch[1];
    size_t bytes = combined->info.value_bytes;
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
    return differs == NULL ||
           fail_round(combined, "batch %u, operation %u of %u (op %d): %s", number, i, a->count,
                      a->ops != NULL ? a->ops[i] : (int)a->op, differs);
}

/* Compares the answers of each operation. Operations of refused groups have no answers. If all
 * groups were refused, the unused bits are also unspecified. */
static bool compare_operations(struct combined *combined, uint32_t number)
{
    const struct sw_batch *a = &combined->parts[number].batch[0];
    const struct sw_batch *b = &combined->parts[number].batch[1];
    uint32_t group = 0;
    for (uint32_t g = 0; g < a->group_count && b->group_refused != NULL; g++) {
        if (a->group_refused[g] != b->group_refused[g]) {
            return fail_round(combined,
                              "batch %u, group %u of %u: refused by oracle %d, by tested %d",
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
            !compare_operation(combined, number, i)) {
            return false;
        }
    }
    return b->counters.refused == b->count ||
           (ends_clean(b->found, b->count) && ends_clean(b->not_admitted, b->count)) ||
           fail_round(combined, "batch %u of %u operations: unused bits are not zero", number,
                      b->count);
}

static bool check_guards(struct combined *combined, uint32_t number)
{
    const struct combined_part *part = &combined->parts[number];
    for (int s = 0; s < 2; s++) {
        for (uint32_t g = 0; g < part->guard_count; g++) {
            for (size_t i = 0; i < COMBINED_GUARD_BYTES; i++) {
                if (combined->memory[s][part->guards[g] + i] != COMBINED_GUARD) {
                    return fail_round(combined, "batch %u, table %d: byte %zu behind output %u",
                                      number, s, i, g);
                }
            }
        }
    }
    return true;
}

static bool compare_part(struct combined *combined, uint32_t number)
{
    const struct sw_batch *a = &combined->parts[number].batch[0];
    const struct sw_batch *b = &combined->parts[number].batch[1];
    if (a->status != b->status || (a->status != SW_OK && a->status != SW_E_FULL)) {
        return fail_round(combined, "batch %u: oracle: %s; tested: %s", number,
                          sw_status_text(a->status), sw_status_text(b->status));
    }
    if (a->write_sequence != b->write_sequence || a->leftover_count != b->leftover_count) {
        return fail_round(
            combined, "batch %u: oracle: write %" PRIu64 ", %u left over; tested: %" PRIu64 ", %u",
            number, a->write_sequence, a->leftover_count, b->write_sequence, b->leftover_count);
    }
    return (a->kind != SW_BATCH_OPERATIONS || compare_operations(combined, number)) &&
           compare_counters(combined, number) && check_guards(combined, number);
}

/* Writes are numbered in the order of their submission to all queues. */
static bool check_sequence(struct combined *combined)
{
    uint64_t last = 0;
    for (uint32_t p = 0; p < combined->part_count; p++) {
        uint64_t sequence = combined->parts[p].batch[1].write_sequence;
        if (sequence != 0 && last != 0 && sequence != last + 1) {
            return fail_round(combined, "batch %u: write %" PRIu64 " follows write %" PRIu64, p,
                              sequence, last);
        }
        last = sequence != 0 ? sequence : last;
    }
    return true;
}

/* --- a round ---------------------------------------------------------------------------------- */

/* Polls each batch of table 1 that was submitted and is not done, in random order. Returns whether
 * any is not done after that. */
static bool poll_each(struct combined *combined)
{
    uint32_t order[COMBINED_BATCHES_MAX];
    bool pending = false;
    for (uint32_t p = 0; p < combined->part_count; p++) {
        uint32_t to = (uint32_t)random_below(&combined->random, p + 1);
        order[p] = order[to];
        order[to] = p;
    }
    for (uint32_t p = 0; p < combined->part_count; p++) {
        struct combined_part *part = &combined->parts[order[p]];
        part->done = part->done ||
                     sw_batch_poll(combined->queues[part->queue], &part->batch[1]) != SW_PENDING;
        pending = pending || !part->done;
    }
    return pending;
}

bool combined_run(struct combined *combined, const struct combined_round *round)
{
    combined_draw(combined, round);
    memcpy(combined->memory[1], combined->memory[0], combined->used);
    combined->operations += combined->round_operations;
    combined->part_count = 0;
    for (uint32_t p = 0; p < round->batches; p++) {
        struct combined_part *part = &combined->parts[p];
        int status;
        part->done = false;
        while ((status = sw_batch_submit(combined->queues[part->queue], &part->batch[1])) ==
               SW_E_BUSY) {
            poll_each(combined); /* it has too many reads in flight */
        }
        if (status != SW_OK) {
            fail_round(combined, "batch %u: submit: %s", p, sw_status_text(status));
            break;
        }
        combined->part_count++;
    }
    for (uint32_t p = 0; p < combined->part_count; p++) {
        struct sw_batch *batch = &combined->parts[p].batch[0];
        if (sw_batch_run(combined->oracle, batch) != batch->status) {
            fail_round(combined, "batch %u: the oracle did not run it", p);
        }
    }
    while (poll_each(combined)) {
    }
    for (uint32_t p = 0; p < combined->part_count; p++) {
        if (!compare_part(combined, p)) {
            return false;
        }
    }
    return combined->failure[0] == '\0' && check_sequence(combined);
}
