/* SPDX-License-Identifier: MIT
 *
 * row_audit.inl - checks the rows of the entries in slots. Included by row_audit.c once per width.
 */

static bool RH(see_rows)(struct row_audit *audit, const void *array, uint64_t count)
{
    const struct RH(slot) *slots = array;
    for (uint64_t i = 0; i < count; i++) {
        if (slots[i].m != RH_EMPTY && !see_entry(audit, slots[i].value)) {
            return false;
        }
    }
    return true;
}
