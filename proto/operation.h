/* SPDX-License-Identifier: MIT
 *
 * operation.h - what clients and servers must know of each operation, by its number on the wire.
 * All functions are pure and may be called from any thread.
 */
#ifndef SHERWOOD_PROTO_OPERATION_H
#define SHERWOOD_PROTO_OPERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/ops/operations.h"

/* The operations are rows of proto/ops/operations.h. */
/* Numbers are smaller than this. */
#define SW_OPERATION_NUMBERS 128

enum sw_operation {
#define SW_OPERATION_ENUM(name, number, ...) SW_OPERATION_##name = (number),
    SW_OPERATION_MAP(SW_OPERATION_ENUM)
#undef SW_OPERATION_ENUM
};
bool sw_operation_is_known(uint32_t operation);
/* "GET", "SCAN", ..; "?" if it is not known. */
const char *sw_operation_name(uint32_t operation);
/* Returns the number in the table (column `op`) of an operation on keys. A composed operation
 * returns that of the operation that it is made from. */
uint8_t sw_operation_op(uint32_t operation);
/* Is the operation carried out on keys, so that the request has a body? */
bool sw_operation_is_data(uint32_t operation);
/* Is it a row of SW_COMPOSED_OPERATION_MAP? */
bool sw_operation_is_composed(uint32_t operation);
/* Is it GETRANGE or SETRANGE, of a part of each value? */
bool sw_operation_has_range(uint32_t operation);
/* Is it EXPIRE or one of its kinds, which take a time? Does it need a table whose keys can expire:
 * one of these, PERSIST or TTL? */
bool sw_operation_expires(uint32_t operation);
bool sw_operation_needs_expiry(uint32_t operation);
/* Does it change expiry times alone: EXPIRE, one of its kinds, or PERSIST? */
bool sw_operation_retimes(uint32_t operation);
/* Does it insert or replace values, so that it may set the expiry times of its keys? */
bool sw_operation_takes_times(uint32_t operation);
/* May it change the table? */
bool sw_operation_writes(uint32_t operation);
/* Does the body also have operands? */
bool sw_operation_has_operands(uint32_t operation);
/* Is an operand two values? */
bool sw_operation_has_pairs(uint32_t operation);
/* Does it reply with a part of each value instead of values? */
bool sw_operation_answers_parts(uint32_t operation);
/* Does it replace a part of each value? */
bool sw_operation_writes_parts(uint32_t operation);
/* Does it reply with expiry times instead of values? */
bool sw_operation_answers_times(uint32_t operation);
/* Does it change present keys only, whatever their values are? */
bool sw_operation_of_present(uint32_t operation);
/* May it insert an absent key? */
bool sw_operation_inserts(uint32_t operation);
/* Does it give an absent key an id of the table's choice? The reply then has the id of every key.
 */
bool sw_operation_gives_ids(uint32_t operation);
/* Does it leave a key unchanged if the new value would not fit the width? */
bool sw_operation_may_overflow(uint32_t operation);
/* Does it read or change a table: an operation on keys, or one that the table executes? */
bool sw_operation_of_table(uint32_t operation);
/* Does it need a loaded table? */
bool sw_operation_needs_table(uint32_t operation);
/* Does the table use arrays in device memory where they lie? Otherwise the server copies them. */
bool sw_operation_takes_device(uint32_t operation);
/* Is it a bitwise operation? */
bool sw_operation_of_bits(uint32_t operation);
/* Is it for integers only? */
bool sw_operation_of_integers(uint32_t operation);
/* The RESP command whose right it requires. "": only users without limited rights may send it. */
const char *sw_operation_right(uint32_t operation);
/* The operation that adds numbers of this type (enum sw_value_type), to present keys only or to all
 * keys. 0: none. */
uint32_t sw_operation_that_adds(uint32_t type, bool present_only);
/* Does it add numbers to the numbers of a value? Are these numbers of 16 bits? */
bool sw_operation_adds(uint32_t operation);
bool sw_operation_adds_16(uint32_t operation);
/* Computes the value of a key after an operation that takes an operand. `old` is the value before
 * (0 if the key was absent), `max` the largest value of the table's width. Returns false, and sets
 * *out to `old`, if INCREMENT or DECREMENT would overflow. */
bool sw_operation_apply(uint32_t operation, bool found, uint64_t old, uint64_t operand,
                        uint64_t max, uint64_t *out);

#endif
