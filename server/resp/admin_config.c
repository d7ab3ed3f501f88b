/* SPDX-License-Identifier: MIT
 *
 * admin_config.c - CONFIG: shows the current options, and changes the live ones.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "proto/plural.h"
#include "server/config/live.h"
#include "server/config/redis_options.h"
#include "server/config/table_options.h"
#include "server/net/conn.h"
#include "server/observe/log.h"
#include "server/repl/repl.h"
#include "server/resp/admin_call.h"

#define WORDS_MAX 128
#define VALUE_BYTES 160
#define SHOWN_BYTES SW_ROLE_PRIMARY_BYTES /* the longest value: replicaof */

struct parameter {
    const char *name;
    char value[SHOWN_BYTES];
};

/* Parameters of redis that clients and tools request, and their values in this server. NULL: the
 * value is that of one of our options. */
static const struct {
    const char *name, *value;
} redis_parameters[] = {{"dir", NULL},
                        {"maxmemory", "0"},
                        {"maxmemory-policy", NULL},
                        {"requirepass", ""},
                        {"cluster-enabled", NULL},
                        {"notify-keyspace-events", ""},
                        {"maxclients", NULL},
                        {"timeout", NULL},
                        {"unixsocket", NULL},
                        {"unixsocketperm", NULL},
                        {"proto-max-bulk-len", NULL}};
#define REDIS_PARAMETERS (sizeof(redis_parameters) / sizeof(redis_parameters[0]))
#define PARAMETERS (SW_OPTION_COUNT + REDIS_PARAMETERS)

static void fill_redis_parameter(const struct sw_config *config, size_t index,
                                 struct parameter *parameter)
{
    parameter->name = NULL;
    if (index >= REDIS_PARAMETERS) {
        return;
    }
    parameter->name = redis_parameters[index].name;
    if (redis_parameters[index].value != NULL) {
        snprintf(parameter->value, VALUE_BYTES, "%s", redis_parameters[index].value);
    } else if (strcmp(parameter->name, "maxmemory-policy") == 0) {
        snprintf(parameter->value, VALUE_BYTES, "%s", sw_config_redis_policy(config));
    } else if (strcmp(parameter->name, "cluster-enabled") == 0) {
        snprintf(parameter->value, VALUE_BYTES, "%s", sw_config_in_cluster(config) ? "yes" : "no");
    } else if (strcmp(parameter->name, "dir") == 0) {
        snprintf(parameter->value, VALUE_BYTES, "%s", config->data_dir);
    } else if (strcmp(parameter->name, "maxclients") == 0) {
        snprintf(parameter->value, VALUE_BYTES, "%" PRIu32, sw_config_connections(config));
    } else if (strcmp(parameter->name, "timeout") == 0) { /* seconds; 0: none */
        snprintf(parameter->value, VALUE_BYTES, "%" PRIu32,
                 (SW_LIVE(config->idle_timeout_ms) + 999) / 1000);
    } else if (strcmp(parameter->name, "unixsocket") == 0) {
        snprintf(parameter->value, VALUE_BYTES, "%s", config->unix_socket);
    } else if (strcmp(parameter->name, "unixsocketperm") == 0) {
        snprintf(parameter->value, VALUE_BYTES, "%" PRIo32, config->unix_socket_mode);
    } else {
        snprintf(parameter->value, VALUE_BYTES, "%" PRIu64, config->resp_request_bytes_max);
    }
}

/* Returns the options of tables on the command line, if the first table has others in another
 * place, else NULL. */
static const struct sw_config *options_before(const struct sw_call *call)
{
    const struct sw_tables_view *view = call->session->conn->net->tables.view;
    return view == NULL || view->served[0]->config == call->admin->config ? NULL : view->started;
}

/* Returns parameter number `index`: our options come first, then the parameters of redis. Returns
 * false if there is no such number. */
static bool parameter_at(const struct sw_call *call, size_t index, struct parameter *parameter)
{
    const struct sw_admin *admin = call->admin;
    const struct sw_config *started = options_before(call);
    if (started != NULL && index < SW_OPTION_COUNT &&
        sw_alterable_of(sw_option_at(index)->name) != 0) {
        return sw_config_get(started, index, &parameter->name, parameter->value, VALUE_BYTES);
    }
    if (sw_live_get(admin->live, index, &parameter->name, parameter->value, VALUE_BYTES)) {
        if (index == SW_OPTION_AT_replicaof && admin->repl != NULL) {
            sw_repl_replicaof(admin->repl, parameter->value); /* the current role */
        }
        return true;
    }
    fill_redis_parameter(admin->config, index - SW_OPTION_COUNT, parameter);
    return parameter->name != NULL;
}

/* Every word is compared with every parameter, so their number is bounded. */
static bool too_many_words(struct sw_call *call)
{
    if (call->count - 2 <= WORDS_MAX) {
        return false;
    }
    sw_call_error(call, "ERR at most %d parameters or patterns in one command", WORDS_MAX);
    return true;
}

static void config_get(struct sw_call *call)
{
    struct parameter parameter;
    size_t matching[PARAMETERS], count = 0;
    if (too_many_words(call)) {
        return;
    }
    for (size_t i = 0; parameter_at(call, i, &parameter); i++) {
        for (uint32_t pattern = 2; pattern < call->count; pattern++) {
            if (sw_argument_glob(&call->arguments[pattern], parameter.name)) {
                matching[count++] = i;
                break;
            }
        }
    }
    sw_text_map(call->reply, count, call->session->resp3);
    for (size_t i = 0; i < count; i++) {
        parameter_at(call, matching[i], &parameter);
        sw_text_bulk_string(call->reply, parameter.name);
        sw_text_bulk_string(call->reply, parameter.value);
    }
}

/* --- CONFIG SET ------------------------------------------------------------------------------- */

/* The pairs of a CONFIG SET, with their values as texts. */
struct setting {
    struct sw_live_pair pairs[WORDS_MAX / 2];
    char values[WORDS_MAX / 2][VALUE_BYTES];
    size_t count;
};

static bool is_named(const struct sw_resp_argument *argument, const char *name)
{
    return argument->size == strlen(name) &&
           strncasecmp((const char *)argument->text, name, argument->size) == 0;
}

static bool parameter_known(const struct sw_call *call, const struct sw_resp_argument *argument)
{
    struct parameter parameter;
    for (size_t i = 0; parameter_at(call, i, &parameter); i++) {
        if (is_named(argument, parameter.name)) {
            return true;
        }
    }
    return false;
}

/* The live option that the argument names, or NULL. *unit receives the factor of its value if the
 * argument is a parameter of redis, otherwise 0. */
static const struct sw_option *live_option(const struct sw_resp_argument *argument, uint64_t *unit)
{
    char name[64];
    struct sw_redis_option redis;
    snprintf(name, sizeof(name), "%.*s", (int)argument->size, (const char *)argument->text);
    *unit = sw_redis_option_find(name, &redis) ? redis.unit : 0;
    if (*unit != 0) {
        return sw_option_find(redis.option);
    }
    for (size_t i = 0; i < SW_OPTION_COUNT; i++) {
        if (is_named(argument, sw_option_at(i)->name)) {
            return sw_option_is_live(sw_option_at(i)) ? sw_option_at(i) : NULL;
        }
    }
    return NULL;
}

static void refuse_pair(struct sw_call *call, const struct sw_resp_argument *name, const char *why)
{
    sw_call_error(call, "ERR CONFIG SET failed (possibly related to argument '%.*s') - %s",
                  SW_CALL_SHOWN(name), why);
}

/* Writes the value of a parameter of redis as that of our option. Returns NULL, or the error of
 * redis for a wrong value; `why` is room for it. */
static const char *convert(const struct sw_option *option, uint64_t unit,
                           const struct sw_resp_argument *value, char out[VALUE_BYTES],
                           char why[VALUE_BYTES])
{
    int64_t number = 0;
    if (!sw_argument_integer(value, &number)) {
        return "argument couldn't be parsed into an integer";
    }
    if (number < (int64_t)(option->min / unit) || number > (int64_t)(option->max / unit)) {
        snprintf(why, VALUE_BYTES, "argument must be between %" PRIu64 " and %" PRIu64 " inclusive",
                 option->min / unit, option->max / unit);
        return why;
    }
    snprintf(out, VALUE_BYTES, "%" PRIu64, (uint64_t)number * unit);
    return NULL;
}

/* Adds a pair. Returns NULL, or why it cannot be set, for which `why` is room. */
static const char *add_pair(struct setting *setting, const struct sw_resp_argument *name,
                            const struct sw_resp_argument *value, char why[VALUE_BYTES])
{
    uint64_t unit = 0;
    const struct sw_option *option = live_option(name, &unit);
    if (option == NULL) {
        return "can't set immutable config";
    }
    for (size_t i = 0; i < setting->count; i++) {
        if (setting->pairs[i].option == option) {
            return "duplicate parameter";
        }
    }
    char *text = setting->values[setting->count];
    const char *wrong = unit != 0 ? convert(option, unit, value, text, why) : NULL;
    if (wrong != NULL) {
        return wrong;
    }
    if (unit == 0) {
        if (value->size >= VALUE_BYTES || memchr(value->text, '\0', value->size)) {
            return "argument is too long, or has a zero byte";
        }
        snprintf(text, VALUE_BYTES, "%.*s", (int)value->size, (const char *)value->text);
    }
    setting->pairs[setting->count++] = (struct sw_live_pair){option, text};
    return NULL;
}

static void config_set(struct sw_call *call)
{
    struct setting setting = {.count = 0};
    char error[SW_CONFIG_ERROR_BYTES], who[128], range[VALUE_BYTES];
    size_t wrong = 0;
    if (call->count % 2 != 0) {
        sw_call_syntax_error(call);
        return;
    }
    if (too_many_words(call)) {
        return;
    }
    for (uint32_t i = 2; i < call->count; i += 2) {
        if (!parameter_known(call, &call->arguments[i])) {
            sw_call_error(call, "ERR Unknown option or number of arguments for CONFIG SET - '%.*s'",
                          SW_CALL_SHOWN(&call->arguments[i]));
            return;
        }
    }
    for (uint32_t i = 2; i < call->count; i += 2) {
        const char *why = add_pair(&setting, &call->arguments[i], &call->arguments[i + 1], range);
        if (why != NULL) {
            refuse_pair(call, &call->arguments[i], why);
            return;
        }
    }
    snprintf(who, sizeof(who), "CONFIG SET from %s", call->session->conn->peer.address);
    if (sw_live_set(call->admin->live, setting.pairs, setting.count, who, &wrong, error,
                    sizeof(error)) != 0) {
        refuse_pair(call, &call->arguments[2 + 2 * wrong], error);
    } else {
        sw_call_ok(call);
    }
}

static void config_resetstat(struct sw_call *call)
{
    sw_text_error(
        call->reply,
        "ERR counters count from the start of the server and cannot be reset: compute differences");
}

/* Notes the role that REPLICAOF has set, for the file. Returns 0, or -1 with an error. */
static int note_role(const struct sw_admin *admin, char error[SW_CONFIG_ERROR_BYTES])
{
    char replicaof[SHOWN_BYTES];
    if (admin->repl == NULL || sw_repl_why_not(admin->repl) != NULL) {
        return 0;
    }
    sw_repl_replicaof(admin->repl, replicaof);
    return sw_live_note(admin->live, sw_option_at(SW_OPTION_AT_replicaof), replicaof, error,
                        SW_CONFIG_ERROR_BYTES);
}

/* Reports that the file has the role now, unless a flag overrides the file at a start. */
static void keep_role(const struct sw_admin *admin)
{
    char value[VALUE_BYTES];
    const char *name;
    if (admin->repl != NULL && sw_repl_why_not(admin->repl) == NULL &&
        !sw_live_is_flag(admin->live, "replicaof") &&
        sw_live_get(admin->live, SW_OPTION_AT_replicaof, &name, value, sizeof(value))) {
        sw_role_rewritten(&admin->repl->role, value);
    }
}

static void config_rewrite(struct sw_call *call)
{
    char error[SW_CONFIG_ERROR_BYTES];
    if (call->admin->config->origin.path == NULL) {
        sw_text_error(call->reply, "ERR The server is running without a config file");
        return;
    }
    int count = note_role(call->admin, error);
    count = count < 0
                ? -1
                : sw_live_rewrite(call->admin->live, options_before(call), error, sizeof(error));
    if (count < 0) {
        sw_call_error(call, "ERR Rewriting config file: %s", error);
        return;
    }
    keep_role(call->admin);
    sw_log(SW_LOG_NOTICE, "CONFIG REWRITE from %s: %d option%s written to %s",
           call->session->conn->peer.address, count, sw_plural_s((uint64_t)count),
           call->admin->config->origin.path);
    sw_call_ok(call);
}

void sw_call_config(struct sw_call *call)
{
    static const struct sw_subcommand list[] = {
        {"GET", -3, config_get, "<pattern> ...",
         "Return parameters matching the glob-like <pattern> and their values."},
        {"SET", -4, config_set, "<parameter> <value> ...",
         "Set parameters that may change while the server runs, all or none."},
        {"RESETSTAT", 2, config_resetstat, "", "Return an error: counters cannot be reset."},
        {"REWRITE", 2, config_rewrite, "",
         "Write the values in effect into the configuration file."},
        {NULL, 0, NULL, NULL, NULL}};
    sw_call_subcommand(call, list);
}
