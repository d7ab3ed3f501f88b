/* SPDX-License-Identifier: MIT
 *
 * workload.h - keys and operands in device memory, and the account of where every operand went.
 *
 * The account has the sum of the offered operands of each distinct key. The study subtracts what
 * the table holds and what it handed back (settles it); the rest must be zero. Sums are modulo
 * 2^32, as in the table; operands are small enough that no sum of one key wraps around.
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
    uint32_t *distinct; /* the distinct keys, ascending */
    uint32_t *open;     /* for each distinct key, the rest that is not settled */
    uint32_t *answers;  /* answers of gets */
    uint64_t *found;
    struct sw_bandwidth_account *account; /* the account, while the device counts it */
};

struct sw_bandwidth_account {
    uint64_t distinct;
    uint64_t offered_sum; /* of all operands */
    uint64_t held;        /* keys in the table */
    uint64_t held_sum;
    uint64_t handed_back; /* entries; a key may come back from several batches */
    uint64_t handed_back_sum;
    uint64_t foreign;   /* keys that were handed back, but never offered */
    uint64_t unsettled; /* keys with a lost operand, or one that counts twice */
};

/* Room for count operations, count below 2^32. On false nothing is allocated. */
bool sw_bandwidth_arrays_open(struct sw_bandwidth_arrays *arrays, uint64_t count);
void sw_bandwidth_arrays_close(struct sw_bandwidth_arrays *arrays);

/* Fresh keys, uniform over 32 bits, with operands 1 .. 65536; opens the account. `number` is used
 * once for each seed. */
bool sw_bandwidth_draw(struct sw_bandwidth_arrays *arrays, uint64_t count, uint64_t seed,
                       uint64_t number, struct sw_bandwidth_account *account);

/* Subtracts the answers to a get of all distinct keys. */
bool sw_bandwidth_settle_held(struct sw_bandwidth_arrays *arrays,
                              struct sw_bandwidth_account *account);

/* Subtracts the entries that the batches handed back: leftovers[b] of batch b. */
bool sw_bandwidth_settle_leftovers(struct sw_bandwidth_arrays *arrays, uint32_t batch_ops,
                                   const uint32_t *leftovers, uint64_t batches,
                                   struct sw_bandwidth_account *account);

/* Counts the keys whose rest is not zero. */
bool sw_bandwidth_settle_end(struct sw_bandwidth_arrays *arrays,
                             struct sw_bandwidth_account *account);

/* Counts the set bits among the first count bits of found. Poisons found and answers for the next
 * get. */
bool sw_bandwidth_count_found(struct sw_bandwidth_arrays *arrays, uint64_t count, uint64_t *set);

#ifdef __cplusplus
}
#endif

#endif
