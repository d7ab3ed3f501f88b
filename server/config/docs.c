/* SPDX-License-Identifier: MIT
 *
 * docs.c - the option table as files of deploy/: the example configuration, and the man page's list
 * of options. `make docs` writes them there, and a test compares them with the table.
 */
#include <string.h>

#include "server/config/options.h"

#define COMMENT_COLUMNS 90

static const char template_head[] =
    "# Configuration of sherwoodd, read by: sherwoodd --config /etc/sherwood/sherwood.conf\n"
    "# Every option is here with its default; remove the # before one to change it. The same "
    "names\n"
    "# are flags (--port 7379), and flags override this file. Check an edited file with:\n"
    "#   sherwoodd --config /etc/sherwood/sherwood.conf --check-config\n"
    "# What is marked (live) may change while the server runs: by CONFIG SET, or here, and then\n"
    "# SIGHUP (systemctl reload).\n"
    "# A line has at most 198 bytes. A comment begins with # or ; at the start of a line, or with "
    "a\n"
    "# blank and ; after a value. Sizes and most counts accept K, M, G and T (1024, 1024^2, ..).\n";

static const char template_tail[] =
    "\n# A section such as [table users] makes a table beside the default one at the start. It "
    "has\n"
    "# the options of [table], whose values it begins with, and its number for SELECT.\n";

/* Prints `text` as lines of comment, broken between words. */
static void print_comment(FILE *out, const char *text)
{
    size_t column = 0;
    for (size_t size = 0; *text != '\0'; text += size, text += strspn(text, " ")) {
        size = strcspn(text, " ");
        if (column > 0 && column + 1 + size > COMMENT_COLUMNS) {
            fputc('\n', out);
            column = 0;
        }
        column += (size_t)fprintf(out, "%s%.*s", column == 0 ? "# " : " ", (int)size, text);
    }
    fputc('\n', out);
}

void sw_config_print_template(FILE *out)
{
    const char *section = "";
    fputs(template_head, out);
    for (size_t i = 0; i < SW_OPTION_COUNT; i++) {
        const struct sw_option *option = sw_option_at(i);
        if (strcmp(option->section, section) != 0) {
            section = option->section;
            fprintf(out, "\n[%s]\n", section);
        }
        char help[1024];
        snprintf(help, sizeof(help), "%s%s", option->help,
                 sw_option_is_live(option) ? " (live)" : "");
        fputc('\n', out);
        print_comment(out, help);
        fprintf(out, "#%s =%s%s\n", option->name, option->standard[0] != '\0' ? " " : "",
                option->standard);
    }
    fputs(template_tail, out);
}

/* Prints `text` as scdoc, in which a * begins bold text. */
static void print_escaped(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '*' || *text == '\\') {
            fputc('\\', out);
        }
        fputc(*text, out);
    }
}

void sw_config_print_manual(FILE *out)
{
    const char *section = "";
    for (size_t i = 0; i < SW_OPTION_COUNT; i++) {
        const struct sw_option *option = sw_option_at(i);
        if (strcmp(option->section, section) != 0) {
            section = option->section;
            fprintf(out, "## %c%s\n\n", section[0] - 'a' + 'A', section + 1);
        }
        fprintf(out, "*--%s* _%s_\n\t", option->name, option->metavar);
        print_escaped(out, option->help);
        fprintf(out, " Default: %s.%s\n\n",
                option->standard[0] != '\0' ? option->standard : "empty",
                sw_option_is_live(option) ? " Live." : "");
    }
}
