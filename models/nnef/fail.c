/* SPDX-License-Identifier: MIT */
#include "models/nnef/build.h"

#include <stdarg.h>
#include <stdio.h>

rill_status nnef_fail(struct builder *b, const struct scope *s, struct nnef_pos pos,
                      rill_status status, const char *fmt, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return err_set(b->err, status, "%s:%u:%u: %s", s->file, pos.line, pos.column, text);
}

rill_status nnef_no_memory(struct builder *b)
{
    return err_set(b->err, RILL_NOMEM, "%s: out of memory while building the graph", b->doc->file);
}
