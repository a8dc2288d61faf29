/* SPDX-License-Identifier: MIT */
#include "daemon/base/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

static socklen_t path_parse(const char *text, union address *ret)
{
    size_t n = strlen(text);
    ret->un.sun_family = AF_UNIX;
    if (!strchr(text, '/') || n >= sizeof ret->un.sun_path)
        return 0;
    memcpy(ret->un.sun_path, text, n + 1);
    return sizeof ret->un;
}

/* -1: no number of a port, to the end of the text. */
static long port_number(const char *s)
{
    long port = 0;
    size_t n = strspn(s, "0123456789");
    if (n < 1 || n > 5 || s[n])
        return -1;
    while (*s)
        port = port * 10 + (*s++ - '0');
    return port <= 65535 ? port : -1;
}

static socklen_t port_parse(const char *text, union address *ret)
{
    char host[INET6_ADDRSTRLEN];
    const char *colon = strrchr(text, ':');
    bool is_6 = text[0] == '[' && colon && colon > text && colon[-1] == ']';
    long port = colon ? port_number(colon + 1) : -1;
    size_t n = colon ? (size_t) (colon - text) - (is_6 ? 2 : 0) : 0;
    if (port < 0 || !n || n >= sizeof host)
        return 0;
    memcpy(host, text + is_6, n);
    host[n] = '\0';
    ret->any.sa_family = is_6 ? AF_INET6 : AF_INET;
    if (is_6)
        ret->in6.sin6_port = htons((uint16_t) port);
    else
        ret->in.sin_port = htons((uint16_t) port);
    if (inet_pton(ret->any.sa_family, host,
                  is_6 ? (void *) &ret->in6.sin6_addr : (void *) &ret->in.sin_addr) != 1)
        return 0;
    return is_6 ? sizeof ret->in6 : sizeof ret->in;
}

/* Each kind of address: what it looks like, and its bytes; 0: the text is not of the kind. How
 * sockets of a family are made is in daemon/net/sockets.c. */
static const struct {
    const char *looks;
    socklen_t (*parse)(const char *text, union address *ret);
} kinds[] = {
    { "a path (with a / in it)", path_parse },
    { "a numeric address and its port (127.0.0.1:9464, [::1]:9464)", port_parse },
};

#define N_KINDS (sizeof kinds / sizeof *kinds)

void address_rule(char ret[ADDRESS_RULE_BYTES])
{
    size_t at = 0;
    for (size_t i = 0; i < N_KINDS; i++)
        at += (size_t) snprintf(ret + at, ADDRESS_RULE_BYTES - at, "%s%s", i ? ", or " : "",
                                kinds[i].looks);
}

socklen_t address_parse(const char *text, union address *ret)
{
    socklen_t len = 0;
    for (size_t i = 0; i < N_KINDS && !len; i++) {
        memset(ret, 0, sizeof *ret);
        len = kinds[i].parse(text, ret);
    }
    return len;
}
