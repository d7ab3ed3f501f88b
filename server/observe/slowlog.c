/* SPDX-License-Identifier: MIT
 *
 * slowlog.c - the list of slow commands.
 */
#include "server/observe/slowlog.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NAME_BYTES 64

struct entry {
    struct sw_list link;
    uint64_t id;
    int64_t at; /* seconds since 1970 */
    uint64_t us;
    char address[NAME_BYTES];
    char name[NAME_BYTES];
    uint32_t count;
    size_t size;
    char bytes[]; /* the arguments, each behind its length */
};

void sw_slowlog_init(struct sw_slowlog *log)
{
    *log = (struct sw_slowlog){.count = 0};
    pthread_mutex_init(&log->lock, NULL);
    sw_list_init(&log->entries);
}

void sw_slowlog_fini(struct sw_slowlog *log)
{
    sw_slowlog_reset(log);
    pthread_mutex_destroy(&log->lock);
}

/* --- making an entry -------------------------------------------------------------------------- */

void sw_slowlog_begin(struct sw_slowlog_draft *draft, uint64_t us, const char *address,
                      const char *name, uint64_t arguments)
{
    draft->us = us;
    draft->address = address;
    draft->name = name;
    draft->arguments = arguments;
    draft->count = 0;
    draft->size = 0;
}

/* Appends an argument: `text`, then `rest`. */
static void slowlog_put(struct sw_slowlog_draft *draft, const void *text, size_t size,
                        const char *rest)
{
    uint32_t length = (uint32_t)(size + strlen(rest));
    memcpy(draft->bytes + draft->size, &length, sizeof(length));
    draft->size += sizeof(length);
    if (size > 0) {
        memcpy(draft->bytes + draft->size, text, size);
    }
    memcpy(draft->bytes + draft->size + size, rest, strlen(rest));
    draft->size += length;
    draft->count++;
}

bool sw_slowlog_argument(struct sw_slowlog_draft *draft, const void *text, size_t size)
{
    char rest[48] = "";
    uint64_t most = SW_SLOWLOG_ARGUMENTS_MAX;
    if (draft->count == most) {
        return false;
    }
    if (draft->count == most - 1 && draft->arguments > most) {
        snprintf(rest, sizeof(rest), "... (%" PRIu64 " more arguments)",
                 draft->arguments - most + 1);
        slowlog_put(draft, NULL, 0, rest);
        return false;
    }
    size_t kept = size < SW_SLOWLOG_ARGUMENT_BYTES ? size : SW_SLOWLOG_ARGUMENT_BYTES;
    if (kept < size) {
        snprintf(rest, sizeof(rest), "... (%zu more bytes)", size - kept);
    }
    slowlog_put(draft, text, kept, rest);
    return true;
}

bool sw_slowlog_word(struct sw_slowlog_draft *draft, const char *word)
{
    return sw_slowlog_argument(draft, word, strlen(word));
}

/* --- the list --------------------------------------------------------------------------------- */

static struct entry *entry_at(struct sw_list *link)
{
    return SW_CONTAINER(link, struct entry, link);
}

/* Drops the oldest entries beyond `most`. Call it with the lock held. */
static void trim(struct sw_slowlog *log, uint64_t most)
{
    while (log->count > most) {
        struct entry *oldest = entry_at(log->entries.previous);
        sw_list_remove(&oldest->link);
        log->count--;
        free(oldest);
    }
}

void sw_slowlog_add(struct sw_slowlog *log, const struct sw_slowlog_draft *draft,
                    uint64_t entries_max)
{
    struct entry *entry = entries_max == 0 ? NULL : calloc(1, sizeof(*entry) + draft->size);
    if (entry == NULL) {
        return;
    }
    sw_list_init(&entry->link);
    entry->at = (int64_t)time(NULL);
    entry->us = draft->us;
    snprintf(entry->address, sizeof(entry->address), "%s", draft->address);
    snprintf(entry->name, sizeof(entry->name), "%s", draft->name);
    entry->count = draft->count;
    entry->size = draft->size;
    memcpy(entry->bytes, draft->bytes, draft->size);
    pthread_mutex_lock(&log->lock);
    entry->id = log->next_id++;
    sw_list_push_front(&log->entries, &entry->link);
    log->count++;
    trim(log, entries_max);
    pthread_mutex_unlock(&log->lock);
}

uint64_t sw_slowlog_length(struct sw_slowlog *log)
{
    pthread_mutex_lock(&log->lock);
    uint64_t count = log->count;
    pthread_mutex_unlock(&log->lock);
    return count;
}

void sw_slowlog_trim(struct sw_slowlog *log, uint64_t entries_max)
{
    pthread_mutex_lock(&log->lock);
    trim(log, entries_max);
    pthread_mutex_unlock(&log->lock);
}

void sw_slowlog_reset(struct sw_slowlog *log)
{
    sw_slowlog_trim(log, 0);
}

static void put_entry(const struct entry *entry, struct sw_text *reply)
{
    size_t at = 0;
    sw_text_array(reply, 6);
    sw_text_unsigned(reply, entry->id);
    sw_text_integer(reply, entry->at);
    sw_text_unsigned(reply, entry->us);
    sw_text_array(reply, entry->count);
    for (uint32_t i = 0; i < entry->count; i++) {
        uint32_t length = 0;
        memcpy(&length, entry->bytes + at, sizeof(length));
        at += sizeof(length);
        sw_text_bulk(reply, entry->bytes + at, length);
        at += length;
    }
    sw_text_bulk_string(reply, entry->address);
    sw_text_bulk_string(reply, entry->name);
}

void sw_slowlog_reply(struct sw_slowlog *log, uint64_t most, struct sw_text *reply)
{
    pthread_mutex_lock(&log->lock);
    uint64_t left = most < log->count ? most : log->count;
    sw_text_array(reply, left);
    SW_LIST_EACH(&log->entries, link)
    {
        if (left-- == 0) {
            break;
        }
        put_entry(entry_at(link), reply);
    }
    pthread_mutex_unlock(&log->lock);
}
