/* SPDX-License-Identifier: MIT
 *
 * control_pause.c - CLIENT PAUSE, whose reply waits until no request that it holds back is in
 * flight on any loop.
 */
#include "server/net/client_list.h"
#include "server/net/conn.h"
#include "server/resp/admin_call.h"
#include "server/resp/control_parts.h"
#include "server/resp/resp.h"

bool sw_control_is_pause(const struct sw_resp_command *arguments)
{
    return (arguments->count == 3 || arguments->count == 4) &&
           sw_argument_is(&arguments->arguments[1], "PAUSE");
}

static bool is_quiet(struct sw_control *control)
{
    return sw_pause_is_quiet(&control->resp->admin.clients->pause, control->save_number) ||
           sw_control_is_gone(control) || sw_net_now_ms(control->resp->net) >= control->deadline_ms;
}

bool sw_control_run_pause(struct sw_control *control, const struct sw_resp_command *arguments)
{
    const struct sw_resp_argument *words = arguments->arguments;
    const uint64_t now_ms = sw_net_now_ms(control->resp->net);
    enum sw_pause_mode mode = SW_PAUSE_ALL;
    int64_t ms = 0;
    if (arguments->count == 4 && sw_argument_is(&words[3], "WRITE")) {
        mode = SW_PAUSE_WRITES;
    } else if (arguments->count == 4 && !sw_argument_is(&words[3], "ALL")) {
        return sw_control_refuse(control, "ERR CLIENT PAUSE mode must be WRITE or ALL");
    }
    if (!sw_argument_integer(&words[2], &ms)) {
        return sw_control_refuse(control, "ERR timeout is not an integer or out of range");
    }
    if (ms < 0) {
        return sw_control_refuse(control, "ERR timeout is negative");
    }
    control->says_ok = true;
    control->deadline_ms = now_ms + (uint64_t)ms;
    control->save_number =
        sw_pause_begin(&control->resp->admin.clients->pause, (uint64_t)ms, mode, now_ms);
    sw_control_wait_until(control, is_quiet);
    return true;
}
