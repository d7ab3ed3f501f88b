/* SPDX-License-Identifier: MIT
 *
 * value_bytes.c - values that are bytes (see value_bytes.h).
 */
#include "bench/load/value_bytes.h"

#include "bench/load/random.h"

#include <string.h>

/* The length before a string. */
#define LENGTH_BYTES 4

static size_t head_bytes(const struct sw_load_workload *workload)
{
    return workload->format == SW_LOAD_VALUES_STRING ? LENGTH_BYTES : 0;
}

/* Bytes number `at` to at + 7. */
static uint64_t word(uint64_t seed, size_t at)
{
    return sw_load_mix64(seed + at * SW_LOAD_RANDOM_STEP);
}

void sw_load_bytes_put(const struct sw_load_workload *workload, uint64_t seed, void *element)
{
    const size_t head = head_bytes(workload), length = workload->content_bytes;
    const uint32_t told = (uint32_t)length;
    char *out = element;
    memset(out, 0, workload->value_bytes);
    memcpy(out, &told, head);
    for (size_t at = 0; at < length; at += sizeof(uint64_t)) {
        const uint64_t bytes = word(seed, at);
        memcpy(out + head + at, &bytes, length - at < sizeof(bytes) ? length - at : sizeof(bytes));
    }
}

bool sw_load_bytes_are(const struct sw_load_workload *workload, uint64_t seed, const void *element)
{
    const size_t head = head_bytes(workload), length = workload->content_bytes;
    const uint32_t told = (uint32_t)length;
    const char *in = element;
    bool are = memcmp(in, &told, head) == 0;
    for (size_t at = 0; at < length && are; at += sizeof(uint64_t)) {
        const uint64_t bytes = word(seed, at);
        are = memcmp(in + head + at, &bytes,
                     length - at < sizeof(bytes) ? length - at : sizeof(bytes)) == 0;
    }
    for (size_t at = head + length; at < workload->value_bytes && are; at++) {
        are = in[at] == 0;
    }
    return are;
}

uint64_t sw_load_bytes_shown(const struct sw_load_workload *workload, const void *element)
{
    const size_t head = head_bytes(workload), room = workload->value_bytes - head;
    uint64_t shown = 0;
    memcpy(&shown, (const char *)element + head, room < sizeof(shown) ? room : sizeof(shown));
    return shown;
}
