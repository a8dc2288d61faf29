/* SPDX-License-Identifier: MIT */
/* Programs over a few frames: see kernels/stack.h. Lanes along channels; a tile of a product is
 * rows by panels of sums in registers, and its results are stored as the next step reads them. */

#define EACH_PANEL V16_UNROLL for (int p = 0; p < panels; p++)
#define EACH_ROW   V16_UNROLL for (int r = 0; r < rows; r++)

/* x: first row's first tap; w: of the first panel. */
V16_UNROLLED void FN(stack_tile)(const struct kern_stack_step *s, float *const *room,
                                 const float *restrict x, size_t row, size_t first, const int rows,
                                 const int panels)
{
    v16 acc[GEMM_ACC];
    const size_t wide = s->n_panels * 16, n_taps = s->n_taps, tap_step = s->tap_step,
                 step = s->row_step;
    const float *w = s->w + first * 16;
    EACH_PANEL
        EACH_ROW
            acc[p * rows + r] = v16_load(w + p * 16);
    w += wide;
    for (const float *end = x + s->n; x != end; x++) {
        const float *xt = x;
        for (size_t t = n_taps; t; t--, xt += tap_step, w += wide) {
            v16 in[8];
            EACH_ROW
                in[r] = v16_set1(xt[(size_t) r * step]);
            EACH_PANEL {
                v16 wp = v16_load(w + p * 16);
                EACH_ROW
                    acc[p * rows + r] = v16_fma(wp, in[r], acc[p * rows + r]);
            }
        }
    }
    EACH_PANEL {
        const struct kern_stack_panel *to = s->panel + first + p;
        float *y = room[to->to.room] + to->to.at + row * to->ld;
        if (to->adds) {
            const float *add = room[to->add.room] + to->add.at + row * to->ld;
            EACH_ROW
                acc[p * rows + r] = v16_add(acc[p * rows + r], v16_load(add + (size_t) r * to->ld));
        }
        EACH_ROW
            v16_store(y + (size_t) r * to->ld, acc[p * rows + r]);
    }
}
#undef EACH_PANEL
#undef EACH_ROW

typedef void FN(stack_fn)(const struct kern_stack_step *s, float *const *room,
                          const float *restrict x, size_t row, size_t first);

#define STACK_PANELS_MOST 4
#define STACK_TILES(X) X(1, 1) X(1, 2) X(1, 3) X(1, 4) X(2, 1) X(2, 2) X(2, 3) X(3, 1) X(3, 2) X(3, 3) X(4, 1) X(4, 2) X(4, 3) \
    X(8, 1) X(8, 2) X(8, 3)
#define X(rows, panels)                                                                                              \
    static void FN(stack_##rows##x##panels)(const struct kern_stack_step *s, float *const *room, const float *restrict x, \
                                            size_t row, size_t first)                                                \
    {                                                                                                                \
        if (panels <= GEMM_FIT(rows))                                                                                \
            FN(stack_tile)(s, room, x, row, first, rows, panels);                                                    \
    }
STACK_TILES(X)
#undef X

static FN(stack_fn) *const FN(stack_fns)[9][STACK_PANELS_MOST + 1] = {
#define X(rows, panels)                                                                            \
    [rows][panels] = panels <= GEMM_FIT(rows) ? FN(stack_##rows##x##panels) : NULL,
    STACK_TILES(X)
#undef X
};

static void FN(stack_product)(const struct kern_stack_step *s, float *const *room)
{
    const float *x = room[s->a.room] + s->a.at;
    for (size_t row = 0, rows; row < s->rows; row += rows, x += rows * s->row_step) {
        for (rows = 8; rows > s->rows - row || !FN(stack_fns)[rows][1]; rows--)
            ;
        for (size_t p = 0, panels; p < s->n_panels; p += panels) {
            panels = s->n_panels - p < STACK_PANELS_MOST ? s->n_panels - p : STACK_PANELS_MOST;
            while (!FN(stack_fns)[rows][panels])
                panels--;
            FN(stack_fns)[rows][panels](s, room, x, row, p);
        }
    }
}

static void FN(stack_load)(const struct kern_stack_step *s, float *restrict to,
                           const float *restrict a)
{
    const size_t n = s->n, rows = s->rows, ld = s->ld;
    for (size_t r = 0; r < rows; r++)
        for (size_t i = n; i < ld; i++)
            to[r * ld + i] = 0;
    for (size_t i = 0; i < n; i++, a += rows)
        for (size_t r = 0; r < rows; r++)
            to[r * ld + i] = a[r];
}

static void FN(stack_store)(const struct kern_stack_step *s, float *restrict to,
                            const float *restrict a)
{
    const size_t n = s->n, rows = s->rows, ld = s->ld;
    for (size_t i = 0; i < n; i++, to += rows)
        for (size_t r = 0; r < rows; r++)
            to[r] = a[r * ld + i];
}

static inline void FN(stack_gate)(float *to, const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i += 16)
        v16_store(to + i, v16_mul(FN(v_tanh)(v16_load(a + i)), FN(v_sigmoid)(v16_load(b + i))));
}

static void FN(stack_f32)(const struct kern_stack *stack, float *const *room)
{
    for (const struct kern_stack_step *s = stack->step, *end = s + stack->n_steps; s != end; s++) {
        float *to = room[s->to.room] + s->to.at;
        const float *a = room[s->a.room] + s->a.at, *b = room[s->b.room] + s->b.at;
        size_t n = s->n;
        switch (s->op) {
        case KERN_STACK_LOAD: FN(stack_load)(s, to, a); break;
        case KERN_STACK_STORE: FN(stack_store)(s, to, a); break;
        case KERN_STACK_PRODUCT: FN(stack_product)(s, room); break;
        case KERN_STACK_COPY:
            for (size_t i = 0; i < n; i += 16)
                v16_store(to + i, v16_load(a + i));
            break;
        case KERN_STACK_GATE: FN(stack_gate)(to, a, b, n); break;
        case KERN_STACK_ADD: FN(add_f32)(to, a, b, n); break;
        case KERN_STACK_SUB: FN(sub_f32)(to, a, b, n); break;
        case KERN_STACK_MUL: FN(mul_f32)(to, a, b, n); break;
        case KERN_STACK_DIV: FN(div_f32)(to, a, b, n); break;
        case KERN_STACK_RELU: FN(relu_f32)(to, a, n); break;
        case KERN_STACK_SIGMOID: FN(sigmoid_f32)(to, a, n); break;
        case KERN_STACK_TANH: FN(tanh_f32)(to, a, n); break;
        case KERN_STACK_OPS: break;
        }
    }
}
