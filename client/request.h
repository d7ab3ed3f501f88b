/* SPDX-License-Identifier: MIT
 *
 * request.h - reads a struct sherwood_request, also of a program that was compiled with an older
 * sherwood.h: fields that its struct lacks count as 0. Threads: the one that uses the handle.
 */
#ifndef SHERWOOD_CLIENT_REQUEST_H
#define SHERWOOD_CLIENT_REQUEST_H

#include "client/handle.h"

/* These return SHERWOOD_OK, or a code with a sentence in the handle. */
int sw_client_check_arguments(struct sherwood *client, enum sherwood_operation operation,
                              const void *keys, const void *values);
/* Checks the size of a request of a program that was compiled with another version. */
int sw_client_check_size(struct sherwood *client, const struct sherwood_request *request);
int sw_client_check_request(struct sherwood *client, const struct sherwood_request *request);
/* Returns the request's arrays of a cache, or NULL. */
struct sherwood_cache *sw_client_request_cache(const struct sherwood_request *request);
/* Returns the fields of the request. The type of the server's rows is 0, as on the wire, and so is
 * a scale of 1. */
struct sw_client_details sw_client_request_details(const struct sherwood *client,
                                                   const struct sherwood_request *request);

/* Queues the frame of a request, as sherwood_submit does (calls.c). */
int sw_client_submit_frame(struct sherwood *client, struct sw_client_frame *frame,
                           struct sherwood_request *request);

#endif
