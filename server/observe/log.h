/* SPDX-License-Identifier: MIT
 *
 * log.h - the log: one line an event, to standard error.
 *
 * The prefix of the text depends on the target of standard error. The journal gets sd-daemon
 * priorities ("<6>..."), a terminal nothing, any other file or pipe the time and the level
 * ("2026-11-22T13:51:09.123Z warning: ..."). A line is one write, so lines of several threads do
 * not mix. A line that cannot be written is lost. Threads: any. Only the main thread calls
 * sw_log_init.
 */
#ifndef SHERWOOD_SERVER_OBSERVE_LOG_H
#define SHERWOOD_SERVER_OBSERVE_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum sw_log_level {
    SW_LOG_ERROR = 3,
    SW_LOG_WARNING = 4,
    SW_LOG_NOTICE = 5,
    SW_LOG_INFO = 6,
    SW_LOG_DEBUG = 7
};

/* The process has one level. main sets it before threads start; any thread may change it later. */
void sw_log_init(enum sw_log_level level);
void sw_log_set_level(enum sw_log_level level);

__attribute__((format(printf, 2, 3))) void sw_log(enum sw_log_level level, const char *format, ...);

/* Kinds of lines that clients or peers can cause without limit. The log writes at most
 * SW_LOG_LINES_A_MINUTE lines of each kind in a minute. */
enum sw_log_kind {
    SW_LOG_NO_MEMORY,  /* for a connection, a request or a reply */
    SW_LOG_ACCEPT,     /* a connection could not be accepted */
    SW_LOG_WRONG_PORT, /* HTTP on the RESP port */
    SW_LOG_LOGIN,      /* wrong passwords, and peers that protected-mode turns away */
    SW_LOG_HTTP,       /* a message of libmicrohttpd about a request */
    SW_LOG_TLS,        /* a TLS handshake or connection failed */
    SW_LOG_WAL,        /* the write-ahead log cannot go on now */
    SW_LOG_ETCD,       /* etcd did not answer */
    SW_LOG_MOVE,       /* a step of a slot migration failed or waits */
    SW_LOG_TRACE,      /* exports of spans fail, or succeed again */
    SW_LOG_KINDS
};

/* As sw_log, for lines that clients provoke: a line beyond the limit of its kind is left out and
 * counted. The next line of that kind has the count. */
__attribute__((format(printf, 3, 4))) void
sw_log_limited(enum sw_log_kind kind, enum sw_log_level level, const char *format, ...);

/* Returns how many lines of all kinds were left out since the process started. */
uint64_t sw_log_left_out(void);

/* The limit of one kind. Threads: one at a time. */
struct sw_log_limit {
    uint64_t began_ms; /* start of the current minute; 0: none yet */
    uint64_t left_out; /* lines since the last one that was written */
    unsigned lines;    /* in this minute */
};

/* Returns true if a line may be written at `now_ms`, a time of a monotonic clock, not 0. *left_out
 * then receives the number of lines left out before it. */
bool sw_log_allows(struct sw_log_limit *limit, uint64_t now_ms, uint64_t *left_out);

#endif
