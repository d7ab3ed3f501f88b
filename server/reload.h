/* SPDX-License-Identifier: MIT
 *
 * reload.h - the effects of options that change while the server runs, and the files that SIGHUP
 * reads again.
 *
 * An option whose value is its only effect needs nothing here: threads read the value by SW_LIVE.
 */
#ifndef SHERWOOD_SERVER_RELOAD_H
#define SHERWOOD_SERVER_RELOAD_H

#include "server/cluster/cluster.h"
#include "server/config/live.h"
#include "server/log/saver.h"
#include "server/net/input.h"
#include "server/net/tls_credentials.h"
#include "server/observe/slowlog.h"
#include "server/tables/sections.h"
#include "server/users/users.h"

/* The parts of the server that follow the options. Borrowed. */
struct sw_reload {
    const struct sw_config *config;
    struct sw_input_budget *input_budget;
    struct sw_tls_credentials **tls_credentials; /* of the server: NULL there if there is no TLS */
    struct sw_users **users;                     /* of the server */
    struct sw_saver **saver; /* of the server: NULL there if there is no data directory */
    struct sw_slowlog *slowlog;
    struct sw_cluster **cluster;              /* of the server: NULL there without cluster mode */
    const struct sw_table_sections *sections; /* of the file, at the start */
};

/* Carries out changes, and logs each of them: a sw_live_changed whose context is a struct
 * sw_reload. For any thread, one at a time. */
void sw_reload_changed(void *reload, const struct sw_live_changes *changes, const char *who);

/* Reads the options again, then the certificates, the users and the topology. Each of them is
 * adopted as a whole or not at all, and logged. After the first failure the function reads no more
 * and returns -1; otherwise it returns 0. For the main thread. */
int sw_reload_all(struct sw_reload *reload, struct sw_live *live);

#endif
