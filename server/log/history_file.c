/* SPDX-License-Identifier: MIT
 *
 * history_file.c - one line of text, a line "own" on a primary that was a replica, and a line
 * "terms" on a member of a shard.
 */
#include "server/log/history_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proto/regular_file.h"
#include "proto/wal_format.h"
#include "server/log/first_segment.h"
#include "server/log/small_file.h"
#include "server/log/snapshot_write.h"

#define TEXT_BYTES 1024

static int history_file_failed(const struct sw_directory *directory, const char *what,
                               char reason[SW_HISTORY_REASON_BYTES])
{
    snprintf(reason, SW_HISTORY_REASON_BYTES, "%s/" SW_HISTORY_NAME " cannot be %s: %s",
             directory->path, what, sw_file_error(errno));
    return -1;
}

static bool is_id(const char *text)
{
    return strspn(text, "0123456789abcdef") == SW_HISTORY_TEXT - 1;
}

/* "terms 7:120 9:300" */
static bool parse_terms(const char *line, struct sw_terms *terms)
{
    uint64_t term, first;
    int taken = 0;
    if (strncmp(line, "terms", 5) != 0) {
        return *line == '\0';
    }
    line += 5;
    while (sscanf(line, " %" SCNu64 ":%" SCNu64 "%n", &term, &first, &taken) == 2) {
        const struct sw_term_start last = {
            sw_terms_newest(terms), terms->count == 0 ? 0 : terms->at[terms->count - 1].first};
        if (terms->count == SW_TERMS_MAX || term <= last.term || first <= last.first) {
            return false;
        }
        terms->at[terms->count++] = (struct sw_term_start){term, first};
        line += taken;
    }
    return strcmp(line, "\n") == 0;
}

static int write_terms(const struct sw_terms *terms, char *out, size_t bytes)
{
    int size = terms->count == 0 ? 0 : snprintf(out, bytes, "terms");
    for (unsigned i = 0; i < terms->count; i++) {
        size += snprintf(out + size, bytes - (size_t)size, " %" PRIu64 ":%" PRIu64,
                         terms->at[i].term, terms->at[i].first);
    }
    return size == 0 ? 0 : size + snprintf(out + size, bytes - (size_t)size, "\n");
}

/* Parses the line "own 120", if it is there. Earlier versions do not write it. Then, if a primary
 * continued another history, any of its writes may be its own. */
static const char *parse_own(const char *line, struct sw_history *history)
{
    int taken = 0;
    const bool is_copy = strspn(history->before, "0") == SW_HISTORY_TEXT - 1;
    history->own_from = is_copy ? SW_OWNS_NOTHING : 0;
    const bool is_there = sscanf(line, "own %" SCNu64 "%n", &history->own_from, &taken) == 1;
    return !is_there ? line : line[taken] == '\n' ? line + taken + 1 : "own";
}

static int write_own(uint64_t own_from, char *out, size_t bytes)
{
    return own_from == SW_OWNS_NOTHING ? 0 : snprintf(out, bytes, "own %" PRIu64 "\n", own_from);
}

static bool parse(const char *line, struct sw_history *history)
{
    char kind[16], end;
    int words = sscanf(line, "sherwood-history 1 %15s %40s %40s %" SCNu64 "%c", kind, history->id,
                       history->before, &history->before_through, &end);
    history->kind =
        words > 0 && strcmp(kind, "whole") == 0 ? SW_HISTORY_WHOLE : SW_HISTORY_REPLACED;
    return words == 5 && end == '\n' && is_id(history->id) && is_id(history->before) &&
           (history->kind == SW_HISTORY_WHOLE || strcmp(kind, "replaced") == 0) &&
           parse_terms(parse_own(strchr(line, '\n') + 1, history), &history->terms);
}

int sw_history_read(const struct sw_directory *directory, struct sw_history *history,
                    char reason[SW_HISTORY_REASON_BYTES])
{
    char text[TEXT_BYTES];
    memset(history, 0, sizeof(*history));
    if (sw_small_file_read(directory, SW_HISTORY_NAME, text, sizeof(text)) < 0) {
        return errno == ENOENT ? 0 : history_file_failed(directory, "read", reason);
    }
    if (!parse(text, history)) {
        snprintf(reason, SW_HISTORY_REASON_BYTES,
                 "%s/" SW_HISTORY_NAME
                 " is damaged, so the history of the data is unknown: remove it to start as a "
                 "primary, whose replicas begin again with a snapshot",
                 directory->path);
        return -1;
    }
    return 0;
}

int sw_history_write(const struct sw_directory *directory, const struct sw_history *history,
                     char reason[SW_HISTORY_REASON_BYTES])
{
    char text[TEXT_BYTES];
    int size = snprintf(text, sizeof(text), "sherwood-history 1 %s %s %s %" PRIu64 "\n",
                        history->kind == SW_HISTORY_WHOLE ? "whole" : "replaced", history->id,
                        history->before, history->before_through);
    size += write_own(history->own_from, text + size, sizeof(text) - (size_t)size);
    size += write_terms(&history->terms, text + size, sizeof(text) - (size_t)size);
    return sw_small_file_write(directory, SW_HISTORY_NAME, SW_HISTORY_NEW, text, (size_t)size) == 0
               ? 0
               : history_file_failed(directory, "written", reason);
}

static int remove_file(const void *context, const char *name)
{
    const struct sw_directory *directory = context;
    return directory->io->unlink(directory->fd, name);
}

static int remove_kind(const struct sw_directory *directory, const char *kind)
{
    return sw_directory_each(directory, kind, remove_file, directory);
}

int sw_history_remove_files(const struct sw_directory *directory,
                            char reason[SW_HISTORY_REASON_BYTES])
{
    if (sw_first_segment_remove(directory) != 0 || remove_kind(directory, SW_SNAPSHOT_KIND) != 0 ||
        sw_directory_each_table(directory, remove_file, directory) != 0 ||
        remove_kind(directory, SW_WAL_NAME) != 0 || directory->io->fsync(directory->fd) != 0) {
        snprintf(reason, SW_HISTORY_REASON_BYTES, "%s: cannot remove files of another history: %s",
                 directory->path, strerror(errno));
        return -1;
    }
    return 0;
}
