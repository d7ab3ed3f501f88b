/* SPDX-License-Identifier: MIT
 *
 * id_writes.c - writes of a table of ids, for both widths.
 */
#include "table/robin_hood/cpu/id_writes.h"

#include "table/robin_hood/cpu/admit.h"
#include "table/robin_hood/cpu/expiry.h"
#include "table/robin_hood/rows.h"

#define RH_FIELD SW_WIDTH_SUFFIX
#define SW_WIDTH_BODY "table/robin_hood/cpu/id_writes.inl"
#include "table/each_width.inl"
