/* SPDX-License-Identifier: MIT
 *
 * table_fixture.h - a table, the I/O memory of one queue, and the oracle that says what is right.
 *
 * Failures are Criterion assertions. Threads: a fixture belongs to one thread.
 */
#ifndef SHERWOOD_TESTS_SUPPORT_TABLE_FIXTURE_H
#define SHERWOOD_TESTS_SUPPORT_TABLE_FIXTURE_H

#include "table/table.h"
#include "tests/support/io_memory.h"
#include "tests/support/oracle.h"
#include "tests/support/random.h"

struct fixture {
    struct sw_table *table;
    struct sw_queue *queue;
    struct sw_table_config config;
    struct sw_table_info info; /* as of the last batch */
    struct oracle *oracle;
    struct oracle_operation *operations; /* [ops_max]: what the next batch does */
    uint32_t ops_max;
    uint64_t room; /* distinct keys that it holds for certain: more are refused, or evict others */
    uint64_t key_max;   /* all ones in the table's width */
    uint64_t value_max; /* the largest value that is stored */
    size_t value_room;  /* bytes of I/O memory for a value */
    struct io_memory io;
    /* room for ops_max each */
    uint8_t *ops;
    void *keys;
    void *values;
    void *compared; /* expected values of operations with two operands */
    uint32_t *ranges;
    void *previous;
    uint64_t *found;
    uint32_t *group_ends;
    uint8_t *group_refused;
    void *leftover_keys;
    void *leftover_values;
    struct sw_counters expected; /* what the table's counters must be; probes, failures not kept */
    uint64_t batches;
    uint64_t seed; /* of the test's random numbers: set it, and failures name it */
};

/* A small table on the backend, and of the engine, that is tested (tested.h): 2^12 slots, one
 * thread, batches of 4096, seed 1. */
struct sw_table_config fixture_config(uint32_t slot_bits);
/* The same of an engine that is the test's own. */
struct sw_table_config fixture_config_of(enum sw_engine engine, uint32_t slot_bits);
/* The largest load that a table of the engine may have. */
double fixture_load_max(enum sw_engine engine);

/* The oracle refuses what a table of the largest capacity it may grow to would. A cache is opened
 * with so much more room than `config` says that nothing is evicted: it behaves like a table. A
 * table without a stash has no rows. */
void fixture_open(struct fixture *fixture, const struct sw_table_config *config);
/* The same of a table that may grow. Returns false, having seen that it is refused, where the CUDA
 * backend has none: without a stash, or with a max_probe. */
bool fixture_open_growing(struct fixture *fixture, const struct sw_table_config *config);
void fixture_close(struct fixture *fixture);

/* Elements of the arrays, whatever their width. */
uint64_t fixture_load(const struct fixture *fixture, const void *array, size_t i);
void fixture_store(const struct fixture *fixture, void *array, size_t i, uint64_t value);
/* The same of values. A row begins with the value, and all that follows is made from it: loading
 * one asserts that it is whole. */
uint64_t fixture_load_value(const struct fixture *fixture, const void *array, size_t i);
void fixture_store_value(const struct fixture *fixture, void *array, size_t i, uint64_t value);

/* An operation that a table with rows has not is replaced by one that it has. One with two operands
 * expects the key's value in the oracle; depending on the operand, the operand of the operation
 * before it, or its own operand. */
void fixture_set(struct fixture *fixture, uint32_t i, enum sw_op op, uint64_t key,
                 uint64_t operand);
/* Whether the engine has the operation; one of those it has, and the oracle knows. */
bool fixture_can(const struct fixture *fixture, enum sw_op op);
enum sw_op fixture_draw_op(const struct fixture *fixture, struct random *random);

/* A batch of the fixture's keys, values, previous and found, for a test that runs it by itself. */
struct sw_batch fixture_batch(const struct fixture *fixture, enum sw_op op, uint32_t count);

/* Runs operations[0..count) as one batch, on the table and on the oracle, and compares every answer
 * and counter. Some batches decline `found`, `previous`, or both. `groups` of about equal size, 0:
 * declares no groups. The oracle must hold every entry that the table hands back, and removes it.
 * Returns the batch's status. */
int fixture_run(struct fixture *fixture, uint32_t count, uint32_t groups);

/* One operation as a batch of its own. */
int fixture_run_one(struct fixture *fixture, enum sw_op op, uint64_t key, uint64_t operand);

/* Runs every operation as `op`, in an array of keys from `first` upwards. */
void fixture_insert_range(struct fixture *fixture, uint64_t first, uint64_t count);

void fixture_clear(struct fixture *fixture);

/* Moves the table to `capacity` slots. Returns the batch's status, or the error of the submit. */
int fixture_resize(struct fixture *fixture, uint64_t capacity);

/* Compares the layout with that of a new table of this capacity that is given the same contents:
 * bucket by bucket, and the stash. For tables that were rebuilt since they last deleted. */
void fixture_canonical(struct fixture *fixture);

/* Scans the invariants; looks up every key of the oracle, and keys beside each (key - 1, key + 1,
 * and those of m - 1, m + 1); compares the statistics. */
void fixture_audit(struct fixture *fixture);
/* Audits, then closes. */
void fixture_end(struct fixture *fixture);

/* The key whose mixed value is m. */
uint64_t fixture_key_of(const struct fixture *fixture, uint64_t m);

/* A test of slots of 64 and of 128 bits; its body has the parameter `slot_bits`. */
#define TEST_OF_BOTH_WIDTHS(suite, name)            \
    static void suite##_##name(uint32_t slot_bits); \
    Test(suite, name)                               \
    {                                               \
        suite##_##name(64);                         \
        suite##_##name(128);                        \
    }                                               \
    static void suite##_##name(uint32_t slot_bits)

/* Smallest m of a home bucket. */
uint64_t fixture_first_m(const struct fixture *fixture, uint64_t bucket);

#endif
