/* SPDX-License-Identifier: MIT
 *
 * test_partition.c - partitions divide the keys, agree with a table that tells the truth, and
 * notice each kind of lie.
 */
#include "bench/load/partition.h"
#include "bench/load/random.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define UNIT 61
#define ENTRIES 4096 /* a power of two, at most half used */

/* The truth: a small map. */
struct entry {
    bool used, present;
    uint64_t key, value;
};

static struct truth {
    struct entry entries[ENTRIES];
    uint32_t used;
    uint32_t value_bytes;
} truth;

static struct entry *find(uint64_t key)
{
    size_t at = (size_t)(sw_load_mix64(key) % ENTRIES);
    while (truth.entries[at].used && truth.entries[at].key != key) {
        at = (at + 1) % ENTRIES;
    }
    if (!truth.entries[at].used) {
        cr_assert_lt(++truth.used, ENTRIES / 2);
        truth.entries[at] = (struct entry){.used = true, .key = key};
    }
    return &truth.entries[at];
}

/* Does an operation and answers everything that any protocol tells. */
static struct sw_load_answer serve(uint8_t operation, uint64_t key, uint64_t operand)
{
    struct entry *entry = find(key);
    struct sw_load_answer answer = {.has_found = true, .found = entry->present};
    switch (operation) {
    case SW_LOAD_MIX_GET:
        answer.has_value = entry->present;
        break;
    case SW_LOAD_MIX_DELETE:
        entry->present = false;
        return answer;
    case SW_LOAD_MIX_SUM:
        entry->value = entry->present ? entry->value + operand : operand;
        answer.has_value = true;
        entry->present = true;
        break;
    default:
        entry->value = operand;
        entry->present = true;
        break;
    }
    if (truth.value_bytes == 4) {
        entry->value = (uint32_t)entry->value;
    }
    answer.value = entry->value;
    return answer;
}

static struct sw_load_partition_setup setup_of(const struct sw_load_workload *workload,
                                               const struct sw_load_mix *mix, uint32_t partitions)
{
    return (struct sw_load_partition_setup){
        .workload = workload,
        .mix = mix,
        .distribution = SW_LOAD_UNIFORM,
        .theta = 0.99,
        .hit_ratio = 0.7,
        .set_mask = UINT64_MAX,
        .sum_mask = UINT64_MAX,
        .unit_keys = UNIT,
        .per_key = true,
        .verify = true,
        .partitions = partitions,
    };
}

static const struct sw_load_workload workloads[] = {
    {.seed = 1, .keys = 500, .key_bytes = 4, .value_bytes = 4},
    {.seed = 2, .keys = 500, .key_bytes = 8, .value_bytes = 8},
    {.seed = 3, .keys = 500, .key_bytes = 4, .value_bytes = 8},
};

struct unit {
    uint64_t keys[UNIT], operands[UNIT];
    uint32_t count;
};

/* Serves a unit and checks it; returns how many verdicts are not right. `lie` is the element whose
 * answer `change` alters; UINT32_MAX: none. */
static uint32_t play(struct sw_load_partition *partition, const struct unit *unit, uint32_t lie,
                     void (*change)(struct sw_load_answer *), struct sw_load_verdict *last_bad)
{
    const struct sw_load_workload *workload = partition->setup->workload;
    uint32_t bad = 0;
    for (uint32_t i = 0; i < unit->count; i++) {
        uint64_t key = sw_load_element(unit->keys, workload->key_bytes, i);
        uint64_t operand = sw_load_element(unit->operands, workload->value_bytes, i);
        struct sw_load_answer answer = serve(partition->operations[i], key, operand);
        if (i == lie) {
            change(&answer);
        }
        struct sw_load_verdict verdict = sw_load_partition_check(partition, i, operand, &answer);
        bad += !verdict.right;
        if (!verdict.right && last_bad) {
            *last_bad = verdict;
        }
    }
    return bad;
}

static void fill(struct sw_load_partition *partition)
{
    struct unit unit = {.count = 0};
    sw_load_partition_rewind(partition);
    while ((unit.count = sw_load_partition_sweep(partition, true, unit.keys, unit.operands)) != 0) {
        cr_assert_eq(play(partition, &unit, UINT32_MAX, NULL, NULL), 0);
    }
}

static int compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The fills of all partitions are all keys once, whatever the number of partitions. */
Test(partition, fills_are_every_key_once)
{
    static const uint32_t partitions[] = {1, 2, 3, 7, 499, 500};
    struct sw_load_mix mix;
    cr_assert(sw_load_mix_parse("get=1,insert=1", &mix));
    for (size_t l = 0; l < 6 * 3; l++) {
        const struct sw_load_workload *workload = &workloads[l / 6];
        struct sw_load_partition_setup setup = setup_of(workload, &mix, partitions[l % 6]);
        uint64_t keys[500], expected[500];
        size_t count = 0;
        for (uint32_t n = 0; n < setup.partitions; n++) {
            struct sw_load_partition partition;
            struct unit unit;
            cr_assert(sw_load_partition_init(&partition, &setup, n));
            while ((unit.count =
                        sw_load_partition_sweep(&partition, true, unit.keys, unit.operands)) != 0) {
                for (uint32_t i = 0; i < unit.count; i++) {
                    cr_assert_lt(count, 500);
                    keys[count] = sw_load_element(unit.keys, workload->key_bytes, i);
                    cr_assert_eq(sw_load_element(unit.operands, workload->value_bytes, i),
                                 sw_load_value(workload, keys[count]));
                    count++;
                }
            }
            sw_load_partition_fini(&partition);
        }
        for (uint64_t i = 0; i < 500; i++) {
            expected[i] = sw_load_key(workload, i);
        }
        cr_assert_eq(count, 500);
        qsort(keys, 500, sizeof(*keys), compare);
        qsort(expected, 500, sizeof(*expected), compare);
        cr_assert(memcmp(keys, expected, sizeof(keys)) == 0);
    }
}

/* All partitions on one table, units in turn, each kind of mix: every answer is what the models
 * say, and the last sweep reads each key that was ever written. */
Test(partition, models_agree_with_the_truth)
{
    static const char *const mixes[] = {
        "get=40,set=20,sum=20,delete=15,insert=5",
        "get=1,delete=1",
        "sum=1",
        "insert=1,get=1",
    };
    for (size_t m = 0; m < 4 * 4 * 3; m++) {
        struct sw_load_mix mix;
        struct sw_load_partition partitions[3];
        struct sw_load_partition_setup setup = setup_of(&workloads[m / 16], &mix, 3);
        struct unit unit;
        uint64_t swept = 0, written = 0;
        cr_assert(sw_load_mix_parse(mixes[m % 4], &mix));
        truth = (struct truth){.value_bytes = setup.workload->value_bytes};
        setup.distribution = (enum sw_load_distribution_kind)(m / 4 % 4);
        setup.per_key = m % 2;
        for (uint32_t n = 0; n < 3; n++) {
            cr_assert(sw_load_partition_init(&partitions[n], &setup, n));
            fill(&partitions[n]);
        }
        for (uint32_t round = 0; round < 120; round++) {
            struct sw_load_partition *partition = &partitions[round % 3];
            unit.count = UNIT - round % 5;
            sw_load_partition_draw(partition, unit.count, unit.keys, unit.operands);
            cr_assert_eq(play(partition, &unit, UINT32_MAX, NULL, NULL), 0, "mix %zu", m);
        }
        for (uint32_t n = 0; n < 3; n++) {
            sw_load_partition_rewind(&partitions[n]);
            while ((unit.count =
                        sw_load_partition_sweep(&partitions[n], false, unit.keys, unit.operands))) {
                cr_assert_eq(play(&partitions[n], &unit, UINT32_MAX, NULL, NULL), 0);
                swept += unit.count;
            }
            written += partitions[n].head < partitions[n].positions ? partitions[n].head
                                                                    : partitions[n].positions;
            sw_load_partition_fini(&partitions[n]);
        }
        cr_assert_eq(swept, written, "mix %zu: %lu of %lu keys swept", m, swept, written);
    }
}

/* A partition of a mix and its table, filled. Close it by sw_load_partition_fini. */
static void open_one(struct sw_load_partition *partition, const struct sw_load_workload *workload,
                     const char *text)
{
    static struct sw_load_mix mix;
    static struct sw_load_partition_setup setup;
    cr_assert(sw_load_mix_parse(text, &mix));
    setup = setup_of(workload, &mix, 1);
    truth = (struct truth){.value_bytes = workload->value_bytes};
    cr_assert(sw_load_partition_init(partition, &setup, 0));
    fill(partition);
}

static void deny(struct sw_load_answer *answer)
{
    answer->found = !answer->found;
}

static void alter(struct sw_load_answer *answer)
{
    answer->value ^= 1ULL << 31;
}

/* One false answer to one element of a unit of one operation is one bad verdict of its kind. */
Test(partition, each_lie_is_noticed)
{
    static const char *const mixes[] = {"get=1", "set=1", "sum=1", "delete=1"};
    for (uint32_t m = 0; m < 4; m++) {
        for (uint32_t lie = 0; lie < 2 * UNIT; lie++) {
            struct sw_load_partition partition;
            struct sw_load_verdict verdict = {.right = true};
            struct unit unit = {.count = UNIT};
            bool has_value = m == 0 || m == 2, is_value = lie >= UNIT;
            open_one(&partition, &workloads[1], mixes[m]);
            sw_load_partition_draw(&partition, UNIT, unit.keys, unit.operands);
            bool was_there = find(unit.keys[lie % UNIT])->present;
            uint32_t bad = play(&partition, &unit, lie % UNIT, is_value ? alter : deny, &verdict);
            if (!is_value) {
                cr_assert_eq(bad, 1, "mix %u, element %u", m, lie);
                cr_assert(verdict.missing != verdict.surplus);
                cr_assert(m == 3 || verdict.missing == was_there);
            } else {
                cr_assert_eq(bad, has_value && was_there, "mix %u, value %u", m, lie);
                cr_assert(!verdict.missing && !verdict.surplus);
            }
            sw_load_partition_fini(&partition);
        }
    }
}

/* The value before a write, where the reply has it. */
Test(partition, previous_values_are_compared)
{
    static const char *const mixes[] = {"set=1", "sum=1", "delete=1"};
    for (uint32_t m = 0; m < 3; m++) {
        for (uint32_t is_lie = 0; is_lie < 2; is_lie++) {
            struct sw_load_partition partition;
            struct unit unit = {.count = 1};
            open_one(&partition, &workloads[1], mixes[m]);
            sw_load_partition_draw(&partition, 1, unit.keys, unit.operands);
            const uint64_t before = find(unit.keys[0])->value;
            const struct sw_load_answer answer = {
                .has_found = true, .found = true, .has_previous = true, .value = before ^ is_lie};
            struct sw_load_verdict verdict =
                sw_load_partition_check(&partition, 0, unit.operands[0], &answer);
            cr_assert_eq(verdict.right, !is_lie, "%s", mixes[m]);
            cr_assert(!is_lie || verdict.expected == before);
            sw_load_partition_fini(&partition);
        }
    }
}

/* A write that is lost shows at the next read of the key, in the final sweep at the latest. */
Test(partition, lost_writes_are_noticed)
{
    static const char *const mixes[] = {"set=1", "sum=1", "delete=1", "insert=1"};
    for (uint32_t m = 0; m < 4; m++) {
        struct sw_load_partition partition;
        static struct truth forgotten;
        struct unit unit = {.count = 1};
        uint32_t bad = 0;
        open_one(&partition, &workloads[0], mixes[m]);
        forgotten = truth;
        sw_load_partition_draw(&partition, 1, unit.keys, unit.operands);
        cr_assert_eq(play(&partition, &unit, UINT32_MAX, NULL, NULL), 0);
        truth = forgotten;
        sw_load_partition_rewind(&partition);
        while ((unit.count =
                    sw_load_partition_sweep(&partition, false, unit.keys, unit.operands)) != 0) {
            bad += play(&partition, &unit, UINT32_MAX, NULL, NULL);
        }
        cr_assert_eq(bad, 1, "%s", mixes[m]);
        sw_load_partition_fini(&partition);
    }
}

/* Reads that shall miss: the requested share of them, on keys that no partition writes. */
Test(partition, hit_ratio)
{
    static const double ratios[] = {0, 0.25, 0.9, 1};
    struct sw_load_mix mix;
    cr_assert(sw_load_mix_parse("get=1", &mix));
    for (size_t r = 0; r < 4 * 3; r++) {
        const struct sw_load_workload *workload = &workloads[r / 4];
        struct sw_load_partition_setup setup = setup_of(workload, &mix, 1);
        struct sw_load_partition partition;
        struct unit unit;
        uint32_t hits = 0;
        setup.hit_ratio = ratios[r % 4];
        cr_assert(sw_load_partition_init(&partition, &setup, 0));
        for (int round = 0; round < 400; round++) {
            sw_load_partition_draw(&partition, UNIT, unit.keys, unit.operands);
            for (uint32_t i = 0; i < UNIT; i++) {
                uint64_t key = sw_load_element(unit.keys, workload->key_bytes, i), at = 0;
                while (at < 1000 && sw_load_key(workload, at) != key) {
                    at++;
                }
                cr_assert_eq(at < 500, partition.unit[i] != SW_LOAD_NOWHERE);
                cr_assert(at < 500 || at == 1000, "a key that an insert could write");
                hits += at < 500;
            }
        }
        /* 24,400 draws: six standard deviations are below 0.02. */
        cr_assert_float_eq(hits / (400.0 * UNIT), ratios[r % 4], 0.02);
        cr_assert(ratios[r % 4] < 1 || hits == 400 * UNIT);
        cr_assert(ratios[r % 4] > 0 || hits == 0);
        sw_load_partition_fini(&partition);
    }
}

/* With latest, the key written last is read most, also when the places have been used up. */
Test(partition, latest_follows_the_inserts)
{
    struct sw_load_mix inserts, gets;
    struct sw_load_workload workload = workloads[1];
    cr_assert(sw_load_mix_parse("insert=1", &inserts));
    cr_assert(sw_load_mix_parse("get=1", &gets));
    workload.keys = 50;
    struct sw_load_partition_setup setup = setup_of(&workload, &inserts, 1);
    struct sw_load_partition partition;
    setup.distribution = SW_LOAD_LATEST;
    setup.hit_ratio = 1;
    cr_assert(sw_load_partition_init(&partition, &setup, 0));
    cr_assert_eq(partition.positions, 100);
    for (int round = 0; round < 20; round++) {
        struct unit unit;
        uint32_t counts[100] = {0};
        setup.mix = &inserts;
        sw_load_partition_draw(&partition, 13, unit.keys, unit.operands);
        uint64_t last = partition.unit[12];
        cr_assert_eq(last, (50 + 13 * (uint64_t)(round + 1) - 1) % 100);
        setup.mix = &gets;
        for (int i = 0; i < 50; i++) {
            sw_load_partition_draw(&partition, UNIT, unit.keys, unit.operands);
            for (uint32_t k = 0; k < UNIT; k++) {
                counts[partition.unit[k]]++;
            }
        }
        for (uint64_t i = 0; i < 100; i++) {
            cr_assert(i == last || counts[i] < counts[last]);
            cr_assert((last + 100 - i) % 100 < 50 || counts[i] == 0, "an old key was read");
        }
    }
    sw_load_partition_fini(&partition);
}
