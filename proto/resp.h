/* SPDX-License-Identifier: MIT
 *
 * resp.h - the Redis protocol as a server sees it: commands in, replies out. No I/O, no allocation.
 *
 * A command arrives as an array of bulk strings ("*2\r\n$3\r\nGET\r\n$2\r\n42\r\n") or as an inline
 * line ("GET 42\r\n", words and quotes as in redis-cli). The parser wants the command in one
 * contiguous buffer and answers with slices of it. All functions are pure; any thread.
 */
#ifndef SHERWOOD_PROTO_RESP_H
#define SHERWOOD_PROTO_RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What can be wrong with the bytes of a command. The text is the protocol's own (as in redis):
 * "-ERR Protocol error: <text>\r\n", then close. */
#define SW_RESP_ERROR_MAP(X)                                  \
    X(SW_RESP_E_INLINE_SIZE, -1, "too big inline request")    \
    X(SW_RESP_E_QUOTES, -2, "unbalanced quotes in request")   \
    X(SW_RESP_E_COUNT, -3, "invalid multibulk length")        \
    X(SW_RESP_E_COUNT_SIZE, -4, "too big mbulk count string") \
    X(SW_RESP_E_BULK, -5, "invalid bulk length")              \
    X(SW_RESP_E_BULK_SIZE, -6, "too big bulk count string")   \
    X(SW_RESP_E_DOLLAR, -7, "expected '$', got '?'")          \
    X(SW_RESP_E_REQUEST_SIZE, -8, "too big request")

enum sw_resp_error {
#define SW_RESP_ERROR_ENUM(name, value, text) name = value,
    SW_RESP_ERROR_MAP(SW_RESP_ERROR_ENUM)
#undef SW_RESP_ERROR_ENUM
};

struct sw_resp_limits {
    uint32_t arguments_max; /* of one command, its name included */
    uint32_t argument_bytes_max;
    uint32_t inline_bytes_max;  /* of one inline line; also of a count line */
    uint32_t request_bytes_max; /* of one whole command as it arrives */
};

struct sw_resp_argument {
    const uint8_t *text; /* into the caller's buffer, or (inline with escapes) `unquoted` */
    uint32_t size;
};

struct sw_resp_command {
    uint32_t count;                     /* 0: nothing to do (blank line, "*0", "*-1") */
    struct sw_resp_argument *arguments; /* the caller's array of arguments_max */
    uint8_t *unquoted; /* the caller's, inline_bytes_max: where quoted words are decoded */
    size_t need;       /* when more bytes are needed: no use to try again with fewer than these */
    uint32_t begun;    /* then: arguments whose length was looked for; 0: not an array */
    uint8_t got;       /* SW_RESP_E_DOLLAR: the byte found instead */
};

/* Parses the first command of `bytes`. Returns bytes consumed (> 0), 0 if more are needed (`need`
 * is set), or an error. Every prefix of a valid command returns 0. */
int64_t sw_resp_parse(const uint8_t *bytes, size_t size, const struct sw_resp_limits *limits,
                      struct sw_resp_command *command);

/* The text of an error as it goes after "Protocol error: ", NUL-terminated, into `out`. */
void sw_resp_error_text(int error, uint8_t got, char *out, size_t out_bytes);

/* Replies. Each writes at `out`, which has room for the bytes named, and returns the new end. */
char *sw_resp_put_bulk_integer(char *out, uint64_t value); /* "$2\r\n42\r\n": at most 28 bytes */
char *sw_resp_put_integer(char *out, int64_t value);       /* ":42\r\n": at most 24 bytes */
char *sw_resp_put_unsigned(char *out, uint64_t value);     /* ":42\r\n": at most 24 bytes */
char *sw_resp_put_null(char *out, bool resp3);             /* "$-1\r\n" or "_\r\n": 5 bytes */
char *sw_resp_put_array(char *out, uint64_t count);        /* "*2\r\n": at most 24 bytes */
char *sw_resp_put_map(char *out, uint64_t pairs,
                      bool resp3);                        /* "%1\r\n", or an array of twice that */
char *sw_resp_put_bulk_header(char *out, uint64_t bytes); /* "$5\r\n": at most 24 bytes */
char *sw_resp_put_bytes(char *out, const void *bytes, size_t size);
#define SW_RESP_INTEGER_BYTES_MAX 28

#endif
