/* SPDX-License-Identifier: MIT
 *
 * test_config_value.c - every option's values as text: what is accepted, what is refused and how.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "server/config/options.h"

/* Each row: its default is valid, and formats to a text that reads back as the same. */
Test(config_value, rows)
{
    const struct sw_option *option = NULL;
    size_t count = 0;
    for (; (option = sw_option_at(count)) != NULL; count++) {
        struct sw_config config, again;
        char value[SW_OPTION_VALUE_BYTES], error[SW_CONFIG_ERROR_BYTES] = "";
        sw_config_init(&config);
        cr_assert_eq(sw_option_set(option, option->standard, &config, error, sizeof(error)), 0,
                     "%s", error);
        cr_assert_eq(sw_option_find(option->name), option);
        cr_assert_eq(sw_option_nearest(option->name), option);
        cr_assert(sw_section_known(option->section));
        cr_assert_str_not_empty(option->help);
        cr_assert_str_not_empty(option->metavar);
        for (int short_form = 0; short_form < 2; short_form++) {
            sw_option_format(option, &config, short_form == 1, value, sizeof(value));
            again = config;
            memset((char *)&again + option->offset, 0, option->bytes);
            cr_assert_eq(sw_option_set(option, value, &again, error, sizeof(error)), 0, "%s",
                         error);
            cr_assert_eq(memcmp(&again, &config, sizeof(config)), 0, "%s = %s", option->name,
                         value);
        }
        cr_assert_str_eq(value, option->standard, "%s", option->name);
    }
    cr_assert_eq(count, SW_OPTION_COUNT);
    cr_assert_null(sw_option_at(count));
}

struct value_case {
    const char *name, *value, *error; /* error NULL: accepted */
};

static const struct value_case cases[] = {
    {"port", "0", NULL},
    {"port", "65535", NULL},
    {"port", "65536", "port: '65536' is not a whole number from 0 to 65535"},
    {"port", "", "port: '' is not a whole number from 0 to 65535"},
    {"port", "-1", "port: '-1' is not a whole number from 0 to 65535"},
    {"port", "1K", "port: '1K' is not a whole number from 0 to 65535"},
    {"port", " 1", "port: ' 1' is not a whole number from 0 to 65535"},
    {"port", "0x10", "port: '0x10' is not a whole number from 0 to 65535"},
    {"seed", "18446744073709551615", NULL},
    {"seed", "18446744073709551616",
     "seed: '18446744073709551616' is not a whole number from 0 to 18446744073709551615"},
    {"capacity", "3M", NULL},
    {"capacity", "3m", NULL},
    {"capacity", "1G", NULL},
    {"capacity", "100", NULL},
    {"capacity", "0",
     "capacity: '0' is not auto or a whole number (K, M, G or T may follow) from 1 to "
     "1099511627776"},
    {"capacity", "M",
     "capacity: 'M' is not auto or a whole number (K, M, G or T may follow) from 1 to "
     "1099511627776"},
    {"capacity", "1MB",
     "capacity: '1MB' is not auto or a whole number (K, M, G or T may follow) from 1 to "
     "1099511627776"},
    {"capacity", "99999999999999999G",
     "capacity: '99999999999999999G' is not auto or a whole number "
     "(K, M, G or T may follow) from 1 to 1099511627776"},
    {"unix-socket-mode", "777", NULL},
    {"unix-socket-mode", "0600", NULL},
    {"unix-socket-mode", "1000", "unix-socket-mode: '1000' is not an octal number from 00 to 0777"},
    {"unix-socket-mode", "8", "unix-socket-mode: '8' is not an octal number from 00 to 0777"},
    {"max-load", "1", NULL},
    {"max-load", "0.5", NULL},
    {"max-load", "1.01", "max-load: '1.01' is not a number from 0.01 to 1"},
    {"max-load", "0", "max-load: '0' is not a number from 0.01 to 1"},
    {"max-load", "nan", "max-load: 'nan' is not a number from 0.01 to 1"},
    {"max-load", "inf", "max-load: 'inf' is not a number from 0.01 to 1"},
    {"max-load", "0.5x", "max-load: '0.5x' is not a number from 0.01 to 1"},
    {"max-load", "", "max-load: '' is not a number from 0.01 to 1"},
    {"backend", "cuda", NULL},
    {"backend", "gpu", "backend: 'gpu' is not one of auto cpu cuda"},
    {"key-bits", "32", NULL},
    {"key-bits", "16", "key-bits: '16' is not one of 32 64"},
    {"log-level", "debug", NULL},
    {"log-level", "7", "log-level: '7' is not one of error warning notice info debug"},
    {"bind", "0.0.0.0", NULL},
    {"bind", "::1", NULL},
    {"bind", "", NULL},
    {"bind", "localhost",
     "bind: 'localhost' is not an IPv4 or IPv6 address: give one of this host (no names)"},
    {"bind", "1.2.3.4.5",
     "bind: '1.2.3.4.5' is not an IPv4 or IPv6 address: give one of this host (no names)"},
    {"http-bind", "fe80::1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb:cccc",
     "http-bind is longer than 63 bytes"},
    {"unix-socket", "/run/s.sock", NULL},
};

Test(config_value, values)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sw_config config, before;
        char error[SW_CONFIG_ERROR_BYTES] = "";
        sw_config_init(&config);
        before = config;
        int result = sw_option_set(sw_option_find(cases[i].name), cases[i].value, &config, error,
                                   sizeof(error));
        if (cases[i].error == NULL) {
            cr_assert_eq(result, 0, "%s", error);
        } else {
            cr_assert_eq(result, -1, "%s = %s", cases[i].name, cases[i].value);
            cr_assert_str_eq(error, cases[i].error);
            cr_assert_eq(memcmp(&config, &before, sizeof(config)), 0, "%s changed", cases[i].name);
        }
    }
}

Test(config_value, unix_path_length)
{
    struct sw_config config;
    char path[SW_CONFIG_PATH_MAX + 1], error[SW_CONFIG_ERROR_BYTES];
    const struct sw_option *option = sw_option_find("unix-socket");
    sw_config_init(&config);
    memset(path, 'a', sizeof(path));
    path[SW_CONFIG_PATH_MAX - 1] = '\0';
    cr_assert_eq(sw_option_set(option, path, &config, error, sizeof(error)), 0);
    cr_assert_str_eq(config.unix_socket, path);
    path[SW_CONFIG_PATH_MAX - 1] = 'a';
    path[SW_CONFIG_PATH_MAX] = '\0';
    cr_assert_eq(sw_option_set(option, path, &config, error, sizeof(error)), -1);
    cr_assert_str_eq(error, "unix-socket is longer than 107 bytes");
}

Test(config_value, endpoint_of_spans)
{
    static const struct {
        const char *url, *ca, *error; /* NULL: valid */
    } rows[] = {
        {"http://127.0.0.1:4318", "", NULL},
        {"https://[::1]:4318/base/", "ca.pem", NULL},
        {"127.0.0.1:4318", "", "otlp-endpoint does not begin with http:// or https://"},
        {"grpc://h:4317", "", "OTLP by gRPC is not supported"},
        {"http://", "", "otlp-endpoint has no host"},
        {"https://:4318", "", "otlp-endpoint has no host"},
        {"http://user:word@h", "", "otlp-endpoint has a user, a query"},
        {"http://h:4318?a", "", "otlp-endpoint has a user, a query"},
        {"http://h 4318", "", "otlp-endpoint has a user, a query"},
        {"http://h", "ca.pem", "otlp-tls-ca is set and otlp-endpoint is not https://host:port"},
        {"", "ca.pem", "otlp-tls-ca is set and otlp-endpoint is not https://host:port"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sw_config config;
        char error[SW_CONFIG_ERROR_BYTES] = "";
        sw_config_init(&config);
        sw_config_fit(&config);
        strcpy(config.otlp_endpoint, rows[i].url);
        strcpy(config.otlp_tls_ca, rows[i].ca);
        cr_expect_eq(sw_config_check(&config, false, error, sizeof(error)),
                     rows[i].error == NULL ? 0 : -1, "%s: %s", rows[i].url, error);
        cr_expect(rows[i].error == NULL || strstr(error, rows[i].error) != NULL, "%s", error);
    }
}

Test(config_value, direct_reads)
{
    static const struct {
        const char *option, *value, *error; /* NULL: valid */
    } rows[] = {
        {"key-bits", "32", NULL},
        {"replicaof", "host 1", "direct-readers-max is 3 and replicaof is set"},
        {"ha", "etcd://h/shard", "direct-readers-max is 3 and ha is set"},
        {"cluster-config", "file", "direct-readers-max is 3 and cluster-config is set"},
        {"ids", "1000", "direct-readers-max is 3 and ids is set"},
        {"value-bytes", "64", "direct-readers-max is 3 and value-type is set"},
        {"value-type", "none", "direct-readers-max is 3 and value-type is set"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sw_config config;
        char error[SW_CONFIG_ERROR_BYTES] = "";
        sw_config_init(&config);
        cr_assert_eq(sw_option_set(sw_option_find(rows[i].option), rows[i].value, &config, error,
                                   sizeof(error)),
                     0, "%s", error);
        sw_config_fit(&config);
        config.direct_readers_max = 3;
        cr_expect_eq(sw_config_check_direct_reads(&config, error, sizeof(error)),
                     rows[i].error == NULL ? 0 : -1, "%s: %s", rows[i].option, error);
        cr_expect(rows[i].error == NULL || strstr(error, rows[i].error) != NULL, "%s", error);
    }
}
