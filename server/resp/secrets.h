/* SPDX-License-Identifier: MIT
 *
 * secrets.h - the arguments of a command that SLOWLOG and MONITOR do not show.
 */
#ifndef SHERWOOD_SERVER_RESP_SECRETS_H
#define SHERWOOD_SERVER_RESP_SECRETS_H

#include <stdint.h>

#include "proto/resp.h"

/* The arguments from `from` on, before `to`. */
struct sw_secrets {
    uint32_t from, to;
};

struct sw_secrets sw_secrets_of(const struct sw_resp_command *command);

#endif
