/* SPDX-License-Identifier: MIT
 *
 * problems.h - current problems, as sentences for the status page. The conditions are those of
 * deploy/prometheus/sherwood.rules.yml, without the waiting time of an alert. A test compares their
 * names. The page itself reports a daemon that does not answer.
 *
 * Threads: the HTTP thread, which owns the history, unless a comment says otherwise.
 */
#ifndef SHERWOOD_SERVER_OBSERVE_PROBLEMS_H
#define SHERWOOD_SERVER_OBSERVE_PROBLEMS_H

#include "server/observe/history.h"

#define SW_PROBLEM_BYTES 320

struct sw_problem {
    const char *alert; /* its name in sherwood.rules.yml */
    /* "critical" or "warning", as there; "note": worth knowing, nothing is wrong */
    const char *severity;
    char text[SW_PROBLEM_BYTES]; /* sentences */
};

/* At least the number of conditions. */
#define SW_PROBLEMS_MAX 24

/* Returns true if writes are refused because they could not be made durable, and writes sentences
 * about that. Threads: any. */
bool sw_problems_degraded(const struct sw_server_stats *snapshot, char text[SW_PROBLEM_BYTES]);

/* Writes the current problems, the worst first. Returns their number. */
unsigned sw_problems_find(const struct sw_server_stats *snapshot, const struct sw_history *history,
                          uint64_t now_ms, struct sw_problem problems[SW_PROBLEMS_MAX]);

#endif
