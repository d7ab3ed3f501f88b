/* SPDX-License-Identifier: MIT
 *
 * jax_ffi.c - the handler, and the tables that it finds by their numbers.
 */
#include "client/python/jax_ffi.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/python/native.h"
#include "client/python/xla_call.h"
#include "client/sherwood.h"

#define TEXT_BYTES 512

struct table {
    struct table *next;
    int64_t number;
    uint32_t users; /* calls in progress, and 1 until the table is removed; under `tables_lock` */
    pthread_mutex_t lock;    /* of the handle */
    struct sherwood *client; /* NULL: its connection was lost, or its table was dropped */
    uint32_t stripes;        /* of `client` when it was new */
};

static pthread_mutex_t tables_lock = PTHREAD_MUTEX_INITIALIZER;
static struct table *tables;
static int64_t last_number;
static pid_t process; /* that added the first table */

static void put_client(struct table *table, struct sherwood *client)
{
    table->client = client;
    table->stripes = client == NULL ? 0 : sherwood_stripes(client);
}

int64_t swpy_jax_add(struct sherwood *client)
{
    struct table *table = calloc(1, sizeof(*table));
    if (table == NULL) {
        return 0;
    }
    pthread_mutex_init(&table->lock, NULL);
    put_client(table, client);
    table->users = 1;
    pthread_mutex_lock(&tables_lock);
    process = process == 0 ? getpid() : process;
    table->number = ++last_number;
    table->next = tables;
    tables = table;
    pthread_mutex_unlock(&tables_lock);
    return table->number;
}

/* Returns the place of a pointer to the table, or to NULL. The caller holds `tables_lock`. */
static struct table **place_of(int64_t number)
{
    struct table **place = &tables;
    while (*place != NULL && (*place)->number != number) {
        place = &(*place)->next;
    }
    return place;
}

static struct table *begin_use(int64_t number)
{
    pthread_mutex_lock(&tables_lock);
    struct table *table = *place_of(number);
    if (table != NULL) {
        table->users++;
    }
    pthread_mutex_unlock(&tables_lock);
    return table;
}

static void end_use(struct table *table)
{
    pthread_mutex_lock(&tables_lock);
    const bool is_last = --table->users == 0;
    pthread_mutex_unlock(&tables_lock);
    if (is_last) {
        swpy_close(table->client);
        pthread_mutex_destroy(&table->lock);
        free(table);
    }
}

void swpy_jax_remove(int64_t number)
{
    if (process != getpid()) {
        return;
    }
    pthread_mutex_lock(&tables_lock);
    struct table **place = place_of(number), *table = *place;
    if (table != NULL) {
        *place = table->next;
    }
    pthread_mutex_unlock(&tables_lock);
    if (table != NULL) {
        end_use(table);
    }
}

/* Carries a call out. The caller holds the lock of the table. Writes the error to `text`. */
static int run(struct table *table, const struct swpy_xla_call *call, char *text)
{
    if (table->client == NULL) {
        put_client(table, swpy_jax_open(table->number, text, TEXT_BYTES));
    }
    if (table->client == NULL) {
        return SHERWOOD_E_CONNECTION;
    }
    const struct sherwood_server *server = sherwood_server(table->client);
    const size_t count = swpy_xla_count(call, server->key_bytes);
    if (!swpy_xla_fits(call, server->key_bytes, server->value_bytes, count)) {
        strcpy(text, SWPY_XLA_MISFIT);
        return SHERWOOD_E_INVALID;
    }
    const int status = swpy_run(table->client, (int)call->operation, call->keys->data,
                                call->values == NULL ? NULL : call->values->data, count,
                                call->previous == NULL ? NULL : call->previous->data,
                                call->found == NULL ? NULL : call->found->data, NULL, NULL, NULL);
    if (status < 0) {
        const bool has_text = status != SHERWOOD_E_NOMEM;
        strncpy(text, has_text ? sherwood_error(table->client) : sherwood_status_text(status),
                TEXT_BYTES - 1);
        /* the next call connects again, and opens the table of this name */
        if (sherwood_stripes(table->client) < table->stripes || status == SHERWOOD_E_TABLE) {
            swpy_close(table->client);
            put_client(table, NULL);
        }
    }
    return status;
}

static struct xla_error *execute(const struct xla_call *from, const struct swpy_xla_call *call)
{
    char text[TEXT_BYTES] = "";
    if (process != getpid()) {
        return swpy_xla_fail(from, XLA_FAILED_PRECONDITION,
                             "the process forked after it made the sherwood.jax.Table: start other "
                             "processes by spawn");
    }
    struct table *table = begin_use(call->table);
    if (table == NULL) {
        return swpy_xla_fail(
            from, XLA_FAILED_PRECONDITION,
            "the sherwood.jax.Table of this program no longer exists: keep a reference to "
            "it");
    }
    pthread_mutex_lock(&table->lock);
    const int status = run(table, call, text);
    pthread_mutex_unlock(&table->lock);
    end_use(table);
    if (status < 0) {
        return swpy_xla_fail(from, swpy_xla_code(status), text);
    }
    *(int32_t *)call->next_state->data = (int32_t)(*(uint32_t *)call->state->data + 1);
    return NULL;
}

static struct xla_error *handle(struct xla_call *call)
{
    return swpy_xla_handle(call, execute);
}

uintptr_t swpy_jax_handler(void)
{
    return (uintptr_t)handle;
}
