/* SPDX-License-Identifier: MIT
 *
 * ranges.c - commands on rows and their parts: ADD, GETRANGE and SETRANGE, with the arguments of
 * RESP.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "client/cli/commands.h"
#include "client/cli/numbers.h"
#include "client/cli/one.h"
#include "client/cli/reply.h"
#include "client/cli/values.h"
#include "proto/operation.h"
#include "proto/plural.h"
#include "proto/value_type.h"

#define LENGTH_BYTES sizeof(uint32_t)

/* Runs a request for one key, and stores in *found whether the key was present. Prints an error and
 * returns false if the request failed. */
static bool run_request(struct sw_cli *cli, const struct sherwood_request *given,
                        const char *key_word, bool *found)
{
    struct sherwood_request request = *given;
    const uint32_t key_bytes = sherwood_server(cli->client)->key_bytes;
    uint64_t number = 0, key = 0, bits = 0;
    if (!sw_cli_key(cli, key_word, &number)) {
        return false;
    }
    sw_cli_number_put(&key, key_bytes, 0, number);
    request.count = 1;
    request.keys = &key;
    request.found = &bits;
    if (sherwood_submit(cli->client, &request) != SHERWOOD_OK ||
        sherwood_wait(cli->client, &request) != SHERWOOD_OK) {
        return sw_cli_library_error(cli);
    }
    *found = (bits & 1) != 0;
    return true;
}

/* --- ADD -------------------------------------------------------------------------------------- */

/* Reads SCALE and XX. */
static bool add_options(struct sw_cli *cli, struct sherwood_request *request, bool *present_only,
                        int count, char **words)
{
    for (int i = 3; i < count; i++) {
        char *end = "";
        if (strcasecmp(words[i], "XX") == 0) {
            *present_only = true;
        } else if (strcasecmp(words[i], "SCALE") == 0 && i + 1 < count) {
            request->scale = strtof(words[++i], &end);
            if (end == words[i] || *end != '\0' || !isfinite(request->scale) ||
                request->scale == 0) {
                sw_cli_reply_error(cli, "ERR SCALE must be a finite number other than 0");
                return false;
            }
        } else {
            sw_cli_reply_error(cli, "ERR syntax error: ADD key row [SCALE s] [XX]");
            return false;
        }
    }
    return true;
}

void sw_cli_add(struct sw_cli *cli, int code, int count, char **words)
{
    const struct sherwood_server *server = sherwood_server(cli->client);
    uint64_t row[2 * SW_CLI_VALUE_WORDS] = {0}; /* room for a row of f16 as f32 */
    struct sherwood_request request = SHERWOOD_REQUEST_INIT;
    bool present_only = false, found = false;
    (void)code;
    if (sw_cli_values_are_numbers(cli) || sw_value_type_bytes((uint32_t)server->value_type) == 0) {
        sw_cli_reply_error(cli, "ERR ADD needs rows of numbers: start the server with "
                                "--value-bytes and a numeric --value-type");
        return;
    }
    if (!add_options(cli, &request, &present_only, count, words)) {
        return;
    }
    struct sw_cli_row_format format = sw_cli_format_of_rows(cli);
    if (request.scale != 0 && request.scale != 1 && request.scale != -1 &&
        sw_value_type_bytes(format.value_type) == sizeof(uint16_t)) {
        /* operands of f16 have no scale */
        request.operand_type = SHERWOOD_F32;
        format.value_type = SHERWOOD_F32;
        format.value_bytes *= 2;
    }
    if (!sw_cli_row_put(cli, &format, row, words[2])) {
        return;
    }
    const uint32_t adds = sw_operation_that_adds(server->value_type, present_only);
    request.operation = adds != 0 ? (enum sherwood_operation)adds : SHERWOOD_ADD_F32;
    request.values = row;
    if (run_request(cli, &request, words[1], &found)) {
        sw_cli_reply_integer(cli, found);
    }
}

/* --- parts ------------------------------------------------------------------------------------ */

/* The format of a part on the terminal: bytes in hex, or numbers. Text does not use `format`. */
struct part {
    struct sw_cli_row_format format;
    bool is_text;
    uint32_t room; /* bytes of a value that GETRANGE and SETRANGE can reach */
};

static bool part_of(struct sw_cli *cli, const char *name, const char *option, struct part *part)
{
    if (option != NULL && strcasecmp(option, "HEX") != 0) {
        sw_cli_reply_error(cli, "ERR syntax error: only HEX may follow");
        return false;
    }
    if (sw_cli_values_are_numbers(cli)) {
        sw_cli_reply_error(cli,
                           "ERR %s needs rows, but the values of this server are integers: start "
                           "it with --value-bytes",
                           name);
        return false;
    }
    part->format = sw_cli_format_of_rows(cli);
    const bool is_string = part->format.value_format == SHERWOOD_VALUES_STRING;
    part->room = part->format.value_bytes - (is_string ? (uint32_t)LENGTH_BYTES : 0);
    part->format.value_format = SHERWOOD_VALUES_FIXED;
    if (option != NULL) {
        part->format.value_type = SHERWOOD_BYTES;
    }
    part->is_text = option == NULL && sw_value_type_bytes(part->format.value_type) == 0;
    return true;
}

/* Returns whether a part has whole numbers only; if not, prints an error. */
static bool is_whole(struct sw_cli *cli, const struct part *part, uint64_t offset, uint64_t bytes)
{
    const uint32_t number = sw_value_type_bytes(part->format.value_type);
    if (number > 0 && (offset % number != 0 || bytes % number != 0)) {
        sw_cli_reply_error(
            cli, "ERR the part must consist of whole numbers of %u bytes: use HEX for other parts",
            number);
        return false;
    }
    return true;
}

/* Reads an offset. A negative one counts from the end, and may lie before the start of the value.
 */
static bool place(struct sw_cli *cli, const char *word, uint32_t bytes, int64_t *out)
{
    char *end;
    errno = 0;
    const long long number = strtoll(word, &end, 10);
    if (end == word || *end != '\0' || errno != 0) {
        sw_cli_reply_error(cli, "ERR value is not an integer or out of range");
        return false;
    }
    *out = number < 0 ? number + (int64_t)bytes : number;
    return true;
}

/* Prints bytes places[0] to places[1] of a value of `bytes` bytes. */
static void show(struct sw_cli *cli, struct part *part, const uint8_t *value, uint32_t bytes,
                 const int64_t *places)
{
    const int64_t first = places[0] < 0 ? 0 : places[0];
    const int64_t last = places[1] < (int64_t)bytes ? places[1] : (int64_t)bytes - 1;
    const uint64_t count = last < first ? 0 : (uint64_t)(last - first + 1);
    if (!is_whole(cli, part, (uint64_t)first, count)) {
        return;
    }
    if (part->is_text || count == 0) {
        sw_cli_bytes_reply(cli, value + (count == 0 ? 0 : first), count);
        return;
    }
    part->format.value_bytes = (uint32_t)count;
    fputs(cli->raw ? "" : "\"", cli->out);
    sw_cli_row_write(cli->out, &part->format, value + first);
    fputs(cli->raw ? "\n" : "\"\n", cli->out);
}

void sw_cli_get_range(struct sw_cli *cli, int code, int count, char **words)
{
    uint64_t value[SW_CLI_VALUE_WORDS] = {0};
    struct part part;
    int64_t places[2];
    bool found = false;
    if (!part_of(cli, words[0], count > 4 ? words[4] : NULL, &part)) {
        return;
    }
    /* reads the whole value, because its first bytes are the length of the string */
    if (!sw_cli_run_one(cli, code, words[1], NULL, &found, value)) {
        return;
    }
    const uint8_t *bytes = (const uint8_t *)value;
    uint32_t size = part.room;
    if (sherwood_server(cli->client)->value_format == SHERWOOD_VALUES_STRING) {
        uint32_t length;
        memcpy(&length, bytes, LENGTH_BYTES);
        bytes += LENGTH_BYTES;
        size = length < size ? length : size;
    }
    size = found ? size : 0;
    if (place(cli, words[2], size, &places[0]) && place(cli, words[3], size, &places[1])) {
        show(cli, &part, bytes, size, places);
    }
}

/* Returns the bytes of a word as a part of a value. */
static uint64_t part_bytes(const struct part *part, const char *word)
{
    const size_t size = strlen(word);
    const uint32_t number = sw_value_type_bytes(part->format.value_type);
    uint64_t numbers = 1;
    if (part->is_text) {
        return size;
    }
    for (const char *at = word; number > 0 && (at = strchr(at, ',')) != NULL; at++) {
        numbers++;
    }
    return number > 0 ? numbers * number : size / 2;
}

void sw_cli_set_range(struct sw_cli *cli, int code, int count, char **words)
{
    uint64_t bytes[SW_CLI_VALUE_WORDS] = {0}, offset = 0;
    struct sherwood_request request = SHERWOOD_REQUEST_INIT;
    struct part part;
    bool found = false;
    if (!part_of(cli, words[0], count > 4 ? words[4] : NULL, &part) ||
        !sw_cli_number(cli, "offset", words[2], UINT32_MAX, &offset)) {
        return;
    }
    const uint64_t size = part_bytes(&part, words[3]);
    if (size == 0 || offset + size > part.room) {
        sw_cli_reply_error(cli,
                           "ERR cannot write %" PRIu64 " byte%s from byte %" PRIu64
                           " on: write at least 1, within the %u of a value",
                           size, sw_plural_s(size), offset, part.room);
        return;
    }
    part.format.value_bytes = (uint32_t)size;
    if (!is_whole(cli, &part, offset, size)) {
        return;
    }
    if (part.is_text) {
        memcpy(bytes, words[3], size);
    } else if (!sw_cli_row_put(cli, &part.format, bytes, words[3])) {
        return;
    }
    request.operation = (enum sherwood_operation)code;
    request.values = bytes;
    request.range_offset = (uint32_t)offset;
    request.range_bytes = (uint32_t)size;
    if (run_request(cli, &request, words[1], &found)) {
        sw_cli_reply_integer(cli, found);
    }
}
