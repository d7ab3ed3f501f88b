/* SPDX-License-Identifier: MIT
 *
 * fd_limit.c - raising the soft limit of open files, and dividing it.
 */
#include "server/fd_limit.h"

#include <sys/resource.h>

#include "proto/plural.h"
#include "server/observe/log.h"

/* Descriptors of the server itself: a loop has 4; with a data directory, a log, HTTP and
 * replication the rest are 23 at the start. Segments, snapshots, replicas, etcd and shared memory
 * need more. */
#define OWN_FDS 64
#define LOOP_FDS 4
/* Further descriptors, if the hard limit allows them: for up to 64 replicas and many regions. */
#define SPARE_FDS 448
/* The least value of http-connections-max. */
#define HTTP_CONNECTIONS_MIN 8

static rlim_t own_fds(const struct sw_config *config)
{
    return OWN_FDS + (rlim_t)LOOP_FDS * config->loops;
}

/* Descriptors of a connection by HTTP: with TLS, a pair of sockets leads to libmicrohttpd. */
static rlim_t http_fds_each(const struct sw_config *config)
{
    return config->http_tls != 0 ? 3 : 1;
}

static rlim_t needed_fds(const struct sw_config *config)
{
    return own_fds(config) + http_fds_each(config) * config->http_connections_max +
           __atomic_load_n(&config->connections_max, __ATOMIC_RELAXED);
}

/* Returns the soft limit, raised to what is needed if the hard limit allows. */
static rlim_t raise_limit(const struct sw_config *config)
{
    struct rlimit limit;
    const rlim_t wanted = needed_fds(config) + SPARE_FDS;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return RLIM_INFINITY;
    }
    const rlim_t soft = limit.rlim_cur;
    if (soft >= wanted) { /* RLIM_INFINITY is the largest number */
        return soft;
    }
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : soft;
}

int sw_fd_limit_fit(struct sw_config *config)
{
    const rlim_t limit = raise_limit(config), needed = needed_fds(config), own = own_fds(config);
    const rlim_t each = http_fds_each(config);
    config->connections_fit = config->http_connections_fit = 0;
    if (limit >= needed) {
        return 0;
    }
    const rlim_t least = own + each * HTTP_CONNECTIONS_MIN + 1;
    if (limit < least) {
        sw_log(SW_LOG_ERROR,
               "the limit of open files is %llu, and the server needs at least %llu: raise "
               "LimitNOFILE= or ulimit -n (%llu for connections-max %u)",
               (unsigned long long)limit, (unsigned long long)least, (unsigned long long)needed,
               config->connections_max);
        return -1;
    }
    const rlim_t clients = config->connections_max, rest = limit - own;
    rlim_t http = rest / 4 / each; /* a quarter, or what clients leave */
    http = rest > clients && (rest - clients) / each > http ? (rest - clients) / each : http;
    http = http < HTTP_CONNECTIONS_MIN ? HTTP_CONNECTIONS_MIN : http;
    http = http < config->http_connections_max ? http : config->http_connections_max;
    config->http_connections_fit = (uint32_t)http;
    config->connections_fit = (uint32_t)(rest - http * each);
    sw_log(SW_LOG_WARNING,
           "the limit of open files is %llu: at most %u connection%s served (connections-max "
           "%u), and %u by HTTP (http-connections-max %u); raise LimitNOFILE= or ulimit -n to %llu",
           (unsigned long long)limit, sw_config_connections(config),
           sw_plural(sw_config_connections(config), " is", "s are"), config->connections_max,
           config->http_connections_fit, config->http_connections_max, (unsigned long long)needed);
    return 0;
}

void sw_fd_limit_raise(const struct sw_config *config)
{
    (void)raise_limit(config);
}
