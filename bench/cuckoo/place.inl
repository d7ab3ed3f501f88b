/* SPDX-License-Identifier: MIT
 *
 * place.inl - draws keys and judges answers, on the host (place.c) or the device (device_place.cu).
 */
#include "bench/cuckoo/place.h"

#include "bench/study/each.h"

struct sw_cbench_drawn {
    uint32_t *keys;
    uint64_t seed;
};

SW_HD static inline void key_of(const struct sw_cbench_drawn *drawn, uint64_t i)
{
    drawn->keys[i] = sw_cbench_key((uint32_t)i, drawn->seed);
}
SW_STUDY_EACH(key_of, struct sw_cbench_drawn)

static bool draw_keys(uint32_t *keys, uint64_t count, uint64_t seed)
{
    struct sw_cbench_drawn drawn = {keys, seed};
    return key_of_each(&drawn, count);
}

struct sw_cbench_asked {
    uint32_t *queries;
    const uint32_t *found;
    struct sw_cbench_order order;
};

SW_HD static inline void query_of(const struct sw_cbench_asked *asked, uint64_t j)
{
    asked->queries[j] = sw_cbench_query(&asked->order, j);
}
SW_STUDY_EACH(query_of, struct sw_cbench_asked)

static bool draw_queries(uint32_t *queries, const struct sw_cbench_order *order)
{
    struct sw_cbench_asked asked = {queries, NULL, *order};
    return query_of_each(&asked, order->count);
}

enum { RIGHT, MISSED, PHANTOM, JUDGEMENTS };

SW_HD static inline int judgement_of(const struct sw_cbench_asked *asked, uint64_t j)
{
    bool hit = (asked->found[j / 32] >> j % 32 & 1) != 0;
    return hit != sw_cbench_misses(&asked->order, j) ? RIGHT : hit ? PHANTOM : MISSED;
}
SW_STUDY_TALLY(judgement_of, struct sw_cbench_asked, JUDGEMENTS)

static bool judge(const uint32_t *found, const struct sw_cbench_order *order,
                  struct sw_cbench_verdict *verdict)
{
    unsigned long long counts[JUDGEMENTS] = {0};
    struct sw_cbench_asked asked = {NULL, found, *order};
    bool done = judgement_of_tally(&asked, order->count, counts);
    verdict->missed = counts[MISSED];
    verdict->phantom = counts[PHANTOM];
    return done;
}
