/* SPDX-License-Identifier: MIT
 *
 * history_terms.h - the first write of each term of a shard (server/ha), to find a write's term.
 *
 * A primary begins a term with a record of its own. So a position, which is a term and a sequence,
 * names one history. Recovered files may end before the newest term began. So the term of a
 * position is looked up, never assumed to be the newest one.
 */
#ifndef SHERWOOD_SERVER_LOG_HISTORY_TERMS_H
#define SHERWOOD_SERVER_LOG_HISTORY_TERMS_H

#include <stdint.h>
#include <string.h>

#define SW_TERMS_MAX 16

/* Value of own_from on a server that has a copy of its primary's data. A server took the writes
 * after own_from from clients, as a primary, so another server may lack them. own_from is 0 on a
 * server that was never a replica. */
#define SW_OWNS_NOTHING UINT64_MAX

struct sw_terms {
    unsigned count;
    struct sw_term_start {
        uint64_t term, first; /* its first record */
    } at[SW_TERMS_MAX];       /* ascending; the last ones */
};

/* Returns the term of a write, and the first write of that term. Returns term 0 if the write is too
 * old, or the server is in no shard. */
static inline struct sw_term_start sw_terms_of(const struct sw_terms *terms, uint64_t sequence)
{
    for (unsigned i = terms->count; i > 0; i--) {
        if (terms->at[i - 1].first <= sequence) {
            return terms->at[i - 1];
        }
    }
    return (struct sw_term_start){0, 0};
}

/* Returns the highest term that has begun; 0: none. */
static inline uint64_t sw_terms_newest(const struct sw_terms *terms)
{
    return terms->count == 0 ? 0 : terms->at[terms->count - 1].term;
}

/* Notes that a term begins with this write. Forgets terms that began at it or later. */
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
