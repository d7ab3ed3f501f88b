/* SPDX-License-Identifier: MIT
 *
 * test_cli.c - sherwood-cli: words, replies, and the command line.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "client/cli/commands.h"
#include "tests/client/cli_fixture.h"

static void expect(const char *line, const char *answer)
{
    const char *got = run_line(line);
    cr_expect_str_eq(got, answer, "%s: \"%s\" instead of \"%s\"", line, got, answer);
}

TestSuite(cli, .fini = close_cli);

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
    expect("PREFIXLEN 1 2 1 99 2", "(integer) 3\n");
    expect("PREFIXLEN 99 1", "(integer) 0\n");
    expect("PREFIXLEN 2 1", "(integer) 2\n");
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
    cr_expect_not_null(strstr(run_line("HELLO 3"), "1# \"server\" => sherwood\n"));
    cr_expect_not_null(strstr(run_line("COMMAND"), "\"FLUSHALL\"\n"));
    char count[32];
    size_t commands = 0;
    for (const char *at = run_line("COMMAND"); (at = strchr(at, '\n')) != NULL; at++) {
        commands++;
    }
    cr_assert_gt(commands, 50);
    snprintf(count, sizeof(count), "(integer) %zu\n", commands);
    expect("COMMAND COUNT", count);
    cr_expect(strstr(run_line("\"\" 1 2"), "unknown command ''") != NULL,
              "no row is found by no name");
    expect("DEL 1 1 2 99", "(integer) 2\n");
    expect("FLUSHALL", "OK\n");
    expect("SET 18446744073709551615 0", "OK\n");
    expect("SCAN 0", "1) \"0\"\n2) 1) \"18446744073709551615\"\n");
    expect("FLUSHALL", "OK\n");
    expect("SCAN 0", "1) \"0\"\n2) (empty array)\n");
}

/* Each operation on keys that every engine may have can be asked for at the prompt. */
Test(cli, every_operation_on_keys_has_a_command)
{
#define ROW(name, number, ...) {SHERWOOD_##name, #name},
    static const struct {
        uint32_t operation;
        const char *name;
    } rows[] = {SW_INTEGER_OPERATION_MAP(ROW)};
    static const char *const lines[] = {
        [SHERWOOD_GET] = "GET 1",
        [SHERWOOD_SET] = "SET 1 2",
        [SHERWOOD_SUM] = "SUM 1 2",
        [SHERWOOD_MIN] = "MIN 1 2",
        [SHERWOOD_MAX] = "MAX 1 2",
        [SHERWOOD_SET_ABSENT] = "SET 1 2 NX",
        [SHERWOOD_SET_PRESENT] = "SET 1 2 XX",
        [SHERWOOD_INCREMENT] = "INCR 1",
        [SHERWOOD_DECREMENT] = "DECR 1",
        [SHERWOOD_DELETE] = "DEL 1",
    };
    open_cli(8, 8, true);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char line[64];
        const bool is_listed = rows[i].operation < sizeof(lines) / sizeof(lines[0]);
        snprintf(line, sizeof(line), "%s 1 2", rows[i].name);
        run_line(is_listed ? lines[rows[i].operation] : line);
        cr_assert_not(cli.failed, "%s: %s", rows[i].name, output);
        cr_assert_eq(table.last_operation, rows[i].operation, "%s", rows[i].name);
    }
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
                                      "WAIT 1",
                                      "WAIT x 1",
                                      "WAIT 1 -1",
                                      "RESIZE x",
                                      "RESIZE 1KB",
                                      "RESIZE 1 2",
                                      "NOSUCH 1",
                                      "GET \"1",
                                      "SET \"\" 1"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const char *answer = run_line(bad[i]);
        cr_expect_eq(strncmp(answer, "ERR ", 4), 0, "%s: %s", bad[i], answer);
        cr_expect(cli.failed, "%s", bad[i]);
    }
    cr_expect_eq(table.occupied, 0);
    cr_expect_eq(strcmp(run_line("GET abc"),
                        "ERR key \"abc\" is not an unsigned integer or out of range "
                        "(0 to 4294967295); for string keys start the server with --key-bits "
                        "64\n"),
                 0);
}

Test(cli, info_and_help)
{
    open_cli(8, 8, true);
    const char *answer = run_line("INFO");
    cr_expect(strstr(answer, "# Server\n") != NULL && strstr(answer, "# Stats\n") != NULL);
    cr_expect(strstr(answer, "get_hits:13\n") != NULL, "%s", answer);
    cr_expect(strstr(answer, "of_a_later_server:15\n") != NULL, "%s", answer);
    cr_expect(strstr(strstr(answer, "# Stats"), "capacity_slots:") == NULL, "shown once");
    answer = run_line("HELP");
    for (const struct sw_cli_command *c = NULL; (c = sw_cli_command_next(c)) != NULL;) {
        cr_expect(strstr(answer, c->name) != NULL, "%s", c->name);
    }
    cr_expect(strstr(run_line("help set"), "NX") != NULL);
    run_line("quit");
    cr_expect(cli.quit);
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
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char line[64];
        char *words[4];
        strcpy(line, cases[i].line);
        int count = sw_cli_split(line, words, 4);
        cr_assert_eq(count, cases[i].count, "<%s>: %d words", cases[i].line, count);
        for (int w = 0; w < count; w++) {
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
    for (int i = 0; i < argc; i++) {
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
        {3, {"c", "-p", "65535"}, "127.0.0.1:65535"},
        {3, {"c", "-p", "65536"}, NULL},
        {3, {"c", "-p", "83536"}, NULL},
        {3, {"c", "-p", "0"}, NULL},
        {3, {"c", "-p", "http"}, NULL},
        {4, {"c", "dump", "f", "--nonsense"}, NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct command_line line;
        struct sw_cli_options read;
        char text[200];
        set_argv(&line, cases[i].argc, cases[i].argv);
        bool good = sw_cli_options_read(cases[i].argc, line.argv, &read, text, sizeof(text));
        cr_assert_eq(good, cases[i].address != NULL, "case %zu", i);
        cr_expect(!good || strcmp(read.address, cases[i].address) == 0, "case %zu: %s", i,
                  read.address);
    }
}

Test(cli, refused_options)
{
    static const struct {
        const char *option, *argument, *why;
    } cases[] = {
        {"--format", "x", "its argument is csv or bin"},
        {"--table", "", "its argument is empty or wrong"},
        {"--nonsense", NULL, "there is no such option, or it takes no argument"},
        {"--tabl", "x", "write the whole name of the option"},
        {"-p", NULL, "it needs an argument"},
        {"--table", NULL, "it needs an argument"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *const words[] = {"c", cases[i].option, cases[i].argument};
        const char *const behind[] = {"c", "-q", "load", "f", cases[i].option, cases[i].argument};
        const int count = cases[i].argument == NULL ? 2 : 3;
        struct command_line line;
        struct sw_cli_options read;
        char text[200], wanted[200];
        set_argv(&line, count, words);
        snprintf(wanted, sizeof(wanted), "\"%s\" is not understood: %s", cases[i].option,
                 cases[i].why);
        cr_assert(!sw_cli_options_read(count, line.argv, &read, text, sizeof(text)));
        cr_expect_str_eq(text, wanted);
        set_argv(&line, count + 3, behind);
        cr_assert(!sw_cli_options_read(count + 3, line.argv, &read, text, sizeof(text)));
        cr_expect_str_eq(text, wanted);
    }
}

Test(cli, options_behind_load_and_dump)
{
    static const char *const words[] = {"c", "load", "--format", "bin", "-", "-q"};
    struct command_line line;
    struct sw_cli_options read;
    char text[200];
    set_argv(&line, 6, words);
    cr_assert(sw_cli_options_read(6, line.argv, &read, text, sizeof(text)), "%s", text);
    cr_expect_eq(read.words, 4);
    cr_expect_str_eq(line.argv[4], "load");
    cr_expect_str_eq(line.argv[5], "-");
    cr_expect_eq(read.format, SW_CLI_FORMAT_BINARY);
    cr_expect(read.quiet);
}

Test(cli, commands_from_a_pipe)
{
    open_cli(8, 8, true);
    char text[] = "SET 1 2\nGET 1\n\nNOSUCH\nGET 1\nQUIT\nGET 1\n";
    FILE *in = fmemopen(text, strlen(text), "r");
    cr_expect_eq(sw_cli_pipe(&cli, in), 1, "one of them failed");
    fclose(in);
    fflush(cli.out);
    cr_expect_str_eq(output,
                     "OK\n2\nERR unknown command 'NOSUCH': HELP lists the commands; redis-cli at "
                     "the same port has those of RESP\n2\n");
}
