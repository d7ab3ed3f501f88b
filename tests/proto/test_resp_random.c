/* SPDX-License-Identifier: MIT
 *
 * test_resp_random.c - random commands of the Redis protocol, written and parsed again.
 */
#include <inttypes.h>
#include <stdio.h>

#include "tests/proto/resp_fixture.h"
#include "tests/support/random.h"

TestSuite(resp_random, .init = setup, .fini = teardown);

static size_t random_size(struct random *state)
{
    uint64_t pick = random_next(state);
    return pick % 10 == 0 ? (pick >> 8) % 300 : (pick >> 8) % 21;
}

Test(resp_random, random_arrays_round_trip)
{
    static uint8_t pool[1 << 16];
    static char text[1 << 17];
    struct sw_resp_argument want[64];
    struct random state = random_of(0);
    for (unsigned round = 0; round < 20000; round++) {
        uint32_t count = (uint32_t)(1 + random_next(&state) % 40);
        uint8_t *next = pool;
        char *end = sw_resp_put_array(text, count);
        for (uint32_t i = 0; i < count; i++) {
            want[i] = (struct sw_resp_argument){next, (uint32_t)random_size(&state)};
            for (uint32_t j = 0; j < want[i].size; j++) {
                *next++ = (uint8_t)random_next(&state);
            }
            end = sw_resp_put_bulk_header(end, want[i].size);
            end = sw_resp_put_bytes(end, want[i].text, want[i].size);
            end = sw_resp_put_bytes(end, "\r\n", 2);
        }
        size_t whole = (size_t)(end - text);
        size_t part = random_next(&state) % whole;
        cr_assert(parse(text, part) == 0, "round %u, %zu of %zu bytes", round, part, whole);
        cr_assert(command.need > part && command.need <= whole, "round %u", round);
        cr_assert(parse(text, whole) == (int64_t)whole, "round %u", round);
        cr_assert(command.count == count, "round %u", round);
        for (uint32_t i = 0; i < count; i++) {
            cr_assert(command.arguments[i].size == want[i].size, "round %u word %u", round, i);
            cr_assert(memcmp(command.arguments[i].text, want[i].text, want[i].size) == 0,
                      "round %u word %u", round, i);
        }
    }
}

/* Writes a word as a person might: bare, or quoted either way. Returns the end. */
static char *write_word(char *out, const uint8_t *word, uint32_t size, struct random *state)
{
    bool bare = size > 0;
    bool single = true;
    for (uint32_t i = 0; i < size; i++) {
        bare = bare && word[i] > ' ' && word[i] != '"' && word[i] != '\'';
        single = single && word[i] != '\n' && word[i] != '\\';
    }
    uint64_t pick = random_next(state);
    if (bare && pick % 3 != 0) {
        return sw_resp_put_bytes(out, word, size);
    }
    if (single && pick % 2 == 0) {
        *out++ = '\'';
        for (uint32_t i = 0; i < size; i++) {
            if (word[i] == '\'') {
                *out++ = '\\';
            }
            *out++ = (char)word[i];
        }
        *out++ = '\'';
        return out;
    }
    *out++ = '"';
    for (uint32_t i = 0; i < size; i++) {
        if (word[i] == '\n' || random_next(state) % 4 == 0) {
            out += sprintf(out, random_next(state) % 2 ? "\\x%02x" : "\\x%02X", word[i]);
        } else {
            if (word[i] == '"' || word[i] == '\\') {
                *out++ = '\\';
            }
            *out++ = (char)word[i];
        }
    }
    *out++ = '"';
    return out;
}

Test(resp_random, random_inline_commands_round_trip)
{
    static uint8_t pool[8192];
    static char text[65536];
    struct sw_resp_argument want[16];
    struct random state = random_of(1);
    for (unsigned round = 0; round < 50000; round++) {
        uint32_t count = (uint32_t)(random_next(&state) % 6);
        bool binary = random_next(&state) % 2 == 0;
        uint8_t *next = pool;
        char *end = text;
        for (uint32_t i = 0; i < count; i++) {
            want[i] = (struct sw_resp_argument){next, (uint32_t)random_size(&state)};
            for (uint32_t j = 0; j < want[i].size; j++) {
                *next++ = (uint8_t)(binary ? random_next(&state) : 33 + random_next(&state) % 94);
            }
            end = sw_resp_put_bytes(end, i > 0 ? "\t  " : "",
                                    i > 0 ? 1 + random_next(&state) % 3 : 0);
            char *word = end;
            end = write_word(end, want[i].text, want[i].size, &state);
            if (i == 0 && *word == '*') {
                end = text; /* would be an array: leave the command empty */
                count = 0;
            }
        }
        end = sw_resp_put_bytes(end, "\r\n", 2);
        size_t whole = (size_t)(end - text);
        size_t part = random_next(&state) % whole;
        cr_assert(parse(text, part) == 0, "round %u, %zu of %zu bytes", round, part, whole);
        cr_assert(parse(text, whole) == (int64_t)whole, "round %u: %.*s", round, (int)whole, text);
        cr_assert(command.count == count, "round %u: %.*s", round, (int)whole, text);
        for (uint32_t i = 0; i < count; i++) {
            cr_assert(command.arguments[i].size == want[i].size &&
                          memcmp(command.arguments[i].text, want[i].text, want[i].size) == 0,
                      "round %u word %u: %.*s", round, i, (int)whole, text);
        }
    }
}
