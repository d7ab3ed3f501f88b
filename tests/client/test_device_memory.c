/* SPDX-License-Identifier: MIT
 *
 * test_device_memory.c - arrays in memory of a device, which this processor cannot touch: whatever
 * would send them by the socket is refused with a sentence, before anything is sent. The server
 * says that it shares such memory; here it is memory without access.
 */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>

#include "client/sherwood.h"
#include "tests/support/fake_server.h"

#define BYTES 65536
#define KEYS 300

static struct sw_fake_server server;
static struct sherwood *client;
static struct sherwood_region *region;
static uint8_t *memory; /* of the device */
static uint64_t host[2 * KEYS];

/* Answers HELLO, ATTACH and whatever has no body; nothing else may come. */
static void script(int fd, void *unused)
{
    struct sw_request request;
    (void)unused;
    while (sw_fake_read(fd, &request, NULL, 0)) {
        struct sw_reply reply = {.request_id = request.request_id};
        reply.has_info = request.operation == SW_OPERATION_HELLO;
        reply.info = (struct sw_server_info){.version = "fake",
                                             .key_bytes = 8,
                                             .value_bytes = 8,
                                             .frame_ops_max = 128,
                                             .requests_in_flight_max = 4,
                                             .frame_bytes_max = 1 << 20,
                                             .takes_times = true};
        reply.has_sharing = request.operation == SW_OPERATION_ATTACH;
        reply.sharing = (struct sw_sharing){.regions_max = 4,
                                            .ring_entries_max = 64,
                                            .region_bytes_max = 1 << 20,
                                            .has_device = true,
                                            .device_uuid = "a device"};
        sw_fake_reply(fd, &reply, NULL, 0);
    }
}

static void setup(void)
{
    struct sherwood_memory said = SHERWOOD_MEMORY_INIT;
    sw_fake_start(&server, script, NULL);
    cr_assert_eq(sherwood_connect(server.address, NULL, &client), SHERWOOD_OK);
    memory = mmap(NULL, BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert(memory != MAP_FAILED);
    said.kind = SHERWOOD_MEMORY_CUDA_IPC;
    said.address = memory;
    said.bytes = BYTES;
    cr_assert_eq(sherwood_region_device(client, said.device_uuid), SHERWOOD_OK);
    cr_assert_eq(sherwood_region_register(client, &said, &region), SHERWOOD_OK, "%s",
                 sherwood_error(client));
}

static void teardown(void)
{
    sherwood_close(client);
    sw_fake_stop(&server);
    munmap(memory, BYTES);
}

TestSuite(device_memory, .init = setup, .fini = teardown);

static uint64_t sent(void)
{
    struct sherwood_traffic traffic;
    sherwood_traffic(client, &traffic, sizeof(traffic));
    return traffic.bytes_sent + traffic.ring_requests;
}

/* `before`: what had been sent. */
static void expect_refusal(int status, uint64_t before, const char *operation)
{
    const char *said = sherwood_error(client);
    cr_expect_eq(status, SHERWOOD_E_INVALID, "%s: %d", operation, status);
    cr_expect(strncmp(said, operation, strlen(operation)) == 0 && strstr(said, "host") != NULL,
              "%s: %s", operation, said);
    cr_expect_eq(sent(), before, "%s", operation);
    cr_expect_eq(sherwood_stripes(client), 1, "after %s", operation);
}

Test(device_memory, operations_that_go_by_the_socket)
{
    static const struct {
        enum sherwood_operation operation;
        const char *name;
    } rows[] = {{SHERWOOD_CAS, "CAS"},
                {SHERWOOD_EXPIRE, "EXPIRE"},
                {SHERWOOD_PERSIST, "PERSIST"},
                {SHERWOOD_TTL, "TTL"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint64_t before = sent();
        expect_refusal(sherwood_run(client, rows[i].operation, memory, memory + 8192, KEYS,
                                    memory + 16384, NULL),
                       before, rows[i].name);
    }
    uint64_t before = sent();
    expect_refusal(sherwood_get_range(client, memory, 9, 0, 4, memory + 8192, NULL), before,
                   "GETRANGE");
    before = sent();
    expect_refusal(sherwood_set_range(client, memory, memory + 8192, 9, 0, 4, NULL), before,
                   "SETRANGE");
    before = sent();
    expect_refusal(sherwood_cas(client, memory, memory + 8192, 9, NULL), before, "CAS");
}

/* One array of a device is enough, also one that receives. */
Test(device_memory, arrays_of_both)
{
    uint64_t before = sent();
    expect_refusal(sherwood_get(client, host, KEYS, memory, NULL), before, "GET");
    before = sent();
    expect_refusal(sherwood_get(client, host, KEYS, host, (uint64_t *)memory), before, "GET");
    before = sent();
    expect_refusal(sherwood_set(client, memory, host, KEYS), before, "SET");
    before = sent();
    expect_refusal(sherwood_set(client, memory, memory + 8193, 9), before, "SET"); /* alignment */
    before = sent();
    struct sherwood_times said = SHERWOOD_TIMES_INIT;
    said.when = SHERWOOD_IN;
    said.times_ms = (uint64_t *)memory;
    expect_refusal(sherwood_set_times(client, host, host, 9, &said), before, "SET");
    uint64_t cursor = 0;
    uint32_t count;
    before = sent();
    expect_refusal(sherwood_scan(client, &cursor, host, memory, 9, &count), before, "SCAN");
}

/* The socket has no found bytes, and this server does not report that its ring has. */
Test(device_memory, found_bytes)
{
    struct sherwood_request request = SHERWOOD_REQUEST_INIT;
    request.operation = SHERWOOD_GET;
    request.count = 8;
    request.keys = host;
    request.found = (uint64_t *)host;
    request.flags = SHERWOOD_FOUND_BYTES;
    uint64_t before = sent();
    cr_expect_eq(sherwood_submit(client, &request), SHERWOOD_E_INVALID);
    cr_expect(strstr(sherwood_error(client), "found bytes") != NULL, "%s", sherwood_error(client));
    request.keys = memory;
    request.found = (uint64_t *)(memory + 4096);
    cr_expect_eq(sherwood_submit(client, &request), SHERWOOD_E_INVALID);
    cr_expect_eq(sherwood_read_found_bytes(client, SHERWOOD_GET, memory, 8, NULL, memory + 4096),
                 SHERWOOD_E_INVALID);
    cr_expect_eq(sherwood_read_found_bytes(client, SHERWOOD_GET, memory, 8, NULL, NULL),
                 SHERWOOD_E_INVALID);
    cr_expect_eq(sent(), before);
}

Test(device_memory, requests)
{
    struct sherwood_request request = SHERWOOD_REQUEST_INIT;
    struct sherwood_piece pieces[2] = {{.keys = host, .previous = host, .count = 4},
                                       {.keys = memory, .previous = host, .count = 4}};
    request.operation = SHERWOOD_GET;
    request.count = 8;
    request.pieces = pieces;
    request.pieces_count = 2;
    uint64_t before = sent();
    expect_refusal(sherwood_submit(client, &request), before, "GET");
    pieces[1] = (struct sherwood_piece){.keys = host, .previous = memory, .count = 4};
    before = sent();
    expect_refusal(sherwood_submit(client, &request), before, "GET");
    request.pieces = NULL;
    request.pieces_count = 0;
    request.keys = memory;
    request.flags = SHERWOOD_DISCARD;
    before = sent();
    expect_refusal(sherwood_submit(client, &request), before, "GET");
}

/* Former memory of a device may be any memory after its region was closed. */
Test(device_memory, a_region_that_is_given_back)
{
    cr_assert_eq(sherwood_region_destroy(region), SHERWOOD_OK);
    cr_assert_eq(mprotect(memory, BYTES, PROT_READ | PROT_WRITE), 0);
    uint64_t before = sent();
    struct sherwood_request request = SHERWOOD_REQUEST_INIT;
    request.operation = SHERWOOD_GET;
    request.count = 8;
    request.keys = request.previous = memory;
    request.flags = SHERWOOD_DELAY;
    cr_expect_eq(sherwood_submit(client, &request), SHERWOOD_OK, "%s", sherwood_error(client));
    cr_expect_eq(sent(), before);
}
