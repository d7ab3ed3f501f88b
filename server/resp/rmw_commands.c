/* SPDX-License-Identifier: MIT
 *
 * rmw_commands.c - INCRBYFLOAT: values that depend on the values before.
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
    return command->id == SW_COMMAND_INCRBYFLOAT;
}

/* --- the arguments ---------------------------------------------------------------------------- */

const char *sw_rmw_command_error(const struct sw_resp *resp,
                                 const struct sw_resp_command *arguments)
{
    const struct sw_table_shape *shape = &resp->batches->shape;
    const uint32_t type = resp->net->config->value_type;
    const bool is_row = shape->value_format != SW_VALUE_INTEGER;
    float number = 0;
    return !is_row || type != SW_TYPE_F32 || shape->blob_bytes_max != sizeof(number)
               ? SW_NO_FLOATS_LINE
           : !sw_argument_float(&arguments->arguments[2], &number)
               ? "ERR value is not a valid float"
               : NULL;
}

void sw_rmw_command_begin(struct sw_rmw *rmw, const struct sw_command *command,
                          const struct sw_resp_command *arguments)
{
    if (command->id == SW_COMMAND_INCRBYFLOAT) {
        sw_argument_float(&arguments->arguments[2], &rmw->number);
    }
}

/* --- deciding --------------------------------------------------------------------------------- */

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
    return decide_incrbyfloat(rmw, found);
}
