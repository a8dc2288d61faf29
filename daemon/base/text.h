/* SPDX-License-Identifier: MIT */
/* text.h - words that come from outside: of clients, of models, of paths. */
#ifndef RILL_DAEMON_BASE_TEXT_H
#define RILL_DAEMON_BASE_TEXT_H

#include <stdbool.h>

#define TEXT_BYTES 256 /* with its end */

bool text_valid(const char *s); /* UTF-8 of less than TEXT_BYTES */
/* what is no printable UTF-8, or would end a quoted word of the log, is replaced */
void text_clean(char *s);

#endif
