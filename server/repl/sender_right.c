/* SPDX-License-Identifier: MIT
 *
 * sender_right.c - checks, while a replica is served, whether its user may still run REPLICATE.
 */
#include <stdlib.h>
#include <unistd.h>

#include "server/repl/sender_parts.h"

void sw_sender_take_right(struct sw_sender *sender, const struct sw_repl_peer *peer)
{
    if (peer->users != NULL && peer->login->account != NULL) {
        sender->users = peer->users;
        sender->command = peer->command;
        sw_login_copy(peer->users, peer->login, &sender->login);
    }
}

bool sw_sender_has_right(struct sw_sender *sender)
{
    return sender->users == NULL || sw_login_may(sender->users, &sender->login, sender->command);
}

void sw_sender_nudge(struct sw_sender *sender)
{
    const uint64_t one = 1;
    ssize_t written = write(sender->reader.fd, &one, sizeof(one));
    (void)written;
}

void sw_sender_free(struct sw_sender *sender)
{
    close(sender->reader.fd);
    sw_login_end(&sender->login);
    free(sender);
}
