/* SPDX-License-Identifier: MIT
 *
 * known.h - a pair of tables, and the known value of every key.
 *
 * Besides comparing the two tables, it compares every answer with the known one.
 */
#ifndef SHERWOOD_TESTS_GPU_KNOWN_H
#define SHERWOOD_TESTS_GPU_KNOWN_H

#include "tests/gpu/pair.h"

#define PILE 600 /* keys of one home: far more than the cap and a stash of 64 take */
#define NEVER 8  /* keys that a case may leave absent */

/* Keys by number: plain ones, those of the pile, NEVER plain ones, the side cell's. */
struct known {
    struct pair *pair;
    uint64_t *keys;
    uint64_t *values;
    uint8_t *present;
    uint32_t *numbers; /* [n_max]: of the next batch */
    uint64_t pile;     /* number of the first */
    uint64_t never;    /* the same */
    uint64_t side;     /* the last number */
};

/* Opens with empty tables and `plain` plain keys. The caller calls known_close even after false. */
bool known_open(struct known *known, struct pair *pair, uint64_t plain);
void known_close(struct known *known);

/* Runs one operation, GET, DELETE or an upsert, on `numbers`: it must end with the status and, if
 * that is SW_OK, answer what is known. */
bool known_run(struct known *known, enum sw_op op, uint32_t count, enum pair_answers answers,
               int status);
/* The same on all numbers [first, end), in one or several batches, with all answers. */
bool known_range(struct known *known, enum sw_op op, uint64_t first, uint64_t end);
/* Takes note of an upsert that the case itself has carried out. */
void known_upsert(struct known *known, enum sw_op op, uint32_t number, uint64_t operand);
/* Looks every key up, compares the contents of both tables, and what their stashes hold with the
 * statistics. */
bool known_check(struct known *known);
/* Clears both tables. */
bool known_clear(struct known *known);

struct sw_table_info info_of(const struct pair *pair, int s);
struct sw_table_stats stats_of(const struct pair *pair, int s);
/* The largest word of the width. */
uint64_t ones_of(const struct pair *pair);

#endif
