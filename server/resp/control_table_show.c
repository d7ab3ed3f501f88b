/* SPDX-License-Identifier: MIT
 *
 * control_table_show.c - TABLE LIST and TABLE INFO.
 */
#include "server/config/table_options.h"
#include "server/log/saver.h"
#include "server/net/conn_login.h"
#include "server/resp/control.h"
#include "server/resp/control_table.h"
#include "server/resp/resp.h"
#include "table/info.h"

static void put_text(const struct sw_control *control, struct sw_text *text)
{
    sw_text_append(text, control->keys.data, control->keys.size);
    text->failed |= control->keys.failed;
}

bool sw_control_reply_text(struct sw_control *control)
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

/* The number of tables that the user of the connection may use. */
static uint64_t count_shown(const struct sw_conn *conn)
{
    const struct sw_places *places = &conn->net->tables.view->catalog;
    uint64_t count = 0;
    for (uint32_t i = 0; i < places->count; i++) {
        count += sw_conn_may_use(conn, places->places[i].number);
    }
    return count;
}

bool sw_control_table_list(struct sw_control *control)
{
    const struct sw_tables_view *view = sw_control_tables(control)->view;
    const bool resp3 = sw_resp_of(control->conn)->session.resp3;
    sw_text_init(&control->keys, SW_RESP_BATCH_TEXT_BYTES_MAX);
    sw_text_array(&control->keys, count_shown(control->conn));
    for (uint32_t i = 0; i < view->catalog.count; i++) {
        struct sw_table_stats stats;
        if (!sw_conn_may_use(control->conn, view->catalog.places[i].number)) {
            continue;
        }
        sw_table_stats(view->served[i]->table, &stats);
        sw_text_map(&control->keys, 3, resp3);
        sw_text_bulk_string(&control->keys, "name");
        sw_text_bulk_string(&control->keys, view->catalog.places[i].name);
        put_number(&control->keys, "number", view->catalog.places[i].number);
        put_number(&control->keys, "keys", stats.occupied);
    }
    return sw_control_reply_text(control);
}

/* Facts of put_saved. */
#define SAVED_FACTS 3

static void put_saved(struct sw_text *text, struct sw_saver *saver, const struct sw_served *served)
{
    struct sw_table_saved saved;
    sw_saver_table(saver, served->id, served->table, &saved);
    put_number(text, "changes-since-save", saved.changes);
    put_number(text, "saving", saved.saving);
    put_number(text, "last-save", saved.saved_at);
}

/* Does TABLE INFO show the option? */
static bool is_shown(const struct sw_option *option, const struct sw_config *config)
{
    return sw_option_is_of_a_table(option) && (option->engines >> config->engine & 1) != 0;
}

bool sw_control_table_info(struct sw_control *control, const struct sw_resp_argument *name)
{
    const struct sw_tables_view *view = sw_control_tables(control)->view;
    const struct sw_place *place = sw_tables_find(view, name->text, name->size);
    struct sw_text *text = &control->keys;
    struct sw_table_stats stats;
    struct sw_table_info info;
    uint64_t options = 0;
    if (place == NULL) {
        return sw_control_refuse(control, SW_NO_SUCH_TABLE);
    }
    const struct sw_served *served = sw_tables_at(view, place->number);
    sw_table_stats(served->table, &stats);
    sw_table_info(served->table, &info);
    for (size_t i = 0; i < SW_OPTION_COUNT; i++) {
        options += is_shown(sw_option_at(i), served->config);
    }
    sw_text_init(text, SW_RESP_BATCH_TEXT_BYTES_MAX);
    struct sw_saver *saver = control->resp->owner.saver;
    sw_text_map(text, 8 + (saver == NULL ? 0 : SAVED_FACTS) + options,
                sw_resp_of(control->conn)->session.resp3);
    sw_text_bulk_string(text, "name");
    sw_text_bulk_string(text, place->name);
    put_number(text, "number", place->number);
    put_number(text, "id", served->id);
    put_number(text, "keys", stats.occupied);
    put_number(text, "expires", stats.expires);
    put_number(text, "slots", info.capacity_slots);
    put_number(text, "slots-max", info.max_capacity_slots);
    put_number(text, "bytes", info.bytes_reserved);
    if (saver != NULL) {
        put_saved(text, saver, served);
    }
    for (size_t i = 0; i < SW_OPTION_COUNT; i++) {
        const struct sw_option *option = sw_option_at(i);
        char value[SW_OPTION_VALUE_BYTES];
        if (is_shown(option, served->config)) {
            sw_option_format(option, served->config, true, value, sizeof(value));
            sw_text_bulk_string(text, option->name);
            sw_text_bulk_string(text, value);
        }
    }
    return sw_control_reply_text(control);
}
