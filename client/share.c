/* SPDX-License-Identifier: MIT
 *
 * share.c - splits the keys of a request among the shards of a cluster, and joins the answers.
 */
#include "client/share.h"

#include <stdlib.h>
#include <string.h>

/* The first room of a share, in keys. */
#define SHARE_KEYS 256

/* Makes room for more keys. */
static bool grow(struct sw_client_share *share, uint32_t key_bytes, uint32_t value_bytes)
{
    uint32_t room = share->room == 0 ? SHARE_KEYS : 2 * share->room;
    uint8_t *keys = realloc(share->keys, (size_t)room * key_bytes);
    if (keys == NULL) {
        return false;
    }
    share->keys = keys;
    uint8_t *values = realloc(share->values, (size_t)room * value_bytes);
    if (values == NULL) {
        return false;
    }
    share->values = values;
    share->room = room;
    return true;
}

/* Adds the time of the key that is added next. */
static bool add_time(struct sw_client_share *share, uint64_t time_ms)
{
    if (share->count == share->times_room) {
        uint32_t room = share->times_room == 0 ? SHARE_KEYS : 2 * share->times_room;
        uint64_t *times = realloc(share->times_ms, room * sizeof(*times));
        if (times == NULL) {
            return false;
        }
        share->times_ms = times;
        share->times_room = room;
    }
    share->times_ms[share->count] = time_ms;
    return true;
}

/* Makes room for `count` shares; new shares have no memory yet. */
static bool have_shares(struct sw_client_job *job, uint32_t count)
{
    if (count > job->shares_room) {
        uint32_t room = 2 * count;
        struct sw_client_share *shares = realloc(job->shares, room * sizeof(*shares));
        if (shares == NULL) {
            return false;
        }
        memset(shares + job->shares_room, 0, (room - job->shares_room) * sizeof(*shares));
        job->shares = shares;
        job->shares_room = room;
    }
    return true;
}

/* Begins a share without keys. */
static void begin(struct sw_client_job *job, uint32_t number, uint32_t shard)
{
    struct sw_client_share *share = &job->shares[number];
    share->count = share->next = 0;
    share->state = SW_CLIENT_SHARE_EMPTY;
    share->shard = (uint16_t)shard;
    share->attempts = share->frozen = 0;
    share->refusal = 0;
    share->job = job;
}

static bool have_where(struct sw_client_job *job)
{
    if (job->count > job->where_room) {
        uint16_t *where = realloc(job->where, job->count * sizeof(*where));
        if (where == NULL) {
            return false;
        }
        job->where = where;
        job->where_room = job->count;
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

/* Where keys come from, and how wide they and their operands are. */
struct source {
    const uint8_t *keys;
    const uint8_t *values;    /* or NULL */
    const uint64_t *times_ms; /* or NULL */
    uint32_t count;
};

/* The pass over the keys of a source. Inlined for each pair of widths, which are constants then. */
static inline __attribute__((always_inline)) int
split(struct sw_client_job *job, const struct source *from, uint16_t *where,
      const struct sw_topology *topology, uint32_t *bad, uint32_t key_bytes, uint32_t value_bytes)
{
    const struct sw_slot_tables *tables = sw_slot_tables();
    struct sw_client_share *shares = job->shares;
    for (uint32_t i = 0; i < from->count; i++) {
        uint64_t key = load_key(from->keys + (size_t)i * key_bytes, key_bytes);
        unsigned slot = slot_of(tables, key, key_bytes, topology->is_raw);
        uint16_t shard = topology->owner[slot];
        if (shard == SW_TOPOLOGY_NOBODY) {
            *bad = slot;
            return SHERWOOD_E_SHARD;
        }
        struct sw_client_share *share = &shares[shard];
        if (share->count == share->room && !grow(share, key_bytes, value_bytes)) {
            return SHERWOOD_E_NOMEM;
        }
        if (from->times_ms != NULL && !add_time(share, from->times_ms[i])) {
            return SHERWOOD_E_NOMEM;
        }
        where[i] = shard;
        memcpy(share->keys + (size_t)share->count * key_bytes, from->keys + (size_t)i * key_bytes,
               key_bytes);
        if (from->values != NULL) {
            memcpy(share->values + (size_t)share->count * value_bytes,
                   from->values + (size_t)i * value_bytes, value_bytes);
        }
        share->count++;
    }
    return SHERWOOD_OK;
}

static int split_source(struct sw_client_job *job, const struct source *from, uint16_t *where,
                        const struct sw_topology *topology, uint32_t *bad)
{
    if (job->key_bytes == 4 && job->operand_bytes == 4) {
        return split(job, from, where, topology, bad, 4, 4);
    }
    if (job->key_bytes == 8 && job->operand_bytes == 8) {
        return split(job, from, where, topology, bad, 8, 8);
    }
    return split(job, from, where, topology, bad, job->key_bytes, job->operand_bytes);
}

int sw_client_split(struct sw_client_job *job, const struct sw_topology *topology, uint32_t *slot)
{
    bool operands = sw_operation_has_operands((uint32_t)job->operation);
    if (!have_where(job) || !have_shares(job, topology->shard_count)) {
        return SHERWOOD_E_NOMEM;
    }
    for (uint32_t s = 0; s < topology->shard_count; s++) {
        begin(job, s, s);
    }
    job->shares_count = topology->shard_count;
    uint32_t at = 0;
    for (uint32_t p = 0; p < job->pieces_count; p++) {
        const struct sherwood_piece *piece = &job->pieces[p];
        const uint64_t *times = job->details.times_ms;
        const struct source from = {piece->keys, operands ? piece->values : NULL,
                                    times == NULL ? NULL : times + at, piece->count};
        int rc = split_source(job, &from, job->where + at, topology, slot);
        if (rc != SHERWOOD_OK) {
            return rc;
        }
        at += piece->count;
    }
    for (uint32_t s = 0; s < job->shares_count; s++) {
        if (job->shares[s].count > 0) {
            job->shares[s].state = SW_CLIENT_SHARE_WAITING;
            job->open++;
        }
    }
    return SHERWOOD_OK;
}

/* Appends a key of another share of the job. */
static bool append(struct sw_client_job *job, uint32_t to, uint32_t from, uint32_t at)
{
    struct sw_client_share *share = &job->shares[to];
    const struct sw_client_share *other = &job->shares[from];
    uint32_t kb = job->key_bytes, vb = job->operand_bytes;
    if (share->count == share->room && !grow(share, kb, vb)) {
        return false;
    }
    if (job->details.times_ms != NULL && !add_time(share, other->times_ms[at])) {
        return false;
    }
    memcpy(share->keys + (size_t)share->count * kb, other->keys + (size_t)at * kb, kb);
    memcpy(share->values + (size_t)share->count * vb, other->values + (size_t)at * vb, vb);
    share->count++;
    return true;
}

/* Gives the keys of a share to new ones. Returns as sw_client_split does. */
static int spread(struct sw_client_job *job, uint32_t share, const struct sw_topology *topology,
                  uint32_t *places, uint32_t *bad)
{
    const struct sw_slot_tables *tables = sw_slot_tables();
    for (uint32_t i = 0; i < job->shares[share].count; i++) {
        uint64_t key =
            load_key(job->shares[share].keys + (size_t)i * job->key_bytes, job->key_bytes);
        unsigned slot = slot_of(tables, key, job->key_bytes, topology->is_raw);
        uint16_t shard = topology->owner[slot];
        if (shard == SW_TOPOLOGY_NOBODY) {
            *bad = slot;
            return SHERWOOD_E_SHARD;
        }
        if (places[shard] == UINT32_MAX) {
            if (job->shares_count == UINT16_MAX || !have_shares(job, job->shares_count + 1)) {
                return SHERWOOD_E_NOMEM;
            }
            places[shard] = job->shares_count;
            begin(job, job->shares_count, shard);
            job->shares[job->shares_count].attempts = job->shares[share].attempts;
            job->shares[job->shares_count++].frozen = job->shares[share].frozen;
        }
        if (!append(job, places[shard], share, i)) {
            return SHERWOOD_E_NOMEM;
        }
    }
    return SHERWOOD_OK;
}

int sw_client_split_again(struct sw_client_job *job, uint32_t share,
                          const struct sw_topology *topology, uint32_t *places, uint32_t *slot)
{
    const struct sw_slot_tables *tables = sw_slot_tables();
    const uint32_t before = job->shares_count;
    for (uint32_t s = 0; s < topology->shard_count; s++) {
        places[s] = UINT32_MAX;
    }
    int rc = spread(job, share, topology, places, slot);
    if (rc != SHERWOOD_OK) {
        job->shares_count = before;
        return rc;
    }
    uint32_t at = 0;
    for (uint32_t i = 0; i < job->count; i++) {
        if (job->where[i] == share) {
            uint64_t key =
                load_key(job->shares[share].keys + (size_t)at++ * job->key_bytes, job->key_bytes);
            uint16_t shard =
                topology->owner[slot_of(tables, key, job->key_bytes, topology->is_raw)];
            job->where[i] = (uint16_t)places[shard];
        }
    }
    for (uint32_t s = before; s < job->shares_count; s++) {
        job->shares[s].state = SW_CLIENT_SHARE_WAITING;
        job->open++;
    }
    job->shares[share].state = SW_CLIENT_SHARE_EMPTY;
    job->open--;
    return SHERWOOD_OK;
}

bool sw_client_share_room(struct sw_client_share *share)
{
    const struct sw_client_job *job = share->job;
    if (share->count <= share->answer_room) {
        return true;
    }
    uint8_t *previous = realloc(share->previous, (size_t)share->room * job->answer_bytes);
    if (previous == NULL) {
        return false;
    }
    share->previous = previous;
    uint64_t *found = realloc(share->found, sw_found_bytes(share->room));
    if (found == NULL) {
        return false;
    }
    share->found = found;
    share->answer_room = share->room;
    return true;
}

/* --- joining ---------------------------------------------------------------------------------- */

static inline __attribute__((always_inline)) void join_values(struct sw_client_share *shares,
                                                              const uint16_t *where,
                                                              const struct sherwood_piece *piece,
                                                              uint32_t value_bytes)
{
    uint8_t *out = piece->previous;
    for (uint32_t i = 0; i < piece->count; i++) {
        struct sw_client_share *share = &shares[where[i]];
        memcpy(out + (size_t)i * value_bytes, share->previous + (size_t)share->next++ * value_bytes,
               value_bytes);
    }
}

/* Where the caller does not want the values of a piece, those of the next one begin later. */
static void skip_values(struct sw_client_share *shares, const uint16_t *where, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        shares[where[i]].next++;
    }
}

static void join_piece(struct sw_client_job *job, const uint16_t *where,
                       const struct sherwood_piece *piece)
{
    if (piece->previous == NULL) {
        skip_values(job->shares, where, piece->count);
    } else if (job->answer_bytes == 4) {
        join_values(job->shares, where, piece, 4);
    } else if (job->answer_bytes == 8) {
        join_values(job->shares, where, piece, 8);
    } else {
        join_values(job->shares, where, piece, job->answer_bytes);
    }
}

static void join_found(struct sw_client_job *job)
{
    for (uint32_t i = 0; i < job->count; i += 64) {
        uint32_t bits = job->count - i < 64 ? job->count - i : 64;
        uint64_t word = 0;
        for (uint32_t b = 0; b < bits; b++) {
            struct sw_client_share *share = &job->shares[job->where[i + b]];
            uint32_t at = share->next++;
            word |= (share->found[at / 64] >> (at % 64) & 1) << b;
        }
        job->answers_found[i / 64] = word;
    }
}

void sw_client_join(struct sw_client_job *job)
{
    bool any = false;
    for (uint32_t p = 0; p < job->pieces_count; p++) {
        any |= job->pieces[p].previous != NULL;
    }
    uint32_t at = 0;
    for (uint32_t p = 0; any && p < job->pieces_count; p++) {
        join_piece(job, job->where + at, &job->pieces[p]);
        at += job->pieces[p].count;
    }
    for (uint32_t s = 0; s < job->shares_count; s++) {
        job->shares[s].next = 0;
    }
    if (job->answers_found != NULL) {
        join_found(job);
    }
}

static void free_arrays(struct sw_client_job *job)
{
    for (uint32_t s = 0; s < job->shares_room; s++) {
        struct sw_client_share *share = &job->shares[s];
        free(share->keys);
        free(share->values);
        free(share->times_ms);
        free(share->previous);
        free(share->found);
        share->keys = share->values = share->previous = NULL;
        share->times_ms = NULL;
        share->found = NULL;
        share->room = share->times_room = share->answer_room = 0;
    }
}

void sw_client_job_describe(struct sw_client_job *job, enum sherwood_operation operation,
                            const struct sw_client_details *details)
{
    struct sw_request header = {.operation = (uint32_t)operation, .value_bytes = job->value_bytes};
    sw_client_add_details(&header, details);
    const uint32_t operand = sw_request_operand_bytes(&header);
    const uint32_t answer = sw_request_answer_bytes(&header);
    const uint32_t operand_bytes = operand > 0 ? operand : job->value_bytes;
    const uint32_t answer_bytes = answer > 0 ? answer : job->value_bytes;
    if (operand_bytes != job->operand_bytes || answer_bytes != job->answer_bytes) {
        free_arrays(job);
    }
    job->operation = operation;
    job->details = *details;
    job->operand_bytes = operand_bytes;
    job->answer_bytes = answer_bytes;
}

void sw_client_job_free(struct sw_client_job *job)
{
    if (job != NULL) {
        free_arrays(job);
        free(job->shares);
        free(job->where);
    }
    free(job);
}
