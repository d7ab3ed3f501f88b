/* SPDX-License-Identifier: MIT
 *
 * first_segment.c - one line of text.
 */
#include "server/log/first_segment.h"

#include <errno.h>

#include "server/log/small_file.h"
#include "server/observe/log.h"

#define NEW_NAME "new-" SW_WAL_FIRST_NAME

int sw_first_segment_read(const struct sw_directory *directory, struct sw_wal_first *first)
{
    char text[SW_WAL_FIRST_BYTES];
    *first = (struct sw_wal_first){.number = 0};
    if (sw_small_file_read(directory, SW_WAL_FIRST_NAME, text, sizeof(text)) < 0) {
        return errno == ENOENT ? 0 : -1;
    }
    if (!sw_wal_first_decode(text, first)) {
        *first = (struct sw_wal_first){.number = 0};
        sw_log(SW_LOG_WARNING,
               "%s/" SW_WAL_FIRST_NAME " is damaged or of a later version: this start does not "
               "notice if all segments of the last run are missing",
               directory->path);
    }
    return 0;
}

int sw_first_segment_write(const struct sw_directory *directory, const struct sw_wal_first *first)
{
    char text[SW_WAL_FIRST_BYTES];
    const int size = sw_wal_first_encode(first, text);
    return sw_small_file_write(directory, SW_WAL_FIRST_NAME, NEW_NAME, text, (size_t)size);
}

int sw_first_segment_remove(const struct sw_directory *directory)
{
    return sw_small_file_remove(directory, SW_WAL_FIRST_NAME);
}
