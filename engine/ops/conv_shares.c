/* SPDX-License-Identifier: MIT */
/* A convolution in shares: groups, or channels of the one group there is, in whole panels of the
 * packed weights. Each share reads all of its input and weights of its own. */
#include "engine/ops/conv_rows.h"

#include <string.h>

enum { IN_X, IN_W, IN_B };

/* What one share computes. */
struct range {
    int64_t group, groups, channel, channels; /* channels: of each of its groups */
};

/* Panels of channels. Packed weights of at most half a panel lie otherwise, so the last one is not
 * alone then. */
static int64_t panels(const struct conv_rows *v)
{
    return v->cout / KERN_LANES + (v->cout % KERN_LANES > KERN_LANES / 2);
}

static struct range range_of(const struct conv_rows *v, unsigned i, unsigned n)
{
    struct range r = { .groups = v->group, .channels = v->cout };
    if (v->group > 1) {
        r.group = share_from(v->group, i, n);
        r.groups = share_from(v->group, i + 1, n) - r.group;
    } else {
        r.channel = share_from(panels(v), i, n) * KERN_LANES;
        r.channels =
            (i + 1 < n ? share_from(panels(v), i + 1, n) * KERN_LANES : v->cout) - r.channel;
    }
    return r;
}

static void phase_cut(struct conv_phase *p, const struct range *r)
{
    p->packed += (size_t) r->group * p->packed_floats + (size_t) r->channel * p->n_weights;
    p->row.n_groups = p->block.n_groups = p->tail.n_groups = (size_t) r->groups;
}

static rill_status args_make(struct prep *c, const struct conv_rows *v, const struct range *r,
                             struct shares *all, struct share *ret)
{
    struct conv_rows *s = arena_new(c->arena, struct conv_rows);
    struct conv_phase *p = arena_array(c->arena, struct conv_phase, (size_t) v->n_phases);
    if (!s || !p)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    *s = *v;
    s->group = r->groups;
    s->cout = r->channels;
    s->phase = memcpy(p, v->phase, (size_t) v->n_phases * sizeof *p);
    for (int64_t i = 0; i < v->n_phases; i++)
        phase_cut(&p[i], r);
    ret->args = s;
    if (!v->tiles)
        return RILL_OK;
    s->tiles = conv_tiles_new(c->arena, &v->g, v->cin, r->channels);
    if (!s->tiles)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    size_t bytes =
        c->scratch_bytes + (s->tiles->scratch_floats - v->tiles->scratch_floats) * sizeof(float);
    all->scratch_bytes = all->scratch_bytes < bytes ? bytes : all->scratch_bytes;
    return RILL_OK;
}

/* Where its operands begin. */
static void shifts_set(const struct prep *c, const struct conv_rows *v, const struct range *r,
                       size_t *shift)
{
    const int64_t channel = r->group * v->cout + r->channel;
    const struct tensor *y = c->out[0];
    shift[IN_X] = (size_t) (r->group * v->cin * v->g.n_in) * sizeof(float);
    if (c->n_in > IN_B)
        shift[IN_B] = (size_t) channel * sizeof(float);
    epilogue_shift(&v->epilogue, channel, channel * v->g.n_out, shift);
    shift[c->n_in] = (size_t) (channel * v->g.n_out) * dtype_bytes(y->type);
}

static bool can_be_divided(const struct conv_rows *v)
{
    if (v->batch != 1 || !v->g.n_out || v->way == CONV_GROUPS)
        return false;
    for (int64_t i = 0; i < v->n_phases; i++)
        if (!v->phase[i].packed)
            return false;
    return true;
}

rill_status conv_rows_divide(struct prep *c, unsigned most, struct shares *ret)
{
    const struct conv_rows *v = c->args;
    const int64_t units = v->group > 1 ? v->group : panels(v);
    const unsigned n = units < most ? (unsigned) units : most;
    if (n < 2 || !can_be_divided(v))
        return RILL_OK;
    TRY(shares_new(c, n, ret));
    for (unsigned i = 0; i < n; i++) {
        const struct range r = range_of(v, i, n);
        TRY(args_make(c, v, &r, ret, &ret->share[i]));
        shifts_set(c, v, &r, ret->share[i].shift_bytes);
    }
    return RILL_OK;
}
