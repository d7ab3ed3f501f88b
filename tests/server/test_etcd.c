/* SPDX-License-Identifier: MIT
 *
 * test_etcd.c - what comes from etcd: the stream of a watch in pieces, what each line says, and
 * what none says; values; and the keys of the registry.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/etcd/etcd_address.h"
#include "server/etcd/lines.h"
#include "server/etcd/values.h"
#include "server/etcd/watch.h"
#include "server/registry/key.h"

/* --- lines -------------------------------------------------------------------------------------
 */

struct heard {
    char text[256]; /* lines, "|" behind each */
    unsigned left;  /* lines that it still accepts */
};

static bool hear(void *context, const char *line, size_t size)
{
    struct heard *heard = context;
    size_t used = strlen(heard->text);
    snprintf(heard->text + used, sizeof(heard->text) - used, "%.*s|", (int)size, line);
    return --heard->left > 0;
}

Test(etcd, come_in_pieces_of_any_size)
{
    static const char stream[] = "one\n\ntwo and more\n{\"three\":3}\nhalf";
    for (size_t piece = 1; piece <= sizeof(stream); piece++) {
        struct sw_etcd_lines lines = {0};
        struct heard heard = {.left = 100};
        for (size_t at = 0; at < sizeof(stream) - 1; at += piece) {
            size_t left = sizeof(stream) - 1 - at;
            cr_assert(sw_etcd_lines_feed(&lines, stream + at, left < piece ? left : piece, 64, hear,
                                         &heard));
        }
        cr_assert_str_eq(heard.text, "one|two and more|{\"three\":3}|");
        sw_etcd_lines_fini(&lines);
    }
}

Test(etcd, have_a_limit_whether_their_end_comes_or_not)
{
    struct sw_etcd_lines lines = {0};
    struct heard heard = {.left = 100};
    cr_assert(sw_etcd_lines_feed(&lines, "12345678\n1234", 13, 8, hear, &heard));
    cr_assert(!sw_etcd_lines_feed(&lines, "56789", 5, 8, hear, &heard));
    sw_etcd_lines_fini(&lines);
    cr_assert(!sw_etcd_lines_feed(&lines, "123456789\n", 10, 8, hear, &heard));
    cr_assert_str_eq(heard.text, "12345678|");
    sw_etcd_lines_fini(&lines);
}

Test(etcd, end_when_nobody_wants_more)
{
    struct sw_etcd_lines lines = {0};
    struct heard heard = {.left = 2};
    cr_assert(!sw_etcd_lines_feed(&lines, "a\nb\nc\n", 6, 8, hear, &heard));
    cr_assert_str_eq(heard.text, "a|b|");
    sw_etcd_lines_fini(&lines);
}

/* --- what they say -----------------------------------------------------------------------------
 */

static char reason[SW_ETCD_REASON_BYTES];

static struct sw_etcd_news news_of(const char *line)
{
    struct sw_etcd_news news;
    cr_assert(sw_etcd_read_news(line, strlen(line), &news, reason), "%s: %s", line, reason);
    return news;
}

Test(etcd, say_that_the_watch_is_there_and_goes_on)
{
    struct sw_etcd_news news =
        news_of("{\"result\":{\"header\":{\"revision\":\"7\"},\"created\":true}}");
    cr_assert_eq(news.kind, SW_ETCD_CREATED);
    json_decref(news.root);
    news = news_of("{\"result\":{\"header\":{\"revision\":\"9\"}}}");
    cr_assert_eq(news.kind, SW_ETCD_PROGRESS);
    cr_assert_eq(news.revision, 9);
    json_decref(news.root);
}

Test(etcd, say_the_last_change_of_several)
{
    struct sw_registry_held held;
    struct sw_etcd_news news =
        news_of("{\"result\":{\"header\":{\"revision\":\"30\"},\"events\":["
                "{\"kv\":{\"key\":\"YQ==\",\"mod_revision\":\"11\",\"value\":\"b25l\"}},"
                "{\"type\":\"DELETE\",\"kv\":{\"key\":\"YQ==\",\"mod_revision\":\"12\"}},"
                "{\"type\":\"PUT\",\"kv\":{\"key\":\"YQ==\",\"mod_revision\":\"13\",\"value\":"
                "\"dHdv\"}}]}}");
    cr_assert_eq(news.kind, SW_ETCD_CHANGED);
    cr_assert_eq(news.revision, 13); /* more may come up to 30 */
    sw_registry_read_kv(news.kv, news.revision, &held);
    cr_assert_eq(held.epoch, 13);
    cr_assert_eq(held.size, 3);
    cr_assert_str_eq(held.text, "two");
    free(held.text);
    json_decref(news.root);
    news = news_of("{\"result\":{\"header\":{\"revision\":\"14\"},\"events\":["
                   "{\"type\":\"DELETE\",\"kv\":{\"key\":\"YQ==\",\"mod_revision\":\"14\"}}]}}");
    cr_assert_eq(news.kind, SW_ETCD_CHANGED);
    cr_assert_null(news.kv);
    cr_assert_eq(news.revision, 14);
    sw_registry_read_kv(news.kv, news.revision, &held);
    cr_assert_eq(held.epoch, 0);
    cr_assert_null(held.text);
    cr_assert_eq(held.revision, 14);
    json_decref(news.root);
}

Test(etcd, say_that_events_are_missing_or_that_it_is_over)
{
    struct sw_etcd_news news = news_of("{\"result\":{\"header\":{\"revision\":\"60\"},\"canceled\":"
                                       "true,\"compact_revision\":\"51\"}}");
    cr_assert_eq(news.kind, SW_ETCD_COMPACTED);
    json_decref(news.root);
    news =
        news_of("{\"result\":{\"header\":{},\"canceled\":true,\"cancel_reason\":\"no leader\"}}");
    cr_assert_eq(news.kind, SW_ETCD_ENDED);
    cr_assert_str_eq(reason, "etcd canceled the watch: no leader");
    json_decref(news.root);
    news = news_of("{\"error\":{\"grpc_code\":14,\"message\":\"transport is closing\"}}");
    cr_assert_eq(news.kind, SW_ETCD_ENDED);
    cr_assert_str_eq(reason, "etcd ended the watch: transport is closing");
    json_decref(news.root);
    news = news_of("{\"error\":\"etcdserver: no leader\",\"code\":14}");
    cr_assert_str_eq(reason, "etcd ended the watch: etcdserver: no leader");
    json_decref(news.root);
}

Test(etcd, that_are_none_of_etcds_are_refused)
{
    static const char *const wrong[] = {
        "",
        "{",
        "null",
        "[]",
        "{}",
        "{\"result\":{}}",
        "{\"result\":{\"header\":{\"revision\":7}}}",
        "{\"result\":{\"created\":true}}",
        "{\"result\":[]}",
        "\x00\xff\xfe",
        "{\"result\":{\"header\":{\"revision\":\"7\"},\"events\":[{}]}}",
        "{\"result\":{\"header\":{\"revision\":\"7\"},\"events\":[7]}}",
        "{\"result\":{\"header\":{\"revision\":\"7\"},\"events\":[{\"type\":\"X\",\"kv\":{"
        "\"mod_revision\":\"7\"}}]}}"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct sw_etcd_news news;
        cr_assert(!sw_etcd_read_news(wrong[i], strlen(wrong[i]), &news, reason), "%s", wrong[i]);
        cr_assert_null(news.root);
        cr_assert_neq(reason[0], '\0');
    }
}

/* --- values ------------------------------------------------------------------------------------
 */

Test(etcd, values_are_what_was_put_whatever_their_size)
{
    const size_t most = (size_t)4 << 20;
    char *text = malloc(most), *back;
    for (size_t i = 0; i < most; i++) {
        text[i] = (char)(i * 31 >> 3);
    }
    for (size_t size = 1; size <= most; size = size < 8 ? size + 1 : size * 7) {
        size_t got = 0;
        json_t *value = sw_etcd_in_base64(text, size);
        back = sw_etcd_from_base64(value, &got);
        cr_assert_not_null(back);
        cr_assert_eq(got, size);
        cr_assert_eq(memcmp(back, text, size), 0);
        cr_assert_eq(back[got], '\0');
        free(back);
        json_decref(value);
    }
    free(text);
}

Test(etcd, values_that_are_none_are_refused)
{
    static const char *const wrong[] = {
        "", "a", "abc", "abcde", "a?c=", "====", "\xff\xff\xff\xff"};
    size_t got;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        json_t *value = json_stringn_nocheck(wrong[i], strlen(wrong[i]));
        char *text = sw_etcd_from_base64(value, &got);
        cr_assert(text == NULL || strcmp(wrong[i], "====") == 0, "%s", wrong[i]);
        free(text);
        json_decref(value);
    }
    cr_assert_null(sw_etcd_from_base64(NULL, &got));
}

/* --- the registry's keys -----------------------------------------------------------------------
 */

Test(etcd, an_answer_tells_the_topology_and_the_mark_of_the_last_write)
{
    struct sw_registry_held held;
    json_t *answer =
        json_loads("{\"header\":{\"revision\":\"30\"},\"responses\":["
                   "{\"response_range\":{\"kvs\":[{\"mod_revision\":\"21\",\"value\":\"b25l\"}]}},"
                   "{\"response_range\":{\"kvs\":[{\"mod_revision\":\"20\",\"value\":"
                   "\"MDEyMzQ1Njc4OWFiY2RlZg==\"}]}}]}",
                   0, NULL);
    sw_registry_read_answer(answer, &held);
    cr_assert_eq(held.revision, 30);
    cr_assert_eq(held.epoch, 21);
    cr_assert_eq(held.written, 20);
    cr_assert_str_eq(held.mark, "0123456789abcdef");
    free(held.text);
    json_decref(answer);
    answer = json_loads("{\"header\":{\"revision\":\"3\"},\"responses\":[{\"response_range\":{}},"
                        "{\"response_range\":{}}]}",
                        0, NULL);
    sw_registry_read_answer(answer, &held);
    cr_assert_eq(held.revision, 3);
    cr_assert_eq(held.epoch, 0);
    cr_assert_null(held.text);
    cr_assert_eq(held.mark[0], '\0');
    json_decref(answer);
}

Test(etcd, a_write_compares_the_epoch_and_the_term)
{
    struct sw_registry_key key;
    const struct sw_etcd_address address = {.prefix = "p"};
    const struct sw_registry_fence fence = {"p/s/term", 17}, none = {"", 0};
    sw_registry_name_keys(&key, &address, "me");
    cr_assert_str_eq(key.topology, "p/topology");
    cr_assert_str_eq(key.write, "p/topology-write/me");
    json_t *body = sw_registry_ask_write(&key, 5, "{}", "mark", &fence);
    cr_assert_eq(json_array_size(json_object_get(body, "compare")), 2);
    const json_t *term = json_array_get(json_object_get(body, "compare"), 1);
    cr_assert_str_eq(json_string_value(json_object_get(term, "mod_revision")), "17");
    json_decref(body);
    body = sw_registry_ask_write(&key, 0, "{}", "mark", &none);
    cr_assert_eq(json_array_size(json_object_get(body, "compare")), 1);
    cr_assert_eq(json_array_size(json_object_get(body, "success")), 2);
    json_decref(body);
}

Test(etcd, an_address_is_a_host_and_a_port)
{
    static const struct {
        const char *text;
        bool is_address;
    } texts[] = {{"h:1", true},      {"h:65535", true}, {"[::1]:2379", true},
                 {"h:65536", false}, {"h:0", false},    {"h:-1", false},
                 {"h:+1", false},    {"h: 1", false},   {"h:1x", false},
                 {"h:", false},      {"h", false},      {":1", false},
                 {"h:1:", false},    {"", false},       {"h:99999999999999999999", false}};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        cr_assert_eq(sw_etcd_is_address(texts[i].text), texts[i].is_address, "\"%s\"",
                     texts[i].text);
    }
}
