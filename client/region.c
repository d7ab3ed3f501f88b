/* SPDX-License-Identifier: MIT
 *
 * region.c - memory that is shared with the server: made, registered, looked up, given back.
 */
#include "client/region.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client/cluster.h"
#include "client/error.h"
#include "client/ring.h"
#include "client/send.h"
#include "client/wait.h"

/* What sherwood_region_allocate aligns to. */
#define ALIGN 64

/* --- memory ----------------------------------------------------------------------------------- */

uint8_t *sw_client_memfd(struct sherwood *client, const char *name, uint64_t bytes, int *fd)
{
    void *memory = MAP_FAILED;
    /* the C library has had the function since 2.27 only */
    *fd = (int)syscall(SYS_memfd_create, name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int error = *fd < 0 ? errno : 0;
    if (error == 0 && (ftruncate(*fd, (off_t)bytes) != 0 ||
                       fcntl(*fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)) {
        error = errno;
    }
    if (error == 0) {
        error = posix_fallocate(*fd, 0, (off_t)bytes);
    }
    if (error == 0) {
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, *fd, 0);
        error = memory == MAP_FAILED ? errno : 0;
    }
    if (error != 0) {
        sw_client_memfd_close(*fd);
        *fd = -1;
        sw_client_fail(client, SHERWOOD_E_NOMEM, "%llu bytes of shared memory: %s",
                       (unsigned long long)bytes, strerror(error));
        return NULL;
    }
    return memory;
}

void sw_client_memfd_close(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}

/* --- talking to the server -------------------------------------------------------------------- */

/* Sends a whole frame, with a descriptor unless it is -1. Nothing else is queued. */
static int send_frame(struct sw_client_stripe *stripe, uint8_t *bytes, size_t size, int fd)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec part = {bytes, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (fd >= 0) {
        message.msg_control = control.room;
        message.msg_controllen = sizeof(control.room);
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(head), &fd, sizeof(fd));
    }
    for (;;) {
        ssize_t sent = sendmsg(stripe->transport->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent == (ssize_t)size) {
            return 0;
        }
        if (sent >= 0) {
            return EIO; /* a frame of a page goes as a whole, or not at all */
        }
        struct pollfd poller = {.fd = stripe->transport->fd, .events = POLLOUT};
        if ((errno != EAGAIN && errno != EINTR) ||
            poll(&poller, 1, stripe->client->request_timeout_ms) == 0) {
            return errno;
        }
    }
}

/* Sends a request by the socket, apart from the queue, and waits for its reply. */
static int exchange(struct sw_client_stripe *stripe, const struct sw_request *header,
                    const struct sw_region_request *said, int fd, struct sw_reply *reply)
{
    struct sherwood *client = stripe->client;
    struct sw_client_call call = {.flights = 1, .reply = reply};
    uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
    const struct sw_client_frame frame = {.header = *header};
    while (stripe->broken == 0 && (stripe->queue_count > 0 || !sw_client_stripe_is_free(stripe))) {
        sw_client_send_all(client);
        sw_client_step(client, -1);
    }
    struct sw_client_flight *flight =
        stripe->broken == 0 ? sw_client_flight_take(stripe, &frame) : NULL;
    if (flight == NULL) {
        return stripe->broken != 0 ? stripe->broken : SHERWOOD_E_INVALID;
    }
    int bytes = said != NULL ? sw_region_request_encode(&flight->header, said, head, sizeof(head))
                             : sw_request_encode(&flight->header, 0, head, sizeof(head));
    flight->call = &call;
    flight->sent = true;
    int error = bytes < 0 ? EMSGSIZE : send_frame(stripe, head, (size_t)bytes, fd);
    if (error != 0) {
        return sw_client_break(stripe, SHERWOOD_E_CONNECTION, "%s: sending a region: %s",
                               stripe->address, strerror(error));
    }
    return sw_client_finish_call(client, &call);
}

int sw_client_region_exchange(struct sw_client_stripe *stripe, uint32_t operation,
                              const struct sw_region_request *said, int fd)
{
    const struct sw_request header = {.operation = operation};
    return exchange(stripe, &header, said, fd, NULL);
}

/* Asks for the limits, then makes the ring, if the handle has none yet. */
static int attach(struct sherwood *client)
{
    int one = sw_client_one_node(client, "a region");
    if (one != SHERWOOD_OK) {
        return one;
    }
    struct sw_client_stripe *stripe = client->stripes[0];
    const struct sw_request header = {.operation = SW_OPERATION_ATTACH};
    struct sw_reply reply = {0};
    if (stripe->broken != 0 || client->broken != 0) {
        return stripe->broken != 0 ? stripe->broken : client->broken;
    }
    if (stripe->ring.memory != NULL) {
        return SHERWOOD_OK;
    }
    int status = exchange(stripe, &header, NULL, -1, &reply);
    if (status == SHERWOOD_OK && !reply.has_sharing) {
        status = sw_client_fail(client, SHERWOOD_E_PROTOCOL, "the server shares no memory");
    }
    if (status == SHERWOOD_OK) {
        client->sharing = reply.sharing;
        status = sw_client_ring_open(stripe, reply.sharing.ring_entries_max);
    }
    if (status == SHERWOOD_OK && stripe->ring.entries < client->flights_max) {
        client->flights_max = stripe->ring.entries;
    }
    return status;
}

/* --- the regions of a handle ------------------------------------------------------------------ */

bool sw_client_region_find(const struct sherwood *client, const void *array,
                           struct sw_ring_extent extent, uint64_t *place)
{
    uintptr_t at = (uintptr_t)array;
    for (const struct sherwood_region *r = client->regions; r != NULL; r = r->next) {
        uintptr_t offset = at - (uintptr_t)r->memory;
        if (at >= (uintptr_t)r->memory && offset < r->bytes) {
            *place = sw_ring_place(r->index, offset);
            return extent.bytes <= r->bytes - offset && offset % extent.align == 0;
        }
    }
    return false;
}

bool sw_client_region_is_device(const struct sherwood *client, const void *array)
{
    for (const struct sherwood_region *r = client->regions; r != NULL; r = r->next) {
        if (r->is_device && (uintptr_t)array - (uintptr_t)r->memory < r->bytes) {
            return true;
        }
    }
    return false;
}

/* The lowest index that no region of the handle has. */
static uint32_t free_index(const struct sherwood *client)
{
    uint32_t index = 0;
    const struct sherwood_region *r = client->regions;
    while (r != NULL) {
        if (r->index == index) {
            index++;
            r = client->regions;
        } else {
            r = r->next;
        }
    }
    return index;
}

/* Registers memory and adds it to the handle's. The region takes the descriptor if it is its own.
 */
static int add_region(struct sherwood *client, struct sw_region_request *said, int fd,
                      uint8_t *memory, bool is_own, struct sherwood_region **out)
{
    struct sherwood_region *region = calloc(1, sizeof(*region));
    if (region == NULL) {
        return sw_client_fail(client, SHERWOOD_E_NOMEM, "not enough memory for a region");
    }
    said->index = free_index(client);
    int status = sw_client_region_exchange(client->stripes[0], SW_OPERATION_REGION, said, fd);
    if (status != SHERWOOD_OK) {
        free(region);
        return status;
    }
    *region = (struct sherwood_region){.client = client,
                                       .next = client->regions,
                                       .index = said->index,
                                       .memory = memory,
                                       .bytes = said->bytes,
                                       .fd = is_own ? fd : -1,
                                       .is_own = is_own,
                                       .is_device = said->kind == SW_REGION_CUDA_IPC};
    client->regions = region;
    *out = region;
    return SHERWOOD_OK;
}

int sherwood_region_create(struct sherwood *client, size_t bytes, struct sherwood_region **out)
{
    if (client == NULL || out == NULL) {
        return SHERWOOD_E_INVALID;
    }
    *out = NULL;
    if (bytes == 0 || bytes > SIZE_MAX / 4) {
        return sw_client_fail(client, SHERWOOD_E_INVALID, "a region of %zu bytes", bytes);
    }
    int status = attach(client);
    if (status != SHERWOOD_OK) {
        return status;
    }
    struct sw_region_request said = {.kind = SW_REGION_MEMFD,
                                     .bytes = (bytes + SW_REGION_PAGE - 1) / SW_REGION_PAGE *
                                              SW_REGION_PAGE};
    int fd = -1;
    uint8_t *memory = sw_client_memfd(client, "sherwood region", said.bytes, &fd);
    if (memory == NULL) {
        return SHERWOOD_E_NOMEM;
    }
    status = add_region(client, &said, fd, memory, true, out);
    if (status != SHERWOOD_OK) {
        sw_client_memfd_close(fd);
        munmap(memory, said.bytes);
    }
    return status;
}

int sherwood_region_register(struct sherwood *client, const struct sherwood_memory *memory,
                             struct sherwood_region **out)
{
    if (client == NULL || memory == NULL || out == NULL) {
        return SHERWOOD_E_INVALID;
    }
    *out = NULL;
    if (memory->size < sizeof(*memory) || memory->size > SW_CLIENT_STRUCT_BYTES_MAX ||
        !sw_client_is_zero(memory, sizeof(*memory), memory->size)) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "the memory has no size, or more than this version of libsherwood "
                              "knows: begin with SHERWOOD_MEMORY_INIT");
    }
    bool is_ipc = memory->kind == SHERWOOD_MEMORY_CUDA_IPC;
    if (memory->address == NULL || memory->bytes == 0 ||
        (!is_ipc && memory->kind != SHERWOOD_MEMORY_DESCRIPTOR)) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "memory to register has a kind, an address and bytes");
    }
    int status = attach(client);
    if (status != SHERWOOD_OK) {
        return status;
    }
    struct sw_region_request said = {.kind = is_ipc ? SW_REGION_CUDA_IPC : SW_REGION_MEMFD,
                                     .bytes = memory->bytes};
    if (is_ipc) {
        said.offset = memory->offset;
        memcpy(said.handle, memory->handle, sizeof(said.handle));
        memcpy(said.device_uuid, memory->device_uuid, sizeof(said.device_uuid));
    }
    return add_region(client, &said, is_ipc ? -1 : memory->descriptor, memory->address, false, out);
}

int sherwood_region_device(struct sherwood *client, uint8_t uuid[16])
{
    if (client == NULL || uuid == NULL) {
        return SHERWOOD_E_INVALID;
    }
    int status = attach(client);
    if (status == SHERWOOD_OK && !client->sharing.has_device) {
        status =
            sw_client_fail(client, SHERWOOD_E_REQUEST,
                           "the server is not on a GPU, whose memory could be shared (its backend "
                           "is %s)",
                           client->server.backend);
    }
    if (status == SHERWOOD_OK) {
        memcpy(uuid, client->sharing.device_uuid, sizeof(client->sharing.device_uuid));
    }
    return status;
}

void *sherwood_region_memory(const struct sherwood_region *region, size_t *bytes)
{
    if (bytes != NULL) {
        *bytes = region == NULL ? 0 : region->bytes;
    }
    return region == NULL ? NULL : region->memory;
}

void *sherwood_region_allocate(struct sherwood_region *region, size_t bytes)
{
    if (region == NULL || bytes > region->bytes - region->used) {
        return NULL;
    }
    uint8_t *memory = region->memory + region->used;
    size_t whole = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    size_t left = region->bytes - region->used;
    region->used += whole < left ? whole : left;
    return memory;
}

void sherwood_region_reset(struct sherwood_region *region)
{
    if (region != NULL) {
        region->used = 0;
    }
}

/* --- the end of a region ---------------------------------------------------------------------- */

static bool lies_in(const struct sherwood_region *region, const struct sw_client_array *array)
{
    const uintptr_t at = (uintptr_t)array->at, from = (uintptr_t)region->memory;
    return at < from + region->bytes && from < at + array->bytes;
}

/* Does a flight of the stripe read or write the region, by the socket or by the ring? */
static bool stripe_uses(const struct sw_client_stripe *stripe, const struct sherwood_region *region)
{
    struct sw_client_array arrays[SW_CLIENT_ARRAYS_MAX];
    for (uint32_t f = 0; stripe->in_flight > 0 && f < SW_CLIENT_FLIGHTS_MAX; f++) {
        const struct sw_client_flight *flight = &stripe->flights[f];
        uint32_t count = flight->id != 0 ? sw_client_flight_arrays(flight, arrays) : 0;
        for (uint32_t i = 0; i < count; i++) {
            if (lies_in(region, &arrays[i])) {
                return true;
            }
        }
    }
    return false;
}

static bool is_used(const struct sherwood *client, const struct sherwood_region *region)
{
    for (uint32_t i = 0; i < client->stripes_count; i++) {
        if (stripe_uses(client->stripes[i], region)) {
            return true;
        }
    }
    return false;
}

/* Writes one byte of each page of an array, without a change, so that the kernel gives this process
 * a page of its own. An exchange, unlike a load and a store, loses no write of another thread. */
static void own_pages(const struct sherwood_region *region, const struct sw_client_array *array)
{
    const uintptr_t from = (uintptr_t)array->at - (uintptr_t)region->memory;
    const uintptr_t end = from + array->bytes < region->bytes ? from + array->bytes : region->bytes;
    for (uintptr_t at = from / SW_REGION_PAGE * SW_REGION_PAGE; at < end; at += SW_REGION_PAGE) {
        uint8_t *byte = region->memory + at;
        uint8_t held = __atomic_load_n(byte, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(byte, &held, held, false, __ATOMIC_RELAXED,
                                            __ATOMIC_RELAXED)) {
        }
    }
}

/* Maps the same pages again, in the same place, so that this process gets a copy of each page that
 * it writes from now on. */
static bool part(struct sherwood_region *region)
{
    region->is_apart =
        region->is_apart ||
        mmap(region->memory, region->bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, region->fd, 0) == region->memory;
    return region->is_apart;
}

bool sw_client_regions_part(struct sw_client_stripe *stripe)
{
    struct sw_client_array arrays[SW_CLIENT_ARRAYS_MAX];
    bool done = true;
    for (uint32_t f = 0; stripe->ring.in_flight > 0 && f < SW_CLIENT_FLIGHTS_MAX; f++) {
        const struct sw_client_flight *flight = &stripe->flights[f];
        bool is_there = flight->id != 0 && flight->by_ring;
        uint32_t count = is_there ? sw_client_flight_arrays(flight, arrays) : 0;
        for (uint32_t i = 0; i < count; i++) {
            struct sherwood_region *region = stripe->client->regions;
            while (region != NULL && !lies_in(region, &arrays[i])) {
                region = region->next;
            }
            if (region == NULL || !region->is_own || !arrays[i].is_out) {
                continue;
            }
            done &= part(region);
            if (region->is_apart) {
                own_pages(region, &arrays[i]);
            }
        }
    }
    return done;
}

static void free_region(struct sherwood_region *region)
{
    if (region->is_own) {
        munmap(region->memory, region->bytes);
        sw_client_memfd_close(region->fd);
    }
    free(region);
}

int sherwood_region_destroy(struct sherwood_region *region)
{
    if (region == NULL) {
        return SHERWOOD_OK;
    }
    struct sherwood *client = region->client;
    struct sherwood_region **link = &client->regions;
    while (*link != region) {
        link = &(*link)->next;
    }
    *link = region->next; /* no request takes it from now on */
    const struct sw_region_request said = {.index = region->index};
    struct sw_client_stripe *stripe = client->stripes[0];
    /* RELEASE goes by the socket, which may overtake the ring: what is in there would be refused.
     */
    sw_client_send_all(client);
    while (is_used(client, region) || (stripe->broken == 0 && stripe->ring.in_flight > 0)) {
        sw_client_step(client, -1);
    }
    int status = stripe->broken;
    if (status == SHERWOOD_OK) {
        status = sw_client_region_exchange(stripe, SW_OPERATION_RELEASE, &said, -1);
    }
    free_region(region);
    return status;
}

void sw_client_regions_close(struct sherwood *client)
{
    while (client->regions != NULL) {
        struct sherwood_region *region = client->regions;
        client->regions = region->next;
        free_region(region);
    }
}
