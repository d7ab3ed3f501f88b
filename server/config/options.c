/* SPDX-License-Identifier: MIT
 *
 * options.c - the table of options, whose rows are in option_rows.inl, and functions that find a
 * row.
 */
#include "server/config/options.h"

#include <assert.h>
#include <string.h>

#include "server/observe/log.h"
#include "table/configuration.h"

#define SW_K (1ULL << 10)
#define SW_M (1ULL << 20)
#define SW_G (1ULL << 30)
#define SW_T (1ULL << 40)
#define SW_DAY_MS 86400000

static const struct sw_option_choice backends[] = {
    {"auto", SW_BACKEND_AUTO}, {"cpu", SW_BACKEND_CPU}, {"cuda", SW_BACKEND_CUDA}, {NULL, 0}};
static const struct sw_option_choice engines[] = {{"robin_hood", SW_ENGINE_ROBIN_HOOD},
                                                  {"cuckoo", SW_ENGINE_CUCKOO},
                                                  {"cache", SW_ENGINE_CACHE},
                                                  {NULL, 0}};
static const struct sw_option_choice functions[] = {{"2", 2}, {"3", 3}, {NULL, 0}};
static const struct sw_option_choice region_users[] = {
    {"own", SW_DEVICE_REGIONS_OWN}, {"any", SW_DEVICE_REGIONS_ANY}, {NULL, 0}};
static const struct sw_option_choice formats[] = {
    {"string", SW_VALUE_STRING}, {"fixed", SW_VALUE_FIXED}, {NULL, 0}};
static const struct sw_option_choice types[] = {
#define TYPE(name, number, word, ...) {(word), (number)},
    SW_ELEMENT_MAP(TYPE)
#undef TYPE
        {NULL, 0}};
static const struct sw_option_choice policies[] = {{"lru", SW_CACHE_LRU},
                                                   {"lfu", SW_CACHE_LFU},
                                                   {"epoch-lru", SW_CACHE_EPOCH_LRU},
                                                   {"epoch-lfu", SW_CACHE_EPOCH_LFU},
                                                   {"custom", SW_CACHE_CUSTOM},
                                                   {NULL, 0}};
static const struct sw_option_choice modes[] = {
    {"memory", SW_CACHE_MEMORY}, {"throughput", SW_CACHE_THROUGHPUT}, {NULL, 0}};
static const struct sw_option_choice endpoint_types[] = {
    {"ip", SW_CONFIG_ENDPOINT_IP}, {"hostname", SW_CONFIG_ENDPOINT_HOSTNAME}, {NULL, 0}};
static const struct sw_option_choice multi_slots[] = {
    {"no", SW_CONFIG_MULTI_SLOT_NO}, {"node", SW_CONFIG_MULTI_SLOT_NODE}, {NULL, 0}};
static const struct sw_option_choice levels[] = {
    {"error", SW_LOG_ERROR}, {"warning", SW_LOG_WARNING}, {"notice", SW_LOG_NOTICE},
    {"info", SW_LOG_INFO},   {"debug", SW_LOG_DEBUG},     {NULL, 0}};
static const struct sw_option_choice switches[] = {{"yes", 1}, {"no", 0}, {NULL, 0}};
static const struct sw_option_choice syncs[] = {{"always", SW_CONFIG_ALWAYS},
                                                {"everysec", SW_CONFIG_EVERYSEC},
                                                {"no", SW_CONFIG_NO},
                                                {NULL, 0}};
static const struct sw_option_choice tls_clients[] = {{"no", SW_CONFIG_TLS_CLIENTS_ANY},
                                                      {"optional", SW_CONFIG_TLS_CLIENTS_OPTIONAL},
                                                      {"yes", SW_CONFIG_TLS_CLIENTS_REQUIRED},
                                                      {NULL, 0}};
static const struct sw_option_choice tls_versions[] = {{"1.2", 12}, {"1.3", 13}, {NULL, 0}};
static const struct sw_option_choice resp_keys_forms[] = {{"auto", SW_RESP_KEYS_AUTO},
                                                          {"decimal", SW_RESP_KEYS_DECIMAL},
                                                          {"raw", SW_RESP_KEYS_RAW},
                                                          {"hash", SW_RESP_KEYS_HASH},
                                                          {NULL, 0}};
static const struct sw_option_choice places[] = {{"gpu", SW_ROWS_IN_GPU},
                                                 {"host", SW_ROWS_IN_HOST},
                                                 {"gpu+host", SW_ROWS_IN_GPU_HOST},
                                                 {NULL, 0}};
static const struct sw_option_choice widths[] = {{"32", 32}, {"64", 64}, {NULL, 0}};

/* Short names for the parts of a row. */
#define SW_TEXT() .type = SW_OPTION_TEXT
#define SW_ADDRESS() .type = SW_OPTION_ADDRESS
#define SW_NUMBER(least, most) .type = SW_OPTION_NUMBER, .min = (least), .max = (most)
#define SW_OR_OFF(least, most) .type = SW_OPTION_OR_OFF, .min = (least), .max = (most)
#define SW_SIZE(least, most) .type = SW_OPTION_SIZE, .min = (least), .max = (most)
#define SW_OR_AUTO(least, most) .type = SW_OPTION_OR_AUTO, .min = (least), .max = (most)
#define SW_OCTAL(least, most) .type = SW_OPTION_OCTAL, .min = (least), .max = (most)
#define SW_RATIO(least, most) .type = SW_OPTION_RATIO, .ratio_min = (least), .ratio_max = (most)
#define SW_CHOICE(list) .type = SW_OPTION_CHOICE, .choices = (list)
#define SW_ROBIN_HOOD (1U << SW_ENGINE_ROBIN_HOOD)
#define SW_CUCKOO (1U << SW_ENGINE_CUCKOO)
#define SW_CACHE (1U << SW_ENGINE_CACHE)
#define SW_ANY UINT32_MAX

#define SW_OPTION(field, flag, in_section, of_engines, kind, value, shown, sentences) \
    [SW_OPTION_AT_##field] = {.name = (flag),                                         \
                              .section = (in_section),                                \
                              .engines = (of_engines),                                \
                              kind,                                                   \
                              .offset = offsetof(struct sw_config, field),            \
                              .bytes = sizeof(((struct sw_config *)0)->field),        \
                              .standard = (value),                                    \
                              .metavar = (shown),                                     \
                              .help = (sentences)},
static const struct sw_option options[SW_OPTION_COUNT] = {
#include "server/config/option_rows.inl"
};
#undef SW_OPTION

/* True for the live options. */
static const bool is_live[SW_OPTION_COUNT] = {
#define SW_OPTION(...)
#define SW_LIVE_OPTION(field, ...) [SW_OPTION_AT_##field] = true,
#include "server/config/option_rows.inl"
#undef SW_OPTION
};

static const char *const sections[] = {"server",  "table",       "persistence",
                                       "cluster", "replication", "limits"};
#define SW_SECTION_COUNT (sizeof(sections) / sizeof(sections[0]))

const struct sw_option *sw_option_at(size_t index)
{
    return index < SW_OPTION_COUNT ? &options[index] : NULL;
}

bool sw_option_is_live(const struct sw_option *option)
{
    return is_live[option - options];
}

const struct sw_option *sw_option_find(const char *name)
{
    for (size_t i = 0; i < SW_OPTION_COUNT; i++) {
        if (strcmp(options[i].name, name) == 0) {
            return &options[i];
        }
    }
    return NULL;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Returns the number of insertions, deletions, replacements and swaps of neighbours that turn `a`
 * into `b`. Bytes after the first 63 are ignored. */
static size_t edit_distance(const char *a, const char *b)
{
    const size_t a_size = strnlen(a, 63), b_size = strnlen(b, 63);
    size_t rows[3][64];
    for (size_t i = 0; i <= a_size; i++) {
        size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
        row[0] = i;
        for (size_t j = 1; j <= b_size; j++) {
            row[j] = row[j - 1] + 1;
            if (i > 0) {
                row[j] =
                    smaller(row[j], smaller(above[j] + 1, above[j - 1] + (a[i - 1] != b[j - 1])));
            }
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                row[j] = smaller(row[j], second[j - 2] + 1);
            }
        }
    }
    return rows[a_size % 3][b_size];
}

/* Returns true if `name` may be a mistyped word `distance` edits away: one edit of a short name, at
 * most two of a longer one. */
static bool is_typo(const char *name, size_t distance)
{
    return distance <= (strlen(name) < 6 ? 1 : 2);
}

/* Returns the only option whose name begins with `name`; NULL if no option does, or several do. */
static const struct sw_option *find_abbreviated(const char *name)
{
    const struct sw_option *found = NULL;
    for (size_t i = 0; i < SW_OPTION_COUNT && name[0] != '\0'; i++) {
        if (strncmp(options[i].name, name, strlen(name)) == 0) {
            if (found != NULL) {
                return NULL;
            }
            found = &options[i];
        }
    }
    return found;
}

/* Returns the first option that has `name` among its words: tls-port for "tls". */
static const struct sw_option *find_word(const char *name)
{
    const size_t size = strlen(name);
    for (size_t i = 0; i < SW_OPTION_COUNT && size > 0; i++) {
        const char *at = strstr(options[i].name, name);
        if (at != NULL && (at == options[i].name || at[-1] == '-') &&
            (at[size] == '\0' || at[size] == '-')) {
            return &options[i];
        }
    }
    return NULL;
}

const struct sw_option *sw_option_nearest(const char *name)
{
    const struct sw_option *nearest = NULL, *abbreviated = find_abbreviated(name);
    size_t least = SIZE_MAX;
    for (size_t i = 0; i < SW_OPTION_COUNT; i++) {
        size_t distance = edit_distance(name, options[i].name);
        if (distance < least) {
            least = distance;
            nearest = &options[i];
        }
    }
    return is_typo(name, least) ? nearest : abbreviated != NULL ? abbreviated : find_word(name);
}

const char *sw_section_nearest(const char *name)
{
    for (size_t i = 0; i < SW_SECTION_COUNT; i++) {
        if (is_typo(name, edit_distance(name, sections[i]))) {
            return sections[i];
        }
    }
    return NULL;
}

bool sw_section_known(const char *name)
{
    for (size_t i = 0; i < SW_SECTION_COUNT; i++) {
        if (strcmp(name, sections[i]) == 0) {
            return true;
        }
    }
    return false;
}
