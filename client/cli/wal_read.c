/* SPDX-License-Identifier: MIT
 *
 * wal_read.c - reads the segments of a data directory, and finds the snapshot that they follow.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "client/cli/snapshot_read.h"
#include "client/cli/wal.h"
#include "proto/catalog.h"
#include "proto/check.h"
#include "proto/regular_file.h"

#define NAME_BYTES 32

bool sw_cli_wal_complain(const struct sw_cli_wal *wal, const char *name, const char *text)
{
    fprintf(wal->cli->messages, "sherwood-cli: %s%s%s: %s\n", wal->path, name[0] == '\0' ? "" : "/",
            name, text);
    return false;
}

/* Reads the number in a name "kind-%016x". Returns false if the name is not of this kind. */
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

/* Reads the file first-segment. */
static bool read_first(struct sw_cli_wal *wal)
{
    char path[SW_CLI_WAL_PATH_BYTES], text[SW_WAL_FIRST_BYTES];
    struct sw_wal_first *first = &wal->plan.first;
    snprintf(path, sizeof(path), "%s/" SW_WAL_FIRST_NAME, wal->path);
    FILE *file = sw_fopen_regular(path);
    if (file == NULL) {
        return errno == ENOENT || errno == ENOTDIR ||
               sw_cli_wal_complain(wal, SW_WAL_FIRST_NAME, sw_file_error(errno));
    }
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    const int error = ferror(file) ? errno : 0;
    fclose(file);
    if (error != 0) {
        return sw_cli_wal_complain(wal, SW_WAL_FIRST_NAME, strerror(error));
    }
    if (!sw_wal_first_decode(text, first)) {
        sw_cli_wal_complain(wal, SW_WAL_FIRST_NAME,
                            "is damaged or of a later version, and is ignored");
        first->number = 0;
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

/* Returns the bytes of a file of the directory, which the caller frees; or NULL with the reason
 * printed. */
static uint8_t *load_named(const struct sw_cli_wal *wal, const char *name, uint64_t *size)
{
    char path[SW_CLI_WAL_PATH_BYTES];
    snprintf(path, sizeof(path), "%s/%s", wal->path, name);
    FILE *file = sw_fopen_regular(path);
    uint8_t *bytes = file == NULL ? NULL : read_all(file, size);
    if (bytes == NULL) {
        sw_cli_wal_complain(wal, name, sw_file_error(errno));
    }
    if (file != NULL) {
        fclose(file);
    }
    return bytes;
}

uint8_t *sw_cli_wal_load(const struct sw_cli_wal *wal, uint64_t number, uint64_t *size)
{
    char name[SW_WAL_NAME_BYTES];
    sw_wal_name(number, name);
    return load_named(wal, name, size);
}

/* Returns whether every block of the file is sound. Prints errors. */
static bool is_whole_file(const struct sw_cli_wal *wal, const char *path,
                          struct sw_snapshot_header *header)
{
    struct sw_cli_snapshot snapshot;
    int more = -1;
    if (sw_cli_snapshot_open(&snapshot, path, wal->cli->messages)) {
        while ((more = sw_cli_snapshot_next(&snapshot)) == 1) {
        }
    }
    *header = snapshot.header;
    sw_cli_snapshot_fini(&snapshot);
    return more == 0;
}

/* Returns whether the file begins with the intact header of a catalog. */
static bool is_catalog(const char *path)
{
    uint8_t bytes[SW_SNAPSHOT_HEADER_BYTES];
    FILE *file = sw_fopen_regular(path);
    const bool is = file != NULL && fread(bytes, 1, sizeof(bytes), file) == sizeof(bytes) &&
                    sw_snapshot_is_catalog(bytes);
    if (file != NULL) {
        fclose(file);
    }
    return is;
}

/* Decodes the bytes of a catalog's file. Returns NULL, or an error. */
static const char *decode_catalog(const uint8_t *bytes, uint64_t size,
                                  struct sw_catalog_header *header, struct sw_catalog *catalog)
{
    bool newer;
    const char *wrong = size < SW_SNAPSHOT_HEADER_BYTES
                            ? "ends too early"
                            : sw_catalog_get_header(bytes, header, &newer);
    if (wrong == NULL && size < sw_catalog_file_bytes(header)) {
        wrong = "ends too early";
    }
    const uint8_t *message = bytes + SW_SNAPSHOT_HEADER_BYTES;
    if (wrong == NULL && sw_check64(message, (size_t)header->bytes, 0) != header->check) {
        wrong = "has a damaged catalog";
    }
    return wrong != NULL ? wrong
                         : sw_catalog_decode(message, (size_t)header->bytes, catalog, &newer);
}

/* Returns whether the files of all tables are sound, and the least number that they are through in
 * *through. Prints errors. */
static bool are_whole(const struct sw_cli_wal *wal, const struct sw_catalog *catalog,
                      uint64_t *through)
{
    bool whole = true;
    for (size_t i = 0; i < catalog->table_count && whole; i++) {
        const struct sw_catalog_table *table = &catalog->tables[i];
        char path[SW_CLI_WAL_PATH_BYTES];
        struct sw_snapshot_header header;
        *through = table->through < *through ? table->through : *through;
        snprintf(path, sizeof(path), "%s/table-%08" PRIx32 "-%016" PRIx64, wal->path, table->id,
                 table->file);
        whole = table->file == 0 || is_whole_file(wal, path, &header);
    }
    return whole;
}

/* Returns whether the catalog `name` and its files are sound. Prints errors. */
static bool is_whole_catalog(struct sw_cli_wal *wal, const char *name)
{
    struct sw_catalog_header header;
    struct sw_catalog catalog;
    uint64_t size = 0;
    uint8_t *bytes = load_named(wal, name, &size);
    if (bytes == NULL) {
        return false;
    }
    const char *wrong = decode_catalog(bytes, size, &header, &catalog);
    free(bytes);
    if (wrong != NULL) {
        return sw_cli_wal_complain(wal, name, wrong);
    }
    uint64_t through = header.sequence;
    const bool whole = are_whole(wal, &catalog, &through);
    if (whole) {
        /* without any segment the catalog is all that a start loads */
        wal->base = wal->count == 0 ? header.sequence : through;
        wal->plan.beside = (struct sw_wal_beside){header.segment, header.segments_from};
        memcpy(wal->plan.log_id, header.log_id, sizeof(wal->plan.log_id));
    }
    sw_catalog_free(&catalog);
    return whole;
}

/* Returns whether the snapshot or catalog is sound. Prints errors. */
static bool is_whole(struct sw_cli_wal *wal, uint64_t number)
{
    struct sw_snapshot_header header;
    char name[NAME_BYTES], path[SW_CLI_WAL_PATH_BYTES];
    snprintf(name, sizeof(name), SW_CLI_SNAPSHOT_KIND "-%016" PRIx64, number);
    snprintf(path, sizeof(path), "%s/%s", wal->path, name);
    if (is_catalog(path)) {
        return is_whole_catalog(wal, name);
    }
    if (!is_whole_file(wal, path, &header)) {
        return false;
    }
    wal->base = number;
    wal->plan.beside = (struct sw_wal_beside){header.segment, header.segments_from};
    memcpy(wal->plan.log_id, header.log_id, sizeof(wal->plan.log_id));
    return true;
}

static int newest_first(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a < *b) - (*a > *b);
}

/* Finds the newest snapshot that is whole, because a start loads that one. */
static void find_base(struct sw_cli_wal *wal)
{
    if (wal->snapshot_count > 0) {
        qsort(wal->snapshots, wal->snapshot_count, sizeof(*wal->snapshots), newest_first);
        wal->named = wal->snapshots[0];
    }
    for (size_t i = 0; i < wal->snapshot_count && !is_whole(wal, wal->snapshots[i]); i++) {
    }
}

static bool add_snapshot(struct sw_cli_wal *wal, uint64_t number)
{
    if (wal->snapshot_count == wal->snapshot_room) {
        size_t room = wal->snapshot_room * 2 + 16;
        uint64_t *snapshots = realloc(wal->snapshots, room * sizeof(*snapshots));
        if (snapshots == NULL) {
            return false;
        }
        wal->snapshots = snapshots;
        wal->snapshot_room = room;
    }
    wal->snapshots[wal->snapshot_count++] = number;
    return true;
}

/* Records the segment or snapshot that has this name; ignores other names. Returns false if there
 * is no memory. */
static bool note_data_file(struct sw_cli_wal *wal, const char *name)
{
    uint64_t number;
    if (is_named(name, SW_CLI_SNAPSHOT_KIND, &number)) {
        return add_snapshot(wal, number);
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

static bool list(struct sw_cli_wal *wal)
{
    const struct dirent *entry;
    DIR *dir = opendir(wal->path);
    bool good = dir != NULL;
    if (!good) {
        char what[128];
        snprintf(what, sizeof(what), "%s: name the data directory of a server", strerror(errno));
        return sw_cli_wal_complain(wal, "", what);
    }
    errno = 0;
    while (good && (entry = readdir(dir)) != NULL) {
        good = note_data_file(wal, entry->d_name);
    }
    int error = good ? errno : ENOMEM;
    closedir(dir);
    if (error != 0) {
        return sw_cli_wal_complain(wal, "", strerror(error));
    }
    if (wal->count > 0) {
        qsort(wal->found, wal->count, sizeof(*wal->found), by_number);
    }
    return true;
}

static bool inspect_all(struct sw_cli_wal *wal)
{
    uint8_t boot[SW_BOOT_ID_BYTES];
    sw_boot_id(boot);
    for (size_t i = 0; i < wal->count; i++) {
        struct sw_wal_found *found = &wal->found[i];
        uint64_t size = 0;
        uint8_t *bytes = sw_cli_wal_load(wal, found->number, &size);
        if (bytes == NULL) {
            return false;
        }
        sw_wal_inspect(found, bytes, size, size, boot);
        free(bytes);
    }
    return true;
}

/* Reads first-segment before it lists the directory: a server that starts meanwhile creates a
 * segment before it writes first-segment, and the list would lack this segment. */
bool sw_cli_wal_read(struct sw_cli_wal *wal)
{
    if (!read_first(wal) || !list(wal) || !inspect_all(wal)) {
        return false;
    }
    find_base(wal);
    wal->plan.piece = calloc(wal->count + 1, sizeof(*wal->plan.piece));
    return wal->plan.piece != NULL || sw_cli_wal_complain(wal, "", strerror(ENOMEM));
}

void sw_cli_wal_free(struct sw_cli_wal *wal)
{
    free(wal->found);
    free(wal->snapshots);
    free(wal->plan.piece);
}
