/* SPDX-License-Identifier: MIT
 *
 * ledger.h - the memory of all tables, which they share: host memory, or the memory of the GPU that
 * the first table lies in. Rows and values that tables in GPU memory keep in host memory are
 * limited by themselves: together by tables-host-memory-max.
 *
 * Each table has an account with a minimum and a maximum: memory-min is promised to it, memory-max
 * limits it. The ledger has a limit for all tables, tables-memory-max. A table that is created or
 * that grows gets memory if then
 *
 *     its own memory <= its memory-max, and
 *     the sum over all tables of the larger of memory and memory-min <= tables-memory-max.
 *
 * So no table takes memory that another one was promised. While a table grows, its old and its new
 * arrays count, except for sw_account_replace. Memory for expiry times counts as soon as it is
 * allocated, and is not refused. While a data directory is loaded, and on a replica, it does not
 * count. The files and the log of a directory may have a table at a moment at which it had the
 * memory that another one has now, so the tables of a load may pass the limits until its end. A
 * table that moves to fewer slots gives memory back, so no limit refuses its new arrays; they
 * count.
 *
 * A refused growth is not queued: the write that needs it gets an error. Tables ask again with a
 * write a second later, or as soon as the ledger would permit that growth (sw_growth.is_eased).
 *
 * Threads: any. A mutex protects the accounts; a table that grows waits for it briefly.
 */
#ifndef SHERWOOD_SERVER_TABLES_LEDGER_H
#define SHERWOOD_SERVER_TABLES_LEDGER_H

#include <pthread.h>
#include <stdint.h>

#include "server/list.h"
#include "table/growth.h"

struct sw_table_info;

struct sw_ledger {
    pthread_mutex_t lock; /* protects the fields below, and the accounts */
    uint64_t bytes_max;   /* tables-memory-max; 0: no limit */
    uint64_t host_max;    /* tables-host-memory-max; 0: no limit */
    struct sw_list accounts;
    bool loads;  /* atomic: the tables of a data directory are being loaded. They had their memory,
                    so no memory-max and no lowered max-capacity of a table limits it */
    bool passes; /* atomic: sw_account_pass */
    bool (*follows)(const void *owner); /* whether the tables are those of a replica, likewise; its
                                           primary limits them. NULL: they are not */
    const void *owner;
};

/* What refused the last growth of a table. */
enum sw_ledger_refusal {
    SW_LEDGER_PERMITS,
    SW_LEDGER_TABLE_MAX,  /* memory-max of the table */
    SW_LEDGER_TABLES_MAX, /* tables-memory-max, less what other tables have or were promised */
    SW_LEDGER_HOST_MAX,   /* tables-host-memory-max */
    SW_LEDGER_CAPACITY    /* max-capacity of the table, which TABLE ALTER has set */
};

struct sw_account {
    struct sw_growth growth; /* first: the table has a pointer to it */
    struct sw_list link;
    struct sw_ledger *ledger;
    uint64_t bytes_min, bytes_max; /* 0: none */
    struct sw_account_memory {
        uint64_t growing; /* bytes of new arrays, while the table is created or grows */
        uint64_t before;  /* bytes of the table beside them */
        uint64_t refused; /* bytes of the last growth that the ledger was asked for */
    } memory[SW_GROWTH_MEMORIES];
    uint64_t refused_slots; /* and its slots */
    bool leaves;            /* sw_account_leave */
    bool replaces;          /* atomic: sw_account_replace */
    int refusal;            /* atomic: enum sw_ledger_refusal */
    uint64_t log_bytes;     /* atomic: of the table's writes that loops added to the log */
};

/* Threads: any thread may call `follows`, which must not wait. */
void sw_ledger_init(struct sw_ledger *ledger, uint64_t bytes_max, uint64_t host_max,
                    bool (*follows)(const void *owner), const void *owner);
/* Every account must be closed. */
void sw_ledger_fini(struct sw_ledger *ledger);

/* Opens the account of a table that is about to be created with `bytes`. Returns what refuses it;
 * then the account is not open. The account must not move. */
enum sw_ledger_refusal sw_account_open(struct sw_account *account, struct sw_ledger *ledger,
                                       uint64_t bytes, uint64_t bytes_min, uint64_t bytes_max);
/* The three functions below do nothing if the account is not open. */

/* The table was created with `bytes`, perhaps more than were foreseen, and with `host` bytes of
 * rows and values in host memory beside them: from now on its own figures count. Returns what
 * refuses it; then the caller destroys it. */
enum sw_ledger_refusal sw_account_set_table(struct sw_account *account, uint64_t bytes,
                                            uint64_t host);
/* Closes the account, after its table was destroyed. */
void sw_account_close(struct sw_account *account);
/* Changes the limits; `slots_max`: of growth, 0: no limit beside
 * that of the table. Returns what refuses them, because the table has more memory than `bytes_max`,
 * or `bytes_min` rises and other tables leave less; then nothing has changed. `may_pass`: the table
 * may have more than `bytes_max`; and while a directory is loaded, `bytes_min` is given in any
 * case. */
enum sw_ledger_refusal sw_account_set(struct sw_account *account, uint64_t bytes_min,
                                      uint64_t bytes_max, uint64_t slots_max, bool may_pass);
/* The table was dropped and emptied, and the server keeps it. Until sw_account_set it does not
 * count: its last bucket would take memory that other tables were promised. */
void sw_account_leave(struct sw_account *account);
/* Lets new arrays of the table count in place of those that they replace (`replaces`), or beside
 * them again. The replay of a log needs it: a RESIZE may have given the table slots that find no
 * room beside those of its keys. */
void sw_account_replace(struct sw_account *account, bool replaces);
/* Lets all tables pass the limits of the ledger until sw_ledger_end_load. Returns false if they
 * could already, or no directory is being loaded. */
bool sw_account_pass(const struct sw_account *account);
/* Returns the limit that the tables have passed so. */
enum sw_ledger_refusal sw_ledger_passed(struct sw_ledger *ledger);
/* No directory is being loaded any more. */
void sw_ledger_end_load(struct sw_ledger *ledger);
/* Returns whether sw_account_set has lowered the limit of growth. */
static inline bool sw_account_is_lowered(const struct sw_account *account)
{
    return __atomic_load_n(&account->growth.slots_max, __ATOMIC_RELAXED) != 0;
}
/* Returns the slots up to which a table may grow: those of its `info`, or fewer by sw_account_set.
 * A table keeps the slots that it has. */
uint64_t sw_account_slots_max(const struct sw_account *account, const struct sw_table_info *info);
/* Returns what refused the last growth of the table. */
enum sw_ledger_refusal sw_account_refusal(const struct sw_account *account);
/* If the limit of all tables refused the last growth, returns what to do about it; otherwise, or if
 * `account` is NULL, returns NULL. */
const char *sw_account_remedy(const struct sw_account *account);

#endif
