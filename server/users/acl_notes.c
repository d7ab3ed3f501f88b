/* SPDX-License-Identifier: MIT
 *
 * acl_notes.c - collects words that have no effect, and prepares words for the log.
 */
#include "server/users/acl_notes.h"

#include <stdio.h>
#include <string.h>

/* Longest word in a sentence, with the NUL. */
#define SHOWN_BYTES 72
#define SECRET_SIGNS "><#!"

bool sw_acl_ends_in_sign(const char *word, size_t size)
{
    return size > 0 && word[size - 1] != '\0' && strchr(SECRET_SIGNS, word[size - 1]) != NULL;
}

void sw_acl_show_word(const char *word, size_t size, char *out, size_t out_bytes)
{
    static const char dots[] = "...";
    size_t used = 0;
    for (size_t i = 0; i < size; i++) {
        const bool is_secret = (i > 0 && strchr(SECRET_SIGNS, word[i - 1]) != NULL) ||
                               (i == 1 && word[0] == '~'); /* a password behind the wrong sign */
        if (is_secret || used + sizeof(dots) >= out_bytes) {
            memcpy(out + used, dots, sizeof(dots));
            return;
        }
        out[used++] = word[i] >= ' ' && word[i] <= '~' ? word[i] : '?';
    }
    out[used] = '\0';
}

static void add_acl_note(struct sw_acl_words *words, unsigned line, const char *word, size_t size)
{
    char shown[SHOWN_BYTES], quoted[SHOWN_BYTES + 2], next[SHOWN_BYTES + 32];
    sw_acl_show_word(word, size, shown, sizeof(shown));
    snprintf(quoted, sizeof(quoted), "'%s'", shown);
    if (strstr(words->text, quoted) != NULL) {
        return;
    }
    const size_t used = strlen(words->text);
    int length = snprintf(next, sizeof(next), "%s%s (line %u)", used > 0 ? ", " : "", quoted, line);
    if (length < 0 || used + (size_t)length >= sizeof(words->text)) {
        words->more++;
        return;
    }
    memcpy(words->text + used, next, (size_t)length + 1);
}

void sw_acl_notes_add(struct sw_acl_notes *notes, enum sw_rule_effect effect, unsigned line,
                      const char *word, size_t size)
{
    if (effect != SW_RULE_APPLIED) {
        add_acl_note(effect == SW_RULE_VOID ? &notes->without_effect : &notes->not_granted, line,
                     word, size);
    }
}

/* Appends "; TITLE: WORDS", if there are words. */
static void append(const struct sw_acl_words *words, const char *title, char *out, size_t out_bytes)
{
    size_t used = strlen(out);
    if (words->text[0] == '\0') {
        return;
    }
    snprintf(out + used, out_bytes - used, "%s %s %s", out[used - 1] == ':' ? "" : ";", title,
             words->text);
    used = strlen(out);
    if (words->more > 0) {
        snprintf(out + used, out_bytes - used, " and %u more", words->more);
    }
}

size_t sw_acl_notes_text(const struct sw_acl_notes *notes, const char *path, char *out,
                         size_t out_bytes)
{
    if (notes->without_effect.text[0] == '\0' && notes->not_granted.text[0] == '\0') {
        out[0] = '\0';
        return 0;
    }
    snprintf(out, out_bytes, "%.*s:", SW_ACL_NOTES_BYTES / 8, path);
    append(&notes->without_effect, "these words have no effect in this server:", out, out_bytes);
    append(&notes->not_granted,
           "this server does not grant these rights, and ACL SAVE leaves them out:", out,
           out_bytes);
    return strlen(out);
}
