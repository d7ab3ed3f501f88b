/* SPDX-License-Identifier: MIT
 *
 * test_config.c - defaults, file, flags and their errors; the example file and the man page against
 * the table of options. Runs in the root of the source tree.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/server/config_fixture.h"

static void write_file(char path[32], const char *text)
{
    snprintf(path, 32, "/tmp/sherwood-config-XXXXXX");
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

#define FILE_BYTES (256U << 10)
static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s: run in the root of the source tree", path);
    char *text = calloc(1, FILE_BYTES);
    cr_assert_lt(fread(text, 1, FILE_BYTES - 1, file), FILE_BYTES - 1);
    fclose(file);
    return text;
}

static struct output output;

Test(config, defaults)
{
    struct sw_config config;
    sw_config_init(&config);
    sw_config_fit(&config);
    cr_assert_str_eq(config.bind, "127.0.0.1");
    cr_assert_eq(config.port, 7379);
    cr_assert_str_eq(config.unix_socket, "");
    cr_assert_eq(config.unix_socket_mode, 0660);
    cr_assert_eq(config.unix_buffer_bytes, 1 << 20);
    cr_assert_eq(config.tcp_buffer_bytes, 0);
    cr_assert_str_eq(config.http_bind, "127.0.0.1");
    cr_assert_eq(config.http_port, 9379);
    cr_assert_eq(config.loops, 0);
    cr_assert_eq(config.busy_poll_us, 0);
    cr_assert_eq(config.log_level, 6);
    cr_assert_eq(config.backend, SW_BACKEND_AUTO);
    cr_assert_eq(config.key_bits, 64);
    cr_assert_eq(config.capacity, 16777216);
    cr_assert_eq(config.max_load, 0.85);
    cr_assert_eq(config.max_probe, 0);
    cr_assert_eq(config.stash, 65536);
    cr_assert_eq(config.connections_max, 10000);
    cr_assert_eq(config.arena_bytes, 256 << 20);
    cr_assert_eq(config.round_ops_max, 131072);
    cr_assert_eq(config.frame_ops_max, 1048576);
    cr_assert_eq(config.resp_batch_bytes, 256 << 20);
    cr_assert_eq(config.frames_in_flight_max, 64);
    cr_assert_eq(config.output_bytes_max, 64 << 20);
    cr_assert_eq(config.output_bytes_pause, 1 << 20);
    cr_assert_eq(config.resp_arguments_max, 131072);
    cr_assert_eq(config.resp_request_bytes_max, 4 << 20);
    cr_assert_eq(config.request_timeout_ms, 30000);
    cr_assert_eq(config.write_timeout_ms, 60000);
    cr_assert_eq(config.idle_timeout_ms, 0);
    char error[SW_CONFIG_ERROR_BYTES] = "";
    cr_assert_eq(sw_config_check(&config, false, error, sizeof(error)), 0, "%s", error);
}

Test(config, flags_are_read)
{
    struct sw_config config;
    cr_assert_eq(load(&config, &output,
                      FLAGS("--port", "0", "--capacity=2M", "--backend", "cpu", "--bind=::")),
                 SW_CONFIG_RUN, "%s", output.err);
    cr_assert_eq(config.port, 0);
    cr_assert_eq(config.capacity, 2 << 20);
    cr_assert_eq(config.backend, SW_BACKEND_CPU);
    cr_assert_str_eq(config.bind, "::");
    cr_assert_str_empty(output.out);
    cr_assert_str_empty(output.err);
}

#define NO_REQUIREPASS                                                                         \
    "sherwoodd: '--requirepass' is an option of redis: write --requirepass-file FILE, a file " \
    "with the password\n"
#define NO_REQUIREPASS_LINE                                                                    \
    ":2: 'requirepass' is an option of redis: write 'requirepass-file = FILE' in [server], a " \
    "file with the password\n"

#define READABLE ": name a file that this user can read\n"
Test(config, flag_errors)
{
    static const struct {
        const char *flags[5];
        const char *error;
    } rows[] = {
        {{"--prt", "1"},
         "sherwoodd: unknown flag '--prt'; did you mean --port? (--help lists them)\n"},
        {{"--capacty=1M"},
         "sherwoodd: unknown flag '--capacty'; did you mean --capacity? (--help lists them)\n"},
        /* options cannot be abbreviated; an argument that may be a password is not shown */
        {{"--max-cap", "1M"},
         "sherwoodd: unknown flag '--max-cap'; did you mean --max-capacity? (--help lists them)\n"},
        {{"--tls", "yes"},
         "sherwoodd: unknown flag '--tls'; did you mean --tls-port? (--help lists them)\n"},
        {{"--foo", "1"}, "sherwoodd: unknown flag '--foo': --help lists the options\n"},
        {{"--requirepass", "s3cret"}, NO_REQUIREPASS},
        {{"--requirepass=s3cret"}, NO_REQUIREPASS},
        {{"--requirepass s3cret"}, NO_REQUIREPASS},
        {{"--requirepass:s3cret"}, NO_REQUIREPASS},
        {{"requirepass=s3cret"},
         "sherwoodd: unexpected argument 'requirepass': options are written --name value\n"},
        {{"---prot", "1"},
         "sherwoodd: unknown flag '---prot'; did you mean --port? (--help lists them)\n"},
        {{"--"}, "sherwoodd: unexpected argument '--': options are written --name value\n"},
        {{"-p", "1"},
         "sherwoodd: unknown flag '-p': options are written --name value (--help lists them)\n"},
        {{"--port"}, "sherwoodd: --port needs a value\n"},
        {{"--config"}, "sherwoodd: --config needs a value\n"},
        {{"--version=1"}, "sherwoodd: --version: this flag takes no value\n"},
        {{"7379"}, "sherwoodd: unexpected argument '7379': options are written --name value\n"},
        {{"--port", "1", "x", "--help"},
         "sherwoodd: unexpected argument 'x': options are written --name value\n"},
        {{"--port", "x"}, "sherwoodd: port: 'x' is not a whole number from 0 to 65535\n"},
        {{"--config", "/x"}, "sherwoodd: /x: cannot be opened: No such file or directory" READABLE},
        {{"--config", "/tmp"},
         "sherwoodd: /tmp: cannot be opened: a directory, not a regular file" READABLE},
        {{"--config", "/dev/zero"},
         "sherwoodd: /dev/zero: cannot be opened: a FIFO, a device or a socket, not a regular "
         "file" READABLE},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sw_config config;
        cr_assert_eq(load(&config, &output, rows[i].flags), SW_CONFIG_ERROR, "row %zu", i);
        cr_assert_str_eq(output.err, rows[i].error);
        cr_assert_str_empty(output.out);
    }
}

#define TLS "--tls-port", "7380", "--tls-cert", "c", "--tls-key", "k"

Test(config, contradictions)
{
    static const struct {
        const char *flags[11];
        const char *error;
    } rows[] = {
        {{"--bind", ""}, "the server has no address to listen on: set bind or unix-socket"},
        {{"--port", "9379"}, "port and http-port are both 9379 on 127.0.0.1"},
        {{"--tls-only", "yes"}, "tls-only is yes and tls-port is not set"},
        {{"--tls-port", "7380"}, "tls-port is set: tls-cert and tls-key are needed with it"},
        {{"--http-tls", "yes", "--tls-cert", "c"}, "http-tls is yes: tls-cert and tls-key are"},
        {{"--tls-port", "7380", "--tls-cert", "c"}, "tls-port is set: tls-cert and tls-key are"},
        {{TLS, "--tls-auth-clients", "yes"}, "tls-auth-clients is set and tls-ca is not"},
        {{TLS, "--tls-user-from-cert", "yes"},
         "tls-user-from-cert is yes and tls-auth-clients is no"},
        {{TLS, "--bind", "", "--unix-socket", "/s"}, "tls-port is set and bind is empty"},
        {{TLS, "--port", "7380"}, "port and tls-port are the same"},
        {{TLS, "--http-port", "7380"}, "tls-port and http-port are the same"},
        {{"--frame-ops-max", "16M"},
         "arena-bytes 268435456 cannot hold one frame of frame-ops-max 16777216 keys, 8 bytes a "
         "value, and its reply: raise it to 404752384, or lower frame-ops-max to 10737326"},
        {{"--frame-ops-max", "1M", "--arena-bytes", "16M"},
         "arena-bytes 16777216 cannot hold one frame of frame-ops-max 1048576 keys"},
        {{"--round-ops-max", "64K", "--resp-arguments-max", "128K"},
         "resp-arguments-max 131072 is more than round-ops-max 65536: a command's keys go into one "
         "batch; raise round-ops-max or lower resp-arguments-max\n"},
        {{"--frame-ops-max", "63"},
         "frame-ops-max 63 is too small: set at least 64, because clients split their arrays at "
         "multiples of it\n"},
        {{"--round-ops-max", "7"}, "resp-arguments-max 8 is more than round-ops-max 7"},
        {{"--resp-batch-bytes", "36M"},
         "resp-batch-bytes 37748736 cannot hold two RESP batches of the default table, and one of "
         "round-ops-max 131072 operations, 8 bytes a value: raise it to 37754904, or lower "
         "round-ops-max\n"},
        {{"--resp-arguments-max", "7"},
         "resp-arguments-max 7 is too small: set at least 8, which some commands have"},
        {{"--resp-request-bytes-max", "128M"},
         "resp-request-bytes-max 134217728 is more than a quarter of arena-bytes 268435456: lower "
         "it or "
         "raise arena-bytes\n"},
        {{"--output-bytes-max", "2M", "--resp-arguments-max", "128K"},
         "output-bytes-max 2097152 is smaller than the longest reply to an MGET of "
         "resp-arguments-max 131072: raise it to 3670016, or lower resp-arguments-max to 74898"},
        {{"--output-bytes-pause", "65M"},
         "output-bytes-pause 68157440 is more than output-bytes-max 67108864: lower "
         "output-bytes-pause or raise output-bytes-max\n"},
        {{"--capacity", "2K", "--max-capacity", "1K"},
         "max-capacity 1024 is less than capacity 2048: the table starts with capacity slots"},
        {{"--capacity", "16M", "--max-capacity", "16777215"},
         "max-capacity 16777215 is less than capacity 16777216: the table starts"},
        {{"--key-bits", "32", "--max-capacity", "17G"}, "slots must have at most 2^34 slots"},
        {{"--max-capacity", "2T"}, "max-capacity: '2T' is not auto or a whole number"},
        {{"--capacity", "Auto"}, "capacity: 'Auto' is not auto or a whole number"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sw_config config;
        cr_assert_eq(load(&config, &output, rows[i].flags), SW_CONFIG_ERROR, "row %zu", i);
        cr_assert_not_null(strstr(output.err, rows[i].error), "row %zu: %s", i, output.err);
        cr_assert_eq(strchr(output.err, '\n') - output.err, (long)strlen(output.err) - 1);
    }
    struct sw_config config;
    char error[SW_CONFIG_ERROR_BYTES];
    sw_config_init(&config);
    sw_config_fit(&config);
    config.bind[0] = '\0';
    cr_assert_eq(sw_config_check(&config, true, error, sizeof(error)), 0, "activated: %s", error);
    cr_assert_eq(load(&config, &output, FLAGS("--bind", "", "--unix-socket", "/tmp/x")),
                 SW_CONFIG_RUN, "%s", output.err);
    cr_assert_eq(load(&config, &output, FLAGS("--port", "0", "--http-port", "0")), SW_CONFIG_RUN);
}

Test(config, file_is_read_and_flags_override_it)
{
    struct sw_config config;
    char path[32];
    write_file(path, "# comment\n"
                     "; comment\n"
                     "\n"
                     "[server]\n"
                     "port = 1000 ; inline\n"
                     "  http-port=2000\n"
                     "bind =\n"
                     "unix-socket: /tmp/a b#c\n"
                     "[table]\r\n"
                     "capacity = 4M\r\n"
                     "[limits]\n"
                     "[server]\n"
                     "loops = 3");
    cr_assert_eq(load(&config, &output, FLAGS("--loops", "2", "--config", path)), SW_CONFIG_RUN,
                 "%s", output.err);
    unlink(path);
    cr_assert_eq(config.port, 1000);
    cr_assert_eq(config.http_port, 2000);
    cr_assert_str_eq(config.bind, "");
    cr_assert_str_eq(config.unix_socket, "/tmp/a b#c");
    cr_assert_eq(config.capacity, 4 << 20);
    cr_assert_eq(config.loops, 2, "a flag before --config overrides the file too");
    cr_assert_eq(config.stash, 65536);
}

Test(config, file_errors)
{
    static const char *const rows[][2] = {
        {"[server]\nprot = 1\n", ":2: unknown option 'prot'; did you mean 'port' in [server]?\n"},
        /* the text behind an unknown option may be a password */
        {"[server]\nrequirepass = s3cret\n", NO_REQUIREPASS_LINE},
        {"[server]\nrequirepass my=s3cret\n", NO_REQUIREPASS_LINE},
        {"[server]\nrequirepass s3cret\n", NO_REQUIREPASS_LINE},
        {"[requirepass s3cret]\n",
         ":1: unknown section [requirepass]: --print-template prints the sections\n"},
        {"[server]\nfoo = 1\n", ":2: unknown option 'foo': --print-template prints the options\n"},
        {"[server]\n\n# x\ncapacity = 1\n", ":4: option 'capacity' belongs in section [table]\n"},
        {"port = 1\n", ":1: option 'port' belongs in section [server]\n"},
        {"[tabel]\n", ":1: unknown section [tabel]; did you mean [table]?\n"},
        {"[tabel]\ncapacity = 1\n", ":1: unknown section [tabel]; did you mean [table]?\n"},
        {"[server]\n[limit]\nx=1\n", ":2: unknown section [limit]; did you mean [limits]?\n"},
        {"[server\nport = 1\n", ":1: a section is missing its ']'\n"},
        {"[server]\nsome words\n",
         ":2: the line is neither [section], name = value nor a comment (# or ;)\n"},
        {"[server]\nport = 1\nport = 2\n", ":3: option 'port' was already set in line 2\n"},
        {"[server]\nport = 70000\n", ":2: port: '70000' is not a whole number from 0 to 65535\n"},
        {"[server]\nport = x\nbind = y\n[nosuch]\n",
         ":2: port: 'x' is not a whole number from 0 to 65535\n"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sw_config config;
        char path[32], wanted[512];
        write_file(path, rows[i][0]);
        cr_assert_eq(load(&config, &output, FLAGS("--config", path)), SW_CONFIG_ERROR, "row %zu",
                     i);
        snprintf(wanted, sizeof(wanted), "sherwoodd: %s%s", path, rows[i][1]);
        cr_assert_str_eq(output.err, wanted);
        unlink(path);
    }
}

/* Every option has a flag and a line of the file, however many there are. */
Test(config, no_option_is_lost)
{
    static char text[OUTPUT_BYTES];
    const char *section = "";
    size_t used = 0;
    for (size_t i = 0; i < SW_OPTION_COUNT; i++) {
        const struct sw_option *option = sw_option_at(i);
        struct sw_config config;
        char flag[128];
        snprintf(flag, sizeof(flag), "--%s=%s", option->name, option->standard);
        enum sw_config_action action = load(&config, &output, FLAGS(flag, "--check-config"));
        bool other_engine = strstr(output.err, "is not an option of the robin_hood engine") != NULL;
        cr_assert(action == SW_CONFIG_EXIT || other_engine, "%s: %s", flag, output.err);
        if (strcmp(section, option->section) != 0) {
            section = option->section;
            used += (size_t)snprintf(text + used, sizeof(text) - used, "[%s]\n", section);
        }
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s = %s\n", option->name,
                                 option->standard);
    }
    struct sw_config config;
    char path[32];
    write_file(path, text);
    cr_assert_eq(load(&config, &output, FLAGS("--config", path)), SW_CONFIG_RUN, "%s", output.err);
    unlink(path);
}

/* The size of a configuration file is limited, so an endless one is refused. */
Test(config, large_file)
{
    static char text[(1 << 20) + 2];
    struct sw_config config;
    char path[32], wanted[128];
    memset(text, '\n', sizeof(text) - 1);
    write_file(path, text);
    cr_assert_eq(load(&config, &output, FLAGS("--config", path)), SW_CONFIG_ERROR);
    unlink(path);
    snprintf(wanted, sizeof(wanted), "sherwoodd: %s:1048577: the file is larger than 1024 KiB\n",
             path);
    cr_assert_str_eq(output.err, wanted);
}

/* libinih reads lines of at most 199 bytes: 198 and the newline. Longer ones are not cut. */
Test(config, long_lines)
{
    for (size_t size = 190; size < 450; size++) {
        struct sw_config config;
        char path[32], text[512], wanted[512];
        int used = snprintf(text, sizeof(text), "[server]\n# ");
        memset(text + used, 'x', size - 2);
        snprintf(text + used + size - 2, sizeof(text) - (size_t)used - size + 2, "\nport = 5\n");
        write_file(path, text);
        enum sw_config_action action = load(&config, &output, FLAGS("--config", path));
        unlink(path);
        if (size <= 198) {
            cr_assert_eq(action, SW_CONFIG_RUN, "%zu bytes: %s", size, output.err);
            cr_assert_eq(config.port, 5);
        } else {
            cr_assert_eq(action, SW_CONFIG_ERROR, "%zu bytes", size);
            snprintf(wanted, sizeof(wanted), "sherwoodd: %s:2: the line is longer than 198 bytes\n",
                     path);
            cr_assert_str_eq(output.err, wanted);
        }
    }
}

/* Every option has the same value. */
static void expect_equal(const struct sw_config *first, const struct sw_config *second)
{
    for (size_t i = 0; i < SW_OPTION_COUNT; i++) {
        const char *name = NULL;
        char values[2][SW_OPTION_VALUE_BYTES];
        cr_assert(sw_config_get(first, i, &name, values[0], sizeof(values[0])));
        cr_assert(sw_config_get(second, i, &name, values[1], sizeof(values[1])));
        cr_assert_str_eq(values[0], values[1], "%s", name);
    }
}

Test(config, check_config_prints_a_file_that_reads_back)
{
    struct sw_config first, second;
    char path[32];
    cr_assert_eq(load(&first, &output,
                      FLAGS("--check-config", "--port", "1234", "--capacity", "3000000",
                            "--max-load", "0.93", "--key-bits", "32", "--unix-socket", "/tmp/x y",
                            "--unix-socket-mode", "600", "--backend", "cpu", "--seed", "99")),
                 SW_CONFIG_EXIT, "%s", output.err);
    cr_assert_not_null(strstr(output.out, "\ncapacity = 3000000\n"));
    cr_assert_not_null(strstr(output.out, "\nstash = 64K\n"));
    cr_assert_eq(strncmp(output.out, "# table: ", 9), 0);
    write_file(path, output.out);
    cr_assert_eq(load(&second, &output, FLAGS("--config", path)), SW_CONFIG_RUN, "%s", output.err);
    unlink(path);
    expect_equal(&first, &second);
    cr_assert_eq(load(&first, &output, FLAGS("--check-config", "--port", "x")), SW_CONFIG_ERROR);
    cr_assert_str_empty(output.out);
}

Test(config, version_and_help)
{
    struct sw_config config;
    const struct sw_option *option = NULL;
    cr_assert_eq(load(&config, &output, FLAGS("--version")), SW_CONFIG_EXIT);
    cr_assert_str_eq(output.out, "sherwoodd " SHERWOOD_VERSION "\n");
    static char help[OUTPUT_BYTES];
    cr_assert_eq(load(&config, &output, FLAGS("-h")), SW_CONFIG_EXIT);
    memcpy(help, output.out, sizeof(help));
    cr_assert_eq(load(&config, &output, FLAGS("--help")), SW_CONFIG_EXIT);
    cr_assert_str_eq(help, output.out);
    for (size_t i = 0; (option = sw_option_at(i)) != NULL; i++) {
        char flag[96];
        snprintf(flag, sizeof(flag), "\n  --%s %s", option->name, option->metavar);
        cr_assert_not_null(strstr(output.out, flag), "%s", flag);
    }
    for (char *line = output.out; *line != '\0'; line += strcspn(line, "\n") + 1) {
        cr_assert_leq(strcspn(line, "\n"), 100, "%.*s", (int)strcspn(line, "\n"), line);
    }
    cr_assert_not_null(strstr(output.out, "\nServer\n"));
    cr_assert_not_null(strstr(output.out, "\nTable\n"));
    cr_assert_not_null(strstr(output.out, "\nLimits\n"));
}

Test(config, config_get_enumerates)
{
    struct sw_config config;
    const char *name = NULL;
    char value[SW_OPTION_VALUE_BYTES];
    size_t i = 0;
    sw_config_init(&config);
    for (; sw_config_get(&config, i, &name, value, sizeof(value)); i++) {
        cr_assert_str_eq(name, sw_option_at(i)->name);
    }
    cr_assert_eq(i, SW_OPTION_COUNT);
}

/* The example file holds every option, as a comment with its default, in its section. */
Test(config, example_file)
{
    struct sw_config config, defaults;
    char *text = read_file("deploy/sherwood.conf");
    const struct sw_option *option = NULL;
    char path[32];
    cr_assert_eq(
        load(&config, &output, FLAGS("--check-config", "--config", "deploy/sherwood.conf")),
        SW_CONFIG_EXIT, "%s", output.err);
    for (size_t i = 0; (option = sw_option_at(i)) != NULL; i++) {
        char line[160];
        snprintf(line, sizeof(line), "\n#%s =%s%s\n", option->name,
                 option->standard[0] != '\0' ? " " : "", option->standard);
        cr_assert_not_null(strstr(text, line), "deploy/sherwood.conf lacks%s", line);
    }
    /* Without the comment marks of its options the file has the defaults. */
    for (char *line = text; *line != '\0';) {
        size_t size = strcspn(line, "\n");
        if (line[0] == '#' && line[1] != ' ' && size > 1) {
            line[0] = ' ';
        }
        line += size + (line[size] == '\n');
    }
    write_file(path, text);
    sw_config_init(&defaults);
    sw_config_fit(&defaults);
    cr_assert_eq(load(&config, &output, FLAGS("--config", path)), SW_CONFIG_RUN, "%s", output.err);
    unlink(path);
    expect_equal(&config, &defaults);
    free(text);
}

/* Both files are as the daemon writes them: `make docs` makes them so. */
Test(config, documents_are_current)
{
    struct sw_config config;
    char *file = read_file("deploy/sherwood.conf");
    char *page = read_file("deploy/man/sherwoodd.8.scd");
    cr_assert_eq(load(&config, &output, FLAGS("--print-template")), SW_CONFIG_EXIT);
    cr_assert_str_eq(file, output.out, "deploy/sherwood.conf is out of date: run make docs");
    cr_assert_eq(load(&config, &output, FLAGS("--print-manual")), SW_CONFIG_EXIT);
    const char *begin = strstr(page, "; The list of options: written by make docs.\n\n");
    cr_assert_not_null(begin);
    begin += strcspn(begin, "\n") + 2;
    cr_assert_eq(strncmp(begin, output.out, strlen(output.out)), 0,
                 "deploy/man/sherwoodd.8.scd is out of date: run make docs");
    cr_assert_eq(strncmp(begin + strlen(output.out), "; End of the list of options.\n", 30), 0,
                 "deploy/man/sherwoodd.8.scd is out of date: run make docs");
    free(file);
    free(page);
}

/* Removes the backslashes that keep scdoc from reading a * as the start of bold text. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0'; from++) {
        if (from[0] != '\\' || from[1] != '*') {
            *to++ = *from;
        }
    }
    *to = '\0';
}

/* The man page describes every option as --help does. */
Test(config, man_page)
{
    char *page = read_file("deploy/man/sherwoodd.8.scd");
    unescape(page);
    const struct sw_option *option = NULL;
    for (size_t i = 0; (option = sw_option_at(i)) != NULL; i++) {
        char wanted[1024];
        snprintf(wanted, sizeof(wanted), "\n*--%s* _%s_\n\t%s Default: %s.%s\n", option->name,
                 option->metavar, option->help,
                 option->standard[0] != '\0' ? option->standard : "empty",
                 sw_option_is_live(option) ? " Live." : "");
        cr_assert_not_null(strstr(page, wanted), "deploy/man/sherwoodd.8.scd lacks:%s", wanted);
    }
    free(page);
}
