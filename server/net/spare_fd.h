/* SPDX-License-Identifier: MIT
 *
 * spare_fd.h - a descriptor that is kept to refuse connections with, when there is no other.
 *
 * Without it a client that connects while the limit of open files is reached waits in the backlog
 * until another one leaves. Belongs to the thread that accepts.
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

/* Accepts a connection of `listener` in the place of the spare descriptor. `refuse` sends the peer
 * the reason without waiting; then the connection is closed. Returns false if accept() failed (the
 * backlog may be empty) or if there is no spare descriptor. */
bool sw_spare_fd_refuse(struct sw_spare_fd *spare, int listener, void (*refuse)(int fd));

#endif
