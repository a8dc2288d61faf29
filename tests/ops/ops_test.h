/* SPDX-License-Identifier: MIT */
/* ops_test.h - one op at a time: a graph of one node, inferred, prepared and evaluated between
 * guard zones.
 *
 *   struct ops_test t = ops_begin();
 *   const struct tensor *x = ops_f32(&t, 2, (int64_t[]) { 2, 3 }, values);
 *   ops_gives(&t, "Relu", NULL, 0, IN(x), WANT(1, 0), 0);
 *   if (ops_run(&t, "Relu", NULL, 0, IN(x), 1))
 *       ops_same_f32(&t, 0, expected, 0);
 *   ops_refused(&t, "Relu", NULL, 0, ins, 1, 1, "words of the message");
 *   return ops_end(&t);
 *
 * Inputs whose bit is set in t.runtime have no value before eval. Each call starts afresh; what the
 * test made lives until ops_end. */
#ifndef TESTS_OPS_OPS_TEST_H
#define TESTS_OPS_OPS_TEST_H
#include "engine/graph/op.h"
#include "tests/attr.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPS_INPUTS_MAX 64
#define OPS_OUTPUTS_MAX 16
#define OPS_GUARD_BYTES 128
#define OPS_GUARD_BYTE 0xa5

struct ops_test {
    struct arena arena;
    struct dims *dims;
    struct kern kern;
    rill_error err;
    unsigned passed, failed;
    uint32_t runtime; /* bit i: input i is not known before eval */
    bool made;        /* by a pass: inputs that no reader accepts are legal */
    const char *what; /* put in front of failures */
    const struct tensor *out[OPS_OUTPUTS_MAX]; /* of the last ops_run */
    const char *kernel;
    struct fault fault; /* of the last eval */
};

static inline struct ops_test ops_begin(void)
{
    struct ops_test t = { .dims = dims_new(), .what = "" };
    kern_init(&t.kern,
              getenv("RILL_TEST_CPU") ? (unsigned) atoi(getenv("RILL_TEST_CPU"))
                                      : kern_cpu_detect());
    return t;
}

static inline int ops_end(struct ops_test *t)
{
    arena_drop(&t->arena);
    dims_free(t->dims);
    printf("%u passed, %u failed\n", t->passed, t->failed);
    return t->failed != 0;
}

__attribute__((format(printf, 3, 4))) static inline bool ops_check(struct ops_test *t, bool ok,
                                                                   const char *fmt, ...)
{
    if (ok) {
        t->passed++;
        return true;
    }
    t->failed++;
    va_list ap;
    va_start(ap, fmt);
    printf("FAILED %s: ", t->what);
    vprintf(fmt, ap);
    printf("\n");
    va_end(ap);
    return false;
}

/* ---- tensors ---- */

/* Numbers in a row, and the inputs of a node with how many they are: two arguments. */
/* clang-format off */
#define I64S(...) (int64_t[]) { __VA_ARGS__ }
#define F32S(...) (float[]) { __VA_ARGS__ }
#define WANT(...) (double[]) { __VA_ARGS__ }
#define IN(...) (const struct tensor *[]) { __VA_ARGS__ }, \
    sizeof((const struct tensor *[]) { __VA_ARGS__ }) / sizeof(struct tensor *)
/* clang-format on */

/* Copies of count * bytes from values; NULL leaves zeros. */
static inline struct tensor *ops_tensor(struct ops_test *t, enum dtype type, int rank,
                                        const int64_t *dim, const void *values)
{
    struct tensor *x = tensor_new(&t->arena, type, rank, dim);
    if (!x)
        abort();
    if (values && tensor_bytes(x))
        memcpy(x->data, values, tensor_bytes(x));
    return x;
}

static inline struct tensor *ops_f32(struct ops_test *t, int rank, const int64_t *dim,
                                     const float *v)
{
    return ops_tensor(t, DTYPE_F32, rank, dim, v);
}

/* Numbers in -1..1, which go on from *seed. */
static inline struct tensor *ops_numbers(struct ops_test *t, uint32_t *seed, int rank,
                                         const int64_t *dim)
{
    struct tensor *x = ops_f32(t, rank, dim, NULL);
    for (int64_t i = 0, n = tensor_count(x); i < n; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        ((float *) x->data)[i] = (float) (*seed >> 8) / (1 << 23) - 1;
    }
    return x;
}

static inline struct tensor *ops_i64s(struct ops_test *t, int n, const int64_t *v)
{
    return ops_tensor(t, DTYPE_I64, 1, (int64_t[]) { n }, v);
}

/* ---- running ---- */

static inline void *ops_guarded(struct ops_test *t, size_t bytes)
{
    unsigned char *p = arena_alloc(&t->arena, bytes + 2 * OPS_GUARD_BYTES);
    if (!p)
        abort();
    memset(p, OPS_GUARD_BYTE, bytes + 2 * OPS_GUARD_BYTES);
    return p + OPS_GUARD_BYTES;
}

static inline bool ops_guard_intact(const void *block, size_t bytes)
{
    const unsigned char *p = block;
    for (size_t i = 0; i < OPS_GUARD_BYTES; i++)
        if (p[-1 - (ptrdiff_t) i] != OPS_GUARD_BYTE || p[bytes + i] != OPS_GUARD_BYTE)
            return false;
    return true;
}

struct ops_state {
    struct graph g;
    struct node *node;
    const struct fact *facts[OPS_INPUTS_MAX];
    struct fact out_facts[OPS_OUTPUTS_MAX];
    struct tensor desc[OPS_INPUTS_MAX], out_desc[OPS_OUTPUTS_MAX];
    const struct tensor *in[OPS_INPUTS_MAX], *out[OPS_OUTPUTS_MAX];
};

/* Sizes that are known but multiply to more than memory can hold are for whoever allocates to
 * refuse. */
static inline rill_status ops_not_static(struct ops_test *t, const struct fact *f, unsigned output)
{
    bool known = f->type != DTYPE_NONE && f->rank >= 0;
    for (int i = 0; known && i < f->rank; i++)
        known = dim_is_const(f->shape[i]) && dim_value(f->shape[i]) >= 0;
    return err_set(&t->err, known ? RILL_LIMIT : RILL_INTERNAL, "output %u is %s", output,
                   known ? "too large" : "not static");
}

/* The facts of the outputs, from those of the inputs. */
static inline rill_status ops_infer(struct ops_test *t, struct ops_state *s)
{
    return op_infer(s->node, s->facts, s->out_facts, t->dims, &t->arena, &t->err);
}

/* What prepare() is given. */
static inline struct prep ops_prep(struct ops_test *t, struct ops_state *s)
{
    return (struct prep) { .node = s->node,
                           .attr = s->node->attr,
                           .kern = &t->kern,
                           .arena = &t->arena,
                           .n_in = s->node->n_in,
                           .n_out = s->node->n_out,
                           .in = s->in,
                           .out = s->out,
                           .err = &t->err };
}

static inline rill_status ops_build(struct ops_test *t, struct ops_state *s, const char *name,
                                    const struct attr *attrs, unsigned n_attrs,
                                    const struct tensor *const *in, unsigned n_in, unsigned n_out)
{
    const struct op *op = t->made ? op_find_made(name) : op_find(name);
    if (!op)
        return err_set(&t->err, RILL_UNSUPPORTED, "no op '%s'", name);
    void *attr = arena_alloc(&t->arena, op->attr_bytes + 1);
    uint32_t wires[OPS_INPUTS_MAX], outs[OPS_OUTPUTS_MAX];
    graph_init(&s->g, &t->arena, t->dims, "test");
    TRY(attrs_parse(op, "n", attrs, n_attrs, attr, &t->err));
    for (unsigned i = 0; i < n_in; i++) {
        struct fact *f = arena_new(&t->arena, struct fact);
        wires[i] = WIRE_NONE;
        if (!in[i])
            continue;
        fact_of_tensor(f, t->dims, in[i]);
        f->value = t->runtime >> i & 1 ? NULL : in[i];
        s->facts[i] = f;
        s->desc[i] = *in[i];
        s->desc[i].data = f->value ? in[i]->data : NULL;
        s->in[i] = &s->desc[i];
        wires[i] = graph_add_wire(&s->g, "x", f);
    }
    for (unsigned i = 0; i < n_out; i++)
        outs[i] = graph_add_wire(&s->g, "y", NULL);
    s->node = graph_add_node(&s->g, op, "n", attr, wires, n_in, outs, n_out);
    TRY(t->made ? op_check_arity_made(s->node, &t->err) : op_check_arity(s->node, &t->err));
    TRY(ops_infer(t, s));
    TRY(dims_status(t->dims, &t->err));
    for (unsigned i = 0; i < n_out; i++) {
        if (!fact_to_tensor(&s->out_facts[i], &s->out_desc[i]))
            return ops_not_static(t, &s->out_facts[i], i);
        s->out[i] = &s->out_desc[i];
    }
    return RILL_OK;
}

static inline rill_status ops_eval(struct ops_test *t, struct ops_state *s,
                                   const struct tensor *const *in)
{
    const struct node *n = s->node;
    const void *x[OPS_INPUTS_MAX] = { NULL };
    void *y[OPS_OUTPUTS_MAX];
    struct prep p = ops_prep(t, s);
    if (n->op->prepare)
        TRY(n->op->prepare(&p));
    for (unsigned i = 0; i < n->n_in; i++)
        if (in[i]) {
            void *copy = ops_guarded(t, tensor_bytes(in[i]));
            if (tensor_bytes(in[i]))
                memcpy(copy, in[i]->data, tensor_bytes(in[i]));
            x[i] = copy;
        }
    for (unsigned i = 0; i < n->n_out; i++)
        y[i] = ops_guarded(t, tensor_bytes(s->out[i]));
    unsigned char *scratch = ops_guarded(t, p.scratch_bytes);
    struct eval e = { .node = n,
                      .attr = n->attr,
                      .kern = &t->kern,
                      .n_in = n->n_in,
                      .n_out = n->n_out,
                      .in = s->in,
                      .out = s->out,
                      .x = x,
                      .y = y,
                      .scratch = scratch,
                      .args = p.args,
                      .fault = &t->fault };
    t->fault = (struct fault) { .kind = FAULT_NONE };
    n->op->eval(&e);
    t->kernel = p.kernel;
    for (unsigned i = 0; i < n->n_in; i++)
        if (in[i] &&
            (!ops_guard_intact(x[i], tensor_bytes(in[i])) ||
             (tensor_bytes(in[i]) && memcmp(x[i], in[i]->data, tensor_bytes(in[i])))))
            return err_set(&t->err, RILL_INTERNAL, "eval wrote to input %u", i);
    for (unsigned i = 0; i < n->n_out; i++) {
        if (!ops_guard_intact(y[i], tensor_bytes(s->out[i])))
            return err_set(&t->err, RILL_INTERNAL, "eval wrote outside output %u", i);
        s->out_desc[i].data = y[i];
        t->out[i] = arena_copy(&t->arena, &s->out_desc[i], sizeof s->out_desc[i]);
    }
    return ops_guard_intact(scratch, p.scratch_bytes)
        ? RILL_OK
        : err_set(&t->err, RILL_INTERNAL, "eval wrote outside scratch");
}

static inline rill_status ops_try(struct ops_test *t, const char *name, const struct attr *attrs,
                                  unsigned n_attrs, const struct tensor *const *in, unsigned n_in,
                                  unsigned n_out)
{
    struct ops_state *s = arena_new(&t->arena, struct ops_state);
    t->err = (rill_error) { 0 };
    TRY(ops_build(t, s, name, attrs, n_attrs, in, n_in, n_out));
    return ops_eval(t, s, in);
}

/* Runs the op; false (and a failure counted) where it is refused. The results are t->out[]. */
static inline bool ops_run(struct ops_test *t, const char *name, const struct attr *attrs,
                           unsigned n_attrs, const struct tensor *const *in, unsigned n_in,
                           unsigned n_out)
{
    if (ops_try(t, name, attrs, n_attrs, in, n_in, n_out) == RILL_OK)
        return true;
    return ops_check(t, false, "%s", t->err.text);
}

/* The op must be refused with a message that contains words. */
static inline void ops_refused(struct ops_test *t, const char *name, const struct attr *attrs,
                               unsigned n_attrs, const struct tensor *const *in, unsigned n_in,
                               unsigned n_out, const char *words)
{
    rill_status s = ops_try(t, name, attrs, n_attrs, in, n_in, n_out);
    ops_check(t, s != RILL_OK && s != RILL_INTERNAL && strstr(t->err.text, words),
              "%s: wanted a refusal with '%s', got '%s'", name, words,
              s == RILL_OK ? "ok" : t->err.text);
}

/* ---- comparing ---- */

static inline bool ops_shape_is(struct ops_test *t, unsigned o, enum dtype type, int rank,
                                const int64_t *dim)
{
    const struct tensor *y = t->out[o];
    bool ok = y->type == type && y->rank == rank;
    for (int i = 0; ok && i < rank; i++)
        ok = y->dim[i] == dim[i];
    return ops_check(t, ok, "output %u is %s of rank %d, wanted %s of rank %d", o,
                     dtype_name(y->type), y->rank, dtype_name(type), rank);
}

/* NaN equals NaN, infinities themselves; tolerance is absolute plus relative to expected. */
static inline bool ops_close(double got, double want, double tolerance)
{
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got);
    return got == want || fabs(got - want) <= tolerance * (1 + fabs(want));
}

/* Number i of output o; a failure is counted where it is another. */
static inline bool ops_number_is(struct ops_test *t, unsigned o, int64_t i, double want,
                                 double tolerance)
{
    double got = tensor_get_f64(t->out[o], t->out[o]->data, i);
    return ops_close(got, want, tolerance) ||
        ops_check(t, false, "output %u[%lld] is %.9g, wanted %.9g", o, (long long) i, got, want);
}

/* Output o, of any type, against numbers; counts one check. */
static inline bool ops_same(struct ops_test *t, unsigned o, const double *want, double tolerance)
{
    for (int64_t i = 0, n = tensor_count(t->out[o]); i < n; i++)
        if (!ops_number_is(t, o, i, want[i], tolerance))
            return false;
    return ops_check(t, true, " ");
}

/* The op of one output gives these numbers. */
static inline void ops_gives(struct ops_test *t, const char *name, const struct attr *attrs,
                             unsigned n_attrs, const struct tensor *const *in, size_t n_in,
                             const double *want, double tolerance)
{
    if (ops_run(t, name, attrs, n_attrs, in, (unsigned) n_in, 1))
        ops_same(t, 0, want, tolerance);
}

static inline bool ops_same_f32(struct ops_test *t, unsigned o, const float *want, double tolerance)
{
    for (int64_t i = 0, n = tensor_count(t->out[o]); i < n; i++)
        if (!ops_number_is(t, o, i, (double) want[i], tolerance))
            return false;
    return ops_check(t, true, " ");
}
#endif
