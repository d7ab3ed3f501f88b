/* SPDX-License-Identifier: MIT
 *
 * acl_file.c - files of users, one line a user: "user alice on #<hash> ~1000-1999 -@all +@read".
 * Blank lines and lines that begin with # are skipped.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/users/secret.h"
#include "server/users/users_parts.h"

/* Longest word in a sentence, with the NUL. */
#define WORD_BYTES 128

/* --- reading ---------------------------------------------------------------------------------- */

struct reader {
    const char *path;
    unsigned line; /* from 1 */
    const struct sw_commands *catalog;
    struct sw_user_list *list;
    struct sw_acl_notes *notes;
    char *error;
    size_t error_bytes, error_used;
};

/* Appends an error about the line. The text has an error for each wrong line, as far as it fits. */
static void refuse_acl_line(struct reader *reader, const char *why)
{
    size_t room = reader->error_bytes - reader->error_used;
    int size = snprintf(reader->error + reader->error_used, room, "%s:%u: %s. ", reader->path,
                        reader->line, why);
    if (size > 0) {
        reader->error_used += (size_t)size < room ? (size_t)size : room - 1;
    }
}

static void refuse_word(struct reader *reader, const struct sw_word *word, const char *why)
{
    char shown[WORD_BYTES], sentence[WORD_BYTES + 256];
    sw_acl_show_word(word->text, word->size, shown, sizeof(shown));
    snprintf(sentence, sizeof(sentence), "%s: '%s'", why, shown);
    refuse_acl_line(reader, sentence);
}

/* Refuses a word behind a password sign and a blank: the word may be the password. */
static void refuse_hidden(struct reader *reader, const char *why)
{
    char sentence[384];
    snprintf(sentence, sizeof(sentence), "%s: a word not shown here; no blank may follow a >", why);
    refuse_acl_line(reader, sentence);
}

/* Reads the next word of a line. The line does not end in a NUL. */
static bool next_word(const char **at, const char *end, struct sw_word *word)
{
    while (*at < end && strchr(" \t\r", **at) != NULL) {
        (*at)++;
    }
    word->text = *at;
    while (*at < end && strchr(" \t\r", **at) == NULL) {
        (*at)++;
    }
    word->size = (size_t)(*at - word->text);
    return word->size > 0;
}

/* Reads the next rule: a word, or a selector up to its closing parenthesis. */
static bool next_rule(const char **at, const char *end, struct sw_word *rule)
{
    if (!next_word(at, end, rule)) {
        return false;
    }
    struct sw_word word = *rule;
    while (rule->text[0] == '(' && word.text[word.size - 1] != ')' && next_word(at, end, &word)) {
        rule->size = (size_t)(word.text + word.size - rule->text);
    }
    return true;
}

static void read_user(struct reader *reader, const struct sw_word *name, const char *at,
                      const char *end)
{
    struct sw_user user = {.refs = 0};
    struct sw_word word;
    bool hides = sw_acl_ends_in_sign(name->text, name->size);
    if (!sw_user_name_fits(name->text, name->size)) {
        refuse_acl_line(reader, "a user's name has 1 to 63 bytes, and no blanks");
        return;
    }
    if (sw_user_list_find(reader->list, name->text, name->size) != NULL) {
        refuse_acl_line(reader, "this user exists already");
        return;
    }
    sw_user_init(&user, name->text, name->size);
    while (next_rule(&at, end, &word)) {
        const char *why = sw_user_apply(&user, reader->catalog, word.text, word.size);
        if (why != NULL) {
            if (hides) {
                refuse_hidden(reader, why);
            } else {
                refuse_word(reader, &word, why);
            }
            sw_forget(&user, sizeof(user));
            return;
        }
        sw_acl_notes_add(reader->notes, sw_user_effect(reader->catalog, word.text, word.size),
                         reader->line, word.text, word.size);
        hides |= sw_acl_ends_in_sign(word.text, word.size);
    }
    if (!sw_user_list_add(reader->list, sw_user_create(&user))) {
        refuse_acl_line(reader, "too many users, or no memory for another one");
    }
    sw_forget(&user, sizeof(user));
}

static void read_line(struct reader *reader, const char *at, const char *end)
{
    struct sw_word word;
    if (memchr(at, '\0', (size_t)(end - at)) != NULL) {
        refuse_acl_line(reader, "the line has a NUL byte");
        return;
    }
    if (!next_word(&at, end, &word) || word.text[0] == '#') {
        return;
    }
    if (word.size != 4 || memcmp(word.text, "user", 4) != 0) {
        refuse_acl_line(reader, "the line does not begin with the word user");
    } else if (!next_word(&at, end, &word)) {
        refuse_acl_line(reader, "the user has no name");
    } else {
        read_user(reader, &word, at, end);
    }
}

int sw_acl_text_read(const char *text, size_t size, const char *path,
                     const struct sw_commands *catalog, struct sw_user_list *list,
                     struct sw_acl_notes *notes, char *error, size_t error_bytes)
{
    struct reader reader = {path, 0, catalog, list, notes, error, error_bytes, 0};
    const char *at = text, *end = text + size;
    error[0] = '\0';
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = newline != NULL ? newline : end;
        reader.line++;
        read_line(&reader, at, line_end);
        at = line_end + (newline != NULL);
    }
    return reader.error_used == 0 ? 0 : -1;
}

int sw_acl_file_read(const char *path, const struct sw_commands *catalog, struct sw_user_list *list,
                     struct sw_acl_notes *notes, char *error, size_t error_bytes)
{
    char *text = NULL;
    size_t size = 0;
    char why[SW_SECRET_PATH_BYTES + 128];
    if (sw_secret_read(path, &text, &size, why, sizeof(why)) != 0) {
        snprintf(error, error_bytes, "acl-file: %s", why);
        return -1;
    }
    int result = sw_acl_text_read(text, size, path, catalog, list, notes, error, error_bytes);
    sw_secret_free(text, size);
    return result;
}

/* --- writing ---------------------------------------------------------------------------------- */

static bool write_all(int fd, const char *text, size_t size)
{
    while (size > 0) {
        ssize_t wrote = write(fd, text, size);
        if (wrote < 0 && errno != EINTR) {
            return false;
        }
        text += wrote > 0 ? wrote : 0;
        size -= wrote > 0 ? (size_t)wrote : 0;
    }
    return true;
}

static bool write_users(int fd, const struct sw_user_list *list)
{
    char line[SW_USER_LINE_BYTES];
    for (uint32_t i = 0; i < list->count; i++) {
        size_t size = sw_user_line(list->at[i], line, sizeof(line) - 1);
        line[size++] = '\n';
        if (!write_all(fd, line, size)) {
            return false;
        }
    }
    return true;
}

/* Syncs the folder of `path`, so that a rename in it survives a crash. */
static bool sync_folder(const char *path)
{
    char folder[SW_SECRET_PATH_BYTES];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof(folder), "%.*s", slash == NULL ? 1 : (int)(slash - path + 1),
             slash == NULL ? "." : path);
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool done = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return done;
}

/* Writes a new file beside the old one, with the old owner and mode (at most 0640), and renames it
 * over the old one. */
int sw_acl_file_write(const char *name, const struct sw_user_list *list, char *error,
                      size_t error_bytes)
{
    char path[SW_SECRET_PATH_BYTES];
    char beside[SW_SECRET_PATH_BYTES + 16] = "";
    struct stat status = {.st_mode = 0600};
    int fd = -1;
    bool done = sw_secret_path(name, path) == 0;
    if (done) {
        snprintf(beside, sizeof(beside), "%s.XXXXXX", path);
        fd = mkostemp(beside, O_CLOEXEC);
        done = fd >= 0 && (stat(path, &status) == 0 || errno == ENOENT);
    }
    if (done && status.st_nlink > 0) {
        int changed =
            fchown(fd, status.st_uid, status.st_gid); /* may fail: then the owner changes */
        (void)changed;
    }
    done = done && fchmod(fd, status.st_mode & 0640) == 0 && write_users(fd, list) &&
           fsync(fd) == 0 && rename(beside, path) == 0;
    if (!done) {
        snprintf(error, error_bytes, "%s: %s", name, strerror(errno));
    }
    if (fd >= 0) {
        close(fd);
    }
    if (!done && fd >= 0) {
        unlink(beside);
    }
    if (done && !sync_folder(path)) {
        snprintf(error, error_bytes, "%s was written, but a loss of power may undo that: %s", name,
                 strerror(errno));
        return -1;
    }
    return done ? 0 : -1;
}
