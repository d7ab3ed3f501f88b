/* SPDX-License-Identifier: MIT
 *
 * batches.c - creating and polling the queues of a loop.
 */
#include "server/batch/batches.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "server/batch/refusals.h"
#include "server/limits.h"
#include "server/repl/repl.h"
#include "table/expiring.h"
#include "table/info.h"

int sw_batches_init(struct sw_batches *batches, struct sw_table *table,
                    const struct sw_config *config, struct sw_loop_counters *counters,
                    struct sw_list *active_tables, struct sw_io_arena *io, uint32_t thread)
{
    memset(batches, 0, sizeof(*batches));
    sw_list_init(&batches->active);
    batches->active_tables = active_tables;
    batches->table = table;
    batches->config = config;
    batches->counters = counters;
    batches->io = io != NULL ? io : &batches->arena;
    batches->waits_for_log = &batches->log_waits;
    batches->shape = sw_table_shape_of(table, config);
    sw_submitter_init(&batches->submitter, table, thread);
    sw_submitter_init(&batches->resp_submitter, table, thread);
    sw_submitter_init(&batches->rmw_submitter, table, thread);
    sw_flights_init(&batches->flights, &batches->submitter, counters);
    sw_flights_init(&batches->write_flights, &batches->submitter, counters);
    sw_flights_init(&batches->resp_flights, &batches->resp_submitter, counters);
    sw_flights_init(&batches->rmw_flights, &batches->rmw_submitter, counters);
    if (io != NULL) {
        return 0;
    }
    return sw_submitter_open(&batches->submitter) == SW_OK &&
                   sw_submitter_open(&batches->resp_submitter) == SW_OK &&
                   sw_submitter_open(&batches->rmw_submitter) == SW_OK
               ? sw_io_arena_init(&batches->arena, table, config->arena_bytes)
               : -1;
}

void sw_batches_fini(struct sw_batches *batches)
{
    assert(!sw_batches_in_flight(batches));
    if (batches->arena.memory != NULL) {
        sw_io_arena_fini(&batches->arena);
    }
    sw_queue_destroy(batches->submitter.queue);
    sw_queue_destroy(batches->resp_submitter.queue);
    sw_queue_destroy(batches->rmw_submitter.queue);
    if (batches->gate.gate != NULL) {
        sw_gate_side_fini(&batches->gate);
    }
    memset(batches, 0, sizeof(*batches));
}

uint64_t sw_batches_default_time(const struct sw_batches *batches)
{
    const uint64_t ttl = batches->shape.default_ttl_ms;
    return ttl == 0 ? 0 : sw_table_clock(batches->table, sw_flight_wall_ms()) + ttl;
}

static void set_log(struct sw_flights *flights, struct sw_wal *wal, bool copies,
                    const struct sw_table_shape *shape)
{
    flights->wal = wal;
    flights->copies = copies;
    flights->widths =
        (struct sw_logged_widths){shape->key_bytes, shape->value_bytes, shape->key_text_bytes, 0};
}

void sw_batches_set_log(struct sw_batches *batches, struct sw_wal *wal, bool reads_wait)
{
    batches->wal = wal;
    batches->reads_wait = reads_wait;
    batches->flights.wal = reads_wait ? wal : NULL;
    batches->flights.reads_wait = reads_wait ? batches->table : NULL;
    batches->write_flights.reads_wait = batches->flights.reads_wait; /* of writes without effect */
    set_log(&batches->write_flights, wal, false, &batches->shape);
    set_log(&batches->resp_flights, wal, true, &batches->shape);
    set_log(&batches->rmw_flights, wal, true, &batches->shape);
}

void sw_batches_set_table(struct sw_batches *batches, uint32_t table)
{
    batches->write_flights.widths.table = batches->resp_flights.widths.table =
        batches->rmw_flights.widths.table = table;
}

/* Writes why the owner of the table refused its last growth. Returns false if it did not. */
static bool put_refusal(struct sw_batches *batches, const char *sign, const char *end)
{
    static const char *const causes[] = {
        [SW_LEDGER_TABLE_MAX] = "that would pass its memory-max: raise memory-max",
        [SW_LEDGER_TABLES_MAX] = "the other tables leave too little of tables-memory-max: raise "
                                 "tables-memory-max",
        [SW_LEDGER_HOST_MAX] = "its rows or values would pass tables-host-memory-max: raise "
                               "tables-host-memory-max",
        [SW_LEDGER_CAPACITY] = "that would pass its max-capacity: raise max-capacity"};
    const enum sw_ledger_refusal refusal =
        batches->account == NULL ? SW_LEDGER_PERMITS : sw_account_refusal(batches->account);
    if (refusal == SW_LEDGER_PERMITS) {
        return false;
    }
    snprintf(batches->full, sizeof(batches->full),
             "%sthe table %s cannot grow, %s, or delete keys; nothing was changed%s", sign,
             batches->place, causes[refusal], end);
    return true;
}

const char *sw_batches_full(struct sw_batches *batches)
{
    return put_refusal(batches, "", "") ? batches->full : sw_table_full(&batches->shape);
}

const char *sw_batches_full_line(struct sw_batches *batches)
{
    return put_refusal(batches, "-OOM ", "\r\n") ? batches->full
                                                 : sw_table_full_line(&batches->shape);
}

const char *sw_batches_resize_failed(struct sw_batches *batches, bool line)
{
    return put_refusal(batches, line ? "OOM " : "", "") ? batches->full
           : line                                       ? "OOM " SW_RESIZE_FAILED
                                                        : SW_RESIZE_FAILED;
}

void sw_batches_set_account(struct sw_batches *batches, struct sw_account *account)
{
    uint64_t *log_bytes = account == NULL ? NULL : &account->log_bytes;
    batches->account = account;
    batches->flights.log_bytes = log_bytes;
    batches->write_flights.log_bytes = log_bytes;
    batches->resp_flights.log_bytes = log_bytes;
    batches->rmw_flights.log_bytes = log_bytes;
}

void sw_batches_set_gate(struct sw_batches *batches, struct sw_gate *gate)
{
    sw_gate_side_init(&batches->gate, gate);
    batches->submitter.gate = batches->resp_submitter.gate = &batches->gate;
    struct sw_submitter *const all[] = {&batches->submitter, &batches->resp_submitter,
                                        &batches->rmw_submitter};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        all[i]->watched = sw_gate_watched(gate);
        all[i]->widths = (struct sw_watched_widths){
            batches->shape.key_bytes, batches->shape.value_bytes, batches->shape.blob_bytes_max};
    }
}

void sw_batches_set_owner(struct sw_batches *batches, const struct sw_saver *saver,
                          const struct sw_repl *repl)
{
    struct sw_backlog *backlog = repl == NULL ? NULL : repl->backlog;
    batches->obstacles.saver = saver;
    batches->obstacles.role = repl == NULL ? NULL : &repl->state;
    batches->write_flights.backlog = batches->resp_flights.backlog = backlog;
    batches->rmw_flights.backlog = backlog;
}

void sw_batches_set_lease(struct sw_batches *batches, void (*check_lease)(void *context),
                          void *context)
{
    struct sw_flights *const all[] = {&batches->flights, &batches->write_flights,
                                      &batches->resp_flights, &batches->rmw_flights};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        all[i]->before_done = check_lease;
        all[i]->before_context = context;
    }
}

void sw_batches_set_timings(struct sw_batches *batches, struct sw_timings *timings)
{
    batches->submitter.timings = batches->resp_submitter.timings = timings;
    batches->rmw_submitter.timings = timings;
}

enum sw_batches_admission sw_batches_admit(struct sw_batches *batches)
{
    if (batches->wal == NULL || sw_wal_has_room(batches->wal)) {
        return SW_ADMIT_NOW;
    }
    __atomic_store_n(batches->waits_for_log, 1, __ATOMIC_SEQ_CST);
    if (sw_wal_has_room(batches->wal)) { /* the log made room before it could see waits_for_log */
        return SW_ADMIT_NOW;
    }
    return sw_wal_state(batches->wal) == SW_WAL_OK ? SW_ADMIT_LATER : SW_ADMIT_REJECT;
}

bool sw_batches_release(struct sw_batches *batches, bool leaves)
{
    unsigned released = sw_flights_release(&batches->write_flights, leaves);
    return released + sw_flights_release(&batches->flights, leaves) > 0;
}

bool sw_batches_must_leave(const struct sw_batches *batches, bool reads, uint64_t bytes)
{
    return sw_io_arena_is_half_used(batches->io, bytes) &&
           sw_table_keeps_out(batches->table, reads);
}

void sw_batches_start(struct sw_batches *batches, struct sw_flight *flight, uint32_t stream)
{
    flight->batch.stream = stream;
    sw_batches_activate(batches);
    sw_flight_start(sw_flight_reads(&flight->batch) ? &batches->flights : &batches->write_flights,
                    flight);
}

bool sw_batches_are_of_one_generation(const struct sw_batches *batches)
{
    const unsigned other = !batches->flights.generation;
    return batches->flights.of_generation[other] + batches->write_flights.of_generation[other] +
               batches->resp_flights.of_generation[other] +
               batches->rmw_flights.of_generation[other] ==
           0;
}

void sw_batches_begin_generation(struct sw_batches *batches)
{
    struct sw_flights *const all[] = {&batches->flights, &batches->write_flights,
                                      &batches->resp_flights, &batches->rmw_flights};
    const bool is_one = sw_batches_are_of_one_generation(batches);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (is_one) {
            all[i]->generation = !all[i]->generation;
        } else {
            sw_flights_join_generations(all[i]);
        }
    }
}

static inline void rest_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

bool sw_batches_poll(struct sw_batches *batches, bool waits)
{
    unsigned left = waits ? SW_POLLS_PER_ITERATION : 1;
    bool done = false;
    while (sw_batches_in_flight(batches) && !done && left-- > 0) {
        done = sw_flights_poll(&batches->resp_flights) > 0;
        done |= sw_flights_poll(&batches->write_flights) > 0;
        done |= sw_flights_poll(&batches->flights) > 0;
        done |= sw_flights_poll(&batches->rmw_flights) > 0;
        if (!done) {
            rest_briefly();
        }
    }
    return done;
}

bool sw_batches_lost_device(struct sw_batches *batches)
{
    struct sw_flights *const all[] = {&batches->flights, &batches->write_flights,
                                      &batches->resp_flights, &batches->rmw_flights};
    bool lost = false;
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        lost |= all[i]->device_lost;
        all[i]->device_lost = false;
    }
    return lost;
}

bool sw_batches_is_submitting(const struct sw_batches *batches)
{
    return sw_submitter_is_submitting(&batches->submitter) ||
           sw_submitter_is_submitting(&batches->resp_submitter) ||
           sw_submitter_is_submitting(&batches->rmw_submitter);
}
