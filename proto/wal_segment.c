/* SPDX-License-Identifier: MIT
 *
 * wal_segment.c - reading the records of a segment.
 */
#include "proto/wal_segment.h"

#include <string.h>

#include "proto/catalog.h"
#include "proto/check.h"

#define SECTOR_BYTES 512U /* storage writes each of them whole or not at all */
#define CHECK_AT 56       /* in the header of a record */
#define TIME_BYTES 8U
/* In columns up to these lengths the search for damage changes every byte, or every bit. */
#define ONE_BYTE_MAX 2048U
#define ONE_BIT_MAX 16384U

void sw_wal_reader_init(struct sw_wal_reader *reader, const uint8_t *bytes, uint64_t size,
                        const struct sw_wal_segment *segment)
{
    *reader = (struct sw_wal_reader){
        .bytes = bytes,
        .size = size,
        .segment = segment,
        .at = SW_WAL_HEADER_BYTES,
    };
}

/* Is the record the one that comes next? No write has the largest number: there would be none after
 * it, and 0 stands for "any". */
static bool is_next(const struct sw_wal_reader *reader, const struct sw_wal_record *record)
{
    return record->sequence != UINT64_MAX &&
           (reader->next == 0 || record->sequence == reader->next - !sw_wal_is_write(record));
}

/* Is there a whole record at this offset, and is it the next one? */
static bool is_record(struct sw_wal_reader *reader, uint64_t at, struct sw_wal_record *record)
{
    const struct sw_wal_segment *segment = reader->segment;
    if (at > reader->size || reader->size - at < SW_WAL_RECORD_BYTES ||
        !sw_wal_record_decode(reader->bytes + at, segment->salt, record) ||
        !is_next(reader, record)) {
        return false;
    }
    if (!sw_wal_record_is_known(record, &segment->shape)) {
        reader->unknown = true;
        return false;
    }
    uint64_t bytes = (uint64_t)record->units * SW_WAL_ALIGN;
    return reader->size - at >= bytes &&
           sw_check64(reader->bytes + at + SW_WAL_RECORD_BYTES, bytes - SW_WAL_RECORD_BYTES,
                      segment->salt) == record->columns_check;
}

bool sw_wal_reader_next(struct sw_wal_reader *reader, struct sw_wal_record *record,
                        const uint8_t **columns)
{
    uint64_t at = reader->at;
    if (!reader->ended && !is_record(reader, at, record)) {
        at = sw_wal_align(at, SW_WAL_PAGE); /* after a sync the writer begins a page */
        reader->ended = reader->unknown || !is_record(reader, at, record);
    }
    if (reader->ended) {
        return false;
    }
    *columns = reader->bytes + at + SW_WAL_RECORD_BYTES;
    reader->at = at + (uint64_t)record->units * SW_WAL_ALIGN;
    reader->next = record->sequence + 1;
    reader->ended = record->kind == SW_WAL_END;
    return true;
}

static void raise_to(uint64_t *number, uint64_t least)
{
    *number = *number < least ? least : *number;
}

/* --- behind the run --------------------------------------------------------------------------- */

/* Looks for records behind the run. Their own sequences do not count, because an earlier start may
 * have cut them off. But the writes that they report as durable were durable. Returns the first of
 * their sequences, or 0. */
static uint64_t search(const uint8_t *bytes, uint64_t size, const struct sw_wal_segment *segment,
                       struct sw_wal_run *run)
{
    struct sw_wal_record record;
    uint64_t first = 0;
    for (uint64_t at = run->end; at + SW_WAL_RECORD_BYTES <= size; at += SW_WAL_ALIGN) {
        if (sw_wal_record_decode(bytes + at, segment->salt, &record)) {
            raise_to(&run->evidence, record.synced);
            raise_to(&run->evidence, record.kind == SW_WAL_END ? record.sequence : 0);
            raise_to(&run->behind, record.sequence);
            first = first == 0 ? record.sequence : first;
        }
    }
    return first;
}

/* --- a record that cannot be read --------------------------------------------------------------
 */

static bool is_zero(const uint8_t *bytes, uint64_t size, uint64_t from, uint64_t to)
{
    for (uint64_t at = from; at < to && at < size; at++) {
        if (bytes[at] != 0) {
            return false;
        }
    }
    return true;
}

/* Do `bytes` have this check after a change of one byte? The zeros at the end stay: a crash may
 * have cut what was there. Tries every byte up to ONE_BYTE_MAX, every bit up to ONE_BIT_MAX. Leaves
 * the bytes as they were. */
static bool is_one_off(uint8_t *bytes, uint64_t size, uint64_t seed, uint64_t check)
{
    const bool every = size <= ONE_BYTE_MAX;
    uint64_t end = size <= ONE_BIT_MAX ? size : 0;
    bool found = false;
    while (end > 0 && bytes[end - 1] == 0) {
        end--;
    }
    for (uint64_t at = 0; at < end && !found; at++) {
        const uint8_t was = bytes[at];
        for (unsigned flip = 1; flip < 256 && !found; flip = every ? flip + 1 : flip * 2) {
            bytes[at] = (uint8_t)(was ^ flip);
            found = sw_check64(bytes, size, seed) == check;
        }
        bytes[at] = was;
    }
    return found;
}

/* Finds the shape of a record's table, in the messages of the segment before the record. Returns
 * false if the segment does not have it. */
static bool find_shape(const struct sw_wal_reader *reader, const struct sw_wal_record *record,
                       struct sw_wal_shape *shape)
{
    struct sw_wal_reader before;
    struct sw_wal_record at;
    const uint8_t *columns;
    bool found = (record->flags & SW_WAL_HAS_TABLE) == 0;
    *shape = reader->segment->shape;
    sw_wal_reader_init(&before, reader->bytes, reader->at, reader->segment);
    while (!found && sw_wal_reader_next(&before, &at, &columns)) {
        struct sw_catalog catalog;
        bool newer;
        if (!sw_wal_has_message(&at) ||
            sw_catalog_decode_change(columns, at.count, &catalog, &newer)) {
            continue;
        }
        const struct sw_catalog_table *table = sw_catalog_table_of(&catalog, record->table);
        found = table != NULL;
        *shape = found ? table->shape : *shape;
        sw_catalog_free(&catalog);
    }
    return found;
}

/* Where the last column of a record ends without its padding, and how long each of its numbers is.
 */
static uint64_t end_of_data(const struct sw_wal_shape *shape, const struct sw_wal_record *record,
                            uint64_t *unit)
{
    const struct sw_wal_columns columns = sw_wal_columns(shape, record);
    const uint64_t n = record->count, all = sw_wal_columns_bytes(&columns);
    uint64_t bytes = n * shape->key_bytes, padded = columns.keys;
    *unit = shape->key_bytes;
    if (sw_wal_has_message(record)) {
        bytes = n;
        *unit = 1;
    } else if (columns.expired_keys > 0) {
        padded = columns.expired_keys;
        bytes = (uint64_t)record->expired_keys * shape->key_bytes;
    } else if (columns.times > 0) {
        padded = columns.times;
        bytes = record->flags & SW_WAL_HAS_TIMES ? n * TIME_BYTES : TIME_BYTES;
        *unit = TIME_BYTES;
    } else if (columns.operations > 0) {
        padded = columns.operations;
        bytes = n;
        *unit = 1;
    } else if (columns.operands > 0) {
        padded = columns.operands;
        bytes = n * shape->value_bytes;
        *unit = shape->value_bytes <= TIME_BYTES ? shape->value_bytes : 4;
    }
    return all - padded + bytes;
}

/* May a crash have cut the columns of the record? A write that ends early leaves zeros for the last
 * number at least, and a loss of power leaves sectors as they were before: zero. */
static bool columns_may_be_cut(const struct sw_wal_reader *reader, uint64_t at,
                               const struct sw_wal_record *record)
{
    uint64_t unit;
    struct sw_wal_shape shape;
    if (!find_shape(reader, record, &shape)) {
        return true;
    }
    const uint64_t end = at + (uint64_t)record->units * SW_WAL_ALIGN;
    const uint64_t data = at + SW_WAL_RECORD_BYTES + end_of_data(&shape, record, &unit);
    bool is_cut =
        data > at + SW_WAL_RECORD_BYTES && is_zero(reader->bytes, reader->size, data - unit, data);
    for (uint64_t from = at; from < end && !is_cut;) {
        const uint64_t to = (from / SECTOR_BYTES + 1) * SECTOR_BYTES;
        is_cut = is_zero(reader->bytes, reader->size, from, to < end ? to : end);
        from = to;
    }
    return is_cut;
}

static bool has_bad_columns(const struct sw_wal_reader *reader, uint64_t at,
                            const struct sw_wal_record *record)
{
    const uint64_t end = at + (uint64_t)record->units * SW_WAL_ALIGN;
    uint8_t copy[ONE_BIT_MAX];
    if (!is_next(reader, record) || !sw_wal_record_is_known(record, &reader->segment->shape)) {
        return false;
    }
    if (reader->is_same_boot && !columns_may_be_cut(reader, at, record)) {
        return true;
    }
    const uint64_t columns = end - at - SW_WAL_RECORD_BYTES;
    if (end > reader->size || columns > sizeof(copy)) {
        return false;
    }
    memcpy(copy, reader->bytes + at + SW_WAL_RECORD_BYTES, columns);
    return is_one_off(copy, columns, reader->segment->salt, record->columns_check);
}

/* Is the check of the header cut at some byte, the rest of it zero? */
static bool check_is_cut(uint64_t check, uint64_t right)
{
    for (unsigned bytes = 0; bytes < sizeof(check); bytes++) {
        if (check == (right & ((1ULL << 8 * bytes) - 1))) {
            return true;
        }
    }
    return false;
}

/* `is_start`: nothing but the header of a record begins here. Otherwise columns of a record may be
 * here whose header is lost. */
static bool has_bad_header(const struct sw_wal_reader *reader, uint64_t at, bool is_start)
{
    const uint64_t salt = reader->segment->salt;
    uint8_t header[SW_WAL_RECORD_BYTES];
    uint64_t check;
    memcpy(header, reader->bytes + at, sizeof(header));
    memcpy(&check, header + CHECK_AT, sizeof(check));
    const uint64_t right = sw_check64(header, CHECK_AT, salt), wrong = right ^ check;
    if (is_zero(header, sizeof(header), 0, sizeof(header)) || check_is_cut(check, right) ||
        sw_wal_record_resembles_mark(header, reader->next)) {
        return false;
    }
    const bool resembles = sw_wal_record_resembles_write(header, reader->next);
    if (reader->is_same_boot && (is_start || resembles)) {
        return true;
    }
    bool is_in_one_byte = false;
    for (unsigned byte = 0; byte < sizeof(check); byte++) {
        is_in_one_byte |= (wrong & ~(0xffULL << 8 * byte)) == 0;
    }
    return (is_in_one_byte && resembles) || is_one_off(header, CHECK_AT, salt, check);
}

/* Is there a record at this offset that was written whole, and cannot be read? */
static bool is_damaged_at(const struct sw_wal_reader *reader, uint64_t at, bool is_start)
{
    struct sw_wal_record record;
    if (at + SW_WAL_RECORD_BYTES > reader->size) {
        return false;
    }
    return sw_wal_record_decode(reader->bytes + at, reader->segment->salt, &record)
               ? has_bad_columns(reader, at, &record)
               : has_bad_header(reader, at, is_start);
}

/* The sequence of the damaged record, or a lower bound. */
static uint64_t damaged_sequence(const struct sw_wal_run *run, uint64_t first_behind)
{
    return run->last != 0 ? run->last + 1 : first_behind > 1 ? first_behind - 1 : UINT64_MAX;
}

/* Where does the record end that begins at the end of the run, if its header holds? */
static uint64_t end_of_record(const struct sw_wal_reader *reader, uint64_t at)
{
    struct sw_wal_record record;
    return at + SW_WAL_RECORD_BYTES <= reader->size &&
                   sw_wal_record_decode(reader->bytes + at, reader->segment->salt, &record)
               ? at + (uint64_t)record.units * SW_WAL_ALIGN
               : 0;
}

static void look_for_damage(const struct sw_wal_reader *reader, uint64_t file_bytes,
                            uint64_t first_behind, struct sw_wal_run *run)
{
    const uint64_t at = run->end, page = sw_wal_align(at, SW_WAL_PAGE);
    const uint64_t line = at + SW_WAL_RECORD_BYTES;
    if (run->is_ended || run->is_sealed || run->is_unknown || run->evidence > run->last) {
        return; /* nothing follows, or what follows was durable, which says more */
    }
    bool is_here = is_damaged_at(reader, at, true);
    bool is_next_page = !is_here && page != at && is_zero(reader->bytes, reader->size, at, line) &&
                        is_damaged_at(reader, page, false);
    if (is_here || is_next_page || reader->segment->bytes > file_bytes) {
        run->damaged = damaged_sequence(run, first_behind);
    }
}

void sw_wal_run_read(const uint8_t *bytes, uint64_t size, uint64_t file_bytes,
                     const struct sw_wal_segment *segment, const uint8_t boot[SW_BOOT_ID_BYTES],
                     struct sw_wal_run *run)
{
    static const uint8_t unknown[SW_BOOT_ID_BYTES];
    struct sw_wal_reader reader;
    struct sw_wal_record record;
    const uint8_t *columns;
    *run = (struct sw_wal_run){.evidence = segment->through};
    sw_wal_reader_init(&reader, bytes, size, segment);
    reader.is_same_boot = memcmp(boot, segment->boot, sizeof(unknown)) == 0 &&
                          memcmp(boot, unknown, sizeof(unknown)) != 0;
    while (sw_wal_reader_next(&reader, &record, &columns)) {
        if (run->first == 0 && sw_wal_is_write(&record)) {
            run->first = record.sequence;
        }
        run->last = record.sequence;
        run->is_sealed = record.kind == SW_WAL_SEAL;
        run->is_ended = record.kind == SW_WAL_END;
        raise_to(&run->evidence, record.synced);
        raise_to(&run->evidence, run->is_ended ? record.sequence : 0);
    }
    run->end = reader.at;
    run->is_unknown = reader.unknown;
    look_for_damage(&reader, file_bytes, search(bytes, size, segment, run), run);
    raise_to(&run->wants, end_of_record(&reader, run->end));
    raise_to(&run->wants, end_of_record(&reader, sw_wal_align(run->end, SW_WAL_PAGE)));
    run->wants = run->wants > size && run->wants <= file_bytes ? run->wants : 0;
}
