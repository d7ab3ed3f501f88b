/* SPDX-License-Identifier: MIT
 *
 * reload.c - the effects of changed options, and the files that SIGHUP reads again.
 */
#include "server/reload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/plural.h"
#include "server/fd_limit.h"
#include "server/observe/log.h"
#include "server/warnings.h"

/* --- effects of a change ---------------------------------------------------------------------- */

static void follow_log_level(struct sw_reload *reload)
{
    sw_log_set_level((enum sw_log_level)reload->config->log_level);
}

static void follow_connections(struct sw_reload *reload)
{
    sw_fd_limit_raise(reload->config);
}

static void follow_input_bytes(struct sw_reload *reload)
{
    __atomic_store_n(&reload->input_budget->bytes_max, reload->config->input_bytes_max,
                     __ATOMIC_RELAXED);
}

static void follow_save(struct sw_reload *reload)
{
    if (*reload->saver != NULL) {
        sw_saver_set(*reload->saver, reload->config->save,
                     reload->config->stop_writes_on_bgsave_error != 0);
    }
}

static void follow_slowlog(struct sw_reload *reload)
{
    sw_slowlog_trim(reload->slowlog, reload->config->slowlog_max_len);
}

/* Options whose change needs an action. */
static const struct {
    enum sw_option_index option;
    void (*follow)(struct sw_reload *reload);
} followers[] = {
    {SW_OPTION_AT_log_level, follow_log_level},
    {SW_OPTION_AT_connections_max, follow_connections},
    {SW_OPTION_AT_input_bytes_max, follow_input_bytes},
    {SW_OPTION_AT_save, follow_save},
    {SW_OPTION_AT_slowlog_max_len, follow_slowlog},
    {SW_OPTION_AT_stop_writes_on_bgsave_error, follow_save},
};

static const char *shown(const char *value)
{
    return value[0] != '\0' ? value : "empty";
}

void sw_reload_changed(void *context, const struct sw_live_changes *changes, const char *who)
{
    struct sw_reload *reload = context;
    for (size_t i = 0; i < changes->count; i++) {
        const struct sw_live_change *change = &changes->list[i];
        for (size_t j = 0; j < sizeof(followers) / sizeof(followers[0]); j++) {
            if (sw_option_at(followers[j].option) == change->option) {
                followers[j].follow(reload);
            }
        }
        sw_log(SW_LOG_NOTICE, "%s: %s is %s now (was %s)", who, change->option->name,
               shown(change->after), shown(change->before));
    }
}

/* --- SIGHUP ----------------------------------------------------------------------------------- */

static int reload_config(struct sw_reload *reload, struct sw_live *live)
{
    struct sw_live_changes restart;
    char error[SW_CONFIG_ERROR_BYTES];
    (void)reload;
    int count = sw_live_reload(live, "SIGHUP", &restart, error, sizeof(error));
    if (count < 0) {
        sw_log(SW_LOG_ERROR, "SIGHUP: nothing has changed, because %s", error);
        return -1;
    }
    for (size_t i = 0; i < restart.count; i++) {
        const struct sw_live_change *change = &restart.list[i];
        sw_log(SW_LOG_WARNING,
               "SIGHUP: %s is %s in the configuration and %s here: it needs a restart",
               change->option->name, shown(change->after), shown(change->before));
    }
    sw_log(SW_LOG_NOTICE,
           "SIGHUP: the configuration was read: %d option%s changed, %zu need%s a "
           "restart",
           count, sw_plural_s((uint64_t)count), restart.count, sw_plural(restart.count, "s", ""));
    return 0;
}

/* Returns the sections as text, which the caller frees; NULL: no memory. */
static char *text_of(const struct sw_table_sections *sections)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) {
        return NULL;
    }
    sw_table_sections_print(sections, out);
    fclose(out);
    return text;
}

/* Tables change by TABLE alone: a change of their sections is only reported. */
static int reload_tables(struct sw_reload *reload, struct sw_live *live)
{
    struct sw_table_sections sections;
    char error[SW_CONFIG_ERROR_BYTES];
    (void)live;
    const int status = sw_table_sections_read(reload->config, &sections, error, sizeof(error));
    if (status != 0) {
        sw_log(SW_LOG_ERROR, "SIGHUP: the tables are unchanged, because %s", error);
    } else {
        char *before = text_of(reload->sections), *now = text_of(&sections);
        if (before != NULL && now != NULL && strcmp(before, now) != 0) {
            sw_log(SW_LOG_WARNING, "SIGHUP: the sections [table NAME] differ from those at the "
                                   "start: use TABLE CREATE and DROP, or restart");
        }
        free(before);
        free(now);
    }
    sw_table_sections_free(&sections);
    return status;
}

static int reload_tls(struct sw_reload *reload, struct sw_live *live)
{
    (void)live;
    return *reload->tls_credentials == NULL
               ? 0
               : sw_tls_credentials_reload(*reload->tls_credentials, reload->config);
}

static int reload_users(struct sw_reload *reload, struct sw_live *live)
{
    char error[SW_USERS_ERROR_BYTES];
    (void)live;
    if (reload->config->acl_file[0] == '\0') {
        return 0;
    }
    if (sw_users_load(*reload->users, error, sizeof(error)) != 0) {
        sw_log(SW_LOG_ERROR, "SIGHUP: the users are unchanged, because %s", error);
        return -1;
    }
    sw_log(SW_LOG_NOTICE, "SIGHUP: the users of %s were read", reload->config->acl_file);
    sw_warn_of_rules(*reload->users);
    return 0;
}

static int reload_topology(struct sw_reload *reload, struct sw_live *live)
{
    (void)live;
    return *reload->cluster == NULL ? 0 : sw_cluster_reload(*reload->cluster);
}

/* The readers of SIGHUP, in their order. After the first failure the others do not run. */
static int (*const readers[])(struct sw_reload *reload, struct sw_live *live) = {
    reload_config, reload_tables, reload_tls, reload_users, reload_topology,
};

int sw_reload_all(struct sw_reload *reload, struct sw_live *live)
{
    int status = readers[0](reload, live);
    for (size_t i = 1; status == 0 && i < sizeof(readers) / sizeof(readers[0]); i++) {
        status |= readers[i](reload, live);
    }
    return status;
}
