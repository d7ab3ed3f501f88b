/* SPDX-License-Identifier: MIT
 *
 * login.c - reading a password.
 */
#include "client/cli/login.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "client/cli/lines.h"

static bool set_password(struct sw_cli_login *login, const char *text, size_t size)
{
    if (size >= sizeof(login->password)) {
        return false;
    }
    memcpy(login->password, text, size);
    login->password[size] = '\0';
    login->is_known = true;
    return true;
}

bool sw_cli_login_pass(struct sw_cli_login *login, char *argument)
{
    size_t size = strlen(argument);
    bool fits = set_password(login, argument, size);
    memset(argument, 'x', size);
    return fits;
}

/* Reads a line, without its end, into the password. Returns false if it is empty or too long. */
static bool read_line(struct sw_cli_login *login, FILE *in)
{
    char line[SW_CLI_PASSWORD_BYTES + 2];
    setvbuf(in, NULL, _IONBF, 0); /* no copy of the password stays in stdio */
    bool got = sw_cli_line_read(in, line, sizeof(line)) == SW_CLI_LINE_GOOD;
    size_t size = got ? strlen(line) : 0;
    size -= size > 0 && line[size - 1] == '\r';
    bool is_right = size > 0 && set_password(login, line, size);
    explicit_bzero(line, sizeof(line));
    return is_right;
}

static bool read_file(struct sw_cli_login *login, char *text, size_t text_bytes)
{
    FILE *file = fopen(login->file, "re");
    if (file == NULL) {
        snprintf(text, text_bytes, "%s: %s: name a file that this user can read", login->file,
                 strerror(errno));
        return false;
    }
    bool is_right = read_line(login, file);
    fclose(file);
    if (!is_right) {
        snprintf(text, text_bytes,
                 "%s: the first line must be a password of 1 to %d bytes, without NUL", login->file,
                 SW_CLI_PASSWORD_BYTES - 1);
    }
    return is_right;
}

/* Prompts on the terminal, even if stdin is a file, without echo. */
static bool prompt(struct sw_cli_login *login, char *text, size_t text_bytes)
{
    struct termios before, silent;
    FILE *terminal = fopen("/dev/tty", "r+e");
    if (terminal == NULL || tcgetattr(fileno(terminal), &before) != 0) {
        snprintf(text, text_bytes, "--askpass needs a terminal: use --pass-file without one");
        if (terminal != NULL) {
            fclose(terminal);
        }
        return false;
    }
    silent = before;
    silent.c_lflag &= ~(tcflag_t)ECHO;
    tcsetattr(fileno(terminal), TCSAFLUSH, &silent);
    fputs("Password: ", terminal);
    fflush(terminal);
    bool is_right = read_line(login, terminal);
    tcsetattr(fileno(terminal), TCSAFLUSH, &before);
    fputs("\n", terminal);
    fclose(terminal);
    if (!is_right) {
        snprintf(text, text_bytes, "--askpass: a password has 1 to %d bytes",
                 SW_CLI_PASSWORD_BYTES - 1);
    }
    return is_right;
}

bool sw_cli_login_complete(struct sw_cli_login *login, const char *environment, char *text,
                           size_t text_bytes)
{
    if (login->is_known + (login->file != NULL) + login->asks > 1) {
        snprintf(text, text_bytes, "use only one of --pass, --pass-file and --askpass");
        return false;
    }
    if (login->file != NULL) {
        return read_file(login, text, text_bytes);
    }
    if (login->asks) {
        return prompt(login, text, text_bytes);
    }
    if (!login->is_known && environment != NULL && environment[0] != '\0' &&
        !set_password(login, environment, strlen(environment))) {
        snprintf(text, text_bytes, "SHERWOODCLI_AUTH: a password has at most %d bytes",
                 SW_CLI_PASSWORD_BYTES - 1);
        return false;
    }
    return true;
}

const char *sw_cli_login_password(const struct sw_cli_login *login)
{
    return login->is_known ? login->password : NULL;
}

void sw_cli_login_forget(struct sw_cli_login *login)
{
    explicit_bzero(login->password, sizeof(login->password));
}
