/* SPDX-License-Identifier: MIT
 *
 * live.h - options that change while the server runs: by SIGHUP, which reads the file again, and by
 * CONFIG SET. A change is all or nothing: if one new value contradicts another option, no option
 * changes.
 *
 * The rows SW_LIVE_OPTION of option_rows.inl are live. Any thread may read their numbers at any
 * time by SW_LIVE. Code gets new texts from the changes passed to `changed`. All other options
 * are constant.
 */
#ifndef SHERWOOD_SERVER_CONFIG_LIVE_H
#define SHERWOOD_SERVER_CONFIG_LIVE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "server/config/options.h"

/* The present value of a field of struct sw_config that is a number: no lock, no order. */
#define SW_LIVE(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)

/* An option with its value before and after. */
struct sw_live_change {
    const struct sw_option *option;
    char before[SW_OPTION_VALUE_BYTES];
    char after[SW_OPTION_VALUE_BYTES];
};

/* Changes of at most all options. */
struct sw_live_changes {
    size_t count;
    struct sw_live_change list[SW_OPTION_COUNT];
};

/* Called after a change, by the thread that made it, with the lock held: so changes come in their
 * order. `who` says whose it is, for the log. It must not call functions of this file. */
typedef void sw_live_changed(void *context, const struct sw_live_changes *changes, const char *who);

struct sw_live {
    pthread_mutex_t lock;
    struct sw_config *config; /* written here alone, under the lock */
    bool activated;           /* the service manager has passed sockets */
    sw_live_changed *changed;
    void *context;
};

/* `config` and `context` are borrowed until sw_live_fini. */
void sw_live_init(struct sw_live *live, struct sw_config *config, bool activated,
                  sw_live_changed *changed, void *context);
void sw_live_fini(struct sw_live *live);

/* As sw_config_get, of the present values. */
bool sw_live_get(struct sw_live *live, size_t index, const char **name, char *value,
                 size_t value_bytes);

/* An option and the value that it is to have. */
struct sw_live_pair {
    const struct sw_option *option; /* live */
    const char *value;
};

/* Sets options. Returns 0; or -1 with a sentence in `error`, nothing changed, and in *wrong the
 * index of the pair that is to blame. */
int sw_live_set(struct sw_live *live, const struct sw_live_pair *pairs, size_t count,
                const char *who, size_t *wrong, char *error, size_t error_bytes);

/* Reads the file and the command line anew, and sets the live options to what they say. `restart`
 * receives the other options that differ: `before` is what the server runs with, `after` what the
 * file says. Returns the number of live options that have changed; or -1 with a sentence in `error`
 * and nothing changed. To be called by the main thread alone. */
int sw_live_reload(struct sw_live *live, const char *who, struct sw_live_changes *restart,
                   char *error, size_t error_bytes);

/* Notes the present value of an option that a command other than CONFIG SET has changed, such as
 * REPLICAOF. The next rewrite writes this value. Returns 0; or -1 and sets `error` if the option
 * cannot have the value. */
int sw_live_note(struct sw_live *live, const struct sw_option *option, const char *value,
                 char *error, size_t error_bytes);
/* Does the command line set the option, whatever the file says? */
bool sw_live_is_flag(const struct sw_live *live, const char *name);

/* Writes what differs from the configuration file into it (rewrite.c). Its other lines stay as they
 * are. Returns the number of options that were written; or -1 with a sentence in `error` and the
 * file untouched. */
int sw_live_rewrite(struct sw_live *live, char *error, size_t error_bytes);

#endif
