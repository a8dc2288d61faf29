/* SPDX-License-Identifier: MIT */
#include "engine/ops/ops.h"
#include "engine/base/dim_claims.h"
#include "engine/ops/attrs.h"
#include "engine/ops/view.h"

#include <stdio.h>
#include <string.h>

static const char *const modes[] = { "constant", "reflect", "edge", "wrap", NULL };

static const struct attr_spec pad_attrs[] = {
    { .name = "mode",
      .kind = ATTR_CHOICE,
      .offset = offsetof(struct pad_attr, mode),
      .choices = modes },
    { 0 },
};

enum { IN_DATA, IN_PADS, IN_VALUE, IN_AXES };

struct pads {
    const struct dim *before[RANK_MAX], *after[RANK_MAX];
};

static bool too_long(const struct dim *d)
{
    return dim_is_const(d) && (dim_value(d) > INT32_MAX || dim_value(d) < -INT32_MAX);
}

/* For every axis; they may be computed from sizes. */
static rill_status pads_read(struct infer *c, struct pads *ret)
{
    const struct dim *pads[2 * RANK_MAX];
    int64_t axes[RANK_MAX];
    int rank = c->in[IN_DATA]->rank;
    unsigned n = 0, m = (unsigned) rank;
    for (int i = 0; i < rank; i++) {
        ret->before[i] = ret->after[i] = dim_int(c->dims, 0);
        axes[i] = i;
    }
    TRY(infer_dims(c, IN_PADS, pads, 2 * RANK_MAX, &n));
    if (infer_has(c, IN_AXES))
        TRY(infer_ints(c, IN_AXES, axes, RANK_MAX, &m));
    if (n != 2 * m)
        return infer_fail(c, "%u pads for %u axes", n, m);
    for (unsigned i = 0; i < m; i++) {
        int a = axis_normalise(axes[i], rank);
        if (a < 0)
            return infer_fail(c, "axis %lld is not one of rank %d", (long long) axes[i], rank);
        if (too_long(pads[i]) || too_long(pads[m + i]))
            return infer_fail(c, "axis %d: a pad of more than 2^31", a);
        ret->before[a] = pads[i];
        ret->after[a] = pads[m + i];
    }
    return RILL_OK;
}

static int64_t pad_most(const struct pads *pads, int axis)
{
    const struct dim *b = pads->before[axis], *a = pads->after[axis];
    int64_t before = dim_is_const(b) ? dim_value(b) : 0, after = dim_is_const(a) ? dim_value(a) : 0;
    return before > after ? before : after;
}

/* n > least, where nothing pads it holds of all. */
static rill_status pad_claim(struct infer *c, enum dim_claim_kind kind, const struct dim *n,
                             const struct dim *least, const struct dim *pad)
{
    struct dims *ds = c->dims;
    const struct dim *ge0 = dim_add_int(ds, dim_sub(ds, n, least), -1);
    char have[100], than[60], text[180];
    if (dim_is_natural(ds, ge0))
        return RILL_OK;
    dim_print(n, have, sizeof have);
    dim_print(least, than, sizeof than);
    snprintf(text, sizeof text, "%s > %s", have, than);
    return dims_claim_add(ds, kind, text, dim_max(ds, ge0, dim_sub(ds, dim_int(ds, 0), pad)),
                          c->err);
}

/* Of n frames whose number is open: more than a pad mirrors, or one to copy. A stream copies of
 * those that are left where the other end is cut, and so needs as many of them. */
static rill_status pad_need(struct infer *c, int mode, const struct dim *n,
                            const struct dim *before, const struct dim *after)
{
    struct dims *ds = c->dims;
    const struct dim *zero = dim_int(ds, 0), *pad = dim_max(ds, dim_max(ds, before, after), zero),
                     *least = mode == PAD_REFLECT ? pad : zero,
                     *cut = dim_add(ds, dim_min(ds, before, zero), dim_min(ds, after, zero));
    if (mode == PAD_CONSTANT || dim_is_const(n) || dim_is(pad, 0))
        return RILL_OK;
    TRY(pad_claim(c, DIM_CLAIM_NEEDED, n, least, pad));
    return dim_is(cut, 0) ? RILL_OK
                          : pad_claim(c, DIM_CLAIM_STREAMS, dim_add(ds, n, cut), least, pad);
}

/* Of n frames whose number is open: as many as are cut off, by fixed numbers. */
static rill_status cut_need(struct infer *c, const struct dim *n, const struct dim *before,
                            const struct dim *after)
{
    struct dims *ds = c->dims;
    if (dim_is_const(n) || !dim_is_const(before) || !dim_is_const(after))
        return RILL_OK;
    const int64_t cut = -(dim_value(before) + dim_value(after));
    return cut <= 0 ? RILL_OK
                    : pad_claim(c, DIM_CLAIM_NEEDED, n, dim_int(ds, cut - 1), dim_int(ds, 1));
}

static rill_status pad_infer(struct infer *c)
{
    struct pads pads;
    int mode = ((const struct pad_attr *) c->attr)->mode;
    TRY(pads_read(c, &pads));
    infer_same(c, 0, 0);
    for (int i = 0; i < c->in[0]->rank; i++) {
        const struct dim *n = c->in[0]->shape[i];
        int64_t most = pad_most(&pads, i);
        if (most > 0 && dim_is_const(n) &&
            ((mode == PAD_REFLECT && most >= dim_value(n)) || (mode && dim_value(n) < 1)))
            return infer_fail(c, "axis %d has %lld elements, too few to %s %lld", i,
                              (long long) dim_value(n), modes[mode], (long long) most);
        TRY(pad_need(c, mode, n, pads.before[i], pads.after[i]));
        TRY(cut_need(c, n, pads.before[i], pads.after[i]));
        c->out[0].shape[i] = dim_add(c->dims, n, dim_add(c->dims, pads.before[i], pads.after[i]));
        if (dim_is_const(c->out[0].shape[i]) && dim_value(c->out[0].shape[i]) < 0)
            return infer_fail(c, "axis %d would have a negative size", i);
    }
    return RILL_OK;
}

struct pad_args {
    struct view_copy inner; /* what lies inside goes over as one block */
    int64_t before[RANK_MAX];
};

static int64_t at_or(const struct tensor *t, int64_t i, int64_t otherwise)
{
    return t && t->data ? tensor_get_i64(t, t->data, i) : otherwise;
}

static rill_status pad_prepare(struct prep *c)
{
    const struct tensor *x = c->in[0], *y = c->out[0], *pads = c->in[IN_PADS];
    const struct tensor *axes = c->n_in > IN_AXES ? c->in[IN_AXES] : NULL;
    struct pad_args *a = arena_new(c->arena, struct pad_args);
    int64_t xs[RANK_MAX], ys[RANK_MAX], dim[RANK_MAX], from = 0, to = 0;
    if (!a)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    if (!pads->data || (axes && !axes->data))
        return prep_fail(c, "its pads and axes must be constants");
    int64_t m = tensor_count(pads) / 2;
    for (int64_t i = 0; i < m; i++)
        a->before[axis_normalise(at_or(axes, i, i), x->rank)] = tensor_get_i64(pads, pads->data, i);
    tensor_strides(x, xs);
    tensor_strides(y, ys);
    for (int i = 0; i < x->rank; i++) {
        int64_t skip = a->before[i] < 0 ? -a->before[i] : 0,
                lead = a->before[i] > 0 ? a->before[i] : 0;
        int64_t n = x->dim[i] - skip, room = y->dim[i] - lead;
        dim[i] = n < room ? n : room;
        dim[i] = dim[i] < 0 ? 0 : dim[i];
        from += skip * xs[i];
        to += lead * ys[i];
    }
    view_copy_init(&a->inner, x->rank, dim, xs, ys, dtype_bytes(x->type));
    a->inner.from_at = from;
    a->inner.to_at = to;
    c->args = a;
    return RILL_OK;
}

static void fill(void *to, size_t n, const void *value, size_t bytes)
{
    if (!n)
        return;
    memcpy(to, value, bytes);
    for (size_t done = 1; done < n; done *= 2)
        memcpy((char *) to + done * bytes, to, (done < n - done ? done : n - done) * bytes);
}

/* Source of place i on an axis of n whose data starts at `before`. */
static int64_t source(int mode, int64_t i, int64_t n)
{
    if (mode == PAD_EDGE)
        return i < 0 ? 0 : i >= n ? n - 1 : i;
    if (mode == PAD_WRAP)
        return (i % n + n) % n;
    int64_t period = n > 1 ? 2 * (n - 1) : 1, k = (i % period + period) % period;
    return k < n ? k : period - k;
}

/* One row of n_to places from one of n_from: what lies inside as a block, the ends place by
 * place. */
static void row_sourced(int mode, char *to, int64_t n_to, const char *from, int64_t n_from,
                        int64_t before, size_t bytes)
{
    int64_t first = before < 0 ? 0 : before < n_to ? before : n_to;
    int64_t last = n_from + before < n_to ? n_from + before : n_to;
    last = last < first ? first : last;
    for (int64_t i = 0; i < first; i++)
        memcpy(to + (size_t) i * bytes, from + (size_t) source(mode, i - before, n_from) * bytes,
               bytes);
    if (last > first)
        memcpy(to + (size_t) first * bytes, from + (size_t) (first - before) * bytes,
               (size_t) (last - first) * bytes);
    for (int64_t i = last; i < n_to; i++)
        memcpy(to + (size_t) i * bytes, from + (size_t) source(mode, i - before, n_from) * bytes,
               bytes);
}

static void pad_sourced(const struct eval *e, const struct pad_args *a, int mode)
{
    const struct tensor *x = e->in[0], *y = e->out[0];
    int64_t xs[RANK_MAX], ys[RANK_MAX], n = tensor_count(y);
    size_t bytes = dtype_bytes(x->type);
    int axis = y->rank - 1;
    int64_t n_to = axis < 0 ? 1 : y->dim[axis], n_from = axis < 0 ? 1 : x->dim[axis];
    int64_t before = axis < 0 ? 0 : a->before[axis];
    tensor_strides(x, xs);
    tensor_strides(y, ys);
    for (int64_t i = 0; i < n; i += n_to) {
        int64_t from = 0, rest = i;
        for (int k = 0; k < axis; k++) {
            from += source(mode, rest / ys[k] - a->before[k], x->dim[k]) * xs[k];
            rest %= ys[k];
        }
        row_sourced(mode, (char *) e->y[0] + (size_t) i * bytes, n_to,
                    (const char *) e->x[0] + (size_t) from * bytes, n_from, before, bytes);
    }
}

static void pad_eval(const struct eval *e)
{
    const struct pad_args *a = e->args;
    int mode = ((const struct pad_attr *) e->attr)->mode;
    const uint64_t zero = 0;
    const void *value = e->n_in > IN_VALUE && e->x[IN_VALUE] && tensor_count(e->in[IN_VALUE])
        ? e->x[IN_VALUE]
        : &zero;
    if (mode == PAD_CONSTANT) {
        fill(e->y[0], (size_t) tensor_count(e->out[0]), value, dtype_bytes(e->out[0]->type));
        view_copy_run(&a->inner, e->y[0], e->x[0]);
    } else {
        pad_sourced(e, a, mode);
    }
}

static const struct op op_pad = {
    .id = OP_PAD,
    .name = "Pad",
    .attrs = pad_attrs,
    .attr_bytes = sizeof(struct pad_attr),
    .min_in = 2,
    .max_in = 4,
    .min_out = 1,
    .max_out = 1,
    .infer = pad_infer,
    .prepare = pad_prepare,
    .eval = pad_eval,
    .help = "adds (or takes off) elements at the ends of axes",
};

const struct op *const ops_pad[] = { &op_pad, NULL };
