/* SPDX-License-Identifier: MIT
 *
 * fake_table.c - a script that answers correctly.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/support/fake_server.h"
#include "tests/support/oracle.h"

#define BATCH_MAX 64

void sw_fake_table_init(struct sw_fake_table *table, uint32_t key_bytes, uint32_t value_bytes,
                        uint64_t slots_count)
{
    *table = (struct sw_fake_table){.key_bytes = key_bytes,
                                    .value_bytes = value_bytes,
                                    .ops_max = 65536,
                                    .in_flight_max = 16,
                                    .slots_count = slots_count};
    table->slots = calloc(slots_count, sizeof(*table->slots));
    if (table->slots == NULL || pthread_mutex_init(&table->mutex, NULL) != 0) {
        abort();
    }
}

void sw_fake_table_fini(struct sw_fake_table *table)
{
    pthread_mutex_destroy(&table->mutex);
    free(table->slots);
}

static struct sw_fake_slot *slot_of(const struct sw_fake_table *table, uint64_t key)
{
    uint64_t at = key * 0x9E3779B97F4A7C15U >> 20;
    struct sw_fake_slot *slot;
    do {
        slot = &table->slots[at++ & (table->slots_count - 1)];
    } while (slot->used && slot->key != key);
    return slot;
}

bool sw_fake_table_get(const struct sw_fake_table *table, uint64_t key, uint64_t *value)
{
    const struct sw_fake_slot *slot = slot_of(table, key);
    *value = slot->present ? slot->value : 0;
    return slot->present;
}

static uint64_t load(const uint8_t *array, uint32_t bytes, uint64_t i)
{
    uint64_t value = 0;
    memcpy(&value, array + i * bytes, bytes);
    return value;
}

bool sw_fake_apply(uint32_t operation, bool *present, uint64_t *value, uint64_t operand,
                   uint64_t mask)
{
    const bool was = *present;
    uint64_t now = 0;
    if (operation == SW_OPERATION_DELETE) {
        *present = false;
    } else if (oracle_writes(sw_operation_op(operation), was, was ? *value : 0, operand, mask,
                             &now)) {
        *present = true;
        *value = now;
    } else {
        return !sw_operation_may_overflow(operation) || (!was && !sw_operation_inserts(operation));
    }
    return true;
}

static bool apply_one(struct sw_fake_table *table, uint32_t operation, uint64_t key, uint64_t value)
{
    const uint64_t max = table->value_bytes == 4 ? UINT32_MAX : UINT64_MAX;
    struct sw_fake_slot *slot = slot_of(table, key);
    table->occupied -= slot->present;
    const bool done = sw_fake_apply(operation, &slot->present, &slot->value, value, max);
    table->occupied += slot->present;
    slot->used |= slot->present;
    slot->key = slot->used ? key : slot->key;
    return done;
}

struct answer {
    struct sw_reply reply;
    uint8_t *body;
    size_t body_bytes;
};

static void apply(struct sw_fake_table *table, const struct sw_request *request,
                  const uint8_t *body, struct answer *answer)
{
    const uint8_t *operands = body + sw_request_layout(request).second;
    answer->reply = sw_fake_ok(request);
    answer->reply.lacks_found &= !table->is_older;
    if (table->occupied_max != 0 && sw_operation_has_operands(request->operation) &&
        table->occupied + request->count > table->occupied_max) {
        answer->reply = (struct sw_reply){.request_id = request->request_id,
                                          .status = SW_REPLY_OUT_OF_MEMORY,
                                          .message = "the fake table is full"};
        return;
    }
    struct sw_body_layout layout = sw_reply_layout(&answer->reply, SW_OPERATION_GET);
    answer->body_bytes = (size_t)layout.bytes;
    answer->body = calloc(1, answer->body_bytes + 1); /* there may be none */
    uint64_t *found = (uint64_t *)(void *)(answer->body + layout.second);
    for (uint32_t i = 0; i < request->count; i++) {
        uint64_t key = load(body, table->key_bytes, i);
        uint64_t old;
        bool present = sw_fake_table_get(table, key, &old);
        if (request->want_values) {
            memcpy(answer->body + (size_t)i * table->value_bytes, &old, table->value_bytes);
        }
        if (!answer->reply.lacks_found) {
            found[i / 64] |= (uint64_t)present << (i % 64);
        }
        answer->reply.hits += present;
        bool writes = sw_operation_has_operands(request->operation);
        bool done = apply_one(table, request->operation, key,
                              writes ? load(operands, table->value_bytes, i) : 0);
        answer->reply.overflows += !done;
    }
    table->last_operation = request->operation;
    table->frames++;
}

/* Entries of the slots from `cursor` on. */
static void scan(const struct sw_fake_table *table, const struct sw_request *request,
                 struct answer *answer)
{
    struct sw_reply *reply = &answer->reply;
    uint64_t at = request->cursor;
    *reply = sw_fake_ok(request);
    answer->body_bytes = (size_t)sw_reply_layout(reply, SW_OPERATION_SCAN).bytes;
    answer->body = calloc(1, answer->body_bytes);
    uint64_t *pairs = calloc(request->count, 2 * sizeof(*pairs));
    reply->count = 0;
    for (; at < table->slots_count && reply->count < request->count; at++) {
        if (table->slots[at].present) {
            pairs[2 * reply->count] = table->slots[at].key;
            pairs[2 * reply->count++ + 1] = table->slots[at].value;
        }
    }
    reply->cursor = at == table->slots_count ? 0 : at;
    struct sw_body_layout layout = sw_reply_layout(reply, SW_OPERATION_SCAN);
    for (uint32_t i = 0; i < reply->count; i++) {
        memcpy(answer->body + (size_t)i * table->key_bytes, &pairs[2 * i], table->key_bytes);
        memcpy(answer->body + layout.second + (size_t)i * table->value_bytes, &pairs[2 * i + 1],
               table->value_bytes);
    }
    answer->body_bytes = (size_t)layout.bytes;
    free(pairs);
}

static void tell_figures(const struct sw_fake_table *table, const struct sw_request *request,
                         struct answer *answer)
{
    const struct sw_figure figures[] = {
        {"keys", table->occupied}, {"capacity_slots", table->slots_count},
        {"get_operations", 11},    {"get_probes", 12},
        {"get_hits", 13},          {"get_misses", 14},
        {"of_a_later_server", 15},
    };
    answer->reply = sw_fake_ok(request);
    answer->reply.count = sizeof(figures) / sizeof(figures[0]);
    answer->body_bytes = sizeof(figures);
    answer->body = malloc(sizeof(figures));
    memcpy(answer->body, figures, sizeof(figures));
}

static void answer_request(struct sw_fake_table *table, const struct sw_request *request,
                           const uint8_t *body, struct answer *answer)
{
    *answer = (struct answer){.reply = {.request_id = request->request_id}};
    pthread_mutex_lock(&table->mutex);
    if (sw_operation_is_data(request->operation)) {
        apply(table, request, body, answer);
    } else if (request->operation == SW_OPERATION_SCAN) {
        scan(table, request, answer);
    } else if (request->operation == SW_OPERATION_CLEAR) {
        memset(table->slots, 0, table->slots_count * sizeof(*table->slots));
        table->occupied = 0;
    } else if (request->operation == SW_OPERATION_STATS) {
        tell_figures(table, request, answer);
    }
    pthread_mutex_unlock(&table->mutex);
}

void sw_fake_table_script(int fd, void *user)
{
    struct sw_fake_table *table = user;
    uint32_t batch = table->reply_batch == 0 ? 1 : table->reply_batch;
    size_t room = (size_t)table->ops_max * 16 + 2 * SW_FRAME_ALIGN;
    uint8_t *body = malloc(room);
    bool alive = body != NULL && batch <= BATCH_MAX &&
                 sw_fake_hello(fd, table->key_bytes, table->value_bytes, table->ops_max,
                               table->in_flight_max);
    while (alive) {
        struct answer answers[BATCH_MAX];
        uint32_t n = 0;
        while (n < batch && alive) {
            struct sw_request request;
            alive = sw_fake_read(fd, &request, body, room);
            if (alive) {
                answer_request(table, &request, body, &answers[n++]);
            }
        }
        while (n-- > 0) {
            alive = alive &&
                    sw_fake_reply(fd, &answers[n].reply, answers[n].body, answers[n].body_bytes);
            free(answers[n].body);
        }
    }
    free(body);
}
