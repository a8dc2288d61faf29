/* SPDX-License-Identifier: MIT */
/* passed.h - daemons that are handed a listening socket, as a service manager does. */
#ifndef TEST_DAEMON_PASSED_H
#define TEST_DAEMON_PASSED_H

#include "tests/daemon/harness.h"

/* Listens on the loopback at *port, or where there is room if that is 0, and notes where; ends the
 * test if it cannot. */
int passed_listen(int *port);

/* $RILLD with the settings of r->conf, which stands already, and fd under the name "metrics"; takes
 * fd. Waits until it is ready. */
bool passed_start(struct rig *r, int fd);

/* The same under another name, and waits only for the line that says so. */
bool passed_start_as(struct rig *r, int fd, const char *name);

#endif
