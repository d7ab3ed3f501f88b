/* SPDX-License-Identifier: MIT
 *
 * random_id.c - 40 random hex digits.
 */
#include "proto/random_id.h"

#include <stdint.h>
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
