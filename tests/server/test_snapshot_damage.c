/* SPDX-License-Identifier: MIT
 *
 * test_snapshot_damage.c - snapshots of integers and of rows: every byte cut and flipped, and what
 * is refused in words.
 */
#include "tests/server/snapshot_fixture.h"
#include "tests/support/tested.h"

/* --- damage ----------------------------------------------------------------------------------- */

/* Bytes without a meaning: zeros behind the head of a block and behind its columns, and between the
 * fields of the footer and its check, which the check covers. */
static bool is_padding(size_t at)
{
    const size_t block = 4096, head = 64;
    if (at < SW_SNAPSHOT_HEADER_BYTES || at >= SW_SNAPSHOT_HEADER_BYTES + 2 * block) {
        return false;
    }
    size_t in_block = (at - SW_SNAPSHOT_HEADER_BYTES) % block;
    const size_t entries = at >= SW_SNAPSHOT_HEADER_BYTES + block ? 57 : 64;
    const size_t columns = 64 * sizeof(uint64_t) + (entries * value_bytes() + 63) / 64 * 64;
    return (in_block >= 40 && in_block < head) || in_block >= head + columns;
}

/* The file is changed where it is: a file system may put one to storage that is truncated, written
 * and closed, and these tests would wait for that 20,000 times. */
static int open_newest(const struct damage *damage)
{
    int fd = openat(damage->place.directory.fd, "snapshot-0000000000000002", O_RDWR);
    cr_assert(fd >= 0);
    return fd;
}

static void cut_at_any_byte(void)
{
    struct damage damage;
    struct sw_load loaded;
    open_damage(&damage);
    size_t sizes[4096 * 4], count = 0;
    for (size_t size = 0; size < damage.file.size; size += size % 61 == 60 ? 3 : 1) {
        if (tested_now((uint32_t)size, (uint32_t)damage.file.size)) {
            sizes[count++] = size;
        }
    }
    int fd = open_newest(&damage);
    while (count > 0) {
        size_t size = sizes[--count];
        cr_assert_eq(ftruncate(fd, (off_t)size), 0);
        cr_assert_eq(load(&damage.place, damage.table, &loaded), 0, "cut at %zu: %s", size,
                     damage.place.reason);
        cr_assert(holds(damage.table, 10), "cut at %zu", size);
        cr_assert_eq(loaded.damaged_count, 1);
        cr_assert_eq(loaded.highest, 2, "numbers go on after the damaged one");
        clear(damage.table);
    }
    close(fd);
    close_damage(&damage);
}

Test(snapshot_damage, a_file_cut_at_any_byte_is_found_and_the_one_before_is_loaded)
{
    cut_at_any_byte();
}

Test(snapshot_damage, a_file_of_rows_cut_at_any_byte_is_found)
{
    row_bytes = 12;
    cut_at_any_byte();
}

static void flip_any_byte(void)
{
    struct damage damage;
    struct sw_load loaded;
    open_damage(&damage);
    int fd = open_newest(&damage);
    for (size_t at = 0; at < damage.file.size; at++) {
        if (!tested_now((uint32_t)at, (uint32_t)damage.file.size)) {
            continue;
        }
        uint8_t flipped = damage.file.bytes[at] ^ (uint8_t)(1U << at % 8);
        cr_assert_eq(pwrite(fd, &flipped, 1, (off_t)at), 1);
        cr_assert_eq(load(&damage.place, damage.table, &loaded), 0, "byte %zu: %s", at,
                     damage.place.reason);
        bool found = loaded.damaged_count == 1;
        cr_assert(found || is_padding(at), "byte %zu was flipped and not found", at);
        cr_assert(holds(damage.table, found ? 10 : 121), "byte %zu", at);
        clear(damage.table);
        cr_assert_eq(pwrite(fd, &damage.file.bytes[at], 1, (off_t)at), 1);
    }
    close(fd);
    close_damage(&damage);
}

Test(snapshot_damage, a_flipped_byte_is_found_or_means_nothing)
{
    flip_any_byte();
}

Test(snapshot_damage, a_flipped_byte_of_a_file_of_rows_is_found_or_means_nothing)
{
    row_bytes = 12;
    flip_any_byte();
}

static void expect_refused(struct damage *damage, const char *expected)
{
    struct sw_load loaded;
    cr_assert_eq(load(&damage->place, damage->table, &loaded), -1);
    cr_assert_not_null(strstr(damage->place.reason, expected), "%s", damage->place.reason);
}

Test(snapshot_damage, what_cannot_be_loaded_is_refused_in_words)
{
    struct damage damage;
    struct sw_snapshot_header header;
    bool newer = false;
    open_damage(&damage);
    cr_assert_null(sw_snapshot_get_header(damage.file.bytes, &header, &newer));
    header.columns |= 16;
    sw_snapshot_put_header(&header, damage.file.bytes);
    write_file(&damage.place, "snapshot-0000000000000002", damage.file.bytes, damage.file.size);
    expect_refused(&damage,
                   "snapshot-0000000000000002 has columns that this program does not know");
    header.columns = 3;
    header.value_format = SW_FRAME_VALUES_FIXED;
    sw_snapshot_put_header(&header, damage.file.bytes);
    write_file(&damage.place, "snapshot-0000000000000002", damage.file.bytes, damage.file.size);
    expect_refused(&damage, "has keys of 8 bytes and fixed values of 8 bytes, which do not fit");
    write_file(&damage.place, "snapshot-0000000000000002", damage.file.bytes, 100);
    write_file(&damage.place, "snapshot-0000000000000001", damage.file.bytes, 100);
    expect_refused(&damage, "all snapshots in ");
    close_damage(&damage);
}

Test(snapshot_damage, rows_of_another_size_or_type_are_refused_in_words)
{
    struct damage damage;
    row_bytes = 12;
    open_damage(&damage);
    row_type = SW_TYPE_F32;
    expect_refused(&damage,
                   "snapshot-0000000000000002 has rows of u32, and this table rows of f32: "
                   "start with value-type u32");
    row_type = SW_TYPE_BYTES; /* bytes are anything */
    struct sw_load loaded;
    cr_assert_eq(load(&damage.place, damage.table, &loaded), 0, "%s", damage.place.reason);
    cr_assert(holds(damage.table, 121));
    sw_table_destroy(damage.table);
    row_bytes = 16;
    damage.table = new_table();
    expect_refused(&damage, "has keys of 8 bytes and fixed values of 12 bytes, which do not fit "
                            "this table of keys of 8 and fixed values of 16");
    close_damage(&damage);
}

Test(snapshot_damage, what_a_header_says_of_rows_is_possible)
{
    struct sw_snapshot_header header = {.key_bytes = 8,
                                        .value_bytes = 4096,
                                        .value_format = SW_FRAME_VALUES_FIXED,
                                        .block_entries = 64,
                                        .columns = 3,
                                        .value_type = SW_TYPE_U64};
    struct sw_snapshot_header read;
    uint8_t bytes[SW_SNAPSHOT_HEADER_BYTES];
    bool newer;
    sw_snapshot_put_header(&header, bytes);
    cr_assert_null(sw_snapshot_get_header(bytes, &read, &newer));
    cr_assert_eq(read.value_type, SW_TYPE_U64);
    const struct {
        uint32_t bytes, format, type;
    } wrong[] = {
        {4100, SW_FRAME_VALUES_FIXED, SW_TYPE_F32},  {12, SW_FRAME_VALUES_FIXED, SW_TYPE_U64},
        {12, SW_FRAME_VALUES_FIXED, SW_TYPE_STRING}, {12, SW_FRAME_VALUES_STRING, SW_TYPE_F32},
        {8, SW_FRAME_VALUES_INTEGER, SW_TYPE_U64},   {12, SW_FRAME_VALUES_FIXED, SW_TYPE_F64}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        header.value_bytes = wrong[i].bytes;
        header.value_format = wrong[i].format;
        header.value_type = wrong[i].type;
        sw_snapshot_put_header(&header, bytes);
        cr_assert_str_eq(sw_snapshot_get_header(bytes, &read, &newer),
                         "has impossible values in its header", "%zu", i);
        cr_assert_not(newer);
    }
    header.value_type = SW_TYPE_COUNT; /* as a later release writes it */
    sw_snapshot_put_header(&header, bytes);
    cr_assert_str_eq(sw_snapshot_get_header(bytes, &read, &newer),
                     "has values of a type that only a later version knows");
    cr_assert(newer);
}

Test(snapshot_damage, more_keys_than_the_table_takes_are_refused_with_what_is_needed)
{
    struct damage damage;
    const struct sw_table_config config = cpu_config(64, 128);
    open_damage(&damage);
    sw_table_destroy(damage.table);
    damage.table = must_create(&config);
    expect_refused(&damage, "has 121 keys, more than the table takes: it needs --capacity, or "
                            "--max-capacity, of at least 143");
    close_damage(&damage);
}
