/* SPDX-License-Identifier: MIT
 *
 * test_wal_power.c - the write-ahead log on a disk that loses power at any moment of any life: what
 * was answered is there, and what is there is a prefix of what was applied.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/log/wal.h"
#include "tests/support/power_disk.h"

#ifdef SHERWOOD_CHECKS /* sanitizers are slow */
enum { LIVES = 30 };
#else
enum { LIVES = 150 };
#endif
enum { KEYS_MAX = 600, WRITES_MAX = 60000 };

struct world {
    struct random random;
    struct sw_directory directory;
    struct sw_wal *wal;
    enum sw_wal_level level;
    uint64_t life;
    uint64_t next;              /* sequence of the next write */
    uint64_t base;              /* a snapshot holds what is up to here */
    uint32_t truth[WRITES_MAX]; /* the life that made the write of each sequence */
    uint64_t crashes, lost;
};

static void no_wake(void *context)
{
    (void)context;
}

/* A record's keys tell its sequence and its life. */
static int take(void *context, const struct sw_wal_record *record, const uint8_t *columns,
                char reason[SW_WAL_REASON_BYTES])
{
    const struct world *world = context;
    const uint64_t *keys = (const uint64_t *)(const void *)columns;
    (void)reason;
    cr_assert_eq(keys[0], record->sequence);
    cr_assert_eq(keys[1], world->truth[record->sequence], "write %lu of life %lu came back",
                 (unsigned long)record->sequence, (unsigned long)keys[1]);
    return 0;
}

static int end(void *context, char reason[SW_WAL_REASON_BYTES])
{
    (void)context;
    (void)reason;
    return 0;
}

static const struct sw_wal_shape shape = {.key_bytes = 8, .value_bytes = 8};

/* Recovers, and checks that nothing before `promised` is missing. Returns false if the power went
 * before the new log had begun. */
static void start(struct world *world, uint64_t promised)
{
    char reason[SW_WAL_REASON_BYTES] = "";
    struct sw_wal_survey survey;
    const struct sw_wal_taker taker = {take, end, world};
    const struct sw_wal_config config = {.level = world->level,
                                         .segment_bytes = 1 << 15,
                                         .backlog_bytes = 1 << 20,
                                         .columns_bytes_max = KEYS_MAX * 8,
                                         .shape = shape,
                                         .wake = no_wake};
    cr_assert_eq(
        sw_directory_open(&world->directory, power_disk_io(), "/data", reason, sizeof(reason)), 0);
    cr_assert_eq(sw_wal_survey(&survey, &world->directory, world->base, world->base, &shape,
                               sw_wal_heap(), reason),
                 0, "life %lu: %s", (unsigned long)world->life, reason);
    cr_assert_eq(
        sw_wal_replay(&survey, &world->directory, world->base, sw_wal_heap(), &taker, reason), 0);
    cr_assert_geq(survey.plan.end, promised, "life %lu: a write that was answered is gone",
                  (unsigned long)world->life);
    cr_assert_leq(survey.plan.end, world->next - 1);
    world->lost += world->next - 1 - survey.plan.end;
    world->next = survey.plan.end + 1;
    world->life++;
    if (survey.count > 0) {
        memcpy(world->directory.log_id, survey.found[0].segment.log_id, 16);
    }
    world->wal = sw_wal_create(&config);
    cr_assert_not_null(world->wal);
    cr_assert_eq(sw_wal_open(world->wal, &world->directory, &survey, reason), 0, "%s", reason);
    sw_wal_survey_free(&survey);
}

static void hand_in(struct world *world)
{
    uint64_t sequence = world->next++;
    uint32_t count =
        2 + (uint32_t)random_below(&world->random,
                                   random_below(&world->random, 8) == 0 ? KEYS_MAX - 2 : 20);
    uint64_t *keys = calloc(KEYS_MAX + 8, sizeof(*keys));
    cr_assert_lt(sequence, WRITES_MAX);
    world->truth[sequence] = (uint32_t)world->life;
    keys[0] = sequence;
    keys[1] = world->life;
    const struct sw_wal_write write = {
        .sequence = sequence,
        .kind = SW_WAL_OPERATIONS,
        .operation = 9,
        .count = count,
        .columns = {{keys, sw_wal_align(count * 8ULL, SW_WAL_ALIGN)}},
        .owned = keys,
    };
    while (!sw_wal_add(world->wal, &write)) {
        usleep(50);
    }
}

static void work(struct world *world)
{
    uint64_t writes = random_below(&world->random, 120);
    for (uint64_t i = 0; i < writes; i++) {
        hand_in(world);
        uint64_t what = random_below(&world->random, 40);
        if (what < 8) {
            usleep((unsigned)random_below(&world->random, 400));
        } else if (what == 8) {
            sw_wal_want_durable(world->wal, world->next - 1);
        } else if (what == 9) { /* a snapshot, whose name is durable */
            world->base = world->next - 1;
            sw_wal_forget(world->wal, world->base);
        }
    }
}

/* What is promised of writes that were answered, after this end of a life. */
static uint64_t promised(const struct world *world, bool power)
{
    uint64_t sequence = !power || world->level == SW_WAL_ALWAYS ? sw_wal_answerable(world->wal)
                                                                : sw_wal_durable(world->wal);
    return sequence > world->base ? sequence : world->base;
}

static void run_lives(enum sw_wal_level level, int lives)
{
    struct world *world = calloc(1, sizeof(*world));
    world->random = random_of((uint64_t)level);
    world->level = level;
    world->next = 1;
    power_disk_init();
    start(world, 0);
    for (int i = 0; i < lives; i++) {
        bool power = random_below(&world->random, 4) != 0;
        work(world);
        uint64_t least = promised(world, power);
        power_disk_crash(power ? &world->random : NULL);
        (void)sw_wal_close(world->wal);
        sw_wal_destroy(world->wal);
        sw_directory_close(&world->directory);
        power_disk_reboot();
        start(world, least);
    }
    cr_assert_gt(world->lost, 0, "no crash lost anything: it does not test what it should");
    cr_assert_eq(sw_wal_close(world->wal), 0);
    sw_wal_destroy(world->wal);
    sw_directory_close(&world->directory);
    power_disk_free();
    free(world);
}

Test(wal_power, always)
{
    run_lives(SW_WAL_ALWAYS, LIVES);
}

Test(wal_power, everysec)
{
    run_lives(SW_WAL_EVERYSEC, LIVES);
}

Test(wal_power, no)
{
    run_lives(SW_WAL_NO, LIVES);
}
