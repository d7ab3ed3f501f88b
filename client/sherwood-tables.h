/* SPDX-License-Identifier: MIT
 *
 * sherwood-tables.h - the tables of a server that has several.
 *
 *     struct sherwood *users;
 *     if (sherwood_table_open(client, "users", &users) != SHERWOOD_OK) ...
 *     if (sherwood_get(users, keys, count, values, found) != SHERWOOD_OK) ...
 *     sherwood_close(users);
 *
 * A table lies in a place, which has a number and a name. The handle of a table is a handle for
 * every call of libsherwood, and sherwood_server() returns the facts of its table. It uses the
 * connections of the handle that opened it: their limits, regions and ring are common, and so are
 * sherwood_error(), sherwood_wait_any() and the lists of requests. Both handles belong to one
 * thread at a time.
 *
 * A handle names its place by the number. If another table of the same shape is swapped into the
 * place, later requests are for that table. A scan does not go on in another table: it returns
 * SHERWOOD_E_TABLE, and begins again with the cursor 0. A request whose table was dropped returns
 * SHERWOOD_E_TABLE. If a table with other widths got the number, the request returns
 * SHERWOOD_E_TABLE or SHERWOOD_E_REQUEST. The server does nothing then: close the handle of the
 * table and open it again.
 */
#ifndef SHERWOOD_TABLES_H
#define SHERWOOD_TABLES_H

#include "sherwood.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opens the table with this name, or with this number in decimal, on the connections of `client`,
 * which may be the handle of another table. Sends one request and allocates. The caller closes
 * *table with sherwood_close, before it closes the handle that has the connections. On failure
 * *table is NULL: SHERWOOD_E_TABLE if there is no such table, SHERWOOD_E_REQUEST if the server is
 * older than tables. Not for handles of clusters. */
SHERWOOD_MUST_CHECK int sherwood_table_open(struct sherwood *client, const char *name,
                                            struct sherwood **table);

/* The keys of one table, and where the answers go. This struct will not change. */
struct sherwood_segment {
    struct sherwood *table; /* a handle of sherwood_table_open, or the handle of the call for the
                               default table; it stays open until the read ends */
    const void *keys;
    void *values;    /* out; NULL: declined */
    uint64_t *found; /* out; key i of the segment is bit i % 64 of word i / 64; NULL: declined */
    uint32_t count;  /* of keys */
};

/* Reads several tables together: one frame has up to SHERWOOD_SEGMENTS_MAX segments. All tables
 * have keys of the same width, and use the connections of `client`. A table may have several
 * segments. An absent key has zeros as its value. There may be any number of segments and keys:
 * they go in several frames if they are many. If all arrays lie in regions, each segment goes
 * through the ring as a request of its own; otherwise no array may lie in memory of a device
 * (sherwood_cuda_reads is for such arrays). A refused segment fails the whole call; the server may
 * have read the others. On an error the contents of `values` and `found` are undefined. The
 * sentence names the segment, from 0 on: the one of the call by the ring, else the one of the
 * frame. SHERWOOD_E_TABLE, SHERWOOD_E_REQUEST: as sherwood_get, or the server is older than
 * segments. SHERWOOD_E_TABLE also if another table with equal widths and other values lies in a
 * place. Not for handles of clusters. */
SHERWOOD_MUST_CHECK int sherwood_get_segments(struct sherwood *client,
                                              const struct sherwood_segment *segments,
                                              size_t count);
/* Does the same with SHERWOOD_GET or SHERWOOD_PEEK. */
SHERWOOD_MUST_CHECK int sherwood_read_segments(struct sherwood *client,
                                               enum sherwood_operation operation,
                                               const struct sherwood_segment *segments,
                                               size_t count);

#define SHERWOOD_SEGMENTS_MAX 64
/* Bytes of memory for a submitted read of several tables. */
#define SHERWOOD_SEGMENTS_ROOM 1024
/* Queues such a read as one frame, as sherwood_submit does. The request has an operation, and
 * perhaps `user` and the flags SHERWOOD_DISCARD (of segments whose `values` is NULL),
 * SHERWOOD_DELAY and SHERWOOD_CONSTANT (keys of several segments that follow each other in memory
 * are one array); its arrays are NULL. There are at most SHERWOOD_SEGMENTS_MAX segments, each with
 * a key, and frame_ops_max keys in all. The library borrows request, segments, arrays and `room`,
 * SHERWOOD_SEGMENTS_ROOM bytes, until a waiting call has returned the request. It sends one request
 * before the first read if no table was opened. The frame goes by the socket. */
SHERWOOD_MUST_CHECK int sherwood_submit_segments(struct sherwood *client,
                                                 struct sherwood_request *request,
                                                 const struct sherwood_segment *segments,
                                                 uint32_t count, void *room);

/* Returns the name of the handle's table when it was opened, which the handle owns; "" for a handle
 * that sherwood_connect made. */
const char *sherwood_table_name(const struct sherwood *table);
/* Requests the facts of the table that lies in the handle's place now, as calls that wait do by
 * themselves. Later requests are for that one. A handle that sherwood_connect made has place 0.
 * SHERWOOD_E_TABLE if there is no table, or if it has another shape: open it again. After a lost
 * connection it returns the code of the loss, as other calls do. Not for handles of clusters. */
SHERWOOD_MUST_CHECK int sherwood_table_renew(struct sherwood *table);
/* Returns the number of the place that the handle's requests name; 0 for a handle that
 * sherwood_connect made. */
uint32_t sherwood_table_number(const struct sherwood *table);

/* Change the tables of the server, as the command TABLE of RESP does. A name may also be a number
 * in decimal, except a name that is given. They return when every connection of the server uses the
 * changed tables, which may take long for a large table. Not for handles of clusters. If the server
 * refuses the change, nothing has changed: SHERWOOD_E_TABLE if a table does not exist,
 * SHERWOOD_E_REQUEST otherwise. */

/* Creates an empty table. `options` has `count` words: the names and values of options, and NUMBER,
 * LIKE and IF NOT EXISTS, as in the command. All words together have about 900 bytes at most. */
SHERWOOD_MUST_CHECK int sherwood_table_create(struct sherwood *client, const char *name,
                                              const char *const *options, size_t count);
/* Removes a table with its keys. */
SHERWOOD_MUST_CHECK int sherwood_table_drop(struct sherwood *client, const char *name);
SHERWOOD_MUST_CHECK int sherwood_table_rename(struct sherwood *client, const char *name,
                                              const char *new_name);
/* Exchanges the tables of two places of one shape, for all clients at once. */
SHERWOOD_MUST_CHECK int sherwood_table_swap(struct sherwood *client, const char *name,
                                            const char *other);
/* Runs any of these changes: `words` are those behind TABLE. */
SHERWOOD_MUST_CHECK int sherwood_table_change(struct sherwood *client, const char *const *words,
                                              size_t count);

/* A table of the server. */
struct sherwood_table_row {
    char name[64];
    uint32_t number; /* of its place */
    uint32_t id;     /* of the table: no other table of the server has had it */
    uint64_t keys;
    uint64_t keys_that_expire;
    uint64_t slots;     /* now */
    uint64_t slots_max; /* to which it may grow */
    uint64_t bytes;     /* of memory that the table reserves */
    uint64_t unused[2]; /* 0 */
};

/* Lists the tables that the user may use, by ascending numbers: writes at most `capacity` rows from
 * the number *from on (0: the first), and their number to *count. *from receives the number to go
 * on with; 0: the list is complete. */
SHERWOOD_MUST_CHECK int sherwood_tables(struct sherwood *client, uint32_t *from,
                                        struct sherwood_table_row *rows, uint32_t capacity,
                                        uint32_t *count);

#ifdef __cplusplus
}
#endif

#endif
