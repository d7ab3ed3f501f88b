/* SPDX-License-Identifier: MIT
 *
 * boot_id.c - the identity of the running kernel.
 */
#include "proto/boot_id.h"

#include <stdio.h>
#include <string.h>

void sw_boot_id(uint8_t id[SW_BOOT_ID_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    unsigned digit = 0;
    memset(id, 0, SW_BOOT_ID_BYTES);
    while (file != NULL && digit < 2 * SW_BOOT_ID_BYTES) {
        int c = fgetc(file);
        const char *place = c > 0 ? strchr(digits, c) : NULL;
        if (c == '-') {
            continue;
        }
        if (place == NULL) {
            memset(id, 0, SW_BOOT_ID_BYTES);
            break;
        }
        unsigned value = (unsigned)(place - digits);
        id[digit / 2] = (uint8_t)(id[digit / 2] << 4 | value);
        digit++;
    }
    if (file != NULL) {
        fclose(file);
    }
}
