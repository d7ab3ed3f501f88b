/* SPDX-License-Identifier: MIT
 *
 * snapshot_read.c - reading and checking the parts of a snapshot file.
 */
#include "client/cli/snapshot_read.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/regular_file.h"

static bool complain(const struct sw_cli_snapshot *snapshot, const char *what, uint64_t at)
{
    fprintf(snapshot->messages, "sherwood-cli: %s %s, at byte %" PRIu64 "\n", snapshot->path, what,
            at);
    return false;
}

static bool read_at(const struct sw_cli_snapshot *snapshot, void *to, size_t bytes, uint64_t at)
{
    size_t done = 0;
    while (done < bytes) {
        ssize_t got = pread(snapshot->fd, (uint8_t *)to + done, bytes - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            fprintf(snapshot->messages, "sherwood-cli: %s: %s, at byte %" PRIu64 "\n",
                    snapshot->path, strerror(errno), at);
            return false;
        }
        if (got == 0) {
            return complain(snapshot, "ends too early", at);
        }
        done += (size_t)got;
    }
    return true;
}

static bool read_header(struct sw_cli_snapshot *snapshot)
{
    uint8_t bytes[SW_SNAPSHOT_HEADER_BYTES];
    struct stat facts;
    bool newer = false;
    const bool has_facts = fstat(snapshot->fd, &facts) == 0;
    if (has_facts && (uint64_t)facts.st_size < sizeof(bytes)) {
        return complain(snapshot, "is not a snapshot: it is shorter than a header", 0);
    }
    if (!has_facts || !read_at(snapshot, bytes, sizeof(bytes), 0)) {
        return false;
    }
    if (sw_snapshot_is_catalog(bytes)) {
        fprintf(snapshot->messages,
                "sherwood-cli: %s is the catalog of several tables: name one of the files table-* "
                "beside it, each the snapshot of a table\n",
                snapshot->path);
        return false;
    }
    const char *wrong = sw_snapshot_get_header(bytes, &snapshot->header, &newer);
    if (wrong != NULL) {
        return complain(snapshot, wrong, 0);
    }
    snapshot->file_bytes = sw_snapshot_file_bytes(&snapshot->header);
    if ((uint64_t)facts.st_size != snapshot->file_bytes) {
        fprintf(snapshot->messages,
                "sherwood-cli: %s has %" PRIu64 " bytes, but its header announces %" PRIu64
                ": the file was cut or damaged\n",
                snapshot->path, (uint64_t)facts.st_size, snapshot->file_bytes);
        return false;
    }
    return true;
}

bool sw_cli_snapshot_open(struct sw_cli_snapshot *snapshot, const char *path, FILE *messages)
{
    *snapshot = (struct sw_cli_snapshot){.path = path, .messages = messages};
    snapshot->fd = sw_open_regular(AT_FDCWD, path, O_RDONLY, 0);
    if (snapshot->fd < 0) {
        fprintf(messages,
                "sherwood-cli: %s: %s: name a file snapshot-* or table-* that this user can read\n",
                path, sw_file_error(errno));
        return false;
    }
    if (!read_header(snapshot)) {
        return false;
    }
    const struct sw_snapshot_header *header = &snapshot->header;
    snapshot->block = malloc((size_t)sw_snapshot_block_bytes(header, header->block_entries));
    snapshot->checks = calloc((size_t)sw_snapshot_blocks(header) + 1, sizeof(*snapshot->checks));
    if (snapshot->block == NULL || snapshot->checks == NULL) {
        fprintf(messages, "sherwood-cli: not enough memory for a block of %s\n", path);
        return false;
    }
    return true;
}

void sw_cli_snapshot_fini(struct sw_cli_snapshot *snapshot)
{
    free(snapshot->block);
    free(snapshot->checks);
    if (snapshot->fd >= 0) {
        close(snapshot->fd);
    }
}

static int check_footer(struct sw_cli_snapshot *snapshot)
{
    uint8_t bytes[SW_SNAPSHOT_FOOTER_BYTES];
    const uint64_t at = snapshot->file_bytes - sizeof(bytes);
    if (!read_at(snapshot, bytes, sizeof(bytes), at)) {
        return -1;
    }
    const char *wrong = sw_snapshot_check_footer(&snapshot->header, snapshot->checks, bytes);
    return wrong == NULL || complain(snapshot, wrong, at) ? 0 : -1;
}

int sw_cli_snapshot_next(struct sw_cli_snapshot *snapshot)
{
    const struct sw_snapshot_header *header = &snapshot->header;
    const uint64_t number = snapshot->number;
    if (number == sw_snapshot_blocks(header)) {
        return check_footer(snapshot);
    }
    const uint64_t at = sw_snapshot_block_at(header, number);
    snapshot->entries = sw_snapshot_entries_of(header, number);
    if (!read_at(snapshot, snapshot->block,
                 (size_t)sw_snapshot_block_bytes(header, snapshot->entries), at)) {
        return -1;
    }
    const char *wrong =
        sw_snapshot_check_block(header, number, snapshot->block, &snapshot->checks[number]);
    if (wrong != NULL) {
        complain(snapshot, wrong, at);
        return -1;
    }
    snapshot->number++;
    return 1;
}

const uint8_t *sw_cli_snapshot_column(const struct sw_cli_snapshot *snapshot, uint32_t column)
{
    return snapshot->block + SW_SNAPSHOT_BLOCK_HEAD_BYTES +
           sw_snapshot_column_at(&snapshot->header, snapshot->entries, column);
}
