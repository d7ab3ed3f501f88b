/* SPDX-License-Identifier: MIT
 *
 * http_content_type.c - chooses the format of the metrics, or of the page, by an Accept header.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/observe/http.h"

struct media_range {
    const char *type; /* "type/subtype", not NUL-terminated */
    size_t type_size;
    double quality;
    bool version_fits; /* no version, or 1.0.0 */
};

static const char *skip_blanks(const char *at)
{
    while (*at == ' ' || *at == '\t') {
        at++;
    }
    return at;
}

static size_t token_size(const char *at)
{
    return strcspn(at, " \t,;=\"");
}

/* Parses a quality: digits and at most one dot, as RFC 9110 says; anything else counts as 1. strtod
 * would also accept the decimal point of the locale, "inf" and hexadecimal numbers. */
static double parse_quality(const char *text, size_t size)
{
    double value = 0, scale = 1;
    bool fraction = false;
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '.' && !fraction) {
            fraction = true;
        } else if (i < 8 && isdigit((unsigned char)text[i]) != 0) {
            value = value * 10 + (text[i] - '0');
            scale = fraction ? scale * 10 : scale;
        } else {
            return 1;
        }
    }
    value /= scale;
    return value < 1 ? value : 1;
}

/* Reads one range and its parameters. Returns the start of the next range, or NULL at the end. */
static const char *next_range(const char *at, struct media_range *range)
{
    at = skip_blanks(at);
    *range = (struct media_range){at, token_size(at), 1, true};
    at += range->type_size;
    for (at = skip_blanks(at); *at == ';'; at = skip_blanks(at)) {
        const char *name = skip_blanks(at + 1);
        size_t name_size = token_size(name);
        at = skip_blanks(name + name_size);
        if (*at != '=') {
            continue;
        }
        const char *value = skip_blanks(at + 1);
        bool quoted = *value == '"';
        value += quoted;
        size_t value_size = quoted ? strcspn(value, "\"") : token_size(value);
        at = value + value_size;
        at += quoted && *at == '"';
        if (name_size == 1 && (*name == 'q' || *name == 'Q')) {
            range->quality = parse_quality(value, value_size);
        } else if (name_size == 7 && strncasecmp(name, "version", 7) == 0) {
            range->version_fits = value_size == 5 && memcmp(value, "1.0.0", 5) == 0;
        }
    }
    at += strcspn(at, ",");
    return *at == ',' ? at + 1 : NULL;
}

static bool names(const struct media_range *range, const char *type)
{
    return range->type_size == strlen(type) &&
           strncasecmp(range->type, type, range->type_size) == 0;
}

bool sw_http_wants_openmetrics(const char *accept)
{
    double openmetrics = 0, plain = 0;
    int plain_rank = 0; /* 3: text/plain, 2: text/any, 1: any */
    while (accept != NULL) {
        struct media_range range;
        int rank = 0;
        accept = next_range(accept, &range);
        if (names(&range, "application/openmetrics-text") && range.version_fits) {
            openmetrics = range.quality > openmetrics ? range.quality : openmetrics;
        }
        rank = names(&range, "text/plain") ? 3 : names(&range, "text/*") ? 2 : 0;
        rank = rank == 0 && names(&range, "*/*") ? 1 : rank;
        if (rank > plain_rank || (rank == plain_rank && rank > 0 && range.quality > plain)) {
            plain = range.quality;
            plain_rank = rank;
        }
    }
    /* At equal quality, a named format wins over one that only a wildcard covers. */
    return openmetrics > plain || (openmetrics > 0 && openmetrics == plain && plain_rank < 3);
}

bool sw_http_wants_html(const char *accept)
{
    double html = 0, plain = 0;
    while (accept != NULL) {
        struct media_range range;
        accept = next_range(accept, &range);
        html = names(&range, "text/html") ? range.quality : html;
        plain = names(&range, "text/plain") ? range.quality : plain;
    }
    return html > 0 && html >= plain;
}
