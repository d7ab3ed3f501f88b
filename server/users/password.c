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

#include "proto/hex.h"

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

void sw_hash_format(const struct sw_hash *hash, char out[SW_HASH_HEX_BYTES])
{
    sw_hex_encode(hash->bytes, SW_HASH_BYTES, out);
}

bool sw_hash_parse(const char *text, size_t size, struct sw_hash *out)
{
    if (size != (size_t)SW_HASH_BYTES * 2) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        if (text[i] >= 'A' && text[i] <= 'F') {
            return false;
        }
    }
    return sw_hex_decode(text, SW_HASH_BYTES, out->bytes);
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
    sw_hex_encode(bytes, size, out);
    out[digits] = '\0';
    sw_forget(bytes, sizeof(bytes));
    return true;
}

void sw_forget(void *secret, size_t size)
{
    OPENSSL_cleanse(secret, size);
}
