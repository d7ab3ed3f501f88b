/* SPDX-License-Identifier: MIT
 *
 * slowlog.h - the latest slow commands, newest first, for SLOWLOG.
 *
 * An entry has at most SW_SLOWLOG_ARGUMENTS_MAX arguments of SW_SLOWLOG_ARGUMENT_BYTES each, cut as
 * redis cuts them, and there are at most slowlog-max-len entries. If memory is short, an entry is
 * left out. Threads: any.
 */
#ifndef SHERWOOD_SERVER_OBSERVE_SLOWLOG_H
#define SHERWOOD_SERVER_OBSERVE_SLOWLOG_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "server/list.h"
#include "server/observe/text.h"

#define SW_SLOWLOG_ARGUMENTS_MAX 32U
#define SW_SLOWLOG_ARGUMENT_BYTES 128U

struct sw_slowlog {
    pthread_mutex_t lock;
    struct sw_list entries; /* newest first */
    uint64_t count;         /* length of `entries` */
    uint64_t next_id;       /* of the next entry; ids are never reused */
};

/* An entry being made. */
struct sw_slowlog_draft {
    uint64_t us;         /* duration */
    const char *address; /* of the client; borrowed */
    const char *name;    /* of the client; borrowed */
    uint64_t arguments;  /* arguments of the command */
    uint32_t count;      /* arguments in the draft */
    size_t size;         /* of the bytes */
    char bytes[SW_SLOWLOG_ARGUMENTS_MAX * (SW_SLOWLOG_ARGUMENT_BYTES + 48)];
};

void sw_slowlog_init(struct sw_slowlog *log);
void sw_slowlog_fini(struct sw_slowlog *log);

/* Begins a draft of a command. `arguments`: their number, the command's name included. */
void sw_slowlog_begin(struct sw_slowlog_draft *draft, uint64_t us, const char *address,
                      const char *name, uint64_t arguments);
/* Append the next argument. If the entry is full, ignore it. Return false if the entry is full
 * afterwards. */
bool sw_slowlog_argument(struct sw_slowlog_draft *draft, const void *text, size_t size);
bool sw_slowlog_word(struct sw_slowlog_draft *draft, const char *word);

/* Adds the entry, and drops the oldest ones beyond `entries_max`. */
void sw_slowlog_add(struct sw_slowlog *log, const struct sw_slowlog_draft *draft,
                    uint64_t entries_max);

uint64_t sw_slowlog_length(struct sw_slowlog *log);
void sw_slowlog_reset(struct sw_slowlog *log);
/* Drops the oldest entries beyond `entries_max`. */
void sw_slowlog_trim(struct sw_slowlog *log, uint64_t entries_max);
/* Appends the newest `most` entries as redis' SLOWLOG GET replies. */
void sw_slowlog_reply(struct sw_slowlog *log, uint64_t most, struct sw_text *reply);

#endif
