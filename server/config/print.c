/* SPDX-License-Identifier: MIT
 *
 * print.c - the option table as people read it: --help and --check-config.
 */
#include <string.h>

#include "server/config/options.h"
#include "table/configuration.h"

#define HELP_COLUMNS 96
#define HELP_INDENT 30

static const char help_head[] =
    "sherwoodd - a key-value server whose table lives in GPU memory, or in host memory where "
    "there\n"
    "is no GPU. Keys are unsigned integers or texts. Values are integers, rows of numbers or\n"
    "strings, or the byte strings of a cache. One server may have several tables. Clients speak\n"
    "RESP (redis-cli and every Redis client) or bulk frames (sherwood-cli, libsherwood) on one\n"
    "port. A status page for browsers, /metrics, /healthz and /readyz are HTTP on another.\n\n"
    "Usage: sherwoodd [--config FILE] [OPTION]...\n\nTry it:\n  "
    "sherwoodd                                  in one terminal\n  redis-cli -p 7379 set 42 7      "
    "           in another\n  curl -s 127.0.0.1:9379/metrics\n\nMore examples:\n  sherwoodd "
    "--backend cpu --capacity 64M --max-load 0.9\n      64 Mi slots of 16 bytes in host memory (1 "
    "GiB), filled to at most 90 %.\n  sherwoodd --capacity 1M --max-capacity 1G\n      begins with "
    "1 Mi slots, doubles them when they are filled, up to 1 Gi.\n  sherwoodd --engine cache "
    "--value-bytes 256 --policy lru\n      strings of up to 256 bytes; at the capacity, the least "
    "recently used ones are evicted.\n  sherwoodd --bind '' --unix-socket "
    "/run/sherwood/sherwood.sock\n      a Unix socket, and no TCP port.\n  sherwoodd --config "
    "/etc/sherwood/sherwood.conf --check-config\n      checks the file and prints the resulting "
    "configuration; starts nothing.\n\nFlags override the file, the file overrides the defaults. "
    "In the file the same names\nstand under the sections below, such as [server]: 'port = 7379'. "
    "SLOTS, BYTES and most counts\naccept K, M, G and T (1024, 1024^2, ..), or Ki, Mi, Gi and Ti. "
    "Names are written whole.\nDefaults are in brackets.\n\nGeneral\n";

static const struct {
    const char *flag, *help;
} general[] = {
    {"--config FILE", "Read options from FILE first."},
    {"--check-config",
     "Check the options, and the files, keys and folders that they name, as a start does; print "
     "the resulting configuration and the memory of the table, and exit with 0 if all is right, "
     "else with 2. Run it as the user that runs the server."},
    {"--print-template",
     "Print a configuration file with every option and its default, commented out, and exit."},
    {"-h, --help", "Print this and exit."},
    {"--version", "Print the version and exit."},
};

static const char help_tail[] =
    "\nSIGHUP: read the file again and apply the live options; the log names the others that "
    "changed.\nSIGTERM or SIGINT: reply to what was accepted, then exit 0. A second one: exit 1 at "
    "once.\nExit status: 0 stopped; 1 failed to start, or lost the device; 2 a wrong option, or "
    "a\nwrong file that an option names: another start would fail as well.\nSee sherwoodd(8).\n";

/* Prints `help` in the columns from HELP_INDENT on, and breaks lines between words. `column` is the
 * column of the cursor. */
static void print_wrapped(FILE *out, const char *help, int column)
{
    if (column >= HELP_INDENT - 1) {
        fputc('\n', out);
        column = 0;
    }
    fprintf(out, "%*s", HELP_INDENT - column, "");
    column = HELP_INDENT;
    while (*help != '\0') {
        int size = (int)strcspn(help, " ");
        if (column > HELP_INDENT && column + 1 + size > HELP_COLUMNS) {
            fprintf(out, "\n%*s", HELP_INDENT, "");
            column = HELP_INDENT;
        } else if (column > HELP_INDENT) {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", size, help);
        column += size;
        help += size;
        help += strspn(help, " ");
    }
    fputc('\n', out);
}

void sw_config_print_help(FILE *out)
{
    const char *section = "";
    const struct sw_option *option = NULL;
    fputs(help_head, out);
    for (size_t i = 0; i < sizeof(general) / sizeof(general[0]); i++) {
        int column = fprintf(out, "  %s", general[i].flag);
        print_wrapped(out, general[i].help, column);
    }
    for (size_t i = 0; (option = sw_option_at(i)) != NULL; i++) {
        char text[1024];
        if (strcmp(option->section, section) != 0) {
            section = option->section;
            fprintf(out, "\n%c%s\n", section[0] - 'a' + 'A', section + 1);
        }
        snprintf(text, sizeof(text), "%s [%s%s]", option->help,
                 option->standard[0] != '\0' ? option->standard : "empty",
                 sw_option_is_live(option) ? "; live" : "");
        print_wrapped(out, text, fprintf(out, "  --%s %s", option->name, option->metavar));
    }
    fputs(help_tail, out);
}

/* Prints the memory of the table at max-capacity, if it may grow. */
static void print_growth(const struct sw_config *config, FILE *out)
{
    uint64_t bytes = 0, installed = 0;
    bool outgrows = sw_config_outgrows_memory(config, &bytes, &installed);
    if (bytes > 0) {
        fprintf(out, "# at max-capacity%s: %.1f MiB, and while it grows the old slots as well\n",
                (config->derived & SW_DERIVED_MAX_CAPACITY) != 0
                    ? ", which half of the memory holds"
                    : "",
                (double)bytes / (1 << 20));
    }
    if (outgrows && config->backend != SW_BACKEND_CUDA) {
        fprintf(out, "# in host memory it cannot grow so far: this machine has %.1f MiB\n",
                (double)installed / (1 << 20));
    }
}

void sw_config_print(const struct sw_config *config, FILE *out)
{
    const char *section = "";
    const struct sw_option *option = NULL;

    fprintf(out, "# table: %.1f MiB; I/O memory: %.1f MiB for each loop\n",
            (double)sw_config_table_bytes(config) / (1 << 20),
            (double)config->arena_bytes / (1 << 20));
    print_growth(config, out);
    for (size_t i = 0; (option = sw_option_at(i)) != NULL; i++) {
        char value[SW_OPTION_VALUE_BYTES];
        if (strcmp(option->section, section) != 0) {
            fprintf(out, "%s[%s]\n", section[0] == '\0' ? "" : "\n", option->section);
            section = option->section;
        }
        sw_option_format(option, config, true, value, sizeof(value));
        fprintf(out, "%s = %s\n", option->name, value);
    }
}
