/* SPDX-License-Identifier: MIT
 *
 * random_id.c - 40 random hex digits.
 */
#include "server/random_id.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>

void sw_random_id(char out[SW_RANDOM_ID_BYTES])
{
    uint8_t bytes[20] = {0};
    ssize_t count = getrandom(bytes, sizeof(bytes), 0);
    (void)count; /* a request of up to 256 bytes is never cut short */
    for (int i = 0; i < 20; i++) {
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    }
}
