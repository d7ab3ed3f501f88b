/* SPDX-License-Identifier: MIT
 *
 * open.h - making handles, and opening and closing their connections. Used by the thread that uses
 * the handle.
 */
#ifndef SHERWOOD_CLIENT_OPEN_H
#define SHERWOOD_CLIENT_OPEN_H

#include "client/handle.h"

/* Copies the options of a program that may have been compiled with an older or a newer version.
 * Returns NULL or a phrase for what is wrong with them. */
const char *sw_client_take_options(const struct sherwood_options *given,
                                   struct sherwood_options *out);
/* Opens one more connection, and checks that its server fits the handle. Returns NULL, a status and
 * a sentence on failure. */
struct sw_client_connection *sw_client_open_connection(struct sherwood *client,
                                                       const struct sw_client_connector *connector,
                                                       const char *address,
                                                       const struct sherwood_options *options,
                                                       int *status, char *text, size_t text_bytes);
/* Checks options and makes a handle without connections. */
int sw_client_make(const char *address, const struct sherwood_options *options,
                   struct sherwood_options *taken, struct sherwood **out, char *text,
                   size_t text_bytes);
/* Reads the facts of a table, except requests_in_flight_max. */
void sw_client_read_facts(const struct sw_server_info *info, struct sherwood_server *server);
/* Returns NULL, or a phrase for what this client cannot work with. */
const char *sw_client_check_facts(const struct sw_server_info *info);
/* NULL is allowed. */
void sw_client_connection_close(struct sw_client_connection *connection);

#endif
