/* SPDX-License-Identifier: MIT
 *
 * spare_fd.h - a spare descriptor. The server uses it to refuse connections when no other is free.
 *
 * Without it a client that connects while the limit of open files is reached waits in the backlog
 * until another one leaves. Belongs to the thread that accepts.
 *
 * Invariant: while descriptors are lacking, no connection is accepted without a spare descriptor.
 * Another thread of the process can open a file in the moment in which the spare descriptor is
 * closed. The file takes the spare's place for a while. When it is closed, the spare takes the
 * place back before a client can.
 */
#ifndef SHERWOOD_SERVER_NET_SPARE_FD_H
#define SHERWOOD_SERVER_NET_SPARE_FD_H

#include <stdbool.h>

struct sw_spare_fd {
    int fd; /* -1: it could not be opened, or was used up */
};

void sw_spare_fd_open(struct sw_spare_fd *spare);
void sw_spare_fd_close(struct sw_spare_fd *spare);

/* Has accept() failed with this error for lack of descriptors? */
bool sw_spare_fd_helps(int error);

/* Accepts a connection of `listener` without blocking. Opens the spare descriptor first if there is
 * none. Returns the descriptor, or -1 with errno: EMFILE or ENFILE if the spare cannot be opened.
 */
int sw_spare_fd_accept(struct sw_spare_fd *spare, int listener);

enum sw_spare_fd_result {
    SW_SPARE_FD_AGAIN,   /* the connection has ended, or a signal came: accept again */
    SW_SPARE_FD_REFUSED, /* one connection was refused and closed: accept again */
    SW_SPARE_FD_EMPTY,   /* no connection waits any more */
    SW_SPARE_FD_NONE,    /* a resource is lacking, and no refusal is possible: pause */
};

/* Decides what follows a failed sw_spare_fd_accept with this error. If descriptors are lacking, it
 * accepts a connection of `listener` in the place of the spare descriptor. `refuse` sends the peer
 * the reason without waiting; then the connection is closed. */
enum sw_spare_fd_result sw_spare_fd_after(struct sw_spare_fd *spare, int listener, int error,
                                          void (*refuse)(int fd));

#endif
