/* SPDX-License-Identifier: MIT
 *
 * batches.c - creating and polling the queues of a loop.
 */
#include "server/batch/batches.h"

#include <assert.h>
#include <string.h>

#include "server/limits.h"

int sw_batches_init(struct sw_batches *batches, struct sw_table *table,
                    const struct sw_config *config, struct sw_loop_counters *counters)
{
    memset(batches, 0, sizeof(*batches));
    batches->table = table;
    batches->counters = counters;
    batches->shape = sw_table_shape_of(table, config);
    if (sw_queue_create(table, &batches->queue) != SW_OK ||
        sw_queue_create(table, &batches->round_queue) != SW_OK) {
        return -1;
    }
    sw_flights_init(&batches->flights, batches->queue, counters);
    sw_flights_init(&batches->round_flights, batches->round_queue, counters);
    return sw_io_arena_init(&batches->arena, table, config->arena_bytes);
}

void sw_batches_fini(struct sw_batches *batches)
{
    assert(!sw_batches_in_flight(batches));
    if (batches->arena.memory != NULL) {
        sw_io_arena_fini(&batches->arena);
    }
    sw_queue_destroy(batches->queue);
    sw_queue_destroy(batches->round_queue);
    memset(batches, 0, sizeof(*batches));
}

static inline void rest_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

bool sw_batches_poll(struct sw_batches *batches, bool waits)
{
    unsigned left = waits ? SW_POLLS_A_TURN : 1;
    bool done = false;
    while (sw_batches_in_flight(batches) && !done && left-- > 0) {
        done = sw_flights_poll(&batches->round_flights) > 0;
        done |= sw_flights_poll(&batches->flights) > 0;
        if (!done) {
            rest_briefly();
        }
    }
    return done;
}

bool sw_batches_lost_device(struct sw_batches *batches)
{
    bool lost = batches->flights.device_lost || batches->round_flights.device_lost;
    batches->flights.device_lost = batches->round_flights.device_lost = false;
    return lost;
}

bool sw_batches_is_submitting(const struct sw_batches *batches)
{
    return sw_flights_is_submitting(&batches->flights) ||
           sw_flights_is_submitting(&batches->round_flights);
}
