/* SPDX-License-Identifier: MIT
 *
 * sources.c - follows the includes of a kernel, and hashes the files.
 */
#include "bench/tune/sources.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILES_MAX 256
#define PATH_MAX_BYTES 512
#define FNV_START 0xcbf29ce484222325ULL
#define FNV_PRIME 0x100000001b3ULL

/* Files found so far; those from `next` on are still to be read. */
struct files {
    char names[FILES_MAX][PATH_MAX_BYTES];
    uint32_t count;
};

uint64_t sw_tune_hash(uint64_t hash, const char *text, size_t length)
{
    hash = hash == 0 ? FNV_START : hash;
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)text[i]) * FNV_PRIME;
    }
    return hash;
}

void sw_tune_hash_text(uint64_t hash, char text[SW_TUNE_HASH_TEXT])
{
    snprintf(text, SW_TUNE_HASH_TEXT, "%016" PRIx64, hash);
}

static bool add(struct files *files, const char *name, struct sw_tune_reason *reason)
{
    for (uint32_t i = 0; i < files->count; i++) {
        if (strcmp(files->names[i], name) == 0) {
            return true;
        }
    }
    if (files->count == FILES_MAX) {
        return sw_tune_refuse(reason, "more than %d files are included", FILES_MAX);
    }
    snprintf(files->names[files->count++], PATH_MAX_BYTES, "%s", name);
    return true;
}

/* The name in #include "name", if the line is one. */
static bool included(const char *line, char name[PATH_MAX_BYTES])
{
    int end = -1;
    return sscanf(line, " # include \"%511[^\"]\"%n", name, &end) == 1 && end > 0;
}

/* Headers of analyze --export are not sources: variants do not include them. */
static bool is_exported(const char *name)
{
    const char *base = strrchr(name, '/');
    base = base != NULL ? base + 1 : name;
    return strncmp(base, "policy_", 7) == 0;
}

static bool follow(struct files *files, const char *from, const char *line,
                   struct sw_tune_reason *reason)
{
    char name[PATH_MAX_BYTES];
    char beside[2 * PATH_MAX_BYTES];
    const char *slash = strrchr(from, '/');
    if (!included(line, name) || is_exported(name)) {
        return true;
    }
    snprintf(beside, sizeof(beside), "%.*s%s", slash != NULL ? (int)(slash + 1 - from) : 0, from,
             name);
    if (strlen(beside) < PATH_MAX_BYTES && access(beside, R_OK) == 0) {
        return add(files, beside, reason);
    }
    return access(name, R_OK) != 0 || add(files, name, reason);
}

bool sw_tune_hash_sources(const char *file, uint64_t *out, struct sw_tune_reason *reason)
{
    struct files *files = calloc(1, sizeof(*files));
    uint64_t hash = 0;
    char *line = NULL;
    size_t room = 0;
    bool good = files != NULL && add(files, file, reason);
    if (files == NULL) {
        return sw_tune_refuse(reason, "not enough memory");
    }
    for (uint32_t next = 0; good && next < files->count; next++) {
        FILE *in = fopen(files->names[next], "r");
        if (in == NULL) {
            good = sw_tune_refuse(reason, "%s cannot be read: %s", files->names[next],
                                  strerror(errno));
            break;
        }
        ssize_t length = 0;
        while (good && (length = getline(&line, &room, in)) > 0) {
            hash = sw_tune_hash(hash, line, (size_t)length);
            good = follow(files, files->names[next], line, reason);
        }
        (void)fclose(in);
    }
    free(line);
    free(files);
    *out = hash;
    return good;
}
