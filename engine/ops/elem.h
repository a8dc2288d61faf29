/* SPDX-License-Identifier: MIT */
/* elem.h - what elementwise ops share: sets of types, collapsed broadcasting, half floats by
 * widening. */
#ifndef RILL_ENGINE_OPS_ELEM_H
#define RILL_ENGINE_OPS_ELEM_H
#include "engine/graph/op.h"

/* Sets of element types, as bits. */
enum {
#define X(name, text, bytes) TYPE_##name = 1 << DTYPE_##name,
    DTYPE_LIST(X)
#undef X
        TYPES_HALF = TYPE_F16 | TYPE_BF16,
    TYPES_FLOAT = TYPE_F32 | TYPE_F64 | TYPES_HALF,
    TYPES_SIGNED = TYPE_I8 | TYPE_I16 | TYPE_I32 | TYPE_I64,
    TYPES_UNSIGNED = TYPE_U8 | TYPE_U16 | TYPE_U32 | TYPE_U64,
    TYPES_INT = TYPES_SIGNED | TYPES_UNSIGNED,
    TYPES_NUM = TYPES_FLOAT | TYPES_INT,
    TYPES_SMALL_INT = TYPE_I4 | TYPE_U4 | TYPE_I2 | TYPE_U2, /* a byte an element */
    TYPES_ANY = TYPES_NUM | TYPE_BOOL
};
#define DTYPE_COUNT (DTYPE_DIM + 1)

bool types_hold(unsigned types, int64_t t); /* false also of a number that is no type */

/* Refuses input i unless its type is in the set (DIM too, where the op computes on symbolic
 * sizes). */
rill_status elem_check_type(struct infer *c, unsigned i, unsigned types);
/* The common type of inputs first..last, each checked; DIM as soon as one of them is. */
rill_status elem_common_type(struct infer *c, unsigned first, unsigned last, unsigned types,
                             enum dtype *ret);

/* ---- iteration space ---- */

#define ELEM_IN_MAX 3

/* The output's axes with those of length 1 dropped and neighbours merged where every input allows.
 * Steps are in elements, 0 where the input is broadcast; along the last axis a step is 0 or 1. */
struct elem_loop {
    int rank; /* 1..RANK_MAX */
    size_t n[RANK_MAX];
    size_t step[ELEM_IN_MAX][RANK_MAX];
};

/* The last two axes of a loop: m rows of n elements; the output is dense. */
struct elem_block {
    size_t m, n;
    size_t row[ELEM_IN_MAX], col[ELEM_IN_MAX];
};

struct elem_plan;
typedef void elem_fn(const struct elem_plan *p, const struct elem_block *b, const struct kern *k,
                     void *y, const void *const *x);

struct elem_plan {
    struct elem_loop loop;
    struct elem_block block;
    size_t count, y_bytes, x_bytes[ELEM_IN_MAX];
    unsigned n_in;
    enum dtype type;    /* of input 0 */
    bool narrow;        /* half inputs give half outputs */
    elem_fn *fn, *wide; /* wide: the f32 function that half floats go through */
};

void elem_loop_make(struct elem_loop *ret, const struct tensor *out, const struct tensor *const *in,
                    unsigned n_in);
/* Where input element for output element `flat` is; slow. */
size_t elem_offset(const struct elem_loop *l, unsigned input, size_t flat);

/* fns has an entry per dtype; half floats without one go through that of F32. False: no
 * function. */
bool elem_plan_make(struct elem_plan *ret, const struct tensor *out, const struct tensor *const *in,
                    unsigned n_in, elem_fn *const *fns);
void elem_run(const struct elem_plan *p, const struct kern *k, void *y, const void *const *x);
void elem_eval(const struct eval *e); /* of an op whose args are a plan */

/* ---- rows of a two-input function, EXPR in terms of u and v ---- */

#define ELEM_ROWS2(NAME, TY, TX, EXPR)                                                             \
    static void NAME(const struct elem_plan *pl_, const struct elem_block *b,                      \
                     const struct kern *k_, void *y, const void *const *x)                         \
    {                                                                                              \
        (void) pl_;                                                                                \
        (void) k_;                                                                                 \
        TY *o = y;                                                                                 \
        const TX *p = x[0], *q = x[1];                                                             \
        const struct elem_block s_ = *b; /* a byte-wide output may alias *b, but not this */       \
        for (size_t i = 0; i < s_.m; i++, o += s_.n, p += s_.row[0], q += s_.row[1]) {             \
            if (s_.col[0] && s_.col[1]) {                                                          \
                for (size_t j = 0; j < s_.n; j++) {                                                \
                    const TX u = p[j], v = q[j];                                                   \
                    o[j] = (TY) (EXPR);                                                            \
                }                                                                                  \
            } else if (s_.col[0]) {                                                                \
                const TX v = *q;                                                                   \
                for (size_t j = 0; j < s_.n; j++) {                                                \
                    const TX u = p[j];                                                             \
                    o[j] = (TY) (EXPR);                                                            \
                }                                                                                  \
            } else {                                                                               \
                const TX u = *p;                                                                   \
                for (size_t j = 0; j < s_.n; j++) {                                                \
                    const TX v = q[j];                                                             \
                    o[j] = (TY) (EXPR);                                                            \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
    }

/* Element types with their C type: LIST(X, extra) calls X(dtype, ctype, extra). */
/* clang-format off */
#define ELEM_SIGNED(X, op)                                                                         \
    X(I8, int8_t, op) X(I16, int16_t, op) X(I32, int32_t, op) X(I64, int64_t, op)
#define ELEM_UNSIGNED(X, op)                                                                       \
    X(U8, uint8_t, op) X(U16, uint16_t, op) X(U32, uint32_t, op) X(U64, uint64_t, op)
/* clang-format on */
#define ELEM_FLOATS(X, op) X(F32, float, op) X(F64, double, op)
#define ELEM_TABLE_ENTRY(T, C, op) [DTYPE_##T] = op##_##T,

/* ---- half floats ---- */

void elem_widen(enum dtype half, float *y, const void *x, size_t n);
void elem_narrow(enum dtype half, void *y, const float *x, size_t n);

/* ---- symbolic sizes ---- */

const struct dim *elem_dim_at(struct dims *ds, const struct tensor *t, const void *data, size_t i);
/* y = f(a, b) with broadcasting over inputs 0 and 1 of e. */
void elem_dims2(const struct eval *e, struct dims *ds,
                const struct dim *(*f)(struct dims *, const struct dim *, const struct dim *) );
/* stem_dim, the eval_dim of dim_stem. */
#define ELEM_DIM2(stem)                                                                            \
    static void stem##_dim(const struct eval *e, struct dims *ds)                                  \
    {                                                                                              \
        elem_dims2(e, ds, dim_##stem);                                                             \
    }
#endif
