/* SPDX-License-Identifier: MIT */
/* http.h - what to answer to an HTTP request: GET of a few pages and nothing else. http_decide is a
 * pure function of the bytes that came; http_serve.c moves them. */
#ifndef RILL_DAEMON_NET_HTTP_H
#define RILL_DAEMON_NET_HTTP_H

#include <stdbool.h>
#include <stddef.h>

#define HTTP_REQUEST_BYTES 1024 /* request line and headers; more is answered with 431 */

/* READY: whether new streams should come here. LIVE: whether the process is worth keeping. */
enum http_page { HTTP_NONE, HTTP_METRICS, HTTP_READY, HTTP_LIVE };

struct http_decision {
    int status; /* 0: more bytes are needed; 200: give the page; otherwise an error of that number
                 */
    enum http_page page;
    bool open; /* METRICS: the client takes OpenMetrics */
};

/* n bytes from the beginning of the request. The answer never changes once its status is not 0. */
struct http_decision http_decide(const char *bytes, size_t n);

/* Status line and headers of an answer with a body of n_body bytes; the length, less than cap. */
size_t http_head(char *to, size_t cap, int status, const char *type, size_t n_body);

const char *http_reason(int status);

#endif
