/* SPDX-License-Identifier: MIT
 *
 * string_replies.h - replies to INCRBY and INCRBYFLOAT of strings and of rows of one number, to
 * APPEND and to SETRANGE: computed from the value before and the operand. The table has computed
 * the value after by the same function.
 *
 * Threads: the loop's.
 */
#ifndef SHERWOOD_SERVER_RESP_STRING_REPLIES_H
#define SHERWOOD_SERVER_RESP_STRING_REPLIES_H

#include "proto/ops/string_apply.h"
#include "server/resp/replies.h"
#include "server/resp/writer.h"

/* Is the reply of one of these kinds? */
static inline bool sw_string_reply_is(const struct sw_pending *pending)
{
    return pending->kind == SW_REPLY_KIND_COUNTED || pending->kind == SW_REPLY_KIND_FLOAT ||
           pending->kind == SW_REPLY_KIND_APPENDED;
}

/* The value after an operation, as text; of APPEND and SETRANGE only its size. */
struct sw_string_result {
    struct sw_string_space space;
    uint32_t size;
    uint64_t number; /* after INCRBY of a row of one u64 */
};

/* Returns the error line of an operation that the table has refused; NULL if it was carried out:
 * `result` is then set. */
const char *sw_string_reply_error(const struct sw_resp_batch *batch,
                                  const struct sw_pending *pending,
                                  struct sw_string_result *result);

/* Writes the reply to an operation that was carried out. */
void sw_string_reply_put(struct sw_writer *writer, const struct sw_pending *pending,
                         const struct sw_string_result *result);

#endif
