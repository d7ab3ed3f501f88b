/* SPDX-License-Identifier: MIT
 *
 * flight.c - submits batches in order, and polls the oldest of each list.
 */
#include "server/batch/flight.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>
#include <uv.h>

#include "server/batch/logging.h"
#include "server/limits.h"
#include "table/info.h"
#include "table/table.h"

static uint64_t now_us(void)
{
    return uv_hrtime() / 1000;
}

uint64_t sw_flight_wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

bool sw_flight_reads(const struct sw_batch *batch)
{
    return batch->kind == SW_BATCH_SCAN || batch->kind == SW_BATCH_COUNT_SCORES ||
           (batch->kind == SW_BATCH_OPERATIONS && batch->ops == NULL &&
            SW_OPS_HAS(SW_OPS_READ, batch->op));
}

/* Is the batch, which reads, one that may visit every slot? */
static bool searches(const struct sw_batch *batch)
{
    return batch->kind == SW_BATCH_SCAN || batch->kind == SW_BATCH_COUNT_SCORES;
}

void sw_submitter_init(struct sw_submitter *submitter, struct sw_table *table, uint32_t thread)
{
    *submitter = (struct sw_submitter){.table = table, .thread = thread};
    sw_list_init(&submitter->waiting);
}

int sw_submitter_open(struct sw_submitter *submitter)
{
    return sw_queue_create_for(submitter->table, submitter->thread, &submitter->queue);
}

void sw_flights_init(struct sw_flights *flights, struct sw_submitter *submitter,
                     struct sw_loop_counters *counters)
{
    *flights = (struct sw_flights){.submitter = submitter, .counters = counters};
    sw_list_init(&flights->list);
    sw_list_init(&flights->held);
}

/* Returns from how many milliseconds on a write is an event of LATENCY if the table grows in it; 0:
 * never. A small table in host memory grows inside the submit. A large one is held until it has
 * grown. */
static uint64_t threshold_ms(const struct sw_submitter *submitter, const struct sw_batch *batch)
{
    const struct sw_timings *timings = submitter->timings;
    const uint64_t set_ms =
        timings == NULL ? 0 : SW_LIVE(timings->config->latency_monitor_threshold);
    return set_ms == 0 || sw_flight_reads(batch) ? 0 : set_ms;
}

/* Enters the gate if the flight writes. Returns false if the gate is closed. */
static bool pass_gate(struct sw_submitter *submitter, struct sw_flight *flight)
{
    flight->is_inside = submitter->gate != NULL && !sw_flight_reads(&flight->batch);
    return !flight->is_inside || sw_gate_enter(submitter->gate);
}

/* Did the batch remove expired keys by a clock that is about to go back? Only then must their
 * watchers be marked. Otherwise EXEC itself compares the expiry times of watched keys with the
 * clock, and a key that had already expired when WATCH ran has not changed. */
static bool goes_back(const struct sw_batch *batch)
{
    return batch->expired_keys_count > 0 &&
           batch->clock_ms > sw_flight_wall_ms() + SW_CLOCK_HOLD_MS;
}

/* Marks the watchers of the keys that a completed write has changed. */
static void note_changes(const struct sw_submitter *submitter, const struct sw_flight *flight)
{
    if (submitter->watched != NULL && flight->submitted && !sw_flight_reads(&flight->batch)) {
        sw_watched_note(submitter->watched, &flight->batch, submitter->widths, flight->is_shared,
                        goes_back(&flight->batch));
    }
}

/* Frees the list of removed keys, which the log, the backlog and the watchers have used. */
static void free_expired(struct sw_flight *flight)
{
    if (flight->submitted) {
        free(flight->batch.expired_keys);
        flight->batch.expired_keys = NULL;
    }
}

static void leave_gate(struct sw_submitter *submitter, struct sw_flight *flight)
{
    if (flight->is_inside) {
        sw_gate_leave(submitter->gate);
        flight->is_inside = false;
    }
}

/* Notes the event of a write that began at `since_us` and is done. */
static void note_growth(const struct sw_submitter *submitter, const struct sw_batch *batch,
                        uint64_t since_us, uint64_t grown)
{
    const uint64_t limit_ms = threshold_ms(submitter, batch);
    const uint64_t us = now_us() - since_us;
    if (limit_ms != 0 && us / 1000 >= limit_ms && sw_table_grown(submitter->table) > grown) {
        sw_timings_event(submitter->timings, SW_LATENCY_GROWTH, us);
    }
}

static int submit(struct sw_submitter *submitter, struct sw_flight *flight)
{
    struct sw_batch *batch = &flight->batch;
    const bool is_timed = threshold_ms(submitter, batch) != 0;
    flight->grown = is_timed ? sw_table_grown(submitter->table) : 0;
    flight->held_since_us = 0;
    int status = submitter->queue != NULL ? SW_OK : sw_submitter_open(submitter);
    status = status != SW_OK ? status : sw_batch_submit(submitter->queue, batch);
    if (is_timed && status == SW_OK && sw_table_is_held(submitter->table)) {
        flight->held_since_us = submitter->submitting_since_us;
    } else if (is_timed && status == SW_OK) {
        note_growth(submitter, batch, submitter->submitting_since_us, flight->grown);
    }
    return status;
}

/* Submits a waiting flight. Returns false if it must wait: the queue is full, the table is held,
 * the gate is closed, or SW_ITERATION_NS have passed since *first_us, when the first flight of this
 * call was submitted (0: this is the first). A table in host memory carries out the batch here, and
 * many may have waited for its growth. */
static bool submit_next(struct sw_submitter *submitter, struct sw_flight *flight,
                        uint64_t *first_us)
{
    const uint64_t since_us = now_us();
    *first_us = *first_us != 0 ? *first_us : since_us;
    if (since_us - *first_us >= SW_ITERATION_NS / 1000 || !pass_gate(submitter, flight)) {
        return false;
    }
    __atomic_store_n(&submitter->submitting_since_us, since_us, __ATOMIC_RELAXED);
    flight->batch.clock_ms = sw_flight_wall_ms();
    flight->batch.wants_expired_keys = true;
    flight->batch.no_wait = true;
    int status = submit(submitter, flight);
    __atomic_store_n(&submitter->submitting_since_us, 0, __ATOMIC_RELAXED);
    if (status == SW_E_BUSY) {
        leave_gate(submitter, flight);
        return false;
    }
    flight->submitted = status == SW_OK;
    if (status != SW_OK) {
        flight->batch.status = status;
    }
    sw_list_remove(&flight->link);
    sw_list_push(&flight->flights->list, &flight->link);
    return true;
}

enum kind { READ, SEARCH, WRITE };

static enum kind kind_of(const struct sw_batch *batch)
{
    return !sw_flight_reads(batch) ? WRITE : searches(batch) ? SEARCH : READ;
}

/* Returns the bit of a stream in the word *at of the hashes. */
static uint64_t stream_bit(const struct sw_flight *flight, uint32_t *at)
{
    const uint32_t hash = flight->batch.stream * 2654435761U >> (32 - SW_STREAM_BITS);
    *at = hash / 64;
    return 1ULL << hash % 64;
}

/* A flight that was searched stays where it is. */
static void stays(struct sw_passing *passing, struct sw_flight *flight)
{
    uint32_t at;
    const uint64_t bit = stream_bit(flight, &at);
    passing->streams[at] |= bit;
    passing->last = &flight->link;
}

/* Begins a new search behind the oldest flight in two cases: this is the first one since the oldest
 * became it, or the flight that had to wait goes now. */
static void begin_search(struct sw_submitter *submitter, struct sw_flight *oldest,
                         uint64_t *first_us)
{
    struct sw_passing *passing = &submitter->passing;
    if (passing->last == NULL ||
        (passing->must_wait != NULL && submit_next(submitter, passing->must_wait, first_us))) {
        *passing = (struct sw_passing){0};
        stays(passing, oldest);
    }
}

/* The oldest flight is a search that was turned away (table/host/long_phase.h:sw_long_read_run), or
 * waits for a long read of its table, such as an image. Other reads go on beside a long read, and
 * writes do not wait for searches that have not begun. So this submits the flights whose stream has
 * no older flight here, until one of their kind must wait. Streams whose hashes are equal may wait
 * for each other. A flight stays behind one of its stream, or one of its kind, that stays itself.
 * So each flight is looked at once, unless `must_wait` goes, or it is a read that had to wait. */
static __attribute__((noinline)) void submit_beside(struct sw_submitter *submitter,
                                                    uint64_t *first_us)
{
    struct sw_passing *passing = &submitter->passing;
    struct sw_flight *oldest = SW_CONTAINER(submitter->waiting.next, struct sw_flight, link);
    const enum kind stuck = kind_of(&oldest->batch);
    if (stuck == READ) {
        return;
    }
    begin_search(submitter, oldest, first_us);
    while (passing->last->next != &submitter->waiting) {
        struct sw_flight *flight = SW_CONTAINER(passing->last->next, struct sw_flight, link);
        const enum kind kind = kind_of(&flight->batch);
        uint32_t at;
        const uint64_t bit = stream_bit(flight, &at);
        const bool tries = (passing->streams[at] & bit) == 0 && kind != stuck &&
                           (kind == READ || passing->must_wait == NULL);
        if (tries && submit_next(submitter, flight, first_us)) {
            continue;
        }
        if (tries && kind == READ) {
            return;
        }
        passing->must_wait = tries ? flight : passing->must_wait;
        stays(passing, flight);
    }
}

/* Is the table held for writes alone? */
static bool is_read_long(const struct sw_table *table)
{
    return sw_table_is_held(table) && !sw_table_holds(table, true);
}

/* Submits waiting flights of all lists, oldest first, until one must wait. */
static void submit_waiting(struct sw_submitter *submitter, uint64_t *first_us)
{
    while (!sw_list_is_empty(&submitter->waiting)) {
        struct sw_flight *oldest = SW_CONTAINER(submitter->waiting.next, struct sw_flight, link);
        if (!submit_next(submitter, oldest, first_us)) {
            if (searches(&oldest->batch) || is_read_long(submitter->table)) {
                submit_beside(submitter, first_us);
            }
            return;
        }
        submitter->passing.last = NULL;
    }
}

void sw_flight_start(struct sw_flights *flights, struct sw_flight *flight)
{
    assert(flight->done != NULL);
    sw_list_init(&flight->link);
    flight->flights = flights;
    flight->submitted = false;
    flight->is_done = false;
    flight->is_unknown = false;
    flight->generation = flights->generation;
    flight->started_us = now_us();
    sw_list_push(&flights->submitter->waiting, &flight->link);
    flights->count++;
    flights->of_generation[flight->generation]++;
    uint64_t first_us = 0;
    submit_waiting(flights->submitter, &first_us);
}

void sw_flights_join_generations(struct sw_flights *flights)
{
    const uint8_t before = !flights->generation;
    SW_LIST_EACH(&flights->list, link)
    {
        SW_CONTAINER(link, struct sw_flight, link)->generation = before;
    }
    SW_LIST_EACH(&flights->submitter->waiting, link)
    {
        struct sw_flight *flight = SW_CONTAINER(link, struct sw_flight, link);
        flight->generation = flight->flights == flights ? before : flight->generation;
    }
    flights->of_generation[before] = flights->count;
    flights->of_generation[flights->generation] = 0;
}

bool sw_submitter_is_submitting(const struct sw_submitter *submitter)
{
    uint64_t since_us = __atomic_load_n(&submitter->submitting_since_us, __ATOMIC_RELAXED);
    return since_us != 0 && now_us() - since_us < SW_SUBMIT_MS_MAX * 1000ULL;
}

static void count_batch(struct sw_flights *flights, const struct sw_flight *flight)
{
    struct sw_loop_counters *counters = flights->counters;
    uint64_t took_us = now_us() - flight->started_us;
    SW_COUNT(counters, batches, 1);
    if (flight->batch.kind == SW_BATCH_OPERATIONS) {
        SW_COUNT(counters, batch_operations, flight->batch.count);
        SW_COUNT(counters, batch_size[sw_histogram_bucket(flight->batch.count)], 1);
    }
    SW_COUNT(counters, batch_us[sw_histogram_bucket(took_us)], 1);
    SW_COUNT(counters, batch_us_sum, took_us);
}

/* Is the batch done? */
static bool is_done(struct sw_flights *flights, struct sw_flight *flight)
{
    flight->is_done = flight->is_done || !flight->submitted ||
                      sw_batch_poll(flights->submitter->queue, &flight->batch) != SW_PENDING;
    if (flight->is_done && flight->submitted && flight->held_since_us != 0) {
        note_growth(flights->submitter, &flight->batch, flight->held_since_us, flight->grown);
        flight->held_since_us = 0;
    }
    return flight->is_done;
}

static bool is_logged(const struct sw_flights *flights, const struct sw_flight *flight)
{
    return flights->wal != NULL && flight->submitted && flight->batch.write_sequence != 0;
}

/* Hands a write that is done to the log, and to the backlog. Returns false if the log has no room
 * for it now. */
static bool hand_in(struct sw_flights *flights, struct sw_flight *flight)
{
    const bool copies = flights->copies && !flight->lends;
    if (is_logged(flights, flight) &&
        !sw_logging_hand_in(flights->wal, &flight->batch, flights->widths, copies,
                            flights->log_bytes)) {
        return false;
    }
    if (flights->backlog != NULL && flight->submitted && flight->batch.write_sequence != 0 &&
        sw_backlog_is_on(flights->backlog)) {
        if (flight->hides_results) {
            sw_backlog_skip(flights->backlog, flight->batch.write_sequence);
        } else {
            sw_logging_add_to_backlog(flights->backlog, &flight->batch, flights->widths, copies);
        }
    }
    return true;
}

/* Returns the write that must be answerable before the flight may be answered; 0: none. */
static uint64_t waits_for(const struct sw_flights *flights, const struct sw_flight *flight)
{
    if (flights->reads_wait != NULL && flight->submitted && flight->batch.write_sequence == 0) {
        return sw_table_last_sequence(flights->reads_wait); /* it only read */
    }
    return is_logged(flights, flight) && !flights->copies ? flight->batch.write_sequence : 0;
}

/* Adds a flight to the held ones, ascending by waits_for. Most arrive in that order. */
static void hold_flight(struct sw_flights *flights, struct sw_flight *flight)
{
    struct sw_list *before = &flights->held;
    while (before->previous != &flights->held &&
           SW_CONTAINER(before->previous, struct sw_flight, link)->waits_for > flight->waits_for) {
        before = before->previous;
    }
    sw_list_push(before, &flight->link); /* adds in front of `before` */
    flights->held_count++;
}

/* Calls the flight's `done` when this write may be answered, at once if it is 0. The flight is in
 * no list, and its arrays stay until then. */
static void hold(struct sw_flights *flights, struct sw_flight *flight, uint64_t sequence)
{
    flight->waits_for = sequence;
    if (sequence > 0) {
        hold_flight(flights, flight);
    } else {
        flight->done(flight);
    }
}

unsigned sw_flights_release(struct sw_flights *flights, bool leaves)
{
    unsigned released = 0;
    if (flights->held_count == 0) {
        return 0;
    }
    bool hopeless = sw_wal_is_hopeless(flights->wal);
    uint64_t answerable = sw_wal_answerable(flights->wal);
    uint64_t given_up = leaves ? sw_wal_written(flights->wal) : 0;
    while (!sw_list_is_empty(&flights->held)) {
        struct sw_flight *flight = SW_CONTAINER(flights->held.next, struct sw_flight, link);
        flight->is_unknown = leaves || flight->waits_for > answerable;
        if (flight->is_unknown && !hopeless && flight->waits_for > given_up) {
            break;
        }
        sw_list_remove(&flight->link);
        flights->held_count--;
        flight->done(flight);
        released++;
    }
    return released;
}

static bool completes_none_soon(const struct sw_flights *flights)
{
    return sw_list_is_empty(&flights->list) ||
           searches(&SW_CONTAINER(flights->list.next, struct sw_flight, link)->batch);
}

unsigned sw_flights_poll(struct sw_flights *flights)
{
    unsigned completed = 0;
    uint64_t left = flights->count, first_us = 0;
    struct sw_list *before = &flights->list; /* the last flight that stays in the list */
    if (left > 0 && completes_none_soon(flights)) {
        submit_waiting(flights->submitter, &first_us); /* no completion in this list would do it */
    }
    for (; left > 0 && before->next != &flights->list; left--) {
        struct sw_flight *flight = SW_CONTAINER(before->next, struct sw_flight, link);
        if (!is_done(flights, flight) && !searches(&flight->batch)) {
            break;
        }
        if (!flight->is_done || !hand_in(flights, flight)) {
            before = &flight->link;
            continue;
        }
        sw_list_remove(&flight->link);
        note_changes(flights->submitter, flight);
        free_expired(flight);
        leave_gate(flights->submitter, flight);
        flights->count--;
        flights->of_generation[flight->generation]--;
        flights->device_lost |= flight->batch.status == SW_E_DEVICE;
        count_batch(flights, flight);
        submit_waiting(flights->submitter, &first_us);
        if (flights->before_done != NULL) {
            flights->before_done(flights->before_context);
        }
        hold(flights, flight, waits_for(flights, flight));
        completed++;
    }
    return completed;
}

void sw_flights_check(const struct sw_flights *flights)
{
    uint64_t count = sw_list_check(&flights->list);
    sw_list_check(&flights->submitter->waiting);
    SW_LIST_EACH(&flights->submitter->waiting, link)
    {
        count += SW_CONTAINER(link, struct sw_flight, link)->flights == flights;
    }
    assert(count == flights->count);
    assert(count == flights->of_generation[0] + flights->of_generation[1]);
    assert(sw_list_check(&flights->held) == flights->held_count);
    (void)count;
}
