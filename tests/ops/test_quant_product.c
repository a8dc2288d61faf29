/* SPDX-License-Identifier: MIT */
/* MatMulInteger and ConvInteger against loops in 64 bits: all types, zeros of every form, constant
 * and not, more terms than floats could sum. */
#include "tests/ops/ops_test.h"

static uint32_t seed = 11;

static uint32_t number(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

/* Every fifth is an extreme. */
static const struct tensor *bytes(struct ops_test *t, enum dtype type, int rank, const int64_t *dim)
{
    struct tensor *x = ops_tensor(t, type, rank, dim, NULL);
    for (int64_t i = 0; i < tensor_count(x); i++)
        ((uint8_t *) x->data)[i] =
            number(5) ? (uint8_t) number(256) : (uint8_t) (number(2) * 255 ^ 128);
    return x;
}

static int64_t at(const struct tensor *x, int64_t i)
{
    return x ? tensor_get_i64(x, x->data, i % tensor_count(x)) : 0;
}

static void sums_are(struct ops_test *t, const int64_t *want, const char *what)
{
    const struct tensor *y = t->out[0];
    bool same = y->type == DTYPE_I32;
    for (int64_t i = 0; same && i < tensor_count(y); i++)
        if (((const int32_t *) y->data)[i] != (int32_t) (uint32_t) (uint64_t) want[i])
            same = ops_check(t, false, "%s: [%lld] is %d, not %lld", what, (long long) i,
                             ((const int32_t *) y->data)[i], (long long) want[i]);
    ops_check(t, same, "%s", what);
}

/* ---- MatMulInteger ---- */

static const struct tensor *zero_make(struct ops_test *t, enum dtype type, unsigned form, int64_t n)
{
    return form == 0 ? NULL
        : form == 1  ? bytes(t, type, 0, NULL)
        : form == 2  ? bytes(t, type, 1, I64S(1))
                     : bytes(t, type, 1, I64S(n));
}

static void matmul_check(struct ops_test *t, int64_t batches, int64_t m, int64_t k, int64_t n,
                         unsigned variant)
{
    const enum dtype tx = variant & 1 ? DTYPE_I8 : DTYPE_U8, tw = variant & 2 ? DTYPE_I8 : DTYPE_U8;
    const bool many_w = variant & 4;
    const struct tensor *x = bytes(t, tx, batches ? 3 : 2,
                                   batches ? I64S(batches, m, k) : I64S(m, k)),
                        *w =
                            bytes(t, tw, many_w ? 3 : 2, many_w ? I64S(batches, k, n) : I64S(k, n)),
                        *xz = zero_make(t, tx, number(4), m), *wz = zero_make(t, tw, number(4), n);
    int64_t all = batches ? batches : 1,
            *want = arena_array(&t->arena, int64_t, (size_t) (all * m * n) + 1);
    for (int64_t b = 0; b < all; b++)
        for (int64_t i = 0; i < m; i++)
            for (int64_t o = 0; o < n; o++)
                for (int64_t l = 0; l < k; l++)
                    want[(b * m + i) * n + o] += (at(x, (b * m + i) * k + l) - at(xz, i)) *
                        (at(w, ((many_w ? b : 0) * k + l) * n + o) - at(wz, o));
    for (t->runtime = 0; t->runtime < 16; t->runtime += 5) /* 0, 5 (x and its zero), 10, 15 */
        if (ops_run(t, "MatMulInteger", NULL, 0, IN(x, w, xz, wz), 1))
            sums_are(t, want, t->runtime & 2 ? "MatMulInteger" : "MatMulInteger, constant weights");
    t->runtime = 0;
}

static void matmuls(struct ops_test *t)
{
    t->what = "product";
    for (unsigned v = 0; v < 60; v++)
        matmul_check(t, v & 4 ? 1 + v % 3 : v % 3, 1 + number(10), 1 + number(70), 1 + number(50),
                     v);
    matmul_check(t, 0, 2, 1000, 20, 1);
    if (ops_run(t, "MatMulInteger", NULL, 0,
                IN(bytes(t, DTYPE_U8, 1, I64S(5)), bytes(t, DTYPE_I8, 1, I64S(5))), 1))
        ops_shape_is(t, 0, DTYPE_I32, 0, NULL);
    if (ops_run(t, "MatMulInteger", NULL, 0,
                IN(bytes(t, DTYPE_U8, 3, I64S(0, 1, 2)), bytes(t, DTYPE_I8, 2, I64S(2, 2)),
                   zero_make(t, DTYPE_U8, 1, 1)),
                1))
        ops_shape_is(t, 0, DTYPE_I32, 3, I64S(0, 1, 2));
    const struct tensor *x = bytes(t, DTYPE_U8, 2, I64S(3, 4)),
                        *w = bytes(t, DTYPE_I8, 2, I64S(4, 5));
    ops_refused(t, "MatMulInteger", NULL, 0, IN(x, bytes(t, DTYPE_I8, 2, I64S(3, 5))), 1,
                "inner sizes are 4 and 3");
    ops_refused(t, "MatMulInteger", NULL, 0, IN(x, w, bytes(t, DTYPE_I8, 0, NULL)), 1,
                "the zero of input 0, is i8");
    ops_refused(t, "MatMulInteger", NULL, 0, IN(x, w, bytes(t, DTYPE_U8, 1, I64S(4))), 1,
                "neither one number nor a list");
    ops_refused(t, "MatMulInteger", NULL, 0, IN(x, w, NULL, bytes(t, DTYPE_I8, 1, I64S(0))), 1,
                "neither one number nor a list");
    ops_refused(t, "MatMulInteger", NULL, 0, IN(x, ops_f32(t, 2, I64S(4, 5), NULL)), 1, "f32");
}

/* ---- ConvInteger ---- */

struct conv {
    int64_t batch, group, cin, cout, in[2], kernel[2], stride[2], dilation[2], pads[4];
};

static int64_t out_size(const struct conv *c, int i)
{
    return (c->in[i] + c->pads[i] + c->pads[2 + i] - (c->kernel[i] - 1) * c->dilation[i] - 1) /
        c->stride[i] +
        1;
}

/* One output: channel o of image b, place p, q. */
static int64_t conv_sum(const struct conv *c, const struct tensor *const *in, int64_t b, int64_t o,
                        int64_t p, int64_t q)
{
    int64_t s = 0, per = c->cout / c->group;
    for (int64_t ch = 0; ch < c->cin; ch++)
        for (int64_t i = 0; i < c->kernel[0]; i++)
            for (int64_t j = 0; j < c->kernel[1]; j++) {
                int64_t y = p * c->stride[0] - c->pads[0] + i * c->dilation[0],
                        x = q * c->stride[1] - c->pads[1] + j * c->dilation[1],
                        from = ((b * c->group + o / per) * c->cin + ch) * c->in[0];
                if (y >= 0 && y < c->in[0] && x >= 0 && x < c->in[1])
                    s += (at(in[0], (from + y) * c->in[1] + x) - at(in[2], 0)) *
                        (at(in[1], ((o * c->cin + ch) * c->kernel[0] + i) * c->kernel[1] + j) -
                         at(in[3], o));
            }
    return s;
}

/* Bytes of the sums: biased, scaled, shifted, rounded, cut. */
static void conv_bytes_check(struct ops_test *t, const struct conv *c, const struct attr attrs[4],
                             const struct tensor *const in[4], const int64_t *want, int64_t places)
{
    const int64_t n = number(2) ? 1 : c->cout, low = 3, high = 250, zero = number(256);
    float by[64], add[64];
    int32_t bias[64];
    for (int64_t i = 0; i < 64; i++) {
        by[i] = 0.5f / (float) (1 << number(14)); /* halves, too */
        add[i] = (float) number(100) - 50;
        bias[i] = (int32_t) number(5000) - 2500;
    }
    struct attr all[8] = { attrs[0],
                           attrs[1],
                           attrs[2],
                           attrs[3],
                           { .name = "to", .kind = ATTR_INT, .i = DTYPE_U8 },
                           { .name = "zero", .kind = ATTR_INT, .i = zero },
                           { .name = "low", .kind = ATTR_INT, .i = low },
                           { .name = "high", .kind = ATTR_INT, .i = high } };
    const struct tensor *with[7] = { in[0],
                                     in[1],
                                     in[2],
                                     in[3],
                                     ops_f32(t, 1, &n, by),
                                     number(2) ? ops_f32(t, 1, &n, add) : NULL,
                                     ops_tensor(t, DTYPE_I32, 1, &n, bias) };
    t->made = true;
    bool ran = ops_run(t, "ConvInteger", all, 8, with, 7, 1);
    t->made = false;
    if (!ran)
        return;
    for (int64_t i = 0; i < tensor_count(t->out[0]); i++) {
        int64_t o = n > 1 ? i / places % c->cout : 0;
        float v = (float) (int32_t) (want[i] + bias[o]) * by[o];
        v = rintf(with[5] ? v + add[o] : v) + (float) zero;
        v = v < low ? low : v > high ? high : v;
        ops_check(t, ((const uint8_t *) t->out[0]->data)[i] == (uint8_t) v,
                  "%s: byte %lld is %u, not %g", t->kernel, (long long) i,
                  ((const uint8_t *) t->out[0]->data)[i], (double) v);
    }
}

static void conv_check(struct ops_test *t, const struct conv *c, unsigned variant)
{
    const enum dtype tx = variant & 1 ? DTYPE_I8 : DTYPE_U8, tw = variant & 2 ? DTYPE_I8 : DTYPE_U8;
    const struct tensor *in[4] = {
        bytes(t, tx, 4, I64S(c->batch, c->group * c->cin, c->in[0], c->in[1])),
        bytes(t, tw, 4, I64S(c->cout, c->cin, c->kernel[0], c->kernel[1])),
        zero_make(t, tx, number(3), 1), zero_make(t, tw, number(4), c->cout)
    };
    int64_t h = out_size(c, 0), w = out_size(c, 1), n = 0,
            *want = arena_array(&t->arena, int64_t, (size_t) (c->batch * c->cout * h * w) + 1);
    const struct attr attrs[] = {
        { .name = "strides", .kind = ATTR_INTS, .ints = { 2, c->stride } },
        { .name = "dilations", .kind = ATTR_INTS, .ints = { 2, c->dilation } },
        { .name = "pads", .kind = ATTR_INTS, .ints = { 4, c->pads } },
        { .name = "group", .kind = ATTR_INT, .i = c->group },
    };
    for (int64_t b = 0; b < c->batch; b++)
        for (int64_t o = 0; o < c->cout; o++)
            for (int64_t p = 0; p < h; p++)
                for (int64_t q = 0; q < w; q++)
                    want[n++] = conv_sum(c, in, b, o, p, q);
    for (t->runtime = 0; t->runtime < 16; t->runtime += 5)
        if (ops_run(t, "ConvInteger", attrs, 4, in, 4, 1))
            sums_are(t, want, t->kernel);
    t->runtime = 0;
    if (c->cout <= 64)
        conv_bytes_check(t, c, attrs, in, want, h * w);
}

static struct conv conv_any(void)
{
    struct conv c = { .batch = 1 + number(2),
                      .group = number(3) ? 1 : 1 + number(4),
                      .cin = 1 + number(5) };
    c.cout = c.group * (1 + number(number(2) ? 3 : 20));
    for (int i = 0; i < 2; i++) {
        c.kernel[i] =
            i && !number(4) ? 14 + number(9) : 1 + number(number(3) ? 4 : 13); /* some are copied */
        c.stride[i] = 1 + number(3);
        c.dilation[i] = 1 + number(2);
        c.pads[i] = number(2) * number(c.kernel[i] + 3);
        c.pads[2 + i] = number(2) * number(c.kernel[i] + 3);
        c.in[i] = (c.kernel[i] - 1) * c.dilation[i] + 1 + number(9);
    }
    return c;
}

/* Lanes along the channels, of which each has its weights, whatever their number. */
static struct conv depthwise_any(void)
{
    struct conv c = conv_any();
    c.group = c.cout = 12 + number(53);
    c.cin = 1;
    return c;
}

static void convs(struct ops_test *t)
{
    t->what = "convolution";
    for (unsigned v = 0; v < 150; v++) {
        const struct conv c = conv_any();
        conv_check(t, &c, v);
    }
    for (unsigned v = 0; v < 100; v++) {
        const struct conv c = depthwise_any();
        conv_check(t, &c, v);
    }
    /* 1280 terms; a row that lies in x; many places, also of channels apart */
    conv_check(t, &(struct conv) { 1, 1, 256, 18, { 1, 9 }, { 1, 5 }, { 1, 1 }, { 1, 1 }, { 0 } },
               3);
    conv_check(t, &(struct conv) { 2, 1, 12, 18, { 3, 5 }, { 3, 5 }, { 1, 1 }, { 1, 1 }, { 0 } },
               1);
    conv_check(t,
               &(struct conv) {
                   1, 1, 3, 5, { 40, 300 }, { 3, 3 }, { 1, 2 }, { 1, 1 }, { 1, 1, 1, 1 } },
               2);
    conv_check(t,
               &(struct conv) {
                   1, 17, 1, 17, { 70, 230 }, { 3, 3 }, { 1, 2 }, { 1, 1 }, { 1, 1, 1, 1 } },
               1);
    const struct tensor *x = bytes(t, DTYPE_U8, 3, I64S(1, 2, 8)),
                        *w = bytes(t, DTYPE_I8, 3, I64S(3, 2, 3));
    ops_refused(t, "ConvInteger", NULL, 0, IN(x, bytes(t, DTYPE_I8, 3, I64S(3, 4, 3))), 1,
                "do not fit");
    ops_refused(t, "ConvInteger", NULL, 0, IN(x, w, bytes(t, DTYPE_U8, 1, I64S(2))), 1,
                "neither one number nor a list");
    ops_refused(t, "ConvInteger", NULL, 0, IN(x, w, NULL, bytes(t, DTYPE_I8, 1, I64S(2))), 1,
                "neither one number nor a list");
    ops_refused(t, "ConvInteger", NULL, 0, IN(ops_f32(t, 3, I64S(1, 2, 8), NULL), w), 1, "f32");
}

/* SAME cuts three places in front, as ONNX Runtime does it for floats. */
static void cut(struct ops_test *t, int channels, int places)
{
    const struct attr a[] = { ONE_TEXT("auto_pad", "SAME_UPPER"), INTS_OF("strides", 1, I64S(8)),
                              ONE_INT("group", channels) };
    uint8_t x[32 * 64], one[32];
    int64_t want[32 * 8];
    for (int i = 0; i < channels * places * 8; i++)
        x[i] = (uint8_t) (i % 251);
    memset(one, 1, sizeof one);
    for (int i = 0; i < channels * places; i++)
        want[i] = x[i / places * places * 8 + 3 + i % places * 8];
    t->what = "cut in front";
    if (ops_run(t, "ConvInteger", a, 3,
                IN(ops_tensor(t, DTYPE_U8, 3, I64S(1, channels, places * 8), x),
                   ops_tensor(t, DTYPE_U8, 3, I64S(channels, 1, 1), one)),
                1))
        sums_are(t, want, t->kernel);
}

/* ---- DynamicQuantizeLinear ---- */

static void dynamic(struct ops_test *t)
{
    const float x[] = { 0.5f, -1.0f, 2.0f, 0.25f, INFINITY * 0 }, scale = 3.0f / 255;
    t->what = "range";
    if (!ops_run(t, "DynamicQuantizeLinear", NULL, 0, IN(ops_f32(t, 1, I64S(5), x)), 3))
        return;
    ops_check(t, *(const float *) t->out[1]->data == scale, "scale");
    ops_check(t, *(const uint8_t *) t->out[2]->data == 85, "zero");
    const uint8_t want[] = { 127, 0, 255, 106, 0 };
    for (size_t i = 0; i < sizeof want; i++)
        ops_check(t, ((const uint8_t *) t->out[0]->data)[i] == want[i], "number %zu is %u", i,
                  ((const uint8_t *) t->out[0]->data)[i]);
}

int main(void)
{
    struct ops_test t = ops_begin();
    matmuls(&t);
    convs(&t);
    cut(&t, 32, 3);
    cut(&t, 4, 8);
    dynamic(&t);
    return ops_end(&t);
}
