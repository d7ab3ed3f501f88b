/* SPDX-License-Identifier: MIT
 *
 * log.h - one line an event to stderr, with sd-daemon priorities ("<6>...") when stderr is not a
 * terminal. Thread-safe: a line is one write.
 */
#ifndef SHERWOOD_SERVER_OBSERVE_LOG_H
#define SHERWOOD_SERVER_OBSERVE_LOG_H

#include <stdint.h>

enum sw_log_level {
    SW_LOG_ERROR = 3,
    SW_LOG_WARNING = 4,
    SW_LOG_NOTICE = 5,
    SW_LOG_INFO = 6,
    SW_LOG_DEBUG = 7
};

/* A process has one stderr, so one level: set once by main before threads start. */
void sw_log_init(enum sw_log_level level);

__attribute__((format(printf, 2, 3))) void sw_log(enum sw_log_level level, const char *format, ...);

#endif
