/* SPDX-License-Identifier: MIT
 *
 * state_file.c - reads the files of a cluster, and writes its state.
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
#include "proto/regular_file.h"

#define FILE_BYTES_MAX (SW_TOPOLOGY_BYTES_MAX + ((size_t)256 << 10))
#define PATH_BYTES 256
/* The end of the file: a check of all bytes before it. */
#define CHECK_FORMAT ",\"check\":\"%016" PRIx64 "\"}\n"
#define CHECK_BYTES 29

char *sw_cluster_read_file(const char *path, size_t *size, char error[SW_CLUSTER_ERROR_BYTES])
{
    FILE *file = sw_fopen_regular(path);
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
        snprintf(error, SW_CLUSTER_ERROR_BYTES, "%s: %s", path, sw_file_error(code));
        errno = code;
        return NULL;
    }
    return text;
}

static const char *const roles[] = {[SW_CLUSTER_RESTS] = "none",
                                    [SW_CLUSTER_TAKES] = "takes",
                                    [SW_CLUSTER_HANDED] = "handed",
                                    [SW_CLUSTER_DECIDES] = "decides"};
#define ROLES (sizeof(roles) / sizeof(roles[0]))

static bool take_slots(json_t *object, const char *name, struct sw_slot_set *slots)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text != NULL && sw_slot_set_parse(slots, text, strlen(text));
}

static bool take_move(json_t *object, struct sw_cluster_move *move)
{
    const char *role = json_string_value(json_object_get(object, "role"));
    const char *peer = json_string_value(json_object_get(object, "peer"));
    json_t *last = json_object_get(object, "last"), *attempt = json_object_get(object, "attempt");
    size_t number = 0;
    while (role != NULL && number < ROLES && strcmp(role, roles[number]) != 0) {
        number++;
    }
    if (json_object_size(object) != 6 || role == NULL || number == ROLES || peer == NULL ||
        !json_is_integer(last) || !json_is_integer(attempt) ||
        !take_slots(object, "slots", &move->slots) ||
        !take_slots(object, "leaving", &move->leaving) ||
        (number != SW_CLUSTER_RESTS && !sw_topology_is_id(peer))) {
        return false;
    }
    move->role = (enum sw_cluster_role)number;
    move->last = (uint64_t)json_integer_value(last);
    move->attempt = (uint64_t)json_integer_value(attempt);
    snprintf(move->peer, sizeof(move->peer), "%s", peer);
    return true;
}

/* Reads the state from its JSON. If a field is wrong, returns false and an error. */
static bool parse_state(json_t *root, struct sw_cluster_state *state,
                        char error[SW_TOPOLOGY_ERROR_BYTES])
{
    const char *id = json_string_value(json_object_get(root, "node"));
    json_t *topology = json_object_get(root, "topology");
    json_t *foreign = json_object_get(root, "may_have_foreign");
    if (json_integer_value(json_object_get(root, "format")) != 2 || id == NULL ||
        !sw_topology_is_id(id) || !json_is_boolean(foreign) ||
        !take_move(json_object_get(root, "move"), &state->move) ||
        json_object_size(root) != (topology == NULL ? 5 : 6)) {
        snprintf(error, SW_TOPOLOGY_ERROR_BYTES, "it is not the state file of a cluster node");
        return false;
    }
    memcpy(state->id, id, sizeof(state->id));
    state->may_have_foreign = json_is_true(foreign);
    if (topology == NULL) {
        return true;
    }
    char *text = json_dumps(topology, 0);
    if (text == NULL) {
        snprintf(error, SW_TOPOLOGY_ERROR_BYTES, "its topology is not a JSON object");
        return false;
    }
    state->topology = sw_topology_parse(text, strlen(text), error);
    free(text);
    return state->topology != NULL;
}

/* Returns true if the file ends in the right check of the bytes before it. */
static bool is_whole(const char *text, size_t size)
{
    char end[CHECK_BYTES + 1];
    if (size < CHECK_BYTES) {
        return false;
    }
    snprintf(end, sizeof(end), CHECK_FORMAT, sw_check64(text, size - CHECK_BYTES, 0));
    return memcmp(text + size - CHECK_BYTES, end, CHECK_BYTES) == 0;
}

bool sw_cluster_state_parse(const char *text, size_t size, struct sw_cluster_state *state,
                            char error[SW_TOPOLOGY_ERROR_BYTES])
{
    json_error_t where;
    memset(state, 0, sizeof(*state));
    json_t *root =
        is_whole(text, size) ? json_loadb(text, size, JSON_REJECT_DUPLICATES, &where) : NULL;
    if (root == NULL) {
        snprintf(error, SW_TOPOLOGY_ERROR_BYTES,
                 "its checksum is wrong: it is damaged, was edited, or an older version wrote it");
    }
    bool done = root != NULL && parse_state(root, state, error);
    json_decref(root);
    return done;
}

int sw_cluster_state_read(const char *path, struct sw_cluster_state *state,
                          char error[SW_CLUSTER_ERROR_BYTES])
{
    size_t size = 0;
    char why[SW_TOPOLOGY_ERROR_BYTES];
    memset(state, 0, sizeof(*state));
    char *text = sw_cluster_read_file(path, &size, error);
    if (text == NULL) {
        return errno == ENOENT ? 0 : -1;
    }
    bool done = sw_cluster_state_parse(text, size, state, why);
    free(text);
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

static char *print_move(const struct sw_cluster_move *move)
{
    char *text = NULL, *slots = sw_slot_set_print(&move->slots);
    char *leaving = sw_slot_set_print(&move->leaving);
    if (slots == NULL || leaving == NULL ||
        asprintf(&text,
                 "{\"role\":\"%s\",\"last\":%" PRIu64 ",\"attempt\":%" PRIu64
                 ",\"peer\":\"%s\",\"slots\":\"%s\",\"leaving\":\"%s\"}",
                 roles[move->role], move->last, move->attempt, move->peer, slots, leaving) < 0) {
        text = NULL;
    }
    free(slots);
    free(leaving);
    return text;
}

char *sw_cluster_state_print(const struct sw_cluster_state *state)
{
    char *topology = state->topology == NULL ? NULL : sw_topology_print(state->topology);
    char *move = print_move(&state->move), *body = NULL, *text = NULL;
    int size = -1;
    if (move != NULL && (topology != NULL || state->topology == NULL)) {
        size =
            asprintf(&body, "{\"format\":2,\"node\":\"%s\",\"may_have_foreign\":%s,\"move\":%s%s%s",
                     state->id, state->may_have_foreign ? "true" : "false", move,
                     topology == NULL ? "" : ",\"topology\":", topology == NULL ? "" : topology);
    }
    if (size < 0 ||
        asprintf(&text, "%s" CHECK_FORMAT, body, sw_check64(body, (size_t)size, 0)) < 0) {
        text = NULL;
    }
    free(size < 0 ? NULL : body);
    free(move);
    free(topology);
    return text;
}

int sw_cluster_state_write(const char *path, const struct sw_cluster_state *state,
                           char error[SW_CLUSTER_ERROR_BYTES])
{
    char beside[PATH_BYTES + 16];
    char *text = sw_cluster_state_print(state);
    snprintf(beside, sizeof(beside), "%s.new", path);
    int fd =
        text == NULL ? -1 : sw_open_regular(AT_FDCWD, beside, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    bool done = fd >= 0 && write_all(fd, text) && fsync(fd) == 0 && rename(beside, path) == 0;
    int code = errno;
    free(text);
    if (fd >= 0) {
        close(fd);
    }
    if (!done && fd >= 0) {
        unlink(beside);
    }
    bool is_there = done;
    if (done && !sync_folder(path)) {
        code = errno;
        done = false;
    }
    if (!done) {
        snprintf(error, SW_CLUSTER_ERROR_BYTES, "%s cannot be written: %s", path,
                 sw_file_error(code));
    }
    return done ? 0 : is_there ? -2 : -1;
}
