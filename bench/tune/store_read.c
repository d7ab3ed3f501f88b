/* SPDX-License-Identifier: MIT
 *
 * store_read.c - walks over what an SQLite file holds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/tune/store_file.h"

static const char *text_of(sqlite3_stmt *statement, int column)
{
    const unsigned char *text = sqlite3_column_text(statement, column);
    return text != NULL ? (const char *)text : "";
}

static void copy_text(char *to, size_t size, sqlite3_stmt *statement, int column)
{
    snprintf(to, size, "%s", text_of(statement, column));
}

bool sw_tune_store_points(struct sw_tune_store *store, int64_t id, sw_tune_point_visitor visit,
                          void *context)
{
    sqlite3_stmt *statement = sw_tune_prepare(
        store, "SELECT point, median, samples FROM point WHERE id = ? ORDER BY rowid", "i", id);
    int step = SQLITE_DONE;
    while (statement != NULL && (step = sqlite3_step(statement)) == SQLITE_ROW) {
        double samples[SW_TUNE_SAMPLES_MAX];
        size_t bytes = (size_t)sqlite3_column_bytes(statement, 2);
        bytes = bytes < sizeof(samples) ? bytes : sizeof(samples);
        if (bytes > 0) {
            memcpy(samples, sqlite3_column_blob(statement, 2), bytes);
        }
        if (!visit(context, text_of(statement, 0), sqlite3_column_double(statement, 1), samples,
                   (uint32_t)(bytes / sizeof(samples[0])))) {
            break;
        }
    }
    return sqlite3_finalize(statement) == SQLITE_OK && statement != NULL && step == SQLITE_DONE;
}

bool sw_tune_store_workloads(struct sw_tune_store *store, sw_tune_workload_visitor visit,
                             void *context)
{
    sqlite3_stmt *statement = sw_tune_prepare(
        store,
        "SELECT DISTINCT s.kernel, s.workload, s.sources, s.base, s.variants, v.device, v.arch"
        " FROM space s LEFT JOIN variant v USING(kernel, workload, sources)"
        " ORDER BY v.device, s.kernel, s.position",
        "");
    int step = SQLITE_DONE;
    while (statement != NULL && (step = sqlite3_step(statement)) == SQLITE_ROW) {
        struct sw_tune_workload workload;
        copy_text(workload.kernel, sizeof(workload.kernel), statement, 0);
        copy_text(workload.workload, sizeof(workload.workload), statement, 1);
        copy_text(workload.sources, sizeof(workload.sources), statement, 2);
        copy_text(workload.base, sizeof(workload.base), statement, 3);
        workload.variants = (uint64_t)sqlite3_column_int64(statement, 4);
        copy_text(workload.device, sizeof(workload.device), statement, 5);
        copy_text(workload.arch, sizeof(workload.arch), statement, 6);
        if (!visit(context, &workload)) {
            break;
        }
    }
    return sqlite3_finalize(statement) == SQLITE_OK && statement != NULL && step == SQLITE_DONE;
}

bool sw_tune_store_variants(struct sw_tune_store *store, const struct sw_tune_workload *workload,
                            sw_tune_variant_visitor visit, void *context)
{
    sqlite3_stmt *statement = sw_tune_prepare(
        store,
        "SELECT id, variant, state, note, date FROM variant WHERE kernel = ? AND workload = ? AND"
        " sources = ? AND device = ? ORDER BY id",
        "tttt", workload->kernel, workload->workload, workload->sources, workload->device);
    int step = SQLITE_DONE;
    while (statement != NULL && (step = sqlite3_step(statement)) == SQLITE_ROW) {
        if (!visit(context, sqlite3_column_int64(statement, 0), text_of(statement, 1),
                   text_of(statement, 2), text_of(statement, 3), text_of(statement, 4))) {
            break;
        }
    }
    return sqlite3_finalize(statement) == SQLITE_OK && statement != NULL && step == SQLITE_DONE;
}

/* One row of the table axis. False if it contradicts the rows before. */
static bool take_value(struct sw_tune_space *space, sqlite3_stmt *statement)
{
    int64_t position = sqlite3_column_int64(statement, 0);
    int64_t kind = sqlite3_column_int64(statement, 2);
    if (position < 0 || position >= SW_TUNE_AXES_MAX || position > space->axis_count ||
        kind < SW_TUNE_COMPILED || kind > SW_TUNE_ORDERED) {
        return false;
    }
    struct sw_tune_axis *axis = &space->axes[position];
    if (axis->count == SW_TUNE_VALUES_MAX) {
        return false;
    }
    space->axis_count = (uint32_t)position + 1;
    axis->kind = (enum sw_tune_axis_kind)kind;
    copy_text(axis->name, sizeof(axis->name), statement, 1);
    copy_text(axis->values[axis->count++], SW_TUNE_NAME_MAX, statement, 3);
    return true;
}

bool sw_tune_store_axes(struct sw_tune_store *store, const char *kernel, struct sw_tune_space **out)
{
    struct sw_tune_space *space = calloc(1, sizeof(*space));
    sqlite3_stmt *statement = sw_tune_prepare(
        store,
        "SELECT position, axis, kind, value FROM axis WHERE kernel = ? ORDER BY position,"
        " value_position",
        "t", kernel);
    int step = SQLITE_DONE;
    bool good = space != NULL && statement != NULL;
    while (good && (step = sqlite3_step(statement)) == SQLITE_ROW) {
        good = take_value(space, statement);
    }
    good = sqlite3_finalize(statement) == SQLITE_OK && good && step == SQLITE_DONE;
    if (good) {
        snprintf(space->kernel, sizeof(space->kernel), "%s", kernel);
        *out = space;
        return true;
    }
    free(space);
    *out = NULL;
    return false;
}
