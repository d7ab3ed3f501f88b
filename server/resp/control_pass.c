/* SPDX-License-Identifier: MIT
 *
 * control_pass.c - reads the entries of a batch of SCAN, KEYS and counts of a cluster, in portions.
 * In one iteration a pass reads entries until the time of the phase is over (net/iteration.h).
 * Passes take turns.
 */
#include "server/limits.h"
#include "server/net/conn.h"
#include "server/resp/control.h"
#include "server/resp/control_parts.h"
#include "server/resp/resp.h"

void sw_control_visit(struct sw_control *control, uint32_t entries,
                      bool (*visit)(struct sw_control *control, uint32_t i),
                      void (*then)(struct sw_control *control))
{
    control->pass = (struct sw_control_pass){.entries = entries, .visit = visit, .then = then};
    sw_list_push(&control->resp->passes, &control->waits);
}

/* Returns the cost of one entry. Patterns are compared with key strings byte by byte. */
static uint32_t cost_of(const struct sw_control *control)
{
    const uint32_t text = control->resp->keys.text_bytes;
    return SW_COST_ENTRY + text / SW_COST_TEXT * (1 + control->pattern_bytes);
}

/* Reads entries until all are read or the time is over. Returns true if all are read. */
static bool visit_some(struct sw_control *control)
{
    struct sw_iteration *iteration = &control->resp->net->iteration;
    struct sw_control_pass *pass = &control->pass;
    const uint32_t cost = cost_of(control);
    bool is_spent = false;
    sw_iteration_start(iteration);
    while (pass->next < pass->entries && !is_spent) {
        if (!pass->visit(control, pass->next++)) {
            pass->next = pass->entries;
        }
        is_spent = sw_iteration_add(iteration, cost);
    }
    return pass->next == pass->entries;
}

bool sw_control_poll_passes(struct sw_resp *resp)
{
    struct sw_iteration *iteration = &resp->net->iteration;
    if (sw_list_is_empty(&resp->passes)) {
        return false;
    }
    sw_iteration_begin_phase(iteration);
    while (!sw_list_is_empty(&resp->passes) && !iteration->is_spent) {
        struct sw_list *first = sw_list_pop(&resp->passes);
        struct sw_control *control = SW_CONTAINER(first, struct sw_control, waits);
        if (sw_control_is_gone(control)) {
            sw_control_finish(control);
        } else if (visit_some(control)) {
            control->pass.then(control); /* the next batch, or the reply */
            (void)sw_iteration_add(iteration, SW_ITERATION_CLOCK_COST);
        } else {
            sw_list_push(&resp->passes, &control->waits);
        }
    }
    return true;
}
