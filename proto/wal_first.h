/* SPDX-License-Identifier: MIT
 *
 * wal_first.h - the file `first-segment` of a data directory: the first segment of the newest run.
 *
 * Every segment names an older one. So if all segments of the newest run are missing, no segment
 * shows it. This file does: a start requires the segment that it names, or a newer one.
 *
 * It is one line of text: "sherwood-first-segment 1", then three numbers in hexadecimal: the
 * segment, the wall clock, and the id of the log. Pure functions, for any thread.
 */
#ifndef SHERWOOD_PROTO_WAL_FIRST_H
#define SHERWOOD_PROTO_WAL_FIRST_H

#include <stdbool.h>
#include <stdint.h>

#define SW_WAL_FIRST_NAME "first-segment"
#define SW_WAL_FIRST_BYTES 128 /* room for the text and its NUL */

struct sw_wal_first {
    uint64_t number; /* first segment of the newest run; 0: not known */
    /* When the file was written, in microseconds since 1970, or when the latest older segment was
     * begun, whichever is later. A lower segment that was begun later is of a release that does not
     * know the file, and the file has no meaning. */
    uint64_t wall_us;
    uint8_t log_id[16];
};

/* Writes the text. Returns its length. */
int sw_wal_first_encode(const struct sw_wal_first *first, char text[SW_WAL_FIRST_BYTES]);
/* Returns false if the text is not exactly such a line of this version. */
bool sw_wal_first_decode(const char *text, struct sw_wal_first *first);

#endif
