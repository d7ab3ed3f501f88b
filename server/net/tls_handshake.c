/* SPDX-License-Identifier: MIT
 *
 * tls_handshake.c - TLS handshakes, one after the other.
 *
 * A step of a handshake computes for 0.2 ms (P-256) to 0.6 ms (RSA 2048), and any client may start
 * one before it has logged in. So an event of the socket only adds the transport to the loop's list
 * `handshakes`. Each iteration continues handshakes until the time of the phase is over
 * (iteration.h).
 */
#include <openssl/ssl.h>
#include <string.h>

#include "server/net/iteration.h"
#include "server/net/tls_first.h"
#include "server/net/tls_parts.h"

/* Checks the first byte. Returns false if the peer does not speak TLS, or has sent nothing yet. */
static bool speaks_tls(struct sw_tls *tls)
{
    char text[SW_TLS_TROUBLE_BYTES];
    if (!tls->first_byte_known) {
        enum sw_tls_first first = sw_tls_first_byte(tls->fd, NULL, text, sizeof(text));
        tls->first_byte_known = first == SW_TLS_FIRST_RECORD;
        if (first == SW_TLS_FIRST_OTHER) {
            sw_tls_fail(tls, UV_EPROTO, text);
        }
    }
    return tls->first_byte_known;
}

/* Continues a handshake with what the socket has. */
static void handshake(struct sw_tls *tls)
{
    if (!speaks_tls(tls)) {
        return;
    }
    int result = sw_tls_handshake(&tls->stream);
    if (result == SW_TLS_FAILED) {
        sw_tls_fail(tls, UV_EPROTO, tls->loop->scratch.trouble);
    } else if (result == 1) {
        tls->transport->opening = false;
        sw_tls_report(tls, SW_NEWS_SECURED, SSL_get_version(tls->stream.ssl));
        if (tls->reading) {
            sw_tls_read_some(tls);
        }
    }
}

void sw_tls_await_handshake(struct sw_tls *tls)
{
    if (!sw_list_is_linked(&tls->ready)) {
        sw_list_push(&tls->loop->handshakes, &tls->ready);
    }
    sw_tls_watch_needed(tls, true);
}

bool sw_tls_shake_hands(struct sw_tls_loop *loop, struct sw_iteration *iteration)
{
    const bool any = !sw_list_is_empty(&loop->handshakes);
    while (!sw_list_is_empty(&loop->handshakes) && !iteration->is_spent) {
        struct sw_list *first = sw_list_pop(&loop->handshakes);
        struct sw_tls *tls = SW_CONTAINER(first, struct sw_tls, ready);
        sw_iteration_start(iteration);
        handshake(tls);
        if (!sw_tls_is_closing(tls)) {
            if (tls->is_reset) {
                sw_tls_fail(tls, UV_ECONNRESET, strerror(ECONNRESET));
            }
            sw_tls_watch_needed(tls, !tls->reading);
        }
        (void)sw_iteration_add(iteration, SW_ITERATION_CLOCK_COST);
    }
    return any;
}
