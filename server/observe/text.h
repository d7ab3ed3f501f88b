/* SPDX-License-Identifier: MIT
 *
 * text.h - a bounded buffer for replies and reports.
 *
 * The buffer doubles its memory up to `limit`. A write that does not fit sets `failed` and leaves
 * nothing behind, so that a caller needs to check only once, at the end. One thread at a time.
 */
#ifndef SHERWOOD_SERVER_OBSERVE_TEXT_H
#define SHERWOOD_SERVER_OBSERVE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sw_text {
    char *data;
    size_t size;
    size_t capacity;
    size_t limit;
    bool failed; /* a write did not fit the limit or the memory; the text is incomplete */
};

void sw_text_init(struct sw_text *text, size_t limit);
void sw_text_fini(struct sw_text *text);
/* Empties the buffer and keeps its memory. */
void sw_text_reset(struct sw_text *text);
/* Makes room for `bytes` more at data + size. Returns false, and sets `failed`, if there is none.
 */
bool sw_text_reserve(struct sw_text *text, size_t bytes);
void sw_text_append(struct sw_text *text, const void *bytes, size_t size);
__attribute__((format(printf, 2, 3))) void sw_text_printf(struct sw_text *text, const char *format,
                                                          ...);

/* Append values as RESP3 if `resp3`, else as RESP2. */
void sw_text_bulk(struct sw_text *text, const void *bytes, size_t size);
void sw_text_bulk_string(struct sw_text *text, const char *string);
void sw_text_verbatim(struct sw_text *text, const void *bytes, size_t size, bool resp3);
void sw_text_simple(struct sw_text *text, const char *line); /* "+line\r\n" */
/* "-line\r\n"; control characters become spaces. */
void sw_text_error(struct sw_text *text, const char *line);
void sw_text_integer(struct sw_text *text, int64_t value);
void sw_text_unsigned(struct sw_text *text, uint64_t value);
void sw_text_null(struct sw_text *text, bool resp3);
void sw_text_array(struct sw_text *text, uint64_t count);
void sw_text_map(struct sw_text *text, uint64_t pairs, bool resp3);

#endif
