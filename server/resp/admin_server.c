/* SPDX-License-Identifier: MIT
 *
 * admin_server.c - CONFIG, LATENCY, SLOWLOG, WAIT and SHUTDOWN.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "server/config/options.h"
#include "server/resp/admin_call.h"

#define WORDS_MAX 128
#define VALUE_BYTES 160

struct parameter {
    const char *name;
    char value[VALUE_BYTES];
};

/* Parameters of redis that clients and tools ask for, and their values in this server. NULL: the
 * value is that of one of our options. */
static const struct {
    const char *name, *value;
} redis_parameters[] = {{"dir", NULL},
                        {"databases", "1"},
                        {"maxmemory", "0"},
                        {"maxmemory-policy", NULL},
                        {"requirepass", ""},
                        {"cluster-enabled", "no"},
                        {"slowlog-log-slower-than", "-1"},
                        {"slowlog-max-len", "0"},
                        {"latency-tracking", "no"},
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
    } else if (strcmp(parameter->name, "dir") == 0) {
        snprintf(parameter->value, VALUE_BYTES, "%s", config->data_dir);
    } else if (strcmp(parameter->name, "maxclients") == 0) {
        snprintf(parameter->value, VALUE_BYTES, "%" PRIu32, config->connections_max);
    } else if (strcmp(parameter->name, "timeout") == 0) { /* seconds; 0: none */
        snprintf(parameter->value, VALUE_BYTES, "%" PRIu32, (config->idle_timeout_ms + 999) / 1000);
    } else if (strcmp(parameter->name, "unixsocket") == 0) {
        snprintf(parameter->value, VALUE_BYTES, "%s", config->unix_socket);
    } else if (strcmp(parameter->name, "unixsocketperm") == 0) {
        snprintf(parameter->value, VALUE_BYTES, "%" PRIo32, config->unix_socket_mode);
    } else {
        snprintf(parameter->value, VALUE_BYTES, "%" PRIu64, config->resp_request_bytes_max);
    }
}

/* Returns parameter number `index`: our options come first, then the parameters of redis. Returns
 * false if there is no such number. */
static bool parameter_at(const struct sw_config *config, size_t index, struct parameter *parameter)
{
    if (sw_config_get(config, index, &parameter->name, parameter->value, VALUE_BYTES)) {
        return true;
    }
    fill_redis_parameter(config, index - SW_OPTION_COUNT, parameter);
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
    const struct sw_config *config = call->admin->config;
    struct parameter parameter;
    size_t matching[PARAMETERS], count = 0;
    if (too_many_words(call)) {
        return;
    }
    for (size_t i = 0; parameter_at(config, i, &parameter); i++) {
        for (uint32_t pattern = 2; pattern < call->count; pattern++) {
            if (sw_argument_glob(&call->arguments[pattern], parameter.name)) {
                matching[count++] = i;
                break;
            }
        }
    }
    sw_text_map(call->reply, count, call->session->resp3);
    for (size_t i = 0; i < count; i++) {
        parameter_at(config, matching[i], &parameter);
        sw_text_bulk_string(call->reply, parameter.name);
        sw_text_bulk_string(call->reply, parameter.value);
    }
}

static bool parameter_known(const struct sw_config *config, const struct sw_resp_argument *argument)
{
    struct parameter parameter;
    for (size_t i = 0; parameter_at(config, i, &parameter); i++) {
        struct sw_resp_argument name = {(const uint8_t *)parameter.name,
                                        (uint32_t)strlen(parameter.name)};
        if (argument->size == name.size &&
            strncasecmp((const char *)argument->text, parameter.name, name.size) == 0) {
            return true;
        }
    }
    return false;
}

/* The configuration is constant after start. */
static void config_set(struct sw_call *call)
{
    if (call->count % 2 != 0) {
        sw_call_syntax_error(call);
        return;
    }
    if (too_many_words(call)) {
        return;
    }
    for (uint32_t i = 2; i < call->count; i += 2) {
        if (!parameter_known(call->admin->config, &call->arguments[i])) {
            sw_call_error(call, "ERR Unknown option or number of arguments for CONFIG SET - '%.*s'",
                          SW_CALL_SHOWN(&call->arguments[i]));
            return;
        }
    }
    sw_call_error(call,
                  "ERR CONFIG SET failed (possibly related to argument '%.*s') - can't set "
                  "immutable config",
                  SW_CALL_SHOWN(&call->arguments[2]));
}

static void config_resetstat(struct sw_call *call)
{
    sw_text_error(call->reply, "ERR counters are totals since the server started and are not "
                               "reset; take differences");
}

static void config_rewrite(struct sw_call *call)
{
    sw_text_error(call->reply, "ERR the server does not write its configuration file");
}

void sw_call_config(struct sw_call *call)
{
    static const struct sw_subcommand list[] = {
        {"GET", -3, config_get, "<pattern> ...",
         "Return parameters matching the glob-like <pattern> and their values."},
        {"SET", -4, config_set, "<parameter> <value>",
         "An error: the configuration is constant after start."},
        {"RESETSTAT", 2, config_resetstat, "", "An error: counters are not reset."},
        {"REWRITE", 2, config_rewrite, "", "An error: the server does not write files."},
        {NULL, 0, NULL, NULL, NULL}};
    sw_call_subcommand(call, list);
}

static void reply_empty_array(struct sw_call *call)
{
    sw_text_array(call->reply, 0);
}

static void reply_empty_map(struct sw_call *call)
{
    sw_text_map(call->reply, 0, call->session->resp3);
}

static void reply_zero(struct sw_call *call)
{
    sw_text_integer(call->reply, 0);
}

/* The latency of batches is in /metrics; that of single commands is not recorded. */
void sw_call_latency(struct sw_call *call)
{
    static const struct sw_subcommand list[] = {
        {"HISTOGRAM", -2, reply_empty_map, "[command ...]", "Empty: see /metrics."},
        {"HISTORY", 3, reply_empty_array, "<event>", "Empty: no events are recorded."},
        {"LATEST", 2, reply_empty_array, "", "Empty: no events are recorded."},
        {"RESET", -2, reply_zero, "[event ...]", "0: no events are recorded."},
        {NULL, 0, NULL, NULL, NULL}};
    sw_call_subcommand(call, list);
}

static void slowlog_get(struct sw_call *call)
{
    int64_t count = 0;
    if (call->count > 3) {
        sw_text_error(call->reply, "ERR unknown subcommand or wrong number of arguments for 'GET'. "
                                   "Try SLOWLOG HELP.");
    } else if (call->count == 3 &&
               (!sw_argument_integer(&call->arguments[2], &count) || count < -1)) {
        sw_text_error(call->reply, "ERR count should be greater than or equal to -1");
    } else {
        sw_text_array(call->reply, 0);
    }
}

void sw_call_slowlog(struct sw_call *call)
{
    static const struct sw_subcommand list[] = {
        {"GET", -2, slowlog_get, "[count]", "Empty: no command is logged."},
        {"LEN", 2, reply_zero, "", "0: no command is logged."},
        {"RESET", 2, sw_call_ok, "", "Nothing to forget."},
        {NULL, 0, NULL, NULL, NULL}};
    sw_call_subcommand(call, list);
}

void sw_call_wait(struct sw_call *call)
{
    int64_t replicas = 0, timeout_ms = 0;
    if (!sw_argument_integer(&call->arguments[1], &replicas)) {
        sw_text_error(call->reply, "ERR value is not an integer or out of range");
    } else if (!sw_argument_integer(&call->arguments[2], &timeout_ms)) {
        sw_text_error(call->reply, "ERR timeout is not an integer or out of range");
    } else if (timeout_ms < 0) {
        sw_text_error(call->reply, "ERR timeout is negative");
    } else {
        sw_text_integer(call->reply, 0);
    }
}

/* As in redis, SHUTDOWN has no reply if it succeeds: the connection is closed. */
void sw_call_shutdown(struct sw_call *call)
{
    bool save = false, nosave = false, abort = false;
    for (uint32_t i = 1; i < call->count; i++) {
        const struct sw_resp_argument *word = &call->arguments[i];
        if (sw_argument_is(word, "SAVE")) {
            save = true;
        } else if (sw_argument_is(word, "NOSAVE")) {
            nosave = true;
        } else if (sw_argument_is(word, "ABORT")) {
            abort = true;
        } else if (!sw_argument_is(word, "NOW") && !sw_argument_is(word, "FORCE")) {
            sw_call_syntax_error(call);
            return;
        }
    }
    if ((save && nosave) || (abort && call->count > 2)) {
        sw_call_syntax_error(call);
    } else if (abort) {
        sw_text_error(call->reply, "ERR No shutdown in progress.");
    } else if (save && call->admin->saver == NULL) {
        sw_text_error(call->reply,
                      "ERR there is no persistence, nothing can be saved: use SHUTDOWN NOSAVE");
    } else {
        call->session->shutdown_asked = true;
        call->session->shutdown_unsaved = nosave;
        call->session->close_after_reply = true;
    }
}
