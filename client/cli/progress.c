/* SPDX-License-Identifier: MIT
 *
 * progress.c - shows the progress of a long run: a bar on a terminal, otherwise a line from time to
 * time.
 */
#include "client/cli/progress.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

#include "proto/plural.h"

#define FIRST_MS 1000
#define TERMINAL_MS 200
#define PLAIN_MS 5000
#define BAR_CELLS 30

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void sw_cli_progress_start(struct sw_cli_progress *progress, FILE *out, const char *verb,
                           bool quiet)
{
    *progress = (struct sw_cli_progress){.out = out,
                                         .verb = verb,
                                         .quiet = quiet,
                                         .terminal = isatty(fileno(out)) == 1,
                                         .started_ms = now_ms()};
    progress->shown_ms = progress->started_ms;
}

/* Formats a number as "950", "3.2 k" or "12.5 M". */
static const char *short_number(double value, char *text, size_t size)
{
    const char *unit = "";
    if (value >= 1e9) {
        value /= 1e9;
        unit = " G";
    } else if (value >= 1e6) {
        value /= 1e6;
        unit = " M";
    } else if (value >= 1e3) {
        value /= 1e3;
        unit = " k";
    }
    snprintf(text, size, unit[0] == '\0' ? "%.0f%s" : "%.1f%s", value, unit);
    return text;
}

static void show_bar(FILE *out, double share)
{
    int full = (int)(share * BAR_CELLS);
    fputc('[', out);
    for (int i = 0; i < BAR_CELLS; i++) {
        fputc(i < full ? '#' : '.', out);
    }
    fputs("] ", out);
}

void sw_cli_progress_update(struct sw_cli_progress *progress, uint64_t done, uint64_t whole,
                            uint64_t keys)
{
    int64_t now = now_ms();
    int64_t passed = now - progress->started_ms;
    int64_t every = progress->terminal ? TERMINAL_MS : PLAIN_MS;
    if (progress->quiet || passed < FIRST_MS || now - progress->shown_ms < every) {
        return;
    }
    progress->shown_ms = now;
    progress->shown = true;
    double seconds = (double)passed / 1000;
    double share = whole == 0 ? 0 : (double)done / (double)whole;
    share = share > 1 ? 1 : share;
    char rate[32];
    char count[32];
    FILE *out = progress->out;
    fputs(progress->terminal ? "\r\033[K" : "", out);
    if (whole != 0) {
        if (progress->terminal) {
            show_bar(out, share);
        }
        fprintf(out, "%3.0f %% ", share * 100);
    }
    fprintf(out, "%s keys %s, %s keys/s", short_number((double)keys, count, sizeof(count)),
            progress->verb, short_number((double)keys / seconds, rate, sizeof(rate)));
    if (share > 0) {
        int64_t left = (int64_t)(seconds / share * (1 - share) + 0.5);
        fprintf(out, ", %" PRId64 ":%02" PRId64 " left", left / 60, left % 60);
    }
    fputs(progress->terminal ? "" : "\n", out);
    fflush(out);
}

void sw_cli_progress_finish(struct sw_cli_progress *progress, uint64_t keys, bool complete)
{
    char rate[32];
    double seconds = (double)(now_ms() - progress->started_ms) / 1000;
    FILE *out = progress->out;
    if (progress->shown && progress->terminal) {
        fputs("\r\033[K", out);
    }
    if (!progress->quiet) {
        fprintf(out, "%" PRIu64 " key%s %s in %.1f s", keys, sw_plural_s(keys), progress->verb,
                seconds);
        if (seconds > 0) {
            fprintf(out, " (%s keys/s)", short_number((double)keys / seconds, rate, sizeof(rate)));
        }
        fputs(complete ? "\n" : ", then stopped\n", out);
    }
    fflush(out);
}
