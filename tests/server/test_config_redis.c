/* SPDX-License-Identifier: MIT
 *
 * test_config_redis.c - configuration files and flags in the form of redis.
 */
#include <stdlib.h>

#include "server/config/redis_options.h"
#include "tests/server/config_fixture.h"

/* Loads a file. Returns the error text after its path, or "" if the file is valid. */
static const char *error_of(const char *text, struct sw_config *config)
{
    static struct output output;
    char path[] = "/tmp/sherwood-redis-XXXXXX";
    const int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
    const enum sw_config_action action = load(config, &output, FLAGS("--config", path));
    unlink(path);
    if (action == SW_CONFIG_RUN) {
        return "";
    }
    char *behind = strstr(output.err, path);
    cr_assert_not_null(behind, "%s", output.err);
    behind += strlen(path);
    behind[strcspn(behind, "\n")] = '\0';
    return behind;
}

/* Each row: a line behind `first`, and the error that it must have. */
static void expect_errors(const char *first, const char *const rows[][2], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct sw_config config;
        char text[256], wanted[256];
        snprintf(text, sizeof(text), "%s\n%s\n", first, rows[i][0]);
        snprintf(wanted, sizeof(wanted), ":2: %s", rows[i][1]);
        cr_assert_str_eq(error_of(text, &config), wanted, "%s", rows[i][0]);
    }
}

#define FORM "an option and its value have '=' between them: "

Test(config_redis, a_line_without_an_equals_sign_names_the_form_and_the_section)
{
    static const char *const rows[][2] = {
        {"port 6379", FORM "write 'port = 6379' in [server]"},
        {"  port\t6379  ", FORM "write 'port = PORT' in [server]"},
        {"port", FORM "write 'port = PORT' in [server]"},
        {"save 60 1000", FORM "write 'save = 60 1000' in [persistence]"},
        {"save \"\"", FORM "write 'save = PAIRS' in [persistence]"},
        {"appendonly yes", FORM "write 'appendonly = yes' in [persistence]"},
        {"bind 127.0.0.1 -::1", FORM "write 'bind = ADDRESS' in [server]"},
        {"requirepass-file s3cret", FORM "write 'requirepass-file = FILE' in [server]"},
        {"primary-user s3cret=x", FORM "write 'primary-user = USER' in [replication]"},
        {"replicaof 10.0.0.1 6379", FORM "write 'replicaof = PRIMARY' in [replication]"},
        {"slowlog-max-len 128\r", FORM "write 'slowlog-max-len = 128' in [server]"},
        {"some words", "the line is neither [section], name = value nor a comment (# or ;)"},
    };
    expect_errors("# x", rows, sizeof(rows) / sizeof(rows[0]));
}

Test(config_redis, an_option_of_redis_names_the_one_that_corresponds)
{
    static const char *const rows[][2] = {
        {"maxmemory 1gb", "'maxmemory' is an option of redis: write 'max-capacity = SLOTS' in "
                          "[table], the largest number of slots"},
        {"maxmemory = 1gb", "'maxmemory' is an option of redis: write 'max-capacity = SLOTS' in "
                            "[table], the largest number of slots"},
        {"timeout 300", "'timeout' is an option of redis: write 'idle-timeout-ms = MS' in "
                        "[limits], in milliseconds"},
        {"TIMEOUT 300", "'TIMEOUT' is an option of redis: write 'idle-timeout-ms = MS' in "
                        "[limits], in milliseconds"},
        {"dir /var/lib", "'dir' is an option of redis: write 'data-dir = PATH' in [persistence]"},
        {"user alice on >s3cret", "'user' is an option of redis: write 'acl-file = FILE' in "
                                  "[server], a file of such lines"},
        {"include /etc/other", "'include' is an option of redis: sherwoodd reads one file: copy "
                               "the lines of the other file into it"},
        {"hz", "'hz' is an option of redis: sherwoodd has nothing like it: remove it"},
        {"unixsocket = /run/x", "'unixsocket' is an option of redis: write 'unix-socket = PATH' "
                                "in [server]"},
    };
    expect_errors("[server]", rows, sizeof(rows) / sizeof(rows[0]));
}

Test(config_redis, quotes_and_comments_of_redis_are_refused)
{
    static const char *const rows[][2] = {
        {"port = \"1\"", "option 'port': write the value without quotes"},
        {"unix-socket = '/tmp/x'", "option 'unix-socket': write the value without quotes"},
        {"acl-file = \"\"", "option 'acl-file': write an empty value without quotes: 'name ='"},
        {"port = 1 # x", "option 'port': a comment after a value begins with ';', not with '#'"},
        {"unix-socket = /tmp/a#b\t#c",
         "option 'unix-socket': a comment after a value begins with ';', not with '#'"},
    };
    struct sw_config config;
    expect_errors("[server]", rows, sizeof(rows) / sizeof(rows[0]));
    cr_assert_str_eq(error_of("[server]\nunix-socket = /tmp/a#b'c\" ; x\nport: 5\n", &config), "");
    cr_assert_str_eq(config.unix_socket, "/tmp/a#b'c\"");
    cr_assert_eq(config.port, 5);
}

Test(config_redis, a_flag_of_redis_names_the_flag_that_corresponds)
{
    struct output output;
    struct sw_config config;
    cr_assert_eq(load(&config, &output, FLAGS("--maxclients", "5")), SW_CONFIG_ERROR);
    cr_assert_str_eq(output.err, "sherwoodd: '--maxclients' is an option of redis: write "
                                 "--connections-max N\n");
    cr_assert_eq(load(&config, &output, FLAGS("/etc/redis.conf")), SW_CONFIG_ERROR);
    cr_assert_str_eq(output.err, "sherwoodd: unexpected argument '/etc/redis.conf': write --config "
                                 "before a file\n");
    cr_assert_eq(load(&config, &output, FLAGS("--daemonize=yes")), SW_CONFIG_ERROR);
    cr_assert_str_eq(output.err, "sherwoodd: '--daemonize' is an option of redis: sherwoodd stays "
                                 "in the foreground, and systemd or & starts it: remove it\n");
}

Test(config_redis, every_corresponding_option_exists_and_none_has_the_name)
{
    static const char *const names[] = {"maxclients", "timeout",   "dir",          "io-threads",
                                        "loglevel",   "slaveof",   "masterauth",   "maxmemory",
                                        "unixsocket", "maxmemory", "tls-cert-file"};
    struct sw_redis_option redis;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        cr_assert(sw_redis_option_find(names[i], &redis), "%s", names[i]);
        cr_assert_not_null(sw_option_find(redis.option), "%s", names[i]);
    }
    for (size_t i = 0; i < SW_OPTION_COUNT; i++) {
        cr_assert_not(sw_redis_option_find(sw_option_at(i)->name, &redis), "%s",
                      sw_option_at(i)->name);
    }
    cr_assert_not(sw_redis_option_find("", &redis));
    cr_assert_not(sw_redis_option_find("hz dynamic-hz", &redis));
}
