/* SPDX-License-Identifier: MIT
 *
 * admin_ha.c - HA: requests of the other members of a shard, and of the operator.
 */
#include <stdio.h>
#include <string.h>

#include "proto/decimal.h"
#include "server/ha/ha.h"
#include "server/resp/admin_call.h"

#define NAME_BYTES 64

static void take_name(const struct sw_resp_argument *argument, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%.*s", (int)(argument->size < NAME_BYTES ? argument->size : 0),
             (const char *)argument->text);
}

static void ha_poll(struct sw_call *call)
{
    char shard[NAME_BYTES], line[SW_HA_LINE_BYTES];
    const struct sw_resp_argument *digits = &call->arguments[3];
    uint64_t term;
    take_name(&call->arguments[2], shard);
    if (!sw_decimal_parse(digits->text, digits->size, UINT64_MAX, &term)) {
        sw_call_error(call, "ERR value is not an integer or out of range");
        return;
    }
    sw_ha_answer_poll(call->admin->ha, shard, term, line);
    sw_text_append(call->reply, line, strlen(line));
}

static void ha_look(struct sw_call *call)
{
    sw_ha_reread(call->admin->ha);
    sw_call_ok(call);
}

static void answer(struct sw_call *call, const char *wrong)
{
    if (wrong == NULL) {
        sw_call_ok(call);
    } else {
        sw_call_error(call, "%s", wrong);
    }
}

static void ha_switch(struct sw_call *call)
{
    answer(call, sw_ha_switch(call->admin->ha));
}

static void ha_forget(struct sw_call *call)
{
    char name[NAME_BYTES];
    take_name(&call->arguments[2], name);
    answer(call, sw_ha_forget(call->admin->ha, name));
}

/* HA ADOPT [write] */
static void ha_adopt(struct sw_call *call)
{
    char text[SW_HA_TEXT_BYTES];
    uint64_t write = 0;
    if (call->count > 3) {
        sw_call_error(call, "ERR syntax error");
        return;
    }
    if (call->count == 3) {
        const struct sw_resp_argument *digits = &call->arguments[2];
        answer(call, sw_decimal_parse(digits->text, digits->size, UINT64_MAX, &write)
                         ? sw_ha_adopt(call->admin->ha, write)
                         : "ERR value is not an integer or out of range");
        return;
    }
    const char *wrong = sw_ha_show_adoption(call->admin->ha, text);
    if (wrong != NULL) {
        sw_call_error(call, "%s", wrong);
    } else {
        sw_text_bulk(call->reply, (const uint8_t *)text, strlen(text));
    }
}

static void ha_status(struct sw_call *call)
{
    struct sw_ha_status facts;
    struct sw_text text;
    sw_text_init(&text, 4096);
    sw_ha_status(call->admin->ha, &facts);
    sw_info_shard(&facts, &text);
    sw_text_bulk(call->reply, (const uint8_t *)text.data, text.size);
    sw_text_fini(&text);
}

void sw_call_ha(struct sw_call *call)
{
    static const struct sw_subcommand list[] = {
        {"ADOPT", -2, ha_adopt, "[<write>]",
         "Report what is lost if this member becomes primary without an election. With its last "
         "write: make it primary."},
        {"FORGET", 3, ha_forget, "<host:port>",
         "At the primary: remove a member that will not come back."},
        {"LOOK", 2, ha_look, "", "Read etcd now. Members send this command."},
        {"POLL", 4, ha_poll, "<shard> <term>",
         "Accept no more writes of this term, and return the last write. Members send this "
         "command."},
        {"STATUS", 2, ha_status, "", "Return what this member knows of its shard."},
        {"SWITCH", 2, ha_switch, "",
         "At the primary: hand over to a member in sync that has every write."},
        {NULL, 0, NULL, NULL, NULL}};
    if (call->admin->ha == NULL) {
        sw_call_error(call, "ERR this server is not a member of a shard: start it with --ha");
        return;
    }
    sw_call_subcommand(call, list);
}
