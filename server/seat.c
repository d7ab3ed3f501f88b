/* SPDX-License-Identifier: MIT
 *
 * seat.c - opens and closes seats, and does the work of an iteration for each of them.
 */
#include "server/seat.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/bulk/bulk.h"
#include "server/limits.h"
#include "server/resp/control.h"
#include "server/resp/output.h"
#include "server/resp/place_change.h"
#include "server/resp/resp_memory.h"
#include "server/resp/rmw.h"
#include "table/expiring.h"
#include "table/idle.h"
#include "table/info.h"

#define SEAT(at) SW_CONTAINER(at, struct sw_seat, link)
#define EACH(seats, seat)                                                      \
    for (struct sw_seat *seat = SEAT((seats)->next); &(seat)->link != (seats); \
         (seat) = SEAT((seat)->link.next))

#define ACTIVE(at) SW_CONTAINER(at, struct sw_seat, batches.active)
#define EACH_ACTIVE(active, seat)                                                            \
    for (struct sw_seat *seat = ACTIVE((active)->next); &(seat)->batches.active != (active); \
         (seat) = ACTIVE((seat)->batches.active.next))

/* --- life ------------------------------------------------------------------------------------- */

int sw_seat_init(struct sw_seat *seat, const struct sw_seat_parts *parts, struct sw_seat *first)
{
    struct sw_batches *batches = &seat->batches;
    memset(seat, 0, sizeof(*seat));
    sw_list_init(&seat->link);
    sw_list_init(&seat->swept);
    if (sw_batches_init(batches, parts->table, parts->config, parts->counters, parts->active,
                        first == NULL ? NULL : first->batches.io, parts->thread) != 0 ||
        sw_resp_init(&seat->resp, parts->net, batches, &parts->owner, parts->seed,
                     first == NULL ? NULL : &first->resp) != 0) {
        return -1;
    }
    if (first != NULL) {
        batches->waits_for_log = &first->batches.log_waits;
    }
    sw_bulk_table_init(&seat->frames, batches);
    sw_batches_set_log(batches, parts->wal, parts->wal != NULL && parts->config->read_durable != 0);
    sw_batches_set_owner(batches, parts->owner.saver, parts->owner.repl);
    if (parts->check_lease != NULL) {
        sw_batches_set_lease(batches, parts->check_lease, parts->context);
    }
    sw_batches_set_timings(batches, parts->owner.timings);
    sw_batches_set_account(batches, parts->account);
    snprintf(batches->place, sizeof(batches->place), "%s", SW_PLACE_DEFAULT);
    if (parts->gate != NULL) {
        sw_batches_set_gate(batches, parts->gate);
    }
    if (parts->may != NULL) {
        seat->sweeper = malloc(sizeof(*seat->sweeper));
        if (seat->sweeper == NULL) {
            return -1;
        }
        sw_sweeper_init(seat->sweeper, batches, parts->may, parts->context);
        seat->tidies = sw_table_tidies(batches->table);
    }
    return 0;
}

void sw_seat_fini(struct sw_seat *seat)
{
    sw_resp_fini(&seat->resp);
    sw_batches_fini(&seat->batches);
    free(seat->sweeper);
}

/* --- questions -------------------------------------------------------------------------------- */

/* Is the table of the seat in use on this loop by requests that have begun? */
static bool is_used(const struct sw_seat *seat)
{
    return sw_batches_in_flight(&seat->batches) || sw_batches_are_held(&seat->batches) ||
           sw_resp_is_busy(&seat->resp) || sw_rmw_is_busy(&seat->resp) ||
           !sw_list_is_empty(&seat->resp.waits);
}

/* Must the loop visit the seat? */
static bool has_work(const struct sw_seat *seat)
{
    return is_used(seat) || !sw_list_is_empty(&seat->resp.idle_waits) ||
           !sw_list_is_empty(&seat->resp.gated);
}

bool sw_seats_are_held(const struct sw_list *active)
{
    bool any = false;
    EACH_ACTIVE(active, seat)
    {
        any |= sw_batches_are_held(&seat->batches);
    }
    return any;
}

bool sw_seats_have_requests(const struct sw_list *active, bool held)
{
    bool any = false;
    EACH_ACTIVE(active, seat)
    {
        any |= sw_batches_in_flight(&seat->batches) || sw_resp_is_busy(&seat->resp) ||
               sw_rmw_is_busy(&seat->resp) || (held && sw_batches_are_held(&seat->batches));
    }
    return any;
}

bool sw_seat_is_submitting(const struct sw_seat *seat)
{
    return sw_batches_is_submitting(&seat->batches);
}

/* --- an iteration ----------------------------------------------------------------------------- */

bool sw_seats_submit(struct sw_list *active)
{
    bool moved = false;
    EACH_ACTIVE(active, seat)
    {
        moved |= sw_resp_submit(&seat->resp);
    }
    return moved;
}

bool sw_seats_poll(struct sw_list *active, bool waits)
{
    const bool is_only = active->next == active->previous;
    bool moved = false;
    EACH_ACTIVE(active, seat)
    {
        moved |= sw_batches_poll(&seat->batches, waits && is_only);
    }
    return moved;
}

bool sw_seats_poll_commands(struct sw_list *active)
{
    bool moved = false;
    EACH_ACTIVE(active, seat)
    {
        moved |= sw_control_poll_waits(&seat->resp);
        moved |= sw_control_poll_passes(&seat->resp);
        moved |= sw_rmw_poll(&seat->resp);
    }
    return moved;
}

bool sw_seats_follow_log(struct sw_list *active, bool leaves)
{
    bool moved = false;
    EACH_ACTIVE(active, seat)
    {
        struct sw_batches *batches = &seat->batches;
        if (!sw_batches_are_held(batches) && sw_list_is_empty(&seat->resp.gated)) {
            continue;
        }
        /* set before this loop reads the log's progress: the log reads it after it has moved */
        __atomic_store_n(batches->waits_for_log, 1, __ATOMIC_SEQ_CST);
        moved |= sw_batches_release(batches, leaves);
        moved |= sw_resp_open_gates(&seat->resp, leaves);
    }
    return moved;
}

bool sw_seats_lost_device(struct sw_list *active)
{
    bool lost = false;
    EACH_ACTIVE(active, seat)
    {
        lost |= sw_batches_lost_device(&seat->batches);
    }
    return lost;
}

/* When does the work of the seat need a poll? */
static enum sw_polling polling_of(const struct sw_seat *seat)
{
    const bool in_flight = sw_batches_in_flight(&seat->batches);
    if (!in_flight && !sw_rmw_is_busy(&seat->resp)) {
        return SW_POLLS_NOT;
    }
    const bool is_held =
        in_flight ? sw_table_is_held(seat->batches.table) : sw_rmw_is_held(&seat->resp);
    return is_held ? SW_POLLS_SOON : SW_POLLS_NOW;
}

/* Tries stalled connections again if the table is held for writes alone since the last call. Those
 * that stalled before may pass now, and their batch may not end until the long read does. */
static void note_long_read(struct sw_seat *seat, enum sw_polling polls)
{
    const bool is = polls == SW_POLLS_SOON && sw_table_is_held(seat->batches.table) &&
                    !sw_table_holds(seat->batches.table, true);
    seat->resp.net->retry |= is && !seat->is_read_long;
    seat->is_read_long = is;
}

enum sw_polling sw_seats_settle(struct sw_list *active)
{
    enum sw_polling polls = SW_POLLS_NOT;
    SW_LIST_EACH(active, link)
    {
        struct sw_seat *seat = ACTIVE(link);
        const enum sw_polling own = polling_of(seat);
        if (own == SW_POLLS_SOON || seat->is_read_long) {
            note_long_read(seat, own);
        }
        polls = own > polls ? own : polls;
        if (!has_work(seat)) {
            sw_list_remove(link);
        }
    }
    return polls;
}

/* --- sweeps ----------------------------------------------------------------------------------- */

/* Must the sweeps of this loop visit the table? The clock of a table whose entries never had times
 * is 0, so it cannot be ahead either. */
static bool is_swept(const struct sw_seat *seat)
{
    return seat->tidies || (seat->sweeper != NULL && sw_table_may_expire(seat->batches.table));
}

static void find_swept(struct sw_list *seats, struct sw_sweeps *sweeps, uint64_t view_number)
{
    sweeps->expiring = sw_table_expiring_tables(SEAT(seats->next)->batches.table);
    sweeps->view_number = view_number;
    EACH(seats, seat)
    {
        if (is_swept(seat) && !sw_list_is_linked(&seat->swept)) {
            sw_list_push(&sweeps->seats, &seat->swept);
        }
    }
}

/* Do all tables that sweeps must visit lie in the list? */
static bool is_current(const struct sw_list *seats, const struct sw_sweeps *sweeps,
                       uint64_t view_number)
{
    return sweeps->view_number == view_number &&
           sweeps->expiring == sw_table_expiring_tables(SEAT(seats->next)->batches.table);
}

void sw_seats_sweep(struct sw_list *seats, struct sw_sweeps *sweeps, uint64_t view_number)
{
    if (!is_current(seats, sweeps, view_number)) {
        find_swept(seats, sweeps, view_number);
    }
    SW_LIST_EACH(&sweeps->seats, link)
    {
        struct sw_seat *seat = SW_CONTAINER(link, struct sw_seat, swept);
        sw_sweeper_tick(seat->sweeper);
        if (seat->tidies) {
            sw_table_tidy(seat->batches.table);
        }
    }
}

/* --- CLIENT PAUSE ----------------------------------------------------------------------------- */

void sw_seats_pause(struct sw_list *seats, bool writes, bool all)
{
    EACH(seats, seat)
    {
        seat->batches_before = sw_resp_batches_begun(&seat->resp);
        sw_obstacles_pause(&seat->batches.obstacles, writes, all);
    }
}

bool sw_seats_have_paused(const struct sw_list *active, bool all)
{
    bool over = true;
    EACH_ACTIVE(active, seat)
    {
        const struct sw_batches *batches = &seat->batches;
        over &= !sw_rmw_is_busy(&seat->resp) && seat->resp.batches_done >= seat->batches_before &&
                batches->write_flights.count == 0 &&
                (!all || (batches->flights.count == 0 && sw_list_is_empty(&seat->resp.passes) &&
                          seat->resp.passing.replies.pendings == 0));
    }
    return over;
}

/* --- tables ----------------------------------------------------------------------------------- */

/* Adds the seats of the tables in the view to the list, and gives them what a change may change. */
static void adopt(struct sw_list *seats, struct sw_seat *first,
                  const struct sw_tables_handle *tables)
{
    for (uint32_t i = 0; i < tables->view->catalog.count; i++) {
        struct sw_seat *seat = tables->view->served[i]->loops[tables->loop].seat;
        seat->view_number = tables->number;
        sw_batches_set_table(&seat->batches, tables->view->served[i]->id);
        seat->batches.shape.default_ttl_ms = sw_default_ttl_ms(tables->view->served[i]->config);
        memcpy(seat->batches.place, tables->view->catalog.places[i].name,
               sizeof(seat->batches.place));
        if (!sw_list_is_linked(&seat->link)) {
            seat->batches.obstacles = first->batches.obstacles;
            sw_list_push(seats, &seat->link);
        }
    }
}

/* Is the table of the seat not in use on this loop? Its idle connections leave it. */
static bool is_vacant(struct sw_seat *seat, const struct sw_bulk *bulk)
{
    return sw_place_vacate(seat->resp.net, &seat->resp) && !is_used(seat) &&
           !sw_bulk_uses(bulk, &seat->batches);
}

/* Removes the seats of other tables that are vacant, except the first. Returns true if no other
 * table is in use. */
static bool vacate(struct sw_list *seats, struct sw_seat *first,
                   const struct sw_tables_handle *tables, const struct sw_bulk *bulk)
{
    bool all = true;
    SW_LIST_EACH(seats, link)
    {
        struct sw_seat *seat = SEAT(link);
        if (seat->view_number == tables->number) {
            continue;
        }
        const bool is = is_vacant(seat, bulk);
        all &= is;
        if (is && seat != first) {
            sw_resp_give_back(&seat->resp);
            sw_list_remove(&seat->link);
            sw_list_remove(&seat->batches.active);
            sw_list_remove(&seat->swept);
        }
    }
    return all;
}

bool sw_seats_follow(struct sw_list *seats, struct sw_seat *first, struct sw_tables_handle *tables,
                     struct sw_bulk *bulk)
{
    const bool follows = sw_tables_is_behind(tables);
    if (follows) {
        sw_tables_follow(tables);
        adopt(seats, first, tables);
        sw_bulk_follow_tables(bulk);
    }
    if (tables->tables != NULL && !tables->is_settled && vacate(seats, first, tables, bulk)) {
        sw_tables_settle(tables);
    }
    return follows;
}

/* ---------------------------------------------------------------------------------------------- */

/* Has an entry of the table a time, so that the sweeps of this loop must visit it? */
static bool has_times(const struct sw_seat *seat)
{
    struct sw_table_stats stats;
    sw_table_stats(seat->batches.table, &stats);
    return seat->sweeper != NULL && stats.expires > 0;
}

void sw_seats_check(const struct sw_list *seats, const struct sw_sweeps *sweeps,
                    uint64_t view_number)
{
    EACH(seats, seat)
    {
        sw_flights_check(&seat->batches.flights);
        sw_flights_check(&seat->batches.write_flights);
        sw_flights_check(&seat->batches.resp_flights);
        sw_resp_check(&seat->resp);
        assert(!has_work(seat) || sw_list_is_linked(&seat->batches.active));
        assert(!has_times(seat) || sw_list_is_linked(&seat->swept) ||
               !is_current(seats, sweeps, view_number));
    }
}
