/* SPDX-License-Identifier: MIT
 *
 * test_wal_damage.c - which of a log's ends a crash may leave, and which are damage that a start
 * must not pass over: records that were written whole, and segments that are gone.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/proto/wal_image.h"

/* Writes 1 to 3, the last of one key and its value, in one segment of this boot. */
static uint64_t put_three(struct image *image, const uint8_t *of_boot)
{
    begin_segment(image, 1, 1, 0);
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
Test(wal_damage, a_flip_in_the_last_record_is_damage)
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
Test(wal_damage, what_a_loss_of_power_may_leave_starts)
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

/* A header that is no header at all: its magic and its sequence are others. While the kernel runs
 * on, nothing loses what was written. */
Test(wal_damage, a_header_of_other_bytes)
{
    static struct image image;
    const struct image *images[] = {&image};
    const uint8_t boots[2][SW_BOOT_ID_BYTES] = {{3}, {1, 2}};
    struct verdict verdict;
    for (unsigned same = 0; same < 2; same++) {
        memcpy(boot, boots[same], sizeof(boot));
        const uint64_t last = put_three(&image, boots[1]);
        for (unsigned at = 0; at < 16; at++) {
            image.bytes[last + at] ^= (uint8_t)(0x55 + at);
        }
        judge(&verdict, images, 1, SEGMENT_BYTES, 0);
        cr_assert_eq(verdict.starts, same == 0, "%s", verdict.refusal);
        cr_assert_eq(verdict.plan.end, 2);
    }
}

/* Whatever a crash leaves of the last record starts: some of its lines, and zeros. */
Test(wal_damage, a_record_that_is_not_whole_is_torn)
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
    /* a crash does not shorten a file */
    image.header.bytes = SEGMENT_BYTES;
    sw_wal_segment_encode(&image.header, image.bytes);
    judge(&verdict, images, 1, last, 0);
    cr_assert_not(verdict.starts);
}

/* A damaged record loses nothing if it only marks durable writes. */
Test(wal_damage, a_damaged_mark_loses_nothing)
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

static void begin_behind(struct image *image, uint64_t number, uint64_t next, uint64_t through,
                         uint64_t previous)
{
    begin_segment(image, number, next, through);
    image->header.previous = previous;
    sw_wal_segment_encode(&image->header, image->bytes);
}

/* Judges images of these numbers beside a snapshot. */
static bool starts_beside(const struct image *const *images, size_t count, uint64_t base,
                          struct sw_wal_beside beside, char refusal[SW_WAL_REFUSAL_BYTES])
{
    struct sw_wal_found found[SEGMENTS_MAX] = {{0}};
    struct sw_wal_piece piece[SEGMENTS_MAX];
    struct sw_wal_plan plan = {.beside = beside, .piece = piece};
    for (size_t i = 0; i < count; i++) {
        found[i].number = images[i]->header.number;
        sw_wal_inspect(&found[i], images[i]->bytes, SEGMENT_BYTES, SEGMENT_BYTES, boot);
    }
    return sw_wal_plan(&plan, found, count, base, base, &shape, refusal);
}

/* Segments 1 and 2 have writes, 3 is empty. The rows list the segments and the snapshot that exist,
 * and the missing segment if the log cannot do without it. */
Test(wal_damage, a_segment_that_is_gone)
{
    static struct image one, two, three, earlier;
    char refusal[SW_WAL_REFUSAL_BYTES] = "";
    const struct sw_wal_beside none = {0, 0}, first = {1, 1}, second = {2, 2}, mended = {0, 3};
    begin_behind(&one, 1, 1, 0, SW_WAL_NO_PREVIOUS);
    put_write(&one, 1, 0);
    put_write(&one, 1, 0);
    put_other(&one, SW_WAL_SEAL, 0);
    begin_behind(&two, 2, 3, 0, 1);
    put_write(&two, 1, 0);
    begin_behind(&three, 3, 4, 0, 2);
    begin_behind(&earlier, 3, 4, 0, 0); /* by a version that told no previous segment */
    const struct {
        const struct image *images[3];
        size_t count;
        uint64_t base;
        struct sw_wal_beside beside;
        const char *gone;
    } rows[] = {
        {{&one, &two, &three}, 3, 0, none, NULL},
        {{&one, &two}, 2, 0, none, NULL},
        {{&one, &three},
         2,
         0,
         none,
         "log-0000000000000002 is missing, and log-0000000000000003 names it"},
        {{&three}, 1, 0, none, "log-0000000000000002 is missing"},
        {{&two, &three}, 2, 2, none, NULL}, /* 1 ended with write 2 */
        {{&two, &three}, 2, 2, first, NULL},
        {{&two, &three}, 2, 2, second, NULL},
        {{&three}, 1, 2, first, "log-0000000000000002 is missing"},
        {{&three}, 1, 2, second, "log-0000000000000002 is missing"},
        {{&three}, 1, 3, mended, NULL},
        {{&earlier}, 1, 3, second, NULL},
        {{&one}, 1, 2, second, "the segment after log-0000000000000001 is missing"},
        {{NULL}, 0, 2, second, NULL}, /* a backup of the snapshot */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        bool starts =
            starts_beside(rows[i].images, rows[i].count, rows[i].base, rows[i].beside, refusal);
        if (rows[i].gone == NULL) {
            cr_assert(starts, "row %zu: %s", i, refusal);
        } else {
            cr_assert_not(starts, "row %zu", i);
            cr_assert_not_null(strstr(refusal, rows[i].gone), "row %zu: %s", i, refusal);
        }
    }
}

/* Judges the segments beside a snapshot and the file first-segment. */
static bool starts_with_first(const struct image *const *images, size_t count, uint64_t base,
                              uint64_t beside, struct sw_wal_first first, struct sw_wal_plan *plan,
                              char refusal[SW_WAL_REFUSAL_BYTES])
{
    struct sw_wal_found found[SEGMENTS_MAX] = {{0}};
    static struct sw_wal_piece piece[SEGMENTS_MAX];
    *plan = (struct sw_wal_plan){
        .beside.segment = beside, .first = first, .log_id = {7}, .piece = piece};
    for (size_t i = 0; i < count; i++) {
        found[i].number = images[i]->header.number;
        sw_wal_inspect(&found[i], images[i]->bytes, SEGMENT_BYTES, SEGMENT_BYTES, boot);
    }
    return sw_wal_plan(plan, found, count, base, base, &shape, refusal);
}

static void begin_at(struct image *image, uint64_t number, uint64_t next, uint64_t previous,
                     uint64_t wall_us)
{
    begin_behind(image, number, next, next - 1, previous);
    image->header.wall_us = wall_us;
    sw_wal_segment_encode(&image->header, image->bytes);
    put_write(image, 1, next - 1);
}

/* Segments 1, 2 and 3 are of three runs, with a write each. No other segment names the third. */
Test(wal_damage, the_newest_run_that_is_gone)
{
    static struct image one, two, three, renumbered;
    char refusal[SW_WAL_REFUSAL_BYTES] = "";
    struct sw_wal_plan plan;
    begin_at(&one, 1, 1, SW_WAL_NO_PREVIOUS, 1000);
    begin_at(&two, 2, 2, 1, 2000);
    begin_at(&three, 3, 3, 2, 3000);
    begin_at(&renumbered, 1, 4, SW_WAL_NO_PREVIOUS, 4000); /* by a release without the file */
    const struct {
        const struct image *images[3];
        size_t count;
        uint64_t base, beside, first;
        bool starts;
        uint8_t log; /* of the file; segments and snapshot are of log 7 */
    } rows[] = {
        {{&one, &two, &three}, 3, 0, 0, 3, true, 7},
        {{&one, &two, &three}, 3, 0, 0, 2, true, 7}, /* the file of the run before */
        {{&one, &two}, 2, 0, 0, 0, true, 7},         /* no file: of an earlier version */
        {{&one, &two}, 2, 0, 0, 2, true, 7},
        {{&one, &two}, 2, 0, 0, 3, false, 7},
        {{&one}, 1, 0, 0, 3, false, 7},
        {{&two}, 1, 1, 2, 3, false, 7},
        {{&two}, 1, 2, 0, 3, false, 7},
        {{NULL}, 0, 3, 3, 3, false, 7}, /* the snapshot was begun beside it */
        {{NULL}, 0, 3, 3, 0, true, 7},  /* a backup of the snapshot */
        {{NULL}, 0, 3, 0, 3, true, 7},  /* a run without a log wrote the snapshot */
        {{NULL}, 0, 0, 0, 3, false, 7},
        {{NULL}, 0, 3, 3, 3, true, 8}, /* the snapshot is of log 7 */
        {{&renumbered}, 1, 3, 0, 3, true, 7},
        {{&one, &two}, 2, 0, 0, 3, true, 8}, /* an operator put segments of another log there */
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct sw_wal_first first = {
            .number = rows[i].first, .wall_us = 3001, .log_id = {rows[i].log}};
        const bool starts = starts_with_first(rows[i].images, rows[i].count, rows[i].base,
                                              rows[i].beside, first, &plan, refusal);
        cr_assert_eq(starts, rows[i].starts, "row %zu: %s", i, refusal);
        cr_assert_eq(plan.is_first_gone, !starts);
        cr_assert(starts || strstr(refusal, "log-0000000000000003 and all newer segments are "
                                            "missing, and first-segment names it") != NULL,
                  "row %zu: %s", i, refusal);
    }
}

/* Exactly one text stands for a first segment. */
Test(wal_damage, the_text_of_a_first_segment)
{
    const struct sw_wal_first first = {0x1f, 0x123456789abcdef0, {1, 0xff, 16}};
    struct sw_wal_first read;
    char text[SW_WAL_FIRST_BYTES], other[SW_WAL_FIRST_BYTES];
    const int size = sw_wal_first_encode(&first, text);
    cr_assert_str_eq(text, "sherwood-first-segment 1 000000000000001f 123456789abcdef0 "
                           "01ff1000000000000000000000000000\n");
    cr_assert(sw_wal_first_decode(text, &read));
    cr_assert(read.number == first.number && read.wall_us == first.wall_us);
    cr_assert_arr_eq(read.log_id, first.log_id, sizeof(first.log_id));
    for (int i = 0; i < size; i++) {
        strcpy(other, text);
        other[i] = 'x';
        cr_assert_not(sw_wal_first_decode(other, &read), "an x at %d", i);
        other[i] = '\0';
        cr_assert_not(sw_wal_first_decode(other, &read), "it ends at %d", i);
    }
    strcpy(other, text);
    cr_assert_not(sw_wal_first_decode(strcat(other, "\n"), &read), "a second line");
}
