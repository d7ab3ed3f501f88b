/* SPDX-License-Identifier: MIT
 *
 * facts.h - what INFO, the metrics and the pages tell of a topology in etcd.
 */
#ifndef SHERWOOD_SERVER_REGISTRY_FACTS_H
#define SHERWOOD_SERVER_REGISTRY_FACTS_H

#include <stdbool.h>
#include <stdint.h>

struct sw_registry_facts {
    bool is_on;
    bool is_watching;        /* changes are told at once; else the key is read once a second */
    uint64_t epoch;          /* of the key, as etcd last told; 0: it is absent, or unknown yet */
    uint64_t silent_ms;      /* since etcd last answered, or since the start */
    uint64_t watch_restarts; /* watches that were cut, or ended */
    uint64_t failures;       /* requests without an answer */
    uint64_t writes;         /* topologies that this node has put there */
    uint64_t conflicts;      /* that it has not, since there was a newer one */
    uint64_t claims;         /* writes by which it told that it was elected */
    char refused[256];       /* why what etcd holds is not taken; empty: it is, or is unknown */
    char trouble[256];       /* of the last request without an answer */
};

#endif
