/* SPDX-License-Identifier: MIT
 *
 * rewrite.c - CONFIG REWRITE: the configuration file gets the values in effect.
 *
 * Only options that differ from the file are written. An option that the file sets keeps its line,
 * with its blanks and its comment. Another option gets a line behind the one that has it commented
 * out, or at the end of its section. The new file is written beside the old one. It replaces the
 * old one once it is on storage and a second read has found the intended values.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proto/regular_file.h"
#include "server/config/live.h"
#include "server/config/table_options.h"

#define LINE_BYTES 512 /* sw_config_read_file refuses lines that are much shorter */
#define NAME_BYTES 64

/* State of a rewrite. */
struct rewrite {
    const struct sw_config *config;
    char path[PATH_MAX];                   /* the file, symbolic links followed */
    char beside[PATH_MAX + 16];            /* the new file */
    unsigned set_at_line[SW_OPTION_COUNT]; /* line in the file; 0: the file does not set it */
    unsigned goes_behind[SW_OPTION_COUNT]; /* line that a new line follows; 0: the end */
    bool differs[SW_OPTION_COUNT];
    char *error;
    size_t error_bytes;
};

/* Writes the error text of a failed call. Returns -1. */
static int rewrite_failed(const struct rewrite *rewrite, const char *what)
{
    snprintf(rewrite->error, rewrite->error_bytes, "%s: %s", what, sw_file_error(errno));
    return -1;
}

/* --- what differs ----------------------------------------------------------------------------- */

/* Reads a file, and notes the options whose values in it differ from those in effect. Returns their
 * number, or -1. */
static int compare_with_file(struct rewrite *rewrite, const char *path)
{
    struct sw_config filed;
    int count = 0;
    sw_config_init(&filed);
    if (sw_config_read_file(path, &filed, rewrite->set_at_line, rewrite->error,
                            rewrite->error_bytes) != 0) {
        return -1;
    }
    for (size_t i = 0; i < SW_OPTION_COUNT; i++) {
        char here[SW_OPTION_VALUE_BYTES], there[SW_OPTION_VALUE_BYTES];
        sw_option_format_asked(sw_option_at(i), rewrite->config, here, sizeof(here));
        sw_option_format_asked(sw_option_at(i), &filed, there, sizeof(there));
        rewrite->differs[i] = strcmp(here, there) != 0;
        count += rewrite->differs[i];
    }
    return count;
}

/* Copies the name in "#name = value" or "[name]". Returns false if the line is neither. */
static bool name_in(const char *line, char open, const char *end, char name[NAME_BYTES])
{
    line += strspn(line, " \t");
    if (*line != open) {
        return false;
    }
    line += 1 + strspn(line + 1, " \t");
    size_t size = strcspn(line, end);
    if (size == 0 || size >= NAME_BYTES || line[size] == '\0' || line[size] == '\n') {
        return false;
    }
    while (size > 0 && (line[size - 1] == ' ' || line[size - 1] == '\t')) {
        size--;
    }
    memcpy(name, line, size);
    name[size] = '\0';
    return true;
}

/* Chooses a place in the file for each new line. */
static void place(struct rewrite *rewrite, FILE *file)
{
    char line[LINE_BYTES], section[NAME_BYTES] = "", name[NAME_BYTES];
    bool commented[SW_OPTION_COUNT] = {false};
    for (unsigned number = 1; fgets(line, sizeof(line), file) != NULL; number++) {
        (void)name_in(line, '[', "]", section);
        bool empty = line[strspn(line, " \t\r\n")] == '\0';
        bool is_comment = name_in(line, '#', "=", name);
        for (size_t i = 0; i < SW_OPTION_COUNT; i++) {
            const struct sw_option *option = sw_option_at(i);
            if (strcmp(option->section, section) != 0) {
                continue;
            }
            if (is_comment && strcmp(name, option->name) == 0) {
                commented[i] = true;
                rewrite->goes_behind[i] = number;
            } else if (!commented[i] && !empty) {
                rewrite->goes_behind[i] = number;
            }
        }
    }
}

/* --- the new file ----------------------------------------------------------------------------- */

static void put_new_line(const struct rewrite *rewrite, size_t index, FILE *out)
{
    char value[SW_OPTION_VALUE_BYTES];
    sw_option_format_asked(sw_option_at(index), rewrite->config, value, sizeof(value));
    fprintf(out, "%s =%s%s\n", sw_option_at(index)->name, value[0] != '\0' ? " " : "", value);
}

/* Copies a line that sets an option, with its value in effect: "name = [value] ; comment". */
static void put_changed_line(const struct rewrite *rewrite, size_t index, const char *line,
                             FILE *out)
{
    char value[SW_OPTION_VALUE_BYTES];
    sw_option_format_asked(sw_option_at(index), rewrite->config, value, sizeof(value));
    size_t head = strcspn(line, "=:");
    head += line[head] != '\0';
    size_t blanks = strspn(line + head, " \t");
    const char *old = line + head + blanks;
    const char *comment = strstr(line + head, " ;");
    const char *tab = strstr(line + head, "\t;");
    comment = comment == NULL || (tab != NULL && tab < comment) ? tab : comment;
    while (comment != NULL && comment > old && (comment[-1] == ' ' || comment[-1] == '\t')) {
        comment--;
    }
    fprintf(out, "%.*s%.*s%s%s", (int)head, line, blanks > 0 ? (int)blanks : 1,
            blanks > 0 ? line + head : " ", value, comment != NULL ? comment : "\n");
}

/* Writes the lines that come behind line `number`. */
static void put_lines_behind(const struct rewrite *rewrite, unsigned number, FILE *out)
{
    for (size_t i = 0; i < SW_OPTION_COUNT; i++) {
        if (rewrite->differs[i] && rewrite->set_at_line[i] == 0 &&
            rewrite->goes_behind[i] == number) {
            put_new_line(rewrite, i, out);
        }
    }
}

/* Writes the sections that the file does not have. */
static void put_new_sections(const struct rewrite *rewrite, FILE *out)
{
    const char *section = "";
    for (size_t i = 0; i < SW_OPTION_COUNT; i++) {
        if (!rewrite->differs[i] || rewrite->set_at_line[i] != 0 || rewrite->goes_behind[i] != 0) {
            continue;
        }
        if (strcmp(section, sw_option_at(i)->section) != 0) {
            section = sw_option_at(i)->section;
            fprintf(out, "\n[%s]\n", section);
        }
        put_new_line(rewrite, i, out);
    }
}

static void copy_lines(const struct rewrite *rewrite, FILE *file, FILE *out)
{
    char line[LINE_BYTES];
    for (unsigned number = 1; fgets(line, sizeof(line), file) != NULL; number++) {
        size_t index = 0;
        while (index < SW_OPTION_COUNT &&
               (rewrite->set_at_line[index] != number || !rewrite->differs[index])) {
            index++;
        }
        if (index < SW_OPTION_COUNT) {
            put_changed_line(rewrite, index, line, out);
        } else {
            fputs(line, out);
            if (strchr(line, '\n') == NULL) { /* the last line of a file that lacks it */
                fputc('\n', out);
            }
        }
        put_lines_behind(rewrite, number, out);
    }
    put_new_sections(rewrite, out);
}

/* Checks that reading the new file gives the intended values. */
static int check_new_file(struct rewrite *rewrite)
{
    struct rewrite again = *rewrite;
    int count = compare_with_file(&again, rewrite->beside);
    if (count > 0) {
        snprintf(rewrite->error, rewrite->error_bytes,
                 "%s has a value that a configuration file cannot hold", rewrite->path);
    }
    return count == 0 ? 0 : -1;
}

/* Writes the new file, with the owner and the mode of the old one, up to its place on storage. */
static int write_beside(struct rewrite *rewrite, FILE *file, const struct stat *old)
{
    int fd =
        sw_open_regular(AT_FDCWD, rewrite->beside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    if (out == NULL) {
        int status = rewrite_failed(rewrite, rewrite->beside);
        if (fd >= 0) {
            close(fd);
        }
        return status;
    }
    copy_lines(rewrite, file, out);
    int changed = fchown(fd, old->st_uid, old->st_gid); /* may fail: then the owner changes */
    (void)changed;
    bool bad = ferror(file) || fflush(out) != 0 || ferror(out) ||
               fchmod(fd, old->st_mode & 07777) != 0 || fsync(fd) != 0;
    int status = bad ? rewrite_failed(rewrite, rewrite->beside) : 0;
    if (fclose(out) != 0 && status == 0) {
        status = rewrite_failed(rewrite, rewrite->beside);
    }
    return status;
}

/* Makes the new name of the file durable. */
static int sync_directory(struct rewrite *rewrite)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s", rewrite->path);
    int fd = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int status = fd < 0 || fsync(fd) != 0 ? rewrite_failed(rewrite, path) : 0;
    if (fd >= 0) {
        close(fd);
    }
    return status;
}

static int replace_file(struct rewrite *rewrite)
{
    struct stat old;
    FILE *file = sw_fopen_regular(rewrite->path);
    if (file == NULL || fstat(fileno(file), &old) != 0) {
        int status = rewrite_failed(rewrite, rewrite->path);
        if (file != NULL) {
            fclose(file);
        }
        return status;
    }
    place(rewrite, file);
    rewind(file);
    int status = write_beside(rewrite, file, &old);
    fclose(file);
    if (status == 0) {
        status = check_new_file(rewrite);
    }
    if (status == 0 && rename(rewrite->beside, rewrite->path) != 0) {
        status = rewrite_failed(rewrite, rewrite->path);
    }
    if (status != 0) {
        unlink(rewrite->beside);
        return -1;
    }
    return sync_directory(rewrite);
}

int sw_live_rewrite(struct sw_live *live, const struct sw_config *started, char *error,
                    size_t error_bytes)
{
    struct sw_config mixed;
    struct rewrite rewrite = {.config = &mixed, .error = error, .error_bytes = error_bytes};
    const char *path = live->config->origin.path;
    if (path == NULL) {
        snprintf(error, error_bytes, "the server is running without a config file");
        return -1;
    }
    if (realpath(path, rewrite.path) == NULL) {
        return rewrite_failed(&rewrite, path);
    }
    snprintf(rewrite.beside, sizeof(rewrite.beside), "%s.rewrite", rewrite.path);
    pthread_mutex_lock(&live->lock); /* one rewrite at a time; no value changes meanwhile */
    mixed = *live->config;
    sw_config_alter(&mixed, started, started == NULL ? 0 : SW_ALTERABLE_ALL);
    int count = compare_with_file(&rewrite, rewrite.path);
    int status = count > 0 ? replace_file(&rewrite) : count;
    pthread_mutex_unlock(&live->lock);
    return status < 0 ? -1 : count;
}
