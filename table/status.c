/* SPDX-License-Identifier: MIT
 *
 * status.c - the texts of the status codes, and the names of execution strategies.
 */
#include "table/table.h"

const char *sw_status_text(int status)
{
    switch (status) {
#define SW_STATUS_CASE(name, value, text) \
    case name:                            \
        return text;
        SW_STATUS_MAP(SW_STATUS_CASE)
#undef SW_STATUS_CASE
    default:
        return "unknown status";
    }
}

const char *sw_write_path_name(enum sw_write_path path)
{
    switch (path) {
#define SW_WRITE_PATH_CASE(name, text) \
    case name:                         \
        return text;
        SW_WRITE_PATH_MAP(SW_WRITE_PATH_CASE)
#undef SW_WRITE_PATH_CASE
    default:
        return "unknown";
    }
}
