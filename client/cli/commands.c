/* SPDX-License-Identifier: MIT
 *
 * commands.c - the table of commands: listing it, and looking up and running one.
 */
#include "client/cli/commands.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "client/cli/reply.h"
#include "client/cli/times.h"
#include "proto/ops/operations.h"

static void list_commands(struct sw_cli *cli, int code, int count, char **words);
static void help(struct sw_cli *cli, int code, int count, char **words);

static const char of_bits[] =
    "  Shows the new value, or nil if there is none. Integers, and rows of bytes, u32 or u64.\n";

/* An operation is a command of its own if that has its name, if one value is its operand, and if
 * tables of integers have it. Others have rows by hand. The name of the rest is empty. */
#define IS_COMMAND(name, verb, on, command)                               \
    (sizeof(#name) == sizeof(command) && SW_VERB_##verb != SW_VERB_SET && \
     (int)SW_VERB_OPERAND_##verb == (int)SW_OPERAND_VALUE &&              \
     ((unsigned)SW_ON_##on & SW_ON_INTEGERS) != 0)
#define ROW(name, number, op, verb, guard, element, on, use, times, device, acl, command, text) \
    {IS_COMMAND(name, verb, on, command) ? #name : "",                                          \
     SW_ON_##on == SW_ON_INTEGERS ? "key n" : "key value",                                      \
     text,                                                                                      \
     SW_ON_##on == SW_ON_INTEGERS ? "  Shows the new value.\n" : of_bits,                       \
     3,                                                                                         \
     3,                                                                                         \
     true,                                                                                      \
     SW_ON_##on == SW_ON_INTEGERS ? sw_cli_combine : sw_cli_bits,                               \
     number},

/* name, arguments, summary, details, words, connects, function, code */
static const struct sw_cli_command commands[] = {
    {"PING", "[text]", "Check that the server replies.", NULL, 1, 2, true, sw_cli_ping, 0},
    {"GET", "key", "The value of a key, or nil.", NULL, 2, 2, true, sw_cli_get, SHERWOOD_GET},
    {"GETDEL", "key", "Remove a key and show its value.", NULL, 2, 2, true, sw_cli_get,
     SHERWOOD_DELETE},
    {"SET", "key value [NX|XX] [GET] [EX n|PX n|EXAT n|PXAT n|KEEPTTL]", "Set a key.",
     "  NX: only if it is absent. XX: only if it is present. nil means that it was not set.\n"
     "  GET: show the value before (nil if absent) instead of OK.\n"
     "  EX, PX: it expires in n seconds, milliseconds. EXAT, PXAT: it expires n seconds, "
     "milliseconds\n"
     "  after 1970. KEEPTTL: keep its time. Otherwise it expires after the server's --default-ttl, "
     "or\n"
     "  never.\n"
     "  Keys and values are unsigned decimal integers of the server's width (INFO shows it). A "
     "key\n"
     "  may be any text where INFO shows resp_keys:auto: its hash is the key, as by redis-cli.\n"
     "  Values of a server with the cache engine are strings: SET 42 \"two words\\n\".\n",
     3, 7, true, sw_cli_set, SHERWOOD_SET},
    {"MGET", "key [key ...]", "The values of keys, in one frame.", NULL, 2, 0, true, sw_cli_mget,
     SHERWOOD_GET},
    {"MSET", "key value [key value ...]", "Set keys, in one frame.",
     "  More keys than a command line holds: sherwood-cli load FILE.\n", 3, 0, true, sw_cli_mset,
     SHERWOOD_SET},
    {"DEL", "key [key ...]", "Remove keys; show how many were present.", NULL, 2, 0, true,
     sw_cli_count, SHERWOOD_DELETE},
    {"EXISTS", "key [key ...]", "Count the keys that are present.",
     "  A key that is named twice counts twice.\n", 2, 0, true, sw_cli_count, SHERWOOD_GET},
    {"PREFIXLEN", "key [key ...]", "Count the keys before the first absent one.", NULL, 2, 0, true,
     sw_cli_prefix, 0},
    {"INCR", "key", "Add 1; refused where it would overflow.", NULL, 2, 2, true, sw_cli_combine,
     SHERWOOD_INCREMENT},
    {"DECR", "key", "Subtract 1; refused below zero.", NULL, 2, 2, true, sw_cli_combine,
     SHERWOOD_DECREMENT},
    {"INCRBY", "key n", "Add n; refused where it would overflow.",
     "  An absent key counts as 0. Shows the new value.\n", 3, 3, true, sw_cli_combine,
     SHERWOOD_INCREMENT},
    {"DECRBY", "key n", "Subtract n; refused below zero.",
     "  An absent key counts as 0. Shows the new value.\n", 3, 3, true, sw_cli_combine,
     SHERWOOD_DECREMENT},
    SW_DATA_OPERATION_MAP(ROW) SW_COMPOSED_OPERATION_MAP(ROW){
        "CAS", "key old new", "Set a key that has the old value; 1 or 0.", NULL, 4, 4, true,
        sw_cli_cas, SHERWOOD_CAS},
    {"SETNX", "key value", "Set a key that is absent; 1 or 0.", NULL, 3, 3, true, sw_cli_setnx,
     SHERWOOD_SET_ABSENT},
    {"GETSET", "key value", "Set a key, and show its value before.", NULL, 3, 3, true,
     sw_cli_getset, SHERWOOD_SET},
    {"EXPIRE", "key n [NX|XX|GT|LT]", "A key expires in n seconds; 1 or 0.",
     "  NX: only if it does not expire yet. XX: only if it does. GT, LT: only if that is later, "
     "or\n"
     "  earlier, than it does; never is later than any time. A time that is over removes the "
     "key.\n",
     3, 5, true, sw_cli_expire, SW_CLI_EX},
    {"PEXPIRE", "key n [NX|XX|GT|LT]", "A key expires in n milliseconds; 1 or 0.", NULL, 3, 5, true,
     sw_cli_expire, SW_CLI_PX},
    {"EXPIREAT", "key n [NX|XX|GT|LT]", "A key expires n seconds after 1970; 1 or 0.", NULL, 3, 5,
     true, sw_cli_expire, SW_CLI_EXAT},
    {"PEXPIREAT", "key n [NX|XX|GT|LT]", "A key expires n milliseconds after 1970; 1 or 0.", NULL,
     3, 5, true, sw_cli_expire, SW_CLI_PXAT},
    {"PERSIST", "key", "A key never expires any more; 1 or 0.", NULL, 2, 2, true, sw_cli_persist,
     SHERWOOD_PERSIST},
    {"GETEX", "key [EX n|PX n|EXAT n|PXAT n|PERSIST]", "The value of a key, which gets a time.",
     NULL, 2, 4, true, sw_cli_getex, SHERWOOD_GET},
    {"TTL", "key", "Seconds until a key expires; -1: never, -2: it is absent.",
     "  By the clock of this machine, as PTTL; EXPIRETIME and PEXPIRETIME show the server's "
     "time.\n",
     2, 2, true, sw_cli_ttl, SW_CLI_EX},
    {"PTTL", "key", "The same in milliseconds.", NULL, 2, 2, true, sw_cli_ttl, SW_CLI_PX},
    {"EXPIRETIME", "key", "When a key expires, in seconds since 1970; -1, -2.", NULL, 2, 2, true,
     sw_cli_ttl, SW_CLI_EXAT},
    {"PEXPIRETIME", "key", "The same in milliseconds.", NULL, 2, 2, true, sw_cli_ttl, SW_CLI_PXAT},
    {"ADD", "key row [SCALE s] [XX]", "Add to a row of numbers; was it there?",
     "  The row is numbers between commas. Each is multiplied by s and rounded, then each sum.\n"
     "  An absent key is zeros, and with XX stays absent. 1 if the key was there, else 0.\n",
     3, 6, true, sw_cli_add, 0},
    {"GETRANGE", "key start end [HEX]", "Bytes of a row, from start to end.",
     "  Both count from 0, and negative ones from the end. Rows of numbers show numbers, other "
     "rows\n"
     "  text; with HEX hex. Bytes beyond the end of the value are left out.\n",
     4, 5, true, sw_cli_get_range, SHERWOOD_GET},
    {"SETRANGE", "key offset value [HEX]", "Write a part of a row, from byte offset on.",
     "  The value is numbers between commas, or text, or with HEX hex; the rest of a row that was\n"
     "  absent is zeros. 1 if the key was there, else 0.\n",
     4, 5, true, sw_cli_set_range, SHERWOOD_SETRANGE},
    {"DBSIZE", "", "Count all keys.", NULL, 1, 1, true, sw_cli_dbsize, 0},
    {"SCAN", "cursor [COUNT n]", "Some keys, and the cursor for the next.",
     "  Begin with cursor 0; it is over when the reply's cursor is 0 again. A server that has\n"
     "  been restarted has other cursors: begin with 0 then.\n"
     "  Pairs instead of keys: sherwood-cli dump FILE.\n",
     2, 4, true, sw_cli_scan, 0},
    {"FLUSHALL", "", "Remove every key.", NULL, 1, 1, true, sw_cli_flushall, 0},
    {"WAIT", "replicas ms", "Wait until replicas have the writes of this connection.",
     "  Waits for that number of replicas, for at most ms milliseconds (0: without limit). Shows "
     "how\n"
     "  many have them; with -c the smallest number over the nodes that were written to.\n",
     3, 3, true, sw_cli_wait, 0},
    {"RESIZE", "slots", "Give the table more or fewer slots.",
     "  K, M, G or T (or Ki, ..) may follow the number. Shows the capacity the table has then: "
     "whole\n"
     "  buckets, and no less than its keys need, so RESIZE 1 makes it as small as it can be.\n"
     "  A cache becomes that small even if its keys do not fit, and evicts keys without room.\n"
     "  The limit is the larger of the server's capacity and max-capacity.\n",
     2, 2, true, sw_cli_resize, 0},
    {"PEEK", "key", "Cache: the value of a key, without a use of it.", NULL, 2, 2, true, sw_cli_get,
     SHERWOOD_PEEK},
    {"SCORE", "key [score]", "Cache: the score of a key.",
     "  With a score: a use of the key, which counts as that many uses (policies lfu, epoch-lfu) "
     "or\n"
     "  sets the score (custom). Shows the score after that, or nil if the key is absent.\n",
     2, 3, true, sw_cli_score, 0},
    {"COUNTSCORES", "min max", "Cache: how many keys have such a score?", NULL, 3, 3, true,
     sw_cli_score_range, SW_CLI_COUNT},
    {"ERASESCORES", "min max", "Cache: remove the keys that have such a score.",
     "  Shows how many there were.\n", 3, 3, true, sw_cli_score_range, SW_CLI_ERASE},
    {"EPOCH", "[epoch]", "Cache with epochs: the current one, or go on to another.",
     "  Epochs only go on. Entries of earlier ones leave before those of later ones.\n", 1, 2, true,
     sw_cli_epoch, 0},
    {"INFO", "", "The server, its table and its counters.", NULL, 1, 1, true, sw_cli_info, 0},
    {"HELLO", "[2|3]", "What the server said when it was connected to.",
     "  2 and 3 choose between dialects of RESP in redis-cli; bulk frames have only one.\n", 1, 2,
     true, sw_cli_hello, 0},
    {"ECHO", "text", "The text.", NULL, 2, 2, false, sw_cli_echo, 0},
    {"COMMAND", "[COUNT]", "The names of all commands, or how many.", NULL, 1, 2, false,
     list_commands, 0},
    {"HELP", "[command]", "This list, or more on one command.", NULL, 1, 2, false, help, 0},
    {"QUIT", "", "Leave. So do EXIT and Ctrl-D.", NULL, 1, 1, false, sw_cli_quit, 0},
    {"EXIT", "", "Leave.", NULL, 1, 1, false, sw_cli_quit, 0},
    {.name = NULL},
};

const struct sw_cli_command *sw_cli_command_next(const struct sw_cli_command *command)
{
    command = command == NULL ? commands : command + 1;
    while (command->name != NULL && command->name[0] == '\0') {
        command++;
    }
    return command->name == NULL ? NULL : command;
}

static void list_commands(struct sw_cli *cli, int code, int count, char **words)
{
    uint64_t listed = 0;
    (void)code;
    if (count == 2 && strcasecmp(words[1], "COUNT") != 0) {
        sw_cli_reply_error(cli, "ERR syntax error: COMMAND or COMMAND COUNT; HELP explains one");
        return;
    }
    for (const struct sw_cli_command *c = NULL; (c = sw_cli_command_next(c)) != NULL;) {
        listed++;
        if (count == 1 && cli->raw) {
            fprintf(cli->out, "%s\n", c->name);
        } else if (count == 1) {
            fprintf(cli->out, "%2" PRIu64 ") \"%s\"\n", listed, c->name);
        }
    }
    if (count == 2) {
        sw_cli_reply_integer(cli, listed);
    }
}

/* The texts of operations begin with a small letter, and have no full stop. */
static void put_sentence(FILE *out, const char *text)
{
    const size_t size = strlen(text);
    const bool ends = size > 0 && strchr(".?", text[size - 1]) != NULL;
    fprintf(out, "%c%s%s\n", toupper((unsigned char)text[0]), text + 1, ends ? "" : ".");
}

static void help(struct sw_cli *cli, int code, int count, char **words)
{
    const struct sw_cli_command *command = NULL;
    (void)code;
    while ((command = sw_cli_command_next(command)) != NULL) {
        if (count == 1) {
            fprintf(cli->out, "  %-9s %-30s ", command->name, command->arguments);
            put_sentence(cli->out, command->summary);
        } else if (strcasecmp(command->name, words[1]) == 0) {
            fprintf(cli->out, "  %s %s\n  ", command->name, command->arguments);
            put_sentence(cli->out, command->summary);
            if (command->details != NULL) {
                fprintf(cli->out, "%s", command->details);
            }
            return;
        }
    }
    if (count > 1) {
        sw_cli_reply_error(cli, "ERR no help on '%s': HELP lists the commands", words[1]);
    }
}

static const struct sw_cli_command *look_up(const char *name)
{
    const struct sw_cli_command *command = sw_cli_command_next(NULL);
    while (command != NULL && strcasecmp(command->name, name) != 0) {
        command = sw_cli_command_next(command);
    }
    return command;
}

void sw_cli_run(struct sw_cli *cli, int count, char **words)
{
    cli->failed = false;
    if (count == 0) {
        return;
    }
    const struct sw_cli_command *command = look_up(words[0]);
    if (command == NULL) {
        sw_cli_reply_error(
            cli,
            "ERR unknown command '%.64s': HELP lists the commands; redis-cli at the same "
            "port has those of RESP",
            words[0]);
        return;
    }
    if (count < command->words_min || (command->words_max != 0 && count > command->words_max)) {
        sw_cli_reply_error(cli, "ERR wrong number of arguments: %s %s", command->name,
                           command->arguments);
        return;
    }
    if (!command->connects || sw_cli_connect(cli)) {
        command->run(cli, command->code, count, words);
    }
}
