/* SPDX-License-Identifier: MIT
 *
 * options.h - command lines: a program lists its options in a table. These functions read the
 * command line and print --help by this table.
 *
 *     #define FIELD(name) SW_STUDY_FIELD(struct options, name)
 *     #define LIST(name) SW_STUDY_LIST(struct options, name)
 *     static const struct sw_study_option rows[] = {
 *         {"reps", SW_STUDY_U32, FIELD(reps), .max = 1000, .usual = "16", .help = "repetitions"},
 *         {"F", SW_STUDY_REALS, LIST(loads), .most = 1, .usual = "0.5,1", .help = "load factors"},
 *     };
 *
 * -h and --help are options of every program. Threads: one, because getopt has global state.
 */
#ifndef SHERWOOD_BENCH_STUDY_OPTIONS_H
#define SHERWOOD_BENCH_STUDY_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_STUDY_OPTIONS_MAX 64
#define SW_STUDY_LIST_MAX 32

/* The type of the field that an option sets. */
enum sw_study_kind {
    SW_STUDY_FLAG,     /* bool: becomes true; the option has no value */
    SW_STUDY_U32,      /* uint32_t, from min to max */
    SW_STUDY_U64,      /* uint64_t, from min to max */
    SW_STUDY_REAL,     /* double, from least to most; above least if is_above */
    SW_STUDY_U32S,     /* uint32_t list[], uint32_t list_count */
    SW_STUDY_U64S,     /* uint64_t list[], uint32_t list_count */
    SW_STUDY_REALS,    /* double list[], uint32_t list_count */
    SW_STUDY_TEXT,     /* char[]: a copy */
    SW_STUDY_BORROWED, /* const char *: into argv, or `usual` */
    SW_STUDY_WORD,     /* an enum: index of the value in `words` */
    SW_STUDY_NAMES,    /* bool[]: which of `words` the list has */
    SW_STUDY_OTHER,    /* what `take` makes of the value */
    SW_STUDY_TITLE     /* no option: a line of --help */
};

/* Writes a sentence to `why` on false; if it writes none, the value is called unknown. */
typedef bool (*sw_study_take)(void *options, const char *text, char *why, size_t why_size);

struct sw_study_option {
    const char *name; /* without --; of a TITLE: its text */
    enum sw_study_kind kind;
    size_t offset;       /* of the field in the options */
    size_t room;         /* bytes of a text, elements of a list */
    size_t count_offset; /* of the list's count */
    char letter;         /* short form, or 0 */
    const char *alias;   /* another name, or NULL */
    uint64_t min;
    uint64_t max; /* 0: no limit */
    double least;
    double most;
    bool is_above;
    bool is_filled;           /* the list may not be empty */
    const char *const *words; /* ends with NULL */
    const char *const *about; /* of each word, for --help; or NULL */
    const char *usual;        /* the value where the option is not given; "<time>" in it becomes the
                                 local time; NULL: the field is left */
    const char *quick;        /* the same with --quick, where that differs */
    const char *value;        /* what --help calls the value; NULL: N, LIST or what the kind says */
    const char *help;         /* may have newlines */
    sw_study_take take;       /* if not NULL: in place of what `kind` says */
};

#define SW_STUDY_FIELD(type, name) \
    .offset = offsetof(type, name), .room = sizeof(((type *)NULL)->name)
#define SW_STUDY_LIST(type, name)                                           \
    .offset = offsetof(type, name),                                         \
    .room = sizeof(((type *)NULL)->name) / sizeof(((type *)NULL)->name[0]), \
    .count_offset = offsetof(type, name##_count)

/* Rows of every study, and of those that run on either backend. They use the file's FIELD. */
#define SW_STUDY_DEVICE_ROW                                                                     \
    {                                                                                           \
        "device", SW_STUDY_U32, FIELD(device), .max = 1023, .usual = "0", .help = "CUDA device" \
    }
#define SW_STUDY_SEED_ROW                                                      \
    {                                                                          \
        "seed", SW_STUDY_U64, FIELD(seed), .usual = "1", .help = "of the keys" \
    }
#define SW_STUDY_COMMIT_ROW                                                                      \
    {                                                                                            \
        "commit", SW_STUDY_TEXT, FIELD(commit), .help = "commit of this build, for run_info.txt" \
    }
#define SW_STUDY_OUTPUT_ROW(study)                                                           \
    {                                                                                        \
        "output", SW_STUDY_TEXT, FIELD(output),                                              \
            .value = "FOLDER", .usual = "output/<time>/" study, .help = "where the files go" \
    }
#define SW_STUDY_BACKEND_ROW(what)                                                             \
    {                                                                                          \
        "backend", SW_STUDY_WORD, FIELD(on_host), .words = sw_study_backends, .usual = "cuda", \
                                                  .value = "cpu|cuda", .help = (what)          \
    }
extern const char *const sw_study_backends[]; /* "cuda", "cpu" */

/* The columns of a map X(NAME, text, what): SW_X_MAP(SW_STUDY_MAP_TEXT) NULL is a list of words. */
#define SW_STUDY_MAP_TEXT(name, text, what) text,
#define SW_STUDY_MAP_WHAT(name, text, what) what,

struct sw_study_command {
    const char *name;  /* of the program */
    const char *usage; /* what follows the name, "[options]" */
    const char *hint;  /* added to the error of an unknown option; or NULL */
    const char *about; /* of --help: before the options */
    const char *end;   /* and after them */
    const struct sw_study_option *options;
    size_t count;
    bool takes_arguments; /* besides options */
    /* Returns an error text if valid options contradict each other, else NULL; or NULL. */
    const char *(*contradiction)(const void *options);
    /* Reads a number; NULL: sw_study_parse_u64. */
    bool (*number)(const char *text, uint64_t max, uint64_t *out);
};

enum sw_study_parsed { SW_STUDY_RUN, SW_STUDY_DONE, SW_STUDY_WRONG };

/* Reads a command line into `options`, whose fields are set to the usual values first. `given`
 * (NULL or an element for each row) tells which options were there. *rest (or NULL) receives the
 * index of the first argument. DONE: --help was given, and printed. WRONG: `why` has a sentence. */
enum sw_study_parsed sw_study_parse(const struct sw_study_command *command, void *options, int argc,
                                    char **argv, bool *given, int *rest, char *why,
                                    size_t why_size);

/* The same for programs that have no arguments. A contradiction is WRONG. On WRONG the sentence is
 * on stderr. */
enum sw_study_parsed sw_study_options(const struct sw_study_command *command, void *options,
                                      int argc, char **argv);

/* Makes a row's field what the text says. */
bool sw_study_set(const struct sw_study_command *command, size_t row, void *options,
                  const char *text, char *why, size_t why_size);

void sw_study_print_help(const struct sw_study_command *command);

#endif
