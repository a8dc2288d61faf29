/* SPDX-License-Identifier: MIT */
/* Convolutions and pools over windows that lie in a stream, and the ends of windows that their pads
 * reach. */
#include "engine/ops/attrs.h"
#include "engine/rewrite/declutter/slide_rules.h"

int64_t place_frames(const struct place *p)
{
    return p->left + p->size + p->right;
}

static bool places_alike(const struct place *a, const struct place *b)
{
    return a->hop == b->hop && a->stride == b->stride && a->beyond == b->beyond &&
        place_frames(a) == place_frames(b);
}

void places_meet(struct place *list, unsigned n)
{
    struct place all = { .axis = -1 };
    for (unsigned i = 0; i < n; i++) {
        const struct place *p = &list[i];
        if (p->axis < 0)
            continue;
        if (all.axis < 0)
            all = *p;
        else if (!places_alike(p, &all))
            return;
        all.left = p->left > all.left ? p->left : all.left;
        all.right = p->right > all.right ? p->right : all.right;
    }
    if (all.axis < 0)
        return;
    for (unsigned i = 0; i < n; i++) {
        const int64_t size = place_frames(&list[i]) - all.left - all.right;
        if (list[i].axis < 0)
            continue;
        if (size < list[i].hop)
            return;
        list[i].left = all.left;
        list[i].right = all.right;
        list[i].size = size;
    }
}

/* A sliding window along the windows. */
struct reach {
    int64_t span, stride;  /* frames of a window less one */
    int64_t before, after; /* pads */
    const int64_t *pads;   /* of all axes, before and after; NULL: not known, or they cut */
    int k, axes;           /* which of the op's axes it is */
    size_t pads_at;        /* where its attributes have them */
    bool same;             /* SAME padding gave them */
};

/* Attributes with these pads along the window. */
static void *attr_padded(struct slider *s, const struct reach *r, int64_t before, int64_t after)
{
    struct arena *a = s->g->arena;
    const unsigned n = 2 * (unsigned) r->axes;
    char *attr = arena_copy(a, s->way->attr ? s->way->attr : s->n->attr, s->n->op->attr_bytes);
    int64_t *pads = arena_copy(a, r->pads, n * sizeof *pads);
    if (!attr || !pads) {
        s->status = RILL_NOMEM;
        return NULL;
    }
    pads[r->k] = before;
    pads[r->axes + r->k] = after;
    *(struct attr_ints *) (attr + r->pads_at) = (struct attr_ints) { n, pads };
    if (r->pads_at == offsetof(struct window_attr, pads))
        ((struct window_attr *) attr)->auto_pad = PAD_NOTSET;
    return attr;
}

/* What the ends of the window read; false: nothing but pads. */
static bool ends_fill(struct slider *s, const struct reach *r, const struct place *p)
{
    const int64_t frames = place_frames(&s->in[0]), count = place_frames(p),
                  first = (p->left + p->size) * r->stride - r->before, /* of the end */
        last = (count - 1) * r->stride - r->before + r->span,
                  over = last >= frames ? last + 1 - frames : 0;
    struct window_end *end = s->way->end;
    end[0].to = (p->left - 1) * r->stride - r->before + r->span + 1;
    end[1].from = first;
    end[1].to = last + 1 - over;
    if ((p->left && end[0].to < 1) || (p->right && first >= frames))
        return false;
    end[0].attr = attr_padded(s, r, r->before, 0);
    end[1].attr = attr_padded(s, r, 0, over);
    s->way->attr = attr_padded(s, r, 0, 0);
    return true;
}

/* Frames that pads reach, or that read such, stay at the ends of the window. */
static const char *ends_stay(struct slider *s, const struct reach *r)
{
    struct place p = s->in[0];
    const int64_t inner = p.left + p.size - 1 + r->before - r->span,
                  all = place_frames(&p) + r->before + r->after - 1 - r->span,
                  left = (p.left + r->before + r->stride - 1) / r->stride;
    if (!r->pads)
        return PADDED;
    if (p.hop % r->stride)
        return STRIDE;
    if (inner < 0 || inner / r->stride < left)
        return ENDS;
    const int64_t used = (inner / r->stride - left) * r->stride + r->span + 1;
    s->way->front = left * r->stride - r->before - p.left;
    s->way->back = p.size - s->way->front - used;
    p.left = left;
    p.size = inner / r->stride + 1 - left;
    p.right = all / r->stride - inner / r->stride;
    p.hop /= r->stride;
    p.stride *= r->stride;
    s->way->out = p;
    return ends_fill(s, r, &p) ? NULL : PADDED;
}

/* Every stride-th span of the windows, which end where the windows end. */
static const char *windows_slide(struct slider *s, const struct reach *r)
{
    struct place p = s->in[0];
    if (r->before || r->after || p.left || p.right)
        return ends_stay(s, r);
    if (p.hop % r->stride)
        return STRIDE;
    if (p.size <= r->span)
        return WHOLE;
    if (r->same) /* which the stream pads otherwise */
        s->way->attr = attr_padded(s, r, 0, 0);
    s->way->back = (p.size - 1 - r->span) % r->stride;
    p.size = (p.size - 1 - r->span) / r->stride + 1;
    p.hop /= r->stride;
    p.stride *= r->stride;
    s->way->out = p;
    return NULL;
}

/* A recording that is shorter than the kernel has no window, and so nothing comes of it. */
static const char *spatial_slides(struct slider *s, const struct reach *r)
{
    const char *why = windows_slide(s, r);
    if (why)
        return why;
    struct window_attr *attr =
        arena_copy(s->g->arena, s->way->attr ? s->way->attr : s->n->attr, s->n->op->attr_bytes);
    if (!attr)
        s->status = RILL_NOMEM;
    else
        attr->may_lack = 1;
    s->way->attr = attr;
    return NULL;
}

static bool is_same(const struct window_attr *a)
{
    return a->auto_pad == PAD_SAME_UPPER || a->auto_pad == PAD_SAME_LOWER;
}

/* Pads of SAME padding on axis k; false: a size is not known. */
static bool same_pads(const struct slider *s, const struct window_attr *a, int k, int64_t kernel,
                      int64_t *ret_before, int64_t *ret_after)
{
    const struct dim *x = fact_of(s, 0)->shape[2 + k],
                     *y = s->g->wires[s->n->out[0]].fact.shape[2 + k];
    const enum same_kind kind =
        node_is(s->n, OP_CONV) || node_is(s->n, OP_CONV_INTEGER) ? SAME_CONV : SAME_POOL;
    if (!dim_is_const(x) || !dim_is_const(y))
        return false;
    const int64_t total = (dim_value(y) - 1) * at(a->strides, k, 1) +
        (kernel - 1) * at(a->dilations, k, 1) + 1 - dim_value(x);
    *ret_before = same_before(a->auto_pad, kind, total);
    *ret_after = total - *ret_before;
    return true;
}

/* Pads of all axes, before and after. NULL: one is not known or cuts, or there is no memory. */
static const int64_t *pads_of(struct slider *s, const struct window_attr *a, int axes,
                              const int64_t *kernel)
{
    int64_t *v = arena_array(s->g->arena, int64_t, 2 * (size_t) axes + 1);
    if (!v)
        s->status = RILL_NOMEM;
    for (int i = 0; v && i < axes; i++) {
        v[i] = a->auto_pad == PAD_NOTSET ? at(a->pads, i, 0) : 0;
        v[axes + i] = a->auto_pad == PAD_NOTSET ? at(a->pads, axes + i, 0) : 0;
        if (is_same(a) && !same_pads(s, a, i, kernel[i], &v[i], &v[axes + i]))
            return NULL;
        if (v[i] < 0 || v[axes + i] < 0)
            return NULL;
    }
    return v;
}

static struct reach reach_of(struct slider *s, const struct window_attr *a, int axes, int k,
                             const int64_t *kernel)
{
    struct reach r = { .span = (kernel[k] - 1) * at(a->dilations, k, 1),
                       .stride = at(a->strides, k, 1),
                       .k = k,
                       .axes = axes,
                       .pads_at = offsetof(struct window_attr, pads) };
    r.pads = pads_of(s, a, axes, kernel);
    if (r.pads) {
        r.before = r.pads[k];
        r.after = r.pads[axes + k];
        r.same = is_same(a);
    } else if (is_same(a)) /* a kernel of 1 with a larger stride may begin behind the first frame */
        r.before = r.span > 0 || r.stride > 2;
    return r;
}

const char *conv_slides(struct slider *s)
{
    const int axis = s->in[0].axis, axes = rank_of(s, 0) - 2;
    int64_t kernel[WINDOW_AXES_MAX] = { 0 };
    if (!first_only(s) || axes > WINDOW_AXES_MAX)
        return OPERANDS;
    if (axis == 0)
        return moved_to(s, 0);
    if (axis == 1)
        return WHOLE;
    for (int i = 0; i < axes; i++) {
        const struct dim *d = fact_of(s, 1)->shape[2 + i];
        if (!dim_is_const(d))
            return SIZED;
        kernel[i] = dim_value(d);
    }
    const struct reach r = reach_of(s, window_attr_of(s->n), axes, axis - 2, kernel);
    return spatial_slides(s, &r);
}

/* Windows of ceil_mode end with those that do not hang over. */
static bool ends_evenly(const struct slider *s, const struct window_attr *a, int axes)
{
    for (int k = 0; k < axes; k++) {
        const int64_t span = (at(a->kernel, k, 1) - 1) * at(a->dilations, k, 1),
                      pads = at(a->pads, k, 0) + at(a->pads, axes + k, 0);
        const struct dim *d = fact_of(s, 0)->shape[2 + k];
        if (!dim_is_const(d) || (dim_value(d) + pads - 1 - span) % at(a->strides, k, 1))
            return false;
    }
    return true;
}

const char *pool_slides(struct slider *s)
{
    const int axis = s->in[0].axis, axes = rank_of(s, 0) - 2;
    const struct window_attr *a = window_attr_of(s->n);
    int64_t kernel[WINDOW_AXES_MAX] = { 0 };
    if ((s->n->n_out > 1 && s->n->out[1] != WIRE_NONE) || axes > WINDOW_AXES_MAX)
        return WHOLE;
    if (axis < 2)
        return moved_to(s, axis);
    if (a->ceil_mode) {
        struct pool_attr *even = arena_copy(s->g->arena, s->n->attr, sizeof *even);
        if (!ends_evenly(s, a, axes))
            return PADDED;
        if (!even)
            s->status = RILL_NOMEM;
        else
            even->w.ceil_mode = 0;
        s->way->attr = even;
    }
    for (int i = 0; i < axes; i++)
        kernel[i] = at(a->kernel, i, 1);
    const struct reach r = reach_of(s, a, axes, axis - 2, kernel);
    return spatial_slides(s, &r);
}

/* Bytes have their channels last. */
static const char *byte_windows(struct slider *s, const struct byte_window_attr *a, size_t w_at,
                                int64_t kernel)
{
    const int k = s->in[0].axis - 1;
    const int64_t pads[4] = { at(a->pads, 0, 0), at(a->pads, 1, 0), at(a->pads, 2, 0),
                              at(a->pads, 3, 0) };
    const struct reach r = { .span = (kernel - 1) * at(a->dilations, k, 1),
                             .stride = at(a->strides, k, 1),
                             .before = pads[k],
                             .after = pads[2 + k],
                             .pads = pads,
                             .k = k,
                             .axes = 2,
                             .pads_at = w_at + offsetof(struct byte_window_attr, pads) };
    return windows_slide(s, &r);
}

const char *byte_conv_slides(struct slider *s)
{
    const int axis = s->in[0].axis;
    if (!first_only(s))
        return OPERANDS;
    if (axis == 0)
        return moved_to(s, 0);
    const struct dim *kernel = fact_of(s, 1)->shape[axis];
    if (axis > 2 || !dim_is_const(kernel))
        return WHOLE;
    return byte_windows(s, &byte_conv_attr_of(s->n)->w, offsetof(struct byte_conv_attr, w),
                        dim_value(kernel));
}

const char *byte_pool_slides(struct slider *s)
{
    const struct byte_pool_attr *a = byte_pool_attr_of(s->n);
    const int axis = s->in[0].axis;
    if (!first_only(s))
        return OPERANDS;
    return axis == 1 || axis == 2
        ? byte_windows(s, &a->w, offsetof(struct byte_pool_attr, w), at(a->w.kernel, axis - 1, 1))
        : moved_to(s, axis);
}
