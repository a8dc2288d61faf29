/* SPDX-License-Identifier: MIT */
/* Attributes of any op, by the table in its row. */
#include "models/export/writer.h"

#include <string.h>

static const void *attr_at(const struct node *n, const char *name)
{
    for (const struct attr_spec *s = n->op->attrs; s && s->name; s++)
        if (!strcmp(s->name, name))
            return (const char *) n->attr + s->offset;
    return NULL;
}

int64_t attr_int(const struct node *n, const char *name)
{
    const int64_t *v = attr_at(n, name);
    return v ? *v : 0;
}

float attr_float(const struct node *n, const char *name)
{
    const float *v = attr_at(n, name);
    return v ? *v : 0;
}

struct attr_ints attr_ints(const struct node *n, const char *name)
{
    const struct attr_ints *v = attr_at(n, name);
    return v ? *v : (struct attr_ints) { 0, NULL };
}

/* What is only of whole sequences that are too short for a window is no file's. */
bool attr_is_default(const struct attr_spec *s, const void *at)
{
    if (s->own && !strcmp(s->name, "may_lack"))
        return true;
    switch (s->kind) {
    case ATTR_INT: return *(const int64_t *) at == s->def_i;
    case ATTR_CHOICE: return *(const int *) at == (int) s->def_i;
    case ATTR_FLOAT: return *(const float *) at == s->def_f;
    case ATTR_INTS: return !((const struct attr_ints *) at)->n;
    case ATTR_FLOATS: return !((const struct attr_floats *) at)->n;
    case ATTR_STRINGS: return !((const struct attr_strings *) at)->n;
    case ATTR_TENSOR: return !*(const struct tensor *const *) at;
    }
    return true;
}
