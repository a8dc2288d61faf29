/* SPDX-License-Identifier: MIT */
#include "daemon/net/http.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

struct piece {
    const char *s;
    size_t n;
};

static bool piece_is(struct piece p, const char *text)
{
    return p.n == strlen(text) && memcmp(p.s, text, p.n) == 0;
}

static bool is_token(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
        (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_text(struct piece p)
{
    for (size_t i = 0; i < p.n; i++)
        if (((unsigned char) p.s[i] < ' ' && p.s[i] != '\t') || p.s[i] == 0x7f)
            return false;
    return true;
}

/* The line at *at without its CRLF, and *at behind it; false if it is not whole. Bytes after a lone
 * CR or LF make it invalid text, which is_text finds. */
static bool line_next(const char *bytes, size_t n, size_t *at, struct piece *ret)
{
    for (size_t i = *at; i + 1 < n; i++)
        if (bytes[i] == '\r' && bytes[i + 1] == '\n') {
            *ret = (struct piece) { bytes + *at, i - *at };
            *at = i + 2;
            return true;
        }
    return false;
}

/* Up to the first space; the rest stays in p. */
static struct piece word_next(struct piece *p)
{
    size_t n = 0;
    while (n < p->n && p->s[n] != ' ')
        n++;
    struct piece w = { p->s, n };
    n += n < p->n;
    p->s += n;
    p->n -= n;
    return w;
}

/* 200 or an error, from the first line alone. */
static int line_decide(struct piece line, enum http_page *ret_page)
{
    static const struct {
        const char *path;
        enum http_page page;
    } pages[] = {
        { "/metrics", HTTP_METRICS },
        { "/health", HTTP_READY },
        { "/health/ready", HTTP_READY },
        { "/health/live", HTTP_LIVE },
    };
    if (!is_text(line))
        return 400;
    struct piece method = word_next(&line), target = word_next(&line), version = line;
    for (size_t i = 0; i < method.n; i++)
        if (!is_token(method.s[i]))
            return 400;
    if (!method.n || !target.n || target.s[0] != '/' || version.n != 8 ||
        memcmp(version.s, "HTTP/", 5) != 0)
        return 400;
    if (!piece_is(version, "HTTP/1.1") && !piece_is(version, "HTTP/1.0"))
        return 505;
    if (!piece_is(method, "GET"))
        return 405;
    const char *query = memchr(target.s, '?', target.n);
    if (query)
        target.n = (size_t) (query - target.s);
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        if (piece_is(target, pages[i].path)) {
            *ret_page = pages[i].page;
            return 200;
        }
    return 404;
}

/* Whether a header says that OpenMetrics is taken. 400: it is none. */
static int header_decide(struct piece line, bool *ret_open)
{
    static const char type[] = "application/openmetrics-text";
    size_t n = 0;
    while (n < line.n && is_token(line.s[n]))
        n++;
    if (!n || n == line.n || line.s[n] != ':' || !is_text(line))
        return 400;
    if (n != strlen("accept") || strncasecmp(line.s, "accept", n) != 0)
        return 200;
    for (size_t i = n + 1; i + sizeof type - 1 <= line.n; i++)
        *ret_open |= strncasecmp(line.s + i, type, sizeof type - 1) == 0;
    return 200;
}

struct http_decision http_decide(const char *bytes, size_t n)
{
    struct http_decision d = { .status = 0 };
    struct piece line;
    size_t at = 0;
    bool first = true, cut = n > HTTP_REQUEST_BYTES;
    n = cut ? HTTP_REQUEST_BYTES : n;
    for (; line_next(bytes, n, &at, &line); first = false) {
        if (!first && !line.n) {
            d.status = 200;
            return d;
        }
        int status = first ? line_decide(line, &d.page) : header_decide(line, &d.open);
        if (status != 200)
            return (struct http_decision) { .status = status };
    }
    /* What cannot become a request is not waited for. */
    if (first && !is_text((struct piece) { bytes, n && bytes[n - 1] == '\r' ? n - 1 : n }))
        return (struct http_decision) { .status = 400 };
    return (struct http_decision) { .status = n == HTTP_REQUEST_BYTES ? 431 : 0 };
}

const char *http_reason(int status)
{
    static const struct {
        int status;
        const char *reason;
    } all[] = {
        { 200, "OK" },
        { 400, "Bad Request" },
        { 404, "Not Found" },
        { 405, "Method Not Allowed" },
        { 408, "Request Timeout" },
        { 431, "Request Header Fields Too Large" },
        { 500, "Internal Server Error" },
        { 503, "Service Unavailable" },
        { 505, "HTTP Version Not Supported" },
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].status == status)
            return all[i].reason;
    return "Error";
}

size_t http_head(char *to, size_t cap, int status, const char *type, size_t n_body)
{
    int n = snprintf(
        to, cap,
        "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n%sCache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        status, http_reason(status), type, n_body, status == 405 ? "Allow: GET\r\n" : "");
    return n < 0 ? 0 : (size_t) n < cap ? (size_t) n : cap - 1;
}
