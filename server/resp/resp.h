/* SPDX-License-Identifier: MIT
 *
 * resp.h - the RESP side of a connection: bytes to commands, commands to whoever carries them out.
 */
#ifndef SHERWOOD_SERVER_RESP_RESP_H
#define SHERWOOD_SERVER_RESP_RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/resp.h"
#include "server/resp/command.h"

struct sw_conn;

/* Carries out the commands in `bytes`. Returns the bytes consumed; what is left is an incomplete
 * command (input.need is set), or waits because the connection is stalled. */
size_t sw_resp_feed(struct sw_conn *conn, const uint8_t *bytes, size_t size);

/* Queues "-<line>\r\n" as the command's answer, in order (command may be NULL). */
__attribute__((format(printf, 3, 4))) void
sw_resp_error(struct sw_conn *conn, const struct sw_command *command, const char *format, ...);

#endif
