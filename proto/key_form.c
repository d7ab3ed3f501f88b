/* SPDX-License-Identifier: MIT
 *
 * key_form.c - the keys of texts.
 */
#include "proto/key_form.h"

#include "proto/check.h"
#include "proto/decimal.h"

uint64_t sw_key_of_hash(const void *text, size_t size)
{
    return sw_check64(text, size, 0);
}

uint64_t sw_key_of_auto(const void *text, size_t size)
{
    const uint8_t *digits = text;
    uint64_t number = 0;
    if (size > 0 && size <= SW_DECIMAL_DIGITS_MAX && (digits[0] != '0' || size == 1) &&
        sw_decimal_parse(digits, size, UINT64_MAX, &number)) {
        return number;
    }
    return sw_key_of_hash(text, size);
}

bool sw_key_form_fits(uint32_t told, uint32_t now)
{
    return told == 0 || told == sw_key_form_told(now) ||
           (told == sw_key_form_told(SW_RESP_KEYS_DECIMAL) && now == SW_RESP_KEYS_AUTO);
}

const char *sw_key_form_name(uint32_t told)
{
    static const char *const names[] = {[SW_RESP_KEYS_DECIMAL] = "decimal",
                                        [SW_RESP_KEYS_RAW] = "raw",
                                        [SW_RESP_KEYS_HASH] = "hash",
                                        [SW_RESP_KEYS_AUTO] = "auto"};
    return told == 0                                  ? "unknown"
           : told <= sizeof(names) / sizeof(names[0]) ? names[told - 1]
                                                      : "of a later version";
}
