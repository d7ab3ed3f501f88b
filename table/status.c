/* SPDX-License-Identifier: MIT
 *
 * status.c - the texts of the status codes.
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
