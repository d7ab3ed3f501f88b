/* SPDX-License-Identifier: MIT
 *
 * test_admin.c - replies of the commands that concern the connection, byte by byte, in RESP2 and
 * RESP3. Error texts are those of redis 7.
 */
#include <stdlib.h>

#include "tests/server/admin_fixture.h"

#define NO_CLUSTER "-ERR This instance has cluster support disabled\r\n"
#define NOT_INTEGER "-ERR value is not an integer or out of range\r\n"

TestSuite(admin, .init = setup, .fini = teardown);

Test(admin, small_commands)
{
    static const char *const rows[][2] = {
        {"PING", "+PONG\r\n"},
        {"ping|hello", "$5\r\nhello\r\n"},
        {"PING|", "$0\r\n\r\n"},
        {"PING|a|b", "-ERR wrong number of arguments for 'ping' command\r\n"},
        {"ECHO|x y", "$3\r\nx y\r\n"},
        {"AUTH|x",
         "-ERR AUTH <password> called without any password configured for the default user. Are "
         "you sure your configuration is correct?\r\n"},
        {"AUTH|default|x", "+OK\r\n"},
        {"AUTH|someone|x", "-WRONGPASS invalid username-password pair or user is disabled.\r\n"},
        {"AUTH|a|b|c", SYNTAX},
        {"SELECT|0", "+OK\r\n"},
        {"SELECT|1", "-ERR DB index is out of range\r\n"},
        {"SELECT|-1", "-ERR DB index is out of range\r\n"},
        {"SELECT|x", NOT_INTEGER},
        {"SELECT|00", NOT_INTEGER},
        {"SELECT|99999999999",
         "-ERR value is out of range, value must between -2147483648 and 2147483647\r\n"},
        {"SELECT|99999999999999999999", NOT_INTEGER},
        {"LASTSAVE", ":0\r\n"},
        {"BGSAVE|SCHEDULE", "-ERR there is no persistence: the table lives in memory; start with "
                            "--data-dir to save it\r\n"},
        {"BGSAVE|x", SYNTAX},
        {"ROLE", "*3\r\n$6\r\nmaster\r\n:0\r\n*0\r\n"},
        {"READONLY", NO_CLUSTER},
        {"READWRITE", NO_CLUSTER},
        {"ASKING", NO_CLUSTER},
        {"DBSIZE", ":256\r\n"},
        {"LATENCY|LATEST", "*0\r\n"},
        {"LATENCY|HISTORY|x", "*0\r\n"},
        {"LATENCY|HISTOGRAM", "*0\r\n"},
        {"LATENCY|RESET", ":0\r\n"},
        {"LATENCY|NOSUCH", "-ERR unknown subcommand 'NOSUCH'. Try LATENCY HELP.\r\n"},
        {"SLOWLOG|GET", "*0\r\n"},
        {"SLOWLOG|GET|10", "*0\r\n"},
        {"SLOWLOG|GET|-1", "*0\r\n"},
        {"SLOWLOG|GET|-2", "-ERR count should be greater than or equal to -1\r\n"},
        {"SLOWLOG|GET|x", "-ERR count should be greater than or equal to -1\r\n"},
        {"SLOWLOG|GET|1|2", "-ERR unknown subcommand or wrong number of arguments for 'GET'. Try "
                            "SLOWLOG HELP.\r\n"},
        {"SLOWLOG|LEN", ":0\r\n"},
        {"SLOWLOG|LEN|x", "-ERR wrong number of arguments for 'slowlog|len' command\r\n"},
        {"SLOWLOG|RESET", "+OK\r\n"},
    };
    EXPECT_ROWS(rows, false);
}

Test(admin, quit_and_shutdown)
{
    expect("QUIT", "+OK\r\n");
    cr_assert(fixture.session.close_after_reply);
    static const char *const refused[][2] = {
        {"SHUTDOWN|FOO", SYNTAX},
        {"SHUTDOWN|SAVE|NOSAVE", SYNTAX},
        {"SHUTDOWN|ABORT|NOW", SYNTAX},
        {"SHUTDOWN|ABORT", "-ERR No shutdown in progress.\r\n"},
        {"SHUTDOWN|SAVE",
         "-ERR there is no persistence, nothing can be saved: use SHUTDOWN NOSAVE\r\n"},
    };
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        renew();
        expect(refused[i][0], refused[i][1]);
        cr_assert_not(fixture.session.shutdown_asked, "%s", refused[i][0]);
    }
    static const char *const taken[] = {"SHUTDOWN", "SHUTDOWN|NOSAVE", "shutdown|now",
                                        "SHUTDOWN|NOSAVE|NOW|FORCE"};
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
        renew();
        expect(taken[i], "");
        cr_assert(fixture.session.shutdown_asked && fixture.session.close_after_reply);
    }
}

#define HELLO_FACTS(proto)                                                                       \
    "$6\r\nserver\r\n$8\r\nsherwood\r\n$7\r\nversion\r\n$5\r\n" SW_REDIS_VERSION                 \
    "\r\n$5\r\nproto\r\n:" proto "\r\n$2\r\nid\r\n:17\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n"    \
    "$4\r\nrole\r\n$6\r\nmaster\r\n$7\r\nmodules\r\n*0\r\n$6\r\nengine\r\n$10\r\nrobin_hood\r\n" \
    "$4\r\nkeys\r\n$4\r\nauto\r\n"
#define HELLO_2 "*18\r\n" HELLO_FACTS("2")
#define HELLO_3 "%9\r\n" HELLO_FACTS("3")

Test(admin, hello)
{
    static const char *const rows[][2] = {
        {"HELLO", HELLO_2},
        {"HELLO|3", HELLO_3},
        {"HELLO", HELLO_3},
        {"CLIENT|GETNAME", "_\r\n"},
        {"HELLO|2|AUTH|default|x|SETNAME|me", HELLO_2},
        {"CLIENT|GETNAME", "$2\r\nme\r\n"},
        {"HELLO|4", "-NOPROTO unsupported protocol version\r\n"},
        {"HELLO|1", "-NOPROTO unsupported protocol version\r\n"},
        {"HELLO|x", "-ERR Protocol version is not an integer or out of range\r\n"},
        {"HELLO|3|FOO", "-ERR Syntax error in HELLO option 'FOO'\r\n"},
        {"HELLO|3|SETNAME", "-ERR Syntax error in HELLO option 'SETNAME'\r\n"},
        {"HELLO|3|AUTH|default", "-ERR Syntax error in HELLO option 'AUTH'\r\n"},
        {"HELLO|3|SETNAME|you|AUTH|someone|x",
         "-WRONGPASS invalid username-password pair or user is disabled.\r\n"},
        {"HELLO|3|SETNAME|a b",
         "-ERR Client names cannot contain spaces, newlines or special characters.\r\n"},
        /* what was refused changed nothing */
        {"HELLO", HELLO_2},
        {"CLIENT|GETNAME", "$2\r\nme\r\n"},
        {"HELLO|3", HELLO_3},
        {"RESET", "+RESET\r\n"},
        {"CLIENT|GETNAME", "$-1\r\n"},
        {"HELLO", HELLO_2},
    };
    EXPECT_ROWS(rows, false);
}

Test(admin, client)
{
    static const char *const rows[][2] = {
        {"CLIENT|ID", ":17\r\n"},
        {"CLIENT|GETNAME", "$-1\r\n"},
        {"CLIENT|SETNAME|worker-1", "+OK\r\n"},
        {"client|getname", "$8\r\nworker-1\r\n"},
        {"CLIENT|SETNAME|a b",
         "-ERR Client names cannot contain spaces, newlines or special characters.\r\n"},
        {"CLIENT|SETNAME|123456789012345678901234567890123456789012345678901234567890123",
         "+OK\r\n"},
        {"CLIENT|SETNAME|1234567890123456789012345678901234567890123456789012345678901234",
         "-ERR Client names cannot be longer than 63 bytes.\r\n"},
        {"CLIENT|SETNAME|", "+OK\r\n"},
        {"CLIENT|GETNAME", "$-1\r\n"},
        {"CLIENT|SETNAME", "-ERR wrong number of arguments for 'client|setname' command\r\n"},
        {"CLIENT|SETINFO|LIB-NAME|redis-py", "+OK\r\n"},
        {"CLIENT|SETINFO|lib-ver|8.0.0", "+OK\r\n"},
        {"CLIENT|SETINFO|FOO|x", "-ERR Unrecognized option 'FOO'\r\n"},
        {"CLIENT|SETINFO|LIB-NAME|a b",
         "-ERR lib-name cannot contain spaces, newlines or special characters.\r\n"},
        {"CLIENT|NO-EVICT|ON", "+OK\r\n"},
        {"CLIENT|NO-TOUCH|off", "+OK\r\n"},
        {"CLIENT|NO-EVICT|x", SYNTAX},
        {"CLIENT|TRACKING|ON",
         "-ERR CLIENT TRACKING is not available: this server sends no invalidation messages\r\n"},
        {"CLIENT|TRACKING|off|NOLOOP|REDIRECT|3", "+OK\r\n"},
        {"CLIENT|TRACKING|OFF|REDIRECT", SYNTAX},
        {"CLIENT|TRACKING|ON|x", SYNTAX},
        {"CLIENT|TRACKING|x", SYNTAX},
        {"CLIENT|MAINT_NOTIFICATIONS|ON",
         "-ERR unknown subcommand 'MAINT_NOTIFICATIONS'. Try CLIENT HELP.\r\n"},
        {"CLIENT|a\r\nb", "-ERR unknown subcommand 'a  b'. Try CLIENT HELP.\r\n"},
        {"CLIENT|REPLY|x", SYNTAX},
        {"CLIENT|LIST|FOO", SYNTAX},
        {"CLIENT|LIST|TYPE|x", "-ERR Unknown client type 'x'\r\n"},
        {"CLIENT|LIST|TYPE|pubsub", "$0\r\n\r\n"},
        {"CLIENT|LIST|ID|18|19", "$0\r\n\r\n"},
        {"CLIENT|LIST|ID|18|x", "-ERR Invalid client ID\r\n"},
        {"CLIENT|LIST|ID|0", "$0\r\n\r\n"},
        {"CLIENT|KILL|ID|0", "-ERR client-id should be greater than 0\r\n"},
        {"CLIENT|KILL|TYPE|x", "-ERR Unknown client type 'x'\r\n"},
        {"CLIENT|KILL|TYPE", "-ERR No such client\r\n"},
        {"CLIENT|KILL|ID|1|TYPE", SYNTAX},
        {"CLIENT|KILL|FOO|1", SYNTAX},
        {"CLIENT|KILL|SKIPME|x", SYNTAX},
        {"CLIENT|KILL|MAXAGE|x", "-ERR maxage is not an integer or out of range\r\n"},
        {"CLIENT|KILL|1.2.3.4:5", "-ERR No such client\r\n"},
        {"CLIENT|KILL|ID|18", ":0\r\n"},
        {"CLIENT|KILL|ID|17", ":0\r\n"},
        {"CLIENT|KILL|ID|17|SKIPME|no|TYPE|pubsub", ":0\r\n"},
        {"CLIENT|KILL|USER|nobody", "-ERR No such user 'nobody'\r\n"},
        {"CLIENT|KILL|LADDR|127.0.0.1:7379|USER|default|SKIPME|no", ":1\r\n"},
        {"CLIENT|GETREDIR", ":-1\r\n"},
    };
    EXPECT_ROWS(rows, false);
}

Test(admin, client_lines)
{
    run_command("CLIENT|SETNAME|me");
    run_command("CLIENT|SETINFO|LIB-NAME|lib");
    run_command("CLIENT|SETINFO|LIB-VER|1.2");
    static const char *const lines[] = {"CLIENT|INFO", "CLIENT|LIST", "CLIENT|LIST|TYPE|NORMAL",
                                        "CLIENT|LIST|ID|16|17"};
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        const char *reply = run_command(lines[i]);
        size_t size = strtoul(reply + 1, NULL, 10);
        const char *line = strstr(reply, "\r\n") + 2;
        cr_assert_eq(reply[0], '$');
        cr_assert_eq(strlen(line), size + 2);
        cr_assert_eq(
            strncmp(line,
                    "id=17 addr=127.0.0.1:5000 laddr=127.0.0.1:7379 name=me age=0 idle=0 flags=N ",
                    76),
            0, "%s", line);
        cr_assert_not_null(strstr(line, " resp=2 lib-name=lib lib-ver=1.2\n\r\n"));
    }
    sw_session_set_resp3(&fixture.session, true);
    const char *reply = run_command("CLIENT|INFO");
    cr_assert_eq(reply[0], '=');
    cr_assert_not_null(strstr(reply, "\r\ntxt:id=17 "));
    cr_assert_not_null(strstr(reply, " resp=3 "));
    expect("CLIENT|LIST|ID|18", "=4\r\ntxt:\r\n");
}

/* As redis: SKIP drops the next reply and its own, OFF all until ON, ON is always answered. */
Test(admin, client_reply)
{
    static const char *const rows[][2] = {
        {"CLIENT|REPLY|ON", "+OK\r\n"},
        {"CLIENT|REPLY|SKIP", ""},
        {"PING", ""},
        {"PING", "+PONG\r\n"},
        {"CLIENT|REPLY|SKIP", ""},
        {"CLIENT|REPLY|ON", "+OK\r\n"},
        {"PING", "+PONG\r\n"},
        {"CLIENT|REPLY|SKIP", ""},
        {"CLIENT|REPLY|SKIP", ""},
        {"PING", ""},
        {"PING", "+PONG\r\n"},
        {"CLIENT|REPLY|SKIP", ""},
        {"SELECT|1", ""},
        {"SELECT|1", "-ERR DB index is out of range\r\n"},
        {"CLIENT|REPLY|OFF", ""},
        {"PING", ""},
        {"HELLO|3", ""},
        {"CLIENT|REPLY|SKIP", ""},
        {"PING", ""},
        {"PING", ""},
        {"CLIENT|REPLY|ON", "+OK\r\n"},
        {"CLIENT|GETNAME", "_\r\n"},
        {"CLIENT|REPLY|OFF", ""},
        {"RESET", "+RESET\r\n"},
        {"PING", "+PONG\r\n"},
        {"CLIENT|REPLY|SKIP", ""},
        {"RESET", ""},
        {"PING", "+PONG\r\n"},
        {"CLIENT|REPLY|SKIP", ""},
        {"CLIENT|REPLY|OFF", ""},
        {"PING", ""},
    };
    EXPECT_ROWS(rows, false);
}

/* Every command of these kinds has its function, and no other command has one. */
Test(admin, kinds)
{
    struct sw_resp_argument words[16];
    for (unsigned id = 0; id < SW_COMMAND_COUNT; id++) {
        const struct sw_command *row = sw_command_at((enum sw_command_id)id);
        struct sw_resp_command command = {.arguments = words};
        command.count = (uint32_t)(row->arity < 0 ? -row->arity : row->arity);
        cr_assert_leq(command.count, 16);
        for (uint32_t i = 0; i < command.count; i++) {
            words[i] = (struct sw_resp_argument){(const uint8_t *)"0", 1};
        }
        sw_text_reset(&fixture.reply);
        sw_admin_run(&fixture.admin, row, &command, &fixture.session, &fixture.reply);
        sw_text_append(&fixture.reply, "", 1);
        bool refused = strstr(fixture.reply.data, "is not a command of this kind") != NULL;
        bool has_one = row->kind == SW_KIND_REPORT || row->kind == SW_KIND_SESSION;
        cr_assert_eq(refused, !has_one, "%s: %s", row->name, fixture.reply.data);
    }
}

/* A reply is appended; what stood before it stays. */
Test(admin, appends)
{
    struct sw_resp_argument word = {(const uint8_t *)"PING", 4};
    struct sw_resp_command command = {.count = 1, .arguments = &word};
    for (int i = 0; i < 3; i++) {
        fixture.session.reply_mode = i == 1 ? SW_REPLY_SKIP_NEXT : SW_REPLY_ON;
        sw_admin_run(&fixture.admin, sw_command_at(SW_COMMAND_PING), &command, &fixture.session,
                     &fixture.reply);
    }
    cr_assert_eq(fixture.reply.size, 14);
    cr_assert_arr_eq(fixture.reply.data, "+PONG\r\n+PONG\r\n", 14);
}

Test(admin, info)
{
    static const char *const rows[][2] = {
        {"INFO|cluster", "$30\r\n# Cluster\r\ncluster_enabled:0\r\n\r\n"},
        {"INFO|nosuch", "$0\r\n\r\n"},
    };
    static const char *const rows3[][2] = {
        {"INFO|cluster", "=34\r\ntxt:# Cluster\r\ncluster_enabled:0\r\n\r\n"},
        {"INFO|nosuch", "=4\r\ntxt:\r\n"},
    };
    EXPECT_ROWS(rows, false);
    EXPECT_ROWS(rows3, true);
}

Test(admin, time)
{
    const char *reply = run_command("TIME");
    unsigned long long seconds = 0, microseconds = 0;
    cr_assert_eq(sscanf(reply, "*2\r\n$%*d\r\n%llu\r\n$%*d\r\n%llu\r\n", &seconds, &microseconds),
                 2);
    cr_assert_gt(seconds, 1700000000ULL);
    cr_assert_lt(microseconds, 1000000ULL);
}
