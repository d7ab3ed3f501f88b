/* SPDX-License-Identifier: MIT
 *
 * test_wal_power.c - the write-ahead log on a disk that loses power at any call of any life, whose
 * writes and syncs fail, and that snapshots restart: the answered writes are there, and the log
 * has a prefix of the applied writes.
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
    struct random disk_random; /* the disk's: its calls come from any thread */
    struct sw_directory directory;
    struct sw_wal *wal;
    enum sw_wal_level level;
    uint64_t life;
    uint64_t next; /* sequence of the next write */
    uint64_t base; /* a snapshot holds what is up to here */
    struct sw_wal_beside beside;
    uint64_t answered;          /* highest that could be answered in this life */
    uint32_t truth[WRITES_MAX]; /* the life that made the write of each sequence */
    uint64_t lost, restarts, died_starting;
};

static void no_wake(void *context)
{
    (void)context;
}

/* A record's keys tell its sequence and its life. */
static int check_record(void *context, const struct sw_wal_record *record, uint8_t *columns,
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

static const struct sw_wal_config *config_of(const struct world *world)
{
    static struct sw_wal_config config;
    config = (struct sw_wal_config){.level = world->level,
                                    .segment_bytes = 1 << 15,
                                    .backlog_bytes = 1 << 20,
                                    .patience_ms = 10000,
                                    .columns_bytes_max = KEYS_MAX * 8,
                                    .shape = shape,
                                    .wake = no_wake};
    return &config;
}

/* Opens the directory, and begins a log behind what it holds. Returns 0, or -1 if a call failed. */
static int recover(struct world *world, struct sw_log_scan *scan, char reason[SW_WAL_REASON_BYTES])
{
    const struct sw_wal_taker taker = {check_record, end, world};
    *scan = (struct sw_log_scan){0};
    if (sw_directory_open(&world->directory, power_disk_io(), "/data", reason,
                          SW_WAL_REASON_BYTES) != 0) {
        return -1;
    }
    if (sw_log_scan(scan, &world->directory, world->base, world->base, &world->beside, &shape,
                    reason) != 0 ||
        sw_wal_replay(scan, &world->directory, world->base, sw_wal_heap(), &taker, reason) != 0) {
        sw_directory_close(&world->directory);
        return -1;
    }
    if (scan->count > 0) {
        memcpy(world->directory.log_id, scan->found[0].segment.log_id, 16);
    }
    world->wal = sw_wal_create(config_of(world));
    cr_assert_not_null(world->wal);
    if (sw_wal_open(world->wal, &world->directory, scan, reason) != 0) {
        sw_wal_destroy(world->wal);
        sw_directory_close(&world->directory);
        return -1;
    }
    return 0;
}

/* Recovers, and checks that nothing before `promised` is missing. Returns false if the disk died
 * meanwhile, or the directory could not be synced. */
static bool start(struct world *world, uint64_t promised)
{
    char reason[SW_WAL_REASON_BYTES] = "";
    struct sw_log_scan scan;
    int status = recover(world, &scan, reason);
    uint64_t end = scan.plan.end;
    sw_log_scan_free(&scan);
    if (status != 0 && (power_disk_is_dead() || strstr(reason, "cannot be synced: ") != NULL)) {
        world->died_starting++;
        return false;
    }
    cr_assert_eq(status, 0, "life %lu: %s", (unsigned long)world->life, reason);
    cr_assert_geq(end, promised, "life %lu: up to %lu was promised, and %lu are there (base %lu)",
                  (unsigned long)world->life, (unsigned long)promised, (unsigned long)end,
                  (unsigned long)world->base);
    cr_assert_leq(end, world->next - 1);
    world->lost += world->next - 1 - end;
    world->next = end + 1;
    /* what a broken log has recovered is in memory and in the kernel, perhaps */
    world->answered = world->level == SW_WAL_ALWAYS ? sw_wal_answerable(world->wal) : end;
    world->life++;
    return true;
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

/* A snapshot, whose name is durable, and what the saver does with it. */
static void save(struct world *world)
{
    sw_wal_beside(world->wal, &world->beside);
    world->base = world->next - 1;
    if (sw_wal_state(world->wal) == SW_WAL_BROKEN) {
        world->restarts += sw_wal_restart(world->wal, world->base) == 0;
    }
    sw_wal_forget(world->wal, world->base, world->beside.from);
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
        } else if ((what == 9 || (what < 14 && sw_wal_state(world->wal) == SW_WAL_BROKEN)) &&
                   !power_disk_is_dead()) {
            save(world);
        }
        uint64_t now = sw_wal_answerable(world->wal);
        world->answered = now > world->answered ? now : world->answered;
    }
}

/* What is promised of writes that were answered, after this end of a life. */
static uint64_t promised(const struct world *world, bool power)
{
    uint64_t now = sw_wal_answerable(world->wal);
    uint64_t answered = now > world->answered ? now : world->answered;
    uint64_t sequence =
        !power || world->level == SW_WAL_ALWAYS ? answered : sw_wal_durable(world->wal);
    return sequence > world->base ? sequence : world->base;
}

/* Draws how the disk is to fail from now on. */
static struct random *draw_troubles(struct world *world, uint32_t calls)
{
    struct random *power = random_below(&world->random, 4) != 0 ? &world->disk_random : NULL;
    uint32_t one_of =
        random_below(&world->random, 3) == 0 ? 10 + (uint32_t)random_below(&world->random, 90) : 0;
    power_disk_fail(one_of, &world->disk_random);
    power_disk_crash_before(random_below(&world->random, 2) == 0
                                ? 1 + (uint32_t)random_below(&world->random, calls)
                                : 0,
                            power);
    return power;
}

/* Starts until a start survives. If the power also fails during a start, only the promise for a
 * loss of power holds. */
static void start_again(struct world *world, uint64_t least, uint64_t least_by_power)
{
    draw_troubles(world, 60);
    while (!start(world, least)) {
        least = power_disk_lost_power() ? least_by_power : least;
        power_disk_reboot();
        draw_troubles(world, 60);
    }
}

/* Returns whether the lives covered losses, repairs, and interrupted starts. */
static bool saw_everything(const struct world *world)
{
    return world->lost > 0 && world->restarts > 0 && world->died_starting > 0;
}

/* More lives where chance has left something out. */
static void run_lives(enum sw_wal_level level, int lives)
{
    struct world *world = calloc(1, sizeof(*world));
    world->random = random_of((uint64_t)level);
    world->disk_random = random_of((uint64_t)level + 3);
    world->level = level;
    world->next = 1;
    power_disk_init();
    cr_assert(start(world, 0));
    for (int i = 0; i < lives || (i < 10 * lives && !saw_everything(world)); i++) {
        struct random *power = draw_troubles(world, 400);
        work(world);
        power_disk_crash(power);
        uint64_t least = promised(world, power_disk_lost_power());
        uint64_t least_by_power = promised(world, true);
        (void)sw_wal_close(world->wal);
        sw_wal_destroy(world->wal);
        sw_directory_close(&world->directory);
        power_disk_reboot();
        start_again(world, least, least_by_power);
    }
    cr_assert_gt(world->lost, 0, "no crash lost anything: it does not test what it should");
    cr_assert_gt(world->restarts, 0, "no log was mended");
    cr_assert_gt(world->died_starting, 0, "no start was cut off");
    (void)sw_wal_close(world->wal);
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
