/* SPDX-License-Identifier: MIT
 *
 * test_unsupported_commands.c - unsupported commands have a name and a reason, in upper and lower
 * case.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "server/resp/command.h"
#include "server/resp/unsupported_commands.h"

static const char *reason(const char *name)
{
    return sw_unsupported_command_reason((const uint8_t *)name, strlen(name));
}

Test(unsupported_commands, by_name)
{
    cr_assert_str_eq(reason("hexpire"),
                     "this server has no hashes, so it has no fields that expire");
    cr_assert_str_eq(reason("HTTL"), "this server has no hashes, so it has no fields that expire");
    cr_assert_str_eq(reason("Georadiusbymember_RO"), "this server has no geospatial indexes");
    cr_assert_str_eq(
        reason("substr"),
        "only GETRANGE and SETRANGE read or write parts of a value"); /* first of a list */
    cr_assert_str_eq(
        reason("setbit"),
        "only GETRANGE and SETRANGE read or write parts of a value"); /* last of a list */
    cr_assert_str_eq(reason("lolwut"),
                     "this server has no LOLWUT: INFO server shows the version"); /* alone */
}

Test(unsupported_commands, nothing_else)
{
    cr_assert_null(reason(""));
    cr_assert_null(reason(" "));
    cr_assert_null(reason("expir"));
    cr_assert_null(reason("expires"));
    cr_assert_null(reason("expire expireat"));
    cr_assert_null(sw_unsupported_command_reason((const uint8_t *)"expire\0", 7));
    cr_assert_null(reason("nosuch"));
}

Test(unsupported_commands, subcommands)
{
    static const struct sw_resp_argument graph = {(const uint8_t *)"Graph", 5};
    static const struct sw_resp_argument list = {(const uint8_t *)"LIST", 4};
    static uint8_t zeros[1 << 16];
    static const struct sw_resp_argument long_one = {zeros, sizeof(zeros)};
    cr_assert_str_eq(sw_unsupported_subcommand_reason("latency", &graph),
                     "this server has no graphs: use LATENCY HISTORY");
    cr_assert_null(sw_unsupported_subcommand_reason("client", &list));
    cr_assert_null(sw_unsupported_subcommand_reason("client", &long_one));
}

Test(unsupported_commands, no_command_that_is_there)
{
    for (unsigned id = 0; id < SW_COMMAND_COUNT; id++) {
        cr_assert_null(reason(sw_command_at((enum sw_command_id)id)->name), "%s",
                       sw_command_at((enum sw_command_id)id)->name);
    }
}
