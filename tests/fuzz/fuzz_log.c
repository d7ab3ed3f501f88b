/* SPDX-License-Identifier: MIT
 *
 * fuzz_log.c - libFuzzer target for the reader of the write-ahead log: segments whose checks hold,
 * whatever their fields say, and what a start makes of them.
 *
 * The input is: segments (1 to 4), base, named; then of each segment its number, through, width of
 * keys and values, the length of its records (2 bytes), and these. A byte each, little-endian. The
 * checks of what begins as a record are put in here.
 */
#include <string.h>

#include "proto/check.h"
#include "proto/wal_plan.h"
#include "tests/fuzz/require.h"

#define SEGMENTS_MAX 4
#define RECORDS_BYTES_MAX 8192
#define SEGMENT_BYTES (SW_WAL_HEADER_BYTES + RECORDS_BYTES_MAX)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *data;
    size_t size;
};

static uint8_t take(struct input *input)
{
    if (input->size == 0) {
        return 0;
    }
    input->size--;
    return *input->data++;
}

/* Puts the checks into what begins as a record at `at`. Returns where the next one may begin. */
static size_t seal(uint8_t *bytes, size_t at, uint64_t salt)
{
    static const uint8_t magic[4] = {'S', 'W', 'R', '1'};
    uint32_t units;
    if (memcmp(bytes + at, magic, sizeof(magic)) != 0) {
        return at + SW_WAL_ALIGN;
    }
    memcpy(&units, bytes + at + 36, sizeof(units));
    uint64_t length = (uint64_t)units * SW_WAL_ALIGN;
    bool fits = units > 0 && length <= SEGMENT_BYTES - at;
    uint64_t check =
        fits ? sw_check64(bytes + at + SW_WAL_RECORD_BYTES, length - SW_WAL_RECORD_BYTES, salt) : 0;
    memcpy(bytes + at + 48, &check, sizeof(check));
    check = sw_check64(bytes + at, 56, salt);
    memcpy(bytes + at + 56, &check, sizeof(check));
    return at + (fits ? (size_t)length : SW_WAL_ALIGN);
}

static void make_segment(struct input *input, uint8_t bytes[SEGMENT_BYTES], uint64_t *number)
{
    struct sw_wal_segment segment = {.log_id = {1}, .shape = {.engine = 0}};
    segment.number = *number = take(input);
    segment.salt = 77 + segment.number;
    segment.through = take(input);
    segment.shape.key_bytes = take(input) % 2 == 0 ? 8 : 4;
    segment.shape.value_bytes = segment.shape.key_bytes;
    size_t length = take(input);
    length |= (size_t)take(input) << 8;
    length = length < input->size ? length : input->size;
    length = length < RECORDS_BYTES_MAX ? length : RECORDS_BYTES_MAX;
    memset(bytes, 0, SEGMENT_BYTES);
    sw_wal_segment_encode(&segment, bytes);
    memcpy(bytes + SW_WAL_HEADER_BYTES, input->data, length);
    input->data += length;
    input->size -= length;
    for (size_t at = SW_WAL_HEADER_BYTES; at + SW_WAL_RECORD_BYTES <= SEGMENT_BYTES;) {
        at = seal(bytes, at, segment.salt);
    }
}

/* Every column of a record that was read lies in the segment. The shape of another table is not
 * known here, and only a replay asks whether the record holds its columns. */
static void touch(const struct sw_wal_record *record, const struct sw_wal_shape *shape,
                  const uint8_t *columns, const uint8_t *end)
{
    struct sw_wal_columns bytes = sw_wal_columns(shape, record);
    if ((record->flags & SW_WAL_HAS_TABLE) != 0 && !sw_wal_record_holds_columns(record, shape)) {
        require(!sw_wal_has_message(record));
        return;
    }
    uint64_t all = sw_wal_columns_bytes(&bytes);
    require(all <= (uint64_t)(end - columns));
    require(all == 0 || sw_check64(columns, all, 1) != 1);
}

/* Reads a segment to the end of its run, and checks that it is one. */
static void check_run(const struct sw_wal_found *found, const uint8_t *bytes)
{
    struct sw_wal_reader reader;
    struct sw_wal_record record;
    const uint8_t *columns;
    uint64_t first = 0, last = 0;
    sw_wal_reader_init(&reader, bytes, SEGMENT_BYTES, &found->segment);
    while (sw_wal_reader_next(&reader, &record, &columns)) {
        touch(&record, &found->segment.shape, columns, bytes + SEGMENT_BYTES);
        if (sw_wal_is_write(&record)) {
            require(last == 0 || record.sequence == last + 1);
            first = first == 0 ? record.sequence : first;
        }
        last = record.sequence;
        require(reader.at <= SEGMENT_BYTES);
    }
    require(reader.at == found->run.end && first == found->run.first);
    require(found->run.evidence >= found->segment.through);
}

/* A record that has a byte changed is not read, nor what is behind it. */
static void check_flip(const struct sw_wal_found *found, uint8_t *bytes, size_t at, uint8_t bit)
{
    struct sw_wal_reader reader;
    struct sw_wal_record record;
    const uint8_t *columns;
    bytes[at] ^= bit;
    sw_wal_reader_init(&reader, bytes, SEGMENT_BYTES, &found->segment);
    while (sw_wal_reader_next(&reader, &record, &columns)) {
        size_t begin = (size_t)(columns - bytes) - SW_WAL_RECORD_BYTES;
        require(at < begin || at >= reader.at);
    }
    bytes[at] ^= bit;
}

/* The plan of a start has no gap, and every write of the plan can be read. */
static void check_plan(const struct sw_wal_plan *plan, const struct sw_wal_found *found,
                       uint8_t (*bytes)[SEGMENT_BYTES], const uint8_t *places)
{
    uint64_t next = plan->base + 1;
    require(plan->evidence <= plan->end);
    for (size_t i = 0; i < plan->pieces; i++) {
        const struct sw_wal_piece *piece = &plan->piece[i];
        struct sw_wal_reader reader;
        struct sw_wal_record record;
        const uint8_t *columns;
        require(piece->from == next && piece->to >= piece->from);
        sw_wal_reader_init(&reader, bytes[places[piece->segment]], SEGMENT_BYTES,
                           &found[piece->segment].segment);
        while (sw_wal_reader_next(&reader, &record, &columns)) {
            next += sw_wal_is_write(&record) && record.sequence == next && next <= piece->to;
        }
        require(next == piece->to + 1);
    }
    require(next == plan->end + 1);
}

/* Sorts the segments by number, and drops those whose number is another's: names are unique. */
static size_t sort(struct sw_wal_found *found, uint8_t *places, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        struct sw_wal_found one = found[i];
        size_t at = kept;
        while (at > 0 && found[at - 1].number > one.number) {
            at--;
        }
        if (at > 0 && found[at - 1].number == one.number) {
            continue;
        }
        memmove(&found[at + 1], &found[at], (kept - at) * sizeof(*found));
        memmove(&places[at + 1], &places[at], kept - at);
        found[at] = one;
        places[at] = (uint8_t)i;
        kept++;
    }
    return kept;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t bytes[SEGMENTS_MAX][SEGMENT_BYTES];
    static const uint8_t boot[SW_BOOT_ID_BYTES];
    struct input input = {data, size};
    struct sw_wal_found found[SEGMENTS_MAX + 1] = {0};
    struct sw_wal_piece pieces[SEGMENTS_MAX];
    struct sw_wal_plan plan = {.piece = pieces};
    char refusal[SW_WAL_REFUSAL_BYTES] = "";
    uint8_t places[SEGMENTS_MAX + 1] = {0};
    size_t count = 1 + take(&input) % SEGMENTS_MAX;
    uint64_t base = take(&input), named = take(&input);
    for (size_t i = 0; i < count; i++) {
        make_segment(&input, bytes[i], &found[i].number);
        sw_wal_inspect(&found[i], bytes[i], SEGMENT_BYTES, SEGMENT_BYTES, boot);
        require(found[i].is_whole && !found[i].is_newer);
        check_run(&found[i], bytes[i]);
        check_flip(&found[i], bytes[i],
                   SW_WAL_HEADER_BYTES +
                       (size * 131 + (size == 0 ? 0U : data[size / 2] * 7U)) % RECORDS_BYTES_MAX,
                   (uint8_t)(1U << size % 8));
    }
    count = sort(found, places, count);
    if (sw_wal_plan(&plan, found, count, base, named, NULL, refusal)) {
        check_plan(&plan, found, bytes, places);
    } else {
        require(refusal[0] != '\0' && memchr(refusal, '\0', sizeof(refusal)) != NULL);
    }
    return 0;
}
