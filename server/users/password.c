/* SPDX-License-Identifier: MIT
 *
 * password.c - hashes and compares passwords, with OpenSSL's libcrypto.
 */
#include "server/users/password.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

bool sw_hash_password(const void *password, size_t size, struct sw_hash *out)
{
    return EVP_Digest(password, size, out->bytes, NULL, EVP_sha256(), NULL) == 1;
}

bool sw_hash_is_among(const struct sw_hash *hash, const struct sw_hash *list, size_t count)
{
    unsigned found = 0;
    for (size_t i = 0; i < count; i++) { /* compares every hash, even after a match */
        found |= CRYPTO_memcmp(hash->bytes, list[i].bytes, SW_HASH_BYTES) == 0;
    }
    return found != 0;
}

static void put_hex(const uint8_t *bytes, size_t digits, char *out)
{
    static const char names[] = "0123456789abcdef";
    for (size_t i = 0; i < digits; i++) {
        out[i] = names[i % 2 == 0 ? bytes[i / 2] >> 4 : bytes[i / 2] & 15];
    }
    out[digits] = '\0';
}

void sw_hash_format(const struct sw_hash *hash, char out[SW_HASH_HEX_BYTES])
{
    put_hex(hash->bytes, (size_t)SW_HASH_BYTES * 2, out);
}

bool sw_hash_parse(const char *text, size_t size, struct sw_hash *out)
{
    if (size != (size_t)SW_HASH_BYTES * 2) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        bool is_digit = c >= '0' && c <= '9';
        if (!is_digit && (c < 'a' || c > 'f')) {
            return false;
        }
        unsigned digit = is_digit ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10;
        out->bytes[i / 2] = (uint8_t)(i % 2 == 0 ? digit << 4 : out->bytes[i / 2] | digit);
    }
    return true;
}

bool sw_password_generate(unsigned bits, char *out)
{
    uint8_t bytes[SW_GENPASS_BITS_MAX / 8];
    size_t digits = (bits + 3) / 4, size = (digits + 1) / 2;
    size_t got = 0;
    while (bits <= SW_GENPASS_BITS_MAX && got < size) {
        ssize_t n = getrandom(bytes + got, size - got, 0);
        if (n <= 0) {
            return false;
        }
        got += (size_t)n;
    }
    if (got < size) {
        return false;
    }
    put_hex(bytes, digits, out);
    sw_forget(bytes, sizeof(bytes));
    return true;
}

void sw_forget(void *secret, size_t size)
{
    OPENSSL_cleanse(secret, size);
}
