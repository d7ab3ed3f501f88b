/* SPDX-License-Identifier: MIT
 *
 * snapshot_send.c - header, blocks, footer.
 */
#include "server/repl/snapshot_send.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/check.h"
#include "table/image.h"
#include "table/info.h"
#include "table/status.h"

struct sending {
    struct sw_snapshot_write write;
    const struct sw_snapshot_sending *what;
    uint8_t *block;
    uint64_t *checks;
    uint64_t blocks, room, bytes;
};

static int add_check(struct sending *sending, uint64_t check)
{
    if (sending->blocks == sending->room) {
        uint64_t room = sending->room == 0 ? 256 : sending->room * 2;
        uint64_t *checks = realloc(sending->checks, room * sizeof(*checks));
        if (checks == NULL) {
            return -1;
        }
        sending->checks = checks;
        sending->room = room;
    }
    sending->checks[sending->blocks++] = check;
    return 0;
}

static bool is_over(const struct sending *sending)
{
    return sending->what->is_over != NULL && sending->what->is_over(sending->what->context);
}

static int send_block(const struct sending *sending, size_t bytes)
{
    return sending->what->send(sending->what->context, sending->block, bytes);
}

static int send_blocks(struct sending *sending, char reason[SW_SNAPSHOT_REASON_BYTES])
{
    struct sw_snapshot_header *header = &sending->write.header;
    uint32_t entries = header->block_entries;
    while (entries == header->block_entries && !is_over(sending)) {
        int status = sw_snapshot_fill_block(header, sending->write.image, sending->block, &entries);
        if (status != SW_OK) {
            snprintf(reason, SW_SNAPSHOT_REASON_BYTES, "the table cannot be read: %s",
                     sw_status_text(status));
            return -1;
        }
        if (entries == 0) {
            break;
        }
        if (add_check(sending, sw_snapshot_seal_block(header, sending->blocks, entries,
                                                      sending->block)) != 0) {
            snprintf(reason, SW_SNAPSHOT_REASON_BYTES, "not enough memory to send a snapshot");
            return -1;
        }
        uint64_t bytes = sw_snapshot_block_bytes(header, entries);
        sending->bytes += bytes;
        header->entries += entries;
        if (send_block(sending, (size_t)bytes) != 0) {
            return -1;
        }
    }
    return 0;
}

static int send_footer(struct sending *sending)
{
    const struct sw_snapshot_footer footer = {
        .blocks = sending->blocks,
        .entries = sending->write.header.entries,
        .file_bytes = SW_SNAPSHOT_HEADER_BYTES + sending->bytes + SW_SNAPSHOT_FOOTER_BYTES,
        .check = sw_check64(sending->checks, (size_t)sending->blocks * sizeof(*sending->checks), 0),
        .sequence = sending->write.header.sequence,
    };
    sw_snapshot_put_footer(&footer, sending->block);
    return send_block(sending, SW_SNAPSHOT_FOOTER_BYTES);
}

static int send_all(struct sending *sending, char reason[SW_SNAPSHOT_REASON_BYTES])
{
    const struct sw_snapshot_header *header = &sending->write.header;
    size_t room = (size_t)sw_snapshot_block_bytes(header, header->block_entries);
    room = room < SW_SNAPSHOT_HEADER_BYTES ? SW_SNAPSHOT_HEADER_BYTES : room;
    sending->block = aligned_alloc(SW_SNAPSHOT_ALIGN, (room + SW_SNAPSHOT_ALIGN - 1) /
                                                          SW_SNAPSHOT_ALIGN * SW_SNAPSHOT_ALIGN);
    if (sending->block == NULL) {
        snprintf(reason, SW_SNAPSHOT_REASON_BYTES, "not enough memory to send a snapshot");
        return -1;
    }
    memset(sending->block, 0, room);
    struct sw_snapshot_header first = *header;
    struct sw_table_stats stats;
    sw_table_stats(sending->what->table, &stats);
    first.entries = stats.occupied; /* about: the footer has the number */
    sw_snapshot_put_header(&first, sending->block);
    return send_block(sending, SW_SNAPSHOT_HEADER_BYTES) != 0 ||
                   send_blocks(sending, reason) != 0 || send_footer(sending) != 0
               ? -1
               : 0;
}

int sw_snapshot_send(const struct sw_snapshot_sending *what, uint64_t *sequence,
                     char reason[SW_SNAPSHOT_REASON_BYTES])
{
    const struct sw_directory nowhere = {.fd = -1};
    struct sending sending = {.write = {.directory = &nowhere,
                                        .waits = what->waits,
                                        .context = what->context,
                                        .header.table = what->id},
                              .what = what};
    if (sw_snapshot_take(&sending.write, what->table, what->config, false, reason) != 0) {
        return -1;
    }
    *sequence = sending.write.header.sequence;
    int status = send_all(&sending, reason);
    sw_image_drop(sending.write.image);
    free(sending.checks);
    free(sending.block);
    return status;
}
