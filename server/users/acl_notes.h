/* SPDX-License-Identifier: MIT
 *
 * acl_notes.h - which words of an ACL file have no effect here, as a sentence for the log.
 *
 * Threads: the caller's. Memory: a fixed text, which drops what does not fit and counts it.
 */
#ifndef SHERWOOD_SERVER_USERS_ACL_NOTES_H
#define SHERWOOD_SERVER_USERS_ACL_NOTES_H

#include <stddef.h>

#include "server/users/user.h"

/* Longest text of sw_acl_notes_text, with the NUL. */
#define SW_ACL_NOTES_BYTES 1024

/* Words with the number of the first line that has them. */
struct sw_acl_words {
    char text[SW_ACL_NOTES_BYTES / 2 - 128]; /* "'-debug' (line 2), '+xinfo' (line 4)" */
    unsigned more;                           /* words that did not fit */
};

struct sw_acl_notes {
    struct sw_acl_words without_effect, not_granted;
};

/* Notes the word if its effect is not SW_RULE_APPLIED. Notes equal words once. */
void sw_acl_notes_add(struct sw_acl_notes *notes, enum sw_rule_effect effect, unsigned line,
                      const char *word, size_t size);
/* Writes "FILE: without effect here: ..; not granted here: ..". Returns the length; 0: no notes. */
size_t sw_acl_notes_text(const struct sw_acl_notes *notes, const char *path, char *out,
                         size_t out_bytes);

/* Returns true if the word is the sign of a password without the password. A space may separate
 * them, so no later word of the line may be shown. */
bool sw_acl_ends_in_sign(const char *word, size_t size);

/* Copies a word for a sentence of the log: nothing behind the sign of a password or behind a
 * leading ~, and only printable bytes. Longer words are cut. */
void sw_acl_show_word(const char *word, size_t size, char *out, size_t out_bytes);

#endif
