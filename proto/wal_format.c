/* SPDX-License-Identifier: MIT
 *
 * wal_format.c - encoding and decoding headers of segments and records.
 */
#include "proto/wal_format.h"

#include "proto/ops/operations.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proto/check.h"

#define VERSION 1U
#define RECORD_MAGIC 0x31525753U /* "SWR1" */
/* A record that has one of these bits means something else than one without. */
#define CRITICAL_FLAGS 0xff00U
#define KNOWN_FLAGS \
    (SW_WAL_HAS_TIMES | SW_WAL_HAS_TIME | SW_WAL_HAS_EXPIRED_KEYS | SW_WAL_HAS_TABLE)
/* Keys that a batch removes before its operations, for each of them (table/batch.h). */
#define EXPIRED_KEYS_MAX 2U
#define TIME_BYTES 8U
/* In the header of a segment, behind the version's text of at most 64 bytes. */
#define BOOT_AT 168
#define PREVIOUS_AT 184

static const uint8_t segment_magic[8] = {'S', 'W', 'L', 'O', 'G', 0, 0, 1};

/* --- fields ----------------------------------------------------------------------------------- */

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "fields are written as they lie in memory"
#endif

static void put_field(uint8_t *at, const void *field, size_t bytes)
{
    memcpy(at, field, bytes);
}

static uint32_t u32_at(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof(value));
    return value;
}

static uint64_t u64_at(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof(value));
    return value;
}

static void put32(uint8_t *at, uint32_t value)
{
    put_field(at, &value, sizeof(value));
}

static void put64(uint8_t *at, uint64_t value)
{
    put_field(at, &value, sizeof(value));
}

/* --- segments --------------------------------------------------------------------------------- */

void sw_wal_segment_encode(const struct sw_wal_segment *segment, uint8_t bytes[SW_WAL_HEADER_BYTES])
{
    const struct sw_wal_shape *shape = &segment->shape;
    memset(bytes, 0, SW_WAL_HEADER_BYTES);
    put_field(bytes, segment_magic, sizeof(segment_magic));
    put32(bytes + 8, VERSION);
    put32(bytes + 12, SW_WAL_HEADER_BYTES);
    put_field(bytes + 16, segment->log_id, sizeof(segment->log_id));
    put64(bytes + 32, segment->number);
    put64(bytes + 40, segment->salt);
    put32(bytes + 48, shape->key_bytes);
    put32(bytes + 52, shape->value_bytes);
    put32(bytes + 56, shape->engine);
    put32(bytes + 60, shape->value_format);
    put64(bytes + 64, segment->through);
    put64(bytes + 72, segment->wall_us);
    put32(bytes + 80, segment->by_recovery);
    put32(bytes + 84, shape->value_type);
    put32(bytes + 88, shape->key_text_bytes);
    put32(bytes + 92, segment->key_form);
    put64(bytes + 96, segment->bytes);
    put_field(bytes + 104, SHERWOOD_VERSION, sizeof(SHERWOOD_VERSION));
    put_field(bytes + BOOT_AT, segment->boot, sizeof(segment->boot));
    put64(bytes + PREVIOUS_AT, segment->previous);
    put64(bytes + 4088, sw_check64(bytes, 4088, 0));
}

bool sw_wal_segment_decode(const uint8_t bytes[SW_WAL_HEADER_BYTES], struct sw_wal_segment *segment,
                           bool *newer)
{
    *newer = false;
    if (memcmp(bytes, segment_magic, sizeof(segment_magic)) != 0 ||
        u64_at(bytes + 4088) != sw_check64(bytes, 4088, 0)) {
        return false;
    }
    *newer = u32_at(bytes + 8) != VERSION;
    if (*newer) {
        return true;
    }
    *segment = (struct sw_wal_segment){
        .number = u64_at(bytes + 32),
        .salt = u64_at(bytes + 40),
        .shape = {u32_at(bytes + 48), u32_at(bytes + 52), u32_at(bytes + 56), u32_at(bytes + 60),
                  u32_at(bytes + 84), u32_at(bytes + 88)},
        .through = u64_at(bytes + 64),
        .wall_us = u64_at(bytes + 72),
        .by_recovery = u32_at(bytes + 80) != 0,
        .key_form = u32_at(bytes + 92),
        .bytes = u64_at(bytes + 96),
        .previous = u64_at(bytes + PREVIOUS_AT),
    };
    memcpy(segment->log_id, bytes + 16, sizeof(segment->log_id));
    memcpy(segment->boot, bytes + BOOT_AT, sizeof(segment->boot));
    return true;
}

/* --- operations ------------------------------------------------------------------------------- */

const char *sw_wal_operation_name(uint8_t operation)
{
#define NAME(name, number, op, verb, ...) \
    [op] = (int)SW_VERB_DOES_##verb != (int)SW_DOES_READS ? #name : NULL,
    static const char *const names[] = {SW_DATA_OPERATION_MAP(NAME)};
#undef NAME
    if (operation >= SW_OPS_END || SW_OPS_HAS(SW_OPS_PART | SW_OPS_FITTING | SW_OPS_PAIR,
                                              operation)) { /* the log has a SET instead of these */
        return NULL;
    }
    return names[operation];
}

/* --- records ---------------------------------------------------------------------------------- */

struct sw_wal_columns sw_wal_columns(const struct sw_wal_shape *shape,
                                     const struct sw_wal_record *record)
{
    const uint64_t n = record->count;
    const uint16_t flags = record->flags;
    const uint64_t times = flags & SW_WAL_HAS_TIMES ? n : flags & SW_WAL_HAS_TIME ? 1 : 0;
    if (sw_wal_has_message(record)) {
        return (struct sw_wal_columns){.keys = sw_wal_align(n, SW_WAL_ALIGN)};
    }
    return (struct sw_wal_columns){
        .keys = sw_wal_align(n * shape->key_bytes, SW_WAL_ALIGN),
        .operands =
            flags & SW_WAL_HAS_OPERANDS ? sw_wal_align(n * shape->value_bytes, SW_WAL_ALIGN) : 0,
        .operations = flags & SW_WAL_HAS_OPERATIONS ? sw_wal_align(n, SW_WAL_ALIGN) : 0,
        .times = sw_wal_align(times * TIME_BYTES, SW_WAL_ALIGN),
        .expired_keys =
            flags & SW_WAL_HAS_EXPIRED_KEYS
                ? sw_wal_align((uint64_t)record->expired_keys * shape->key_bytes, SW_WAL_ALIGN)
                : 0,
    };
}

uint64_t sw_wal_columns_bytes_max(const struct sw_wal_shape *shape, uint32_t operations,
                                  bool expires)
{
    const uint64_t n = operations;
    const uint64_t of_expiry = expires ? TIME_BYTES + EXPIRED_KEYS_MAX * shape->key_bytes : 0;
    return n * (shape->key_bytes + shape->value_bytes + 1 + of_expiry) +
           SW_WAL_COLUMNS_MAX * SW_WAL_ALIGN;
}

uint64_t sw_wal_units(const struct sw_wal_columns *columns)
{
    return (SW_WAL_RECORD_BYTES + sw_wal_columns_bytes(columns)) / SW_WAL_ALIGN;
}

void sw_wal_record_encode(const struct sw_wal_record *record, uint64_t salt,
                          uint8_t bytes[SW_WAL_RECORD_BYTES])
{
    memset(bytes, 0, SW_WAL_RECORD_BYTES);
    put32(bytes, RECORD_MAGIC);
    bytes[4] = (uint8_t)record->kind;
    bytes[5] = record->operation;
    put_field(bytes + 6, &record->flags, sizeof(record->flags));
    put64(bytes + 8, record->sequence);
    put64(bytes + 16, record->synced);
    put64(bytes + 24, record->wall_us);
    put32(bytes + 32, record->count);
    put32(bytes + 36, record->units);
    put32(bytes + 40, record->expired_keys);
    put32(bytes + 44, record->flags & SW_WAL_HAS_TABLE ? record->table : 0);
    put64(bytes + 48, record->columns_check);
    put64(bytes + 56, sw_check64(bytes, 56, salt));
}

bool sw_wal_record_decode(const uint8_t *bytes, uint64_t salt, struct sw_wal_record *record)
{
    if (u32_at(bytes) != RECORD_MAGIC || u64_at(bytes + 56) != sw_check64(bytes, 56, salt)) {
        return false;
    }
    *record = (struct sw_wal_record){
        .kind = (enum sw_wal_kind)bytes[4],
        .operation = bytes[5],
        .flags = (uint16_t)(bytes[6] | bytes[7] << 8),
        .sequence = u64_at(bytes + 8),
        .synced = u64_at(bytes + 16),
        .wall_us = u64_at(bytes + 24),
        .count = u32_at(bytes + 32),
        .units = u32_at(bytes + 36),
        .expired_keys = u32_at(bytes + 40),
        .table = SW_WAL_FIRST_TABLE,
        .columns_check = u64_at(bytes + 48),
    };
    if (record->flags & SW_WAL_HAS_TABLE) {
        record->table = u32_at(bytes + 44);
    }
    return true;
}

bool sw_wal_record_resembles_mark(const uint8_t bytes[SW_WAL_RECORD_BYTES], uint64_t next)
{
    return bytes[4] >= SW_WAL_SEAL && bytes[4] <= SW_WAL_MARK && next != 0 &&
           u64_at(bytes + 8) == next - 1;
}

bool sw_wal_record_resembles_write(const uint8_t bytes[SW_WAL_RECORD_BYTES], uint64_t next)
{
    return (u32_at(bytes) == RECORD_MAGIC || (next != 0 && u64_at(bytes + 8) == next)) &&
           !sw_wal_record_resembles_mark(bytes, next);
}

bool sw_wal_record_holds_columns(const struct sw_wal_record *record,
                                 const struct sw_wal_shape *shape)
{
    const struct sw_wal_columns columns = sw_wal_columns(shape, record);
    return record->units >= sw_wal_units(&columns);
}

bool sw_wal_record_is_known(const struct sw_wal_record *record, const struct sw_wal_shape *shape)
{
    return record->kind >= SW_WAL_OPERATIONS && record->kind <= SW_WAL_CATALOG &&
           (record->flags & CRITICAL_FLAGS & ~KNOWN_FLAGS) == 0 && record->units > 0 &&
           (((record->flags & SW_WAL_HAS_TABLE) != 0 && !sw_wal_has_message(record)) ||
            sw_wal_record_holds_columns(record, shape));
}

void sw_wal_name(uint64_t number, char name[SW_WAL_NAME_BYTES])
{
    snprintf(name, SW_WAL_NAME_BYTES, SW_WAL_NAME "-%016" PRIx64, number);
}
