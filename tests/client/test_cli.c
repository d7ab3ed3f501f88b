/* SPDX-License-Identifier: MIT
 *
 * test_cli.c - sherwood-cli: words, answers, command line, and files of pairs there and back.
 */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/cli.h"
#include "client/cli/commands.h"
#include "client/cli/pairs.h"
#include "tests/support/fake_server.h"

static struct sw_fake_server server;
static struct sw_fake_table table;
static struct sw_cli_options options;
static struct sw_cli cli;
static char *output, *messages;
static size_t output_size, messages_size;
static char folder[] = "/tmp/sherwood-cli-XXXXXX";

static void open_cli(uint32_t key_bytes, uint32_t value_bytes, bool raw)
{
    sw_fake_table_init(&table, key_bytes, value_bytes, 1U << 19);
    sw_fake_start(&server, sw_fake_table_script, &table);
    options = (struct sw_cli_options){.quiet = true};
    strcpy(options.address, server.address);
    cli = (struct sw_cli){.options = &options, .raw = raw};
    cli.out = open_memstream(&output, &output_size);
    cli.messages = open_memstream(&messages, &messages_size);
    strcpy(folder, "/tmp/sherwood-cli-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

static void close_cli(void)
{
    sherwood_close(cli.client);
    fclose(cli.out);
    fclose(cli.messages);
    free(output);
    free(messages);
    sw_fake_stop(&server);
    sw_fake_table_fini(&table);
    cr_expect_eq(rmdir(folder), 0, "%s is not empty", folder);
}

/* Runs a line; its answer, valid until the next. */
static const char *run(const char *line)
{
    char copy[512];
    strcpy(copy, line);
    rewind(cli.out);
    sw_cli_run_line(&cli, copy);
    fputc('\0', cli.out);
    fflush(cli.out);
    return output;
}

static void expect(const char *line, const char *answer)
{
    const char *got = run(line);
    cr_expect_str_eq(got, answer, "%s: \"%s\" instead of \"%s\"", line, got, answer);
}

Test(cli, answers_for_people)
{
    open_cli(8, 8, false);
    expect("ping", "PONG\n");
    expect("PING \"a b\"", "\"a b\"\n");
    expect("SET 42 7", "OK\n");
    expect("get 42", "\"7\"\n");
    expect("GET 43", "(nil)\n");
    expect("SET 42 8 NX", "(nil)\n");
    expect("SET 42 8 XX GET", "\"7\"\n");
    expect("SET 43 1 xx", "(nil)\n");
    expect("SET 43 1 GET", "(nil)\n");
    expect("MSET 1 10 2 20 1 11", "OK\n");
    expect("MGET 1 2 3", "1) \"11\"\n2) \"20\"\n3) (nil)\n");
    expect("EXISTS 1 1 2 99", "(integer) 3\n");
    expect("DBSIZE", "(integer) 4\n");
    expect("INCR 5", "(integer) 1\n");
    expect("INCRBY 5 9", "(integer) 10\n");
    expect("DECR 5", "(integer) 9\n");
    expect("DECRBY 5 10", "(error) ERR increment or decrement would overflow\n");
    expect("DECR 77", "(error) ERR increment or decrement would overflow\n");
    expect("GET 77", "(nil)\n");
    expect("SUM 5 18446744073709551615", "(integer) 8\n");
    expect("MIN 5 3", "(integer) 3\n");
    expect("MIN 5 4", "(integer) 3\n");
    expect("MAX 5 4", "(integer) 4\n");
    expect("MAX 6 4", "(integer) 4\n");
    expect("SET 9 18446744073709551615", "OK\n");
    expect("INCR 9", "(error) ERR increment or decrement would overflow\n");
    expect("GETDEL 6", "\"4\"\n");
    expect("GETDEL 6", "(nil)\n");
    expect("ECHO \"a b\"", "\"a b\"\n");
    expect("HELLO 4", "(error) NOPROTO unsupported protocol version\n");
    cr_expect_not_null(strstr(run("HELLO 3"), "1# \"server\" => sherwood\n"));
    cr_expect_not_null(strstr(run("COMMAND"), "\"FLUSHALL\"\n"));
    expect("COMMAND COUNT", "(integer) 26\n");
    expect("DEL 1 1 2 99", "(integer) 2\n");
    expect("FLUSHALL", "OK\n");
    expect("SET 18446744073709551615 0", "OK\n");
    expect("SCAN 0", "1) \"0\"\n2) 1) \"18446744073709551615\"\n");
    expect("FLUSHALL", "OK\n");
    expect("SCAN 0", "1) \"0\"\n2) (empty array)\n");
    close_cli();
}

Test(cli, answers_for_programs)
{
    open_cli(4, 8, true);
    expect("SET 42 7", "OK\n");
    expect("GET 42", "7\n");
    expect("GET 43", "\n");
    expect("MGET 42 43", "7\n\n");
    expect("EXISTS 42", "1\n");
    expect("SCAN 0 COUNT 5", "0\n42\n");
    expect("", "");
    expect("  \t ", "");
    close_cli();
}

Test(cli, errors_change_nothing)
{
    open_cli(4, 4, true);
    static const char *const bad[] = {"SET 4294967296 1",
                                      "SET 1 4294967296",
                                      "SET 1 -1",
                                      "SET 1 1.5",
                                      "SET x 1",
                                      "SET 1",
                                      "SET 1 2 NX XX",
                                      "SET 1 2 EX 5",
                                      "MSET 1 2 3",
                                      "MSET 1 2 3 x",
                                      "GET",
                                      "GET 1 2",
                                      "SCAN x",
                                      "SCAN 0 COUNT",
                                      "SCAN 0 COUNT 0",
                                      "RESIZE",
                                      "RESIZE x",
                                      "RESIZE 1KB",
                                      "RESIZE 1 2",
                                      "NOSUCH 1",
                                      "GET \"1",
                                      "SET \"\" 1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; ++i) {
        const char *answer = run(bad[i]);
        cr_expect_eq(strncmp(answer, "ERR ", 4), 0, "%s: %s", bad[i], answer);
        cr_expect(cli.failed, "%s", bad[i]);
    }
    cr_expect_eq(table.occupied, 0);
    cr_expect_eq(strcmp(run("GET abc"),
                        "ERR key \"abc\" is not an unsigned integer or out of range "
                        "(0 to 4294967295)\n"),
                 0);
    close_cli();
}

Test(cli, info_and_help)
{
    open_cli(8, 8, true);
    const char *answer = run("INFO");
    cr_expect(strstr(answer, "# Server\n") != NULL && strstr(answer, "# Stats\n") != NULL);
    cr_expect(strstr(answer, "get_hits:13\n") != NULL, "%s", answer);
    answer = run("HELP");
    for (const struct sw_cli_command *c = sw_cli_commands(); c->name != NULL; ++c) {
        cr_expect(strstr(answer, c->name) != NULL, "%s", c->name);
    }
    cr_expect(strstr(run("help set"), "NX") != NULL);
    run("quit");
    cr_expect(cli.quit);
    close_cli();
}

Test(cli, words)
{
    static const struct {
        const char *line;
        int count;
        const char *words[4];
    } cases[] = {
        {"get 1", 2, {"get", "1"}},
        {"  a\t b\r\n", 2, {"a", "b"}},
        {"", 0, {0}},
        {"\"a b\" 'c d'", 2, {"a b", "c d"}},
        {"\"a\\n\\x41\\\"\" x", 2, {"a\nA\"", "x"}},
        {"'it\\'s'", 1, {"it's"}},
        {"\"\" ''", 2, {"", ""}},
        {"a\"b\" c", 2, {"ab", "c"}},
        {"\"open", -1, {0}},
        {"'open", -1, {0}},
        {"\"a\"b", -1, {0}},
        {"\"a\\", -1, {0}},
        {"1 2 3 4 5", -1, {0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        char line[64];
        char *words[4];
        strcpy(line, cases[i].line);
        int count = sw_cli_split(line, words, 4);
        cr_assert_eq(count, cases[i].count, "<%s>: %d words", cases[i].line, count);
        for (int w = 0; w < count; ++w) {
            cr_expect_str_eq(words[w], cases[i].words[w], "<%s>", cases[i].line);
        }
    }
}

/* The words as argv: writable, and ended by NULL. */
struct command_line {
    char text[8][32];
    char *argv[9];
};

static void set_argv(struct command_line *line, int argc, const char *const *words)
{
    for (int i = 0; i < argc; ++i) {
        strcpy(line->text[i], words[i]);
        line->argv[i] = line->text[i];
    }
    line->argv[argc] = NULL;
}

Test(cli, command_line)
{
    static const struct {
        int argc;
        const char *argv[7];
        const char *address; /* NULL: refused */
    } cases[] = {
        {1, {"c"}, "127.0.0.1:7379"},
        {3, {"c", "-p", "1"}, "127.0.0.1:1"},
        {5, {"c", "-h", "::1", "-p", "2"}, "[::1]:2"},
        {3, {"c", "-s", "/x"}, "unix:/x"},
        {3, {"c", "-a", "h:3"}, "h:3"},
        {4, {"c", "set", "-a", "-b"}, "127.0.0.1:7379"},
        {5, {"c", "load", "f", "-p", "4"}, "127.0.0.1:4"},
        {5, {"c", "-a", "h:3", "-p", "1"}, NULL},
        {3, {"c", "--format", "x"}, NULL},
        {2, {"c", "--nonsense"}, NULL},
        {2, {"c", "-p"}, NULL},
        {4, {"c", "dump", "f", "--nonsense"}, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        struct command_line line;
        struct sw_cli_options read;
        char text[200];
        set_argv(&line, cases[i].argc, cases[i].argv);
        bool good = sw_cli_options_read(cases[i].argc, line.argv, &read, text, sizeof text);
        cr_assert_eq(good, cases[i].address != NULL, "case %zu", i);
        cr_expect(!good || strcmp(read.address, cases[i].address) == 0, "case %zu: %s", i,
                  read.address);
    }
}

Test(cli, options_behind_load_and_dump)
{
    static const char *const words[] = {"c", "load", "--format", "bin", "-", "-q"};
    struct command_line line;
    struct sw_cli_options read;
    char text[200];
    set_argv(&line, 6, words);
    cr_assert(sw_cli_options_read(6, line.argv, &read, text, sizeof text), "%s", text);
    cr_expect_eq(read.words, 4);
    cr_expect_str_eq(line.argv[4], "load");
    cr_expect_str_eq(line.argv[5], "-");
    cr_expect_eq(read.format, SW_CLI_FORMAT_BINARY);
    cr_expect(read.quiet);
}

static char *path_of(const char *name)
{
    static char path[200];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_file(const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(path_of(name), "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes, 1, size, file), size);
    fclose(file);
}

/* Loads the text as CSV; what was said, valid until the next. */
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

Test(cli, csv_that_is_good)
{
    open_cli(8, 8, true);
    load_text("key,value\n1,10\n\n 2 ,\t20\r\n1,11\n0003,30", 0);
    cr_expect_eq(table.occupied, 3);
    cr_expect_eq(stored(1), 11, "the last value of a repeated key");
    cr_expect_eq(stored(2), 20);
    cr_expect_eq(stored(3), 30);
    load_text("", 0);
    load_text("id,count\n", 0);
    load_text("\n\n", 0);
    cr_expect_eq(table.occupied, 3);
    close_cli();
}

Test(cli, csv_that_is_bad)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"1,2\n3\n", "in.csv:2: not key,value"},
        {"1,2\nkey,value\n", "in.csv:2: the key is not"},
        {"1,x\n", "in.csv:1: the value is not"},
        {"x,1\n", "in.csv:1: the key is not"},
        {",\n", "in.csv:1: the key is not"},
        {"1,2,3\n", "in.csv:1: the value is not"},
        {"-1,2\n", "in.csv:1: the key is not"},
        {"1,18446744073709551616\n", "in.csv:1: the value is not"},
        {"1,2\n\n3,4\n5;6\n7,8\n9\n", "in.csv:6: not key,value"},
    };
    open_cli(8, 8, true);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const char *said = load_text(cases[i].text, 1);
        cr_expect(strstr(said, cases[i].says) != NULL, "case %zu: %s", i, said);
    }
    char line[1000];
    memset(line, ' ', sizeof line);
    strcpy(line + sizeof line - 8, "1,2\n");
    cr_expect(strstr(load_text(line, 1), "too long") != NULL);
    cr_expect_eq(table.occupied, 0, "nothing of a batch with a bad line is sent");
    close_cli();
}

/* A bad line in the third batch: the first two are stored, nothing behind it is. */
Test(cli, a_bad_line_stops_before_its_batch)
{
    open_cli(8, 8, true);
    table.ops_max = 1000;
    char *text = malloc(100000);
    char *to = text;
    for (int i = 0; i < 5000; ++i) {
        to += sprintf(to, i == 2500 ? "oops%d\n" : "%d,1\n", i);
    }
    const char *said = load_text(text, 1);
    cr_expect(strstr(said, "in.csv:2501:") != NULL, "%s", said);
    cr_expect(strstr(said, "known to be stored: 2000") != NULL, "%s", said);
    cr_expect_eq(table.occupied, 2000);
    cr_expect_eq(stored(1999), 1);
    free(text);
    close_cli();
}

Test(cli, a_full_table_stops_the_load)
{
    open_cli(8, 8, true);
    table.ops_max = 64;
    table.occupied_max = 100;
    char *text = malloc(10000);
    char *to = text;
    for (int i = 0; i < 500; ++i) {
        to += sprintf(to, "%d,1\n", i);
    }
    const char *said = load_text(text, 1);
    cr_expect(strstr(said, "lines 65 to 128") != NULL, "%s", said);
    cr_expect(strstr(said, "more capacity") != NULL, "%s", said);
    free(text);
    close_cli();
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
    for (size_t i = 0; i < count; ++i) {
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
    for (size_t i = 0; i < count; ++i) {
        uint64_t value = stored(mixed(i) & key_mask);
        bool repeated = key_mask != UINT64_MAX; /* narrow keys may repeat: then the last one won */
        cr_assert(value == (mixed(~i) & value_mask) || (repeated && value != UINT64_MAX), "%zu", i);
    }
}

Test(cli, there_and_back_csv)
{
    open_cli(8, 8, true);
    there_and_back("all.csv", 200000, UINT64_MAX, UINT64_MAX);
    close_cli();
}
Test(cli, there_and_back_binary)
{
    open_cli(8, 8, true);
    there_and_back("all.bin", 200000, UINT64_MAX, UINT64_MAX);
    close_cli();
}
Test(cli, there_and_back_narrow)
{
    open_cli(4, 4, true);
    there_and_back("all.bin", 100000, UINT32_MAX, UINT32_MAX);
    close_cli();
}

Test(cli, binary_that_ends_within_a_pair)
{
    open_cli(8, 8, true);
    uint64_t pairs[3] = {1, 10, 2};
    write_file("in.bin", pairs, sizeof pairs);
    cr_expect_eq(sw_cli_load(&cli, path_of("in.bin")), 1);
    unlink(path_of("in.bin"));
    fflush(cli.messages);
    cr_expect(strstr(messages, "ends within pair 2") != NULL, "%s", messages);
    cr_expect_eq(table.occupied, 0);
    close_cli();
}

Test(cli, files_that_cannot_be)
{
    open_cli(8, 8, true);
    cr_expect_eq(sw_cli_load(&cli, "/nonexistent/x.csv"), 1);
    cr_expect_eq(sw_cli_load(&cli, "/tmp/name"), 1, "which format?");
    cr_expect_eq(sw_cli_load(&cli, "/tmp"), 1, "which format?");
    cr_expect_eq(sw_cli_dump(&cli, "/nonexistent/x.csv"), 1);
    options.format = SW_CLI_FORMAT_CSV;
    cr_expect_eq(sw_cli_load(&cli, "/tmp"), 1, "a folder");
    run("SET 1 2");
    cr_expect_eq(sw_cli_dump(&cli, "/dev/full"), 1, "a full disk");
    close_cli();
}

Test(cli, commands_from_a_pipe)
{
    open_cli(8, 8, true);
    char text[] = "SET 1 2\nGET 1\n\nNOSUCH\nGET 1\nQUIT\nGET 1\n";
    FILE *in = fmemopen(text, strlen(text), "r");
    cr_expect_eq(sw_cli_pipe(&cli, in), 1, "one of them failed");
    fclose(in);
    fflush(cli.out);
    cr_expect_str_eq(output, "OK\n2\nERR unknown command 'NOSUCH': HELP lists the commands\n2\n");
    close_cli();
}
