/* SPDX-License-Identifier: MIT
 *
 * sweeping.c - what keeps a loop from sweeping.
 */
#include "server/sweeping.h"

#include "server/log/saver.h"
#include "server/loop.h"
#include "server/repl/repl.h"

enum sw_sweeping sw_loop_sweeping(void *context)
{
    struct sw_loop *loop = context;
    const struct sw_repl_state *repl = loop->owner.repl == NULL ? NULL : &loop->owner.repl->state;
    const bool loads = loop->owner.saver != NULL && sw_saver_is_loading(loop->owner.saver);
    if (loop->stopping || loads || (repl != NULL && sw_repl_is_down(repl))) {
        return SW_SWEEPING_NOTHING;
    }
    if (repl != NULL && sw_repl_is_replica(repl)) {
        return SW_SWEEPING_CLOCK;
    }
    if ((repl != NULL && sw_repl_lease_is_over(repl)) || loop->net.pause.mode != SW_PAUSE_NONE ||
        sw_batches_door(&loop->batches) != SW_DOOR_OPEN) {
        return SW_SWEEPING_NOTHING;
    }
    return SW_SWEEPING_KEYS;
}
