/* SPDX-License-Identifier: MIT
 *
 * resp_client.c - a pipelined RESP client for integer keys (see resp_client.h).
 */
#include "bench/load/resp_client.h"

#include "bench/load/resp_mix.h"
#include "bench/load/resp_reply.h"
#include "client/error.h"
#include "proto/decimal.h"
#include "proto/resp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The longest head of a command: "*3\r\n$3\r\nSET\r\n", or the head of an MGET; and "$2\r\nPX\r\n".
 */
#define COMMAND_HEAD_BYTES_MAX 48
/* Each key needs at most a head, a key, a value and a time. */
#define KEY_BYTES_MAX (COMMAND_HEAD_BYTES_MAX + 3 * SW_RESP_INTEGER_BYTES_MAX)

uint64_t sw_load_resp_bytes(uint32_t unit_keys, uint32_t key_bytes, uint32_t value_bytes)
{
    return (uint64_t)unit_keys * (KEY_BYTES_MAX + key_bytes + value_bytes) +
           SW_LOAD_RESP_INPUT_BYTES;
}

int sw_load_resp_prepare(struct sw_load_resp_client *client, const struct sw_load_setup *setup,
                         uint32_t unit_keys, uint32_t number)
{
    const struct sw_load_workload *workload = setup->workload;
    client->unit.keys = calloc(unit_keys, workload->key_bytes);
    client->output = malloc((size_t)unit_keys * (KEY_BYTES_MAX + workload->value_bytes));
    client->input = malloc(SW_LOAD_RESP_INPUT_BYTES);
    if (!client->unit.keys || !client->output || !client->input) {
        return SW_LOAD_E_NOMEM;
    }
    if (setup->partitions) {
        client->unit.partition = &client->partition;
        client->unit.operands = calloc(unit_keys, workload->value_bytes);
        if (!sw_load_partition_init(&client->partition, setup->partitions, number) ||
            !client->unit.operands) {
            return SW_LOAD_E_NOMEM;
        }
    }
    return SW_LOAD_OK;
}

void sw_load_resp_fini(struct sw_load_resp_client *client)
{
    free(client->unit.keys);
    free(client->unit.operands);
    free(client->output);
    free(client->input);
    sw_load_partition_fini(&client->partition);
    sw_load_link_close(&client->link);
    *client = (struct sw_load_resp_client){.link.fd = -1};
}

#define PUT_TEXT(out, text) sw_resp_put_bytes((out), (text), sizeof(text) - 1)

/* Writes the value of key i of a unit. */
static char *put_value(const struct sw_load_workload *workload, const void *keys, uint32_t i,
                       char *out)
{
    const uint8_t *key = (const uint8_t *)keys + (size_t)i * workload->key_bytes;
    if (workload->format == SW_LOAD_VALUES_INTEGER) {
        uint64_t number = sw_load_element(keys, workload->key_bytes, i);
        return sw_resp_put_bulk_integer(out, sw_load_value(workload, number));
    }
    out = sw_resp_put_bulk_header(out, workload->value_bytes);
    sw_load_fill_values(workload, key, 1, out);
    return PUT_TEXT(out + workload->value_bytes, "\r\n");
}

static char *format_sets(const struct sw_load_worker *worker, const void *keys, uint32_t count,
                         char *out)
{
    const struct sw_load_workload *workload = worker->workload;
    for (uint32_t i = 0; i < count; i++) {
        out = sw_load_resp_put_set(worker->options, out);
        out = sw_resp_put_bulk_integer(out, sw_load_element(keys, workload->key_bytes, i));
        out = put_value(workload, keys, i, out);
        out = sw_load_resp_put_time(worker->options, out);
    }
    return out;
}

static char *format_gets(const struct sw_load_workload *workload, const void *keys, uint32_t count,
                         char *out)
{
    for (uint32_t i = 0; i < count; i++) {
        out = PUT_TEXT(out, "*2\r\n$3\r\nGET\r\n");
        out = sw_resp_put_bulk_integer(out, sw_load_element(keys, workload->key_bytes, i));
    }
    return out;
}

static char *format_mgets(const struct sw_load_workload *workload, const void *keys, uint32_t count,
                          uint32_t each, char *out)
{
    for (uint32_t first = 0; first < count; first += each) {
        uint32_t last = count - first < each ? count : first + each;
        out = sw_resp_put_array(out, (uint64_t)(last - first) + 1);
        out = PUT_TEXT(out, "$4\r\nMGET\r\n");
        for (uint32_t i = first; i < last; i++) {
            out = sw_resp_put_bulk_integer(out, sw_load_element(keys, workload->key_bytes, i));
        }
    }
    return out;
}

int sw_load_resp_flush(struct sw_load_resp_client *client, struct sw_load_worker *worker)
{
    while (client->output_sent < client->output_bytes) {
        worker->traffic.writes++;
        int64_t sent = sw_load_link_send(&client->link, client->output + client->output_sent,
                                         client->output_bytes - client->output_sent);
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            break;
        }
        if (sent < 0 && errno != EINTR) {
            return sw_load_worker_fail(worker, SW_LOAD_E_PEER, "sending failed: %s",
                                       strerror(errno));
        }
        client->output_sent += sent > 0 ? (size_t)sent : 0;
        worker->traffic.bytes_sent += sent > 0 ? (uint64_t)sent : 0;
    }
    client->wants_write = client->output_sent < client->output_bytes;
    return SW_LOAD_OK;
}

bool sw_load_resp_take(struct sw_load_resp_client *client, struct sw_load_worker *worker)
{
    const struct sw_load_workload *workload = worker->workload;
    const struct sw_load_unit *unit = &client->unit;
    if (!sw_load_worker_take(worker, sw_load_now_ns(), &client->unit)) {
        return false;
    }
    char *end = client->output;
    if (unit->partition) {
        end = sw_load_resp_mix_format(worker, unit, end);
    } else if (worker->phase->operation == SW_LOAD_SET) {
        end = format_sets(worker, unit->keys, unit->count, end);
    } else if (worker->phase->operation == SW_LOAD_MGET) {
        end = format_mgets(workload, unit->keys, unit->count, worker->options->mget, end);
    } else {
        end = format_gets(workload, unit->keys, unit->count, end);
    }
    client->output_bytes = (size_t)(end - client->output);
    client->output_sent = 0;
    client->keys_answered = 0;
    return true;
}

int sw_load_resp_send(struct sw_load_resp_client *client, struct sw_load_worker *worker)
{
    sw_load_worker_sent(worker, &client->unit, sw_load_now_ns());
    return sw_load_resp_flush(client, worker);
}

static int unexpected(struct sw_load_worker *worker, const struct sw_load_reply *reply)
{
    if (reply->kind == SW_LOAD_REPLY_ERROR) {
        char said[200];
        sw_client_clean((const char *)reply->text, reply->size, said, sizeof(said));
        return sw_load_worker_fail(worker, SW_LOAD_E_PEER, "the server replied: %s", said);
    }
    return sw_load_worker_fail(worker, SW_LOAD_E_PEER,
                               "the server's reply does not fit the command");
}

/* Checks the value of the key whose reply is next. */
static void check_value(const struct sw_load_resp_client *client, struct sw_load_worker *worker,
                        const struct sw_load_reply *reply)
{
    const struct sw_load_workload *workload = worker->workload;
    const uint32_t i = client->keys_answered;
    const uint64_t key = sw_load_element(client->unit.keys, workload->key_bytes, i);
    uint64_t value = 0;
    if (worker->options->no_verify) {
        return;
    }
    const bool missing = reply->kind == SW_LOAD_REPLY_NULL;
    bool is_right = false;
    if (!missing && workload->format != SW_LOAD_VALUES_INTEGER) {
        const bool fits = reply->size == workload->value_bytes;
        const uint8_t *at = (const uint8_t *)client->unit.keys + (size_t)i * workload->key_bytes;
        is_right = fits && sw_load_is_right(workload, at, reply->text, 0);
        value = fits ? sw_load_shown(workload, reply->text, 0) : 0;
    } else if (!missing) {
        is_right = sw_decimal_parse(reply->text, reply->size, UINT64_MAX, &value) &&
                   value == sw_load_value(workload, key);
    }
    sw_load_worker_read(worker, &client->unit, key, missing, is_right, value);
}

/* Handles one reply, or one element of an MGET reply. Returns 0 or an error. */
static int use_reply(struct sw_load_resp_client *client, struct sw_load_worker *worker,
                     const struct sw_load_reply *reply)
{
    const struct sw_load_unit *unit = &client->unit;
    if (unit->partition) {
        bool fits = sw_load_resp_mix_use(worker, unit, client->keys_answered, reply);
        client->keys_answered += fits;
        return fits ? SW_LOAD_OK : unexpected(worker, reply);
    }
    bool is_value = reply->kind == SW_LOAD_REPLY_BULK || reply->kind == SW_LOAD_REPLY_NULL;
    switch (worker->phase->operation) {
    case SW_LOAD_SET:
        if (reply->kind != SW_LOAD_REPLY_STATUS || reply->size != 2 ||
            memcmp(reply->text, "OK", 2) != 0) {
            return unexpected(worker, reply);
        }
        break;
    case SW_LOAD_MGET:
        if (client->array_left == 0) {
            uint32_t left = client->unit.count - client->keys_answered;
            uint32_t expected = left < worker->options->mget ? left : worker->options->mget;
            if (reply->kind != SW_LOAD_REPLY_ARRAY || reply->size != expected) {
                return unexpected(worker, reply);
            }
            client->array_left = expected;
            return SW_LOAD_OK;
        }
        if (!is_value) {
            return unexpected(worker, reply);
        }
        client->array_left--;
        check_value(client, worker, reply);
        break;
    default:
        if (!is_value) {
            return unexpected(worker, reply);
        }
        check_value(client, worker, reply);
        break;
    }
    client->keys_answered++;
    return SW_LOAD_OK;
}

/* Handles the complete replies in the input buffer, and moves the remaining bytes to its start. */
static int use_input(struct sw_load_resp_client *client, struct sw_load_worker *worker)
{
    /* The client expects no reply before it has sent a byte of the unit. */
    const uint32_t expected = client->output_sent ? client->unit.count : 0;
    size_t at = 0;
    while (client->keys_answered < expected) {
        struct sw_load_reply reply;
        int64_t used = sw_load_reply_parse(client->input + at, client->input_bytes - at, &reply);
        if (used < 0) {
            return sw_load_worker_fail(worker, SW_LOAD_E_PEER,
                                       "the server's reply is not RESP: check the address");
        }
        if (used == 0) {
            break;
        }
        at += (size_t)used;
        int status = use_reply(client, worker, &reply);
        if (status) {
            return status;
        }
    }
    client->input_bytes -= at;
    memmove(client->input, client->input + at, client->input_bytes);
    if (client->keys_answered == expected && client->input_bytes) {
        return sw_load_worker_fail(worker, SW_LOAD_E_PEER,
                                   "the server sent more replies than there were commands");
    }
    if (client->input_bytes == SW_LOAD_RESP_INPUT_BYTES) {
        return sw_load_worker_fail(worker, SW_LOAD_E_PEER, "a reply is longer than %d bytes",
                                   SW_LOAD_RESP_INPUT_BYTES);
    }
    return SW_LOAD_OK;
}

/* Reads once. */
static int read_some(struct sw_load_resp_client *client, struct sw_load_worker *worker)
{
    size_t room = SW_LOAD_RESP_INPUT_BYTES - client->input_bytes;
    worker->traffic.reads++;
    int64_t received =
        sw_load_link_receive(&client->link, client->input + client->input_bytes, room);
    if (received < 0) {
        if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
            return SW_LOAD_OK;
        }
        return sw_load_worker_fail(worker, SW_LOAD_E_PEER, "receiving failed: %s", strerror(errno));
    }
    if (received == 0) {
        return sw_load_worker_fail(worker, SW_LOAD_E_PEER,
                                   "the server closed the connection: see its log, and check that "
                                   "the port is not its HTTP port");
    }
    if (worker->options->ttl > 0) {
        worker->until_ns = sw_load_now_ns();
    }
    client->input_bytes += (size_t)received;
    worker->traffic.bytes_received += (uint64_t)received;
    int status = use_input(client, worker);
    if (status == SW_LOAD_OK && client->unit.count && client->keys_answered == client->unit.count) {
        sw_load_worker_done(worker, &client->unit, sw_load_now_ns());
        client->unit.count = 0;
        client->keys_answered = 0;
    }
    return status;
}

int sw_load_resp_read(struct sw_load_resp_client *client, struct sw_load_worker *worker)
{
    int status;
    do {
        status = read_some(client, worker);
    } while (status == SW_LOAD_OK && sw_load_link_pending(&client->link));
    return status;
}
