/* SPDX-License-Identifier: MIT
 *
 * workload.h - keys and operands in device memory, and the account of where every operand went.
 *
 * The account: for each distinct key, what was offered of it. What the table holds and what it
 * handed back is taken off (settled); nothing may be left over or missing. Sums are modulo 2^32, as
 * in the table; operands are small enough that no sum of one key wraps around.
 *
 * Every function that returns bool waits for the device, and on false has printed one line on
 * stderr. For one thread.
 */
#ifndef SHERWOOD_BENCH_MEMORY_BANDWIDTH_WORKLOAD_H
#define SHERWOOD_BENCH_MEMORY_BANDWIDTH_WORKLOAD_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Device memory, 9 words of 32 bits a key in all, and found. */
struct sw_bandwidth_arrays {
    uint32_t *keys; /* as offered */
    uint32_t *operands;
    uint32_t *leftover_keys; /* handed back: those of a batch begin where its operations begin */
    uint32_t *leftover_values;
    uint32_t *sorted_keys;
    uint32_t *sorted_operands;
    uint32_t *distinct; /* keys, ascending */
    uint32_t *open;     /* of each distinct key, what is not settled */
    uint32_t *answers;  /* of gets */
    uint64_t *found;
    struct sw_bandwidth_account *account; /* while it is counted */
};

struct sw_bandwidth_account {
    uint64_t distinct;
    uint64_t offered_sum; /* of all operands */
    uint64_t held;        /* keys */
    uint64_t held_sum;
    uint64_t handed_back; /* entries; a key may come back from several batches */
    uint64_t handed_back_sum;
    uint64_t foreign;   /* handed back, but never offered */
    uint64_t unsettled; /* keys with a lost operand, or one that counts twice */
};

/* Room for count operations, count below 2^32. On false nothing is allocated. */
bool sw_bandwidth_arrays_open(struct sw_bandwidth_arrays *arrays, uint64_t count);
void sw_bandwidth_arrays_close(struct sw_bandwidth_arrays *arrays);

/* Fresh keys, uniform over 32 bits, with operands 1 .. 65536; opens the account. `number` is used
 * once for each seed. */
bool sw_bandwidth_draw(struct sw_bandwidth_arrays *arrays, uint64_t count, uint64_t seed,
                       uint64_t number, struct sw_bandwidth_account *account);

/* Takes off what a get of all distinct keys answered. */
bool sw_bandwidth_settle_held(struct sw_bandwidth_arrays *arrays,
                              struct sw_bandwidth_account *account);

/* Takes off what the batches handed back: leftovers[b] entries of batch b. */
bool sw_bandwidth_settle_leftovers(struct sw_bandwidth_arrays *arrays, uint32_t batch_ops,
                                   const uint32_t *leftovers, uint64_t batches,
                                   struct sw_bandwidth_account *account);

/* Counts the keys that are not settled. */
bool sw_bandwidth_settle_end(struct sw_bandwidth_arrays *arrays,
                             struct sw_bandwidth_account *account);

/* How many of the first count bits of found are set; poisons found and answers for the next. */
bool sw_bandwidth_count_found(struct sw_bandwidth_arrays *arrays, uint64_t count, uint64_t *set);

#ifdef __cplusplus
}
#endif

#endif
