/* SPDX-License-Identifier: MIT
 *
 * catalog.h - the message Catalog (sherwood.proto): the places of a server with several tables, and
 * what its files have of each table. A change of the tables is such a message with the places that
 * are new or have another name or table, the new tables, the tables with new options, and the
 * numbers of the places that go.
 *
 * Pure functions. Threads: any.
 */
#ifndef SHERWOOD_PROTO_CATALOG_H
#define SHERWOOD_PROTO_CATALOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/wal_format.h"

#define SW_CATALOG_NAME_BYTES 64 /* a name has at most 63 bytes; then a NUL */

struct sw_catalog_place {
    uint32_t number;
    uint32_t table; /* id of the table in this place */
    const char *name;
};

struct sw_catalog_table {
    uint32_t id;
    uint64_t file;       /* number in the name of its snapshot; 0: it has none, and began empty */
    uint64_t through;    /* the snapshot has the table's writes up to here */
    const char *options; /* a line each: name, blank, value, newline */
    struct sw_wal_shape shape;
    uint32_t key_form; /* sw_key_form_told() */
    /* slots for which the table was created, if TABLE ALTER has lowered max-capacity; 0: it has not
     */
    uint64_t slots_most;
};

struct sw_catalog {
    struct sw_catalog_place *places; /* ascending by number, the first is 0 */
    size_t place_count;
    struct sw_catalog_table *tables; /* ascending by id */
    size_t table_count;
    uint32_t next_number; /* of the next place whose number nobody chooses */
    uint32_t next_table;  /* id of the next table */
    uint32_t *gone;       /* of a change: `gone_count` numbers of places that go */
    size_t gone_count;
    struct sw_catalog_table *altered; /* of a change: tables with new options */
    size_t altered_count;
    void *message; /* of a decoded catalog: owns the texts */
};

/* Encodes a catalog, into memory that the caller frees. Returns NULL if there is no memory. */
uint8_t *sw_catalog_encode(const struct sw_catalog *catalog, size_t *bytes);
/* Decodes and checks a catalog, which the caller frees with sw_catalog_free. Returns NULL; or an
 * error without its subject, and nothing to free. *is_newer: only a newer program can read it. */
const char *sw_catalog_decode(const uint8_t *bytes, size_t size, struct sw_catalog *catalog,
                              bool *is_newer);
/* Decodes a catalog or a change, as sw_catalog_decode does. Checks only the names. */
const char *sw_catalog_decode_change(const uint8_t *bytes, size_t size, struct sw_catalog *catalog,
                                     bool *is_newer);
void sw_catalog_free(struct sw_catalog *catalog);

/* Return the table with this id, and the table `altered` with this id, or NULL. */
const struct sw_catalog_table *sw_catalog_table_of(const struct sw_catalog *catalog, uint32_t id);
const struct sw_catalog_table *sw_catalog_altered_of(const struct sw_catalog *catalog, uint32_t id);

#endif
