/* SPDX-License-Identifier: MIT
 *
 * value.c - converts the value of an option from text into its field, and back.
 */
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "proto/decimal.h"
#include "server/config/options.h"

/* Parses a number that has digits of `base` and nothing else. Returns false if there is no digit,
 * if there is any other byte, or if the number is above UINT64_MAX. */
static bool parse_digits(const char *text, size_t size, unsigned base, uint64_t *out)
{
    uint64_t value = 0;
    if (size == 0) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        unsigned digit = (unsigned)(unsigned char)text[i] - '0';
        if (digit >= base || value > (UINT64_MAX - digit) / base) {
            return false;
        }
        value = value * base + digit;
    }
    *out = value;
    return true;
}

static void store(const struct sw_option *option, struct sw_config *config, uint64_t value)
{
    char *field = (char *)config + option->offset;
    if (option->bytes == sizeof(uint32_t)) {
        uint32_t narrow = (uint32_t)value;
        memcpy(field, &narrow, sizeof(narrow));
    } else {
        memcpy(field, &value, sizeof(value));
    }
}

static uint64_t load(const struct sw_option *option, const struct sw_config *config)
{
    const char *field = (const char *)config + option->offset;
    return option->bytes == sizeof(uint32_t)
               ? __atomic_load_n((const uint32_t *)(const void *)field, __ATOMIC_RELAXED)
               : __atomic_load_n((const uint64_t *)(const void *)field, __ATOMIC_RELAXED);
}

static int set_text(const struct sw_option *option, const char *value, struct sw_config *config,
                    char *error, size_t error_bytes)
{
    struct in6_addr address;
    size_t size = strlen(value);
    if (size >= option->bytes) {
        snprintf(error, error_bytes, "%s is longer than %zu bytes", option->name,
                 option->bytes - 1);
        return -1;
    }
    if (option->type == SW_OPTION_ADDRESS && size != 0 &&
        inet_pton(AF_INET, value, &address) != 1 && inet_pton(AF_INET6, value, &address) != 1) {
        snprintf(error, error_bytes,
                 "%s: '%s' is not an IPv4 or IPv6 address: give one of this host (no names)",
                 option->name, value);
        return -1;
    }
    memcpy((char *)config + option->offset, value, size + 1);
    return 0;
}

static int set_choice(const struct sw_option *option, const char *value, struct sw_config *config,
                      char *error, size_t error_bytes)
{
    size_t used = 0;
    for (const struct sw_option_choice *choice = option->choices; choice->name != NULL; choice++) {
        if (strcmp(choice->name, value) == 0) {
            store(option, config, choice->value);
            return 0;
        }
    }
    used = (size_t)snprintf(error, error_bytes, "%s: '%.64s' is not one of", option->name, value);
    for (const struct sw_option_choice *choice = option->choices; choice->name != NULL; choice++) {
        if (used < error_bytes) {
            used += (size_t)snprintf(error + used, error_bytes - used, " %s", choice->name);
        }
    }
    return -1;
}

static int set_ratio(const struct sw_option *option, const char *value, struct sw_config *config,
                     char *error, size_t error_bytes)
{
    char *end = NULL;
    double ratio = strtod(value, &end);
    /* The comparison is false for NaN. The check of the first character below refuses spaces,
     * signs, "nan" and "inf". */
    bool fits = ratio >= option->ratio_min && ratio <= option->ratio_max;
    if (end == value || *end != '\0' || strchr("0123456789.", value[0]) == NULL || !fits) {
        snprintf(error, error_bytes, "%s: '%.64s' is not a number from %g to %g", option->name,
                 value, option->ratio_min, option->ratio_max);
        return -1;
    }
    memcpy((char *)config + option->offset, &ratio, sizeof(ratio));
    return 0;
}

static int set_whole(const struct sw_option *option, const char *value, struct sw_config *config,
                     char *error, size_t error_bytes)
{
    uint64_t number = 0;
    bool parsed = false;
    const char *what = "a whole number";
    if (option->type == SW_OPTION_OR_AUTO && strcmp(value, "auto") == 0) {
        store(option, config, SW_CONFIG_AUTO);
        return 0;
    }
    if (option->type == SW_OPTION_OCTAL) {
        what = "an octal number";
        parsed = parse_digits(value, strlen(value), 8, &number);
    } else if (option->type == SW_OPTION_SIZE || option->type == SW_OPTION_OR_AUTO) {
        what = option->type == SW_OPTION_SIZE ? "a whole number (K, M, G or T may follow)"
                                              : "auto or a whole number (K, M, G or T may follow)";
        parsed = sw_decimal_parse_size((const uint8_t *)value, strlen(value), UINT64_MAX, &number);
    } else if (option->type == SW_OPTION_OR_OFF && value[0] == '-') {
        what = "a whole number, negative or";
        if (parse_digits(value + 1, strlen(value + 1), 10, &number)) {
            store(option, config, UINT64_MAX);
            return 0;
        }
    } else {
        parsed = parse_digits(value, strlen(value), 10, &number);
    }
    if (!parsed || number < option->min || number > option->max) {
        const char *format = option->type == SW_OPTION_OCTAL
                                 ? "%s: '%.64s' is not %s from 0%" PRIo64 " to 0%" PRIo64
                                 : "%s: '%.64s' is not %s from %" PRIu64 " to %" PRIu64;
        snprintf(error, error_bytes, format, option->name, value, what, option->min, option->max);
        return -1;
    }
    store(option, config, number);
    return 0;
}

int sw_option_set(const struct sw_option *option, const char *value, struct sw_config *config,
                  char *error, size_t error_bytes)
{
    switch (option->type) {
    case SW_OPTION_TEXT:
    case SW_OPTION_ADDRESS:
        return set_text(option, value, config, error, error_bytes);
    case SW_OPTION_CHOICE:
        return set_choice(option, value, config, error, error_bytes);
    case SW_OPTION_RATIO:
        return set_ratio(option, value, config, error, error_bytes);
    case SW_OPTION_NUMBER:
    case SW_OPTION_OR_OFF:
    case SW_OPTION_SIZE:
    case SW_OPTION_OR_AUTO:
    case SW_OPTION_OCTAL:
        break;
    }
    return set_whole(option, value, config, error, error_bytes);
}

bool sw_option_is_standard(const struct sw_option *option, const struct sw_config *config)
{
    struct sw_config standard;
    char error[SW_CONFIG_ERROR_BYTES];
    memset(&standard, 0, sizeof(standard));
    (void)sw_option_set(option, option->standard, &standard, error,
                        sizeof(error)); /* cannot fail */
    const char *field = (const char *)config + option->offset;
    const char *wanted = (const char *)&standard + option->offset;
    return option->type == SW_OPTION_TEXT || option->type == SW_OPTION_ADDRESS
               ? strcmp(field, wanted) == 0
               : memcmp(field, wanted, option->bytes) == 0;
}

static void format_size(uint64_t number, bool short_form, char *value, size_t value_bytes)
{
    static const struct {
        unsigned shift;
        const char *suffix;
    } units[] = {{40, "T"}, {30, "G"}, {20, "M"}, {10, "K"}};
    for (size_t i = 0; short_form && number != 0 && i < sizeof(units) / sizeof(units[0]); i++) {
        if (number % (1ULL << units[i].shift) == 0) {
            snprintf(value, value_bytes, "%" PRIu64 "%s", number >> units[i].shift,
                     units[i].suffix);
            return;
        }
    }
    snprintf(value, value_bytes, "%" PRIu64, number);
}

void sw_option_format(const struct sw_option *option, const struct sw_config *config,
                      bool short_form, char *value, size_t value_bytes)
{
    const char *field = (const char *)config + option->offset;
    double ratio = 0;
    switch (option->type) {
    case SW_OPTION_TEXT:
    case SW_OPTION_ADDRESS:
        snprintf(value, value_bytes, "%s", field);
        return;
    case SW_OPTION_RATIO:
        memcpy(&ratio, field, sizeof(ratio));
        snprintf(value, value_bytes, "%.15g", ratio);
        return;
    case SW_OPTION_OCTAL:
        snprintf(value, value_bytes, "0%" PRIo64, load(option, config));
        return;
    case SW_OPTION_CHOICE:
        for (const struct sw_option_choice *choice = option->choices; choice->name != NULL;
             choice++) {
            if (choice->value == load(option, config)) {
                snprintf(value, value_bytes, "%s", choice->name);
                return;
            }
        }
        break; /* no choice has this value, which only code can have set: print the number */
    case SW_OPTION_OR_OFF:
        if (load(option, config) == UINT64_MAX) {
            snprintf(value, value_bytes, "-1");
            return;
        }
        break;
    case SW_OPTION_OR_AUTO:
        if (load(option, config) == SW_CONFIG_AUTO) {
            snprintf(value, value_bytes, "auto");
            return;
        }
        break;
    case SW_OPTION_NUMBER:
    case SW_OPTION_SIZE:
        break;
    }
    const bool is_size = option->type == SW_OPTION_SIZE || option->type == SW_OPTION_OR_AUTO;
    format_size(load(option, config), short_form && is_size, value, value_bytes);
}

/* Returns true if the value of this option is a computed default. */
static bool is_derived(const struct sw_option *option, const struct sw_config *config)
{
    switch (option - sw_option_at(0)) {
    case SW_OPTION_AT_loops:
        return (config->derived & SW_DERIVED_LOOPS) != 0;
    case SW_OPTION_AT_round_ops_max:
        return (config->derived & SW_DERIVED_ROUND_OPS) != 0;
    case SW_OPTION_AT_resp_batch_bytes:
        return (config->derived & SW_DERIVED_BATCH_BYTES) != 0;
    case SW_OPTION_AT_frame_ops_max:
        return (config->derived & SW_DERIVED_FRAME_OPS) != 0;
    case SW_OPTION_AT_resp_arguments_max:
        return (config->derived & SW_DERIVED_ARGUMENTS) != 0;
    case SW_OPTION_AT_capacity:
        return (config->derived & SW_DERIVED_CAPACITY) != 0;
    case SW_OPTION_AT_max_capacity:
        return (config->derived & SW_DERIVED_MAX_CAPACITY) != 0;
    default:
        return false;
    }
}

void sw_option_format_asked(const struct sw_option *option, const struct sw_config *config,
                            char *value, size_t value_bytes)
{
    if (is_derived(option, config)) {
        snprintf(value, value_bytes, "%s", option->type == SW_OPTION_OR_AUTO ? "auto" : "0");
    } else {
        sw_option_format(option, config, true, value, value_bytes);
    }
}

const char *sw_option_text(const struct sw_config *config, const char *name)
{
    const struct sw_option *option = sw_option_find(name);
    const struct sw_option_choice *choice = option->choices;
    while (choice->name != NULL && choice->value != load(option, config)) {
        choice++;
    }
    return choice->name != NULL ? choice->name : "?";
}
