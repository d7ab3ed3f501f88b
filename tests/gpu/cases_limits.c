/* SPDX-License-Identifier: MIT
 *
 * cases_limits.c - cases about the probe cap, the maximum load, and several batches at once.
 */
#include "tests/gpu/cases.h"
#include "tests/gpu/ways.h"

#include <stdlib.h>
#include <string.h>

uint64_t one_home_key(const struct pair *pair, uint64_t i)
{
    uint64_t scattered = (i & ~63ULL) | (i * 37 & 63);
    uint64_t middle = pair->slot_bits == 64 ? 1ULL << 31 : 1ULL << 63;
    return pair_key_of(pair, middle + scattered);
}

/* A run of full buckets in the stash that is longer than the window a scan reads at first: where
 * the cursor is past what the window shows, a larger one is read. Keys come in order, few at a
 * time, so that they do not all push at the same buckets. */
bool case_scan_long_run(struct pair *pair, const struct scale *scale, double load)
{
    const uint64_t entries = 70000; /* the window has 2^14 buckets of 4 */
    uint64_t m = 0;
    (void)scale;
    (void)load;
    while (m < entries) {
        pair->in.op = SW_SET;
        pair->in.group_count = 0;
        for (pair->in.count = 0;
             pair->in.count < pair->n_max && pair->in.count < 4096 && m < entries;
             pair->in.count++, m++) {
            pair->in.keys[pair->in.count] = pair_key_of(pair, m);
            pair->in.values[pair->in.count] = m ^ 0x5555;
        }
        if (!pair_run(pair, false)) {
            return false;
        }
    }
    return pair_compare(pair, false) && pair_scan(pair, pair->n_max);
}

static uint64_t occupied_max(const struct pair *pair)
{
    struct sw_table_info info;
    sw_table_info(pair->side[0].table, &info);
    return info.occupied_max;
}

/* What the operations of a batch at the limit are. */
enum mixture { MIXTURE_SET, MIXTURE_INCREMENT, MIXTURE_UPSERTS, MIXTURE_ALL, MIXTURE_COUNT };

/* A batch of groups of so many operations, 0: of 0 to 7; every third operation on one of few keys
 * that are there or not. */
static void fill_groups(struct pair *pair, enum mixture mixture, uint32_t size, uint64_t limit)
{
    const uint32_t count = pair->n_max / 2 + (uint32_t)pair_below(pair, pair->n_max / 2);
    fill_random(pair, count, limit + limit / 3, mixture == MIXTURE_ALL ? 35 : 0);
    for (uint32_t i = 0; i < count; i++) {
        if (pair_below(pair, 3) == 0) {
            pair->in.keys[i] = pair_key(pair, limit - 8 + pair_below(pair, 32));
        }
    }
    pair->in.op = mixture == MIXTURE_SET         ? SW_SET
                  : mixture == MIXTURE_INCREMENT ? SW_INCREMENT
                                                 : -1;
    for (uint32_t end = 0; end < count && pair->in.group_count < pair->n_max;) {
        end += size != 0 ? size : (uint32_t)pair_below(pair, 8);
        end = end < count && pair->in.group_count + 1 < pair->n_max ? end : count;
        pair->in.group_ends[pair->in.group_count++] = end;
    }
}

/* Groups of one operation on a full table: one key is set and deleted in turn, so whether one of
 * them is refused depends on all before it. */
static void fill_turns(struct pair *pair, uint64_t limit)
{
    fill_random(pair, 2048, limit + limit / 3, 0);
    for (uint32_t i = 0; i < 2048; i++) {
        if (i >= 1 && i <= 200) {
            pair->in.keys[i] = pair_key(pair, i == 1 ? 7 : limit + 1);
            pair->in.ops[i] = i % 2 == 1 ? (uint8_t)SW_DELETE : (uint8_t)SW_SET;
        }
        pair->in.group_ends[pair->in.group_count++] = i + 1;
    }
}

/* Large batches of groups of one size, some of which are refused, on a table that has room for none
 * or for few entries: none is carried out by one thread. */
bool case_full(struct pair *pair, const struct scale *scale, double load)
{
    static const uint32_t sizes[] = {1, 3, 1000, 0};
    static const uint64_t rooms[] = {0, 1, 2, 5, 300};
    const uint64_t limit = occupied_max(pair);
    uint64_t refused = 0;
    uint32_t turn = 0;
    (void)scale;
    (void)load;
    const struct ways before = ways_now(pair);
    for (int mixture = 0; mixture < MIXTURE_COUNT; mixture++) {
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
            const uint64_t room = rooms[turn++ % (sizeof(rooms) / sizeof(rooms[0]))];
            if (!pair_clear(pair) || !pair_range(pair, SW_SET, 0, limit - room)) {
                return false;
            }
            fill_groups(pair, (enum mixture)mixture, sizes[s], limit);
            if (!pair_run(pair, false) || !pair_compare(pair, false)) {
                return false;
            }
            refused += pair->side[1].batch.counters.refused;
        }
    }
    if (!pair_clear(pair) || !pair_range(pair, SW_SET, 0, limit)) {
        return false;
    }
    fill_turns(pair, limit);
    return pair_run(pair, false) && pair_compare(pair, false) &&
           (refused > 0 || pair_fail(pair, "no group was refused")) &&
           pair_lookup(pair, 0, limit + limit / 3) &&
           ways_taken(pair, &before, WAY(SW_WAY_GENERAL)) &&
           ways_not_taken(pair, &before, WAY(SW_WAY_SERIAL));
}

/* --- several batches at once --- */

#define FLIGHT 80 /* more than a queue of the CUDA backend takes */

struct flight {
    struct sw_batch batch;
    uint64_t *memory; /* I/O: key, operand, previous, found */
    bool running;
};

static bool land(struct pair *pair, struct flight *flight, uint64_t expected)
{
    int status;
    do {
        status = sw_batch_poll(pair->side[1].queue, &flight->batch);
    } while (status == SW_PENDING);
    flight->running = false;
    uint64_t previous = pair->slot_bits == 64 ? ((uint32_t *)flight->memory)[4] : flight->memory[2];
    if (status != SW_OK || previous != expected) {
        return pair_fail(pair, "batch in flight: status %s, counter %llu where %llu was due",
                         sw_status_text(status), (unsigned long long)previous,
                         (unsigned long long)expected);
    }
    return true;
}

/* A batch of one operation on the counter. */
static void prepare(struct pair *pair, struct flight *flight, enum sw_op op)
{
    struct sw_batch *batch = &flight->batch;
    struct sw_table_info info;
    sw_table_info(pair->side[1].table, &info);
    memset(flight->memory, 0, 64);
    ((uint32_t *)flight->memory)[0] = 77; /* the key */
    ((uint32_t *)flight->memory)[2] = 1;  /* the operand */
    memset(batch, 0, sizeof(*batch));
    batch->op = op;
    batch->count = 1;
    batch->keys = flight->memory;
    batch->values = flight->memory + 1;
    batch->previous = flight->memory + 2;
    batch->found = flight->memory + 3;
    if (info.stash_slots == 0) { /* with a place for left-overs it goes alone */
        batch->leftover_keys = flight->memory + 4;
        batch->leftover_values = flight->memory + 5;
    }
}

/* Increments one counter by many batches of one queue, as many in flight as there are: batches take
 * effect in order, each sees what the one before it left; every third only reads. */
static bool increment(struct pair *pair, struct flight *flights, uint64_t total)
{
    bool good = true;
    for (uint64_t i = 0; good && i < total; i++) {
        struct flight *flight = &flights[i % FLIGHT];
        good = !flight->running || land(pair, flight, ((i - FLIGHT) * 2 + 2) / 3);
        prepare(pair, flight, i % 3 == 2 ? SW_GET : SW_INCREMENT);
        int status = good ? sw_batch_submit(pair->side[1].queue, &flight->batch) : SW_OK;
        good = good && (status == SW_OK || pair_fail(pair, "submit: %s", sw_status_text(status)));
        flight->running = good;
    }
    for (uint64_t i = total - FLIGHT; good && i < total; i++) {
        good = land(pair, &flights[i % FLIGHT], (i * 2 + 2) / 3);
    }
    return good;
}

/* Submits reads, none of which is polled before the queue refuses one. */
static bool fill_queue(struct pair *pair, const struct scale *scale, struct flight *flights,
                       uint64_t counter)
{
    int submitted = 0;
    int status = SW_OK;
    while (status == SW_OK && submitted < FLIGHT) {
        prepare(pair, &flights[submitted], SW_GET);
        status = sw_batch_submit(pair->side[1].queue, &flights[submitted].batch);
        submitted += status == SW_OK;
    }
    bool good = true;
    for (int f = 0; f < submitted; f++) {
        good = land(pair, &flights[f], counter) && good;
    }
    if (good && status != SW_E_BUSY && scale->tested == SW_BACKEND_CUDA) {
        return pair_fail(pair, "the queue never said that it was full");
    }
    return good;
}

bool case_in_flight(struct pair *pair, const struct scale *scale, double load)
{
    struct flight flights[FLIGHT];
    uint64_t total = 1000 + 50 * (uint64_t)scale->rounds;
    bool good = true;
    (void)load;
    memset(flights, 0, sizeof(flights));
    for (int f = 0; f < FLIGHT; f++) {
        flights[f].memory = sw_io_alloc(pair->side[1].table, 64);
        good = good && flights[f].memory != NULL;
    }
    good = good && increment(pair, flights, total) &&
           fill_queue(pair, scale, flights, (total * 2 + 2) / 3);
    for (int f = 0; f < FLIGHT; f++) {
        sw_io_free(pair->side[1].table, flights[f].memory, 64);
    }
    return good;
}
