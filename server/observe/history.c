/* SPDX-License-Identifier: MIT
 *
 * history.c - a ring of samples.
 */
#include "server/observe/history.h"

#include <stdlib.h>
#include <string.h>

#define RING (SW_HISTORY_SAMPLES + 1)

struct sw_history {
    uint64_t newest; /* number; 0: none yet */
    uint64_t due_ms;
    struct sw_history_sample samples[RING];
};

struct sw_history *sw_history_create(void)
{
    return calloc(1, sizeof(struct sw_history));
}

void sw_history_destroy(struct sw_history *history)
{
    free(history);
}

int sw_history_due(const struct sw_history *history, uint64_t now_ms, int most_ms)
{
    if (now_ms >= history->due_ms) {
        return 0;
    }
    uint64_t left = history->due_ms - now_ms;
    return left < (uint64_t)most_ms ? (int)left : most_ms;
}

void sw_history_add(struct sw_history *history, const struct sw_server_stats *snapshot,
                    uint64_t now_ms)
{
    const struct sw_server_stats *s = snapshot;
    struct sw_history_sample *sample = &history->samples[(history->newest + 1) % RING];
    history->newest++;
    sample->number = history->newest;
    sample->at_ms = now_ms;
#define SW_HISTORY_TAKE(name, from, help) sample->counters[SW_HISTORY_##name] = (from);
    SW_HISTORY_COUNTER_MAP(SW_HISTORY_TAKE)
#undef SW_HISTORY_TAKE
#define SW_HISTORY_TAKE(name, from, help) sample->gauges[SW_HISTORY_##name] = (from);
    SW_HISTORY_GAUGE_MAP(SW_HISTORY_TAKE)
#undef SW_HISTORY_TAKE
    memcpy(sample->batch_us, s->counters.batch_us, sizeof(sample->batch_us));
    /* The pace is even. Samples missed in a pause are not taken later. */
    history->due_ms += SW_HISTORY_INTERVAL_MS;
    if (history->due_ms <= now_ms) {
        history->due_ms = now_ms + SW_HISTORY_INTERVAL_MS;
    }
}

uint64_t sw_history_newest(const struct sw_history *history)
{
    return history->newest;
}

uint64_t sw_history_oldest(const struct sw_history *history)
{
    return history->newest > RING ? history->newest - RING + 1 : history->newest > 0;
}

const struct sw_history_sample *sw_history_at(const struct sw_history *history, uint64_t number)
{
    return &history->samples[number % RING];
}

uint64_t sw_history_increase(const struct sw_history *history, enum sw_history_counter counter,
                             uint64_t value, uint64_t now_ms, uint64_t window_ms)
{
    const uint64_t oldest = sw_history_oldest(history);
    uint64_t base = 0; /* the value at the start of the daemon */
    for (uint64_t number = history->newest; number > 0 && number >= oldest; number--) {
        const struct sw_history_sample *sample = sw_history_at(history, number);
        if (now_ms - sample->at_ms >= window_ms || (number == oldest && oldest > 1)) {
            base = sample->counters[counter];
            break;
        }
    }
    return value > base ? value - base : 0;
}

double sw_histogram_quantile(const uint64_t from[SW_HISTOGRAM_BUCKETS],
                             const uint64_t to[SW_HISTOGRAM_BUCKETS], double share)
{
    uint64_t all = 0;
    double below = 0;
    for (unsigned i = 0; i < SW_HISTOGRAM_BUCKETS; i++) {
        all += to[i] - from[i];
    }
    if (all == 0) {
        return -1;
    }
    const double wanted = share * (double)all;
    for (unsigned i = 0; i < SW_HISTOGRAM_BUCKETS; i++) {
        const double here = (double)(to[i] - from[i]);
        if (here > 0 && below + here >= wanted) {
            const double low = i == 0 ? 0 : (double)(1ULL << (i - 1));
            const double high = (double)(1ULL << i);
            return low + (high - low) * (wanted - below) / here;
        }
        below += here;
    }
    return (double)(1ULL << (SW_HISTOGRAM_BUCKETS - 1));
}
