/* SPDX-License-Identifier: MIT
 *
 * test_topology.c - what a topology says, and which sentence each wrong one gets.
 */
#include "proto/cluster/topology.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define A "0123456789abcdef0123456789abcdef01234567"
#define B "1123456789abcdef0123456789abcdef01234567"
#define C "2123456789abcdef0123456789abcdef01234567"
#define D "3123456789abcdef0123456789abcdef01234567"
#define E "4123456789abcdef0123456789abcdef01234567"

static const char right[] =
    "{\"format\":1,\"cluster\":\"prod\",\"epoch\":12,\"keys\":\"decimal\",\n"
    "\"shards\":[{\"id\":\"" A "\",\"name\":\"s1\",\"slots\":[[0,99],[100,8191],[9000,9000]]},\n"
    "{\"id\":\"" B "\",\"name\":\"s2\",\"slots\":[[9001,16383]],\"lost_after\":11}],\n"
    "\"nodes\":[{\"id\":\"" C
    "\",\"shard\":\"s1\",\"role\":\"replica\",\"ip\":\"10.0.0.1\",\"port\":1},\n"
    "{\"id\":\"" D "\",\"shard\":\"s1\",\"role\":\"primary\",\"ip\":\"10.0.0.1\",\"hostname\":\"a."
    "example\",\"port\":65535},\n"
    "{\"id\":\"" E
    "\",\"shard\":\"s2\",\"role\":\"primary\",\"ip\":\"2001:DB8::0:1\",\"port\":1}],\n"
    "\"moves\":[],\"force\":true}";

static char error[SW_TOPOLOGY_ERROR_BYTES];

static struct sw_topology *parse(const char *text)
{
    struct sw_topology *topology = sw_topology_parse(text, strlen(text), error);
    cr_assert(topology != NULL, "%s", error);
    return topology;
}

Test(topology, is_read_as_it_is_written)
{
    struct sw_topology *t = parse(right);
    cr_assert_str_eq(t->cluster, "prod");
    cr_assert(t->epoch == 12 && !t->is_raw && t->is_forced);
    cr_assert(t->shard_count == 2 && t->node_count == 3);
    const struct sw_topology_shard *s1 = &t->shards[0], *s2 = &t->shards[1];
    cr_assert(s1->range_count == 2 && s1->ranges[0].first == 0 && s1->ranges[0].last == 8191);
    cr_assert(s1->ranges[1].first == 9000 && s1->ranges[1].last == 9000 && s1->slot_count == 8193);
    cr_assert(s1->primary == 1 && s1->node_count == 2 && s1->lost_after == 0);
    cr_assert(s2->primary == 2 && s2->node_count == 1 && s2->lost_after == 11);
    cr_assert(t->slot_count == 8193 + 7383 && t->owner[0] == 0 && t->owner[8191] == 0);
    cr_assert(t->owner[8192] == SW_TOPOLOGY_NOBODY && t->owner[9001] == 1 && t->owner[16383] == 1);
    cr_assert_str_eq(t->nodes[1].hostname, "a.example");
    cr_assert_str_eq(t->nodes[2].ip, "2001:db8::1");
    cr_assert(!t->nodes[0].is_primary && t->nodes[0].hostname[0] == '\0' && t->nodes[0].port == 1);
    cr_assert(sw_topology_find_node(t, E) == 2 && sw_topology_find_node(t, A) == -1);
    sw_topology_free(t);
}

Test(topology, whose_epoch_is_told_by_its_place)
{
    struct sw_topology *t = parse(right);
    char *text = sw_topology_print_shared(t);
    cr_assert(strstr(text, "\"epoch\"") == NULL && strstr(text, "\"force\":true") != NULL);
    struct sw_topology *shared = sw_topology_parse_shared(text, strlen(text), 99, error);
    cr_assert(shared != NULL, "%s", error);
    cr_assert(shared->epoch == 99 && shared->is_forced && shared->shards[1].lost_after == 11);
    shared->epoch = 12;
    cr_assert(sw_topology_equal(t, shared));
    sw_topology_free(shared);
    cr_assert_null(sw_topology_parse(text, strlen(text), error));
    cr_assert_str_eq(error, "$.epoch is missing");
    cr_assert_null(sw_topology_parse_shared(text, strlen(text), 11, error)); /* lost_after */
    free(text);
    shared = sw_topology_parse_shared(right, strlen(right), 20, error); /* it says 12 */
    cr_assert(shared != NULL && shared->epoch == 20);
    sw_topology_free(shared);
    sw_topology_free(t);
}

Test(topology, that_is_printed_is_the_same)
{
    struct sw_topology *t = parse(right);
    char *text = sw_topology_print(t);
    struct sw_topology *again = parse(text);
    cr_assert(sw_topology_equal(t, again) && again->shards[1].lost_after == 11);
    char *twice = sw_topology_print(again);
    cr_assert_str_eq(text, twice);
    cr_assert(strstr(text, "force") == NULL && strchr(text, '\n') == NULL);
    free(text);
    free(twice);
    sw_topology_free(t);
    sw_topology_free(again);
    sw_topology_free(NULL);
}

/* The right text with the first `from` replaced by `to`. */
static char *changed(const char *from, const char *to)
{
    const char *place = strstr(right, from);
    cr_assert(place != NULL, "%s is not in the text", from);
    size_t before = (size_t)(place - right);
    char *text = malloc(sizeof(right) + strlen(to));
    memcpy(text, right, before);
    strcpy(text + before, to);
    strcat(text, place + strlen(from));
    return text;
}

Test(topology, that_differs_is_not_equal)
{
    static const char *const differences[][2] = {
        {"prod", "production"},
        {"12", "13"},
        {"decimal", "raw"},
        {A, "9123456789abcdef0123456789abcdef01234567"},
        {"[9000,9000]", "[8999,9000]"},
        {"10.0.0.1", "10.0.0.2"},
        {"a.example", "b.example"},
        {",\"hostname\":\"a.example\"", ""},
        {"65535", "2"},
        {"\"shard\":\"s1\",\"role\":\"replica\"", "\"shard\":\"s2\",\"role\":\"replica\""},
    };
    struct sw_topology *t = parse(right);
    for (size_t i = 0; i < sizeof(differences) / sizeof(differences[0]); i++) {
        char *text = changed(differences[i][0], differences[i][1]);
        struct sw_topology *other = parse(text);
        cr_expect(!sw_topology_equal(t, other), "%s", differences[i][1]);
        sw_topology_free(other);
        free(text);
    }
    char *text = changed("\"name\":\"s2\"", "\"name\":\"s3\"");
    memcpy(strstr(text, "\"shard\":\"s2\""), "\"shard\":\"s3\"", strlen("\"shard\":\"s3\""));
    struct sw_topology *other = parse(text);
    cr_expect(!sw_topology_equal(t, other), "the name of a shard");
    sw_topology_free(other);
    free(text);
    text = changed(",\"force\":true", "");
    other = parse(text);
    cr_assert(sw_topology_equal(t, other) && !other->is_forced);
    sw_topology_free(other);
    free(text);
    sw_topology_free(t);
}

#define BETWEEN "must be an integer from "
#define NAME "must be a name of 1 to 63 characters of a-z, 0-9 and -"
#define RANGE "must be a first and a last slot, from 0 to 16383"
#define HOST "$.nodes[1].hostname must be a host name as in RFC 1123"
#define ADDRESS "$.nodes[0].ip must be an IP address: put a name into \"hostname\""
#define ID "must be 40 hex digits in lower case"
#define L63 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct wrong {
    const char *from, *to, *sentence;
} wrongs[] = {
    {"{\"format\":1,", "[\"format\":1,", "line 1, column 10: ']' expected near ':'"},
    {"\"force\":true}", "\"force\":true", "line 7, column 23: '}' expected near end of file"},
    {"\"force\":true}", "\"force\":true}}", "line 7, column 25: end of file expected near '}'"},
    {"\"epoch\":12", "\"epoch\":12,\"epoch\":12",
     "line 1, column 47: duplicate object key near '\"epoch\"'"},
    {"12", "99999999999999999999",
     "line 1, column 57: too big integer near '99999999999999999999'"},
    {"prod", "pr\\u0000d",
     "line 1, column 33: \\u0000 is not allowed without JSON_ALLOW_NUL near '\"pr\\u0000d\"'"},
    {"\"format\":1,", "", "$.format is missing"},
    {"\"format\":1,", "\"format\":2,", "$.format must be 1"},
    {"\"format\":1,", "\"format\":\"1\",", "$.format " BETWEEN "0 to 9223372036854775807"},
    {"\"format\":1,", "\"format\":1,\"colour\":2,",
     "$ has the unknown field \"colour\": remove it"},
    {"\"format\":1,", "\"format\":1,\"a\\n\\u00e9\":2,",
     "$ has the unknown field \"a???\": remove it"},
    {"\"cluster\":\"prod\",", "", "$.cluster is missing"},
    {"\"prod\"", "7", "$.cluster must be a string"},
    {"prod", "", "$.cluster " NAME},
    {"prod", "Prod", "$.cluster " NAME},
    {"prod", L63 "a", "$.cluster " NAME},
    {"\"epoch\":12,", "", "$.epoch is missing"},
    {"12", "0", "$.epoch " BETWEEN "1 to 9223372036854775807"},
    {"12", "-1", "$.epoch " BETWEEN "1 to 9223372036854775807"},
    {"12", "12.0", "$.epoch " BETWEEN "1 to 9223372036854775807"},
    {"12", "\"12\"", "$.epoch " BETWEEN "1 to 9223372036854775807"},
    {",\"keys\":\"decimal\"", "", "$.keys is missing"},
    {"decimal", "hash", "$.keys must be \"decimal\" or \"raw\""},
    {"\"moves\":[]", "\"moves\":{}",
     "$.moves must be an empty array: use CLUSTER MOVE to move slots"},
    {"\"moves\":[]", "\"moves\":[{}]",
     "$.moves must be an empty array: use CLUSTER MOVE to move slots"},
    {"true", "1", "$.force must be true or false"},
    {"\"shards\":[", "\"shards\":[],\"x\":[", "$ has the unknown field \"x\": remove it"},
    {"\"shards\":[", "\"shards\":[7,", "$.shards[0] must be an object"},
    {"\"id\":\"" A "\",", "", "$.shards[0].id is missing"},
    {A, "", "$.shards[0].id " ID},
    {A, "0123456789ABCDEF0123456789abcdef01234567", "$.shards[0].id " ID},
    {A, A "0", "$.shards[0].id " ID},
    {A, B, "$.shards[1] has the id of $.shards[0]"},
    {"\"name\":\"s1\",", "", "$.shards[0].name is missing"},
    {"\"name\":\"s2\"", "\"name\":\"s1\"", "$.shards[1] has the name of $.shards[0]"},
    {"\"name\":\"s2\"", "\"name\":\"s_2\"", "$.shards[1].name " NAME},
    {"\"slots\":[[9001,16383]],", "", "$.shards[1].slots must be an array of ranges"},
    {"[[9001,16383]]", "\"9001-16383\"", "$.shards[1].slots must be an array of ranges"},
    {"[9001,16383]", "[9001,16384]", "$.shards[1].slots[0] " RANGE},
    {"[0,99]", "[-1,99]", "$.shards[0].slots[0] " RANGE},
    {"[9001,16383]", "[9002,9001]", "$.shards[1].slots[0] " RANGE},
    {"[9001,16383]", "[9001]", "$.shards[1].slots[0] " RANGE},
    {"[9001,16383]", "[9001,9002,9003]", "$.shards[1].slots[0] " RANGE},
    {"[9001,16383]", "[9001,16383.0]", "$.shards[1].slots[0] " RANGE},
    {"[9001,16383]", "9001", "$.shards[1].slots[0] " RANGE},
    {"[9001,16383]", "[9000,16383]",
     "$.shards[1].slots[0] has slot 9000, which belongs to the shard \"s1\" already"},
    {"[100,8191]", "[99,8191]",
     "$.shards[0].slots[1] must be above the slots of the range before it"},
    {"[9000,9000]", "[8192,8192],[1,2]",
     "$.shards[0].slots[3] must be above the slots of the range before it"},
    {"\"lost_after\":11", "\"lost_after\":12", "$.shards[1].lost_after " BETWEEN "0 to 11"},
    {"\"lost_after\"", "\"lost\"", "$.shards[1] has the unknown field \"lost\": remove it"},
    {"\"nodes\":[", "\"nodes\":[],\"x\":[", "$ has the unknown field \"x\": remove it"},
    {C, "c", "$.nodes[0].id " ID},
    {C, E, "$.nodes[2] has the id of $.nodes[0]"},
    {"\"shard\":\"s2\"", "\"shard\":\"s3\"", "$.nodes[2].shard must be the name of a shard"},
    {"\"shard\":\"s2\",", "", "$.nodes[2].shard is missing"},
    {"\"role\":\"replica\",", "", "$.nodes[0].role is missing"},
    {"replica", "slave", "$.nodes[0].role must be \"primary\" or \"replica\""},
    {"replica", "primary",
     "$.nodes[1].role must be \"replica\": the shard \"s1\" has a primary already"},
    {"\"shard\":\"s1\",\"role\":\"primary\"", "\"shard\":\"s1\",\"role\":\"replica\"",
     "$.shards[0] has no primary: give one of its nodes the role \"primary\""},
    {"\"10.0.0.1\"", "\"a.example\"", ADDRESS},
    {"\"10.0.0.1\"", "\"\"", ADDRESS},
    {"\"10.0.0.1\"", "\"10.1\"", ADDRESS},
    {"\"10.0.0.1\"", "\"[::1]\"", ADDRESS},
    {"\"10.0.0.1\"", "\"0.0.0.0\"",
     "$.nodes[0].ip must be an address that clients can connect to, not 0.0.0.0"},
    {"2001:DB8::0:1", "0::0",
     "$.nodes[2].ip must be an address that clients can connect to, not ::"},
    {"\"ip\":\"2001:DB8::0:1\",", "", "$.nodes[2].ip is missing"},
    {"\"ip\":\"2001:DB8::0:1\"", "\"address\":\"2001:DB8::0:1\"",
     "$.nodes[2] has the unknown field \"address\": remove it"},
    {"\"a.example\"", "\"\"", HOST},
    {"\"a.example\"", "\"a..example\"", HOST},
    {"\"a.example\"", "\"a.example.\"", HOST},
    {"\"a.example\"", "\"-a.example\"", HOST},
    {"\"a.example\"", "\"a-.example\"", HOST},
    {"\"a.example\"", "\"a b\"", HOST},
    {"\"a.example\"", "\"a_b\"", HOST},
    {"\"a.example\"", "\"10.0.0.1\"", HOST},
    {"\"a.example\"", "\"" L63 "a.example\"", HOST},
    {"\"a.example\"", "\"" L63 "." L63 "." L63 "." L63 "\"", HOST},
    {"\"a.example\"", "null", "$.nodes[1].hostname must be a string"},
    {"65535", "65536", "$.nodes[1].port " BETWEEN "1 to 65535"},
    {"65535", "0", "$.nodes[1].port " BETWEEN "1 to 65535"},
    {"65535", "\"7379\"", "$.nodes[1].port " BETWEEN "1 to 65535"},
    {"65535", "1", "$.nodes[1] has the address of $.nodes[0]"},
};

Test(topology, that_is_wrong_gets_its_sentence)
{
    for (size_t i = 0; i < sizeof(wrongs) / sizeof(wrongs[0]); i++) {
        const struct wrong *wrong = &wrongs[i];
        char *text = changed(wrong->from, wrong->to);
        struct sw_topology *topology = sw_topology_parse(text, strlen(text), error);
        cr_expect(topology == NULL, "%s was taken", wrong->to);
        cr_expect(topology != NULL || strcmp(error, wrong->sentence) == 0, "%s: %s", wrong->to,
                  error);
        sw_topology_free(topology);
        free(text);
    }
}

static void refuse(const char *text, size_t size, const char *sentence)
{
    cr_assert(sw_topology_parse(text, size, error) == NULL);
    cr_assert_str_eq(error, sentence);
}

Test(topology, has_limits)
{
    const char head[] = "{\"format\":1,\"cluster\":\"c\",\"epoch\":1,\"keys\":\"raw\",\"shards\":[";
    refuse("", 0, "line 1, column 0: '[' or '{' expected near end of file");
    refuse("7", 1, "line 1, column 1: '[' or '{' expected near '7'");
    refuse("[]", 2, "$ must be an object");
    char *large = calloc(1, SW_TOPOLOGY_BYTES_MAX + 1);
    memset(large, ' ', SW_TOPOLOGY_BYTES_MAX + 1);
    refuse(large, SW_TOPOLOGY_BYTES_MAX + 1, "$ has more than 4194304 bytes");
    strcpy(large, head);
    size_t used = strlen(large);
    for (unsigned i = 0; i <= SW_TOPOLOGY_NODES_MAX; i++) {
        used += (size_t)sprintf(large + used, "%s7", i > 0 ? "," : "");
    }
    strcpy(large + used, "]}");
    refuse(large, strlen(large), "$.shards must be an array of 1 to 1000 objects");
    free(large);
}

Test(topology, of_a_thousand_nodes_is_read)
{
    char *text = malloc(SW_TOPOLOGY_BYTES_MAX);
    size_t used = (size_t)sprintf(text, "{\"format\":1,\"cluster\":\"c\",\"epoch\":"
                                        "9223372036854775807,\"keys\":\"raw\",\"shards\":[");
    for (unsigned i = 0; i < SW_TOPOLOGY_NODES_MAX; i++) {
        used += (size_t)sprintf(text + used,
                                "%s{\"id\":\"%040x\",\"name\":\"n%u\",\"slots\":[[%u,%u]]}",
                                i > 0 ? "," : "", i, i, i, i);
    }
    used += (size_t)sprintf(text + used, "],\"nodes\":[");
    for (unsigned i = 0; i < SW_TOPOLOGY_NODES_MAX; i++) {
        used += (size_t)sprintf(text + used,
                                "%s{\"id\":\"%040x\",\"shard\":\"n%u\",\"role\":\"primary\",\"ip\":"
                                "\"10.0.0.1\",\"port\":%u}",
                                i > 0 ? "," : "", i, i, i + 1);
    }
    strcpy(text + used, "]}");
    struct sw_topology *t = parse(text);
    cr_assert(t->node_count == SW_TOPOLOGY_NODES_MAX && t->owner[999] == 999 && t->is_raw);
    cr_assert(t->owner[1000] == SW_TOPOLOGY_NOBODY && t->epoch == INT64_MAX);
    char *printed = sw_topology_print(t);
    struct sw_topology *again = parse(printed);
    cr_assert(sw_topology_equal(t, again));
    sw_topology_free(t);
    sw_topology_free(again);
    free(printed);
    free(text);
}
