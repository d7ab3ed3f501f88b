/* SPDX-License-Identifier: MIT
 *
 * oracle.h - what a table must do, said in the plainest way: a chained hash map on which operations
 * are applied one after the other. Shares no code with the table.
 *
 * Runs out of memory by abort(): it is for tests.
 */
#ifndef SHERWOOD_TESTS_SUPPORT_ORACLE_H
#define SHERWOOD_TESTS_SUPPORT_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "table/table.h"

struct oracle;

/* One operation and, once applied, its answer. */
struct oracle_operation {
    uint8_t op;
    uint64_t key;
    uint64_t operand;
    uint64_t expected; /* of operations with two operands */
    bool found;
    uint64_t previous;
};

/* Values have value_bits bits; more than `limit` entries are refused. */
struct oracle *oracle_create(unsigned value_bits, uint64_t limit);
void oracle_destroy(struct oracle *oracle);

/* Computes what an operation on integers writes to a key that has `before` (found) or is absent.
 * `mask` is the largest value. Returns false if it writes nothing. An operation with two operands
 * counts as one whose expected value was met. */
bool oracle_writes(uint32_t op, bool found, uint64_t before, uint64_t operand, uint64_t mask,
                   uint64_t *result);

/* Applies a group, all or nothing. Returns false if it was refused. Adds to
 * `counters` what a table counts, except probes and failures. */
bool oracle_apply(struct oracle *oracle, struct oracle_operation *operations, size_t count,
                  struct sw_counters *counters);

bool oracle_get(const struct oracle *oracle, uint64_t key, uint64_t *value);
/* Takes an entry out; false if it is absent. */
bool oracle_remove(struct oracle *oracle, uint64_t key);
void oracle_clear(struct oracle *oracle);
/* Another limit, from the next operation on. */
void oracle_limit(struct oracle *oracle, uint64_t limit);

uint64_t oracle_count(const struct oracle *oracle);
/* All entries in no order: call with *position 0 until it returns false. */
bool oracle_next(const struct oracle *oracle, size_t *position, uint64_t *key, uint64_t *value);

#endif
