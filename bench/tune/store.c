/* SPDX-License-Identifier: MIT
 *
 * store.c - the tables of the SQLite file, and their rows.
 */
#include "bench/tune/store.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Another program's write takes milliseconds. */
#define BUSY_MS 10000
#define VERSION 2 /* of the schema */

struct sw_tune_store {
    sqlite3 *db;
    char file[SW_TUNE_TEXT_MAX];
};

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS space("
    " kernel TEXT, workload TEXT, position INTEGER, sources TEXT, variants INTEGER, base TEXT,"
    " PRIMARY KEY(kernel, workload));"
    "CREATE TABLE IF NOT EXISTS axis("
    " kernel TEXT, position INTEGER, axis TEXT, kind INTEGER, value_position INTEGER, value TEXT,"
    " PRIMARY KEY(kernel, position, value_position));"
    "CREATE TABLE IF NOT EXISTS variant("
    " id INTEGER PRIMARY KEY, kernel TEXT, workload TEXT, variant TEXT, sources TEXT, device TEXT,"
    " arch TEXT, state TEXT, note TEXT, date TEXT,"
    " UNIQUE(kernel, workload, variant, sources, device));"
    "CREATE TABLE IF NOT EXISTS point("
    " id INTEGER, point TEXT, median REAL, low REAL, high REAL, count INTEGER, samples BLOB,"
    " bytes REAL, PRIMARY KEY(id, point));"
    "PRAGMA user_version = 2;";

/* Files of version 1 know no bytes. */
static const char from_1[] = "ALTER TABLE point ADD COLUMN bytes REAL;";

const char *sw_tune_store_name(const struct sw_tune_store *store)
{
    return store->file;
}

void sw_tune_store_failure(const struct sw_tune_store *store, struct sw_tune_reason *reason)
{
    (void)sw_tune_refuse(reason, "%s: %s", store->file, sqlite3_errmsg(store->db));
}

static bool prepare(struct sw_tune_store *store, struct sw_tune_reason *reason)
{
    sqlite3_stmt *statement = NULL;
    int version = -1;
    if (sqlite3_busy_timeout(store->db, BUSY_MS) == SQLITE_OK &&
        sqlite3_prepare_v2(store->db, "PRAGMA user_version", -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        version = sqlite3_column_int(statement, 0);
    }
    (void)sqlite3_finalize(statement);
    if (version > VERSION) {
        return sw_tune_refuse(reason, "%s is of a newer version of this program", store->file);
    }
    if (version < 0 ||
        (version == 1 && sqlite3_exec(store->db, from_1, NULL, NULL, NULL) != SQLITE_OK) ||
        sqlite3_exec(store->db, schema, NULL, NULL, NULL) != SQLITE_OK) {
        sw_tune_store_failure(store, reason);
        return false;
    }
    return true;
}

bool sw_tune_store_open(const char *file, bool create, struct sw_tune_store **out,
                        struct sw_tune_reason *reason)
{
    struct sw_tune_store *store = calloc(1, sizeof(*store));
    *out = NULL;
    if (store == NULL) {
        return sw_tune_refuse(reason, "not enough memory");
    }
    snprintf(store->file, sizeof(store->file), "%s", file);
    if (!create && access(file, R_OK) != 0) {
        free(store);
        return sw_tune_refuse(reason, "there is no file %s: run bench/tune/search first", file);
    }
    bool good = sqlite3_open_v2(file, &store->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                                NULL) == SQLITE_OK;
    if (!good) {
        (void)sw_tune_refuse(reason, "%s cannot be opened: %s", file, sqlite3_errmsg(store->db));
    }
    if (!good || !prepare(store, reason)) {
        sw_tune_store_close(store);
        return false;
    }
    *out = store;
    return true;
}

void sw_tune_store_close(struct sw_tune_store *store)
{
    if (store != NULL) {
        (void)sqlite3_close_v2(store->db);
        free(store);
    }
}

sqlite3_stmt *sw_tune_prepare(struct sw_tune_store *store, const char *sql, const char *types, ...)
{
    sqlite3_stmt *statement = NULL;
    va_list arguments;
    if (sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL) != SQLITE_OK) {
        return NULL;
    }
    va_start(arguments, types);
    int error = SQLITE_OK;
    for (int i = 0; types[i] != '\0'; i++) {
        if (types[i] == 't') { /* text that outlives the statement */
            error |= sqlite3_bind_text(statement, i + 1, va_arg(arguments, const char *), -1,
                                       SQLITE_STATIC);
        } else if (types[i] == 'i') {
            error |= sqlite3_bind_int64(statement, i + 1, va_arg(arguments, int64_t));
        } else {
            error |= sqlite3_bind_double(statement, i + 1, va_arg(arguments, double));
        }
    }
    va_end(arguments);
    if (error != SQLITE_OK) {
        (void)sqlite3_finalize(statement);
        return NULL;
    }
    return statement;
}

bool sw_tune_next(sqlite3_stmt *rows)
{
    return rows != NULL && sqlite3_step(rows) == SQLITE_ROW;
}

bool sw_tune_end(sqlite3_stmt *rows)
{
    return sqlite3_finalize(rows) == SQLITE_OK && rows != NULL;
}

void sw_tune_column(sqlite3_stmt *rows, int column, char *to, size_t size)
{
    const unsigned char *text = sqlite3_column_text(rows, column);
    snprintf(to, size, "%s", text != NULL ? (const char *)text : "");
}

/* Carries out a statement that gives no rows, and frees it. */
static bool carry_out(sqlite3_stmt *statement)
{
    (void)sw_tune_next(statement);
    return sw_tune_end(statement);
}

static bool execute(struct sw_tune_store *store, const char *sql)
{
    return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK;
}

/* --- spaces ----------------------------------------------------------------------------------- */

static bool write_axes(struct sw_tune_store *store, const struct sw_tune_space *space)
{
    bool good =
        carry_out(sw_tune_prepare(store, "DELETE FROM axis WHERE kernel = ?", "t", space->kernel));
    for (uint32_t a = 0; good && a < space->axis_count; a++) {
        const struct sw_tune_axis *axis = &space->axes[a];
        for (uint32_t v = 0; good && v < axis->count; v++) {
            good = carry_out(sw_tune_prepare(store, "INSERT INTO axis VALUES(?, ?, ?, ?, ?, ?)",
                                             "titiit", space->kernel, (int64_t)a, axis->name,
                                             (int64_t)axis->kind, (int64_t)v, axis->values[v]));
        }
    }
    return good;
}

static bool write_workloads(struct sw_tune_store *store, const struct sw_tune_space *space,
                            const char *sources)
{
    bool good =
        carry_out(sw_tune_prepare(store, "DELETE FROM space WHERE kernel = ?", "t", space->kernel));
    for (uint32_t w = 0; good && w < sw_tune_point_count(space, true); w++) {
        char workload[SW_TUNE_TEXT_MAX];
        char base[SW_TUNE_TEXT_MAX];
        struct sw_tune_variant variant;
        uint64_t count = sw_tune_variant_count(space, w);
        bool listed = false;
        for (uint64_t v = 0; v < count && !listed; v++) {
            sw_tune_variant_at(space, w, v, &variant);
            listed = sw_tune_variant_is_base(space, w, &variant);
        }
        sw_tune_variant_base(space, &variant);
        sw_tune_variant_name(space, w, &variant, base);
        sw_tune_point_text(space, true, w, workload);
        good = carry_out(sw_tune_prepare(store, "INSERT INTO space VALUES(?, ?, ?, ?, ?, ?)",
                                         "ttitit", space->kernel, workload, (int64_t)w, sources,
                                         (int64_t)(count + !listed), base));
    }
    return good;
}

bool sw_tune_store_space(struct sw_tune_store *store, const struct sw_tune_space *space,
                         const char *sources)
{
    if (!execute(store, "BEGIN IMMEDIATE")) {
        return false;
    }
    if (write_axes(store, space) && write_workloads(store, space, sources) &&
        execute(store, "COMMIT")) {
        return true;
    }
    (void)execute(store, "ROLLBACK");
    return false;
}

/* --- results ---------------------------------------------------------------------------------- */

bool sw_tune_store_find(struct sw_tune_store *store, const struct sw_tune_key *key, int64_t *id,
                        char state[SW_TUNE_STATE_MAX])
{
    bool good = carry_out(sw_tune_prepare(
        store,
        "INSERT OR IGNORE INTO variant(kernel, workload, variant, sources, device, arch, state,"
        " note, date) VALUES(?, ?, ?, ?, ?, ?, '" SW_TUNE_STATE_PARTLY "', '', datetime('now'))",
        "tttttt", key->kernel, key->workload, key->variant, key->sources, key->device, key->arch));
    sqlite3_stmt *statement =
        good ? sw_tune_prepare(store,
                               "SELECT id, state FROM variant WHERE kernel = ? AND workload = ? AND"
                               " variant = ? AND sources = ? AND device = ?",
                               "ttttt", key->kernel, key->workload, key->variant, key->sources,
                               key->device)
             : NULL;
    good = sw_tune_next(statement);
    if (good) {
        *id = sqlite3_column_int64(statement, 0);
        sw_tune_column(statement, 1, state, SW_TUNE_STATE_MAX);
    }
    return sw_tune_end(statement) && good;
}

bool sw_tune_store_set_state(struct sw_tune_store *store, int64_t id, const char *state,
                             const char *note)
{
    return carry_out(sw_tune_prepare(
        store, "UPDATE variant SET state = ?, note = ?, date = datetime('now') WHERE id = ?", "tti",
        state, note, id));
}

bool sw_tune_store_forget(struct sw_tune_store *store, int64_t id)
{
    return carry_out(sw_tune_prepare(store, "DELETE FROM point WHERE id = ?", "i", id)) &&
           sw_tune_store_set_state(store, id, SW_TUNE_STATE_PARTLY, "");
}

bool sw_tune_store_add_point(struct sw_tune_store *store, int64_t id, const char *point,
                             const struct sw_tune_summary *summary,
                             const struct sw_tune_samples *samples)
{
    sqlite3_stmt *statement = sw_tune_prepare(
        store,
        "INSERT OR REPLACE INTO point(id, point, median, low, high, count, bytes, samples)"
        " VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
        "itdddid", id, point, summary->median, summary->low, summary->high, (int64_t)summary->count,
        summary->bytes);
    if (statement == NULL || sqlite3_bind_blob(statement, 8, samples->seconds,
                                               (int)(samples->count * sizeof(samples->seconds[0])),
                                               SQLITE_STATIC) != SQLITE_OK) {
        (void)sqlite3_finalize(statement);
        return false;
    }
    return carry_out(statement);
}

bool sw_tune_store_has(struct sw_tune_store *store, int64_t id, const char *point)
{
    sqlite3_stmt *rows =
        sw_tune_prepare(store, "SELECT 1 FROM point WHERE id = ? AND point = ?", "it", id, point);
    bool has = sw_tune_next(rows);
    return sw_tune_end(rows) && has;
}

bool sw_tune_store_samples(struct sw_tune_store *store, int64_t id, const char *point,
                           struct sw_tune_samples *samples)
{
    sqlite3_stmt *rows = sw_tune_prepare(
        store, "SELECT samples FROM point WHERE id = ? AND point = ?", "it", id, point);
    samples->count = 0;
    if (sw_tune_next(rows)) {
        size_t bytes = (size_t)sqlite3_column_bytes(rows, 0);
        bytes = bytes < sizeof(samples->seconds) ? bytes : sizeof(samples->seconds);
        samples->count = (uint32_t)(bytes / sizeof(samples->seconds[0]));
        if (bytes > 0) {
            memcpy(samples->seconds, sqlite3_column_blob(rows, 0), bytes);
        }
    }
    return sw_tune_end(rows);
}

/* One row of the table axis. False if it contradicts the rows before. */
static bool take_value(struct sw_tune_space *space, sqlite3_stmt *row)
{
    int64_t position = sqlite3_column_int64(row, 0);
    int64_t kind = sqlite3_column_int64(row, 2);
    if (position < 0 || position >= SW_TUNE_AXES_MAX || position > space->axis_count ||
        kind < SW_TUNE_COMPILED || kind > SW_TUNE_ORDERED ||
        space->axes[position].count == SW_TUNE_VALUES_MAX) {
        return false;
    }
    struct sw_tune_axis *axis = &space->axes[position];
    space->axis_count = (uint32_t)position + 1;
    axis->kind = (enum sw_tune_axis_kind)kind;
    sw_tune_column(row, 1, axis->name, sizeof(axis->name));
    sw_tune_column(row, 3, axis->values[axis->count++], SW_TUNE_NAME_MAX);
    return true;
}

bool sw_tune_store_axes(struct sw_tune_store *store, const char *kernel, struct sw_tune_space **out)
{
    struct sw_tune_space *space = calloc(1, sizeof(*space));
    sqlite3_stmt *rows = sw_tune_prepare(
        store,
        "SELECT position, axis, kind, value FROM axis WHERE kernel = ? ORDER BY position,"
        " value_position",
        "t", kernel);
    bool good = space != NULL;
    while (good && sw_tune_next(rows)) {
        good = take_value(space, rows);
    }
    good = sw_tune_end(rows) && good;
    if (good) {
        snprintf(space->kernel, sizeof(space->kernel), "%s", kernel);
    } else {
        free(space);
        space = NULL;
    }
    *out = space;
    return good;
}
