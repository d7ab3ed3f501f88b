/* SPDX-License-Identifier: MIT
 *
 * registry_status.h - status of a topology in etcd, for INFO, the metrics and the pages.
 */
#ifndef SHERWOOD_SERVER_REGISTRY_REGISTRY_STATUS_H
#define SHERWOOD_SERVER_REGISTRY_REGISTRY_STATUS_H

#include <stdbool.h>
#include <stdint.h>

struct sw_registry_status {
    bool is_on;
    bool is_watching;        /* a watch reports changes; else the key is read once a second */
    uint64_t epoch;          /* of the key, as etcd last reported; 0: absent, or unknown yet */
    uint64_t silent_ms;      /* since etcd last answered, or since the start */
    uint64_t watch_restarts; /* watches that were cut, or ended */
    uint64_t failures;       /* requests that etcd did not answer */
    uint64_t writes;         /* topologies that this node has written to etcd */
    uint64_t conflicts;      /* topologies not written, because etcd had a newer one */
    uint64_t claims;         /* topologies written because this node was elected */
    char refused[256];       /* why the node refuses the topology in etcd; empty: it does not */
    char trouble[256];       /* error of the last request that etcd did not answer */
};

#endif
