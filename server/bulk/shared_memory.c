/* SPDX-License-Identifier: MIT
 *
 * shared_memory.c - ATTACH, REGION and RELEASE.
 */
#include "server/bulk/shared_memory.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/bulk/bulk.h"
#include "server/bulk/reply.h"
#include "server/net/conn_login.h"
#include "server/net/descriptors.h"
#include "server/observe/log.h"
#include "table/imported_memory.h"

static void reply_ok(struct sw_bulk_frame *frame)
{
    struct sw_reply reply = {.request_id = frame->request.request_id};
    sw_bulk_reply(frame, &reply, NULL, 0);
}

static void refuse_region(struct sw_bulk_frame *frame, const char *why)
{
    struct sw_reply reply = {.request_id = frame->request.request_id,
                             .status = SW_REPLY_BAD_REQUEST};
    snprintf(reply.message, sizeof(reply.message), "%s", why);
    SW_COUNT(frame->bulk->net->counters, region_refusals, 1);
    sw_bulk_reply(frame, &reply, NULL, 0);
}

/* --- ATTACH ----------------------------------------------------------------------------------- */

/* Returns NULL, or why the connection cannot share anything. */
static const char *refuse_attach(const struct sw_bulk_frame *frame)
{
    const struct sw_conn *conn = frame->conn;
    if (conn->transport.tls != NULL || conn->transport.uv.handle.type != UV_NAMED_PIPE) {
        return "shared memory needs a connection by Unix socket without TLS";
    }
    return frame->bulk->owner.region_budget == NULL || conn->net->config->rings_max == 0
               ? "shared memory is disabled: start the server with --rings-max above 0"
               : NULL;
}

static bool open_shared(struct sw_conn *conn)
{
    uint32_t regions = conn->net->config->regions_max;
    struct sw_bulk_shared *shared = calloc(1, sizeof(*shared) + regions * sizeof(void *));
    if (shared == NULL || sw_descriptors_open(&conn->transport, conn->reading) != 0) {
        free(shared);
        return false;
    }
    shared->conn = conn;
    shared->regions_max = regions;
    sw_list_init(&shared->link);
    sw_bulk_of(conn)->shared = shared;
    return true;
}

void sw_bulk_attach(struct sw_bulk_frame *frame)
{
    struct sw_conn *conn = frame->conn;
    const struct sw_config *config = conn->net->config;
    const char *why = refuse_attach(frame);
    if (why == NULL && sw_bulk_of(conn)->shared == NULL && !open_shared(conn)) {
        why = "not enough memory, or no file descriptor left, for shared memory";
    }
    if (why != NULL) {
        refuse_region(frame, why);
        return;
    }
    struct sw_reply reply = {.request_id = frame->request.request_id,
                             .has_sharing = true,
                             .sharing = {.regions_max = config->regions_max,
                                         .ring_entries_max = config->ring_entries_max,
                                         .region_bytes_max = config->region_bytes_max,
                                         .found_bytes = true,
                                         .details = true}};
    reply.sharing.has_device =
        sw_memory_device(frame->bulk->first->table, reply.sharing.device_uuid);
    sw_bulk_reply(frame, &reply, NULL, 0);
}

/* --- REGION ----------------------------------------------------------------------------------- */

bool sw_bulk_shared_note(struct sw_conn *conn, const uint8_t *header, size_t header_bytes)
{
    struct sw_bulk_shared *shared = sw_bulk_of(conn)->shared;
    struct sw_region_request requested;
    if (sw_region_request_decode(header, header_bytes, &requested) != 0) {
        return false;
    }
    if (shared != NULL && shared->pending == NULL) {
        shared->requested = requested;
    }
    return true;
}

/* Returns NULL, or why such a ring is not possible. */
static const char *check_ring(const struct sw_bulk_shared *shared)
{
    const struct sw_region_request *requested = &shared->requested;
    if (shared->ring.memory != NULL) {
        return "the connection has a ring already";
    }
    if (!sw_ring_entries_are_valid(requested->entries) ||
        requested->entries > shared->conn->net->config->ring_entries_max) {
        return "the number of ring entries must be a power of two from 8 to ring-entries-max";
    }
    return requested->bytes == sw_ring_bytes(requested->entries)
               ? NULL
               : "the size of the ring does not match its number of entries";
}

/* Maps the ring, which is small, at once. Returns NULL, or why not. */
static const char *open_ring(struct sw_bulk_shared *shared, int fd,
                             char reason[SW_FRAME_TEXT_BYTES_MAX])
{
    struct sw_bulk *bulk = sw_bulk_of(shared->conn)->bulk;
    struct sw_region_budget *budget = bulk->owner.region_budget;
    const char *why = check_ring(shared);
    if (why != NULL) {
        return why;
    }
    if (!sw_region_take_ring(budget)) {
        return "the server has rings-max rings already: raise --rings-max, or close a ring";
    }
    uint8_t *memory = sw_region_map(fd, shared->requested.bytes, reason);
    if (memory == NULL) {
        sw_region_put_ring(budget);
        return reason;
    }
    shared->ring = (struct sw_ring){.memory = memory, .entries = shared->requested.entries};
    sw_list_push(&bulk->rings, &shared->link);
    return NULL;
}

/* Returns NULL, or why such a region is not possible. */
static const char *check_region(const struct sw_bulk_shared *shared)
{
    const struct sw_region_request *requested = &shared->requested;
    uint64_t unit = requested->kind == SW_REGION_CUDA_IPC ? 1 : SW_REGION_PAGE;
    if (requested->index >= shared->regions_max) {
        return "the index of the region must be below regions-max: use a lower one, or raise "
               "--regions-max";
    }
    if (shared->regions[requested->index] != NULL) {
        return "a region with this index exists: release it, or use another index";
    }
    return requested->bytes > 0 && requested->bytes % unit == 0
               ? NULL
               : "the size of a region must not be 0, and in host memory it must be a multiple of "
                 "4096";
}

/* Counts memory that may have small pages. The first time, also logs it. */
static void note_pages(struct sw_bulk_frame *frame, struct sw_region *region)
{
    if (!sw_region_has_small_pages(region)) {
        return;
    }
    SW_COUNT(frame->bulk->net->counters, small_page_regions, 1);
    if (!__atomic_exchange_n(&region->budget->warned, true, __ATOMIC_RELAXED)) {
        sw_log(SW_LOG_NOTICE,
               "regions: a client shared %llu bytes of GPU memory, not a multiple of 2 MiB; random "
               "reads of them may be slow, reads in order are not (counted in "
               "sherwood_small_page_regions_total)",
               (unsigned long long)(region->requested.offset + region->requested.bytes));
    }
}

/* Does the client run as the user of the server, or as root? Then it could also end the server in
 * other ways. */
static bool is_own(const struct sw_conn *conn)
{
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t size = sizeof(peer);
    int fd = -1;
    return uv_fileno(&conn->transport.uv.handle, &fd) == 0 &&
           getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (peer.uid == geteuid() || peer.uid == 0);
}

/* Rejects device memory of other users' processes, unless device-region-users is any. A client can
 * forge a CUDA handle. The driver opens a handle that states more memory than exists, and then the
 * first kernel that reads the memory ends the process. */
static const char *check_device(const struct sw_bulk_shared *shared)
{
    const struct sw_conn *conn = shared->conn;
    return shared->requested.kind != SW_REGION_CUDA_IPC ||
                   conn->net->config->device_region_users == SW_DEVICE_REGIONS_ANY || is_own(conn)
               ? NULL
               : "the server maps GPU memory of processes of its own user and of root only "
                 "(--device-region-users own)";
}

#define READER_OBSTACLES                                                          \
    ((unsigned)(SW_OBSTACLE_LOADING | SW_OBSTACLE_DOWN | SW_OBSTACLE_LACKS_DATA | \
                SW_OBSTACLE_REPLICA | SW_OBSTACLE_ALL_PAUSED))

/* Returns NULL, or why only the server itself may read the table for this connection. Ask before a
 * worker describes the table and afterwards: a SWAP may have ended all exports in between. */
static const char *check_reader(const struct sw_bulk_shared *shared,
                                const struct sw_bulk_frame *frame)
{
    const struct sw_conn *conn = shared->conn;
    if (shared->requested.kind != SW_REGION_TABLE) {
        return NULL;
    }
    if (conn->net->config->direct_readers_max == 0) {
        return "direct reads are disabled: start the server with --direct-readers-max above 0";
    }
    if (shared->requested.bytes != SW_REGION_PAGE) {
        return "the page for a TABLE has another size: use 4096 bytes";
    }
    if (!is_own(conn)) {
        return "only processes of the server's own user and of root may read the table directly: "
               "send "
               "the requests to the server";
    }
    if (!sw_conn_is_free(conn)) {
        return "the rights of this user need the server: use a user who may run every command on "
               "every key";
    }
    if (sw_obstacles_met(frame->bulk->first, READER_OBSTACLES) != 0) {
        return "the server loads its data, is a replica or is paused: try again";
    }
    return frame->request.table == 0 && frame->bulk->table->batches == frame->bulk->first
               ? NULL
               : "only the table that the server began with can be read directly, in place 0: send "
                 "the "
                 "requests to the server";
}

static void on_registered(struct sw_region *region)
{
    struct sw_bulk_shared *shared = region->user;
    struct sw_bulk_frame *frame = shared->pending;
    const char *why = region->failed ? region->reason : check_reader(shared, frame);
    char reason[SW_FRAME_TEXT_BYTES_MAX];
    shared->pending = NULL;
    if (why == NULL) {
        shared->regions[region->requested.index] = region;
        note_pages(frame, region);
        reply_ok(frame);
        return;
    }
    snprintf(reason, sizeof(reason), "%s", why);
    if (region->failed) {
        sw_region_free(region);
    } else {
        sw_region_release(region, NULL, NULL);
    }
    refuse_region(frame, reason);
}

/* Begins to register a region. Returns NULL, or why not. Takes the descriptor. */
static const char *open_region(struct sw_bulk_shared *shared, struct sw_bulk_frame *frame, int fd,
                               char reason[SW_FRAME_TEXT_BYTES_MAX])
{
    struct sw_bulk *bulk = frame->bulk;
    const char *why = check_region(shared);
    if (why == NULL) {
        why = check_device(shared);
    }
    if (why == NULL) {
        why = check_reader(shared, frame);
    }
    if (why != NULL) {
        if (fd >= 0) {
            close(fd);
        }
        return why;
    }
    struct sw_region_budget *budget = bulk->owner.region_budget;
    const bool reads = shared->requested.kind == SW_REGION_TABLE;
    if (reads && !sw_region_take_reader(budget, bulk->net->config->direct_readers_max)) {
        close(fd);
        return "direct-readers-max clients read the table directly: raise --direct-readers-max, or "
               "close one of them";
    }
    struct sw_region *region =
        sw_region_register(bulk->net->uv, bulk->first->table, budget, &shared->requested, fd,
                           on_registered, shared, reason);
    if (region == NULL && reads) {
        sw_region_put_reader(budget);
    }
    shared->pending = region != NULL ? frame : NULL;
    return region != NULL ? NULL : reason;
}

static void on_renewed(struct sw_region *region)
{
    struct sw_bulk_shared *shared = region->user;
    struct sw_bulk_frame *frame = shared->pending;
    const char *why = region->failed ? region->reason : check_reader(shared, frame);
    shared->pending = NULL;
    if (why != NULL) {
        refuse_region(frame, why);
    } else {
        reply_ok(frame);
    }
}

/* Returns the region of the kind TABLE that the request names; NULL: there is none yet. */
static struct sw_region *reader_of(const struct sw_bulk_shared *shared)
{
    const struct sw_region_request *requested = &shared->requested;
    struct sw_region *region =
        requested->kind == SW_REGION_TABLE && requested->index < shared->regions_max
            ? shared->regions[requested->index]
            : NULL;
    return region != NULL && region->requested.kind == SW_REGION_TABLE ? region : NULL;
}

/* Describes the table again to a reader. Replies now, or later. */
static void renew_reader(struct sw_bulk_shared *shared, struct sw_bulk_frame *frame,
                         struct sw_region *region)
{
    const char *why = check_reader(shared, frame);
    if (why != NULL) {
        refuse_region(frame, why);
        return;
    }
    shared->pending = frame;
    sw_region_renew(region, on_renewed, shared);
}

/* Returns NULL, or why the request cannot be carried out at all. */
static const char *check_request(const struct sw_bulk_shared *shared)
{
    if (shared == NULL) {
        return "send ATTACH before REGION and RELEASE";
    }
    return shared->pending != NULL
               ? "another region is being registered or released: wait for that reply"
               : NULL;
}

void sw_bulk_register(struct sw_bulk_frame *frame)
{
    struct sw_bulk_shared *shared = sw_bulk_of(frame->conn)->shared;
    char reason[SW_FRAME_TEXT_BYTES_MAX];
    const char *why = check_request(shared);
    int fd = why == NULL ? sw_descriptors_take(&frame->conn->transport) : -1;
    if (why == NULL && fd < 0 && reader_of(shared) != NULL) {
        renew_reader(shared, frame, reader_of(shared));
        return;
    }
    if (why == NULL) {
        uint32_t kind = shared->requested.kind;
        bool needs_fd =
            kind == SW_REGION_RING || kind == SW_REGION_MEMFD || kind == SW_REGION_TABLE;
        if (!needs_fd && kind != SW_REGION_CUDA_IPC) {
            why = "unknown kind of region";
        } else if (needs_fd != (fd >= 0)) {
            why = needs_fd ? "the request came without a file descriptor"
                           : "the request came with a file descriptor, but a region in GPU memory "
                             "has none";
        } else if (kind != SW_REGION_RING) {
            why = open_region(shared, frame, fd, reason);
            if (why == NULL) {
                return;
            }
            fd = -1;
        } else {
            why = open_ring(shared, fd, reason);
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    if (why != NULL) {
        refuse_region(frame, why);
    } else {
        reply_ok(frame);
    }
}

/* --- RELEASE ---------------------------------------------------------------------------------- */

static void on_released(struct sw_region *region)
{
    struct sw_bulk_shared *shared = region->user;
    struct sw_bulk_frame *frame = shared->pending;
    shared->regions[region->requested.index] = NULL;
    shared->pending = NULL;
    reply_ok(frame);
}

void sw_bulk_release(struct sw_bulk_frame *frame)
{
    struct sw_bulk_shared *shared = sw_bulk_of(frame->conn)->shared;
    const char *why = check_request(shared);
    struct sw_region *region = NULL;
    if (why == NULL && shared->requested.index < shared->regions_max) {
        region = shared->regions[shared->requested.index];
    }
    if (region == NULL) {
        refuse_region(frame, why != NULL ? why : "no region has this index");
        return;
    }
    shared->pending = frame;
    sw_region_release(region, on_released, shared);
}

void sw_bulk_shared_close(struct sw_conn *conn)
{
    struct sw_bulk_conn *state = sw_bulk_of(conn);
    struct sw_bulk_shared *shared = state->shared;
    if (shared == NULL) {
        return;
    }
    assert(shared->pending == NULL);
    sw_list_remove(&shared->link);
    if (shared->inputs != NULL) { /* of a record that was not taken */
        sw_bulk_frame_put(shared->inputs);
    }
    for (uint32_t i = 0; i < shared->regions_max; i++) {
        if (shared->regions[i] != NULL) {
            sw_region_release(shared->regions[i], NULL, NULL);
        }
    }
    if (shared->ring.memory != NULL) {
        munmap(shared->ring.memory, sw_ring_bytes(shared->ring.entries));
        sw_region_put_ring(state->bulk->owner.region_budget);
    }
    free(shared);
    state->shared = NULL;
}
