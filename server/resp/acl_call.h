/* SPDX-License-Identifier: MIT
 *
 * acl_call.h - the subcommands of ACL that acl.c leaves to acl_show.c.
 */
#ifndef SHERWOOD_SERVER_RESP_ACL_CALL_H
#define SHERWOOD_SERVER_RESP_ACL_CALL_H

#include "server/net/conn_login.h"
#include "server/resp/admin_call.h"

void sw_acl_dryrun(struct sw_call *call);
void sw_acl_log_call(struct sw_call *call);

#endif
