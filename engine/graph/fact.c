/* SPDX-License-Identifier: MIT */
#include "engine/graph/graph.h"

#include <stdio.h>

void fact_of_tensor(struct fact *f, struct dims *ds, const struct tensor *t)
{
    *f = (struct fact) { .type = t->type, .number = t->number, .rank = t->rank, .value = t };
    for (int i = 0; i < t->rank; i++)
        f->shape[i] = dim_int(ds, t->dim[i]);
}

static bool is_plain(const struct tensor *t)
{
    for (int64_t i = 0, n = tensor_count(t); i < n; i++)
        if (!dim_is_const(((const struct dim *const *) t->data)[i]))
            return false;
    return true;
}

const struct tensor *tensor_resolved(struct arena *a, const struct tensor *t)
{
    if (t->type != DTYPE_DIM || !is_plain(t))
        return t;
    struct tensor *s = tensor_new(a, dtype_number(t->type, t->number), t->rank, t->dim);
    for (int64_t i = 0, n = s ? tensor_count(s) : 0; i < n; i++) {
        int64_t v = dim_value(((const struct dim *const *) t->data)[i]);
        if (s->type == DTYPE_I64)
            ((int64_t *) s->data)[i] = v;
        else
            tensor_set_f64(s, s->data, i, (double) v);
    }
    return s;
}

bool fact_is_single(const struct fact *f)
{
    return f->rank == 0 || (f->rank == 1 && dim_is(f->shape[0], 1));
}

bool fact_is_static(const struct fact *f)
{
    struct tensor t;
    return fact_to_tensor(f, &t);
}

bool fact_to_tensor(const struct fact *f, struct tensor *ret)
{
    if (f->type == DTYPE_NONE || f->rank < 0)
        return false;
    struct tensor t = { .type = f->type, .number = f->number, .rank = f->rank };
    for (int i = 0; i < f->rank; i++) {
        if (!dim_is_const(f->shape[i]))
            return false;
        t.dim[i] = dim_value(f->shape[i]);
    }
    int64_t n;
    if (!tensor_count_checked(&t, &n))
        return false;
    *ret = t;
    return true;
}

bool wire_to_tensor(const struct wire *w, struct tensor *ret)
{
    const struct declared *d = w->declared;
    int64_t n;
    if (fact_to_tensor(&w->fact, ret))
        return true;
    if (!d || d->type == DTYPE_NONE || d->rank < 0)
        return false;
    *ret = (struct tensor) { .type = d->type, .rank = d->rank };
    for (int i = 0; i < d->rank; i++)
        ret->dim[i] = d->dim[i] < 0 ? 0 : d->dim[i];
    return tensor_count_checked(ret, &n);
}

int fact_print(const struct fact *f, char *buf, size_t cap)
{
    char d[256];
    size_t at = 0;
#define PUT(...)                                                                                   \
    do {                                                                                           \
        int n_ = snprintf(buf + (at < cap ? at : cap), at < cap ? cap - at : 0, __VA_ARGS__);      \
        at += n_ > 0 ? (size_t) n_ : 0;                                                            \
    } while (0)
    PUT("%s", f->type ? dtype_name(f->type) : "?");
    if (f->rank < 0) {
        PUT("[?]");
        return (int) at;
    }
    PUT("[");
    for (int i = 0; i < f->rank; i++) {
        dim_print(f->shape[i], d, sizeof d);
        PUT("%s%s", i ? "," : "", d);
    }
    PUT("]");
#undef PUT
    return (int) at;
}

bool fact_same(const struct fact *a, const struct fact *b)
{
    if (a->type != b->type || fact_number(a) != fact_number(b) || a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->shape[i] != b->shape[i])
            return false;
    return true;
}

enum dtype fact_number(const struct fact *f)
{
    return dtype_number(f->type, f->number);
}

struct fact fact_without_axis(const struct fact *f, int axis)
{
    struct fact r = { .type = f->type, .number = f->number, .rank = f->rank - 1 };
    for (int i = 0, k = 0; i < f->rank; i++)
        if (i != axis)
            r.shape[k++] = f->shape[i];
    return r;
}

struct fact fact_with_axis(const struct fact *f, int axis, const struct dim *d)
{
    struct fact r = { .type = f->type, .number = f->number, .rank = f->rank + 1 };
    for (int i = 0, k = 0; i < r.rank; i++)
        r.shape[i] = i == axis ? d : f->shape[k++];
    return r;
}
