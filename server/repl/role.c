/* SPDX-License-Identifier: MIT
 *
 * role.c - decides between the file `role` and the option `replicaof`.
 */
#include "server/repl/role.h"

#include <stdio.h>
#include <string.h>

#include "server/observe/log.h"

void sw_role_init(struct sw_role_store *store, const struct sw_config *config,
                  struct sw_saver *saver)
{
    *store = (struct sw_role_store){.saver = saver, .config = config};
    snprintf(store->replicaof, sizeof(store->replicaof), "%s", config->replicaof);
    pthread_mutex_init(&store->lock, NULL);
}

void sw_role_fini(struct sw_role_store *store)
{
    pthread_mutex_destroy(&store->lock);
}

bool sw_role_is_free(const struct sw_config *config)
{
    return !sw_config_in_cluster(config);
}

static const char *shown(const char *primary)
{
    return primary[0] == '\0' ? "empty" : primary;
}

/* Removes the file: a newer decision of the operator, or a topology or shard, replaces it. */
static int forget(struct sw_role_store *store, char reason[SW_REPL_REASON_BYTES])
{
    const struct sw_role none = {.is_set = false};
    return sw_saver_set_role(store->saver, &none, reason);
}

int sw_role_at_start(struct sw_role_store *store, bool has_terms,
                     char primary[SW_ROLE_PRIMARY_BYTES], char reason[SW_REPL_REASON_BYTES])
{
    snprintf(primary, SW_ROLE_PRIMARY_BYTES, "%s", store->replicaof);
    if (store->saver == NULL || !sw_saver_role(store->saver)->is_set) {
        return 0;
    }
    const struct sw_role role = *sw_saver_role(store->saver);
    if (has_terms || !sw_role_is_free(store->config)) {
        return forget(store, reason);
    }
    if (strcmp(role.replicaof, store->replicaof) != 0) {
        sw_log(SW_LOG_NOTICE,
               "replicaof is %s, and was %s when REPLICAOF set the role of this server: the option "
               "is newer and takes precedence",
               shown(store->replicaof), shown(role.replicaof));
        return forget(store, reason);
    }
    if (strcmp(role.primary, store->replicaof) != 0) {
        sw_log(SW_LOG_NOTICE,
               "%s%s, as REPLICAOF set it, although replicaof is %s: to change that send "
               "REPLICAOF, or start without %s/" SW_ROLE_NAME,
               role.primary[0] == '\0' ? "this server is a primary"
                                       : "this server is a replica of ",
               role.primary, shown(store->replicaof), store->config->data_dir);
    }
    snprintf(primary, SW_ROLE_PRIMARY_BYTES, "%s", role.primary);
    return 0;
}

int sw_role_keep(struct sw_role_store *store, const char *primary,
                 char reason[SW_REPL_REASON_BYTES])
{
    struct sw_role role = {.is_set = true};
    if (store->saver == NULL) {
        return 0;
    }
    snprintf(role.primary, sizeof(role.primary), "%s", primary);
    snprintf(role.replicaof, sizeof(role.replicaof), "%s", store->replicaof);
    const struct sw_role *now = sw_saver_role(store->saver);
    if (now->is_set && strcmp(now->primary, role.primary) == 0 &&
        strcmp(now->replicaof, role.replicaof) == 0) {
        return 0;
    }
    return sw_saver_set_role(store->saver, &role, reason);
}

void sw_role_rewritten(struct sw_role_store *store, const char *replicaof)
{
    char reason[SW_REPL_REASON_BYTES];
    pthread_mutex_lock(&store->lock);
    snprintf(store->replicaof, sizeof(store->replicaof), "%s", replicaof);
    if (store->saver != NULL && sw_saver_role(store->saver)->is_set &&
        sw_role_keep(store, sw_saver_role(store->saver)->primary, reason) != 0) {
        sw_log(SW_LOG_WARNING, "%s: a start takes the role from the configuration file", reason);
    }
    pthread_mutex_unlock(&store->lock);
}
