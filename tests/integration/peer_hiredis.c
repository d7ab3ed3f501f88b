/* SPDX-License-Identifier: MIT
 *
 * peer_hiredis.c - drives the daemon with hiredis: deep pipelines, large commands, any split.
 *   peer_hiredis HOST PORT [UNIX-PATH]
 */
#include <hiredis/hiredis.h>
#include <string.h>
#include <unistd.h>

#include "tests/integration/peer.h"

#define PIPELINE 1000
#define MANY 5000

static redisReply *next(redisContext *context)
{
    void *reply = NULL;
    PEER_CHECK(redisGetReply(context, &reply) == REDIS_OK, "%s", context->errstr);
    return reply;
}

static void expect_status(redisContext *context, const char *wanted)
{
    redisReply *reply = next(context);
    PEER_CHECK(reply->type == REDIS_REPLY_STATUS && strcmp(reply->str, wanted) == 0, "type %d, %s",
               reply->type, reply->str ? reply->str : "");
    freeReplyObject(reply);
}

static void expect_text(redisContext *context, uint64_t wanted)
{
    redisReply *reply = next(context);
    PEER_CHECK(reply->type == REDIS_REPLY_STRING && strtoull(reply->str, NULL, 10) == wanted,
               "type %d, %s, wanted %llu", reply->type, reply->str ? reply->str : "",
               (unsigned long long)wanted);
    freeReplyObject(reply);
}

static void expect_integer(redisContext *context, long long wanted)
{
    redisReply *reply = next(context);
    PEER_CHECK(reply->type == REDIS_REPLY_INTEGER && reply->integer == wanted,
               "type %d, %lld, wanted %lld", reply->type, reply->integer, wanted);
    freeReplyObject(reply);
}

/* Reads and writes of the same keys alternate, so each pipeline crosses many batches. */
static void pipeline(redisContext *context)
{
    for (int i = 0; i < PIPELINE; i++) {
        redisAppendCommand(context, "SET %d %d", i, i * 2);
        redisAppendCommand(context, "INCRBY %d %d", i, 1);
        redisAppendCommand(context, "GET %d", i);
        redisAppendCommand(context, "DEL %d", i);
        redisAppendCommand(context, "EXISTS %d", i);
    }
    for (int i = 0; i < PIPELINE; i++) {
        expect_status(context, "OK");
        expect_integer(context, i * 2 + 1);
        expect_text(context, (uint64_t)i * 2 + 1);
        expect_integer(context, 1);
        expect_integer(context, 0);
    }
    peer_ok("pipeline of 5000 commands");
}

static void pipeline_with_errors(redisContext *context)
{
    for (int i = 0; i < PIPELINE; i++) {
        redisAppendCommand(context, "SET %d %d", i, i);
        redisAppendCommand(context, i % 2 ? "SET %d abc" : "NOSUCH %d", i);
        redisAppendCommand(context, "GET %d", i);
    }
    for (int i = 0; i < PIPELINE; i++) {
        expect_status(context, "OK");
        redisReply *reply = next(context);
        PEER_CHECK(reply->type == REDIS_REPLY_ERROR, "type %d", reply->type);
        PEER_CHECK(strstr(reply->str, i % 2 ? "is not an unsigned integer or out of range"
                                            : "unknown command 'NOSUCH'"),
                   "%s", reply->str);
        freeReplyObject(reply);
        expect_text(context, (uint64_t)i);
    }
    peer_ok("pipeline of 1000 errors between commands");
}

static void many_arguments(redisContext *context)
{
    static char text[MANY * 2 + 1][24];
    static const char *arguments[MANY * 2 + 1];
    static size_t sizes[MANY * 2 + 1];
    strcpy(text[0], "MSET");
    for (size_t i = 0; i < MANY; i++) {
        snprintf(text[1 + 2 * i], 24, "%llu", (unsigned long long)peer_key(i));
        snprintf(text[2 + 2 * i], 24, "%zu", i);
    }
    for (size_t i = 0; i < MANY * 2 + 1; i++) {
        arguments[i] = text[i];
        sizes[i] = strlen(text[i]);
    }
    redisAppendCommandArgv(context, MANY * 2 + 1, arguments, sizes);
    expect_status(context, "OK");
    for (size_t i = 0; i < MANY; i++) {
        arguments[1 + i] = text[1 + 2 * i];
        sizes[1 + i] = strlen(arguments[1 + i]);
    }
    arguments[0] = "MGET";
    redisAppendCommandArgv(context, MANY + 1, arguments, sizes);
    redisReply *reply = next(context);
    PEER_CHECK(reply->type == REDIS_REPLY_ARRAY && reply->elements == MANY, "type %d, %zu",
               reply->type, reply->elements);
    for (size_t i = 0; i < MANY; i++) {
        PEER_CHECK(strtoull(reply->element[i]->str, NULL, 10) == i, "element %zu", i);
    }
    freeReplyObject(reply);
    peer_ok("MSET and MGET of 5000 keys");
}

static void write_all(int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, bytes, size);
        PEER_CHECK(written > 0, "write");
        bytes += written;
        size -= (size_t)written;
    }
}

/* The same commands cut at every place, and then sent byte by byte. */
static void split_writes(redisContext *context)
{
    static const char commands[] = "*3\r\n$3\r\nSET\r\n$2\r\n77\r\n$3\r\n123\r\nGET 77\r\n"
                                   "*3\r\n$6\r\nINCRBY\r\n$2\r\n77\r\n$1\r\n1\r\n";
    size_t size = sizeof(commands) - 1;
    for (size_t cut = 1; cut < size; cut++) {
        write_all(context->fd, commands, cut);
        usleep(300);
        write_all(context->fd, commands + cut, size - cut);
        expect_status(context, "OK");
        expect_text(context, 123);
        expect_integer(context, 124);
    }
    for (size_t i = 0; i < size; i++) {
        write_all(context->fd, commands + i, 1);
        usleep(300);
    }
    expect_status(context, "OK");
    expect_text(context, 123);
    expect_integer(context, 124);
    peer_ok("commands split at every byte");
}

static void drive(redisContext *context)
{
    PEER_CHECK(context && context->err == 0, "connect: %s", context ? context->errstr : "memory");
    pipeline(context);
    pipeline_with_errors(context);
    many_arguments(context);
    split_writes(context);
    redisFree(context);
}

int main(int count, char **arguments)
{
    PEER_CHECK(count >= 3, "usage: peer_hiredis HOST PORT [UNIX-PATH]");
    drive(redisConnect(arguments[1], atoi(arguments[2])));
    if (count > 3) {
        drive(redisConnectUnix(arguments[3]));
        peer_ok("the same over a Unix socket");
    }
    peer_ok("all");
    return 0;
}
