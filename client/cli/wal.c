/* SPDX-License-Identifier: MIT
 *
 * wal.c - sherwood-cli log check and log export: the write-ahead log of a data directory, offline.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/cli/cli.h"
#include "proto/snapshot_file.h"
#include "proto/wal_plan.h"

#define PATH_BYTES 4200
#define NAME_BYTES 32
#define SNAPSHOT_KIND "snapshot"

/* The log of a directory. Files are read whole, one at a time. */
struct wal {
    struct sw_cli *cli;
    const char *path;
    struct sw_wal_found *found;
    size_t count, room;
    uint64_t base;  /* sequence of the newest snapshot that is whole; 0: none */
    uint64_t named; /* highest in the name of a snapshot */
    struct sw_wal_plan plan;
};

static bool complain(const struct wal *wal, const char *name, const char *text)
{
    fprintf(wal->cli->messages, "sherwood-cli: %s%s%s: %s\n", wal->path, name[0] == '\0' ? "" : "/",
            name, text);
    return false;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* The number in a name of this kind: "kind-%016x". Returns false if it is another name. */
static bool is_named(const char *name, const char *kind, uint64_t *number)
{
    char again[NAME_BYTES];
    size_t prefix = strlen(kind);
    if (strncmp(name, kind, prefix) != 0 || name[prefix] != '-') {
        return false;
    }
    *number = strtoull(name + prefix + 1, NULL, 16);
    snprintf(again, sizeof(again), "%s-%016" PRIx64, kind, *number);
    return strcmp(name, again) == 0;
}

/* Is the snapshot whole, as far as its header and footer say? */
static bool is_whole(FILE *file)
{
    uint8_t bytes[SW_SNAPSHOT_HEADER_BYTES];
    struct sw_snapshot_header header;
    bool newer;
    if (fread(bytes, 1, sizeof(bytes), file) != sizeof(bytes) ||
        sw_snapshot_get_header(bytes, &header, &newer) != NULL ||
        fseeko(file, (off_t)(sw_snapshot_file_bytes(&header) - SW_SNAPSHOT_FOOTER_BYTES),
               SEEK_SET) != 0 ||
        fread(bytes, 1, SW_SNAPSHOT_FOOTER_BYTES, file) != SW_SNAPSHOT_FOOTER_BYTES) {
        return false;
    }
    return sw_snapshot_check_footer(&header, NULL, bytes) == NULL;
}

static void note_snapshot(struct wal *wal, const char *name, uint64_t number)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof(path), "%s/%s", wal->path, name);
    FILE *file = fopen(path, "rbe");
    wal->named = wal->named < number ? number : wal->named;
    if (file != NULL && number > wal->base && is_whole(file)) {
        wal->base = number;
    }
    if (file != NULL) {
        fclose(file);
    }
}

/* Notes the segment or snapshot that the name is one of. Returns false if there is no memory. */
static bool add(struct wal *wal, const char *name)
{
    uint64_t number;
    if (is_named(name, SNAPSHOT_KIND, &number)) {
        note_snapshot(wal, name, number);
        return true;
    }
    if (!is_named(name, SW_WAL_NAME, &number)) {
        return true;
    }
    if (wal->count == wal->room) {
        size_t room = wal->room * 2 + 16;
        struct sw_wal_found *found = realloc(wal->found, room * sizeof(*found));
        if (found == NULL) {
            return false;
        }
        wal->found = found;
        wal->room = room;
    }
    wal->found[wal->count++] = (struct sw_wal_found){.number = number};
    return true;
}

static int by_number(const void *left, const void *right)
{
    const struct sw_wal_found *a = left, *b = right;
    return (a->number > b->number) - (a->number < b->number);
}

static bool list(struct wal *wal)
{
    const struct dirent *entry;
    DIR *dir = opendir(wal->path);
    bool good = dir != NULL;
    if (!good) {
        return complain(wal, "", strerror(errno));
    }
    errno = 0;
    while (good && (entry = readdir(dir)) != NULL) {
        good = add(wal, entry->d_name);
    }
    int error = good ? errno : ENOMEM;
    closedir(dir);
    if (error != 0) {
        return complain(wal, "", strerror(error));
    }
    if (wal->count > 0) {
        qsort(wal->found, wal->count, sizeof(*wal->found), by_number);
    }
    return true;
}

/* Returns the bytes of an open file, or NULL with errno; the caller frees them. */
static uint8_t *read_all(FILE *file, uint64_t *size)
{
    struct stat facts;
    if (fstat(fileno(file), &facts) != 0) {
        return NULL;
    }
    *size = (uint64_t)facts.st_size;
    uint8_t *bytes = malloc(*size + 1);
    if (bytes != NULL && fread(bytes, 1, *size, file) != *size) {
        errno = ferror(file) ? errno : ENODATA;
        free(bytes);
        return NULL;
    }
    return bytes;
}

static uint8_t *load(const struct wal *wal, uint64_t number, uint64_t *size)
{
    char name[SW_WAL_NAME_BYTES];
    char path[PATH_BYTES];
    sw_wal_name(number, name);
    snprintf(path, sizeof(path), "%s/%s", wal->path, name);
    FILE *file = fopen(path, "rbe");
    uint8_t *bytes = file == NULL ? NULL : read_all(file, size);
    if (bytes == NULL) {
        complain(wal, name, strerror(errno));
    }
    if (file != NULL) {
        fclose(file);
    }
    return bytes;
}

static bool look_at_all(struct wal *wal)
{
    for (size_t i = 0; i < wal->count; i++) {
        struct sw_wal_found *found = &wal->found[i];
        uint64_t size = 0;
        uint8_t *bytes = load(wal, found->number, &size);
        if (bytes == NULL) {
            return false;
        }
        sw_wal_look(found, bytes, size);
        free(bytes);
    }
    return true;
}

/* --- commands --------------------------------------------------------------------------------- */

static bool check(struct wal *wal)
{
    FILE *out = wal->cli->out;
    if (wal->plan.end == 0) {
        fprintf(out, "%s: no writes in %zu segments\n", wal->path, wal->count);
        return true;
    }
    fprintf(out,
            "%s: writes up to %" PRIu64 " in %zu segments; up to %" PRIu64 " they were durable\n",
            wal->path, wal->plan.end, wal->count, wal->plan.evidence);
    if (wal->base > 0) {
        fprintf(out, "%s: a snapshot stands for those up to %" PRIu64 "\n", wal->path, wal->base);
    }
    if (wal->plan.is_torn) {
        fprintf(out, "%s: behind them a write was cut that nobody was told was durable\n",
                wal->path);
    }
    return true;
}

static uint64_t integer_at(const uint8_t *column, uint32_t bytes, uint32_t i)
{
    uint64_t number = 0;
    memcpy(&number, column + (size_t)i * bytes, bytes);
    return number;
}

static void print_write(FILE *out, const struct sw_wal_shape *shape,
                        const struct sw_wal_record *record, const uint8_t *columns)
{
    struct sw_wal_columns bytes = sw_wal_columns(shape, record->count, record->flags);
    const uint8_t *operands = columns + bytes.keys;
    const uint8_t *operations = operands + bytes.operands;
    if (record->kind == SW_WAL_CLEAR) {
        fprintf(out, "%" PRIu64 ",CLEAR,,\n", record->sequence);
    }
    for (uint32_t i = 0; record->kind == SW_WAL_OPERATIONS && i < record->count; i++) {
        uint8_t operation =
            record->flags & SW_WAL_HAS_OPERATIONS ? operations[i] : record->operation;
        const char *name = sw_wal_operation_name(operation);
        fprintf(out, "%" PRIu64 ",%s,%" PRIu64 ",", record->sequence, name == NULL ? "" : name,
                integer_at(columns, shape->key_bytes, i));
        if (bytes.operands > 0 && name != NULL && strcmp(name, "DELETE") != 0) {
            fprintf(out, "%" PRIu64, integer_at(operands, shape->value_bytes, i));
        }
        fputc('\n', out);
    }
}

static bool export_piece(const struct wal *wal, const struct sw_wal_piece *piece)
{
    const struct sw_wal_found *found = &wal->found[piece->segment];
    struct sw_wal_reader reader;
    struct sw_wal_record record;
    const uint8_t *columns;
    uint64_t size = 0;
    uint8_t *bytes = load(wal, found->number, &size);
    if (bytes == NULL) {
        return false;
    }
    sw_wal_reader_init(&reader, bytes, size, &found->segment);
    while (sw_wal_reader_next(&reader, &record, &columns)) {
        if (sw_wal_is_write(&record) && record.sequence >= piece->from &&
            record.sequence <= piece->to) {
            print_write(wal->cli->out, &found->segment.shape, &record, columns);
        }
    }
    free(bytes);
    return true;
}

static bool export(struct wal *wal)
{
    bool good = true;
    fputs("sequence,operation,key,operand\n", wal->cli->out);
    for (size_t i = 0; good && i < wal->plan.pieces; i++) {
        good = export_piece(wal, &wal->plan.piece[i]);
    }
    return good;
}

static bool run(struct wal *wal, bool (*command)(struct wal *wal))
{
    char refusal[SW_WAL_REFUSAL_BYTES];
    if (!list(wal) || !look_at_all(wal)) {
        return false;
    }
    wal->plan.piece = calloc(wal->count + 1, sizeof(*wal->plan.piece));
    if (wal->plan.piece == NULL) {
        return complain(wal, "", strerror(ENOMEM));
    }
    return sw_wal_plan(&wal->plan, wal->found, wal->count, wal->base, wal->named, NULL, refusal)
               ? command(wal)
               : complain(wal, "", refusal);
}

int sw_cli_wal(struct sw_cli *cli, const char *command, const char *path)
{
    struct wal wal = {.cli = cli, .path = path};
    bool checks = strcasecmp(command, "check") == 0;
    if (!checks && strcasecmp(command, "export") != 0) {
        fprintf(cli->messages, "usage: sherwood-cli log check|export DIRECTORY\n");
        return 2;
    }
    bool good = run(&wal, checks ? check : export);
    free(wal.found);
    free(wal.plan.piece);
    return good ? 0 : 1;
}
