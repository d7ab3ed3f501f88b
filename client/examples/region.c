/* SPDX-License-Identifier: MIT
 *
 * region.c - stores a million keys of 64 bits from memory that is shared with the server, and reads
 * them back. No byte of them goes through a socket.
 *
 *     cc region.c -lsherwood -o region && ./region unix:/run/sherwood/sherwood.sock
 */
#include <inttypes.h>
#include <stdio.h>

#include "sherwood.h"

#define COUNT 1000000

static int run(struct sherwood *client)
{
    struct sherwood_region *region;
    int status = sherwood_region_create(client, 4 * COUNT * sizeof(uint64_t), &region);
    if (status != SHERWOOD_OK) {
        return status;
    }
    uint64_t *keys = sherwood_region_allocate(region, COUNT * sizeof(*keys));
    uint64_t *values = sherwood_region_allocate(region, COUNT * sizeof(*values));
    uint64_t *answers = sherwood_region_allocate(region, COUNT * sizeof(*answers));
    uint64_t *found =
        sherwood_region_allocate(region, sherwood_found_words(COUNT) * sizeof(*found));
    for (uint64_t i = 0; i < COUNT; i++) {
        keys[i] = i * 7;
        values[i] = i;
    }
    status = sherwood_set(client, keys, values, COUNT);
    if (status == SHERWOOD_OK) {
        status = sherwood_get(client, keys, COUNT, answers, found);
    }
    uint64_t right = 0;
    for (uint64_t i = 0; status == SHERWOOD_OK && i < COUNT; i++) {
        right += sherwood_found(found, i) && answers[i] == i;
    }
    struct sherwood_traffic traffic;
    sherwood_traffic(client, &traffic, sizeof(traffic));
    printf("%" PRIu64 " of %d values are right; %" PRIu64 " requests through the ring, %" PRIu64
           " bytes through the socket\n",
           right, COUNT, traffic.ring_requests, traffic.bytes_sent + traffic.bytes_received);
    return status == SHERWOOD_OK && right < COUNT ? SHERWOOD_E_SERVER : status;
}

int main(int argc, char **argv)
{
    struct sherwood *client;
    char text[256];
    const char *address = argc > 1 ? argv[1] : "unix:/run/sherwood/sherwood.sock";
    if (sherwood_connect_text(address, NULL, &client, text, sizeof(text)) != SHERWOOD_OK) {
        fprintf(stderr, "%s\n", text);
        return 1;
    }
    if (sherwood_server(client)->key_bytes != 8 || sherwood_server(client)->value_bytes != 8) {
        fprintf(stderr, "this example needs a server with keys and values of 8 bytes\n");
        sherwood_close(client);
        return 1;
    }
    int status = run(client);
    if (status != SHERWOOD_OK) {
        fprintf(stderr, "%s\n", sherwood_error(client));
    }
    sherwood_close(client);
    return status == SHERWOOD_OK ? 0 : 1;
}
