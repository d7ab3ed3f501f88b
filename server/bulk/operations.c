/* SPDX-License-Identifier: MIT
 *
 * operations.c - the operations of frames that an engine serves.
 */
#include "server/bulk/operations.h"

#include <assert.h>
#include <string.h>

/* Operations of the protocol, translated to those of the table. */
#define OP_OF(name, number, operands) [number] = SW_##name,
static const uint8_t table_ops[] = {SW_DATA_OPERATION_MAP(OP_OF)};

#define ONE_MORE(...) +1
static_assert(SW_DATA_OPERATION_MAP(ONE_MORE) == SW_OP_END,
              "a frame can ask for every operation of the table");

enum sw_op sw_bulk_op(uint32_t operation)
{
    switch (operation) {
    case SW_OPERATION_GETRANGE:
    case SW_OPERATION_TTL:
        return SW_GET;
    case SW_OPERATION_PERSIST:
        return SW_EXPIRE;
    default:
        return (enum sw_op)table_ops[operation];
    }
}

void sw_bulk_operations(const struct sw_table_shape *shape, bool served[SW_OPERATION_NUMBERS])
{
#define SERVED_BY_SERVER(name) true
#define SERVED_BY_TABLE(name) ((shape->batch_kinds >> SW_BATCH_##name & 1) != 0)
#define SERVED(name, number, who) served[number] = SERVED_BY_##who(name);
#define SERVED_OP(name, number, operands) \
    served[number] = (shape->operations >> SW_##name & 1) != 0;
    memset(served, 0, SW_OPERATION_NUMBERS * sizeof(*served));
    SW_DATA_OPERATION_MAP(SERVED_OP)
    SW_CONTROL_OPERATION_MAP(SERVED)
    /* where keys are evicted the write may evict what was looked at */
#define SERVED_COMPOSED(name, number, operands) \
    served[number] = !shape->has_scores || (number) == SW_OPERATION_GETRANGE;
    SW_COMPOSED_OPERATION_MAP(SERVED_COMPOSED)
    served[SW_OPERATION_PERSIST] = served[SW_OPERATION_TTL] = shape->expires;
}
