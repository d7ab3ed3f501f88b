/* SPDX-License-Identifier: MIT
 *
 * test_region_end.c - regions whose requests are in flight while they are destroyed, or while their
 * connection ends: memory is given back only when nothing reads or writes it any more.
 */
#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client/sherwood.h"
#include "tests/support/fake_server.h"

#define KEYS 100
#define REGION_BYTES 65536
#define PAGES_OF_ONE_ARRAY 3

static struct sw_fake_server server;
static struct sherwood *client;
static struct sherwood_region *region;
/* Requests on keys that came, and how many of them had no answer when RELEASE came. */
static int requests, unanswered, unanswered_at_release = -1;

static void answer(int fd, const struct sw_request *request)
{
    static uint8_t body[4096];
    struct sw_reply reply = {.request_id = request->request_id};
    if (request->operation == SW_OPERATION_GET) {
        reply = sw_fake_ok(request);
        __atomic_fetch_add(&requests, 1, __ATOMIC_SEQ_CST);
        __atomic_fetch_add(&unanswered, 1, __ATOMIC_SEQ_CST);
        (void)poll(NULL, 0, 50); /* so that a RELEASE which does not wait comes first */
        __atomic_fetch_sub(&unanswered, 1, __ATOMIC_SEQ_CST);
    }
    if (request->operation == SW_OPERATION_RELEASE) {
        unanswered_at_release = __atomic_load_n(&unanswered, __ATOMIC_SEQ_CST);
    }
    reply.has_info = request->operation == SW_OPERATION_HELLO;
    reply.info = (struct sw_server_info){
        .key_bytes = 8, .value_bytes = 8, .frame_ops_max = 1024, .requests_in_flight_max = 4};
    reply.has_sharing = request->operation == SW_OPERATION_ATTACH;
    reply.sharing =
        (struct sw_sharing){.regions_max = 4, .ring_entries_max = 64, .region_bytes_max = 1 << 20};
    sw_fake_reply(fd, &reply, body, sw_reply_layout(&reply, request->operation).bytes);
}

/* Answers what comes by the socket; what is in the ring never gets an answer. */
static void script(int fd, void *unused)
{
    struct sw_request request;
    uint8_t in[4096];
    (void)unused;
    while (sw_fake_read(fd, &request, in, sizeof(in))) {
        answer(fd, &request);
    }
}

static void open_region(uint32_t stripes, int timeout_ms)
{
    const struct sherwood_options options = {
        .size = sizeof(options), .stripes = stripes, .request_timeout_ms = timeout_ms};
    sw_fake_start_with(&server, script, NULL, SW_FAKE_PARALLEL);
    cr_assert_eq(sherwood_connect(server.address, &options, &client), SHERWOOD_OK);
    cr_assert_eq(sherwood_region_create(client, REGION_BYTES, &region), SHERWOOD_OK, "%s",
                 sherwood_error(client));
}

static void close_all(void)
{
    sherwood_close(client);
    sw_fake_stop(&server);
}

Test(region_end, destroy_waits_for_every_connection)
{
    struct sherwood_piece pieces[4][2];
    struct sherwood_request submitted[4];
    open_region(2, 0);
    uint64_t *keys = sherwood_region_allocate(region, KEYS * sizeof(*keys));
    uint64_t *values = sherwood_region_allocate(region, KEYS * sizeof(*values));
    for (int i = 0; i < 4; i++) { /* of two pieces: by the socket */
        pieces[i][0] = (struct sherwood_piece){keys, NULL, values, KEYS / 2};
        pieces[i][1] = (struct sherwood_piece){keys + KEYS / 2, NULL, values + KEYS / 2, KEYS / 2};
        submitted[i] = (struct sherwood_request)SHERWOOD_REQUEST_INIT;
        submitted[i].operation = SHERWOOD_GET;
        submitted[i].count = KEYS;
        submitted[i].pieces = pieces[i];
        submitted[i].pieces_count = 2;
        submitted[i].flags = i == 3 ? SHERWOOD_DELAY : 0;
        cr_assert_eq(sherwood_submit(client, &submitted[i]), SHERWOOD_OK);
    }
    cr_assert_eq(sherwood_region_destroy(region), SHERWOOD_OK, "%s", sherwood_error(client));
    cr_expect_eq(unanswered_at_release, 0);
    cr_expect_eq(requests, 4);
    for (int i = 0; i < 4; i++) {
        cr_expect_eq(sherwood_wait(client, &submitted[i]), SHERWOOD_OK);
    }
    close_all();
}

/* Maps the memory of the region as the server does. */
static uint8_t *map_as_server(void)
{
    DIR *folder = opendir("/proc/self/fd");
    void *memory = MAP_FAILED;
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        char path[300], target[64] = "";
        snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
        (void)!readlink(path, target, sizeof(target) - 1);
        if (strstr(target, "sherwood region") != NULL) {
            int fd = open(path, O_RDWR | O_CLOEXEC);
            memory = mmap(NULL, REGION_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
            close(fd);
        }
    }
    closedir(folder);
    cr_assert(memory != MAP_FAILED, "the region has a descriptor");
    return memory;
}

Test(region_end, a_timeout_takes_arrays_from_the_server)
{
    const size_t count = PAGES_OF_ONE_ARRAY * 4096 / sizeof(uint64_t);
    open_region(1, 1000);
    uint8_t *of_server = map_as_server();
    uint64_t *keys = sherwood_region_allocate(region, KEYS * sizeof(*keys));
    uint64_t *values = sherwood_region_allocate(region, count * sizeof(*values));
    uint64_t *others = sherwood_region_allocate(region, count * sizeof(*others));
    for (size_t i = 0; i < count; i++) {
        values[i] = others[i] = 1000 + i;
        keys[i % KEYS] = i % KEYS;
    }
    struct sherwood_request request = SHERWOOD_REQUEST_INIT;
    request.operation = SHERWOOD_GET;
    request.count = KEYS;
    request.keys = keys;
    request.previous = values;
    cr_assert_eq(sherwood_submit(client, &request), SHERWOOD_OK, "%s", sherwood_error(client));
    struct sherwood_traffic traffic;
    sherwood_traffic(client, &traffic, sizeof(traffic));
    cr_assert_eq(traffic.ring_requests, 1);
    cr_assert_eq(sherwood_wait(client, &request), SHERWOOD_E_TIMEOUT);
    for (size_t i = 0; i < count; i++) {
        cr_assert_eq(values[i], 1000 + i, "it keeps its contents");
        cr_assert_eq(others[i], 1000 + i, "so does what lies beside it");
    }
    memset(of_server + ((uint8_t *)values - (uint8_t *)sherwood_region_memory(region, NULL)), 0xff,
           KEYS * sizeof(*values));
    for (size_t i = 0; i < count; i++) {
        cr_assert_eq(values[i], 1000 + i, "element %zu was written after the call had ended", i);
    }
    values[0] = 7; /* the caller's again */
    cr_expect_eq(values[0], 7);
    cr_expect_eq(sherwood_region_destroy(region), SHERWOOD_E_TIMEOUT);
    munmap(of_server, REGION_BYTES);
    close_all();
}
