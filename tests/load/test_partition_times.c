/* SPDX-License-Identifier: MIT
 *
 * test_partition_times.c - the model of a partition whose keys expire (--ttl): it agrees with a
 * table that tells the truth, whatever of an answer a protocol tells, and notices keys that go too
 * early or stay too long. Time is what the test says.
 */
#include "bench/load/partition.h"
#include "bench/load/random.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define UNIT 32
#define KEYS 200
#define ENTRIES 1024
#define MS 1000000ULL
#define TTL_MS 300

/* What replies tell: by RESP, by frames, by frames that ask for what was there before, by frames
 * without the bitmap. */
enum telling { RESP, FRAMES, PREVIOUS, NO_FOUND, TELLINGS };

struct entry {
    uint64_t key, value, ends_ns; /* UINT64_MAX: never */
    bool present;
};

struct truth {
    struct entry entries[ENTRIES];
    uint64_t now_ns, random;
    enum telling telling;
};

static struct entry *find(struct truth *truth, uint64_t key)
{
    size_t at = (size_t)(sw_load_mix64(key) % ENTRIES);
    while (truth->entries[at].key != 0 && truth->entries[at].key != key) {
        at = (at + 1) % ENTRIES;
    }
    truth->entries[at].key = key;
    return &truth->entries[at];
}

/* Does an operation at `now_ns`. */
static struct sw_load_answer serve(struct truth *truth, uint8_t operation, uint64_t key,
                                   uint64_t operand)
{
    struct entry *entry = find(truth, key);
    entry->present = entry->present && truth->now_ns < entry->ends_ns;
    const struct entry before = *entry;
    const bool is_get = operation == SW_LOAD_MIX_GET, is_sum = operation == SW_LOAD_MIX_SUM;
    struct sw_load_answer answer = {.found = before.present};
    if (operation == SW_LOAD_MIX_DELETE) {
        entry->present = false;
    } else if (!is_get) {
        const bool adds = is_sum && before.present;
        entry->value = adds ? before.value + operand : operand;
        entry->present = true;
        entry->ends_ns = adds     ? before.ends_ns
                         : is_sum ? UINT64_MAX
                                  : truth->now_ns / MS * MS + TTL_MS * MS;
    }
    answer.has_found = truth->telling == FRAMES || truth->telling == PREVIOUS ||
                       (truth->telling == RESP && (is_get || operation == SW_LOAD_MIX_DELETE));
    answer.has_value = truth->telling == RESP ? is_sum || (is_get && before.present) : is_get;
    answer.has_previous = truth->telling == PREVIOUS && !is_get;
    answer.value =
        answer.has_previous || is_get ? (before.present ? before.value : 0) : entry->value;
    return answer;
}

/* Draws a unit, and serves it somewhere between when it is sent and when it is answered. Returns
 * how many verdicts are not right, and adds to *expired. */
static uint32_t play(struct sw_load_partition *partition, struct truth *truth, uint64_t *expired)
{
    uint64_t keys[UNIT], operands[UNIT];
    uint32_t bad = 0;
    sw_load_partition_draw(partition, UNIT, keys, operands);
    const uint64_t since_ns = truth->now_ns;
    const uint64_t before = sw_load_random_below(&truth->random, 40 * MS);
    const uint64_t after = sw_load_random_below(&truth->random, 40 * MS);
    truth->now_ns += before;
    for (uint32_t i = 0; i < UNIT; i++) {
        struct sw_load_answer answer = serve(truth, partition->operations[i], keys[i], operands[i]);
        answer.since_ns = since_ns;
        answer.until_ns = since_ns + before + after;
        struct sw_load_verdict verdict =
            sw_load_partition_check(partition, i, operands[i], &answer);
        bad += !verdict.right;
        *expired += verdict.expired;
    }
    truth->now_ns += after;
    return bad;
}

static struct world {
    struct sw_load_workload workload;
    struct sw_load_mix mix;
    struct sw_load_partition_setup setup;
    struct sw_load_partition partition;
    struct truth truth;
} world;

static void make(const char *mix, enum telling telling)
{
    world = (struct world){.workload = {.seed = 5, .keys = KEYS, .key_bytes = 8, .value_bytes = 8},
                           .truth = {.now_ns = 1000000 * MS, .random = 7, .telling = telling}};
    cr_assert(sw_load_mix_parse(mix, &world.mix));
    world.setup = (struct sw_load_partition_setup){.workload = &world.workload,
                                                   .mix = &world.mix,
                                                   .hit_ratio = 1,
                                                   .set_mask = 3, /* often 0, as absent keys seem */
                                                   .sum_mask = 3,
                                                   .unit_keys = UNIT,
                                                   .per_key = true,
                                                   .verify = true,
                                                   .ttl_ns = TTL_MS * MS,
                                                   .partitions = 1};
    cr_assert(sw_load_partition_init(&world.partition, &world.setup, 0));
    /* The fill. */
    uint64_t keys[UNIT], operands[UNIT];
    uint32_t count;
    while ((count = sw_load_partition_sweep(&world.partition, true, keys, operands)) != 0) {
        for (uint32_t i = 0; i < count; i++) {
            struct sw_load_answer answer =
                serve(&world.truth, SW_LOAD_MIX_SET, keys[i], operands[i]);
            answer.since_ns = answer.until_ns = world.truth.now_ns;
            cr_assert(sw_load_partition_check(&world.partition, i, operands[i], &answer).right);
        }
    }
}

Test(partition_times, models_agree_with_the_truth)
{
    static const char *const mixes[] = {"get=4,set=1", "get=4,set=1,sum=2,delete=1,insert=1",
                                        "get=1,sum=1,set=1", "set=1,delete=1"};
    for (size_t m = 0; m < (size_t)TELLINGS * 4; m++) {
        uint64_t expired = 0;
        make(mixes[m / TELLINGS], (enum telling)(m % TELLINGS));
        for (uint32_t round = 0; round < 400; round++) {
            cr_assert_eq(play(&world.partition, &world.truth, &expired), 0, "mix %zu, round %u", m,
                         round);
            world.truth.now_ns += round % 10 == 0 ? TTL_MS / 3 * MS : 0;
        }
        cr_assert(expired > 0 || world.mix.weights[SW_LOAD_MIX_GET] == 0);
        sw_load_partition_fini(&world.partition);
    }
}

/* A read of the first key, `at_ms` after it was set; what it finds. */
static struct sw_load_verdict read_after(uint64_t at_ms, bool finds)
{
    uint64_t keys[UNIT], operands[UNIT];
    make("get=1", FRAMES);
    sw_load_partition_draw(&world.partition, 1, keys, operands);
    const uint64_t now_ns = world.truth.now_ns + at_ms * MS;
    const struct sw_load_answer answer = {.has_found = true,
                                          .found = finds,
                                          .has_value = true,
                                          .value = finds ? find(&world.truth, keys[0])->value : 0,
                                          .since_ns = now_ns,
                                          .until_ns = now_ns + 10 * MS};
    struct sw_load_verdict verdict = sw_load_partition_check(&world.partition, 0, 0, &answer);
    sw_load_partition_fini(&world.partition);
    return verdict;
}

Test(partition_times, a_key_that_goes_too_early_or_stays_too_long)
{
    cr_expect(read_after(100, true).right);
    cr_expect(read_after(100, false).missing);
    cr_expect(read_after(TTL_MS - 50, false).missing);
    for (uint64_t at_ms = TTL_MS - 10; at_ms < TTL_MS + 10; at_ms++) {
        cr_expect(read_after(at_ms, true).right);
        cr_expect(read_after(at_ms, false).right && read_after(at_ms, false).expired);
    }
    cr_expect(read_after(TTL_MS + 50, true).surplus);
    cr_expect(read_after(TTL_MS + 50, false).right && read_after(TTL_MS + 50, false).expired);
}

/* A key that was deleted has not expired, whatever its time. */
Test(partition_times, only_what_was_there_expires)
{
    uint64_t expired = 0, ignored = 0;
    make("delete=1", FRAMES);
    for (int i = 0; i < 200; i++) {
        cr_assert_eq(play(&world.partition, &world.truth, &ignored), 0);
    }
    cr_assert(sw_load_mix_parse("get=1", &world.mix));
    world.truth.now_ns += TTL_MS * 2 * MS;
    for (int i = 0; i < 50; i++) {
        cr_assert_eq(play(&world.partition, &world.truth, &expired), 0);
    }
    cr_expect_eq(expired, 0);
    sw_load_partition_fini(&world.partition);
}
