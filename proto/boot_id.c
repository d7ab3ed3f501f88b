/* SPDX-License-Identifier: MIT
 *
 * boot_id.c - the identity of the running kernel.
 */
#include "proto/boot_id.h"

#include <stdio.h>
#include <string.h>

#include "proto/hex.h"

void sw_boot_id(uint8_t id[SW_BOOT_ID_BYTES])
{
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    unsigned digit = 0;
    memset(id, 0, SW_BOOT_ID_BYTES);
    while (file != NULL && digit < 2 * SW_BOOT_ID_BYTES) {
        int c = fgetc(file);
        if (c == '-') {
            continue;
        }
        const int value = sw_hex_digit((char)c); /* -1 at the end of the file */
        if (value < 0) {
            memset(id, 0, SW_BOOT_ID_BYTES);
            break;
        }
        id[digit / 2] = (uint8_t)(id[digit / 2] << 4 | value);
        digit++;
    }
    if (file != NULL) {
        fclose(file);
    }
}
