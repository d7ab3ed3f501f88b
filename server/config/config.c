/* SPDX-License-Identifier: MIT
 *
 * config.c - reads the options: defaults first, then the file, then flags. Checks the options of
 * addresses, TLS, persistence and replication. engine.c, cluster.c and limits.c check the others.
 */
#include "server/config/config.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "server/config/redis_options.h"
#include "server/config/save_points.h"
#include "table/configuration.h"

/* Numbers of flags: first the flags that set no option, then the options in the order of their
 * rows. */
enum {
    FLAG_NONE, /* no flag has this name */
    FLAG_CONFIG,
    FLAG_CHECK,
    FLAG_TEMPLATE,
    FLAG_MANUAL,
    FLAG_HELP,
    FLAG_VERSION,
    FLAG_OPTION
};
static const struct {
    const char *name;
    int flag;
} general_flags[] = {
    {"config", FLAG_CONFIG},       {"check-config", FLAG_CHECK}, {"print-template", FLAG_TEMPLATE},
    {"print-manual", FLAG_MANUAL}, /* for `make docs` alone: not in --help */
    {"help", FLAG_HELP},           {"version", FLAG_VERSION},
};
#define GENERAL_FLAGS (sizeof(general_flags) / sizeof(general_flags[0]))

/* Flags of the command line other than values of options. */
struct flags {
    const char *config_path;
    bool check;
    int print;                   /* what to print: FLAG_TEMPLATE to FLAG_VERSION; 0: nothing */
    bool given[SW_OPTION_COUNT]; /* the option was given as a flag */
};

void sw_config_init(struct sw_config *config)
{
    const struct sw_option *option = NULL;
    char error[SW_CONFIG_ERROR_BYTES];
    memset(config, 0, sizeof(*config));
    for (size_t i = 0; (option = sw_option_at(i)) != NULL; i++) {
        /* This cannot fail, because a test sets every default. */
        (void)sw_option_set(option, option->standard, config, error, sizeof(error));
    }
}

bool sw_config_get(const struct sw_config *config, size_t index, const char **name, char *value,
                   size_t value_bytes)
{
    const struct sw_option *option = sw_option_at(index);
    if (option == NULL) {
        return false;
    }
    *name = option->name;
    sw_option_format(option, config, false, value, value_bytes);
    return true;
}

static int check_listeners(const struct sw_config *config, bool activated, char *error,
                           size_t error_bytes)
{
    if (config->bind[0] == '\0' && config->unix_socket[0] == '\0' && !activated) {
        snprintf(error, error_bytes,
                 "the server has no address to listen on: set bind or unix-socket, or let the "
                 "service manager pass a socket");
        return -1;
    }
    if (config->port != 0 && config->port == config->http_port && config->bind[0] != '\0' &&
        strcmp(config->bind, config->http_bind) == 0) {
        snprintf(error, error_bytes,
                 "port and http-port are both %u on %s: RESP and HTTP need ports of their own",
                 config->port, config->bind);
        return -1;
    }
    return 0;
}

/* Returns an error text about the certificates, or NULL. */
static const char *wrong_certificates(const struct sw_config *config)
{
    if (config->tls_port != 0 && (config->tls_cert[0] == '\0' || config->tls_key[0] == '\0')) {
        return "tls-port is set: tls-cert and tls-key are needed with it";
    }
    if (config->http_tls != 0 && (config->tls_cert[0] == '\0' || config->tls_key[0] == '\0')) {
        return "http-tls is yes: tls-cert and tls-key are needed with it";
    }
    if (config->tls_auth_clients != SW_CONFIG_TLS_CLIENTS_ANY && config->tls_ca[0] == '\0') {
        return "tls-auth-clients is set and tls-ca is not: set tls-ca to the roots of the clients' "
               "certificates";
    }
    if (config->tls_user_from_cert != 0 && config->tls_auth_clients == SW_CONFIG_TLS_CLIENTS_ANY) {
        return "tls-user-from-cert is yes and tls-auth-clients is no: set tls-auth-clients, so "
               "that clients send certificates";
    }
    return NULL;
}

/* Returns an error text about the TLS port, or NULL. */
static const char *wrong_tls_ports(const struct sw_config *config, bool activated)
{
    if (config->tls_port == 0) {
        return config->tls_only != 0 && !activated
                   ? "tls-only is yes and tls-port is not set: set tls-port"
                   : NULL;
    }
    if (config->bind[0] == '\0') {
        return "tls-port is set and bind is empty: set bind";
    }
    if (config->tls_port == config->port && config->tls_only == 0) {
        return "port and tls-port are the same: set tls-only, or give each its own";
    }
    if (config->tls_port == config->http_port && strcmp(config->bind, config->http_bind) == 0) {
        return "tls-port and http-port are the same: give each its own";
    }
    return NULL;
}

static int check_tls(const struct sw_config *config, bool activated, char *error,
                     size_t error_bytes)
{
    const char *wrong = wrong_certificates(config);
    if (wrong == NULL) {
        wrong = wrong_tls_ports(config, activated);
    }
    if (wrong != NULL) {
        snprintf(error, error_bytes, "%s", wrong);
        return -1;
    }
    return 0;
}

static int check_persistence(const struct sw_config *config, char *error, size_t error_bytes)
{
    struct sw_save_point points[SW_SAVE_POINTS_MAX];
    int count = sw_save_points_parse(config->save, points, error, error_bytes);
    if (count > 0 && config->data_dir[0] == '\0') {
        snprintf(error, error_bytes, "save is set and data-dir is not: set data-dir");
        return -1;
    }
    if (count < 0) {
        return -1;
    }
    if (config->appendonly != 0 && config->data_dir[0] == '\0') {
        snprintf(error, error_bytes, "appendonly is yes and data-dir is not set: set data-dir");
        return -1;
    }
    if (config->read_durable != 0 &&
        (config->appendonly == 0 || config->appendfsync != SW_CONFIG_ALWAYS)) {
        snprintf(error, error_bytes,
                 "read-durable is yes: set appendonly yes and appendfsync always, because "
                 "otherwise no reply means that a write is on storage");
        return -1;
    }
    if (config->appendonly != 0 && config->engine == SW_ENGINE_CACHE) {
        snprintf(error, error_bytes,
                 "appendonly is yes and the engine is cache: a cache may evict any entry, so it "
                 "has snapshots only");
        return -1;
    }
    return 0;
}

/* Returns the setting that a member of a shard cannot have, and why; NULL: none. */
static const char *wrong_with_member(const struct sw_config *config)
{
    return config->replicaof[0] != '\0' ? "replicaof: etcd names the primary"
           : config->engine == SW_ENGINE_CACHE
               ? "the cache engine: a cache may evict any entry, so it has no replicas"
           : sw_config_in_cluster(config) && !sw_config_shares_topology(config)
               ? "a topology in a file: the primary is elected, so the topology must also be in "
                 "etcd (cluster-config etcd://..)"
               : NULL;
}

static int check_ha(const struct sw_config *config, char *error, size_t error_bytes)
{
    const char *wrong = config->ha[0] == '\0' ? NULL : wrong_with_member(config);
    if (wrong != NULL) {
        snprintf(error, error_bytes, "ha cannot be combined with %s", wrong);
        return -1;
    }
    if ((config->ha_tls_cert[0] == '\0') != (config->ha_tls_key[0] == '\0')) {
        snprintf(error, error_bytes, "only one of ha-tls-cert and ha-tls-key is set: set both");
        return -1;
    }
    return 0;
}

static int check_replication(const struct sw_config *config, char *error, size_t error_bytes)
{
    if (config->replicaof[0] == '\0') {
        return 0;
    }
    if (config->engine == SW_ENGINE_CACHE) {
        snprintf(error, error_bytes,
                 "replicaof is set and the engine is cache: a cache may evict any entry, so it has "
                 "no replicas");
        return -1;
    }
    if (sw_config_in_cluster(config)) {
        snprintf(error, error_bytes,
                 "replicaof is set in cluster mode, in which the topology assigns the roles: leave "
                 "it out");
        return -1;
    }
    return 0;
}

/* Checks the options of several tables. Only the start finds out whether the table is on a GPU. */
static int check_databases(const struct sw_config *config, char *error, size_t error_bytes)
{
    const char *other = config->ha[0] != '\0'          ? "ha"
                        : config->replicaof[0] != '\0' ? "replicaof"
                                                       : NULL;
    if (config->databases > config->tables_max) {
        snprintf(error, error_bytes, "databases %u is more than tables-max %u: raise tables-max",
                 config->databases, config->tables_max);
        return -1;
    }
    if (config->databases > 1 && sw_config_in_cluster(config)) {
        snprintf(error, error_bytes,
                 "databases is %u in cluster mode, in which a node has one table: leave databases "
                 "out, and start a server of its own for the others",
                 config->databases);
        return -1;
    }
    if (config->databases > 1 && other != NULL) {
        snprintf(error, error_bytes,
                 "databases is %u and %s is set: such a server does not make tables at its start; "
                 "leave databases out, and send TABLE CREATE to the primary",
                 config->databases, other);
        return -1;
    }
    return 0;
}

/* Returns an error text about the export of spans, or NULL. */
static const char *wrong_traces(const struct sw_config *config)
{
    const char *url = config->otlp_endpoint;
    const bool is_tls = strncmp(url, "https://", 8) == 0;
    if (config->otlp_tls_ca[0] != '\0' && !is_tls) {
        return "otlp-tls-ca is set and otlp-endpoint is not https://host:port: set both, or leave "
               "otlp-tls-ca out";
    }
    if (url[0] == '\0') {
        return NULL;
    }
    if (!is_tls && strncmp(url, "http://", 7) != 0) {
        return "otlp-endpoint does not begin with http:// or https://: OTLP by gRPC is not "
               "supported; give the receiver's port of OTLP/HTTP";
    }
    const char *host = strstr(url, "//") + 2;
    for (const char *c = host; *c != '\0'; c++) {
        if (*c <= ' ' || *c > '~' || strchr("@?#\\\"", *c) != NULL) {
            return "otlp-endpoint has a user, a query or a character that no address has: give "
                   "http://host:port";
        }
    }
    return strcspn(host, "/:") == 0 ? "otlp-endpoint has no host: give http://host:port" : NULL;
}

static int check_traces(const struct sw_config *config, char *error, size_t error_bytes)
{
    const char *wrong = wrong_traces(config);
    if (wrong != NULL) {
        snprintf(error, error_bytes, "%s", wrong);
    }
    return wrong == NULL ? 0 : -1;
}

int sw_config_check(const struct sw_config *config, bool activated, char *error, size_t error_bytes)
{
    return check_listeners(config, activated, error, error_bytes) != 0 ||
                   check_tls(config, activated, error, error_bytes) != 0 ||
                   sw_config_check_table(config, error, error_bytes) != 0 ||
                   check_persistence(config, error, error_bytes) != 0 ||
                   sw_config_check_cluster(config, error, error_bytes) != 0 ||
                   check_ha(config, error, error_bytes) != 0 ||
                   check_replication(config, error, error_bytes) != 0 ||
                   check_databases(config, error, error_bytes) != 0 ||
                   sw_config_check_direct_reads(config, error, error_bytes) != 0 ||
                   check_traces(config, error, error_bytes) != 0 ||
                   sw_config_check_limits(config, error, error_bytes) != 0 ||
                   sw_config_check_batch_bytes(config, config, error, error_bytes) != 0
               ? -1
               : 0;
}

/* Returns the flag with exactly this name, or FLAG_NONE. Abbreviations are not flags, because a
 * later option could change their meaning. */
static int find_flag(const char *name)
{
    const struct sw_option *option = sw_option_find(name);
    for (size_t i = 0; i < GENERAL_FLAGS; i++) {
        if (strcmp(general_flags[i].name, name) == 0) {
            return general_flags[i].flag;
        }
    }
    return option == NULL ? FLAG_NONE : FLAG_OPTION + (int)(option - sw_option_at(0));
}

static bool takes_value(int flag)
{
    return flag == FLAG_CONFIG || flag >= FLAG_OPTION;
}

/* An argument of the command line: --name, or --name=value. */
struct argument {
    char name[64]; /* up to the first '=', ':' or blank: the rest may be a password */
    const char *value;
    int flag;
};

static struct argument take_apart(const char *text)
{
    struct argument argument = {.value = NULL, .flag = FLAG_NONE};
    const char *name = text + strspn(text, "-");
    const size_t size = strcspn(name, "=");
    if (name[size] == '=') {
        argument.value = name + size + 1;
    }
    snprintf(argument.name, sizeof(argument.name), "%.*s", (int)strcspn(name, "=: \t"), name);
    if (strlen(argument.name) == size && strncmp(text, "--", 2) == 0 && name == text + 2) {
        argument.flag = find_flag(argument.name);
    }
    return argument;
}

/* Writes the error text about an argument that is not a flag. The text has only its name, because
 * the rest may be a password. */
static int refuse_argument(const char *text, const struct argument *argument, char *error,
                           size_t error_bytes)
{
    struct sw_redis_option redis;
    char advice[SW_CONFIG_ERROR_BYTES / 2];
    const struct sw_option *nearest = sw_option_nearest(argument->name);
    const int dashes = (int)strspn(text, "-") < 8 ? (int)strspn(text, "-") : 8;
    const size_t size = strlen(argument->name);
    if (dashes == 0 && size > 5 && strcmp(argument->name + size - 5, ".conf") == 0) {
        snprintf(error, error_bytes, "unexpected argument '%s': write --config before a file",
                 argument->name);
    } else if (dashes == 0 || argument->name[0] == '\0') {
        snprintf(error, error_bytes,
                 "unexpected argument '%.*s%s': options are written --name value", dashes, text,
                 argument->name);
    } else if (size == 1) {
        snprintf(error, error_bytes,
                 "unknown flag '%.*s%s': options are written --name value (--help lists them)",
                 dashes, text, argument->name);
    } else if (sw_redis_option_find(argument->name, &redis)) {
        sw_redis_option_advise(&redis, true, advice, sizeof(advice));
        snprintf(error, error_bytes, "'%.*s%s' is an option of redis: %s", dashes, text,
                 argument->name, advice);
    } else if (nearest == NULL) {
        snprintf(error, error_bytes, "unknown flag '%.*s%s': --help lists the options", dashes,
                 text, argument->name);
    } else {
        snprintf(error, error_bytes,
                 "unknown flag '%.*s%s'; did you mean --%s? (--help lists them)", dashes, text,
                 argument->name, nearest->name);
    }
    return -1;
}

static int set_flag(const struct argument *argument, struct flags *flags, struct sw_config *config,
                    char *error, size_t error_bytes)
{
    const size_t index = (size_t)(argument->flag - FLAG_OPTION);
    switch (argument->flag) {
    case FLAG_CONFIG:
        flags->config_path = argument->value;
        return 0;
    case FLAG_CHECK:
        flags->check = true;
        return 0;
    case FLAG_TEMPLATE:
    case FLAG_MANUAL:
    case FLAG_HELP:
    case FLAG_VERSION:
        flags->print = argument->flag;
        return 0;
    default:
        flags->given[index] = true;
        return config == NULL ? 0
                              : sw_option_set(sw_option_at(index), argument->value, config, error,
                                              error_bytes);
    }
}

/* Reads the command line once. If `config` is NULL, only `flags` is filled. */
static int read_flags(int argc, char **argv, struct flags *flags, struct sw_config *config,
                      char *error, size_t error_bytes)
{
    for (int i = 1; i < argc; i++) {
        struct argument argument = take_apart(argv[i]);
        if (strcmp(argv[i], "-h") == 0) {
            argument.flag = FLAG_HELP;
        }
        if (argument.flag == FLAG_NONE) {
            return refuse_argument(argv[i], &argument, error, error_bytes);
        }
        if (!takes_value(argument.flag) && argument.value != NULL) {
            snprintf(error, error_bytes, "--%s: this flag takes no value", argument.name);
            return -1;
        }
        if (takes_value(argument.flag) && argument.value == NULL) {
            if (i + 1 == argc) {
                snprintf(error, error_bytes, "--%s needs a value", argument.name);
                return -1;
            }
            argument.value = argv[++i];
        }
        if (set_flag(&argument, flags, config, error, error_bytes) != 0) {
            return -1;
        }
    }
    return 0;
}

static void print(int what)
{
    switch (what) {
    case FLAG_TEMPLATE:
        sw_config_print_template(stdout);
        break;
    case FLAG_MANUAL:
        sw_config_print_manual(stdout);
        break;
    case FLAG_HELP:
        sw_config_print_help(stdout);
        break;
    default:
        printf("sherwoodd %s\n", SHERWOOD_VERSION);
        break;
    }
}

/* As sw_config_read. Also fills `flags` from the command line. */
static int read_all(struct sw_config *config, const struct sw_config_origin *origin,
                    struct flags *flags, char *error, size_t error_bytes)
{
    unsigned set_at_line[SW_OPTION_COUNT] = {0};
    sw_config_init(config);
    config->origin = *origin;
    if ((origin->path != NULL &&
         sw_config_read_file(origin->path, config, set_at_line, error, error_bytes) != 0) ||
        read_flags(origin->argc, origin->argv, flags, config, error, error_bytes) != 0 ||
        sw_config_check_given(config, flags->given, error, error_bytes) != 0) {
        return -1;
    }
    if (!flags->given[SW_OPTION_AT_resp_keys] && set_at_line[SW_OPTION_AT_resp_keys] == 0) {
        sw_config_fit_keys(config);
    }
    sw_config_fit(config);
    return 0;
}

int sw_config_read(struct sw_config *config, const struct sw_config_origin *origin, char *error,
                   size_t error_bytes)
{
    struct flags flags = {0};
    return read_all(config, origin, &flags, error, error_bytes);
}

enum sw_config_action sw_config_load(struct sw_config *config, int argc, char **argv)
{
    struct flags flags = {0};
    char error[SW_CONFIG_ERROR_BYTES] = "";
    struct sw_config_origin origin = {argc, argv, NULL};

    if (read_flags(argc, argv, &flags, NULL, error, sizeof(error)) != 0) {
        goto refused;
    }
    if (flags.print != 0) {
        print(flags.print);
        return SW_CONFIG_EXIT;
    }
    origin.path = flags.config_path;
    if (read_all(config, &origin, &flags, error, sizeof(error)) != 0 ||
        sw_config_check(config, sd_listen_fds(0) > 0, error, sizeof(error)) != 0) {
        goto refused;
    }
    return flags.check ? SW_CONFIG_CHECK : SW_CONFIG_RUN;

refused:
    fprintf(stderr, "sherwoodd: %s\n", error);
    return SW_CONFIG_ERROR;
}
