/* SPDX-License-Identifier: MIT
 *
 * bind.c - makes listening sockets.
 */
#include "server/net/bind.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/limits.h"
#include "server/observe/log.h"

/* Ports below this are for root, unless net.ipv4.ip_unprivileged_port_start says otherwise. */
#define PRIVILEGED_PORTS 1024

static int listen_on(const struct addrinfo *address)
{
    int on = 1;
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, address->ai_addr, address->ai_addrlen) != 0 ||
        listen(fd, SW_LISTEN_BACKLOG) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* Logs why bind() or listen() failed, and what to do about it. */
static void log_failure(const char *host, uint16_t port, const struct sw_bind_names *names,
                        int error)
{
    char remedy[200] = "";
    switch (error) {
    case EADDRINUSE:
        snprintf(remedy, sizeof(remedy), "; another process has the port: choose another --%s",
                 names->port);
        break;
    case EACCES:
        snprintf(remedy, sizeof(remedy),
                 port < PRIVILEGED_PORTS
                     ? "; a port below 1024 is for root, or needs CAP_NET_BIND_SERVICE: choose "
                       "another --%s, or let systemd pass the socket"
                     : "; a security module, such as SELinux, forbids it: choose another --%s",
                 names->port);
        break;
    case EADDRNOTAVAIL:
        snprintf(remedy, sizeof(remedy),
                 "; this machine does not have the address: choose another "
                 "--%s",
                 names->host);
        break;
    default:
        break;
    }
    sw_log(SW_LOG_ERROR, "cannot listen on %s port %u (--%s): %s%s", host, port, names->port,
           strerror(error), remedy);
}

int sw_bind_tcp(const char *host, uint16_t port, const struct sw_bind_names *names)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    char service[8];
    snprintf(service, sizeof(service), "%u", port);
    int error = getaddrinfo(host, service, &hints, &found);
    if (error != 0) {
        sw_log(SW_LOG_ERROR, "cannot listen on '%s' (--%s): %s; set a numeric address", host,
               names->host, gai_strerror(error));
        return -1;
    }
    int fd = -1;
    for (const struct addrinfo *address = found; address != NULL && fd < 0;
         address = address->ai_next) {
        fd = listen_on(address);
    }
    error = errno;
    freeaddrinfo(found);
    if (fd < 0) {
        log_failure(host, port, names, error);
    }
    return fd;
}

/* Returns true if no server listens on the socket file at this path. Other errors of connect() do
 * not show that: the server may be too busy, or may not admit this user. */
static bool is_stale(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bool stale = fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) != 0 &&
                 (errno == ECONNREFUSED || errno == ENOENT);
    if (fd >= 0) {
        close(fd);
    }
    return stale;
}

static bool is_file(const char *path, dev_t device, ino_t inode)
{
    struct stat status;
    return lstat(path, &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

/* Removes the file at `path` if it has this device and inode. Another server could replace the file
 * between a check and an unlink. So the function first renames the file, then checks it, and puts
 * it back if it is another file. */
static void remove_this(const char *path, dev_t device, ino_t inode)
{
    char beside[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 32];
    snprintf(beside, sizeof(beside), "%s.%ld.old", path, (long)getpid());
    if (!is_file(path, device, inode) || rename(path, beside) != 0) {
        return;
    }
    if (!is_file(beside, device, inode) && link(beside, path) != 0 && errno != EEXIST) {
        sw_log(SW_LOG_ERROR, "'%s' is the socket of another server, and cannot be put back at '%s'",
               beside, path);
        return;
    }
    unlink(beside);
}

/* Removes a socket file that no server listens on. Returns 0, or -1 with a sentence logged if the
 * path is in use. */
static int remove_stale(const struct sockaddr_un *address)
{
    struct stat status;
    if (lstat(address->sun_path, &status) != 0) {
        return 0; /* there is no file; if something else is wrong, bind() will fail */
    }
    if (!S_ISSOCK(status.st_mode)) {
        sw_log(SW_LOG_ERROR, "'%s' exists and is not a socket: choose another --unix-socket",
               address->sun_path);
        return -1;
    }
    if (!is_stale(address)) {
        sw_log(SW_LOG_ERROR, "another server listens on '%s': choose another --unix-socket",
               address->sun_path);
        return -1;
    }
    remove_this(address->sun_path, status.st_dev, status.st_ino);
    return 0;
}

/* Gives the socket its path and its mode, and listens. Returns 0, or -1. */
static int listen_at(int fd, const struct sockaddr_un *address, uint32_t mode,
                     struct sw_bound_file *file)
{
    struct stat status;
    if (bind(fd, (const struct sockaddr *)address, sizeof(*address)) != 0) {
        return -1;
    }
    if (lstat(address->sun_path, &status) == 0) {
        *file = (struct sw_bound_file){status.st_dev, status.st_ino};
    }
    return file->inode == 0 || chmod(address->sun_path, mode) != 0 ? -1
                                                                   : listen(fd, SW_LISTEN_BACKLOG);
}

int sw_bind_unix(const char *path, uint32_t mode, struct sw_bound_file *file)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    *file = (struct sw_bound_file){.inode = 0};
    if (strlen(path) >= sizeof(address.sun_path)) {
        sw_log(SW_LOG_ERROR, "the path of --unix-socket is longer than %zu bytes",
               sizeof(address.sun_path) - 1);
        return -1;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (remove_stale(&address) != 0) {
        return -1;
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || listen_at(fd, &address, mode, file) != 0) {
        sw_log(SW_LOG_ERROR, "cannot listen on '%s': %s%s", path, strerror(errno),
               errno == EACCES   ? " (the user that runs the server may not write the folder)"
               : errno == ENOENT ? " (the folder does not exist)"
                                 : "");
        if (fd >= 0) {
            sw_unbind_unix(path, file);
            close(fd);
        }
        return -1;
    }
    return fd;
}

void sw_unbind_unix(const char *path, struct sw_bound_file *file)
{
    if (file->inode != 0) {
        remove_this(path, file->device, file->inode);
        file->inode = 0;
    }
}

uint16_t sw_bound_port(int fd)
{
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);
    if (getsockname(fd, (struct sockaddr *)&address, &size) != 0) {
        return 0;
    }
    if (address.ss_family == AF_INET) {
        return ntohs(((const struct sockaddr_in *)(const void *)&address)->sin_port);
    }
    if (address.ss_family == AF_INET6) {
        return ntohs(((const struct sockaddr_in6 *)(const void *)&address)->sin6_port);
    }
    return 0;
}
