/* SPDX-License-Identifier: MIT
 *
 * times.c - checks and converts the expiry times of a program.
 */
#include "client/times.h"

#include <assert.h>

#include "client/error.h"

#define SAME_TIMES(name) \
    static_assert((int)SHERWOOD_##name == (int)SW_FRAME_TIMES_##name, "sherwood-times.h: " #name)
SAME_TIMES(UNSAID);
SAME_TIMES(AT);
SAME_TIMES(IN);
SAME_TIMES(KEEP);

int sw_client_times_check(struct sherwood *client, const struct sherwood_times *times)
{
    if (times == NULL) {
        return SHERWOOD_OK;
    }
    if (times->size < sizeof(*times) || times->size > SW_CLIENT_STRUCT_BYTES_MAX) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "the times have no size: begin with SHERWOOD_TIMES_INIT");
    }
    if (!sw_client_is_zero(times, sizeof(*times), times->size)) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "the times are more than this version of libsherwood has");
    }
    const bool gives = times->when == SHERWOOD_AT || times->when == SHERWOOD_IN;
    if (gives ? (times->time_ms != 0) == (times->times_ms != NULL)
              : times->time_ms != 0 || times->times_ms != NULL) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "AT and IN have a time for all keys (time_ms, not 0), or one for "
                              "each (times_ms); UNSAID and KEEP have none");
    }
    if (times->when != SHERWOOD_UNSAID && !client->server.takes_times) {
        return sw_client_fail(client, SHERWOOD_E_REQUEST,
                              "this server takes no times of keys: its keys never expire, or it "
                              "is an older version");
    }
    return SHERWOOD_OK;
}

void sw_client_add_times(struct sw_client_details *details, const struct sherwood_times *times)
{
    if (times != NULL) {
        details->times = (uint32_t)times->when;
        details->time_ms = times->time_ms;
        details->times_ms = times->times_ms;
    }
}
