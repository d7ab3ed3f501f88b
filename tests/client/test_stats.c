/* SPDX-License-Identifier: MIT
 *
 * test_stats.c - statistics by name: programs older and newer than the library, and servers that
 * lie about them.
 */
#include <criterion/criterion.h>
#include <stddef.h>
#include <string.h>

#include "client/sherwood.h"
#include "tests/support/fake_server.h"

/* What the server replies to STATS. */
struct lie {
    const char *name, *says;
    uint32_t count;      /* as told */
    uint32_t rows;       /* that follow */
    char first_name[60]; /* of the first figure */
};

static void script(int fd, void *user)
{
    static struct sw_figure figures[2 * SW_FIGURES_MAX];
    const struct lie *lie = user;
    struct sw_request request;
    if (sw_fake_hello(fd, 8, 8, 1024, 4) && sw_fake_read(fd, &request, NULL, 0)) {
        struct sw_reply reply = sw_fake_ok(&request);
        reply.count = lie->count;
        for (uint32_t i = 0; i < 2 * SW_FIGURES_MAX; i++) {
            figures[i] = (struct sw_figure){"keys", i};
        }
        memcpy(figures[0].name, lie->first_name, sizeof(figures[0].name));
        sw_fake_reply(fd, &reply, (const uint8_t *)figures, lie->rows * sizeof(*figures));
    }
}

static int ask(struct lie *lie, struct sherwood_stats *stats, char *text, size_t text_bytes)
{
    struct sw_fake_server server;
    struct sherwood *client = NULL;
    sw_fake_start(&server, script, lie);
    cr_assert_eq(sherwood_connect(server.address, NULL, &client), SHERWOOD_OK);
    int rc = sherwood_stats(client, stats, sizeof(*stats));
    strncpy(text, sherwood_error(client), text_bytes - 1);
    text[text_bytes - 1] = '\0';
    cr_expect_eq(sherwood_ping(client), rc == SHERWOOD_OK ? SHERWOOD_E_CONNECTION : rc);
    cr_expect_eq(sherwood_figure(client, 0, NULL, NULL), rc == SHERWOOD_OK);
    sherwood_close(client);
    sw_fake_stop(&server);
    return rc;
}

Test(stats, lies_are_protocol_errors)
{
    static struct lie lies[] = {
        {"more than any client takes", "more figures", SW_FIGURES_MAX + 1, SW_FIGURES_MAX + 1, "a"},
        {"a body that is too long", "body length", SW_FIGURES_MAX, 2 * SW_FIGURES_MAX, "a"},
        {"more than there are", "body length", 5, 4, "a"},
        {"fewer than there are", "body length", 3, 4, "a"},
        {"count without a body", "body length", 1, 0, "a"},
        {"nothing", "without statistics", 0, 0, "a"},
        {"no name", "whose name is not valid", 2, 2, ""},
        {"a name for the terminal", "whose name is not valid", 2, 2, "\033[2J"},
        {"a name without an end", "whose name is not valid", 2, 2,
         "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
    };
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        struct sherwood_stats stats;
        char text[512];
        int rc = ask(&lies[i], &stats, text, sizeof(text));
        cr_expect_eq(rc, SHERWOOD_E_PROTOCOL, "%s: code %d: %s", lies[i].name, rc, text);
        cr_expect(strstr(text, lies[i].says) != NULL, "%s: \"%s\"", lies[i].name, text);
    }
}

Test(stats, as_many_as_there_can_be)
{
    struct lie truth = {NULL, NULL, SW_FIGURES_MAX, SW_FIGURES_MAX, "a"};
    struct sherwood_stats stats;
    char text[512];
    cr_expect_eq(ask(&truth, &stats, text, sizeof(text)), SHERWOOD_OK, "%s", text);
    cr_expect_eq(stats.occupied, SW_FIGURES_MAX - 1);
}

Test(stats, stats_of_an_older_and_of_a_newer_program)
{
    struct {
        struct sherwood_stats stats;
        uint64_t later[4];
    } newer, older;
    struct sw_fake_table table;
    struct sw_fake_server server;
    struct sherwood *client = NULL;
    sw_fake_table_init(&table, 8, 8, 64);
    sw_fake_start(&server, sw_fake_table_script, &table);
    cr_assert_eq(sherwood_connect(server.address, NULL, &client), SHERWOOD_OK);
    memset(&newer, 0xEE, sizeof(newer));
    cr_assert_eq(sherwood_stats(client, &newer.stats, sizeof(newer)), SHERWOOD_OK);
    cr_expect_eq(newer.stats.get.misses, 14);
    cr_expect_eq(newer.later[0], 0, "what this library does not know");
    cr_expect_eq(newer.later[3], 0);
    memset(&older, 0xEE, sizeof(older));
    cr_assert_eq(
        sherwood_stats(client, &older.stats, offsetof(struct sherwood_stats, max_capacity_slots)),
        SHERWOOD_OK);
    cr_expect_eq(older.stats.capacity_slots, 64);
    cr_expect_eq(older.stats.max_capacity_slots, 0xEEEEEEEEEEEEEEEE, "beyond its end");
    cr_expect_eq(older.later[0], 0xEEEEEEEEEEEEEEEE);
    sherwood_close(client);
    sw_fake_stop(&server);
    sw_fake_table_fini(&table);
}
