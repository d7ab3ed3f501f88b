/* SPDX-License-Identifier: MIT
 *
 * test_progress.c - when sherwood-cli shows the progress of a long run. The test moves the start of
 * the run into the past, so that no time passes.
 */
#include "client/cli/progress.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* Returns the output of one update, with no terminal. The caller frees it. */
static char *shown(bool quiet, int64_t ago_ms, int64_t since_shown_ms)
{
    char *text = NULL;
    size_t size = 0;
    struct sw_cli_progress progress;
    FILE *out = open_memstream(&text, &size);
    sw_cli_progress_start(&progress, out, "loading", quiet);
    progress.started_ms -= ago_ms;
    progress.shown_ms -= since_shown_ms;
    sw_cli_progress_update(&progress, 50, 100, 7);
    fclose(out);
    return text;
}

Test(progress, is_shown_after_a_while)
{
    const int64_t long_ago = 3600000;
    char *late = shown(false, long_ago, long_ago), *quiet = shown(true, long_ago, long_ago);
    char *early = shown(false, -long_ago, long_ago), *again = shown(false, long_ago, -long_ago);
    cr_assert_not_null(strstr(late, "loading"), "%s", late);
    cr_assert_not_null(strstr(late, "50"), "%s", late);
    cr_assert_str_eq(quiet, "", "it is quiet");
    cr_assert_str_eq(early, "", "the run has just begun");
    cr_assert_str_eq(again, "", "a line was shown lately");
    free(late);
    free(quiet);
    free(early);
    free(again);
}
