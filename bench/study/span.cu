/* SPDX-License-Identifier: MIT
 *
 * span.cu - spans by CUDA events.
 */
#include "bench/study/span.h"

#include <math.h>

#include "bench/study/device.cuh"
#include "bench/study/report.h"
#include "table/device/channel.cuh"

namespace
{

/* The first span creates them. Nothing destroys them before the process ends. */
struct events {
    cudaStream_t stream; /* stream of `begin`, without other work */
    cudaEvent_t begin;
    cudaEvent_t end;
    bool are_made;
    bool is_open;
    bool is_marked;
};

struct events events;

bool make()
{
    events.are_made =
        events.are_made ||
        (sw_study_ok(cudaStreamCreateWithFlags(&events.stream, cudaStreamNonBlocking), "a span") &&
         sw_study_ok(cudaEventCreate(&events.begin), "a span") &&
         sw_study_ok(cudaEventCreate(&events.end), "a span"));
    return events.are_made;
}

double elapsed()
{
    float milliseconds = 0;
    bool done =
        events.is_open && events.is_marked &&
        sw_study_ok(cudaEventSynchronize(events.end), "a span") &&
        sw_study_ok(cudaEventElapsedTime(&milliseconds, events.begin, events.end), "a span");
    return done ? milliseconds * 1e-3 : NAN;
}

} // namespace

namespace
{

void begin(struct sw_study_took *took, cudaStream_t stream)
{
    events.is_marked = false;
    events.is_open = make() && sw_study_ok(cudaEventRecord(events.begin, stream), "a span");
    took->seconds = sw_study_clock();
}

} // namespace

void sw_study_span_begin(struct sw_study_took *took)
{
    begin(took, make() ? events.stream : NULL);
}

void sw_study_span_begin_channel(struct sw_study_took *took, void *channel)
{
    begin(took, ((struct sw_cuda_channel *)channel)->stream);
}

void sw_study_span_end(struct sw_study_took *took)
{
    took->seconds = sw_study_clock() - took->seconds;
    took->events = elapsed();
    events.is_open = false;
}

void sw_study_span_mark(void *stream)
{
    if (events.is_open) {
        events.is_marked = sw_study_ok(cudaEventRecord(events.end, (cudaStream_t)stream), "a span");
    }
}

void sw_study_span_mark_channel(void *channel)
{
    sw_study_span_mark(((struct sw_cuda_channel *)channel)->stream);
}
