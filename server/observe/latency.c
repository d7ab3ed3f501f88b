/* SPDX-License-Identifier: MIT
 *
 * latency.c - series of slow events, and histograms of commands.
 */
#include "server/observe/latency.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "proto/plural.h"

static const struct {
    const char *name, *advice;
} events[SW_LATENCY_COUNT] = {
#define SW_LATENCY_ROW(id, event, text) {event, text},
    SW_LATENCY_MAP(SW_LATENCY_ROW)
#undef SW_LATENCY_ROW
};

void sw_latency_init(struct sw_latency *latency)
{
    memset(latency, 0, sizeof(*latency));
    pthread_mutex_init(&latency->lock, NULL);
}

void sw_latency_fini(struct sw_latency *latency)
{
    pthread_mutex_destroy(&latency->lock);
}

static struct sw_latency_sample *newest(struct sw_latency_series *series)
{
    return &series->samples[(series->count - 1) % SW_LATENCY_SAMPLES];
}

void sw_latency_note(struct sw_latency *latency, enum sw_latency_event event, uint64_t us)
{
    struct sw_latency_series *series = &latency->series[event];
    struct sw_latency_sample sample = {(int64_t)time(NULL), us / 1000};
    pthread_mutex_lock(&latency->lock);
    series->worst_ms = sample.ms > series->worst_ms ? sample.ms : series->worst_ms;
    if (series->count > 0 && newest(series)->at == sample.at) {
        struct sw_latency_sample *same = newest(series);
        same->ms = sample.ms > same->ms ? sample.ms : same->ms;
    } else {
        series->count++;
        *newest(series) = sample;
    }
    pthread_mutex_unlock(&latency->lock);
}

void sw_latency_count(struct sw_latency *latency, enum sw_command_id id, uint64_t us,
                      uint64_t commands)
{
    __atomic_fetch_add(&latency->histograms[id][sw_histogram_bucket(us)], commands,
                       __ATOMIC_RELAXED);
}

enum sw_latency_event sw_latency_find(const char *name, size_t size)
{
    int event = 0;
    while (event < SW_LATENCY_COUNT && (strlen(events[event].name) != size ||
                                        strncasecmp(events[event].name, name, size) != 0)) {
        event++;
    }
    return (enum sw_latency_event)event;
}

bool sw_latency_reset(struct sw_latency *latency, enum sw_latency_event event)
{
    pthread_mutex_lock(&latency->lock);
    bool had = latency->series[event].count > 0;
    memset(&latency->series[event], 0, sizeof(latency->series[event]));
    pthread_mutex_unlock(&latency->lock);
    return had;
}

/* --- replies ---------------------------------------------------------------------------------- */

void sw_latency_latest(struct sw_latency *latency, struct sw_text *reply)
{
    uint64_t count = 0;
    pthread_mutex_lock(&latency->lock);
    for (int i = 0; i < SW_LATENCY_COUNT; i++) {
        count += latency->series[i].count > 0;
    }
    sw_text_array(reply, count);
    for (int i = 0; i < SW_LATENCY_COUNT; i++) {
        struct sw_latency_series *series = &latency->series[i];
        if (series->count > 0) {
            sw_text_array(reply, 4);
            sw_text_bulk_string(reply, events[i].name);
            sw_text_integer(reply, newest(series)->at);
            sw_text_unsigned(reply, newest(series)->ms);
            sw_text_unsigned(reply, series->worst_ms);
        }
    }
    pthread_mutex_unlock(&latency->lock);
}

/* Returns the number of stored samples of a series. */
static uint64_t kept(const struct sw_latency_series *series)
{
    return series->count < SW_LATENCY_SAMPLES ? series->count : SW_LATENCY_SAMPLES;
}

void sw_latency_history(struct sw_latency *latency, enum sw_latency_event event,
                        struct sw_text *reply)
{
    struct sw_latency_series *series = &latency->series[event];
    pthread_mutex_lock(&latency->lock);
    sw_text_array(reply, kept(series));
    for (uint64_t i = series->count - kept(series); i < series->count; i++) {
        sw_text_array(reply, 2);
        sw_text_integer(reply, series->samples[i % SW_LATENCY_SAMPLES].at);
        sw_text_unsigned(reply, series->samples[i % SW_LATENCY_SAMPLES].ms);
    }
    pthread_mutex_unlock(&latency->lock);
}

static uint64_t bucket_at(const struct sw_latency *latency, enum sw_command_id id, unsigned bucket)
{
    return __atomic_load_n(&latency->histograms[id][bucket], __ATOMIC_RELAXED);
}

uint64_t sw_latency_calls(const struct sw_latency *latency, enum sw_command_id id)
{
    uint64_t calls = 0;
    for (unsigned i = 0; i < SW_HISTOGRAM_BUCKETS; i++) {
        calls += bucket_at(latency, id, i);
    }
    return calls;
}

/* Appends redis' histogram: for each bound in microseconds the number of commands up to it. Omits a
 * bound if its number equals that of the bound before. */
void sw_latency_histogram(const struct sw_latency *latency, enum sw_command_id id, bool resp3,
                          struct sw_text *reply)
{
    uint64_t counts[SW_HISTOGRAM_BUCKETS], calls = 0, pairs = 0, sum = 0;
    for (unsigned i = 0; i < SW_HISTOGRAM_BUCKETS; i++) {
        counts[i] = bucket_at(latency, id, i);
        calls += counts[i];
        pairs += counts[i] > 0;
    }
    sw_text_map(reply, 2, resp3);
    sw_text_bulk_string(reply, "calls");
    sw_text_unsigned(reply, calls);
    sw_text_bulk_string(reply, "histogram_usec");
    sw_text_map(reply, pairs, resp3);
    for (unsigned i = 0; i < SW_HISTOGRAM_BUCKETS; i++) {
        sum += counts[i];
        if (counts[i] > 0) {
            sw_text_unsigned(reply, 1ULL << i);
            sw_text_unsigned(reply, sum);
        }
    }
}

static void report_series(const struct sw_latency_series *series, int event, int64_t now,
                          struct sw_text *report)
{
    uint64_t sum = 0, n = kept(series);
    for (uint64_t i = 0; i < n; i++) {
        sum += series->samples[i].ms;
    }
    const struct sw_latency_sample *last =
        &series->samples[(series->count - 1) % SW_LATENCY_SAMPLES];
    sw_text_printf(
        report,
        "%s: %" PRIu64 " second%s with such an event; on average %" PRIu64 " ms, at worst %" PRIu64
        " ms, the last %" PRIu64 " ms %" PRId64 " s ago.\n  It is %s.\n",
        events[event].name, series->count, sw_plural_s(series->count), sum / n, series->worst_ms,
        last->ms, now > last->at ? now - last->at : 0, events[event].advice);
}

void sw_latency_doctor(struct sw_latency *latency, uint64_t threshold_ms, struct sw_text *report)
{
    bool some = false;
    pthread_mutex_lock(&latency->lock);
    for (int i = 0; i < SW_LATENCY_COUNT; i++) {
        if (latency->series[i].count > 0) {
            some = true;
            report_series(&latency->series[i], i, (int64_t)time(NULL), report);
        }
    }
    pthread_mutex_unlock(&latency->lock);
    if (threshold_ms == 0) {
        sw_text_printf(report, "Latency monitoring is off: CONFIG SET latency-monitor-threshold "
                               "<milliseconds> turns it on.\n");
    } else if (!some) {
        sw_text_printf(report,
                       "Nothing took %" PRIu64 " ms or more since the server started, or "
                       "LATENCY RESET.\n",
                       threshold_ms);
    }
}
