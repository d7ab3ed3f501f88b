/* SPDX-License-Identifier: MIT
 *
 * region.c - the calls on regions: makes, registers and destroys them. The first region also makes
 * the ring.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "client/cluster.h"
#include "client/error.h"
#include "client/memory.h"
#include "client/ring.h"
#include "client/send.h"
#include "client/step.h"

/* Alignment of what sherwood_region_allocate returns. */
#define ALIGN 64

/* --- talking to the server -------------------------------------------------------------------- */

/* Sends a whole frame, with a descriptor unless it is -1. Nothing else is queued. */
static int send_frame(struct sw_client_connection *connection, uint8_t *bytes, size_t size, int fd)
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
        ssize_t sent = sendmsg(connection->transport->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent == (ssize_t)size) {
            return 0;
        }
        if (sent >= 0) {
            return EIO; /* the socket takes a frame this small completely, or not at all */
        }
        struct pollfd poller = {.fd = connection->transport->fd, .events = POLLOUT};
        if ((errno != EAGAIN && errno != EINTR) ||
            poll(&poller, 1, connection->client->request_timeout_ms) == 0) {
            return errno;
        }
    }
}

/* Sends a request by the socket, apart from the queue, and waits for its reply. */
static int exchange(struct sw_client_connection *connection, const struct sw_request *header,
                    const struct sw_region_request *request, int fd, struct sw_reply *reply)
{
    struct sherwood *client = connection->client;
    struct sw_client_call call = {.flights = 1, .reply = reply};
    uint8_t head[SW_FRAME_HEAD_BYTES_MAX];
    const struct sw_client_frame frame = {
        .header = *header, .done = sw_client_call_done, .owner = &call};
    while (connection->broken == 0 &&
           (connection->queue_count > 0 || !sw_client_connection_is_free(connection))) {
        sw_client_send_all(client);
        sw_client_step(client, -1);
    }
    struct sw_client_flight *flight =
        connection->broken == 0 ? sw_client_flight_take(connection, &frame) : NULL;
    if (flight == NULL) {
        return connection->broken != 0 ? connection->broken : SHERWOOD_E_INVALID;
    }
    int bytes = request != NULL
                    ? sw_region_request_encode(&flight->header, request, head, sizeof(head))
                    : sw_request_encode(&flight->header, 0, head, sizeof(head));
    flight->sent = true;
    int error = bytes < 0 ? EMSGSIZE : send_frame(connection, head, (size_t)bytes, fd);
    if (error != 0) {
        return sw_client_break(connection, SHERWOOD_E_CONNECTION,
                               "%s: cannot send a request about shared memory: %s",
                               connection->address, strerror(error));
    }
    return sw_client_finish_call(client, &call);
}

/* Sends REGION or RELEASE, with a descriptor unless it is -1, and waits for the reply. */
static int send_region(struct sw_client_connection *connection, uint32_t operation,
                       const struct sw_region_request *request, int fd)
{
    const struct sw_request header = {.operation = operation};
    return exchange(connection, &header, request, fd, NULL);
}

/* Makes a ring and registers it. The connection has attached. Returns a status. */
static int add_ring(struct sw_client_connection *connection, uint32_t entries_max)
{
    const uint32_t entries = sw_client_ring_entries(entries_max);
    struct sw_region_request request = {
        .kind = SW_REGION_RING, .entries = entries, .bytes = sw_ring_bytes(entries)};
    int fd = -1;
    uint8_t *memory = sw_client_memfd(connection->client, "sherwood ring", request.bytes, &fd);
    if (memory == NULL) {
        return SHERWOOD_E_NOMEM;
    }
    int status = send_region(connection, SW_OPERATION_REGION, &request, fd);
    sw_client_memfd_close(fd);
    if (status != SHERWOOD_OK) {
        munmap(memory, request.bytes);
        return status;
    }
    sw_client_ring_open(connection, memory, entries);
    return SHERWOOD_OK;
}

/* Requests the server's limits and makes the ring, unless the handle has a ring. */
static int attach(struct sherwood *client)
{
    int one = sw_client_one_node(client, "regions");
    if (one != SHERWOOD_OK) {
        return one;
    }
    struct sw_client_connection *connection = client->connections[0];
    const struct sw_request header = {.operation = SW_OPERATION_ATTACH};
    struct sw_reply reply = {0};
    if (connection->broken != 0 || client->broken != 0) {
        return connection->broken != 0 ? connection->broken : client->broken;
    }
    if (connection->ring.memory != NULL) {
        return SHERWOOD_OK;
    }
    int status = exchange(connection, &header, NULL, -1, &reply);
    if (status == SHERWOOD_OK && !reply.has_sharing) {
        status = sw_client_fail(
            client, SHERWOOD_E_PROTOCOL,
            "the server replied without its limits of shared memory: update the server");
    }
    if (status == SHERWOOD_OK) {
        client->sharing = reply.sharing;
        status = add_ring(connection, reply.sharing.ring_entries_max);
    }
    if (status == SHERWOOD_OK && connection->ring.entries < client->flights_max) {
        client->flights_max = connection->ring.entries;
    }
    return status;
}

/* --- the regions of a handle ------------------------------------------------------------------ */

/* Returns the lowest index that no region of the handle has. */
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

/* Registers memory and adds the region to the handle's list. `is_own`: the region owns the
 * descriptor. */
static int add_region(struct sherwood *client, struct sw_region_request *request, int fd,
                      uint8_t *memory, bool is_own, struct sherwood_region **out)
{
    struct sherwood_region *region = calloc(1, sizeof(*region));
    if (region == NULL) {
        return sw_client_fail(client, SHERWOOD_E_NOMEM, "not enough memory for a region");
    }
    request->index = free_index(client);
    int status = send_region(client->connections[0], SW_OPERATION_REGION, request, fd);
    if (status != SHERWOOD_OK) {
        free(region);
        return status;
    }
    *region = (struct sherwood_region){.client = client,
                                       .next = client->regions,
                                       .index = request->index,
                                       .memory = memory,
                                       .bytes = request->bytes,
                                       .fd = is_own ? fd : -1,
                                       .is_own = is_own,
                                       .is_device = request->kind == SW_REGION_CUDA_IPC};
    client->regions = region;
    *out = region;
    return SHERWOOD_OK;
}

int sherwood_region_create(struct sherwood *client, size_t bytes, struct sherwood_region **out)
{
    client = sw_client_enter(client);
    if (client == NULL || out == NULL) {
        return SHERWOOD_E_INVALID;
    }
    *out = NULL;
    if (bytes == 0 || bytes > SIZE_MAX / 4) {
        return sw_client_fail(client, SHERWOOD_E_INVALID,
                              "cannot create a region of %zu bytes: use 1 to %zu", bytes,
                              (size_t)(SIZE_MAX / 4));
    }
    int status = attach(client);
    if (status != SHERWOOD_OK) {
        return status;
    }
    struct sw_region_request request = {.kind = SW_REGION_MEMFD,
                                        .bytes = (bytes + SW_REGION_PAGE - 1) / SW_REGION_PAGE *
                                                 SW_REGION_PAGE};
    int fd = -1;
    uint8_t *memory = sw_client_memfd(client, "sherwood region", request.bytes, &fd);
    if (memory == NULL) {
        return SHERWOOD_E_NOMEM;
    }
    status = add_region(client, &request, fd, memory, true, out);
    if (status != SHERWOOD_OK) {
        sw_client_memfd_close(fd);
        munmap(memory, request.bytes);
    }
    return status;
}

int sherwood_region_register(struct sherwood *client, const struct sherwood_memory *memory,
                             struct sherwood_region **out)
{
    client = sw_client_enter(client);
    if (client == NULL || memory == NULL || out == NULL) {
        return SHERWOOD_E_INVALID;
    }
    *out = NULL;
    if (memory->size < sizeof(*memory) || memory->size > SW_CLIENT_STRUCT_BYTES_MAX ||
        !sw_client_is_zero(memory, sizeof(*memory), memory->size)) {
        return sw_client_fail(
            client, SHERWOOD_E_INVALID,
            "the memory has no valid size, or a field is set that this version of libsherwood does "
            "not have: begin with SHERWOOD_MEMORY_INIT, or update libsherwood");
    }
    bool is_ipc = memory->kind == SHERWOOD_MEMORY_CUDA_IPC;
    if (memory->address == NULL || memory->bytes == 0 ||
        (!is_ipc && memory->kind != SHERWOOD_MEMORY_DESCRIPTOR)) {
        return sw_client_fail(
            client, SHERWOOD_E_INVALID,
            "the memory to register needs a known kind, an address and bytes above 0");
    }
    int status = attach(client);
    if (status != SHERWOOD_OK) {
        return status;
    }
    struct sw_region_request request = {.kind = is_ipc ? SW_REGION_CUDA_IPC : SW_REGION_MEMFD,
                                        .bytes = memory->bytes};
    if (is_ipc) {
        request.offset = memory->offset;
        memcpy(request.handle, memory->handle, sizeof(request.handle));
        memcpy(request.device_uuid, memory->device_uuid, sizeof(request.device_uuid));
    }
    return add_region(client, &request, is_ipc ? -1 : memory->descriptor, memory->address, false,
                      out);
}

int sherwood_region_device(struct sherwood *client, uint8_t uuid[16])
{
    client = sw_client_enter(client);
    if (client == NULL || uuid == NULL) {
        return SHERWOOD_E_INVALID;
    }
    int status = attach(client);
    if (status == SHERWOOD_OK && !client->sharing.has_device) {
        status = sw_client_fail(client, SHERWOOD_E_REQUEST,
                                "the server does not run on a GPU (its backend is %s), so it "
                                "cannot share GPU memory: register host memory",
                                client->table->server.backend);
    }
    if (status == SHERWOOD_OK) {
        memcpy(uuid, client->sharing.device_uuid, sizeof(client->sharing.device_uuid));
    }
    return status;
}

/* Copies what the server has stored. */
static void read_table(const struct sherwood_region *region, struct sherwood_table_memory *out)
{
    struct sw_region_table table;
    memcpy(&table, region->memory, sizeof(table));
#define COPY(field) out->field = table.field;
    COPY(layout)
    COPY(slot_bits)
    COPY(generation)
    COPY(seed)
    COPY(buckets)
    COPY(buckets_total)
    COPY(max_probe)
    COPY(stash_buckets)
    COPY(stash_buckets_total)
    COPY(bytes)
#undef COPY
    memcpy(out->page_handle, table.page_handle, sizeof(out->page_handle));
    memcpy(out->arrays_handle, table.arrays_handle, sizeof(out->arrays_handle));
}

int sherwood_region_table(struct sherwood *client, struct sherwood_region **region,
                          struct sherwood_table_memory *out)
{
    client = sw_client_enter(client);
    if (client == NULL || region == NULL || out == NULL || out->size != sizeof(*out)) {
        return SHERWOOD_E_INVALID;
    }
    int status = attach(client);
    struct sw_region_request request = {.kind = SW_REGION_TABLE, .bytes = SW_REGION_PAGE};
    if (status == SHERWOOD_OK && *region != NULL) {
        request.index = (*region)->index;
        status = send_region(client->connections[0], SW_OPERATION_REGION, &request, -1);
    } else if (status == SHERWOOD_OK) {
        int fd = -1;
        uint8_t *memory = sw_client_memfd(client, "sherwood table", request.bytes, &fd);
        status = memory == NULL ? SHERWOOD_E_NOMEM
                                : add_region(client, &request, fd, memory, true, region);
        if (status != SHERWOOD_OK && memory != NULL) {
            sw_client_memfd_close(fd);
            munmap(memory, request.bytes);
        }
    }
    if (status == SHERWOOD_OK) {
        read_table(*region, out);
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

/* Returns whether a flight of the connection reads or writes the region, by the socket or by the
 * ring. */
static bool connection_uses(const struct sw_client_connection *connection,
                            const struct sherwood_region *region)
{
    struct sw_client_array arrays[SW_CLIENT_ARRAYS_MAX];
    for (uint32_t f = 0; connection->in_flight > 0 && f < SW_CLIENT_FLIGHTS_MAX; f++) {
        const struct sw_client_flight *flight = &connection->flights[f];
        uint32_t count = flight->id != 0 ? sw_client_flight_arrays(flight, arrays) : 0;
        for (uint32_t i = 0; i < count; i++) {
            if (sw_client_region_has(region, &arrays[i])) {
                return true;
            }
        }
    }
    return false;
}

static bool is_used(const struct sherwood *client, const struct sherwood_region *region)
{
    for (uint32_t i = 0; i < client->connections_count; i++) {
        if (connection_uses(client->connections[i], region)) {
            return true;
        }
    }
    return false;
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
    *link = region->next; /* no later request can use the region */
    const struct sw_region_request request = {.index = region->index};
    struct sw_client_connection *connection = client->connections[0];
    /* RELEASE goes by the socket, and could overtake requests in the ring. The server would refuse
     * these requests, so wait for them first. */
    sw_client_send_all(client);
    while (is_used(client, region) || (connection->broken == 0 && connection->ring.in_flight > 0)) {
        sw_client_step(client, -1);
    }
    int status = connection->broken;
    if (status == SHERWOOD_OK) {
        status = send_region(connection, SW_OPERATION_RELEASE, &request, -1);
    }
    sw_client_region_free(region);
    return status;
}
