/* SPDX-License-Identifier: MIT
 *
 * password.h - SHA-256 of passwords, as in redis' ACL files.
 *
 * ACL GENPASS makes passwords of 256 random bits, which no dictionary has. A slow hash would
 * protect weak passwords little, because every connection must compute it at its first request.
 * Pure functions. Threads: any.
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

/* Returns true if the list has the hash. Its duration depends only on the length of the list. */
bool sw_hash_is_among(const struct sw_hash *hash, const struct sw_hash *list, size_t count);

void sw_hash_format(const struct sw_hash *hash, char out[SW_HASH_HEX_BYTES]);
/* Parses 64 hexadecimal digits in lower case. */
bool sw_hash_parse(const char *text, size_t size, struct sw_hash *out);

/* Writes `bits` random bits as hexadecimal digits, and a NUL: at most SW_GENPASS_BITS_MAX / 4 + 1
 * bytes. Returns false if the kernel gives no random bytes. */
bool sw_password_generate(unsigned bits, char *out);

/* Overwrites a secret with zeros. The compiler does not remove the stores. */
void sw_forget(void *secret, size_t size);

#endif
