/* SPDX-License-Identifier: MIT
 *
 * state_file.c - reading the files of a cluster, and writing its state.
 */
#include "server/cluster/state_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proto/check.h"

#define FILE_BYTES_MAX (SW_TOPOLOGY_BYTES_MAX + 4096)
#define PATH_BYTES 256
/* The end of the file: a check of all bytes before it. */
#define CHECK_FORMAT ",\"check\":\"%016" PRIx64 "\"}\n"
#define CHECK_BYTES 29

char *sw_cluster_read_file(const char *path, size_t *size, char error[SW_CLUSTER_ERROR_BYTES])
{
    FILE *file = fopen(path, "re");
    char *text = file == NULL ? NULL : malloc(FILE_BYTES_MAX + 1);
    *size = text == NULL ? 0 : fread(text, 1, FILE_BYTES_MAX + 1, file);
    int code = text == NULL || ferror(file) ? (errno == 0 ? EIO : errno)
               : *size > FILE_BYTES_MAX     ? EFBIG
                                            : 0;
    if (file != NULL) {
        fclose(file);
    }
    if (code != 0) {
        free(text);
        snprintf(error, SW_CLUSTER_ERROR_BYTES, "%s: %s", path, strerror(code));
        errno = code;
        return NULL;
    }
    return text;
}

/* Takes the state out of its JSON. Returns false with a sentence about what is wrong. */
static bool take(json_t *root, struct sw_cluster_state *state, char error[SW_TOPOLOGY_ERROR_BYTES])
{
    const char *id = json_string_value(json_object_get(root, "node"));
    json_t *topology = json_object_get(root, "topology");
    json_t *foreign = json_object_get(root, "may_have_foreign");
    if (json_integer_value(json_object_get(root, "format")) != 2 || id == NULL ||
        !sw_topology_is_id(id) || !json_is_boolean(foreign) ||
        json_object_size(root) != (topology == NULL ? 4 : 5)) {
        snprintf(error, SW_TOPOLOGY_ERROR_BYTES, "it is not the state of a node of a cluster");
        return false;
    }
    memcpy(state->id, id, sizeof(state->id));
    state->may_have_foreign = json_is_true(foreign);
    if (topology == NULL) {
        return true;
    }
    char *text = json_dumps(topology, 0);
    if (text == NULL) {
        snprintf(error, SW_TOPOLOGY_ERROR_BYTES, "its topology is no object");
        return false;
    }
    state->topology = sw_topology_parse(text, strlen(text), error);
    free(text);
    return state->topology != NULL;
}

/* Is the end of the file the check of what is before it? */
static bool is_whole(const char *text, size_t size)
{
    char end[CHECK_BYTES + 1];
    if (size < CHECK_BYTES) {
        return false;
    }
    snprintf(end, sizeof(end), CHECK_FORMAT, sw_check64(text, size - CHECK_BYTES, 0));
    return memcmp(text + size - CHECK_BYTES, end, CHECK_BYTES) == 0;
}

int sw_cluster_state_read(const char *path, struct sw_cluster_state *state,
                          char error[SW_CLUSTER_ERROR_BYTES])
{
    size_t size = 0;
    char why[SW_TOPOLOGY_ERROR_BYTES];
    json_error_t where;
    memset(state, 0, sizeof(*state));
    char *text = sw_cluster_read_file(path, &size, error);
    if (text == NULL) {
        return errno == ENOENT ? 0 : -1;
    }
    json_t *root =
        is_whole(text, size) ? json_loadb(text, size, JSON_REJECT_DUPLICATES, &where) : NULL;
    if (root == NULL) {
        snprintf(
            why, sizeof(why),
            "its check does not hold: it is damaged, was changed, or an older version wrote it");
    }
    free(text);
    bool done = root != NULL && take(root, state, why);
    json_decref(root);
    if (!done) {
        snprintf(error, SW_CLUSTER_ERROR_BYTES, "%s: %s", path, why);
    }
    return done ? 1 : -1;
}

static bool write_all(int fd, const char *text)
{
    for (size_t left = strlen(text); left > 0;) {
        ssize_t count = write(fd, text, left);
        if (count < 0 && errno != EINTR) {
            return false;
        }
        text += count > 0 ? count : 0;
        left -= count > 0 ? (size_t)count : 0;
    }
    return true;
}

static bool sync_folder(const char *path)
{
    char copy[PATH_BYTES];
    snprintf(copy, sizeof(copy), "%s", path);
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool done = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return done;
}

static char *print(const char *id, bool may_have_foreign, const struct sw_topology *topology)
{
    char *inner = topology == NULL ? NULL : sw_topology_print(topology);
    if (topology != NULL && inner == NULL) {
        return NULL;
    }
    char *body = NULL, *text = NULL;
    int size = asprintf(&body, "{\"format\":2,\"node\":\"%s\",\"may_have_foreign\":%s%s%s", id,
                        may_have_foreign ? "true" : "false",
                        inner == NULL ? "" : ",\"topology\":", inner == NULL ? "" : inner);
    free(inner);
    if (size < 0 ||
        asprintf(&text, "%s" CHECK_FORMAT, body, sw_check64(body, (size_t)size, 0)) < 0) {
        text = NULL;
    }
    free(size < 0 ? NULL : body);
    return text;
}

int sw_cluster_state_write(const char *path, const char *id, bool may_have_foreign,
                           const struct sw_topology *topology, char error[SW_CLUSTER_ERROR_BYTES])
{
    char beside[PATH_BYTES + 16];
    char *text = print(id, may_have_foreign, topology);
    snprintf(beside, sizeof(beside), "%s.new", path);
    int fd = text == NULL ? -1 : open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool done = fd >= 0 && write_all(fd, text) && fsync(fd) == 0 && rename(beside, path) == 0;
    int code = errno;
    free(text);
    if (fd >= 0) {
        close(fd);
    }
    if (!done && fd >= 0) {
        unlink(beside);
    }
    if (done && !sync_folder(path)) {
        code = errno;
        done = false;
    }
    if (!done) {
        snprintf(error, SW_CLUSTER_ERROR_BYTES, "%s cannot be written: %s", path, strerror(code));
    }
    return done ? 0 : -1;
}
