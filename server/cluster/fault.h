/* SPDX-License-Identifier: MIT
 *
 * fault.h - points at which a test kills the process (option debug-fault). Threads: any.
 */
#ifndef SHERWOOD_SERVER_CLUSTER_FAULT_H
#define SHERWOOD_SERVER_CLUSTER_FAULT_H

#include <signal.h>
#include <string.h>

#include "server/config/config.h"

static inline void sw_fault_at(const struct sw_config *config, const char *point)
{
    if (config->debug_fault[0] != '\0' && strcmp(config->debug_fault, point) == 0) {
        raise(SIGKILL);
    }
}

#endif
