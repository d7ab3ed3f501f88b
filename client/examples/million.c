/* SPDX-License-Identifier: MIT
 * million.c - a million keys in, out again, and compared. Build and run it with:
 *     cc million.c $(pkg-config --cflags --libs sherwood) -o million && ./million [address] */
#include <sherwood.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT 1000000

int main(int argc, char **argv)
{
    struct sherwood *client;
    char text[512];
    if (sherwood_connect_text(argc > 1 ? argv[1] : "127.0.0.1:7379", NULL, &client, text,
                              sizeof(text)) != SHERWOOD_OK) {
        return fprintf(stderr, "%s\n", text), 1;
    }
    if (sherwood_server(client)->key_bytes != 8 || sherwood_server(client)->value_bytes != 8) {
        return fprintf(stderr, "this example needs a server with keys and values of 8 bytes\n"), 1;
    }
    uint64_t *keys = malloc(COUNT * sizeof(*keys));
    uint64_t *values = malloc(COUNT * sizeof(*values));
    uint64_t *found = malloc(sherwood_found_words(COUNT) * sizeof(*found));
    for (uint64_t i = 0; i < COUNT; i++) {
        keys[i] = i * 7919;
        values[i] = i * i;
    }
    if (sherwood_set(client, keys, values, COUNT) != SHERWOOD_OK ||
        sherwood_get(client, keys, COUNT, values, found) != SHERWOOD_OK) {
        return fprintf(stderr, "%s\n", sherwood_error(client)), 1;
    }
    size_t good = 0;
    for (uint64_t i = 0; i < COUNT; i++) {
        good += sherwood_found(found, i) && values[i] == i * i;
    }
    printf("%zu of %d keys came back with their values\n", good, COUNT);
    sherwood_close(client);
    return good == COUNT ? 0 : 1;
}
