/* SPDX-License-Identifier: MIT
 *
 * admin_server.c - SHUTDOWN.
 */
#include "server/log/saver.h"
#include "server/log/snapshot_write.h"
#include "server/resp/admin_call.h"

/* Refuses a stop that would probably lose writes, as redis does if it cannot save. */
static bool loses_writes(struct sw_call *call)
{
    char reason[SW_SNAPSHOT_REASON_BYTES];
    if (call->admin->saver == NULL ||
        !sw_saver_would_lose(call->admin->saver, reason, sizeof(reason))) {
        return false;
    }
    sw_call_error(
        call,
        "ERR the server continues, because the last snapshot failed and a stop would lose "
        "writes: %s; remove the cause and SAVE, or use SHUTDOWN NOSAVE",
        reason);
    return true;
}

/* As in redis, SHUTDOWN has no reply if it succeeds: the connection ends when the server has ended.
 */
void sw_call_shutdown(struct sw_call *call)
{
    bool save = false, nosave = false, abort = false, force = false;
    for (uint32_t i = 1; i < call->count; i++) {
        const struct sw_resp_argument *word = &call->arguments[i];
        if (sw_argument_is(word, "SAVE")) {
            save = true;
        } else if (sw_argument_is(word, "NOSAVE")) {
            nosave = true;
        } else if (sw_argument_is(word, "ABORT")) {
            abort = true;
        } else if (sw_argument_is(word, "FORCE")) {
            force = true;
        } else if (!sw_argument_is(word, "NOW")) {
            sw_call_syntax_error(call);
            return;
        }
    }
    if ((save && nosave) || (abort && call->count > 2)) {
        sw_call_syntax_error(call);
    } else if (abort) {
        sw_text_error(call->reply, "ERR No shutdown in progress.");
    } else if (save && call->admin->saver == NULL) {
        sw_text_error(call->reply,
                      "ERR there is no persistence, nothing can be saved: use SHUTDOWN NOSAVE");
    } else if (nosave || force || !loses_writes(call)) {
        call->session->shutdown_asked = true;
        call->session->shutdown_unsaved = nosave;
        call->session->close_after_reply = true;
    }
}
