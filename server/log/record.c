/* SPDX-License-Identifier: MIT
 *
 * record.c - writing records to a segment.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "proto/check.h"
#include "server/iovec.h"
#include "server/log/clock.h"
#include "server/log/wal_parts.h"

struct sw_wal_write sw_wal_write_of(const struct sw_wal_record *record, uint8_t *columns)
{
    return (struct sw_wal_write){
        .sequence = record->sequence,
        .kind = record->kind,
        .operation = record->operation,
        .flags = record->flags,
        .count = record->count,
        .expired_keys = record->expired_keys,
        .table = record->table,
        .columns = {{columns, (size_t)record->units * SW_WAL_ALIGN - SW_WAL_RECORD_BYTES}}};
}

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
        sw_iovec_skip(&pieces, &count, (size_t)put);
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
    const bool has_table = write->table > SW_WAL_FIRST_TABLE;
    const struct sw_wal_record record = {
        .kind = write->kind,
        .operation = write->operation,
        .flags = (uint16_t)(write->flags | (has_table ? SW_WAL_HAS_TABLE : 0)),
        .table = write->table,
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

/* Writes a record that is no write, at the next page, with one column or none. */
static int put_record(struct sw_wal *wal, struct sw_wal_file *file,
                      const struct sw_wal_write *write)
{
    uint8_t bytes[SW_WAL_RECORD_BYTES];
    const struct sw_wal_slot slot = {.write = *write,
                                     .wall_us = sw_log_wall_us(),
                                     .salt = file->salt,
                                     .columns_check = sw_wal_write_check(write, file->salt)};
    uint64_t durable = __atomic_load_n(&wal->durable, __ATOMIC_ACQUIRE);
    file->at = sw_wal_align(file->at, SW_WAL_PAGE);
    sw_wal_put_header(&slot, durable, file->salt, bytes);
    struct iovec pieces[2] = {{bytes, sizeof(bytes)}, write->columns[0]};
    const int count = write->columns[0].iov_len > 0 ? 2 : 1;
    int status = file->direct
                     ? sw_wal_write_direct(wal->io, file->fd, wal->stage, pieces, count, file->at)
                 : count == 1 ? sw_io_write(wal->io, file->fd, bytes, sizeof(bytes), file->at)
                              : sw_wal_write_pieces(wal->io, file->fd, pieces, count, file->at);
    if (status != 0) {
        return -1;
    }
    file->at += sizeof(bytes) + write->columns[0].iov_len;
    file->told = durable;
    return 0;
}

int sw_wal_put_mark(struct sw_wal *wal, struct sw_wal_file *file, enum sw_wal_kind kind)
{
    const struct sw_wal_write write = {.kind = kind, .sequence = file->last};
    return put_record(wal, file, &write);
}

int sw_wal_put_catalog(struct sw_wal *wal, struct sw_wal_file *file)
{
    const struct sw_wal_catalog *catalog = &wal->catalog;
    const uint64_t bytes = sw_wal_align(catalog->bytes, SW_WAL_ALIGN);
    const struct sw_wal_write write = {.kind = SW_WAL_CATALOG,
                                       .sequence = file->last,
                                       .count = (uint32_t)catalog->bytes,
                                       .columns = {{catalog->message, bytes}}};
    const uint64_t behind = sw_wal_align(file->at + SW_WAL_RECORD_BYTES + bytes, SW_WAL_PAGE);
    const uint64_t left = file->size > behind ? file->size - behind : 0;
    pthread_mutex_lock(&wal->lock);
    const uint64_t longest = wal->longest_bytes > wal->config.columns_bytes_max
                                 ? wal->longest_bytes
                                 : wal->config.columns_bytes_max;
    pthread_mutex_unlock(&wal->lock);
    return catalog->bytes == 0 || sw_wal_room(left) < longest ? 0 : put_record(wal, file, &write);
}

int sw_wal_set_catalog(struct sw_wal *wal, uint64_t sequence, const uint8_t *message, size_t bytes)
{
    uint8_t *copy = calloc(1, sw_wal_align(bytes, SW_WAL_ALIGN) + 1);
    if (copy == NULL) {
        return -1;
    }
    memcpy(copy, message, bytes);
    pthread_mutex_lock(&wal->lock);
    free(wal->next_catalog.message); /* of a change that no record has */
    wal->next_catalog.message = copy;
    wal->next_catalog.bytes = bytes;
    wal->next_catalog.sequence = sequence;
    pthread_mutex_unlock(&wal->lock);
    return 0;
}

void sw_wal_take_catalog(struct sw_wal *wal, uint64_t written)
{
    if (wal->next_catalog.message != NULL && wal->next_catalog.sequence <= written + 1) {
        free(wal->catalog.message);
        wal->catalog = wal->next_catalog;
        wal->next_catalog.message = NULL;
    }
}
