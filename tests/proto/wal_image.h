/* SPDX-License-Identifier: MIT
 *
 * wal_image.h - segments in memory as a writer would have left them, and what a start makes of
 * them.
 */
#ifndef SHERWOOD_TESTS_PROTO_WAL_IMAGE_H
#define SHERWOOD_TESTS_PROTO_WAL_IMAGE_H

#include <criterion/criterion.h>
#include <string.h>

#include "proto/check.h"
#include "proto/wal_plan.h"

enum { SEGMENT_BYTES = 5 * SW_WAL_PAGE, SEGMENTS_MAX = 4 };

static const struct sw_wal_shape shape = {.key_bytes = 8, .value_bytes = 8};

/* The kernel that runs; zeros: not known. */
static uint8_t boot[SW_BOOT_ID_BYTES];

/* A segment as a writer would have left it. */
struct image {
    struct sw_wal_segment header;
    uint64_t at;   /* where the next record goes */
    uint64_t next; /* sequence of the next write */
    uint8_t bytes[SEGMENT_BYTES];
};

static inline void begin_segment(struct image *image, uint64_t number, uint64_t next,
                                 uint64_t through)
{
    memset(image, 0, sizeof(*image));
    image->header = (struct sw_wal_segment){
        .log_id = {7}, .number = number, .salt = 1000 + number, .shape = shape, .through = through};
    sw_wal_segment_encode(&image->header, image->bytes);
    image->at = SW_WAL_HEADER_BYTES;
    image->next = next;
}

static inline void put_record(struct image *image, struct sw_wal_record *record, uint64_t synced)
{
    uint8_t *at = image->bytes + image->at;
    struct sw_wal_columns columns = sw_wal_columns(&shape, record);
    record->units = (uint32_t)sw_wal_units(&columns);
    record->synced = synced;
    record->columns_check =
        sw_check64(at + SW_WAL_RECORD_BYTES, columns.keys + columns.operands + columns.operations,
                   image->header.salt);
    sw_wal_record_encode(record, image->header.salt, at);
    image->at += (uint64_t)record->units * SW_WAL_ALIGN;
    cr_assert(image->at <= SEGMENT_BYTES);
}

/* A record of a table that it names, with a correct check, whose columns are missing. */
static inline void put_short(struct image *image, enum sw_wal_kind kind, uint32_t table,
                             uint32_t count)
{
    struct sw_wal_record record = {.kind = kind, .sequence = image->next++};
    uint8_t *at = image->bytes + image->at;
    put_record(image, &record, 0);
    record.flags = SW_WAL_HAS_TABLE | SW_WAL_HAS_OPERANDS;
    record.operation = 1;
    record.table = table;
    record.count = count;
    sw_wal_record_encode(&record, image->header.salt, at);
}

/* A write of `count` keys. Its sequence determines them. */
static inline void put_write(struct image *image, uint32_t count, uint64_t synced)
{
    struct sw_wal_record record = {.kind = SW_WAL_OPERATIONS,
                                   .operation = 1,
                                   .flags = SW_WAL_HAS_OPERANDS,
                                   .sequence = image->next++,
                                   .count = count};
    uint64_t *keys = (uint64_t *)(void *)(image->bytes + image->at + SW_WAL_RECORD_BYTES);
    uint64_t stride = sw_wal_align(count * 8ULL, SW_WAL_ALIGN) / 8;
    for (uint32_t i = 0; i < count; i++) {
        keys[i] = record.sequence * 100 + i;
        keys[stride + i] = record.sequence;
    }
    put_record(image, &record, synced);
}

static inline void put_other(struct image *image, enum sw_wal_kind kind, uint64_t synced)
{
    struct sw_wal_record record = {.kind = kind, .sequence = image->next - 1};
    put_record(image, &record, synced);
}

/* What a start would make of the images, each of `size` bytes. */
struct verdict {
    struct sw_wal_plan plan;
    struct sw_wal_found found[SEGMENTS_MAX];
    struct sw_wal_piece piece[SEGMENTS_MAX];
    char refusal[SW_WAL_REFUSAL_BYTES];
    bool starts;
};

static inline void judge(struct verdict *verdict, const struct image *const *images, size_t count,
                         uint64_t size, uint64_t base)
{
    memset(verdict, 0, sizeof(*verdict));
    verdict->plan.piece = verdict->piece;
    for (size_t i = 0; i < count; i++) {
        struct sw_wal_found *found = &verdict->found[i];
        uint64_t bytes = i + 1 == count ? size : SEGMENT_BYTES;
        found->number = i + 1;
        sw_wal_inspect(found, images[i]->bytes, bytes, bytes, boot);
    }
    verdict->starts =
        sw_wal_plan(&verdict->plan, verdict->found, count, base, 0, &shape, verdict->refusal);
}

static inline bool key_is_right(const struct sw_wal_record *record, const uint8_t *columns)
{
    const uint64_t *keys = (const uint64_t *)(const void *)columns;
    uint64_t stride = sw_wal_align(record->count * 8ULL, SW_WAL_ALIGN) / 8;
    for (uint32_t i = 0; i < record->count; i++) {
        if (keys[i] != record->sequence * 100 + i || keys[stride + i] != record->sequence) {
            return false;
        }
    }
    return true;
}

/* Do the pieces follow each other without a gap, up to the plan's end, and hold what was written?
 */
static inline void assert_prefix(const struct verdict *verdict, const struct image *const *images,
                                 uint64_t size, size_t count)
{
    uint64_t next = verdict->plan.base + 1;
    for (size_t i = 0; i < verdict->plan.pieces; i++) {
        const struct sw_wal_piece *piece = &verdict->piece[i];
        struct sw_wal_reader reader;
        struct sw_wal_record record;
        const uint8_t *columns;
        uint64_t bytes = piece->segment + 1 == count ? size : SEGMENT_BYTES;
        cr_assert_eq(piece->from, next);
        sw_wal_reader_init(&reader, images[piece->segment]->bytes, bytes,
                           &verdict->found[piece->segment].segment);
        while (sw_wal_reader_next(&reader, &record, &columns)) {
            cr_assert(!sw_wal_is_write(&record) || key_is_right(&record, columns));
        }
        next = piece->to + 1;
    }
    cr_assert_eq(next, verdict->plan.end + 1);
}

#endif
