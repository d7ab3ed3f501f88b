/* SPDX-License-Identifier: MIT
 *
 * operations.c - the operations of frames that an engine serves.
 */
#include "server/bulk/operations.h"

#include <assert.h>
#include <string.h>

#include "table/batch.h"
#include "table/op.h"

void sw_bulk_operations(const struct sw_table_shape *shape, bool served[SW_OPERATION_NUMBERS])
{
#define SERVED_BY_SERVER(name) true
#define SERVED_BY_TABLE(name) ((shape->batch_kinds >> SW_BATCH_##name & 1) != 0)
#define SERVED(name, number, who, ...) served[number] = SERVED_BY_##who(name);
#define SERVED_OP(name, number, ...) served[number] = (shape->operations >> SW_##name & 1) != 0;
    memset(served, 0, SW_OPERATION_NUMBERS * sizeof(*served));
    SW_DATA_OPERATION_MAP(SERVED_OP)
    SW_CONTROL_OPERATION_MAP(SERVED)
    served[SW_OPERATION_SETRANGE] |= !shape->has_scores; /* validate.c refuses it on integers */
    /* if the engine evicts, the write may evict an entry that was read */
#define SERVED_COMPOSED(name, number, op, verb, guard, element, on, ...)            \
    served[number] = SW_ON_##on == SW_ON_IDS      ? shape->has_ids                  \
                     : SW_ON_##on == SW_ON_EXPIRY ? shape->expires                  \
                     : shape->has_scores          ? (SW_ON_##on & SW_ON_CACHE) != 0 \
                                                  : true;
    SW_COMPOSED_OPERATION_MAP(SERVED_COMPOSED)
    served[SW_OPERATION_SETRANGE] &= !shape->is_set;
    served[SW_OPERATION_GETRANGE] &= !shape->is_set;
    /* in a table of ids ASSIGN carries it out; its own frame would have operands */
    served[SW_OPERATION_FIND_OR_INSERT] &= !shape->has_ids;
}
