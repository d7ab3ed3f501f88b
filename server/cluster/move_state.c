/* SPDX-License-Identifier: MIT
 *
 * move_state.c - writes the state to another data directory.
 */
#include <stdio.h>
#include <string.h>

#include "server/cluster/cluster_parts.h"
#include "server/cluster/state_file.h"

int sw_cluster_move_state(struct sw_cluster *cluster, char *error, size_t error_bytes)
{
    char why[SW_CLUSTER_ERROR_BYTES] = "";
    if (cluster->config->cluster_state[0] != '\0' || cluster->state_path[0] == '\0') {
        return 0;
    }
    pthread_mutex_lock(&cluster->change);
    struct sw_cluster_state state = {.may_have_foreign = cluster->may_have_foreign,
                                     .move = cluster->move,
                                     .topology = cluster->newest->topology};
    memcpy(state.id, cluster->id, sizeof(state.id));
    const int written = sw_cluster_state_write(cluster->state_path, &state, why);
    cluster->is_unsure = written == -2 || (written == -1 && cluster->is_unsure);
    pthread_mutex_unlock(&cluster->change);
    snprintf(error, error_bytes, "%s", why);
    return written == 0 ? 0 : -1;
}
