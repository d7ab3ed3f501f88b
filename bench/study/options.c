/* SPDX-License-Identifier: MIT
 *
 * options.c - reads command lines by a table of options.
 */
#include "bench/study/options.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "bench/study/lists.h"
#include "proto/whole_option.h"

/* getopt's values: a letter is its own character, rows without a letter begin here. */
#define ROWS 256
#define HELP 'h'

const char *const sw_study_backends[] = {"cuda", "cpu", NULL};

static void *field_of(const struct sw_study_option *row, void *options)
{
    return (char *)options + row->offset;
}

static uint64_t max_of(const struct sw_study_option *row)
{
    uint64_t most =
        row->kind == SW_STUDY_U32 || row->kind == SW_STUDY_U32S ? UINT32_MAX : UINT64_MAX;
    return row->max != 0 ? row->max : most;
}

/* --- values ----------------------------------------------------------------------------------- */

static bool set_number(const struct sw_study_command *command, const struct sw_study_option *row,
                       void *field, const char *text)
{
    uint64_t value = 0;
    if (command->number != NULL ? !command->number(text, max_of(row), &value) || value < row->min
                                : !sw_study_parse_u64(text, row->min, max_of(row), &value)) {
        return false;
    }
    if (row->kind == SW_STUDY_U32) {
        *(uint32_t *)field = (uint32_t)value;
    } else {
        *(uint64_t *)field = value;
    }
    return true;
}

static bool set_numbers(const struct sw_study_option *row, void *field, uint32_t *count,
                        const char *text)
{
    uint64_t list[SW_STUDY_LIST_MAX];
    uint32_t room = row->room < SW_STUDY_LIST_MAX ? (uint32_t)row->room : SW_STUDY_LIST_MAX;
    bool good = sw_study_parse_u64s(text, row->min, max_of(row), list, room, count);
    for (uint32_t i = 0; good && i < *count; i++) {
        if (row->kind == SW_STUDY_U32S) {
            ((uint32_t *)field)[i] = (uint32_t)list[i];
        } else {
            ((uint64_t *)field)[i] = list[i];
        }
    }
    return good && (*count > 0 || !row->is_filled);
}

static bool set_reals(const struct sw_study_option *row, double *list, uint32_t *count,
                      const char *text)
{
    bool good = sw_study_parse_reals(text, row->least, row->most, list, (uint32_t)row->room, count);
    for (uint32_t i = 0; good && row->is_above && i < *count; i++) {
        good = list[i] > row->least;
    }
    return good && (*count > 0 || !row->is_filled);
}

static bool set_word(const struct sw_study_option *row, void *field, const char *text)
{
    for (unsigned w = 0; row->words[w] != NULL; w++) {
        if (strcmp(text, row->words[w]) == 0) {
            *(unsigned *)field = w; /* an enum has the size of an int */
            return true;
        }
    }
    return false;
}

static bool set_field(const struct sw_study_command *command, const struct sw_study_option *row,
                      void *options, const char *text)
{
    void *field = field_of(row, options);
    uint32_t *count = (uint32_t *)((char *)options + row->count_offset);
    switch (row->kind) {
    case SW_STUDY_FLAG:
        *(bool *)field = true;
        return true;
    case SW_STUDY_U32:
    case SW_STUDY_U64:
        return set_number(command, row, field, text);
    case SW_STUDY_REAL:
        return sw_study_parse_real(text, row->least, row->most, field) &&
               (!row->is_above || *(double *)field > row->least);
    case SW_STUDY_U32S:
    case SW_STUDY_U64S:
        return set_numbers(row, field, count, text);
    case SW_STUDY_REALS:
        return set_reals(row, field, count, text);
    case SW_STUDY_TEXT:
        return text[0] != '\0' && snprintf(field, row->room, "%s", text) < (int)row->room;
    case SW_STUDY_BORROWED:
        *(const char **)field = text;
        return true;
    case SW_STUDY_WORD:
        return set_word(row, field, text);
    default:
        return row->kind == SW_STUDY_NAMES && sw_study_parse_names(text, row->words, field);
    }
}

/* Writes the accepted values of the option to `why`. */
static void explain(const struct sw_study_option *row, const char *text, char *why, size_t size)
{
    const bool is_list = row->kind >= SW_STUDY_U32S && row->kind <= SW_STUDY_REALS;
    int used = snprintf(why, size, "--%s %s: ", row->name, text);
    used = used < (int)size ? used : (int)size;
    if (row->kind == SW_STUDY_REAL || row->kind == SW_STUDY_REALS) {
        snprintf(why + used, size - (size_t)used, "%s %s %g %s %g %s needed",
                 is_list ? "numbers" : "a number", row->is_above ? "above" : "from", row->least,
                 row->is_above ? "and at most" : "to", row->most, is_list ? "are" : "is");
    } else if (row->kind <= SW_STUDY_U64S) {
        snprintf(why + used, size - (size_t)used, "%s from %" PRIu64 " to %" PRIu64 " %s needed",
                 is_list ? "numbers" : "a number", row->min, max_of(row), is_list ? "are" : "is");
    } else {
        used = snprintf(why, size, "--%s %s is not known", row->name, text);
        for (size_t i = 0; row->words != NULL && row->words[i] != NULL && used < (int)size; i++) {
            used += snprintf(why + used, size - (size_t)used, "%s%s", i == 0 ? ": choose " : ", ",
                             row->words[i]);
        }
    }
}

bool sw_study_set(const struct sw_study_command *command, size_t row, void *options,
                  const char *text, char *why, size_t why_size)
{
    const struct sw_study_option *of = &command->options[row];
    why[0] = '\0';
    if (of->take != NULL ? of->take(options, text, why, why_size)
                         : set_field(command, of, options, text)) {
        return true;
    }
    if (why[0] == '\0') {
        explain(of, text, why, why_size);
    }
    return false;
}

/* --- the command line ------------------------------------------------------------------------- */

static int value_of(const struct sw_study_command *command, size_t row)
{
    return command->options[row].letter != 0 ? command->options[row].letter : ROWS + (int)row;
}

/* getopt's two forms of the table. */
static void list_options(const struct sw_study_command *command, struct option *list, char *letters)
{
    size_t listed = 0;
    for (size_t r = 0; r < command->count; r++) {
        const struct sw_study_option *row = &command->options[r];
        if (row->kind == SW_STUDY_TITLE) {
            continue;
        }
        int has_value = row->kind == SW_STUDY_FLAG ? no_argument : required_argument;
        list[listed++] = (struct option){row->name, has_value, NULL, value_of(command, r)};
        if (row->alias != NULL) {
            list[listed++] = (struct option){row->alias, has_value, NULL, value_of(command, r)};
        }
        if (row->letter != 0) {
            *letters++ = row->letter;
            *letters = ':';
            letters += has_value == required_argument;
        }
    }
    list[listed++] = (struct option){"help", no_argument, NULL, HELP};
    list[listed] = (struct option){NULL, 0, NULL, 0};
    *letters++ = HELP;
    *letters = '\0';
}

/* Replaces <time> in a usual value by the local time. */
static const char *expand_time(const char *usual, char *text, size_t size)
{
    static const char mark[] = "<time>";
    const char *at = usual == NULL ? NULL : strstr(usual, mark);
    char date[32];
    time_t now = time(NULL);
    struct tm parts;
    if (at == NULL) {
        return usual;
    }
    localtime_r(&now, &parts);
    strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &parts);
    snprintf(text, size, "%.*s%s%s", (int)(at - usual), usual, date, at + strlen(mark));
    return text;
}

static bool set_usual(const struct sw_study_command *command, void *options, const bool *given,
                      bool quick, char *why, size_t why_size)
{
    for (size_t r = 0; r < command->count; r++) {
        const struct sw_study_option *row = &command->options[r];
        char text[256];
        const char *usual =
            expand_time(quick && row->quick != NULL ? row->quick : row->usual, text, sizeof(text));
        if (!given[r] && row->kind != SW_STUDY_TITLE && usual != NULL &&
            !sw_study_set(command, r, options, usual, why, why_size)) {
            return false;
        }
    }
    return true;
}

enum sw_study_parsed sw_study_parse(const struct sw_study_command *command, void *options, int argc,
                                    char **argv, bool *given, int *rest, char *why, size_t why_size)
{
    bool mine[SW_STUDY_OPTIONS_MAX] = {false};
    struct option list[2 * SW_STUDY_OPTIONS_MAX + 2];
    char letters[2 * SW_STUDY_OPTIONS_MAX + 2];
    bool quick = false;
    int option = 0;
    list_options(command, list, letters);
    optind = 0; /* 0, not 1: glibc starts afresh, so that a process may parse twice */
    opterr = 0;
    for (;;) {
        size_t r = 0;
        int index = -1;
        option = getopt_long(argc, argv, letters, list, &index);
        if (option == -1) {
            break;
        }
        if (!sw_option_is_whole(argv, optind, index < 0 ? NULL : list[index].name)) {
            option = '?';
        }
        if (option == HELP) {
            sw_study_print_help(command);
            return SW_STUDY_DONE;
        }
        while (r < command->count && value_of(command, r) != option) {
            r++;
        }
        if (r == command->count) {
            int size = 0;
            const char *wrong = sw_option_wrong(argv, argc, optind, &size);
            snprintf(why, why_size, "%.*s: unknown option, or one without its argument%s%s", size,
                     wrong, command->hint == NULL ? "" : "; ",
                     command->hint == NULL ? "" : command->hint);
            return SW_STUDY_WRONG;
        }
        mine[r] = true;
        quick = quick || strcmp(command->options[r].name, "quick") == 0;
        if (!sw_study_set(command, r, options, optarg, why, why_size)) {
            return SW_STUDY_WRONG;
        }
    }
    if (optind < argc && !command->takes_arguments) {
        snprintf(why, why_size, "%s: there are no arguments besides options", argv[optind]);
        return SW_STUDY_WRONG;
    }
    if (given != NULL) {
        memcpy(given, mine, command->count * sizeof(mine[0]));
    }
    if (rest != NULL) {
        *rest = optind;
    }
    return set_usual(command, options, mine, quick, why, why_size) ? SW_STUDY_RUN : SW_STUDY_WRONG;
}

enum sw_study_parsed sw_study_options(const struct sw_study_command *command, void *options,
                                      int argc, char **argv)
{
    char why[512] = "";
    enum sw_study_parsed parsed =
        sw_study_parse(command, options, argc, argv, NULL, NULL, why, sizeof(why));
    if (parsed == SW_STUDY_RUN && command->contradiction != NULL) {
        const char *wrong = command->contradiction(options);
        parsed = wrong == NULL ? SW_STUDY_RUN : SW_STUDY_WRONG;
        snprintf(why, sizeof(why), "%s", wrong == NULL ? "" : wrong);
    }
    if (parsed == SW_STUDY_WRONG) {
        fprintf(stderr, "%s: %s; see --help\n", command->name, why);
    }
    return parsed;
}

/* --- --help ----------------------------------------------------------------------------------- */

#define MARGIN 28
#define WIDTH 100

static const char *value_name(const struct sw_study_option *row)
{
    switch (row->kind) {
    case SW_STUDY_FLAG:
        return "";
    case SW_STUDY_U32:
    case SW_STUDY_U64:
    case SW_STUDY_REAL:
        return "N";
    case SW_STUDY_TEXT:
    case SW_STUDY_BORROWED:
        return "TEXT";
    case SW_STUDY_WORD:
        return "WORD";
    default:
        return "LIST";
    }
}

static void print_option(const struct sw_study_option *row)
{
    char letter[8] = "   ";
    size_t last = 0;
    const char *value = row->value != NULL ? row->value : value_name(row);
    if (row->letter != 0) {
        snprintf(letter, sizeof(letter), "-%c,", row->letter);
    }
    int used = printf("  %s --%s%s%s", letter, row->name, value[0] != '\0' ? " " : "", value);
    used = used < MARGIN ? used : printf("\n") - 1;
    for (const char *line = row->help; line != NULL;) {
        size_t length = strcspn(line, "\n");
        printf("%*s%.*s", MARGIN - used, "", (int)length, line);
        used = 0;
        last = length;
        line = line[length] == '\0' ? NULL : line + length + 1;
        printf("%s", line != NULL ? "\n" : "");
    }
    if (row->usual != NULL) {
        bool fits = MARGIN + last + strlen(row->usual) + 3 <= WIDTH;
        printf("%s%*s(%s)", fits ? "" : "\n", fits ? 1 : MARGIN, "", row->usual);
    }
    printf("\n");
    for (size_t w = 0; row->about != NULL && row->words[w] != NULL; w++) {
        printf("%*s%-18s %s\n", 10, "", row->words[w], row->about[w]);
    }
}

void sw_study_print_help(const struct sw_study_command *command)
{
    printf("usage: %s %s\n\n%s\n", command->name, command->usage, command->about);
    for (size_t r = 0; r < command->count; r++) {
        if (command->options[r].kind == SW_STUDY_TITLE) {
            printf("%s\n", command->options[r].name);
        } else {
            print_option(&command->options[r]);
        }
    }
    printf("  -h, --help\n");
    printf("%s%s", command->end != NULL ? "\n" : "", command->end != NULL ? command->end : "");
}
