/* SPDX-License-Identifier: MIT
 *
 * plural.h - the number of a noun or verb behind a count, for texts that people read: "1 key",
 * "2 keys". Pure functions, for any thread.
 */
#ifndef SHERWOOD_PROTO_PLURAL_H
#define SHERWOOD_PROTO_PLURAL_H

#include <stdint.h>

static inline const char *sw_plural(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

/* Returns the ending of a noun: "" or "s". */
static inline const char *sw_plural_s(uint64_t count)
{
    return sw_plural(count, "", "s");
}

#endif
