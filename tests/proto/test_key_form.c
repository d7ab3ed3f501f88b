/* SPDX-License-Identifier: MIT
 *
 * test_key_form.c - pairs of key forms: whether one finds the keys of the other.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "proto/key_form.h"

static const enum sw_resp_keys forms[] = {SW_RESP_KEYS_DECIMAL, SW_RESP_KEYS_RAW, SW_RESP_KEYS_HASH,
                                          SW_RESP_KEYS_AUTO};
#define FORMS (sizeof(forms) / sizeof(forms[0]))

Test(key_form, numbers_in_files_stay)
{
    static const char *const names[] = {"unknown", "decimal", "raw", "hash", "auto"};
    for (uint32_t i = 0; i < FORMS; i++) {
        cr_assert_eq((uint32_t)forms[i], i);
        cr_assert_eq(sw_key_form_told(forms[i]), i + 1);
    }
    for (uint32_t told = 0; told <= FORMS; told++) {
        cr_assert_str_eq(sw_key_form_name(told), names[told]);
    }
    cr_assert_str_eq(sw_key_form_name(FORMS + 1), "of a later version");
    cr_assert_str_eq(sw_key_form_name(UINT32_MAX), "of a later version");
}

Test(key_form, each_pair)
{
    static const bool fits[FORMS][FORMS] = {[SW_RESP_KEYS_DECIMAL] = {true, false, false, true},
                                            [SW_RESP_KEYS_RAW] = {false, true, false, false},
                                            [SW_RESP_KEYS_HASH] = {false, false, true, false},
                                            [SW_RESP_KEYS_AUTO] = {false, false, false, true}};
    for (uint32_t now = 0; now < FORMS; now++) {
        for (uint32_t then = 0; then < FORMS; then++) {
            cr_assert_eq(sw_key_form_fits(sw_key_form_told(then), now), fits[then][now], "%u, %u",
                         then, now);
        }
        cr_assert(sw_key_form_fits(0, now), "not told");
        cr_assert_not(sw_key_form_fits(FORMS + 1, now), "of a later version");
    }
}

/* With auto, the text of a number is the number, and only in the form that a number is written in.
 */
Test(key_form, numbers_and_other_texts_of_auto)
{
    static const struct {
        const char *text;
        bool is_number;
        uint64_t number;
    } texts[] = {{"0", true, 0},
                 {"42", true, 42},
                 {"18446744073709551615", true, UINT64_MAX},
                 {"", false, 0},
                 {"00", false, 0},
                 {"042", false, 0},
                 {"-1", false, 0},
                 {"+1", false, 0},
                 {"42 ", false, 0},
                 {"18446744073709551616", false, 0},
                 {"000000000000000000042", false, 0}};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const size_t size = strlen(texts[i].text);
        const uint64_t hash = sw_key_of_hash(texts[i].text, size);
        cr_assert_eq(sw_key_of_auto(texts[i].text, size),
                     texts[i].is_number ? texts[i].number : hash, "\"%s\"", texts[i].text);
    }
}
