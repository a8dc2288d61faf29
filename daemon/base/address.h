/* SPDX-License-Identifier: MIT */
/* address.h - where a socket of the settings listens. */
#ifndef RILL_DAEMON_BASE_ADDRESS_H
#define RILL_DAEMON_BASE_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

union address {
    struct sockaddr any;
    struct sockaddr_un un;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    struct sockaddr_storage room;
};

#define ADDRESS_RULE_BYTES 256

/* What address_parse takes, for messages. */
void address_rule(char ret[ADDRESS_RULE_BYTES]);

/* The length of the address that the text names; 0: it names none. Port 0 is any that is free. */
socklen_t address_parse(const char *text, union address *ret);

#endif
