/* SPDX-License-Identifier: MIT
 *
 * test_cli_files.c - sherwood-cli load and dump: files of pairs, good and bad, there and back.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/client/cli_fixture.h"

static char *path_of(const char *name)
{
    static char path[200];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(path_of(name), "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

/* Loads the text as CSV. Returns the output, valid until the next call. */
static const char *load_text(const char *text, int status)
{
    write_file("in.csv", text, strlen(text));
    rewind(cli.messages);
    int got = sw_cli_load(&cli, path_of("in.csv"));
    fputc('\0', cli.messages);
    fflush(cli.messages);
    unlink(path_of("in.csv"));
    cr_expect_eq(got, status, "\"%.40s\": status %d: %s", text, got, messages);
    return messages;
}

static uint64_t stored(uint64_t key)
{
    uint64_t value;
    return sw_fake_table_get(&table, key, &value) ? value : UINT64_MAX;
}

TestSuite(cli_files, .fini = close_cli);

Test(cli_files, csv_that_is_good)
{
    open_cli(8, 8, true);
    load_text("key,value\n1,10\n\n 2 ,\t20\r\n1,11\n0003,30", 0);
    cr_expect_eq(table.occupied, 3);
    cr_expect_eq(stored(1), 11, "the last value of a repeated key");
    cr_expect_eq(stored(2), 20);
    cr_expect_eq(stored(3), 30);
    load_text("", 0);
    cr_expect_null(strstr(load_text("id,count\n", 0), "header"), "quiet");
    load_text("\n\n", 0);
    cr_expect_eq(table.occupied, 3);
}

/* What spreadsheets write. */
Test(cli_files, csv_with_quotes_and_a_byte_order_mark)
{
    open_cli(8, 8, true);
    load_text("\"1\",\"10\"\n2,20\n", 0);
    cr_expect_eq(stored(1), 10, "the first line is a pair");
    cr_expect_eq(stored(2), 20);
    load_text("\xEF\xBB\xBF"
              "3,30\r\n \" 4 \" , \"40\"\r\n",
              0);
    cr_expect_eq(stored(3), 30);
    cr_expect_eq(stored(4), 40);
    options.quiet = false;
    cr_expect_not_null(strstr(load_text("\xEF\xBB\xBF\"id\",\"count\"\n5,50\n", 0),
                              "in.csv:1: taken as a header, not as a pair: \"\"id\",\"count\"\""));
    cr_expect_eq(stored(5), 50);
    cr_expect_null(strstr(load_text("6,60\n", 0), "header"));
}

Test(cli_files, csv_that_is_bad)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"1,2\n3\n", "in.csv:2: not key,value"},
        {"1,2\nkey,value\n", "in.csv:2: the key is not"},
        {"1,x\n", "in.csv:1: the value is not"},
        {"x,1\n", "in.csv:1: the key is not"},
        {",\n", "in.csv:1: the key is not"},
        {"-1,2\n", "in.csv:1: the key is not"},
        {"1,18446744073709551616\n", "in.csv:1: the value is not"},
        {"1,2\n\n3,4\n5;6\n7,8\n9\n", "in.csv:6: not key,value"},
        {"1\t2\n", "in.csv:1: not key,value (the fields are separated by a tab"},
        {"1;2\n", "in.csv:1: not key,value (the fields are separated by a semicolon"},
        {"1,2,3\n", "in.csv:1: not key,value (the line has more than two fields"},
        {"1,2\n# more\n", "in.csv:2: not key,value (comments are not read"},
        {"\"1,2\"\n", "in.csv:1: the key is not"},
        {"\"1\"x,2\n", "in.csv:1: the key is not"},
        {"\"\",\"\"\n", "in.csv:1: the key is not"},
        {"1,2\n\xEF\xBB\xBF"
         "3,4\n",
         "in.csv:2: the key is not"},
        {"1,2\r3,4\r", "in.csv:1: the line has a carriage return before its end"},
        {"1\r,2\n", "in.csv:1: the line has a carriage return"},
        {"1,2\r\r\n", "in.csv:1: the line has a carriage return"},
        {"1,1e3\n", "in.csv:1: the value is not"},
        {"1,2.0\n", "in.csv:1: the value is not"},
        {"1,+2\n", "in.csv:1: the value is not"},
        {"1,0x2\n", "in.csv:1: the value is not"},
        {"1,\"2\n", "in.csv:1: the value is not"},
        {"+7,5\n", "in.csv:1: the key is not"},
        {"x7,5\n", "in.csv:1: the key is not"},
        {" ,5\n", "in.csv:1: the key is not"},
    };
    open_cli(8, 8, true);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *said = load_text(cases[i].text, 1);
        cr_expect(strstr(said, cases[i].says) != NULL, "case %zu: %s", i, said);
    }
    char line[1000];
    memset(line, ' ', sizeof(line));
    strcpy(line + sizeof(line) - 8, "1,2\n");
    cr_expect(strstr(load_text(line, 1), "too long") != NULL);
    cr_expect_eq(table.occupied, 0, "nothing of a batch with a bad line is sent");
}

static const char *load_bytes(const void *bytes, size_t size)
{
    write_file("in.csv", bytes, size);
    rewind(cli.messages);
    cr_expect_eq(sw_cli_load(&cli, path_of("in.csv")), 1);
    fputc('\0', cli.messages);
    fflush(cli.messages);
    unlink(path_of("in.csv"));
    return messages;
}

Test(cli_files, bytes_that_are_no_text)
{
    static const char cut[] = "1,2\n3,4\0garbage\n", wide[] = "\xFF\xFE"
                                                              "1\0,\0002\0\n\0";
    open_cli(8, 8, true);
    cr_expect_not_null(
        strstr(load_bytes(cut, sizeof(cut) - 1), "in.csv:2: the line has a NUL byte"), "%s",
        messages);
    cr_expect_not_null(
        strstr(load_bytes(wide, sizeof(wide) - 1), "in.csv:1: the line has a NUL byte"), "%s",
        messages);
    cr_expect_eq(table.occupied, 0);
}

/* A bad line in the third batch: the first two are stored, nothing behind it is. */
Test(cli_files, a_bad_line_stops_before_its_batch)
{
    open_cli(8, 8, true);
    table.ops_max = 1000;
    char *text = malloc(100000);
    char *to = text;
    for (int i = 0; i < 5000; i++) {
        to += sprintf(to, i == 2500 ? "oops%d\n" : "%d,1\n", i);
    }
    const char *said = load_text(text, 1);
    cr_expect(strstr(said, "in.csv:2501:") != NULL, "%s", said);
    cr_expect(strstr(said, "known to be stored: 2000") != NULL, "%s", said);
    cr_expect_eq(table.occupied, 2000);
    cr_expect_eq(stored(1999), 1);
    free(text);
}

Test(cli_files, a_full_table_stops_the_load)
{
    open_cli(8, 8, true);
    table.ops_max = 64;
    table.occupied_max = 100;
    char *text = malloc(10000);
    char *to = text;
    for (int i = 0; i < 500; i++) {
        to += sprintf(to, "%d,1\n", i);
    }
    const char *said = load_text(text, 1);
    cr_expect(strstr(said, "lines 65 to 128") != NULL, "%s", said);
    cr_expect(strstr(said, "a larger table") != NULL, "%s", said);
    cr_expect_eq(table.occupied, 64, "what was stored before");
    free(text);
}

/* Lines behind a refused batch that would fit (here: the last eight) are not stored: the stored
 * pairs are a beginning of the file. */
Test(cli_files, nothing_behind_a_refused_batch_is_stored)
{
    open_cli(8, 8, true);
    table.ops_max = 64;
    table.occupied_max = 140;
    char *text = malloc(10000);
    char *to = text;
    for (int i = 0; i < 200; i++) { /* 64, 64, 64 that are refused, 8 of the first again */
        to += sprintf(to, "%d,%d\n", i < 192 ? i : i - 192, i + 1);
    }
    const char *said = load_text(text, 1);
    cr_expect(strstr(said, "lines 129 to 192") != NULL, "%s", said);
    cr_expect(strstr(said, "known to be stored: 128") != NULL, "%s", said);
    cr_expect_eq(stored(0), 1, "line 193 was stored");
    cr_expect_eq(stored(127), 128);
    cr_expect_eq(table.occupied, 128);
    free(text);
}

static uint64_t mixed(uint64_t i)
{
    i = (i ^ i >> 33) * 0xFF51AFD7ED558CCDU;
    return (i ^ i >> 29) * 0xC4CEB9FE1A85EC53U;
}

/* Dumps to the file, clears, loads it again, and compares every pair. */
static void there_and_back(const char *name, size_t count, uint64_t key_mask, uint64_t value_mask)
{
    FILE *csv = fopen(path_of("seed.csv"), "w");
    for (size_t i = 0; i < count; i++) {
        fprintf(csv, "%llu,%llu\n", (unsigned long long)(mixed(i) & key_mask),
                (unsigned long long)(mixed(~i) & value_mask));
    }
    fclose(csv);
    cr_assert_eq(sw_cli_load(&cli, path_of("seed.csv")), 0);
    unlink(path_of("seed.csv"));
    uint64_t occupied = table.occupied;
    cr_assert_gt(occupied, count - count / 100);
    cr_assert_eq(sw_cli_dump(&cli, path_of(name)), 0);
    cr_assert_eq(sherwood_clear(cli.client), SHERWOOD_OK);
    cr_assert_eq(sw_cli_load(&cli, path_of(name)), 0);
    unlink(path_of(name));
    cr_assert_eq(table.occupied, occupied);
    for (size_t i = 0; i < count; i++) {
        uint64_t value = stored(mixed(i) & key_mask);
        bool repeated = key_mask != UINT64_MAX; /* narrow keys may repeat: then the last one won */
        cr_assert(value == (mixed(~i) & value_mask) || (repeated && value != UINT64_MAX), "%zu", i);
    }
}

Test(cli_files, there_and_back_csv)
{
    open_cli(8, 8, true);
    there_and_back("all.csv", 200000, UINT64_MAX, UINT64_MAX);
}
Test(cli_files, there_and_back_binary)
{
    open_cli(8, 8, true);
    there_and_back("all.bin", 200000, UINT64_MAX, UINT64_MAX);
}
Test(cli_files, there_and_back_narrow)
{
    open_cli(4, 4, true);
    there_and_back("all.bin", 100000, UINT32_MAX, UINT32_MAX);
}

Test(cli_files, binary_that_ends_within_a_pair)
{
    open_cli(8, 8, true);
    uint64_t pairs[3] = {1, 10, 2};
    write_file("in.bin", pairs, sizeof(pairs));
    cr_expect_eq(sw_cli_load(&cli, path_of("in.bin")), 1);
    unlink(path_of("in.bin"));
    fflush(cli.messages);
    cr_expect(strstr(messages, "ends within pair 2") != NULL, "%s", messages);
    cr_expect_eq(table.occupied, 0);
}

Test(cli_files, files_that_cannot_be)
{
    open_cli(8, 8, true);
    cr_expect_eq(sw_cli_load(&cli, "/nonexistent/x.csv"), 1);
    cr_expect_eq(sw_cli_load(&cli, "/tmp/name"), 1, "which format?");
    cr_expect_eq(sw_cli_load(&cli, "/tmp"), 1, "which format?");
    cr_expect_eq(sw_cli_dump(&cli, "/nonexistent/x.csv"), 1);
    options.format = SW_CLI_FORMAT_CSV;
    cr_expect_eq(sw_cli_load(&cli, "/tmp"), 1, "a folder");
    run_line("SET 1 2");
    cr_expect_eq(sw_cli_dump(&cli, "/dev/full"), 1, "a full disk");
}

/* How many files of the folder of path_of begin with this name. */
static int files_named(const char *name)
{
    int count = 0;
    DIR *open = opendir(folder);
    for (struct dirent *entry = readdir(open); entry != NULL; entry = readdir(open)) {
        count += strncmp(entry->d_name, name, strlen(name)) == 0;
    }
    closedir(open);
    return count;
}

static void expect_file(const char *name, const char *text)
{
    char seen[64] = "";
    FILE *file = fopen(path_of(name), "r");
    cr_assert_not_null(file, "%s", name);
    seen[fread(seen, 1, sizeof(seen) - 1, file)] = '\0';
    fclose(file);
    cr_expect_str_eq(seen, text);
}

/* A disk that gets full in the middle of a dump leaves the backup of yesterday. */
Test(cli_files, a_dump_that_fails_keeps_the_old_file)
{
    const struct rlimit small = {65536, RLIM_INFINITY};
    struct rlimit before;
    open_cli(8, 8, true);
    there_and_back("all.csv", 50000, UINT64_MAX, UINT64_MAX);
    write_file("backup.csv", "1,2\n", 4);
    chmod(path_of("backup.csv"), 0640);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before);
    setrlimit(RLIMIT_FSIZE, &small);
    cr_expect_eq(sw_cli_dump(&cli, path_of("backup.csv")), 1);
    cr_expect_eq(sw_cli_dump(&cli, path_of("new.csv")), 1);
    setrlimit(RLIMIT_FSIZE, &before);
    expect_file("backup.csv", "1,2\n");
    cr_expect_eq(files_named("backup"), 1);
    cr_expect_eq(files_named("new"), 0);
    fflush(cli.messages);
    cr_expect_not_null(strstr(messages, "the file was not replaced"), "%s", messages);
    sw_cli_dump(&cli, path_of("backup.csv"));
    struct stat facts;
    stat(path_of("backup.csv"), &facts);
    cr_expect_eq(facts.st_mode & 07777, 0640);
    cr_expect_gt(facts.st_size, 50000);
    unlink(path_of("backup.csv"));
}

Test(cli_files, a_dump_through_a_link)
{
    char target[300];
    open_cli(8, 8, true);
    run_line("SET 1 2");
    write_file("real.csv", "old", 3);
    snprintf(target, sizeof(target), "%s", path_of("real.csv"));
    cr_assert_eq(symlink(target, path_of("link.csv")), 0);
    cr_expect_eq(sw_cli_dump(&cli, path_of("link.csv")), 0);
    expect_file("real.csv", "1,2\n");
    cr_expect_eq(sw_cli_dump(&cli, "/dev/null"), 1, "which format?");
    options.format = SW_CLI_FORMAT_CSV;
    cr_expect_eq(sw_cli_dump(&cli, "/dev/null"), 0, "in place");
    unlink(path_of("real.csv"));
    unlink(path_of("link.csv"));
}
