/* SPDX-License-Identifier: MIT
 *
 * replies.c - the replies to calls in stream order: lets their streams go on. Calls that wait
 * receive them too, when they need a free request.
 */
#include <stdio.h>

#include "client/cuda/attached.h"
#include "client/sherwood-tables.h"

void sw_cuda_ordered_finish(struct sherwood_cuda *cuda, struct sw_cuda_ordered *ordered, int status,
                            const char *text)
{
    const size_t slot = (size_t)(ordered - cuda->ordered);
    /* release: the stream that waits for this word then reads the answers */
    if (ordered->captured) {
        __atomic_store_n(&cuda->words[slot].ready, 0, __ATOMIC_RELAXED); /* ordered by the next */
    }
    __atomic_store_n(&cuda->words[slot].done, ordered->ticket, __ATOMIC_RELEASE);
    pthread_mutex_lock(&cuda->lock);
    if (status != SHERWOOD_OK && cuda->failure == SHERWOOD_OK) {
        cuda->failure = status;
        (void)snprintf(cuda->failure_text, sizeof(cuda->failure_text), "%s", text);
    }
    ordered->state = ordered->captured && !ordered->dropped ? SW_ORDERED_WAITS : SW_ORDERED_FREE;
    cuda->under_way -= !ordered->captured;
    cuda->captured -= ordered->dropped;
    ordered->is_second = false;
    pthread_cond_broadcast(&cuda->changed);
    pthread_mutex_unlock(&cuda->lock);
}

/* Lets the thread submit a request again that the server refused because another table lies in its
 * place. First it renews the handle of the table, once for each request, as calls that wait do.
 * Returns whether it did. *status: of the request; receives why it cannot renew the handle. */
static bool repeat(struct sherwood_cuda *cuda, struct sw_cuda_ordered *ordered, int *status)
{
    if (*status != SHERWOOD_E_TABLE || ordered->is_second) {
        return false;
    }
    const int renewed = sherwood_table_renew(sw_cuda_client_of(cuda, &ordered->part.call));
    if (renewed != SHERWOOD_OK) {
        *status = renewed;
        return false;
    }
    pthread_mutex_lock(&cuda->lock);
    ordered->is_second = !ordered->dropped;
    if (ordered->is_second) {
        ordered->state = SW_ORDERED_WAITS; /* its stream has reached it: the next poll submits it */
    }
    pthread_mutex_unlock(&cuda->lock);
    return ordered->is_second;
}

bool sw_cuda_ordered_receive(struct sherwood_cuda *cuda)
{
    struct sherwood_request *request = NULL;
    bool any = false;
    while (!cuda->outlived) {
        int status = sherwood_wait_any_for(cuda->client, &request, 0);
        if (request == NULL) {
            break;
        }
        struct sw_cuda_ordered *ordered = request->user;
        any = true;
        if (!repeat(cuda, ordered, &status)) {
            sw_cuda_add_counts(&ordered->part);
            sw_cuda_ordered_finish(cuda, ordered, status, sherwood_error(cuda->client));
        }
    }
    return any;
}
