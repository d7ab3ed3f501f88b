/* SPDX-License-Identifier: MIT
 *
 * progress.c - progress lines (see progress.h).
 */
#include "bench/load/progress.h"

#include <stdio.h>
#include <unistd.h>

#define SECOND_NS 1000000000ULL
#define TERMINAL_EVERY_NS (SECOND_NS / 5)
#define PLAIN_AFTER_NS (2 * SECOND_NS)
#define PLAIN_EVERY_NS (5 * SECOND_NS)

void sw_load_progress_start(struct sw_load_progress *progress, const char *name,
                            uint64_t keys_total, double seconds, bool quiet, uint64_t now_ns)
{
    *progress = (struct sw_load_progress){
        .quiet = quiet,
        .is_terminal = isatty(STDERR_FILENO),
        .name = name,
        .keys_total = keys_total,
        .seconds = seconds,
        .start_ns = now_ns,
    };
}

void sw_load_progress_update(struct sw_load_progress *progress, uint64_t keys_done, uint64_t now_ns)
{
    uint64_t elapsed = now_ns - progress->start_ns;
    uint64_t every = progress->is_terminal ? TERMINAL_EVERY_NS : PLAIN_EVERY_NS;
    bool is_due = progress->printed ? now_ns - progress->printed_ns >= every
                                    : progress->is_terminal || elapsed > PLAIN_AFTER_NS;
    if (progress->quiet || !is_due || elapsed == 0) {
        return;
    }
    double seconds = (double)elapsed / 1e9, mega = (double)keys_done / 1e6;
    const char *start = progress->is_terminal ? "\r\033[K" : "";
    const char *end = progress->is_terminal ? "" : "\n";
    if (progress->keys_total) {
        fprintf(stderr, "%s%s: %.1f of %.1f M keys (%.0f %%), %.2f M keys/s%s", start,
                progress->name, mega, (double)progress->keys_total / 1e6,
                100.0 * (double)keys_done / (double)progress->keys_total, mega / seconds, end);
    } else {
        fprintf(stderr, "%s%s: %.0f of %g s, %.2f M keys/s%s", start, progress->name, seconds,
                progress->seconds, mega / seconds, end);
    }
    fflush(stderr);
    progress->printed = true;
    progress->printed_ns = now_ns;
}

void sw_load_progress_end(struct sw_load_progress *progress)
{
    if (progress->printed && progress->is_terminal) {
        fprintf(stderr, "\r\033[K");
        fflush(stderr);
    }
}
