/* SPDX-License-Identifier: MIT
 *
 * resp.h - the Redis protocol as a server sees it: it parses commands and writes replies. Nothing
 * here does I/O or allocates memory.
 *
 * A command arrives as an array of bulk strings ("*2\r\n$3\r\nGET\r\n$2\r\n42\r\n") or as an inline
 * line ("GET 42\r\n", with words and quotes as in redis-cli). The parser needs the whole command in
 * one contiguous buffer and returns slices of it. All functions are pure and may be called from any
 * thread.
 */
#ifndef SHERWOOD_PROTO_RESP_H
#define SHERWOOD_PROTO_RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Errors in the bytes of a command. The texts are those of redis: the server replies "-ERR Protocol
 * error: <text>\r\n" and closes the connection. */
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
    uint32_t arguments_max; /* of one command; its name counts */
    uint32_t argument_bytes_max;
    uint32_t inline_bytes_max;  /* of an inline line, and of a line with a count */
    uint32_t request_bytes_max; /* of one whole command as it is received */
};

struct sw_resp_argument {
    const uint8_t *text; /* points into the caller's buffer, or into `unquoted` (quoted words) */
    uint32_t size;
};

/* Is the argument this word, in any case? `word` must be in upper case. */
bool sw_argument_is(const struct sw_resp_argument *argument, const char *word);

struct sw_resp_command {
    uint32_t count;                     /* 0: nothing to do (blank line, "*0", "*-1") */
    struct sw_resp_argument *arguments; /* the caller's array of arguments_max */
    uint8_t *unquoted; /* the caller's memory for quoted words, of inline_bytes_max bytes */
    size_t need;       /* if more bytes are needed: the command has at least this many */
    uint32_t begun;    /* if more bytes are needed: arguments whose length was looked for; 0: the
                          command is not an array */
    uint8_t got;       /* SW_RESP_E_DOLLAR: the byte in the place of the '$' */
};

/* Parses the first command of `bytes`. Returns the number of bytes consumed, or 0 if more are
 * needed (then `need` is set), or an error. For every prefix of a valid command it returns 0. */
int64_t sw_resp_parse(const uint8_t *bytes, size_t size, const struct sw_resp_limits *limits,
                      struct sw_resp_command *command);

/* Writes the text that follows "Protocol error: ", with a NUL, to `out`. */
void sw_resp_error_text(int error, uint8_t got, char *out, size_t out_bytes);

/* Functions that write replies. Each writes at `out`, which has room for the number of bytes named
 * here, and returns the end of what it wrote. */
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
