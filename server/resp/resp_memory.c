/* SPDX-License-Identifier: MIT
 *
 * resp_memory.c - allocates and frees the batches of a struct sw_resp.
 */
#include "server/resp/resp_memory.h"

#include "server/limits.h"
#include "server/net/net.h"
#include "server/resp/replies.h"
#include "server/resp/resp.h"

void sw_resp_close(struct sw_resp *resp)
{
    struct sw_replies *const all[] = {&resp->replies[0], &resp->replies[1], &resp->rmw.replies};
    for (int i = 0; i < 3; i++) {
        if (all[i]->resp != NULL) {
            sw_replies_fini(all[i]);
            all[i]->resp = NULL;
        }
    }
    resp->has_batches = false;
}

/* The cache engine lacks the read-modify-write commands. */
static int init_rmw(struct sw_resp *resp)
{
    struct sw_replies *replies = &resp->rmw.replies;
    if (resp->batches->shape.engine == SW_ENGINE_CACHE) {
        return 0;
    }
    const int status = sw_replies_init(replies, resp);
    replies->batch.flights = &resp->batches->rmw_flights;
    return status;
}

int sw_resp_open(struct sw_resp *resp)
{
    if (resp->has_batches) {
        return 0;
    }
    resp->has_batches = true;
    resp->used_ms = sw_net_now_ms(resp->net);
    if (sw_replies_init(&resp->replies[0], resp) != 0 ||
        sw_replies_init(&resp->replies[1], resp) != 0 || init_rmw(resp) != 0) {
        sw_resp_close(resp);
        return -1;
    }
    return 0;
}

void sw_resp_sweep(struct sw_resp *resp)
{
    const uint64_t now_ms = sw_net_now_ms(resp->net);
    if (resp->conns > 0 || resp == resp->first || sw_resp_is_busy(resp) || resp->rmw.conn != NULL) {
        resp->used_ms = now_ms;
    } else if (resp->has_batches && now_ms - resp->used_ms >= SW_RESP_IDLE_MS) {
        sw_resp_close(resp);
    }
}
