/* SPDX-License-Identifier: MIT
 *
 * reply.c - prints replies: as redis-cli shows them to people, or plain for programs.
 */
#include "client/cli/reply.h"

#include <inttypes.h>
#include <stdarg.h>

void sw_cli_reply_status(struct sw_cli *cli, const char *text)
{
    fprintf(cli->out, "%s\n", text);
}

void sw_cli_reply_integer(struct sw_cli *cli, uint64_t value)
{
    fprintf(cli->out, "%s%" PRIu64 "\n", cli->raw ? "" : "(integer) ", value);
}

void sw_cli_reply_signed(struct sw_cli *cli, int64_t value)
{
    fprintf(cli->out, "%s%" PRId64 "\n", cli->raw ? "" : "(integer) ", value);
}

void sw_cli_reply_number(struct sw_cli *cli, bool present, uint64_t value)
{
    if (!present) {
        fprintf(cli->out, "%s\n", cli->raw ? "" : "(nil)");
    } else if (cli->raw) {
        fprintf(cli->out, "%" PRIu64 "\n", value);
    } else {
        fprintf(cli->out, "\"%" PRIu64 "\"\n", value);
    }
}

static int digits(size_t n)
{
    int width = 1;
    while (n >= 10) {
        n /= 10;
        width++;
    }
    return width;
}

void sw_cli_reply_place(struct sw_cli *cli, int indent, size_t i, size_t count)
{
    if (!cli->raw) {
        /* The first entry stands on the line that began its list. */
        fprintf(cli->out, "%*s%*zu) ", i == 0 ? 0 : indent, "", digits(count), i + 1);
    }
}

void sw_cli_reply_entry(struct sw_cli *cli, int indent, size_t i, size_t count, uint64_t value)
{
    sw_cli_reply_place(cli, indent, i, count);
    sw_cli_reply_number(cli, true, value);
}

void sw_cli_reply_empty(struct sw_cli *cli)
{
    fprintf(cli->out, "%s\n", cli->raw ? "" : "(empty array)");
}

void sw_cli_reply_error(struct sw_cli *cli, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(cli->out, "%s", cli->raw ? "" : "(error) ");
    vfprintf(cli->out, format, arguments);
    fprintf(cli->out, "\n");
    va_end(arguments);
    cli->failed = true;
}
