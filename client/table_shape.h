/* SPDX-License-Identifier: MIT
 *
 * table_shape.h - whether a handle of one table can be used for another one. Pure.
 */
#ifndef SHERWOOD_CLIENT_TABLE_SHAPE_H
#define SHERWOOD_CLIENT_TABLE_SHAPE_H

#include <string.h>

#include "client/sherwood.h"

/* Returns whether requests to the table `one` are also requests to `other`. */
static inline bool sw_client_is_of_one_shape(const struct sherwood_server *one,
                                             const struct sherwood_server *other)
{
    return one->key_bytes == other->key_bytes && one->value_bytes == other->value_bytes &&
           one->value_format == other->value_format && one->value_type == other->value_type &&
           one->frame_ops_max <= other->frame_ops_max &&
           one->frame_bytes_max <= other->frame_bytes_max &&
           strcmp(one->engine, other->engine) == 0 && strcmp(one->policy, other->policy) == 0;
}

#endif
