/* SPDX-License-Identifier: MIT */
/* Products of program_f32 are chains of fused multiply-adds; its element-wise functions give the
 * bits of the kernels of their names. */
#include "kernels/program.h"
#include "tests/kern/check.h"

#include <math.h>
#include <string.h>

enum { SCRATCH, SOURCE, SUMS, ADDED };

static void run_program(const struct kern *k, const struct kern_instr *s, size_t n,
                        float *const *buffer)
{
    k->program_f32(&(struct kern_program) { s, n }, buffer, NULL, 1, 1);
}

struct shape {
    size_t channels, taps, dilation, stride, rows, panels;
};

static size_t lanes_of(size_t channels)
{
    return (channels + 15) / 16 * 16;
}

static void product_reference(const struct shape *p, float *y, const float *x, const float *w,
                              const float *add)
{
    size_t lanes = lanes_of(p->channels), wide = p->panels * 16;
    for (size_t r = 0; r < p->rows; r++)
        for (size_t o = 0; o < wide; o++) {
            float sum = w[o];
            for (size_t c = 0; c < p->channels; c++)
                for (size_t t = 0; t < p->taps; t++)
                    sum = fmaf(w[(1 + c * p->taps + t) * wide + o],
                               x[(r * p->stride + t * p->dilation) * lanes + c], sum);
            y[r * wide + o] = add ? sum + add[r * wide + o] : sum;
        }
}

/* Of as many channels as outputs. */
static void depthwise_reference(const struct shape *p, float *y, const float *x, const float *w,
                                const float *add)
{
    size_t wide = p->panels * 16;
    for (size_t r = 0; r < p->rows; r++)
        for (size_t o = 0; o < wide; o++) {
            float sum = w[o];
            for (size_t t = 0; t < p->taps; t++)
                sum = fmaf(w[(1 + t) * wide + o], x[(r * p->stride + t * p->dilation) * wide + o],
                           sum);
            y[r * wide + o] = add ? sum + add[r * wide + o] : sum;
        }
}

static void product_check(struct check *t, enum kern_instr_op op, const struct shape *p, bool adds)
{
    const bool apart = op == KERN_DEPTHWISE;
    size_t lanes = lanes_of(p->channels), wide = p->panels * 16, n = p->rows * wide,
           w_n = (1 + (apart ? 1 : p->channels) * p->taps) * wide;
    size_t x_n = ((p->rows - 1) * p->stride + (p->taps - 1) * p->dilation + 1) * lanes;
    float *x = check_buf(t, x_n, false), *w = check_buf(t, w_n, false),
          *add = check_buf(t, n, false);
    float *ref = check_buf(t, n, false), *got = check_buf(t, n, false);
    struct kern_panel panel[8];
    check_fill(t, x, x_n);
    check_fill(t, w, w_n);
    check_fill(t, add, n);
    for (size_t i = 0; i < p->panels; i++)
        panel[i] = (struct kern_panel) {
            .to = { .buffer = SUMS, .at = i * 16 },
            .ld = wide,
            .adds = adds,
            .add = { .buffer = ADDED, .at = i * 16 },
        };
    struct kern_product product = { .channels = p->channels,
                                    .rows = p->rows,
                                    .n_taps = p->taps,
                                    .tap_step = p->dilation * lanes,
                                    .row_step = p->stride * lanes,
                                    .n_panels = p->panels,
                                    .panel = panel,
                                    .w = w };
    struct kern_instr s = { .op = op, .a = { .buffer = SOURCE }, .product = &product };
    (apart ? depthwise_reference : product_reference)(p, ref, x, w, adds ? add : NULL);
    run_program(&t->new, &s, 1, (float *[]) { NULL, x, got, add });
    check_same(t, apart ? "program_f32 depthwise" : "program_f32 product", ref, got, n,
               "%zu channels %zu taps %zu dilation %zu stride %zu rows %zu panels", p->channels,
               p->taps, p->dilation, p->stride, p->rows, p->panels);
    check_drop(t);
}

/* One function by the kernel of its name. */
static void element_reference(const struct kern *k, unsigned op, float *y, const float *a,
                              const float *b, size_t n)
{
    switch (op) {
#define RUN_1(name) k->name##_f32(y, a, n)
#define RUN_2(name) k->name##_f32(y, a, b, n)
#define X(number, name, operands)                                                                  \
    case KERN_##number: RUN_##operands(name); break;
        KERN_POINTWISE(X)
#undef X
    }
}

/* Random element-wise programs on operands that walk and that are one element, row by row. */
#define INPUTS 3
#define STEPS 6

static unsigned below(struct check *t, unsigned n)
{
    return (unsigned) ((check_rand(t) * 0.5f + 0.4999f) * (float) n) % n;
}

static bool is_unary(unsigned op)
{
    static const unsigned char operands_of[] = {
#define X(number, name, operands) operands,
        KERN_POINTWISE(X)
#undef X
    };
    return operands_of[op] == 1;
}

/* An input of rows of n elements: every row and column of them or one for all. */
static struct kern_operand input_make(struct check *t, size_t rows, size_t n, bool one, float **ret,
                                      size_t *ret_row_step, float *wide)
{
    bool every_row = rows == 1 || below(t, 2);
    size_t columns = one ? 1 : n, count = every_row ? rows * columns : columns;
    float *x = *ret = check_buf(t, count, false);
    *ret_row_step = every_row ? columns : 0;
    check_fill(t, x, count);
    for (size_t r = 0; r < rows; r++)
        for (size_t k = 0; k < n; k++)
            wide[r * n + k] = x[r * *ret_row_step + (one ? 0 : k)];
    return (struct kern_operand) { .one = one, .walk = one ? 0 : SIZE_MAX };
}

static void elements_check(struct check *t, size_t rows, size_t n)
{
    struct kern_instr s[STEPS];
    struct kern_operand at[INPUTS + STEPS];
    const size_t count = rows * n;
    const float *value[INPUTS + STEPS]; /* what each is, with all rows and columns */
    float *buffer[1 + INPUTS + 1] = { check_buf(t, STEPS * KERN_PROGRAM_BLOCK, false) };
    size_t row_step[1 + INPUTS + 1] = { 0 };
    for (unsigned i = 0; i < INPUTS; i++) {
        float *wide = check_buf(t, count, false);
        at[i] = input_make(t, rows, n, below(t, 3) == 0, &buffer[1 + i], &row_step[1 + i], wide);
        at[i].buffer = 1 + i;
        value[i] = wide;
    }
    buffer[1 + INPUTS] = check_buf(t, count, false);
    row_step[1 + INPUTS] = n;
    for (unsigned i = 0; i < STEPS; i++) {
        unsigned to = INPUTS + i, a = below(t, to), b = below(t, to),
                 op = below(t, KERN_POINTWISE_COUNT);
        if (is_unary(op) && at[a].one)
            op = KERN_ADD; /* an operand alone is no single element */
        at[to] = i == STEPS - 1 ? (struct kern_operand) { .buffer = 1 + INPUTS, .walk = SIZE_MAX }
                                : (struct kern_operand) { .at = i * KERN_PROGRAM_BLOCK };
        s[i] = (struct kern_instr) { .op = op, .to = at[to], .a = at[a], .b = at[b] };
        float *r = check_buf(t, count, false);
        element_reference(&t->ref, op, r, value[a], value[b], count);
        value[to] = r;
    }
    t->new.program_f32(&(struct kern_program) { s, STEPS }, buffer, row_step, rows, n);
    check_same(t, "program_f32", value[INPUTS + STEPS - 1], buffer[1 + INPUTS], count,
               "%zu rows n %zu", rows, n);
    check_drop(t);
}

/* In frames an instruction has a number of floats of its own; each function, in place too. */
static void frames_check(struct check *t, size_t n)
{
    for (unsigned op = 0; op < KERN_POINTWISE_COUNT; op++) {
        float *a = check_buf(t, n, false), *b = check_buf(t, n, true),
              *ref = check_buf(t, n, false), *got = check_buf(t, n, false);
        struct kern_instr s = {
            .op = op, .to = { .buffer = 2 }, .a = { .buffer = 0 }, .b = { .buffer = 1 }, .n = n
        };
        (op % 2 ? check_fill : check_fill_bits)(t, a, n);
        check_fill(t, b, n);
        element_reference(&t->ref, op, ref, a, b, n);
        run_program(&t->new, &s, 1, (float *[]) { a, b, got });
        check_same(t, "program_f32 in frames", ref, got, n, "op %u n %zu", op, n);
        s.to.buffer = 0;
        run_program(&t->new, &s, 1, (float *[]) { a, b, got });
        check_same(t, "program_f32 in place", ref, a, n, "op %u n %zu", op, n);
        check_drop(t);
    }
}

/* What a quotient, a rounding and a product make: between two numbers of the grid, at the ends and
 * anywhere; and where they make it of that again, behind a slope. */
enum {
    GRID_STEPS = 255,
    GRID_BESIDE = 9,
    GRID_EDGES = GRID_STEPS * GRID_BESIDE,
    GRID_N = GRID_EDGES + 2000
};

struct grid_at {
    float scale;
    int zero, half; /* whole numbers from -half - zero to half - 1 - zero: 8 or 16 bits */
};

static void edges_fill(float *a, struct grid_at at)
{
    const int apart = (2 * at.half - 1) / GRID_STEPS;
    for (int i = 0; i < GRID_EDGES; i++) {
        float x = ((float) (i / GRID_BESIDE * apart - at.half - at.zero) + 0.5f) * at.scale;
        int beside = i % GRID_BESIDE - GRID_BESIDE / 2;
        for (; beside; beside += beside < 0 ? 1 : -1)
            x = nextafterf(x, beside < 0 ? -INFINITY : INFINITY);
        a[i] = x;
    }
}

static void grid_reference(struct check *t, float *y, const float *a, size_t n, struct grid_at at)
{
    float *numbers = check_buf(t, 2 * n, false);
    for (size_t i = 0; i < n; i++) {
        numbers[i] = at.scale;
        numbers[n + i] = (float) at.zero;
    }
    t->ref.div_f32(y, a, numbers, n);
    (at.half > 128 ? t->ref.round_s16_f32 : t->ref.round_s8_f32)(y, y, numbers + n, n);
    t->ref.mul_f32(y, y, numbers, n);
}

static void grid_run(struct check *t, const struct kern_grid *g, float *a, const float *ref,
                     struct grid_at at)
{
    float *got = check_buf(t, GRID_N, false);
    struct kern_instr s = { .op = KERN_GRID,
                            .to = { .buffer = 1, .walk = SIZE_MAX },
                            .a = { .buffer = 0, .walk = SIZE_MAX },
                            .grid = g };
    for (size_t columns = GRID_N; columns > 1; columns /= 40) {
        memset(got, 0, GRID_N * sizeof *got);
        t->new.program_f32(&(struct kern_program) { &s, 1 }, (float *[]) { a, got },
                           (size_t[]) { columns, columns }, GRID_N / columns, columns);
        check_same(t, "program_f32 grid", ref, got, GRID_N / columns * columns,
                   "scale %a zero %d columns %zu twice %d", (double) at.scale, at.zero, columns,
                   g->twice);
    }
}

/* Returns whether the second grid could be one with the first. */
static bool grid_check(struct check *t, struct grid_at at, float slope, struct grid_at then)
{
    struct kern_grid g;
    float *a = check_buf(t, GRID_N, false), *ref = check_buf(t, GRID_N, false);
    bool is = kern_grid_set(&g, at.scale, -at.half - at.zero, at.half - 1 - at.zero), twice = false;
    check_true(t, is, "no grid of %a %d", (double) at.scale, at.zero);
    check_fill_bits(t, a, GRID_N);
    edges_fill(a, at);
    grid_reference(t, ref, a, GRID_N, at);
    if (is) {
        grid_run(t, &g, a, ref, at);
        twice = kern_grid_twice(&g, slope, then.scale, -then.half - then.zero,
                                then.half - 1 - then.zero);
    }
    if (twice) {
        for (int i = 0; i < GRID_N; i++)
            ref[i] = ref[i] < 0 ? ref[i] * slope : ref[i];
        grid_reference(t, ref, ref, GRID_N, then);
        grid_run(t, &g, a, ref, at);
    }
    check_drop(t);
    return twice;
}

static void grids_check(struct check *t)
{
    unsigned twice = 0;
    for (int i = 0; i < 300; i++) {
        const float size = 1 + fabsf(check_rand(t)); /* arguments have no order */
        const int power = (int) below(t, 150) - 75, zero = (int) below(t, 256) - 128,
                  half = i % 4 ? 0x80 : 0x8000;
        struct grid_at at = { ldexpf(size, power), zero * half / 128, half },
                       then = { at.scale * (1 + fabsf(check_rand(t))), zero / 2, 0x80 };
        twice += grid_check(t, at, i % 3 ? check_rand(t) : 1, then);
    }
    check_true(t, twice > 100, "%u of 300 grids are one with another", twice);
}

/* A function, or a product and a sum behind a rounding or none, and a rounding behind it, over rows
 * of n; in place where a has them all. */
static void rounded_check(struct check *t, size_t rows, size_t n, bool scaled)
{
    static const enum kern_instr_op functions[] = { KERN_ADD, KERN_SUB, KERN_MUL, KERN_DIV };
    const size_t count = rows * n;
    const struct grid_at first = { .03f, 7, 0x80 }, last = { .021f, -60, 0x80 },
                         then = { .0291f, 5, 0x80 };
    struct kern_grid g[2];
    float *wide[3], *ref = check_buf(t, count, false), *got = check_buf(t, count, false),
                    *buffer[4] = { got };
    size_t row_step[4] = { n };
    struct kern_instr s = { .op = scaled ? KERN_SCALED : KERN_ROUNDED,
                            .function = functions[below(t, 4)],
                            .to = { .walk = SIZE_MAX },
                            .grid = scaled && below(t, 3) == 0 ? NULL : &g[1],
                            .first = scaled && below(t, 2) ? &g[0] : NULL };
    struct kern_operand *at[] = { &s.a, &s.b, &s.c };
    for (unsigned i = 0; i < 3; i++) {
        wide[i] = check_buf(t, count, false);
        const bool one = i > 0 && (scaled || below(t, 2));
        *at[i] = input_make(t, rows, n, one, &buffer[1 + i], &row_step[1 + i], wide[i]);
        at[i]->buffer = 1 + i;
    }
    if (row_step[1] == n && below(t, 2))
        memcpy(got, wide[0], count * sizeof *got), s.a.buffer = 0;
    bool is = kern_grid_set(&g[0], first.scale, -135, 120) &&
        kern_grid_set(&g[1], last.scale, -68, 187) && !g[0].divides && !g[1].divides,
         twice = s.grid && below(t, 2) && kern_grid_twice(&g[1], .25f, then.scale, -133, 122);
    check_true(t, is, "no grid of %a and %a", (double) first.scale, (double) last.scale);
    bool joins = s.first && s.grid && below(t, 2) &&
        kern_grid_join(&g[1], &g[0], rows, buffer[2], row_step[2], buffer[3], row_step[3]);
    memcpy(ref, wide[0], count * sizeof *ref);
    if (s.first)
        grid_reference(t, ref, ref, count, first);
    element_reference(&t->ref, scaled ? KERN_MUL : s.function, ref, ref, wide[1], count);
    if (scaled)
        t->ref.add_f32(ref, ref, wide[2], count);
    if (s.grid)
        grid_reference(t, ref, ref, count, last);
    for (size_t i = 0; twice && i < count; i++)
        ref[i] = ref[i] < 0 ? ref[i] * .25f : ref[i];
    if (twice)
        grid_reference(t, ref, ref, count, then);
    t->new.program_f32(&(struct kern_program) { &s, 1 }, buffer, row_step, rows, n);
    check_same(t, scaled ? "program_f32 scaled" : "program_f32 rounded", ref, got, count,
               "%zu rows n %zu function %d one %d twice %d joins %d", rows, n, (int) s.function,
               s.b.one, twice, joins);
    check_drop(t);
}

/* Loaded, moved down over itself by a row, and stored. */
static void moves_check(struct check *t, size_t channels, size_t rows)
{
    size_t lanes = lanes_of(channels), n = channels * rows;
    float *x = check_buf(t, n, false), *mid = check_buf(t, lanes * rows, false),
          *y = check_buf(t, n, false), *ref = check_buf(t, n, false);
    struct kern_instr s[3] = {
        { .op = KERN_LOAD,
          .to = { .buffer = 1 },
          .a = { .buffer = 0 },
          .n = channels,
          .rows = rows,
          .ld = lanes },
        { .op = KERN_COPY,
          .to = { .buffer = 1 },
          .a = { .buffer = 1, .at = rows > 1 ? lanes : 0 },
          .n = (rows > 1 ? rows - 1 : 1) * lanes },
        { .op = KERN_STORE,
          .to = { .buffer = 2 },
          .a = { .buffer = 1 },
          .n = channels,
          .rows = rows,
          .ld = lanes },
    };
    check_fill_bits(t, x, n);
    for (size_t i = 0; i < n; i++)
        ref[i] = x[i % rows + 1 < rows ? i + 1 : i];
    run_program(&t->new, s, 3, (float *[]) { x, mid, y });
    check_same(t, "program_f32 moves", ref, y, n, "%zu channels %zu rows", channels, rows);
    for (size_t r = 0; r < rows; r++)
        for (size_t i = channels; i < lanes; i++)
            t->failed += mid[r * lanes + i] != 0;
    check_drop(t);
}

enum { CLOCK = ADDED + 1 };

/* Frames of a run before, in and behind a sequence, where they lie and elsewhere. */
static void pad_check(struct check *t, int64_t run, int64_t length, bool in_place)
{
    enum { ROWS = 3, LD = 32 };
    const int64_t clock[] = { run, length };
    const struct kern_pad pad = { .pulse = ROWS, .delay = 4, .length = 1 };
    float *x = check_buf(t, ROWS * LD, false), *ref = check_buf(t, ROWS * LD, false),
          *apart = check_buf(t, ROWS * LD, false), *got = in_place ? x : apart;
    const struct kern_instr s = { .op = KERN_PAD,
                                  .to = { .buffer = SUMS },
                                  .a = { .buffer = SOURCE },
                                  .b = { .buffer = CLOCK },
                                  .n = ROWS * LD,
                                  .rows = ROWS,
                                  .ld = LD,
                                  .pad = &pad };
    check_fill(t, x, ROWS * LD);
    for (int64_t i = 0; i < ROWS * LD; i++) {
        const int64_t frame = run * ROWS - 4 + i / LD;
        ref[i] = frame >= 0 && frame < length ? x[i] : 0;
    }
    run_program(&t->new, &s, 1, (float *[]) { NULL, x, got, NULL, (void *) (uintptr_t) clock });
    check_same(t, "program_f32 pad", ref, got, ROWS * LD, "run %lld of %lld frames",
               (long long) run, (long long) length);
    check_drop(t);
}

static void pads_check(struct check *t)
{
    for (int64_t run = 0; run < 5; run++)
        for (int64_t length = 0; length < 8; length++)
            for (int in_place = 0; in_place < 2; in_place++)
                pad_check(t, run, length == 7 ? INT64_MAX : length, in_place);
}

void check_program(struct check *t)
{
    static const size_t channels[] = { 1, 5, 12, 16, 33 };
    for (size_t c = 0; c < sizeof channels / sizeof *channels; c++)
        for (size_t rows = 1; rows <= 9; rows++)
            for (size_t panels = 1; panels <= 7; panels++) {
                size_t odd = c + rows + panels;
                struct shape p = { channels[c],     1 + odd % 4, 1 + odd % 3,
                                   1 + odd / 2 % 2, rows,        panels };
                product_check(t, KERN_PRODUCT, &p, odd % 2);
                p.channels = panels * 16;
                product_check(t, KERN_DEPTHWISE, &p, odd % 2);
            }
    pads_check(t);
    static const size_t sizes[] = { 1, 2, 12, 15, 16, 17, 33, 64, 511, 512, 513, 1040, 1100 };
    for (int i = 0; i < 40; i++)
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
            for (size_t rows = 1; rows <= 40; rows = 3 * rows + 1)
                for (int kind = 0; kind < 3; kind++)
                    kind ? rounded_check(t, rows, sizes[k], kind > 1)
                         : elements_check(t, rows, sizes[k]);
    grids_check(t);
    for (size_t n = 16; n <= 80; n += 16)
        frames_check(t, n);
    for (size_t c = 0; c < sizeof channels / sizeof *channels; c++)
        for (size_t rows = 1; rows <= 9; rows += 2)
            moves_check(t, channels[c], rows);
}
