/* SPDX-License-Identifier: MIT */
/* Conv and ConvTranspose against sums in double, with weights known before and at run time. */
#include "engine/ops/conv_tiles.h"
#include "tests/ops/epilogue_test.h"

#include <math.h>

struct shape {
    int axes;                        /* spatial */
    int64_t batch, group, cin, cout; /* cin, cout: of one group */
    int64_t in[3], kernel[3], stride[3], dilation[3], before[3], after[3],
        more[3];  /* more: output_padding */
    int auto_pad; /* index into pads_names */
    bool bias;
};

static const char *const pads_names[] = { "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER" };

static uint32_t seed = 1;

static uint32_t next(uint32_t n)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % n;
}

static const struct tensor *random_f32(struct ops_test *t, int rank, const int64_t *dim)
{
    struct tensor *x = ops_f32(t, rank, dim, NULL);
    for (int64_t i = 0; i < tensor_count(x); i++)
        ((float *) x->data)[i] = (float) next(2001) / 1000.0f - 1;
    return x;
}

/* The spatial part as three axes; a missing one has size 1. */
static struct shape filled(const struct shape *s)
{
    struct shape r = *s;
    for (int i = 0; i < 3; i++) {
        int k = i - (3 - s->axes);
        r.in[i] = k < 0 ? 1 : s->in[k];
        r.kernel[i] = k < 0 ? 1 : s->kernel[k];
        r.stride[i] = k < 0 || !s->stride[k] ? 1 : s->stride[k];
        r.dilation[i] = k < 0 || !s->dilation[k] ? 1 : s->dilation[k];
        r.before[i] = k < 0 ? 0 : s->before[k];
        r.after[i] = k < 0 ? 0 : s->after[k];
        r.more[i] = k < 0 ? 0 : s->more[k];
    }
    return r;
}

struct job {
    struct attr attrs[10];
    unsigned n_attrs;
    int64_t lists[5][6];
};

static void job_ints(struct job *j, const char *name, unsigned n, const int64_t *v)
{
    j->attrs[j->n_attrs++] = (struct attr) INTS_OF(name, n, v);
}

static void job_set(struct job *j, const struct shape *s, bool deconv)
{
    unsigned n = (unsigned) s->axes;
    j->n_attrs = 0;
    for (unsigned i = 0; i < n; i++) {
        j->lists[0][i] = s->stride[i] ? s->stride[i] : 1;
        j->lists[1][i] = s->dilation[i] ? s->dilation[i] : 1;
        j->lists[2][i] = s->before[i];
        j->lists[2][n + i] = s->after[i];
        j->lists[3][i] = s->more[i];
    }
    job_ints(j, "strides", n, j->lists[0]);
    job_ints(j, "dilations", n, j->lists[1]);
    if (!s->auto_pad)
        job_ints(j, "pads", 2 * n, j->lists[2]);
    if (deconv)
        job_ints(j, "output_padding", n, j->lists[3]);
    j->attrs[j->n_attrs++] = (struct attr) ONE_INT("group", s->group);
    j->attrs[j->n_attrs++] = (struct attr) { .name = "auto_pad",
                                             .kind = ATTR_STRINGS,
                                             .strings = { 1, &pads_names[s->auto_pad] } };
}

static void tensors_make(struct ops_test *t, const struct shape *s, bool deconv,
                         const struct tensor *in[3])
{
    int64_t x[5] = { s->batch, s->group * s->cin }, w[5] = { s->group * s->cout, s->cin };
    if (deconv)
        w[0] = s->group * s->cin, w[1] = s->cout;
    for (int i = 0; i < s->axes; i++)
        x[2 + i] = s->in[i], w[2 + i] = s->kernel[i];
    in[0] = random_f32(t, 2 + s->axes, x);
    in[1] = random_f32(t, 2 + s->axes, w);
    in[2] = s->bias ? random_f32(t, 1, I64S(s->group * s->cout)) : NULL;
}

/* Output size and leading pad on an axis, from the standard's text. */
static int64_t conv_size(const struct shape *s, int i, int64_t *before)
{
    int64_t reach = (s->kernel[i] - 1) * s->dilation[i] + 1;
    *before = s->auto_pad ? 0 : s->before[i];
    if (s->auto_pad < 2)
        return (s->in[i] + *before + (s->auto_pad ? 0 : s->after[i]) - reach) / s->stride[i] + 1;
    int64_t out = (s->in[i] + s->stride[i] - 1) / s->stride[i],
            total = (out - 1) * s->stride[i] + reach - s->in[i];
    total = total > 0 ? total : 0;
    *before = s->auto_pad == 2 ? total / 2 : total - total / 2;
    return out;
}

static int64_t deconv_size(const struct shape *s, int i, int64_t *before)
{
    int64_t full =
        (s->in[i] - 1) * s->stride[i] + s->more[i] + (s->kernel[i] - 1) * s->dilation[i] + 1;
    *before = s->auto_pad ? 0 : s->before[i];
    if (s->auto_pad < 2)
        return full - *before - (s->auto_pad ? 0 : s->after[i]);
    int64_t out = s->in[i] * s->stride[i];
    out = out < full || s->in[i] == 0 ? out : full; /* a short kernel leaves the last frames out */
    int64_t total = full > out ? full - out : 0;
    *before = s->auto_pad == 2 ? total / 2 : total - total / 2;
    return out;
}

/* Adds every product w * x to the output it belongs to. Both ops are the same walk: over input
 * places, kernel places and channels, where the output place either is divided by the stride (conv)
 * or multiplied with it (deconv). */
struct walk {
    struct shape s;
    int64_t out[3], before[3];
    bool deconv;
};

static int64_t place(const struct walk *v, int i, int64_t in, int64_t k)
{
    const struct shape *s = &v->s;
    if (v->deconv)
        return in * s->stride[i] + k * s->dilation[i] - v->before[i];
    int64_t at = in + v->before[i] - k * s->dilation[i];
    return at < 0 || at % s->stride[i] ? -1 : at / s->stride[i];
}

static void walk_kernel(const struct walk *v, double *y, const float *w, double x,
                        const int64_t in[3])
{
    const struct shape *s = &v->s;
    for (int64_t a = 0; a < s->kernel[0]; a++)
        for (int64_t b = 0; b < s->kernel[1]; b++)
            for (int64_t c = 0; c < s->kernel[2]; c++, w++) {
                int64_t o[3] = { place(v, 0, in[0], a), place(v, 1, in[1], b),
                                 place(v, 2, in[2], c) };
                if (o[0] >= 0 && o[1] >= 0 && o[2] >= 0 && o[0] < v->out[0] && o[1] < v->out[1] &&
                    o[2] < v->out[2])
                    y[(o[0] * v->out[1] + o[1]) * v->out[2] + o[2]] += x * (double) *w;
            }
}

static void walk_channels(const struct walk *v, double *y, const float *x, const float *w)
{
    const struct shape *s = &v->s;
    int64_t n_in = s->in[0] * s->in[1] * s->in[2], n_out = v->out[0] * v->out[1] * v->out[2];
    int64_t taps = s->kernel[0] * s->kernel[1] * s->kernel[2];
    for (int64_t o = 0; o < s->cout; o++)
        for (int64_t i = 0; i < s->cin; i++)
            for (int64_t p = 0; p < n_in; p++)
                walk_kernel(v, y + o * n_out,
                            w + (v->deconv ? i * s->cout + o : o * s->cin + i) * taps,
                            (double) x[i * n_in + p],
                            I64S(p / (s->in[1] * s->in[2]), p / s->in[2] % s->in[1], p % s->in[2]));
}

static double *expected(struct ops_test *t, const struct walk *v, const struct tensor *const *in)
{
    const struct shape *s = &v->s;
    int64_t n_in = s->in[0] * s->in[1] * s->in[2], n_out = v->out[0] * v->out[1] * v->out[2];
    int64_t channels = s->group * s->cout;
    double *y = arena_alloc(&t->arena, (size_t) (s->batch * channels * n_out) * sizeof *y + 1);
    for (int64_t i = 0; i < s->batch * channels * n_out && in[2]; i++)
        y[i] = (double) ((const float *) in[2]->data)[i / n_out % channels];
    for (int64_t b = 0; b < s->batch; b++)
        for (int64_t g = 0; g < s->group; g++)
            walk_channels(v, y + (b * channels + g * s->cout) * n_out,
                          (const float *) in[0]->data + (b * s->group + g) * s->cin * n_in,
                          (const float *) in[1]->data + g * (tensor_count(in[1]) / s->group));
    return y;
}

/* Two runs of one op: the same bits. */
static bool bits_same(const struct tensor *a, const struct tensor *b)
{
    return tensor_count(a) == tensor_count(b) && !memcmp(a->data, b->data, tensor_bytes(a));
}

static void shape_check(struct ops_test *t, const struct shape *s, bool deconv)
{
    char what[200];
    struct walk v = { .s = filled(s), .deconv = deconv };
    struct job j;
    const struct tensor *in[3];
    int64_t dim[5] = { s->batch, s->group * s->cout };
    for (int i = 0; i < 3; i++)
        v.out[i] = deconv ? deconv_size(&v.s, i, &v.before[i]) : conv_size(&v.s, i, &v.before[i]);
    if (v.out[0] < 0 || v.out[1] < 0 || v.out[2] < 0)
        return;
    snprintf(what, sizeof what,
             "%s axes %d group %d %d->%d in %d,%d,%d kernel %d,%d,%d stride %d,%d,%d dilation "
             "%d,%d,%d %s",
             deconv ? "ConvTranspose" : "Conv", s->axes, (int) s->group, (int) s->cin,
             (int) s->cout, (int) s->in[0], (int) s->in[1], (int) s->in[2], (int) s->kernel[0],
             (int) s->kernel[1], (int) s->kernel[2], (int) s->stride[0], (int) s->stride[1],
             (int) s->stride[2], (int) s->dilation[0], (int) s->dilation[1], (int) s->dilation[2],
             pads_names[s->auto_pad]);
    t->what = what;
    for (int i = 0; i < s->axes; i++)
        dim[2 + i] = v.out[3 - s->axes + i];
    job_set(&j, s, deconv);
    tensors_make(t, s, deconv, in);
    const char *op = deconv ? "ConvTranspose" : "Conv";
    t->runtime = 1;
    if (!ops_run(t, op, j.attrs, j.n_attrs, in, 3, 1))
        return;
    const struct tensor *first = t->out[0];
    if (ops_shape_is(t, 0, DTYPE_F32, 2 + s->axes, dim))
        ops_same(t, 0, expected(t, &v, in), 1e-5);
    t->runtime = 7;
    if (ops_run(t, op, j.attrs, j.n_attrs, in, 3, 1))
        ops_check(t, bits_same(first, t->out[0]), "weights at run time give other bits");
}

/* ---- epilogues ---- */

static void epilogue_of(struct ops_test *t, const struct shape *s, bool deconv)
{
    const struct tensor *in[EPILOGUE_TEST_IN] = { NULL };
    struct job j;
    job_set(&j, s, deconv);
    tensors_make(t, s, deconv, in);
    t->what = "epilogue";
    t->runtime = 1;
    epilogue_check(t, &seed, deconv ? "ConvTranspose" : "Conv", j.attrs, j.n_attrs, in, 3);
}

static void epilogue_refusals(struct ops_test *t)
{
    const struct tensor *x = random_f32(t, 3, (int64_t[]) { 1, 6, 9 }),
                        *w = random_f32(t, 3, (int64_t[]) { 4, 6, 3 });
    const struct tensor *in[] = { x, w, NULL, random_f32(t, 2, (int64_t[]) { 3, 7 }) };
    int64_t steps[(EPILOGUE_STEPS_MAX + 1) * FUSED_STEP_INTS] = { KERN_ADD, 0, 0, 1 };
    struct attr a = { .name = EPILOGUE_ATTR,
                      .kind = ATTR_INTS,
                      .ints = { FUSED_STEP_INTS, steps } };
    t->what = "epilogue";
    t->made = true;
    ops_refused(t, "Conv", &a, 1, in, 4, 1, "does not fit the epilogue");
    in[3] = random_f32(t, 4, (int64_t[]) { 1, 1, 4, 7 }); /* what is made has three axes */
    ops_refused(t, "Conv", &a, 1, in, 4, 1, "does not fit the epilogue");
    ops_refused(t, "Conv", &a, 1, in, 3, 1, "step 0 of its epilogue is none");
    ops_refused(t, "Conv", NULL, 0, in, 4, 1, "epilogue uses none");
    in[3] = random_f32(t, 1, (int64_t[]) { 1 });
    steps[0] = KERN_RELU; /* alone on what is not the output */
    steps[2] = 1;
    ops_refused(t, "Conv", &a, 1, in, 4, 1, "step 0 of its epilogue is none");
    steps[0] = KERN_ADD; /* makes what is not the output */
    steps[1] = 1;
    ops_refused(t, "Conv", &a, 1, in, 4, 1, "step 0 of its epilogue is none");
    steps[0] = KERN_POINTWISE_COUNT;
    steps[1] = steps[2] = 0;
    ops_refused(t, "Conv", &a, 1, in, 4, 1, "step 0 of its epilogue is none");
    a.ints.n--;
    ops_refused(t, "Conv", &a, 1, in, 4, 1, "at most");
    a.ints.n = (EPILOGUE_STEPS_MAX + 1) * FUSED_STEP_INTS;
    ops_refused(t, "Conv", &a, 1, in, 3, 1, "at most");
    t->made = false;
}

static const struct shape shapes[] = {
    /* rows that are of padding alone, in front and behind */
    { 2, 1, 16, 1, 1, { 1, 2 }, { 1, 2 }, .after = { 1 }, .bias = true },
    { 2, 1, 16, 1, 1, { 1, 4 }, { 1, 3 }, .before = { 2 }, .bias = true },
    { 2,
      1,
      1,
      3,
      16,
      { 1, 129 },
      { 1, 5 },
      { 1, 2 },
      .before = { 0, 2 },
      .after = { 0, 2 },
      .bias = true },
    { 2,
      1,
      2,
      8,
      8,
      { 1, 65 },
      { 1, 5 },
      { 1, 2 },
      .before = { 0, 2 },
      .after = { 0, 2 },
      .bias = true },
    { 2, 1, 16, 1, 1, { 3, 33 }, { 3, 3 }, .before = { 0, 1 }, .after = { 0, 1 }, .bias = true },
    { 2,
      1,
      16,
      1,
      1,
      { 5, 33 },
      { 3, 3 },
      .dilation = { 2, 1 },
      .before = { 0, 1 },
      .after = { 0, 1 } },
    { 2,
      1,
      16,
      1,
      1,
      { 11, 33 },
      { 3, 3 },
      .dilation = { 5, 1 },
      .before = { 0, 1 },
      .after = { 0, 1 },
      .bias = true },
    { 2, 1, 1, 24, 16, { 1, 33 }, { 1, 1 }, .bias = true },
    { 1, 1, 1, 1, 258, { 640 }, { 256 }, .stride = { 128 } },
    { 1, 1, 1, 129, 128, { 4 }, { 3 }, { 1 }, .before = { 1 }, .after = { 1 }, .bias = true },
    { 1, 1, 1, 128, 64, { 4 }, { 3 }, { 2 }, .before = { 1 }, .after = { 1 }, .bias = true },
    { 1, 1, 1, 64, 128, { 1 }, { 3 }, { 1 }, .before = { 1 }, .after = { 1 }, .bias = true },
    { 1, 2, 1, 7, 5, { 1 }, { 1 }, .bias = true },
    { 1, 1, 4, 1, 2, { 9 }, { 3 }, { 2 }, .before = { 1 }, .after = { 0 }, .bias = true },
    { 3,
      2,
      2,
      2,
      3,
      { 4, 5, 6 },
      { 2, 3, 2 },
      { 1, 2, 1 },
      { 1, 1, 2 },
      { 1, 0, 1 },
      { 0, 1, 2 },
      .bias = true },
    { 2, 1, 1, 2, 3, { 7, 8 }, { 3, 2 }, { 2, 3 }, .auto_pad = 2 },
    { 2, 1, 1, 2, 3, { 7, 8 }, { 3, 2 }, { 2, 3 }, .auto_pad = 3, .bias = true },
    { 1, 1, 2, 1, 1, { 3, 60 }, { 2, 3 }, .before = { 0, 5 }, .after = { 1, 0 }, .bias = true },
    { 2, 1, 3, 1, 1, { 7, 8 }, { 3, 4 }, { 1, 1 }, .auto_pad = 3 },
    { 1, 1, 1, 2, 3, { 17 }, { 4 }, { 3 }, .auto_pad = 1 },
    { 1, 0, 1, 2, 3, { 17 }, .kernel = { 4 } },
    { 1, 1, 1, 3, 2, { 2 }, { 3 }, .before = { 3 }, .after = { 3 } },
    { 1, 1, 1, 129, 40, { 700 }, .kernel = { 1 } },
    { 1, 1, 2, 20, 40, { 30, 40 }, { 3, 3 }, .before = { 1, 2 }, .after = { 1, 2 }, .bias = true },
    { 1,
      1,
      2,
      40,
      33,
      { 300 },
      { 3 },
      { 2 },
      { 2 },
      .before = { 3 },
      .after = { 2 },
      .bias = true },
    { 2, 2, 1, 40, 33, { 3, 250 }, { 3, 3 }, .before = { 1, 2 }, .after = { 1, 0 }, .bias = true },
    { 1, 1, 1, 40, 70, { 230 }, { 3 }, { 3 }, .before = { 1 }, .after = { 9 } },
    { 1, 1, 1, 3, 2, { 0 }, { 3 }, .before = { 3 }, .after = { 3 }, .bias = true },
    { 1, 1, 1, 1, 1, { 0 }, { 3 }, .before = { 2 }, .after = { 2 }, .bias = true },
};
/* clang-format on */

static struct shape random_shape(bool deconv)
{
    struct shape s = { .axes = 1 + (int) next(3),
                       .batch = 1 + next(2),
                       .group = 1 + next(3),
                       .cin = 1 + next(4),
                       .cout = 1 + next(20),
                       .bias = next(2) };
    if (next(3) == 0)
        s.cin = s.cout = 1;
    s.auto_pad = (int) next(8) < 4 ? 0 : (int) next(4);
    for (int i = 0; i < s.axes; i++) {
        s.kernel[i] = 1 + next(4);
        s.stride[i] = 1 + next(3);
        s.dilation[i] = 1 + next(3);
        s.before[i] = next(3);
        s.after[i] = next(3);
        s.in[i] = (s.kernel[i] - 1) * s.dilation[i] + 1 + next(s.axes == 1 ? 40 : 6);
        s.more[i] = deconv && s.stride[i] > 1 ? next((uint32_t) s.stride[i]) : 0;
    }
    return s;
}

/* ---- many places and outputs ---- */

/* The contract of every way: from the bias, over channels and kernel places in order. */
static float chain(const struct walk *v, const struct tensor *const *in, int64_t o,
                   const int64_t at[3])
{
    const struct shape *s = &v->s;
    const int64_t n_kernel = s->kernel[0] * s->kernel[1] * s->kernel[2];
    const float *w = (const float *) in[1]->data + o * s->cin * n_kernel;
    float sum = in[2] ? ((const float *) in[2]->data)[o] : 0;
    for (int64_t c = 0; c < s->cin; c++)
        for (int64_t k = 0; k < n_kernel; k++, w++) {
            const int64_t step[3] = { k / (s->kernel[1] * s->kernel[2]),
                                      k / s->kernel[2] % s->kernel[1], k % s->kernel[2] };
            int64_t x = o / s->cout * s->cin + c;
            bool there = true;
            for (int i = 0; i < 3; i++) {
                const int64_t p = at[i] * s->stride[i] - v->before[i] + step[i] * s->dilation[i];
                there = there && p >= 0 && p < s->in[i];
                x = x * s->in[i] + p;
            }
            sum = there ? fmaf(*w, ((const float *) in[0]->data)[x], sum) : sum;
        }
    return sum;
}

static void chains_check(struct ops_test *t, const struct shape *s)
{
    struct walk v = { .s = filled(s) };
    const struct tensor *in[3];
    struct job j;
    int64_t at[3], wrong = 0;
    for (int i = 0; i < 3; i++)
        v.out[i] = conv_size(&v.s, i, &v.before[i]);
    job_set(&j, s, false);
    tensors_make(t, s, false, in);
    t->runtime = 1;
    t->what = "Conv, many places";
    if (!ops_run(t, "Conv", j.attrs, j.n_attrs, in, 3, 1))
        return;
    const float *y = t->out[0]->data;
    for (int64_t o = 0; o < s->group * s->cout; o++)
        for (at[0] = 0; at[0] < v.out[0]; at[0]++)
            for (at[1] = 0; at[1] < v.out[1]; at[1]++)
                for (at[2] = 0; at[2] < v.out[2]; at[2]++)
                    wrong += *y++ != chain(&v, in, o, at);
    ops_check(t, !wrong, "%lld outputs of %d in %d,%d kernel %d,%d are no chains",
              (long long) wrong, (int) s->cout, (int) s->in[0], (int) s->in[1], (int) s->kernel[0],
              (int) s->kernel[1]);
}

/* Such as are products of gathered or turned terms, depthwise rows, and blocks that are cut. */
static void many_places(struct ops_test *t)
{
    static const struct shape some[] = {
        { 2, 1, 1, 40, 24, { 16, 16 }, { 2, 3 }, .bias = false }, /* lines 1024 bytes apart */
        { 2, 1, 1, 70, 30, { 4, 250 }, { 3, 3 }, .before = { 1, 1 }, .after = { 1, 1 } },
        { 2, 1, 1, 130, 130, { 5, 7 }, { 1, 1 }, .bias = true },
        { 2, 1, 9, 1, 1, { 13, 40 }, { 3, 3 }, .before = { 1, 1 }, .after = { 1, 1 } },
        { 1, 1, 1, 4, 400, { 205 }, { 3 }, .before = { 1 }, .after = { 1 } }, /* in blocks */
        /* rows of few places */
        { 2, 1, 9, 1, 1, { 25, 5 }, { 3, 3 }, .before = { 1, 1 }, .after = { 1, 1 }, .bias = true },
        { 2, 2, 6, 2, 1, { 7, 4 }, { 4, 3 }, .before = { 2, 1 }, .after = { 1, 1 } },
        { 2,
          1,
          4,
          1,
          1,
          { 9, 3 },
          { 3, 3 },
          .dilation = { 2, 1 },
          .before = { 2, 2 },
          .after = { 2, 0 } },
        { 3, 1, 5, 1, 1, { 3, 4, 5 }, { 2, 3, 3 }, .before = { 0, 1, 1 }, .after = { 1, 1, 1 } },
        /* of one, many in front */
        { 2, 1, 9, 1, 1, { 20, 5 }, { 5, 5 }, .before = { 2, 0 }, .after = { 1, 0 }, .bias = true },
        { 2,
          2,
          3,
          2,
          1,
          { 37, 9 },
          { 3, 4 },
          .dilation = { 2, 2 },
          .after = { 0, 1 },
          .stride = { 1, 9 } },
    };
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        chains_check(t, &some[i]);
    for (int i = 0; i < 40; i++) { /* of one place, with operands swapped */
        const struct shape s = { .axes = 2,
                                 .batch = 1 + next(2),
                                 .group = 1 + next(2),
                                 .cin = 48 + next(200),
                                 .cout = 48 + next(90),
                                 .in = { 8 + next(24), 6 + next(30) },
                                 .kernel = { 1, 1 },
                                 .bias = next(2) };
        chains_check(t, &s);
    }
    chains_check(t, &(const struct shape) { 1, 1, 1, 1300, 50, { 200 }, { 1 }, .bias = true });
    for (int i = 0; i < 60; i++) {
        const bool deep = i % 4 == 3;
        struct shape s = { .axes = 1 + i % 2,
                           .batch = 1,
                           .group = deep ? 5 : 1 + next(2),
                           .cin = deep ? 1 : 1 + next(20),
                           .cout = deep ? 1 : 24 + next(40),
                           .bias = next(2) };
        for (int k = 0; k < s.axes; k++) {
            s.kernel[k] = 1 + next(4);
            s.stride[k] = 1 + next(3);
            s.dilation[k] = 1 + next(2);
            s.before[k] = next(3);
            s.after[k] = next(3);
            s.in[k] = (s.kernel[k] - 1) * s.dilation[k] + 1 + next(s.axes == 1 ? 150 : 24);
        }
        chains_check(t, &s);
    }
}

/* A block holds few outputs however long a row is, of few channels to many, too. */
static void block_check(struct ops_test *t)
{
    enum { LENGTH = 6000, IN_CHANNELS = 8, OUTS = 512, BLOCK_BYTES = 512 << 10 };
    const struct window3 g = { .in = { 1, 1, LENGTH },
                               .out = { 1, 1, LENGTH },
                               .kernel = { 1, 1, 3 },
                               .stride = { 1, 1, 1 },
                               .dilation = { 1, 1, 1 },
                               .before = { 0, 0, 1 },
                               .after = { 0, 0, 1 },
                               .n_in = LENGTH,
                               .n_out = LENGTH,
                               .n_kernel = 3 };
    const struct conv_tiles *v = conv_tiles_new(&t->arena, &g, IN_CHANNELS, OUTS);
    ops_check(t, v && v->scratch_floats * sizeof(float) <= BLOCK_BYTES, "a block has %zu floats",
              v ? v->scratch_floats : 0);
}

/* A shape that must be refused with those words. */
static const struct {
    struct shape s;
    bool deconv;
    const char *words;
} bad[] = {
    { { 1, 1, 1, 2, 3, { 3 }, .kernel = { 4 } }, false, "kernel reaches over 4" },
    { { 1, 1, 1, 2, 3, { 9 }, { 4 }, .before = { -1 } }, false, "pads" },
    { { 1, 1, 1, 2, 3, { 9 }, { 4 }, .after = { -1 } }, true, "pads" },
    { { 1, 1, 1, 2, 3, { 9 }, { 4 }, .stride = { -1 } }, false, "strides" },
    { { 1, 1, 1, 2, 3, { 9 }, { 4 }, { 1 }, .dilation = { -2 } }, true, "dilations" },
    { { 1, 1, 1, 2, 3, { 9 }, { 4 }, { 1 }, .dilation = { (int64_t) 1 << 62 } },
      false,
      "dilations" },
    { { 1, 1, 1, 2, 3, { 9 }, { 4 }, .before = { (int64_t) 1 << 62 } }, false, "pads" },
    { { 1, 1, 1, 2, 3, { 9 }, { 4 }, .more = { -1 } }, true, "output_padding" },
    { { 1, 1, 1, 2, 3, { 1 }, { 2 }, .before = { 9 } }, true, "negative size" },
    { { 1, 1, 1, 2, 3, { 9 }, .kernel = { 0 } }, false, "kernel of 0" },
};

static void refusals(struct ops_test *t)
{
    struct job j;
    const struct tensor *in[3];
    t->what = "refusals";
    t->runtime = 1;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        job_set(&j, &bad[i].s, bad[i].deconv);
        tensors_make(t, &bad[i].s, bad[i].deconv, in);
        ops_refused(t, bad[i].deconv ? "ConvTranspose" : "Conv", j.attrs, j.n_attrs, in, 3, 1,
                    bad[i].words);
    }
    const struct tensor *x = random_f32(t, 3, I64S(1, 6, 9)), *w = random_f32(t, 3, I64S(4, 6, 3));
    for (int64_t group = -1; group < 6; group++) {
        struct attr g = ONE_INT("group", group);
        if (group != 1)
            ops_refused(t, "Conv", &g, 1, IN(x, w), 1, "group");
    }
    const struct tensor *b = random_f32(t, 1, I64S(5)), *w2 = random_f32(t, 4, I64S(4, 6, 3, 1));
    ops_refused(t, "Conv", NULL, 0, IN(x, w, b), 1, "bias");
    ops_refused(t, "Conv", NULL, 0, IN(x, w2), 1, "rank");
    ops_refused(t, "ConvTranspose", NULL, 0, IN(x, w), 1, "channels");
}

static void output_shapes(struct ops_test *t)
{
    const struct tensor *x = random_f32(t, 3, I64S(1, 2, 5)), *w = random_f32(t, 3, I64S(2, 3, 3));
    int64_t stride = 2, size = 10;
    struct attr a[] = { INTS_OF("strides", 1, &stride), INTS_OF("output_shape", 1, &size) };
    t->what = "output_shape";
    t->runtime = 1;
    struct walk v = { .s = { .axes = 1,
                             .batch = 1,
                             .group = 1,
                             .cin = 2,
                             .cout = 3,
                             .in = { 1, 1, 5 },
                             .kernel = { 1, 1, 3 },
                             .stride = { 1, 1, 2 },
                             .dilation = { 1, 1, 1 } },
                      .out = { 1, 1, 10 },
                      .before = { 0, 0, 1 },
                      .deconv = true };
    if (ops_run(t, "ConvTranspose", a, 2, IN(x, w), 1) &&
        ops_shape_is(t, 0, DTYPE_F32, 3, I64S(1, 3, 10)))
        ops_same(t, 0, expected(t, &v, (const struct tensor *[]) { x, w, NULL }), 1e-5);
}

/* Rows of a few places, of one, and shorter than those of the input; many groups, or many outputs
 * of one. */
static void short_rows(struct ops_test *t)
{
    for (int i = 0; i < 400; i++) {
        const bool groups = next(2), one = next(2);
        struct shape s = { .axes = 2 + (int) (next(8) == 0),
                           .batch = 1 + next(2),
                           .group = groups ? 2 + next(9) : 1,
                           .cin = 1 + next(2),
                           .cout = groups ? 1 : 1 + next(20),
                           .bias = next(2) };
        const int rows = s.axes - 2, last = s.axes - 1;
        for (int a = 0; a < s.axes; a++) {
            s.kernel[a] = 1 + next(5);
            s.dilation[a] = 1 + next(2);
            s.stride[a] = a == rows ? 1 + next(3) : 1;
            s.before[a] = next(3);
            s.after[a] = next(3);
            s.in[a] = (s.kernel[a] - 1) * s.dilation[a] + 1 + next(a == rows ? 30 : 5);
        }
        if (one) {
            s.before[last] = s.after[last] = 0;
            s.in[last] = (s.kernel[last] - 1) * s.dilation[last] + 1;
        }
        if (one || next(2))
            s.in[rows] += s.stride[rows] - s.in[rows] % s.stride[rows];
        chains_check(t, &s);
    }
}

/* Inputs smaller than the kernel: some places of it lie in the padding wherever an output stands.
 */
static void small_inputs(struct ops_test *t)
{
    for (int i = 0; i < 600; i++) {
        const bool groups = next(3) == 0;
        struct shape s = { .axes = 1 + (int) next(3),
                           .batch = 1 + next(2),
                           .group = groups ? 2 + next(20) : 1,
                           .cin = groups ? 1 : 1 + next(40),
                           .cout = groups ? 1 + next(2) : 1 + next(50),
                           .bias = next(2) };
        for (int a = 0; a < s.axes; a++) {
            s.in[a] = 1 + next(4);
            s.kernel[a] = 1 + next(5);
            s.dilation[a] = 1 + next(3);
            s.stride[a] = 1 + next(3);
            s.before[a] = next(7);
            s.after[a] = next(7);
            while (s.in[a] + s.before[a] + s.after[a] <= (s.kernel[a] - 1) * s.dilation[a])
                s.after[a]++;
        }
        chains_check(t, &s);
    }
}

int main(int argc, char **argv)
{
    struct ops_test t = ops_begin();
    seed = argc > 1 ? (uint32_t) strtoul(argv[1], NULL, 0) : 1;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        shape_check(&t, &shapes[i], false);
        shape_check(&t, &shapes[i], true);
    }
    for (int i = 0; i < 300; i++) {
        struct shape s = random_shape(i & 1);
        shape_check(&t, &s, i & 1);
        epilogue_of(&t, &s, i & 1);
    }
    many_places(&t);
    short_rows(&t);
    small_inputs(&t);
    block_check(&t);
    epilogue_refusals(&t);
    refusals(&t);
    output_shapes(&t);
    return ops_end(&t);
}
