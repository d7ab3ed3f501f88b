/* SPDX-License-Identifier: MIT
 *
 * times.h - checks and copies struct sherwood_times, even if the program was compiled with another
 * sherwood.h. The struct belongs to the thread that uses the handle.
 */
#ifndef SHERWOOD_CLIENT_TIMES_H
#define SHERWOOD_CLIENT_TIMES_H

#include "client/handle.h"

/* SHERWOOD_OK, or a code with a sentence in the handle. NULL is allowed. */
int sw_client_times_check(struct sherwood *client, const struct sherwood_times *times);
/* Returns whether this is a SET that keeps times. A server may need two operations for each of its
 * keys. */
static inline bool sw_client_keeps(const struct sw_request *header)
{
    return header->operation == SW_OPERATION_SET && header->times == SW_FRAME_TIMES_KEEP;
}
/* Copies `times` to the details, if it is not NULL. */
void sw_client_add_times(struct sw_client_details *details, const struct sherwood_times *times);

#endif
