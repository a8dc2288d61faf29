/* SPDX-License-Identifier: MIT */
/* Fourier transforms along an axis, windows, filter banks, and arithmetic on (real, imaginary)
 * pairs. */
#include "engine/ops/ops.h"
#include "engine/ops/elem.h"
#include "kernels/fft.h"

#include <math.h>
#include <string.h>

static rill_status points_check(struct infer *c, const struct dim *n)
{
    if (!dim_is_const(n))
        return infer_fail(
            c, "the length of the transform is not known before running; give it a fixed size");
    if (dim_value(n) < 1 || dim_value(n) > (int64_t) KERN_FFT_MAX)
        return infer_fail(c, "a transform of %lld points; supported: 1 to %zu",
                          (long long) dim_value(n), KERN_FFT_MAX);
    return RILL_OK;
}

static rill_status f32_check(struct infer *c, unsigned i, int rank_min)
{
    const struct fact *x = c->in[i];
    if (x->type != DTYPE_F32 || x->rank < rank_min)
        return infer_fail(c, "input %u is %s of rank %d; supported: f32 of rank %d or more", i,
                          dtype_name(x->type), x->rank, rank_min);
    return RILL_OK;
}

static rill_status no_memory(struct prep *c)
{
    return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
}

/* ---- RFFT, IRFFT: rows of the last axis ---- */

struct rfft_attr {
    int64_t n;
};

static const struct attr_spec rfft_attrs[] = {
    { .name = "n", .kind = ATTR_INT, .offset = offsetof(struct rfft_attr, n) },
    { 0 },
};

struct rfft_args {
    struct kern_rfft fft;
    size_t rows, in_floats, out_floats; /* a row of each */
    size_t keep_floats;                 /* of an input row; the rest up to used_floats is zero */
    size_t used_floats;                 /* what the transform reads */
    size_t work_floats;
};

static rill_status rfft_infer(struct infer *c)
{
    const struct rfft_attr *a = c->attr;
    const struct fact *x = c->in[0];
    TRY(f32_check(c, 0, 1));
    if (x->rank == RANK_MAX || a->n < 0)
        return infer_fail(c,
                          "rank %d, n %lld; supported: rank below %d, n 0 (the whole axis) or more",
                          x->rank, (long long) a->n, RANK_MAX);
    const struct dim *n = a->n ? dim_int(c->dims, a->n) : x->shape[x->rank - 1];
    TRY(points_check(c, n));
    infer_same(c, 0, 0);
    c->out[0].rank = x->rank + 1;
    c->out[0].shape[x->rank - 1] = dim_int(c->dims, dim_value(n) / 2 + 1);
    c->out[0].shape[x->rank] = dim_int(c->dims, 2);
    return RILL_OK;
}

static rill_status irfft_infer(struct infer *c)
{
    const struct rfft_attr *a = c->attr;
    const struct fact *x = c->in[0];
    TRY(f32_check(c, 0, 2));
    if (!dim_is(x->shape[x->rank - 1], 2) || !dim_is_const(x->shape[x->rank - 2]) || a->n < 0)
        return infer_fail(
            c, "wants a spectrum [.., n/2+1, 2] of known length and n of 0 (all of it) or more");
    int64_t bins = dim_value(x->shape[x->rank - 2]),
            n = a->n ? a->n
        : bins > 1   ? 2 * (bins - 1)
                     : 1;
    TRY(points_check(c, dim_int(c->dims, n)));
    if (bins != n / 2 + 1)
        return infer_fail(c, "n is %lld, which needs %lld bins; the input has %lld", (long long) n,
                          (long long) (n / 2 + 1), (long long) bins);
    infer_same(c, 0, 0);
    c->out[0].rank = x->rank - 1;
    c->out[0].shape[x->rank - 2] = dim_int(c->dims, n);
    return RILL_OK;
}

static struct rfft_args *rfft_args_new(struct prep *c, size_t n)
{
    struct rfft_args *r = arena_new(c->arena, struct rfft_args);
    float *table = arena_array(c->arena, float, kern_rfft_floats(n) + 1);
    if (!r || !table)
        return NULL;
    kern_rfft_init(&r->fft, n, table);
    c->kern_uses |= KERN_USES_FFT;
    r->work_floats = (kern_rfft_work_floats(&r->fft) + 15) / 16 * 16;
    c->args = r;
    return r;
}

static rill_status rfft_prepare(struct prep *c)
{
    const struct rfft_attr *a = c->attr;
    const struct tensor *x = c->in[0];
    size_t in = (size_t) x->dim[x->rank - 1], n = a->n ? (size_t) a->n : in;
    struct rfft_args *r = rfft_args_new(c, n);
    if (!r)
        return no_memory(c);
    r->in_floats = in;
    r->used_floats = n;
    r->keep_floats = n < in ? n : in;
    r->out_floats = 2 * (n / 2 + 1);
    r->rows = (size_t) tensor_count(c->out[0]) / r->out_floats;
    c->scratch_bytes = (r->work_floats + n) * sizeof(float);
    c->kernel = r->fft.half.chirp ? "rfft_f32, chirp" : "rfft_f32, passes";
    return RILL_OK;
}

static void rfft_eval(const struct eval *e)
{
    const struct rfft_args *r = e->args;
    float *work = e->scratch, *padded = work + r->work_floats, *y = e->y[0];
    const float *x = e->x[0];
    for (size_t i = 0; i < r->rows; i++, x += r->in_floats, y += r->out_floats) {
        const float *row = x;
        if (r->keep_floats < r->used_floats) {
            memcpy(padded, x, r->keep_floats * sizeof *x);
            memset(padded + r->keep_floats, 0, (r->used_floats - r->keep_floats) * sizeof *x);
            row = padded;
        }
        e->kern->rfft_f32(&r->fft, y, row, work);
    }
}

static rill_status irfft_prepare(struct prep *c)
{
    const struct tensor *x = c->in[0], *y = c->out[0];
    size_t n = (size_t) y->dim[y->rank - 1];
    struct rfft_args *r = rfft_args_new(c, n);
    if (!r)
        return no_memory(c);
    r->in_floats = 2 * (size_t) x->dim[x->rank - 2];
    r->out_floats = n;
    r->rows = (size_t) tensor_count(y) / n;
    c->scratch_bytes = r->work_floats * sizeof(float);
    c->kernel = r->fft.half.chirp ? "irfft_f32, chirp" : "irfft_f32, passes";
    return RILL_OK;
}

static void irfft_eval(const struct eval *e)
{
    const struct rfft_args *r = e->args;
    for (size_t i = 0; i < r->rows; i++)
        e->kern->irfft_f32(&r->fft, (float *) e->y[0] + i * r->out_floats,
                           (const float *) e->x[0] + i * r->in_floats, e->scratch);
}

/* ---- DFT: any axis, real or complex ---- */

struct dft_attr {
    int64_t inverse, onesided;
};

static const struct attr_spec dft_attrs[] = {
    { .name = "inverse", .kind = ATTR_INT, .offset = offsetof(struct dft_attr, inverse) },
    { .name = "onesided", .kind = ATTR_INT, .offset = offsetof(struct dft_attr, onesided) },
    { 0 },
};

struct dft_args {
    struct kern_fft fft;
    size_t outer, inner; /* before and after the axis, without the last one */
    size_t parts;        /* 1 real, 2 complex */
    size_t in_points, keep, bins, work_floats;
    size_t out_parts;
    bool inverse, half_spectrum; /* what is read of an inverse one: the rest mirrors it */
    double *turn; /* cos and sin of 2 pi k / n, k < n: short transforms; NULL otherwise */
};

/* Up to here a sum in double costs little and leaves no rounding in the float. */
#define DFT_SHORT_MAX 32

static rill_status dft_axis(struct infer *c, int *ret)
{
    int64_t axis = -2;
    unsigned n = 1;
    if (infer_has(c, 2))
        TRY(infer_ints(c, 2, &axis, 1, &n));
    *ret = axis_normalise(axis, c->in[0]->rank);
    if (n != 1 || *ret < 0 || *ret == c->in[0]->rank - 1)
        return infer_fail(
            c,
            "axis %lld of an input of rank %d; supported: any but the last, which holds the parts",
            (long long) axis, c->in[0]->rank);
    return RILL_OK;
}

static rill_status dft_parts(struct infer *c, const struct dim *last, bool onesided, bool inverse)
{
    if (!dim_is(last, 1) && !dim_is(last, 2))
        return infer_fail(c, "the last axis must hold 1 (real) or 2 (complex) parts");
    if (onesided && dim_is(last, inverse ? 1 : 2))
        return infer_fail(c,
                          inverse ? "onesided = 1 of an inverse transform wants complex input"
                                  : "onesided = 1 wants real input; use onesided = 0");
    return RILL_OK;
}

static rill_status dft_infer(struct infer *c)
{
    const struct dft_attr *a = c->attr;
    const struct fact *x = c->in[0];
    int axis = 0;
    TRY(f32_check(c, 0, 2));
    TRY(dft_axis(c, &axis));
    const bool half = a->onesided && a->inverse;
    TRY(dft_parts(c, x->shape[x->rank - 1], a->onesided != 0, a->inverse != 0));
    const struct dim *n = x->shape[axis];
    if (half)
        n = dim_mul_int(c->dims, dim_sub(c->dims, n, dim_int(c->dims, 1)), 2);
    unsigned count = 1;
    if (infer_has(c, 1))
        TRY(infer_dims(c, 1, &n, 1, &count));
    if (count != 1)
        return infer_fail(c, "dft_length must be one number");
    TRY(points_check(c, n));
    infer_same(c, 0, 0);
    c->out[0].shape[axis] = a->onesided && !half ? dim_int(c->dims, dim_value(n) / 2 + 1) : n;
    c->out[0].shape[x->rank - 1] = dim_int(c->dims, half ? 1 : 2);
    return RILL_OK;
}

/* Input i holds one number known when the plan is made; def where it is absent. */
static rill_status known_int(struct prep *c, unsigned i, int64_t def, int64_t *ret)
{
    *ret = def;
    if (i >= c->n_in || !c->in[i])
        return RILL_OK;
    if (!c->in[i]->data || c->in[i]->type == DTYPE_DIM || tensor_count(c->in[i]) != 1)
        return prep_fail(c, "input %u must be one constant", i);
    *ret = tensor_get_i64(c->in[i], c->in[i]->data, 0);
    return RILL_OK;
}

static rill_status fft_make(struct prep *c, struct kern_fft *f, size_t n)
{
    float *table = arena_array(c->arena, float, kern_fft_floats(n) + 1);
    if (!table)
        return no_memory(c);
    kern_fft_init(f, n, table);
    c->kern_uses |= KERN_USES_FFT;
    return RILL_OK;
}

static rill_status short_turns(struct prep *c, struct dft_args *d, size_t n)
{
    if (n > DFT_SHORT_MAX)
        return RILL_OK;
    d->turn = arena_array(c->arena, double, 2 * n + 1);
    if (!d->turn)
        return no_memory(c);
    for (size_t k = 0; k < n; k++)
        kern_turn(k, n, &d->turn[2 * k], &d->turn[2 * k + 1]);
    return RILL_OK;
}

static rill_status dft_prepare(struct prep *c)
{
    const struct dft_attr *a = c->attr;
    const struct tensor *x = c->in[0], *y = c->out[0];
    int64_t at, n;
    TRY(known_int(c, 2, -2, &at));
    int axis = axis_normalise(at, x->rank);
    const bool half = a->onesided && a->inverse;
    TRY(known_int(c, 1, half ? 2 * (x->dim[axis] - 1) : x->dim[axis], &n));
    struct dft_args *d = arena_new(c->arena, struct dft_args);
    if (!d)
        return no_memory(c);
    TRY(fft_make(c, &d->fft, (size_t) n));
    d->outer = d->inner = 1;
    for (int i = 0; i < x->rank - 1; i++)
        if (i != axis)
            *(i < axis ? &d->outer : &d->inner) *= (size_t) x->dim[i];
    d->parts = (size_t) x->dim[x->rank - 1];
    d->in_points = (size_t) x->dim[axis];
    d->half_spectrum = half;
    d->out_parts = half ? 1 : 2;
    d->keep = half ? (size_t) n / 2 + 1 : (size_t) n;
    d->keep = d->in_points < d->keep ? d->in_points : d->keep;
    d->bins = (size_t) y->dim[axis];
    d->inverse = a->inverse != 0;
    TRY(short_turns(c, d, (size_t) n));
    d->work_floats = kern_fft_work_floats(&d->fft);
    c->args = d;
    c->scratch_bytes = (d->work_floats + 2 * (size_t) n) * sizeof(float);
    return RILL_OK;
}

/* The points of a line; the conjugates behind half a spectrum, of which two points are real. */
static void dft_load(const struct dft_args *d, float *re, float *im, const float *x)
{
    const size_t n = d->fft.n;
    memset(re, 0, n * sizeof *re);
    memset(im, 0, n * sizeof *im);
    for (size_t i = 0; i < d->keep; i++) {
        re[i] = x[i * d->inner * d->parts];
        im[i] = d->parts == 2 ? x[i * d->inner * 2 + 1] : 0;
    }
    if (!d->half_spectrum)
        return;
    im[0] = 0;
    im[n / 2] = n % 2 ? im[n / 2] : 0;
    for (size_t i = 1; i < (n + 1) / 2; i++) {
        re[n - i] = re[i];
        im[n - i] = -im[i];
    }
}

static void dft_store(const struct dft_args *d, float *y, size_t bin, float re, float im)
{
    y += bin * d->inner * d->out_parts;
    y[0] = re;
    if (d->out_parts == 2)
        y[1] = im;
}

static void dft_line(const struct eval *e, const struct dft_args *d, float *y, const float *x)
{
    size_t n = d->fft.n;
    float *re = e->scratch, *im = re + n, *work = im + n;
    dft_load(d, re, im, x);
    if (d->inverse)
        e->kern->fft_f32(&d->fft, im, re, work);
    else
        e->kern->fft_f32(&d->fft, re, im, work);
    float scale = d->inverse ? 1.0f / (float) n : 1.0f;
    for (size_t i = 0; i < d->bins; i++)
        dft_store(d, y, i, re[i] * scale, im[i] * scale);
}

static void dft_short_line(const struct eval *e, const struct dft_args *d, float *y, const float *x)
{
    size_t n = d->fft.n, end = d->half_spectrum ? n : d->keep;
    float *of_re = e->scratch, *of_im = of_re + n;
    double scale = d->inverse ? 1.0 / (double) n : 1.0, sign = d->inverse ? 1 : -1;
    dft_load(d, of_re, of_im, x);
    for (size_t bin = 0; bin < d->bins; bin++) {
        double re = 0, im = 0;
        for (size_t i = 0; i < end; i++) {
            const double *t = d->turn + 2 * (bin * i % n);
            double a = (double) of_re[i], b = (double) of_im[i];
            re += a * t[0] - sign * b * t[1];
            im += sign * a * t[1] + b * t[0];
        }
        dft_store(d, y, bin, (float) (re * scale), (float) (im * scale));
    }
}

static void dft_eval(const struct eval *e)
{
    const struct dft_args *d = e->args;
    void (*line)(const struct eval *, const struct dft_args *, float *, const float *) =
        d->turn ? dft_short_line : dft_line;
    for (size_t o = 0; o < d->outer; o++)
        for (size_t i = 0; i < d->inner; i++)
            line(e, d, (float *) e->y[0] + (o * d->bins * d->inner + i) * d->out_parts,
                 (const float *) e->x[0] + (o * d->in_points * d->inner + i) * d->parts);
}

/* ---- STFT ---- */

struct stft_attr {
    int64_t onesided;
};

static const struct attr_spec stft_attrs[] = {
    { .name = "onesided",
      .kind = ATTR_INT,
      .offset = offsetof(struct stft_attr, onesided),
      .def_i = 1 },
    { 0 },
};

enum { STFT_SIGNAL, STFT_STEP, STFT_WINDOW, STFT_LENGTH };

struct stft_args {
    struct kern_fft fft;
    struct kern_rfft rfft;
    bool real; /* rfft, straight into the output: real samples, half of the bins */
    size_t batch, samples, parts, frames, step, bins;
};

static rill_status stft_length(struct infer *c, const struct dim **ret)
{
    unsigned n = 1;
    *ret = NULL;
    if (infer_has(c, STFT_LENGTH))
        TRY(infer_dims(c, STFT_LENGTH, ret, 1, &n));
    if (infer_has(c, STFT_WINDOW)) {
        const struct fact *w = c->in[STFT_WINDOW];
        if (w->rank != 1 || w->type != DTYPE_F32 || (*ret && *ret != w->shape[0]))
            return infer_fail(c, "the window must be f32 of one axis with frame_length values");
        *ret = w->shape[0];
    }
    if (!*ret || n != 1)
        return infer_fail(c,
                          "neither a window nor one frame_length is given; one of them is needed");
    return points_check(c, *ret);
}

static rill_status stft_infer(struct infer *c)
{
    const struct stft_attr *a = c->attr;
    const struct fact *x = c->in[STFT_SIGNAL];
    const struct dim *length = NULL, *one = dim_int(c->dims, 1);
    int64_t step = 0;
    unsigned n = 0;
    TRY(f32_check(c, STFT_SIGNAL, 2));
    if (x->rank > 3)
        return infer_fail(
            c, "the signal has rank %d; supported: [batch, samples] and [batch, samples, 1 or 2]",
            x->rank);
    TRY(dft_parts(c, x->rank == 3 ? x->shape[2] : one, a->onesided != 0, false));
    TRY(infer_ints(c, STFT_STEP, &step, 1, &n));
    if (n != 1 || step < 1)
        return infer_fail(c, "frame_step is %lld; supported: 1 or more", (long long) step);
    TRY(stft_length(c, &length));
    const struct dim *frames =
        dim_add_int(c->dims, dim_div_int(c->dims, dim_sub(c->dims, x->shape[1], length), step), 1);
    int64_t points = dim_value(length);
    infer_shape(c, 0, DTYPE_F32, 4,
                (const struct dim *[]) { x->shape[0], dim_max(c->dims, dim_int(c->dims, 0), frames),
                                         dim_int(c->dims, a->onesided ? points / 2 + 1 : points),
                                         dim_int(c->dims, 2) });
    return RILL_OK;
}

static rill_status stft_prepare(struct prep *c)
{
    const struct tensor *x = c->in[STFT_SIGNAL], *y = c->out[0];
    bool windowed = c->n_in > STFT_WINDOW && c->in[STFT_WINDOW];
    int64_t step, n;
    TRY(known_int(c, STFT_STEP, 1, &step));
    TRY(known_int(c, STFT_LENGTH, windowed ? c->in[STFT_WINDOW]->dim[0] : 0, &n));
    struct stft_args *s = arena_new(c->arena, struct stft_args);
    if (!s)
        return no_memory(c);
    s->batch = (size_t) x->dim[0];
    s->samples = (size_t) x->dim[1];
    s->parts = x->rank == 3 ? (size_t) x->dim[2] : 1;
    s->frames = (size_t) y->dim[1];
    s->bins = (size_t) y->dim[2];
    s->step = (size_t) step;
    s->real = s->parts == 1 && s->bins == (size_t) n / 2 + 1;
    c->kernel = s->real ? "rfft_f32" : "fft_f32";
    c->args = s;
    if (s->real) {
        float *table = arena_array(c->arena, float, kern_rfft_floats((size_t) n) + 1);
        if (!table)
            return no_memory(c);
        kern_rfft_init(&s->rfft, (size_t) n, table);
        c->kern_uses |= KERN_USES_FFT;
        c->scratch_bytes = (kern_rfft_work_floats(&s->rfft) + (size_t) n) * sizeof(float);
        return RILL_OK;
    }
    TRY(fft_make(c, &s->fft, (size_t) n));
    c->scratch_bytes = (kern_fft_work_floats(&s->fft) + 2 * (size_t) n) * sizeof(float);
    return RILL_OK;
}

static void stft_real_frame(const struct eval *e, const struct stft_args *s, float *y,
                            const float *x)
{
    const float *window = e->n_in > STFT_WINDOW ? e->x[STFT_WINDOW] : NULL;
    float *work = e->scratch, *windowed = work + kern_rfft_work_floats(&s->rfft);
    if (window)
        e->kern->mul_f32(windowed, x, window, s->rfft.n);
    e->kern->rfft_f32(&s->rfft, y, window ? windowed : x, work);
}

static void stft_frame(const struct eval *e, const struct stft_args *s, float *y, const float *x)
{
    const float *window = e->n_in > STFT_WINDOW ? e->x[STFT_WINDOW] : NULL;
    size_t n = s->fft.n;
    float *re = e->scratch, *im = re + n;
    for (size_t i = 0; i < n; i++) {
        float w = window ? window[i] : 1;
        re[i] = x[i * s->parts] * w;
        im[i] = s->parts == 2 ? x[i * 2 + 1] * w : 0;
    }
    e->kern->fft_f32(&s->fft, re, im, im + n);
    for (size_t k = 0; k < s->bins; k++) {
        y[2 * k] = re[k];
        y[2 * k + 1] = im[k];
    }
}

static void stft_eval(const struct eval *e)
{
    const struct stft_args *s = e->args;
    for (size_t b = 0; b < s->batch; b++)
        for (size_t t = 0; t < s->frames; t++)
            (s->real
                 ? stft_real_frame
                 : stft_frame)(e, s, (float *) e->y[0] + (b * s->frames + t) * s->bins * 2,
                               (const float *) e->x[0] + (b * s->samples + t * s->step) * s->parts);
}

/* ---- windows ---- */

struct window_attr {
    int64_t periodic;
    int type;
};

static const char *const window_types[] = { "f32", "f64", "f16", "bf16", NULL };
static const enum dtype window_dtypes[] = { DTYPE_F32, DTYPE_F64, DTYPE_F16, DTYPE_BF16 };

static const struct attr_spec window_attrs[] = {
    { .name = "periodic",
      .kind = ATTR_INT,
      .offset = offsetof(struct window_attr, periodic),
      .def_i = 1 },
    { .name = "output_datatype",
      .kind = ATTR_CHOICE,
      .offset = offsetof(struct window_attr, type),
      .choices = window_types },
    { 0 },
};

static rill_status window_infer(struct infer *c)
{
    const struct window_attr *a = c->attr;
    const struct dim *n[1];
    unsigned count = 0;
    TRY(infer_dims(c, 0, n, 1, &count));
    if (count != 1 ||
        (dim_is_const(n[0]) && (dim_value(n[0]) < 0 || dim_value(n[0]) > (int64_t) KERN_FFT_MAX)))
        return infer_fail(c, "the size must be one number of 0 to %zu", KERN_FFT_MAX);
    infer_shape(c, 0, window_dtypes[a->type], 1, n);
    return RILL_OK;
}

/* a0 - a1 cos(2 pi k / n) + a2 cos(4 pi k / n); a symmetric one of one value, which is 0 / 0, is 1
 */
static void window_fill(const struct eval *e, double a0, double a1, double a2)
{
    const struct window_attr *a = e->attr;
    uint64_t count = (uint64_t) e->out[0]->dim[0], n = a->periodic ? count : count - 1;
    for (uint64_t k = 0; k < count; k++) {
        double c1 = 1, c2 = 1, s;
        kern_turn(n ? k % n : 0, n ? n : 1, &c1, &s);
        kern_turn(n ? 2 * k % n : 0, n ? n : 1, &c2, &s);
        double v = n == 0 ? 1 : a0 - a1 * c1 + a2 * c2;
        tensor_set_f64(e->out[0], e->y[0], (int64_t) k, v);
    }
}

static void hann_eval(const struct eval *e)
{
    window_fill(e, 0.5, 0.5, 0);
}
static void hamming_eval(const struct eval *e)
{
    window_fill(e, 25.0 / 46, 21.0 / 46, 0);
}
static void blackman_eval(const struct eval *e)
{
    window_fill(e, 0.42, 0.5, 0.08);
}

/* ---- MelWeightMatrix: [dft_length/2+1, bins] ---- */

struct mel_attr {
    int type;
};

static const struct attr_spec mel_attrs[] = {
    { .name = "output_datatype",
      .kind = ATTR_CHOICE,
      .offset = offsetof(struct mel_attr, type),
      .choices = window_types },
    { 0 },
};

enum { MEL_BINS, MEL_LENGTH, MEL_RATE, MEL_LOWER, MEL_UPPER };

static rill_status mel_infer(struct infer *c)
{
    const struct mel_attr *a = c->attr;
    int64_t bins = 0, length = 0;
    unsigned n = 0, m = 0;
    TRY(infer_ints(c, MEL_BINS, &bins, 1, &n));
    TRY(infer_ints(c, MEL_LENGTH, &length, 1, &m));
    if (n != 1 || m != 1 || bins < 1 || bins > 1 << 16 || length < 1 || length > 1 << 20)
        return infer_fail(c, "%lld filters over %lld points; supported: 1 to %d and 1 to %d",
                          (long long) bins, (long long) length, 1 << 16, 1 << 20);
    for (unsigned i = MEL_RATE; i <= MEL_UPPER; i++)
        if (c->in[i]->type == DTYPE_DIM || c->in[i]->rank > 1 ||
            (c->in[i]->rank == 1 && !dim_is(c->in[i]->shape[0], 1)))
            return infer_fail(c, "input %u must be one number", i);
    infer_shape(c, 0, window_dtypes[a->type], 2,
                (const struct dim *[]) { dim_int(c->dims, length / 2 + 1),
                                         dim_int(c->dims, bins) });
    return RILL_OK;
}

static double mel_number(const struct eval *e, unsigned i)
{
    return tensor_get_f64(e->in[i], e->x[i], 0);
}

/* The point of edge i of bins + 2, kept within -1..points: a filter may lie partly outside. */
static int64_t mel_edge(const struct eval *e, int64_t i, int64_t bins, int64_t points)
{
    double lower = 2595 * log10(1 + mel_number(e, MEL_LOWER) / 700);
    double upper = 2595 * log10(1 + mel_number(e, MEL_UPPER) / 700);
    double mel = (double) i * ((upper - lower) / (double) (bins + 2)) + lower;
    double hertz = 700 * (pow(10, mel / 2595) - 1);
    double at = floor((mel_number(e, MEL_LENGTH) + 1) * hertz / mel_number(e, MEL_RATE));
    return at >= -1 && at <= (double) points ? (int64_t) at : at > 0 ? points : -1;
}

static void mel_set(const struct eval *e, int64_t point, int64_t bin, double v)
{
    int64_t points = e->out[0]->dim[0], bins = e->out[0]->dim[1];
    if (point >= 0 && point < points)
        tensor_set_f64(e->out[0], e->y[0], point * bins + bin, v);
}

static void mel_eval(const struct eval *e)
{
    int64_t points = e->out[0]->dim[0], bins = e->out[0]->dim[1];
    memset(e->y[0], 0, tensor_bytes(e->out[0]));
    for (int64_t i = 0; i < bins; i++) {
        int64_t low = mel_edge(e, i, bins, points), mid = mel_edge(e, i + 1, bins, points);
        int64_t high = mel_edge(e, i + 2, bins, points);
        if (low == mid)
            mel_set(e, mid, i, 1);
        for (int64_t k = low; low < mid && k <= mid; k++)
            mel_set(e, k, i, (double) (k - low) / (double) (mid - low));
        for (int64_t k = mid; k < high; k++)
            mel_set(e, k, i, (double) (high - k) / (double) (high - mid));
    }
}

/* ---- pairs ---- */

static rill_status magnitude_infer(struct infer *c)
{
    const struct fact *x = c->in[0];
    TRY(f32_check(c, 0, 1));
    if (!dim_is(x->shape[x->rank - 1], 2))
        return infer_fail(c, "the last axis must hold 2 parts, real and imaginary");
    infer_same(c, 0, 0);
    c->out[0].rank = x->rank - 1;
    return RILL_OK;
}

static void magnitude_eval(const struct eval *e)
{
    const float *restrict x = e->x[0];
    float *restrict y = e->y[0];
    size_t n = (size_t) tensor_count(e->out[0]);
    for (size_t i = 0; i < n; i++)
        y[i] = x[2 * i] * x[2 * i] + x[2 * i + 1] * x[2 * i + 1];
    e->kern->sqrt_f32(y, y, n);
}

static rill_status complex_mul_infer(struct infer *c)
{
    for (unsigned i = 0; i < 2; i++) {
        TRY(f32_check(c, i, 1));
        if (!dim_is(c->in[i]->shape[c->in[i]->rank - 1], 2))
            return infer_fail(c, "the last axis of input %u must hold 2 parts, real and imaginary",
                              i);
    }
    return infer_broadcast(c, 0, DTYPE_F32, 0, 1);
}

static rill_status complex_mul_prepare(struct prep *c)
{
    struct elem_loop *l = arena_new(c->arena, struct elem_loop);
    struct tensor d[3] = { *c->out[0], *c->in[0], *c->in[1] };
    for (int i = 0; i < 3; i++)
        d[i].dim[--d[i].rank] = 1;
    if (!l)
        return no_memory(c);
    elem_loop_make(l, &d[0], (const struct tensor *[]) { &d[1], &d[2] }, 2);
    c->args = l;
    return RILL_OK;
}

static void complex_mul_row(float *restrict y, const float *restrict a, const float *restrict b,
                            size_t n, size_t sa, size_t sb)
{
    for (size_t i = 0; i < n; i++, a += 2 * sa, b += 2 * sb) {
        y[2 * i] = a[0] * b[0] - a[1] * b[1];
        y[2 * i + 1] = a[0] * b[1] + a[1] * b[0];
    }
}

static void complex_mul_eval(const struct eval *e)
{
    const struct elem_loop *l = e->args;
    size_t n = l->n[l->rank - 1], count = (size_t) tensor_count(e->out[0]) / 2;
    for (size_t i = 0; i < count; i += n)
        complex_mul_row((float *) e->y[0] + 2 * i,
                        (const float *) e->x[0] + 2 * elem_offset(l, 0, i),
                        (const float *) e->x[1] + 2 * elem_offset(l, 1, i), n,
                        l->step[0][l->rank - 1], l->step[1][l->rank - 1]);
}

/* ---- table ---- */

OP_ROW(rfft, RFFT, "RFFT", rfft_attrs, sizeof(struct rfft_attr), 1, 1, 1, rfft_infer, rfft_prepare,
       rfft_eval, "spectrum of real rows: [.., N] -> [.., N/2+1, 2]");
OP_ROW(irfft, IRFFT, "IRFFT", rfft_attrs, sizeof(struct rfft_attr), 1, 1, 1, irfft_infer,
       irfft_prepare, irfft_eval, "real rows of a spectrum: [.., n/2+1, 2] -> [.., n]");
OP_ROW(dft, DFT, "DFT", dft_attrs, sizeof(struct dft_attr), 1, 3, 1, dft_infer, dft_prepare,
       dft_eval, "Fourier transform along an axis");
OP_ROW(stft, STFT, "STFT", stft_attrs, sizeof(struct stft_attr), 2, 4, 1, stft_infer, stft_prepare,
       stft_eval, "spectra of windowed frames");
OP_ROW(hann, HANN_WINDOW, "HannWindow", window_attrs, sizeof(struct window_attr), 1, 1, 1,
       window_infer, NULL, hann_eval, "Hann window");
OP_ROW(hamming, HAMMING_WINDOW, "HammingWindow", window_attrs, sizeof(struct window_attr), 1, 1, 1,
       window_infer, NULL, hamming_eval, "Hamming window");
OP_ROW(blackman, BLACKMAN_WINDOW, "BlackmanWindow", window_attrs, sizeof(struct window_attr), 1, 1,
       1, window_infer, NULL, blackman_eval, "Blackman window");
OP_ROW(mel, MEL_WEIGHT_MATRIX, "MelWeightMatrix", mel_attrs, sizeof(struct mel_attr), 5, 5, 1,
       mel_infer, NULL, mel_eval, "triangular filters on the mel scale: [dft_length/2+1, bins]");
OP_ROW(magnitude, MAGNITUDE, "Magnitude", NULL, 0, 1, 1, 1, magnitude_infer, NULL, magnitude_eval,
       "length of pairs: [.., 2] -> [..]");
OP_ROW(complex_mul, COMPLEX_MUL, "ComplexMul", NULL, 0, 2, 2, 1, complex_mul_infer,
       complex_mul_prepare, complex_mul_eval, "product of pairs taken as complex numbers");

const struct op *const ops_signal[] = {
    &op_rfft,     &op_irfft, &op_dft,       &op_stft,        &op_hann, &op_hamming,
    &op_blackman, &op_mel,   &op_magnitude, &op_complex_mul, NULL,
};
