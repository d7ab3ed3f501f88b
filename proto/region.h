/* SPDX-License-Identifier: MIT
 *
 * region.h - requests through shared memory: the records of a ring that client and server share,
 * and the regions that these records name, memory of the client. Nothing here does I/O or
 * allocates.
 *
 * On a connection of frames over a Unix socket, ATTACH requests the limits; then the server accepts
 * descriptors (SCM_RIGHTS) that come with a frame. REGION registers memory: first the ring, then
 * regions under an index that the client chooses. RELEASE unregisters a region. All are frames
 * without a body. The server replies to them in the order of their arrival, and a client sends one
 * at a time.
 *
 * | REGION kind | descriptors           | what                                                    |
 * | RING        | 1: memfd              | the ring, of sw_ring_bytes(entries) bytes; index 0      |
 * | MEMFD       | 1: memfd              | a region of host memory                                 |
 * | CUDA_IPC    | none                  | a region of the server's device: the handle of a shared |
 * |             |                       | allocation of CUDA, and an offset into it               |
 * | TABLE       | 1: memfd; again: none | a page of host memory, in which the server stores a     |
 * |             |                       | struct sw_region_table: the client's kernels read the   |
 * |             |                       | default table in the memory of the GPU until RELEASE.   |
 * |             |                       | With the same index again: the server stores it anew    |
 *
 * A memfd is of tmpfs, sealed against shrinking, and has exactly the number of bytes in the
 * request.
 *
 * The ring has one writer and one reader for each word. Counters run modulo 2^32; the slot of
 * number n is n % entries. Every word has a line of 64 bytes:
 *
 * | offset               | writer | what                                                        |
 * | 0                    | client | u32: submissions that were written                          |
 * | 64                   | server | u32: submissions that were taken                            |
 * | 128                  | server | u32: completions that were written                          |
 * | 192                  | client | u32: completions that were taken                            |
 * | 256                  | both   | u32: 1: the server sleeps. The client sets it 0 and sends   |
 * |                      |        | BELL by the socket, which has no reply                      |
 * | 320                  | both   | u32: 1: the client sleeps. The server sets it 0 and sends a |
 * |                      |        | reply with the request_id 0 by the socket                   |
 * | 4096                 | client | submissions                                                 |
 * | 4096 + 128 * entries | server | completions                                                 |
 *
 * A side that goes to sleep sets its word, then polls again. A side that has written reads that
 * word afterwards. All of these accesses are sequentially consistent. Neither side reads back what
 * it wrote itself, and a server copies a record before it checks it. All integers are
 * little-endian.
 */
#ifndef SHERWOOD_PROTO_REGION_H
#define SHERWOOD_PROTO_REGION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/frame.h"

/* Values are those of enum RegionKind. */
enum sw_region_kind {
    SW_REGION_RING = 1,
    SW_REGION_MEMFD = 2,
    SW_REGION_CUDA_IPC = 3,
    SW_REGION_TABLE = 4
};

#define SW_REGION_UUID_BYTES 16
#define SW_REGION_HANDLE_BYTES 64
/* Regions are whole pages. */
#define SW_REGION_PAGE 4096
/* Indices of regions are smaller, whatever the server allows. */
#define SW_REGIONS_MAX 1024

/* A TABLE: the table of the server as table/exported_table.h describes it. The handles are those of
 * CUDA IPC: of the page with the epoch, and of the arrays. */
struct sw_region_table {
    uint32_t layout;
    uint32_t slot_bits;
    uint64_t generation;
    uint64_t seed;
    uint64_t buckets, buckets_total, max_probe;
    uint64_t stash_buckets, stash_buckets_total;
    uint64_t bytes;
    uint8_t page_handle[SW_REGION_HANDLE_BYTES];
    uint8_t arrays_handle[SW_REGION_HANDLE_BYTES];
};

/* The fields of REGION and RELEASE. They are not in struct sw_request, because every frame copies
 * that. */
struct sw_region_request {
    uint32_t kind; /* may be any number */
    uint32_t index;
    uint64_t bytes;
    uint64_t offset;                           /* CUDA_IPC: of the region in the allocation */
    uint32_t entries;                          /* RING */
    uint8_t device_uuid[SW_REGION_UUID_BYTES]; /* CUDA_IPC */
    uint8_t handle[SW_REGION_HANDLE_BYTES];
};
/* Decodes the region in a header of REGION or RELEASE. Returns 0, or SW_FRAME_E_HEADER if the
 * header has no region, or an array in it has a wrong length. */
int sw_region_request_decode(const uint8_t *header, size_t size, struct sw_region_request *region);
/* Does what sw_request_encode does, for a request with a region. */
int sw_region_request_encode(const struct sw_request *request,
                             const struct sw_region_request *region, uint8_t *out,
                             size_t out_bytes);

/* --- the ring --------------------------------------------------------------------------------- */

enum sw_ring_word {
    SW_RING_SUBMITTED,
    SW_RING_TAKEN,
    SW_RING_COMPLETED,
    SW_RING_SEEN,
    SW_RING_SERVER_SLEEPS,
    SW_RING_CLIENT_SLEEPS
};
#define SW_RING_LINE 64
#define SW_RING_RECORDS 4096
#define SW_RING_ENTRIES_MIN 8
#define SW_RING_ENTRIES_MAX 4096

/* The arrays of a submission. The places of `found` and of the arrays behind it also show which of
 * them the request wants: SW_RING_NONE declines an array. SCAN: its keys, values and scores go to
 * KEYS, VALUES and SCORES_OUT; STATS: the figures go to KEYS. */
enum sw_ring_array {
    SW_RING_KEYS,
    SW_RING_OPERANDS,
    SW_RING_SCORES,
    SW_RING_VALUES,
    SW_RING_FOUND,
    SW_RING_NOT_ADMITTED,
    SW_RING_SCORES_OUT,
    SW_RING_EVICTED_KEYS,
    SW_RING_EVICTED_VALUES,
    SW_RING_EVICTED_SCORES,
    SW_RING_PLACES,
    SW_RING_TIMES = SW_RING_PLACES, /* expiry times of the keys: its place is in `arguments` */
    SW_RING_ARRAYS
};

/* A place: the index of a region in the high 16 bits, an offset into it in the low 48. */
#define SW_RING_NONE UINT64_MAX
static inline uint64_t sw_ring_place(uint32_t region, uint64_t offset)
{
    return (uint64_t)region << 48 | (offset & ((UINT64_C(1) << 48) - 1));
}
static inline uint32_t sw_ring_place_region(uint64_t place)
{
    return (uint32_t)(place >> 48);
}
static inline uint64_t sw_ring_place_offset(uint64_t place)
{
    return place & ((UINT64_C(1) << 48) - 1);
}

/* FOUND_BYTES: GET and PEEK store a byte of 0 or 1 for each key in FOUND instead of a bit, and
 * zeros up to a multiple of 8 bytes. DETAILS: an operation on keys has fields in `arguments`. A
 * server reports in Sharing which of them it takes. Others refuse the record. */
enum sw_ring_flag { SW_RING_FOUND_BYTES = 1, SW_RING_DETAILS = 2 };

/* `arguments`: SCAN: cursor, score_min, score_max. COUNT_SCORES, ERASE_SCORES: 0, score_min,
 * score_max. RESIZE: capacity_slots. EPOCH: epoch. WAIT_DURABLE: sequence, incarnation, timeout_ms.
 * DETAILS: time_ms, or with SW_RING_HAS_TIMES the place of TIMES; range_offset and range_bytes (of
 * ADD scale_bits and operand_type), the first of them in the low half; `times` and
 * SW_RING_HAS_TIMES. Others: 0. */
#define SW_RING_HAS_TIMES 256U
struct sw_submission {
    uint64_t id;
    uint8_t operation;
    uint8_t by_score; /* SCAN: 1: only entries between the scores; otherwise 0 */
    uint16_t flags;   /* of enum sw_ring_flag, or 0 */
    uint32_t count;
    uint64_t arguments[3];
    uint32_t table;    /* as in a Request; an older server refuses a record in which one is not 0 */
    uint32_t table_id; /* likewise */
    uint64_t places[SW_RING_PLACES];
};

/* As the fields of a Reply. The text is there if the status is not OK. */
struct sw_completion {
    uint64_t id;
    uint32_t status;
    uint32_t count;
    uint64_t hits;
    uint64_t overflows;
    uint64_t cursor;
    uint64_t capacity_slots;
    uint64_t evicted_count;
    uint64_t not_admitted;
    uint64_t matched;
    uint64_t epoch;
    uint64_t write_sequence;
    uint64_t durable_through;
    uint64_t unused[4];
    char text[SW_FRAME_TEXT_BYTES_MAX];
};

bool sw_ring_entries_are_valid(uint32_t entries); /* a power of two within the bounds */
uint64_t sw_ring_bytes(uint32_t entries);
static inline uint32_t *sw_ring_word(uint8_t *ring, enum sw_ring_word word)
{
    return (uint32_t *)(void *)(ring + (size_t)word * SW_RING_LINE);
}
static inline struct sw_submission *sw_ring_submission(uint8_t *ring, uint32_t entries, uint32_t n)
{
    return (struct sw_submission *)(void *)(ring + SW_RING_RECORDS) + (n & (entries - 1));
}
static inline struct sw_completion *sw_ring_completion(uint8_t *ring, uint32_t entries, uint32_t n)
{
    uint8_t *first = ring + SW_RING_RECORDS + (size_t)entries * sizeof(struct sw_submission);
    return (struct sw_completion *)(void *)first + (n & (entries - 1));
}

/* Converts a submission to the request that a frame's header would have. Returns NULL, or a
 * sentence about the error in the record. Checks only the record: the request needs the same checks
 * as that of a frame. */
const char *sw_submission_decode(const struct sw_submission *submission, uint32_t key_bytes,
                                 uint32_t value_bytes, struct sw_request *request);
/* Does the reverse, except for the places of the arrays: they are SW_RING_NONE. */
void sw_submission_encode(const struct sw_request *request, struct sw_submission *submission);

/* Return and set the place of an array. Only a request that has_times has a place of TIMES. */
uint64_t sw_submission_place(const struct sw_submission *submission, int array);
void sw_submission_set_place(struct sw_submission *submission, int array, uint64_t place);

/* The bytes and the alignment of each array of a request, by enum sw_ring_array; 0 if the request
 * has no such array. */
struct sw_ring_extent {
    uint64_t bytes;
    uint32_t align;
};
void sw_submission_extents(const struct sw_request *request, struct sw_ring_extent *extents);

/* Convert a reply to a completion, and back. A completion has only some fields of a reply. */
void sw_completion_encode(const struct sw_reply *reply, struct sw_completion *completion);
void sw_completion_decode(const struct sw_completion *completion, const struct sw_request *request,
                          struct sw_reply *reply);

#endif
