/* SPDX-License-Identifier: MIT
 *
 * test_spare_fd.c - connections at the limit of open files are refused, also after another thread
 * has opened a file in the place of the spare descriptor. The test's open() replaces the C
 * library's, and can fail for lack of descriptors.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/net/spare_fd.h"

static bool open_fails; /* the next open() fails with EMFILE */

int open(const char *path, int flags, ...)
{
    mode_t mode = 0;
    if (open_fails) {
        open_fails = false;
        errno = EMFILE;
        return -1;
    }
    if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE) {
        va_list rest;
        va_start(rest, flags);
        mode = va_arg(rest, mode_t);
        va_end(rest);
    }
    return openat(AT_FDCWD, path, flags, mode);
}

static int refused; /* connections that refuse() saw */

static void refuse(int fd)
{
    (void)fd;
    refused++;
}

/* A socket that listens on a port of its own, whose address goes to *address. */
static int listening(struct sockaddr_in *address)
{
    socklen_t size = sizeof(*address);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    memset(address, 0, sizeof(*address));
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    cr_assert_eq(bind(fd, (struct sockaddr *)address, sizeof(*address)), 0);
    cr_assert_eq(listen(fd, 16), 0);
    cr_assert_eq(getsockname(fd, (struct sockaddr *)address, &size), 0);
    return fd;
}

static int connected(const struct sockaddr_in *address)
{
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(connect(fd, (const struct sockaddr *)address, sizeof(*address)), 0);
    return fd;
}

/* Lowers the limit so that no descriptor is free: 0 to the highest open one are all in use. */
static void leave_none_free(void)
{
    struct rlimit limit;
    const int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
    cr_assert_geq(next, 0);
    close(next);
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = (rlim_t)next;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

Test(spare_fd, a_lost_spare_comes_back_before_a_client)
{
    struct sockaddr_in address;
    struct sw_spare_fd spare;
    const int listener = listening(&address);
    const int clients[] = {connected(&address), connected(&address)};
    sw_spare_fd_open(&spare);
    cr_assert_geq(spare.fd, 0);
    leave_none_free();

    cr_assert_eq(sw_spare_fd_accept(&spare, listener), -1);
    cr_assert(sw_spare_fd_helps(errno), "%s", strerror(errno));
    cr_assert_eq(sw_spare_fd_after(&spare, listener, EMFILE, refuse), SW_SPARE_FD_REFUSED);
    cr_assert_eq(refused, 1);
    cr_assert_geq(spare.fd, 0);

    /* Another thread opens a file while the spare is closed. */
    sw_spare_fd_close(&spare);
    const int other = open("/dev/null", O_RDONLY | O_CLOEXEC);
    cr_assert_geq(other, 0);
    cr_assert_eq(sw_spare_fd_accept(&spare, listener), -1);
    cr_assert(sw_spare_fd_helps(errno), "%s", strerror(errno));
    cr_assert_eq(sw_spare_fd_after(&spare, listener, EMFILE, refuse), SW_SPARE_FD_NONE);
    cr_assert_eq(refused, 1);

    /* The file's place is the spare's again. The client, which waits, is refused, not served. */
    close(other);
    cr_assert_eq(sw_spare_fd_accept(&spare, listener), -1);
    cr_assert_geq(spare.fd, 0);
    cr_assert_eq(sw_spare_fd_after(&spare, listener, EMFILE, refuse), SW_SPARE_FD_REFUSED);
    cr_assert_eq(refused, 2);
    cr_assert_eq(sw_spare_fd_after(&spare, listener, EMFILE, refuse), SW_SPARE_FD_EMPTY);
    const struct {
        int error;
        enum sw_spare_fd_result result;
    } others[] = {{ECONNABORTED, SW_SPARE_FD_AGAIN}, {EINTR, SW_SPARE_FD_AGAIN},
                  {EAGAIN, SW_SPARE_FD_EMPTY},       {ENOMEM, SW_SPARE_FD_NONE},
                  {ENOBUFS, SW_SPARE_FD_NONE},       {ENFILE, SW_SPARE_FD_EMPTY}};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        cr_assert_eq(sw_spare_fd_after(&spare, listener, others[i].error, refuse), others[i].result,
                     "error %d", others[i].error);
    }
    cr_assert_eq(refused, 2);
    cr_assert_geq(spare.fd, 0);
    close(clients[0]);
    close(clients[1]);
    close(listener);
    sw_spare_fd_close(&spare);
}

/* Another thread closes a file after the spare descriptor could not be opened. The free place is
 * the spare's, not the waiting client's. */
Test(spare_fd, no_client_is_accepted_without_a_spare)
{
    struct sockaddr_in address;
    struct sw_spare_fd spare = {.fd = -1};
    const int listener = listening(&address);
    const int client = connected(&address);
    open_fails = true;
    cr_assert_eq(sw_spare_fd_accept(&spare, listener), -1, "it accepted without a spare");
    cr_assert(sw_spare_fd_helps(errno), "%s", strerror(errno));
    cr_assert_not(open_fails, "it did not try to open the spare");
    const int served = sw_spare_fd_accept(&spare, listener);
    cr_assert_geq(served, 0, "%s", strerror(errno));
    cr_assert_geq(spare.fd, 0);
    close(served);
    close(client);
    close(listener);
    sw_spare_fd_close(&spare);
}
