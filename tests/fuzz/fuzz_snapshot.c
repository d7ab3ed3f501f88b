/* SPDX-License-Identifier: MIT
 *
 * fuzz_snapshot.c - libFuzzer target for snapshots: headers of any fields whose check is right, and
 * blocks and footers that are damaged.
 *
 * The input is the fields of a header, from its byte 16 on; then what a block is made of.
 */
#include <stdlib.h>
#include <string.h>

#include "proto/check.h"
#include "proto/snapshot_file.h"
#include "tests/fuzz/require.h"

#define FIELDS_BYTES 160
#define CHECK_AT 4088
#define BLOCK_BYTES_MAX (1U << 18)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The header of an empty snapshot, with these fields and a check that holds. */
static void make_header(const uint8_t *data, size_t size, uint8_t bytes[SW_SNAPSHOT_HEADER_BYTES])
{
    const struct sw_snapshot_header none = {.key_bytes = 8};
    sw_snapshot_put_header(&none, bytes);
    memcpy(bytes + 16, data, size < FIELDS_BYTES ? size : FIELDS_BYTES);
    uint64_t check = sw_check64(bytes, CHECK_AT, 0);
    memcpy(bytes + CHECK_AT, &check, sizeof(check));
}

/* What a reader may rely on once a header was accepted. */
static void check_sizes(const struct sw_snapshot_header *header)
{
    const uint64_t blocks = sw_snapshot_blocks(header);
    const uint64_t end = sw_snapshot_file_bytes(header) - SW_SNAPSHOT_FOOTER_BYTES;
    require(end >= SW_SNAPSHOT_HEADER_BYTES && end % SW_SNAPSHOT_ALIGN == 0);
    require(blocks <= header->entries && (blocks > 0) == (header->entries > 0));
    for (uint64_t number = blocks > 2 ? blocks - 2 : 0; number < blocks; number++) {
        uint32_t entries = sw_snapshot_entries_of(header, number);
        uint64_t bytes = sw_snapshot_block_bytes(header, entries);
        require(entries > 0 && entries <= header->block_entries);
        require(bytes <= sw_snapshot_block_bytes(header, header->block_entries));
        require(sw_snapshot_block_at(header, number) + bytes <= end);
        require(number + 1 < blocks || sw_snapshot_block_at(header, number) + bytes == end);
        uint64_t values = sw_snapshot_column_at(header, entries, SW_SNAPSHOT_VALUES);
        uint64_t columns = sw_snapshot_column_at(header, entries, 0);
        require(values >= (uint64_t)entries * header->key_bytes);
        require(columns >= values + (uint64_t)entries * header->value_bytes);
        require(SW_SNAPSHOT_BLOCK_HEAD_BYTES + columns <= bytes);
    }
}

/* A block of these bytes holds, and does not once any byte of its head or columns is another. */
static void check_block(const struct sw_snapshot_header *header, const uint8_t *data, size_t size)
{
    const uint64_t number = sw_snapshot_blocks(header) - 1;
    const uint32_t entries = sw_snapshot_entries_of(header, number);
    const uint64_t bytes = sw_snapshot_block_bytes(header, entries);
    const uint64_t columns = sw_snapshot_column_at(header, entries, 0);
    uint64_t check = 0;
    if (bytes > BLOCK_BYTES_MAX || size == 0) {
        return;
    }
    uint8_t *block = malloc((size_t)bytes);
    require(block != NULL);
    for (uint64_t i = 0; i < bytes; i++) {
        block[i] = data[i % size];
    }
    require(sw_snapshot_check_block(header, number, block, &check) != NULL);
    uint64_t sealed = sw_snapshot_seal_block(header, number, entries, block);
    require(sw_snapshot_check_block(header, number, block, &check) == NULL && check == sealed);
    uint64_t at = (data[0] | (uint64_t)data[size - 1] << 8) % (40 + columns);
    block[at < 40 ? at : at - 40 + SW_SNAPSHOT_BLOCK_HEAD_BYTES] ^= (uint8_t)(1U << size % 8);
    require(sw_snapshot_check_block(header, number, block, &check) != NULL);
    free(block);
}

static void check_footer(const struct sw_snapshot_header *header, const uint8_t *data, size_t size)
{
    const struct sw_snapshot_footer footer = {.blocks = sw_snapshot_blocks(header),
                                              .entries = header->entries,
                                              .file_bytes = sw_snapshot_file_bytes(header),
                                              .sequence = header->sequence};
    uint8_t bytes[SW_SNAPSHOT_FOOTER_BYTES];
    sw_snapshot_put_footer(&footer, bytes);
    require(sw_snapshot_check_footer(header, NULL, bytes) == NULL);
    size_t at = size == 0 ? 0 : (data[0] | (size_t)data[size - 1] << 8) % sizeof(bytes);
    bytes[at] ^= (uint8_t)(1U << size % 8);
    require(sw_snapshot_check_footer(header, NULL, bytes) != NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t bytes[SW_SNAPSHOT_HEADER_BYTES], again[SW_SNAPSHOT_HEADER_BYTES];
    struct sw_snapshot_header header, twice;
    bool newer = false;
    make_header(data, size, bytes);
    if (sw_snapshot_get_header(bytes, &header, &newer) != NULL) {
        return 0;
    }
    sw_snapshot_put_header(&header, again);
    require(sw_snapshot_get_header(again, &twice, &newer) == NULL);
    require(memcmp(&header, &twice, sizeof(header)) == 0);
    check_sizes(&header);
    check_footer(&header, data, size);
    if (size > FIELDS_BYTES && header.entries > 0) {
        check_block(&header, data + FIELDS_BYTES, size - FIELDS_BYTES);
    }
    bytes[size % CHECK_AT] ^= 1;
    require(sw_snapshot_get_header(bytes, &header, &newer) != NULL);
    return 0;
}
