/* SPDX-License-Identifier: MIT
 *
 * test_wal_read.c - reads of a log that was cut, changed or put together of several lives.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "proto/value_type.h"
#include "proto/wal_first.h"
#include "tests/proto/wal_image.h"
#include "tests/support/random.h"
#include "tests/support/tested.h"

static struct image first, second, third;
static const struct image *const images[] = {&first, &second, &third};
static struct verdict verdict;

/* Two segments: 1 is full and sealed, 2 holds some writes, a sync between them, and `last`. */
static void two_segments(enum sw_wal_kind last)
{
    begin_segment(&first, 1, 1, 0);
    for (uint32_t i = 0; i < 6; i++) {
        put_write(&first, 1 + i * 5, i < 3 ? 0 : 3);
        first.at = i == 2 ? sw_wal_align(first.at, SW_WAL_PAGE) : first.at;
    }
    put_other(&first, SW_WAL_SEAL, 3);
    begin_segment(&second, 2, 7, 6);
    for (uint32_t i = 0; i < 7; i++) {
        put_write(&second, 1 + i * 3, i < 4 ? 6 : 10);
        second.at = i == 3 ? sw_wal_align(second.at, SW_WAL_PAGE) : second.at;
    }
    if (last != SW_WAL_OPERATIONS) {
        put_other(&second, last, 13);
    }
}

Test(wal_read, a_log_is_read_to_its_end)
{
    two_segments(SW_WAL_OPERATIONS);
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

/* Wherever the file ends, or zeros begin, the reader returns a prefix, and no start accepts a
 * prefix that lacks durable writes. */
Test(wal_read, a_cut_at_any_byte)
{
    static struct image cut;
    const struct image *shortened[] = {&first, &cut};
    uint64_t end = 0;
    two_segments(SW_WAL_OPERATIONS);
    const uint64_t share = tested_share(), cuts = second.at - SW_WAL_HEADER_BYTES;
    for (uint64_t size = SW_WAL_HEADER_BYTES + cuts % share; size <= second.at; size += share) {
        cut = second;
        memset(cut.bytes + size, 0, SEGMENT_BYTES - size);
        judge(&verdict, images, 2, size, 0);
        uint64_t cut_end = verdict.plan.end;
        judge(&verdict, shortened, 2, SEGMENT_BYTES, 0);
        cr_assert(verdict.plan.end >= cut_end); /* zeros may be what was written there */
        cr_assert(cut_end >= end && cut_end >= 6 && cut_end <= 13);
        cr_assert_eq(verdict.starts, verdict.plan.end >= verdict.plan.evidence);
        assert_prefix(&verdict, shortened, SEGMENT_BYTES, 2);
        end = cut_end;
    }
    cr_assert_eq(end, 13);
    for (uint64_t size = 0; size < SW_WAL_HEADER_BYTES; size += 64) { /* no header, no start */
        judge(&verdict, images, 2, size, 0);
        cr_assert_not(verdict.starts);
    }
}

/* Changes each byte. No start may have wrong contents, or lack durable writes. After a clean stop
 * the start finds a change of any byte that matters. */
Test(wal_read, a_flip_of_any_byte)
{
    struct random random = random_of(0);
    uint64_t flip = 1 + random_below(&random, 255), found = 0;
    two_segments(SW_WAL_END);
    const uint64_t share = tested_share(), begin_at = random_below(&random, share);
    for (uint64_t at = begin_at; at < first.at + second.at; at += share) {
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
    cr_assert(found > (first.at + second.at - 2ULL * SW_WAL_PAGE) / share - 1);
}

/* The later segment wins: 1, 2 and 3 were written, 2 was lost, and a start copied the rest. */
Test(wal_read, a_later_segment_replaces_what_it_overlaps)
{
    begin_segment(&first, 1, 1, 0);
    for (int i = 0; i < 5; i++) {
        put_write(&first, 2, 0);
    }
    begin_segment(&second, 2, 3, 2);
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
    begin_segment(&first, 1, 1, 0);
    put_write(&first, 2, 0);
    begin_segment(&second, 2, 4, 0);
    put_write(&second, 2, 0);
    begin_segment(&third, 3, 2, 1);
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

/* The start that cuts a torn tail reports it, and later starts do not. */
Test(wal_read, what_an_earlier_start_has_cut_is_not_torn)
{
    begin_segment(&first, 1, 1, 0);
    put_write(&first, 2, 0);
    uint64_t torn = first.at;
    put_write(&first, 2, 0);
    put_write(&first, 2, 0);
    memset(first.bytes + torn, 0, SW_WAL_RECORD_BYTES);
    begin_segment(&second, 2, 2, 1);
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
    begin_segment(&first, 1, 1, 0);
    put_write(&first, 2, 0);
    uint64_t torn = first.at;
    put_write(&first, 2, 0);
    put_write(&first, 2, 0);
    memset(first.bytes + torn, 0, SW_WAL_RECORD_BYTES);
    judge(&verdict, images, 1, SEGMENT_BYTES, 0);
    cr_assert(verdict.starts, "%s", verdict.refusal);
    cr_assert_eq(verdict.plan.end, 1);
    cr_assert(verdict.plan.is_torn);
    put_other(&first, SW_WAL_MARK, 3); /* now all three were durable */
    judge(&verdict, images, 1, SEGMENT_BYTES, 0);
    cr_assert_not(verdict.starts);
    cr_assert_str_eq(verdict.refusal,
                     "log-0000000000000001 is damaged at byte 4288 (sequence 2); "
                     "writes up to 3 were durable; sherwood-cli log check --fix cuts it");
}

/* The rule of salt: what an earlier use of the file left is not read. */
Test(wal_read, records_of_another_salt_are_not_there)
{
    begin_segment(&first, 1, 1, 0);
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
    begin_segment(&first, 1, 1, 0);
    put_write(&first, 2, 0);
    put_other(&first, SW_WAL_SEAL, 0);
    judge(&verdict, images, 1, SEGMENT_BYTES, 0);
    cr_assert_not(verdict.starts);
    cr_assert_str_eq(verdict.refusal, "the segment after log-0000000000000001 is missing: copy it "
                                      "back, or run sherwood-cli log check --fix");
}

Test(wal_read, headers_of_another_log_shape_or_name)
{
    two_segments(SW_WAL_OPERATIONS);
    second.header.log_id[0]++;
    sw_wal_segment_encode(&second.header, second.bytes);
    judge(&verdict, images, 2, SEGMENT_BYTES, 0);
    cr_assert_str_eq(
        verdict.refusal,
        "log-0000000000000002 belongs to another log: move it out of the data directory");
    second.header.log_id[0]--;
    second.header.shape.value_bytes = 4;
    sw_wal_segment_encode(&second.header, second.bytes);
    judge(&verdict, images, 2, SEGMENT_BYTES, 0);
    cr_assert_str_eq(verdict.refusal,
                     "log-0000000000000002 has keys or values of another width, format, type or "
                     "engine than the other segments");
    second.header.shape.value_bytes = 8;
    second.header.shape.key_bytes = 4;
    sw_wal_segment_encode(&second.header, second.bytes);
    judge(&verdict, images, 2, SEGMENT_BYTES, 0);
    cr_assert_str_eq(verdict.refusal,
                     "log-0000000000000002 has keys or values of another width, format, type or "
                     "engine than the other segments");
    second.header.shape.key_bytes = 8;
    first.header.shape.value_type = SW_TYPE_U32;
    sw_wal_segment_encode(&first.header, first.bytes);
    const uint32_t others[] = {SW_TYPE_F32, SW_TYPE_COUNT,
                               UINT32_MAX}; /* also of a later version */
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        second.header.shape.value_type = others[i];
        sw_wal_segment_encode(&second.header, second.bytes);
        judge(&verdict, images, 2, SEGMENT_BYTES, 0);
        cr_assert_str_eq(verdict.refusal,
                         "log-0000000000000002 has keys or values of another width, format, type "
                         "or engine than the other segments");
    }
    second.header.shape.value_type = SW_TYPE_BYTES; /* which are anything */
    second.header.number = 9;                       /* half a rename: the file is another segment */
    sw_wal_segment_encode(&second.header, second.bytes);
    judge(&verdict, images, 2, SEGMENT_BYTES, 0);
    cr_assert(verdict.found[1].is_alias);
    cr_assert_not(verdict.starts); /* since the first is sealed */
}

/* A record of an unknown kind, or with an unknown flag that changes how it is read, ends the run.
 * The start is refused: the record may hold a write. */
Test(wal_read, a_record_of_a_later_version)
{
    const struct {
        enum sw_wal_kind kind;
        uint16_t flags;
        bool starts;
    } records[] = {
        {SW_WAL_MARK, 0, true},
        {(enum sw_wal_kind)(SW_WAL_CATALOG + 1), 0, false},
        {SW_WAL_MARK, 0x8000, false},
    };
    for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
        begin_segment(&first, 1, 1, 0);
        put_write(&first, 2, 0);
        struct sw_wal_record record = {
            .kind = records[i].kind, .flags = records[i].flags, .sequence = 1};
        put_record(&first, &record, 1);
        judge(&verdict, images, 1, SEGMENT_BYTES, 0);
        cr_assert_eq(verdict.starts, records[i].starts, "record %zu: %s", i, verdict.refusal);
        cr_assert(verdict.starts ||
                      strcmp(verdict.refusal, "log-0000000000000001 was written by a later version "
                                              "of sherwoodd: start that version") == 0,
                  "record %zu: %s", i, verdict.refusal);
    }
}

/* A record that names its table may be longer than the first table's shape says. Its message is
 * read with the segment, so it must be within the record. */
Test(wal_read, a_message_is_within_its_record)
{
    for (uint32_t kind = SW_WAL_CHANGE; kind <= SW_WAL_CATALOG; kind++) {
        begin_segment(&first, 1, 1, 0);
        put_write(&first, 2, 0);
        first.next -= kind == SW_WAL_CATALOG;
        put_short(&first, (enum sw_wal_kind)kind, 2, SEGMENT_BYTES * 2);
        judge(&verdict, images, 1, SEGMENT_BYTES, 0);
        cr_assert_not(verdict.starts, "kind %u", kind);
        cr_assert_eq(verdict.found[0].run.last, 1, "kind %u", kind);
    }
}

Test(wal_read, a_first_segment_has_a_number)
{
    struct sw_wal_first mark = {.number = 7, .wall_us = 9}, again;
    char text[SW_WAL_FIRST_BYTES];
    sw_wal_first_encode(&mark, text);
    cr_assert(sw_wal_first_decode(text, &again));
    cr_assert(again.number == 7 && again.wall_us == 9);
    text[strlen(text) - 1] = '\0';
    cr_assert_not(sw_wal_first_decode(text, &again), "it is shorter");
    mark.number = 0;
    sw_wal_first_encode(&mark, text);
    cr_assert_not(sw_wal_first_decode(text, &again), "no segment has the number 0");
}
