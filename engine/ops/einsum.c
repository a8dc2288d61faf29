/* SPDX-License-Identifier: MIT */
/* Einsum. Every label is a loop: those of the output outside, the summed ones inside, in the order
 * in which they appear. Two f32 inputs with one summed label that lies in a row go through the
 * packed product, which sums in the same order and to the same bits. */
#include "engine/ops/einsum.h"
#include "engine/graph/packs.h"
#include "engine/ops/ops.h"

#include <math.h>
#include <string.h>

#define LABELS 60 /* a-z, A-Z, then the axes of the ellipsis: the last one is 59 */
#define IN_MAX 8

struct einsum_attr {
    struct attr_strings equation;
};

static const struct attr_spec einsum_attrs[] = {
    { .name = "equation",
      .kind = ATTR_STRINGS,
      .offset = offsetof(struct einsum_attr, equation),
      .required = true },
    { 0 },
};

struct term {
    uint8_t label[RANK_MAX];
    int n;
};
struct equation {
    struct term in[IN_MAX], out;
    unsigned n_in;
};

/* ---- the equation ---- */

static int letter(char c)
{
    return c >= 'a' && c <= 'z' ? c - 'a' : c >= 'A' && c <= 'Z' ? c - 'A' + 26 : -1;
}

static bool term_push(struct term *t, int label)
{
    if (t->n == RANK_MAX)
        return false;
    t->label[t->n++] = (uint8_t) label;
    return true;
}

static bool push_ellipsis(struct term *t, int axes)
{
    for (int i = axes; i > 0; i--)
        if (!term_push(t, LABELS - i))
            return false;
    return true;
}

/* One term up to ',' or '->' or the end; ellipsis: its number of axes, or -1 to take what rank
 * leaves. */
static bool term_parse(const char **at, int rank, int ellipsis, struct term *t)
{
    int letters = 0;
    for (const char *p = *at; *p && *p != ',' && *p != '-'; p++)
        letters += letter(*p) >= 0;
    int axes = ellipsis >= 0 ? ellipsis : rank - letters;
    bool dots = false;
    t->n = 0;
    for (; **at && **at != ',' && **at != '-'; ++*at) {
        if (**at == ' ')
            continue;
        if (!strncmp(*at, "...", 3)) {
            if (dots || axes < 0 || !push_ellipsis(t, axes))
                return false;
            dots = true;
            *at += 2;
        } else if (letter(**at) < 0 || !term_push(t, letter(**at))) {
            return false;
        }
    }
    return rank < 0 || t->n == rank;
}

static int label_count(const struct equation *q, int label)
{
    int n = 0;
    for (unsigned i = 0; i < q->n_in; i++)
        for (int k = 0; k < q->in[i].n; k++)
            n += q->in[i].label[k] == label;
    return n;
}

/* Without an arrow: the ellipsis, then the letters that come once, as in the alphabet (capitals
 * first). */
static bool implied_output(struct equation *q, int ellipsis)
{
    q->out.n = 0;
    if (!push_ellipsis(&q->out, ellipsis))
        return false;
    for (int i = 0; i < 52; i++) {
        int label = (i + 26) % 52;
        if (label_count(q, label) == 1 && !term_push(&q->out, label))
            return false;
    }
    return true;
}

static bool output_is_sane(const struct equation *q)
{
    for (int i = 0; i < q->out.n; i++) {
        if (!label_count(q, q->out.label[i]))
            return false;
        for (int k = 0; k < i; k++)
            if (q->out.label[k] == q->out.label[i])
                return false;
    }
    return true;
}

static bool equation_parse(const char *text, const int *ranks, unsigned n_in, struct equation *q)
{
    int ellipsis = 0;
    q->n_in = 0;
    for (const char *p = text;; p++) {
        if (q->n_in == n_in || q->n_in == IN_MAX ||
            !term_parse(&p, ranks[q->n_in], -1, &q->in[q->n_in]))
            return false;
        const struct term *t = &q->in[q->n_in++];
        int axes = 0;
        for (int i = 0; i < t->n; i++)
            axes += t->label[i] >= 52;
        ellipsis = axes > ellipsis ? axes : ellipsis;
        if (*p == ',')
            continue;
        if (q->n_in != n_in)
            return false;
        if (!*p)
            return implied_output(q, ellipsis);
        p += 2;
        return p[-1] == '>' && term_parse(&p, -1, ellipsis, &q->out) && !*p && output_is_sane(q);
    }
}

/* ---- shape ---- */

static const char *text_of(const void *attr)
{
    const struct einsum_attr *a = attr;
    return a->equation.n == 1 ? a->equation.v[0] : "";
}

int einsum_output_axis(const struct node *n, const int *ranks, unsigned i, int axis)
{
    struct equation q;
    int at = -1, here = 0;
    if (n->n_in > IN_MAX || !equation_parse(text_of(n->attr), ranks, n->n_in, &q))
        return -1;
    for (int k = 0; k < q.in[i].n; k++)
        here += q.in[i].label[k] == q.in[i].label[axis];
    for (int k = 0; k < q.out.n; k++)
        at = q.out.label[k] == q.in[i].label[axis] ? k : at;
    return here == 1 ? at : -1;
}

static bool term_has(const struct term *t, int label)
{
    return memchr(t->label, label, (size_t) t->n) != NULL;
}

bool einsum_summed(const struct node *n, const int *ranks, int ret_axis[2])
{
    struct equation q;
    unsigned found[2] = { 0 };
    if (n->n_in != 2 || !equation_parse(text_of(n->attr), ranks, 2, &q))
        return false;
    for (unsigned i = 0; i < 2; i++)
        for (int k = 0; k < q.in[i].n; k++) {
            if (term_has(&q.out, q.in[i].label[k]))
                continue;
            ret_axis[i] = k;
            found[i]++;
        }
    return found[0] == 1 && found[1] == 1 &&
        q.in[0].label[ret_axis[0]] == q.in[1].label[ret_axis[1]];
}

bool einsum_loops(const struct node *n, const struct tensor *in, uint64_t *ret)
{
    struct equation q;
    int ranks[IN_MAX];
    uint64_t size[LABELS] = { 0 };
    for (unsigned i = 0; i < n->n_in && i < IN_MAX; i++)
        ranks[i] = in[i].rank;
    if (n->n_in > IN_MAX || !equation_parse(text_of(n->attr), ranks, n->n_in, &q))
        return false;
    for (unsigned i = 0; i < q.n_in; i++)
        for (int k = 0; k < q.in[i].n; k++) {
            uint64_t d = (uint64_t) in[i].dim[k], *s = &size[q.in[i].label[k]];
            *s = d + 1 > *s ? d + 1 : *s; /* 0: no such label */
        }
    *ret = 1;
    for (int l = 0; l < LABELS; l++)
        if (size[l] && __builtin_mul_overflow(*ret, size[l] - 1, ret))
            *ret = UINT64_MAX;
    return true;
}

/* ---- facts ---- */

static rill_status label_size(struct infer *c, const struct dim **size, int label,
                              const struct dim *d)
{
    const struct dim *have = size[label];
    bool clash = have && have != d && dim_is_const(have) && dim_is_const(d);
    if (clash && (label < 52 || (!dim_is(have, 1) && !dim_is(d, 1))))
        return infer_fail(c, "equation '%.60s': one label has sizes %lld and %lld",
                          text_of(c->attr), (long long) dim_value(have), (long long) dim_value(d));
    if (have && have != d && label >= 52)
        d = dim_broadcast(c->dims, have, d);
    size[label] = have && dim_is_const(have) && label < 52 ? have : d;
    return RILL_OK;
}

static rill_status einsum_infer(struct infer *c)
{
    struct equation q;
    int ranks[IN_MAX];
    const struct dim *size[LABELS] = { NULL }, *shape[RANK_MAX];
    enum dtype type = c->in[0]->type;
    if (c->n_in > IN_MAX)
        return infer_fail(c, "has %u inputs, at most %d are supported", c->n_in, IN_MAX);
    if (type != DTYPE_F32 && type != DTYPE_F64 && type != DTYPE_I32 && type != DTYPE_I64)
        return infer_fail(c, "input 0 is %s; supported: f32, f64, i32, i64", dtype_name(type));
    for (unsigned i = 0; i < c->n_in; i++) {
        if (!infer_has(c, i))
            return infer_fail(c, "input %u is absent", i);
        ranks[i] = c->in[i]->rank;
        if (c->in[i]->type != type)
            return infer_fail(c, "input %u is %s, input 0 %s", i, dtype_name(c->in[i]->type),
                              dtype_name(type));
    }
    if (!equation_parse(text_of(c->attr), ranks, c->n_in, &q))
        return infer_fail(c, "equation '%.100s' does not fit its %u inputs", text_of(c->attr),
                          c->n_in);
    for (unsigned i = 0; i < c->n_in; i++)
        for (int k = 0; k < ranks[i]; k++)
            TRY(label_size(c, size, q.in[i].label[k], c->in[i]->shape[k]));
    for (int k = 0; k < q.out.n; k++)
        shape[k] = size[q.out.label[k]];
    infer_shape(c, 0, type, q.out.n, shape);
    return RILL_OK;
}

/* ---- loops ---- */

struct loop {
    int64_t n, x[IN_MAX], y;
}; /* steps in elements */

struct einsum_args {
    struct loop out[LABELS], sum[LABELS];
    int n_out, n_sum;
    unsigned n_in;
    /* product: rows and columns of the output, and the loops around it */
    bool product;
    int64_t m, n, k, lda, ldy, ldb_n, ldb_k;
    struct loop outer[LABELS];
    int n_outer, n_batch; /* the first n_batch of them move input 1 */
    size_t packed_floats;
    const float *packed; /* one per batch; NULL: packed while it runs */
    bool each;           /* rows of their own matrices, evenly spaced */
};

static struct loop loop_make(const struct prep *c, const struct equation *q, int label)
{
    struct loop l = { .n = 1 };
    int64_t strides[RANK_MAX];
    for (unsigned i = 0; i < q->n_in; i++) {
        tensor_strides(c->in[i], strides);
        for (int k = 0; k < q->in[i].n; k++) {
            if (q->in[i].label[k] != label)
                continue;
            l.n = c->in[i]->dim[k] != 1 ? c->in[i]->dim[k] : l.n;
            l.x[i] += c->in[i]->dim[k] != 1 ? strides[k] : 0;
        }
    }
    tensor_strides(c->out[0], strides);
    for (int k = 0; k < q->out.n; k++)
        l.y += q->out.label[k] == label ? strides[k] : 0;
    return l;
}

static void loops_make(const struct prep *c, const struct equation *q, struct einsum_args *g)
{
    bool done[LABELS] = { false };
    for (int k = 0; k < q->out.n; k++) {
        done[q->out.label[k]] = true;
        g->out[g->n_out++] = loop_make(c, q, q->out.label[k]);
    }
    for (unsigned i = 0; i < q->n_in; i++)
        for (int k = 0; k < q->in[i].n; k++) {
            int label = q->in[i].label[k];
            if (!done[label])
                g->sum[g->n_sum++] = loop_make(c, q, label);
            done[label] = true;
        }
}

/* Fits the loops to rows x columns products; false where they do not. */
static bool product_make(struct einsum_args *g)
{
    int m = -1, n = -1;
    if (g->n_in != 2 || g->n_sum != 1 || g->sum[0].x[0] != 1 || !g->sum[0].x[1])
        return false;
    for (int i = 0; i < g->n_out; i++) {
        const struct loop *l = &g->out[i];
        if (l->x[0] && !l->x[1])
            m = i;
        if (!l->x[0] && l->x[1] && l->y == 1)
            n = i;
    }
    if (n < 0)
        return false;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < g->n_out; i++)
            if (i != m && i != n && (g->out[i].x[1] != 0) == (pass == 0))
                g->outer[g->n_outer++] = g->out[i];
        g->n_batch = pass == 0 ? g->n_outer : g->n_batch;
    }
    g->m = m < 0 ? 1 : g->out[m].n; /* axes of length 1 have no step and count as none */
    g->lda = m < 0 ? g->sum[0].n : g->out[m].x[0];
    g->ldy = m < 0 ? g->out[n].n : g->out[m].y;
    g->n = g->out[n].n;
    g->ldb_n = g->out[n].x[1];
    g->k = g->sum[0].n;
    g->ldb_k = g->sum[0].x[1];
    g->packed_floats = kern_packed_floats((size_t) g->n, (size_t) g->k);
    return true;
}

/* Offsets of iteration i of the first n loops. */
static void offsets(const struct loop *l, int n, int64_t i, unsigned n_in, int64_t *x, int64_t *y)
{
    memset(x, 0, IN_MAX * sizeof *x);
    *y = 0;
    while (n-- > 0) {
        int64_t at = i % l[n].n;
        i /= l[n].n;
        *y += at * l[n].y;
        for (unsigned k = 0; k < n_in; k++)
            x[k] += at * l[n].x[k];
    }
}

static int64_t iterations(const struct loop *l, int n)
{
    int64_t total = 1;
    while (n-- > 0)
        total *= l[n].n;
    return total;
}

/* One row for each of the matrices. */
static bool is_each(const struct einsum_args *g)
{
    int loops = 0;
    for (int i = 0; i < g->n_outer; i++)
        loops += g->outer[i].n != 1;
    return g->m == 1 && loops == 1 && iterations(g->outer, g->n_batch) > 1;
}

static rill_status product_pack(struct prep *c, struct einsum_args *g)
{
    int64_t batches = iterations(g->outer, g->n_batch), x[IN_MAX], y;
    const float *w = c->in[1]->data;
    c->kernel = w ? "gemm_f32" : "gemm_f32 packing";
    if (!w) {
        c->scratch_bytes = (g->packed_floats + KERN_LANES) * sizeof(float);
        return RILL_OK;
    }
    bool there;
    const size_t floats = (size_t) batches * g->packed_floats + KERN_LANES;
    const size_t words[] = { PACK_MATRICES,    1, (size_t) g->n, (size_t) g->k, (size_t) g->ldb_n,
                             (size_t) g->ldb_k };
    const struct pack_key key = { { w }, words, sizeof words / sizeof *words };
    float *packed = batches == 1 ? prep_pack_of(c, floats, sizeof *packed, &key, &there)
                                 : prep_pack(c, floats, sizeof *packed, &there);
    c->packed |= 1u << 1;
    if (!packed)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    for (int64_t i = 0; i < batches && !there; i++) {
        offsets(g->outer, g->n_batch, i, 2, x, &y);
        kern_pack_f32(packed + (size_t) i * g->packed_floats, w + x[1], (size_t) g->n,
                      (size_t) g->k, (size_t) g->ldb_n, (size_t) g->ldb_k);
    }
    g->packed = packed;
    g->each = is_each(g);
    c->kernel = g->each ? "gemm_each_f32" : c->kernel;
    return RILL_OK;
}

static rill_status einsum_prepare(struct prep *c)
{
    struct equation q;
    int ranks[IN_MAX];
    struct einsum_args *g = arena_new(c->arena, struct einsum_args);
    if (!g)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    for (unsigned i = 0; i < c->n_in; i++)
        ranks[i] = c->in[i]->rank;
    if (!equation_parse(text_of(c->attr), ranks, c->n_in, &q))
        return prep_fail(c, "equation '%.100s' does not fit", text_of(c->attr));
    g->n_in = q.n_in;
    loops_make(c, &q, g);
    c->args = g;
    c->kernel = "einsum";
    g->product = c->in[0]->type == DTYPE_F32 && tensor_count(c->out[0]) && g->n_sum &&
        g->sum[0].n && product_make(g);
    return g->product ? product_pack(c, g) : RILL_OK;
}

/* ---- eval ---- */

/* One output element: the sum over the inner loops of the product of all inputs at their
 * offsets. */
#define SUM(name, type, mul_add)                                                                   \
    static void sum_##name(const struct einsum_args *g, const void *const *data,                   \
                           const int64_t *at, void *y, int64_t to)                                 \
    {                                                                                              \
        int64_t total = iterations(g->sum, g->n_sum), x[IN_MAX], unused;                           \
        type s = 0;                                                                                \
        for (int64_t i = 0; i < total; i++) {                                                      \
            offsets(g->sum, g->n_sum, i, g->n_in, x, &unused);                                     \
            type p = 1;                                                                            \
            for (unsigned k = 0; k + 1 < g->n_in; k++)                                             \
                p = (type) (p * ((const type *) data[k])[at[k] + x[k]]);                           \
            type last = ((const type *) data[g->n_in - 1])[at[g->n_in - 1] + x[g->n_in - 1]];      \
            s = mul_add;                                                                           \
        }                                                                                          \
        ((type *) y)[to] = s;                                                                      \
    }

SUM(f32, float, fmaf(p, last, s))
SUM(f64, double, fma(p, last, s))
SUM(u32, uint32_t, s + p * last)
SUM(u64, uint64_t, s + p * last)

typedef void sum_fn(const struct einsum_args *g, const void *const *data, const int64_t *at,
                    void *y, int64_t to);

static sum_fn *sum_of(enum dtype t)
{
    return t == DTYPE_F32 ? sum_f32 : t == DTYPE_F64 ? sum_f64 : t == DTYPE_I32 ? sum_u32 : sum_u64;
}

static void product_eval(const struct eval *e, const struct einsum_args *g)
{
    int64_t total = iterations(g->outer, g->n_outer),
            repeat = total / iterations(g->outer, g->n_batch), x[IN_MAX], y;
    if (g->each) {
        offsets(g->outer, g->n_outer, 1, 2, x, &y);
        e->kern->gemm_each_f32(e->y[0], (size_t) y, e->x[0], (size_t) x[0], g->packed,
                               (size_t) g->n, (size_t) g->k, (size_t) total);
        return;
    }
    for (int64_t i = 0; i < total; i++) {
        offsets(g->outer, g->n_outer, i, 2, x, &y);
        const float *w =
            g->packed ? g->packed + (size_t) (i / repeat) * g->packed_floats : e->scratch;
        if (!g->packed && i % repeat == 0)
            kern_pack_f32(e->scratch, (const float *) e->x[1] + x[1], (size_t) g->n, (size_t) g->k,
                          (size_t) g->ldb_n, (size_t) g->ldb_k);
        e->kern->gemm_f32((float *) e->y[0] + y, (size_t) g->ldy, (const float *) e->x[0] + x[0],
                          (size_t) g->lda, w, NULL, (size_t) g->m, (size_t) g->n, (size_t) g->k);
    }
}

static void einsum_eval(const struct eval *e)
{
    const struct einsum_args *g = e->args;
    sum_fn *sum = sum_of(e->in[0]->type);
    int64_t total = tensor_count(e->out[0]), x[IN_MAX], y;
    if (g->product) {
        product_eval(e, g);
        return;
    }
    for (int64_t i = 0; i < total; i++) {
        offsets(g->out, g->n_out, i, g->n_in, x, &y);
        sum(g, e->x, x, e->y[0], y);
    }
}

static const struct op op_einsum = {
    .id = OP_EINSUM,
    .name = "Einsum",
    .attrs = einsum_attrs,
    .attr_bytes = sizeof(struct einsum_attr),
    .min_in = 1,
    .max_in = IN_MAX,
    .min_out = 1,
    .max_out = 1,
    .infer = einsum_infer,
    .prepare = einsum_prepare,
    .eval = einsum_eval,
    .help = "sums of products over labelled axes",
};

const struct op *const ops_einsum[] = { &op_einsum, NULL };
