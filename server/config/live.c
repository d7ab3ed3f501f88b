/* SPDX-License-Identifier: MIT
 *
 * live.c - changes of options while the server runs.
 */
#include "server/config/live.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "proto/plural.h"

void sw_live_init(struct sw_live *live, struct sw_config *config, bool activated,
                  sw_live_changed *changed, void *context)
{
    *live = (struct sw_live){
        .config = config, .activated = activated, .changed = changed, .context = context};
    pthread_mutex_init(&live->lock, NULL);
}

void sw_live_fini(struct sw_live *live)
{
    pthread_mutex_destroy(&live->lock);
}

bool sw_live_get(struct sw_live *live, size_t index, const char **name, char *value,
                 size_t value_bytes)
{
    pthread_mutex_lock(&live->lock);
    bool exists = sw_config_get(live->config, index, name, value, value_bytes);
    pthread_mutex_unlock(&live->lock);
    return exists;
}

/* Copies one field. Threads that read a number see the old value or the new one. */
static void copy_field(const struct sw_option *option, struct sw_config *to,
                       const struct sw_config *from)
{
    char *field = (char *)to + option->offset;
    const char *value = (const char *)from + option->offset;
    if (option->type == SW_OPTION_TEXT || option->type == SW_OPTION_ADDRESS) {
        memcpy(field, value, option->bytes);
    } else if (option->bytes == sizeof(uint32_t)) {
        uint32_t number = 0;
        memcpy(&number, value, sizeof(number));
        __atomic_store_n((uint32_t *)(void *)field, number, __ATOMIC_RELAXED);
    } else {
        uint64_t number = 0;
        assert(option->bytes == sizeof(number));
        memcpy(&number, value, sizeof(number));
        __atomic_store_n((uint64_t *)(void *)field, number, __ATOMIC_RELAXED);
    }
}

/* Lists the options whose values in `before` and `after` differ: only live options, or only the
 * others. */
static void compare(const struct sw_config *before, const struct sw_config *after, bool live,
                    struct sw_live_changes *changes)
{
    changes->count = 0;
    for (size_t i = 0; i < SW_OPTION_COUNT; i++) {
        struct sw_live_change *change = &changes->list[changes->count];
        change->option = sw_option_at(i);
        if (sw_option_is_live(change->option) != live) {
            continue;
        }
        sw_option_format_asked(change->option, before, change->before, sizeof(change->before));
        sw_option_format_asked(change->option, after, change->after, sizeof(change->after));
        changes->count += strcmp(change->before, change->after) != 0;
    }
}

/* Copies the live options of `next` into the configuration. Returns the number of changed options;
 * or -1 if the result contradicts itself. Call it with the lock held. */
static int take_over(struct sw_live *live, const struct sw_config *next, const char *who,
                     char *error, size_t error_bytes)
{
    struct sw_config mixed = *live->config;
    struct sw_live_changes changes;
    for (size_t i = 0; i < SW_OPTION_COUNT; i++) {
        if (sw_option_is_live(sw_option_at(i))) {
            copy_field(sw_option_at(i), &mixed, next);
        }
    }
    if (sw_config_check(&mixed, live->activated, error, error_bytes) != 0) {
        return -1;
    }
    compare(live->config, &mixed, true, &changes);
    for (size_t i = 0; i < changes.count; i++) {
        copy_field(changes.list[i].option, live->config, &mixed);
    }
    if (changes.count > 0) {
        live->changed(live->context, &changes, who);
    }
    return (int)changes.count;
}

int sw_live_set(struct sw_live *live, const struct sw_live_pair *pairs, size_t count,
                const char *who, size_t *wrong, char *error, size_t error_bytes)
{
    int status = 0;
    pthread_mutex_lock(&live->lock);
    struct sw_config next = *live->config;
    *wrong = 0;
    for (size_t i = 0; i < count && status == 0; i++) {
        *wrong = i;
        status = sw_option_set(pairs[i].option, pairs[i].value, &next, error, error_bytes);
    }
    if (status == 0 && next.connections_max != live->config->connections_max &&
        sw_config_connections(&next) < next.connections_max) {
        snprintf(error, error_bytes,
                 "the limit of open files allows %u connection%s: set connections-max to at most "
                 "that, or raise LimitNOFILE= or ulimit -n and start again",
                 next.connections_fit, sw_plural_s(next.connections_fit));
        while (strcmp(pairs[*wrong].option->name, "connections-max") != 0) {
            --*wrong; /* some pair has changed it */
        }
        status = -1;
    }
    if (status == 0) {
        *wrong = 0;
        status = take_over(live, &next, who, error, error_bytes) < 0 ? -1 : 0;
    }
    pthread_mutex_unlock(&live->lock);
    return status;
}

int sw_live_reload(struct sw_live *live, const char *who, struct sw_live_changes *restart,
                   char *error, size_t error_bytes)
{
    struct sw_config next;
    restart->count = 0;
    if (sw_config_read(&next, &live->config->origin, error, error_bytes) != 0 ||
        sw_config_check(&next, live->activated, error, error_bytes) != 0) {
        return -1;
    }
    pthread_mutex_lock(&live->lock);
    int count = take_over(live, &next, who, error, error_bytes);
    if (count >= 0) {
        compare(live->config, &next, false, restart);
    }
    pthread_mutex_unlock(&live->lock);
    return count;
}

int sw_live_note(struct sw_live *live, const struct sw_option *option, const char *value,
                 char *error, size_t error_bytes)
{
    pthread_mutex_lock(&live->lock);
    struct sw_config next = *live->config;
    int status = sw_option_set(option, value, &next, error, error_bytes);
    if (status == 0) {
        copy_field(option, live->config, &next);
    }
    pthread_mutex_unlock(&live->lock);
    return status;
}

bool sw_live_is_flag(const struct sw_live *live, const char *name)
{
    const struct sw_config_origin *origin = &live->config->origin;
    const size_t size = strlen(name);
    for (int i = 1; i < origin->argc; i++) {
        const char *word = origin->argv[i];
        if (strncmp(word, "--", 2) == 0 && strncmp(word + 2, name, size) == 0 &&
            (word[2 + size] == '\0' || word[2 + size] == '=')) {
            return true;
        }
    }
    return false;
}
