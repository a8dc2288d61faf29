/* SPDX-License-Identifier: MIT */
/* json.h - texts of any bytes as JSON. */
#ifndef TOOLS_JSON_H
#define TOOLS_JSON_H
#include <jansson.h>

/* A new string; where `text` is not UTF-8, as the name of a file may be, each byte beyond ASCII is
 * a question mark. */
json_t *json_text(const char *text);
#endif
