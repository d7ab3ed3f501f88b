/* SPDX-License-Identifier: MIT
 *
 * admission.h - whether a group of operations is carried out or refused. Included by batch.h.
 *
 * Admission is all or nothing by group. Either every operation of a group takes effect, or none: a
 * group is refused if one of its inserts would pass occupied_max. A group with an insert is also
 * refused if the stash held more than stash_slots entries when the batch began. The table may have
 * grown for a batch even if some of its groups are refused. An operation of a refused group leaves
 * `previous` and `found` unspecified.
 *
 * Key strings (sw_table_config.key_text_bytes): each key is a number made from a string, and two
 * strings may have the same number. A row ends with the string of its key. The first two bytes of a
 * string are not both 0; if all its bytes are 0, the row has no string. `values` has a row with
 * such an end for every operation, deletes and reads included. It may be NULL if no operation has
 * an operand: then the operations have no strings. A group is refused if a present key has a string
 * and an operation of the group on this key has a different one, whatever the operation would do.
 * The first cause in the group, a different string or lack of room, is the one reported. An
 * operation that writes stores its string in the row; an operation without a string keeps the row's
 * string. Operations that collide are not counted. The exception is a batch that only reads: it
 * counts them like any other operation.
 */
#ifndef SHERWOOD_TABLE_ADMISSION_H
#define SHERWOOD_TABLE_ADMISSION_H

#ifdef __cplusplus
extern "C" {
#endif

enum sw_admission {
    SW_ADMITTED,
    SW_REFUSED_FULL,
    SW_REFUSED_COLLISION /* two strings of one key */
};

#ifdef __cplusplus
}
#endif

#endif
