/* SPDX-License-Identifier: MIT
 *
 * log.h - the log: one line an event, to standard error.
 *
 * The prefix of the text depends on the target of standard error. The journal gets sd-daemon
 * priorities ("<6>..."), a terminal nothing, any other file or pipe the time and the level
 * ("2026-11-22T13:51:09.123Z warning: ..."). Every function may be called from any thread, except
 * sw_log_init; a line is one write, so lines of several threads do not mix. Nothing here fails: a
 * line that cannot be written is lost.
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

/* A process has one stderr, so one level: main sets it once, before threads start, and any thread
 * may change it later. */
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
    SW_LOG_HTTP,       /* what libmicrohttpd has to say of a request */
    SW_LOG_TLS,        /* a handshake or a connection by TLS failed */
    SW_LOG_WAL,        /* the write-ahead log cannot go on now */
    SW_LOG_ETCD,       /* etcd did not answer */
    SW_LOG_MOVE,       /* slots are on their way for longer than they should be */
    SW_LOG_KINDS
};

/* As sw_log, for lines that clients provoke: beyond the limit of its kind the line is left out and
 * counted, and the next line of the kind says how many were. */
__attribute__((format(printf, 3, 4))) void
sw_log_limited(enum sw_log_kind kind, enum sw_log_level level, const char *format, ...);

/* Lines that were left out since the process started, of all kinds. */
uint64_t sw_log_left_out(void);

/* The limit itself, for one kind. The caller sees to it that one thread at a time uses it. */
struct sw_log_limit {
    uint64_t began_ms; /* of the minute that is counted; 0: none yet */
    uint64_t left_out; /* lines since the last one that was written */
    unsigned lines;    /* in this minute */
};

/* May a line be written at `now_ms`, of a monotonic clock and not 0? If so, *left_out receives how
 * many were left out before it. */
bool sw_log_allows(struct sw_log_limit *limit, uint64_t now_ms, uint64_t *left_out);

#endif
