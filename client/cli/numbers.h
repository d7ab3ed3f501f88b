/* SPDX-License-Identifier: MIT
 *
 * numbers.h - numbers from words, and arrays of the server's width. One thread.
 */
#ifndef SHERWOOD_CLIENT_CLI_NUMBERS_H
#define SHERWOOD_CLIENT_CLI_NUMBERS_H

#include <string.h>

#include "client/cli/cli.h"

static inline uint64_t sw_cli_width_max(uint32_t bytes)
{
    return bytes == sizeof(uint32_t) ? UINT32_MAX : UINT64_MAX;
}
static inline uint64_t sw_cli_number_at(const void *array, uint32_t bytes, size_t i)
{
    uint64_t value = 0;
    memcpy(&value, (const uint8_t *)array + i * bytes, bytes);
    return value;
}
static inline void sw_cli_number_put(void *array, uint32_t bytes, size_t i, uint64_t value)
{
    memcpy((uint8_t *)array + i * bytes, &value, bytes);
}

/* Reads a word as a number up to `max`. If it is not one, prints an error that names `what`, and
 * returns false. */
bool sw_cli_number(struct sw_cli *cli, const char *what, const char *word, uint64_t max,
                   uint64_t *out);
/* Does the same. The error ends with `remedy`. */
bool sw_cli_number_or(struct sw_cli *cli, const char *what, const char *word, uint64_t max,
                      const char *remedy, uint64_t *out);

/* Reads a word as a key. If the server's keys are auto, reads it as the server does for RESP
 * clients; otherwise as a number of the server's width. If the word is no key, prints an error and
 * returns false. */
bool sw_cli_key(struct sw_cli *cli, const char *word, uint64_t *out);

/* The arrays of a command on several keys. */
struct sw_cli_arrays {
    size_t count;
    void *keys;
    void *values;
    uint64_t *found;
};
/* Allocates zeroed arrays for `count` keys, values and found bits; sw_cli_arrays_fini frees them.
 * Without memory it prints an error and returns false. */
bool sw_cli_arrays_init(struct sw_cli *cli, struct sw_cli_arrays *arrays, size_t count);
void sw_cli_arrays_fini(struct sw_cli_arrays *arrays);

#endif
