/* SPDX-License-Identifier: MIT
 *
 * whole_option.h - getopt_long() without abbreviations, for the programs that use it: an option
 * that is added later may change what an abbreviation stands for, and --pass would take the
 * password of a user for the name of a file.
 */
#ifndef SHERWOOD_PROTO_WHOLE_OPTION_H
#define SHERWOOD_PROTO_WHOLE_OPTION_H

#include <stdbool.h>
#include <string.h>

/* Was the option that getopt_long() has just returned written with its whole name? `next` is
 * optind, `name` that of the long option; NULL: it was a letter. */
static inline bool sw_option_is_whole(char *const argv[], int next, const char *name)
{
    const size_t size = name == NULL ? 0 : strlen(name);
    for (int i = next - 1; name != NULL && i >= next - 2 && i > 0; i--) {
        const char *text = argv[i];
        if (strncmp(text, "--", 2) == 0 && strncmp(text + 2, name, size) == 0 &&
            (text[2 + size] == '\0' || text[2 + size] == '=')) {
            return true;
        }
    }
    return name == NULL;
}

/* Returns the argument for an error about an option. Sets *size to the length of the option's name,
 * so that the error does not show its value, which may be a password. */
static inline const char *sw_option_wrong(char *const argv[], int argc, int next, int *size)
{
    int i = next > 1 ? next - 1 : next;
    i = i < argc ? i : argc - 1;
    if (argv[i][0] != '-' && i > 1 && argv[i - 1][0] == '-') {
        i--;
    }
    *size = (int)strcspn(argv[i], "=: \t");
    return argv[i];
}

#endif
