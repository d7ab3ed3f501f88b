/* SPDX-License-Identifier: MIT
 *
 * wal.c - sherwood-cli log check and log export: the write-ahead log of a data directory, offline.
 */
#include "client/cli/wal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "client/cli/rows.h"
#include "proto/catalog.h"
#include "proto/decimal.h"
#include "proto/plural.h"
#include "proto/value_type.h"

#define NO_LOG "no log: the directory has no file " SW_WAL_NAME "-*"

static bool check(struct sw_cli_wal *wal)
{
    FILE *out = wal->cli->out;
    if (wal->count == 0) {
        fprintf(out, "%s: " NO_LOG "\n", wal->path);
        return true;
    }
    if (wal->plan.end == 0) {
        fprintf(out, "%s: no writes in %zu segment%s\n", wal->path, wal->count,
                sw_plural_s(wal->count));
        return true;
    }
    fprintf(out,
            "%s: writes up to %" PRIu64 " in %zu segment%s; those up to %" PRIu64 " were durable\n",
            wal->path, wal->plan.end, wal->count, sw_plural_s(wal->count), wal->plan.evidence);
    if (wal->base > 0) {
        fprintf(out, "%s: a snapshot covers those up to %" PRIu64 "\n", wal->path, wal->base);
    }
    if (wal->plan.is_torn) {
        fprintf(out, "%s: the next write cannot be read, as after a crash\n", wal->path);
    }
    return true;
}

static uint64_t integer_at(const uint8_t *column, uint32_t bytes, uint32_t i)
{
    uint64_t number = 0;
    memcpy(&number, column + (size_t)i * bytes, bytes);
    return number;
}

/* Returns the expiry time that operation i sets; 0: none. */
static uint64_t time_of(const struct sw_wal_record *record, const uint8_t *times, uint32_t i)
{
    return record->flags & SW_WAL_HAS_TIMES  ? integer_at(times, sizeof(uint64_t), i)
           : record->flags & SW_WAL_HAS_TIME ? integer_at(times, sizeof(uint64_t), 0)
                                             : 0;
}

/* Prints the time, or "keep", and the end of the line. */
static void print_time(FILE *out, uint64_t at)
{
    if (at == UINT64_MAX) {
        fputs("keep\n", out);
    } else {
        fprintf(out, "%" PRIu64 "\n", at);
    }
}

static void print_write(FILE *out, const struct sw_wal_shape *shape,
                        const struct sw_wal_record *record, const uint8_t *columns)
{
    struct sw_wal_columns bytes = sw_wal_columns(shape, record);
    const uint8_t *operands = columns + bytes.keys;
    const uint8_t *operations = operands + bytes.operands;
    const uint8_t *times = operations + bytes.operations;
    if (record->kind == SW_WAL_CLEAR) {
        fprintf(out, "%" PRIu64 ",CLEAR,,\n", record->sequence);
    }
    for (uint32_t i = 0; bytes.expired_keys > 0 && i < record->expired_keys; i++) {
        fprintf(out, "%" PRIu64 ",EXPIRED,%" PRIu64 ",\n", record->sequence,
                integer_at(times + bytes.times, shape->key_bytes, i));
    }
    for (uint32_t i = 0; record->kind == SW_WAL_OPERATIONS && i < record->count; i++) {
        uint8_t operation =
            record->flags & SW_WAL_HAS_OPERATIONS ? operations[i] : record->operation;
        const char *name = sw_wal_operation_name(operation);
        fprintf(out, "%" PRIu64 ",%s,%" PRIu64, record->sequence, name == NULL ? "" : name,
                integer_at(columns, shape->key_bytes, i));
        const bool expires = name != NULL && strncmp(name, "EXPIRE", 6) == 0;
        const uint64_t at = time_of(record, times, i);
        bool has_operand =
            bytes.operands > 0 && name != NULL && strcmp(name, "DELETE") != 0 && !expires;
        if (has_operand && shape->value_format != SW_FRAME_VALUES_INTEGER) {
            const struct sw_cli_row_format format = {shape->value_format, shape->value_type,
                                                     shape->value_bytes - shape->key_text_bytes};
            fputc(',', out);
            sw_cli_row_write(out, &format, operands + (size_t)i * shape->value_bytes);
        } else if (has_operand) {
            fprintf(out, ",%" PRIu64, integer_at(operands, shape->value_bytes, i));
        } else {
            fputc(',', out);
        }
        if (expires) {
            print_time(out, at);
            continue;
        }
        fputc('\n', out);
        if (at != 0) {
            fprintf(out, "%" PRIu64 ",EXPIRES,%" PRIu64 ",", record->sequence,
                    integer_at(columns, shape->key_bytes, i));
            print_time(out, at);
        }
    }
}

/* Whether the log has writes of the exported table, and of others. */
struct exported {
    bool own, others;
};

/* Takes the shape of the table `id` from the message of a record, if it has the table. */
static void take_shape(const struct sw_wal_record *record, const uint8_t *message, uint32_t id,
                       struct sw_wal_shape *shape)
{
    struct sw_catalog catalog;
    bool newer;
    if (sw_catalog_decode_change(message, record->count, &catalog, &newer) == NULL) {
        const struct sw_catalog_table *table = sw_catalog_table_of(&catalog, id);
        *shape = table != NULL ? table->shape : *shape;
        sw_catalog_free(&catalog);
    }
}

/* Exports the writes of the table `id`, and sets what the piece has. */
static bool export_piece(const struct sw_cli_wal *wal, const struct sw_wal_piece *piece,
                         uint32_t id, struct exported *exported)
{
    const struct sw_wal_found *found = &wal->found[piece->segment];
    struct sw_wal_shape shape =
        id == SW_WAL_FIRST_TABLE ? found->segment.shape : (struct sw_wal_shape){.key_bytes = 0};
    struct sw_wal_reader reader;
    struct sw_wal_record record;
    const uint8_t *columns;
    uint64_t size = 0;
    uint8_t *bytes = sw_cli_wal_load(wal, found->number, &size);
    if (bytes == NULL) {
        return false;
    }
    sw_wal_reader_init(&reader, bytes, size, &found->segment);
    while (sw_wal_reader_next(&reader, &record, &columns)) {
        if (sw_wal_has_message(&record) && id != SW_WAL_FIRST_TABLE) {
            take_shape(&record, columns, id, &shape);
        }
        if (!sw_wal_is_write(&record) || record.kind == SW_WAL_CHANGE ||
            record.sequence < piece->from || record.sequence > piece->to) {
            continue;
        }
        exported->own |= record.table == id;
        exported->others |= record.table != id;
        const char *wrong = record.table != id     ? NULL
                            : shape.key_bytes == 0 ? "a segment lacks the widths of the table"
                            : !sw_wal_record_holds_columns(&record, &shape)
                                ? "a record is shorter than its operations need"
                                : NULL;
        if (wrong != NULL) {
            free(bytes);
            return sw_cli_wal_complain(wal, "", wrong);
        }
        if (record.table == id) {
            print_write(wal->cli->out, &shape, &record, columns);
        }
    }
    free(bytes);
    return true;
}

/* Reads the id of --table. Returns false with the reason printed. */
static bool read_id(const struct sw_cli_wal *wal, uint32_t *id)
{
    const char *text = wal->table;
    uint64_t number = SW_WAL_FIRST_TABLE;
    if (text != NULL &&
        (!sw_decimal_parse((const uint8_t *)text, strlen(text), UINT32_MAX, &number) ||
         number == 0)) {
        return sw_cli_wal_complain(wal, "", "--table is not the id that TABLE INFO shows");
    }
    *id = (uint32_t)number;
    return true;
}

static bool export(struct sw_cli_wal *wal)
{
    struct exported exported = {.own = false};
    uint32_t id = 0;
    bool good = read_id(wal, &id);
    if (wal->count == 0) {
        return sw_cli_wal_complain(wal, "", NO_LOG);
    }
    fputs("sequence,operation,key,operand\n", wal->cli->out);
    for (size_t i = 0; good && i < wal->plan.pieces; i++) {
        good = export_piece(wal, &wal->plan.piece[i], id, &exported);
    }
    if (good && !exported.own && wal->table != NULL) {
        sw_cli_wal_complain(wal, "", "no writes of this table: TABLE INFO shows the id of a table");
    }
    if (good && exported.others && wal->table == NULL) {
        sw_cli_wal_complain(wal, "",
                            "these are the writes of the table 1; --table ID exports another one");
    }
    return good;
}

static bool run_with_plan(struct sw_cli_wal *wal, bool (*command)(struct sw_cli_wal *wal))
{
    char refusal[SW_WAL_REFUSAL_BYTES];
    return sw_wal_plan(&wal->plan, wal->found, wal->count, wal->base, wal->named, NULL, refusal)
               ? command(wal)
               : sw_cli_wal_complain(wal, "", refusal);
}

int sw_cli_run_wal(struct sw_cli *cli, int count, char **words)
{
    struct sw_cli_wal wal = {.cli = cli};
    bool fixes = false, yes = false;
    const bool checks = count > 0 && strcasecmp(words[0], "check") == 0;
    bool understood = checks || (count > 0 && strcasecmp(words[0], "export") == 0);
    for (int i = 1; i < count; i++) {
        if (checks && strcmp(words[i], "--fix") == 0) {
            fixes = true;
        } else if (checks && strcmp(words[i], "--yes") == 0) {
            yes = true;
        } else if (!checks && strcmp(words[i], "--table") == 0 && i + 1 < count) {
            wal.table = words[++i];
        } else {
            understood &= wal.path == NULL;
            wal.path = words[i];
        }
    }
    if (!understood || wal.path == NULL || (yes && !fixes)) {
        fprintf(cli->messages, "usage: sherwood-cli log check [--fix [--yes]] DIRECTORY\n"
                               "       sherwood-cli log export [--table ID] DIRECTORY\n");
        return 2;
    }
    bool good = fixes ? sw_cli_wal_fix(&wal, yes)
                      : sw_cli_wal_read(&wal) && run_with_plan(&wal, checks ? check : export);
    sw_cli_wal_free(&wal);
    return good ? 0 : 1;
}
