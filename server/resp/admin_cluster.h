/* SPDX-License-Identifier: MIT
 *
 * admin_cluster.h - CLUSTER, except the subcommands that need a batch or have to wait
 * (control_cluster.c). Called on the connection's loop, in cluster mode.
 */
#ifndef SHERWOOD_SERVER_RESP_ADMIN_CLUSTER_H
#define SHERWOOD_SERVER_RESP_ADMIN_CLUSTER_H

struct sw_call;

/* The reply of redis where there is no cluster mode. */
#define SW_NO_CLUSTER "ERR This instance has cluster support disabled"

/* Appends the reply to a subcommand. Subcommands of control_cluster.c are here only for HELP and
 * for their number of arguments. */
void sw_cluster_call(struct sw_call *call);

#endif
