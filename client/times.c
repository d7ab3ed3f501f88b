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
                              "times: the field size is %zu, the struct has %zu bytes: begin with "
                              "SHERWOOD_TIMES_INIT",
                              times->size, sizeof(*times));
    }
    if (!sw_client_is_zero(times, sizeof(*times), times->size)) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "times: a field that this version of libsherwood does not have is "
                              "set: update libsherwood, or begin with SHERWOOD_TIMES_INIT");
    }
    const bool gives = times->when == SHERWOOD_AT || times->when == SHERWOOD_IN;
    if (gives ? (times->time_ms != 0) == (times->times_ms != NULL)
              : times->time_ms != 0 || times->times_ms != NULL) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "times: AT and IN need either time_ms, not 0, for all keys, or "
                              "times_ms, one for each key; UNSAID and KEEP need neither");
    }
    if (times->when != SHERWOOD_UNSAID && !client->table->server.takes_times) {
        return sw_client_fail(client, SHERWOOD_E_REQUEST,
                              "this server accepts no expiry times: its keys never expire, or it "
                              "is an older version; send none, or use a table of --engine "
                              "robin_hood with values");
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

int sherwood_set_times(struct sherwood *client, const void *keys, const void *values, size_t count,
                       const struct sherwood_times *times)
{
    return sherwood_run_times(client, SHERWOOD_SET, keys, values, count, NULL, NULL, times);
}

int sherwood_expire(struct sherwood *client, const void *keys, size_t count,
                    const struct sherwood_times *times, uint64_t *changed)
{
    return sherwood_run_times(client, SHERWOOD_EXPIRE, keys, NULL, count, NULL, changed, times);
}

int sherwood_persist(struct sherwood *client, const void *keys, size_t count, uint64_t *changed)
{
    return sherwood_run(client, SHERWOOD_PERSIST, keys, NULL, count, NULL, changed);
}

int sherwood_ttl(struct sherwood *client, const void *keys, size_t count, uint64_t *times_ms,
                 uint64_t *found)
{
    return sherwood_run(client, SHERWOOD_TTL, keys, NULL, count, times_ms, found);
}
