/* SPDX-License-Identifier: MIT
 *
 * partition.h - a partition of the keys, on which one unit at a time works, and a model of what it
 * must hold.
 *
 * A run with --mix gives every place for a unit in flight (bulk: each frame of --depth of each
 * connection; RESP: each connection) a partition. Partition l of L has the keys number l, l + L,
 * l + 2L, and so on. No other partition writes them and the partition has one unit in flight, so
 * the right answers are known: operations of a unit take effect in their order, and the model says
 * what each must answer.
 *
 * A key of a partition is named by its position 0, 1, ... The fill phase writes the first
 * positions. If the mix inserts, the same number of positions follows; when they are used up, an
 * insert writes the oldest position again, so the model is bounded. Reads that are to miss use
 * other keys, which no run with this seed writes.
 *
 * Drawing and checking cost no allocation and no clock. One thread at a time.
 */
#ifndef SHERWOOD_LOAD_PARTITION_H
#define SHERWOOD_LOAD_PARTITION_H

#include "bench/load/life.h"
#include "bench/load/mix.h"

/* Position of a key that no worker writes. */
#define SW_LOAD_NOWHERE UINT64_MAX

/* The position of a key that no partition writes. */
struct sw_load_partition_setup {
    const struct sw_load_workload *workload;
    const struct sw_load_mix *mix;
    enum sw_load_distribution_kind distribution;
    double theta;
    double hit_ratio;    /* of gets: the part that asks for keys of the run */
    uint64_t set_mask;   /* of operands: bits that a set may use */
    uint64_t sum_mask;   /* and a sum */
    uint32_t unit_keys;  /* of a full unit */
    bool per_key;        /* an operation is drawn for each key, not for each unit */
    bool verify;         /* keep the model */
    uint64_t ttl_ns;     /* what a set says of when its key expires; 0: nothing */
    uint32_t partitions; /* of the run; at most workload->keys */
};

struct sw_load_partition {
    const struct sw_load_partition_setup *setup;
    uint32_t number;
    uint64_t loaded;    /* keys that the fill phase writes */
    uint64_t positions; /* loaded, or twice that */
    uint64_t head;      /* places ever used: the next insert writes head % positions */
    uint64_t next;      /* of a sweep, or of sequential draws */
    uint64_t random;
    uint64_t miss_below; /* a draw below this is a read that shall miss */
    struct sw_load_distribution distribution;
    void *values;               /* the model, if verify: value_bytes a position */
    uint8_t *states;            /* and whether it is known and present */
    struct sw_load_life *lives; /* and until when, if setup->ttl_ns */
    /* The unit in flight. */
    uint64_t *unit;      /* positions */
    uint8_t *operations; /* enum sw_load_mix_operation */
};

/* A server's answer for one key. */
struct sw_load_answer {
    bool has_found; /* the answer has `found`: whether the key existed before */
    bool found;
    bool has_value;    /* the answer has `value`: of a get, or after a sum */
    bool has_previous; /* or: `value` is that before a write, 0 if there was none */
    uint64_t value;
    uint64_t since_ns, until_ns; /* from when to when its request was under way */
};

/* An answer that is not what the model says. */
struct sw_load_verdict {
    bool right;
    bool missing; /* the key should have been there */
    bool surplus; /* the key should not have been there */
    bool expired; /* the key was not there, since its time was over, or may have been */
    uint64_t expected;
};

/* Bytes that all partitions of a run allocate together. */
uint64_t sw_load_partitions_bytes(const struct sw_load_partition_setup *setup);
/* Initializes partition `number` of setup->partitions; borrows `setup`. False if memory is short;
 * call fini then also. fini accepts a zeroed partition. */
bool sw_load_partition_init(struct sw_load_partition *partition,
                            const struct sw_load_partition_setup *setup, uint32_t number);
void sw_load_partition_fini(struct sw_load_partition *partition);

/* Begins a sweep, or sequential draws, at the first key. */
void sw_load_partition_rewind(struct sw_load_partition *partition);
/* The next unit of a sweep: every key of the fill with its first value (SET), or every key that the
 * model knows (GET; only if setup->verify). Writes keys and operands from element 0. Returns how
 * many, 0 at the end. */
uint32_t sw_load_partition_sweep(struct sw_load_partition *partition, bool is_fill, void *keys,
                                 void *operands);
/* Draws a unit of the mix, of `count` keys. */
void sw_load_partition_draw(struct sw_load_partition *partition, uint32_t count, void *keys,
                            void *operands);

/* Compares the answer to element i of the unit with the model, to which it applies the operation.
 * Elements are given in their order. Only if setup->verify. */
struct sw_load_verdict sw_load_partition_check(struct sw_load_partition *partition, uint32_t i,
                                               uint64_t operand,
                                               const struct sw_load_answer *answer);

#endif
