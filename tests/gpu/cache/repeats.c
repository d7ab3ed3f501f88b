/* SPDX-License-Identifier: MIT
 *
 * repeats.c - batches in which every key comes several times, on a cache that is full: what must
 * hold of each key in whatever order the operations were applied.
 */
#include "tests/gpu/cache/trial.h"

#include <stdlib.h>
#include <string.h>

/* An operation of a batch, to be sorted by key. */
struct turn {
    uint64_t key;
    uint32_t index;
};

struct repeats {
    const struct trial_setting *setting;
    struct trial_faults faults;
    struct sw_cache *cache;
    struct sw_cache_info info;
    struct random random;
    uint32_t ops;
    uint32_t version; /* of the value of the batch's first operation */
    uint64_t ticks;   /* of LRU's clock, before the batch */
    uint64_t rounds;  /* batches that used entries, before the batch */
    void *stream;
    struct turn *turns;
    struct sw_cache_batch batch;
    struct trial_contents *before;
    struct trial_contents *after;
    uint64_t *keys;
    uint64_t *scores;
    uint64_t *scores_out;
    uint8_t *values;
    uint8_t *values_out;
    uint8_t *results;
    struct sw_cache_counters *counters;
};

static void open_repeats(struct repeats *r, const struct trial_setting *setting,
                         const struct sw_cache_config *config)
{
    memset(r, 0, sizeof(*r));
    r->setting = setting;
    r->faults.name = "repeats";
    r->cache = trial_cache(setting, config, &r->info);
    r->random.state = setting->seed;
    r->ops = (uint32_t)r->info.config.capacity;
    r->stream = trial_stream(setting);
    r->turns = malloc(r->ops * sizeof(*r->turns));
    r->before = trial_contents(setting, r->cache);
    r->keys = trial_pinned(setting, r->ops * sizeof(uint64_t));
    r->scores = trial_pinned(setting, r->ops * sizeof(uint64_t));
    r->scores_out = trial_pinned(setting, r->ops * sizeof(uint64_t));
    r->values = trial_pinned(setting, (size_t)r->ops * config->value_bytes);
    r->values_out = trial_pinned(setting, (size_t)r->ops * config->value_bytes);
    r->results = trial_pinned(setting, r->ops);
    r->counters = trial_pinned(setting, sizeof(*r->counters));
}

static uint64_t close_repeats(struct repeats *r)
{
    void *memory[] = {r->keys,       r->scores,  r->scores_out, r->values,
                      r->values_out, r->results, r->counters};
    sw_cache_destroy(r->cache);
    trial_end_stream(r->setting, r->stream);
    for (size_t i = 0; i < sizeof(memory) / sizeof(memory[0]); i++) {
        trial_unpin(r->setting, memory[i]);
    }
    trial_contents_free(r->before);
    free(r->turns);
    return r->faults.count;
}

static int compare_turns(const void *a, const void *b)
{
    const struct turn *left = a;
    const struct turn *right = b;
    int keys = (left->key > right->key) - (left->key < right->key);
    return keys != 0 ? keys : (left->index > right->index) - (left->index < right->index);
}

static int compare_keys(const void *a, const void *b)
{
    uint64_t left = *(const uint64_t *)a;
    uint64_t right = *(const uint64_t *)b;
    return (left > right) - (left < right);
}

/* Where a key is among the contents, or -1. */
static int64_t find(const struct trial_contents *contents, uint64_t key)
{
    const uint64_t *at = bsearch(&key, contents->keys, contents->count, sizeof(key), compare_keys);
    return at == NULL ? -1 : at - contents->keys;
}

/* --- a key ------------------------------------------------------------------------------------ */

/* What the batch did to a key. */
struct story {
    const struct turn *turns;
    uint32_t count;
    uint32_t came;     /* results INSERTED and REPLACED */
    uint32_t hits;     /* results HIT */
    int64_t was;       /* in `before`, or -1 */
    int64_t is;        /* in `after`, or -1 */
    uint64_t given;    /* the sum of the scores of came and hits, */
    uint32_t last;     /* the last of them in the array, */
    uint64_t told_max; /* and the highest of their scores_out */
};

static bool made_entry(const struct repeats *r, uint32_t index)
{
    return r->results[index] == SW_CACHE_INSERTED || r->results[index] == SW_CACHE_REPLACED;
}

static struct story story_of(const struct repeats *r, const struct turn *turns, uint32_t count)
{
    struct story s = {.turns = turns, .count = count};
    s.was = find(r->before, turns->key);
    s.is = find(r->after, turns->key);
    for (uint32_t t = 0; t < count; t++) {
        uint32_t i = turns[t].index;
        if (made_entry(r, i) || r->results[i] == SW_CACHE_HIT) {
            s.came += made_entry(r, i);
            s.hits += r->results[i] == SW_CACHE_HIT;
            s.given += r->batch.scores == NULL ? 1 : r->scores[i];
            s.last = i;
            s.told_max = r->scores_out[i] > s.told_max ? r->scores_out[i] : s.told_max;
        }
    }
    return s;
}

/* Whether a value of the key is that of an operation on it that made an entry, or one that wrote.
 */
static bool is_of_batch(const struct repeats *r, uint64_t key, const uint8_t *value, bool made)
{
    uint32_t version;
    memcpy(&version, value, 4);
    uint32_t i = version - r->version;
    return i < r->batch.count && r->keys[i] == key &&
           (made_entry(r, i) || (!made && r->results[i] == SW_CACHE_HIT));
}

static bool is_of_before(const struct repeats *r, const struct story *s, const uint8_t *value)
{
    uint32_t bytes = r->info.config.value_bytes;
    return s->was >= 0 && memcmp(r->before->values + s->was * bytes, value, bytes) == 0;
}

static void check_presence(struct repeats *r, const struct story *s)
{
    uint64_t key = s->turns->key;
    bool was = s->was >= 0;
    bool is = s->is >= 0;
    bool right = is <= was + s->came && (s->hits == 0 || was || s->came > 0);
    if (r->batch.op == SW_CACHE_ERASE) {
        right = s->came == 0 && s->hits == was && !is;
    } else if (r->batch.op == SW_CACHE_ASSIGN) {
        right = s->came == 0 && s->hits == (was ? s->count : 0) && is == was;
    }
    if (!right) {
        trial_fault(&r->faults, "op %d: key %llu was there %d times, came %u, was hit %u, is %d",
                    (int)r->batch.op, (unsigned long long)key, was, s->came, s->hits, is);
    }
}

/* The value that is there in the end, and those that FIND_OR_INSERT told. */
static void check_values(struct repeats *r, const struct story *s)
{
    uint64_t key = s->turns->key;
    uint32_t bytes = r->info.config.value_bytes;
    bool finds = r->batch.op == SW_CACHE_FIND_OR_INSERT;
    if (s->is >= 0) {
        const uint8_t *value = r->after->values + s->is * bytes;
        bool written = s->came > 0 || (s->hits > 0 && !finds);
        if (!trial_value_checks(value, bytes, key) ||
            !(written ? is_of_batch(r, key, value, finds) : is_of_before(r, s, value))) {
            trial_fault(&r->faults, "op %d: a torn or foreign value of key %llu", (int)r->batch.op,
                        (unsigned long long)key);
        }
    }
    for (uint32_t t = 0; finds && t < s->count; t++) {
        uint32_t i = s->turns[t].index;
        const uint8_t *told = r->values_out + (size_t)i * bytes;
        bool right = memcmp(told, r->values + (size_t)i * bytes, bytes) == 0;
        if (r->results[i] == SW_CACHE_HIT) {
            right = trial_value_checks(told, bytes, key) &&
                    (is_of_before(r, s, told) || is_of_batch(r, key, told, true));
        }
        if (!right) {
            trial_fault(&r->faults, "find_or_insert of key %llu told another value",
                        (unsigned long long)key);
        }
    }
}

/* The score of a key that stayed since it was there or came. */
static void check_score(struct repeats *r, const struct story *s)
{
    uint64_t score = r->after->scores[s->is];
    uint64_t expected = s->given + (s->was >= 0 ? r->before->scores[s->was] : 0);
    switch (r->info.config.policy) {
    case SW_CACHE_LRU:
        expected = r->ticks + s->last;
        break;
    case SW_CACHE_EPOCH_LRU:
        expected = r->rounds;
        break;
    case SW_CACHE_CUSTOM:
        return; /* that of any */
    default:
        break;
    }
    if (score != expected || (r->batch.op == SW_CACHE_FIND_OR_INSERT && s->told_max != expected)) {
        trial_fault(&r->faults, "op %d: key %llu has score %llu, was told %llu, not %llu",
                    (int)r->batch.op, (unsigned long long)s->turns->key, (unsigned long long)score,
                    (unsigned long long)s->told_max, (unsigned long long)expected);
    }
}

/* --- a batch ---------------------------------------------------------------------------------- */

static void check_counters(struct repeats *r)
{
    struct sw_cache_counters sum = {0};
    for (uint32_t i = 0; i < r->batch.count; i++) {
        sum.hits += r->results[i] == SW_CACHE_HIT;
        sum.inserted += made_entry(r, i);
        sum.evicted += r->results[i] == SW_CACHE_REPLACED;
        sum.not_admitted += r->results[i] == SW_CACHE_REFUSED;
    }
    sum.misses = r->batch.count - sum.hits;
    sum.erased = r->batch.op == SW_CACHE_ERASE ? sum.hits : 0;
    if (memcmp(&sum, r->counters, sizeof(sum)) != 0 ||
        r->before->count + sum.inserted != r->after->count + sum.evicted + sum.erased) {
        trial_fault(&r->faults, "op %d: the counters are not those of the results",
                    (int)r->batch.op);
    }
}

static void check_keys(struct repeats *r)
{
    uint32_t count = r->batch.count;
    for (uint32_t i = 0; i < count; i++) {
        r->turns[i] = (struct turn){r->keys[i], i};
    }
    qsort(r->turns, count, sizeof(*r->turns), compare_turns);
    for (uint32_t first = 0, next; first < count; first = next) {
        next = first + 1;
        while (next < count && r->turns[next].key == r->turns[first].key) {
            next++;
        }
        struct story s = story_of(r, r->turns + first, next - first);
        check_presence(r, &s);
        check_values(r, &s);
        if (r->faults.count == 0 && s.is >= 0 && s.came + s.hits > 0 &&
            (s.was >= 0) + s.came == 1) {
            check_score(r, &s);
        }
    }
}

/* Carries out a batch of `count` operations on r->keys, and checks it. */
static void apply(struct repeats *r, enum sw_cache_op op, uint32_t count)
{
    enum sw_cache_policy policy = r->info.config.policy;
    bool timed = policy == SW_CACHE_LRU || policy == SW_CACHE_EPOCH_LRU;
    bool uses = op != SW_CACHE_ERASE;
    uint32_t bytes = r->info.config.value_bytes;
    for (uint32_t i = 0; i < count; i++) {
        r->scores[i] = 1 + random_below(&r->random, 20);
        trial_value(r->values + (size_t)i * bytes, bytes, r->keys[i], r->version + i);
    }
    memset(r->results, 0xa5, count);
    memset(r->counters, 0, sizeof(*r->counters));
    r->batch = (struct sw_cache_batch){
        .op = op,
        .count = count,
        .keys = r->keys,
        .values = uses ? r->values : NULL,
        .scores = uses && !timed ? r->scores : NULL,
        .values_out = op == SW_CACHE_FIND_OR_INSERT ? r->values_out : NULL,
        .scores_out = op == SW_CACHE_FIND_OR_INSERT ? r->scores_out : NULL,
        .results = r->results,
        .counters = r->counters,
    };
    trial_expect(&r->faults, sw_cache_submit(r->cache, &r->batch, r->stream), "submit");
    trial_expect(&r->faults, sw_cache_wait(r->cache, r->stream), "wait");
    trial_audit(&r->faults, r->cache);
    r->after = trial_contents(r->setting, r->cache);
    check_counters(r);
    check_keys(r);
    trial_contents_free(r->before);
    r->before = r->after;
    r->version += count;
    r->ticks += uses ? count : 0;
    r->rounds += uses;
}

/* Each key `copies` times, one after the other. */
static void repeat(struct repeats *r, enum sw_cache_op op, uint32_t copies)
{
    uint64_t key_count = 4 * r->info.config.capacity;
    for (uint32_t i = 0; i < r->ops && r->faults.count == 0; i++) {
        r->keys[i] = i % copies == 0 ? random_below(&r->random, key_count) : r->keys[i - 1];
    }
    if (r->faults.count == 0) {
        apply(r, op, r->ops);
    }
}

/* Erases some of what is there, each key three times, in random order. */
static void erase(struct repeats *r)
{
    uint32_t count = 0;
    while (r->faults.count == 0 && count < r->ops && count / 3 < r->before->count) {
        r->keys[count] = r->before->keys[count / 3];
        count++;
    }
    for (uint32_t i = count; i > 1; i--) {
        uint64_t other = random_below(&r->random, i);
        uint64_t key = r->keys[i - 1];
        r->keys[i - 1] = r->keys[other];
        r->keys[other] = key;
    }
    apply(r, SW_CACHE_ERASE, count);
}

uint64_t case_repeats(const struct trial_setting *setting, const struct sw_cache_config *config)
{
    struct repeats r;
    struct sw_cache_config mine = *config;
    mine.capacity = 1024 * setting->scale;
    open_repeats(&r, setting, &mine);
    /* while all scores are low, newcomers leave for each other */
    for (uint32_t round = 0; round < 12; round++) {
        repeat(&r, SW_CACHE_INSERT_OR_ASSIGN, 3);
        repeat(&r, SW_CACHE_FIND_OR_INSERT, 3);
    }
    for (uint32_t round = 0; round < 3; round++) {
        repeat(&r, SW_CACHE_INSERT_OR_ASSIGN, 40); /* more than a row takes */
        repeat(&r, SW_CACHE_ASSIGN, 5);
        repeat(&r, SW_CACHE_FIND_OR_INSERT, 40);
        erase(&r);
    }
    return close_repeats(&r);
}
