/* SPDX-License-Identifier: MIT
 *
 * power_directory.h - the names on the disk that can lose power: as they are, and as they would
 * survive.
 */
#ifndef SHERWOOD_TESTS_SUPPORT_POWER_DIRECTORY_H
#define SHERWOOD_TESTS_SUPPORT_POWER_DIRECTORY_H

#include <stdbool.h>

#include "tests/support/random.h"

enum { POWER_NAMES_MAX = 64, POWER_CHANGES_MAX = 512, POWER_NAME_BYTES = 32 };

struct power_name {
    char text[POWER_NAME_BYTES]; /* empty: none */
    int file;
};

/* What happened to a name since the directory was synced. */
struct power_change {
    enum { POWER_ADDED, POWER_REMOVED, POWER_RENAMED } what;
    char text[POWER_NAME_BYTES], to[POWER_NAME_BYTES];
    int file;
};

struct power_directory {
    struct power_name now[POWER_NAMES_MAX], safe[POWER_NAMES_MAX];
    struct power_change changes[POWER_CHANGES_MAX];
    int change_count;
};

/* Returns the file of the name; -1: there is no such name. */
int power_directory_find(struct power_directory *directory, const char *text);
void power_directory_add(struct power_directory *directory, const char *text, int file);
/* The name exists. */
void power_directory_remove(struct power_directory *directory, const char *text);
void power_directory_rename(struct power_directory *directory, const char *from, const char *to);

void power_directory_sync(struct power_directory *directory);
/* The power ends: some of the changes survive, and a rename perhaps by half. */
void power_directory_lose(struct power_directory *directory, struct random *random);
/* The names are those that have survived. */
void power_directory_reboot(struct power_directory *directory);
/* Returns whether the file has a name, or may have one after a loss of power. */
bool power_directory_names(const struct power_directory *directory, int file);

#endif
