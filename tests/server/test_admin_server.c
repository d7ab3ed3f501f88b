/* SPDX-License-Identifier: MIT
 *
 * test_admin_server.c - replies of COMMAND and CONFIG, and of HELP, byte by byte, in RESP2 and
 * RESP3. Error texts are those of redis 7.
 */
#include <stdlib.h>

#include "tests/server/admin_fixture.h"

#define SPEC_2(flag, access, last, step)                                                        \
    "*1\r\n*6\r\n$5\r\nflags\r\n*2\r\n+" flag "\r\n+" access                                    \
    "\r\n$12\r\nbegin_search\r\n*4\r\n$4\r\ntype\r\n$5\r\nindex\r\n$4\r\nspec\r\n*2\r\n"        \
    "$5\r\nindex\r\n:1\r\n$9\r\nfind_keys\r\n*4\r\n$4\r\ntype\r\n$5\r\nrange\r\n$4\r\nspec\r\n" \
    "*6\r\n$7\r\nlastkey\r\n:" last "\r\n$7\r\nkeystep\r\n:" step "\r\n$5\r\nlimit\r\n:0\r\n"
#define SPEC_3(flag, access, last, step)                                                        \
    "~1\r\n%3\r\n$5\r\nflags\r\n~2\r\n+" flag "\r\n+" access                                    \
    "\r\n$12\r\nbegin_search\r\n%2\r\n$4\r\ntype\r\n$5\r\nindex\r\n$4\r\nspec\r\n%1\r\n"        \
    "$5\r\nindex\r\n:1\r\n$9\r\nfind_keys\r\n%2\r\n$4\r\ntype\r\n$5\r\nrange\r\n$4\r\nspec\r\n" \
    "%3\r\n$7\r\nlastkey\r\n:" last "\r\n$7\r\nkeystep\r\n:" step "\r\n$5\r\nlimit\r\n:0\r\n"

TestSuite(admin_server, .init = setup, .fini = teardown);

Test(admin_server, command_info)
{
    /* The replies for GET and DEL are those of redis 7.0, byte by byte (DEL without its tips). */
    static const char *const rows[][2] = {
        {"COMMAND|INFO|get|nosuch|ping",
         "*3\r\n*10\r\n$3\r\nget\r\n:2\r\n*2\r\n+readonly\r\n+fast\r\n:1\r\n:1\r\n:1\r\n"
         "*3\r\n+@read\r\n+@string\r\n+@fast\r\n*0\r\n" SPEC_2(
             "RO", "access", "0",
             "1") "*0\r\n"
                  "$-1\r\n"
                  "*10\r\n$4\r\nping\r\n:-1\r\n*1\r\n+fast\r\n:0\r\n:0\r\n:0\r\n"
                  "*2\r\n+@fast\r\n+@connection\r\n*0\r\n*0\r\n*0\r\n"},
        {"COMMAND|INFO|mset",
         "*1\r\n*10\r\n$4\r\nmset\r\n:-3\r\n*2\r\n+write\r\n+denyoom\r\n:1\r\n:-1\r\n:2\r\n"
         "*3\r\n+@write\r\n+@string\r\n+@slow\r\n*0\r\n" SPEC_2("RW", "update", "-1",
                                                                "2") "*0\r\n"},
    };
    static const char *const rows3[][2] = {
        {"COMMAND|INFO|del|nosuch",
         "*2\r\n*10\r\n$3\r\ndel\r\n:-2\r\n~1\r\n+write\r\n:1\r\n:-1\r\n:1\r\n"
         "~3\r\n+@keyspace\r\n+@write\r\n+@slow\r\n~0\r\n" SPEC_3("RM", "delete", "-1",
                                                                  "1") "~0\r\n"
                                                                       "_\r\n"},
    };
    EXPECT_ROWS(rows, false);
    EXPECT_ROWS(rows3, true);
}

Test(admin_server, command_rest)
{
    static const char *const rows[][2] = {
        {"COMMAND|COUNT|x", "-ERR wrong number of arguments for 'command|count' command\r\n"},
        {"COMMAND|DOCS|nosuch", "*0\r\n"},
        {"COMMAND|DOCS|nosuch|get",
         "*2\r\n$3\r\nget\r\n*6\r\n$7\r\nsummary\r\n$22\r\nGet the value of a key\r\n"
         "$5\r\nsince\r\n$5\r\n0.1.0\r\n$5\r\ngroup\r\n$6\r\nstring\r\n"},
        {"COMMAND|GETKEYS|get|7", "*1\r\n$1\r\n7\r\n"},
        {"COMMAND|GETKEYS|MSET|1|2|3|4", "*2\r\n$1\r\n1\r\n$1\r\n3\r\n"},
        {"COMMAND|GETKEYS|mset|1|2|3", "*2\r\n$1\r\n1\r\n$1\r\n3\r\n"},
        {"COMMAND|GETKEYS|del|1|2|3", "*3\r\n$1\r\n1\r\n$1\r\n2\r\n$1\r\n3\r\n"},
        {"COMMAND|GETKEYS|object|ENCODING|9", "*1\r\n$1\r\n9\r\n"},
        {"COMMAND|GETKEYS|memory|doctor",
         "-ERR Invalid number of arguments specified for command\r\n"},
        {"COMMAND|GETKEYS|get|1|2", "-ERR Invalid number of arguments specified for command\r\n"},
        {"COMMAND|GETKEYS|nosuch|1", "-ERR Invalid command specified\r\n"},
        {"COMMAND|GETKEYS|ping|1", "-ERR The command has no key arguments\r\n"},
        {"COMMAND|GETKEYS", "-ERR wrong number of arguments for 'command|getkeys' command\r\n"},
        {"COMMAND|LIST|FILTERBY|PATTERN|m*t", "*2\r\n$4\r\nmget\r\n$4\r\nmset\r\n"},
        {"COMMAND|LIST|FILTERBY|MODULE|x", "*0\r\n"},
        {"COMMAND|LIST|FILTERBY|ACLCAT|nosuch", "*0\r\n"},
        {"COMMAND|LIST|FILTERBY|FOO|x", SYNTAX},
        {"COMMAND|LIST|x", SYNTAX},
        {"COMMAND|NOSUCH", "-ERR unknown subcommand 'NOSUCH'. Try COMMAND HELP.\r\n"},
    };
    EXPECT_ROWS(rows, false);
    fixture.session.resp3 = true;
    const char *docs = "%1\r\n$3\r\nttl\r\n%3\r\n$7\r\nsummary\r\n";
    cr_assert_eq(strncmp(run_command("COMMAND|DOCS|nosuch|ttl"), docs, strlen(docs)), 0);
    expect("LATENCY|HISTOGRAM|get", "%0\r\n");
    sw_latency_count(&fixture.timings.latency, SW_COMMAND_GET, 3, 5);
    sw_latency_count(&fixture.timings.latency, SW_COMMAND_GET, 100, 2);
    expect("LATENCY|HISTOGRAM|GET|set",
           "%1\r\n$3\r\nget\r\n%2\r\n$5\r\ncalls\r\n:7\r\n$14\r\nhistogram_usec\r\n%2\r\n"
           ":4\r\n:5\r\n:128\r\n:7\r\n");
    char count[32];
    snprintf(count, sizeof(count), ":%d\r\n", SW_COMMAND_COUNT);
    expect("COMMAND|COUNT", count);
    snprintf(count, sizeof(count), "*%d\r\n*10\r\n", SW_COMMAND_COUNT);
    cr_assert_eq(strncmp(run_command("COMMAND"), count, strlen(count)), 0);
    snprintf(count, sizeof(count), "%%%d\r\n", SW_COMMAND_COUNT);
    cr_assert_eq(strncmp(run_command("COMMAND|DOCS"), count, strlen(count)), 0);
}

Test(admin_server, config)
{
    static const char *const rows[][2] = {
        {"CONFIG|GET|save", "*2\r\n$4\r\nsave\r\n$0\r\n\r\n"},
        {"CONFIG|GET|appendonly", "*2\r\n$10\r\nappendonly\r\n$2\r\nno\r\n"},
        {"CONFIG|GET|databases", "*2\r\n$9\r\ndatabases\r\n$1\r\n1\r\n"},
        {"CONFIG|GET|MAXMEMORY", "*2\r\n$9\r\nmaxmemory\r\n$1\r\n0\r\n"},
        {"CONFIG|GET|maxmemory-policy", "*2\r\n$16\r\nmaxmemory-policy\r\n$10\r\nnoeviction\r\n"},
        {"CONFIG|GET|port|p?rt|por*", "*2\r\n$4\r\nport\r\n$4\r\n7379\r\n"},
        {"CONFIG|GET|maxclients", "*2\r\n$10\r\nmaxclients\r\n$5\r\n10000\r\n"},
        {"CONFIG|GET|timeout", "*2\r\n$7\r\ntimeout\r\n$1\r\n0\r\n"},
        {"CONFIG|GET|capacity", "*2\r\n$8\r\ncapacity\r\n$8\r\n16777216\r\n"},
        {"CONFIG|GET|unix-socket-mode", "*2\r\n$16\r\nunix-socket-mode\r\n$4\r\n0660\r\n"},
        {"CONFIG|GET|backend|seed",
         "*4\r\n$7\r\nbackend\r\n$4\r\nauto\r\n$4\r\nseed\r\n$1\r\n0\r\n"},
        {"CONFIG|GET|nosuch", "*0\r\n"},
        {"CONFIG|GET", "-ERR wrong number of arguments for 'config|get' command\r\n"},
        {"CONFIG|SET|port|1", "-ERR CONFIG SET failed (possibly related to argument 'port') - "
                              "can't set immutable config\r\n"},
        {"CONFIG|SET|SAVE|", "+OK\r\n"},
        {"CONFIG|SET|SAVE|60 1", "-ERR CONFIG SET failed (possibly related to argument 'SAVE') - "
                                 "save is set and data-dir is not: set data-dir\r\n"},
        {"CONFIG|SET|maxclients|12|Timeout|3", "+OK\r\n"},
        {"CONFIG|GET|maxclients|connections-max",
         "*4\r\n$15\r\nconnections-max\r\n$2\r\n12\r\n$10\r\nmaxclients\r\n$2\r\n12\r\n"},
        {"CONFIG|GET|idle-timeout-ms", "*2\r\n$15\r\nidle-timeout-ms\r\n$4\r\n3000\r\n"},
        {"CONFIG|SET|timeout|0", "+OK\r\n"},
        {"CONFIG|GET|idle-timeout-ms", "*2\r\n$15\r\nidle-timeout-ms\r\n$1\r\n0\r\n"},
        {"CONFIG|SET|connections-max|9|maxclients|8",
         "-ERR CONFIG SET failed (possibly related to argument 'maxclients') - duplicate "
         "parameter\r\n"},
        {"CONFIG|SET|connections-max|9|databases|8",
         "-ERR CONFIG SET failed (possibly related to argument 'databases') - can't set immutable "
         "config\r\n"},
        {"CONFIG|SET|connections-max|9|write-timeout-ms|-1",
         "-ERR CONFIG SET failed (possibly related to argument 'write-timeout-ms') - "
         "write-timeout-ms: '-1' is not a whole number from 0 to 86400000\r\n"},
        {"CONFIG|GET|connections-max", "*2\r\n$15\r\nconnections-max\r\n$2\r\n12\r\n"},
        {"CONFIG|SET|nosuch|1",
         "-ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'\r\n"},
        {"CONFIG|SET|port|1|nosuch|1",
         "-ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'\r\n"},
        {"CONFIG|SET|a", "-ERR wrong number of arguments for 'config|set' command\r\n"},
        {"CONFIG|SET|a|b|c", SYNTAX},
        {"CONFIG|RESETSTAT", "-ERR counters count from the start of the server and cannot be "
                             "reset: compute differences\r\n"},
        {"CONFIG|REWRITE", "-ERR The server is running without a config file\r\n"},
        {"CONFIG|NOSUCH", "-ERR unknown subcommand 'NOSUCH'. Try CONFIG HELP.\r\n"},
    };
    static const char *const rows3[][2] = {
        {"CONFIG|GET|save|appendonly",
         "%2\r\n$4\r\nsave\r\n$0\r\n\r\n$10\r\nappendonly\r\n$2\r\nno\r\n"},
        {"CONFIG|GET|nosuch", "%0\r\n"},
    };
    EXPECT_ROWS(rows, false);
    EXPECT_ROWS(rows3, true);
}

/* Every option of ours is there, once, and nothing twice. */
Test(admin_server, config_get_all)
{
    const char *name = NULL;
    char value[256], wanted[512];
    unsigned options = 0;
    const char *reply = run_command("CONFIG|GET|*");
    for (size_t i = 0; sw_config_get(&fixture.config, i, &name, value, sizeof(value)); i++) {
        snprintf(wanted, sizeof(wanted), "$%zu\r\n%s\r\n$%zu\r\n%s\r\n", strlen(name), name,
                 strlen(value), value);
        const char *at = strstr(reply, wanted);
        cr_assert_not_null(at, "%s", name);
        snprintf(wanted, sizeof(wanted), "\r\n$%zu\r\n%s\r\n", strlen(name), name);
        at = strstr(reply, wanted);
        cr_assert_null(strstr(at + 1, wanted), "%s is there twice", name);
        options++;
    }
    cr_assert_gt(options, 25);
}

Test(admin_server, too_many_patterns)
{
    char line[1024] = "CONFIG|GET";
    for (int i = 0; i < 129; i++) {
        strcat(line, "|x");
    }
    expect(line, "-ERR at most 128 parameters or patterns in one command\r\n");
    line[strlen(line) - 2] = '\0';
    expect(line, "*0\r\n");
}

/* Patterns are matched against "port" among all parameters by CONFIG GET. */
Test(admin_server, globs)
{
    static const struct {
        const char *pattern;
        bool matches;
    } rows[] = {
        {"port", true},      {"PORT", true},     {"por", false},      {"ports", false},
        {"p*t", true},       {"*port", true},    {"port*", true},     {"p**t", true},
        {"****port", true},  {"p?rt", true},     {"p??t", true},      {"p???t", false},
        {"[p]ort", true},    {"[a-p]ort", true}, {"[p-a]ort", true},  {"[^p]ort", false},
        {"[^a]ort", true},   {"[A-P]ort", true}, {"[xyz]ort", false}, {"\\port", true},
        {"p\\ort", true},    {"[\\p]ort", true}, {"p[", false},       {"por[t", true},
        {"por\\", false},    {"", false},        {"[]port", false},   {"*o*r*", true},
        {"*a*o*r*t", false}, {"p[^]ort", false},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char line[64];
        snprintf(line, sizeof(line), "CONFIG|GET|%s", rows[i].pattern);
        cr_assert_eq(strstr(run_command(line), "$4\r\nport\r\n") != NULL, rows[i].matches, "%s",
                     rows[i].pattern);
    }
}

/* HELP of every command with subcommands: the array has the announced number of lines. */
Test(admin_server, help)
{
    static const char *const names[] = {"CLIENT", "COMMAND", "CONFIG", "LATENCY", "SLOWLOG"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char line[32], first[96];
        unsigned lines = 0;
        snprintf(line, sizeof(line), "%s|HELP", names[i]);
        const char *reply = run_command(line);
        snprintf(first, sizeof(first),
                 "\r\n+%s <subcommand> [<arg> [value] [opt] ...]. "
                 "Subcommands are:\r\n",
                 names[i]);
        cr_assert_not_null(strstr(reply, first), "%s", reply);
        for (const char *at = reply; (at = strstr(at, "\r\n+")) != NULL; at++) {
            lines++;
        }
        cr_assert_eq(strtoul(reply + 1, NULL, 10), lines);
    }
}

/* The list has no command that the engine lacks. */
Test(admin_server, commands_an_engine_lacks)
{
    char count[32];
    fixture.unsupported.has[SW_COMMAND_SCAN] = true;
    fixture.unsupported.has[SW_COMMAND_RESIZE] = true;
    snprintf(count, sizeof(count), ":%d\r\n", SW_COMMAND_COUNT - 2);
    expect("COMMAND|COUNT", count);
    expect("COMMAND|INFO|scan|resize", "*2\r\n$-1\r\n$-1\r\n");
    expect("COMMAND|DOCS|scan", "*0\r\n");
    expect("COMMAND|LIST|FILTERBY|PATTERN|*can", "*0\r\n");
    const char *all = run_command("COMMAND");
    snprintf(count, sizeof(count), "*%d\r\n", SW_COMMAND_COUNT - 2);
    cr_assert_eq(strncmp(all, count, strlen(count)), 0);
    cr_assert_null(strstr(all, "$4\r\nscan\r\n"));
    cr_assert_not_null(strstr(all, "$6\r\nstrlen\r\n"));
}
