/* SPDX-License-Identifier: MIT
 *
 * table.c - handles of tables: opening them, and what follows when the table in a place changes.
 */
#include "client/table.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/cluster.h"
#include "client/control_request.h"
#include "client/error.h"
#include "client/open.h"
#include "client/receive.h"
#include "client/sherwood-tables.h"
#include "client/table_shape.h"

/* Returns a connection that has not ended; NULL: all have. */
static struct sw_client_connection *any_connection(const struct sherwood *root)
{
    for (uint32_t i = 0; i < root->connections_count; i++) {
        if (root->connections[i]->broken == 0) {
            return root->connections[i];
        }
    }
    return NULL;
}

int sw_client_table_greet(struct sherwood *root, const char *call_name, const char *name,
                          struct sw_client_table *table)
{
    struct sw_client_connection *connection = any_connection(root);
    struct sw_reply reply = {0};
    struct sw_client_call call = {.reply = &reply, .refused_from = SW_CLIENT_NOT_REFUSED};
    struct sw_client_frame frame = {.header = {.operation = SW_OPERATION_HELLO},
                                    .table_name = name};
    if (connection == NULL) {
        return root->broken;
    }
    int status = sw_client_control_request_once(root, connection, &frame, &call);
    if (status != SHERWOOD_OK) {
        return status;
    }
    if (!reply.has_info || !reply.info.takes_tables) {
        return sw_client_fail(root, SHERWOOD_E_REQUEST,
                              "%s: this server has one table: update it to use '%s'", call_name,
                              name);
    }
    const char *wrong = sw_client_check_facts(&reply.info);
    if (wrong != NULL) {
        return sw_client_fail(root, SHERWOOD_E_PROTOCOL,
                              "%s: this client cannot work with the table '%s': its %s", call_name,
                              name, wrong);
    }
    root->segments_max = reply.info.segments_max < SW_FRAME_SEGMENTS_MAX ? reply.info.segments_max
                                                                         : SW_FRAME_SEGMENTS_MAX;
    table->number = reply.info.table;
    table->id = reply.info.table_id;
    table->changes = root->changes;
    table->ring_id = root->changes > 0 ? table->id : 0;
    sw_client_clean(reply.info.table_name, sizeof(reply.info.table_name), table->name,
                    sizeof(table->name));
    sw_client_read_facts(&reply.info, &table->server);
    table->server.requests_in_flight_max = root->own.server.requests_in_flight_max;
    sw_client_expect_bodies(root, &table->server);
    return SHERWOOD_OK;
}

int sherwood_table_open(struct sherwood *client, const char *name, struct sherwood **out)
{
    struct sherwood *root = sw_client_enter(client);
    if (root == NULL || out == NULL) {
        return SHERWOOD_E_INVALID;
    }
    *out = NULL;
    int status = sw_client_one_node(root, "table_open");
    if (status == SHERWOOD_OK && (name == NULL || name[0] == '\0' ||
                                  strnlen(name, SW_FRAME_TABLE_BYTES) == SW_FRAME_TABLE_BYTES)) {
        status = sw_client_fail(root, SHERWOOD_E_INVALID,
                                "table_open: the name of a table has 1 to %d bytes",
                                SW_FRAME_TABLE_BYTES - 1);
    }
    if (status != SHERWOOD_OK) {
        return status;
    }
    struct sherwood *table = calloc(1, sizeof(*table));
    if (table == NULL) {
        return sw_client_fail(root, SHERWOOD_E_NOMEM,
                              "not enough memory for the handle of a table (%zu bytes)",
                              sizeof(*table));
    }
    table->root = root;
    table->table = &table->own;
    status = sw_client_table_greet(root, "table_open", name, &table->own);
    if (status != SHERWOOD_OK) {
        free(table);
        return status;
    }
    *out = table;
    return SHERWOOD_OK;
}

const char *sherwood_table_name(const struct sherwood *table)
{
    return table == NULL ? "" : table->own.name;
}

uint32_t sherwood_table_number(const struct sherwood *table)
{
    return table == NULL ? 0 : table->own.number;
}

/* --- changing and listing --------------------------------------------------------------------- */

int sherwood_table_change(struct sherwood *client, const char *const *words, size_t count)
{
    struct sherwood *root = sw_client_enter(client);
    uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
    int status = sw_client_one_node(root, "table_change");
    if (status != SHERWOOD_OK) {
        return status;
    }
    bool is_given = words != NULL && count > 0 && count <= SW_FRAME_WORDS_MAX;
    for (size_t i = 0; is_given && i < count; i++) {
        is_given = words[i] != NULL;
    }
    struct sw_client_connection *connection = any_connection(root);
    if (!is_given || connection == NULL) {
        return is_given ? root->broken
                        : sw_client_fail(
                              root, SHERWOOD_E_INVALID,
                              "table_change: cannot send %zu words: give 1 to %d, and no NULL",
                              count, SW_FRAME_WORDS_MAX);
    }
    struct sw_client_call call = {.refused_from = SW_CLIENT_NOT_REFUSED};
    struct sw_client_frame frame = {.header = {.operation = SW_OPERATION_TABLE},
                                    .words = words,
                                    .words_count = (uint32_t)count,
                                    .long_head = head};
    return sw_client_control_request_once(root, connection, &frame, &call);
}

int sherwood_table_create(struct sherwood *client, const char *name, const char *const *options,
                          size_t count)
{
    const char *words[SW_FRAME_WORDS_MAX] = {"CREATE", name};
    for (size_t i = 0; options != NULL && i < count && i + 2 < SW_FRAME_WORDS_MAX; i++) {
        words[i + 2] = options[i];
    }
    return sherwood_table_change(client, words, count + 2);
}

int sherwood_table_drop(struct sherwood *client, const char *name)
{
    const char *words[] = {"DROP", name};
    return sherwood_table_change(client, words, 2);
}

int sherwood_table_rename(struct sherwood *client, const char *name, const char *new_name)
{
    const char *words[] = {"RENAME", name, new_name};
    return sherwood_table_change(client, words, 3);
}

int sherwood_table_swap(struct sherwood *client, const char *name, const char *other)
{
    const char *words[] = {"SWAP", name, other};
    return sherwood_table_change(client, words, 3);
}

static_assert(sizeof(struct sherwood_table_row) == sizeof(struct sw_frame_place) &&
                  offsetof(struct sherwood_table_row, bytes) ==
                      offsetof(struct sw_frame_place, bytes),
              "rows are received into the caller's array");

int sherwood_tables(struct sherwood *client, uint32_t *from, struct sherwood_table_row *rows,
                    uint32_t capacity, uint32_t *count)
{
    struct sherwood *root = sw_client_enter(client);
    int status = sw_client_one_node(root, "tables");
    if (status != SHERWOOD_OK) {
        return status;
    }
    struct sw_client_connection *connection = any_connection(root);
    if (from == NULL || rows == NULL || count == NULL || capacity == 0 || connection == NULL) {
        return connection == NULL
                   ? root->broken
                   : sw_client_fail(root, SHERWOOD_E_INVALID,
                                    "tables: an argument is NULL, or capacity is 0: pass all, and "
                                    "room for at least one table");
    }
    struct sw_reply reply = {0};
    const uint32_t most = capacity < SW_FRAME_PLACES_MAX ? capacity : SW_FRAME_PLACES_MAX;
    const struct sw_request header = {
        .operation = SW_OPERATION_TABLES, .count = most, .cursor = *from};
    *count = 0;
    status = sw_client_control_request(connection, &header, rows, NULL, &reply);
    if (status != SHERWOOD_OK) {
        return status;
    }
    for (uint32_t i = 0; i < reply.count; i++) { /* programs print the names */
        char name[SW_FRAME_TABLE_BYTES];
        memcpy(name, rows[i].name, sizeof(name));
        memset(rows[i].name, 0, sizeof(rows[i].name));
        sw_client_clean(name, sizeof(name), rows[i].name, sizeof(rows[i].name));
    }
    *from = (uint32_t)reply.cursor;
    *count = reply.count;
    return SHERWOOD_OK;
}

/* --- when the table of a place changes -------------------------------------------------------- */

int sw_client_table_renew(struct sherwood *client, int status)
{
    struct sw_client_table *table = client->table;
    struct sw_client_table now;
    char number[16]; /* another place may have got the name */
    snprintf(number, sizeof(number), "%u", table->number);
    if (sw_client_table_greet(client, "table_open", number, &now) != SHERWOOD_OK) {
        return status;
    }
    if (!sw_client_is_of_one_shape(&table->server, &now.server)) {
        return sw_client_fail(client, SHERWOOD_E_TABLE,
                              "a table of another shape lies in the place of '%s': open it again",
                              table->name[0] == '\0' ? now.name : table->name);
    }
    table->id = now.id;
    table->ring_id = now.ring_id;
    table->changes = now.changes;
    return SHERWOOD_OK;
}

int sherwood_table_renew(struct sherwood *table)
{
    struct sherwood *root = sw_client_enter(table);
    int status = sw_client_one_node(root, "table_renew");
    if (status == SHERWOOD_OK) {
        status = sw_client_table_renew(root, SHERWOOD_E_TABLE);
        status = root->broken != 0 ? root->broken : status;
    }
    return status;
}
