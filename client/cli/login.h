/* SPDX-License-Identifier: MIT
 *
 * login.h - reads the password for sherwood-cli and sherwood-load: from the command line, a file,
 * the terminal or the environment. One thread.
 */
#ifndef SHERWOOD_CLIENT_CLI_LOGIN_H
#define SHERWOOD_CLIENT_CLI_LOGIN_H

#include <stdbool.h>
#include <stddef.h>

#define SW_CLI_PASSWORD_BYTES 513 /* the longest password and its NUL */

struct sw_cli_login {
    const char *user; /* borrowed; NULL: not given */
    const char *file; /* borrowed; NULL: none */
    bool asks;        /* prompts for the password on the terminal */
    bool is_known;    /* there is a password */
    char password[SW_CLI_PASSWORD_BYTES];
};

/* Takes a password of the command line, and overwrites it there, where other users of the machine
 * can read it. Returns false if it is too long. */
bool sw_cli_login_pass(struct sw_cli_login *login, char *argument);

/* Reads the password from the file or the terminal. Without these it uses the password of the
 * environment (NULL: none). Returns false with a sentence in `text`. */
bool sw_cli_login_complete(struct sw_cli_login *login, const char *environment, char *text,
                           size_t text_bytes);

/* The password, or NULL. */
const char *sw_cli_login_password(const struct sw_cli_login *login);

void sw_cli_login_forget(struct sw_cli_login *login);

#endif
