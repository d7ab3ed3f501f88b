/* SPDX-License-Identifier: MIT
 *
 * sharing.c - ATTACH, REGION and RELEASE.
 */
#include "server/bulk/sharing.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/bulk/bulk.h"
#include "server/bulk/reply.h"
#include "server/net/descriptors.h"
#include "table/memory.h"

static void reply_ok(struct sw_bulk_frame *frame)
{
    struct sw_reply reply = {.request_id = frame->request.request_id};
    sw_bulk_reply(frame, &reply, NULL, 0);
}

static void refuse(struct sw_bulk_frame *frame, const char *why)
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
        return "sharing memory needs a connection by Unix socket without TLS";
    }
    return frame->bulk->owner.region_budget == NULL || conn->net->config->rings_max == 0
               ? "shared memory is disabled: start the server with --rings-max above 0"
               : NULL;
}

static bool open_sharing(struct sw_conn *conn)
{
    uint32_t regions = conn->net->config->regions_max;
    struct sw_bulk_sharing *sharing = calloc(1, sizeof(*sharing) + regions * sizeof(void *));
    if (sharing == NULL || sw_descriptors_open(&conn->transport, conn->reading) != 0) {
        free(sharing);
        return false;
    }
    sharing->conn = conn;
    sharing->regions_max = regions;
    sw_list_init(&sharing->link);
    sw_bulk_of(conn)->sharing = sharing;
    return true;
}

void sw_bulk_attach(struct sw_bulk_frame *frame)
{
    struct sw_conn *conn = frame->conn;
    const struct sw_config *config = conn->net->config;
    const char *why = refuse_attach(frame);
    if (why == NULL && sw_bulk_of(conn)->sharing == NULL && !open_sharing(conn)) {
        why = "not enough memory, or no file descriptor left, for shared memory";
    }
    if (why != NULL) {
        refuse(frame, why);
        return;
    }
    struct sw_reply reply = {.request_id = frame->request.request_id,
                             .has_sharing = true,
                             .sharing = {.regions_max = config->regions_max,
                                         .ring_entries_max = config->ring_entries_max,
                                         .region_bytes_max = config->region_bytes_max}};
    reply.sharing.has_device =
        sw_memory_device(frame->bulk->batches->table, reply.sharing.device_uuid);
    sw_bulk_reply(frame, &reply, NULL, 0);
}

/* --- REGION ----------------------------------------------------------------------------------- */

bool sw_bulk_sharing_note(struct sw_conn *conn, const uint8_t *header, size_t header_bytes)
{
    struct sw_bulk_sharing *sharing = sw_bulk_of(conn)->sharing;
    struct sw_region_request said;
    if (sw_region_request_decode(header, header_bytes, &said) != 0) {
        return false;
    }
    if (sharing != NULL && sharing->pending == NULL) {
        sharing->said = said;
    }
    return true;
}

/* Returns NULL, or why such a ring cannot be. */
static const char *check_ring(const struct sw_bulk_sharing *sharing)
{
    const struct sw_region_request *said = &sharing->said;
    if (sharing->ring.memory != NULL) {
        return "the connection has a ring already";
    }
    if (!sw_ring_entries_are_valid(said->entries) ||
        said->entries > sharing->conn->net->config->ring_entries_max) {
        return "the number of ring entries must be a power of two from 8 to ring-entries-max";
    }
    return said->bytes == sw_ring_bytes(said->entries)
               ? NULL
               : "the size of the ring does not match its number of entries";
}

/* Maps the ring, which is small, at once. Returns NULL, or why not. */
static const char *open_ring(struct sw_bulk_sharing *sharing, int fd,
                             char reason[SW_FRAME_TEXT_BYTES_MAX])
{
    struct sw_bulk *bulk = sw_bulk_of(sharing->conn)->bulk;
    struct sw_region_budget *budget = bulk->owner.region_budget;
    const char *why = check_ring(sharing);
    if (why != NULL) {
        return why;
    }
    if (!sw_region_take_ring(budget)) {
        return "the server has rings-max rings already: raise --rings-max, or close a ring";
    }
    uint8_t *memory = sw_region_map(fd, sharing->said.bytes, reason);
    if (memory == NULL) {
        sw_region_put_ring(budget);
        return reason;
    }
    sharing->ring = (struct sw_ring){.memory = memory, .entries = sharing->said.entries};
    sw_list_push(&bulk->rings, &sharing->link);
    return NULL;
}

/* Returns NULL, or why such a region cannot be. */
static const char *check_region(const struct sw_bulk_sharing *sharing)
{
    const struct sw_region_request *said = &sharing->said;
    uint64_t unit = said->kind == SW_REGION_MEMFD ? SW_REGION_PAGE : 1;
    if (said->index >= sharing->regions_max) {
        return "the index of the region must be below regions-max: use a lower one, or raise "
               "--regions-max";
    }
    if (sharing->regions[said->index] != NULL) {
        return "a region with this index exists: release it, or use another index";
    }
    return said->bytes > 0 && said->bytes % unit == 0
               ? NULL
               : "the size of a region must not be 0, and in host memory it must be a multiple of "
                 "4096";
}

static void on_registered(struct sw_region *region)
{
    struct sw_bulk_sharing *sharing = region->user;
    struct sw_bulk_frame *frame = sharing->pending;
    sharing->pending = NULL;
    if (!region->failed) {
        sharing->regions[region->said.index] = region;
        reply_ok(frame);
        return;
    }
    char reason[SW_FRAME_TEXT_BYTES_MAX];
    snprintf(reason, sizeof(reason), "%s", region->reason);
    sw_region_free(region);
    refuse(frame, reason);
}

/* Begins to register a region. Returns NULL, or why not. Takes the descriptor. */
/* Whether a client might as well end the server otherwise: it is of the same user, or root. */
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
static const char *check_device(const struct sw_bulk_sharing *sharing)
{
    const struct sw_conn *conn = sharing->conn;
    return sharing->said.kind != SW_REGION_CUDA_IPC ||
                   conn->net->config->device_region_users == SW_DEVICE_REGIONS_ANY || is_own(conn)
               ? NULL
               : "the server maps GPU memory of processes of its own user and of root only "
                 "(--device-region-users own)";
}

static const char *open_region(struct sw_bulk_sharing *sharing, struct sw_bulk_frame *frame, int fd,
                               char reason[SW_FRAME_TEXT_BYTES_MAX])
{
    struct sw_bulk *bulk = frame->bulk;
    const char *why = check_region(sharing);
    if (why == NULL) {
        why = check_device(sharing);
    }
    if (why != NULL) {
        if (fd >= 0) {
            close(fd);
        }
        return why;
    }
    struct sw_region *region =
        sw_region_register(bulk->net->uv, bulk->batches->table, bulk->owner.region_budget,
                           &sharing->said, fd, on_registered, sharing, reason);
    sharing->pending = region != NULL ? frame : NULL;
    return region != NULL ? NULL : reason;
}

/* Returns NULL, or why the request cannot be carried out at all. */
static const char *check_request(const struct sw_bulk_sharing *sharing)
{
    if (sharing == NULL) {
        return "send ATTACH before REGION and RELEASE";
    }
    return sharing->pending != NULL
               ? "another region is being registered or released: wait for that reply"
               : NULL;
}

void sw_bulk_register(struct sw_bulk_frame *frame)
{
    struct sw_bulk_sharing *sharing = sw_bulk_of(frame->conn)->sharing;
    char reason[SW_FRAME_TEXT_BYTES_MAX];
    const char *why = check_request(sharing);
    int fd = why == NULL ? sw_descriptors_take(&frame->conn->transport) : -1;
    if (why == NULL) {
        uint32_t kind = sharing->said.kind;
        bool needs_fd = kind == SW_REGION_RING || kind == SW_REGION_MEMFD;
        if (!needs_fd && kind != SW_REGION_CUDA_IPC) {
            why = "unknown kind of region";
        } else if (needs_fd != (fd >= 0)) {
            why = needs_fd ? "the request came without a file descriptor"
                           : "the request came with a file descriptor, but a region in GPU memory "
                             "has none";
        } else if (kind != SW_REGION_RING) {
            why = open_region(sharing, frame, fd, reason);
            if (why == NULL) {
                return;
            }
            fd = -1;
        } else {
            why = open_ring(sharing, fd, reason);
        }
    }
    if (fd >= 0) {
        close(fd);
    }
    if (why != NULL) {
        refuse(frame, why);
    } else {
        reply_ok(frame);
    }
}

/* --- RELEASE ---------------------------------------------------------------------------------- */

static void on_released(struct sw_region *region)
{
    struct sw_bulk_sharing *sharing = region->user;
    struct sw_bulk_frame *frame = sharing->pending;
    sharing->regions[region->said.index] = NULL;
    sharing->pending = NULL;
    reply_ok(frame);
}

void sw_bulk_release(struct sw_bulk_frame *frame)
{
    struct sw_bulk_sharing *sharing = sw_bulk_of(frame->conn)->sharing;
    const char *why = check_request(sharing);
    struct sw_region *region = NULL;
    if (why == NULL && sharing->said.index < sharing->regions_max) {
        region = sharing->regions[sharing->said.index];
    }
    if (region == NULL) {
        refuse(frame, why != NULL ? why : "no region has this index");
        return;
    }
    sharing->pending = frame;
    sw_region_release(region, on_released, sharing);
}

void sw_bulk_sharing_close(struct sw_conn *conn)
{
    struct sw_bulk_conn *state = sw_bulk_of(conn);
    struct sw_bulk_sharing *sharing = state->sharing;
    if (sharing == NULL) {
        return;
    }
    assert(sharing->pending == NULL);
    sw_list_remove(&sharing->link);
    for (uint32_t i = 0; i < sharing->regions_max; i++) {
        if (sharing->regions[i] != NULL) {
            sw_region_release(sharing->regions[i], NULL, NULL);
        }
    }
    if (sharing->ring.memory != NULL) {
        munmap(sharing->ring.memory, sw_ring_bytes(sharing->ring.entries));
        sw_region_put_ring(state->bulk->owner.region_budget);
    }
    free(sharing);
    state->sharing = NULL;
}
