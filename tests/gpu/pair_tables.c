/* SPDX-License-Identifier: MIT
 *
 * pair_tables.c - compares the contents of two tables: raw slots, and what scans return.
 */
#include "tests/gpu/pair.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A slot of either width, widened. */
struct entry {
    uint64_t m;
    uint64_t value;
};

static int by_m(const void *a, const void *b)
{
    const struct entry *x = a;
    const struct entry *y = b;
    return x->m != y->m ? (x->m < y->m ? -1 : 1) : (x->value > y->value) - (x->value < y->value);
}

/* All slots of a table, or NULL. The caller frees them. */
static struct entry *read_slots(struct pair *pair, int s, uint64_t *count)
{
    struct sw_table *table = pair->side[s].table;
    size_t bytes = sw_table_raw_bytes(table);
    void *raw = malloc(bytes);
    const uint32_t words = pair->is_set ? 1 : 2; /* of a slot; m is the last */
    *count = bytes / (pair->slot_bits / 16) / words;
    struct entry *entries = calloc(*count + 1, sizeof(*entries));
    int status = raw != NULL && entries != NULL ? sw_table_raw_copy(table, raw) : SW_E_NOMEM;
    for (uint64_t i = 0; status == SW_OK && i < *count; i++) {
        if (pair->slot_bits == 64) {
            uint32_t m = ((const uint32_t *)raw)[words * (i + 1) - 1];
            entries[i].m = m == UINT32_MAX ? UINT64_MAX : m; /* EMPTY sorts last in both widths */
            entries[i].value = ((const uint32_t *)raw)[words * i];
        } else {
            entries[i].m = ((const uint64_t *)raw)[words * (i + 1) - 1];
            entries[i].value = ((const uint64_t *)raw)[words * i];
        }
    }
    free(raw);
    if (status != SW_OK) {
        pair_fail(pair, "side %d: copying the slots: %s", s, sw_status_text(status));
        free(entries);
        return NULL;
    }
    return entries;
}

static bool compare_slots(struct pair *pair, bool loose)
{
    uint64_t count = 0;
    uint64_t count_tested = 0;
    struct entry *a = read_slots(pair, 0, &count);
    struct entry *b = read_slots(pair, 1, &count_tested);
    struct sw_table_info info;
    sw_table_info(pair->side[0].table, &info);
    uint64_t unit = loose ? count : info.bucket_slots;
    if (a != NULL && b != NULL && count != count_tested) {
        pair_fail(pair, "slots: cpu %" PRIu64 ", tested %" PRIu64, count, count_tested);
    }
    for (uint64_t at = 0; a != NULL && b != NULL && at < count && pair->failure[0] == '\0';
         at += unit) {
        qsort(a + at, unit, sizeof(*a), by_m);
        qsort(b + at, unit, sizeof(*b), by_m);
        for (uint64_t i = at; i < at + unit; i++) {
            if (by_m(&a[i], &b[i]) != 0) {
                pair_fail(pair,
                          "%s %" PRIu64 " of %" PRIu64 " (home buckets: %" PRIu64
                          "): cpu m %#" PRIx64 " value %" PRIu64 ", tested m %#" PRIx64
                          " value %" PRIu64,
                          loose ? "entry" : "bucket", loose ? i : at / unit, count / unit,
                          info.buckets, a[i].m, a[i].value, b[i].m, b[i].value);
                break;
            }
        }
    }
    free(a);
    free(b);
    return pair->failure[0] == '\0';
}

/* Checks both tables, and compares their numbers of entries. */
static bool compare_audited(struct pair *pair, struct sw_table_stats stats[2])
{
    for (int s = 0; s < 2; s++) {
        char violation[256];
        if (sw_table_check(pair->side[s].table, violation, sizeof(violation)) != SW_OK) {
            return pair_fail(pair, "check of %s: %s", s == 0 ? "cpu" : "tested", violation);
        }
        sw_table_stats(pair->side[s].table, &stats[s]);
    }
    if (stats[0].occupied != stats[1].occupied) {
        return pair_fail(pair, "occupied: cpu %" PRIu64 ", tested %" PRIu64, stats[0].occupied,
                         stats[1].occupied);
    }
    return true;
}

bool pair_audit(struct pair *pair)
{
    struct sw_table_stats stats[2];
    return compare_audited(pair, stats);
}

bool pair_compare(struct pair *pair, bool loose)
{
    struct sw_table_stats stats[2];
    if (!compare_audited(pair, stats)) {
        return false;
    }
    if (!loose && stats[0].stash_occupied != stats[1].stash_occupied) {
        return pair_fail(pair, "in the stash: cpu %" PRIu64 ", tested %" PRIu64,
                         stats[0].stash_occupied, stats[1].stash_occupied);
    }
    return compare_slots(pair, loose);
}

bool pair_compare_contents(struct pair *pair)
{
    struct sw_table_stats stats[2];
    struct entry *entries[2];
    uint64_t held[2] = {0, 0};
    if (!compare_audited(pair, stats)) {
        return false;
    }
    for (int s = 0; s < 2; s++) {
        uint64_t count = 0;
        entries[s] = read_slots(pair, s, &count);
        for (uint64_t i = 0; entries[s] != NULL && i < count; i++) {
            if (entries[s][i].m != UINT64_MAX) {
                entries[s][held[s]++] = entries[s][i];
            }
        }
        if (entries[s] != NULL) {
            qsort(entries[s], held[s], sizeof(**entries), by_m);
        }
    }
    if (pair->failure[0] == '\0' && held[0] != held[1]) {
        pair_fail(pair, "slots taken: cpu %" PRIu64 ", tested %" PRIu64, held[0], held[1]);
    }
    for (uint64_t i = 0; pair->failure[0] == '\0' && i < held[0]; i++) {
        if (by_m(&entries[0][i], &entries[1][i]) != 0) {
            pair_fail(pair,
                      "entry %" PRIu64 ": cpu m %#" PRIx64 " value %" PRIu64 ", tested m %#" PRIx64
                      " value %" PRIu64,
                      i, entries[0][i].m, entries[0][i].value, entries[1][i].m,
                      entries[1][i].value);
        }
    }
    free(entries[0]);
    free(entries[1]);
    return pair->failure[0] == '\0';
}

/* Scans one table to its end. Returns the entries in the order they came; the caller frees them. */
static struct entry *scan_side(struct pair *pair, int s, uint32_t wanted, uint64_t *count)
{
    struct side *side = &pair->side[s];
    struct sw_table_info info;
    sw_table_info(side->table, &info);
    uint64_t room = 2 * (info.capacity_slots + info.max_probe * (uint64_t)info.bucket_slots) +
                    2 * info.stash_slots + 1024;
    struct entry *entries = calloc(room, sizeof(*entries));
    uint64_t cursor = 0;
    uint64_t calls = 0;
    *count = 0;
    do {
        struct sw_batch *batch = &side->batch;
        memset(batch, 0, sizeof(*batch));
        batch->kind = SW_BATCH_SCAN;
        batch->count = wanted;
        batch->scan.cursor = cursor;
        batch->scan.keys = side->keys;
        batch->scan.values = pair->is_set ? NULL : side->values;
        int status = sw_batch_run(side->queue, batch);
        if (status != SW_OK || ++calls > room || *count + batch->scan.got > room) {
            pair_fail(pair, "scan, side %d: call %" PRIu64 ", cursor %#" PRIx64 ": %s", s, calls,
                      cursor, status != SW_OK ? sw_status_text(status) : "does not end");
            break;
        }
        for (uint32_t i = 0; i < batch->scan.got; i++) {
            struct entry *entry = &entries[(*count)++];
            entry->m = pair_word(pair, side->keys, i);
            entry->value = pair->is_set ? 0 : pair_word(pair, side->values, i);
        }
        cursor = batch->scan.cursor;
    } while (cursor != 0);
    return entries;
}

bool pair_scan(struct pair *pair, uint32_t wanted)
{
    uint64_t count[2];
    struct entry *a = scan_side(pair, 0, wanted, &count[0]);
    struct entry *b = scan_side(pair, 1, wanted, &count[1]);
    struct sw_table_stats stats;
    sw_table_stats(pair->side[0].table, &stats);
    if (pair->failure[0] == '\0' && (count[0] != count[1] || count[0] != stats.occupied)) {
        pair_fail(pair, "scan: %" PRIu64 " entries of cpu, %" PRIu64 " of tested, %" PRIu64 " held",
                  count[0], count[1], stats.occupied);
    }
    for (uint64_t i = 0; pair->failure[0] == '\0' && i < count[0]; i++) {
        if (by_m(&a[i], &b[i]) != 0) {
            pair_fail(pair, "scan: entry %" PRIu64 " is key %#" PRIx64 " of cpu, %#" PRIx64, i,
                      a[i].m, b[i].m);
        }
    }
    free(a);
    free(b);
    return pair->failure[0] == '\0';
}
