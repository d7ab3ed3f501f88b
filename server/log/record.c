/* SPDX-License-Identifier: MIT
 *
 * record.c - writing records to a segment.
 */
#include <errno.h>
#include <string.h>

#include "proto/check.h"
#include "server/log/clock.h"
#include "server/log/wal_parts.h"

int sw_wal_write_pieces(const struct sw_io *io, int fd, struct iovec *pieces, int count,
                        uint64_t at)
{
    while (count > 0) {
        ssize_t put = io->pwritev(fd, pieces, count, (off_t)at);
        if (put < 0 && (errno == EINTR || errno == EAGAIN)) {
            continue;
        }
        if (put <= 0) {
            errno = put == 0 ? EIO : errno;
            return -1;
        }
        at += (uint64_t)put;
        for (; count > 0 && (size_t)put >= pieces->iov_len; pieces++, count--) {
            put -= (ssize_t)pieces->iov_len;
        }
        if (count > 0) {
            pieces->iov_base = (uint8_t *)pieces->iov_base + put;
            pieces->iov_len -= (size_t)put;
        }
    }
    return 0;
}

int sw_wal_write_direct(const struct sw_io *io, int fd, void *stage, const struct iovec *pieces,
                        int count, uint64_t at)
{
    uint8_t *bytes = stage;
    size_t filled = 0;
    for (int i = 0; i < count; i++) {
        for (size_t done = 0; done < pieces[i].iov_len;) {
            size_t rest = pieces[i].iov_len - done, room = SW_WAL_STAGE_BYTES - filled;
            size_t some = rest < room ? rest : room;
            memcpy(bytes + filled, (const uint8_t *)pieces[i].iov_base + done, some);
            done += some;
            filled += some;
            if (filled == SW_WAL_STAGE_BYTES) {
                if (sw_io_write(io, fd, stage, filled, at) != 0) {
                    return -1;
                }
                at += filled;
                filled = 0;
            }
        }
    }
    size_t whole = sw_wal_align(filled, SW_WAL_PAGE);
    memset(bytes + filled, 0, whole - filled);
    return whole == 0 ? 0 : sw_io_write(io, fd, stage, whole, at);
}

uint64_t sw_wal_write_bytes(const struct sw_wal_write *write)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < SW_WAL_COLUMNS_MAX; i++) {
        bytes += write->columns[i].iov_len;
    }
    return bytes;
}

uint64_t sw_wal_write_check(const struct sw_wal_write *write, uint64_t salt)
{
    return sw_check64_pieces(write->columns, SW_WAL_COLUMNS_MAX, salt);
}

void sw_wal_put_header(const struct sw_wal_slot *slot, uint64_t synced, uint64_t salt,
                       uint8_t header[SW_WAL_RECORD_BYTES])
{
    const struct sw_wal_write *write = &slot->write;
    const struct sw_wal_record record = {
        .kind = write->kind,
        .operation = write->operation,
        .flags = write->flags,
        .sequence = write->sequence,
        .synced = synced,
        .wall_us = slot->wall_us,
        .count = write->count,
        .expired_keys = write->expired_keys,
        .units = (uint32_t)((SW_WAL_RECORD_BYTES + sw_wal_write_bytes(write)) / SW_WAL_ALIGN),
        .columns_check = slot->salt == salt ? slot->columns_check : sw_wal_write_check(write, salt),
    };
    sw_wal_record_encode(&record, salt, header);
}

int sw_wal_put_mark(struct sw_wal *wal, struct sw_wal_file *file, enum sw_wal_kind kind)
{
    uint8_t bytes[SW_WAL_RECORD_BYTES];
    const struct sw_wal_slot slot = {
        .write = {.kind = kind, .sequence = file->last},
        .wall_us = sw_log_wall_us(),
        .salt = file->salt,
        .columns_check = sw_check64(NULL, 0, file->salt),
    };
    uint64_t durable = __atomic_load_n(&wal->durable, __ATOMIC_ACQUIRE);
    file->at = sw_wal_align(file->at, SW_WAL_PAGE);
    sw_wal_put_header(&slot, durable, file->salt, bytes);
    const struct iovec piece = {bytes, sizeof(bytes)};
    int status = file->direct
                     ? sw_wal_write_direct(wal->io, file->fd, wal->stage, &piece, 1, file->at)
                     : sw_io_write(wal->io, file->fd, bytes, sizeof(bytes), file->at);
    if (status != 0) {
        return -1;
    }
    file->at += sizeof(bytes);
    file->told = durable;
    return 0;
}
