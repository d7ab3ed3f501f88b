/* SPDX-License-Identifier: MIT
 *
 * input.h - the buffer of bytes that a connection has received and its protocol has not consumed,
 * and the budget that all connections share for such buffers.
 *
 * An input has memory only while a request is incomplete or stalled. A buffer of
 * SW_INPUT_MAPPED_BYTES or more has a memory mapping of its own, so that the memory returns to the
 * system when the connection closes, whatever else the process has allocated. An input belongs to
 * its connection's loop; the budget is shared by all loops.
 */
#ifndef SHERWOOD_SERVER_NET_INPUT_H
#define SHERWOOD_SERVER_NET_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The budget of all connections. May be used by any thread. */
struct sw_input_budget {
    uint64_t bytes_max;  /* atomic: input-bytes-max */
    uint64_t bytes_used; /* atomic: sum of the capacities of all inputs */
    uint64_t bytes_kept; /* atomic: the part of it that open transactions keep */
};

struct sw_input {
    uint8_t *bytes;  /* NULL: the input has no memory */
    size_t start;    /* offset of the first byte that is not consumed */
    size_t end;      /* offset behind the last byte received */
    size_t capacity; /* size of `bytes` */
    size_t need;     /* the protocol is not called again before it has this many bytes; 0: any */
};

enum sw_input_result {
    SW_INPUT_OK,
    SW_INPUT_OVER_BUDGET, /* the budget is used up; nothing has changed */
    SW_INPUT_NO_MEMORY    /* the system has no memory; nothing has changed */
};

/* Makes room for `bytes` more bytes behind the end. May move the bytes in the buffer. */
enum sw_input_result sw_input_grow(struct sw_input *input, struct sw_input_budget *budget,
                                   size_t bytes);

/* Frees the memory and empties the input. */
void sw_input_free(struct sw_input *input, struct sw_input_budget *budget);

/* Bytes that were received and not consumed. */
static inline size_t sw_input_held(const struct sw_input *input)
{
    return input->end - input->start;
}

/* Asserts the invariants of an input. */
void sw_input_check(const struct sw_input *input);

/* Bytes in use by all connections. May be called from any thread. */
static inline uint64_t sw_input_budget_used(const struct sw_input_budget *budget)
{
    return __atomic_load_n(&budget->bytes_used, __ATOMIC_RELAXED);
}
static inline uint64_t sw_input_budget_most(const struct sw_input_budget *budget)
{
    return __atomic_load_n(&budget->bytes_max, __ATOMIC_RELAXED);
}

#endif
