/* SPDX-License-Identifier: MIT
 *
 * test_wal_read.c - what is read of a log that was cut, changed or put together of several lives.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "proto/check.h"
#include "proto/value_type.h"
#include "proto/wal_plan.h"
#include "tests/support/random.h"

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

static void begin(struct image *image, uint64_t number, uint64_t next, uint64_t through)
{
    memset(image, 0, sizeof(*image));
    image->header = (struct sw_wal_segment){
        .log_id = {7}, .number = number, .salt = 1000 + number, .shape = shape, .through = through};
    sw_wal_segment_encode(&image->header, image->bytes);
    image->at = SW_WAL_HEADER_BYTES;
    image->next = next;
}

static void put(struct image *image, struct sw_wal_record *record, uint64_t synced)
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

/* A write of `count` keys, which are told by its sequence. */
static void put_write(struct image *image, uint32_t count, uint64_t synced)
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
    put(image, &record, synced);
}

static void put_other(struct image *image, enum sw_wal_kind kind, uint64_t synced)
{
    struct sw_wal_record record = {.kind = kind, .sequence = image->next - 1};
    put(image, &record, synced);
}

/* What a start would make of the images, each of `size` bytes. */
struct verdict {
    struct sw_wal_plan plan;
    struct sw_wal_found found[SEGMENTS_MAX];
    struct sw_wal_piece piece[SEGMENTS_MAX];
    char refusal[SW_WAL_REFUSAL_BYTES];
    bool starts;
};

static void judge(struct verdict *verdict, const struct image *const *images, size_t count,
                  uint64_t size, uint64_t base)
{
    memset(verdict, 0, sizeof(*verdict));
    verdict->plan.piece = verdict->piece;
    for (size_t i = 0; i < count; i++) {
        struct sw_wal_found *found = &verdict->found[i];
        uint64_t bytes = i + 1 == count ? size : SEGMENT_BYTES;
        found->number = i + 1;
        sw_wal_look(found, images[i]->bytes, bytes, bytes, boot);
    }
    verdict->starts =
        sw_wal_plan(&verdict->plan, verdict->found, count, base, 0, &shape, verdict->refusal);
}

static bool key_is_right(const struct sw_wal_record *record, const uint8_t *columns)
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
static void assert_prefix(const struct verdict *verdict, const struct image *const *images,
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

/* Two segments: 1 is full and sealed, 2 holds some writes, a sync between them, and `last`. */
static void two_segments(struct image *first, struct image *second, enum sw_wal_kind last)
{
    begin(first, 1, 1, 0);
    for (uint32_t i = 0; i < 6; i++) {
        put_write(first, 1 + i * 5, i < 3 ? 0 : 3);
        first->at = i == 2 ? sw_wal_align(first->at, SW_WAL_PAGE) : first->at;
    }
    put_other(first, SW_WAL_SEAL, 3);
    begin(second, 2, 7, 6);
    for (uint32_t i = 0; i < 7; i++) {
        put_write(second, 1 + i * 3, i < 4 ? 6 : 10);
        second->at = i == 3 ? sw_wal_align(second->at, SW_WAL_PAGE) : second->at;
    }
    if (last != SW_WAL_OPERATIONS) {
        put_other(second, last, 13);
    }
}

Test(wal_read, a_log_is_read_to_its_end)
{
    static struct image first, second;
    const struct image *images[] = {&first, &second};
    struct verdict verdict;
    two_segments(&first, &second, SW_WAL_OPERATIONS);
    judge(&verdict, images, 2, SEGMENT_BYTES, 0);
    cr_assert(verdict.starts, "%s", verdict.refusal);
    cr_assert_eq(verdict.plan.end, 13);
    cr_assert_eq(verdict.plan.evidence, 10);
    cr_assert_not(verdict.plan.is_torn);
    assert_prefix(&verdict, images, SEGMENT_BYTES, 2);
    judge(&verdict, images, 2, SEGMENT_BYTES, 9); /* on top of a snapshot */
    cr_assert(verdict.starts);
    cr_assert_eq(verdict.plan.pieces, 1);
    cr_assert_eq(verdict.piece[0].from, 10);
}

/* Wherever the file ends, or zeros begin, what is read is a prefix, and no start takes one that
 * lacks what was durable. */
Test(wal_read, a_cut_at_any_byte)
{
    static struct image first, second, cut;
    const struct image *whole[] = {&first, &second}, *images[] = {&first, &cut};
    struct verdict verdict;
    uint64_t end = 0;
    two_segments(&first, &second, SW_WAL_OPERATIONS);
    for (uint64_t size = SW_WAL_HEADER_BYTES; size <= second.at; size++) {
        cut = second;
        memset(cut.bytes + size, 0, SEGMENT_BYTES - size);
        judge(&verdict, whole, 2, size, 0);
        uint64_t cut_end = verdict.plan.end;
        judge(&verdict, images, 2, SEGMENT_BYTES, 0);
        cr_assert(verdict.plan.end >= cut_end); /* zeros may be what was written there */
        cr_assert(cut_end >= end && cut_end >= 6 && cut_end <= 13);
        cr_assert_eq(verdict.starts, verdict.plan.end >= verdict.plan.evidence);
        assert_prefix(&verdict, images, SEGMENT_BYTES, 2);
        end = cut_end;
    }
    cr_assert_eq(end, 13);
    for (uint64_t size = 0; size < SW_WAL_HEADER_BYTES; size += 64) { /* no header, no start */
        judge(&verdict, whole, 2, size, 0);
        cr_assert_not(verdict.starts);
    }
}

/* Whatever byte is changed: no start with wrong contents, none without what was durable. After a
 * clean stop a change of any byte that means something is found. */
Test(wal_read, a_flip_of_any_byte)
{
    static struct image first, second;
    const struct image *images[] = {&first, &second};
    struct verdict verdict;
    struct random random = random_of(0);
    uint64_t flip = 1 + random_below(&random, 255), found = 0;
    two_segments(&first, &second, SW_WAL_END);
    for (uint64_t at = 0; at < first.at + second.at; at++) {
        struct image *image = at < first.at ? &first : &second;
        uint64_t byte = at < first.at ? at : at - first.at;
        image->bytes[byte] ^= (uint8_t)flip;
        judge(&verdict, images, 2, SEGMENT_BYTES, 0);
        cr_assert(!verdict.starts || verdict.plan.end == 13, "byte %lu", (unsigned long)at);
        assert_prefix(&verdict, images, SEGMENT_BYTES, 2);
        found += !verdict.starts;
        image->bytes[byte] ^= (uint8_t)flip;
    }
    /* what is not found lies between a record and the page that the next one begins */
    cr_assert(found > first.at + second.at - 2ULL * SW_WAL_PAGE);
}

/* The rule of later wins: 1, 2 and 3 were written, 2 was lost, a start copied what was left. */
Test(wal_read, a_later_segment_replaces_what_it_overlaps)
{
    static struct image first, second;
    const struct image *images[] = {&first, &second};
    struct verdict verdict;
    begin(&first, 1, 1, 0);
    for (int i = 0; i < 5; i++) {
        put_write(&first, 2, 0);
    }
    begin(&second, 2, 3, 2);
    put_write(&second, 4, 2);
    judge(&verdict, images, 2, SEGMENT_BYTES, 0);
    cr_assert(verdict.starts, "%s", verdict.refusal);
    cr_assert_eq(verdict.plan.end, 3);
    cr_assert_eq(verdict.plan.pieces, 2);
    cr_assert_eq(verdict.piece[0].to, 2);
    cr_assert_eq(verdict.piece[1].segment, 1);
}

/* The rule of gap_skips: a segment behind a gap is passed over, one that closes it is taken. */
Test(wal_read, a_gap_is_closed_by_a_later_segment)
{
    static struct image first, second, third;
    const struct image *images[] = {&first, &second, &third};
    struct verdict verdict;
    begin(&first, 1, 1, 0);
    put_write(&first, 2, 0);
    begin(&second, 2, 4, 0);
    put_write(&second, 2, 0);
    begin(&third, 3, 2, 1);
    put_write(&third, 2, 1);
    put_write(&third, 2, 1);
    judge(&verdict, images, 3, SEGMENT_BYTES, 0);
    cr_assert(verdict.starts, "%s", verdict.refusal);
    cr_assert_eq(verdict.plan.end, 3);
    cr_assert(verdict.found[1].is_passed);
    cr_assert_not(verdict.found[2].is_passed);
    cr_assert_not(verdict.plan.is_torn);
    judge(&verdict, images, 2, SEGMENT_BYTES, 0);
    cr_assert(verdict.starts, "%s", verdict.refusal);
    cr_assert_eq(verdict.plan.end, 1);
    cr_assert(verdict.plan.is_torn, "the write behind the gap is cut");
}

/* A torn tail is told by the start that cuts it, not by those after it. */
Test(wal_read, what_an_earlier_start_has_cut_is_not_torn)
{
    static struct image first, second;
    const struct image *images[] = {&first, &second};
    struct verdict verdict;
    begin(&first, 1, 1, 0);
    put_write(&first, 2, 0);
    uint64_t torn = first.at;
    put_write(&first, 2, 0);
    put_write(&first, 2, 0);
    memset(first.bytes + torn, 0, SW_WAL_RECORD_BYTES);
    begin(&second, 2, 2, 1);
    judge(&verdict, images, 2, SEGMENT_BYTES, 0);
    cr_assert(verdict.plan.is_torn, "the second one may have been made before");
    put_write(&second, 2, 1);
    judge(&verdict, images, 2, SEGMENT_BYTES, 0);
    cr_assert(verdict.starts, "%s", verdict.refusal);
    cr_assert_eq(verdict.plan.end, 2);
    cr_assert_not(verdict.plan.is_torn);
}

/* The rule of witness_exact: damage counts by what is known of it. */
Test(wal_read, what_was_never_durable_may_be_gone)
{
    static struct image first;
    const struct image *images[] = {&first};
    struct verdict verdict;
    begin(&first, 1, 1, 0);
    put_write(&first, 2, 0);
    uint64_t second = first.at;
    put_write(&first, 2, 0);
    put_write(&first, 2, 0);
    memset(first.bytes + second, 0, SW_WAL_RECORD_BYTES);
    judge(&verdict, images, 1, SEGMENT_BYTES, 0);
    cr_assert(verdict.starts, "%s", verdict.refusal);
    cr_assert_eq(verdict.plan.end, 1);
    cr_assert(verdict.plan.is_torn);
    put_other(&first, SW_WAL_MARK, 3); /* now all three were durable */
    judge(&verdict, images, 1, SEGMENT_BYTES, 0);
    cr_assert_not(verdict.starts);
    cr_assert_str_eq(verdict.refusal, "log-0000000000000001 is damaged at byte 4288 (sequence 2); "
                                      "writes up to 3 were durable");
}

/* Writes 1 to 3, the last of one key and its value, in one segment of this boot. */
static uint64_t put_three(struct image *image, const uint8_t *of_boot)
{
    begin(image, 1, 1, 0);
    memcpy(image->header.boot, of_boot, SW_BOOT_ID_BYTES);
    sw_wal_segment_encode(&image->header, image->bytes);
    put_write(image, 2, 0);
    put_write(image, 9, 0);
    uint64_t last = image->at;
    put_write(image, 1, 0);
    return last;
}

/* A byte of the last record that is another is damage, whenever it was written, and no start gives
 * up a write in silence that may have been acknowledged. */
Test(wal_read, a_flip_in_the_last_record_is_damage)
{
    static struct image image;
    const struct image *images[] = {&image};
    const uint8_t boots[2][SW_BOOT_ID_BYTES] = {{0}, {1, 2}};
    struct verdict verdict;
    for (unsigned same = 0; same < 2; same++) {
        memcpy(boot, boots[same], sizeof(boot));
        uint64_t last = put_three(&image, boots[1]);
        for (uint64_t at = last; at < image.at; at++) {
            for (unsigned flip = 1; flip < 256; flip = flip * 2 + (flip == 4)) {
                image.bytes[at] ^= (uint8_t)flip;
                judge(&verdict, images, 1, SEGMENT_BYTES, 0);
                cr_assert_not(verdict.starts, "byte %lu", (unsigned long)(at - last));
                cr_assert_not_null(strstr(verdict.refusal, "is damaged at byte"));
                cr_assert_not_null(strstr(verdict.refusal, "(sequence 3)"), "%s", verdict.refusal);
                image.bytes[at] ^= (uint8_t)flip;
            }
        }
        judge(&verdict, images, 1, SEGMENT_BYTES, 3);
        cr_assert(verdict.starts, "a snapshot stands for it");
    }
}

/* More than a byte is another: damage if the kernel is that of before; otherwise a loss of power
 * may have left that. */
Test(wal_read, what_a_loss_of_power_may_leave_starts)
{
    static struct image image;
    const struct image *images[] = {&image};
    const uint8_t boots[2][SW_BOOT_ID_BYTES] = {{3}, {1, 2}};
    struct verdict verdict;
    for (unsigned same = 0; same < 2; same++) {
        memcpy(boot, boots[same], sizeof(boot));
        uint64_t last = put_three(&image, boots[1]);
        for (unsigned where = 0; where < 2; where++) {
            uint8_t *bytes = image.bytes + last + where * SW_WAL_RECORD_BYTES;
            bytes[0] ^= 0x55;
            bytes[1] ^= 0x77;
            bytes[2] ^= 0x99;
            judge(&verdict, images, 1, SEGMENT_BYTES, 0);
            cr_assert_eq(verdict.starts, same == 0, "%s", verdict.refusal);
            cr_assert(verdict.plan.end == 2);
            bytes[0] ^= 0x55;
            bytes[1] ^= 0x77;
            bytes[2] ^= 0x99;
        }
    }
}

/* Whatever a crash leaves of the last record starts: some of its lines, and zeros. */
Test(wal_read, a_record_that_is_not_whole_is_torn)
{
    static struct image image;
    const struct image *images[] = {&image};
    struct verdict verdict;
    const uint8_t now[SW_BOOT_ID_BYTES] = {1, 2};
    memcpy(boot, now, sizeof(boot));
    uint64_t last = put_three(&image, now);
    static struct image whole;
    whole = image;
    for (unsigned lines = 0; lines < 4; lines++) { /* how many are there; 3: all but the first */
        uint64_t from = last + lines % 3 * SW_WAL_ALIGN;
        uint64_t to = lines < 3 ? image.at : last + SW_WAL_ALIGN;
        memset(image.bytes + from, 0, to - from);
        judge(&verdict, images, 1, SEGMENT_BYTES, 0);
        cr_assert(verdict.starts, "%s", verdict.refusal);
        cr_assert_eq(verdict.plan.end, 2);
        image = whole;
    }
    /* a file that was cut is none that a crash left */
    image.header.bytes = SEGMENT_BYTES;
    sw_wal_segment_encode(&image.header, image.bytes);
    judge(&verdict, images, 1, last, 0);
    cr_assert_not(verdict.starts);
}

/* What only tells what is durable loses nothing when it is damaged. */
Test(wal_read, a_damaged_mark_loses_nothing)
{
    static struct image image;
    const struct image *images[] = {&image};
    struct verdict verdict;
    const uint8_t now[SW_BOOT_ID_BYTES] = {1, 2};
    memcpy(boot, now, sizeof(boot));
    (void)put_three(&image, now);
    image.at = sw_wal_align(image.at, SW_WAL_PAGE);
    uint64_t mark = image.at;
    put_other(&image, SW_WAL_MARK, 3);
    image.bytes[mark + 16] ^= 1;
    judge(&verdict, images, 1, SEGMENT_BYTES, 0);
    cr_assert(verdict.starts, "%s", verdict.refusal);
    cr_assert_eq(verdict.plan.end, 3);
}

/* The rule of salt: what an earlier use of the file left is not read. */
Test(wal_read, records_of_another_salt_are_not_there)
{
    static struct image first;
    const struct image *images[] = {&first};
    struct verdict verdict;
    begin(&first, 1, 1, 0);
    put_write(&first, 2, 0);
    uint64_t stale = first.at;
    first.header.salt++;
    put_write(&first, 2, 2);
    cr_assert(first.at > stale);
    judge(&verdict, images, 1, SEGMENT_BYTES, 0);
    cr_assert(verdict.starts, "%s", verdict.refusal);
    cr_assert_eq(verdict.plan.end, 1);
    cr_assert_not(verdict.plan.is_torn);
}

Test(wal_read, a_sealed_segment_has_a_follower)
{
    static struct image first;
    const struct image *images[] = {&first};
    struct verdict verdict;
    begin(&first, 1, 1, 0);
    put_write(&first, 2, 0);
    put_other(&first, SW_WAL_SEAL, 0);
    judge(&verdict, images, 1, SEGMENT_BYTES, 0);
    cr_assert_not(verdict.starts);
    cr_assert_str_eq(verdict.refusal, "the segment after log-0000000000000001 is gone");
}

Test(wal_read, headers_of_another_log_shape_or_name)
{
    static struct image first, second;
    const struct image *images[] = {&first, &second};
    struct verdict verdict;
    two_segments(&first, &second, SW_WAL_OPERATIONS);
    second.header.log_id[0]++;
    sw_wal_segment_encode(&second.header, second.bytes);
    judge(&verdict, images, 2, SEGMENT_BYTES, 0);
    cr_assert_str_eq(verdict.refusal, "log-0000000000000002 is of another log");
    second.header.log_id[0]--;
    second.header.shape.value_bytes = 4;
    sw_wal_segment_encode(&second.header, second.bytes);
    judge(&verdict, images, 2, SEGMENT_BYTES, 0);
    cr_assert_str_eq(verdict.refusal, "log-0000000000000002 holds keys or values of another "
                                      "width, format, type or engine");
    second.header.shape.value_bytes = 8;
    first.header.shape.value_type = SW_TYPE_U32;
    sw_wal_segment_encode(&first.header, first.bytes);
    const uint32_t others[] = {SW_TYPE_F32, SW_TYPE_COUNT,
                               UINT32_MAX}; /* also of a later version */
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        second.header.shape.value_type = others[i];
        sw_wal_segment_encode(&second.header, second.bytes);
        judge(&verdict, images, 2, SEGMENT_BYTES, 0);
        cr_assert_str_eq(verdict.refusal, "log-0000000000000002 holds keys or values of another "
                                          "width, format, type or engine");
    }
    second.header.shape.value_type = SW_TYPE_BYTES; /* which are anything */
    second.header.number = 9;                       /* half a rename: the file is another segment */
    sw_wal_segment_encode(&second.header, second.bytes);
    judge(&verdict, images, 2, SEGMENT_BYTES, 0);
    cr_assert(verdict.found[1].is_alias);
    cr_assert_not(verdict.starts); /* since the first is sealed */
}
