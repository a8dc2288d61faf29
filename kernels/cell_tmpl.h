/* SPDX-License-Identifier: MIT */
/* Recurrent cells. Small ones, of at most 16 units, keep states and gates in registers for a whole
 * sequence: a vector holds 16 / width rows of units side by side, and two vectors are under way at
 * once, because each waits for itself. */

#include "kernels/cell.h"

#define CELL_VECS  2        /* vectors under way */
#define CELL_SLOTS 4        /* rows in a vector, at most */

#ifndef CELL_ACC
#define CELL_ACC 6      /* sums that are under way in registers */
#endif

#ifndef V16_PARTS
/* Lanes from .. from+n-1 of a come from p. */
static inline v16 v16_load_part(v16 a, const float *p, size_t from, size_t n)
{
    float t[16];
    v16_store(t, a);
    for (size_t i = 0; i < n; i++)
        t[from + i] = p[i];
    return v16_load(t);
}

static inline void v16_store_part(float *p, v16 a, size_t from, size_t n)
{
    float t[16];
    v16_store(t, a);
    for (size_t i = 0; i < n; i++)
        p[i] = t[from + i];
}

/* Each width lanes hold p[0], p[1], .. */
static inline v16 v16_join(const float *const *p, size_t at, int width)
{
    float t[16];
    for (int l = 0; l < 16; l++)
        t[l] = p[l / width][at];
    return v16_load(t);
}

/* Every lane of a group of `width` holds the group's k-th. */
static inline v16 v16_spread(v16 a, size_t k, int width)
{
    float t[16], r[16];
    v16_store(t, a);
    for (int l = 0; l < 16; l++)
        r[l] = t[(size_t) (l / width * width) + k];
    return v16_load(r);
}
#endif

#define CELL_GATES(kind) ((kind) == KERN_CELL_RNN ? 1 : (kind) == KERN_CELL_LSTM ? 4 : 3)
#define EACH_VEC  V16_UNROLL for (int v = 0; v < vecs; v++)
#define EACH_GATE V16_UNROLL for (int g = 0; g < gates; g++)
#define EACH_SLOT V16_UNROLL for (int s = 0; s < slots; s++)

/* What is under way: the rows of each vector and its states. */
struct FN(small) {
    const float *bias[CELL_VECS], *w[CELL_VECS], *r[CELL_VECS];
    const float *x[CELL_VECS][CELL_SLOTS];
    float *y[CELL_VECS][CELL_SLOTS];
    v16 h[CELL_VECS], c[CELL_VECS];
};

/* (1 - z) * n + z * h */
static inline v16 FN(gru_next)(v16 z, v16 n, v16 h)
{
    return v16_add(v16_mul(v16_sub(v16_set1(1.0f), z), n), v16_mul(z, h));
}

/* Gates are sums with biases and inputs; their chains go on over the states. a[.][3] of a GRU: the
 * candidate's own chain. */
V16_UNROLLED void FN(small_recur)(struct FN(small) * q, v16 (*a)[4], size_t hidden, const int kind,
                                  const int width, const int vecs)
{
    const int gates = CELL_GATES(kind), with_h = kind == KERN_CELL_GRU_RESET_BEFORE ? 2 : gates;
    for (size_t k = 0; k < hidden; k++)
        EACH_VEC {
            v16 h = v16_spread(q->h[v], k, width);
            V16_UNROLL for (int g = 0; g < with_h; g++) {
                int to = kind == KERN_CELL_GRU && g == 2 ? 3 : g;
                a[v][to] = v16_fma(v16_load(q->r[v] + (k * (size_t) gates + (size_t) g) * 16), h,
                                   a[v][to]);
            }
        }
}

V16_UNROLLED void FN(small_gru)(struct FN(small) * q, v16 (*a)[4], size_t hidden, const int kind,
                                const int width, const int vecs)
{
    EACH_VEC
        a[v][1] = FN(v_sigmoid)(a[v][1]);
    EACH_VEC
        a[v][0] = FN(v_sigmoid)(a[v][0]);
    if (kind == KERN_CELL_GRU) {
        EACH_VEC
            a[v][2] = v16_add(a[v][2], v16_mul(a[v][3], a[v][1]));
    } else {
        EACH_VEC
            a[v][1] = v16_mul(a[v][1], q->h[v]);
        for (size_t k = 0; k < hidden; k++)
            EACH_VEC
        a[v][2] =
            v16_fma(v16_load(q->r[v] + (k * 3 + 2) * 16), v16_spread(a[v][1], k, width), a[v][2]);
    }
    EACH_VEC
        q->h[v] = FN(gru_next)(a[v][0], FN(v_tanh)(a[v][2]), q->h[v]);
}

V16_UNROLLED void FN(small_lstm)(struct FN(small) *q, v16 (*a)[4], const int vecs)
{
    EACH_VEC
        a[v][3] = v16_mul(FN(v_sigmoid)(a[v][0]), FN(v_tanh)(a[v][3]));
    EACH_VEC
        q->c[v] = v16_add(v16_mul(FN(v_sigmoid)(a[v][2]), q->c[v]), a[v][3]);
    EACH_VEC
        q->h[v] = v16_mul(FN(v_sigmoid)(a[v][1]), FN(v_tanh)(q->c[v]));
}

/* Chains of the gates over biases and inputs. */
V16_UNROLLED void FN(small_inputs)(struct FN(small) * q, v16 (*a)[4], size_t inputs, const int kind,
                                   const int width, const int vecs)
{
    const int gates = CELL_GATES(kind);
    EACH_VEC
        EACH_GATE
            a[v][g] = v16_load(q->bias[v] + g * 16);
    if (kind == KERN_CELL_GRU)
        EACH_VEC
            a[v][3] = v16_load(q->bias[v] + 3 * 16);
    for (size_t k = 0; k < inputs; k++)
        EACH_VEC {
            v16 x = v16_join(q->x[v], k, width);
            EACH_GATE
            a[v][g] =
                v16_fma(v16_load(q->w[v] + (k * (size_t) gates + (size_t) g) * 16), x, a[v][g]);
        }
}

V16_UNROLLED void FN(small_gates)(struct FN(small) * q, v16 (*a)[4], size_t hidden, const int kind,
                                  const int width, const int vecs)
{
    if (kind == KERN_CELL_LSTM)
        FN(small_lstm)(q, a, vecs);
    else if (kind == KERN_CELL_RNN)
        EACH_VEC
            q->h[v] = FN(v_tanh)(a[v][0]);
    else
        FN(small_gru)(q, a, hidden, kind, width, vecs);
}

/* Rows that do not exist read the first one and are not stored. */
V16_UNROLLED void FN(small_run)(const struct kern_cell *c, const struct kern_cell_row *row,
                                size_t first, size_t n, size_t steps, const int kind,
                                const int width, const int vecs)
{
    const int slots = 16 / width, gates = CELL_GATES(kind);
    struct FN(small) q;
    ptrdiff_t dx[CELL_VECS][CELL_SLOTS], dy[CELL_VECS][CELL_SLOTS];
    EACH_VEC {
        size_t set = width == 16 ? (first + (size_t) v) % c->dirs : 0;
        q.bias[v] = c->weights + set * kern_cell_floats(c);
        q.w[v] = q.bias[v] + 4 * 16;
        q.r[v] = q.w[v] + c->inputs * (size_t) gates * 16;
        q.h[v] = q.c[v] = v16_set1(0);
        EACH_SLOT {
            size_t i = (size_t) (v * slots + s), from = (size_t) (s * width);
            const struct kern_cell_row *at = row + (i < n ? i : 0);
            q.x[v][s] = at->x;
            q.y[v][s] = i < n ? at->y : NULL;
            dx[v][s] = at->x_step;
            dy[v][s] = at->y_step;
            if (i < n && at->h_from)
                q.h[v] = v16_load_part(q.h[v], at->h_from, from, c->hidden);
            if (kind == KERN_CELL_LSTM && i < n && at->c_from)
                q.c[v] = v16_load_part(q.c[v], at->c_from, from, c->hidden);
        }
    }
    v16 a[CELL_VECS][4], next[CELL_VECS][4];
    EACH_VEC                            /* those of gates that the kind has not are copied, too */
        V16_UNROLL for (int g = 0; g < 4; g++)
            next[v][g] = v16_set1(0);
    if (steps)
        FN(small_inputs)(&q, next, c->inputs, kind, width, vecs);
    for (size_t t = 0; t < steps; t++) {
        EACH_VEC
            V16_UNROLL for (int g = 0; g < 4; g++)
                a[v][g] = next[v][g];
        FN(small_recur)(&q, a, c->hidden, kind, width, vecs);
        if (t + 1 <
            steps) { /* the next step's inputs fill the time that this one waits for itself */
            EACH_VEC
                EACH_SLOT
                    q.x[v][s] += dx[v][s];
            FN(small_inputs)(&q, next, c->inputs, kind, width, vecs);
        }
        FN(small_gates)(&q, a, c->hidden, kind, width, vecs);
        EACH_VEC
            EACH_SLOT
                if (q.y[v][s]) {
                    v16_store_part(q.y[v][s], q.h[v], (size_t) (s * width), c->hidden);
                    q.y[v][s] += dy[v][s];
                }
    }
    EACH_VEC
        EACH_SLOT {
            size_t i = (size_t) (v * slots + s), from = (size_t) (s * width);
            if (i < n && row[i].h)
                v16_store_part(row[i].h, q.h[v], from, c->hidden);
            if (kind == KERN_CELL_LSTM && i < n && row[i].c)
                v16_store_part(row[i].c, q.c[v], from, c->hidden);
        }
}
#undef EACH_VEC
#undef EACH_GATE
#undef EACH_SLOT

typedef void FN(small_fn)(const struct kern_cell *c, const struct kern_cell_row *row, size_t first,
                          size_t n, size_t steps);

#define CELL_WIDTHS(X, kind)                                                                       \
    X(kind, 4, 1) X(kind, 4, 2) X(kind, 8, 1) X(kind, 8, 2) X(kind, 16, 1) X(kind, 16, 2)
#define CELL_ALL(X)                                                                                \
    CELL_WIDTHS(X, RNN) CELL_WIDTHS(X, GRU) CELL_WIDTHS(X, GRU_RESET_BEFORE) CELL_WIDTHS(X, LSTM)
#define X(kind, width, vecs)                                                                                        \
    static void FN(small_##kind##_##width##_##vecs)(const struct kern_cell *c, const struct kern_cell_row *row,    \
                                                    size_t first, size_t n, size_t steps)                          \
    {                                                                                                              \
        FN(small_run)(c, row, first, n, steps, KERN_CELL_##kind, width, vecs);                                     \
    }
CELL_ALL(X)
#undef X

static FN(small_fn) *const FN(small_fns)[][3][CELL_VECS] = {
#define X(kind, width, vecs)                                                                       \
    [KERN_CELL_##kind][(width) / 8][(vecs) -1] = FN(small_##kind##_##width##_##vecs),
    CELL_ALL(X)
#undef X
};

static void FN(cell_small_f32)(const struct kern_cell *c, const struct kern_cell_row *row,
                               size_t n_rows, size_t steps)
{
    size_t slots = 16 / c->width, vecs;
    for (size_t i = 0; i < n_rows; i += vecs * slots) {
        size_t left = n_rows - i;
        vecs = left > slots ? 2 : 1;
        FN(small_fns)
        [c->kind][c->width / 8][vecs - 1](c, row + i, i, left < vecs * slots ? left : vecs * slots,
                                          steps);
    }
}
