/* SPDX-License-Identifier: MIT
 *
 * test_repl_stream.c - the words of a replica and of its primary, and the records that the primary
 * keeps for replicas.
 */
#include "server/repl/stream.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "server/repl/backlog.h"

#define WORDS_MAX SW_REPL_MEMBER_WORDS

/* A command in words, as the server's parser returns it. The words point into `text`. */
struct words {
    char text[2048];
    const uint8_t *word[WORDS_MAX];
    uint32_t size[WORDS_MAX];
    unsigned count;
};

static void split(struct words *words, const struct sw_repl_hello *hello)
{
    const size_t size = sw_repl_hello_write(hello, words->text, sizeof(words->text));
    char *at = words->text + 1;
    cr_assert_lt(size, sizeof(words->text));
    words->count = (unsigned)strtoul(at, NULL, 10) - 1; /* without the command's name */
    cr_assert_leq(words->count, WORDS_MAX);
    at = strstr(at, "REPLICATE\r\n") + strlen("REPLICATE\r\n");
    for (unsigned i = 0; i < words->count; i++) {
        words->size[i] = (uint32_t)strtoul(at + 1, &at, 10);
        words->word[i] = (const uint8_t *)at + 2;
        at += 2 + words->size[i] + 2;
    }
    cr_assert_eq(at, words->text + size);
}

static bool parse(struct sw_repl_hello *hello, const struct words *words)
{
    return sw_repl_hello_parse(hello, words->word, words->size, words->count);
}

Test(repl_stream, a_hello_is_read_as_it_is_written)
{
    struct sw_repl_hello hello = {.version = SW_REPL_VERSION,
                                  .sequence = UINT64_MAX,
                                  .key_bytes = 8,
                                  .value_bytes = 16,
                                  .value_format = 1,
                                  .engine = 2,
                                  .batch_ops_max = 3};
    struct sw_repl_hello again;
    static struct words words;
    memset(hello.history, 'a', SW_HISTORY_ID_BYTES - 1);
    for (unsigned member = 0; member < 2; member++) {
        split(&words, &hello);
        cr_assert(parse(&again, &words));
        cr_assert_eq(memcmp(&again, &hello, sizeof(hello)), 0);
        for (unsigned i = 0; i < words.count; i++) {
            const uint32_t size = words.size[i];
            words.size[i] = 0;
            cr_assert_not(parse(&again, &words), "word %u is empty", i);
            words.size[i] = size;
        }
        words.count--;
        cr_assert_not(parse(&again, &words), "a word is missing");
        strcpy(hello.shard, "s");
        strcpy(hello.node, "host:1");
        hello.incarnation = 4;
        hello.closed = 5;
    }
}

/* A name that is cut, or has no NUL, would be that of another member. */
Test(repl_stream, a_name_has_room)
{
    struct sw_repl_hello hello = {.version = SW_REPL_VERSION, .shard = "s", .node = "n"}, again;
    uint8_t name[SW_REPL_NAME_BYTES];
    static struct words words;
    memset(hello.history, 'a', SW_HISTORY_ID_BYTES - 1);
    memset(name, 'n', sizeof(name));
    split(&words, &hello);
    for (unsigned i = SW_REPL_HELLO_WORDS; i < SW_REPL_HELLO_WORDS + 2; i++) {
        const struct words before = words;
        words.word[i] = name;
        words.size[i] = sizeof(name) - 1;
        cr_assert(parse(&again, &words));
        cr_assert_eq(strlen(i == SW_REPL_HELLO_WORDS ? again.shard : again.node), sizeof(name) - 1);
        words.size[i] = sizeof(name);
        cr_assert_not(parse(&again, &words), "word %u", i);
        words.size[i] = before.size[i];
        words.word[i] = before.word[i];
    }
    name[1] = ' ';
    words.word[SW_REPL_HELLO_WORDS] = name;
    words.size[SW_REPL_HELLO_WORDS] = 3;
    cr_assert_not(parse(&again, &words), "a space");
}

/* The backlog has a place for each of its last SW_BACKLOG_RECORDS_MAX writes: a later one drops the
 * oldest. */
Test(repl_stream, the_backlog_drops_the_oldest_records)
{
    uint8_t column[SW_WAL_ALIGN] = {7}; /* a key and its padding */
    struct sw_wal_write write = {.kind = SW_WAL_OPERATIONS,
                                 .operation = 1,
                                 .count = 1,
                                 .columns = {{column, sizeof(column)}}};
    struct sw_backlog *backlog = sw_backlog_create(1 << 20);
    struct sw_backlog_record *record = NULL;
    cr_assert_not_null(backlog);
    sw_backlog_restart(backlog, 0);
    for (write.sequence = 1; write.sequence <= 2; write.sequence++) {
        sw_backlog_add(backlog, &write);
    }
    cr_assert_eq(sw_backlog_take(backlog, 0, &record, 1, 1 << 20), 1);
    cr_assert_eq(record->sequence, 1);
    sw_backlog_release(&record, 1);
    write.sequence = 1 + SW_BACKLOG_RECORDS_MAX; /* a loop may add a later write first */
    sw_backlog_add(backlog, &write);
    cr_assert_eq(sw_backlog_take(backlog, 0, &record, 1, 1 << 20), -1, "write 1 was dropped");
    cr_assert_eq(sw_backlog_take(backlog, 1, &record, 1, 1 << 20), 1);
    cr_assert_eq(record->sequence, 2);
    sw_backlog_release(&record, 1);
    sw_backlog_destroy(backlog);
}
