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
#include "client/python/xla_ffi.h"
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

/* The arguments and results of a call. A pointer is NULL if the call has no such array. */
struct call {
    int64_t table, operation;
    const struct xla_buffer *state, *keys, *values;
    struct xla_buffer *next_state, *previous, *found;
};

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

static struct xla_error *fail(const struct xla_call *call, enum xla_code code, const char *message)
{
    struct xla_error_arguments arguments = {
        .base.size = offsetof(struct xla_error_arguments, code) + sizeof(arguments.code),
        .message = message,
        .code = code,
    };
    /* cppcheck-suppress returnDanglingLifetime ; XLA copies the arguments */
    return call->api->error_create(&arguments);
}

static enum xla_code code_of(int status)
{
    switch (status) {
    case SHERWOOD_E_CONNECTION:
        return XLA_UNAVAILABLE;
    case SHERWOOD_E_TIMEOUT:
        return XLA_DEADLINE_EXCEEDED;
    case SHERWOOD_E_FULL:
    case SHERWOOD_E_NOMEM:
        return XLA_RESOURCE_EXHAUSTED;
    case SHERWOOD_E_LOGIN:
    case SHERWOOD_E_PERMISSION:
        return XLA_PERMISSION_DENIED;
    case SHERWOOD_E_TABLE:
        return XLA_FAILED_PRECONDITION;
    case SHERWOOD_E_INVALID:
    case SHERWOOD_E_REQUEST:
        return XLA_INVALID_ARGUMENT;
    default:
        return XLA_INTERNAL;
    }
}

static size_t number_bytes(enum xla_type type)
{
    switch (type) {
    case XLA_PRED:
    case XLA_S8:
    case XLA_U8:
        return 1;
    case XLA_S16:
    case XLA_U16:
    case XLA_F16:
    case XLA_BF16:
        return 2;
    case XLA_S32:
    case XLA_U32:
    case XLA_F32:
        return 4;
    case XLA_S64:
    case XLA_U64:
    case XLA_F64:
        return 8;
    default:
        return 0;
    }
}

static size_t bytes_of(const struct xla_buffer *buffer)
{
    size_t bytes = number_bytes(buffer->type);
    for (int64_t i = 0; i < buffer->rank; i++) {
        bytes *= (size_t)buffer->dims[i];
    }
    return bytes;
}

static struct xla_buffer *buffer_of(const struct xla_values *values, int64_t i)
{
    const bool has = i < values->count && values->types[i] == XLA_ARG_BUFFER;
    struct xla_buffer *buffer = has ? values->values[i] : NULL;
    return buffer != NULL && buffer->base.size >= sizeof(*buffer) ? buffer : NULL;
}

static int64_t attribute(const struct xla_attributes *attributes, const char *name)
{
    for (int64_t i = 0; i < attributes->count; i++) {
        const struct xla_text *text = attributes->names[i];
        const struct xla_scalar *scalar = attributes->values[i];
        if (text->length == strlen(name) && memcmp(text->text, name, text->length) == 0 &&
            attributes->types[i] == XLA_ATTRIBUTE_SCALAR && scalar->type == XLA_S64) {
            return *(const int64_t *)scalar->value;
        }
    }
    return -1;
}

/* Reads the arguments. Returns false if they are not those of sherwood.jax. */
static bool read_call(const struct xla_call *from, struct call *call)
{
    if (from->base.size < sizeof(*from) || from->arguments.base.size < sizeof(from->arguments) ||
        from->attributes.base.size < sizeof(from->attributes)) {
        return false;
    }
    call->table = attribute(&from->attributes, "table");
    call->operation = attribute(&from->attributes, "operation");
    call->state = buffer_of(&from->arguments, 0);
    call->keys = buffer_of(&from->arguments, 1);
    call->values = buffer_of(&from->arguments, 2);
    call->next_state = buffer_of(&from->results, 0);
    const int64_t has_previous = attribute(&from->attributes, "has_previous");
    call->previous = has_previous > 0 ? buffer_of(&from->results, 1) : NULL;
    call->found = buffer_of(&from->results, has_previous > 0 ? 2 : 1);
    return call->table > 0 && call->operation >= 0 && call->state != NULL && call->keys != NULL &&
           call->next_state != NULL && bytes_of(call->state) == sizeof(int32_t) &&
           bytes_of(call->next_state) == sizeof(int32_t);
}

/* Returns whether the arrays have the widths of the server. */
static bool fits(const struct call *call, const struct sherwood_server *server)
{
    const size_t count = bytes_of(call->keys) / server->key_bytes;
    return number_bytes(call->keys->type) == server->key_bytes &&
           (call->values == NULL || bytes_of(call->values) == count * server->value_bytes) &&
           (call->previous == NULL || bytes_of(call->previous) == count * server->value_bytes) &&
           (call->found == NULL || bytes_of(call->found) == count);
}

/* Carries a call out. The caller holds the lock of the table. Writes the error to `text`. */
static int run(struct table *table, const struct call *call, char *text)
{
    if (table->client == NULL) {
        put_client(table, swpy_jax_open(table->number, text, TEXT_BYTES));
    }
    if (table->client == NULL) {
        return SHERWOOD_E_CONNECTION;
    }
    const struct sherwood_server *server = sherwood_server(table->client);
    if (!fits(call, server)) {
        strcpy(text, "the arrays do not have the widths of the server's keys and values: trace the "
                     "program again");
        return SHERWOOD_E_INVALID;
    }
    const int status = swpy_run(table->client, (int)call->operation, call->keys->data,
                                call->values == NULL ? NULL : call->values->data,
                                bytes_of(call->keys) / server->key_bytes,
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

static struct xla_error *execute(const struct xla_call *from)
{
    struct call call;
    char text[TEXT_BYTES] = "";
    if (!read_call(from, &call)) {
        return fail(from, XLA_INVALID_ARGUMENT,
                    "this is no call of sherwood.jax, or jaxlib is too new for it");
    }
    if (process != getpid()) {
        return fail(from, XLA_FAILED_PRECONDITION,
                    "the process forked after it made the sherwood.jax.Table: start other "
                    "processes by spawn");
    }
    struct table *table = begin_use(call.table);
    if (table == NULL) {
        return fail(from, XLA_FAILED_PRECONDITION,
                    "the sherwood.jax.Table of this program no longer exists: keep a reference to "
                    "it");
    }
    pthread_mutex_lock(&table->lock);
    const int status = run(table, &call, text);
    pthread_mutex_unlock(&table->lock);
    end_use(table);
    if (status < 0) {
        return fail(from, code_of(status), text);
    }
    *(int32_t *)call.next_state->data = (int32_t)(*(uint32_t *)call.state->data + 1);
    return NULL;
}

/* Stores the version of the interface that the handler has. Versions of XLA that accept no other
 * than their own have a version in the call, or are 0.1. The structs here are alike in all of them,
 * and each call compares the sizes. */
static void store_version(const struct xla_call *call, struct xla_metadata *metadata)
{
    metadata->version.major = call->api == NULL ? 0 : call->api->version.major;
    metadata->version.minor = call->api == NULL ? 1 : call->api->version.minor;
    metadata->traits = 0;
}

static struct xla_error *handle(struct xla_call *call)
{
    for (struct xla_extension *at = call->base.extensions; at != NULL; at = at->next) {
        if (at->type == XLA_METADATA) {
            store_version(call, ((struct xla_metadata_extension *)at)->metadata);
            return NULL;
        }
    }
    return call->stage == XLA_EXECUTE ? execute(call) : NULL;
}

uintptr_t swpy_jax_handler(void)
{
    return (uintptr_t)handle;
}
