/* SPDX-License-Identifier: MIT
 *
 * test_stats_reply.c - the reply of the server to STATS, and that libsherwood understands it.
 */
#include "server/bulk/stats_reply.h"

#include <criterion/criterion.h>
#include <string.h>

#include "client/sherwood.h"
#include "tests/support/fake_server.h"

#define FIGURE UINT64_C(0x1111111111111111)

/* Writes statistics in which every figure is FIGURE; "loading", a flag, is 1. */
static uint32_t write_figures(struct sw_figure *figures)
{
    struct sw_server_stats snapshot;
    uint32_t count = sw_bulk_stats_count(0);
    memset(&snapshot, 0x11, sizeof(snapshot));
    snapshot.persistence.loading = true;
    cr_assert_leq(count, SW_FIGURES_MAX);
    cr_assert_eq(sw_bulk_stats_write(&snapshot, figures, count), count);
    return count;
}

Test(stats_reply, each_has_a_name_of_its_own)
{
    struct sw_figure figures[SW_FIGURES_MAX];
    uint32_t count = write_figures(figures);
    for (uint32_t i = 0; i < count; i++) {
        cr_assert(sw_figure_is_valid(&figures[i]), "figure %u", i);
        cr_assert_eq(figures[i].value, strcmp(figures[i].name, "loading") == 0 ? 1 : FIGURE, "%s",
                     figures[i].name);
        for (uint32_t k = 0; k < i; k++) {
            cr_assert_str_neq(figures[i].name, figures[k].name);
        }
    }
}

Test(stats_reply, a_client_gets_no_more_than_it_takes)
{
    uint32_t all = sw_bulk_stats_count(0);
    cr_assert_eq(sw_bulk_stats_count(UINT32_MAX), all);
    cr_assert_eq(sw_bulk_stats_count(all), all);
    cr_assert_eq(sw_bulk_stats_count(3), 3);
}

static void script(int fd, void *user)
{
    struct sw_figure figures[SW_FIGURES_MAX];
    struct sw_request request;
    (void)user;
    if (sw_fake_hello(fd, 8, 8, 1024, 4) && sw_fake_read(fd, &request, NULL, 0)) {
        struct sw_reply reply = sw_fake_ok(&request);
        reply.count = write_figures(figures);
        sw_fake_reply(fd, &reply, (const uint8_t *)figures, reply.count * sizeof(*figures));
    }
}

/* A name that client and server spell differently would leave a field 0. */
Test(stats_reply, every_field_of_libsherwood_is_told)
{
    struct sw_fake_server server;
    struct sherwood *client = NULL;
    struct sherwood_stats stats;
    sw_fake_start(&server, script, NULL);
    cr_assert_eq(sherwood_connect(server.address, NULL, &client), SHERWOOD_OK);
    cr_assert_eq(sherwood_stats(client, &stats, sizeof(stats)), SHERWOOD_OK, "%s",
                 sherwood_error(client));
    for (size_t at = 0; at < sizeof(stats); at += sizeof(uint64_t)) {
        uint64_t value;
        memcpy(&value, (const uint8_t *)&stats + at, sizeof(value));
        cr_assert_eq(value, FIGURE, "the field at offset %zu", at);
    }
    sherwood_close(client);
    sw_fake_stop(&server);
}
