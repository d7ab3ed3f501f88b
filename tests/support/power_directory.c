/* SPDX-License-Identifier: MIT
 *
 * power_directory.c - names, and the changes of names that no sync has made durable.
 */
#include "tests/support/power_directory.h"

#include <stdlib.h>
#include <string.h>

static struct power_name *find(struct power_name *names, const char *text)
{
    for (int i = 0; i < POWER_NAMES_MAX; i++) {
        if (strcmp(names[i].text, text) == 0) {
            return &names[i];
        }
    }
    return NULL;
}

static void set_name(struct power_name *names, const char *text, int file)
{
    struct power_name *name = find(names, text);
    name = name != NULL ? name : find(names, "");
    if (name == NULL) {
        abort(); /* the test keeps too many files */
    }
    strcpy(name->text, text);
    name->file = file;
}

static void drop_name(struct power_name *names, const char *text)
{
    struct power_name *name = find(names, text);
    if (name != NULL) {
        name->text[0] = '\0';
    }
}

static void note(struct power_directory *directory, int what, const char *text, const char *to,
                 int file)
{
    if (directory->change_count == POWER_CHANGES_MAX) {
        abort();
    }
    struct power_change *change = &directory->changes[directory->change_count++];
    change->what = what;
    change->file = file;
    strcpy(change->text, text);
    strcpy(change->to, to);
}

int power_directory_find(struct power_directory *directory, const char *text)
{
    const struct power_name *name = find(directory->now, text);
    return name != NULL ? name->file : -1;
}

void power_directory_add(struct power_directory *directory, const char *text, int file)
{
    set_name(directory->now, text, file);
    note(directory, POWER_ADDED, text, "", file);
}

void power_directory_remove(struct power_directory *directory, const char *text)
{
    drop_name(directory->now, text);
    note(directory, POWER_REMOVED, text, "", -1);
}

void power_directory_rename(struct power_directory *directory, const char *from, const char *to)
{
    const int file = power_directory_find(directory, from);
    drop_name(directory->now, from);
    set_name(directory->now, to, file);
    note(directory, POWER_RENAMED, from, to, file);
}

void power_directory_sync(struct power_directory *directory)
{
    memcpy(directory->safe, directory->now, sizeof(directory->safe));
    directory->change_count = 0;
}

void power_directory_lose(struct power_directory *directory, struct random *random)
{
    for (int i = 0; i < directory->change_count; i++) {
        const struct power_change *change = &directory->changes[i];
        uint64_t how = random_below(random, change->what == POWER_RENAMED ? 3 : 2);
        if (how == 0) {
            continue;
        }
        if (change->what == POWER_ADDED) {
            set_name(directory->safe, change->text, change->file);
        } else if (change->what == POWER_REMOVED) {
            drop_name(directory->safe, change->text);
        } else {
            set_name(directory->safe, change->to, change->file);
            if (how == 2) {
                drop_name(directory->safe, change->text);
            }
        }
    }
}

void power_directory_reboot(struct power_directory *directory)
{
    memcpy(directory->now, directory->safe, sizeof(directory->now));
    directory->change_count = 0;
}

bool power_directory_names(const struct power_directory *directory, int file)
{
    for (int i = 0; i < POWER_NAMES_MAX; i++) {
        if ((directory->now[i].text[0] != '\0' && directory->now[i].file == file) ||
            (directory->safe[i].text[0] != '\0' && directory->safe[i].file == file)) {
            return true;
        }
    }
    for (int i = 0; i < directory->change_count; i++) {
        if (directory->changes[i].file == file) {
            return true;
        }
    }
    return false;
}
