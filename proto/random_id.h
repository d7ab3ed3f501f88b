/* SPDX-License-Identifier: MIT
 *
 * random_id.h - ids of runs, histories, shards and nodes: 40 random hex digits.
 * An id is no secret.
 */
#ifndef SHERWOOD_PROTO_RANDOM_ID_H
#define SHERWOOD_PROTO_RANDOM_ID_H

#include <stdint.h>

#define SW_RANDOM_ID_BYTES 41 /* with the NUL */

/* For any thread. */
void sw_random_id(char out[SW_RANDOM_ID_BYTES]);
/* Returns the first 8 digits of an id as a number. */
uint32_t sw_random_id_number(const char *id);

#endif
