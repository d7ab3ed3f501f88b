/* SPDX-License-Identifier: MIT
 *
 * role_file.c - three lines of text.
 */
#include "server/log/role_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "server/log/small_file.h"

#define TEXT_BYTES 1024
#define FIRST "sherwood-role 1\n"
#define PRIMARY "primary\n"
#define REPLICA "replica of "
#define OPTION "replicaof "

static int role_file_failed(const struct sw_directory *directory, const char *what,
                            char reason[SW_ROLE_REASON_BYTES])
{
    snprintf(reason, SW_ROLE_REASON_BYTES, "%s/" SW_ROLE_NAME " cannot be %s: %s", directory->path,
             what, strerror(errno));
    return -1;
}

/* Parses a line that begins with `begins`. Returns the text after the line, or NULL. */
static const char *take_line(const char *text, const char *begins,
                             char value[SW_ROLE_PRIMARY_BYTES])
{
    const size_t known = strlen(begins);
    if (strncmp(text, begins, known) != 0) {
        return NULL;
    }
    const size_t size = strcspn(text + known, "\n");
    if (text[known + size] != '\n' || size >= SW_ROLE_PRIMARY_BYTES) {
        return NULL;
    }
    memcpy(value, text + known, size);
    value[size] = '\0';
    return text + known + size + 1;
}

static bool parse(const char *text, struct sw_role *role)
{
    if (strncmp(text, FIRST, strlen(FIRST)) != 0) {
        return false;
    }
    text += strlen(FIRST);
    if (strncmp(text, PRIMARY, strlen(PRIMARY)) == 0) {
        text += strlen(PRIMARY);
    } else {
        text = take_line(text, REPLICA, role->primary);
        if (text == NULL || role->primary[0] == '\0') {
            return false;
        }
    }
    text = take_line(text, OPTION, role->replicaof);
    return text != NULL && *text == '\0';
}

int sw_role_read(const struct sw_directory *directory, struct sw_role *role,
                 char reason[SW_ROLE_REASON_BYTES])
{
    char text[TEXT_BYTES];
    memset(role, 0, sizeof(*role));
    const ssize_t size = sw_small_file_read(directory, SW_ROLE_NAME, text, sizeof(text));
    if (size < 0) {
        return errno == ENOENT ? 0 : role_file_failed(directory, "read", reason);
    }
    if (strlen(text) != (size_t)size || !parse(text, role)) {
        snprintf(reason, SW_ROLE_REASON_BYTES,
                 "%s/" SW_ROLE_NAME " is damaged, so the role that REPLICAOF set is unknown: "
                 "remove it to start with the role of --replicaof",
                 directory->path);
        return -1;
    }
    role->is_set = true;
    return 0;
}

int sw_role_write(const struct sw_directory *directory, const struct sw_role *role,
                  char reason[SW_ROLE_REASON_BYTES])
{
    char text[TEXT_BYTES];
    if (!role->is_set) {
        return sw_small_file_remove(directory, SW_ROLE_NAME) == 0
                   ? 0
                   : role_file_failed(directory, "removed", reason);
    }
    const bool is_primary = role->primary[0] == '\0';
    const int size = snprintf(text, sizeof(text), FIRST "%s%s\n" OPTION "%s\n",
                              is_primary ? "primary" : REPLICA, role->primary, role->replicaof);
    return sw_small_file_write(directory, SW_ROLE_NAME, SW_ROLE_NEW, text, (size_t)size) == 0
               ? 0
               : role_file_failed(directory, "written", reason);
}
