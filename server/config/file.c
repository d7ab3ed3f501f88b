/* SPDX-License-Identifier: MIT
 *
 * file.c - the configuration file: [section] and name = value lines, by libinih.
 *
 * libinih parses the lines, but this file reads them: libinih would cut lines at 200 bytes, take an
 * indented line for the continuation of the one before, skip empty sections, and not tell its
 * handler the number of a line.
 */
#include <errno.h>
#include <ini.h>
#include <stdarg.h>
#include <string.h>

#include "proto/regular_file.h"
#include "server/config/redis_options.h"

/* No configuration is as large as this. The limit stops the reading of a file that was named by
 * mistake. */
#define FILE_BYTES_MAX (1U << 20)

struct file_reader {
    FILE *file;
    const char *path;
    const struct sw_table_lines *lines; /* of tables; NULL: the other sections are read */
    char table[SW_TABLE_SECTION_BYTES]; /* of the section [table NAME]; "": another section */
    struct sw_config *config;
    unsigned line;
    unsigned *set_at_line; /* for each option the line in which it was set; 0: none */
    size_t bytes;          /* bytes read so far */
    bool bad;
    char *error;
    size_t error_bytes;
};

__attribute__((format(printf, 2, 3))) static void fail(struct file_reader *reader,
                                                       const char *format, ...)
{
    int used = 0;
    va_list arguments;
    if (reader->bad) {
        return; /* only the first error is reported */
    }
    reader->bad = true;
    used = reader->line > 0
               ? snprintf(reader->error, reader->error_bytes, "%s:%u: ", reader->path, reader->line)
               : snprintf(reader->error, reader->error_bytes, "%s: ", reader->path);
    if (used > 0 && (size_t)used < reader->error_bytes) {
        va_start(arguments, format);
        vsnprintf(reader->error + used, reader->error_bytes - (size_t)used, format, arguments);
        va_end(arguments);
    }
}

/* Returns how many bytes of a text an error shows as a name: at most 64, up to the first blank. The
 * rest may be a password: "requirepass my=secret" is a line of redis. */
static int name_size(const char *text)
{
    size_t size = strcspn(text, " \t");
    return (int)(size < 64 ? size : 64);
}

/* Passes a line of [table NAME] to the reader of tables, or skips it. `option` NULL: the section.
 */
static void take_table_line(struct file_reader *reader, const char *option, const char *value)
{
    char why[SW_CONFIG_ERROR_BYTES / 2];
    const struct sw_table_lines *lines = reader->lines;
    if (lines != NULL && lines->take(lines->context, reader->table, reader->line, option, value,
                                     why, sizeof(why)) != 0) {
        fail(reader, "%s", why);
    }
}

/* Reads the NAME of "table NAME". Returns false if the section has another form. */
static bool is_of_a_table(struct file_reader *reader, const char *section)
{
    const size_t head = strlen("table");
    const char *name = section + head;
    reader->table[0] = '\0';
    if (strncmp(section, "table", head) != 0 || strspn(name, " \t") == 0) {
        return false;
    }
    name += strspn(name, " \t");
    size_t size = strlen(name);
    while (size > 0 && (name[size - 1] == ' ' || name[size - 1] == '\t')) {
        size--;
    }
    if (size == 0) {
        return false;
    }
    if (size >= sizeof(reader->table)) {
        fail(reader, "a table's name has at most %zu bytes", sizeof(reader->table) - 1);
        return true;
    }
    memcpy(reader->table, name, size);
    reader->table[size] = '\0';
    return true;
}

static void check_section(struct file_reader *reader, char *line)
{
    char *end = strchr(line, ']');
    if (end == NULL) {
        fail(reader, "a section is missing its ']'");
        return;
    }
    *end = '\0';
    if (is_of_a_table(reader, line + 1)) {
        take_table_line(reader, NULL, NULL);
    } else if (!sw_section_known(line + 1)) {
        char name[64];
        snprintf(name, sizeof(name), "%.*s", name_size(line + 1), line + 1);
        const char *nearest = sw_section_nearest(name);
        if (nearest == NULL) {
            fail(reader, "unknown section [%s]: --print-template prints the sections", name);
        } else {
            fail(reader, "unknown section [%s]; did you mean [%s]?", name, nearest);
        }
    }
    *end = ']';
}

/* Reports a name that is no option. `name` ends at its first blank. */
static void fail_unknown(struct file_reader *reader, const char *name)
{
    const struct sw_option *nearest = sw_option_nearest(name);
    struct sw_redis_option redis;
    char advice[SW_CONFIG_ERROR_BYTES / 2];
    if (sw_redis_option_find(name, &redis)) {
        sw_redis_option_advise(&redis, false, advice, sizeof(advice));
        fail(reader, "'%s' is an option of redis: %s", name, advice);
    } else if (nearest == NULL) {
        fail(reader, "unknown option '%s': --print-template prints the options", name);
    } else {
        fail(reader, "unknown option '%s'; did you mean '%s' in [%s]?", name, nearest->name,
             nearest->section);
    }
}

/* Reports an option that is written as in redis.conf: a name, blanks and a value. The value is
 * shown if it cannot be a secret. */
static void fail_form(struct file_reader *reader, const struct sw_option *option, const char *line)
{
    const char *value = line + name_size(line);
    value += strspn(value, " \t");
    int size = (int)strcspn(value, "\r\n");
    const bool is_word = size > 0 && size <= 64 && strcspn(value, " \t") >= (size_t)size;
    const bool is_plain = option->type != SW_OPTION_TEXT && strpbrk(value, "=:\"'") == NULL;
    const bool is_save = option == sw_option_at(SW_OPTION_AT_save) && size > 0 && size <= 64 &&
                         strspn(value, "0123456789 ") >= (size_t)size;
    if (!is_save && !(is_word && is_plain)) {
        value = option->metavar;
        size = (int)strlen(value);
    }
    fail(reader, "an option and its value have '=' between them: write '%s = %.*s' in [%s]",
         option->name, size, value, option->section);
}

/* Reports a line that begins with a name and then a blank or the end, if the name is an option
 * here or in redis. */
static void check_form(struct file_reader *reader, const char *line)
{
    char name[65];
    snprintf(name, sizeof(name), "%.*s", name_size(line), line);
    name[strcspn(name, "\r\n")] = '\0';
    const char *rest = line + strlen(name);
    rest += strspn(rest, " \t");
    const struct sw_option *option = sw_option_find(name);
    struct sw_redis_option redis;
    if (*rest == '=' || *rest == ':' || strpbrk(name, "=:;#") != NULL) {
        return;
    }
    if (option != NULL) {
        fail_form(reader, option, line);
    } else if (sw_redis_option_find(name, &redis)) {
        fail_unknown(reader, name);
    }
}

/* Reads the next line with its newline, and ends it with a NUL. Returns its size, or 0 at the end
 * of the file and after an error. */
static size_t read_bytes(struct file_reader *reader, char *out, size_t out_bytes)
{
    size_t size = 0;
    int byte = getc(reader->file);
    if (byte == EOF) {
        return 0;
    }
    reader->line++;
    for (; byte != EOF; byte = getc(reader->file)) {
        if (byte == '\0') {
            fail(reader, "the file has a NUL byte: it is not a text file");
            return 0;
        }
        if (++reader->bytes > FILE_BYTES_MAX) {
            fail(reader, "the file is larger than %u KiB", FILE_BYTES_MAX >> 10);
            return 0;
        }
        if (size + 2 == out_bytes && byte != '\n') {
            fail(reader, "the line is longer than %zu bytes", out_bytes - 2);
            return 0;
        }
        out[size++] = (char)byte;
        if (byte == '\n') {
            break;
        }
    }
    out[size] = '\0';
    return size;
}

/* The reader for libinih, which behaves as fgets: it returns the next line, without its
 * indentation, or NULL at the end of the file and after an error. */
static char *read_line(char *out, int out_bytes, void *context)
{
    struct file_reader *reader = context;
    size_t size = reader->bad ? 0 : read_bytes(reader, out, (size_t)out_bytes);
    if (size == 0) {
        return NULL;
    }
    size_t skip = strspn(out, " \t");
    memmove(out, out + skip, size - skip + 1);
    if (out[0] == '[') {
        check_section(reader, out);
    } else {
        check_form(reader, out);
    }
    return reader->bad ? NULL : out;
}

/* Reports a value that has quotes or a comment of redis.conf. Neither has a meaning here, so they
 * would be a part of a path. */
static void check_value(struct file_reader *reader, const char *name, const char *value)
{
    const size_t size = strlen(value);
    const char *mark = strchr(value, '#');
    while (mark != NULL && (mark == value || (mark[-1] != ' ' && mark[-1] != '\t'))) {
        mark = strchr(mark + 1, '#');
    }
    const bool has_quotes =
        size >= 2 && (value[0] == '"' || value[0] == '\'') && value[size - 1] == value[0];
    if (has_quotes && size == 2) {
        fail(reader, "option '%s': write an empty value without quotes: 'name ='", name);
    } else if (has_quotes) {
        fail(reader, "option '%s': write the value without quotes", name);
    } else if (mark != NULL) {
        fail(reader, "option '%s': a comment after a value begins with ';', not with '#'", name);
    }
}

static int on_value(void *context, const char *section, const char *name, const char *value)
{
    struct file_reader *reader = context;
    const struct sw_option *option = sw_option_find(name);
    char why[SW_CONFIG_ERROR_BYTES / 2];
    if (reader->table[0] != '\0') {
        check_value(reader, name, value);
        take_table_line(reader, name, value);
        return !reader->bad;
    }
    if (reader->lines != NULL) {
        return 1;
    }
    if (option == NULL) {
        char shown[65];
        snprintf(shown, sizeof(shown), "%.*s", name_size(name), name);
        fail_unknown(reader, shown);
        return 0;
    }
    check_value(reader, name, value);
    if (reader->bad) {
        return 0;
    }
    if (strcmp(option->section, section) != 0) {
        fail(reader, "option '%s' belongs in section [%s]", name, option->section);
        return 0;
    }
    unsigned *set_at = &reader->set_at_line[option - sw_option_at(0)];
    if (*set_at != 0) {
        fail(reader, "option '%s' was already set in line %u", name, *set_at);
        return 0;
    }
    *set_at = reader->line;
    if (sw_option_set(option, value, reader->config, why, sizeof(why)) != 0) {
        fail(reader, "%s", why);
        return 0;
    }
    return 1;
}

static int read_file(struct file_reader *reader)
{
    reader->file = sw_fopen_regular(reader->path);
    if (reader->file == NULL) {
        fail(reader, "cannot be opened: %s: name a file that this user can read",
             sw_file_error(errno));
        return -1;
    }
    const int bad_line = ini_parse_stream(read_line, reader, on_value, reader);
    if (ferror(reader->file)) {
        fail(reader, "cannot be read: %s", strerror(errno));
    } else if (bad_line != 0 && !reader->bad) {
        reader->line = bad_line > 0 ? (unsigned)bad_line : reader->line;
        fail(reader, "the line is neither [section], name = value nor a comment (# or ;)");
    }
    fclose(reader->file);
    return reader->bad ? -1 : 0;
}

int sw_config_read_file(const char *path, struct sw_config *config,
                        unsigned set_at_line[SW_OPTION_COUNT], char *error, size_t error_bytes)
{
    unsigned lines[SW_OPTION_COUNT];
    struct file_reader reader = {.path = path,
                                 .config = config,
                                 .set_at_line = set_at_line != NULL ? set_at_line : lines,
                                 .error = error,
                                 .error_bytes = error_bytes};
    memset(reader.set_at_line, 0, sizeof(lines));
    return read_file(&reader);
}

int sw_config_read_tables(const char *path, const struct sw_table_lines *lines, char *error,
                          size_t error_bytes)
{
    struct file_reader reader = {
        .path = path, .lines = lines, .error = error, .error_bytes = error_bytes};
    return read_file(&reader);
}
