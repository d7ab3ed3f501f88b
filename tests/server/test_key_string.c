/* SPDX-License-Identifier: MIT
 *
 * test_key_string.c - the strings of keys in each form, and patterns of SCAN.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "client/sherwood.h"
#include "server/resp/glob.h"
#include "server/resp/key_string.h"

static bool reads(const struct sw_key_string *keys, const char *text, size_t size, uint64_t *key)
{
    const struct sw_resp_argument argument = {(const uint8_t *)text, (uint32_t)size};
    return sw_key_string_read(keys, &argument, key);
}

/* Checks that the text by sw_key_string_write reads back as the key, unless keys are hashes. */
static void check_round_trip(const struct sw_key_string *keys, uint64_t key)
{
    char text[SW_KEY_STRING_BYTES_MAX];
    uint64_t again = ~key;
    size_t size = sw_key_string_write(keys, key, text);
    cr_assert(size <= sizeof(text) && reads(keys, text, size, &again) && again == key);
}

Test(key_string, each_form)
{
    static const struct sw_key_string forms[] = {{SW_RESP_KEYS_DECIMAL, 8, 0, false},
                                                 {SW_RESP_KEYS_DECIMAL, 4, 0, false},
                                                 {SW_RESP_KEYS_RAW, 8, 0, false},
                                                 {SW_RESP_KEYS_RAW, 4, 0, false},
                                                 {SW_RESP_KEYS_AUTO, 8, 0, false}};
    static const uint64_t keys[] = {0, 1, 10, 255, 256, 0x0a0d0020, UINT32_MAX};
    for (size_t form = 0; form < 5; form++) {
        for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
            check_round_trip(&forms[form], keys[i]);
        }
    }
    check_round_trip(&forms[0], UINT64_MAX);
    check_round_trip(&forms[2], UINT64_MAX);
    check_round_trip(&forms[4], UINT64_MAX);
    check_round_trip(&forms[4], 0x2d06800538d394c2U); /* the hash of no bytes */
}

Test(key_string, raw_bytes)
{
    const struct sw_key_string eight = {SW_RESP_KEYS_RAW, 8, 0, false},
                               four = {SW_RESP_KEYS_RAW, 4, 0, false};
    static const char bytes[9] = "\x01\x02\x03\x04\x00\x00\x00\x80z";
    uint64_t key = 7;
    cr_assert(reads(&eight, bytes, 8, &key));
    cr_expect_eq(key, 0x8000000004030201U);
    cr_assert(reads(&four, bytes, 4, &key));
    cr_expect_eq(key, 0x04030201U);
    for (size_t size = 0; size <= 9; size++) {
        cr_expect_eq(reads(&eight, bytes, size, &key), size == 8, "%zu bytes", size);
        cr_expect_eq(reads(&four, bytes, size, &key), size == 4, "%zu bytes", size);
    }
    cr_expect_str_eq(sw_key_string_error(&eight),
                     "ERR key must have exactly 8 bytes (--resp-keys raw)");
    cr_expect_str_eq(sw_key_string_error(&four),
                     "ERR key must have exactly 4 bytes (--resp-keys raw)");
}

Test(key_string, hashes)
{
    const struct sw_key_string keys = {SW_RESP_KEYS_HASH, 8, 0, false};
    char text[SW_KEY_STRING_BYTES_MAX];
    uint64_t key = 0;
    /* XXH3-64 of no bytes and of "abc", as the definition of XXH3 has them. */
    cr_assert(reads(&keys, "", 0, &key));
    cr_expect_eq(key, 0x2d06800538d394c2U);
    cr_assert(reads(&keys, "abc", 3, &key));
    cr_expect_eq(key, 0x78af5f94892f3950U);
    cr_expect_eq(sherwood_hash_key("abc", 3), key);
    size_t size = sw_key_string_write(&keys, key, text);
    cr_expect(size == 21 && memcmp(text, "hash:78af5f94892f3950", size) == 0);
}

Test(key_string, auto_form)
{
    const struct sw_key_string keys = {SW_RESP_KEYS_AUTO, 8, 0, false};
    static const struct {
        const char *text;
        uint64_t key;
    } numbers[] = {{"0", 0},
                   {"9", 9},
                   {"42", 42},
                   {"4294967296", 1ULL << 32},
                   {"9999999999999999999", 9999999999999999999U},
                   {"18446744073709551615", UINT64_MAX}};
    /* Each is nearly the decimal of a number: its key is its hash, and no other text has it. */
    static const char *const texts[] = {"",
                                        "00",
                                        "042",
                                        "+42",
                                        "-1",
                                        "4 2",
                                        " 42",
                                        "42 ",
                                        "42\n",
                                        "0x2a",
                                        "4.2",
                                        "1e3",
                                        "user",
                                        "page:home",
                                        "18446744073709551616",
                                        "18446744073709551620",
                                        "99999999999999999999",
                                        "000000000042",
                                        "100000000000000000000"};
    uint64_t key = 0;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        cr_expect(reads(&keys, numbers[i].text, strlen(numbers[i].text), &key));
        cr_expect_eq(key, numbers[i].key, "%s", numbers[i].text);
        cr_expect_eq(sherwood_text_key(numbers[i].text, strlen(numbers[i].text)), key);
    }
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        cr_expect(reads(&keys, texts[i], strlen(texts[i]), &key));
        cr_expect_eq(key, sherwood_hash_key(texts[i], strlen(texts[i])), "'%s'", texts[i]);
        cr_expect_eq(sherwood_text_key(texts[i], strlen(texts[i])), key);
    }
    cr_expect(reads(&keys, "4\0002", 3, &key));
    cr_expect_eq(key, sherwood_hash_key("4\0002", 3), "a NUL ends no key");
    cr_expect_eq(sherwood_text_key(NULL, 0), sherwood_hash_key("", 0));
}

/* An error of decimal keys says what would take the key. */
Test(key_string, errors_of_decimal_name_the_cure)
{
    static const struct {
        struct sw_key_string keys;
        const char *cure;
    } rows[] = {{{SW_RESP_KEYS_DECIMAL, 8, 0, false}, "--resp-keys auto"},
                {{SW_RESP_KEYS_DECIMAL, 4, 0, false}, "--key-bits 64"},
                {{SW_RESP_KEYS_DECIMAL, 8, 0, true}, "a cluster has no string keys: use integers"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *error = sw_key_string_error(&rows[i].keys);
        cr_expect_not_null(strstr(error, rows[i].cure), "%s", error);
        cr_expect(strlen(error) < 128, "%s", error);
    }
}

Test(glob, patterns)
{
    static const struct {
        const char *pattern, *text;
        bool matches;
    } cases[] = {
        {"", "", true},           {"", "a", false},          {"*", "", true},
        {"**", "abc", true},      {"a*c", "abbbc", true},    {"a*c", "abbb", false},
        {"a*b*c", "axbxc", true}, {"a*b*c", "axcxb", false}, {"?", "", false},
        {"?", "x", true},         {"a?c", "abc", true},      {"[abc]", "b", true},
        {"[^abc]", "b", false},   {"[^abc]", "d", true},     {"[a-c]x", "bx", true},
        {"[c-a]x", "bx", true},   {"[a-c]", "d", false},     {"[a\\-c]", "-", true},
        {"[a\\-c]", "b", false},  {"[\\]]", "]", true},      {"\\*", "*", true},
        {"\\*", "x", false},      {"\\", "\\", true},        {"a\\", "a\\", true},
        {"[abc", "b", true},      {"[", "[", false},         {"[]", "a", false},
        {"[^]", "a", true},       {"*a", "bba", true},       {"*ab", "aab", true},
        {"*aab", "aaab", true},   {"[!a]", "!", true},       {"[!a]", "b", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cr_expect_eq(sw_glob_matches((const uint8_t *)cases[i].pattern, strlen(cases[i].pattern),
                                     (const uint8_t *)cases[i].text, strlen(cases[i].text)),
                     cases[i].matches, "%s %s", cases[i].pattern, cases[i].text);
    }
}

Test(glob, patterns_that_no_number_matches)
{
    static const char *const some[] = {"*",   "**",   "?",    "4?",      "[0-9]*", "[^a]",
                                       "\\4", "[a5]", "[^0]", "*[x-0]*", "1*2",    "[9"};
    static const char *const none[] = {"",    "user:*", "*:*", "[a-c]", "4x",  "[^0-9]",
                                       "\\*", "-1",     "a",   "1[]2",  "* *", "\\"};
    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
        cr_expect(sw_glob_may_match_digits((const uint8_t *)some[i], strlen(some[i])), "%s",
                  some[i]);
    }
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
        cr_expect_not(sw_glob_may_match_digits((const uint8_t *)none[i], strlen(none[i])), "%s",
                      none[i]);
    }
}

Test(glob, any_bytes)
{
    static const uint8_t text[4] = {0, 0xff, '\n', '*'}, exact[5] = {0, 0xff, '\n', '\\', '*'};
    cr_expect(sw_glob_matches(exact, 5, text, 4));
    cr_expect(sw_glob_matches((const uint8_t *)"\0*", 2, text, 4));
    cr_expect_not(sw_glob_matches((const uint8_t *)"\0", 1, text, 4));
    cr_expect(sw_glob_matches((const uint8_t *)"[\0-\1]*", 6, text, 4));
    cr_expect(sw_glob_matches((const uint8_t *)"?[\xfe-\xff]??", 8, text, 4));
}
