/* SPDX-License-Identifier: MIT */
#include "engine/ops/elem.h"

#include <stdio.h>
#include <string.h>

#define CHUNK 128

/* ---- types ---- */

bool types_hold(unsigned types, int64_t t)
{
    return t >= 0 && t < DTYPE_COUNT && types >> t & 1;
}

static void types_print(unsigned types, char *buf, size_t cap)
{
    size_t at = 0;
    buf[0] = 0;
    for (int t = DTYPE_F32; t < DTYPE_DIM && at < cap; t++)
        if (types & 1u << t)
            at += (size_t) snprintf(buf + at, cap - at, "%s%s", at ? " " : "",
                                    dtype_name((enum dtype) t));
}

rill_status elem_check_type(struct infer *c, unsigned i, unsigned types)
{
    enum dtype t = c->in[i]->type;
    if (c->node->op->eval_dim)
        types |= TYPE_DIM;
    if (types & 1u << t)
        return RILL_OK;
    char known[100];
    types_print(types, known, sizeof known);
    if (t == DTYPE_DIM)
        return infer_fail(c,
                          "input %u is a symbolic size, which this op does not compute on; give "
                          "the size a number",
                          i);
    return infer_fail(c, "input %u is %s, supported: %s", i, dtype_name(t), known);
}

rill_status elem_common_type(struct infer *c, unsigned first, unsigned last, unsigned types,
                             enum dtype *ret)
{
    enum dtype number = fact_number(c->in[first]);
    bool known = true, any = false, all = true;
    for (unsigned i = first; i <= last; i++) {
        if (!infer_has(c, i))
            return infer_fail(c, "input %u is required", i);
        TRY(elem_check_type(c, i, types));
        enum dtype u = fact_number(c->in[i]);
        if (u != number)
            return infer_fail(c, "input %u is %s but input %u is %s; both must agree", first,
                              dtype_name(number), i, dtype_name(u));
        bool size = c->in[i]->type == DTYPE_DIM;
        known &= c->in[i]->value != NULL;
        any |= size;
        all &= size;
    }
    /* While it runs, sizes are numbers like the other operand. */
    *ret = any && (known || all) ? DTYPE_DIM : number;
    return RILL_OK;
}

/* ---- iteration space ---- */

/* Step of an input along axis k of the output. */
static size_t input_step(const struct tensor *in, const int64_t *stride, int out_rank, int k)
{
    int own = in ? k - (out_rank - in->rank) : -1;
    return own < 0 || in->dim[own] == 1 ? 0 : (size_t) stride[own];
}

static bool axis_merges(const struct elem_loop *l, const size_t *step, unsigned n_in, size_t n)
{
    bool ok = l->rank > 0;
    for (unsigned i = 0; ok && i < n_in; i++)
        ok = l->step[i][l->rank - 1] == step[i] * n;
    return ok;
}

void elem_loop_make(struct elem_loop *ret, const struct tensor *out, const struct tensor *const *in,
                    unsigned n_in)
{
    struct elem_loop l = { 0 };
    int64_t stride[ELEM_IN_MAX][RANK_MAX];
    for (unsigned i = 0; i < n_in; i++)
        if (in[i])
            tensor_strides(in[i], stride[i]);
    for (int k = 0; k < out->rank; k++) {
        size_t n = (size_t) out->dim[k], step[ELEM_IN_MAX] = { 0 };
        if (n == 1)
            continue;
        for (unsigned i = 0; i < n_in; i++)
            step[i] = input_step(in[i], stride[i], out->rank, k);
        bool merge = axis_merges(&l, step, n_in, n);
        int r = merge ? l.rank - 1 : l.rank++;
        l.n[r] = merge ? l.n[r] * n : n;
        for (unsigned i = 0; i < n_in; i++)
            l.step[i][r] = step[i];
    }
    if (!l.rank) {
        l.rank = 1;
        l.n[0] = 1;
        for (unsigned i = 0; i < n_in; i++)
            l.step[i][0] = 1;
    }
    *ret = l;
}

size_t elem_offset(const struct elem_loop *l, unsigned input, size_t flat)
{
    size_t at = 0;
    for (int k = l->rank; k-- > 0; flat /= l->n[k])
        at += flat % l->n[k] * l->step[input][k];
    return at;
}

static struct elem_block loop_block(const struct elem_loop *l, unsigned n_in)
{
    int in = l->rank - 1, out = l->rank - 2;
    struct elem_block b = { .m = out < 0 ? 1 : l->n[out], .n = l->n[in] };
    for (unsigned i = 0; i < n_in; i++) {
        b.row[i] = out < 0 ? 0 : l->step[i][out];
        b.col[i] = l->step[i][in];
    }
    return b;
}

/* Half floats: rows in chunks through the f32 function. */
static void half_rows(const struct elem_plan *p, const struct elem_block *b, const struct kern *k,
                      void *y, const void *const *x)
{
    float a[ELEM_IN_MAX][CHUNK], r[CHUNK];
    const void *wide[ELEM_IN_MAX] = { a[0], a[1], a[2] };
    for (size_t i = 0; i < b->m; i++)
        for (size_t j = 0; j < b->n; j += CHUNK) {
            struct elem_block one = *b;
            one.m = 1;
            one.n = b->n - j < CHUNK ? b->n - j : CHUNK;
            for (unsigned s = 0; s < p->n_in; s++)
                elem_widen(p->type, a[s], (const uint16_t *) x[s] + i * b->row[s] + j * b->col[s],
                           b->col[s] ? one.n : 1);
            char *o = (char *) y + (i * b->n + j) * p->y_bytes;
            p->wide(p, &one, k, p->narrow ? (void *) r : o, wide);
            if (p->narrow)
                elem_narrow(p->type, o, r, one.n);
        }
}

bool elem_plan_make(struct elem_plan *ret, const struct tensor *out, const struct tensor *const *in,
                    unsigned n_in, elem_fn *const *fns)
{
    enum dtype t = in[0]->type;
    bool half = (t == DTYPE_F16 || t == DTYPE_BF16) && !fns[t];
    struct elem_plan p = { .type = t,
                           .n_in = n_in,
                           .fn = half ? half_rows : fns[t],
                           .wide = fns[DTYPE_F32],
                           .narrow = out->type == t,
                           .y_bytes = dtype_bytes(out->type),
                           .count = (size_t) tensor_count(out) };
    elem_loop_make(&p.loop, out, in, n_in);
    p.block = loop_block(&p.loop, n_in);
    for (unsigned i = 0; i < n_in; i++)
        p.x_bytes[i] = in[i] ? dtype_bytes(in[i]->type) : 0;
    *ret = p;
    return p.fn && (!half || p.wide);
}

static void run_outer(const struct elem_plan *p, const struct kern *k, char *y,
                      const void *const *x)
{
    const struct elem_loop *l = &p->loop;
    size_t at[RANK_MAX] = { 0 }, y_step = p->block.m * p->block.n * p->y_bytes;
    const void *px[ELEM_IN_MAX] = { NULL };
    for (unsigned i = 0; i < p->n_in; i++)
        px[i] = x[i];
    for (;; y += y_step) {
        p->fn(p, &p->block, k, y, px);
        int a = l->rank - 3;
        for (; a >= 0; a--) {
            bool wrap = ++at[a] == l->n[a];
            for (unsigned i = 0; i < p->n_in; i++) {
                size_t step = l->step[i][a] * p->x_bytes[i];
                px[i] = (const char *) px[i] + step - (wrap ? step * l->n[a] : 0);
            }
            if (!wrap)
                break;
            at[a] = 0;
        }
        if (a < 0)
            return;
    }
}

void elem_run(const struct elem_plan *p, const struct kern *k, void *y, const void *const *x)
{
    if (!p->count)
        return;
    if (p->loop.rank <= 2)
        p->fn(p, &p->block, k, y, x);
    else
        run_outer(p, k, y, x);
}

void elem_eval(const struct eval *e)
{
    elem_run(e->args, e->kern, e->y[0], e->x);
}

/* ---- half floats ---- */

void elem_widen(enum dtype half, float *y, const void *x, size_t n)
{
    const uint16_t *h = x;
    for (size_t i = 0; i < n; i++)
        y[i] = half == DTYPE_F16 ? f16_to_f32(h[i]) : bf16_to_f32(h[i]);
}

void elem_narrow(enum dtype half, void *y, const float *x, size_t n)
{
    uint16_t *h = y;
    for (size_t i = 0; i < n; i++)
        h[i] = half == DTYPE_F16 ? f32_to_f16(x[i]) : f32_to_bf16(x[i]);
}

/* ---- symbolic sizes ---- */

const struct dim *elem_dim_at(struct dims *ds, const struct tensor *t, const void *data, size_t i)
{
    return t->type == DTYPE_DIM ? ((const struct dim *const *) data)[i]
                                : dim_int(ds, tensor_get_i64(t, data, (int64_t) i));
}

void elem_dims2(const struct eval *e, struct dims *ds,
                const struct dim *(*f)(struct dims *, const struct dim *, const struct dim *) )
{
    struct elem_loop l;
    elem_loop_make(&l, e->out[0], e->in, 2);
    const struct dim **y = e->y[0];
    size_t n = (size_t) tensor_count(e->out[0]);
    for (size_t i = 0; i < n; i++)
        y[i] = f(ds, elem_dim_at(ds, e->in[0], e->x[0], elem_offset(&l, 0, i)),
                 elem_dim_at(ds, e->in[1], e->x[1], elem_offset(&l, 1, i)));
}
