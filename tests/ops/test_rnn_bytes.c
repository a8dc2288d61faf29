/* SPDX-License-Identifier: MIT */
/* DynamicQuantizeLSTM: a step against loops of whole numbers; and every instruction set, weights
 * that are constants or not, the same bits. */
#include "tests/ops/ops_test.h"

enum { X, W, R, B, LENS, H, C, P, W_SCALE, W_ZERO, R_SCALE, R_ZERO, N_IN };

static uint32_t seed = 7;

static uint32_t number(uint32_t below)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

static struct tensor *bytes(struct ops_test *t, enum dtype type, int rank, const int64_t *dim)
{
    struct tensor *x = ops_tensor(t, type, rank, dim, NULL);
    for (int64_t i = 0; i < tensor_count(x); i++)
        ((uint8_t *) x->data)[i] =
            number(5) ? (uint8_t) number(256) : (uint8_t) (number(2) * 255 ^ 128);
    return x;
}

/* d directions, or also 4 * h columns. */
static struct tensor *scales(struct ops_test *t, int rank, int64_t d, int64_t h)
{
    struct tensor *x = ops_numbers(t, &seed, rank, I64S(d, 4 * h));
    for (int64_t i = 0; i < tensor_count(x); i++)
        ((float *) x->data)[i] = 0.001f + 0.001f * fabsf(((float *) x->data)[i]);
    return x;
}

struct shape {
    int64_t steps, batch, inputs, hidden, dirs;
};

static void inputs_make(struct ops_test *t, const struct shape *s, unsigned variant,
                        const struct tensor *in[N_IN])
{
    const enum dtype tw = variant & 1 ? DTYPE_I8 : DTYPE_U8, tr = variant & 2 ? DTYPE_I8 : DTYPE_U8;
    const int rank = variant & 4 ? 2 : 1;
    const int64_t d = s->dirs, h = s->hidden;
    in[X] = ops_numbers(t, &seed, 3, I64S(s->steps, s->batch, s->inputs));
    in[W] = bytes(t, tw, 3, I64S(d, s->inputs, 4 * h));
    in[R] = bytes(t, tr, 3, I64S(d, h, 4 * h));
    in[B] = ops_numbers(t, &seed, 2, I64S(d, 8 * h));
    in[LENS] = NULL;
    in[H] = variant & 8 ? ops_numbers(t, &seed, 3, I64S(d, s->batch, h)) : NULL;
    in[C] = ops_numbers(t, &seed, 3, I64S(d, s->batch, h));
    in[P] = variant & 16 ? ops_numbers(t, &seed, 2, I64S(d, 3 * h)) : NULL;
    in[W_SCALE] = scales(t, rank, d, h);
    in[W_ZERO] = bytes(t, tw, rank, I64S(d, 4 * h));
    in[R_SCALE] = scales(t, 3 - rank, d, h);
    in[R_ZERO] = variant & 32 ? NULL : bytes(t, tr, 3 - rank, I64S(d, 4 * h));
}

/* ---- one step, by the definition ---- */

struct whole {
    double scale;
    int64_t zero;
};

static struct whole whole_of(const struct tensor *x)
{
    float low = 0, high = 0;
    for (int64_t i = 0; x && i < tensor_count(x); i++) {
        low = fminf(low, ((const float *) x->data)[i]);
        high = fmaxf(high, ((const float *) x->data)[i]);
    }
    float scale = (high - low) / 255;
    return (struct whole) { scale, scale > 0 ? lrintf(-low / scale) : 0 };
}

static double at(const struct tensor *x, int64_t i)
{
    return x ? tensor_get_f64(x, x->data, i % tensor_count(x)) : 0;
}

/* Of column o and sequence b, of the first direction. */
static double sum_of(const struct tensor *x, const struct tensor *w, const struct tensor *scale,
                     const struct tensor *zero, int64_t b, int64_t o)
{
    const struct whole q = whole_of(x);
    const int64_t k = w->dim[1], n = w->dim[2];
    int64_t sum = 0;
    for (int64_t i = 0; q.scale > 0 && i < k; i++)
        sum += lrintf(((const float *) x->data)[b * k + i] / (float) q.scale) *
            (int64_t) (at(w, i * n + o) - at(zero, o));
    return (double) sum * q.scale * at(scale, o);
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static void step_check(struct ops_test *t, const struct shape *s, const struct tensor *const *in)
{
    const int64_t h = s->hidden;
    double worst = 0;
    for (int64_t b = 0; b < s->batch; b++)
        for (int64_t u = 0; u < h; u++) {
            double g[4], c = at(in[C], b * h + u);
            for (int64_t k = 0; k < 4; k++) {
                int64_t o = k * h + u;
                g[k] = sum_of(in[X], in[W], in[W_SCALE], in[W_ZERO], b, o) +
                    sum_of(in[H], in[R], in[R_SCALE], in[R_ZERO], b, o) + at(in[B], o) +
                    at(in[B], 4 * h + o);
            }
            g[0] += at(in[P], u) * c;
            g[2] += at(in[P], 2 * h + u) * c;
            c = sigmoid(g[2]) * c + sigmoid(g[0]) * tanh(g[3]);
            double y = sigmoid(g[1] + at(in[P], h + u) * c) * tanh(c);
            worst = fmax(worst, fabs(y - at(t->out[0], b * h + u)));
            worst = fmax(worst, fabs(c - at(t->out[2], b * h + u)));
        }
    ops_check(t, worst < 1e-5, "a step is off by %g", worst);
}

/* ---- the same bits ---- */

static void same_check(struct ops_test *t, const struct shape *s, unsigned variant)
{
    const struct tensor *in[N_IN], *want[3];
    const struct attr attrs[] = { ONE_TEXT("direction",
                                           s->dirs == 2 ? "bidirectional" : "forward") };
    const struct kern best = t->kern;
    inputs_make(t, s, variant, in);
    for (unsigned set = 0; set < 64; set++) {
        unsigned cpu = set & kern_cpu_detect();
        if (cpu != set)
            continue;
        kern_init(&t->kern, cpu);
        t->runtime = set ? 0 : 1u << W | 1u << R_SCALE;
        if (!ops_run(t, "DynamicQuantizeLSTM", attrs, 1, in, N_IN, 3))
            break;
        for (unsigned o = 0; o < 3; o++)
            if (!set)
                want[o] = t->out[o];
            else
                ops_check(t, !memcmp(want[o]->data, t->out[o]->data, tensor_bytes(want[o])),
                          "set %u, variant %u: output %u differs from plain C", set, variant, o);
        if (!set && s->steps == 1 && s->dirs == 1)
            step_check(t, s, in);
    }
    t->kern = best;
    t->runtime = 0;
}

/* The scale of X is that of the steps that some sequence has. */
static void lengths_check(struct ops_test *t)
{
    const struct shape s = { 6, 3, 20, 9, 2 };
    const int64_t lengths[] = { 2, 4, 1 }, used = 4 * s.batch * s.inputs;
    const struct attr attrs[] = { ONE_TEXT("direction", "bidirectional") };
    const struct tensor *in[N_IN], *want[3];
    inputs_make(t, &s, 8, in);
    in[LENS] = ops_i64s(t, 3, lengths);
    for (int far = 0; far < 2; far++) {
        float *x = in[X]->data;
        for (int64_t i = used; far && i < tensor_count(in[X]); i++)
            x[i] = number(2) ? 1e3f : NAN;
        if (!ops_run(t, "DynamicQuantizeLSTM", attrs, 1, in, N_IN, 3))
            return;
        for (unsigned o = 0; o < 3; o++)
            if (!far)
                want[o] = t->out[o];
            else
                ops_check(t, !memcmp(want[o]->data, t->out[o]->data, tensor_bytes(want[o])),
                          "output %u depends on steps after every sequence's end", o);
    }
}

static void refusals(struct ops_test *t)
{
    const struct shape s = { 2, 1, 4, 3, 1 };
    const struct tensor *in[N_IN], *kept;
    inputs_make(t, &s, 7, in);
    kept = in[W_SCALE];
    in[W_SCALE] = NULL;
    ops_refused(t, "DynamicQuantizeLSTM", NULL, 0, in, N_IN, 1, "lacks input 8");
    in[W_SCALE] = scales(t, 2, 1, 2);
    ops_refused(t, "DynamicQuantizeLSTM", NULL, 0, in, N_IN, 1, "wants f32 [directions]");
    in[W_SCALE] = kept;
    in[R_ZERO] = bytes(t, DTYPE_U8, 1, I64S(1));
    ops_refused(t, "DynamicQuantizeLSTM", NULL, 0, in, N_IN, 1, "wants i8 [directions]");
    in[R_ZERO] = NULL;
    in[R] = ops_f32(t, 3, I64S(1, 3, 12), NULL);
    ops_refused(t, "DynamicQuantizeLSTM", NULL, 0, in, N_IN, 1, "wants bytes R");
    in[R] = bytes(t, DTYPE_I8, 3, I64S(1, 3, 13));
    ops_refused(t, "DynamicQuantizeLSTM", NULL, 0, in, N_IN, 1, "wants bytes R");
}

int main(void)
{
    struct ops_test t = ops_begin();
    t.what = "cell of bytes";
    for (unsigned v = 0; v < 64; v++) {
        struct shape s = { 1 + number(2) * number(6), 1 + number(4), 1 + number(70), 1 + number(50),
                           1 + number(2) };
        same_check(&t, &s, v);
    }
    same_check(&t, &(struct shape) { 1, 1, 300, 130, 1 }, 15);
    lengths_check(&t);
    refusals(&t);
    return ops_end(&t);
}
