/* SPDX-License-Identifier: MIT
 *
 * pairs.c - reads and writes files of key,value pairs in batches.
 */
#include "client/cli/pairs.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "client/cli/numbers.h"
#include "proto/decimal.h"
#include "proto/value_type.h"

/* Moves the unread bytes to the start of the buffer, and fills the rest from the file. */
static void fill(struct sw_cli_pairs_reader *reader)
{
    size_t left = reader->end - reader->begin;
    memmove(reader->buffer, reader->buffer + reader->begin, left);
    reader->begin = 0;
    reader->end = left;
    while (!reader->ended && reader->end < sizeof(reader->buffer)) {
        ssize_t got =
            read(reader->fd, reader->buffer + reader->end, sizeof(reader->buffer) - reader->end);
        if (got > 0) {
            reader->end += (size_t)got;
            reader->read_bytes += (uint64_t)got;
        } else if (got == 0 || errno != EINTR) {
            reader->error = got == 0 ? 0 : errno;
            reader->ended = true;
        }
    }
}

/* Prints at most 60 bytes of a line, with dots for characters that are not printable. */
static void show(FILE *out, const uint8_t *line, size_t size)
{
    for (size_t i = 0; i < size && i < 60; i++) {
        fputc(line[i] >= ' ' && line[i] <= '~' ? line[i] : '.', out);
    }
    fputs(size > 60 ? "..." : "", out);
}

static void report(struct sw_cli_pairs_reader *reader, const char *what, const uint8_t *line,
                   size_t size)
{
    reader->bad++;
    fprintf(reader->messages, "%s:%" PRIu64 ": %s: \"", reader->name, reader->line, what);
    show(reader->messages, line, size);
    fprintf(reader->messages, "\"\n");
}

static size_t line_bytes_max(const struct sw_cli_pairs_reader *reader)
{
    return reader->has_rows ? SW_CLI_ROW_LINE_BYTES_MAX : SW_CLI_PAIRS_LINE_BYTES_MAX;
}

/* Finds the next line, without its newline; *size is SIZE_MAX if it is too long. Returns false at
 * the end of the file. */
static bool next_line(struct sw_cli_pairs_reader *reader, const uint8_t **line, size_t *size)
{
    const size_t most = line_bytes_max(reader);
    if (reader->end - reader->begin <= most && !reader->ended) {
        fill(reader);
    }
    size_t have = reader->end - reader->begin;
    if (have == 0 || reader->error != 0) {
        return false;
    }
    size_t search = have < most ? have : most;
    *line = reader->buffer + reader->begin;
    const uint8_t *newline = memchr(*line, '\n', search);
    reader->line++;
    if (newline == NULL && search < have) {
        *size = SIZE_MAX;
        return true;
    }
    *size = newline == NULL ? have : (size_t)(newline - *line);
    reader->begin += *size + (newline != NULL);
    return true;
}

struct field {
    const uint8_t *text;
    size_t size;
};

static struct field trim(const uint8_t *text, size_t size)
{
    while (size > 0 && (text[0] == ' ' || text[0] == '\t')) {
        text++;
        size--;
    }
    while (size > 0 && (text[size - 1] == ' ' || text[size - 1] == '\t')) {
        size--;
    }
    return (struct field){text, size};
}

/* Removes the double quotes around a field, if it has them. */
static struct field unquote(struct field field)
{
    if (field.size >= 2 && field.text[0] == '"' && field.text[field.size - 1] == '"') {
        return trim(field.text + 1, field.size - 2);
    }
    return field;
}

static struct field without_byte_order_mark(struct field line)
{
    static const uint8_t mark[] = {0xEF, 0xBB, 0xBF};
    if (line.size >= sizeof(mark) && memcmp(line.text, mark, sizeof(mark)) == 0) {
        return trim(line.text + sizeof(mark), line.size - sizeof(mark));
    }
    return line;
}

/* Returns what is wrong with a line that has no comma. */
static const char *why_no_pair(struct field line)
{
    if (line.text[0] == '#') {
        return "not key,value (comments are not read: remove them)";
    }
    if (memchr(line.text, '\t', line.size) != NULL) {
        return "not key,value (the fields are separated by a tab: use a comma)";
    }
    if (memchr(line.text, ';', line.size) != NULL) {
        return "not key,value (the fields are separated by a semicolon: use a comma)";
    }
    return "not key,value";
}

/* Reports that the reader took the first line as a header, in case the user meant a pair. */
static void report_header(const struct sw_cli_pairs_reader *reader, struct field line)
{
    if (!reader->quiet) {
        fprintf(reader->messages, "%s:1: taken as a header, not as a pair: \"", reader->name);
        show(reader->messages, line.text, line.size);
        fprintf(reader->messages, "\"\n");
    }
}

/* Returns an error text for characters that no line may have, or NULL. */
static const char *why_no_line(struct field line)
{
    if (memchr(line.text, '\0', line.size) != NULL) {
        return "the line has a NUL byte (write the file as UTF-8, not UTF-16)";
    }
    if (memchr(line.text, '\r', line.size) != NULL) {
        return "the line has a carriage return before its end (end lines with a newline)";
    }
    return NULL;
}

static bool looks_like_a_number(struct field field)
{
    return field.size > 0 && ((field.text[0] >= '0' && field.text[0] <= '9') ||
                              field.text[0] == '-' || field.text[0] == '+');
}

/* Returns what is wrong with a value, or NULL. */
static const char *take_value(const struct sw_cli_pairs_reader *reader, struct field field,
                              void *value)
{
    uint64_t number = 0;
    if (reader->has_rows) {
        return sw_cli_row_read(&reader->rows, field.text, field.size, value);
    }
    if (!sw_decimal_parse(field.text, field.size, sw_cli_width_max(reader->value_bytes), &number)) {
        return memchr(field.text, ',', field.size) != NULL
                   ? "not key,value (the line has more than two fields)"
                   : "the value is not an unsigned integer or out of range";
    }
    sw_cli_number_put(value, reader->value_bytes, 0, number);
    return NULL;
}

/* Parses one CSV line. Returns true if it holds a pair, false if it is skipped or bad. */
static bool take_line(struct sw_cli_pairs_reader *reader, const uint8_t *line, size_t size,
                      uint64_t *key, void *value)
{
    size -= size > 0 && line[size - 1] == '\r';
    struct field whole = trim(line, size);
    if (reader->line == 1) {
        whole = without_byte_order_mark(whole);
    }
    if (whole.size == 0) {
        return false;
    }
    const char *wrong = why_no_line(whole);
    if (wrong != NULL) {
        report(reader, wrong, whole.text, whole.size);
        return false;
    }
    const bool is_set = reader->has_rows && reader->rows.value_type == SW_TYPE_NONE;
    const uint8_t *end = whole.text + whole.size;
    const uint8_t *comma = memchr(whole.text, ',', whole.size);
    if (comma == NULL && !is_set) {
        report(reader, why_no_pair(whole), whole.text, whole.size);
        return false;
    }
    comma = comma == NULL ? end : comma;
    struct field first = unquote(trim(whole.text, (size_t)(comma - whole.text)));
    struct field second = {end, 0};
    if (comma < end) {
        second = unquote(trim(comma + 1, (size_t)(end - comma) - 1));
    }
    wrong = take_value(reader, second, value);
    /* Hex digits may look like a name. So a first line with a value is a pair with a bad key. */
    bool header = reader->line == 1 && !looks_like_a_number(first) &&
                  !looks_like_a_number(second) && (wrong != NULL || is_set);
    if (header && first.size > 0 && (second.size > 0 || is_set)) {
        report_header(reader, whole);
        return false;
    }
    if (!sw_decimal_parse(first.text, first.size, sw_cli_width_max(reader->key_bytes), key)) {
        report(reader, "the key is not an unsigned integer or out of range", whole.text,
               whole.size);
        return false;
    }
    if (wrong != NULL) {
        report(reader, wrong, whole.text, whole.size);
    }
    return wrong == NULL;
}

static size_t read_csv(struct sw_cli_pairs_reader *reader, void *keys, void *values, size_t max)
{
    size_t count = 0;
    const uint8_t *line;
    size_t size;
    while (count < max && reader->bad < SW_CLI_PAIRS_BAD_MAX && next_line(reader, &line, &size)) {
        uint64_t key;
        void *value = (uint8_t *)values + count * reader->value_bytes;
        if (size == SIZE_MAX) {
            report(reader, "the line is too long", line, line_bytes_max(reader));
            reader->ended = true;
            reader->end = reader->begin;
        } else if (take_line(reader, line, size, &key, value)) {
            sw_cli_number_put(keys, reader->key_bytes, count, key);
            count++;
        }
    }
    return count;
}

static size_t read_binary(struct sw_cli_pairs_reader *reader, void *keys, void *values, size_t max)
{
    size_t pair_bytes = reader->key_bytes + reader->value_bytes;
    size_t count = 0;
    while (count < max) {
        if (reader->end - reader->begin < pair_bytes) {
            fill(reader);
        }
        size_t have = reader->end - reader->begin;
        if (have < pair_bytes || reader->error != 0) {
            if (have > 0 && reader->error == 0) {
                fprintf(
                    reader->messages,
                    "%s: ends within pair %" PRIu64
                    ", which has %zu of %zu bytes: check that the widths are the server's (INFO)\n",
                    reader->name, reader->line + 1, have, pair_bytes);
                reader->bad++;
                reader->end = reader->begin;
            }
            break;
        }
        const uint8_t *pair = reader->buffer + reader->begin;
        memcpy((uint8_t *)keys + count * reader->key_bytes, pair, reader->key_bytes);
        memcpy((uint8_t *)values + count * reader->value_bytes, pair + reader->key_bytes,
               reader->value_bytes);
        reader->begin += pair_bytes;
        reader->line++;
        count++;
    }
    return count;
}

size_t sw_cli_pairs_read(struct sw_cli_pairs_reader *reader, void *keys, void *values, size_t max)
{
    return reader->format == SW_CLI_FORMAT_CSV ? read_csv(reader, keys, values, max)
                                               : read_binary(reader, keys, values, max);
}

bool sw_cli_pairs_write(FILE *out, enum sw_cli_format format, uint32_t key_bytes,
                        uint32_t value_bytes, const void *keys, const void *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint8_t *key = (const uint8_t *)keys + i * key_bytes;
        const uint8_t *value = (const uint8_t *)values + i * value_bytes;
        bool written;
        if (format == SW_CLI_FORMAT_CSV) {
            char line[2 * SW_DECIMAL_DIGITS_MAX + 2];
            size_t size = sw_decimal_format(sw_cli_number_at(keys, key_bytes, i), line);
            line[size++] = ',';
            size += sw_decimal_format(sw_cli_number_at(values, value_bytes, i), line + size);
            line[size++] = '\n';
            written = fwrite_unlocked(line, 1, size, out) == size;
        } else {
            written = fwrite_unlocked(key, 1, key_bytes, out) == key_bytes &&
                      fwrite_unlocked(value, 1, value_bytes, out) == value_bytes;
        }
        if (!written) {
            return false;
        }
    }
    return true;
}
