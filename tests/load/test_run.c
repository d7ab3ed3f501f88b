/* SPDX-License-Identifier: MIT
 *
 * test_run.c - whole runs by RESP against a server in this process that answers right, wrong, with
 * errors or not to the end: the run must notice each.
 */
#include "bench/load/run.h"
#include "tests/load/resp_peer.h"

#define KEYS 5003

/* Mistakes of the server, with the key of one index. */
enum fault { NONE, MISSING, WRONG, GARBLED, ERROR, TOO_MANY, CLOSE };

struct server {
    struct sw_fake_server fake;
    enum fault fault;
    uint64_t fault_key;
    struct sw_load_workload workload;
};

static char *put_text(char *out, const char *text)
{
    return sw_resp_put_bytes(out, text, strlen(text));
}

/* The reply for one key; NULL if the connection is to be closed. */
static char *answer_key(const struct server *server, bool is_set, uint64_t key, char *out)
{
    enum fault fault = key == server->fault_key ? server->fault : NONE;
    uint64_t value = sw_load_value(&server->workload, key);
    switch (fault) {
    case CLOSE:
        return NULL;
    case ERROR:
        return put_text(out, "-OOM the table is full\r\n");
    case GARBLED:
        return put_text(out, "what?\r\n");
    case TOO_MANY:
        out = put_text(out, "+OK\r\n");
        break;
    case MISSING:
        return is_set ? put_text(out, "+OK\r\n") : put_text(out, "$-1\r\n");
    case WRONG:
        value ^= 1;
        break;
    case NONE:
        break;
    }
    return is_set ? put_text(out, "+OK\r\n") : sw_resp_put_bulk_integer(out, value);
}

static char *answer(void *context, const struct sw_resp_command *command, char *out)
{
    const struct server *server = context;
    const char *name = (const char *)command->arguments[0].text;
    bool is_set = name[0] == 'S', is_mget = name[0] == 'M';
    uint32_t last = is_set ? 2 : command->count;
    if (is_mget) {
        out = sw_resp_put_array(out, command->count - 1);
    }
    for (uint32_t i = 1; i < last && out; i++) {
        const uint64_t key = resp_peer_number(command, i);
        cr_assert(!is_set || resp_peer_number(command, 2) == sw_load_value(&server->workload, key),
                  "SET of another value");
        out = answer_key(server, is_set, key, out);
    }
    return out;
}

static void script(int fd, void *server)
{
    resp_peer_serve(fd, answer, server);
}

static void start(struct server *server, enum fault fault)
{
    *server = (struct server){
        .fault = fault,
        .workload = {.seed = 9, .keys = KEYS, .key_bytes = 8, .value_bytes = 8},
    };
    server->fault_key = sw_load_key(&server->workload, KEYS / 2);
    sw_fake_start_with(&server->fake, script, server, SW_FAKE_TCP | SW_FAKE_PARALLEL);
}

static struct sw_load_options options_for(const struct server *server,
                                          enum sw_load_operation operation)
{
    return (struct sw_load_options){
        .address = server->fake.address,
        .protocol = SW_LOAD_RESP,
        .operation = operation,
        .keys = KEYS,
        .seed = 9,
        .mget = 7,
        .connections = 5,
        .threads = 2,
        .depth = 16,
        .key_bits = 64,
        .quiet = true,
    };
}

static struct sw_load_result result; /* of the last run */
static char error[SW_LOAD_ERROR_BYTES];

/* Runs against a server with this fault. */
static int run_against_fault(enum fault fault, enum sw_load_operation operation)
{
    struct server server;
    memset(&result, 0, sizeof(result));
    start(&server, fault);
    struct sw_load_options options = options_for(&server, operation);
    const int status = sw_load_run(&options, &result, error);
    sw_fake_stop(&server.fake);
    return status;
}

Test(run, every_key_once_and_all_right)
{
    static const enum sw_load_operation operations[] = {SW_LOAD_SET, SW_LOAD_GET, SW_LOAD_MGET,
                                                        SW_LOAD_SET_GET};
    for (size_t i = 0; i < 4; i++) {
        const int status = run_against_fault(NONE, operations[i]);
        cr_assert_eq(status, SW_LOAD_OK, "%s", error);
        cr_assert_eq(result.phases_count, operations[i] == SW_LOAD_SET_GET ? 2 : 1);
        for (uint32_t p = 0; p < result.phases_count; p++) {
            const struct sw_load_phase_result *phase = &result.phases[p];
            uint64_t unit = phase->operation == SW_LOAD_MGET ? 16 * 7 : 16;
            cr_assert_eq(phase->keys, KEYS);
            cr_assert_eq(phase->latency.count, (KEYS + unit - 1) / unit);
            cr_assert_eq(phase->missing + phase->wrong, 0);
            cr_assert_gt(phase->seconds, 0);
        }
    }
}

Test(run, a_missing_and_a_wrong_key_are_found)
{
    static const enum sw_load_operation operations[] = {SW_LOAD_GET, SW_LOAD_MGET, SW_LOAD_SET_GET};
    for (size_t i = 0; i < 6; i++) {
        bool missing = i % 2;
        const int status = run_against_fault(missing ? MISSING : WRONG, operations[i / 2]);
        cr_assert_eq(status, SW_LOAD_E_MISMATCH, "case %zu: %d", i, status);
        const struct sw_load_phase_result *phase = &result.phases[result.phases_count - 1];
        const struct sw_load_example *example = &phase->example;
        cr_assert_eq(phase->keys, KEYS, "the run goes to its end");
        cr_assert_eq(phase->missing, missing);
        cr_assert_eq(phase->wrong, !missing);
        cr_assert(example->is_set && example->missing == missing);
        cr_assert_eq(example->key, sw_load_key(&result.workload, KEYS / 2));
        cr_assert_eq(example->expected, sw_load_value(&result.workload, example->key));
        cr_assert_eq(example->found, missing ? 0 : (example->expected ^ 1));
    }
}

Test(run, faults_of_the_server_end_the_run)
{
    static const struct {
        enum fault fault;
        const char *says;
    } cases[] = {
        {ERROR, "the server replied: OOM the table is full"},
        {GARBLED, "reply is not RESP"},
        {TOO_MANY, ""}, /* what comes first depends on the operation */
        {CLOSE, "clos"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (int o = 0; o < 3; o++) {
            static const enum sw_load_operation operations[] = {SW_LOAD_SET, SW_LOAD_GET,
                                                                SW_LOAD_MGET};
            const int status = run_against_fault(cases[i].fault, operations[o]);
            cr_assert_eq(status, SW_LOAD_E_PEER, "case %zu, operation %d", i, o);
            cr_assert(strstr(error, cases[i].says), "case %zu, operation %d: %s", i, o, error);
        }
    }
}

Test(run, nobody_listens)
{
    struct server server;
    start(&server, NONE);
    sw_fake_stop(&server.fake);
    struct sw_load_options options = options_for(&server, SW_LOAD_GET);
    cr_assert_eq(sw_load_run(&options, &result, error), SW_LOAD_E_PEER);
    cr_assert(strstr(error, "cannot connect"), "%s", error);
}

/* Refused before anything is allocated or connected. */
Test(run, buffers_have_a_limit)
{
    static const struct {
        uint32_t depth, mget;
        const char *says;
    } cases[] = {
        {SW_LOAD_RESP_DEPTH_MAX, SW_LOAD_MGET_MAX, "--depth times --mget"},
        {SW_LOAD_FRAME_MAX / SW_LOAD_MGET_MAX, SW_LOAD_MGET_MAX, "the limit of 16384 MiB"},
    };
    for (size_t i = 0; i < 2; i++) {
        struct server server = {.fake.address = "127.0.0.1:1"};
        struct sw_load_options options = options_for(&server, SW_LOAD_MGET);
        options.connections = SW_LOAD_CONNECTIONS_MAX;
        options.depth = cases[i].depth;
        options.mget = cases[i].mget;
        cr_assert_eq(sw_load_run(&options, NULL, error), SW_LOAD_E_USAGE, "case %zu", i);
        cr_assert(strstr(error, cases[i].says), "case %zu: %s", i, error);
    }
}
