/* SPDX-License-Identifier: MIT */
/* text.h - strings from outside: of clients, of models, of paths. */
#ifndef RILL_DAEMON_BASE_TEXT_H
#define RILL_DAEMON_BASE_TEXT_H

#include <stdbool.h>

#define TEXT_BYTES 256 /* with its end */

bool text_valid(const char *s); /* UTF-8 of less than TEXT_BYTES */
/* replaces what is no printable UTF-8 or would end a quoted string of the log */
void text_clean(char *s);

#endif
