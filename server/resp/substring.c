/* SPDX-License-Identifier: MIT
 *
 * substring.c - the part of a value that GETRANGE returns, with the offsets of redis.
 */
#include "server/resp/substring.h"

#include <assert.h>

#include "server/config/config.h"
#include "server/resp/admin_call.h"

enum { FARTHEST = 1 << 14 };
static_assert(SW_VALUE_BYTES_MAX < FARTHEST, "no value has this many bytes");

static int16_t near(int64_t number)
{
    return (int16_t)(number < -FARTHEST ? -FARTHEST : number > FARTHEST ? FARTHEST : number);
}

bool sw_substring_read(const struct sw_resp_argument *first, const struct sw_resp_argument *last,
                       struct sw_substring *out)
{
    int64_t from = 0, to = 0;
    if (!sw_argument_integer(first, &from) || !sw_argument_integer(last, &to)) {
        return false;
    }
    const bool is_backwards = from < 0 && to < 0 && from > to;
    *out = is_backwards ? (struct sw_substring){1, 0} : (struct sw_substring){near(from), near(to)};
    return true;
}

uint32_t sw_substring_in(struct sw_substring range, uint32_t size, uint32_t *bytes)
{
    int64_t first = range.first < 0 ? (int64_t)size + range.first : range.first;
    int64_t last = range.last < 0 ? (int64_t)size + range.last : range.last;
    first = first < 0 ? 0 : first;
    last = last < 0 ? 0 : last;
    last = last >= (int64_t)size ? (int64_t)size - 1 : last;
    *bytes = size == 0 || first > last ? 0 : (uint32_t)(last - first + 1);
    return *bytes == 0 ? 0 : (uint32_t)first;
}
