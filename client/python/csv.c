/* SPDX-License-Identifier: MIT
 *
 * csv.c - reads key,value lines into arrays.
 */
#include "client/python/csv.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The longest number, in bytes. */
#define NUMBER_MAX 1100

struct field {
    const char *at;
    size_t size;
};

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static struct field trim(struct field field)
{
    while (field.size > 0 && is_space(field.at[0])) {
        field.at++;
        field.size--;
    }
    while (field.size > 0 && is_space(field.at[field.size - 1])) {
        field.size--;
    }
    return field;
}

/* Removes the quotes around a field. A quote elsewhere stays, and makes the field no number. */
static struct field plain(struct field field)
{
    field = trim(field);
    if (field.size >= 2 && field.at[0] == '"' && field.at[field.size - 1] == '"') {
        field.at++;
        field.size -= 2;
    }
    return trim(field);
}

static bool read_digits(struct field field, uint64_t most, uint64_t *out)
{
    uint64_t number = 0;
    for (size_t i = 0; i < field.size; i++) {
        const uint64_t digit = (uint64_t)(field.at[i] - '0');
        if (!is_digit(field.at[i]) || number > (most - digit) / 10) {
            return false;
        }
        number = number * 10 + digit;
    }
    *out = number;
    return field.size > 0;
}

static void put_integer(void *array, size_t i, uint32_t bytes, uint64_t number)
{
    if (bytes == 4) {
        ((uint32_t *)array)[i] = (uint32_t)number;
    } else {
        ((uint64_t *)array)[i] = number;
    }
}

static bool read_unsigned(struct field field, uint32_t bytes, void *array, size_t i)
{
    uint64_t number;
    if (!read_digits(field, bytes == 4 ? UINT32_MAX : UINT64_MAX, &number)) {
        return false;
    }
    put_integer(array, i, bytes, number);
    return true;
}

static bool read_signed(struct field field, uint32_t bytes, void *array, size_t i)
{
    const bool is_negative = field.size > 0 && field.at[0] == '-';
    const uint64_t most = (bytes == 4 ? (uint64_t)INT32_MAX : (uint64_t)INT64_MAX) + is_negative;
    uint64_t number;
    if (is_negative || (field.size > 0 && field.at[0] == '+')) {
        field.at++;
        field.size--;
    }
    if (!read_digits(field, most, &number)) {
        return false;
    }
    put_integer(array, i, bytes, is_negative ? 0 - number : number);
    return true;
}

/* Returns whether the field is inf, infinity or nan, which are numbers of floats. */
static bool is_named_float(struct field field)
{
    static const char *const names[] = {"inf", "infinity", "nan"};
    bool found = false;
    if (field.size > 0 && (field.at[0] == '-' || field.at[0] == '+')) {
        field.at++;
        field.size--;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        found |= field.size == strlen(names[i]) && strncasecmp(field.at, names[i], field.size) == 0;
    }
    return found;
}

/* Returns whether the field is [+-] digits [. digits] [e [+-] digits]. *is_zero: all digits before
 * the exponent are 0. */
static bool is_decimal(struct field field, bool *is_zero)
{
    size_t i = 0, digits = 0, powers = 0;
    *is_zero = true;
    i += i < field.size && (field.at[i] == '-' || field.at[i] == '+');
    for (bool has_point = false; i < field.size; i++) {
        if (is_digit(field.at[i])) {
            digits++;
            *is_zero = *is_zero && field.at[i] == '0';
        } else if (field.at[i] == '.' && !has_point) {
            has_point = true;
        } else {
            break;
        }
    }
    if (digits == 0 || i == field.size) {
        return digits > 0;
    }
    if (field.at[i] != 'e' && field.at[i] != 'E') {
        return false;
    }
    i++;
    i += i < field.size && (field.at[i] == '-' || field.at[i] == '+');
    for (; i < field.size && is_digit(field.at[i]); i++) {
        powers++;
    }
    return powers > 0 && i == field.size;
}

static bool read_float(struct field field, uint32_t bytes, void *array, size_t at, locale_t c)
{
    char text[NUMBER_MAX + 1];
    bool is_zero = false;
    const bool is_named = is_named_float(field);
    if (field.size > NUMBER_MAX || (!is_named && !is_decimal(field, &is_zero))) {
        return false;
    }
    memcpy(text, field.at, field.size);
    text[field.size] = '\0';
    const float narrow = bytes == 4 ? strtof_l(text, NULL, c) : 0;
    const double wide = bytes == 4 ? (double)narrow : strtod_l(text, NULL, c);
    if (!is_named && (!isfinite(wide) || (wide == 0 && !is_zero))) {
        return false;
    }
    if (bytes == 4) {
        ((float *)array)[at] = narrow;
    } else {
        ((double *)array)[at] = wide;
    }
    return true;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Returns whether the field could be the name of a column: it begins with a letter, and does not
 * stand for an absent value. */
static bool is_name(struct field field)
{
    static const char *const absent[] = {"na", "n/a", "nil", "none", "null", "true", "false"};
    bool found = field.size > 0 && (is_letter(field.at[0]) || field.at[0] == '_') &&
                 !is_named_float(field) && memchr(field.at, '\0', field.size) == NULL;
    for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++) {
        found &=
            field.size != strlen(absent[i]) || strncasecmp(field.at, absent[i], field.size) != 0;
    }
    return found;
}

/* Returns whether the field could be a number of base 16. One letter alone is a name. */
static bool is_hex(struct field field)
{
    size_t digits = 0;
    while (digits < field.size &&
           (is_digit(field.at[digits]) || strchr("abcdefABCDEF", field.at[digits]) != NULL)) {
        digits++;
    }
    return field.size > 1 && digits == field.size;
}

static bool is_header(struct field key, struct field value)
{
    return is_name(key) && is_name(value) && !(is_hex(key) && is_hex(value));
}

/* Reads a line without its end. Returns false if it is wrong. */
static bool read_line(struct swpy_csv *csv, struct field line, void *keys, void *values, locale_t c)
{
    const char *comma = memchr(line.at, ',', line.size);
    const size_t left = comma == NULL ? 0 : line.size - (size_t)(comma + 1 - line.at);
    if (comma == NULL || memchr(comma + 1, ',', left) != NULL) {
        csv->status = SWPY_CSV_NOT_A_PAIR;
        return false;
    }
    const struct field key = plain((struct field){line.at, (size_t)(comma - line.at)});
    const struct field value = plain((struct field){comma + 1, left});
    const bool is_first = !csv->has_begun;
    csv->has_begun = true;
    if (is_first && is_header(key, value)) {
        return true;
    }
    if (!read_unsigned(key, csv->key_bytes, keys, csv->count)) {
        csv->status = SWPY_CSV_KEY;
        return false;
    }
    const bool good =
        csv->value_kind == 'u'   ? read_unsigned(value, csv->value_bytes, values, csv->count)
        : csv->value_kind == 'i' ? read_signed(value, csv->value_bytes, values, csv->count)
                                 : read_float(value, csv->value_bytes, values, csv->count, c);
    csv->status = good ? SWPY_CSV_OK : SWPY_CSV_VALUE;
    csv->count += good;
    return good;
}

/* Finds the ends of the lines of a text. */
struct ends {
    const char *end;
    const char *lf; /* the first LF from the line on, or `end` if there is none; NULL: unknown */
    bool is_last;   /* no text follows */
};

/* Returns the end of the line that begins at `at`, or NULL if the text does not have the whole line
 * yet. *bytes: the size of the line's end, LF, CR, or CR LF. */
static const char *line_end(struct ends *ends, const char *at, size_t *bytes)
{
    if (ends->lf == NULL || ends->lf < at) {
        ends->lf = memchr(at, '\n', (size_t)(ends->end - at));
        ends->lf = ends->lf == NULL ? ends->end : ends->lf;
    }
    const char *cr = memchr(at, '\r', (size_t)(ends->lf - at));
    const char *stop = cr != NULL ? cr : ends->lf;
    *bytes = stop == ends->end                                          ? 0
             : cr != NULL && cr + 1 == ends->lf && ends->lf < ends->end ? 2
                                                                        : 1;
    if (!ends->is_last && (stop == ends->end || stop + *bytes == ends->end)) {
        return cr == NULL && stop < ends->end ? stop : NULL; /* an LF may follow the CR */
    }
    return stop;
}

void swpy_csv_read(struct swpy_csv *csv, const char *text, size_t size, void *keys, void *values,
                   size_t room)
{
    locale_t c = csv->value_kind == 'f' ? newlocale(LC_ALL_MASK, "C", NULL) : NULL;
    struct ends ends = {.end = text + size, .is_last = csv->is_last};
    csv->used = 0;
    csv->count = 0;
    csv->status = SWPY_CSV_OK;
    if (csv->value_kind == 'f' && c == NULL) {
        csv->status = SWPY_CSV_NO_MEMORY;
        return;
    }
    while (csv->used < size && csv->count < room) {
        size_t bytes;
        const char *at = text + csv->used, *stop = line_end(&ends, at, &bytes);
        if (stop == NULL) {
            break;
        }
        csv->lines++;
        if (stop > at &&
            !read_line(csv, (struct field){at, (size_t)(stop - at)}, keys, values, c)) {
            break;
        }
        csv->used += (size_t)(stop - at) + bytes;
    }
    if (c != NULL) {
        freelocale(c);
    }
}
