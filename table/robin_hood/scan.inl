/* SPDX-License-Identifier: MIT
 *
 * scan.inl - merges the entries of two windows in order of m. Included by scan.c once per width.
 *
 * Entries are sorted across buckets, so all entries of an array below some m lie in its window. The
 * scan first finds this limit for both windows, and then reads both up to the smaller limit.
 */

/* Entries from `cursor` to `limit` of one window, ascending. */
struct RH(stream) {
    const struct RH(view) * view;
    const struct sw_scan_window *window;
    RH_WORD cursor;
    RH_WORD limit;                         /* exclusive; all ones: no limit */
    uint64_t next;                         /* bucket of the window to read next */
    struct RH(slot) held[SW_BUCKET_SLOTS]; /* entries of one bucket, ascending */
    int at;
    int count;
};

/* Returns the smallest m whose home is b (b < buckets). */
static RH_WORD RH(first_of)(const struct RH(view) * view, uint64_t b)
{
    sw_u128 shifted = (sw_u128)b << (sizeof(RH_WORD) * 8);
    return (RH_WORD)((shifted + view->buckets - 1) / view->buckets);
}

static const struct RH(slot) *
    RH(window_bucket)(const struct sw_scan_window *window, uint64_t index)
{
    return (const struct RH(slot) *)window->slots + index * SW_BUCKET_SLOTS;
}

/* Returns the limit of a window: every entry of the array below this m, at or after the window's
 * start, lies in the window. */
static RH_WORD RH(window_limit)(const struct RH(view) * view, const struct sw_scan_window *window)
{
    uint64_t end = window->first + window->buckets;
    struct RH(slot) last[SW_BUCKET_SLOTS];
    if (window->buckets == 0 || end >= view->buckets_total) {
        return RH_EMPTY;
    }
    RH(bucket_load)(RH(window_bucket)(window, window->buckets - 1), last);
    struct RH(slot) top = last[0];
    for (int i = 1; i < SW_BUCKET_SLOTS; i++) {
        top = last[i].m > top.m ? last[i] : top;
    }
    if (top.m != RH_EMPTY) {
        return top.m + 1; /* the next bucket may hold entries of any home, all larger */
    }
    /* no entry was displaced past a bucket that is not full */
    return end < view->buckets ? RH(first_of)(view, end) : RH_EMPTY;
}

/* Reads the entries of the next bucket in [cursor, limit), sorted. Returns the number of EMPTY
 * slots.
 */
static int RH(stream_bucket)(struct RH(stream) * stream)
{
    struct RH(slot) raw[SW_BUCKET_SLOTS];
    int empty = 0;
    RH(bucket_load)(RH(window_bucket)(stream->window, stream->next), raw);
    stream->at = 0;
    stream->count = 0;
    for (int i = 0; i < SW_BUCKET_SLOTS; i++) {
        if (raw[i].m == RH_EMPTY) {
            empty++;
        } else if (raw[i].m >= stream->cursor && raw[i].m < stream->limit) {
            int at = stream->count++;
            for (; at > 0 && stream->held[at - 1].m > raw[i].m; at--) {
                stream->held[at] = stream->held[at - 1];
            }
            stream->held[at] = raw[i];
        }
    }
    stream->next++;
    return empty;
}

/* Returns the stream's next entry, or NULL. */
static const struct RH(slot) * RH(stream_peek)(struct RH(stream) * stream)
{
    uint64_t last_home = RH(home)(stream->view, stream->limit - 1);
    while (stream->at == stream->count && stream->next < stream->window->buckets) {
        uint64_t bucket = stream->window->first + stream->next;
        if (RH(stream_bucket)(stream) > 0 && bucket >= last_home) {
            stream->next = stream->window->buckets; /* all further entries have later homes */
        }
    }
    return stream->at < stream->count ? &stream->held[stream->at] : NULL;
}

static bool RH(collect)(const struct sw_scan_shape *shape, const struct sw_state *state,
                        const struct sw_scan_window *main, const struct sw_scan_window *stash,
                        struct sw_batch *batch)
{
    /* only the sizes of the views are used: the entries are in the windows */
    const struct RH(table) table = {
        .main = {.buckets = shape->buckets, .buckets_total = shape->buckets_total},
        .stash = {.buckets = shape->stash_buckets, .buckets_total = shape->stash_buckets_total},
        .seed = shape->seed};
    RH_WORD *keys = batch->scan.keys;
    RH_WORD *values = RH(values_of)(batch->scan.values);
    uint32_t count = 0;
    if (batch->scan.cursor > RH_EMPTY) {
        batch->scan.got = 0;
        batch->scan.cursor = 0;
        return true;
    }
    RH_WORD cursor = (RH_WORD)batch->scan.cursor;
    RH_WORD limit = RH(window_limit)(&table.main, main);
    RH_WORD stash_limit = RH(window_limit)(&table.stash, stash);
    limit = stash_limit < limit ? stash_limit : limit;
    if (limit <= cursor && limit != RH_EMPTY) {
        return false;
    }
    struct RH(stream)
        streams[2] = {{.view = &table.main, .window = main, .cursor = cursor, .limit = limit},
                      {.view = &table.stash, .window = stash, .cursor = cursor, .limit = limit}};
    while (count < batch->count) {
        const struct RH(slot) *a = RH(stream_peek)(&streams[0]);
        const struct RH(slot) *b = RH(stream_peek)(&streams[1]);
        if (a == NULL && b == NULL) {
            cursor = limit;
            break;
        }
        struct RH(stream) *from =
            b == NULL || (a != NULL && a->m < b->m) ? &streams[0] : &streams[1];
        struct RH(slot) entry = from->held[from->at++];
        keys[count] = RH(unmix)(&table, entry.m);
        if (values != NULL) {
            values[count] = RH(slot_value)(entry);
        }
        count++;
        cursor = entry.m + 1;
    }
    batch->scan.cursor = cursor;
    if (cursor == RH_EMPTY && (count < batch->count || state->side_present == 0)) {
        if (state->side_present != 0) {
            keys[count] = RH(unmix)(&table, RH_EMPTY);
            if (values != NULL) {
                values[count] = (RH_WORD)state->side_value;
            }
            count++;
        }
        batch->scan.cursor = 0;
    }
    batch->scan.got = count;
    return true;
}
