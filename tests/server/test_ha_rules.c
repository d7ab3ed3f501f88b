/* SPDX-License-Identifier: MIT
 *
 * test_ha_rules.c - the rules of fail-over: all that may happen to small shards, walks through
 * larger ones, and for each rule what is lost without it.
 */
#include <criterion/criterion.h>

#include "proto/check.h"
#include "tests/server/ha_moves.h"
#include "tests/support/clock.h"
#include "tests/support/random.h"
#include "tests/support/tested.h"

static const char *const rule_names[] = {
#define HA_NAME(name) [HA_##name] = #name,
    SW_HA_RULES(HA_NAME)
#undef HA_NAME
};

/* --- everything ----------------------------------------------------------------------------------
 */

/* The hashes of the worlds that were visited. With 64 bits a collision is improbable at these
 * sizes. */
struct seen {
    uint64_t *checks;
    size_t room, count;
};

static bool see(struct seen *seen, const struct world *world)
{
    uint64_t check = sw_check64(world, sizeof(*world), 1) | 1;
    size_t at = check & (seen->room - 1);
    for (; seen->checks[at] != 0; at = (at + 1) & (seen->room - 1)) {
        if (seen->checks[at] == check) {
            return false;
        }
    }
    seen->checks[at] = check;
    seen->count++;
    cr_assert(seen->count < seen->room / 4 * 3, "more worlds than there is room for");
    return true;
}

/* The worlds at one distance, in moves, from the first. */
struct level {
    struct world *worlds;
    size_t room, count;
};

static void add_world(struct level *level, const struct world *world)
{
    if (level->count == level->room) {
        level->room = level->room == 0 ? 1U << 14 : level->room * 2;
        level->worlds = realloc(level->worlds, level->room * sizeof(*world));
        cr_assert_not_null(level->worlds);
    }
    level->worlds[level->count++] = *world;
}

/* Breadth first. Returns what went wrong, or NULL. */
static const char *search(const struct bounds *bounds, size_t *worlds)
{
    static struct moves moves;
    struct seen seen = {calloc(1U << 22, sizeof(uint64_t)), 1U << 22, 0};
    struct level levels[2] = {{0}}, *now = &levels[0], *next = &levels[1];
    struct world first;
    const char *wrong = NULL;
    moves.bounds = *bounds;
    world_init(&first, bounds);
    see(&seen, &first);
    add_world(now, &first);
    while (now->count > 0 && wrong == NULL) {
        next->count = 0;
        for (size_t i = 0; i < now->count && wrong == NULL; i++) {
            moves_of(&moves, &now->worlds[i]);
            for (unsigned m = 0; m < moves.count && wrong == NULL; m++) {
                if (see(&seen, &moves.move[m].world)) {
                    wrong = world_is_wrong(&moves.move[m].world, bounds);
                    add_world(next, &moves.move[m].world);
                }
            }
        }
        struct level *done = now;
        now = next;
        next = done;
    }
    free(levels[0].worlds);
    free(levels[1].worlds);
    free(seen.checks);
    *worlds = seen.count;
    return wrong;
}

/* Two messages on their way; three terms. */
Test(ha_rules, all_that_may_happen)
{
    static const struct bounds bounds[] = {{2, 1, 1, 2, 4, 1, 2, 2}, {2, 1, 1, 3, 4, 1, 1, 3}};
    for (uint32_t i = 0; i < 2; i++) {
        if (tested_now(i, 2)) {
            size_t worlds;
            const char *wrong = search(&bounds[i], &worlds);
            printf("%zu worlds\n", worlds);
            cr_assert_null(wrong, "%s", wrong);
            cr_assert_gt(worlds, 100000, "most of what may happen did not");
        }
    }
}

/* --- walks ---------------------------------------------------------------------------------------
 */

static double weight(const struct move *move)
{
    static const double weights[] = {
        [EXPIRE] = .12, [WRITE] = 1,  [WAIT] = 4,   [SEND] = 1, [GROW] = .5,
        [SHRINK] = .5,  [AGAIN] = 1,  [STAND] = 1,  [ASK] = 1,  [ELECT] = 4,
        [CRASH] = .06,  [LOSE] = .15, [DELIVER] = 1};
    return weights[move->what];
}

static const struct move *choose(const struct moves *moves, struct random *random)
{
    double sum = 0;
    for (unsigned i = 0; i < moves->count; i++) {
        sum += weight(&moves->move[i]);
    }
    double at = (double)(random_next(random) >> 11) / 9007199254740992.0 * sum;
    unsigned i = 0;
    for (; i + 1 < moves->count && (at -= weight(&moves->move[i])) > 0; i++) {
    }
    return &moves->move[i];
}

struct counts {
    uint64_t walks, steps, elections, waits;
};

/* Walks until something is wrong, and returns it. Returns NULL if the time is over first. */
static const char *explore(unsigned steps, double limit, struct random *random,
                           struct counts *counts)
{
    static struct moves moves;
    static struct world world;
    const double until = seconds_now() + limit;
    for (; seconds_now() < until; counts->walks++) {
        unsigned nodes = 2 + (unsigned)random_below(random, 3);
        moves.bounds =
            (struct bounds){nodes, 1 + (nodes > 3 && random_below(random, 2)), 4, 6, 40, 3, 5, 40};
        world_init(&world, &moves.bounds);
        for (unsigned step = 0; step < steps; step++) {
            moves_of(&moves, &world);
            if (moves.count == 0) {
                break;
            }
            const struct move *move = choose(&moves, random);
            counts->elections += move->what == ELECT;
            counts->waits += move->what == WAIT;
            counts->steps++;
            world = move->world;
            const char *wrong = world_is_wrong(&world, &moves.bounds);
            if (wrong != NULL) {
                return wrong;
            }
        }
    }
    return NULL;
}

Test(ha_rules, walks)
{
    struct random random = random_of(0);
    struct counts counts = {0};
    const char *wrong = explore(250, 1.5, &random, &counts);
    cr_assert_null(wrong, "%s", wrong);
    /* walks that elect nobody, or find no write safe, show nothing: go on until some have */
    while (counts.elections < 100 || counts.waits < 100) {
        wrong = explore(250, .2, &random, &counts);
        cr_assert_null(wrong, "%s", wrong);
    }
    printf("%lu steps, %lu elections, %lu WAITs\n", counts.steps, counts.elections, counts.waits);
}

/* --- without each rule ---------------------------------------------------------------------------
 */

static void lose_something(enum ha_rule rule)
{
    struct random random = random_of(rule);
    struct counts counts = {0};
    const char *wrong = NULL;
    double began = seconds_now();
    ha_off = 1U << rule;
    while (wrong == NULL && seconds_now() < began + 60) {
        wrong = explore(250, 1, &random, &counts);
    }
    ha_off = 0;
    printf("%s: %.2f s, %lu walks, %s\n", rule_names[rule], seconds_now() - began, counts.walks,
           wrong);
    cr_assert_not_null(wrong, "without the rule %s nothing is lost", rule_names[rule]);
}

Test(ha_rules, each_is_needed)
{
    for (enum ha_rule rule = 0; rule < HA_RULES; rule++) {
        if (rule != HA_TERM_FIRST && rule != HA_GUARDS && tested_now(rule, HA_RULES)) {
            lose_something(rule);
        }
    }
}

/* --- told step by step
 * ---------------------------------------------------------------------------- */

struct step {
    enum what what;
    unsigned node, other; /* DELIVER: the receiver, and the kind */
};

static bool is_step(const struct world *before, const struct move *move, const struct step *step)
{
    if (move->what != step->what || move->other != step->other) {
        return false;
    }
    return move->what == DELIVER ? before->message[move->node].to == step->node
                                 : move->node == step->node;
}

/* Returns what went wrong, or NULL; *done: how many steps were possible. */
static const char *follow_script(const struct step *steps, unsigned count, unsigned *done)
{
    static struct moves moves = {.bounds = {3, 1, 5, 4, 8, 3, 4, 9}};
    static struct world world;
    world_init(&world, &moves.bounds);
    for (*done = 0; *done < count; ++*done) {
        const struct move *found = NULL;
        moves_of(&moves, &world);
        for (unsigned i = 0; i < moves.count && found == NULL; i++) {
            found = is_step(&world, &moves.move[i], &steps[*done]) ? &moves.move[i] : NULL;
        }
        if (found == NULL) {
            return NULL;
        }
        world = found->world;
        const char *wrong = world_is_wrong(&world, &moves.bounds);
        if (wrong != NULL) {
            return wrong;
        }
    }
    return NULL;
}

/* The old primary has three writes that nobody else has, and the new term two, which were found
 * safe: the longer table is not the newer one. */
Test(ha_rules, a_newer_term_beats_a_longer_table)
{
    static const struct step steps[] = {
        {WRITE, 0, 0},
        {WRITE, 0, 0},
        {WRITE, 0, 0},
        {EXPIRE, 0, 0},
        {STAND, 1, 0},
        {ASK, 1, 2},
        {DELIVER, 2, QUESTION},
        {DELIVER, 1, ANSWER},
        {ELECT, 1, 0},
        {WRITE, 1, 0},
        {SEND, 1, 2},
        {DELIVER, 2, LOG_SENT},
        {DELIVER, 1, ACKNOWLEDGED},
        {GROW, 1, 2},
        {DELIVER, 1, CHANGE},
        {DELIVER, 1, CHANGED},
        {WAIT, 1, 0},
        {CRASH, 1, 0},
        {EXPIRE, 0, 0},
        {STAND, 0, 0},
        {ASK, 0, 1},
        {DELIVER, 1, QUESTION},
        {DELIVER, 0, ANSWER},
        {ASK, 0, 2},
        {DELIVER, 2, QUESTION},
        {DELIVER, 0, ANSWER},
        {ELECT, 0, 0},
    };
    const unsigned count = sizeof(steps) / sizeof(steps[0]);
    unsigned done;
    cr_assert_null(follow_script(steps, count, &done));
    cr_assert_eq(done, count - 1, "only the last step is refused, and not step %u", done);
    ha_off = 1U << HA_TERM_FIRST;
    cr_assert_not_null(follow_script(steps, count, &done));
    cr_assert_eq(done, count - 1, "the last step loses a write, and not step %u", done);
}

/* --- clocks
 * ---------------------------------------------------------------------------------------- */

static double between(struct random *random, double low, double high)
{
    return low + (high - low) * ((double)(random_next(random) >> 11) / 9007199254740992.0);
}

/* A primary renews, messages take long, clocks are 1 % wrong. Does it believe to be primary when
 * another one is elected? `from_answer`: it counts from the moment of the answer. */
static bool two_at_once(struct random *random, bool from_answer)
{
    const double ttl = 3e9;
    const double rate = random_below(random, 2) ? .99 : 1.01;
    const double other = random_below(random, 2) ? .99 : 1.01;
    double sent = 1e9, committed = 0, until = 0;
    for (uint64_t left = 1 + random_below(random, 5); left > 0; left--) {
        sent += between(random, .1e9, 1.2e9);
        committed = sent + (random_below(random, 2) ? 0 : between(random, 0, 2.5e9));
        double answered = committed + (random_below(random, 2) ? 0 : between(random, 0, 2.5e9));
        double from = from_answer ? answered : sent;
        double valid = (double)sw_ha_deadline((uint64_t)(from * rate), (uint64_t)ttl) / rate;
        until = valid > answered && valid > until ? valid : until;
    }
    double seen = committed + (random_below(random, 2) ? 0 : between(random, 0, 1e9));
    return seen + (double)sw_ha_patience((uint64_t)ttl) / other < until - 1000;
}

Test(ha_rules, clocks)
{
    struct random random = random_of(0);
    for (unsigned i = 0; i < 300000; i++) {
        cr_assert(!two_at_once(&random, false), "case %u", i);
    }
    while (!two_at_once(&random, true)) {
    }
    ha_off = 1U << HA_GUARDS;
    while (!two_at_once(&random, false)) {
    }
}
