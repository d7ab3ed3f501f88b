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

/* Returns whether every block of the snapshot is sound. Prints errors. */
static bool is_whole(struct sw_cli_wal *wal, uint64_t number)
{
    struct sw_cli_snapshot snapshot;
    char path[SW_CLI_WAL_PATH_BYTES];
    int more = -1;
    snprintf(path, sizeof(path), "%s/" SW_CLI_SNAPSHOT_KIND "-%016" PRIx64, wal->path, number);
    if (sw_cli_snapshot_open(&snapshot, path, wal->cli->messages)) {
        while ((more = sw_cli_snapshot_next(&snapshot)) == 1) {
        }
    }
    if (more == 0) {
        wal->plan.beside =
            (struct sw_wal_beside){snapshot.header.segment, snapshot.header.segments_from};
        memcpy(wal->plan.log_id, snapshot.header.log_id, sizeof(wal->plan.log_id));
    }
    sw_cli_snapshot_fini(&snapshot);
    return more == 0;
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
    for (size_t i = 0; i < wal->snapshot_count && wal->base == 0; i++) {
        wal->base = is_whole(wal, wal->snapshots[i]) ? wal->snapshots[i] : 0;
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
        return sw_cli_wal_complain(wal, "", strerror(errno));
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

uint8_t *sw_cli_wal_load(const struct sw_cli_wal *wal, uint64_t number, uint64_t *size)
{
    char name[SW_WAL_NAME_BYTES];
    char path[SW_CLI_WAL_PATH_BYTES];
    sw_wal_name(number, name);
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
