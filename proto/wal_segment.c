/* SPDX-License-Identifier: MIT
 *
 * wal_segment.c - reading the records of a segment.
 */
#include "proto/wal_segment.h"

#include "proto/check.h"

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

/* Looks for records behind the run. Their sequences say nothing, for they may be of a life that was
 * cut off; what they say was durable before they were written was. */
static void search(const uint8_t *bytes, uint64_t size, const struct sw_wal_segment *segment,
                   struct sw_wal_run *run)
{
    struct sw_wal_record record;
    for (uint64_t at = run->end; at + SW_WAL_RECORD_BYTES <= size; at += SW_WAL_ALIGN) {
        if (sw_wal_record_decode(bytes + at, segment->salt, &record)) {
            raise_to(&run->evidence, record.synced);
            raise_to(&run->evidence, record.kind == SW_WAL_END ? record.sequence : 0);
            run->behind = run->behind == 0 ? record.sequence : run->behind;
        }
    }
}

void sw_wal_run_read(const uint8_t *bytes, uint64_t size, const struct sw_wal_segment *segment,
                     struct sw_wal_run *run)
{
    struct sw_wal_reader reader;
    struct sw_wal_record record;
    const uint8_t *columns;
    *run = (struct sw_wal_run){.evidence = segment->through};
    sw_wal_reader_init(&reader, bytes, size, segment);
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
    search(bytes, size, segment, run);
}
