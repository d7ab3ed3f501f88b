/* SPDX-License-Identifier: MIT
 *
 * libraries.c - the tables that this build of the cuckoo study has.
 */
#include "bench/cuckoo/library.h"

static const struct sw_cbench_library *const libraries[SW_CBENCH_TABLES] = {
    [SW_CBENCH_ROBIN_HOOD] = &sw_cbench_robin_hood, [SW_CBENCH_CUCKOO2] = &sw_cbench_cuckoo2,
    [SW_CBENCH_CUCKOO3] = &sw_cbench_cuckoo3,
#ifdef SW_PEER_BGHT
    [SW_CBENCH_BGHT_CHT] = &sw_cbench_bght_cht,     [SW_CBENCH_BGHT_B16] = &sw_cbench_bght_b16,
#endif
};

const struct sw_cbench_library *sw_cbench_library_of(uint32_t table)
{
    return libraries[table];
}
