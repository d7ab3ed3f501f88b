/* SPDX-License-Identifier: MIT
 *
 * places.h - the catalog: which table lies in which place.
 *
 * Clients address a place, which has a number and a name. Each place holds one table, which has
 * an id. The catalog gives each id once, and each number from SW_PLACE_NUMBERS_FREE on once. Place
 * 0 is named SW_PLACE_DEFAULT and always exists. A swap exchanges the tables of two places: names
 * and numbers stay.
 *
 * The functions are pure: they know names and numbers, no memory and no thread. Threads: a catalog
 * belongs to its caller.
 */
#ifndef SHERWOOD_SERVER_TABLES_PLACES_H
#define SHERWOOD_SERVER_TABLES_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SW_PLACE_NAME_BYTES 64 /* a name has at most 63 bytes; then a NUL */
#define SW_PLACE_DEFAULT "default"
/* The id of the table that a server starts with. Its snapshots have the bytes of a server with one
 * table. */
#define SW_TABLE_FIRST 1U
/* A caller may choose a number below this one. The catalog chooses numbers from this one on. */
#define SW_PLACE_NUMBERS_FREE 65536U

struct sw_place {
    uint32_t number;
    uint32_t table; /* the id of the table in this place */
    char name[SW_PLACE_NAME_BYTES];
    uint64_t reshaped; /* number of the view that put another table here, which may have another
                          shape; 0: none did */
};

struct sw_places {
    struct sw_place *places; /* `count` of them, ascending by number; owned */
    uint32_t count;
    uint32_t most;        /* most places */
    uint32_t next_number; /* of a place whose caller chooses none */
    uint32_t next_table;  /* id of the next table */
};

/* Results. Each failure leaves the catalog as it was. */
enum sw_places_status {
    SW_PLACES_OK,
    SW_PLACES_NO_PLACE,       /* no place has this name or number */
    SW_PLACES_EXISTS,         /* a place has this name already */
    SW_PLACES_NUMBER_IS_USED, /* a place has this number already */
    SW_PLACES_NO_NAME,        /* the name is not allowed: sw_place_name_is_allowed */
    SW_PLACES_NO_NUMBER,      /* the number is not below SW_PLACE_NUMBERS_FREE */
    SW_PLACES_RESERVED,       /* the name is "db" and a number that is not the place's */
    SW_PLACES_FULL,           /* the catalog has its most places, or has given all numbers */
    SW_PLACES_DEFAULT,        /* place 0 cannot be dropped or renamed */
    SW_PLACES_NO_MEMORY
};

/* Makes a catalog of place 0 alone, with room for `most` places, at least 1. Returns SW_PLACES_OK
 * or SW_PLACES_NO_MEMORY. */
enum sw_places_status sw_places_init(struct sw_places *catalog, uint32_t most);
void sw_places_fini(struct sw_places *catalog);

/* Returns whether a place may have this name: a letter or '_', then letters, digits and "_.:-", 63
 * bytes at most. So no name is a number. `name` need not end with a NUL. */
bool sw_place_name_is_allowed(const char *name, size_t bytes);

/* Returns whether there is, or was, a table beside the first one. */
bool sw_places_are_several(const struct sw_places *catalog);

/* Return the place, or NULL. It belongs to the catalog, until the catalog changes. */
const struct sw_place *sw_places_numbered(const struct sw_places *catalog, uint32_t number);
const struct sw_place *sw_places_named(const struct sw_places *catalog, const char *name,
                                       size_t bytes);

/* Adds a place with a new table. `number`: of the place; NULL: the catalog chooses it. The name
 * db<n> is for the place with the number n alone. *out receives the place. */
enum sw_places_status sw_places_create(struct sw_places *catalog, const char *name, size_t bytes,
                                       const uint32_t *number, struct sw_place *out);
/* Removes the place with its table. */
enum sw_places_status sw_places_drop(struct sw_places *catalog, uint32_t number);
/* Gives the place another name. */
enum sw_places_status sw_places_rename(struct sw_places *catalog, uint32_t number, const char *name,
                                       size_t bytes);
/* Exchanges the tables of two places. They may be one place: then nothing changes. */
enum sw_places_status sw_places_swap(struct sw_places *catalog, uint32_t first, uint32_t second);

#endif
