/* SPDX-License-Identifier: MIT
 *
 * test_mix_run.c - whole runs of mixes and of open loops, by both protocols, against a store in
 * this process that tells the truth, lies once, forgets a write once, or stops for a while.
 */
#include <stdio.h>
#include <unistd.h>

#include "bench/load/run.h"
#include "tests/load/resp_peer.h"

#define KEYS 2000
#define FRAME 64
#define ENTRIES 16384
#define BYTES (1U << 20)
#define STALL_MS 300
#define IN_FLIGHT 8

/* Mistakes of the store, made once, with the operation number fault_at. */
enum fault { NONE, FORGET, LIE_FOUND, LIE_VALUE, STALL };

struct entry {
    bool used, present;
    uint64_t key, value;
};

struct store {
    enum sw_load_protocol protocol;
    enum fault fault;
    uint64_t fault_at;
    uint64_t operations;
    uint64_t by_operation[SW_OPERATION_DELETE + 1];
    struct entry entries[ENTRIES];
};

static struct entry *find(struct store *store, uint64_t key)
{
    size_t at = (size_t)(key * 0x9e3779b97f4a7c15ULL >> 32) % ENTRIES;
    while (store->entries[at].used && store->entries[at].key != key) {
        at = (at + 1) % ENTRIES;
    }
    return &store->entries[at];
}

/* Does one operation; *found is whether the key was there, the result its value afterwards. */
static uint64_t serve(struct store *store, uint32_t operation, uint64_t key, uint64_t operand,
                      bool *found)
{
    const bool is_fault = store->operations++ == store->fault_at;
    struct entry *entry = find(store, key);
    const struct entry before = *entry;
    store->by_operation[operation]++;
    *found = entry->present;
    if (operation == SW_OPERATION_DELETE) {
        entry->present = false;
    } else if (operation != SW_OPERATION_GET) {
        bool adds = operation == SW_OPERATION_SUM && entry->present;
        *entry = (struct entry){true, true, key, adds ? entry->value + operand : operand};
    }
    uint64_t value = entry->value;
    if (is_fault && store->fault == FORGET) {
        *entry = before;
    } else if (is_fault && store->fault == LIE_FOUND) {
        *found = !*found;
    } else if (is_fault && store->fault == LIE_VALUE) {
        value ^= 4;
    } else if (is_fault && store->fault == STALL) {
        usleep(STALL_MS * 1000);
    }
    return value;
}

static bool serve_frame(struct store *store, int fd)
{
    static uint64_t body[BYTES / 8], values[FRAME], found[FRAME / 64];
    struct sw_request request;
    if (!sw_fake_read(fd, &request, (uint8_t *)body, sizeof(body))) {
        return false;
    }
    struct sw_body_layout in = sw_request_layout(&request);
    struct sw_reply reply = sw_fake_ok(&request);
    memset(found, 0, sizeof(found));
    for (uint32_t i = 0; i < request.count; i++) {
        bool was_there;
        uint64_t operand =
            sw_operation_has_operands(request.operation) ? body[in.second / 8 + i] : 0;
        uint64_t value = serve(store, request.operation, body[i], operand, &was_there);
        values[i] = was_there ? value : 0;
        found[i / 64] |= (uint64_t)was_there << i % 64;
        reply.hits += was_there;
    }
    struct sw_body_layout out = sw_reply_layout(&reply, SW_OPERATION_GET);
    uint64_t *at = body;
    memset(body, 0, out.bytes);
    if (reply.has_values) {
        memcpy(at + out.first / 8, values, request.count * sizeof(*values));
    }
    if (!reply.lacks_found) {
        memcpy((uint8_t *)body + out.second, found, (request.count + 63) / 64 * 8);
    }
    return sw_fake_reply(fd, &reply, (uint8_t *)body, out.bytes);
}

static char *serve_command(void *context, const struct sw_resp_command *command, char *out)
{
    struct store *store = context;
    const char name = *(const char *)command->arguments[0].text;
    const uint64_t key = resp_peer_number(command, 1);
    const uint64_t operand = command->count > 2 ? resp_peer_number(command, 2) : 0;
    bool found;
    switch (name) {
    case 'G': {
        uint64_t value = serve(store, SW_OPERATION_GET, key, 0, &found);
        return found ? sw_resp_put_bulk_integer(out, value) : sw_resp_put_null(out, false);
    }
    case 'I':
        return sw_resp_put_unsigned(out, serve(store, SW_OPERATION_SUM, key, operand, &found));
    case 'D':
        serve(store, SW_OPERATION_DELETE, key, 0, &found);
        return sw_resp_put_integer(out, found);
    default:
        serve(store, SW_OPERATION_SET, key, operand, &found);
        return sw_resp_put_bytes(out, "+OK\r\n", 5);
    }
}

static void script(int fd, void *user)
{
    struct store *store = user;
    if (store->protocol == SW_LOAD_RESP) {
        resp_peer_serve(fd, serve_command, store);
    } else if (sw_fake_hello(fd, 8, 8, FRAME, IN_FLIGHT)) {
        while (serve_frame(store, fd)) {
        }
    }
}

static struct sw_load_options options_for(enum sw_load_protocol protocol, const char *mix)
{
    struct sw_load_options options = {
        .protocol = protocol,
        .operation = SW_LOAD_MIX,
        .keys = KEYS,
        .seed = 9,
        .frame = FRAME,
        .connections = 1,
        .threads = 1,
        .depth = protocol == SW_LOAD_BULK ? IN_FLIGHT : FRAME,
        .key_bits = 64,
        .theta = 0.99,
        .hit_ratio = 0.8,
        .quiet = true,
    };
    cr_assert(sw_load_mix_parse(mix, &options.mix));
    return options;
}

/* What the last run gave. */
static struct {
    int status;
    char error[SW_LOAD_ERROR_BYTES];
    struct store store;
    struct sw_load_result result;
} outcome;

static void run_mix(struct sw_load_options *options, enum fault fault, uint64_t fault_at)
{
    struct sw_fake_server server;
    memset(&outcome, 0, sizeof(outcome));
    outcome.store.protocol = options->protocol;
    outcome.store.fault = fault;
    outcome.store.fault_at = fault_at;
    sw_fake_start(&server, script, &outcome.store);
    options->address = server.address;
    outcome.status = sw_load_run(options, &outcome.result, outcome.error);
    sw_fake_stop(&server);
}

/* The same, again where the machine was so busy that units were given up: twice the time is over.
 */
static void run_on_time(struct sw_load_options *options, enum fault fault, uint64_t fault_at)
{
    run_mix(options, fault, fault_at);
    for (int i = 0; i < 10 && outcome.result.phases[1].unsent > 0; i++) {
        run_mix(options, fault, fault_at);
    }
}

static const char *const all_operations = "get=40,set=20,sum=20,delete=15,insert=5";

Test(mix_run, every_operation_and_all_right)
{
    for (int i = 0; i < 2 * 4; i++) {
        struct sw_load_options options =
            options_for(i % 2 ? SW_LOAD_RESP : SW_LOAD_BULK, all_operations);
        options.distribution = (enum sw_load_distribution_kind)(i / 2);
        options.seconds = 0.2;
        run_mix(&options, NONE, 0);
        while (outcome.result.phases[1].keys < KEYS && outcome.status == SW_LOAD_OK) {
            /* partitions need KEYS keys, and the machine was busy */
            options.seconds *= 2;
            run_mix(&options, NONE, 0);
        }
        const struct sw_load_result *result = &outcome.result;
        const struct sw_load_phase_result *mix = &result->phases[1];
        cr_assert_eq(outcome.status, SW_LOAD_OK, "case %d: %s", i, outcome.error);
        cr_assert_eq(result->phases_count, 3);
        cr_assert_eq(result->phases[0].operation, SW_LOAD_FILL);
        cr_assert_eq(result->phases[0].keys, KEYS);
        cr_assert_eq(mix->operation, SW_LOAD_MIX);
        cr_assert_eq(result->phases[2].operation, SW_LOAD_CHECK);
        cr_assert_geq(result->phases[2].keys, KEYS);
        uint64_t total = 0;
        for (int o = 0; o < SW_LOAD_MIX_OPERATIONS; o++) {
            double share = (double)mix->operations[o] / (double)mix->keys;
            total += mix->operations[o];
            cr_assert_float_eq(share, options.mix.weights[o] / 100.0, 0.1, "case %d, %s: %g", i,
                               sw_load_mix_name((enum sw_load_mix_operation)o), share);
        }
        cr_assert_eq(total, mix->keys);
        cr_assert(mix->hits > 0 && mix->hits < mix->operations[SW_LOAD_MIX_GET]);
        /* The store saw what was counted. */
        const uint64_t *seen = outcome.store.by_operation;
        cr_assert_eq(seen[SW_OPERATION_SUM], mix->operations[SW_LOAD_MIX_SUM]);
        cr_assert_eq(seen[SW_OPERATION_DELETE], mix->operations[SW_LOAD_MIX_DELETE]);
        cr_assert_eq(seen[SW_OPERATION_GET],
                     mix->operations[SW_LOAD_MIX_GET] + result->phases[2].keys);
    }
}

/* Without --seconds a mix has one operation for each key. */
Test(mix_run, as_many_operations_as_keys)
{
    for (int i = 0; i < 4; i++) {
        struct sw_load_options options =
            options_for(i % 2 ? SW_LOAD_RESP : SW_LOAD_BULK, "get=1,set=1");
        options.no_verify = i / 2;
        run_mix(&options, NONE, 0);
        cr_assert_eq(outcome.status, SW_LOAD_OK, "%s", outcome.error);
        cr_assert_eq(outcome.result.phases[1].keys, KEYS);
        cr_assert_eq(outcome.result.phases_count, options.no_verify ? 2 : 3);
    }
}

/* One fault in the mix is found, whatever it is, if it is one that an answer or a later read shows.
 * (A forgotten get shows in no answer. A found bit that the protocol does not send does not show
 * either.) */
Test(mix_run, one_fault_is_found)
{
    static const struct {
        enum fault fault;
        const char *mix;
        bool bulk, resp;
        bool missing;
    } cases[] = {
        {LIE_FOUND, "get=1", true, true, true},   {LIE_VALUE, "get=1", true, true, false},
        {LIE_FOUND, "set=1", true, false, true},  {FORGET, "set=1", true, true, false},
        {LIE_FOUND, "sum=1", true, false, true},  {FORGET, "sum=1", true, true, false},
        {LIE_VALUE, "sum=1", false, true, false}, {LIE_FOUND, "delete=1", true, true, true},
    };
    for (size_t i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
        enum sw_load_protocol protocol = i % 2 ? SW_LOAD_RESP : SW_LOAD_BULK;
        struct sw_load_options options = options_for(protocol, cases[i / 2].mix);
        options.hit_ratio = 1;
        options.distribution = SW_LOAD_SEQUENTIAL; /* every key once */
        run_mix(&options, cases[i / 2].fault, KEYS + 777);
        bool shows = i % 2 ? cases[i / 2].resp : cases[i / 2].bulk;
        cr_assert_eq(outcome.status, shows ? SW_LOAD_E_MISMATCH : SW_LOAD_OK, "case %zu: %d %s", i,
                     outcome.status, outcome.error);
        if (shows) {
            const struct sw_load_phase_result *last =
                &outcome.result.phases[outcome.result.phases_count - 1];
            cr_assert_eq(last->missing, cases[i / 2].missing, "case %zu", i);
            cr_assert_eq(last->wrong, !cases[i / 2].missing, "case %zu", i);
            cr_assert(last->example.is_set);
        }
    }
}

/* Of frames that decline the bitmap the values are checked, and all that a write did at the end. */
Test(mix_run, one_fault_is_found_without_the_bitmap)
{
    static const struct {
        enum fault fault;
        const char *mix;
        bool shows;
    } cases[] = {
        {NONE, "get=1,set=1,sum=1,delete=1", false},
        {LIE_VALUE, "get=1", true},
        {FORGET, "set=1", true},
        {LIE_FOUND, "set=1", false},
        {FORGET, "delete=1", true}, /* only a bitmap shows that a key is still there */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sw_load_options options = options_for(SW_LOAD_BULK, cases[i].mix);
        options.no_found = true;
        options.hit_ratio = 1;
        options.distribution = SW_LOAD_SEQUENTIAL;
        run_mix(&options, cases[i].fault, KEYS + 777);
        cr_assert_eq(outcome.status, cases[i].shows ? SW_LOAD_E_MISMATCH : SW_LOAD_OK,
                     "case %zu: %d %s", i, outcome.status, outcome.error);
        if (cases[i].shows) {
            const struct sw_load_phase_result *last =
                &outcome.result.phases[outcome.result.phases_count - 1];
            cr_assert_eq(last->wrong, 1, "case %zu", i);
            cr_assert_eq(last->missing, 0, "case %zu", i);
        }
    }
}

Test(mix_run, unverified_runs_do_not_look)
{
    for (int i = 0; i < 2; i++) {
        struct sw_load_options options = options_for(i ? SW_LOAD_RESP : SW_LOAD_BULK, "get=1");
        options.no_verify = true;
        options.hit_ratio = 1;
        run_mix(&options, LIE_VALUE, KEYS + 777);
        cr_assert_eq(outcome.status, SW_LOAD_OK, "%s", outcome.error);
        cr_assert_eq(outcome.result.phases[1].hits, KEYS);
    }
}

/* A rate is kept, and what was due while the server stood still counts from when it was due. */
Test(mix_run, open_loop_counts_from_the_due_time)
{
    for (int i = 0; i < 2 * 2; i++) {
        const bool is_bulk = i % 2 == 0, stalls = i / 2;
        struct sw_load_options options =
            options_for(is_bulk ? SW_LOAD_BULK : SW_LOAD_RESP, "get=1,set=1");
        options.depth = 1;
        options.frame = 20;
        options.seconds = 1;
        /* A unit every 2 ms. */
        options.rate = is_bulk ? 20 * 500 : 500;
        /* The stall is that of one unit near the middle. */
        uint64_t at = KEYS + (is_bulk ? 20 * 150 : 150);
        run_on_time(&options, stalls ? STALL : NONE, at);
        const struct sw_load_phase_result *mix = &outcome.result.phases[1];
        cr_assert_eq(outcome.status, SW_LOAD_OK, "case %d: %s", i, outcome.error);
        cr_assert_eq(mix->latency.count + mix->unsent, 500, "case %d: %lu units", i,
                     mix->latency.count);
        cr_assert_eq(mix->unsent, 0);
        cr_assert_geq(mix->seconds, 0.99);
        if (stalls) {
            /* About 150 units were due in the meantime: a fifth of all waited for long. */
            cr_assert_geq(sw_load_histogram_percentile(&mix->latency, 80), 100000000U);
            cr_assert_geq(mix->latency.max, STALL_MS * 1000000U);
            cr_assert_geq(mix->late, 100);
            cr_assert_geq(mix->late_max_ns, (STALL_MS - 10) * 1000000U);
        }
    }
}

/* An open loop that cannot keep up ends, and says how much it owes. */
Test(mix_run, a_rate_that_is_out_of_reach)
{
    for (int i = 0; i < 2; i++) {
        struct sw_load_options options = options_for(i ? SW_LOAD_RESP : SW_LOAD_BULK, "get=1");
        options.depth = 1;
        options.seconds = 0.4;
        options.rate = 1000000000;
        run_mix(&options, NONE, 0);
        const struct sw_load_phase_result *mix = &outcome.result.phases[1];
        const uint64_t unit = i ? 1 : FRAME;
        cr_assert_eq(outcome.status, SW_LOAD_OK, "%s", outcome.error);
        cr_assert_eq(mix->latency.count + mix->unsent, 400000000 / unit);
        cr_assert_gt(mix->unsent, 0);
        cr_assert(mix->seconds > 0.4, "%g", mix->seconds);
    }
}

Test(mix_run, too_few_keys_for_the_partitions)
{
    struct sw_load_options options = options_for(SW_LOAD_BULK, "get=1");
    options.keys = IN_FLIGHT - 1;
    run_mix(&options, NONE, 0);
    cr_assert_eq(outcome.status, SW_LOAD_E_USAGE);
    cr_assert(strstr(outcome.error, "raise --keys"), "%s", outcome.error);
}
