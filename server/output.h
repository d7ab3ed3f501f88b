/* SPDX-License-Identifier: MIT
 *
 * output.h - the sending side of a connection (declared for clients of it in conn.h).
 */
#ifndef SHERWOOD_SERVER_OUTPUT_H
#define SHERWOOD_SERVER_OUTPUT_H

#include "server/conn.h"

void sw_output_init(struct sw_conn *conn);
void sw_output_fini(struct sw_conn *conn);

#endif
