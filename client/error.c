/* SPDX-License-Identifier: MIT
 *
 * error.c - the codes and sentences of errors.
 */
#include "client/error.h"

#include <stdarg.h>
#include <stdio.h>

#include "client/handle.h"

const char *sherwood_status_text(int status)
{
    switch (status) {
#define STATUS_CASE(name, value, text) \
    case name:                         \
        return text;
        SHERWOOD_STATUS_MAP(STATUS_CASE)
#undef STATUS_CASE
    default:
        return "unknown status";
    }
}

const char *sherwood_error(const struct sherwood *client)
{
    return client == NULL ? "" : client->root->error;
}

int sw_client_fail(struct sherwood *client, int status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(client->error, sizeof(client->error), format, arguments);
    va_end(arguments);
    return status;
}

int sw_client_status(uint32_t reply_status)
{
    switch (reply_status) {
    case SW_REPLY_OK:
        return SHERWOOD_OK;
    case SW_REPLY_BAD_REQUEST:
    case SW_REPLY_UNKNOWN_OPERATION:
    case SW_REPLY_LOADING:
        return SHERWOOD_E_REQUEST;
    case SW_REPLY_OUT_OF_MEMORY:
        return SHERWOOD_E_FULL;
    case SW_REPLY_SERVER_ERROR:
    case SW_REPLY_SHUTTING_DOWN:
    case SW_REPLY_TIMED_OUT:
        return SHERWOOD_E_SERVER;
    case SW_REPLY_TOO_MANY_CONNECTIONS:
        return SHERWOOD_E_CONNECTION;
    case SW_REPLY_NOT_DURABLE:
        return SHERWOOD_E_NOT_DURABLE;
    case SW_REPLY_NO_AUTH:
    case SW_REPLY_WRONG_PASS:
        return SHERWOOD_E_LOGIN;
    case SW_REPLY_NO_PERMISSION:
        return SHERWOOD_E_PERMISSION;
    case SW_REPLY_OUTCOME_UNKNOWN:
        return SHERWOOD_E_UNKNOWN_OUTCOME;
    case SW_REPLY_NO_TABLE:
    case SW_REPLY_TABLE_CHANGED:
        return SHERWOOD_E_TABLE;
    case SW_REPLY_WRONG_SHARD:
    case SW_REPLY_SLOT_FROZEN:
    case SW_REPLY_NOT_PRIMARY:
        return SHERWOOD_E_SHARD;
    default:
        return SHERWOOD_E_PROTOCOL;
    }
}

bool sw_client_is_zero(const void *object, size_t from, size_t to)
{
    const uint8_t *bytes = object;
    bool is_zero = true;
    for (size_t i = from; i < to; i++) {
        is_zero = is_zero && bytes[i] == 0;
    }
    return is_zero;
}

void sw_client_clean(const char *text, size_t size, char *out, size_t out_bytes)
{
    size_t n = 0;
    for (size_t i = 0; i < size && text[i] != '\0' && n + 1 < out_bytes; i++) {
        out[n++] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '.';
    }
    out[n] = '\0';
}
