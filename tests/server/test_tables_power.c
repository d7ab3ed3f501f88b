/* SPDX-License-Identifier: MIT
 *
 * test_tables_power.c - whole servers with several tables, on a disk that loses power at any call
 * of any life. With a log, answered writes and changes are there, and the tables are those after
 * one step of the client. Without one the places are those after a step, and each table is that of
 * its last save or of a later step. A server runs in a process of its own, which a loss of power
 * ends. The test's sw_io_system() replaces the daemon's.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server/log/io.h"
#include "tests/server/power_server.h"

#ifdef SHERWOOD_CHECKS /* sanitizers are slow */
enum { LIVES = 10 };
#else
enum { LIVES = 30 };
#endif
enum { PLACES = 5, KEYS = 8, STEPS_MAX = 120, COMMANDS_MAX = 8, COMMAND_BYTES = 128 };

const struct sw_io *sw_io_system(void)
{
    return power_disk_io();
}

/* The contents of a table after a step. */
struct contents {
    uint32_t exists;
    uint32_t table;        /* 1, 2, ..: which table it is; 0 in what was read */
    uint32_t values[KEYS]; /* 0: no key */
    uint32_t expires[KEYS];
};
struct state {
    struct contents places[PLACES];
};
static const char *const names[PLACES] = {"default", "t1", "t2", "t3", "t4"};

struct world {
    struct random random;
    struct random disk_random; /* the disk's: its calls come from any thread */
    enum sw_config_sync level;
    bool has_log;
    struct state states[4 * STEPS_MAX]; /* [0]: at the start */
    uint32_t last;                      /* the newest state that was sent */
    uint32_t answered, durable;         /* states that stay behind a kill, a loss of power */
    uint32_t written;                   /* state after this connection's last write; 0: none */
    uint32_t value;                     /* of the last write */
    pid_t server;
    struct power_client client;
    uint32_t tables;               /* made in this life */
    uint32_t saved[4 * STEPS_MAX]; /* without a log: the state that a table has in its file, or a
                                      later one */
    uint64_t lost, died_starting;
};

/* --- a step ----------------------------------------------------------------------------------- */

struct step {
    char commands[COMMANDS_MAX][COMMAND_BYTES];
    int count;
    bool is_write, is_change, waits; /* sets keys; TABLE; WAITAOF */
    uint32_t saves[2];               /* tables; 0: none */
    uint32_t state;                  /* after it */
};

static char *add_command(struct step *step)
{
    return step->commands[step->count++];
}

/* One write of three keys of a table, by MSET, or with an expiry by EXEC. */
static void draw_write(struct world *world, uint32_t place, struct step *step)
{
    struct contents *contents = &world->states[world->last].places[place];
    const uint32_t key = (uint32_t)random_below(&world->random, KEYS), value = ++world->value;
    const uint32_t keys[3] = {key, (key + 1) % KEYS, (key + 2) % KEYS};
    const bool expires = random_below(&world->random, 3) == 0;
    step->is_write = true;
    snprintf(add_command(step), COMMAND_BYTES, "SELECT %s", names[place]);
    if (expires) {
        strcpy(add_command(step), "MULTI");
        snprintf(add_command(step), COMMAND_BYTES, "SET %u %u", keys[0], value);
        snprintf(add_command(step), COMMAND_BYTES, "MSET %u %u %u %u", keys[1], value, keys[2],
                 value);
        snprintf(add_command(step), COMMAND_BYTES, "EXPIRE %u 100000", keys[1]);
        strcpy(add_command(step), "EXEC");
    } else {
        snprintf(add_command(step), COMMAND_BYTES, "MSET %u %u %u %u %u %u", keys[0], value,
                 keys[1], value, keys[2], value);
    }
    for (int i = 0; i < 3; i++) {
        contents->values[keys[i]] = value;
        contents->expires[keys[i]] = expires && i == 1;
    }
}

/* With a log no table needs a number. */
static uint32_t new_table(struct world *world)
{
    return world->has_log ? 0 : ++world->tables;
}

/* A random step, whose state is appended. */
static void draw_step(struct world *world, struct step *step)
{
    struct contents *places = world->states[world->last + 1].places;
    const uint32_t place = (uint32_t)random_below(&world->random, PLACES);
    const uint32_t other = (uint32_t)random_below(&world->random, PLACES);
    const uint64_t kind = random_below(&world->random, 16);
    const char *name = names[place];
    world->states[world->last + 1] = world->states[world->last];
    *step = (struct step){.state = ++world->last};
    cr_assert_lt(world->last, 4 * STEPS_MAX);
    if (kind == 0) {
        strcpy(add_command(step), "BGSAVE");
    } else if (kind == 7 && world->has_log) {
        strcpy(add_command(step), "WAITAOF 1 0 0"); /* of this connection's writes */
        step->waits = true;
    } else if (kind == 1 && places[place].exists) {
        snprintf(add_command(step), COMMAND_BYTES, "TABLE SAVE %s", name);
        step->saves[0] = places[place].table;
    } else if (kind < 6 && !places[place].exists) {
        snprintf(add_command(step), COMMAND_BYTES, "TABLE CREATE %s LIKE default", name);
        places[place] = (struct contents){.exists = true, .table = new_table(world)};
        step->saves[0] = world->tables; /* an empty table needs no file */
        step->is_change = true;
    } else if (kind == 2 && place > 0) {
        snprintf(add_command(step), COMMAND_BYTES, "TABLE DROP %s", name);
        memset(&places[place], 0, sizeof(places[place]));
        step->is_change = true;
    } else if (kind < 6 && places[other].exists) {
        const struct contents swapped = places[place];
        step->saves[0] = place == other ? 0 : places[place].table;
        step->saves[1] = place == other ? 0 : places[other].table;
        snprintf(add_command(step), COMMAND_BYTES, "TABLE SWAP %s %s", name, names[other]);
        places[place] = places[other];
        places[other] = swapped;
        step->is_change = true;
    } else if (kind == 6 && places[place].exists) {
        snprintf(add_command(step), COMMAND_BYTES, "TABLE TRUNCATE %s", name);
        places[place] = (struct contents){.exists = true, .table = places[place].table};
    } else {
        draw_write(world, places[place].exists ? place : 0, step);
    }
}

/* --- the client ------------------------------------------------------------------------------- */

/* Reads the replies of a step. Returns whether it was answered. */
static bool finish(struct world *world, const struct step *step)
{
    for (int i = 0; i < step->count; i++) {
        redisReply *reply = power_reply(&world->client);
        if (reply == NULL) {
            return false;
        }
        freeReplyObject(reply);
    }
    world->saved[step->saves[0]] = world->saved[step->saves[1]] = step->state;
    world->answered = step->state;
    world->written = step->is_write ? step->state : world->written;
    if ((world->has_log && world->level == SW_CONFIG_ALWAYS) || step->is_change) {
        world->durable = step->state;
    } else if (step->waits && world->written > world->durable) {
        world->durable = world->written;
    }
    return true;
}

/* Random steps, up to three in flight, until the disk is dead, or for some time. */
static void work(struct world *world)
{
    struct step steps[3];
    const uint64_t depth = world->client.may_fail ? 1 : 1 + random_below(&world->random, 3);
    for (uint64_t i = 0, count = random_below(&world->random, STEPS_MAX); i < count; i += depth) {
        for (uint64_t at = 0; at < depth; at++) {
            draw_step(world, &steps[at]);
            for (int command = 0; command < steps[at].count; command++) {
                redisAppendCommand(world->client.context, steps[at].commands[command]);
            }
        }
        for (uint64_t at = 0; at < depth; at++) {
            if (!finish(world, &steps[at])) {
                return;
            }
        }
    }
}

/* --- lives ------------------------------------------------------------------------------------ */

/* Ends the server. */
static void stop(struct world *world)
{
    int status = 0;
    power_disconnect(&world->client);
    kill(world->server, SIGKILL);
    cr_assert_eq(waitpid(world->server, &status, 0), world->server);
    const bool is_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    cr_assert(is_killed || (WIFEXITED(status) && WEXITSTATUS(status) == POWER_DISK_EXIT) ||
                  (world->client.may_fail && WIFEXITED(status)),
              "the server has ended with status %x", status);
}

/* Starts the server. Returns false if the disk died meanwhile, or a call failed. */
static bool start(struct world *world)
{
    uint16_t port = 0;
    int pipe_of[2];
    cr_assert_eq(pipe(pipe_of), 0);
    world->disk_random.state = random_next(&world->random); /* the process has its own copy */
    world->server = fork();
    if (world->server == 0) {
        power_serve(world->level, world->has_log, pipe_of[1]);
    }
    close(pipe_of[1]);
    const bool has_port = read(pipe_of[0], &port, sizeof(port)) == (ssize_t)sizeof(port);
    close(pipe_of[0]);
    if (!has_port) {
        stop(world);
        return false;
    }
    if (!power_connect(&world->client, port)) {
        stop(world);
        return false;
    }
    return true;
}

/* Reads a table into *contents. Returns false if the server refused that. */
static bool read_table(struct world *world, const char *name, struct contents *contents)
{
    char command[COMMAND_BYTES];
    snprintf(command, sizeof(command), "SELECT %s", name);
    redisAppendCommand(world->client.context, command);
    redisAppendCommand(world->client.context, "MGET 0 1 2 3 4 5 6 7");
    for (int key = 0; key < KEYS; key++) {
        redisAppendCommand(world->client.context, "TTL %d", key);
    }
    redisReply *replies[2 + KEYS];
    int count = 0;
    while (count < 2 + KEYS && (replies[count] = power_reply(&world->client)) != NULL) {
        count++;
    }
    const bool is_good = count == 2 + KEYS;
    contents->exists = is_good;
    for (int key = 0; is_good && key < KEYS; key++) {
        const redisReply *value = replies[1]->element[key];
        contents->values[key] =
            value->type == REDIS_REPLY_NIL ? 0 : (uint32_t)strtoul(value->str, NULL, 10);
        contents->expires[key] = replies[2 + key]->integer > 0;
    }
    while (count > 0) {
        freeReplyObject(replies[--count]);
    }
    return is_good;
}

static bool read_state(struct world *world, struct state *state)
{
    memset(state, 0, sizeof(*state));
    redisAppendCommand(world->client.context, "TABLE LIST");
    redisReply *list = power_reply(&world->client);
    bool is_good = list != NULL;
    for (size_t i = 0; is_good && i < list->elements; i++) {
        const redisReply *row = list->element[i];
        for (size_t at = 0; at + 1 < row->elements; at += 2) {
            for (int place = 0; place < PLACES; place++) {
                if (strcmp(row->element[at]->str, "name") == 0 &&
                    strcmp(row->element[at + 1]->str, names[place]) == 0) {
                    is_good = is_good && read_table(world, names[place], &state->places[place]);
                }
            }
        }
    }
    freeReplyObject(list);
    return is_good;
}

static void print_state(const char *what, uint32_t number, const struct state *state)
{
    fprintf(stderr, "%s %u:", what, number);
    for (int place = 0; place < PLACES; place++) {
        if (state->places[place].exists) {
            fprintf(stderr, " %s", names[place]);
            for (int key = 0; key < KEYS; key++) {
                fprintf(stderr, "%c%u%s", key == 0 ? '(' : ' ', state->places[place].values[key],
                        state->places[place].expires[key] ? "e" : "");
            }
            fprintf(stderr, ")");
        }
    }
    fprintf(stderr, "\n");
}

static bool equals(const struct contents *one, const struct contents *other)
{
    return one->exists == other->exists &&
           memcmp(one->values, other->values, sizeof(one->values)) == 0 &&
           memcmp(one->expires, other->expires, sizeof(one->expires)) == 0;
}

/* Returns whether the table had these contents after its last save. */
static bool was(const struct world *world, uint32_t table, const struct contents *found)
{
    for (uint32_t at = world->saved[table]; at <= world->last; at++) {
        for (int place = 0; place < PLACES; place++) {
            const struct contents *contents = &world->states[at].places[place];
            if (contents->table == table && equals(contents, found)) {
                return true;
            }
        }
    }
    return false;
}

/* Returns whether a start may find this after the step `at`. */
static bool fits(const struct world *world, uint32_t at, const struct state *found)
{
    bool fits = true;
    for (int place = 0; place < PLACES; place++) {
        const struct contents *wanted = &world->states[at].places[place];
        fits = fits && (world->has_log || !wanted->exists
                            ? equals(wanted, &found->places[place])
                            : found->places[place].exists &&
                                  was(world, wanted->table, &found->places[place]));
    }
    return fits;
}

/* Goes on from the state `at`. */
static void go_on(struct world *world, uint32_t at, const struct state *found)
{
    world->lost += world->last - at;
    if (!world->has_log) {
        world->states[at] = *found;
        world->tables = 0;
        world->durable = at;
        for (int place = 0; place < PLACES; place++) {
            world->states[at].places[place].table =
                found->places[place].exists ? ++world->tables : 0;
        }
        memset(world->saved, 0, sizeof(world->saved));
    }
    /* the kernel alone may have the other steps: those up to `durable` survive a loss of power */
    memmove(world->states, world->states + world->durable,
            (at - world->durable + 1) * sizeof(world->states[0]));
    world->last = world->answered = at - world->durable;
    world->durable = world->written = 0;
}

/* The tables are those after some step that is not before `least`; goes on from there. Returns
 * false if the server could not be read. */
static bool check(struct world *world, uint32_t least)
{
    struct state found;
    if (!read_state(world, &found)) {
        return false;
    }
    uint32_t at = world->last;
    while (at > least && !fits(world, at, &found)) {
        at--;
    }
    if (!fits(world, at, &found)) {
        for (uint32_t i = 0; i <= world->last; i++) {
            print_state(i == least ? "least" : "state", i, &world->states[i]);
        }
        print_state("found", 0, &found);
        cr_assert(false, "the tables are those of no step behind the promised one");
    }
    go_on(world, at, &found);
    return true;
}

static struct random *draw_troubles(struct world *world, uint32_t calls)
{
    struct random *power = random_below(&world->random, 4) != 0 ? &world->disk_random : NULL;
    const bool fails = random_below(&world->random, 4) == 0;
    world->client.may_fail |= fails; /* a log that broke may still be broken */
    power_disk_fail(fails ? 10 + (uint32_t)random_below(&world->random, 90) : 0,
                    &world->disk_random);
    power_disk_crash_before(random_below(&world->random, 3) != 0
                                ? 1 + (uint32_t)random_below(&world->random, calls)
                                : 0,
                            power);
    return power;
}

/* Starts until a start survives, and checks its tables. */
static void start_again(struct world *world, uint32_t least)
{
    for (;;) {
        world->client.may_fail = false;
        draw_troubles(world, 150);
        if (start(world)) {
            if (check(world, least)) {
                return;
            }
            power_disk_crash(&world->disk_random);
            stop(world);
        }
        world->died_starting++;
        power_disk_crash(NULL);
        least = power_disk_lost_power() ? world->durable : least;
        power_disk_reboot();
    }
}

static void run_lives(bool has_log, enum sw_config_sync level, int lives)
{
    static struct world worlds[1];
    struct world *world = worlds;
    world->random = random_of(2 * (uint64_t)level + has_log);
    world->level = level;
    world->has_log = has_log;
    power_disk_init();
    world->states[0].places[0] = (struct contents){.exists = true, .table = new_table(world)};
    cr_assert(start(world));
    /* more lives, if these lost nothing or cut off no start */
    const int most = 10 * lives;
    for (int i = 0; i < lives || (i < most && (world->lost == 0 || world->died_starting == 0));
         i++) {
        struct random *power = draw_troubles(world, 400);
        work(world);
        power_disk_crash(power);
        const uint32_t least =
            power_disk_lost_power() || !world->has_log ? world->durable : world->answered;
        stop(world);
        power_disk_reboot();
        start_again(world, least);
    }
    power_disk_crash(NULL);
    stop(world);
    cr_assert_gt(world->lost, 0, "no crash lost anything: it does not test what it should");
    cr_assert_gt(world->died_starting, 0, "no start was cut off");
    power_disk_free();
}

static void set_up(void)
{
    signal(SIGPIPE, SIG_IGN);
    sw_log_init(SW_LOG_ERROR);
}

TestSuite(tables_power, .init = set_up, .timeout = 120);

Test(tables_power, always)
{
    run_lives(true, SW_CONFIG_ALWAYS, LIVES);
}

Test(tables_power, everysec)
{
    run_lives(true, SW_CONFIG_EVERYSEC, LIVES);
}

Test(tables_power, no)
{
    run_lives(true, SW_CONFIG_NO, LIVES);
}

Test(tables_power, without_a_log)
{
    run_lives(false, SW_CONFIG_NO, LIVES);
}
