/* SPDX-License-Identifier: MIT
 *
 * secrets.c - which commands have passwords among their arguments.
 */
#include "server/resp/secrets.h"

#include "server/resp/command.h"

struct sw_secrets sw_secrets_of(const struct sw_resp_command *command)
{
    const struct sw_resp_argument *words = command->arguments;
    if (sw_argument_is(&words[0], "AUTH")) {
        return (struct sw_secrets){1, command->count};
    }
    if (command->count > 2 && sw_argument_is(&words[0], "ACL") &&
        sw_argument_is(&words[1], "SETUSER")) {
        return (struct sw_secrets){3, command->count};
    }
    if (command->count > 4 && sw_argument_is(&words[0], "ACL") &&
        sw_argument_is(&words[1], "DRYRUN")) { /* user command arguments */
        return (struct sw_secrets){4, command->count};
    }
    if (sw_argument_is(&words[0], "CONFIG")) {
        return (struct sw_secrets){3, command->count};
    }
    /* HELLO: from behind the first AUTH on, as there may be several, or a name that is "AUTH" */
    struct sw_secrets secrets = {0, 0};
    for (uint32_t i = 2; i < command->count && sw_argument_is(&words[0], "HELLO"); i++) {
        if (sw_argument_is(&words[i], "AUTH")) {
            secrets.from = secrets.from == 0 ? i + 1 : secrets.from;
            secrets.to = i + 3;
        }
    }
    return secrets;
}
