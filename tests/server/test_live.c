/* SPDX-License-Identifier: MIT
 *
 * test_live.c - options that change while the server runs: set, read anew, and written to the file.
 */
#include "server/config/live.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "tests/server/config_fixture.h"

/* A configuration file with what reads it. */
struct place {
    char directory[64];
    char path[96];
    char *argv[8];
    struct sw_config config;
    struct sw_live live;
    struct sw_live_changes changes; /* the last ones */
    unsigned calls;
    char error[SW_CONFIG_ERROR_BYTES];
};

static void note(void *context, const struct sw_live_changes *changes, const char *who)
{
    struct place *place = context;
    cr_assert_str_eq(who, "test");
    place->changes = *changes;
    place->calls++;
}

static void write_file(const struct place *place, const char *text)
{
    FILE *file = fopen(place->path, "w");
    cr_assert_not_null(file);
    cr_assert_geq(fputs(text, file), 0);
    cr_assert_eq(fclose(file), 0);
}

static void expect_file(const struct place *place, const char *wanted)
{
    char text[4096];
    FILE *file = fopen(place->path, "r");
    cr_assert_not_null(file);
    size_t size = fread(text, 1, sizeof(text) - 1, file);
    text[size] = '\0';
    fclose(file);
    cr_assert_str_eq(text, wanted, "%s", text);
}

/* Loads the file, with one flag. */
static void open_place(struct place *place, const char *text, const char *flag, const char *value)
{
    memset(place, 0, sizeof(*place));
    snprintf(place->directory, sizeof(place->directory), "/tmp/sherwood-live-XXXXXX");
    cr_assert_not_null(mkdtemp(place->directory));
    snprintf(place->path, sizeof(place->path), "%s/sherwood.conf", place->directory);
    write_file(place, text);
    char *const argv[] = {(char *)(uintptr_t) "sherwoodd", (char *)(uintptr_t) "--config",
                          place->path, (char *)(uintptr_t)flag, (char *)(uintptr_t)value};
    memcpy(place->argv, argv, sizeof(argv));
    cr_assert_eq(sw_config_load(&place->config, flag != NULL ? 5 : 3, place->argv), SW_CONFIG_RUN);
    sw_live_init(&place->live, &place->config, false, note, place);
}

static void close_place(struct place *place)
{
    sw_live_fini(&place->live);
    cr_assert_eq(unlink(place->path), 0);
    cr_assert_eq(rmdir(place->directory), 0, "something was left behind");
}

static int set(struct place *place, const char *const words[], size_t *wrong)
{
    struct sw_live_pair pairs[8];
    size_t count = 0;
    for (; words[2 * count] != NULL; count++) {
        pairs[count] =
            (struct sw_live_pair){sw_option_find(words[2 * count]), words[2 * count + 1]};
    }
    return sw_live_set(&place->live, pairs, count, "test", wrong, place->error,
                       sizeof(place->error));
}
#define SET(place, ...) set(place, (const char *const[]){__VA_ARGS__, NULL}, &wrong)

Test(live, some_are_live_and_some_not)
{
    cr_assert(sw_option_is_live(sw_option_find("log-level")));
    cr_assert(sw_option_is_live(sw_option_find("save")));
    cr_assert_not(sw_option_is_live(sw_option_find("port")));
    cr_assert_not(sw_option_is_live(sw_option_find("capacity")));
}

Test(live, set_is_all_or_nothing)
{
    struct place place;
    size_t wrong = 9;
    open_place(&place, "", NULL, NULL);
    cr_assert_eq(SET(&place, "connections-max", "77", "idle-timeout-ms", "5000"), 0);
    cr_assert_eq(SW_LIVE(place.config.connections_max), 77);
    cr_assert_eq(SW_LIVE(place.config.idle_timeout_ms), 5000);
    cr_assert_eq(place.changes.count, 2);
    cr_assert_str_eq(place.changes.list[0].option->name, "connections-max");
    cr_assert_str_eq(place.changes.list[0].before, "10000");
    cr_assert_str_eq(place.changes.list[0].after, "77");
    /* a bad second value changes not even the first */
    cr_assert_neq(SET(&place, "connections-max", "78", "idle-timeout-ms", "x"), 0);
    cr_assert_eq(wrong, 1);
    cr_assert_not_null(strstr(place.error, "idle-timeout-ms: 'x' is not a whole number"));
    cr_assert_eq(place.config.connections_max, 77);
    /* so does one that contradicts another option */
    cr_assert_neq(SET(&place, "connections-max", "78", "output-bytes-pause", "1G"), 0);
    cr_assert_not_null(strstr(place.error, "output-bytes-pause 1073741824 is more than"));
    cr_assert_neq(SET(&place, "save", "60 1"), 0);
    cr_assert_not_null(strstr(place.error, "data-dir is not"));
    cr_assert_eq(place.config.connections_max, 77);
    /* an unchanged value causes no call */
    cr_assert_eq(SET(&place, "connections-max", "77"), 0);
    cr_assert_eq(place.calls, 1);
    close_place(&place);
}

Test(live, reload_takes_over_and_names_the_rest)
{
    struct place place;
    struct sw_live_changes restart;
    size_t wrong = 0;
    open_place(&place, "[server]\nport = 7000\n[limits]\nconnections-max = 50\n", "--capacity",
               "2M");
    cr_assert_eq(SET(&place, "write-timeout-ms", "1"), 0);
    write_file(&place, "[server]\nport = 7001\nlog-level = debug\n[table]\ncapacity = 4M\n"
                       "[limits]\nconnections-max = 60\n");
    int count = sw_live_reload(&place.live, "test", &restart, place.error, sizeof(place.error));
    cr_assert_eq(count, 3, "log-level, connections-max, and the write-timeout-ms of the default");
    cr_assert_eq(place.config.connections_max, 60);
    cr_assert_eq(place.config.write_timeout_ms, 60000);
    cr_assert_eq(place.config.port, 7000);
    cr_assert_eq(restart.count, 1, "the flag holds for capacity");
    cr_assert_str_eq(restart.list[0].option->name, "port");
    cr_assert_str_eq(restart.list[0].before, "7000");
    cr_assert_str_eq(restart.list[0].after, "7001");
    /* values derived from other options are no difference */
    write_file(&place, "[server]\nport = 7000\n[limits]\noutput-bytes-max = 32M\n");
    cr_assert_eq(sw_live_reload(&place.live, "test", &restart, place.error, sizeof(place.error)),
                 3);
    cr_assert_eq(restart.count, 0);
    close_place(&place);
}

Test(live, a_bad_file_changes_nothing)
{
    static const char *const bad[][2] = {
        {"[limits]\nconnections-max = 60\nconnections-max = 61\n", "already set in line 2"},
        {"[limits]\nconnections-max = 60\nnonsense = 1\n", "unknown option 'nonsense'"},
        {"[limits]\nconnections-max = 60\noutput-bytes-pause = 1G\n", "is more than"},
        {"[server]\nbind =\n[limits]\nconnections-max = 60\n", "no address to listen on"},
        {"[limits]\nconnections-max = 60\n[server\n", "missing its ']'"},
    };
    struct place place;
    struct sw_live_changes restart;
    open_place(&place, "[limits]\nconnections-max = 50\n", NULL, NULL);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        write_file(&place, bad[i][0]);
        cr_assert_eq(
            sw_live_reload(&place.live, "test", &restart, place.error, sizeof(place.error)), -1);
        cr_assert_not_null(strstr(place.error, bad[i][1]), "%s", place.error);
        cr_assert_eq(place.config.connections_max, 50);
    }
    cr_assert_eq(place.calls, 0);
    close_place(&place);
}

Test(live, rewrite_keeps_comments_and_order)
{
    struct place place;
    size_t wrong = 0;
    open_place(&place,
               "# the first line\n"
               "[limits]\n"
               "  connections-max=50   ; one for each client\n"
               "\n"
               "# how long\n"
               "#write-timeout-ms = 60000\n"
               "; the end of the section\n"
               "\n"
               "[server]\n"
               "port = 7000\n",
               "--capacity", "2M");
    cr_assert_eq(SET(&place, "connections-max", "60", "write-timeout-ms", "1000", "log-level",
                     "debug", "idle-timeout-ms", "7"),
                 0);
    cr_assert_eq(sw_live_rewrite(&place.live, NULL, place.error, sizeof(place.error)), 5, "%s",
                 place.error);
    expect_file(&place, "# the first line\n"
                        "[limits]\n"
                        "  connections-max= 60   ; one for each client\n"
                        "\n"
                        "# how long\n"
                        "#write-timeout-ms = 60000\n"
                        "write-timeout-ms = 1000\n"
                        "; the end of the section\n"
                        "idle-timeout-ms = 7\n"
                        "\n"
                        "[server]\n"
                        "port = 7000\n"
                        "log-level = debug\n"
                        "\n"
                        "[table]\n"
                        "capacity = 2M\n");
    cr_assert_eq(sw_live_rewrite(&place.live, NULL, place.error, sizeof(place.error)), 0);
    /* the default comes back where the file says otherwise */
    cr_assert_eq(SET(&place, "connections-max", "10000"), 0);
    cr_assert_eq(sw_live_rewrite(&place.live, NULL, place.error, sizeof(place.error)), 1);
    struct sw_config again;
    cr_assert_eq(sw_config_load(&again, 3, place.argv), SW_CONFIG_RUN);
    cr_assert_eq(again.connections_max, 10000);
    cr_assert_eq(again.capacity, 2 << 20);
    cr_assert_eq(again.idle_timeout_ms, 7);
    close_place(&place);
}

Test(live, rewrite_that_cannot_be_leaves_the_file)
{
    struct place place;
    size_t wrong = 0;
    open_place(&place, "[limits]", "--unix-socket", "/tmp/a ; b");
    cr_assert_eq(sw_live_rewrite(&place.live, NULL, place.error, sizeof(place.error)), -1);
    cr_assert_not_null(strstr(place.error, "cannot hold"), "%s", place.error);
    expect_file(&place, "[limits]");
    place.config.unix_socket[0] = '\0';
    cr_assert_eq(SET(&place, "idle-timeout-ms", "7"), 0);
    write_file(&place, "[limits]\nnonsense = 1\n");
    cr_assert_eq(sw_live_rewrite(&place.live, NULL, place.error, sizeof(place.error)), -1);
    cr_assert_not_null(strstr(place.error, "unknown option"), "%s", place.error);
    /* a file without a last newline, by a symbolic link, which stays one */
    char real[128];
    struct stat status;
    snprintf(real, sizeof(real), "%s/real", place.directory);
    write_file(&place, "[limits]");
    cr_assert_eq(rename(place.path, real), 0);
    cr_assert_eq(chmod(real, 0640), 0);
    cr_assert_eq(symlink("real", place.path), 0);
    cr_assert_eq(sw_live_rewrite(&place.live, NULL, place.error, sizeof(place.error)), 1, "%s",
                 place.error);
    cr_assert_eq(lstat(place.path, &status), 0);
    cr_assert(S_ISLNK(status.st_mode));
    cr_assert_eq(stat(place.path, &status), 0);
    cr_assert_eq(status.st_mode & 07777, 0640);
    expect_file(&place, "[limits]\nidle-timeout-ms = 7\n");
    cr_assert_eq(unlink(real), 0);
    close_place(&place);
}

Test(live, rewrite_without_a_file)
{
    struct sw_config config;
    struct sw_live live;
    char error[SW_CONFIG_ERROR_BYTES];
    sw_config_init(&config);
    sw_live_init(&live, &config, false, note, NULL);
    cr_assert_eq(sw_live_rewrite(&live, NULL, error, sizeof(error)), -1);
    cr_assert_str_eq(error, "the server is running without a config file");
    sw_live_fini(&live);
}
