/* SPDX-License-Identifier: MIT
 *
 * peer_cluster.c - carries out what a script says with one handle of a cluster, and tells what came
 * of it: a line in, a line out.
 *   peer_cluster ADDRESS...
 *     run OPERATION COUNT KEY VALUE ..     STATUS HITS OVERFLOWS VALUE:FOUND .. | STATUS SENTENCE
 *     submit OPERATION COUNT KEY VALUE ..  STATUS
 *     wait                                 the requests that were submitted, in order: a line each
 *     secured REPLICAS MS                  STATUS REACHED | STATUS SENTENCE
 *     scan | stats | epoch | reload | clear | ping | shards | stripes | refused CALL
 * OPERATION is a number of sherwood.h. Keys and values are 64 bits wide.
 */
#include <inttypes.h>
#include <string.h>

#include "client/sherwood-cluster.h"
#include "client/sherwood-replicas.h"
#include "tests/integration/peer.h"

#define LINE_BYTES (1U << 22)
#define SUBMITTED_MAX 64

struct arrays {
    struct sherwood_request request;
    uint64_t *keys, *values, *previous, *found;
};

static struct sherwood *client;
static struct arrays submitted[SUBMITTED_MAX];
static unsigned submitted_count;

static void print_status(int status)
{
    printf("%d", status);
    if (status != SHERWOOD_OK) {
        printf(" %s", sherwood_error(client));
    }
    putchar('\n');
}

/* Reads "OPERATION COUNT KEY VALUE ..". */
static struct arrays read_arrays(char *text)
{
    struct arrays arrays = {.request = SHERWOOD_REQUEST_INIT};
    arrays.request.operation = (enum sherwood_operation)strtoul(text, &text, 10);
    const size_t count = strtoul(text, &text, 10);
    arrays.keys = calloc(count + 1, sizeof(uint64_t));
    arrays.values = calloc(count + 1, sizeof(uint64_t));
    arrays.previous = calloc(count + 1, sizeof(uint64_t));
    arrays.found = calloc(sherwood_found_words(count) + 1, sizeof(uint64_t));
    for (size_t i = 0; i < count; i++) {
        arrays.keys[i] = strtoull(text, &text, 10);
        arrays.values[i] = strtoull(text, &text, 10);
    }
    arrays.request.count = (uint32_t)count;
    return arrays;
}

static void print_arrays(struct arrays *arrays, int status, uint64_t hits, uint64_t overflows)
{
    if (status != SHERWOOD_OK) {
        print_status(status);
    } else {
        printf("0 %" PRIu64 " %" PRIu64, hits, overflows);
        for (uint32_t i = 0; i < arrays->request.count; i++) {
            printf(" %" PRIu64 ":%d", arrays->previous[i], sherwood_found(arrays->found, i));
        }
        putchar('\n');
    }
    free(arrays->keys);
    free(arrays->values);
    free(arrays->previous);
    free(arrays->found);
}

static void run_line(char *text)
{
    struct arrays a = read_arrays(text);
    uint64_t hits = 0;
    int status = sherwood_run(client, a.request.operation, a.keys, a.values, a.request.count,
                              a.previous, a.found);
    for (uint32_t i = 0; i < a.request.count; i++) {
        hits += sherwood_found(a.found, i);
    }
    print_arrays(&a, status, hits, sherwood_overflows(client));
}

static void submit(char *text)
{
    PEER_CHECK(submitted_count < SUBMITTED_MAX, "too many requests");
    struct arrays *a = &submitted[submitted_count++];
    *a = read_arrays(text);
    a->request.keys = a->keys;
    a->request.values = a->values;
    a->request.previous = a->previous;
    a->request.found = a->found;
    print_status(sherwood_submit(client, &a->request));
}

static void wait_all(void)
{
    for (unsigned i = 0; i < submitted_count; i++) {
        struct arrays *a = &submitted[i];
        int status = sherwood_wait(client, &a->request);
        print_arrays(a, status, a->request.hits, a->request.overflows);
    }
    submitted_count = 0;
}

/* How many replicas have what was written? */
static void secured(char *text)
{
    uint32_t reached = 0;
    const uint32_t replicas = (uint32_t)strtoul(text, &text, 10);
    int status = sherwood_wait_replicas(client, replicas, (int)strtol(text, &text, 10), &reached);
    if (status != SHERWOOD_OK) {
        print_status(status);
    } else {
        printf("0 %u\n", reached);
    }
}

static void scan(void)
{
    uint64_t cursor = 0, keys[100], values[100];
    do {
        uint32_t count = 0;
        int status = sherwood_scan(client, &cursor, keys, values, 100, &count);
        if (status != SHERWOOD_OK) {
            print_status(status);
            return;
        }
        for (uint32_t i = 0; i < count; i++) {
            printf("%" PRIu64 ":%" PRIu64 " ", keys[i], values[i]);
        }
    } while (cursor != 0);
    putchar('\n');
}

static void shards(void)
{
    struct sherwood_shard shard = SHERWOOD_SHARD_INIT;
    for (uint32_t i = 0; sherwood_cluster_shard(client, i, &shard); i++) {
        printf("%s,%s,%u,%u,%" PRIu64 ",%" PRIu64 " ", shard.name, shard.address, shard.slots,
               shard.is_connected, shard.keys, shard.refusals);
    }
    putchar('\n');
}

/* A call that a handle of a cluster does not have. */
static void refused(const char *call)
{
    uint64_t number = 0;
    struct sherwood_region *region = NULL;
    struct sherwood_digest digest;
    print_status(strcmp(call, "resize") == 0   ? sherwood_resize(client, 10, NULL)
                 : strcmp(call, "region") == 0 ? sherwood_region_create(client, 4096, &region)
                 : strcmp(call, "epoch") == 0  ? sherwood_epoch(client, 0, &number)
                 : strcmp(call, "digest") == 0 ? sherwood_digest(client, &digest)
                 : strcmp(call, "scores") == 0 ? sherwood_count_scores(client, 0, 1, &number)
                                               : sherwood_wait_durable(client, 0));
}

static void obey(char *line)
{
    char *rest = strchr(line, ' ');
    if (rest != NULL) {
        *rest++ = '\0';
    }
    struct sherwood_stats stats = {0};
    if (strcmp(line, "run") == 0) {
        run_line(rest);
    } else if (strcmp(line, "submit") == 0) {
        submit(rest);
    } else if (strcmp(line, "wait") == 0) {
        wait_all();
    } else if (strcmp(line, "secured") == 0) {
        secured(rest);
    } else if (strcmp(line, "scan") == 0) {
        scan();
    } else if (strcmp(line, "shards") == 0) {
        shards();
    } else if (strcmp(line, "refused") == 0) {
        refused(rest);
    } else if (strcmp(line, "epoch") == 0) {
        printf("%" PRIu64 "\n", sherwood_cluster_epoch(client));
    } else if (strcmp(line, "stripes") == 0) {
        printf("%u\n", sherwood_stripes(client));
    } else if (strcmp(line, "stats") == 0) {
        int status = sherwood_stats(client, &stats, sizeof(stats));
        printf("%d %" PRIu64 "\n", status, stats.occupied);
    } else {
        print_status(strcmp(line, "reload") == 0  ? sherwood_cluster_reload(client)
                     : strcmp(line, "clear") == 0 ? sherwood_clear(client)
                                                  : sherwood_ping(client));
    }
    fflush(stdout);
}

int main(int argc, char **argv)
{
    char text[512] = "";
    char *line = malloc(LINE_BYTES);
    struct sherwood_options options = SHERWOOD_OPTIONS_INIT;
    options.connect_timeout_ms = 2000;
    int status = sherwood_connect_cluster_text((const char *const *)argv + 1, (size_t)argc - 1,
                                               &options, &client, text, sizeof(text));
    printf("%d %s\n", status, text);
    fflush(stdout);
    while (line != NULL && status == SHERWOOD_OK && fgets(line, LINE_BYTES, stdin) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        obey(line);
    }
    sherwood_close(client);
    free(line);
    return status == SHERWOOD_OK ? 0 : 1;
}
