/* SPDX-License-Identifier: MIT
 *
 * power_server.h - a server in a process that a loss of power ends, and its RESP client.
 */
#ifndef SHERWOOD_TESTS_SERVER_POWER_SERVER_H
#define SHERWOOD_TESTS_SERVER_POWER_SERVER_H

#include <criterion/criterion.h>
#include <hiredis/hiredis.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "server/config/options.h"
#include "server/observe/log.h"
#include "server/server.h"
#include "tests/support/power_disk.h"

/* Serves until the disk dies. Sends the port to `fd` once everything is loaded. */
static inline void power_serve(enum sw_config_sync level, bool has_log, int fd)
{
    struct sw_config config;
    struct sw_server_stats stats;
    struct sw_server *server = NULL;
    power_disk_end_process();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sw_config_init(&config);
    config.backend = SW_BACKEND_CPU;
    config.capacity = 1024;
    config.arena_bytes = 1 << 22;
    config.resp_request_bytes_max = 1 << 16;
    config.frame_ops_max = config.round_ops_max = 256;
    config.resp_arguments_max = 64;
    config.loops = 1;
    config.port = config.http_port = 0;
    config.appendonly = has_log;
    config.appendfsync = level;
    config.log_segment_bytes = 1 << 15;
    strcpy(config.save, "");
    strcpy(config.data_dir, "/data");
    sw_config_fit(&config);
    if (sw_server_start(&config, NULL, &server) == 0) {
        struct pollfd stopped = {.fd = sw_server_stopped_fd(server), .events = POLLIN};
        while (sw_server_is_loading(server) && poll(&stopped, 1, 1) == 0) {
        }
        sw_server_snapshot(server, &stats);
        if (poll(&stopped, 1, 0) == 0 &&
            write(fd, &stats.tcp_port, sizeof(stats.tcp_port)) == (ssize_t)sizeof(stats.tcp_port)) {
            (void)poll(&stopped, 1, -1);
        }
    }
    _exit(1);
}

struct power_client {
    redisContext *context; /* NULL: not connected */
    bool may_fail;         /* calls on files fail, so the server may refuse, or be silent */
};

/* Connects. Returns false if the server has ended. */
static inline bool power_connect(struct power_client *client, uint16_t port)
{
    client->context = redisConnect("127.0.0.1", port);
    cr_assert_not_null(client->context);
    cr_assert(client->context->err == 0 || power_disk_is_dead(), "%s", client->context->errstr);
    return client->context->err == 0;
}

static inline void power_disconnect(struct power_client *client)
{
    if (client->context != NULL) {
        redisFree(client->context);
        client->context = NULL;
    }
}

/* Returns the next reply to redisAppendCommand, or NULL: the disk is dead, or calls failed and the
 * server refuses. A second save beside one that is under way is no failure. */
static inline redisReply *power_reply(const struct power_client *client)
{
    redisContext *context = client->context;
    void *reply = NULL;
    int done = 0;
    while (done == 0) {
        if (redisBufferWrite(context, &done) != REDIS_OK) {
            cr_assert(power_disk_is_dead(), "%s", context->errstr);
            return NULL;
        }
    }
    for (int waits = 0;; waits++) {
        struct pollfd fd = {.fd = context->fd, .events = POLLIN};
        cr_assert_eq(redisGetReplyFromReader(context, &reply), REDIS_OK, "%s", context->errstr);
        if (reply != NULL) {
            break;
        }
        const int ready = poll(&fd, 1, 20);
        if (ready > 0 && redisBufferRead(context) != REDIS_OK) {
            cr_assert(power_disk_is_dead(), "%s", context->errstr);
            return NULL;
        }
        if (ready == 0 && client->may_fail && waits > 10) {
            return NULL; /* a broken log could hold the reply back for seconds */
        }
    }
    redisReply *got = reply;
    if (got->type == REDIS_REPLY_ERROR && strstr(got->str, "save already in progress") == NULL) {
        cr_assert(client->may_fail || power_disk_is_dead(), "%s", got->str);
        freeReplyObject(got);
        return NULL;
    }
    return got;
}

#endif
