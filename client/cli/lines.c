/* SPDX-License-Identifier: MIT
 *
 * lines.c - reads lines.
 */
#include "client/cli/lines.h"

#include <errno.h>

enum sw_cli_line sw_cli_line_read(FILE *in, char *line, size_t room)
{
    enum sw_cli_line found = SW_CLI_LINE_GOOD;
    size_t size = 0;
    int byte;
    errno = 0;
    while ((byte = getc(in)) != EOF && byte != '\n') {
        if (size + 1 < room) {
            line[size++] = (char)byte;
        } else {
            found = SW_CLI_LINE_LONG;
        }
        found = byte == '\0' ? SW_CLI_LINE_NUL : found;
    }
    line[size] = '\0';
    if (byte == EOF && ferror(in) != 0) {
        return SW_CLI_LINE_UNREAD;
    }
    return byte == EOF && size == 0 && found == SW_CLI_LINE_GOOD ? SW_CLI_LINE_END : found;
}
