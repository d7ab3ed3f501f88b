/* SPDX-License-Identifier: MIT
 *
 * key_text.h - how RESP writes keys (--resp-keys): as decimal numbers, as the bytes of the number,
 * or as any text, whose hash is the key. Pure functions, for any thread.
 */
#ifndef SHERWOOD_SERVER_RESP_KEY_TEXT_H
#define SHERWOOD_SERVER_RESP_KEY_TEXT_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "proto/check.h"
#include "proto/decimal.h"
#include "proto/resp.h"
#include "server/config/config.h"

struct sw_key_text {
    enum sw_resp_keys form;
    uint32_t key_bytes; /* 4 or 8; 8 where keys are hashes */
};

/* Room for the text of any key. */
#define SW_KEY_TEXT_BYTES_MAX 24

/* Reads a key. Returns false if the argument is none: its error is sw_key_text_error. */
static inline bool sw_key_text_read(const struct sw_key_text *keys,
                                    const struct sw_resp_argument *argument, uint64_t *out)
{
    if (keys->form == SW_RESP_KEYS_DECIMAL) {
        return sw_decimal_parse(argument->text, argument->size,
                                keys->key_bytes == 8 ? UINT64_MAX : UINT32_MAX, out);
    }
    if (keys->form == SW_RESP_KEYS_HASH) {
        *out = sw_check64(argument->text, argument->size, 0);
        return true;
    }
    if (argument->size != keys->key_bytes) {
        return false;
    }
    uint64_t bytes = 0;
    memcpy(&bytes, argument->text, argument->size);
    *out = le64toh(bytes);
    return true;
}

/* The error line for an argument that is no key: static storage. */
const char *sw_key_text_error(const struct sw_key_text *keys);

/* Writes the text of a key, without a NUL, and returns its size. Of a hash nobody knows the text:
 * it is "hash:" and 16 hexadecimal digits, for people, and no command takes it for that key. */
size_t sw_key_text_write(const struct sw_key_text *keys, uint64_t key, char *out);

/* Writes what a client has sent as a key for people, with a NUL: bytes that cannot be printed, and
 * backslashes, as \xHH. It is cut to fit `room`. */
void sw_key_text_show(const struct sw_resp_argument *key, char *out, size_t room);

#endif
