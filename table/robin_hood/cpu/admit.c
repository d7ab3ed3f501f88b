/* SPDX-License-Identifier: MIT
 *
 * admit.c - decides whether a group is admitted, for both widths.
 */
#include "table/robin_hood/cpu/admit.h"

#include <string.h>

#include "table/robin_hood/cpu/expiry.h"
#include "table/robin_hood/cpu/key_strings.h"
#include "table/robin_hood/rows.h"

#define RH_FIELD SW_WIDTH_SUFFIX
#define SW_WIDTH_BODY "table/robin_hood/cpu/admit.inl"
#include "table/each_width.inl"
