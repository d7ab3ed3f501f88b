/* SPDX-License-Identifier: MIT
 *
 * served.h - opening and closing the tables that TABLE CREATE makes, with their seats.
 *
 * Threads: that of a change (tables/tables.h).
 */
#ifndef SHERWOOD_SERVER_SERVED_H
#define SHERWOOD_SERVER_SERVED_H

#include <stddef.h>

#include "server/config/config.h"
#include "server/tables/tables.h"

struct sw_server;
struct sw_server_stats;

/* Creates the catalog, with the server's table in place 0. Without a data directory also creates
 * the tables of the sections [table NAME] and of the option databases. The loops are initialised
 * and do not run. Returns 0, or -1 with a sentence logged. */
int sw_served_create(struct sw_server *server);
/* Creates the tables of the configuration that the data directory lacks, and saves their places.
 * Call it when the directory is loaded. Returns 0, or -1 with a sentence logged. */
int sw_served_loaded(struct sw_server *server);

/* The data directory is loaded: the limits of all tables hold again. Tables that have passed them
 * get only the slots that their keys need. Returns 0; or -1 with a sentence logged if that does not
 * suffice. */
int sw_served_end_load(struct sw_server *server);
/* Returns whether the server is a replica: sw_ledger.follows. */
bool sw_served_follows(const void *server);
/* Opens the account of a table that is about to be created with the options of `config`. Returns 0,
 * or -1 with the refusal in `reason`. sw_served_count_table: the table was created. If it returns
 * -1, the caller destroys the table and then closes the account. */
int sw_served_open_account(struct sw_server *server, const struct sw_config *config,
                           struct sw_account *account, char *reason, size_t reason_bytes);
int sw_served_count_table(const struct sw_config *config, struct sw_account *account,
                          const struct sw_table *table, char *reason, size_t reason_bytes);

/* Changes the options `alters` of a table: sw_tables_owner.alter. `server` is not used. */
int sw_served_alter(void *server, struct sw_served *served, const struct sw_config *config,
                    uint32_t alters, bool is_made, char *error, size_t error_bytes);

/* The functions of struct sw_tables_owner for changes (served_changes.c). `server` is a struct
 * sw_server. */
int sw_served_prepare(void *server, const uint32_t *ids, uint32_t count, char *error,
                      size_t error_bytes);
int sw_served_admit(void *server, char *error, size_t error_bytes);
int sw_served_commit(void *server, const struct sw_tables_view *before,
                     const struct sw_tables_view *next, uint64_t *sequence, char *error,
                     size_t error_bytes);
int sw_served_settle(void *server, char *error, size_t error_bytes);
int sw_served_save(void *server, uint32_t id, char *error, size_t error_bytes);
void sw_served_reopen(void *server, struct sw_served *served);
/* Empties the table that the server started with, and gives its memory back: other parts of the
 * server use the table until the end. Nothing is promised to it until sw_served_reopen. */
void sw_served_empty(struct sw_server *server, const struct sw_served *first);
/* Adds a record without an effect to the log and for replicas, for a number that the server itself
 * has taken; 0: none. */
void sw_served_note_nothing(struct sw_server *server, uint64_t sequence);

/* Adds the statistics of the other tables to those of place 0. `server` is a struct sw_server. */
void sw_served_add_stats(struct sw_server *server, struct sw_server_stats *snapshot);

#endif
