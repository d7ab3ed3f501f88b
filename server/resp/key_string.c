/* SPDX-License-Identifier: MIT
 *
 * key_string.c - the strings of keys.
 */
#include "server/resp/key_string.h"

#include <inttypes.h>
#include <stdio.h>

const char *sw_key_string_error(const struct sw_key_string *keys)
{
    if (keys->form == SW_RESP_KEYS_RAW) {
        return keys->key_bytes == 8 ? "ERR key must have exactly 8 bytes (--resp-keys raw)"
                                    : "ERR key must have exactly 4 bytes (--resp-keys raw)";
    }
    if (keys->form == SW_RESP_KEYS_HASH) {
        return "ERR key is longer than --resp-key-text-bytes: use a shorter key";
    }
    if (keys->in_cluster) {
        return "ERR key is not an unsigned integer or out of range; a cluster has no string keys: "
               "use integers";
    }
    return keys->key_bytes == 8 ? "ERR key is not an unsigned integer or out of range; for string "
                                  "keys start the server with --resp-keys auto"
                                : "ERR key is not an unsigned integer or out of range; for string "
                                  "keys start the server with --key-bits 64";
}

size_t sw_key_string_write(const struct sw_key_string *keys, uint64_t key, char *out)
{
    uint64_t bytes = htole64(key);
    char text[SW_KEY_STRING_BYTES_MAX];
    int size = 0;
    switch (keys->form) {
    case SW_RESP_KEYS_RAW:
        memcpy(out, &bytes, keys->key_bytes);
        return keys->key_bytes;
    case SW_RESP_KEYS_HASH:
        size = snprintf(text, sizeof(text), "hash:%016" PRIx64, key);
        memcpy(out, text, (size_t)size);
        return (size_t)size;
    case SW_RESP_KEYS_DECIMAL:
    case SW_RESP_KEYS_AUTO:
        break;
    }
    return sw_decimal_format(key, out);
}

const char *sw_key_string_at(const struct sw_key_string *keys, const struct sw_table_shape *shape,
                             uint64_t key, const void *rows, uint32_t i,
                             char room[SW_KEY_STRING_BYTES_MAX], size_t *size)
{
    const uint8_t *at =
        (const uint8_t *)rows + ((size_t)i + 1) * shape->value_bytes - shape->key_text_bytes;
    uint16_t length = 0;
    if (shape->key_text_bytes > 0) {
        memcpy(&length, at, sizeof(length));
        length = le16toh(length);
    }
    if (length == 0 || length > shape->key_text_bytes - 1) {
        *size = sw_key_string_write(keys, key, room);
        return room;
    }
    *size = length - 1U;
    return (const char *)at + sizeof(length);
}

void sw_key_string_show(const struct sw_resp_argument *key, char *out, size_t room)
{
    size_t at = 0;
    for (uint32_t i = 0; i < key->size; i++) {
        const uint8_t byte = key->text[i];
        const bool plain = byte >= ' ' && byte <= '~' && byte != '\\';
        if (at + (plain ? 1 : 4) >= room) {
            break;
        }
        at += (size_t)snprintf(out + at, room - at, plain ? "%c" : "\\x%02x", byte);
    }
    out[at] = '\0';
}
