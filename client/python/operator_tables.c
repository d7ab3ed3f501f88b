/* SPDX-License-Identifier: MIT
 *
 * operator_tables.c - the tables that kernels of operators know.
 */
#include "client/python/operator_tables.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "client/sherwood.h"

#define LISTS 64

struct entry {
    struct swpy_table table; /* first, so that a table is also its entry */
    int64_t number;
    pid_t process;  /* that has made it */
    uint32_t calls; /* that use it now */
    struct entry *next;
};

/* Kernels have no argument for it: torch passes them numbers alone. */
static struct {
    pthread_mutex_t lock; /* for a moment only; free in a forked child */
    pthread_cond_t left;  /* the last call of a table has ended */
    struct entry *lists[LISTS];
} tables = {.lock = PTHREAD_MUTEX_INITIALIZER, .left = PTHREAD_COND_INITIALIZER};

static void lock_tables(void)
{
    (void)pthread_mutex_lock(&tables.lock);
}

static void unlock_tables(void)
{
    (void)pthread_mutex_unlock(&tables.lock);
}

static void register_forks(void)
{
    (void)pthread_atfork(lock_tables, unlock_tables, unlock_tables);
}

void swpy_tables_survive_forks(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, register_forks);
}

static struct entry **find(int64_t number)
{
    struct entry **at = &tables.lists[(uint64_t)number % LISTS];
    while (*at != NULL && (*at)->number != number) {
        at = &(*at)->next;
    }
    return at;
}

int swpy_table_add(int64_t number, const struct swpy_table *table)
{
    struct entry *made = malloc(sizeof(*made));
    if (made == NULL) {
        return SHERWOOD_E_NOMEM;
    }
    *made = (struct entry){.table = *table, .number = number, .process = getpid()};
    lock_tables();
    made->next = tables.lists[(uint64_t)number % LISTS];
    tables.lists[(uint64_t)number % LISTS] = made;
    unlock_tables();
    return SHERWOOD_OK;
}

void swpy_table_remove(int64_t number)
{
    lock_tables();
    struct entry **at = find(number);
    struct entry *entry = *at;
    if (entry != NULL && entry->process == getpid()) {
        *at = entry->next;
        while (entry->calls > 0) {
            (void)pthread_cond_wait(&tables.left, &tables.lock);
        }
        free(entry);
    }
    unlock_tables();
}

const struct swpy_table *swpy_table_enter(int64_t number)
{
    lock_tables();
    struct entry *entry = *find(number);
    const bool is_known = entry != NULL && entry->process == getpid();
    if (is_known) {
        entry->calls++;
    }
    unlock_tables();
    return is_known ? &entry->table : NULL;
}

void swpy_table_leave(const struct swpy_table *table)
{
    struct entry *entry = (struct entry *)table;
    lock_tables();
    if (--entry->calls == 0) {
        (void)pthread_cond_broadcast(&tables.left);
    }
    unlock_tables();
}
