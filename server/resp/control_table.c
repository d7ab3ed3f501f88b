/* SPDX-License-Identifier: MIT
 *
 * control_table.c - TABLE and SWAPDB: the places of the server and the tables in them.
 *
 * A change runs on a thread of libuv, because the memory of a table may take long and because the
 * change waits for all loops. Meanwhile the command uses no table, so that its connection may drop
 * the table that it has selected.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "proto/decimal.h"
#include "server/batch/refusals.h"
#include "server/config/table_options.h"
#include "server/net/conn.h"
#include "server/resp/admin_call.h"
#include "server/resp/admit.h"
#include "server/resp/control.h"
#include "server/resp/control_parts.h"
#include "server/resp/place.h"
#include "server/resp/place_change.h"
#include "server/resp/resp.h"
#include "server/tables/tables.h"
#include "table/info.h"

/* Bytes of the name and of the value of an option, with the NUL. */
#define WORD_BYTES 160

static const struct sw_subcommand subcommands[] = {
    {"CREATE", -3, NULL, "name [NUMBER n] [LIKE other] [IF NOT EXISTS] [option value ...]",
     "Create an empty table, with options of the section [table]."},
    {"DROP", -3, NULL, "name [IF EXISTS]", "Remove a table with its keys."},
    {"INFO", 3, NULL, "name", "Return the properties and the options of a table."},
    {"LIST", 2, NULL, "", "Return the name, the number and the keys of each table."},
    {"RENAME", 4, NULL, "name new-name", "Give a table another name."},
    {"SWAP", 4, NULL, "name other",
     "Exchange the contents of two tables, for all clients at once."},
    {"TRUNCATE", 3, NULL, "name", "Remove every key of a table."},
    {NULL, 0, NULL, NULL, NULL}};

static const struct sw_tables_handle *handle_of(const struct sw_control *control)
{
    return &control->conn->net->tables;
}

static bool refuse_in_words(struct sw_control *control, const char *prefix, const char *sentence)
{
    char line[SW_CONFIG_ERROR_BYTES + 8];
    snprintf(line, sizeof(line), "%s%s", prefix, sentence);
    return sw_control_refuse(control, line);
}

static bool refuse_syntax(struct sw_control *control)
{
    return sw_control_refuse(control, "ERR syntax error");
}

/* --- changes ---------------------------------------------------------------------------------- */

static void put_ok(const struct sw_control *control, struct sw_text *text)
{
    (void)control;
    sw_text_simple(text, "OK");
}

/* On a thread of libuv. */
static void change(uv_work_t *work)
{
    struct sw_control *control = work->data;
    if (sw_tables_change(handle_of(control)->tables, control->change, control->error,
                         sizeof(control->error)) != 0 &&
        control->error[0] == '\0') {
        snprintf(control->error, sizeof(control->error), "ERR the table could not be changed");
    }
    sw_tables_end_turn(handle_of(control)->tables);
}

static void on_changed(uv_work_t *work, int status)
{
    ((struct sw_control *)work->data)->is_computed = status == 0;
}

/* Begins the change, unless another one has the turn. */
static void take_turn(struct sw_control *control)
{
    if (!control->has_turn && sw_tables_take_turn(handle_of(control)->tables)) {
        control->has_turn = true;
        uv_queue_work(control->resp->net->uv, &control->work, change, on_changed);
    }
}

/* The thread uses the command until then, even if the connection has closed. */
static bool is_changed(struct sw_control *control)
{
    take_turn(control);
    if (control->is_computed) {
        free(control->change);
        control->change = NULL;
    }
    return control->is_computed;
}

/* Carries out control->change, which is a part of the command from now on. */
static bool start_change(struct sw_control *control)
{
    control->put = put_ok;
    control->work.data = control;
    sw_place_leave(sw_resp_of(control->conn)); /* the change may drop the table */
    sw_control_wait_until(control, is_changed);
    take_turn(control);
    return true;
}

/* Makes a change of the places `name` and `other` (NULL: of one). Returns false if it is refused.
 */
static bool make_change(struct sw_control *control, enum sw_change_kind kind,
                        const struct sw_resp_argument *name, const struct sw_resp_argument *other)
{
    struct sw_change *made = calloc(1, sizeof(*made));
    if (made == NULL) {
        sw_control_refuse(control, "ERR out of memory");
        return false;
    }
    made->kind = kind;
    const struct sw_resp_argument *words[2] = {name, other};
    char *const out[2] = {made->name, made->other};
    for (int i = 0; i < 2 && words[i] != NULL; i++) {
        if (words[i]->size >= SW_PLACE_NAME_BYTES ||
            memchr(words[i]->text, '\0', words[i]->size) != NULL) {
            free(made);
            sw_control_refuse(control, kind == SW_CHANGE_CREATE || i == 1
                                           ? "ERR a table's name has at most 63 bytes, and no NUL"
                                           : "ERR no such table");
            return false;
        }
        memcpy(out[i], words[i]->text, words[i]->size);
    }
    control->change = made;
    return true;
}

/* Frees the change of a command that is refused. */
static void drop_change(struct sw_control *control)
{
    free(control->change);
    control->change = NULL;
}

/* --- CREATE ----------------------------------------------------------------------------------- */

/* What TABLE CREATE says beside the options. */
struct creation {
    const struct sw_config *base;
    bool alike;
    uint32_t options; /* arguments that are names of options */
};

/* Reads the keyword at `i`. Returns its arguments, itself included; 0: the argument is an option;
 * -1: the keyword is wrong, with an error line in *error. */
static int read_keyword(struct sw_control *control, const struct sw_resp_command *arguments,
                        uint32_t i, struct creation *creation, const char **error)
{
    const struct sw_resp_argument *words = &arguments->arguments[i];
    const uint32_t left = arguments->count - i;
    struct sw_change *made = control->change;
    uint64_t number = 0;
    if (sw_argument_is(&words[0], "NUMBER") && left > 1) {
        if (!sw_decimal_parse(words[1].text, words[1].size, SW_PLACE_NUMBERS_FREE - 1, &number) ||
            number == 0) {
            *error = "ERR NUMBER is not an integer from 1 to 65535";
            return -1;
        }
        made->has_number = true;
        made->number = (uint32_t)number;
        return 2;
    }
    if (sw_argument_is(&words[0], "IF") && left > 2 && sw_argument_is(&words[1], "NOT") &&
        sw_argument_is(&words[2], "EXISTS")) {
        made->is_lenient = true;
        return 3;
    }
    if (sw_argument_is(&words[0], "LIKE") && left > 1) {
        const struct sw_tables_view *view = handle_of(control)->view;
        const struct sw_place *place = sw_tables_find(view, words[1].text, words[1].size);
        if (place == NULL) {
            *error = "ERR no such table";
            return -1;
        }
        creation->base = sw_tables_at(view, place->number)->config;
        creation->alike = true;
        return 2;
    }
    return 0;
}

static void copy_word(const struct sw_resp_argument *word, bool lower, char out[WORD_BYTES])
{
    snprintf(out, WORD_BYTES, "%.*s", (int)word->size, (const char *)word->text);
    for (char *at = out; lower && *at != '\0'; at++) {
        *at = *at >= 'A' && *at <= 'Z' ? (char)(*at + ('a' - 'A')) : *at;
    }
}

/* Sets the options of CREATE: the engine first (`engine`), then all others. Returns false, with
 * text in `error`, if one of them is wrong. */
static bool set_options(struct sw_control *control, const struct sw_resp_command *arguments,
                        struct sw_table_options *options, bool engine, char *error, size_t bytes)
{
    struct creation unused = {0};
    const char *line = NULL;
    for (uint32_t i = 3; i < arguments->count;) {
        const int keyword = read_keyword(control, arguments, i, &unused, &line);
        char name[WORD_BYTES], value[WORD_BYTES];
        if (keyword > 0) {
            i += (uint32_t)keyword;
            continue;
        }
        if (i + 1 == arguments->count) {
            snprintf(error, bytes, "syntax error");
            return false;
        }
        copy_word(&arguments->arguments[i], true, name);
        copy_word(&arguments->arguments[i + 1], false, value);
        if ((strcmp(name, "engine") == 0) == engine &&
            sw_table_options_set(options, name, value, error, bytes) != 0) {
            return false;
        }
        i += 2;
    }
    return true;
}

static bool run_create(struct sw_control *control, const struct sw_resp_command *arguments)
{
    struct creation creation = {.base = control->conn->net->config};
    char error[SW_CONFIG_ERROR_BYTES] = "";
    const char *line = NULL;
    if (!make_change(control, SW_CHANGE_CREATE, &arguments->arguments[2], NULL)) {
        return true;
    }
    for (uint32_t i = 3; i < arguments->count;) {
        const int keyword = read_keyword(control, arguments, i, &creation, &line);
        if (keyword < 0) {
            drop_change(control);
            return sw_control_refuse(control, line);
        }
        i += keyword > 0 ? (uint32_t)keyword : 2;
    }
    struct sw_table_options *options = malloc(sizeof(*options));
    if (options == NULL) {
        drop_change(control);
        return sw_control_refuse(control, "ERR out of memory");
    }
    sw_table_options_begin(options, creation.base, creation.alike);
    const bool fits = set_options(control, arguments, options, true, error, sizeof(error)) &&
                      set_options(control, arguments, options, false, error, sizeof(error)) &&
                      sw_table_options_check(options, error, sizeof(error)) == 0;
    control->change->config = options->config;
    free(options);
    if (!fits) {
        drop_change(control);
        return refuse_in_words(control, "ERR ", error);
    }
    return start_change(control);
}

/* --- the other changes ------------------------------------------------------------------------ */

static bool run_drop(struct sw_control *control, const struct sw_resp_command *arguments)
{
    const struct sw_resp_argument *words = arguments->arguments;
    const bool is_lenient = arguments->count == 5 && sw_argument_is(&words[3], "IF") &&
                            sw_argument_is(&words[4], "EXISTS");
    if (arguments->count != 3 && !is_lenient) {
        return refuse_syntax(control);
    }
    if (!make_change(control, SW_CHANGE_DROP, &words[2], NULL)) {
        return true;
    }
    control->change->is_lenient = is_lenient;
    return start_change(control);
}

static bool run_two(struct sw_control *control, enum sw_change_kind kind,
                    const struct sw_resp_argument *words)
{
    return !make_change(control, kind, &words[0], &words[1]) || start_change(control);
}

/* --- TRUNCATE and FLUSHALL -------------------------------------------------------------------- */

static void on_cleared(struct sw_flight *flight)
{
    sw_control_finish(SW_CONTAINER(flight, struct sw_control, flight));
}

/* The obstacles of FLUSHDB also stop TRUNCATE: a replica keeps the keys of its primary. */
static bool run_truncate(struct sw_control *control, const struct sw_resp_argument *name)
{
    const struct sw_tables_handle *handle = handle_of(control);
    const struct sw_place *place = sw_tables_find(handle->view, name->text, name->size);
    if (place == NULL) {
        return sw_control_refuse(control, "ERR no such table");
    }
    if (!sw_admits(sw_resp_of(control->conn), sw_command_at(SW_COMMAND_FLUSHDB))) {
        const bool is_refused = control->conn->stall == SW_STALL_NONE;
        free(control);
        return is_refused;
    }
    const struct sw_cluster_view *cluster = control->conn->net->cluster.view;
    if (cluster != NULL && cluster->is_target) {
        return sw_control_refuse(control, "ERR " SW_NO_CLEAR);
    }
    control->resp = sw_tables_at(handle->view, place->number)->loops[handle->loop].resp;
    control->flight.batch = (struct sw_batch){.kind = SW_BATCH_CLEAR};
    control->flight.done = on_cleared;
    control->put = put_ok;
    sw_control_begin(control);
    sw_control_submit(control);
    return true;
}

bool sw_control_next_table(struct sw_control *control)
{
    const struct sw_tables_view *view = handle_of(control)->view;
    const struct sw_served *next = NULL;
    for (uint32_t i = 0; view != NULL && i < view->catalog.count; i++) {
        const struct sw_served *at = view->served[i];
        const bool is_next = at->id > control->last_table && (next == NULL || at->id < next->id);
        next = is_next ? at : next;
    }
    if (next != NULL) {
        control->last_table = next->id;
        control->resp = next->loops[handle_of(control)->loop].resp;
    }
    return next != NULL;
}

/* --- LIST and INFO ---------------------------------------------------------------------------- */

static void put_text(const struct sw_control *control, struct sw_text *text)
{
    sw_text_append(text, control->keys.data, control->keys.size);
    text->failed |= control->keys.failed;
}

static bool reply_text(struct sw_control *control)
{
    control->put = put_text;
    sw_control_begin(control);
    sw_control_finish(control);
    return true;
}

static void put_number(struct sw_text *text, const char *name, uint64_t number)
{
    sw_text_bulk_string(text, name);
    sw_text_unsigned(text, number);
}

static bool run_list(struct sw_control *control)
{
    const struct sw_tables_view *view = handle_of(control)->view;
    const bool resp3 = sw_resp_of(control->conn)->session.resp3;
    sw_text_init(&control->keys, SW_RESP_BATCH_TEXT_BYTES_MAX);
    sw_text_array(&control->keys, view->catalog.count);
    for (uint32_t i = 0; i < view->catalog.count; i++) {
        struct sw_table_stats stats;
        sw_table_stats(view->served[i]->table, &stats);
        sw_text_map(&control->keys, 3, resp3);
        sw_text_bulk_string(&control->keys, "name");
        sw_text_bulk_string(&control->keys, view->catalog.places[i].name);
        put_number(&control->keys, "number", view->catalog.places[i].number);
        put_number(&control->keys, "keys", stats.occupied);
    }
    return reply_text(control);
}

/* Does TABLE INFO show the option? */
static bool is_shown(const struct sw_option *option, const struct sw_config *config)
{
    return sw_option_is_of_a_table(option) && (option->engines >> config->engine & 1) != 0;
}

static bool run_info(struct sw_control *control, const struct sw_resp_argument *name)
{
    const struct sw_tables_view *view = handle_of(control)->view;
    const struct sw_place *place = sw_tables_find(view, name->text, name->size);
    struct sw_text *text = &control->keys;
    struct sw_table_stats stats;
    struct sw_table_info info;
    uint64_t options = 0;
    if (place == NULL) {
        return sw_control_refuse(control, "ERR no such table");
    }
    const struct sw_served *served = sw_tables_at(view, place->number);
    sw_table_stats(served->table, &stats);
    sw_table_info(served->table, &info);
    for (size_t i = 0; i < SW_OPTION_COUNT; i++) {
        options += is_shown(sw_option_at(i), served->config);
    }
    sw_text_init(text, SW_RESP_BATCH_TEXT_BYTES_MAX);
    sw_text_map(text, 8 + options, sw_resp_of(control->conn)->session.resp3);
    sw_text_bulk_string(text, "name");
    sw_text_bulk_string(text, place->name);
    put_number(text, "number", place->number);
    put_number(text, "id", served->id);
    put_number(text, "keys", stats.occupied);
    put_number(text, "expires", stats.expires);
    put_number(text, "slots", info.capacity_slots);
    put_number(text, "slots-max", info.max_capacity_slots);
    put_number(text, "bytes", info.bytes_reserved);
    for (size_t i = 0; i < SW_OPTION_COUNT; i++) {
        const struct sw_option *option = sw_option_at(i);
        char value[SW_OPTION_VALUE_BYTES];
        if (is_shown(option, served->config)) {
            sw_option_format(option, served->config, true, value, sizeof(value));
            sw_text_bulk_string(text, option->name);
            sw_text_bulk_string(text, value);
        }
    }
    return reply_text(control);
}

/* --- the commands ----------------------------------------------------------------------------- */

static const struct sw_subcommand *find_subcommand(const struct sw_resp_argument *word)
{
    const struct sw_subcommand *row = subcommands;
    while (row->name != NULL && !sw_argument_is(word, row->name)) {
        row++;
    }
    return row->name == NULL ? NULL : row;
}

bool sw_control_run_table(struct sw_control *control, const struct sw_resp_command *arguments)
{
    const struct sw_resp_argument *words = arguments->arguments;
    const struct sw_subcommand *row = find_subcommand(&words[1]);
    char line[SW_CONTROL_ERROR_BYTES];
    if (sw_argument_is(&words[1], "HELP") && arguments->count == 2) {
        sw_text_init(&control->keys, SW_RESP_BATCH_TEXT_BYTES_MAX);
        sw_subcommand_help(control->command, subcommands, &control->keys);
        return reply_text(control);
    }
    if (row == NULL) {
        sw_subcommand_unknown(control->command, &words[1], line, sizeof(line));
        return sw_control_refuse(control, line);
    }
    if (!sw_subcommand_arity_fits(row, arguments->count)) {
        sw_subcommand_wrong_count(control->command, row, line, sizeof(line));
        return sw_control_refuse(control, line);
    }
    if (handle_of(control)->view == NULL) {
        return sw_control_refuse(control, "ERR this server has one table");
    }
    switch (row - subcommands) {
    case 0:
        return run_create(control, arguments);
    case 1:
        return run_drop(control, arguments);
    case 2:
        return run_info(control, &words[2]);
    case 3:
        return run_list(control);
    case 4:
        return run_two(control, SW_CHANGE_RENAME, &words[2]);
    case 5:
        return run_two(control, SW_CHANGE_SWAP, &words[2]);
    default:
        return run_truncate(control, &words[2]);
    }
}

bool sw_control_run_swapdb(struct sw_control *control, const struct sw_resp_command *arguments)
{
    const struct sw_resp_argument *words = arguments->arguments;
    int64_t one = 0, other = 0;
    if (control->conn->net->cluster.view != NULL) {
        return sw_control_refuse(control, "ERR SWAPDB is not allowed in cluster mode");
    }
    if (!sw_argument_integer(&words[1], &one)) {
        return sw_control_refuse(control, "ERR invalid first DB index");
    }
    if (!sw_argument_integer(&words[2], &other)) {
        return sw_control_refuse(control, "ERR invalid second DB index");
    }
    if (!sw_place_exists(control->conn, one) || !sw_place_exists(control->conn, other)) {
        return sw_control_refuse(control, "ERR DB index is out of range");
    }
    if (one == other) {
        control->put = put_ok;
        sw_control_begin(control);
        sw_control_finish(control);
        return true;
    }
    return run_two(control, SW_CHANGE_SWAP, &words[1]);
}
