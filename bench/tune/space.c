/* SPDX-License-Identifier: MIT
 *
 * space.c - reads a kernel's comments.
 *
 *   %TUNES% table/robin_hood/cuda/get.cu            the file that has the parameters
 *   %AXIS% Slot{ct} {64,128}                         a workload axis
 *   %RANGE% SW_GET_KEYS kif {1,2,4,8}                a parameter, by its values
 *   %RANGE% SW_GET_BLOCK tpb 64:512:64 Operation{ct}=[plain]      by a range; only there
 */
#include "bench/tune/space.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A line and its place, for messages. */
struct line {
    const char *file;
    uint32_t number;
    char text[1024];
};

bool sw_tune_refuse(struct sw_tune_reason *reason, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason->text, sizeof(reason->text), format, arguments);
    va_end(arguments);
    return false;
}

size_t sw_tune_word_length(const char *text)
{
    return strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_^.-");
}

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t");
}

/* Copies the word at *text and moves behind it and the blanks after it. */
static bool take_word(const char **text, char out[SW_TUNE_NAME_MAX])
{
    size_t length = sw_tune_word_length(*text);
    if (length == 0 || length >= SW_TUNE_NAME_MAX) {
        return false;
    }
    memcpy(out, *text, length);
    out[length] = '\0';
    *text = skip_blanks(*text + length);
    return true;
}

const char *sw_tune_list_parse(const char *text, char open, char close,
                               char values[][SW_TUNE_NAME_MAX], uint32_t *count,
                               struct sw_tune_reason *reason)
{
    *count = 0;
    if (*text != open) {
        (void)sw_tune_refuse(reason, "a list begins with %c", open);
        return NULL;
    }
    do {
        text = skip_blanks(text + 1);
        if (*count == SW_TUNE_VALUES_MAX) {
            (void)sw_tune_refuse(reason, "a list has at most %d values", SW_TUNE_VALUES_MAX);
            return NULL;
        }
        if (!take_word(&text, values[*count])) {
            (void)sw_tune_refuse(reason, "a value of the list is missing or too long");
            return NULL;
        }
        for (uint32_t i = 0; i < *count; i++) {
            if (strcmp(values[i], values[*count]) == 0) {
                (void)sw_tune_refuse(reason, "%s is in the list twice", values[i]);
                return NULL;
            }
        }
        ++*count;
    } while (*text == ',');
    if (*text != close) {
        (void)sw_tune_refuse(reason, "a list has commas between its values and ends with %c",
                             close);
        return NULL;
    }
    return text + 1;
}

static bool parse_integer(const char *text, int64_t *out)
{
    char *end = NULL;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return errno == 0 && end != text && *end == '\0';
}

/* first:last:step */
static bool parse_steps(const char *text, struct sw_tune_parameter *parameter,
                        struct sw_tune_reason *reason)
{
    long long first = 0;
    long long last = 0;
    long long step = 0;
    int used = 0;
    if (sscanf(text, "%lld:%lld:%lld%n", &first, &last, &step, &used) != 3 || text[used] != '\0') {
        return sw_tune_refuse(reason, "a range is first:last:step or {a,b,c}, not \"%s\"", text);
    }
    if (step <= 0 || last < first || (last - first) / step >= SW_TUNE_VALUES_MAX) {
        return sw_tune_refuse(reason,
                              "the range %s does not go up from first to last in at most %d values",
                              text, SW_TUNE_VALUES_MAX);
    }
    for (long long value = first; value <= last; value += step) {
        parameter->values[parameter->count++] = value;
    }
    return true;
}

static bool parse_values(const char **text, struct sw_tune_parameter *parameter,
                         struct sw_tune_reason *reason)
{
    char words[SW_TUNE_VALUES_MAX][SW_TUNE_NAME_MAX];
    if (**text != '{') {
        char range[SW_TUNE_NAME_MAX];
        size_t length = strcspn(*text, " \t");
        snprintf(range, sizeof(range), "%.*s", (int)length, *text);
        *text = skip_blanks(*text + length);
        return parse_steps(range, parameter, reason);
    }
    const char *after = sw_tune_list_parse(*text, '{', '}', words, &parameter->count, reason);
    if (after == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < parameter->count; i++) {
        if (!parse_integer(words[i], &parameter->values[i])) {
            return sw_tune_refuse(reason, "%s is not an integer", words[i]);
        }
    }
    *text = skip_blanks(after);
    return true;
}

static bool is_label(const char *label)
{
    return label[0] >= 'a' && label[0] <= 'z' &&
           label[strspn(label, "abcdefghijklmnopqrstuvwxyz0123456789")] == '\0';
}

static bool take_range(struct sw_tune_space *space, const char *text, struct sw_tune_reason *reason)
{
    struct sw_tune_parameter *parameter = &space->parameters[space->parameter_count];
    if (space->parameter_count == SW_TUNE_PARAMETERS_MAX) {
        return sw_tune_refuse(reason, "a kernel has at most %d parameters", SW_TUNE_PARAMETERS_MAX);
    }
    memset(parameter, 0, sizeof(*parameter));
    if (!take_word(&text, parameter->name) || !take_word(&text, parameter->label)) {
        return sw_tune_refuse(reason, "it is %%RANGE%% NAME label range");
    }
    if (!is_label(parameter->label)) {
        return sw_tune_refuse(reason, "the label %s is not of small letters and digits",
                              parameter->label);
    }
    for (uint32_t p = 0; p < space->parameter_count; p++) {
        if (strcmp(space->parameters[p].label, parameter->label) == 0 ||
            strcmp(space->parameters[p].name, parameter->name) == 0) {
            return sw_tune_refuse(reason, "%s %s: another parameter has the name or the label",
                                  parameter->name, parameter->label);
        }
    }
    if (!parse_values(&text, parameter, reason)) {
        return false;
    }
    if (*text != '\0') {
        parameter->is_limited = true;
        if (!sw_tune_filter_parse(text, &parameter->only, reason)) {
            return false;
        }
    }
    space->parameter_count++;
    return true;
}

/* The mark behind an axis' name; none is that of {rt}. A list, in braces too, has another {. */
static bool take_kind(const char **text, enum sw_tune_axis_kind *kind)
{
    static const struct {
        const char *mark;
        enum sw_tune_axis_kind kind;
    } marks[] = {{"{ct}", SW_TUNE_COMPILED}, {"{io}", SW_TUNE_ORDERED}, {"{rt}", SW_TUNE_RUN}};
    *kind = SW_TUNE_RUN;
    for (size_t m = 0; m < sizeof(marks) / sizeof(marks[0]); m++) {
        if (strncmp(*text, marks[m].mark, 4) == 0) {
            *kind = marks[m].kind;
            *text = skip_blanks(*text + 4);
            return true;
        }
    }
    return **text != '{' || strchr(*text + 1, '{') == NULL;
}

static bool take_axis(struct sw_tune_space *space, const char *text, struct sw_tune_reason *reason)
{
    struct sw_tune_axis *axis = &space->axes[space->axis_count];
    if (space->axis_count == SW_TUNE_AXES_MAX) {
        return sw_tune_refuse(reason, "a kernel has at most %d axes", SW_TUNE_AXES_MAX);
    }
    memset(axis, 0, sizeof(*axis));
    if (!take_word(&text, axis->name)) {
        return sw_tune_refuse(reason, "it is %%AXIS%% Name {a,b,c}");
    }
    if (!take_kind(&text, &axis->kind)) {
        return sw_tune_refuse(reason, "what follows %s is {ct}, {io}, {rt} or nothing, then {a,b}",
                              axis->name);
    }
    for (uint32_t a = 0; a < space->axis_count; a++) {
        if (strcmp(space->axes[a].name, axis->name) == 0) {
            return sw_tune_refuse(reason, "there is an axis %s already", axis->name);
        }
    }
    text = sw_tune_list_parse(text, '{', '}', axis->values, &axis->count, reason);
    if (text == NULL) {
        return false;
    }
    if (*skip_blanks(text) != '\0') {
        return sw_tune_refuse(reason, "\"%s\" is behind the list", skip_blanks(text));
    }
    space->axis_count++;
    return true;
}

/* #define NAME value, of a parameter: its base. */
static bool take_define(struct sw_tune_space *space, const struct line *line, bool *has_base,
                        struct sw_tune_reason *reason)
{
    const char *text = skip_blanks(line->text);
    char name[SW_TUNE_NAME_MAX];
    char value[SW_TUNE_NAME_MAX];
    if (*text != '#' || strncmp(text = skip_blanks(text + 1), "define", 6) != 0) {
        return true;
    }
    text = skip_blanks(text + 6);
    if (!take_word(&text, name)) {
        return true;
    }
    for (uint32_t p = 0; p < space->parameter_count; p++) {
        if (strcmp(space->parameters[p].name, name) != 0) {
            continue;
        }
        if (has_base[p]) {
            return sw_tune_refuse(reason, "%s:%u: %s is defined twice: which is base?", line->file,
                                  line->number, name);
        }
        if (!take_word(&text, value) || !parse_integer(value, &space->parameters[p].base)) {
            return sw_tune_refuse(reason, "%s:%u: the value of %s is not an integer", line->file,
                                  line->number, name);
        }
        has_base[p] = true;
    }
    return true;
}

/* The rest of the line after `mark`, without the end of its comment; NULL if it has none. */
static char *after_mark(struct line *line, const char *mark)
{
    char *text = strstr(line->text, mark);
    if (text == NULL) {
        return NULL;
    }
    text += strlen(mark);
    char *end = strstr(text, "*/");
    if (end != NULL) {
        *end = '\0';
    }
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r\n", text[length - 1]) != NULL) {
        text[--length] = '\0';
    }
    return text;
}

/* Reads one line. Reasons do not contain file and line here. */
static bool take_line(struct sw_tune_space *space, struct line *line, struct sw_tune_reason *reason)
{
    char *text = after_mark(line, "%RANGE%");
    if (text != NULL) {
        return take_range(space, text, reason);
    }
    text = after_mark(line, "%AXIS%");
    if (text != NULL) {
        return take_axis(space, text, reason);
    }
    text = after_mark(line, "%TUNES%");
    if (text == NULL) {
        return true;
    }
    if (strcmp(space->tunes, space->file) != 0 || text[0] == '\0' ||
        strlen(text) >= SW_TUNE_TEXT_MAX) {
        return sw_tune_refuse(reason, "it is %%TUNES%% and one file");
    }
    snprintf(space->tunes, sizeof(space->tunes), "%s", text);
    return true;
}

/* Reads a file line by line: its comments, or (has_base not NULL) its #define lines. */
static bool read_file(struct sw_tune_space *space, const char *name, bool *has_base,
                      struct sw_tune_reason *reason)
{
    struct line line = {.file = name};
    struct sw_tune_reason why;
    bool good = true;
    FILE *file = fopen(name, "r");
    if (file == NULL) {
        return sw_tune_refuse(reason, "%s cannot be read: %s", name, strerror(errno));
    }
    while (good && fgets(line.text, sizeof(line.text), file) != NULL) {
        line.number++;
        if (has_base != NULL) {
            good = take_define(space, &line, has_base, reason);
        } else if (!take_line(space, &line, &why)) {
            good = sw_tune_refuse(reason, "%s:%u: %s", name, line.number, why.text);
        }
    }
    (void)fclose(file);
    return good;
}

static bool check_space(const struct sw_tune_space *space, const bool *has_base,
                        struct sw_tune_reason *reason)
{
    struct sw_tune_reason why;
    if (space->parameter_count == 0) {
        return sw_tune_refuse(reason, "%s has no %%RANGE%% comment, so there is nothing to tune",
                              space->tunes);
    }
    for (uint32_t p = 0; p < space->parameter_count; p++) {
        const struct sw_tune_parameter *parameter = &space->parameters[p];
        if (!has_base[p]) {
            return sw_tune_refuse(reason, "%s has no line \"#define %s value\", so it has no base",
                                  space->tunes, parameter->name);
        }
        if (parameter->is_limited && !sw_tune_filter_fits(&parameter->only, space, &why)) {
            return sw_tune_refuse(reason, "%s: %%RANGE%% %s: %s", space->tunes, parameter->name,
                                  why.text);
        }
    }
    if (sw_tune_point_count(space, true) > SW_TUNE_POINTS_MAX ||
        sw_tune_point_count(space, false) > SW_TUNE_POINTS_MAX) {
        return sw_tune_refuse(reason, "%s has more than %d workloads", space->file,
                              SW_TUNE_POINTS_MAX);
    }
    for (uint32_t w = 0; w < sw_tune_point_count(space, true); w++) {
        if (sw_tune_variant_count(space, w) > SW_TUNE_VARIANTS_MAX) {
            return sw_tune_refuse(reason, "%s has more than %d variants of one workload",
                                  space->tunes, SW_TUNE_VARIANTS_MAX);
        }
    }
    return true;
}

static bool read_space(struct sw_tune_space *space, struct sw_tune_reason *reason)
{
    bool has_base[SW_TUNE_PARAMETERS_MAX] = {false};
    if (!read_file(space, space->file, NULL, reason)) {
        return false;
    }
    if (strcmp(space->tunes, space->file) != 0 && !read_file(space, space->tunes, NULL, reason)) {
        return false;
    }
    return read_file(space, space->tunes, has_base, reason) && check_space(space, has_base, reason);
}

bool sw_tune_space_read(const char *file, struct sw_tune_space **out, struct sw_tune_reason *reason)
{
    struct sw_tune_space *space = calloc(1, sizeof(*space));
    const char *base = strrchr(file, '/');
    *out = NULL;
    base = base != NULL ? base + 1 : file;
    size_t length = strcspn(base, ".");
    if (space == NULL) {
        return sw_tune_refuse(reason, "not enough memory");
    }
    if (length == 0 || length >= sizeof(space->kernel) || strlen(file) >= sizeof(space->file)) {
        free(space);
        return sw_tune_refuse(reason, "%s is no name for a kernel", file);
    }
    memcpy(space->kernel, base, length);
    snprintf(space->file, sizeof(space->file), "%s", file);
    snprintf(space->tunes, sizeof(space->tunes), "%s", file);
    if (!read_space(space, reason)) {
        free(space);
        return false;
    }
    *out = space;
    return true;
}
