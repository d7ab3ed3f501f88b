/* SPDX-License-Identifier: MIT
 *
 * test_resp_parse.c - commands of the Redis protocol: every split point, every error, every limit.
 * The expected reactions were taken from redis-server 7.0.15, except where a line says stricter.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/proto/resp_fixture.h"

TestSuite(resp_parse, .init = setup, .fini = teardown);

struct valid {
    const char *bytes;
    size_t size;
    const char *words; /* separated by '|', ended by '|'; "" for a command without arguments */
};
#define VALID(text, words)            \
    {                                 \
        text, sizeof(text) - 1, words \
    }

static const struct valid valid_commands[] = {
    VALID("*1\r\n$4\r\nPING\r\n", "PING|"),
    VALID("*2\r\n$3\r\nGET\r\n$8\r\n12345678\r\n", "GET|12345678|"),
    VALID("*3\r\n$3\r\nSET\r\n$1\r\n1\r\n$20\r\n18446744073709551615\r\n",
          "SET|1|18446744073709551615|"),
    VALID("*1\r\n$0\r\n\r\n", "|"),
    VALID("*3\r\n$0\r\n\r\n$0\r\n\r\n$0\r\n\r\n", "|||"),
    VALID("*1\r\n$6\r\n\r\n\r\n\r\n\r\n", "\r\n\r\n\r\n|"),
    VALID("*2\r\n$4\r\nECHO\r\n$104\r\n"
          "01234567890123456789012345678901234567890123456789"
          "01234567890123456789012345678901234567890123456789abcd\r\n",
          "ECHO|01234567890123456789012345678901234567890123456789"
          "01234567890123456789012345678901234567890123456789abcd|"),
    VALID("*11\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n$1\r\nd\r\n$1\r\ne\r\n$1\r\nf\r\n$1\r\ng\r\n"
          "$1\r\nh\r\n$1\r\ni\r\n$1\r\nj\r\n$1\r\nk\r\n",
          "a|b|c|d|e|f|g|h|i|j|k|"),
    VALID("*0\r\n", ""),
    VALID("*-1\r\n", ""),
    VALID("*-5\r\n", ""),
    VALID("*-9223372036854775808\r\n", ""),
    VALID("\r\n", ""),
    VALID("\n", ""),
    VALID(" \t\v\f\r \r\n", ""),
    VALID("\r\r\n", ""),
    VALID("PING\r\n", "PING|"),
    VALID("PING\n", "PING|"),
    VALID("  GET \t 42  \r\n", "GET|42|"),
    VALID("GET\t42\r\n", "GET|42|"),
    VALID("\vPING\r\n", "PING|"),
    VALID("PING\rPONG\r\n", "PING|PONG|"),
    VALID("ECHO a\vb\r\n", "ECHO|a\vb|"),
    VALID("ECHO \"a\"\vb\r\n", "ECHO|a|b|"),
    VALID("ECHO \"\"\r\n", "ECHO||"),
    VALID("ECHO '' ''\r\n", "ECHO|||"),
    VALID("ECHO foo\"bar\"\r\n", "ECHO|foobar|"),
    VALID("ECHO foo'bar'\r\n", "ECHO|foobar|"),
    VALID("ECHO \"a b\" 'c d'\r\n", "ECHO|a b|c d|"),
    VALID("PING \"a\\x41\\n\\q\\\"\" \r\n", "PING|aA\nq\"|"),
    VALID("ECHO \"\\n\\r\\t\\b\\a\\\\\"\r\n", "ECHO|\n\r\t\b\a\\|"),
    VALID("ECHO 'a\\'b\\n'\r\n", "ECHO|a'b\\n|"),
    VALID("ECHO \"it's\" 'say \"hi\"'\r\n", "ECHO|it's|say \"hi\"|"),
    VALID("ECHO \"\\x4\"\r\n", "ECHO|x4|"),
    VALID("ECHO \"\\xZZ\"\r\n", "ECHO|xZZ|"),
    VALID("ECHO \"\\x4G\\xfF\"\r\n", "ECHO|x4G\xff|"),
    VALID("ECHO a\\nb\r\n", "ECHO|a\\nb|"),
    VALID("$3\r\n", "$3|"),
};
#define VALID_COUNT (sizeof(valid_commands) / sizeof(valid_commands[0]))

static void same_words(const struct valid *valid)
{
    const char *at = valid->words;
    for (uint32_t i = 0; i < command.count; i++) {
        size_t size = command.arguments[i].size;
        const char *end = strchr(at, '|');
        cr_assert(end != NULL, "'%s': more than the words '%s'", valid->bytes, valid->words);
        cr_assert(size == (size_t)(end - at) && memcmp(command.arguments[i].text, at, size) == 0,
                  "'%s': word %u is '%.*s'", valid->bytes, i, (int)size,
                  (const char *)command.arguments[i].text);
        at = end + 1;
    }
    cr_assert(*at == '\0', "'%s': fewer than the words '%s'", valid->bytes, valid->words);
}

Test(resp_parse, every_split_point_of_valid_commands)
{
    for (size_t i = 0; i < VALID_COUNT; i++) {
        const struct valid *valid = &valid_commands[i];
        for (size_t size = 0; size < valid->size; size++) {
            int64_t got = parse(valid->bytes, size);
            cr_assert(got == 0, "'%s': %zu bytes gave %" PRId64, valid->bytes, size, got);
            cr_assert(command.need > size && command.need <= valid->size,
                      "'%s': %zu bytes need %zu", valid->bytes, size, command.need);
        }
        int64_t got = parse(valid->bytes, valid->size);
        cr_assert(got == (int64_t)valid->size, "'%s' gave %" PRId64, valid->bytes, got);
        same_words(valid);
    }
}

Test(resp_parse, what_follows_a_command_does_not_change_it)
{
    for (size_t i = 0; i < VALID_COUNT; i++) {
        for (size_t j = 0; j < VALID_COUNT; j++) {
            char pair[1024];
            size_t first = valid_commands[i].size;
            size_t second = valid_commands[j].size;
            memcpy(pair, valid_commands[i].bytes, first);
            memcpy(pair + first, valid_commands[j].bytes, second);
            for (size_t size = first; size <= first + second; size++) {
                cr_assert(parse(pair, size) == (int64_t)first, "'%.*s'", (int)size, pair);
                same_words(&valid_commands[i]);
            }
        }
    }
}

Test(resp_parse, nul_bytes_are_bytes)
{
    static const char inline_line[] = "ECHO a\0b \"\0\\x00\"\r\n";
    cr_assert(parse(inline_line, sizeof(inline_line) - 1) == sizeof(inline_line) - 1);
    cr_assert(command.count == 3);
    cr_assert(command.arguments[1].size == 3 && memcmp(command.arguments[1].text, "a\0b", 3) == 0);
    cr_assert(command.arguments[2].size == 2 && memcmp(command.arguments[2].text, "\0\0", 2) == 0);
    static const char array[] = "*1\r\n$3\r\n\0\r\n\r\n";
    cr_assert(parse(array, sizeof(array) - 1) == sizeof(array) - 1);
    cr_assert(command.count == 1 && command.arguments[0].size == 3);
    cr_assert(memcmp(command.arguments[0].text, "\0\r\n", 3) == 0);
}

struct invalid {
    const char *bytes;
    size_t size;
    int error;
    const char *text;
};
#define INVALID(input, error, text)           \
    {                                         \
        input, sizeof(input) - 1, error, text \
    }
#define COUNT(input) INVALID(input, SW_RESP_E_COUNT, "invalid multibulk length")
#define BULK(input) INVALID(input, SW_RESP_E_BULK, "invalid bulk length")
#define QUOTES(input) INVALID(input, SW_RESP_E_QUOTES, "unbalanced quotes in request")
#define DOLLAR(input, text) INVALID(input, SW_RESP_E_DOLLAR, text)

static const struct invalid invalid_commands[] = {
    COUNT("*\r\n"),
    COUNT("*-\r\n"),
    COUNT("*-0\r\n"),
    COUNT("*00\r\n"),
    COUNT("*01\r\n"),
    COUNT("*+1\r\n"),
    COUNT("* 1\r\n"),
    COUNT("*1 \r\n"),
    COUNT("*-01\r\n"),
    COUNT("*abc\r\n"),
    COUNT("*1x\r\n"),
    COUNT("*12x\r\n"),
    COUNT("*:\r\n"),
    COUNT("*:\r\n$4\r\nPING\r\n"),
    COUNT("*/\r\n"),
    COUNT("*1\n\r\n"),
    COUNT("*1025\r\n"), /* ARGUMENTS_MAX + 1 */
    COUNT("*2147483648\r\n"),
    COUNT("*4294967297\r\n"),
    COUNT("*18446744073709551617\r\n"),
    COUNT("*99999999999999999999\r\n"),
    COUNT("*-9223372036854775809\r\n"),
    COUNT("*1\rX$4\r\nPING\r\n"),    /* stricter */
    COUNT("*1000\rX$4\r\nPING\r\n"), /* stricter */
    COUNT("*1\r\r\n$4\r\nPING\r\n"), /* stricter */
    COUNT("*\0\r\n$4\r\nPING\r\n"),  /* stricter: redis waits for more */
    BULK("*1\r\n$-1\r\n"),
    BULK("*1\r\n$\r\n"),
    BULK("*1\r\n$abc\r\n"),
    BULK("*1\r\n$4x\r\n"),
    BULK("*1\r\n$04\r\nPING\r\n"),
    BULK("*1\r\n$00\r\n\r\n"),
    BULK("*1\r\n$-0\r\n\r\n"),
    BULK("*1\r\n$+4\r\nPING\r\n"),
    BULK("*1\r\n$:\r\nPINGPONGAB\r\n"),
    BULK("*1\r\n$70001\r\n"), /* argument_bytes_max + 1 */
    BULK("*1\r\n$536870913\r\n"),
    BULK("*1\r\n$4294967300\r\nPING\r\n"),
    BULK("*1\r\n$18446744073709551615\r\n"),
    BULK("*1\r\n$18446744073709551620\r\nPING\r\n"),
    BULK("*2\r\n$4\r\nECHO\r\n$x\r\n"),
    BULK("*1\r\n$4\rXPING\r\n"),       /* stricter */
    BULK("*1\r\n$4\r\nPINGxx"),        /* stricter */
    BULK("*1\r\n$4\r\nPING\n\n"),      /* stricter */
    BULK("*1\r\n$4\r\nPING\r\r"),      /* stricter */
    BULK("*1\r\n$4\r\nPIN\r\n*1\r\n"), /* stricter: a length that is one too large */
    BULK("*1\r\n$4\r\nPINGS\r\n"),     /* stricter: a length that is one too small */
    DOLLAR("*1\r\n:4\r\n", "expected '$', got ':'"),
    DOLLAR("*1\r\nfoo\r\n", "expected '$', got 'f'"),
    DOLLAR("*1\r\n*1\r\n$4\r\nPING\r\n", "expected '$', got '*'"),
    DOLLAR("*2\r\n$4\r\nPING\r\nPING\r\n", "expected '$', got 'P'"),
    DOLLAR("*1\r\n\r\n", "expected '$', got ' '"),
    DOLLAR("*1\r\n\n\r\n", "expected '$', got ' '"),
    DOLLAR("*1\r\n\x01\r\n", "expected '$', got '\x01'"),
    DOLLAR("*1\r\n\xff\r\n", "expected '$', got '\xff'"),
    DOLLAR("*1\r\n\0\r\n", "expected '$', got ' '"), /* stricter: redis waits for more */
    QUOTES("ECHO \"foo\"bar\r\n"),
    QUOTES("ECHO 'foo'bar\r\n"),
    QUOTES("ECHO \"foo\r\n"),
    QUOTES("ECHO 'foo\r\n"),
    QUOTES("ECHO \"\r\n"),
    QUOTES("\"\n"),
    QUOTES("ECHO \"\\\r\n"),
    QUOTES("ECHO \"\\\"\r\n"),
    QUOTES("ECHO \"\\x4\r\n"),
    QUOTES("ECHO '\\'\r\n"),
    QUOTES("ECHO '\\\\'\r\n"),
    QUOTES("ECHO \"a\"\"b\"\r\n"),
};

Test(resp_parse, every_error_and_no_other_on_the_way)
{
    for (size_t i = 0; i < sizeof(invalid_commands) / sizeof(invalid_commands[0]); i++) {
        const struct invalid *invalid = &invalid_commands[i];
        char text[64];
        for (size_t size = 0; size < invalid->size; size++) {
            int64_t got = parse(invalid->bytes, size);
            cr_assert(got == 0 || got == invalid->error, "'%s': %zu bytes gave %" PRId64,
                      invalid->bytes, size, got);
            cr_assert(got != 0 || command.need > size, "'%s': %zu bytes", invalid->bytes, size);
        }
        int64_t got = parse(invalid->bytes, invalid->size);
        cr_assert(got == invalid->error, "'%s' gave %" PRId64, invalid->bytes, got);
        sw_resp_error_text((int)got, command.got, text, sizeof(text));
        cr_assert_str_eq(text, invalid->text);
    }
}

Test(resp_parse, error_texts_fit_whatever_the_room)
{
    char text[64];
    sw_resp_error_text(SW_RESP_E_REQUEST_SIZE, 0, text, sizeof(text));
    cr_assert_str_eq(text, "too big request");
    sw_resp_error_text(SW_RESP_E_INLINE_SIZE, 0, text, 8);
    cr_assert_str_eq(text, "too big");
    sw_resp_error_text(SW_RESP_E_DOLLAR, 'x', text, 1);
    cr_assert_str_eq(text, "");
    sw_resp_error_text(12345, 0, text, sizeof(text));
    cr_assert_str_eq(text, "unknown error");
}

/* Lines of `fill` bytes between `before` and `after`. */
static int64_t parse_long_line(const char *before, char byte, size_t fill, const char *after)
{
    static char input[INPUT_MAX];
    size_t first = strlen(before);
    size_t last = strlen(after);
    memcpy(input, before, first);
    memset(input + first, byte, fill);
    memcpy(input + first + fill, after, last);
    return parse(input, first + fill + last);
}

Test(resp_parse, lines_are_bounded)
{
    /* The type byte counts as part of the line. */
    cr_assert(parse_long_line("*", '1', INLINE_MAX - 1, "") == 0);
    cr_assert(parse_long_line("*", '1', INLINE_MAX, "") == SW_RESP_E_COUNT_SIZE);
    cr_assert(parse_long_line("*", '1', INLINE_MAX - 1, "\r\n") == SW_RESP_E_COUNT);
    cr_assert(parse_long_line("*", '1', INLINE_MAX, "\r\n") == SW_RESP_E_COUNT_SIZE);
    cr_assert(parse_long_line("*1\r\n$", '1', INLINE_MAX - 1, "") == 0);
    cr_assert(parse_long_line("*1\r\n$", '1', INLINE_MAX, "") == SW_RESP_E_BULK_SIZE);
    cr_assert(parse_long_line("*1\r\n", 'x', INLINE_MAX, "\r\n") == SW_RESP_E_DOLLAR);
    cr_assert(parse_long_line("*1\r\n", 'x', INLINE_MAX + 1, "\r\n") == SW_RESP_E_BULK_SIZE);
    cr_assert(parse_long_line("", 'x', INLINE_MAX, "") == 0);
    cr_assert(parse_long_line("", 'x', INLINE_MAX + 1, "") == SW_RESP_E_INLINE_SIZE);
    cr_assert(parse_long_line("", 'x', INLINE_MAX, "\n") == INLINE_MAX + 1);
    cr_assert(command.count == 1 && command.arguments[0].size == INLINE_MAX);
    cr_assert(parse_long_line("", 'x', INLINE_MAX + 1, "\n") == SW_RESP_E_INLINE_SIZE);
    cr_assert(parse_long_line("", ' ', INLINE_MAX, "\n") == INLINE_MAX + 1);
    cr_assert(command.count == 0);
}

Test(resp_parse, quoted_words_stay_within_unquoted)
{
    /* The longest line of quoted words, with `unquoted` ending at an unreadable page. */
    static char input[INLINE_MAX + 1];
    for (size_t i = 0; i < INLINE_MAX; i++) {
        input[i] = i % 128 == 0 || i % 128 == 126 ? '"' : i % 128 == 127 ? ' ' : 'x';
    }
    input[INLINE_MAX] = '\n';
    command.unquoted = unquoted_guard.memory + unquoted_guard.bytes - INLINE_MAX;
    cr_assert(parse(input, sizeof(input)) == INLINE_MAX + 1);
    cr_assert(command.count == INLINE_MAX / 128);
    for (uint32_t i = 0; i < command.count; i++) {
        cr_assert(command.arguments[i].size == 125, "word %u", i);
        cr_assert(command.arguments[i].text[124] == 'x', "word %u", i);
    }
}

Test(resp_parse, inline_words_are_bounded)
{
    static char input[2 * (ARGUMENTS_MAX + 1) + 1];
    for (size_t i = 0; i <= ARGUMENTS_MAX; i++) {
        memcpy(input + 2 * i, "a ", 2);
    }
    input[2 * ARGUMENTS_MAX] = '\n';
    cr_assert(parse(input, 2 * ARGUMENTS_MAX + 1) == 2 * ARGUMENTS_MAX + 1);
    cr_assert(command.count == ARGUMENTS_MAX);
    memcpy(input + 2 * ARGUMENTS_MAX, "a\n", 2);
    cr_assert(parse(input, 2 * ARGUMENTS_MAX + 2) == SW_RESP_E_INLINE_SIZE);

    struct sw_resp_limits small = limits;
    small.argument_bytes_max = 4;
    cr_assert(sw_resp_parse((const uint8_t *)"PING\n", 5, &small, &command) == 5);
    cr_assert(sw_resp_parse((const uint8_t *)"PINGS\n", 6, &small, &command) ==
              SW_RESP_E_INLINE_SIZE);
}

Test(resp_parse, small_limits_hold_for_short_lines_too)
{
    struct sw_resp_limits small = limits;
    small.arguments_max = 4;
    small.argument_bytes_max = 12;
    for (unsigned number = 0; number < 100; number++) {
        char text[128];
        int size = snprintf(text, sizeof(text), "*%u\r\n$", number);
        int64_t got = sw_resp_parse((const uint8_t *)text, (size_t)size, &small, &command);
        int64_t want = number == 0 ? size - 1 : number <= 4 ? 0 : SW_RESP_E_COUNT;
        cr_assert(got == want, "count %u gave %" PRId64, number, got);
        size = snprintf(text, sizeof(text), "*1\r\n$%u\r\n%0*d\r\n", number, (int)number, 0);
        got = sw_resp_parse((const uint8_t *)text, (size_t)size, &small, &command);
        want = number == 0 ? SW_RESP_E_BULK : number <= 12 ? size : SW_RESP_E_BULK;
        cr_assert(got == want, "length %u gave %" PRId64, number, got);
    }
}

Test(resp_parse, a_request_is_bounded_however_it_arrives)
{
    static const char text[] = "*3\r\n$3\r\nSET\r\n$8\r\n12345678\r\n$1\r\n7\r\n";
    const int64_t whole = sizeof(text) - 1;
    for (uint32_t bytes_max = 1; bytes_max <= sizeof(text) + 2; bytes_max++) {
        struct sw_resp_limits small = limits;
        small.request_bytes_max = bytes_max;
        bool fits = whole <= (int64_t)bytes_max;
        for (size_t size = 0; size <= sizeof(text) - 1; size++) {
            int64_t got = sw_resp_parse(guard_place(&guard, text, size), size, &small, &command);
            bool last = (int64_t)size == whole;
            if (fits) {
                cr_assert(got == (last ? whole : 0), "limit %u, %zu bytes", bytes_max, size);
            } else {
                cr_assert(got == SW_RESP_E_REQUEST_SIZE || (got == 0 && !last && size < bytes_max),
                          "limit %u, %zu bytes gave %" PRId64, bytes_max, size, got);
                cr_assert(got != 0 || command.need <= bytes_max, "limit %u, %zu bytes", bytes_max,
                          size);
            }
        }
    }
    /* Announced sizes are enough: nothing of the payload has to arrive. */
    struct sw_resp_limits small = limits;
    small.request_bytes_max = 1000;
    cr_assert(sw_resp_parse((const uint8_t *)"*1000\r\n", 7, &small, &command) ==
              SW_RESP_E_REQUEST_SIZE);
    cr_assert(sw_resp_parse((const uint8_t *)"*1\r\n$1000\r\n", 11, &small, &command) ==
              SW_RESP_E_REQUEST_SIZE);
    cr_assert(sw_resp_parse((const uint8_t *)"GET 1\n", 6, &small, &command) == 6);
    small.request_bytes_max = 5;
    cr_assert(sw_resp_parse((const uint8_t *)"GET 1\n", 6, &small, &command) ==
              SW_RESP_E_REQUEST_SIZE);
}

Test(resp_parse, need_counts_what_is_known_to_come)
{
    static const char text[] = "*4\r\n$4\r\nMSET\r\n$100\r\n12";
    cr_assert(parse(text, 4) == 0);
    cr_assert(command.need == 4 + 4 * 6, "need %zu", command.need);
    cr_assert(parse(text, 14) == 0);
    cr_assert(command.need == 14 + 3 * 6, "need %zu", command.need);
    cr_assert(parse(text, sizeof(text) - 1) == 0);
    cr_assert(command.need == 20 + 102 + 2 * 6, "need %zu", command.need);
}

/* A server that parses again only once `need` bytes are there. */
Test(resp_parse, a_large_command_in_small_pieces_is_parsed_a_few_times)
{
    enum { PAIRS = 150000, PIECE = 65536, BYTES = 8 << 20 };
    static struct sw_resp_argument many[2 * PAIRS + 1];
    char *text = malloc(BYTES);
    cr_assert(text != NULL);
    char *end = sw_resp_put_array(text, 2 * PAIRS + 1);
    end = sw_resp_put_bytes(end, "$4\r\nMSET\r\n", 10);
    for (uint64_t i = 0; i < 2 * PAIRS; i++) {
        end = sw_resp_put_bulk_integer(end, i * 1000003);
    }
    size_t whole = (size_t)(end - text);
    struct sw_resp_limits large = {
        .arguments_max = 2 * PAIRS + 1,
        .argument_bytes_max = 1024,
        .inline_bytes_max = INLINE_MAX,
        .request_bytes_max = BYTES,
    };
    struct sw_resp_command got = {.arguments = many, .unquoted = unquoted_guard.memory};
    unsigned parses = 0;
    size_t looked_at = 0;
    int64_t result = 0;
    for (size_t size = PIECE; result == 0; size += PIECE) {
        size = size < whole ? size : whole;
        if (size < got.need) {
            continue;
        }
        result = sw_resp_parse((const uint8_t *)text, size, &large, &got);
        parses++;
        looked_at += size;
    }
    cr_assert(result == (int64_t)whole);
    cr_assert(got.count == 2 * PAIRS + 1);
    cr_assert(parses < 20 && looked_at < 12 * whole, "%u parses of %zu bytes for %zu", parses,
              looked_at, whole);
    free(text);
}
