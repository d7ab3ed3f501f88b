/* SPDX-License-Identifier: MIT
 *
 * partition.h - a partition of the keys, with one unit in flight, and a model of its contents.
 *
 * A run with --mix has a partition for each unit in flight (bulk: for each of the --depth frames of
 * each connection; RESP: for each connection). Partition l of L has the keys number l, l + L, l +
 * 2L, and so on. No other partition writes these keys, the partition has one unit in flight, and
 * the operations of a unit take effect in order. So the model knows the right reply to each.
 *
 * A key of a partition is named by its position 0, 1, ... The fill phase writes the first
 * positions. If the mix inserts, the same number of positions follows; when they are used up, an
 * insert writes the oldest position again, so the model is bounded. Reads that shall miss use other
 * keys, which no run with this seed writes.
 *
 * Drawing and checking cost no allocation and no clock. One thread at a time.
 */
#ifndef SHERWOOD_LOAD_PARTITION_H
#define SHERWOOD_LOAD_PARTITION_H

#include "bench/load/life.h"
#include "bench/load/mix.h"

/* Position of a key that no worker writes. */
#define SW_LOAD_NOWHERE UINT64_MAX

/* The configuration that the partitions of a run share. */
struct sw_load_partition_setup {
    const struct sw_load_workload *workload;
    const struct sw_load_mix *mix;
    enum sw_load_distribution_kind distribution;
    double theta;
    double hit_ratio;   /* share of the gets that read keys of the run */
    uint64_t set_mask;  /* bits of an operand that a set may use */
    uint64_t sum_mask;  /* bits of an operand that a sum may use */
    uint32_t unit_keys; /* keys of a full unit */
    bool per_key;    /* each key gets its own operation, otherwise all keys of a unit share one */
    bool verify;     /* keep the model */
    uint64_t ttl_ns; /* time from a set until its key expires; 0: no time */
    uint32_t partitions; /* number of partitions of the run; at most workload->keys */
};

struct sw_load_partition {
    const struct sw_load_partition_setup *setup;
    uint32_t number;
    uint64_t loaded;    /* keys that the fill phase writes */
    uint64_t positions; /* loaded, or 2 * loaded if the mix inserts */
    uint64_t head;      /* positions ever used: the next insert writes head % positions */
    uint64_t next;      /* the next position of a sweep, or of sequential draws */
    uint64_t random;
    uint64_t miss_below; /* a draw below this number is a read that shall miss */
    struct sw_load_distribution distribution;
    void *values;               /* the model, if `verify`: value_bytes for each position */
    uint8_t *states;            /* enum state of each position */
    struct sw_load_life *lives; /* life of each key, if setup->ttl_ns is not 0 */
    /* The unit in flight. */
    uint64_t *unit;      /* positions */
    uint8_t *operations; /* enum sw_load_mix_operation */
};

/* A server's answer for one key. */
struct sw_load_answer {
    bool has_found; /* the answer has `found`: whether the key existed before */
    bool found;
    bool has_value;    /* the answer has `value`: of a get, or after a sum */
    bool has_previous; /* or: `value` is the value before a write, 0 if the key was absent */
    uint64_t value;
    uint64_t since_ns, until_ns; /* when its request was in flight */
};

/* An answer that is not what the model says. */
struct sw_load_verdict {
    bool right;
    bool missing; /* the key should have been there */
    bool surplus; /* the key should not have been there */
    bool expired; /* the key was absent because it had expired, or may have expired */
    uint64_t expected;
};

/* Returns the bytes that all partitions of a run allocate together. */
uint64_t sw_load_partitions_bytes(const struct sw_load_partition_setup *setup);
/* Initializes partition `number` of setup->partitions; borrows `setup`. Returns false if memory is
 * short; call fini then also. fini accepts a zeroed partition. */
bool sw_load_partition_init(struct sw_load_partition *partition,
                            const struct sw_load_partition_setup *setup, uint32_t number);
void sw_load_partition_fini(struct sw_load_partition *partition);

/* Begins a sweep, or sequential draws, at the first key. */
void sw_load_partition_rewind(struct sw_load_partition *partition);
/* Stores the next unit of a sweep: every key of the fill with its first value (SET), or every key
 * that the model knows (GET; needs setup->verify). Writes keys and operands from element 0. Returns
 * the number of keys, 0 at the end. */
uint32_t sw_load_partition_sweep(struct sw_load_partition *partition, bool is_fill, void *keys,
                                 void *operands);
/* Draws a unit of the mix, of `count` keys. */
void sw_load_partition_draw(struct sw_load_partition *partition, uint32_t count, void *keys,
                            void *operands);

/* Compares the reply for element i of the unit with the model, and applies the operation to the
 * model. Call it for the elements in order, and only if setup->verify. */
struct sw_load_verdict sw_load_partition_check(struct sw_load_partition *partition, uint32_t i,
                                               uint64_t operand,
                                               const struct sw_load_answer *answer);

#endif
