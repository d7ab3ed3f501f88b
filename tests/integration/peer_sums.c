/* SPDX-License-Identifier: MIT
 *
 * peer_sums.c - sherwood_add with a daemon of rows: calls of several frames, scales, and operands
 * of 32 bits for rows of 16. The numbers are small integers, which every type has. peer_sums
 * ADDRESS
 */
#include <string.h>

#include "client/sherwood.h"
#include "tests/integration/peer.h"

#define KEYS 20000U
#define NUMBERS_MAX 64U

/* The bits of a small integer, as `type` has them; returns how many bytes these are. */
static size_t put(void *out, enum sherwood_type type, int number)
{
    const uint64_t u64 = (uint64_t)(int64_t)number;
    const float f32 = (float)number;
    const double f64 = number;
    uint32_t bits;
    uint16_t half;
    memcpy(&bits, &f32, sizeof(bits));
    switch (type) {
    case SHERWOOD_U64:
    case SHERWOOD_I64:
        memcpy(out, &u64, 8);
        return 8;
    case SHERWOOD_F64:
        memcpy(out, &f64, 8);
        return 8;
    case SHERWOOD_U32:
        memcpy(out, &u64, 4);
        return 4;
    case SHERWOOD_F32:
        memcpy(out, &bits, 4);
        return 4;
    case SHERWOOD_BF16:
        half = (uint16_t)(bits >> 16);
        memcpy(out, &half, 2);
        return 2;
    default: /* F16 */
        half = (uint16_t)((bits >> 16 & 0x8000) | ((bits & 0x7fffffff) - 0x38000000) >> 13);
        half = number == 0 ? 0 : half;
        memcpy(out, &half, 2);
        return 2;
    }
}

/* An array of rows, all of whose numbers are 1 + key % 4. */
static uint8_t *make_rows(enum sherwood_type type, uint32_t numbers)
{
    uint8_t *rows = malloc((size_t)KEYS * numbers * 8);
    size_t at = 0;
    for (size_t i = 0; i < (size_t)KEYS * numbers; i++) {
        at += put(rows + at, type, 1 + (int)(i / numbers % 4));
    }
    return rows;
}

int main(int argc, char **argv)
{
    struct sherwood *client;
    char text[256] = "";
    PEER_CHECK(argc == 2, "usage: peer_sums ADDRESS");
    PEER_CHECK(sherwood_connect_text(argv[1], NULL, &client, text, sizeof(text)) == SHERWOOD_OK,
               "connect %s: %s", argv[1], text);
    const struct sherwood_server *server = sherwood_server(client);
    const enum sherwood_type type = server->value_type;
    const bool is_float = type >= SHERWOOD_F32 && type <= SHERWOOD_BF16;
    uint64_t *keys = malloc(KEYS * sizeof(*keys));
    uint64_t *found = calloc(sherwood_found_words(KEYS), sizeof(*found));
    for (uint64_t i = 0; i < KEYS; i++) {
        keys[i] = i;
    }
    if (type < SHERWOOD_U32) {
        PEER_CHECK(sherwood_add(client, keys, keys, 1, 1, 0, false) == SHERWOOD_E_INVALID, "bytes");
        PEER_CHECK(strstr(sherwood_error(client), "are not rows of numbers") != NULL, "%s",
                   sherwood_error(client));
        sherwood_close(client);
        peer_ok("values that are no numbers");
        peer_ok("all");
        return 0;
    }
    const uint32_t numbers = server->dimension;
    uint8_t *own = make_rows(type, numbers), *wide = make_rows(SHERWOOD_F32, numbers);
    uint8_t *got = malloc((size_t)KEYS * server->value_bytes);
    int factor = 1;
    PEER_CHECK(sherwood_add(client, keys, own, KEYS, 0, 0, true) == SHERWOOD_OK, "absent: %s",
               sherwood_error(client));
    PEER_CHECK(sherwood_get(client, keys, KEYS, NULL, found) == SHERWOOD_OK && found[0] == 0,
               "absent keys stay so");
    PEER_CHECK(sherwood_add(client, keys, own, KEYS, 1, type, false) == SHERWOOD_OK, "insert: %s",
               sherwood_error(client));
    if (is_float) {
        PEER_CHECK(sherwood_add(client, keys, wide, KEYS, 16, SHERWOOD_F32, false) == SHERWOOD_OK,
                   "wide: %s", sherwood_error(client));
        factor += 16;
    }
    PEER_CHECK(sherwood_add(client, keys, own, KEYS, -1, 0, true) == SHERWOOD_OK, "minus: %s",
               sherwood_error(client));
    factor -= 1;
    PEER_CHECK(sherwood_get(client, keys, KEYS, got, found) == SHERWOOD_OK, "get");
    const uint8_t *at = got;
    for (size_t i = 0; i < (size_t)KEYS * numbers; i++) {
        uint8_t wanted[8];
        const size_t bytes = put(wanted, type, factor * (1 + (int)(i / numbers % 4)));
        PEER_CHECK(memcmp(at, wanted, bytes) == 0, "number %zu", i);
        at += bytes;
    }
    if (type != SHERWOOD_F32) {
        PEER_CHECK(sherwood_add(client, keys, own, 1, 0.5F, 0, false) == SHERWOOD_E_REQUEST,
                   "half of an integer, or of 16 bits");
        PEER_CHECK(strstr(sherwood_error(client), "1 or -1") != NULL, "%s", sherwood_error(client));
    }
    free(keys);
    free(found);
    free(own);
    free(wide);
    free(got);
    sherwood_close(client);
    peer_ok("sums of rows");
    peer_ok("all");
    return 0;
}
