/* SPDX-License-Identifier: MIT
 *
 * live.h - options that change while the server runs: by SIGHUP, which reads the file again, and by
 * CONFIG SET. A change is all or nothing: if one new value contradicts another option, no option
 * changes.
 *
 * The rows SW_LIVE_OPTION of option_rows.inl are live. Any thread may read their numbers at any
 * time by SW_LIVE. Their texts have no lock: threads get a new text only from the changes passed to
 * `changed`. All other options are constant.
 */
#ifndef SHERWOOD_SERVER_CONFIG_LIVE_H
#define SHERWOOD_SERVER_CONFIG_LIVE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "server/config/options.h"

/* Reads a numeric field of struct sw_config: an atomic load without a lock or an order. */
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

/* Called after a change by the thread that made it, with the lock held, so calls come in the order
 * of the changes. `who` names the author of the change, for the log. The callback must not call
 * functions of this file. */
typedef void sw_live_changed(void *context, const struct sw_live_changes *changes, const char *who);

struct sw_live {
    pthread_mutex_t lock;
    struct sw_config *config; /* only live.c writes it, under the lock */
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

/* An option and its new value. */
struct sw_live_pair {
    const struct sw_option *option; /* live */
    const char *value;
};

/* Sets options. Returns 0; or changes nothing, writes `error` and returns -1. *wrong receives the
 * index of a pair with an invalid value. If the values are valid but contradict other options,
 * *wrong is 0. */
int sw_live_set(struct sw_live *live, const struct sw_live_pair *pairs, size_t count,
                const char *who, size_t *wrong, char *error, size_t error_bytes);

/* Reads the file and the command line again, and sets the live options to their values. `restart`
 * receives the other options that differ: `before` is the value in effect, `after` the value that
 * was read. Returns the number of live options that have changed; or -1 with a sentence in `error`
 * and nothing changed. Threads: only the main thread. */
int sw_live_reload(struct sw_live *live, const char *who, struct sw_live_changes *restart,
                   char *error, size_t error_bytes);

/* Notes the present value of an option that a command other than CONFIG SET has changed, such as
 * REPLICAOF. The next rewrite writes this value. Returns 0; or -1 and sets `error` if the option
 * cannot have the value. */
int sw_live_note(struct sw_live *live, const struct sw_option *option, const char *value,
                 char *error, size_t error_bytes);
/* Returns true if the command line sets the option. */
bool sw_live_is_flag(const struct sw_live *live, const char *name);

/* Writes the options that differ from the configuration file into that file (rewrite.c). Its other
 * lines stay as they are. `started`: has the options that TABLE ALTER changes; NULL: the present
 * ones. Returns the number of options that were written; or -1 with a sentence in `error` and the
 * file untouched. */
int sw_live_rewrite(struct sw_live *live, const struct sw_config *started, char *error,
                    size_t error_bytes);

#endif
