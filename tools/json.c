/* SPDX-License-Identifier: MIT */
#include "tools/json.h"
#include "tools/tool.h"

#include <stdlib.h>
#include <string.h>

json_t *json_text(const char *text)
{
    json_t *whole = json_string(text);
    if (whole)
        return whole;
    size_t n = strlen(text);
    char *copy = tool_alloc(n + 1);
    for (size_t i = 0; i < n; i++)
        copy[i] = (unsigned char) text[i] < 0x80 ? text[i] : '?';
    whole = json_string(copy);
    free(copy);
    return whole;
}
