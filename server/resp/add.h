/* SPDX-License-Identifier: MIT
 *
 * add.h - the arguments of ADD: key row [SCALE s] [XX].
 */
#ifndef SHERWOOD_SERVER_RESP_ADD_H
#define SHERWOOD_SERVER_RESP_ADD_H

#include <stdint.h>

#include "proto/resp.h"
#include "server/batch/resp_batch.h"
#include "server/config/config.h"

struct sw_add {
    enum sw_op op;
    uint32_t scale_bits; /* of a float */
};

/* Reads the arguments behind the row. Returns NULL, or an error line. */
const char *sw_add_read(const struct sw_config *config, const struct sw_resp_command *arguments,
                        struct sw_add *add);
/* Multiplies the operand that was added to the batch last. */
void sw_add_scale(const struct sw_add *add, struct sw_resp_batch *batch);

#endif
