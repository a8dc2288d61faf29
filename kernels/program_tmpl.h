/* SPDX-License-Identifier: MIT */
/* Fused programs: see kernels/program.h. */

/* ---- products: lanes along channels; a tile is rows by panels of sums in registers ---- */

#define EACH_PANEL V16_UNROLL for (int p = 0; p < panels; p++)
#define EACH_ROW   V16_UNROLL for (int r = 0; r < rows; r++)

/* What is added to the sums of a tile, and where they go. */
V16_UNROLLED void FN(frames_end)(const struct kern_product *s, float *const *buffer, v16 *acc, size_t row,
                                 size_t first, const int rows, const int panels)
{
    EACH_PANEL {
        const struct kern_panel *to = s->panel + first + p;
        float *y = buffer[to->to.buffer] + to->to.at + row * to->ld;
        if (to->adds) {
            const float *add = buffer[to->add.buffer] + to->add.at + row * to->ld;
            EACH_ROW
                acc[p * rows + r] = v16_add(acc[p * rows + r], v16_load(add + (size_t) r * to->ld));
        }
        EACH_ROW
            v16_store(y + (size_t) r * to->ld, acc[p * rows + r]);
    }
}

/* x: first row's first tap; w: of the first panel. */
V16_UNROLLED void FN(frames_tile)(const struct kern_product *s, float *const *buffer,
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
    for (const float *end = x + s->channels; x != end; x++) {
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
    FN(frames_end)(s, buffer, acc, row, first, rows, panels);
}

/* The same of each channel with itself; x: first row's first tap. */
V16_UNROLLED void FN(depths_tile)(const struct kern_product *s, float *const *buffer,
                                  const float *restrict x, size_t row, size_t first, const int rows,
                                  const int panels)
{
    v16 acc[GEMM_ACC];
    const size_t wide = s->n_panels * 16, tap_step = s->tap_step, step = s->row_step;
    const float *w = s->w + first * 16;
    EACH_PANEL
        EACH_ROW
            acc[p * rows + r] = v16_load(w + p * 16);
    x += first * 16;
    for (size_t t = s->n_taps; t; t--, x += tap_step) {
        w += wide;
        EACH_PANEL {
            const v16 wp = v16_load(w + p * 16);
            EACH_ROW
                acc[p * rows + r] = v16_fma(wp, v16_load(x + (size_t) r * step + p * 16), acc[p * rows + r]);
        }
    }
    FN(frames_end)(s, buffer, acc, row, first, rows, panels);
}
#undef EACH_PANEL
#undef EACH_ROW

typedef void FN(frames_fn)(const struct kern_product *s, float *const *buffer,
                           const float *restrict x, size_t row, size_t first);

#define FRAMES_PANELS_MOST 4
#define FRAMES_TILES(X, kind) \
    X(kind, 1, 1) X(kind, 1, 2) X(kind, 1, 3) X(kind, 1, 4) X(kind, 2, 1) X(kind, 2, 2) X(kind, 2, 3) X(kind, 3, 1) \
    X(kind, 3, 2) X(kind, 3, 3) X(kind, 4, 1) X(kind, 4, 2) X(kind, 4, 3) X(kind, 8, 1) X(kind, 8, 2) X(kind, 8, 3)
#define X(kind, rows, panels)                                                                                        \
    static void FN(kind##_##rows##x##panels)(const struct kern_product *s, float *const *buffer,                       \
                                             const float *restrict x, size_t row, size_t first)                      \
    {                                                                                                                \
        if (panels <= GEMM_FIT(rows))                                                                                \
            FN(kind##_tile)(s, buffer, x, row, first, rows, panels);                                                   \
    }
FRAMES_TILES(X, frames)
FRAMES_TILES(X, depths)
#undef X

#define X(kind, rows, panels)                                                                      \
    [rows][panels] = panels <= GEMM_FIT(rows) ? FN(kind##_##rows##x##panels) : NULL,
static FN(frames_fn) *const FN(frames_fns)[9][FRAMES_PANELS_MOST + 1] = { FRAMES_TILES(X, frames) };
static FN(frames_fn) *const FN(depths_fns)[9][FRAMES_PANELS_MOST + 1] = { FRAMES_TILES(X, depths) };
#undef X

V16_UNROLLED void FN(frames_run)(const struct kern_product *s, float *const *buffer, const float *x,
                                 FN(frames_fn) *const fns[9][FRAMES_PANELS_MOST + 1])
{
    for (size_t row = 0, rows; row < s->rows; row += rows, x += rows * s->row_step) {
        for (rows = 8; rows > s->rows - row || !fns[rows][1]; rows--)
            ;
        for (size_t p = 0, panels; p < s->n_panels; p += panels) {
            panels = s->n_panels - p < FRAMES_PANELS_MOST ? s->n_panels - p : FRAMES_PANELS_MOST;
            while (!fns[rows][panels])
                panels--;
            fns[rows][panels](s, buffer, x, row, p);
        }
    }
}

static void FN(program_product)(const struct kern_product *s, float *const *buffer, const float *x)
{
    FN(frames_run)(s, buffer, x, FN(frames_fns));
}

static void FN(program_depthwise)(const struct kern_product *s, float *const *buffer, const float *x)
{
    FN(frames_run)(s, buffer, x, FN(depths_fns));
}

/* ---- other instructions ---- */

static void FN(program_load)(const struct kern_instr *s, float *restrict to,
                             const float *restrict a)
{
    const size_t n = s->n, rows = s->rows, ld = s->ld;
    for (size_t r = 0; r < rows; r++)
        for (size_t i = n; i < ld; i++)
            to[r * ld + i] = 0;
    if (n >= 4) {
        FN(move_turn)(to, (ptrdiff_t) ld, a, (ptrdiff_t) rows, rows, n);
        return;
    }
    for (size_t i = 0; i < n; i++, a += rows)
        for (size_t r = 0; r < rows; r++)
            to[r * ld + i] = a[r];
}

static void FN(program_store)(const struct kern_instr *s, float *restrict to,
                              const float *restrict a)
{
    if (s->rows == 1)
        FN(move_row)(to, a, s->n, 1, 1);
    else
        FN(move_turn)(to, (ptrdiff_t) s->rows, a, (ptrdiff_t) s->ld, s->n, s->rows);
}

static void FN(program_copy)(float *to, const float *a, size_t n)
{
    for (size_t i = 0; i < n; i += 16)
        v16_store(to + i, v16_load(a + i));
}

static void FN(program_pad)(const struct kern_instr *s, float *to, const float *a, const int64_t *clock)
{
    const struct kern_pad *p = s->pad;
    const uint64_t first = (uint64_t) clock[0] * (uint64_t) p->pulse - (uint64_t) p->delay;
    for (size_t r = 0; r < s->rows; r++, to += s->ld, a += s->ld) {
        const int64_t frame = (int64_t) (first + r);
        if (frame < 0 || frame >= clock[p->length])
            memset(to, 0, s->ld * sizeof *to);
        else if (to != a)
            FN(program_copy)(to, a, s->ld);
    }
}

/* Elements of rows, from `row` on and from element `done` of each. */
struct FN(program_block) {
    const size_t *row_step;
    size_t row, rows, done, n;
};

static inline float *FN(program_at)(float *const *buffer, const struct kern_operand *o,
                                    const struct FN(program_block) * b)
{
    float *at = buffer[o->buffer] + o->at + (b->done & o->walk);
    return b->row && (o->one || o->walk) ? at + b->row * b->row_step[o->buffer] : at;
}

/* Floats from one row to the next; rows of scratch lie one after the other. */
static inline size_t FN(program_row_step)(const struct kern_operand *o,
                                          const struct FN(program_block) * b)
{
    return o->one || o->walk ? b->row_step[o->buffer] : b->n;
}

/* Instructions that go over their rows themselves. */
static void FN(program_rows)(const struct kern_instr *i, float *const *buffer,
                             const struct FN(program_block) *b)
{
    float *to = FN(program_at)(buffer, &i->to, b);
    const float *x = FN(program_at)(buffer, &i->a, b), *y = FN(program_at)(buffer, &i->b, b);
    struct FN(grid_rows) s = { .rows = b->rows, .n = b->n };
    if (b->rows > 1) {
        s.to_step = FN(program_row_step)(&i->to, b);
        s.a_step = FN(program_row_step)(&i->a, b);
        s.b_step = FN(program_row_step)(&i->b, b);
        s.c_step = i->op == KERN_SCALED ? FN(program_row_step)(&i->c, b) : 0;
    }
    if (i->op == KERN_SCALED)
        FN(program_scaled)(to, x, y, FN(program_at)(buffer, &i->c, b), i, &s);
    else
        FN(program_rounded)(to, x, y, i, &s);
}

V16_UNROLLED void FN(program_instr)(const struct kern_instr *i, float *const *buffer,
                                    const struct FN(program_block) block)
{
    const struct FN(program_block) *b = &block;
    float *to = FN(program_at)(buffer, &i->to, b);
    const float *x = FN(program_at)(buffer, &i->a, b), *y;
    size_t n = i->n ? i->n : b->n, rows, to_step, x_step, y_step;
    switch (i->op) {
#define STEPS                                                                                      \
    to_step = FN(program_row_step)(&i->to, b), x_step = FN(program_row_step)(&i->a, b)
/* Rows that lie one after the other are one. */
#define EACH_ROW(CALL)                                                                             \
    rows = b->rows, to_step = x_step = n;                                                          \
    if (rows > 1)                                                                                  \
        STEPS;                                                                                     \
    if (to_step == n && x_step == n)                                                               \
        n *= rows, rows = 1;                                                                       \
    for (size_t r = 0; r < rows; r++, to += to_step, x += x_step)                                  \
        CALL;
#define RUN_1(name) EACH_ROW(FN(name##_f32)(to, x, n))
#define RUN_2(name)                                                                                \
    y = FN(program_at)(buffer, &i->b, b);                                                          \
    FN(name##_any)(to, x, y, i->a.one, i->b.one, n);                                               \
    if (b->rows > 1) {                                                                             \
        STEPS, y_step = FN(program_row_step)(&i->b, b);                                            \
        for (size_t r = 1; r < b->rows; r++)                                                       \
            FN(name##_any)(to += to_step, x += x_step, y += y_step, i->a.one, i->b.one, n);        \
    }
#define X(number, name, operands)                                                                  \
    case KERN_##number: RUN_##operands(name) break;
        KERN_POINTWISE(X)
#undef X
    case KERN_GRID:
        EACH_ROW(FN(program_grid)(to, x, i->grid, n))
        break;
    case KERN_ROUNDED:
    case KERN_SCALED: FN(program_rows)(i, buffer, b); break;
#undef EACH_ROW
#undef RUN_1
#undef RUN_2
#undef STEPS
    case KERN_LOAD: FN(program_load)(i, to, x); break;
    case KERN_STORE: FN(program_store)(i, to, x); break;
    case KERN_COPY: FN(program_copy)(to, x, n); break;
    case KERN_PRODUCT: FN(program_product)(i->product, buffer, x); break;
    case KERN_DEPTHWISE: FN(program_depthwise)(i->product, buffer, x); break;
    case KERN_PAD: FN(program_pad)(i, to, x, (const void *) buffer[i->b.buffer]); break;
    }
}

static void FN(program_f32)(const struct kern_program *p, float *const *buffer,
                            const size_t *row_step, size_t rows, size_t n)
{
    const struct kern_instr *end = p->instr + p->n_instrs;
    if (rows == 1 && n <= KERN_PROGRAM_BLOCK) {
        for (const struct kern_instr *i = p->instr; i != end; i++)
            FN(program_instr)(i, buffer, (struct FN(program_block)) { NULL, 0, 1, 0, n });
        return;
    }
    const size_t at_once = n && n < KERN_PROGRAM_BLOCK ? KERN_PROGRAM_BLOCK / n : 1;
    for (size_t row = 0, k; row < rows; row += k) {
        k = rows - row < at_once ? rows - row : at_once;
        for (size_t done = 0, block; done < n; done += block) {
            block = n - done < KERN_PROGRAM_BLOCK ? n - done : KERN_PROGRAM_BLOCK;
            for (const struct kern_instr *i = p->instr; i != end; i++)
                FN(program_instr)(i, buffer,
                                  (struct FN(program_block)) { row_step, row, k, done, block });
        }
    }
}
