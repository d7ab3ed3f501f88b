/* SPDX-License-Identifier: MIT
 *
 * role_file.h - the file `role` of a data directory: the role that REPLICAOF gave the server, for
 * the next start.
 *
 * Three lines of text: "sherwood-role 1"; "primary", or "replica of" and the primary; "replicaof"
 * and the value of that option. If the option has another value at a start, it is the newer
 * decision: the start takes the option and removes the file.
 *
 * The file is not part of the data: directories discarded-.. have none.
 */
#ifndef SHERWOOD_SERVER_LOG_ROLE_FILE_H
#define SHERWOOD_SERVER_LOG_ROLE_FILE_H

#include "server/log/directory.h"

#define SW_ROLE_NAME "role"
#define SW_ROLE_NEW "new-role"
#define SW_ROLE_PRIMARY_BYTES 288
#define SW_ROLE_REASON_BYTES 320

struct sw_role {
    bool is_set;                           /* the file exists */
    char primary[SW_ROLE_PRIMARY_BYTES];   /* as in REPLICAOF; empty: the server is a primary */
    char replicaof[SW_ROLE_PRIMARY_BYTES]; /* the option when REPLICAOF ran */
};

/* Reads the file. Returns 0; or -1 and an error in `reason` if it cannot be read or is not valid.
 */
int sw_role_read(const struct sw_directory *directory, struct sw_role *role,
                 char reason[SW_ROLE_REASON_BYTES]);
/* Replaces the file durably, or removes it if the role is not set. The texts have no line end.
 * Returns 0, or -1 and an error in `reason`. */
int sw_role_write(const struct sw_directory *directory, const struct sw_role *role,
                  char reason[SW_ROLE_REASON_BYTES]);

#endif
