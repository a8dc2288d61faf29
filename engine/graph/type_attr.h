/* SPDX-License-Identifier: MIT */
/* type_attr.h - attributes of ops whose number is a type, which files write in their own way. */
#ifndef RILL_ENGINE_GRAPH_TYPE_ATTR_H
#define RILL_ENGINE_GRAPH_TYPE_ATTR_H
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static inline bool attr_is_type(const char *name)
{
    static const char *const names[] = { "to", "dtype", "output_dtype", "output_datatype" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i], name))
            return true;
    return false;
}
#endif
