/* SPDX-License-Identifier: MIT
 *
 * error_replies.c - counts error replies by their first word.
 */
#include "server/observe/error_replies.h"

#include <string.h>

#include "server/observe/counters.h"

static const char *const words[SW_ERROR_WORDS] = {
#define SW_ERROR_WORD_TEXT(word) #word,
    SW_ERROR_WORD_MAP(SW_ERROR_WORD_TEXT)
#undef SW_ERROR_WORD_TEXT
};

void sw_error_reply_count(struct sw_loop_counters *counters, const char *line)
{
    const char *text = line + (line[0] == '-');
    const size_t size = strcspn(text, " \r\n");
    unsigned word = 0;
    while (word < SW_ERROR_WORD_OTHER &&
           (strncmp(words[word], text, size) != 0 || words[word][size] != '\0')) {
        word++;
    }
    SW_COUNT(counters, command_errors, 1);
    SW_COUNT(counters, error_replies[word], 1);
}

const char *sw_error_word(enum sw_error_word word)
{
    return words[word];
}
