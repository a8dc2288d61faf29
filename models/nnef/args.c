/* SPDX-License-Identifier: MIT */
/* Arguments of a call: evaluated when the operator asks for them. */
#include "models/nnef/build.h"

#include <string.h>

static uint32_t arg_index(const struct call *c, const char *name)
{
    uint32_t i = 0;
    while (strcmp(c->sig->params[i].name, name) != 0) /* builders ask for what their row declares */
        i++;
    return i;
}

const struct nnef_expr *arg_expr(const struct call *c, const char *name)
{
    return c->arg[arg_index(c, name)];
}

static struct nnef_pos arg_pos(const struct call *c, const char *name)
{
    const struct nnef_expr *e = arg_expr(c, name);
    return e ? e->pos : c->e->pos;
}

rill_status arg_val(const struct call *c, const char *name, struct val *ret)
{
    const struct nnef_expr *e = arg_expr(c, name);
    if (e)
        return eval_expr(c->b, c->s, e, ret);
    struct scope none = { .g = c->s->g, .prefix = "", .file = c->s->file };
    return eval_expr(c->b, &none, c->sig->params[arg_index(c, name)].init, ret);
}

static rill_status arg_wrong(const struct call *c, const char *name, struct val v,
                             const char *expected)
{
    return nnef_fail(c->b, c->s, arg_pos(c, name), RILL_MALFORMED,
                     "'%.40s': argument '%s' is %s, expected %s", c->e->text, name,
                     val_kind_name(v), expected);
}

rill_status arg_wire(const struct call *c, const char *name, uint32_t *ret)
{
    struct val v;
    TRY(arg_val(c, name, &v));
    return val_to_wire(c->b, c->s, arg_pos(c, name), v, DTYPE_F32, ret);
}

rill_status arg_wires(const struct call *c, const char *name, uint32_t **ret, unsigned *ret_n)
{
    struct val v;
    TRY(arg_val(c, name, &v));
    const struct val *list = v.kind == VAL_LIST ? v.list : &v;
    *ret_n = v.kind == VAL_LIST ? v.n : 1;
    if (!(*ret = arena_array(c->b->arena, uint32_t, *ret_n + 1u)))
        return nnef_no_memory(c->b);
    for (unsigned i = 0; i < *ret_n; i++)
        TRY(val_to_wire(c->b, c->s, arg_pos(c, name), list[i], DTYPE_F32, &(*ret)[i]));
    return RILL_OK;
}

rill_status arg_int(const struct call *c, const char *name, int64_t *ret)
{
    struct val v;
    TRY(arg_val(c, name, &v));
    v = val_known(c->b, c->s, v);
    *ret = v.i;
    return v.kind == VAL_INT ? RILL_OK : arg_wrong(c, name, v, "an integer");
}

rill_status arg_real(const struct call *c, const char *name, double *ret)
{
    struct val v;
    TRY(arg_val(c, name, &v));
    *ret = v.kind == VAL_REAL ? v.real : (double) v.i;
    return v.kind == VAL_REAL || v.kind == VAL_INT ? RILL_OK : arg_wrong(c, name, v, "a number");
}

rill_status arg_bool(const struct call *c, const char *name, bool *ret)
{
    struct val v;
    TRY(arg_val(c, name, &v));
    *ret = v.i != 0;
    return v.kind == VAL_BOOL ? RILL_OK : arg_wrong(c, name, v, "true or false");
}

rill_status arg_text(const struct call *c, const char *name, const char **ret)
{
    struct val v;
    TRY(arg_val(c, name, &v));
    *ret = v.text;
    return v.kind == VAL_TEXT ? RILL_OK : arg_wrong(c, name, v, "a string");
}

/* A list may hold lists, and tensors whose integers are known: one row of sizes comes of it. */
static rill_status dims_gather(const struct call *c, const char *name, struct val v,
                               const struct dim **ret, unsigned cap, unsigned *n)
{
    v = val_known(c->b, c->s, v);
    if (v.kind == VAL_LIST) {
        for (uint32_t i = 0; i < v.n; i++)
            TRY(dims_gather(c, name, v.list[i], ret, cap, n));
        return RILL_OK;
    }
    const struct dim *d = dim_of_val(c->b, v);
    if (!d)
        return arg_wrong(c, name, v, "integers");
    if (*n == cap)
        return nnef_fail(c->b, c->s, arg_pos(c, name), RILL_LIMIT,
                         "'%.40s': argument '%s' has more than %u elements", c->e->text, name, cap);
    ret[(*n)++] = d;
    return RILL_OK;
}

rill_status arg_dims(const struct call *c, const char *name, const struct dim **ret, unsigned cap,
                     unsigned *ret_n)
{
    struct val v;
    *ret_n = 0;
    TRY(arg_val(c, name, &v));
    v = val_known(c->b, c->s, v);
    if (v.kind != VAL_LIST)
        return arg_wrong(c, name, v, "a list of integers");
    return dims_gather(c, name, v, ret, cap, ret_n);
}

rill_status arg_ints(const struct call *c, const char *name, int64_t *ret, unsigned cap,
                     unsigned *ret_n)
{
    const struct dim *d[64];
    TRY(arg_dims(c, name, d, cap < 64 ? cap : 64, ret_n));
    for (unsigned i = 0; i < *ret_n; i++) {
        if (!dim_is_const(d[i]))
            return arg_wrong(c, name, val_of_dim(d[i]), "integers");
        ret[i] = dim_value(d[i]);
    }
    return RILL_OK;
}

rill_status expr_name(const struct call *c, const struct nnef_expr *e, const char **ret)
{
    if (e->kind != NNEF_EXPR_NAME && e->kind != NNEF_EXPR_TEXT)
        return nnef_fail(c->b, c->s, e->pos, RILL_MALFORMED, "expected a name");
    *ret = e->text;
    return RILL_OK;
}

rill_status arg_tuples(const struct call *c, const char *name, uint32_t width,
                       struct nnef_expr *const **ret, unsigned *ret_n)
{
    const struct nnef_expr *e = arg_expr(c, name);
    *ret_n = 0;
    if (!e)
        return RILL_OK;
    if (e->kind != NNEF_EXPR_LIST)
        return nnef_fail(c->b, c->s, e->pos, RILL_MALFORMED,
                         "'%s': expected a list of tuples in [ ]", name);
    if (e->n_part > SCAN_PARTS_MAX)
        return nnef_fail(c->b, c->s, e->pos, RILL_LIMIT, "'%s': %u entries, at most %d", name,
                         e->n_part, SCAN_PARTS_MAX);
    for (uint32_t i = 0; i < e->n_part; i++)
        if (e->part[i]->kind != NNEF_EXPR_TUPLE || e->part[i]->n_part != width)
            return nnef_fail(c->b, c->s, e->part[i]->pos, RILL_MALFORMED,
                             "'%s': expected a tuple of %u", name, width);
    *ret = e->part;
    *ret_n = e->n_part;
    return RILL_OK;
}
