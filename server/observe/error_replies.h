/* SPDX-License-Identifier: MIT
 *
 * error_replies.h - counts of RESP errors by their first word, as INFO errorstats and /metrics show
 * them. Threads: a loop counts in its own counters.
 */
#ifndef SHERWOOD_SERVER_OBSERVE_ERROR_REPLIES_H
#define SHERWOOD_SERVER_OBSERVE_ERROR_REPLIES_H

/* The first words of errors. OTHER counts every other word. */
#define SW_ERROR_WORD_MAP(X) \
    X(ERR)                   \
    X(CLUSTERDOWN)           \
    X(COLLISION)             \
    X(CROSSSLOT)             \
    X(DENIED)                \
    X(EXECABORT)             \
    X(LOADING)               \
    X(MISCONF)               \
    X(MOVED)                 \
    X(NOAUTH)                \
    X(NOPERM)                \
    X(NOPROTO)               \
    X(OOM)                   \
    X(READONLY)              \
    X(TRYAGAIN)              \
    X(UNBLOCKED)             \
    X(WRONGPASS)             \
    X(OTHER)

enum sw_error_word {
#define SW_ERROR_WORD_ENUM(word) SW_ERROR_WORD_##word,
    SW_ERROR_WORD_MAP(SW_ERROR_WORD_ENUM)
#undef SW_ERROR_WORD_ENUM
        SW_ERROR_WORDS
};

struct sw_loop_counters;

/* Counts an error reply: its line, which may begin with '-' and ends with a NUL or a line end. */
void sw_error_reply_count(struct sw_loop_counters *counters, const char *line);

/* Returns the word, in static storage. */
const char *sw_error_word(enum sw_error_word word);

#endif
