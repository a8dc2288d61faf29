/* SPDX-License-Identifier: MIT */
#include "engine/ops/then.h"

static bool dims_all_one(const int64_t *dim, int from, int to)
{
    for (int i = from; i < to; i++)
        if (dim[i] != 1)
            return false;
    return true;
}

enum then_how then_how(int64_t kind, int rank, const int64_t *dim, int out_rank, const int64_t *out,
                       int axis)
{
    if (rank > out_rank)
        return THEN_NOT;
    if (dims_all_one(dim, 0, rank))
        return THEN_ONE;
    bool full = rank == out_rank && kind != THEN_PRELU;
    for (int i = 0; full && i < rank; i++)
        full = dim[i] == out[i];
    if (full)
        return THEN_FULL;
    int channel = axis - (out_rank - rank); /* the operand's axis of channels */
    bool per = channel >= 0 && dim[channel] == out[axis] && dims_all_one(dim, 0, channel) &&
        dims_all_one(dim, channel + 1, rank);
    return per ? THEN_CHANNEL : THEN_NOT;
}

static bool fact_dims(const struct fact *f, int64_t *ret)
{
    for (int i = 0; i < f->rank; i++) {
        if (!dim_is_const(f->shape[i]))
            return false;
        ret[i] = dim_value(f->shape[i]);
    }
    return true;
}

rill_status then_infer(struct infer *c, struct attr_ints stages, int axis)
{
    int64_t out[RANK_MAX], dim[RANK_MAX];
    unsigned in = THEN_IN;
    if (stages.n > THEN_MAX)
        return infer_fail(c, "%u stages follow, at most %d work", stages.n, THEN_MAX);
    if (stages.n && c->out[0].type != DTYPE_F32)
        return infer_fail(c, "stages follow an output of %s, only f32 works",
                          dtype_name(c->out[0].type));
    if (stages.n && !fact_dims(&c->out[0], out))
        return infer_fail(c, "stages that follow need an output of known size");
    for (uint32_t i = 0; i < stages.n; i++) {
        if (stages.v[i] < 0 || stages.v[i] >= THEN_KINDS)
            return infer_fail(c, "stage %u is %lld, which there is not", i,
                              (long long) stages.v[i]);
        if (!then_takes_input(stages.v[i]))
            continue;
        const struct fact *f = infer_has(c, in) ? c->in[in] : NULL;
        if (!f || f->type != DTYPE_F32 || !fact_dims(f, dim) ||
            then_how(stages.v[i], f->rank, dim, c->out[0].rank, out, axis) == THEN_NOT)
            return infer_fail(c,
                              "input %u does not fit stage %u: f32 of the output's shape, one per "
                              "channel or a single "
                              "one works",
                              in, i);
        in++;
    }
    if (c->n_in > in)
        return infer_fail(c, "%u inputs, its stages use %u", c->n_in, in);
    return RILL_OK;
}

rill_status then_prepare(struct prep *c, struct attr_ints stages, int axis, struct then *ret)
{
    const struct tensor *y = c->out[0];
    unsigned in = THEN_IN;
    *ret = (struct then) {
        .n = stages.n, .images = 1, .channels = axis < 0 ? 1 : y->dim[axis], .places = 1
    };
    for (int i = 0; i < axis; i++)
        ret->images *= y->dim[i];
    for (int i = axis + 1; i < y->rank; i++)
        ret->places *= y->dim[i];
    for (uint32_t i = 0; i < stages.n; i++) {
        ret->stage[i].kind = (int) stages.v[i];
        if (!then_takes_input(stages.v[i]))
            continue;
        const struct tensor *t = c->in[in];
        ret->stage[i].in = in++;
        ret->stage[i].how = then_how(stages.v[i], t->rank, t->dim, y->rank, y->dim, axis);
    }
    return RILL_OK;
}

/* ---- run time ---- */

/* The same value s over n places. */
static void one_value(const struct kern *k, int kind, float *y, const float *s, size_t n)
{
    if (kind == THEN_ADD)
        k->adds_f32(y, y, *s, n);
    else if (kind == THEN_MUL)
        k->muls_f32(y, y, *s, n);
    else
        k->epilogue_f32(y, n, 1, n,
                        &(struct kern_epilogue) { .scale = 1, .act = KERN_ACT_LEAKY, .slope = s });
}

/* A value for each of n places. */
static void own_values(const struct kern *k, int kind, float *y, const float *s, size_t n)
{
    if (kind == THEN_ADD)
        k->add_f32(y, y, s, n);
    else if (kind == THEN_MUL)
        k->mul_f32(y, y, s, n);
    else
        k->epilogue_f32(y, n, 1, n,
                        &(struct kern_epilogue) {
                            .scale = 1, .act = KERN_ACT_LEAKY, .slope = s, .slope_step = 1 });
}

static void plain(const struct kern *k, int kind, float *y, size_t n)
{
    if (kind == THEN_RELU)
        k->relu_f32(y, y, n);
    else if (kind == THEN_SIGMOID)
        k->sigmoid_f32(y, y, n);
    else
        k->tanh_f32(y, y, n);
}

void then_apply(const struct then *t, const struct eval *e, float *y, int64_t i, int64_t first,
                int64_t n)
{
    size_t floats = (size_t) (n * t->places);
    for (unsigned s = 0; s < t->n; s++) {
        int kind = t->stage[s].kind;
        if (!then_takes_input(kind)) {
            plain(e->kern, kind, y, floats);
            continue;
        }
        const float *x = e->x[t->stage[s].in];
        if (t->stage[s].how == THEN_ONE)
            one_value(e->kern, kind, y, x, floats);
        else if (t->stage[s].how == THEN_FULL)
            own_values(e->kern, kind, y, x + (i * t->channels + first) * t->places, floats);
        else if (t->places == 1)
            own_values(e->kern, kind, y, x + first, floats);
        else
            for (int64_t ch = 0; ch < n; ch++)
                one_value(e->kern, kind, y + ch * t->places, x + first + ch, (size_t) t->places);
    }
}

void then_rows(const struct then *t, const struct eval *e, float *y)
{
    bool whole = true;
    for (unsigned s = 0; s < t->n; s++)
        whole = whole &&
            (!then_takes_input(t->stage[s].kind) || t->stage[s].how == THEN_ONE ||
             t->stage[s].how == THEN_FULL);
    if (whole && t->images) {
        struct then all = *t;
        all.channels *= all.images;
        then_apply(&all, e, y, 0, 0, all.channels);
        return;
    }
    for (int64_t i = 0; i < t->images; i++)
        then_apply(t, e, y + i * t->channels, i, 0, t->channels);
}
