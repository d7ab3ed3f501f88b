/* SPDX-License-Identifier: MIT
 *
 * permit.c - logins by HELLO, and the rights of operations.
 */
#include "server/bulk/permit.h"

#include <stdio.h>
#include <string.h>

#include "server/bulk/bulk.h"
#include "server/bulk/expiry_times.h"
#include "server/bulk/table_frames.h"
#include "server/net/table_rights.h"
#include "server/tables/places.h"

void sw_bulk_rights_init(struct sw_bulk_rights *rights, const struct sw_users *users)
{
    memset(rights, 0xff, sizeof(*rights));
    for (uint32_t i = 0; users != NULL && i < SW_OPERATION_NUMBERS; i++) {
        const char *command = sw_operation_right(i);
        rights->row[i] =
            (int16_t)sw_catalog_find(sw_users_catalog(users), command, strlen(command));
    }
}

static void log_denial(struct sw_conn *conn, enum sw_acl_reason reason, const char *object,
                       const char *user, size_t user_size)
{
    struct sw_acl_entry entry = {.reason = reason, .at_ms = sw_net_now_ms(conn->net)};
    user_size = user_size < sizeof(entry.user) ? user_size : sizeof(entry.user) - 1;
    memcpy(entry.user, user, user_size);
    snprintf(entry.object, sizeof(entry.object), "%s", object);
    snprintf(entry.client, sizeof(entry.client), "id=%llu addr=%s",
             (unsigned long long)conn->peer.id, conn->peer.address);
    sw_acl_log_add(sw_users_log(conn->net->users), &entry);
}

static void note_refusal(struct sw_conn *conn, enum sw_acl_reason reason, const char *object)
{
    const char *user = conn->login.user->name;
    SW_COUNT(conn->net->counters, permission_refusals, 1);
    log_denial(conn, reason, object, user, strlen(user));
}

/* Logs in if the HELLO names a user. Returns false if that fails. */
static bool log_in(struct sw_conn *conn, const uint8_t *header, size_t header_bytes)
{
    struct sw_frame_login login;
    bool done = true;
    if (sw_frame_login_decode(header, header_bytes, &login) != 0) {
        return false;
    }
    if (login.is_there) {
        const char *user = login.user[0] != '\0' ? login.user : "default";
        done = sw_conn_login(conn, user, strlen(user), login.password, login.password_bytes);
        if (!done) {
            log_denial(conn, SW_ACL_AUTH, "HELLO", user, strlen(user));
        }
    }
    explicit_bzero(&login, sizeof(login));
    return done;
}

/* Does the RESP command whose right the operation requires reply with the key's value? SET does
 * with GET, and ASSIGN; DEL, SETNX, ADD, CAS and SETRANGE do not. */
static bool command_shows_values(uint32_t operation)
{
    return !sw_operation_writes(operation) || sw_operation_of_integers(operation) ||
           sw_operation_of_bits(operation) || sw_operation_gives_ids(operation) ||
           strcmp(sw_operation_right(operation), "set") == 0;
}

/* Does the reply have values although the command with the same right replies with none? */
static bool shows_values(const struct sw_request *request)
{
    return request->operation == SW_OPERATION_SCAN || request->want_evicted != 0 ||
           (request->want_values &&
            (sw_bulk_shows_expiry(request) || !command_shows_values(request->operation)));
}

/* The right to a table that the user lacks for the operation, whose command is in `row` of the
 * catalog; `lack`: the right to keys or commands that it lacks. An operation of a table needs the
 * right to that table alone, also if its command is of all tables. */
static enum sw_lack lack_of_tables(const struct sw_conn *conn, const struct sw_request *request,
                                   int row, enum sw_lack lack)
{
    const struct sw_commands *catalog = sw_users_catalog(conn->net->users);
    const bool of_table = sw_operation_of_table(request->operation) ||
                          (request->operation == SW_OPERATION_STATS && request->table != 0) ||
                          (row >= 0 && catalog->commands[row].scope == SW_SCOPE_SELECTED);
    if (!of_table || lack == SW_LACKS_COMMAND || lack == SW_LACKS_ALL_KEYS) {
        return lack;
    }
    return sw_conn_may_use(conn, request->table) ? SW_LACKS_NOTHING : SW_LACKS_ALL_TABLES;
}

/* Refuses a request to the table in a place. */
static void refuse_table(struct sw_conn *conn, const struct sw_request *request, char *message,
                         size_t message_bytes)
{
    const struct sw_tables_view *view = conn->net->tables.view;
    const struct sw_place *place =
        view == NULL ? NULL : sw_places_numbered(&view->catalog, request->table);
    char number[16];
    snprintf(number, sizeof(number), "%u", request->table);
    note_refusal(conn, SW_ACL_DATABASE, place == NULL ? number : place->name);
    snprintf(message, message_bytes, "user %s may not run %s: it lacks the table (db=)",
             conn->login.user->name, sw_operation_name(request->operation));
}

/* May the user read the facts of the table that a HELLO names? If not, writes the error likewise.
 */
static bool rules_permit_hello(struct sw_conn *conn, const struct sw_request *request,
                               char *message, size_t message_bytes)
{
    if (!request->names_table || sw_conn_is_free(conn) || sw_conn_may_use(conn, request->table)) {
        return true;
    }
    refuse_table(conn, request, message, message_bytes);
    return false;
}

/* May the user change the tables so? If not, writes the error likewise. */
static bool rules_permit_change(struct sw_conn *conn, const uint8_t *header, size_t header_bytes,
                                char *message, size_t message_bytes)
{
    const struct sw_users *users = conn->net->users;
    const struct sw_commands *catalog = sw_users_catalog(users);
    const char *user = conn->login.user->name;
    struct sw_frame_words words;
    struct sw_resp_argument arguments[SW_FRAME_WORDS_MAX];
    char name[32] = "table", table[SW_USER_TABLE_BYTES] = SW_PLACE_DEFAULT;
    uint32_t count = 0;
    if (sw_frame_words_decode(header, header_bytes, &words) == 0) {
        count = sw_bulk_change_words(&words, arguments);
        snprintf(name, sizeof(name), "table|%.*s", (int)words.bytes[0], (const char *)words.text);
    }
    for (char *at = name; *at != '\0'; at++) {
        *at = *at >= 'A' && *at <= 'Z' ? (char)(*at + ('a' - 'A')) : *at;
    }
    const int row = sw_catalog_find(catalog, name, strlen(name));
    const enum sw_lack lack = sw_login_lacks(users, &conn->login, row, false);
    if (lack == SW_LACKS_COMMAND) {
        note_refusal(conn, SW_ACL_COMMAND, name);
        snprintf(message, message_bytes, "user %s may not run TABLE: it lacks the command %s", user,
                 name);
        return false;
    }
    if (lack == SW_LACKS_ALL_KEYS) {
        note_refusal(conn, SW_ACL_KEY, "*");
        snprintf(message, message_bytes, "user %s may not run TABLE: it lacks all keys (~*)", user);
        return false;
    }
    if (lack != SW_LACKS_NOTHING ||
        sw_net_lacks_change(conn->login.user, conn->net->tables.view, arguments, count, table)) {
        note_refusal(conn, SW_ACL_DATABASE, table);
        snprintf(message, message_bytes, "user %s may not run TABLE: it lacks the table (db=)",
                 user);
        return false;
    }
    return true;
}

/* Does the request only ask whether the server is a primary? Every login may: a client of several
 * addresses asks each for its role. HELLO by RESP tells it too. */
static bool asks_for_role(const struct sw_request *request)
{
    return request->operation == SW_OPERATION_WAIT && request->count == 0;
}

/* May the user send the request? If not, writes the error to `message`. */
static bool rules_permit(struct sw_conn *conn, const struct sw_request *request, char *message,
                         size_t message_bytes)
{
    const struct sw_bulk *bulk = sw_bulk_of(conn)->bulk;
    const uint32_t operation = request->operation;
    const struct sw_users *users = conn->net->users;
    const char *user = conn->login.user->name;
    const char *name = sw_operation_name(operation);
    const struct sw_commands *catalog = sw_users_catalog(users);
    int row = operation < SW_OPERATION_NUMBERS ? bulk->rights.row[operation] : -1;
    /* entries that a cache evicts for those of the frame are any of its entries */
    enum sw_lack lack = sw_login_lacks(users, &conn->login, row, request->want_evicted != 0);
    if (lack != SW_LACKS_COMMAND && shows_values(request)) {
        row = bulk->rights.row[SW_OPERATION_GET];
        const enum sw_lack of_get = sw_login_lacks(users, &conn->login, row, false);
        lack = of_get == SW_LACKS_COMMAND ? of_get : lack;
    }
    switch (lack_of_tables(conn, request, row, lack)) {
    case SW_LACKS_NOTHING:
        return true;
    case SW_LACKS_COMMAND:
        note_refusal(conn, SW_ACL_COMMAND, name);
        snprintf(message, message_bytes, "user %s may not run %s: it lacks the command %s", user,
                 name, row >= 0 ? catalog->commands[row].name : name);
        break;
    case SW_LACKS_ALL_KEYS:
        note_refusal(conn, SW_ACL_KEY, "*");
        snprintf(message, message_bytes, "user %s may not run %s%s: it lacks all keys (~*)", user,
                 name, request->want_evicted != 0 ? " with evicted keys in the reply" : "");
        break;
    case SW_LACKS_ALL_TABLES:
        refuse_table(conn, request, message, message_bytes);
        break;
    }
    return false;
}

bool sw_bulk_permits(struct sw_conn *conn, const struct sw_request *request, const uint8_t *header,
                     size_t header_bytes, enum sw_reply_status *status, char *message,
                     size_t message_bytes, bool *closes)
{
    struct sw_users *users = conn->net->users;
    bool is_hello = request->operation == SW_OPERATION_HELLO;
    if (users == NULL || (!is_hello && sw_conn_is_free(conn))) {
        return true;
    }
    if (is_hello && !log_in(conn, header, header_bytes)) {
        *status = SW_REPLY_WRONG_PASS;
        snprintf(message, message_bytes, "invalid username-password pair or user is disabled");
        return false;
    }
    switch (sw_login_refresh(users, &conn->login)) {
    case SW_LOGIN_IN:
        *status = SW_REPLY_NO_PERMISSION;
        return is_hello ? rules_permit_hello(conn, request, message, message_bytes)
               : request->operation == SW_OPERATION_TABLE
                   ? rules_permit_change(conn, header, header_bytes, message, message_bytes)
                   : asks_for_role(request) || rules_permit(conn, request, message, message_bytes);
    case SW_LOGIN_DELETED:
        *closes = true;
        snprintf(message, message_bytes, "the user of this connection was deleted");
        break;
    case SW_LOGIN_NONE:
        snprintf(message, message_bytes,
                 "authentication required: log in with a user and a password (in HELLO; "
                 "sherwood-cli: --user and --pass-file)");
        break;
    }
    SW_COUNT(conn->net->counters, unauthenticated_requests, 1);
    *status = SW_REPLY_NO_AUTH;
    return false;
}

bool sw_bulk_permits_keys(struct sw_conn *conn, const struct sw_request *request, const void *keys)
{
    uint32_t bytes = request->key_bytes;
    if (sw_ranges_hold(conn->login.ranges, keys, bytes, request->count)) {
        return true;
    }
    const uint8_t *at = keys;
    while (sw_ranges_hold(conn->login.ranges, at, bytes, 1)) {
        at += bytes;
    }
    uint64_t key = 0;
    char object[24];
    memcpy(&key, at, bytes); /* keys are little-endian, as the machines are that this runs on */
    snprintf(object, sizeof(object), "%llu", (unsigned long long)key);
    note_refusal(conn, SW_ACL_KEY, object);
    return false;
}
