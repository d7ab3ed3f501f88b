/* SPDX-License-Identifier: MIT
 *
 * memory.h - the memory that a handle shares with its server: the regions and the ring. Threads:
 * the one that uses the handle.
 */
#ifndef SHERWOOD_CLIENT_MEMORY_H
#define SHERWOOD_CLIENT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client/connection.h"
#include "client/sherwood.h"
#include "proto/region.h"

struct sherwood_region {
    struct sherwood *client;
    struct sherwood_region *next; /* of the handle's regions, in no order */
    uint32_t index;
    uint8_t *memory;
    size_t bytes;
    size_t used;    /* by sherwood_region_allocate */
    int fd;         /* of its memfd, if it was made here; otherwise -1 */
    bool is_own;    /* this process no longer shares its pages with the server */
    bool is_apart;  /* this process has other pages than the server now */
    bool is_device; /* memory of a GPU, which this processor cannot touch */
};

/* Makes a sealed memfd of `bytes` bytes, and maps it. Returns NULL with the handle's sentence.
 * sw_client_memfd_close closes the descriptor. */
uint8_t *sw_client_memfd(struct sherwood *client, const char *name, uint64_t bytes, int *fd);
void sw_client_memfd_close(int fd);

/* Stores the place of an array. Returns false if no region has the whole array with the right
 * alignment. */
bool sw_client_region_find(const struct sherwood *client, const void *array,
                           struct sw_ring_extent extent, uint64_t *place);

/* Returns whether the array lies in a region that is memory of a device. */
bool sw_client_region_is_device(const struct sherwood *client, const void *array);

/* Returns whether a region has a byte of this array. */
bool sw_client_region_has(const struct sherwood_region *region,
                          const struct sw_client_array *array);

/* Handles the end of a connection: unshares the pages that its requests in the ring would have
 * written answers to, so that the server can no longer change them. Regions that the library made
 * keep their contents and addresses. Memory that the caller registered stays shared. Returns false
 * if there is no memory for the copies. */
bool sw_client_regions_part(struct sw_client_connection *connection);

/* Frees a region that no list has any more. */
void sw_client_region_free(struct sherwood_region *region);
/* Frees all regions of a handle that is being closed. */
void sw_client_regions_close(struct sherwood *client);

#endif
