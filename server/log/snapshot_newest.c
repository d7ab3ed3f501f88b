/* SPDX-License-Identifier: MIT
 *
 * snapshot_newest.c - finds the newest whole snapshot or catalog of a directory, and loads it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/log/snapshot_load.h"
#include "server/log/snapshot_write.h"
#include "server/observe/log.h"
#include "table/batch.h"
#include "table/table.h"

bool sw_snapshot_names_catalog(const struct sw_directory *directory, const char *name)
{
    const struct sw_io *io = directory->io;
    uint8_t bytes[SW_SNAPSHOT_HEADER_BYTES];
    int fd = io->open(directory->fd, name, O_RDONLY, 0);
    if (fd < 0) {
        return false;
    }
    const bool is =
        sw_io_read(io, fd, bytes, sizeof(bytes), 0) == 0 && sw_snapshot_is_catalog(bytes);
    io->close(fd);
    return is;
}

static enum sw_load_outcome load_number(struct sw_load *load, uint64_t number,
                                        char reason[SW_LOAD_REASON_BYTES])
{
    char name[SW_DIRECTORY_NAME_MAX];
    sw_directory_name(SW_SNAPSHOT_KIND, number, name);
    load->is_catalog = load->catalog != NULL && sw_snapshot_names_catalog(load->directory, name);
    return load->is_catalog ? load->catalog(load, number, reason)
                            : sw_snapshot_load_file(load, name, number, reason);
}

/* Removes all entries of the table. */
static int clear(struct sw_load *load)
{
    struct sw_queue *queue = NULL;
    struct sw_batch clear = {.kind = SW_BATCH_CLEAR};
    int status = sw_queue_create(load->table, &queue);
    status = status == SW_OK ? sw_batch_run(queue, &clear) : status;
    sw_queue_destroy(queue);
    return status == SW_OK ? 0 : -1;
}

/* Logs a damaged file, and removes its entries from the table. */
static enum sw_load_outcome step_over(struct sw_load *load, uint64_t number,
                                      char reason[SW_LOAD_REASON_BYTES])
{
    sw_log(SW_LOG_ERROR, "%s: the server leaves it in place and tries the snapshot before it",
           reason);
    if (load->damaged_count < SW_LOAD_DAMAGED_MAX) {
        load->damaged[load->damaged_count++] = number;
    }
    if ((load->is_catalog && load->reset != NULL && load->reset(load) != 0) || clear(load) != 0) {
        snprintf(reason, SW_LOAD_REASON_BYTES, "the table cannot be emptied");
        return SW_LOAD_REFUSED;
    }
    return SW_LOAD_DAMAGED;
}

static int load_newest(struct sw_load *load, const uint64_t *numbers, size_t count,
                       char reason[SW_LOAD_REASON_BYTES])
{
    load->highest = count > 0 ? numbers[count - 1] : 0;
    while (count > 0) {
        uint64_t number = numbers[--count];
        enum sw_load_outcome outcome = load_number(load, number, reason);
        if (outcome == SW_LOAD_DAMAGED) {
            outcome = step_over(load, number, reason);
        }
        if (outcome != SW_LOAD_DAMAGED) {
            load->found = outcome == SW_LOAD_WHOLE;
            load->base = load->is_catalog ? load->base : load->header.sequence;
            return outcome == SW_LOAD_WHOLE ? 0 : -1;
        }
    }
    if (load->damaged_count > 0) {
        snprintf(reason, SW_LOAD_REASON_BYTES,
                 "all snapshots in %s are damaged: move them away to start with an empty table",
                 load->directory->path);
        return -1;
    }
    return 0;
}

int sw_snapshot_load(struct sw_load *load, char reason[SW_LOAD_REASON_BYTES])
{
    uint64_t *numbers = NULL;
    size_t count = 0;
    if (sw_directory_numbers(load->directory, SW_SNAPSHOT_KIND, &numbers, &count) != 0) {
        snprintf(reason, SW_LOAD_REASON_BYTES, "the data directory %s cannot be read: %s",
                 load->directory->path, strerror(errno));
        return -1;
    }
    int status = load_newest(load, numbers, count, reason);
    free(numbers);
    if (load->found) {
        memcpy(load->directory->log_id, load->header.log_id, SW_LOG_ID_BYTES);
    }
    if (status == 0) {
        sw_table_set_sequence(load->table, load->highest);
    }
    return status;
}
