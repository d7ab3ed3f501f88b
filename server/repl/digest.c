/* SPDX-License-Identifier: MIT
 *
 * digest.c - the checksum of a table's entries.
 */
#include "server/repl/digest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/check.h"
#include "server/log/snapshot_take.h"
#include "table/configuration.h"
#include "table/expiring.h"
#include "table/image.h"
#include "table/info.h"
#include "table/status.h"

/* Approximate size of the arrays that entries are read into. */
#define BYTES_AT_ONCE (4U << 20)

/* splitmix64 (Sebastiano Vigna): its last step. */
static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

static uint64_t integer_at(const void *array, uint32_t bytes, uint32_t i)
{
    return bytes == 4 ? ((const uint32_t *)array)[i] : ((const uint64_t *)array)[i];
}

/* Returns an integer value, or the checksum of any other value. */
static uint64_t value_at(const void *values, uint32_t bytes, uint32_t i)
{
    return bytes == 4 || bytes == 8
               ? integer_at(values, bytes, i)
               : sw_check64((const uint8_t *)values + (size_t)i * bytes, bytes, 0);
}

void sw_digest_add(struct sw_digest *digest, const void *keys, uint32_t key_bytes,
                   const void *values, uint32_t value_bytes, const uint64_t *times, uint32_t count)
{
    uint64_t a = 0, b = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t key = integer_at(keys, key_bytes, i);
        uint64_t value = value_at(values, value_bytes, i);
        if (times != NULL && times[i] != 0) {
            value = mix(value ^ mix(times[i]));
        }
        a += mix(mix(key + 0x9e3779b97f4a7c15ULL) + value);
        b += mix(mix(key ^ 0xd1b54a32d192ed03ULL) ^ (value + 0x8cb92ba72f3d8dd7ULL));
    }
    digest->sum[0] += a;
    digest->sum[1] += b;
    digest->entries += count;
}

void sw_digest_text(const struct sw_digest *digest, char text[SW_DIGEST_TEXT_BYTES])
{
    snprintf(text, SW_DIGEST_TEXT_BYTES, "%016" PRIx64 "%016" PRIx64, digest->sum[0],
             digest->sum[1]);
}

static uint32_t entry_bytes(const struct sw_table_info *info)
{
    return info->key_bytes + info->value_bytes + (uint32_t)sizeof(uint64_t);
}

/* Adds all entries of the image. Returns SW_E_BUSY if a thread with priority has claimed the image.
 */
static int add_all(const struct sw_table *table, struct sw_image *image,
                   const struct sw_table_info *info, uint8_t *memory, struct sw_digest *digest)
{
    const uint32_t most = BYTES_AT_ONCE / entry_bytes(info) / 64 * 64;
    uint8_t *values = memory + (size_t)most * info->key_bytes;
    uint64_t *scores = (uint64_t *)(void *)(values + (size_t)most * info->value_bytes);
    const bool expires = sw_image_expires(image);
    uint32_t got = most;
    while (got == most) {
        int status =
            sw_image_read(image, most, memory, values,
                          expires || info->engine == SW_ENGINE_CACHE ? scores : NULL, &got);
        if (status != SW_OK) {
            return status;
        }
        if (sw_image_is_claimed(table)) {
            return SW_E_BUSY;
        }
        sw_digest_add(digest, memory, info->key_bytes, values, info->value_bytes,
                      expires ? scores : NULL, got);
    }
    return SW_OK;
}

static int add_image(struct sw_table *table, uint8_t *memory, struct sw_digest *digest)
{
    struct sw_table_info info;
    struct sw_image *image = NULL;
    sw_table_info(table, &info);
    *digest = (struct sw_digest){0};
    int status = sw_snapshot_image(table, false, false, NULL, NULL, &image);
    if (status == SW_OK) {
        digest->sequence = sw_image_sequence(image);
        status = add_all(table, image, &info, memory, digest);
        sw_image_drop(image);
    }
    return status;
}

int sw_digest_of(struct sw_table *table, struct sw_digest *digest, char *reason,
                 size_t reason_bytes)
{
    uint8_t *memory = malloc(BYTES_AT_ONCE);
    int status = memory == NULL ? SW_E_NOMEM : SW_E_BUSY;
    while (status == SW_E_BUSY) { /* takes a new image after the thread that had priority */
        status = add_image(table, memory, digest);
    }
    free(memory);
    if (status != SW_OK) {
        snprintf(reason, reason_bytes, "the table cannot be read at one instant: %s",
                 status == SW_E_NOMEM ? "not enough memory for DIGEST" : sw_status_text(status));
        return -1;
    }
    return 0;
}
