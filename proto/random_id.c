/* SPDX-License-Identifier: MIT
 *
 * random_id.c - 40 random hex digits.
 */
#include "proto/random_id.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "proto/hex.h"

void sw_random_id(char out[SW_RANDOM_ID_BYTES])
{
    uint8_t bytes[SW_RANDOM_ID_BYTES / 2];
    while (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes)) {
        /* a signal can interrupt getrandom before the kernel's generator is ready */
    }
    sw_hex_encode(bytes, sizeof(bytes), out);
}

uint32_t sw_random_id_number(const char *id)
{
    char digits[2 * sizeof(uint32_t) + 1] = "";
    memcpy(digits, id, sizeof(digits) - 1);
    return (uint32_t)strtoul(digits, NULL, 16);
}
