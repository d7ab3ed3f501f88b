/* SPDX-License-Identifier: MIT
 *
 * flight.c - submits batches in order, and polls the oldest.
 */
#include "server/batch/flight.h"

#include <assert.h>
#include <stddef.h>
#include <uv.h>

#include "server/limits.h"

static uint64_t now_us(void)
{
    return uv_hrtime() / 1000;
}

void sw_flights_init(struct sw_flights *flights, struct sw_queue *queue,
                     struct sw_loop_counters *counters)
{
    *flights = (struct sw_flights){.queue = queue, .counters = counters};
    sw_list_init(&flights->list);
    flights->unsubmitted = &flights->list;
}

/* Submits waiting batches until the queue is full. */
static void submit_waiting(struct sw_flights *flights)
{
    while (flights->unsubmitted != &flights->list) {
        struct sw_flight *flight = SW_CONTAINER(flights->unsubmitted, struct sw_flight, link);
        __atomic_store_n(&flights->submitting_since_us, now_us(), __ATOMIC_RELAXED);
        int status = sw_batch_submit(flights->queue, &flight->batch);
        __atomic_store_n(&flights->submitting_since_us, 0, __ATOMIC_RELAXED);
        if (status == SW_E_BUSY) {
            return;
        }
        flight->submitted = status == SW_OK;
        if (status != SW_OK) {
            flight->batch.status = status;
        }
        flights->unsubmitted = flight->link.next;
    }
}

void sw_flight_start(struct sw_flights *flights, struct sw_flight *flight)
{
    assert(flight->done != NULL);
    sw_list_init(&flight->link);
    flight->submitted = false;
    flight->started_us = now_us();
    sw_list_push(&flights->list, &flight->link);
    flights->count++;
    if (flights->unsubmitted == &flights->list) {
        flights->unsubmitted = &flight->link;
    }
    submit_waiting(flights);
}

bool sw_flights_is_submitting(const struct sw_flights *flights)
{
    uint64_t since_us = __atomic_load_n(&flights->submitting_since_us, __ATOMIC_RELAXED);
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

unsigned sw_flights_poll(struct sw_flights *flights)
{
    unsigned completed = 0;
    for (uint64_t left = flights->count;
         left > 0 && flights->count > 0 && flights->list.next != flights->unsubmitted; left--) {
        struct sw_flight *flight = SW_CONTAINER(flights->list.next, struct sw_flight, link);
        if (flight->submitted && sw_batch_poll(flights->queue, &flight->batch) == SW_PENDING) {
            break;
        }
        sw_list_remove(&flight->link);
        flights->count--;
        flights->device_lost |= flight->batch.status == SW_E_DEVICE;
        count_batch(flights, flight);
        submit_waiting(flights);
        flight->done(flight);
        completed++;
    }
    return completed;
}

void sw_flights_check(const struct sw_flights *flights)
{
    bool seen = flights->unsubmitted == &flights->list;
    assert(sw_list_check(&flights->list) == flights->count);
    SW_LIST_EACH(&flights->list, link)
    {
        seen |= link == flights->unsubmitted;
    }
    assert(seen);
    (void)seen;
}
