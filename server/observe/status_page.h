/* SPDX-License-Identifier: MIT
 *
 * status_page.h - the status page as a browser gets it. The build joins it from the parts in
 * server/observe/status/ (its script `join`) and generates the definitions of the variables below.
 */
#ifndef SHERWOOD_SERVER_OBSERVE_STATUS_PAGE_H
#define SHERWOOD_SERVER_OBSERVE_STATUS_PAGE_H

#include <stddef.h>

/* One HTML file; it loads nothing but /status.json. */
extern const unsigned char sw_status_page[];
extern const size_t sw_status_page_bytes;

/* The Content-Security-Policy of the page, which names the script and the style by their hashes. */
extern const char sw_status_policy[];

#endif
