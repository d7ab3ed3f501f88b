/* SPDX-License-Identifier: MIT
 *
 * acl_log.c - an array of entries, the newest first.
 */
#include "server/users/acl_log.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Equal refusals within this time share an entry. */
#define ALIKE_MS 60000

struct sw_acl_log {
    pthread_mutex_t lock; /* protects the fields below */
    size_t count;
    struct sw_acl_entry entries[SW_ACL_LOG_MAX];
};

struct sw_acl_log *sw_acl_log_create(void)
{
    struct sw_acl_log *log = calloc(1, sizeof(*log));
    if (log != NULL) {
        pthread_mutex_init(&log->lock, NULL);
    }
    return log;
}

void sw_acl_log_destroy(struct sw_acl_log *log)
{
    if (log != NULL) {
        pthread_mutex_destroy(&log->lock);
        free(log);
    }
}

static bool is_alike(const struct sw_acl_entry *a, const struct sw_acl_entry *b)
{
    return a->reason == b->reason && a->in_multi == b->in_multi &&
           strcmp(a->object, b->object) == 0 && strcmp(a->user, b->user) == 0 &&
           b->at_ms - a->at_ms < ALIKE_MS;
}

void sw_acl_log_add(struct sw_acl_log *log, const struct sw_acl_entry *entry)
{
    pthread_mutex_lock(&log->lock);
    size_t at = 0;
    uint64_t count = 0;
    while (at < log->count && !is_alike(&log->entries[at], entry)) {
        at++;
    }
    if (at < log->count) {
        count = log->entries[at].count;
    } else if (log->count < SW_ACL_LOG_MAX) {
        at = log->count++;
    } else {
        at = SW_ACL_LOG_MAX - 1; /* the oldest entry is dropped */
    }
    memmove(&log->entries[1], &log->entries[0], at * sizeof(log->entries[0]));
    log->entries[0] = *entry;
    log->entries[0].count = count + 1;
    pthread_mutex_unlock(&log->lock);
}

size_t sw_acl_log_copy(struct sw_acl_log *log, struct sw_acl_entry *out, size_t max)
{
    pthread_mutex_lock(&log->lock);
    size_t count = log->count < max ? log->count : max;
    memcpy(out, log->entries, count * sizeof(*out));
    pthread_mutex_unlock(&log->lock);
    return count;
}

void sw_acl_log_reset(struct sw_acl_log *log)
{
    pthread_mutex_lock(&log->lock);
    log->count = 0;
    pthread_mutex_unlock(&log->lock);
}
