/* SPDX-License-Identifier: MIT
 *
 * admin_command.c - COMMAND: the command table in the formats that clients parse.
 */
#include <string.h>

#include "server/resp/acl_catalog.h"
#include "server/resp/admin_call.h"

static bool is_insert(const struct sw_command *command)
{
    return command->effect == SW_COMMAND_EFFECT_INSERT;
}

static bool is_write(const struct sw_command *command)
{
    return command->effect == SW_COMMAND_EFFECT_INSERT ||
           command->effect == SW_COMMAND_EFFECT_WRITE ||
           command->effect == SW_COMMAND_EFFECT_DELETE;
}

static bool is_read(const struct sw_command *command)
{
    return command->effect == SW_COMMAND_EFFECT_READ;
}

static bool is_admin(const struct sw_command *command)
{
    return command->effect == SW_COMMAND_EFFECT_ADMIN;
}

static bool is_fast(const struct sw_command *command)
{
    return command->fast;
}

static bool is_no_multi(const struct sw_command *command)
{
    return command->in_multi == SW_MULTI_REFUSED;
}

/* The flags of commands that redis has. */
static const struct {
    const char *flag;
    bool (*is_set)(const struct sw_command *command);
} flags[] = {{"write", is_write}, {"readonly", is_read}, {"denyoom", is_insert},
             {"admin", is_admin}, {"fast", is_fast},     {"no_multi", is_no_multi}};
#define FLAG_COUNT (sizeof(flags) / sizeof(flags[0]))

static uint32_t categories_of(const struct sw_command *command)
{
    return sw_acl_catalog()->commands[command->id].categories;
}

static void put_set(struct sw_call *call, size_t count)
{
    sw_text_printf(call->reply, "%c%zu\r\n", call->session->resp3 ? '~' : '*', count);
}

static void put_word(struct sw_call *call, const char *prefix, const char *word)
{
    sw_text_printf(call->reply, "+%s%s\r\n", prefix, word);
}

/* Writes the key specification of redis 7: keys are a range of arguments, beginning at `first`. */
static void put_key_spec(struct sw_call *call, const struct sw_command *command)
{
    struct sw_text *reply = call->reply;
    bool resp3 = call->session->resp3;
    bool writes = is_write(command), deletes = command->effect == SW_COMMAND_EFFECT_DELETE;
    int last = command->last_key < 0 ? command->last_key : command->last_key - command->first_key;
    sw_text_map(reply, 3, resp3);
    sw_text_bulk_string(reply, "flags");
    put_set(call, 2);
    put_word(call, "", !writes ? "RO" : deletes ? "RM" : "RW");
    put_word(call, "", !writes ? "access" : deletes ? "delete" : "update");
    sw_text_bulk_string(reply, "begin_search");
    sw_text_map(reply, 2, resp3);
    sw_text_bulk_string(reply, "type");
    sw_text_bulk_string(reply, "index");
    sw_text_bulk_string(reply, "spec");
    sw_text_map(reply, 1, resp3);
    sw_text_bulk_string(reply, "index");
    sw_text_integer(reply, command->first_key);
    sw_text_bulk_string(reply, "find_keys");
    sw_text_map(reply, 2, resp3);
    sw_text_bulk_string(reply, "type");
    sw_text_bulk_string(reply, "range");
    sw_text_bulk_string(reply, "spec");
    sw_text_map(reply, 3, resp3);
    sw_text_bulk_string(reply, "lastkey");
    sw_text_integer(reply, last);
    sw_text_bulk_string(reply, "keystep");
    sw_text_integer(reply, command->key_step);
    sw_text_bulk_string(reply, "limit");
    sw_text_integer(reply, 0);
}

/* Writes the ten elements of a command in the reply to COMMAND and COMMAND INFO. */
static void put_command(struct sw_call *call, const struct sw_command *command)
{
    struct sw_text *reply = call->reply;
    uint32_t categories = categories_of(command);
    size_t flag_count = 0;
    for (size_t i = 0; i < FLAG_COUNT; i++) {
        flag_count += flags[i].is_set(command);
    }
    sw_text_array(reply, 10);
    sw_text_bulk(reply, command->name, command->name_size);
    sw_text_integer(reply, command->arity);
    put_set(call, flag_count);
    for (size_t i = 0; i < FLAG_COUNT; i++) {
        if (flags[i].is_set(command)) {
            put_word(call, "", flags[i].flag);
        }
    }
    sw_text_integer(reply, command->first_key);
    sw_text_integer(reply, command->last_key);
    sw_text_integer(reply, command->key_step);
    put_set(call, (size_t)__builtin_popcount(categories));
    for (unsigned i = 0; i < SW_CATEGORY_COUNT; i++) {
        if ((categories >> i & 1) != 0) {
            put_word(call, "@", sw_category_name(i));
        }
    }
    put_set(call, 0); /* tips */
    put_set(call, command->first_key != 0 ? 1 : 0);
    if (command->first_key != 0) {
        put_key_spec(call, command);
    }
    put_set(call, 0); /* subcommands are not listed */
}

static bool is_listed(const struct sw_call *call, unsigned id)
{
    return !call->admin->unsupported->has[id];
}

static uint64_t count_listed(const struct sw_call *call)
{
    uint64_t count = 0;
    for (unsigned i = 0; i < SW_COMMAND_COUNT; i++) {
        count += is_listed(call, i);
    }
    return count;
}

static const struct sw_command *find(const struct sw_call *call,
                                     const struct sw_resp_argument *name)
{
    const struct sw_command *command = sw_command_find(name->text, name->size);
    return command != NULL && is_listed(call, command->id) ? command : NULL;
}

static void command_all(struct sw_call *call)
{
    sw_text_array(call->reply, count_listed(call));
    for (unsigned i = 0; i < SW_COMMAND_COUNT; i++) {
        if (is_listed(call, i)) {
            put_command(call, sw_command_at((enum sw_command_id)i));
        }
    }
}

static void command_info(struct sw_call *call)
{
    if (call->count == 2) {
        command_all(call);
        return;
    }
    sw_text_array(call->reply, call->count - 2);
    for (uint32_t i = 2; i < call->count && !call->reply->failed; i++) {
        const struct sw_command *command = find(call, &call->arguments[i]);
        if (command != NULL) {
            put_command(call, command);
        } else {
            sw_text_null(call->reply, call->session->resp3);
        }
    }
}

static void command_count(struct sw_call *call)
{
    sw_text_unsigned(call->reply, count_listed(call));
}

static void put_docs(struct sw_call *call, const struct sw_command *command)
{
    sw_text_bulk(call->reply, command->name, command->name_size);
    sw_text_map(call->reply, 3, call->session->resp3);
    sw_text_bulk_string(call->reply, "summary");
    sw_text_bulk_string(call->reply, command->summary);
    sw_text_bulk_string(call->reply, "since");
    sw_text_bulk_string(call->reply, "0.1.0");
    sw_text_bulk_string(call->reply, "group");
    sw_text_bulk_string(call->reply, command->group);
}

static void command_docs(struct sw_call *call)
{
    uint64_t known = 0;
    if (call->count == 2) {
        sw_text_map(call->reply, count_listed(call), call->session->resp3);
        for (unsigned i = 0; i < SW_COMMAND_COUNT; i++) {
            if (is_listed(call, i)) {
                put_docs(call, sw_command_at((enum sw_command_id)i));
            }
        }
        return;
    }
    for (uint32_t i = 2; i < call->count; i++) {
        known += find(call, &call->arguments[i]) != NULL;
    }
    sw_text_map(call->reply, known, call->session->resp3);
    for (uint32_t i = 2; i < call->count && !call->reply->failed; i++) {
        const struct sw_command *command = find(call, &call->arguments[i]);
        if (command != NULL) {
            put_docs(call, command);
        }
    }
}

static bool in_category(const struct sw_command *command, const struct sw_resp_argument *name)
{
    int category = sw_category_find((const char *)name->text, name->size);
    return category >= 0 && (categories_of(command) >> category & 1) != 0;
}

static void command_list(struct sw_call *call)
{
    const struct sw_resp_argument *filter = call->count == 5 ? &call->arguments[3] : NULL;
    bool selected[SW_COMMAND_COUNT];
    uint64_t count = 0;
    if (call->count != 2 &&
        (filter == NULL || !sw_argument_is(&call->arguments[2], "FILTERBY") ||
         !(sw_argument_is(filter, "MODULE") || sw_argument_is(filter, "ACLCAT") ||
           sw_argument_is(filter, "PATTERN")))) {
        sw_call_syntax_error(call);
        return;
    }
    for (unsigned i = 0; i < SW_COMMAND_COUNT; i++) {
        const struct sw_command *command = sw_command_at((enum sw_command_id)i);
        if (filter == NULL) {
            selected[i] = true;
        } else if (sw_argument_is(filter, "ACLCAT")) {
            selected[i] = in_category(command, filter + 1);
        } else { /* no command belongs to a module */
            selected[i] =
                sw_argument_is(filter, "PATTERN") && sw_argument_glob(filter + 1, command->name);
        }
        selected[i] &= is_listed(call, i);
        count += selected[i];
    }
    sw_text_array(call->reply, count);
    for (unsigned i = 0; i < SW_COMMAND_COUNT; i++) {
        if (selected[i]) {
            sw_text_bulk_string(call->reply, sw_command_at((enum sw_command_id)i)->name);
        }
    }
}

static void command_getkeys(struct sw_call *call)
{
    const struct sw_resp_argument *arguments = &call->arguments[2];
    uint32_t count = call->count - 2;
    const struct sw_command *command = find(call, &arguments[0]);
    if (command == NULL) {
        sw_text_error(call->reply, "ERR Invalid command specified");
        return;
    }
    if (command->first_key == 0) {
        sw_text_error(call->reply, "ERR The command has no key arguments");
        return;
    }
    if (!sw_command_arity_fits(command, count) || (uint32_t)command->first_key >= count) {
        sw_text_error(call->reply, "ERR Invalid number of arguments specified for command");
        return;
    }
    uint32_t first = (uint32_t)command->first_key, step = (uint32_t)command->key_step;
    uint32_t last = command->last_key < 0 ? count - 1 : (uint32_t)command->last_key;
    sw_text_array(call->reply, (last - first) / step + 1);
    for (uint32_t i = first; i <= last; i += step) {
        sw_text_bulk(call->reply, arguments[i].text, arguments[i].size);
    }
}

void sw_call_command(struct sw_call *call)
{
    static const struct sw_subcommand list[] = {
        {"COUNT", 2, command_count, "", "Return the number of commands."},
        {"DOCS", -2, command_docs, "[<command-name> ...]", "Return what commands are for."},
        {"GETKEYS", -4, command_getkeys, "<full-command>", "Return the keys of a full command."},
        {"INFO", -2, command_info, "[<command-name> ...]", "Return details about commands."},
        {"LIST", -2, command_list, "[FILTERBY MODULE|ACLCAT|PATTERN <value>]",
         "Return the names of commands."},
        {NULL, 0, NULL, NULL, NULL}};
    if (call->count == 1) {
        command_all(call);
    } else {
        sw_call_subcommand(call, list);
    }
}
