/* SPDX-License-Identifier: MIT
 *
 * catalog_file.c - writes, reads and removes the files of several tables.
 */
#include "server/log/catalog_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/check.h"
#include "proto/regular_file.h"
#include "server/log/clock.h"
#include "server/log/small_file.h"
#include "server/log/snapshot_write.h"
#include "server/observe/log.h"

#define NEW_NAME "new-catalog"

#define SAY(...) snprintf(reason, SW_LOAD_REASON_BYTES, __VA_ARGS__)

/* --- writing ---------------------------------------------------------------------------------- */

int sw_catalog_write(const struct sw_directory *directory, struct sw_catalog_header *header,
                     const struct sw_catalog *catalog, char reason[SW_LOAD_REASON_BYTES])
{
    char name[SW_DIRECTORY_NAME_MAX];
    size_t bytes = 0;
    uint8_t *message = sw_catalog_encode(catalog, &bytes);
    header->bytes = bytes;
    uint8_t *file =
        bytes > SW_CATALOG_BYTES_MAX ? NULL : calloc(1, (size_t)sw_catalog_file_bytes(header));
    if (message == NULL || file == NULL) {
        SAY("no memory for the catalog of %zu tables", catalog->table_count);
        free(message);
        free(file);
        return -1;
    }
    memcpy(file + SW_SNAPSHOT_HEADER_BYTES, message, bytes);
    header->check = sw_check64(message, bytes, 0);
    header->wall_us = sw_log_wall_us();
    memcpy(header->log_id, directory->log_id, SW_SNAPSHOT_ID_BYTES);
    snprintf(header->writer, sizeof(header->writer), "sherwoodd " SHERWOOD_VERSION);
    sw_catalog_put_header(header, file);
    sw_directory_name(SW_SNAPSHOT_KIND, header->sequence, name);
    const int status = sw_small_file_write(directory, name, NEW_NAME, (const char *)file,
                                           (size_t)sw_catalog_file_bytes(header));
    if (status != 0) {
        SAY("%s/%s cannot be written: %s", directory->path, name, sw_file_error(errno));
    }
    free(message);
    free(file);
    return status;
}

/* --- reading ---------------------------------------------------------------------------------- */

static enum sw_load_outcome unreadable(const struct sw_directory *directory, const char *name,
                                       char reason[SW_LOAD_REASON_BYTES])
{
    SAY("%s/%s cannot be read: %s", directory->path, name, sw_file_error(errno));
    return errno == ENODATA ? SW_LOAD_DAMAGED : SW_LOAD_REFUSED;
}

static enum sw_load_outcome read_open(const struct sw_directory *directory, int fd,
                                      const char *name, struct sw_catalog_header *header,
                                      struct sw_catalog *catalog, char reason[SW_LOAD_REASON_BYTES])
{
    uint8_t bytes[SW_SNAPSHOT_HEADER_BYTES];
    bool is_newer = false;
    if (sw_io_read(directory->io, fd, bytes, sizeof(bytes), 0) != 0) {
        return unreadable(directory, name, reason);
    }
    const char *wrong = sw_catalog_get_header(bytes, header, &is_newer);
    uint8_t *message = wrong != NULL ? NULL : malloc((size_t)header->bytes + 1);
    if (wrong == NULL && message == NULL) {
        SAY("not enough memory to read %s/%s", directory->path, name);
        return SW_LOAD_REFUSED;
    }
    if (wrong == NULL && sw_io_read(directory->io, fd, message, (size_t)header->bytes,
                                    SW_SNAPSHOT_HEADER_BYTES) != 0) {
        free(message);
        return unreadable(directory, name, reason);
    }
    if (wrong == NULL && sw_check64(message, (size_t)header->bytes, 0) != header->check) {
        wrong = "has a damaged catalog";
    }
    if (wrong == NULL) {
        wrong = sw_catalog_decode(message, (size_t)header->bytes, catalog, &is_newer);
    }
    free(message);
    if (wrong != NULL) {
        SAY("%s/%s %s", directory->path, name, wrong);
        return is_newer ? SW_LOAD_REFUSED : SW_LOAD_DAMAGED;
    }
    return SW_LOAD_WHOLE;
}

enum sw_load_outcome sw_catalog_read(const struct sw_directory *directory, uint64_t number,
                                     struct sw_catalog_header *header, struct sw_catalog *catalog,
                                     char reason[SW_LOAD_REASON_BYTES])
{
    char name[SW_DIRECTORY_NAME_MAX];
    sw_directory_name(SW_SNAPSHOT_KIND, number, name);
    int fd = directory->io->open(directory->fd, name, O_RDONLY, 0);
    if (fd < 0) {
        return unreadable(directory, name, reason);
    }
    enum sw_load_outcome outcome = read_open(directory, fd, name, header, catalog, reason);
    directory->io->close(fd);
    if (outcome == SW_LOAD_WHOLE && header->sequence != number) {
        SAY("%s/%s has the name of another catalog", directory->path, name);
        sw_catalog_free(catalog);
        return SW_LOAD_DAMAGED;
    }
    return outcome;
}

/* Lowers *through to what the snapshot or catalog has of each of its tables. Returns false if it
 * cannot be read. */
static bool lower_through(const struct sw_directory *directory, uint64_t number, uint64_t *through)
{
    struct sw_catalog_header header;
    struct sw_catalog catalog;
    char name[SW_DIRECTORY_NAME_MAX], reason[SW_LOAD_REASON_BYTES];
    sw_directory_name(SW_SNAPSHOT_KIND, number, name);
    *through = number < *through ? number : *through;
    if (!sw_snapshot_names_catalog(directory, name)) {
        return true;
    }
    if (sw_catalog_read(directory, number, &header, &catalog, reason) != SW_LOAD_WHOLE) {
        return false;
    }
    for (size_t i = 0; i < catalog.table_count; i++) {
        const uint64_t own = catalog.tables[i].through;
        *through = own < *through ? own : *through;
    }
    sw_catalog_free(&catalog);
    return true;
}

uint64_t sw_snapshots_through(const struct sw_directory *directory, const uint64_t *damaged,
                              size_t damaged_count)
{
    uint64_t *numbers = NULL, through = UINT64_MAX;
    size_t count = 0;
    bool all = sw_directory_numbers(directory, SW_SNAPSHOT_KIND, &numbers, &count) == 0;
    for (size_t i = 0; i < count && all; i++) {
        all = sw_snapshot_is_among(numbers[i], damaged, damaged_count) ||
              lower_through(directory, numbers[i], &through);
    }
    free(numbers);
    return all && through != UINT64_MAX ? through : 0;
}

/* --- removing --------------------------------------------------------------------------------- */

/* Names of files that stay, and of files that exist. */
struct naming {
    const struct sw_directory *directory;
    struct sw_saved_table *kept;
    size_t count, room;
    bool failed;
};

static void keep(struct naming *naming, uint32_t id, uint64_t file)
{
    if (naming->count == naming->room) {
        const size_t room = naming->room * 2 + 64;
        struct sw_saved_table *kept = realloc(naming->kept, room * sizeof(*kept));
        if (kept == NULL) {
            naming->failed = true;
            return;
        }
        naming->kept = kept;
        naming->room = room;
    }
    naming->kept[naming->count++] = (struct sw_saved_table){.id = id, .file = file};
}

/* Keeps the files that the catalogs of the directory name. A damaged catalog names none. */
static void keep_named(struct naming *naming)
{
    uint64_t *numbers = NULL;
    size_t count = 0;
    char reason[SW_LOAD_REASON_BYTES];
    naming->failed |=
        sw_directory_numbers(naming->directory, SW_SNAPSHOT_KIND, &numbers, &count) != 0;
    for (size_t i = 0; i < count && !naming->failed; i++) {
        struct sw_catalog_header header;
        struct sw_catalog catalog;
        char name[SW_DIRECTORY_NAME_MAX];
        sw_directory_name(SW_SNAPSHOT_KIND, numbers[i], name);
        if (!sw_snapshot_names_catalog(naming->directory, name)) {
            continue;
        }
        const enum sw_load_outcome outcome =
            sw_catalog_read(naming->directory, numbers[i], &header, &catalog, reason);
        naming->failed |= outcome == SW_LOAD_REFUSED;
        for (size_t t = 0; outcome == SW_LOAD_WHOLE && t < catalog.table_count; t++) {
            keep(naming, catalog.tables[t].id, catalog.tables[t].file);
        }
        if (outcome == SW_LOAD_WHOLE) {
            sw_catalog_free(&catalog);
        }
    }
    free(numbers);
}

static bool is_kept(const struct naming *naming, uint32_t id, uint64_t file)
{
    for (size_t i = 0; i < naming->count; i++) {
        if (naming->kept[i].id == id && naming->kept[i].file == file) {
            return true;
        }
    }
    return false;
}

static bool remove_one(void *context, const char *name)
{
    const struct naming *naming = context;
    const struct sw_directory *directory = naming->directory;
    uint32_t id = 0;
    uint64_t file = 0;
    if (sw_table_file_is_named(name, &id, &file) && !is_kept(naming, id, file) &&
        directory->io->unlink(directory->fd, name) != 0) {
        sw_log(SW_LOG_WARNING, "%s/%s cannot be removed: %s", directory->path, name,
               strerror(errno));
    }
    return true;
}

void sw_table_files_remove(const struct sw_directory *directory, const struct sw_saved_table *saved,
                           size_t saved_count)
{
    struct naming naming = {.directory = directory};
    for (size_t i = 0; i < saved_count; i++) {
        keep(&naming, saved[i].id, saved[i].file);
    }
    keep_named(&naming);
    if (naming.failed || directory->io->list(directory->fd, remove_one, &naming) != 0) {
        sw_log(SW_LOG_WARNING,
               "%s: old files of tables stay until the next snapshot: the catalogs cannot be read",
               directory->path);
    }
    free(naming.kept);
}
