/* SPDX-License-Identifier: MIT
 *
 * warnings.h - warnings in the log about valid configurations.
 */
#ifndef SHERWOOD_SERVER_WARNINGS_H
#define SHERWOOD_SERVER_WARNINGS_H

#include <stdbool.h>

#include "server/config/config.h"
#include "server/users/users.h"

struct sw_table;

/* The memory of the machine has no room for max-capacity. */
void sw_warn_of_growth(const struct sw_config *config, const struct sw_table *table);
/* `is_open`: there is no password. Then every client that reaches the port may do everything, or
 * nobody from elsewhere is served. */
void sw_warn_of_open_address(const struct sw_config *config, bool is_open);
/* The ACL file that was read last has words that have no effect in this server. */
void sw_warn_of_rules(struct sw_users *users);

#endif
