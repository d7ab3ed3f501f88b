/* SPDX-License-Identifier: MIT
 *
 * start_check.h - checks whether a start can use the files, folders and addresses that the options
 * name. --check-config and every start call it, so a check finds every error that would end a
 * start.
 *
 * The check only reads, so it may run beside the daemon.
 */
#ifndef SHERWOOD_SERVER_START_CHECK_H
#define SHERWOOD_SERVER_START_CHECK_H

#include <stddef.h>

#include "server/config/config.h"
#include "server/notify.h"

#define SW_START_ERROR_BYTES 1024

/* Reads passwords, users, tokens, certificates with their keys, and the topology of a cluster, and
 * checks the data directory and the folder of the Unix socket. `activated` is NULL, or has the
 * sockets of the service manager. Returns 0, or -1 with one sentence in `error`, which names the
 * option and shows no secret: another start would fail alike. A failure for want of memory
 * leaves ENOMEM in errno. */
int sw_start_check(const struct sw_config *config, const struct sw_activated *activated,
                   char error[SW_START_ERROR_BYTES]);

#endif
