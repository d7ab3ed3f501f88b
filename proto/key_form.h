/* SPDX-License-Identifier: MIT
 *
 * key_form.h - how clients by RESP write a key (--resp-keys), and the keys of texts. Pure
 * functions. Threads: any.
 */
#ifndef SHERWOOD_PROTO_KEY_FORM_H
#define SHERWOOD_PROTO_KEY_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The form of keys. Bulk frames have the number itself in each form. The values are on the wire
 * (RespKeys in sherwood.proto), in libsherwood and in files: they do not change. */
enum sw_resp_keys {
    SW_RESP_KEYS_DECIMAL = 0, /* digits; leading zeros are allowed */
    SW_RESP_KEYS_RAW = 1,     /* the bytes of the number, the lowest first */
    SW_RESP_KEYS_HASH = 2,    /* any text: the number is sw_key_of_hash */
    SW_RESP_KEYS_AUTO = 3     /* any text: the number is sw_key_of_auto */
};

/* Returns the key of a text in the form HASH: its XXH3-64, seed 0. `text` may be NULL if `size` is
 * 0. */
uint64_t sw_key_of_hash(const void *text, size_t size);

/* Returns the key of a text in the form AUTO. A canonical decimal from 0 to 2^64 - 1 (digits
 * without a leading zero) is that number. Every other text is sw_key_of_hash. */
uint64_t sw_key_of_auto(const void *text, size_t size);

/* The encoding of the form in files and for replicas: the form + 1; 0: unknown, as from earlier
 * versions. */
static inline uint32_t sw_key_form_told(uint32_t form)
{
    return form + 1;
}

/* Returns true if a server of the form `now` may serve keys that RESP clients wrote in the form
 * `told`: every text that named a key then must name the same key now. That is so for equal forms,
 * and for DECIMAL and AUTO, in which a decimal is the same integer. An unknown form (0) fits every
 * form. */
bool sw_key_form_fits(uint32_t told, uint32_t now);

/* Returns the name of an encoded form, as --resp-keys has it; static storage. */
const char *sw_key_form_name(uint32_t told);

#endif
