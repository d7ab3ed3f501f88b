/* SPDX-License-Identifier: MIT
 *
 * history_terms.h - of which term of a shard (server/ha) a write is: where each term began.
 *
 * A primary begins a term with a record of its own, so a position, which is a term and a sequence,
 * names one history. What is recovered from a disk may end before the last term that began: the
 * term of a position is looked up, and never taken to be the newest one.
 */
#ifndef SHERWOOD_SERVER_LOG_HISTORY_TERMS_H
#define SHERWOOD_SERVER_LOG_HISTORY_TERMS_H

#include <stdint.h>
#include <string.h>

#define SW_TERMS_MAX 16

/* A server took the writes behind `own_from` from clients, as a primary: another server may lack
 * them. It is 0 of a server that was never a replica, and SW_OWNS_NOTHING of one that has a copy of
 * its primary's data. */
#define SW_OWNS_NOTHING UINT64_MAX

struct sw_terms {
    unsigned count;
    struct sw_term_start {
        uint64_t term, first; /* its first record */
    } at[SW_TERMS_MAX];       /* ascending; the last ones */
};

/* The term that the write belongs to, and where it began. One that is too old, or of no shard, is
 * of term 0. */
static inline struct sw_term_start sw_terms_of(const struct sw_terms *terms, uint64_t sequence)
{
    for (unsigned i = terms->count; i > 0; i--) {
        if (terms->at[i - 1].first <= sequence) {
            return terms->at[i - 1];
        }
    }
    return (struct sw_term_start){0, 0};
}

/* The highest that has begun. */
static inline uint64_t sw_terms_newest(const struct sw_terms *terms)
{
    return terms->count == 0 ? 0 : terms->at[terms->count - 1].term;
}

/* A term begins with this write: whatever was known of later ones is not so. */
static inline void sw_terms_begin(struct sw_terms *terms, uint64_t term, uint64_t first)
{
    if (sw_terms_newest(terms) == term) {
        return;
    }
    while (terms->count > 0 && terms->at[terms->count - 1].first >= first) {
        terms->count--;
    }
    if (terms->count == SW_TERMS_MAX) {
        terms->count--;
        memmove(&terms->at[0], &terms->at[1], terms->count * sizeof(terms->at[0]));
    }
    terms->at[terms->count++] = (struct sw_term_start){term, first};
}

#endif
