/* SPDX-License-Identifier: MIT */
#include "engine/base/dim_internal.h"

#include <stdio.h>
#include <string.h>

struct out {
    char *buf;
    size_t cap, n;
};

static void put(struct out *o, const char *s)
{
    for (; *s; s++, o->n++)
        if (o->n + 1 < o->cap)
            o->buf[o->n] = *s;
}

static void put_int(struct out *o, int64_t v)
{
    char s[24];
    snprintf(s, sizeof s, "%lld", (long long) v);
    put(o, s);
}

/* As the parser reads one without quotes: a slash belongs to a name only before a letter. */
static bool name_is_plain(const char *s)
{
    if (*s == '?') {
        const char *digits = s + 1;
        return *digits && strspn(digits, "0123456789") == strlen(digits);
    }
    if (!is_letter(*s))
        return false;
    for (; *s; s++)
        if (!is_letter(*s) && !is_digit(*s) && *s != '.' && !(*s == '/' && is_letter(s[1])))
            return false;
    return true;
}

static void put_name(struct out *o, const char *s)
{
    if (name_is_plain(s)) {
        put(o, s);
        return;
    }
    put(o, "\"");
    for (; *s; s++) {
        char c[5] = { *s };
        if (*s < ' ' || *s > '~' || *s == '"' || *s == '\\')
            snprintf(c, sizeof c, "\\x%02x", (unsigned char) *s & 0xffu);
        put(o, c);
    }
    put(o, "\"");
}

static void put_dim(struct out *o, const struct dim *d);

/* A factor: division and sums need parentheses there. */
static void put_factor(struct out *o, const struct dim *d)
{
    bool paren = d->kind == DIM_DIV || d->kind == DIM_ADD;
    put(o, paren ? "(" : "");
    put_dim(o, d);
    put(o, paren ? ")" : "");
}

static void put_sum(struct out *o, const struct dim *d)
{
    if (d->value)
        put_int(o, d->value);
    for (unsigned i = 0; i < d->n; i++) {
        put(o, i || d->value ? " + " : "");
        if (d->coef[i] == 1) {
            put_dim(o, d->arg[i]);
            continue;
        }
        put_int(o, d->coef[i]);
        put(o, "*");
        put_factor(o, d->arg[i]);
    }
}

static void put_call(struct out *o, const char *name, const struct dim *d)
{
    put(o, name);
    for (unsigned i = 0; i < d->n; i++) {
        put(o, i ? ", " : "(");
        put_dim(o, d->arg[i]);
    }
    put(o, ")");
}

static void put_product(struct out *o, const struct dim *d)
{
    for (unsigned i = 0; i < d->n; i++) {
        put(o, i ? "*" : "");
        put_factor(o, d->arg[i]);
    }
}

static void put_div(struct out *o, const struct dim *d)
{
    bool paren =
        d->arg[0]->kind == DIM_ADD || d->arg[0]->kind == DIM_MUL || d->arg[0]->kind == DIM_DIV;
    put(o, paren ? "(" : "");
    put_dim(o, d->arg[0]);
    put(o, paren ? ")/" : "/");
    put_int(o, d->value);
}

static void put_dim(struct out *o, const struct dim *d)
{
    switch (d->kind) {
    case DIM_POISON: put(o, "<error>"); return;
    case DIM_INT: put_int(o, d->value); return;
    case DIM_SYM: put_name(o, d->name); return;
    case DIM_MUL: put_product(o, d); return;
    case DIM_DIV: put_div(o, d); return;
    case DIM_ADD: put_sum(o, d); return;
    case DIM_MIN: put_call(o, "min", d); return;
    case DIM_MAX: put_call(o, "max", d); return;
    case DIM_BROADCAST: put_call(o, "broadcast", d); return;
    case DIM_GE: put_call(o, "ge", d); return;
    case DIM_EQ: put_call(o, "eq", d); return;
    }
}

int dim_print(const struct dim *d, char *buf, size_t cap)
{
    struct out o = { buf, cap, 0 };
    if (d)
        put_dim(&o, d);
    else
        put(&o, "<none>");
    if (cap)
        buf[o.n < cap ? o.n : cap - 1] = '\0';
    return (int) o.n;
}
