/* SPDX-License-Identifier: MIT
 *
 * validate.h - validates a request: can this server ever carry it out? A pure function of the
 * configuration, for any thread. admit.h checks temporary obstacles.
 */
#ifndef SHERWOOD_SERVER_BULK_VALIDATE_H
#define SHERWOOD_SERVER_BULK_VALIDATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/frame.h"

struct sw_bulk;
struct sw_bulk_table;
struct sw_table_shape;

/* Checks a request to this table with a body of body_bytes, whose reply has a body of at most
 * reply_bytes. Returns SW_REPLY_OK; or the error status, and sets `message`. */
enum sw_reply_status sw_bulk_validate(const struct sw_bulk *bulk, const struct sw_bulk_table *table,
                                      const struct sw_request *request, uint64_t body_bytes,
                                      uint64_t reply_bytes, char *message, size_t message_bytes);
/* Has a request on keys other widths than the table? */
bool sw_bulk_has_other_widths(const struct sw_table_shape *shape, const struct sw_request *request);
/* Are the bodies of a request and of its reply, together with the scratch memory, short enough? If
 * not, sets `message`. */
bool sw_bulk_bodies_fit(const struct sw_table_shape *shape, uint64_t bytes, char *message,
                        size_t message_bytes);

#endif
