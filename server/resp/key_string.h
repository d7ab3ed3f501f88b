/* SPDX-License-Identifier: MIT
 *
 * key_string.h - how RESP writes keys (--resp-keys, proto/key_form.h), and the key strings in rows.
 * Pure functions, for any thread.
 */
#ifndef SHERWOOD_SERVER_RESP_KEY_STRING_H
#define SHERWOOD_SERVER_RESP_KEY_STRING_H

#include <endian.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "proto/decimal.h"
#include "proto/key_form.h"
#include "proto/resp.h"
#include "server/batch/shape.h"
#include "server/config/config.h"

struct sw_key_string {
    enum sw_resp_keys form;
    uint32_t key_bytes;  /* 4 or 8; 8 with the forms HASH and AUTO */
    uint32_t text_bytes; /* with HASH: resp-key-text-bytes, the longest key; 0: any, not stored */
    bool in_cluster;     /* the server is a node of a cluster: the form is DECIMAL or RAW */
};

/* Room for the string of any key. */
#define SW_KEY_STRING_BYTES_MAX 24

/* Reads a key. Returns false if the argument is not a key; sw_key_string_error is the error. */
static inline bool sw_key_string_read(const struct sw_key_string *keys,
                                      const struct sw_resp_argument *argument, uint64_t *out)
{
    if (keys->form == SW_RESP_KEYS_DECIMAL) {
        return sw_decimal_parse(argument->text, argument->size,
                                keys->key_bytes == 8 ? UINT64_MAX : UINT32_MAX, out);
    }
    if (keys->form == SW_RESP_KEYS_HASH) {
        *out = sw_key_of_hash(argument->text, argument->size);
        return keys->text_bytes == 0 || argument->size <= keys->text_bytes;
    }
    if (keys->form == SW_RESP_KEYS_AUTO) {
        *out = sw_key_of_auto(argument->text, argument->size);
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
const char *sw_key_string_error(const struct sw_key_string *keys);

/* Writes the string of a key, without a NUL, and returns its size. With DECIMAL, RAW and AUTO the
 * string addresses the key again. With HASH the string of a key is not known: the function writes
 * "hash:" and 16 hexadecimal digits, for people, and no command takes it for that key. */
size_t sw_key_string_write(const struct sw_key_string *keys, uint64_t key, char *out);

/* Writes the string of its key to the end of a row: its length and 1 in 2 bytes, then the string.
 * The table stores key strings (shape.key_text_bytes), and this one is not too long. */
static inline void sw_key_string_put(const struct sw_table_shape *shape, uint8_t *row,
                                     const struct sw_resp_argument *key)
{
    uint8_t *at = row + shape->value_bytes - shape->key_text_bytes;
    const uint16_t length = htole16((uint16_t)(key->size + 1));
    memcpy(at, &length, sizeof(length));
    if (key->size > 0) {
        memcpy(at + sizeof(length), key->text, key->size);
    }
    memset(at + sizeof(length) + key->size, 0, shape->key_text_bytes - sizeof(length) - key->size);
}

/* Returns the string of a key: the one at the end of row i if the row has one, otherwise the one
 * that sw_key_string_write puts in `room`. */
const char *sw_key_string_at(const struct sw_key_string *keys, const struct sw_table_shape *shape,
                             uint64_t key, const void *rows, uint32_t i,
                             char room[SW_KEY_STRING_BYTES_MAX], size_t *size);

/* Writes a key argument in printable form, with a NUL. Backslashes and bytes that cannot be printed
 * become \xHH. The string is cut to fit `room`. */
void sw_key_string_show(const struct sw_resp_argument *key, char *out, size_t room);

#endif
