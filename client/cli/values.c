/* SPDX-License-Identifier: MIT
 *
 * values.c - converts words to values, and prints values.
 */
#include "client/cli/values.h"

#include <string.h>

#include "client/cli/numbers.h"
#include "client/cli/reply.h"
#include "proto/plural.h"
#include "proto/value_type.h"

#define LENGTH_BYTES sizeof(uint32_t)

bool sw_cli_values_are_numbers(const struct sw_cli *cli)
{
    return sherwood_server(cli->client)->value_format == SHERWOOD_VALUES_INTEGER;
}

struct sw_cli_row_format sw_cli_format_of_rows(const struct sw_cli *cli)
{
    const struct sherwood_server *server = sherwood_server(cli->client);
    return (struct sw_cli_row_format){(uint32_t)server->value_format, (uint32_t)server->value_type,
                                      server->value_bytes};
}

/* Returns whether a word of this length can be a value. If not, prints an error. */
static bool fits(struct sw_cli *cli, size_t size)
{
    const struct sherwood_server *server = sherwood_server(cli->client);
    bool fixed = server->value_format == SHERWOOD_VALUES_FIXED;
    size_t most = server->value_bytes - (fixed ? 0 : LENGTH_BYTES);
    if (fixed && most == 0 && size != 0) {
        sw_cli_reply_error(cli, "ERR keys have no values (value-type none): INSERT keys");
        return false;
    }
    if (fixed && size != most) {
        sw_cli_reply_error(cli, "ERR value has %zu byte%s: it must have exactly %zu", size,
                           sw_plural_s(size), most);
        return false;
    }
    if (size > most) {
        sw_cli_reply_error(cli, "ERR value has %zu byte%s: it must have at most %zu", size,
                           sw_plural_s(size), most);
        return false;
    }
    return true;
}

/* Writes a whole value of value_bytes bytes. */
static void put_bytes(const struct sherwood_server *server, uint8_t *out, const void *bytes,
                      size_t size)
{
    memset(out, 0, server->value_bytes);
    if (server->value_format == SHERWOOD_VALUES_STRING) {
        const uint32_t length = (uint32_t)size;
        memcpy(out, &length, LENGTH_BYTES);
        out += LENGTH_BYTES;
    }
    memcpy(out, bytes, size);
}

bool sw_cli_row_put(struct sw_cli *cli, const struct sw_cli_row_format *format, void *out,
                    const char *word)
{
    const uint32_t number = sw_value_type_bytes(format->value_type);
    const char *wrong = sw_cli_row_read(format, word, strlen(word), out);
    if (wrong != NULL && number == 0) {
        sw_cli_reply_error(cli, "ERR %s", wrong);
    } else if (wrong != NULL) {
        sw_cli_reply_error(cli, "ERR %s: %u of %s, separated by commas", wrong,
                           format->value_bytes / number, sw_value_type_name(format->value_type));
    }
    return wrong == NULL;
}

bool sw_cli_value_put(struct sw_cli *cli, void *values, size_t i, const char *word)
{
    const struct sherwood_server *server = sherwood_server(cli->client);
    const size_t size = strlen(word);
    if (sw_cli_values_are_numbers(cli)) {
        uint64_t number = 0;
        if (!sw_cli_number_or(cli, "value", word, sw_cli_width_max(server->value_bytes),
                              "; for strings start the server with --value-bytes N --value-type "
                              "string",
                              &number)) {
            return false;
        }
        sw_cli_number_put(values, server->value_bytes, i, number);
        return true;
    }
    if (sw_value_type_bytes((uint32_t)server->value_type) > 0) {
        const struct sw_cli_row_format format = sw_cli_format_of_rows(cli);
        return sw_cli_row_put(cli, &format, (uint8_t *)values + i * server->value_bytes, word);
    }
    if (!fits(cli, size)) {
        return false;
    }
    put_bytes(server, (uint8_t *)values + i * server->value_bytes, word, size);
    return true;
}

/* Prints one byte of a text in quotes. */
static void put_quoted(FILE *out, uint8_t byte)
{
    static const char plain[] = "\\\"\n\r\t\a\b";
    static const char letters[] = "\\\"nrtab";
    const char *at = byte != '\0' ? strchr(plain, byte) : NULL;
    if (at != NULL) {
        fprintf(out, "\\%c", letters[at - plain]);
    } else if (byte >= ' ' && byte <= '~') {
        fputc(byte, out);
    } else {
        fprintf(out, "\\x%02x", byte);
    }
}

void sw_cli_bytes_reply(struct sw_cli *cli, const uint8_t *bytes, size_t size)
{
    if (cli->raw) {
        fwrite(bytes, 1, size, cli->out);
        fputc('\n', cli->out);
        return;
    }
    fputc('"', cli->out);
    for (size_t k = 0; k < size; k++) {
        put_quoted(cli->out, bytes[k]);
    }
    fputs("\"\n", cli->out);
}

void sw_cli_value_reply(struct sw_cli *cli, bool present, const void *values, size_t i)
{
    const struct sherwood_server *server = sherwood_server(cli->client);
    const uint8_t *value = (const uint8_t *)values + i * server->value_bytes;
    size_t size = server->value_bytes;
    if (!present || sw_cli_values_are_numbers(cli)) {
        sw_cli_reply_number(cli, present,
                            present ? sw_cli_number_at(values, server->value_bytes, i) : 0);
        return;
    }
    if (sw_value_type_bytes((uint32_t)server->value_type) > 0) {
        const struct sw_cli_row_format format = sw_cli_format_of_rows(cli);
        fputs(cli->raw ? "" : "\"", cli->out);
        sw_cli_row_write(cli->out, &format, value);
        fputs(cli->raw ? "\n" : "\"\n", cli->out);
        return;
    }
    if (server->value_format == SHERWOOD_VALUES_STRING) {
        uint32_t length = 0;
        memcpy(&length, value, LENGTH_BYTES);
        value += LENGTH_BYTES;
        size -= LENGTH_BYTES;
        size = length < size ? length : size;
    }
    sw_cli_bytes_reply(cli, value, size);
}
