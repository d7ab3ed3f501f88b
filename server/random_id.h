/* SPDX-License-Identifier: MIT
 *
 * random_id.h - ids of runs and of nodes: 40 random hex digits, which are no secret.
 */
#ifndef SHERWOOD_SERVER_RANDOM_ID_H
#define SHERWOOD_SERVER_RANDOM_ID_H

#define SW_RANDOM_ID_BYTES 41 /* with the NUL */

/* For any thread. */
void sw_random_id(char out[SW_RANDOM_ID_BYTES]);

#endif
