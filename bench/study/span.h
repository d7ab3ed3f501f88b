/* SPDX-License-Identifier: MIT
 *
 * span.h - measures a call by the host's clock and by CUDA events.
 *
 *     struct sw_study_took took;
 *     sw_study_span_begin(&took);
 *     the call: the library enqueues its work, marks the stream, and waits
 *     sw_study_span_end(&took);
 *
 * An event is recorded before the call. A library that has enqueued work says so by
 * sw_study_span_mark, before it waits: an event is recorded behind that work, in its stream. The
 * last mark counts. The device records the events. So the time by events includes the host's work
 * before the first launch, but not its work after the device has finished.
 *
 * Threads: one. One span at a time.
 */
#ifndef SHERWOOD_BENCH_STUDY_SPAN_H
#define SHERWOOD_BENCH_STUDY_SPAN_H

#ifdef __cplusplus
extern "C" {
#endif

struct sw_study_took {
    double seconds; /* by the host's clock */
    double events;  /* by CUDA events; NAN: no mark, or no device */
};

/* If an event fails, prints one line on stderr, and the span has no time by events. */
void sw_study_span_begin(struct sw_study_took *took);
/* The same with the first event in the stream of a channel, where the call will enqueue its work. A
 * stream that was idle for long takes a microsecond longer to begin: that is not in the time then.
 * `channel`: a struct sw_cuda_channel. */
void sw_study_span_begin_channel(struct sw_study_took *took, void *channel);
void sw_study_span_end(struct sw_study_took *took);

/* `stream` is a CUDA stream. */
void sw_study_span_mark(void *stream);
/* The channel of a queue of the CUDA backend: a struct sw_cuda_channel. */
void sw_study_span_mark_channel(void *channel);

#ifdef __cplusplus
}
#endif

#endif
