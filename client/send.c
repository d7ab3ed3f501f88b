/* SPDX-License-Identifier: MIT
 *
 * send.c - queued frames to the socket, straight from the caller's arrays.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "client/internal.h"

/* Parts given to one sendmsg, and calls before replies get a look. */
#define SEND_PARTS_MAX 64
#define SEND_CALLS_MAX 16

static const uint8_t zeros[SW_FRAME_ALIGN];

/* Gathers what is left of the queue, the first frame from `queue_offset` on. */
static size_t gather(struct sherwood *client, struct iovec *iov)
{
    size_t n = 0;
    uint64_t skip = client->queue_offset;
    for (uint32_t i = 0; i < client->queue_count; ++i) {
        uint32_t slot = client->queue[(client->queue_first + i) % SW_CLIENT_FLIGHTS_MAX];
        const struct sw_client_flight *flight = &client->flights[slot];
        if (n + SW_PARTS_MAX > SEND_PARTS_MAX) {
            break;
        }
        for (int p = 0; p < SW_PARTS_MAX; ++p) {
            const struct sw_client_part *part = &flight->parts[p];
            if (part->bytes <= skip) {
                skip -= part->bytes;
                continue;
            }
            const uint8_t *data = part->data == NULL ? zeros : part->data;
            iov[n].iov_base = (void *)(uintptr_t)(data + skip);
            iov[n].iov_len = part->bytes - (size_t)skip;
            skip = 0;
            n++;
        }
    }
    return n;
}

static uint64_t frame_bytes(const struct sw_client_flight *flight)
{
    uint64_t bytes = 0;
    for (int p = 0; p < SW_PARTS_MAX; ++p) {
        bytes += flight->parts[p].bytes;
    }
    return bytes;
}

static void advance(struct sherwood *client, uint64_t bytes)
{
    client->queue_offset += bytes;
    while (client->queue_count > 0) {
        struct sw_client_flight *flight = &client->flights[client->queue[client->queue_first]];
        uint64_t whole = frame_bytes(flight);
        if (client->queue_offset < whole) {
            break;
        }
        client->queue_offset -= whole;
        flight->sent = true;
        client->queue_first = (client->queue_first + 1) % SW_CLIENT_FLIGHTS_MAX;
        client->queue_count--;
    }
}

void sw_client_send(struct sherwood *client)
{
    struct iovec iov[SEND_PARTS_MAX];
    for (int i = 0; i < SEND_CALLS_MAX && client->queue_count > 0; ++i) {
        if (client->send_errno != 0) {
            break;
        }
        struct msghdr message = {.msg_iov = iov};
        message.msg_iovlen = gather(client, iov);
        ssize_t sent = sendmsg(client->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent >= 0) {
            advance(client, (uint64_t)sent);
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            break;
        } else if (errno != EINTR) {
            /* The server may have said why before it closed: the receiving side ends this. */
            client->send_errno = errno;
        }
    }
}
