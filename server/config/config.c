/* SPDX-License-Identifier: MIT
 *
 * config.c - reads the options: defaults first, then the file, then flags. check.c checks them.
 */
#include "server/config/config.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "server/config/redis_options.h"

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
