/* SPDX-License-Identifier: MIT
 *
 * stream.c - encodes and parses the lines and acknowledgements of replication.
 */
#include "server/repl/stream.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proto/check.h"
#include "proto/decimal.h"
#include "proto/key_form.h"
#include "proto/value_type.h"

#define ACK_MAGIC 0x314b4157U /* "WAK1" */

static bool is_history(const char *text)
{
    return strlen(text) == SW_HISTORY_ID_BYTES - 1 &&
           strspn(text, "0123456789abcdef") == SW_HISTORY_ID_BYTES - 1;
}

static bool take_name(char out[SW_REPL_NAME_BYTES], const uint8_t *word, uint32_t size)
{
    if (size == 0 || size >= SW_REPL_NAME_BYTES) {
        return false;
    }
    memcpy(out, word, size);
    for (uint32_t i = 0; i < size; i++) {
        if (word[i] <= ' ' || word[i] > '~') {
            return false;
        }
    }
    return true;
}

static bool take_member(struct sw_repl_hello *hello, const uint8_t *const *words,
                        const uint32_t *sizes)
{
    return take_name(hello->shard, words[0], sizes[0]) &&
           take_name(hello->node, words[1], sizes[1]) &&
           sw_decimal_parse(words[2], sizes[2], UINT64_MAX, &hello->incarnation) &&
           sw_decimal_parse(words[3], sizes[3], UINT64_MAX, &hello->closed);
}

bool sw_repl_hello_parse(struct sw_repl_hello *hello, const uint8_t *const *words,
                         const uint32_t *sizes, unsigned count)
{
    uint64_t *const numbers[SW_REPL_HELLO_WORDS] = {&hello->version,     NULL,
                                                    &hello->sequence,    &hello->key_bytes,
                                                    &hello->value_bytes, &hello->value_format,
                                                    &hello->engine,      &hello->batch_ops_max};
    memset(hello, 0, sizeof(*hello));
    if (sizes[1] != SW_HISTORY_ID_BYTES - 1) {
        return false;
    }
    memcpy(hello->history, words[1], SW_HISTORY_ID_BYTES - 1);
    for (int i = 0; i < SW_REPL_HELLO_WORDS; i++) {
        if (numbers[i] != NULL && !sw_decimal_parse(words[i], sizes[i], UINT64_MAX, numbers[i])) {
            return false;
        }
    }
    return is_history(hello->history) &&
           (count == SW_REPL_HELLO_WORDS ||
            (count == SW_REPL_MEMBER_WORDS &&
             take_member(hello, words + SW_REPL_HELLO_WORDS, sizes + SW_REPL_HELLO_WORDS)));
}

static size_t write_word(const char *word, char *out, size_t bytes)
{
    return (size_t)snprintf(out, bytes, "$%zu\r\n%s\r\n", strlen(word), word);
}

size_t sw_repl_hello_write(const struct sw_repl_hello *hello, char *out, size_t bytes)
{
    const uint64_t numbers[SW_REPL_MEMBER_WORDS] = {hello->version,
                                                    0,
                                                    hello->sequence,
                                                    hello->key_bytes,
                                                    hello->value_bytes,
                                                    hello->value_format,
                                                    hello->engine,
                                                    hello->batch_ops_max,
                                                    0,
                                                    0,
                                                    hello->incarnation,
                                                    hello->closed};
    const char *const texts[SW_REPL_MEMBER_WORDS] = {
        [1] = hello->history, [8] = hello->shard, [9] = hello->node};
    int words = hello->shard[0] == '\0' ? SW_REPL_HELLO_WORDS : SW_REPL_MEMBER_WORDS;
    size_t size = (size_t)snprintf(out, bytes, "*%d\r\n$9\r\nREPLICATE\r\n", 1 + words);
    for (int i = 0; i < words; i++) {
        char digits[SW_DECIMAL_DIGITS_MAX + 1];
        digits[sw_decimal_format(numbers[i], digits)] = '\0';
        size += write_word(texts[i] != NULL ? texts[i] : digits, out + size, bytes - size);
    }
    return size;
}

static uint32_t type_of(const struct sw_repl_hello *hello)
{
    return (uint32_t)(hello->value_format % SW_REPL_TEXT / SW_REPL_TYPE);
}

static bool has_ids(const struct sw_repl_hello *hello)
{
    return hello->value_format % SW_REPL_TYPE / SW_REPL_IDS != 0;
}

static uint32_t form_of(const struct sw_repl_hello *hello)
{
    return (uint32_t)(hello->engine / SW_REPL_FORM);
}

bool sw_repl_hello_fits(const struct sw_repl_hello *replica, const struct sw_repl_hello *primary,
                        char *reason, size_t reason_bytes)
{
    const struct {
        const char *what, *options; /* options that set it; "": none does */
        uint64_t replica, primary;
        bool fits;
    } rows[] = {
        {"version of replication", "", replica->version, primary->version,
         replica->version > 0 && replica->version <= primary->version},
        {"bytes of a key", " --key-bits", replica->key_bytes, primary->key_bytes,
         replica->key_bytes == primary->key_bytes},
        {"bytes of a key's text", " --resp-key-text-bytes", replica->value_format / SW_REPL_TEXT,
         primary->value_format / SW_REPL_TEXT,
         replica->value_format / SW_REPL_TEXT == primary->value_format / SW_REPL_TEXT},
        {"bytes of a value", " --value-bytes and --value-type", replica->value_bytes,
         primary->value_bytes, replica->value_bytes == primary->value_bytes},
        {"format of values", " --value-bytes and --value-type",
         replica->value_format % SW_REPL_TYPE, primary->value_format % SW_REPL_TYPE,
         replica->value_format % SW_REPL_TYPE == primary->value_format % SW_REPL_TYPE},
        {"type of values", " --value-type", type_of(replica), type_of(primary),
         sw_value_types_fit(type_of(replica), type_of(primary))},
        {"operations of a batch", " --frame-ops-max and --round-ops-max", replica->batch_ops_max,
         primary->batch_ops_max, replica->batch_ops_max >= primary->batch_ops_max},
    };
    if (has_ids(replica) != has_ids(primary)) {
        snprintf(reason, reason_bytes,
                 "only the %s has --ids: start the replica with the --ids of its primary",
                 has_ids(replica) ? "replica" : "primary");
        return false;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (!rows[i].fits) {
            int size = snprintf(reason, reason_bytes,
                                "the %s: the replica has %" PRIu64 ", the primary %" PRIu64,
                                rows[i].what, rows[i].replica, rows[i].primary);
            if (rows[i].options[0] != '\0' && size > 0 && (size_t)size < reason_bytes) {
                snprintf(reason + size, reason_bytes - (size_t)size,
                         ": start the replica with the%s of its primary", rows[i].options);
            }
            return false;
        }
    }
    const uint32_t theirs = form_of(replica), ours = form_of(primary);
    if (theirs != 0 && ours != 0 && !sw_key_form_fits(ours, theirs - 1)) {
        snprintf(reason, reason_bytes,
                 "the form of keys: the replica has --resp-keys %s, the primary --resp-keys %s",
                 sw_key_form_name(theirs), sw_key_form_name(ours));
        return false;
    }
    return true;
}

size_t sw_repl_welcome_write(const struct sw_repl_welcome *welcome, char *out, size_t bytes)
{
    int size = snprintf(out, bytes, "+%s %s %" PRIu64 " %" PRIu64,
                        welcome->resumes ? "RESUME" : "SNAPSHOT", welcome->history,
                        welcome->sequence, welcome->salt);
    size += welcome->term == 0 ? 0
                               : snprintf(out + size, bytes - (size_t)size, " %" PRIu64 " %" PRIu64,
                                          welcome->term, welcome->start);
    return (size_t)size + (size_t)snprintf(out + size, bytes - (size_t)size, "\r\n");
}

bool sw_repl_welcome_parse(struct sw_repl_welcome *welcome, const char *line)
{
    char word[16], end;
    memset(welcome, 0, sizeof(*welcome));
    int got = sscanf(line, "+%15s %40s %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 "%c", word,
                     welcome->history, &welcome->sequence, &welcome->salt, &welcome->term,
                     &welcome->start, &end);
    if (got != 4 && (got != 6 || welcome->term == 0 || welcome->start == 0)) {
        return false;
    }
    welcome->resumes = strcmp(word, "RESUME") == 0;
    return is_history(welcome->history) && (welcome->resumes || strcmp(word, "SNAPSHOT") == 0);
}

void sw_repl_ack_write(uint64_t applied, uint64_t incarnation, uint64_t salt,
                       uint8_t out[SW_REPL_ACK_BYTES])
{
    const uint64_t words[3] = {htole64(ACK_MAGIC), htole64(applied), htole64(incarnation)};
    memcpy(out, words, sizeof(words));
    const uint64_t check = htole64(sw_check64(out, sizeof(words), salt));
    memcpy(out + sizeof(words), &check, sizeof(check));
}

bool sw_repl_ack_parse(const uint8_t bytes[SW_REPL_ACK_BYTES], uint64_t salt, uint64_t *applied,
                       uint64_t *incarnation)
{
    uint64_t words[4];
    memcpy(words, bytes, sizeof(words));
    *applied = le64toh(words[1]);
    *incarnation = le64toh(words[2]);
    return le64toh(words[0]) == ACK_MAGIC &&
           le64toh(words[3]) == sw_check64(bytes, 3 * sizeof(words[0]), salt);
}
