/* SPDX-License-Identifier: MIT
 *
 * test_write_replies.c - every kind of reply that comes from the table, in RESP2 and RESP3.
 */
#include "server/batch/refusals.h"
#include "tests/server/serve_fixture.h"

/* A connection in each of the two versions, on one table. */
struct pair {
    struct serve serve;
    struct fake *resp2, *resp3;
};

static void open_pair(struct pair *pair, enum sw_engine engine, unsigned key_bits)
{
    serve_init(&pair->serve);
    pair->serve.config.engine = engine;
    pair->serve.config.key_bits = key_bits;
    sw_config_fit(&pair->serve.config);
    serve_start(&pair->serve);
    pair->resp2 = serve_open(&pair->serve);
    pair->resp3 = serve_open(&pair->serve);
    fake_say(pair->resp3, "HELLO 3\r\n");
    serve_until_idle(&pair->serve);
    cr_assert_gt(pair->resp3->out_bytes, 0);
    pair->resp3->out_bytes = 0;
}

/* A test of such connections: its body has `pair`. */
#define PAIR_TEST(name, engine, key_bits)       \
    static void test_##name(struct pair *pair); \
    Test(write_replies, name)                   \
    {                                           \
        struct pair pair;                       \
        open_pair(&pair, engine, key_bits);     \
        test_##name(&pair);                     \
        serve_end(&pair.serve);                 \
    }                                           \
    static void test_##name(struct pair *pair)
#define INTEGERS_TEST(name) PAIR_TEST(name, SW_ENGINE_ROBIN_HOOD, 64)

/* The replies where the two versions agree; `request` leaves the table as it was. */
static void both(struct pair *pair, const char *request, const char *reply)
{
    serve_ask(&pair->serve, pair->resp2, request, reply);
    serve_ask(&pair->serve, pair->resp3, request, reply);
}

static void each(struct pair *pair, const char *request, const char *resp2, const char *resp3)
{
    serve_ask(&pair->serve, pair->resp2, request, resp2);
    serve_ask(&pair->serve, pair->resp3, request, resp3);
}

static void set(struct pair *pair, const char *key, const char *value)
{
    char request[128];
    snprintf(request, sizeof(request), "SET %s %s\r\n", key, value);
    serve_ask(&pair->serve, pair->resp2, request, "+OK\r\n");
}

/* --- integers --------------------------------------------------------------------------------- */

INTEGERS_TEST(values)
{
    set(pair, "1", "0");
    set(pair, "2", "18446744073709551615");
    both(pair, "GET 1\r\n", "$1\r\n0\r\n");
    both(pair, "GET 2\r\n", "$20\r\n18446744073709551615\r\n");
    each(pair, "GET 3\r\n", "$-1\r\n", "_\r\n");
}

INTEGERS_TEST(arrays_of_values)
{
    set(pair, "1", "10");
    set(pair, "2", "18446744073709551615");
    each(pair, "MGET 1 9 2 1\r\n",
         "*4\r\n$2\r\n10\r\n$-1\r\n$20\r\n18446744073709551615\r\n$2\r\n10\r\n",
         "*4\r\n$2\r\n10\r\n_\r\n$20\r\n18446744073709551615\r\n$2\r\n10\r\n");
}

INTEGERS_TEST(ok_and_counts)
{
    both(pair, "SET 1 5\r\n", "+OK\r\n");
    both(pair, "MSET 1 5 2 6\r\n", "+OK\r\n");
    both(pair, "EXISTS 1 2 3 1\r\n", ":3\r\n");
    both(pair, "TOUCH 1 3\r\n", ":1\r\n");
    serve_ask(&pair->serve, pair->resp2, "DEL 1 3\r\n", ":1\r\n");
    serve_ask(&pair->serve, pair->resp3, "UNLINK 1 2\r\n", ":1\r\n");
}

INTEGERS_TEST(conditions)
{
    each(pair, "SET 1 5 XX\r\n", "$-1\r\n", "_\r\n");
    serve_ask(&pair->serve, pair->resp2, "SET 1 5 NX\r\n", "+OK\r\n");
    each(pair, "SET 1 6 NX\r\n", "$-1\r\n", "_\r\n");
    both(pair, "SET 1 7 XX\r\n", "+OK\r\n");
    both(pair, "GET 1\r\n", "$1\r\n7\r\n");
    both(pair, "SETNX 1 8\r\n", ":0\r\n");
    serve_ask(&pair->serve, pair->resp3, "SETNX 2 8\r\n", ":1\r\n");
    both(pair, "SET 1 7 GET\r\n", "$1\r\n7\r\n");
    each(pair, "GETDEL 9\r\n", "$-1\r\n", "_\r\n");
}

/* An integer reply is signed: beyond it is a big number in RESP3, a string in RESP2. */
INTEGERS_TEST(sums_at_the_edges)
{
    serve_ask(&pair->serve, pair->resp2, "INCR 1\r\n", ":1\r\n");
    each(pair, "DEL 2\r\nINCRBY 2 9223372036854775807\r\n", ":0\r\n:9223372036854775807\r\n",
         ":1\r\n:9223372036854775807\r\n");
    each(pair, "SET 2 9223372036854775807\r\nINCR 2\r\n", "+OK\r\n$19\r\n9223372036854775808\r\n",
         "+OK\r\n(9223372036854775808\r\n");
    each(pair, "SET 2 18446744073709551614\r\nINCR 2\r\n", "+OK\r\n$20\r\n18446744073709551615\r\n",
         "+OK\r\n(18446744073709551615\r\n");
    both(pair, "INCR 2\r\n", "-ERR increment or decrement would overflow\r\n");
    both(pair, "GET 2\r\n", "$20\r\n18446744073709551615\r\n");
}

INTEGERS_TEST(differences_at_the_edges)
{
    both(pair, "SET 1 5\r\nDECRBY 1 5\r\n", "+OK\r\n:0\r\n");
    both(pair, "DECR 1\r\n", "-ERR increment or decrement would overflow\r\n");
    both(pair, "DECR 9\r\n", "-ERR increment or decrement would overflow\r\n");
    each(pair, "SET 1 18446744073709551615\r\nDECR 1\r\n", "+OK\r\n$20\r\n18446744073709551614\r\n",
         "+OK\r\n(18446744073709551614\r\n");
}

INTEGERS_TEST(what_a_key_is)
{
    set(pair, "1", "12345");
    both(pair, "STRLEN 1\r\n", ":5\r\n");
    both(pair, "STRLEN 2\r\n", ":0\r\n");
    both(pair, "TYPE 1\r\n", "+string\r\n");
    both(pair, "TYPE 2\r\n", "+none\r\n");
    both(pair, "TTL 1\r\n", ":-1\r\n");
    both(pair, "TTL 2\r\n", ":-2\r\n");
    both(pair, "PERSIST 1\r\n", ":0\r\n");
    both(pair, "OBJECT ENCODING 1\r\n", "$3\r\nint\r\n");
    each(pair, "OBJECT ENCODING 2\r\n", "$-1\r\n", "_\r\n");
    both(pair, "MEMORY USAGE 1\r\n", ":16\r\n");
    each(pair, "MEMORY USAGE 2\r\n", "$-1\r\n", "_\r\n");
}

PAIR_TEST(integers_of_32_bits_overflow_where_they_end, SW_ENGINE_ROBIN_HOOD, 32)
{
    both(pair, "SET 1 4294967294\r\nINCR 1\r\n", "+OK\r\n:4294967295\r\n");
    both(pair, "INCR 1\r\n", "-ERR increment or decrement would overflow\r\n");
    both(pair, "GET 1\r\n", "$10\r\n4294967295\r\n");
    both(pair, "SET 1 4294967296\r\n",
         "-ERR value is not an unsigned integer or out of range; for strings start the server with "
         "--value-bytes N --value-type string\r\n");
    both(pair, "MEMORY USAGE 1\r\n", ":8\r\n");
}

/* More replies than the buffer they are formatted in. */
INTEGERS_TEST(long_arrays_leave_in_several_writes)
{
    enum { KEYS = 500, TIMES = 60 };
    static char mset[KEYS * 32] = "MSET", mget[KEYS * 8] = "MGET", all[TIMES * KEYS * 8];
    for (int i = 0; i < KEYS; i++) {
        sprintf(mset + strlen(mset), " %d 18446744073709551615", i);
        sprintf(mget + strlen(mget), " %d", i);
    }
    strcat(mset, "\r\n");
    strcat(mget, "\r\n");
    serve_ask(&pair->serve, pair->resp2, mset, "+OK\r\n");
    for (int i = 0; i < TIMES; i++) {
        strcat(all, mget);
    }
    fake_say(pair->resp3, all);
    serve_until_idle(&pair->serve);
    cr_assert_eq(pair->resp3->out_bytes, (size_t)TIMES * (6 + KEYS * 27));
}

/* --- refusals --------------------------------------------------------------------------------- */

/* What the table refused, in a batch of groups. */
INTEGERS_TEST(a_refused_command_is_refused_alone)
{
    static char full[500 * 16];
    for (int at = 0; at < 8; at++) {
        strcpy(full, "MSET");
        for (int i = 0; i < 500; i++) {
            sprintf(full + strlen(full), " %d 1", at * 500 + i);
        }
        strcat(full, "\r\n");
        fake_say(pair->resp2, full);
        serve_until_idle(&pair->serve);
    }
    cr_assert_not_null(memmem(pair->resp2->out, pair->resp2->out_bytes, "-OOM ", 5));
    pair->resp2->out_bytes = 0;
    uint64_t errors = pair->serve.loop->counters.command_errors;
    static char more[500 * 16] = "SET 1 2\r\nMSET";
    for (int i = 0; i < 500; i++) {
        sprintf(more + strlen(more), " %d 1", 9000 + i);
    }
    strcat(more, "\r\nGET 1\r\nSET 1 3\r\n");
    serve_ask(&pair->serve, pair->resp3, more,
              "+OK\r\n-OOM " SW_FULL_GROWS "\r\n$1\r\n2\r\n+OK\r\n");
    cr_assert_eq(pair->serve.loop->counters.command_errors, errors + 1);
}

/* After the device failed, or where the loop's first batch finds no memory for a queue, every
 * command of the batch gets the error. PING does not need the table. */
INTEGERS_TEST(a_failed_batch_is_told_to_every_command_in_it)
{
    static const struct {
        int status;
        const char *line;
    } rows[] = {{SW_E_DEVICE, "-ERR the table failed and the server stops: see its log\r\n"},
                {SW_E_NOMEM, "-OOM " SW_NO_QUEUE "\r\n"}};
    struct sw_replies *filling = pair->serve.loop->first.resp.filling;
    char replies[512];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        fake_say(pair->resp2, "GET 1\r\nPING\r\nSET 1 2\r\n");
        filling->batch.flight->batch.status = rows[i].status;
        sw_replies_write(filling);
        snprintf(replies, sizeof(replies), "%s+PONG\r\n%s", rows[i].line, rows[i].line);
        fake_expect(pair->resp2, replies);
        sw_resp_batch_reset(&filling->batch);
        filling->pendings = 0;
        sw_text_reset(&filling->text);
    }
}

/* --- bytes ------------------------------------------------------------------------------------ */

PAIR_TEST(blobs, SW_ENGINE_CACHE, 64)
{
    static const char longest[] = "012345678901234567890123456789012345678901234567890123456789";
    char request[128], reply[128];
    both(pair, "*3\r\n$3\r\nSET\r\n$1\r\n1\r\n$4\r\na\r\nb\r\n", "+OK\r\n");
    both(pair, "GET 1\r\n", "$4\r\na\r\nb\r\n");
    both(pair, "*3\r\n$3\r\nSET\r\n$1\r\n2\r\n$0\r\n\r\n", "+OK\r\n");
    both(pair, "GET 2\r\n", "$0\r\n\r\n");
    snprintf(request, sizeof(request), "SET 3 %s\r\n", longest);
    snprintf(reply, sizeof(reply), "$60\r\n%s\r\n", longest);
    both(pair, request, "+OK\r\n");
    both(pair, "GET 3\r\n", reply);
    snprintf(request, sizeof(request), "SET 3 %sx\r\n", longest);
    both(pair, request, "-ERR value is longer than 60 bytes (--value-bytes)\r\n");
    each(pair, "GET 4\r\n", "$-1\r\n", "_\r\n");
    each(pair, "MGET 1 4 2\r\n", "*3\r\n$4\r\na\r\nb\r\n$-1\r\n$0\r\n\r\n",
         "*3\r\n$4\r\na\r\nb\r\n_\r\n$0\r\n\r\n");
}

PAIR_TEST(what_a_blob_is, SW_ENGINE_CACHE, 64)
{
    set(pair, "1", "hello");
    both(pair, "STRLEN 1\r\n", ":5\r\n");
    both(pair, "STRLEN 2\r\n", ":0\r\n");
    both(pair, "OBJECT ENCODING 1\r\n", "$3\r\nraw\r\n");
    each(pair, "OBJECT ENCODING 2\r\n", "$-1\r\n", "_\r\n");
    both(pair, "TYPE 1\r\n", "+string\r\n");
    both(pair, "SETNX 1 x\r\n", ":0\r\n");
    serve_ask(&pair->serve, pair->resp2, "GETDEL 1\r\n", "$5\r\nhello\r\n");
    each(pair, "GETDEL 1\r\n", "$-1\r\n", "_\r\n");
}
