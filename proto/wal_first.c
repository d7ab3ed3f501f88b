/* SPDX-License-Identifier: MIT
 *
 * wal_first.c - the line of the file `first-segment`.
 */
#include "proto/wal_first.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BEGINNING "sherwood-first-segment 1 "

int sw_wal_first_encode(const struct sw_wal_first *first, char text[SW_WAL_FIRST_BYTES])
{
    int size = snprintf(text, SW_WAL_FIRST_BYTES, BEGINNING "%016" PRIx64 " %016" PRIx64 " ",
                        first->number, first->wall_us);
    for (size_t i = 0; i < sizeof(first->log_id); i++) {
        size += snprintf(text + size, SW_WAL_FIRST_BYTES - (size_t)size, "%02x", first->log_id[i]);
    }
    return size + snprintf(text + size, SW_WAL_FIRST_BYTES - (size_t)size, "\n");
}

static uint64_t hexadecimal(const char *text, size_t digits)
{
    char copy[17] = "";
    memcpy(copy, text, digits);
    return strtoull(copy, NULL, 16);
}

/* Reads what it takes for the fields, and compares the text that they make. */
bool sw_wal_first_decode(const char *text, struct sw_wal_first *first)
{
    char expected[SW_WAL_FIRST_BYTES];
    *first = (struct sw_wal_first){.number = 0};
    const int size = sw_wal_first_encode(first, expected);
    if (strlen(text) != (size_t)size) {
        return false;
    }
    text += strlen(BEGINNING);
    first->number = hexadecimal(text, 16);
    first->wall_us = hexadecimal(text + 17, 16);
    for (size_t i = 0; i < sizeof(first->log_id); i++) {
        first->log_id[i] = (uint8_t)hexadecimal(text + 34 + 2 * i, 2);
    }
    sw_wal_first_encode(first, expected);
    return strcmp(text - strlen(BEGINNING), expected) == 0 && first->number != 0;
}
