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

static const char of_bits[] = "  Shows the new value, or nil if the key is absent. For integers, "
                              "and rows of bytes, u32, u64 or i64.\n";

/* Decides whether an operation has a row here: its RESP command has a name of the same length, it
 * is no SET, its operand is one value, and tables of integers have it. The other commands have rows
 * below. A row of another operation has an empty name, which no word matches. */
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
    {"GET", "key", "Show the value of a key, or nil.", NULL, 2, 2, true, sw_cli_get, SHERWOOD_GET},
    {"GETDEL", "key", "Remove a key and show its value.", NULL, 2, 2, true, sw_cli_get,
     SHERWOOD_DELETE},
    {"SET", "key value [NX|XX] [GET] [EX n|PX n|EXAT n|PXAT n|KEEPTTL]", "Set a key.",
     "  NX: only if it is absent. XX: only if it is present. nil means that it was not set.\n"
     "  GET: show the earlier value (nil if absent) instead of OK.\n"
     "  EX, PX: let it expire in n seconds or milliseconds. EXAT, PXAT: n seconds or milliseconds "
     "after\n"
     "  1970. KEEPTTL: keep its expiry time. Otherwise it expires after the server's "
     "--default-ttl, or\n"
     "  never.\n"
     "  Keys and values are unsigned decimal integers of the server's width (INFO shows it). A "
     "key\n"
     "  may be any text if INFO shows resp_keys:auto: its hash is the key, as with redis-cli.\n"
     "  Values of a server with the cache engine are strings: SET 42 \"two words\\n\".\n",
     3, 7, true, sw_cli_set, SHERWOOD_SET},
    {"MGET", "key [key ...]", "Show the values of keys; one frame reads them.", NULL, 2, 0, true,
     sw_cli_mget, SHERWOOD_GET},
    {"MSET", "key value [key value ...]", "Set keys; one frame has them all.",
     "  For more keys than fit on a command line: sherwood-cli load FILE.\n", 3, 0, true,
     sw_cli_mset, SHERWOOD_SET},
    {"DEL", "key [key ...]", "Remove keys; show how many were present.", NULL, 2, 0, true,
     sw_cli_count, SHERWOOD_DELETE},
    {"ASSIGN", "key [key ...]", "Show the ids of keys (--ids); give absent keys free ones.",
     "  A line for each key: its id, and 1 if the id is new, else 0.\n", 2, 0, true, sw_cli_assign,
     SHERWOOD_ASSIGN},
    {"INSERT", "key [key ...]", "Add keys to a table without values (--value-type none).",
     "  A line for each key: 1 if it is new, else 0.\n", 2, 0, true, sw_cli_insert,
     SHERWOOD_SET_ABSENT},
    {"EXISTS", "key [key ...]", "Count the keys that are present.",
     "  A key that is named twice counts twice.\n", 2, 0, true, sw_cli_count, SHERWOOD_GET},
    {"PREFIXLEN", "key [key ...]", "Count the keys before the first absent one.", NULL, 2, 0, true,
     sw_cli_prefix, 0},
    {"INCR", "key", "Add 1; refused if the sum would overflow.", NULL, 2, 2, true, sw_cli_combine,
     SHERWOOD_INCREMENT},
    {"DECR", "key", "Subtract 1; refused below zero.", NULL, 2, 2, true, sw_cli_combine,
     SHERWOOD_DECREMENT},
    {"INCRBY", "key n", "Add n; refused if the sum would overflow.",
     "  An absent key counts as 0. Shows the new value.\n", 3, 3, true, sw_cli_combine,
     SHERWOOD_INCREMENT},
    {"DECRBY", "key n", "Subtract n; refused below zero.",
     "  An absent key counts as 0. Shows the new value.\n", 3, 3, true, sw_cli_combine,
     SHERWOOD_DECREMENT},
    SW_DATA_OPERATION_MAP(ROW) SW_COMPOSED_OPERATION_MAP(ROW){
        "CAS", "key old new", "Set a key if it has the value old; shows 1 or 0.", NULL, 4, 4, true,
        sw_cli_cas, SHERWOOD_CAS},
    {"SETNX", "key value", "Set a key if it is absent; shows 1 or 0.", NULL, 3, 3, true,
     sw_cli_setnx, SHERWOOD_SET_ABSENT},
    {"GETSET", "key value", "Set a key, and show its earlier value.", NULL, 3, 3, true,
     sw_cli_getset, SHERWOOD_SET},
    {"EXPIRE", "key n [NX|XX|GT|LT]", "Let a key expire in n seconds; shows 1 or 0.",
     "  NX: only if the key has no expiry time. XX: only if it has one. GT, LT: only if the new "
     "time is\n"
     "  later, or earlier, than that of the key; no expiry time counts as later than any. A time "
     "in the\n"
     "  past removes the key.\n",
     3, 5, true, sw_cli_expire, SW_CLI_EX},
    {"PEXPIRE", "key n [NX|XX|GT|LT]", "Let a key expire in n milliseconds; shows 1 or 0.", NULL, 3,
     5, true, sw_cli_expire, SW_CLI_PX},
    {"EXPIREAT", "key n [NX|XX|GT|LT]", "Let a key expire n seconds after 1970; shows 1 or 0.",
     NULL, 3, 5, true, sw_cli_expire, SW_CLI_EXAT},
    {"PEXPIREAT", "key n [NX|XX|GT|LT]",
     "Let a key expire n milliseconds after 1970; shows 1 or 0.", NULL, 3, 5, true, sw_cli_expire,
     SW_CLI_PXAT},
    {"PERSIST", "key", "Remove the expiry time of a key; shows 1 or 0.", NULL, 2, 2, true,
     sw_cli_persist, SHERWOOD_PERSIST},
    {"GETEX", "key [EX n|PX n|EXAT n|PXAT n|PERSIST]",
     "Show the value of a key, and set or remove its expiry time.", NULL, 2, 4, true, sw_cli_getex,
     SHERWOOD_GET},
    {"TTL", "key", "Show the seconds until a key expires; -1: never; -2: absent.",
     "  TTL and PTTL use the clock of this machine. EXPIRETIME and PEXPIRETIME show the stored "
     "time.\n",
     2, 2, true, sw_cli_ttl, SW_CLI_EX},
    {"PTTL", "key", "Show the milliseconds until a key expires; -1, -2 as TTL.", NULL, 2, 2, true,
     sw_cli_ttl, SW_CLI_PX},
    {"EXPIRETIME", "key", "Show when a key expires, in seconds since 1970; -1, -2 as TTL.", NULL, 2,
     2, true, sw_cli_ttl, SW_CLI_EXAT},
    {"PEXPIRETIME", "key", "Show when a key expires, in milliseconds since 1970; -1, -2 as TTL.",
     NULL, 2, 2, true, sw_cli_ttl, SW_CLI_PXAT},
    {"ADD", "key row [SCALE s] [XX]",
     "Add to a row of numbers; shows 1 if the key was present, or 0.",
     "  Write the numbers of the row with commas between them. Each is multiplied by s and "
     "rounded, then\n"
     "  added, and the sum is rounded. An absent key counts as zeros; with XX it stays absent.\n",
     3, 6, true, sw_cli_add, 0},
    {"GETRANGE", "key start end [HEX]", "Show the bytes of a row, from start to end.",
     "  Both are included, and count from 0; negative ones count from the end of the value. Rows "
     "of\n"
     "  numbers show numbers, other rows text; with HEX hex. Bytes past the end are left out.\n",
     4, 5, true, sw_cli_get_range, SHERWOOD_GET},
    {"SETRANGE", "key offset value [HEX]", "Write a part of a row, from byte offset on.",
     "  The value is numbers with commas between them, or text, or hex with HEX. The other bytes "
     "of a\n"
     "  row that was absent are zeros. Shows 1 if the key was present, or 0.\n",
     4, 5, true, sw_cli_set_range, SHERWOOD_SETRANGE},
    {"DBSIZE", "", "Count all keys.", NULL, 1, 1, true, sw_cli_dbsize, 0},
    {"SCAN", "cursor [COUNT n]", "Show some keys, and the cursor for the next call.",
     "  Begin with cursor 0. The scan is complete when the reply has cursor 0 again. After a "
     "restart\n"
     "  of the server, begin with 0.\n"
     "  For pairs instead of keys: sherwood-cli dump FILE.\n",
     2, 4, true, sw_cli_scan, 0},
    {"FLUSHALL", "", "Remove every key.", NULL, 1, 1, true, sw_cli_flushall, 0},
    {"WAIT", "replicas ms", "Wait until replicas have the writes of this connection.",
     "  Waits for that number of replicas, for at most ms milliseconds (0: without limit). Shows "
     "how\n"
     "  many have them; with -c the smallest number over the nodes that were written to.\n",
     3, 3, true, sw_cli_wait, 0},
    {"RESIZE", "slots", "Give the table more or fewer slots.",
     "  K, M, G or T (or Ki, ..) may follow the number. Shows the new capacity: whole buckets, and "
     "at\n"
     "  least what the keys need. RESIZE 1 makes the table as small as possible.\n"
     "  A cache becomes that small even if its keys do not fit: it evicts those without room.\n"
     "  The limit is the larger of the server's capacity and max-capacity.\n",
     2, 2, true, sw_cli_resize, 0},
    {"PEEK", "key", "Cache: show the value of a key; does not count as a use.", NULL, 2, 2, true,
     sw_cli_get, SHERWOOD_PEEK},
    {"SCORE", "key [score]", "Cache: show or change the score of a key.",
     "  A score counts as that many uses of the key (policies lfu, epoch-lfu), or becomes its "
     "score\n"
     "  (custom). Shows the score after that, or nil if the key is absent.\n",
     2, 3, true, sw_cli_score, 0},
    {"COUNTSCORES", "min max", "Cache: count the keys with a score from min to max.", NULL, 3, 3,
     true, sw_cli_score_range, SW_CLI_COUNT},
    {"ERASESCORES", "min max", "Cache: remove the keys with a score from min to max.",
     "  Shows how many it removed.\n", 3, 3, true, sw_cli_score_range, SW_CLI_ERASE},
    {"EPOCH", "[epoch]", "Cache with epochs: show the current epoch, or go on to a later one.",
     "  Epochs only increase. Entries of earlier epochs are evicted before those of later ones.\n",
     1, 2, true, sw_cli_epoch, 0},
    {"INFO", "", "Show the server, its table and its counters.", NULL, 1, 1, true, sw_cli_info, 0},
    {"HELLO", "[2|3]", "Show what the server announced when this client connected.",
     "  2 and 3 choose a version of RESP in redis-cli. Bulk frames have no such choice.\n", 1, 2,
     true, sw_cli_hello, 0},
    {"ECHO", "text", "Show the text.", NULL, 2, 2, false, sw_cli_echo, 0},
    {"COMMAND", "[COUNT]", "Show the names of all commands, or their number.", NULL, 1, 2, false,
     list_commands, 0},
    {"HELP", "[command]", "Show this list, or more on one command.", NULL, 1, 2, false, help, 0},
    {"QUIT", "", "Leave; EXIT and Ctrl-D do the same.", NULL, 1, 1, false, sw_cli_quit, 0},
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
            fprintf(cli->out,
                    "  %s %s\n"
                    "  ",
                    command->name, command->arguments);
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
