/* SPDX-License-Identifier: MIT
 *
 * shard_request.c - splits the keys of a request among the shards of a cluster, and joins the
 * answers.
 */
#include "client/shard_request.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Keys for which a part first has room. */
#define PART_KEYS 256

/* As realloc, also for the values of a key set, which have 0 bytes: realloc would free them. */
static void *resize(void *memory, size_t bytes)
{
    return realloc(memory, bytes > 0 ? bytes : 1);
}

/* Makes room for more keys. */
static bool grow_part(struct sw_client_shard_request *part, uint32_t key_bytes,
                      uint32_t value_bytes)
{
    uint32_t room = part->room == 0 ? PART_KEYS : 2 * part->room;
    uint8_t *keys = realloc(part->keys, (size_t)room * key_bytes);
    if (keys == NULL) {
        return false;
    }
    part->keys = keys;
    uint8_t *values = resize(part->values, (size_t)room * value_bytes);
    if (values == NULL) {
        return false;
    }
    part->values = values;
    part->room = room;
    return true;
}

/* Adds the time of the next key. */
static bool add_time(struct sw_client_shard_request *part, uint64_t time_ms)
{
    if (part->count == part->times_room) {
        uint32_t room = part->times_room == 0 ? PART_KEYS : 2 * part->times_room;
        uint64_t *times = realloc(part->times_ms, room * sizeof(*times));
        if (times == NULL) {
            return false;
        }
        part->times_ms = times;
        part->times_room = room;
    }
    part->times_ms[part->count] = time_ms;
    return true;
}

/* Makes room for `count` parts; new parts have no memory yet. */
static bool reserve_parts(struct sw_client_cluster_request *request, uint32_t count)
{
    if (count > request->parts_room) {
        uint32_t room = 2 * count;
        struct sw_client_shard_request *parts = realloc(request->parts, room * sizeof(*parts));
        if (parts == NULL) {
            return false;
        }
        memset(parts + request->parts_room, 0, (room - request->parts_room) * sizeof(*parts));
        request->parts = parts;
        request->parts_room = room;
    }
    return true;
}

/* Begins a part without keys. */
static void begin_part(struct sw_client_cluster_request *request, uint32_t number, uint32_t shard)
{
    assert(number < request->parts_room);
    struct sw_client_shard_request *part = &request->parts[number];
    part->count = part->next = 0;
    part->state = SW_CLIENT_SHARD_REQUEST_EMPTY;
    part->shard = (uint16_t)shard;
    part->attempts = part->frozen = 0;
    part->refusal = 0;
    part->request = request;
}

static bool reserve_part_of(struct sw_client_cluster_request *request)
{
    if (request->count > request->part_of_room) {
        uint16_t *part_of = realloc(request->part_of, request->count * sizeof(*part_of));
        if (part_of == NULL) {
            return false;
        }
        request->part_of = part_of;
        request->part_of_room = request->count;
    }
    return true;
}

static inline uint64_t load_key(const uint8_t *keys, uint32_t key_bytes)
{
    uint32_t narrow;
    uint64_t wide;
    if (key_bytes == sizeof(narrow)) {
        memcpy(&narrow, keys, sizeof(narrow));
        return narrow;
    }
    memcpy(&wide, keys, sizeof(wide));
    return wide;
}

static inline unsigned slot_of(const struct sw_slot_tables *tables, uint64_t key,
                               uint32_t key_bytes, bool is_raw)
{
    if (is_raw) {
        return sw_slot_of_text(&key, key_bytes); /* little-endian, as the hosts are */
    }
    return key_bytes == sizeof(uint32_t) ? sw_slot_of_u32(tables, (uint32_t)key)
                                         : sw_slot_of_u64(tables, key);
}

/* The keys that are split, and the widths of the keys and their operands. */
struct source {
    const uint8_t *keys;
    const uint8_t *values;    /* or NULL */
    const uint64_t *times_ms; /* or NULL */
    uint32_t count;
};

/* Splits the keys of a source in one pass. Inlined for each pair of widths, which are then
 * constants. */
static inline __attribute__((always_inline)) int
split(struct sw_client_cluster_request *request, const struct source *from, uint16_t *part_of,
      const struct sw_topology *topology, uint32_t *bad, uint32_t key_bytes, uint32_t value_bytes)
{
    const struct sw_slot_tables *tables = sw_slot_tables();
    struct sw_client_shard_request *parts = request->parts;
    for (uint32_t i = 0; i < from->count; i++) {
        uint64_t key = load_key(from->keys + (size_t)i * key_bytes, key_bytes);
        unsigned slot = slot_of(tables, key, key_bytes, topology->is_raw);
        uint16_t shard = topology->owner[slot];
        if (shard == SW_TOPOLOGY_NOBODY) {
            *bad = slot;
            return SHERWOOD_E_SHARD;
        }
        struct sw_client_shard_request *part = &parts[shard];
        if (part->count == part->room && !grow_part(part, key_bytes, value_bytes)) {
            return SHERWOOD_E_NOMEM;
        }
        if (from->times_ms != NULL && !add_time(part, from->times_ms[i])) {
            return SHERWOOD_E_NOMEM;
        }
        part_of[i] = shard;
        memcpy(part->keys + (size_t)part->count * key_bytes, from->keys + (size_t)i * key_bytes,
               key_bytes);
        if (from->values != NULL) {
            memcpy(part->values + (size_t)part->count * value_bytes,
                   from->values + (size_t)i * value_bytes, value_bytes);
        }
        part->count++;
    }
    return SHERWOOD_OK;
}

static int split_source(struct sw_client_cluster_request *request, const struct source *from,
                        uint16_t *part_of, const struct sw_topology *topology, uint32_t *bad)
{
    if (request->key_bytes == 4 && request->operand_bytes == 4) {
        return split(request, from, part_of, topology, bad, 4, 4);
    }
    if (request->key_bytes == 8 && request->operand_bytes == 8) {
        return split(request, from, part_of, topology, bad, 8, 8);
    }
    return split(request, from, part_of, topology, bad, request->key_bytes, request->operand_bytes);
}

int sw_client_split(struct sw_client_cluster_request *request, const struct sw_topology *topology,
                    uint32_t *slot)
{
    bool operands = sw_operation_has_operands((uint32_t)request->operation);
    if (!reserve_part_of(request) || !reserve_parts(request, topology->shard_count)) {
        return SHERWOOD_E_NOMEM;
    }
    for (uint32_t s = 0; s < topology->shard_count; s++) {
        begin_part(request, s, s);
    }
    request->parts_count = topology->shard_count;
    uint32_t at = 0;
    for (uint32_t p = 0; p < request->pieces_count; p++) {
        const struct sherwood_piece *piece = &request->pieces[p];
        const uint64_t *times = request->details.times_ms;
        const struct source from = {piece->keys, operands ? piece->values : NULL,
                                    times == NULL ? NULL : times + at, piece->count};
        int rc = split_source(request, &from, request->part_of + at, topology, slot);
        if (rc != SHERWOOD_OK) {
            return rc;
        }
        at += piece->count;
    }
    for (uint32_t s = 0; s < request->parts_count; s++) {
        if (request->parts[s].count > 0) {
            request->parts[s].state = SW_CLIENT_SHARD_REQUEST_WAITING;
            request->open++;
        }
    }
    return SHERWOOD_OK;
}

/* Appends a key of another part of the request. */
static bool append_key(struct sw_client_cluster_request *request, uint32_t to, uint32_t from,
                       uint32_t at)
{
    struct sw_client_shard_request *part = &request->parts[to];
    const struct sw_client_shard_request *other = &request->parts[from];
    uint32_t kb = request->key_bytes, vb = request->operand_bytes;
    if (part->count == part->room && !grow_part(part, kb, vb)) {
        return false;
    }
    if (request->details.times_ms != NULL && !add_time(part, other->times_ms[at])) {
        return false;
    }
    memcpy(part->keys + (size_t)part->count * kb, other->keys + (size_t)at * kb, kb);
    memcpy(part->values + (size_t)part->count * vb, other->values + (size_t)at * vb, vb);
    part->count++;
    return true;
}

/* Appends the keys of a part to new parts. Returns as sw_client_split does. */
static int split_part(struct sw_client_cluster_request *request, uint32_t part,
                      const struct sw_topology *topology, uint32_t *places, uint32_t *bad)
{
    const struct sw_slot_tables *tables = sw_slot_tables();
    for (uint32_t i = 0; i < request->parts[part].count; i++) {
        uint64_t key = load_key(request->parts[part].keys + (size_t)i * request->key_bytes,
                                request->key_bytes);
        unsigned slot = slot_of(tables, key, request->key_bytes, topology->is_raw);
        uint16_t shard = topology->owner[slot];
        if (shard == SW_TOPOLOGY_NOBODY) {
            *bad = slot;
            return SHERWOOD_E_SHARD;
        }
        if (places[shard] == UINT32_MAX) {
            if (request->parts_count == UINT16_MAX ||
                !reserve_parts(request, request->parts_count + 1)) {
                return SHERWOOD_E_NOMEM;
            }
            places[shard] = request->parts_count;
            begin_part(request, request->parts_count, shard);
            request->parts[request->parts_count].attempts = request->parts[part].attempts;
            request->parts[request->parts_count++].frozen = request->parts[part].frozen;
        }
        if (!append_key(request, places[shard], part, i)) {
            return SHERWOOD_E_NOMEM;
        }
    }
    return SHERWOOD_OK;
}

int sw_client_split_again(struct sw_client_cluster_request *request, uint32_t part,
                          const struct sw_topology *topology, uint32_t *places, uint32_t *slot)
{
    const struct sw_slot_tables *tables = sw_slot_tables();
    const uint32_t before = request->parts_count;
    assert(part < before && request->open > 0);
    for (uint32_t s = 0; s < topology->shard_count; s++) {
        places[s] = UINT32_MAX;
    }
    int rc = split_part(request, part, topology, places, slot);
    if (rc != SHERWOOD_OK) {
        request->parts_count = before;
        return rc;
    }
    uint32_t at = 0;
    for (uint32_t i = 0; i < request->count; i++) {
        if (request->part_of[i] == part) {
            uint64_t key = load_key(request->parts[part].keys + (size_t)at++ * request->key_bytes,
                                    request->key_bytes);
            uint16_t shard =
                topology->owner[slot_of(tables, key, request->key_bytes, topology->is_raw)];
            request->part_of[i] = (uint16_t)places[shard];
        }
    }
    for (uint32_t s = before; s < request->parts_count; s++) {
        request->parts[s].state = SW_CLIENT_SHARD_REQUEST_WAITING;
        request->open++;
    }
    request->parts[part].state = SW_CLIENT_SHARD_REQUEST_EMPTY;
    request->open--;
    return SHERWOOD_OK;
}

bool sw_client_shard_request_reserve_answers(struct sw_client_shard_request *part)
{
    const struct sw_client_cluster_request *request = part->request;
    assert(part->count <= part->room);
    if (part->count <= part->answer_room) {
        return true;
    }
    uint8_t *previous = resize(part->previous, (size_t)part->room * request->answer_bytes);
    if (previous == NULL) {
        return false;
    }
    part->previous = previous;
    uint64_t *found = realloc(part->found, sw_found_bytes(part->room));
    if (found == NULL) {
        return false;
    }
    part->found = found;
    part->answer_room = part->room;
    return true;
}

/* --- joining ---------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void join_values(struct sw_client_shard_request *parts,
                                                              const uint16_t *part_of,
                                                              const struct sherwood_piece *piece,
                                                              uint32_t value_bytes)
{
    uint8_t *out = piece->previous;
    for (uint32_t i = 0; i < piece->count; i++) {
        struct sw_client_shard_request *part = &parts[part_of[i]];
        memcpy(out + (size_t)i * value_bytes, part->previous + (size_t)part->next++ * value_bytes,
               value_bytes);
    }
}

/* Skips the values of pieces whose values the caller does not want. */
static void skip_values(struct sw_client_shard_request *parts, const uint16_t *part_of,
                        uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        parts[part_of[i]].next++;
    }
}

static void join_piece(struct sw_client_cluster_request *request, const uint16_t *part_of,
                       const struct sherwood_piece *piece)
{
    if (piece->previous == NULL) {
        skip_values(request->parts, part_of, piece->count);
    } else if (request->answer_bytes == 4) {
        join_values(request->parts, part_of, piece, 4);
    } else if (request->answer_bytes == 8) {
        join_values(request->parts, part_of, piece, 8);
    } else {
        join_values(request->parts, part_of, piece, request->answer_bytes);
    }
}

static void join_found(struct sw_client_cluster_request *request)
{
    for (uint32_t i = 0; i < request->count; i += 64) {
        uint32_t bits = request->count - i < 64 ? request->count - i : 64;
        uint64_t word = 0;
        for (uint32_t b = 0; b < bits; b++) {
            struct sw_client_shard_request *part = &request->parts[request->part_of[i + b]];
            uint32_t at = part->next++;
            word |= (part->found[at / 64] >> (at % 64) & 1) << b;
        }
        request->answers_found[i / 64] = word;
    }
}

void sw_client_join(struct sw_client_cluster_request *request)
{
    bool any = false;
    assert(request->open == 0);
    for (uint32_t p = 0; p < request->pieces_count; p++) {
        any |= request->pieces[p].previous != NULL;
    }
    uint32_t at = 0;
    for (uint32_t p = 0; any && p < request->pieces_count; p++) {
        join_piece(request, request->part_of + at, &request->pieces[p]);
        at += request->pieces[p].count;
    }
    for (uint32_t s = 0; s < request->parts_count; s++) {
        request->parts[s].next = 0;
    }
    if (request->answers_found != NULL) {
        join_found(request);
    }
}

static void free_arrays(struct sw_client_cluster_request *request)
{
    for (uint32_t s = 0; s < request->parts_room; s++) {
        struct sw_client_shard_request *part = &request->parts[s];
        free(part->keys);
        free(part->values);
        free(part->times_ms);
        free(part->previous);
        free(part->found);
        part->keys = part->values = part->previous = NULL;
        part->times_ms = NULL;
        part->found = NULL;
        part->room = part->times_room = part->answer_room = 0;
    }
}

void sw_client_cluster_request_describe(struct sw_client_cluster_request *request,
                                        enum sherwood_operation operation,
                                        const struct sw_client_details *details)
{
    struct sw_request header = {.operation = (uint32_t)operation,
                                .value_bytes = request->value_bytes};
    sw_client_add_details(&header, details);
    const uint32_t operand = sw_request_operand_bytes(&header);
    const uint32_t answer = sw_request_answer_bytes(&header);
    const uint32_t operand_bytes = operand > 0 ? operand : request->value_bytes;
    const uint32_t answer_bytes = answer > 0 ? answer : request->value_bytes;
    if (operand_bytes != request->operand_bytes || answer_bytes != request->answer_bytes) {
        free_arrays(request);
    }
    request->operation = operation;
    request->details = *details;
    request->operand_bytes = operand_bytes;
    request->answer_bytes = answer_bytes;
}

void sw_client_cluster_request_free(struct sw_client_cluster_request *request)
{
    if (request != NULL) {
        free_arrays(request);
        free(request->parts);
        free(request->part_of);
    }
    free(request);
}
