/* SPDX-License-Identifier: MIT
 *
 * admin_clients.h - the subcommands of CLIENT that show, pause, unblock and close other
 * connections.
 */
#ifndef SHERWOOD_SERVER_RESP_ADMIN_CLIENTS_H
#define SHERWOOD_SERVER_RESP_ADMIN_CLIENTS_H

#include "server/resp/admin_call.h"

void sw_client_info(struct sw_call *call);
void sw_client_list(struct sw_call *call);
void sw_client_kill(struct sw_call *call);
void sw_client_pause(struct sw_call *call);
void sw_client_unpause(struct sw_call *call);
void sw_client_unblock(struct sw_call *call);

#endif
