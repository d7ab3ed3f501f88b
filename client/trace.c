/* SPDX-License-Identifier: MIT
 *
 * trace.c - the trace context of a handle's requests.
 */
#include "client/sherwood-trace.h"

#include "client/error.h"
#include "client/handle.h"

int sherwood_traceparent(struct sherwood *client, const char *traceparent)
{
    struct sw_trace trace;
    client = sw_client_enter(client);
    if (client == NULL) {
        return SHERWOOD_E_INVALID;
    }
    if (traceparent == NULL) {
        client->trace.is_set = false;
        return SHERWOOD_OK;
    }
    if (!sw_trace_parse(traceparent, &trace)) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "'%.64s' is not a traceparent: give version, trace-id, parent-id and "
                              "trace-flags in lower-case hex digits, with '-' between them",
                              traceparent);
    }
    client->trace = (struct sw_client_trace){true, trace};
    return SHERWOOD_OK;
}
