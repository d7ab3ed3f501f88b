/* SPDX-License-Identifier: MIT
 *
 * test_history_file.c - whose writes files are: the terms of a shard, as they are kept, and files
 * that stay aside.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/log/archived_files.h"
#include "server/log/history_file.h"
#include "server/log/role_file.h"

static struct {
    char path[64];
    struct sw_directory directory;
} place;

static void open_place(void)
{
    char reason[256];
    strcpy(place.path, "/tmp/sherwood-history-XXXXXX");
    cr_assert_not_null(mkdtemp(place.path));
    cr_assert_eq(
        sw_directory_open(&place.directory, sw_io_system(), place.path, reason, sizeof(reason)), 0,
        "%s", reason);
}

static void remove_files(const char *path)
{
    char name[320];
    DIR *list = opendir(path);
    for (const struct dirent *entry; list != NULL && (entry = readdir(list)) != NULL;) {
        snprintf(name, sizeof(name), "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.' && unlink(name) != 0) {
            remove_files(name);
        }
    }
    closedir(list);
    rmdir(path);
}

static void close_place(void)
{
    sw_directory_close(&place.directory);
    remove_files(place.path);
}

TestSuite(history_file, .init = open_place, .fini = close_place);

static void put(const char *name, const char *text)
{
    int fd = openat(place.directory.fd, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

Test(history_file, a_position_has_the_term_of_its_last_write)
{
    struct sw_terms terms = {0};
    cr_assert_eq(sw_terms_of(&terms, 5).term, 0);
    sw_terms_begin(&terms, 3, 10);
    sw_terms_begin(&terms, 3, 10); /* again: a connection of the same term */
    sw_terms_begin(&terms, 7, 20);
    cr_assert_eq(terms.count, 2);
    cr_assert_eq(sw_terms_of(&terms, 9).term, 0);
    cr_assert_eq(sw_terms_of(&terms, 10).term, 3);
    cr_assert_eq(sw_terms_of(&terms, 19).term, 3);
    cr_assert_eq(sw_terms_of(&terms, 20).term, 7);
    cr_assert_eq(sw_terms_of(&terms, 20).first, 20);
    sw_terms_begin(&terms, 9, 15); /* drops the writes of term 7 */
    cr_assert_eq(sw_terms_of(&terms, 30).term, 9);
    cr_assert_eq(sw_terms_of(&terms, 14).term, 3);
    for (unsigned i = 0; i < SW_TERMS_MAX; i++) {
        sw_terms_begin(&terms, 100 + i, 1000 + i);
    }
    cr_assert_eq(terms.count, SW_TERMS_MAX);
    cr_assert_eq(sw_terms_newest(&terms), 100 + SW_TERMS_MAX - 1);
    cr_assert_eq(sw_terms_of(&terms, 999).term, 0, "the term is too old: it was dropped");
}

Test(history_file, terms_are_kept)
{
    char reason[SW_HISTORY_REASON_BYTES];
    struct sw_history wrote = {.kind = SW_HISTORY_WHOLE, .before_through = 77}, read;
    memset(wrote.id, 'a', SW_HISTORY_TEXT - 1);
    memset(wrote.before, '0', SW_HISTORY_TEXT - 1);
    for (unsigned i = 0; i <= SW_TERMS_MAX; i++) {
        cr_assert_eq(sw_history_write(&place.directory, &wrote, reason), 0, "%s", reason);
        cr_assert_eq(sw_history_read(&place.directory, &read, reason), 0, "%s", reason);
        cr_assert_eq(memcmp(&wrote, &read, sizeof(read)), 0, "%u terms", i);
        sw_terms_begin(&wrote.terms, UINT64_MAX - 100 + i, UINT64_MAX - 200 + i);
    }
}

Test(history_file, what_is_no_list_of_terms_is_refused)
{
    static const char *const bad[] = {"terms 3:10 3:20\n", "terms 4:10 3:20\n", "terms 3:20 4:20\n",
                                      "terms 3\n",         "terms 3:10",        "terms 3:10 x\n",
                                      "words\n",           "terms 0:1\n",       "terms 3:0\n"};
    char text[512], reason[SW_HISTORY_REASON_BYTES];
    struct sw_history history;
    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        snprintf(text, sizeof(text), "sherwood-history 1 whole %040d %040d 9\n%s", 1, 0, bad[i]);
        put(SW_HISTORY_NAME, text);
        cr_assert_eq(sw_history_read(&place.directory, &history, reason), -1, "%s", bad[i]);
        cr_assert_not_null(strstr(reason, "is damaged, so the history"));
    }
    snprintf(text, sizeof(text), "sherwood-history 1 whole %040d %040d 9 more\nterms 3:10\n", 1, 0);
    put(SW_HISTORY_NAME, text);
    cr_assert_eq(sw_history_read(&place.directory, &history, reason), -1, "words at the end");
}

Test(history_file, own_writes_are_told_from_copies)
{
    static const struct {
        int before;
        const char *line;
        uint64_t own_from;
    } cases[] = {{0, "", SW_OWNS_NOTHING},
                 {1, "", 0},
                 {1, "own 7\n", 7},
                 {1, "own 0\nterms 3:10\n", 0},
                 {1, "own 18446744073709551614\n", UINT64_MAX - 1}};
    char text[512], reason[SW_HISTORY_REASON_BYTES];
    struct sw_history read, again;
    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        snprintf(text, sizeof(text), "sherwood-history 1 whole %040d %040d 9\n%s", 1,
                 cases[i].before, cases[i].line);
        put(SW_HISTORY_NAME, text);
        cr_assert_eq(sw_history_read(&place.directory, &read, reason), 0, "%s", reason);
        cr_assert_eq(read.own_from, cases[i].own_from, "%s", cases[i].line);
        cr_assert_eq(sw_history_write(&place.directory, &read, reason), 0, "%s", reason);
        cr_assert_eq(sw_history_read(&place.directory, &again, reason), 0, "%s", reason);
        cr_assert_eq(memcmp(&read, &again, sizeof(read)), 0, "%s", cases[i].line);
    }
    snprintf(text, sizeof(text), "sherwood-history 1 whole %040d %040d 9\nown 7 \n", 1, 1);
    put(SW_HISTORY_NAME, text);
    cr_assert_eq(sw_history_read(&place.directory, &read, reason), -1);
}

Test(history_file, a_role_is_kept_and_removed)
{
    static const char *const primaries[] = {"", "127.0.0.1 7000", "unix:/a b", "[::1]:7000"};
    char reason[SW_ROLE_REASON_BYTES];
    struct sw_role role, read;
    for (unsigned i = 0; i < 16; i++) {
        memset(&role, 0, sizeof(role));
        role.is_set = true;
        snprintf(role.primary, sizeof(role.primary), "%s", primaries[i / 4]);
        snprintf(role.replicaof, sizeof(role.replicaof), "%s", primaries[i % 4]);
        cr_assert_eq(sw_role_write(&place.directory, &role, reason), 0, "%s", reason);
        cr_assert_eq(sw_role_read(&place.directory, &read, reason), 0, "%s", reason);
        cr_assert_eq(memcmp(&role, &read, sizeof(role)), 0, "%u", i);
    }
    role.is_set = false;
    cr_assert_eq(sw_role_write(&place.directory, &role, reason), 0, "%s", reason);
    cr_assert_eq(sw_role_write(&place.directory, &role, reason), 0, "%s", reason);
    cr_assert_eq(sw_role_read(&place.directory, &read, reason), 0, "%s", reason);
    cr_assert_not(read.is_set);
    put(SW_ROLE_NAME, "sherwood-role 1\nreplica of\nreplicaof \n");
    cr_assert_eq(sw_role_read(&place.directory, &read, reason), -1);
    cr_assert_not_null(strstr(reason, "remove it"));
    sw_role_write(&place.directory, &role, reason);
}

Test(history_file, another_file_of_the_same_name_is_not_taken_for_the_one_aside)
{
    char reason[SW_HISTORY_REASON_BYTES] = "", path[512];
    put("snapshot-0000000000000003", "first");
    put("first-segment", "first");
    cr_assert_eq(sw_archive_files(&place.directory, "discarded-a-3", 9, reason), 0, "%s", reason);
    snprintf(path, sizeof(path), "%s/discarded-a-3/first-segment", place.path);
    cr_assert_eq(access(path, F_OK), 0);
    cr_assert_eq(sw_archive_files(&place.directory, "discarded-a-3", 9, reason), 0, "%s", reason);
    snprintf(path, sizeof(path), "%s/snapshot-0000000000000003", place.path);
    cr_assert_eq(unlink(path), 0);
    put("snapshot-0000000000000003", "second");
    snprintf(path, sizeof(path), "%s/discarded-a-3/first-segment", place.path);
    cr_assert_eq(unlink(path), 0); /* as in an archive of a server without a log */
    cr_assert_eq(sw_archive_files(&place.directory, "discarded-a-3", 9, reason), 1);
    cr_assert_neq(access(path, F_OK), 0, "an archive of other writes has got this first-segment");
    cr_assert_eq(sw_archive_files(&place.directory, "discarded-a-3-2", 9, reason), 0, "%s", reason);
}

static int links_left, links_synced, links_made; /* links until one fails; see limited_link */

/* Fails after links_left links. A link of a segment needs that of first-segment on storage. */
static int limited_link(int dir, const char *from, const char *to)
{
    if (links_left-- == 0) {
        errno = EIO;
        return -1;
    }
    cr_assert(strncmp(from, "log-", 4) != 0 || links_synced > 0, "%s is linked too early", from);
    links_made += strcmp(from, "first-segment") == 0;
    return sw_io_system()->link(dir, from, to);
}

static int counting_fsync(int fd)
{
    links_synced = links_made;
    return sw_io_system()->fsync(fd);
}

/* Wherever a call is cut off, an archive with a segment has first-segment, and the next call
 * completes it. */
Test(history_file, an_archive_that_is_cut_off_has_first_segment_before_segments)
{
    for (int links = 0, status = -1; status != 0; links++) {
        char reason[SW_HISTORY_REASON_BYTES] = "", path[160];
        struct sw_io io = *sw_io_system();
        io.link = limited_link;
        io.fsync = counting_fsync;
        place.directory.io = &io;
        put("log-0000000000000007", "log");
        put("snapshot-0000000000000003", "snapshot");
        put("first-segment", "first");
        put(SW_HISTORY_NAME, "history");
        links_left = links;
        links_made = links_synced = 0;
        status = sw_archive_files(&place.directory, "discarded-1-9", 2, reason);
        cr_assert(status == 0 ? links == 4 : links < 4, "%d links", links);
        links_left = 9;
        cr_assert_eq(sw_archive_files(&place.directory, "discarded-1-9", 2, reason), 0);
        snprintf(path, sizeof(path), "%s/discarded-1-9/log-0000000000000007", place.path);
        cr_assert_eq(access(path, F_OK), 0);
        place.directory.io = sw_io_system();
        close_place();
        open_place();
    }
}

Test(history_file, files_stay_aside_while_there_is_room)
{
    char reason[SW_HISTORY_REASON_BYTES], path[160];
    struct stat facts;
    put("log-0000000000000007", "log");
    put("snapshot-0000000000000003", "snapshot");
    put("new-log", "not this");
    cr_assert_eq(sw_archive_files(&place.directory, "discarded-1-9", 2, reason), 0, "%s", reason);
    put(SW_HISTORY_NAME, "history");
    cr_assert_eq(sw_archive_files(&place.directory, "discarded-2-9", 2, reason), 0, "%s", reason);
    cr_assert_eq(sw_archive_files(&place.directory, "discarded-3-9", 2, reason), -1);
    cr_assert_not_null(strstr(reason, "2 directories"), "%s", reason);
    snprintf(path, sizeof(path), "%s/discarded-2-9/snapshot-0000000000000003", place.path);
    cr_assert_eq(unlink(path), 0); /* as a crash leaves it, before all links are there */
    cr_assert_eq(sw_archive_files(&place.directory, "discarded-2-9", 2, reason), 0, "%s", reason);
    cr_assert_eq(sw_history_remove_files(&place.directory, reason), 0, "%s", reason);
    const char *const kept[] = {"discarded-1-9/log-0000000000000007",
                                "discarded-2-9/snapshot-0000000000000003", "discarded-2-9/history"};
    for (unsigned i = 0; i < 3; i++) {
        snprintf(path, sizeof(path), "%s/%s", place.path, kept[i]);
        cr_assert_eq(stat(path, &facts), 0, "%s", path);
    }
    snprintf(path, sizeof(path), "%s/discarded-1-9/new-log", place.path);
    cr_assert_eq(stat(path, &facts), -1);
}

/* A sync of the file that an earlier call left may have failed. Nothing is written to it. */
Test(history_file, an_unfinished_file_is_not_written_again)
{
    char reason[SW_HISTORY_REASON_BYTES] = "", old[512];
    struct stat facts;
    struct sw_history history = {.kind = SW_HISTORY_WHOLE, .own_from = SW_OWNS_NOTHING};
    memset(history.id, 'a', sizeof(history.id) - 1);
    memset(history.before, '0', sizeof(history.before) - 1);
    put(SW_HISTORY_NEW, "unfinished");
    cr_assert_eq(linkat(place.directory.fd, SW_HISTORY_NEW, place.directory.fd, "old", 0), 0);
    cr_assert_eq(sw_history_write(&place.directory, &history, reason), 0, "%s", reason);
    snprintf(old, sizeof(old), "%s/old", place.path);
    cr_assert_eq(stat(old, &facts), 0);
    cr_assert_eq(facts.st_size, (off_t)strlen("unfinished"));
}
