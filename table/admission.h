/* SPDX-License-Identifier: MIT
 *
 * admission.h - what becomes of a group of operations. Included by batch.h.
 *
 * Admission is all or nothing by group: either every operation of a group takes effect or, where
 * one of its inserts would pass occupied_max, none. A group with an insert is also refused if the
 * stash held more than stash_slots entries when the batch began. A batch of which groups are
 * refused may have made the table grow. An operation of a refused group leaves `previous` and
 * `found` unspecified.
 *
 * Texts of keys (sw_table_config.key_text_bytes): keys are numbers that were made of texts, and two
 * texts may make one number. Rows end with the text of their key: any bytes, of which the first two
 * are not both 0; or all 0, which is none. `values` has a row for every operation, deletes and
 * reads included, that ends so too; NULL, where no operation has an operand: no texts. Where a key
 * is present, and has a text, and an operation on it has another, the group is refused, whatever it
 * would do; what comes first in it, that or the lack of room, says why. What writes gives its text
 * to the row, and without one leaves the row's. Operations that collide are counted nowhere; those
 * of batches that only read, as if they had not.
 */
#ifndef SHERWOOD_TABLE_ADMISSION_H
#define SHERWOOD_TABLE_ADMISSION_H

#ifdef __cplusplus
extern "C" {
#endif

enum sw_admission {
    SW_ADMITTED,
    SW_REFUSED_FULL,
    SW_REFUSED_COLLISION /* of texts */
};

#ifdef __cplusplus
}
#endif

#endif
