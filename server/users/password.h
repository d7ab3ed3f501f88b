/* SPDX-License-Identifier: MIT
 *
 * password.h - SHA-256 of passwords, as redis keeps them in ACL files. Passwords that GENPASS makes
 * have 256 random bits, which no dictionary holds; weak ones are weak with every hash that has to
 * be computed at a connection's first request. Pure functions, for any thread.
 */
#ifndef SHERWOOD_SERVER_USERS_PASSWORD_H
#define SHERWOOD_SERVER_USERS_PASSWORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_HASH_BYTES 32
#define SW_HASH_HEX_BYTES 65 /* as text, with the NUL */
/* Most random bits of a generated password, as in redis. */
#define SW_GENPASS_BITS_MAX 4096

struct sw_hash {
    uint8_t bytes[SW_HASH_BYTES];
};

/* Returns false if the library has no memory. */
bool sw_hash_password(const void *password, size_t size, struct sw_hash *out);

/* Does the list have the hash? Takes a time that depends on the length of the list alone. */
bool sw_hash_is_among(const struct sw_hash *hash, const struct sw_hash *list, size_t count);

void sw_hash_format(const struct sw_hash *hash, char out[SW_HASH_HEX_BYTES]);
/* Parses 64 hexadecimal digits in lower case. */
bool sw_hash_parse(const char *text, size_t size, struct sw_hash *out);

/* Writes as many hexadecimal digits as `bits` random bits need, and a NUL: SW_GENPASS_BITS_MAX / 4
 * + 1 bytes are always enough. Returns false if there is no randomness. */
bool sw_password_generate(unsigned bits, char *out);

/* Writes zeros, which the compiler does not take away. */
void sw_forget(void *secret, size_t size);

#endif
