/* SPDX-License-Identifier: MIT
 *
 * test_command.c - looking up every command, in every case of its letters, and nothing else.
 */
#include <criterion/criterion.h>
#include <ctype.h>
#include <string.h>

#include "server/resp/command.h"
#include "table/table.h"

static const struct sw_command *find(const char *name)
{
    return sw_command_find((const uint8_t *)name, strlen(name));
}

static bool is_on_keys(const struct sw_command *command)
{
    return command->kind == SW_KIND_DATA || command->kind == SW_KIND_RMW;
}

Test(command, rows_stand_at_their_ids)
{
    for (unsigned id = 0; id < SW_COMMAND_COUNT; id++) {
        const struct sw_command *command = sw_command_at((enum sw_command_id)id);
        cr_assert_eq(command->id, id);
        cr_assert_eq(command->name_size, strlen(command->name));
        cr_assert_neq(command->arity, 0);
        for (const char *c = command->name; *c != '\0'; c++) {
            cr_assert(islower((unsigned char)*c), "%s", command->name);
        }
        cr_assert_eq(command->first_key == 0, command->key_step == 0, "%s", command->name);
        cr_assert_eq(is_on_keys(command), command->first_key != 0, "%s", command->name);
        cr_assert_neq(command->summary[0], '\0');
    }
    cr_assert_null(sw_command_at(SW_COMMAND_COUNT));
}

Test(command, every_name_in_every_case)
{
    for (unsigned id = 0; id < SW_COMMAND_COUNT; id++) {
        const struct sw_command *command = sw_command_at((enum sw_command_id)id);
        for (unsigned mask = 0; mask < 1U << command->name_size; mask++) {
            uint8_t name[16];
            for (unsigned i = 0; i < command->name_size; i++) {
                name[i] =
                    (uint8_t)((mask >> i & 1) != 0 ? toupper(command->name[i]) : command->name[i]);
            }
            cr_assert_eq(sw_command_find(name, command->name_size), command, "%.*s",
                         command->name_size, (const char *)name);
        }
    }
}

static bool is_a_name(const uint8_t *name, size_t size)
{
    for (unsigned id = 0; id < SW_COMMAND_COUNT; id++) {
        const struct sw_command *command = sw_command_at((enum sw_command_id)id);
        if (command->name_size == size &&
            strncasecmp(command->name, (const char *)name, size) == 0) {
            return true;
        }
    }
    return false;
}

/* Every byte of every name replaced by every byte; one byte less; one byte more. */
Test(command, neighbours_of_names_are_unknown)
{
    unsigned tried = 0;
    for (unsigned id = 0; id < SW_COMMAND_COUNT; id++) {
        const struct sw_command *command = sw_command_at((enum sw_command_id)id);
        size_t size = command->name_size;
        uint8_t name[17] = {0};
        for (size_t at = 0; at < size; at++) {
            memcpy(name, command->name, size);
            for (unsigned byte = 0; byte < 256; byte++) {
                name[at] = (uint8_t)byte;
                cr_assert_eq(sw_command_find(name, size) != NULL, is_a_name(name, size),
                             "byte %u at %zu of %s", byte, at, command->name);
                tried++;
            }
        }
        memcpy(name, command->name, size);
        cr_assert_eq(sw_command_find(name, size - 1) != NULL, is_a_name(name, size - 1));
        for (unsigned byte = 0; byte < 256; byte++) {
            name[size] = (uint8_t)byte;
            cr_assert_eq(sw_command_find(name, size + 1) != NULL, is_a_name(name, size + 1));
        }
    }
    cr_assert_gt(tried, 50000);
}

Test(command, odd_sizes_are_unknown)
{
    uint8_t zeros[64] = {0};
    char longer[64];
    for (size_t size = 0; size <= sizeof(zeros); size++) {
        cr_assert_null(sw_command_find(zeros, size));
    }
    memset(longer, 'a', sizeof(longer));
    memcpy(longer, "get", 3);
    for (size_t size = 4; size < sizeof(longer); size++) {
        cr_assert_null(sw_command_find((const uint8_t *)longer, size));
    }
    cr_assert_null(find("get "));
    cr_assert_null(find(" get"));
    cr_assert_null(find("nosuch"));
}

Test(command, arity)
{
    cr_assert(sw_command_arity_fits(find("get"), 2));
    cr_assert_not(sw_command_arity_fits(find("get"), 1));
    cr_assert_not(sw_command_arity_fits(find("get"), 3));
    cr_assert(sw_command_arity_fits(find("mget"), 2));
    cr_assert(sw_command_arity_fits(find("mget"), 100000));
    cr_assert_not(sw_command_arity_fits(find("mget"), 1));
}

static bool is(const char *text, size_t size, const char *word)
{
    struct sw_resp_argument argument = {(const uint8_t *)text, (uint32_t)size};
    return sw_argument_is(&argument, word);
}

Test(command, argument_is)
{
    cr_assert(is("match", 5, "MATCH"));
    cr_assert(is("MaTcH", 5, "MATCH"));
    cr_assert(is("lib-name", 8, "LIB-NAME"));
    cr_assert_not(is("matc", 4, "MATCH"));
    cr_assert_not(is("matchx", 6, "MATCH"));
    cr_assert_not(is("", 0, "MATCH"));
    cr_assert_not(is("MATCH\0", 6, "MATCH"));
    cr_assert_not(is("ma\0ch", 5, "MATCH"));
    cr_assert(is("", 0, ""));
}

/* Every command on keys or of a batch of its own is lost with what it needs, and no other. */
/* Of kind CONTROL, without a batch. */
static bool waits_for_others(enum sw_command_id id)
{
    return id == SW_COMMAND_SAVE || id == SW_COMMAND_DIGEST || id == SW_COMMAND_WAITAOF ||
           id == SW_COMMAND_CLUSTER || id == SW_COMMAND_WAIT || id == SW_COMMAND_REPLICAOF ||
           id == SW_COMMAND_SLAVEOF || id == SW_COMMAND_TABLE || id == SW_COMMAND_SWAPDB;
}

Test(command, only_a_key_set_has_insert)
{
    const uint32_t kinds = (1U << (SW_BATCH_RESIZE + 1)) - 1;
    struct sw_command_set lost;
    const uint64_t keys = SW_OPS_ONE(SW_GET) | SW_OPS_ONE(SW_SET) | SW_OPS_ONE(SW_SET_ABSENT) |
                          SW_OPS_ONE(SW_SET_PRESENT) | SW_OPS_ONE(SW_DELETE);
    sw_commands_unsupported(keys, kinds, &lost);
    cr_assert(lost.has[SW_COMMAND_SUM] && lost.has[SW_COMMAND_EXPIRE], "keys have no values");
    cr_assert_not(lost.has[SW_COMMAND_INSERT] || lost.has[SW_COMMAND_SETNX], "keys are added");
    sw_commands_unsupported(keys | SW_OPS_ONE(SW_SUM), kinds, &lost);
    cr_assert(lost.has[SW_COMMAND_INSERT], "integers are not");
}

Test(command, what_an_engine_lacks)
{
    const uint64_t operations = SW_OPS_INTEGERS | SW_OPS_PAIR | SW_OPS_ONE(SW_EXPIRE) |
                                SW_OPS_ONE(SW_APPEND) | SW_OPS_ONE(SW_FIND_OR_INSERT);
    const uint32_t kinds = (1U << (SW_BATCH_RESIZE + 1)) - 1;
    struct sw_command_set lost;
    unsigned losses[SW_COMMAND_COUNT] = {0};
    sw_commands_unsupported(operations, kinds, &lost);
    for (unsigned id = 0; id < SW_COMMAND_COUNT; id++) { /* only a key set has INSERT */
        cr_assert_eq(lost.has[id], id == SW_COMMAND_INSERT);
    }
    for (unsigned op = 0; op < SW_OP_END; op++) {
        sw_commands_unsupported(operations & ~SW_OPS_ONE(op), kinds, &lost);
        for (unsigned id = 0; id < SW_COMMAND_COUNT; id++) {
            losses[id] += lost.has[id];
        }
    }
    for (unsigned kind = SW_BATCH_CLEAR; kind <= SW_BATCH_RESIZE; kind++) {
        sw_commands_unsupported(operations, kinds & ~(1U << kind), &lost);
        for (unsigned id = 0; id < SW_COMMAND_COUNT; id++) {
            losses[id] += lost.has[id];
        }
    }
    for (unsigned id = 0; id < SW_COMMAND_COUNT; id++) {
        const struct sw_command *command = sw_command_at((enum sw_command_id)id);
        bool needs = command->kind == SW_KIND_DATA ||
                     (command->kind == SW_KIND_CONTROL && !waits_for_others(command->id));
        cr_assert(losses[id] == needs || id == SW_COMMAND_INSERT,
                  "one operation or one kind for %s", command->name);
    }
    sw_commands_unsupported(operations | SW_OPS_ONE(SW_SET_SCORE), kinds, &lost);
    for (unsigned id = 0; id < SW_COMMAND_COUNT; id++) { /* what has scores evicts */
        cr_assert_eq(lost.has[id], sw_command_at((enum sw_command_id)id)->kind == SW_KIND_RMW ||
                                       id == SW_COMMAND_INCRBYFLOAT || id == SW_COMMAND_SETRANGE ||
                                       id == SW_COMMAND_ASSIGN || id == SW_COMMAND_INSERT);
    }
    sw_commands_unsupported(operations & ~SW_OPS_ONE(SW_INCREMENT), kinds & ~(1U << SW_BATCH_SCAN),
                            &lost);
    for (unsigned id = 0; id < SW_COMMAND_COUNT; id++) {
        cr_assert_eq(lost.has[id], id == SW_COMMAND_INCR || id == SW_COMMAND_INCRBY ||
                                       id == SW_COMMAND_SCAN || id == SW_COMMAND_KEYS ||
                                       id == SW_COMMAND_RANDOMKEY || id == SW_COMMAND_INSERT);
    }
    sw_commands_unsupported((operations | SW_OPS_ONE(SW_INCRBY)) & ~SW_OPS_ONE(SW_INCREMENT) &
                                ~SW_OPS_ONE(SW_DECREMENT),
                            kinds, &lost);
    for (unsigned id = 0; id < SW_COMMAND_COUNT; id++) { /* strings also count */
        cr_assert_eq(lost.has[id], id == SW_COMMAND_INSERT);
    }
    const uint64_t ids =
        SW_OPS_ONE(SW_GET) | SW_OPS_ONE(SW_FIND_OR_INSERT) | SW_OPS_ONE(SW_DELETE) | SW_OPS_EXPIRE;
    sw_commands_unsupported(ids, kinds, &lost);
    cr_assert(lost.has[SW_COMMAND_SET] && lost.has[SW_COMMAND_SETEX] &&
                  lost.has[SW_COMMAND_RENAME] && lost.has[SW_COMMAND_MSETNX],
              "ids are never set");
    cr_assert_not(lost.has[SW_COMMAND_ASSIGN] || lost.has[SW_COMMAND_GETDEL] ||
                      lost.has[SW_COMMAND_DELEX] || lost.has[SW_COMMAND_GETEX],
                  "ids are read and freed");
    const uint64_t rows = SW_OPS_ROWS & ~SW_OPS_STRING & ~SW_OPS_ADD & ~SW_OPS_FITTING;
    sw_commands_unsupported(rows | SW_OPS_U64, kinds, &lost);
    cr_assert_not(lost.has[SW_COMMAND_INCR] || lost.has[SW_COMMAND_DECRBY], "rows of u64");
    sw_commands_unsupported(rows | SW_OPS_ADD, kinds, &lost);
    cr_assert(lost.has[SW_COMMAND_INCR] && lost.has[SW_COMMAND_DECRBY], "rows of bytes");
    sw_commands_unsupported(rows | SW_OPS_U32, kinds, &lost);
    cr_assert(lost.has[SW_COMMAND_INCR] && lost.has[SW_COMMAND_DECRBY], "rows of u32");
}

/* Data rows say what makes their operations, others say nothing of it. */
Test(command, rows_are_whole)
{
    for (unsigned id = 0; id < SW_COMMAND_COUNT; id++) {
        const struct sw_command *command = sw_command_at((enum sw_command_id)id);
        cr_assert_eq(command->maker != SW_MAKER_NONE, is_on_keys(command), "%s", command->name);
        if (command->kind == SW_KIND_DATA) {
            unsigned needs = command->op == SW_PEEK ? SW_GET : command->op;
            cr_assert_eq(command->operations, SW_OPS_ONE(needs), "%s", command->name);
            cr_assert_lt(command->operand, command->arity < 0 ? 2 : command->arity, "%s",
                         command->name);
            cr_assert_neq(command->effect, SW_COMMAND_EFFECT_NONE, "%s", command->name);
        }
        cr_assert(command->kind == SW_KIND_DATA || command->kind == SW_KIND_SESSION ||
                      command->kind == SW_KIND_TRANSACTION ||
                      command->in_multi == SW_MULTI_REFUSED || command->id == SW_COMMAND_WATCH,
                  "%s has a batch or a report of its own", command->name);
        cr_assert(command->kind != SW_KIND_TRANSACTION || command->in_multi == SW_MULTI_AT_ONCE,
                  "%s would be queued", command->name);
    }
}
