/* SPDX-License-Identifier: MIT
 *
 * snapshot_file.c - header, blocks and footer of a snapshot.
 */
#include "proto/snapshot_file.h"

#include <stddef.h>
#include <string.h>

#include "proto/check.h"
#include "proto/value_type.h"

#define CHECK_AT 4088
#define BLOCK_MAGIC 0x42535753U /* SWSB */
#define BLOCK_CHECKED 32        /* bytes of a block's head that its own check covers */
#define COLUMN_ALIGN 64
#define ENGINE_MAX 2U
#define POLICY_MAX 4U
#define KNOWN_COLUMNS \
    (SW_SNAPSHOT_KEYS | SW_SNAPSHOT_VALUES | SW_SNAPSHOT_SCORES | SW_SNAPSHOT_TIMES)

static const char header_magic[8] = {'S', 'W', 'S', 'N', 'A', 'P', 0, 1};
static const char footer_magic[8] = {'S', 'W', 'S', 'N', 'A', 'P', 'E', 'N'};

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "fields are written as they lie in memory"
#endif

static void put32(uint8_t *bytes, uint32_t value)
{
    for (unsigned i = 0; i < sizeof(value); i++) {
        bytes[i] = (uint8_t)(value >> 8 * i);
    }
}

static void put64(uint8_t *bytes, uint64_t value)
{
    put32(bytes, (uint32_t)value);
    put32(bytes + 4, (uint32_t)(value >> 32));
}

static uint32_t get32(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static uint64_t get64(const uint8_t *bytes)
{
    return get32(bytes) | (uint64_t)get32(bytes + 4) << 32;
}

static uint64_t align(uint64_t bytes, uint64_t to)
{
    return (bytes + to - 1) / to * to;
}

/* --- sizes ------------------------------------------------------------------------------------ */

uint32_t sw_snapshot_block_entries(uint32_t key_bytes, uint32_t value_bytes, uint32_t columns)
{
    uint32_t entry = key_bytes + value_bytes + ((columns & SW_SNAPSHOT_SCORES) != 0 ? 8 : 0) +
                     ((columns & SW_SNAPSHOT_TIMES) != 0 ? 8 : 0);
    return SW_SNAPSHOT_BLOCK_TARGET / entry / COLUMN_ALIGN * COLUMN_ALIGN;
}

uint64_t sw_snapshot_column_at(const struct sw_snapshot_header *header, uint32_t entries,
                               uint32_t column)
{
    uint64_t values = align((uint64_t)entries * header->key_bytes, COLUMN_ALIGN);
    uint64_t scores = values + align((uint64_t)entries * header->value_bytes, COLUMN_ALIGN);
    const uint64_t words = align((uint64_t)entries * 8, COLUMN_ALIGN);
    uint64_t times = scores + ((header->columns & SW_SNAPSHOT_SCORES) != 0 ? words : 0);
    switch (column) {
    case SW_SNAPSHOT_KEYS:
        return 0;
    case SW_SNAPSHOT_VALUES:
        return values;
    case SW_SNAPSHOT_SCORES:
        return scores;
    case SW_SNAPSHOT_TIMES:
        return times;
    default:
        return times + ((header->columns & SW_SNAPSHOT_TIMES) != 0 ? words : 0);
    }
}

uint64_t sw_snapshot_block_bytes(const struct sw_snapshot_header *header, uint32_t entries)
{
    return align(SW_SNAPSHOT_BLOCK_HEAD_BYTES + sw_snapshot_column_at(header, entries, 0),
                 SW_SNAPSHOT_ALIGN);
}

uint64_t sw_snapshot_blocks(const struct sw_snapshot_header *header)
{
    return header->entries / header->block_entries + (header->entries % header->block_entries != 0);
}

uint32_t sw_snapshot_entries_of(const struct sw_snapshot_header *header, uint64_t number)
{
    uint64_t before = number * header->block_entries;
    uint64_t left = header->entries - before;
    return left < header->block_entries ? (uint32_t)left : header->block_entries;
}

uint64_t sw_snapshot_block_at(const struct sw_snapshot_header *header, uint64_t number)
{
    return SW_SNAPSHOT_HEADER_BYTES +
           number * sw_snapshot_block_bytes(header, header->block_entries);
}

uint64_t sw_snapshot_file_bytes(const struct sw_snapshot_header *header)
{
    uint64_t last = header->entries % header->block_entries;
    return sw_snapshot_block_at(header, header->entries / header->block_entries) +
           (last != 0 ? sw_snapshot_block_bytes(header, (uint32_t)last) : 0) +
           SW_SNAPSHOT_FOOTER_BYTES;
}

/* --- header ----------------------------------------------------------------------------------- */

/* Where a member of a header lies in its bytes. Numbers are little-endian. */
struct field {
    uint16_t at;
    uint16_t member;
    uint16_t bytes;
};
#define FIELD(header, name, at)                                               \
    {                                                                         \
        at, offsetof(struct header, name), sizeof(((struct header *)0)->name) \
    }
#define FIELDS_OF_BOTH(header)                                                               \
    FIELD(header, log_id, 16), FIELD(header, sequence, 32), FIELD(header, incarnation, 88),  \
        FIELD(header, wall_us, 96), FIELD(header, writer, 112), FIELD(header, segment, 184), \
        FIELD(header, segments_from, 192)
#define COUNT(fields) (sizeof(fields) / sizeof((fields)[0]))

static const struct field snapshot_fields[] = {
    FIELDS_OF_BOTH(sw_snapshot_header),
    FIELD(sw_snapshot_header, entries, 40),
    FIELD(sw_snapshot_header, key_bytes, 48),
    FIELD(sw_snapshot_header, value_bytes, 52),
    FIELD(sw_snapshot_header, engine, 56),
    FIELD(sw_snapshot_header, value_format, 60),
    FIELD(sw_snapshot_header, block_entries, 64),
    FIELD(sw_snapshot_header, columns, 68),
    FIELD(sw_snapshot_header, capacity, 72),
    FIELD(sw_snapshot_header, epoch, 80),
    FIELD(sw_snapshot_header, policy, 104),
    FIELD(sw_snapshot_header, value_type, 108),
    FIELD(sw_snapshot_header, key_text_bytes, 176),
    FIELD(sw_snapshot_header, key_form, 180),
    FIELD(sw_snapshot_header, table, 200),
};

static const struct field catalog_fields[] = {
    FIELDS_OF_BOTH(sw_catalog_header),
    FIELD(sw_catalog_header, bytes, 40),
    FIELD(sw_catalog_header, check, 48),
};

static void put_header(const void *header, const struct field *fields, size_t count,
                       uint32_t version, uint8_t bytes[SW_SNAPSHOT_HEADER_BYTES])
{
    memset(bytes, 0, SW_SNAPSHOT_HEADER_BYTES);
    memcpy(bytes, header_magic, sizeof(header_magic));
    put32(bytes + 8, version);
    put32(bytes + 12, SW_SNAPSHOT_HEADER_BYTES);
    for (size_t i = 0; i < count; i++) {
        memcpy(bytes + fields[i].at, (const uint8_t *)header + fields[i].member, fields[i].bytes);
    }
    put64(bytes + CHECK_AT, sw_check64(bytes, CHECK_AT, 0));
}

static void get_header(void *header, const struct field *fields, size_t count,
                       const uint8_t bytes[SW_SNAPSHOT_HEADER_BYTES])
{
    for (size_t i = 0; i < count; i++) {
        memcpy((uint8_t *)header + fields[i].member, bytes + fields[i].at, fields[i].bytes);
    }
}

void sw_snapshot_put_header(const struct sw_snapshot_header *header,
                            uint8_t bytes[SW_SNAPSHOT_HEADER_BYTES])
{
    put_header(header, snapshot_fields, COUNT(snapshot_fields), SW_SNAPSHOT_VERSION, bytes);
}

void sw_catalog_put_header(const struct sw_catalog_header *header,
                           uint8_t bytes[SW_SNAPSHOT_HEADER_BYTES])
{
    put_header(header, catalog_fields, COUNT(catalog_fields), SW_SNAPSHOT_VERSION_CATALOG, bytes);
}

uint64_t sw_catalog_file_bytes(const struct sw_catalog_header *header)
{
    return SW_SNAPSHOT_HEADER_BYTES + align(header->bytes, SW_SNAPSHOT_ALIGN);
}

static bool is_possible_type(const struct sw_snapshot_header *header)
{
    const uint32_t number = sw_value_type_bytes(header->value_type);
    const bool is_string = header->value_format == SW_FRAME_VALUES_STRING;
    if (header->value_bytes == 0) {
        return header->value_type == SW_TYPE_NONE && header->value_format == SW_FRAME_VALUES_FIXED;
    }
    if (number == 0) {
        return header->value_type == SW_TYPE_BYTES ||
               (header->value_type == SW_TYPE_STRING && is_string);
    }
    return header->value_format == SW_FRAME_VALUES_FIXED && header->value_bytes % number == 0;
}

/* Whether the fields are possible, so that no size computed from them overflows. */
static bool is_possible(const struct sw_snapshot_header *header)
{
    return (header->key_bytes == 4 || header->key_bytes == 8) &&
           header->value_bytes <= SW_SNAPSHOT_VALUE_BYTES_MAX && header->value_bytes % 4 == 0 &&
           header->engine <= ENGINE_MAX && header->policy <= POLICY_MAX &&
           header->block_entries > 0 && header->block_entries % COLUMN_ALIGN == 0 &&
           header->block_entries <= SW_SNAPSHOT_BLOCK_TARGET / (header->value_bytes > 0 ? 8 : 4) &&
           header->entries <= 1ULL << 48 &&
           (header->columns & 3) == (SW_SNAPSHOT_KEYS | SW_SNAPSHOT_VALUES) &&
           (header->value_format != SW_FRAME_VALUES_INTEGER ||
            header->value_bytes == header->key_bytes) &&
           header->value_format <= SW_FRAME_VALUES_FIXED && is_possible_type(header) &&
           header->key_text_bytes % 8 == 0 &&
           (header->key_text_bytes == 0 || header->key_text_bytes < header->value_bytes) &&
           header->writer[SW_SNAPSHOT_TEXT_BYTES - 1] == '\0';
}

bool sw_snapshot_begins(const uint8_t bytes[SW_SNAPSHOT_MAGIC_BYTES])
{
    return memcmp(bytes, header_magic, sizeof(header_magic)) == 0;
}

/* Checks what headers of all versions have. Returns NULL if the version is `version`. */
static const char *check_header(const uint8_t bytes[SW_SNAPSHOT_HEADER_BYTES], uint32_t version,
                                bool *is_newer)
{
    *is_newer = false;
    if (!sw_snapshot_begins(bytes)) {
        return "is not a snapshot, or its first bytes are damaged";
    }
    if (get64(bytes + CHECK_AT) != sw_check64(bytes, CHECK_AT, 0)) {
        return "has a damaged header";
    }
    if (get32(bytes + 8) == version && get32(bytes + 12) == SW_SNAPSHOT_HEADER_BYTES) {
        return NULL;
    }
    *is_newer = true;
    return get32(bytes + 8) == SW_SNAPSHOT_VERSION_CATALOG
               ? "is the catalog of several tables, not the snapshot of one"
               : "has a newer version than this program can read";
}

bool sw_snapshot_is_catalog(const uint8_t bytes[SW_SNAPSHOT_HEADER_BYTES])
{
    bool is_newer = false;
    return check_header(bytes, SW_SNAPSHOT_VERSION_CATALOG, &is_newer) == NULL;
}

const char *sw_catalog_get_header(const uint8_t bytes[SW_SNAPSHOT_HEADER_BYTES],
                                  struct sw_catalog_header *header, bool *is_newer)
{
    const char *wrong = check_header(bytes, SW_SNAPSHOT_VERSION_CATALOG, is_newer);
    if (wrong != NULL) {
        return wrong;
    }
    memset(header, 0, sizeof(*header));
    get_header(header, catalog_fields, COUNT(catalog_fields), bytes);
    return header->bytes <= SW_CATALOG_BYTES_MAX && header->writer[SW_SNAPSHOT_TEXT_BYTES - 1] == 0
               ? NULL
               : "has impossible values in its header";
}

const char *sw_snapshot_get_header(const uint8_t bytes[SW_SNAPSHOT_HEADER_BYTES],
                                   struct sw_snapshot_header *header, bool *is_newer)
{
    const char *wrong = check_header(bytes, SW_SNAPSHOT_VERSION, is_newer);
    if (wrong != NULL) {
        return wrong;
    }
    memset(header, 0, sizeof(*header));
    get_header(header, snapshot_fields, COUNT(snapshot_fields), bytes);
    if ((header->columns & ~(uint32_t)KNOWN_COLUMNS) != 0) {
        *is_newer = true;
        return "has columns that this program does not know";
    }
    if (header->value_type >= SW_TYPE_COUNT) {
        *is_newer = true;
        return "has values of a type that only a later version knows";
    }
    return is_possible(header) ? NULL : "has impossible values in its header";
}

/* --- blocks ----------------------------------------------------------------------------------- */

uint64_t sw_snapshot_seal_block(const struct sw_snapshot_header *header, uint64_t number,
                                uint32_t entries, uint8_t *bytes)
{
    const uint64_t columns = sw_snapshot_column_at(header, entries, 0);
    const uint64_t end = SW_SNAPSHOT_BLOCK_HEAD_BYTES + columns;
    const uint64_t check =
        sw_check64(bytes + SW_SNAPSHOT_BLOCK_HEAD_BYTES, (size_t)columns, number);
    memset(bytes, 0, SW_SNAPSHOT_BLOCK_HEAD_BYTES);
    put32(bytes, BLOCK_MAGIC);
    put32(bytes + 4, entries);
    put64(bytes + 8, number);
    put64(bytes + 16, columns);
    put64(bytes + 24, check);
    put64(bytes + BLOCK_CHECKED, sw_check64(bytes, BLOCK_CHECKED, 0));
    memset(bytes + end, 0, (size_t)(sw_snapshot_block_bytes(header, entries) - end));
    return check;
}

const char *sw_snapshot_check_block(const struct sw_snapshot_header *header, uint64_t number,
                                    const uint8_t *bytes, uint64_t *check)
{
    const uint32_t entries = sw_snapshot_entries_of(header, number);
    const uint64_t columns = sw_snapshot_column_at(header, entries, 0);
    if (get32(bytes) != BLOCK_MAGIC || get32(bytes + 4) != entries || get64(bytes + 8) != number ||
        get64(bytes + 16) != columns ||
        get64(bytes + BLOCK_CHECKED) != sw_check64(bytes, BLOCK_CHECKED, 0)) {
        return "has a damaged block head";
    }
    *check = get64(bytes + 24);
    return *check == sw_check64(bytes + SW_SNAPSHOT_BLOCK_HEAD_BYTES, (size_t)columns, number)
               ? NULL
               : "has a damaged block";
}

/* --- footer ----------------------------------------------------------------------------------- */

void sw_snapshot_put_footer(const struct sw_snapshot_footer *footer,
                            uint8_t bytes[SW_SNAPSHOT_FOOTER_BYTES])
{
    memset(bytes, 0, SW_SNAPSHOT_FOOTER_BYTES);
    memcpy(bytes, footer_magic, sizeof(footer_magic));
    put64(bytes + 8, footer->blocks);
    put64(bytes + 16, footer->entries);
    put64(bytes + 24, footer->file_bytes);
    put64(bytes + 32, footer->check);
    put64(bytes + 40, footer->sequence);
    put64(bytes + CHECK_AT, sw_check64(bytes, CHECK_AT, 0));
}

const char *sw_snapshot_check_footer(const struct sw_snapshot_header *header,
                                     const uint64_t *checks,
                                     const uint8_t bytes[SW_SNAPSHOT_FOOTER_BYTES])
{
    const uint64_t blocks = sw_snapshot_blocks(header);
    if (memcmp(bytes, footer_magic, sizeof(footer_magic)) != 0 ||
        get64(bytes + CHECK_AT) != sw_check64(bytes, CHECK_AT, 0)) {
        return "has a damaged footer";
    }
    if (get64(bytes + 8) != blocks || get64(bytes + 16) != header->entries ||
        get64(bytes + 24) != sw_snapshot_file_bytes(header) ||
        get64(bytes + 40) != header->sequence) {
        return "has a footer that contradicts its header";
    }
    if (checks != NULL &&
        get64(bytes + 32) != sw_check64(checks, (size_t)(blocks * sizeof(*checks)), 0)) {
        return "has blocks that do not match its footer";
    }
    return NULL;
}
