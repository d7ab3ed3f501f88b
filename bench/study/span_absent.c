/* SPDX-License-Identifier: MIT
 *
 * span_absent.c - spans in builds without nvcc: only the host's clock.
 */
#include <math.h>

#include "bench/study/report.h"
#include "bench/study/span.h"

void sw_study_span_begin(struct sw_study_took *took)
{
    took->seconds = sw_study_clock();
}

void sw_study_span_begin_channel(struct sw_study_took *took, void *channel)
{
    (void)channel;
    sw_study_span_begin(took);
}

void sw_study_span_end(struct sw_study_took *took)
{
    took->seconds = sw_study_clock() - took->seconds;
    took->events = NAN;
}

void sw_study_span_mark(void *stream)
{
    (void)stream;
}

void sw_study_span_mark_channel(void *lane)
{
    (void)lane;
}
