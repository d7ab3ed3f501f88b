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

/* Warns if the memory of the machine has no room for max-capacity. */
void sw_warn_of_growth(const struct sw_config *config, const struct sw_table *table);
/* Warns if other hosts reach the address and no password protects it (`is_open`). Then every client
 * may do everything, or protected-mode refuses clients of other hosts. */
void sw_warn_of_open_address(const struct sw_config *config, bool is_open);
/* Notes in the log that tls-cert or tls-key is set for nothing, in a server that serves no TLS. */
void sw_warn_of_unused_certificate(const struct sw_config *config);
/* Warns if the ACL file that was read last has words without effect in this server. */
void sw_warn_of_rules(struct sw_users *users);

#endif
