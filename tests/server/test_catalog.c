/* SPDX-License-Identifier: MIT
 *
 * test_catalog.c - catalogs of several tables: their bytes, what older programs make of them, and
 * files that lose power at any call.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "proto/catalog.h"
#include "proto/check.h"
#include "server/log/catalog_file.h"
#include "server/log/snapshot_take.h"
#include "tests/server/snapshot_fixture.h"
#include "tests/support/power_disk.h"

#ifdef SHERWOOD_CHECKS /* sanitizers are slow */
enum { STEP = 7 };
#else
enum { STEP = 1 };
#endif
enum { CALLS_MAX = 200, ROUNDS = 3 };

#define SHAPE            \
    {                    \
        8, 8, 0, 0, 0, 0 \
    }

static struct sw_catalog_place places[] = {{0, 2, "default"}, {7, 1, "served"}};
static struct sw_catalog_table tables[] = {{1, 5, 6, "capacity 1024\n", SHAPE, 1, 4096},
                                           {2, 0, 4, "", SHAPE, 0, 0}};
static struct sw_catalog catalog = {places, 2, tables, 2, 65536, 3, NULL, 0, NULL, 0, NULL};

/* --- bytes ------------------------------------------------------------------------------------ */

Test(catalog, comes_back)
{
    size_t bytes = 0;
    struct sw_catalog got;
    bool newer = true;
    uint8_t *encoded = sw_catalog_encode(&catalog, &bytes);
    cr_assert_not_null(encoded);
    cr_assert_null(sw_catalog_decode(encoded, bytes, &got, &newer));
    cr_assert_eq(got.place_count, 2);
    cr_assert_eq(got.places[1].number, 7);
    cr_assert_eq(got.places[1].table, 1);
    cr_assert_str_eq(got.places[1].name, "served");
    cr_assert_eq(got.next_table, 3);
    const struct sw_catalog_table *table = sw_catalog_table_of(&got, 1);
    cr_assert_eq(table->file, 5);
    cr_assert_eq(table->through, 6);
    cr_assert_str_eq(table->options, "capacity 1024\n");
    cr_assert_eq(table->slots_most, 4096);
    cr_assert_eq(memcmp(&table->shape, &tables[0].shape, sizeof(table->shape)), 0);
    cr_assert_null(sw_catalog_table_of(&got, 3));
    sw_catalog_free(&got);
    free(encoded);
}

/* Encodes the catalog, and returns what decoding it says. */
static const char *decoded(const struct sw_catalog *wrong, bool *newer)
{
    size_t bytes = 0;
    struct sw_catalog got;
    uint8_t *encoded = sw_catalog_encode(wrong, &bytes);
    const char *error = sw_catalog_decode(encoded, bytes, &got, newer);
    if (error == NULL) {
        sw_catalog_free(&got);
    }
    free(encoded);
    return error;
}

Test(catalog, refuses_what_contradicts_itself)
{
    bool newer = false;
    struct sw_catalog wrong = catalog;
    cr_assert_null(decoded(&wrong, &newer));
    wrong.next_table = 2; /* the id of a table that exists would be given again */
    cr_assert_str_eq(decoded(&wrong, &newer), "has a catalog that contradicts itself");
    struct sw_catalog_place twice[] = {{0, 1, "default"}, {7, 1, "served"}};
    wrong = catalog;
    wrong.places = twice;
    cr_assert_str_eq(decoded(&wrong, &newer), "has a catalog that contradicts itself");
    struct sw_catalog_place beside[] = {{1, 2, "default"}, {7, 1, "served"}};
    wrong.places = beside;
    cr_assert_str_eq(decoded(&wrong, &newer), "has a catalog that contradicts itself");
    wrong = catalog;
    wrong.place_count = 1;
    cr_assert_str_eq(decoded(&wrong, &newer), "has a catalog that contradicts itself");
    cr_assert_not(newer);
}

Test(catalog, a_change_has_new_options_of_tables)
{
    size_t bytes = 0;
    struct sw_catalog got, change = {NULL, 0, tables + 1, 1, 65536, 3, NULL, 0, tables, 1, NULL};
    bool newer = true;
    uint8_t *encoded = sw_catalog_encode(&change, &bytes);
    cr_assert_not_null(encoded);
    cr_assert_null(sw_catalog_decode_change(encoded, bytes, &got, &newer));
    cr_assert_eq(got.table_count, 1);
    cr_assert_eq(got.tables[0].id, 2);
    cr_assert_null(sw_catalog_table_of(&got, 1));
    cr_assert_str_eq(sw_catalog_altered_of(&got, 1)->options, "capacity 1024\n");
    cr_assert_eq(sw_catalog_altered_of(&got, 1)->slots_most, 4096);
    sw_catalog_free(&got);
    free(encoded);
    change = catalog; /* a catalog has the options of each table once */
    change.altered = tables;
    change.altered_count = 1;
    cr_assert_str_eq(decoded(&change, &newer), "has a catalog that contradicts itself");
}

Test(catalog, refuses_fields_of_a_later_version)
{
    size_t bytes = 0;
    struct sw_catalog got;
    bool newer = false;
    uint8_t *encoded = sw_catalog_encode(&catalog, &bytes);
    uint8_t *longer = malloc(bytes + 2);
    memcpy(longer, encoded, bytes);
    longer[bytes] = 15 << 3; /* field 15, a number */
    longer[bytes + 1] = 1;
    cr_assert_str_eq(sw_catalog_decode(longer, bytes + 2, &got, &newer),
                     "has fields that only a later version knows");
    cr_assert(newer);
    cr_assert_str_eq(sw_catalog_decode(longer, 3, &got, &newer), "has a damaged catalog");
    free(longer);
    free(encoded);
}

/* A program that knows version 1 alone compares magic, check and version, in this order, and
 * refuses a newer version without treating the file as damaged. */
Test(catalog, is_refused_by_older_programs)
{
    const struct sw_catalog_header header = {.sequence = 9, .bytes = 100, .writer = "test"};
    struct sw_catalog_header again;
    struct sw_snapshot_header snapshot;
    uint8_t bytes[SW_SNAPSHOT_HEADER_BYTES];
    uint64_t check = 0;
    bool newer = false;
    sw_catalog_put_header(&header, bytes);
    cr_assert_eq(memcmp(bytes, "SWSNAP\0\1", 8), 0);
    memcpy(&check, bytes + 4088, sizeof(check));
    cr_assert_eq(check, sw_check64(bytes, 4088, 0));
    cr_assert_eq(bytes[8], 2);
    cr_assert_str_eq(sw_snapshot_get_header(bytes, &snapshot, &newer),
                     "is the catalog of several tables, not the snapshot of one");
    cr_assert(newer);
    cr_assert_null(sw_catalog_get_header(bytes, &again, &newer));
    cr_assert_eq(again.sequence, 9);
    cr_assert_eq(sw_catalog_file_bytes(&again), 8192);
}

/* --- power ------------------------------------------------------------------------------------ */

/* Writes the contents of `table` to the file of the table `id`. */
static int write_table(const struct sw_directory *directory, struct sw_table *table, uint32_t id,
                       uint64_t number, char reason[SW_LOAD_REASON_BYTES])
{
    char name[SW_DIRECTORY_NAME_MAX];
    struct sw_config config;
    sw_config_init(&config);
    struct sw_snapshot_write write = {.directory = directory, .header = {.table = id}};
    cr_assert_eq(sw_snapshot_take(&write, table, &config, true, reason), 0);
    write.header.sequence = number;
    sw_table_file_name(id, number, name);
    const int status =
        sw_snapshot_write_new(&write, reason) == 0 ? sw_snapshot_name(directory, name, reason) : -1;
    sw_image_drop(write.image);
    return status;
}

/* Saves the tables `rounds` times: round n writes n keys to a file of table 1 + n % 2, and a
 * catalog. Returns the last round whose catalog is durable. */
static uint64_t save_rounds(const struct sw_directory *directory, uint64_t rounds)
{
    char reason[SW_LOAD_REASON_BYTES];
    struct sw_catalog_table rows[] = {{1, 0, 0, "", SHAPE, 0, 0}, {2, 0, 0, "", SHAPE, 0, 0}};
    struct sw_catalog now = catalog;
    struct sw_saved_table saved[] = {{.id = 1}, {.id = 2}};
    uint64_t durable = 0;
    struct sw_table *table = new_table();
    now.tables = rows;
    for (uint64_t round = 1; round <= rounds; round++) {
        const uint32_t at = round % 2;
        struct sw_catalog_header header = {.sequence = round};
        set(table, round - 1, 1);
        if (write_table(directory, table, at + 1, round, reason) != 0) {
            break;
        }
        rows[at].file = rows[at].through = saved[at].file = round;
        if (sw_catalog_write(directory, &header, &now, reason) != 0) {
            break;
        }
        durable = round;
        sw_snapshot_remove_old(directory, 1, NULL, 0);
        sw_table_files_remove(directory, saved, 2);
    }
    sw_table_destroy(table);
    return durable;
}

/* Loads a table's file, and returns its keys. */
static uint64_t load_table(struct sw_directory *directory, const struct sw_catalog_table *row)
{
    static const bool go_on;
    char name[SW_DIRECTORY_NAME_MAX], reason[SW_LOAD_REASON_BYTES] = "";
    struct sw_load loaded = {.directory = directory, .table = new_table(), .stop = &go_on};
    uint64_t keys = 0;
    if (row->file != 0) {
        sw_table_file_name(row->id, row->file, name);
        cr_assert_eq(sw_snapshot_load_file(&loaded, name, row->file, reason), SW_LOAD_WHOLE, "%s",
                     reason);
        keys = loaded.header.entries;
    }
    cr_assert_eq(keys, row->file, "the round's keys");
    sw_table_destroy(loaded.table);
    return keys;
}

/* Returns the round of the newest whole catalog. Its tables must be whole. */
static uint64_t newest_round(struct sw_directory *directory)
{
    uint64_t *numbers = NULL, round = 0;
    size_t count = 0;
    char reason[SW_LOAD_REASON_BYTES];
    cr_assert_eq(sw_directory_numbers(directory, SW_SNAPSHOT_KIND, &numbers, &count), 0);
    while (count-- > 0 && round == 0) {
        struct sw_catalog_header header;
        struct sw_catalog got;
        cr_assert_eq(sw_catalog_read(directory, numbers[count], &header, &got, reason),
                     SW_LOAD_WHOLE, "%s", reason);
        round = header.sequence;
        (void)load_table(directory, &got.tables[0]);
        (void)load_table(directory, &got.tables[1]);
        cr_assert_eq(got.tables[round % 2].file, round);
        sw_catalog_free(&got);
    }
    free(numbers);
    return round;
}

/* Wherever power goes, the newest catalog and the files that it names are whole, and nothing that
 * was durable is lost. */
Test(catalog, survives_a_loss_of_power_at_each_call, .timeout = 120)
{
    struct random random = {.state = 5};
    char reason[SW_LOAD_REASON_BYTES];
    bool over = false;
    sw_log_init(SW_LOG_ERROR);
    for (uint32_t calls = 1; calls < CALLS_MAX && !over; calls += STEP) {
        struct sw_directory directory;
        power_disk_init();
        cr_assert_eq(
            sw_directory_open(&directory, power_disk_io(), "/data", reason, sizeof(reason)), 0);
        power_disk_crash_before(calls, &random);
        const uint64_t durable = save_rounds(&directory, ROUNDS);
        over = !power_disk_is_dead();
        sw_directory_close(&directory);
        power_disk_crash(&random);
        power_disk_reboot();
        cr_assert_eq(
            sw_directory_open(&directory, power_disk_io(), "/data", reason, sizeof(reason)), 0);
        const uint64_t round = newest_round(&directory);
        cr_assert(round >= durable && round <= durable + 1, "%lu after %lu at call %u",
                  (unsigned long)round, (unsigned long)durable, calls);
        sw_directory_close(&directory);
        power_disk_free();
    }
    cr_assert(over, "every call was cut off");
}
