/* SPDX-License-Identifier: MIT
 *
 * add.c - which numbers ADD adds, and the scale.
 */
#include "server/resp/add.h"

#include <string.h>

#include "server/resp/admin_call.h"
#include "table/scale.h"

/* The operation that adds to rows of this type: to all keys, or to present keys only. */
static enum sw_op op_that_adds(uint32_t type, bool present)
{
    const uint32_t adds = sw_value_type_adds(type);
#define ADDS(name, number, op, verb, guard, element, ...)                              \
    if (SW_VERB_##verb == SW_VERB_ADD_ROW && (uint32_t)SW_ELEMENT_##element == adds && \
        (SW_WHEN_##guard == SW_WHEN_PRESENT) == present) {                             \
        return SW_##name;                                                              \
    }
    SW_DATA_OPERATION_MAP(ADDS)
    return SW_GET; /* the type has no numbers */
}

const char *sw_add_read(const struct sw_config *config, const struct sw_resp_command *arguments,
                        struct sw_add *add)
{
    const uint32_t type = sw_config_has_rows(config) ? config->value_type : SW_TYPE_BYTES;
    bool present = false;
    float scale = 1;
    for (uint32_t i = 3; i < arguments->count; i++) {
        const struct sw_resp_argument *word = &arguments->arguments[i];
        if (sw_argument_is(word, "XX")) {
            present = true;
        } else if (!sw_argument_is(word, "SCALE") || i + 1 == arguments->count) {
            return "ERR syntax error: write ADD key row [SCALE s] [XX]";
        } else if (!sw_argument_float(&arguments->arguments[++i], &scale)) {
            return "ERR SCALE must be a finite number";
        }
    }
    if (sw_value_type_bytes(type) == 0) {
        return "ERR ADD needs rows of numbers: start the server with --value-bytes and a numeric "
               "--value-type";
    }
    add->op = op_that_adds(type, present);
    memcpy(&add->scale_bits, &scale, sizeof(scale));
    return sw_scale_fits(add->op, false, add->scale_bits) ? NULL
           : type == SW_TYPE_F32                          ? "ERR SCALE must be a finite number"
                                 : "ERR SCALE must be 1 or -1 unless values are rows of f32; for "
                                   "f16 and bf16, send a bulk frame with f32 operands";
}

void sw_add_scale(const struct sw_add *add, struct sw_resp_batch *batch)
{
    const struct sw_table_shape *shape = &batch->batches->shape;
    uint8_t *row =
        (uint8_t *)batch->values + (uint64_t)(batch->operations - 1) * shape->value_bytes;
    sw_scale_operands(add->op, false, add->scale_bits, row,
                      shape->value_bytes - shape->key_text_bytes);
}
