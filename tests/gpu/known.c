/* SPDX-License-Identifier: MIT
 *
 * known.c - keys by number, their values, and batches whose answers are known.
 */
#include "tests/gpu/known.h"

#include <stdlib.h>
#include <string.h>

#include "tests/gpu/cases.h"

struct sw_table_info info_of(const struct pair *pair, int s)
{
    struct sw_table_info info;
    sw_table_info(pair->side[s].table, &info);
    return info;
}

struct sw_table_stats stats_of(const struct pair *pair, int s)
{
    struct sw_table_stats stats;
    sw_table_stats(pair->side[s].table, &stats);
    return stats;
}

uint64_t ones_of(const struct pair *pair)
{
    return pair->slot_bits == 64 ? UINT32_MAX : UINT64_MAX;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

bool known_open(struct known *known, struct pair *pair, uint64_t plain)
{
    uint64_t low =
        ones_of(pair) / 2 - 4096; /* the pile's and those beside them are no plain keys */
    uint64_t i = 0;
    *known = (struct known){
        .pair = pair, .pile = plain, .never = plain + PILE, .side = plain + PILE + NEVER};
    known->keys = calloc(known->side + 1, sizeof(*known->keys));
    known->values = calloc(known->side + 1, sizeof(*known->values));
    known->present = calloc(known->side + 1, 1);
    known->numbers = calloc(pair->n_max, sizeof(*known->numbers));
    if (known->keys == NULL || known->values == NULL || known->present == NULL ||
        known->numbers == NULL) {
        return pair_fail(pair, "no memory for %llu keys", (unsigned long long)known->side);
    }
    for (uint64_t k = 0; k < known->side; k++) {
        if (k >= known->pile && k < known->never) {
            known->keys[k] = one_home_key(pair, k - known->pile);
            continue;
        }
        uint64_t m;
        do {
            known->keys[k] = pair_key(pair, i++);
            m = pair_mix(pair, known->keys[k]);
        } while (m == ones_of(pair) || m - low < 8192);
    }
    known->keys[known->side] = pair_key_of(pair, ones_of(pair));
    return true;
}

void known_close(struct known *known)
{
    free(known->keys);
    free(known->values);
    free(known->present);
    free(known->numbers);
}

static uint64_t result_of(enum sw_op op, bool present, uint64_t before, uint64_t operand)
{
    switch (op) {
    case SW_SUM:
        return present ? before + operand : operand;
    case SW_MIN:
        return present ? smaller(before, operand) : operand;
    case SW_MAX:
        return present && before > operand ? before : operand;
    default:
        return operand;
    }
}

void known_upsert(struct known *known, enum sw_op op, uint32_t number, uint64_t operand)
{
    uint64_t value = result_of(op, known->present[number] != 0, known->values[number], operand);
    known->values[number] = value & ones_of(known->pair);
    known->present[number] = 1;
}

/* Checks the answers to operation i of both sides against the known value. */
static bool check_answer(const struct known *known, uint32_t i)
{
    struct pair *pair = known->pair;
    uint32_t number = known->numbers[i];
    uint64_t before = known->present[number] != 0 ? known->values[number] : 0;
    for (int s = 0; s < 2; s++) {
        const struct side *side = &pair->side[s];
        bool found = side->found[i / 64] >> (i % 64) & 1;
        uint64_t previous = pair_word(pair, side->previous, i);
        if ((pair->form.found && found != (known->present[number] != 0)) ||
            (pair->form.previous && previous != before)) {
            return pair_fail(pair,
                             "side %d, operation %u of %u (op %d, key number %u): found %d, "
                             "previous %llu; known: %d, %llu",
                             s, i, pair->in.count, pair->in.op, number, found,
                             (unsigned long long)previous, known->present[number],
                             (unsigned long long)before);
        }
    }
    return true;
}

bool known_run(struct known *known, enum sw_op op, uint32_t count, enum pair_answers answers,
               int status)
{
    struct pair *pair = known->pair;
    pair->in.op = (int)op;
    pair->in.count = count;
    pair->in.group_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        pair->in.keys[i] = known->keys[known->numbers[i]];
        pair->in.values[i] = pair_random(pair) & ones_of(pair);
    }
    pair->answers = answers;
    bool good = pair_run(pair, true);
    pair->answers = PAIR_ANSWERS_DRAWN;
    if (good && pair->side[1].batch.status != status) {
        return pair_fail(pair, "%u of op %d: %s, not: %s", count, (int)op,
                         sw_status_text(pair->side[1].batch.status), sw_status_text(status));
    }
    for (uint32_t i = 0; good && status == SW_OK && i < count; i++) {
        uint32_t number = known->numbers[i];
        good = check_answer(known, i);
        if (op == SW_DELETE) {
            known->present[number] = 0;
        } else if (op != SW_GET) {
            known_upsert(known, op, number, pair->in.values[i]);
        }
    }
    return good;
}

bool known_range(struct known *known, enum sw_op op, uint64_t first, uint64_t end)
{
    while (first < end) {
        uint32_t count = (uint32_t)smaller(end - first, known->pair->n_max);
        for (uint32_t i = 0; i < count; i++) {
            known->numbers[i] = (uint32_t)(first + i);
        }
        if (!known_run(known, op, count, PAIR_ANSWERS_ALL, SW_OK)) {
            return false;
        }
        first += count;
    }
    return true;
}

/* Checks that the statistics have the number of entries in the stash's slots. */
static bool check_stash(struct pair *pair, int s)
{
    struct sw_table_info info = info_of(pair, s);
    size_t bytes = sw_table_raw_bytes(pair->side[s].table);
    uint64_t *raw = calloc(bytes / sizeof(uint64_t) + 1, sizeof(uint64_t));
    int status = raw == NULL ? SW_E_NOMEM : sw_table_raw_copy(pair->side[s].table, raw);
    const uint32_t words = pair->is_set ? 1 : 2; /* of a slot; m is the last */
    const uint64_t slots = bytes / (pair->slot_bits / 16) / words;
    uint64_t held = 0;
    for (uint64_t i = (info.buckets + info.max_probe) * info.bucket_slots;
         status == SW_OK && i < slots; i++) {
        held += pair_word(pair, raw, words * (i + 1) - 1) != ones_of(pair);
    }
    free(raw);
    uint64_t said = stats_of(pair, s).stash_occupied;
    return (status == SW_OK && held == said) ||
           pair_fail(pair, "stash of side %d: holds %llu, said to hold %llu (%s)", s,
                     (unsigned long long)held, (unsigned long long)said, sw_status_text(status));
}

bool known_check(struct known *known)
{
    return known_range(known, SW_GET, 0, known->side + 1) && check_stash(known->pair, 0) &&
           check_stash(known->pair, 1) && pair_compare_contents(known->pair);
}

bool known_clear(struct known *known)
{
    memset(known->present, 0, known->side + 1);
    return pair_clear(known->pair);
}
