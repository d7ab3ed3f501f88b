/* SPDX-License-Identifier: MIT
 *
 * times.c - commands on expiry times: EXPIRE and its variants, PERSIST, GETEX, TTL and its
 * variants.
 */
#include "client/cli/times.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>
#include <time.h>

#include "client/cli/commands.h"
#include "client/cli/one.h"
#include "client/cli/reply.h"
#include "client/cli/values.h"

#define SECOND_MS 1000

enum sw_cli_time sw_cli_time_option(const char *word)
{
    static const char *const names[] = {
        [SW_CLI_EX] = "EX", [SW_CLI_PX] = "PX", [SW_CLI_EXAT] = "EXAT", [SW_CLI_PXAT] = "PXAT"};
    enum sw_cli_time form = SW_CLI_EX;
    while (form < SW_CLI_NO_TIME && strcasecmp(word, names[form]) != 0) {
        form++;
    }
    return form;
}

static bool is_relative(enum sw_cli_time form)
{
    return form == SW_CLI_EX || form == SW_CLI_PX;
}

static int64_t unit_ms(enum sw_cli_time form)
{
    return form == SW_CLI_EX || form == SW_CLI_EXAT ? SECOND_MS : 1;
}

bool sw_cli_time_read(struct sw_cli *cli, enum sw_cli_time form, const char *word, bool positive,
                      struct sherwood_times *times)
{
    char *end = NULL;
    errno = 0;
    const long long time = strtoll(word, &end, 10);
    if (end == word || *end != '\0' || errno != 0 || time > INT64_MAX / unit_ms(form) ||
        (positive && time <= 0)) {
        sw_cli_reply_error(cli, "ERR time \"%.40s\" is not an integer, or out of range", word);
        return false;
    }
    const bool is_over = time <= 0;
    times->when = is_relative(form) && !is_over ? SHERWOOD_IN : SHERWOOD_AT;
    times->time_ms = is_over ? 1 : (uint64_t)(time * unit_ms(form));
    return true;
}

/* Returns the kind of EXPIRE for the conditions from words[3] on. Prints an error and returns 0 for
 * other conditions. */
static enum sherwood_operation condition(struct sw_cli *cli, int count, char **words)
{
    static const struct {
        const char *first, *second;
        enum sherwood_operation operation;
    } rows[] = {{"NX", "", SHERWOOD_EXPIRE_NONE},      {"XX", "", SHERWOOD_EXPIRE_SOME},
                {"GT", "", SHERWOOD_EXPIRE_LATER},     {"LT", "", SHERWOOD_EXPIRE_EARLIER},
                {"GT", "XX", SHERWOOD_EXPIRE_LATER},   {"XX", "GT", SHERWOOD_EXPIRE_LATER},
                {"LT", "XX", SHERWOOD_EXPIRE_SHORTEN}, {"XX", "LT", SHERWOOD_EXPIRE_SHORTEN}};
    if (count == 3) {
        return SHERWOOD_EXPIRE;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcasecmp(words[3], rows[i].first) == 0 &&
            strcasecmp(count == 5 ? words[4] : "", rows[i].second) == 0) {
            return rows[i].operation;
        }
    }
    sw_cli_reply_error(cli, "ERR syntax error: %s key n [NX | XX | GT | LT]", words[0]);
    return (enum sherwood_operation)0;
}

/* EXPIRE, PEXPIRE, EXPIREAT and PEXPIREAT; `code` is the form of the time. */
void sw_cli_expire(struct sw_cli *cli, int code, int count, char **words)
{
    const enum sherwood_operation operation = condition(cli, count, words);
    struct sherwood_times times = SHERWOOD_TIMES_INIT;
    bool changed = false;
    if (operation != 0 && sw_cli_time_read(cli, (enum sw_cli_time)code, words[2], false, &times) &&
        sw_cli_run_timed(cli, operation, words[1], NULL, &changed, NULL, &times)) {
        sw_cli_reply_integer(cli, changed);
    }
}

void sw_cli_persist(struct sw_cli *cli, int code, int count, char **words)
{
    bool changed = false;
    (void)count;
    if (sw_cli_run_one(cli, code, words[1], NULL, &changed, NULL)) {
        sw_cli_reply_integer(cli, changed);
    }
}

/* GETEX key [EX n | PX n | EXAT n | PXAT n | PERSIST]. PERSIST finds only keys that expire, so the
 * value of a key that does not expire needs a second request. */
void sw_cli_getex(struct sw_cli *cli, int code, int count, char **words)
{
    uint64_t value[SW_CLI_VALUE_WORDS] = {0};
    struct sherwood_times times = SHERWOOD_TIMES_INIT;
    bool found = false;
    const enum sw_cli_time form = count == 4 ? sw_cli_time_option(words[2]) : SW_CLI_NO_TIME;
    const bool persists = count == 3 && strcasecmp(words[2], "PERSIST") == 0;
    if (count > 2 && form == SW_CLI_NO_TIME && !persists) {
        sw_cli_reply_error(cli, "ERR syntax error: GETEX key [EX n | PX n | EXAT n | PXAT n | "
                                "PERSIST]");
        return;
    }
    if (form != SW_CLI_NO_TIME) {
        if (sw_cli_time_read(cli, form, words[3], true, &times) &&
            sw_cli_run_timed(cli, SHERWOOD_EXPIRE, words[1], NULL, &found, value, &times)) {
            sw_cli_value_reply(cli, found, value, 0);
        }
        return;
    }
    if (persists && !sw_cli_run_one(cli, SHERWOOD_PERSIST, words[1], NULL, &found, value)) {
        return;
    }
    if (found || sw_cli_run_one(cli, code, words[1], NULL, &found, value)) {
        sw_cli_value_reply(cli, found, value, 0);
    }
}

/* Returns milliseconds since 1970, by the clock of this machine. */
static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * SECOND_MS + (uint64_t)now.tv_nsec / 1000000;
}

/* TTL, PTTL, EXPIRETIME and PEXPIRETIME; `code` is the form of the reply. */
void sw_cli_ttl(struct sw_cli *cli, int code, int count, char **words)
{
    const enum sw_cli_time form = (enum sw_cli_time)code;
    uint64_t at = 0;
    bool found = false;
    (void)count;
    if (!sw_cli_run_one(cli, SHERWOOD_TTL, words[1], NULL, &found, &at)) {
        return;
    }
    if (!found || at == 0) {
        sw_cli_reply_signed(cli, found ? -1 : -2);
        return;
    }
    const uint64_t now = is_relative(form) ? now_ms() : 0;
    const uint64_t ms = at > now ? at - now : 0;
    const uint64_t unit = (uint64_t)unit_ms(form);
    sw_cli_reply_signed(cli, (int64_t)((ms + unit / 2) / unit)); /* as redis rounds it */
}
