/* SPDX-License-Identifier: MIT
 *
 * test_resp_reply.c - RESP replies at every split point, and bytes that are not a reply.
 */
#include "bench/load/resp_reply.h"

#include <criterion/criterion.h>
#include <string.h>

struct sample {
    const char *bytes;
    enum sw_load_reply_kind kind;
    const char *text; /* NULL: not looked at */
    size_t size;
};

static const struct sample samples[] = {
    {"+OK\r\n", SW_LOAD_REPLY_STATUS, "OK", 2},
    {"+\r\n", SW_LOAD_REPLY_STATUS, "", 0},
    {"-ERR no such thing\r\n", SW_LOAD_REPLY_ERROR, "ERR no such thing", 17},
    {":42\r\n", SW_LOAD_REPLY_INTEGER, "42", 2},
    {":-1\r\n", SW_LOAD_REPLY_INTEGER, "-1", 2},
    {"$2\r\n42\r\n", SW_LOAD_REPLY_BULK, "42", 2},
    {"$0\r\n\r\n", SW_LOAD_REPLY_BULK, "", 0},
    {"$20\r\n18446744073709551615\r\n", SW_LOAD_REPLY_BULK, "18446744073709551615", 20},
    {"$4\r\n\r\n\r\n\r\n", SW_LOAD_REPLY_BULK, "\r\n\r\n", 4},
    {"$-1\r\n", SW_LOAD_REPLY_NULL, NULL, 0},
    {"*-1\r\n", SW_LOAD_REPLY_NULL, NULL, 0},
    {"*0\r\n", SW_LOAD_REPLY_ARRAY, NULL, 0},
    {"*100\r\n", SW_LOAD_REPLY_ARRAY, NULL, 100},
    {"*1048576\r\n", SW_LOAD_REPLY_ARRAY, NULL, 1048576},
};

Test(resp_reply, whole_replies_and_every_prefix)
{
    for (size_t s = 0; s < sizeof(samples) / sizeof(samples[0]); s++) {
        const struct sample *sample = &samples[s];
        const size_t size = strlen(sample->bytes);
        struct sw_load_reply reply;
        for (size_t part = 0; part < size; part++) {
            /* An exact copy, so that a sanitizer sees a byte read too far. */
            uint8_t *copy = malloc(part + !part);
            cr_assert(copy);
            memcpy(copy, sample->bytes, part);
            cr_assert_eq(sw_load_reply_parse(copy, part, &reply), 0, "sample %zu cut at %zu", s,
                         part);
            free(copy);
        }
        char longer[64];
        memcpy(longer, sample->bytes, size);
        memcpy(longer + size, "+next\r\n", 7);
        cr_assert_eq(sw_load_reply_parse((const uint8_t *)longer, size + 7, &reply), (int64_t)size,
                     "sample %zu", s);
        cr_assert_eq(reply.kind, sample->kind, "sample %zu", s);
        if (sample->kind == SW_LOAD_REPLY_ARRAY || sample->text) {
            cr_assert_eq(reply.size, sample->size, "sample %zu", s);
        }
        if (sample->text) {
            cr_assert(memcmp(reply.text, sample->text, sample->size) == 0, "sample %zu", s);
        }
    }
}

Test(resp_reply, garbage_is_refused)
{
    static const char *const garbage[] = {
        "OK\r\n",
        "\r\n",
        "$x\r\n",
        "$\r\n",
        "$-2\r\n",
        "$2\r\n42xx",
        "$2\n42\n",
        "*1x\r\n",
        "*1\rx",
        "+OK\rx",
        "$1\r\nx\rx",
        "*1048577\r\n",
        "$99999999999999999999\r\n",
    };
    for (size_t i = 0; i < sizeof(garbage) / sizeof(garbage[0]); i++) {
        struct sw_load_reply reply;
        cr_assert_eq(sw_load_reply_parse((const uint8_t *)garbage[i], strlen(garbage[i]), &reply),
                     -1, "garbage %zu was taken", i);
    }
}
