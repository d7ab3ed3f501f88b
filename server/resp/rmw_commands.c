/* SPDX-License-Identifier: MIT
 *
 * rmw_commands.c - SETRANGE and INCRBYFLOAT: values that depend on the values before.
 */
#include "server/resp/rmw_commands.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/batch/blob.h"
#include "server/batch/refusals.h"
#include "server/net/conn.h"
#include "server/resp/admin_call.h"
#include "server/resp/batch_results.h"
#include "server/resp/resp.h"

bool sw_rmw_command_is(const struct sw_command *command)
{
    return command->id == SW_COMMAND_SETRANGE || command->id == SW_COMMAND_INCRBYFLOAT;
}

/* --- the arguments ---------------------------------------------------------------------------- */

static const char *error_of_setrange(const struct sw_table_shape *shape,
                                     const struct sw_resp_command *arguments)
{
    int64_t offset = 0;
    if (shape->value_format == SW_VALUE_INTEGER) {
        return "ERR SETRANGE needs rows: start the server with --value-bytes";
    }
    if (!sw_argument_integer(&arguments->arguments[2], &offset)) {
        return "ERR value is not an integer or out of range";
    }
    const uint32_t size = arguments->arguments[3].size; /* 0: the offset does not matter */
    const bool fits = (uint64_t)offset <= shape->blob_bytes_max &&
                      size <= shape->blob_bytes_max - (uint64_t)offset;
    return offset < 0 || (size > 0 && !fits) ? "ERR offset is out of range" : NULL;
}

const char *sw_rmw_command_error(const struct sw_resp *resp, const struct sw_command *command,
                                 const struct sw_resp_command *arguments)
{
    const struct sw_table_shape *shape = &resp->batches->shape;
    const uint32_t type = resp->net->config->value_type;
    const bool is_row = shape->value_format != SW_VALUE_INTEGER;
    float number = 0;
    if (command->id == SW_COMMAND_SETRANGE) {
        return error_of_setrange(shape, arguments);
    }
    return !is_row || type != SW_TYPE_F32 || shape->blob_bytes_max != sizeof(number)
               ? SW_NO_FLOATS_LINE
           : !sw_argument_float(&arguments->arguments[2], &number)
               ? "ERR value is not a valid float"
               : NULL;
}

void sw_rmw_command_begin(struct sw_rmw *rmw, const struct sw_command *command,
                          const struct sw_resp_command *arguments)
{
    struct sw_resp_batch *batch = &rmw->replies.batch;
    if (command->id == SW_COMMAND_INCRBYFLOAT) {
        sw_argument_float(&arguments->arguments[2], &rmw->number);
    }
    if (command->id == SW_COMMAND_SETRANGE) {
        const struct sw_resp_argument *piece = &arguments->arguments[3];
        int64_t offset = 0;
        sw_argument_integer(&arguments->arguments[2], &offset);
        rmw->offset = (uint32_t)offset;
        rmw->piece_bytes = piece->size;
        if (piece->size > 0) { /* in the place of the operand, which is as long */
            memcpy(batch->values, piece->text, piece->size);
        }
    }
}

/* --- deciding --------------------------------------------------------------------------------- */

static uint32_t decide_setrange(struct sw_rmw *rmw, bool found)
{
    struct sw_resp_batch *batch = &rmw->replies.batch;
    const struct sw_table_shape *shape = &batch->batches->shape;
    uint8_t value[SW_VALUE_BYTES_MAX] = {0};
    uint32_t size = 0;
    const uint8_t *before = sw_blob_at(shape, batch->previous, 0, &size);
    size = found ? size : 0;
    memcpy(value, before, size);
    if (rmw->piece_bytes == 0) {
        sw_text_unsigned(sw_rmw_reply(rmw), size);
        return 0;
    }
    memcpy(value + rmw->offset, batch->values, rmw->piece_bytes);
    const uint32_t end = rmw->offset + rmw->piece_bytes;
    size = shape->value_format == SW_VALUE_FIXED ? shape->blob_bytes_max : end > size ? end : size;
    sw_blob_put(shape, batch->values, value, size);
    sw_text_unsigned(sw_rmw_reply(rmw), size);
    return 1;
}

/* Appends the fewest digits that are read as the same number. */
static void put_float(struct sw_text *text, float number)
{
    char digits[64];
    for (int precision = 1; precision <= 9; precision++) {
        snprintf(digits, sizeof(digits), "%.*g", precision, (double)number);
        if (strtof(digits, NULL) == number) {
            break;
        }
    }
    sw_text_bulk_string(text, digits);
}

static uint32_t decide_incrbyfloat(struct sw_rmw *rmw, bool found)
{
    struct sw_resp_batch *batch = &rmw->replies.batch;
    float before = 0;
    if (found) {
        memcpy(&before, batch->previous, sizeof(before));
    }
    const float sum = before + rmw->number;
    if (isnan(sum) || isinf(sum)) {
        sw_text_error(sw_rmw_reply(rmw), "ERR increment would produce NaN or Infinity");
        return 0;
    }
    memcpy(batch->values, &sum, sizeof(sum));
    put_float(sw_rmw_reply(rmw), sum);
    return 1;
}

uint32_t sw_rmw_command_decide(struct sw_rmw *rmw)
{
    const bool found = sw_result_found(&rmw->replies.batch, 0);
    rmw->replies.batch.ops[0] = SW_SET;
    return rmw->command->id == SW_COMMAND_SETRANGE ? decide_setrange(rmw, found)
                                                   : decide_incrbyfloat(rmw, found);
}
