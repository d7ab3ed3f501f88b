/* SPDX-License-Identifier: MIT
 *
 * test_bulk_frames.c - the frames of a connection, each a batch of its own, and the pool of unused
 * ones.
 */
#include "server/bulk/uncached_copy.h"
#include "tests/server/bulk_fixture.h"

/* Frames that arrive together: one that is too many for the table is refused, and no other. */
SERVE_TEST_WITH(bulk_frames, a_refused_frame_is_refused_alone, serve->config.capacity = 1024)
{
    /* 100 new keys, the same again, more than there is room for, 20 more new keys */
    static const struct {
        uint32_t first, count, hits;
        enum sw_reply_status status;
    } wanted[] = {{0, 100, 0, SW_REPLY_OK},
                  {0, 100, 100, SW_REPLY_OK},
                  {200, 800, 0, SW_REPLY_OUT_OF_MEMORY},
                  {2000, 20, 0, SW_REPLY_OK}};
    static struct stream stream;
    struct sw_table_stats stats;
    for (unsigned n = 0; n < 4; n++) {
        add_frame(&stream, SW_OPERATION_SET, n, wanted[n].first, wanted[n].count);
    }
    fake_send(peer, stream.bytes, stream.size);
    serve_until_idle(serve);
    bool seen[4] = {false};
    for (unsigned n = 0; n < 4; n++) {
        struct sw_reply reply;
        cr_assert(take_reply(peer, &reply));
        cr_assert(reply.request_id < 4 && !seen[reply.request_id]);
        seen[reply.request_id] = true;
        cr_assert_eq(reply.status, wanted[reply.request_id].status, "frame %u: %s",
                     (unsigned)reply.request_id, reply.message);
        cr_assert_eq(reply.hits, wanted[reply.request_id].hits);
    }
    expect_no_reply(peer);
    sw_table_stats(serve->table, &stats);
    cr_assert_eq(stats.occupied, 120);
    cr_assert_eq(serve->loop->counters.frame_errors, 1);
}

/* --- streams ---------------------------------------------------------------------------------- */

/* All flights of the list are of this connection's stream. Returns how many there are. */
static unsigned flights_of(const struct sw_flights *flights, const struct fake *peer)
{
    unsigned count = 0;
    SW_LIST_EACH(&flights->list, link)
    {
        const struct sw_flight *flight = SW_CONTAINER(link, struct sw_flight, link);
        count += flight->batch.stream == (uint32_t)peer->conn->peer.id;
    }
    return count;
}

/* Reads need not wait for writes, and the table keeps the order of a connection by its stream. */
LOOP_TEST(bulk_frames, each_connection_is_a_stream_and_reads_have_a_list_of_their_own)
{
    static struct stream stream;
    struct fake *peers[2];
    struct sw_batches *batches = &serve->loop->first.batches;
    add_frame(&stream, SW_OPERATION_GET, 0, 1, 3);
    add_frame(&stream, SW_OPERATION_SET, 1, 1, 3);
    add_frame(&stream, SW_OPERATION_SCAN, 2, 0, 5);
    add_frame(&stream, SW_OPERATION_CLEAR, 3, 0, 0);
    add_frame(&stream, SW_OPERATION_DELETE, 4, 1, 3);
    for (int i = 0; i < 2; i++) {
        peers[i] = serve_open(serve);
        fake_send(peers[i], stream.bytes, stream.size);
        cr_assert_eq(flights_of(&batches->flights, peers[i]), 2);
        cr_assert_eq(flights_of(&batches->write_flights, peers[i]), 3);
    }
    cr_assert_neq(peers[0]->conn->peer.id, peers[1]->conn->peer.id);
    struct fake *redis = serve_open(serve);
    fake_say(redis, "FLUSHALL\r\n");
    cr_assert_eq(flights_of(&batches->write_flights, redis), 1);
    cr_assert_eq(batches->flights.count, 4);
    cr_assert_eq(batches->write_flights.count, 7);
    serve_until_idle(serve);
}

/* --- spare frames ----------------------------------------------------------------------------- */

static void take_and_put(struct serve *serve, struct sw_conn *conn, uint32_t count)
{
    struct sw_list frames;
    sw_list_init(&frames);
    for (uint32_t i = 0; i < count; i++) {
        struct sw_bulk_frame *frame = sw_bulk_frame_take(&serve->loop->bulk, conn);
        cr_assert_not_null(frame);
        sw_list_push(&frames, &frame->link);
    }
    while (!sw_list_is_empty(&frames)) {
        sw_bulk_frame_put(sw_bulk_frame_at(sw_list_pop(&frames)));
    }
    sw_bulk_check(&serve->loop->bulk);
}

/* As many stay as were needed since the last sweep. */
SERVE_TEST(bulk_frames, spare_frames_are_given_back)
{
    struct sw_bulk_pool *pool = &serve->loop->bulk.pool;
    take_and_put(serve, peer->conn, 1000);
    cr_assert_eq(pool->spare_count, 1000);
    sw_bulk_pool_sweep(pool);
    cr_assert_eq(pool->spare_count, 1000, "all were needed just now");
    take_and_put(serve, peer->conn, 10);
    take_and_put(serve, peer->conn, 3);
    sw_bulk_pool_sweep(pool);
    cr_assert_eq(pool->spare_count, 10);
    sw_bulk_pool_sweep(pool);
    cr_assert_eq(pool->spare_count, 0);
    sw_bulk_pool_sweep(pool);
    cr_assert(sw_list_is_empty(&pool->spare));
    take_and_put(serve, peer->conn, SW_SPARE_FRAMES_FREED_MAX + 5);
    sw_bulk_pool_sweep(pool);
    sw_bulk_pool_sweep(pool);
    cr_assert_eq(pool->spare_count, 5, "no more at a time");
}

Test(bulk_frames, an_uncached_copy_has_the_same_bytes)
{
    enum { MOST = 700, ROOM = MOST + 32 };
    _Alignas(16) uint8_t to[ROOM];
    uint8_t from[ROOM];
    for (size_t i = 0; i < sizeof(from); i++) {
        from[i] = (uint8_t)(i * 37 + i / 256);
    }
    for (size_t bytes = 0; bytes <= MOST; bytes++) {
        for (size_t offset = 0; offset < 17; offset += 1 + bytes % 5) {
            memset(to, 0xee, sizeof(to));
            sw_bulk_copy_uncached(to, from + offset, bytes);
            cr_assert_arr_eq(to, from + offset, bytes);
            cr_assert(to[bytes] == 0xee && to[bytes + 15] == 0xee, "%zu bytes: more were written",
                      bytes);
        }
    }
}
