/* SPDX-License-Identifier: MIT
 *
 * input.h - bytes that a connection has received and nobody has consumed, and the budget that all
 * connections share for them.
 *
 * An input has memory only while a request is incomplete or waits. From SW_INPUT_MAPPED_BYTES on it
 * is mapped for itself, so that closing connections gives it back to the system, whatever else the
 * process has allocated. An input belongs to its connection's loop; the budget to all loops.
 */
#ifndef SHERWOOD_SERVER_NET_INPUT_H
#define SHERWOOD_SERVER_NET_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Any thread. */
struct sw_input_budget {
    uint64_t bytes_max;  /* input-bytes-max; constant */
    uint64_t bytes_used; /* atomic: sum of the capacities of all inputs */
};

struct sw_input {
    uint8_t *bytes;
    size_t start; /* first byte that is not consumed */
    size_t end;
    size_t capacity;
    size_t need; /* the protocol can do nothing with fewer bytes than these from start on */
};

enum sw_input_result {
    SW_INPUT_OK,
    SW_INPUT_OVER_BUDGET, /* nothing has changed; others must give memory back first */
    SW_INPUT_NO_MEMORY    /* nothing has changed */
};

/* Makes room for `bytes` more behind the end; may move what is there. */
enum sw_input_result sw_input_grow(struct sw_input *input, struct sw_input_budget *budget,
                                   size_t bytes);

/* Gives the memory back; the input is empty and needs nothing. */
void sw_input_free(struct sw_input *input, struct sw_input_budget *budget);

static inline size_t sw_input_held(const struct sw_input *input)
{
    return input->end - input->start;
}

/* Asserts what holds of every input. */
void sw_input_check(const struct sw_input *input);

/* Bytes in use by all connections. Any thread. */
static inline uint64_t sw_input_budget_used(const struct sw_input_budget *budget)
{
    return __atomic_load_n(&budget->bytes_used, __ATOMIC_RELAXED);
}

#endif
