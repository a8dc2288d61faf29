/* SPDX-License-Identifier: MIT */
/* Products of stack_f32 are chains of fused multiply-adds; its other steps give the bits of the
 * kernels of their names. */
#include "kernels/stack.h"
#include "tests/kern/check.h"

#include <math.h>
#include <string.h>

enum { SCRATCH, SOURCE, SUMS, ADDED };

static void run(const struct kern *k, const struct kern_stack_step *s, size_t n, float *const *room)
{
    k->stack_f32(&(struct kern_stack) { s, n }, room);
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

static void product_check(struct check *t, const struct shape *p, bool adds)
{
    size_t lanes = lanes_of(p->channels), wide = p->panels * 16, n = p->rows * wide,
           w_n = (1 + p->channels * p->taps) * wide;
    size_t x_n = ((p->rows - 1) * p->stride + (p->taps - 1) * p->dilation + 1) * lanes;
    float *x = check_buf(t, x_n, false), *w = check_buf(t, w_n, false),
          *add = check_buf(t, n, false);
    float *ref = check_buf(t, n, false), *got = check_buf(t, n, false);
    struct kern_stack_panel panel[8];
    check_fill(t, x, x_n);
    check_fill(t, w, w_n);
    check_fill(t, add, n);
    for (size_t i = 0; i < p->panels; i++)
        panel[i] = (struct kern_stack_panel) {
            .to = { SUMS, i * 16 }, .ld = wide, .adds = adds, .add = { ADDED, i * 16 }
        };
    struct kern_stack_step s = { .op = KERN_STACK_PRODUCT,
                                 .a = { SOURCE, 0 },
                                 .n = p->channels,
                                 .rows = p->rows,
                                 .n_taps = p->taps,
                                 .tap_step = p->dilation * lanes,
                                 .row_step = p->stride * lanes,
                                 .n_panels = p->panels,
                                 .panel = panel,
                                 .w = w };
    product_reference(p, ref, x, w, adds ? add : NULL);
    run(&t->new, &s, 1, (float *[]) { NULL, x, got, add });
    check_same(t, "stack_f32 product", ref, got, n,
               "%zu channels %zu taps %zu dilation %zu stride %zu rows %zu panels", p->channels,
               p->taps, p->dilation, p->stride, p->rows, p->panels);
    check_drop(t);
}

static void element_reference(const struct kern *k, enum kern_stack_op op, float *y, const float *a,
                              const float *b, size_t n)
{
    float both[2][16];
    switch (op) {
    case KERN_STACK_ADD: k->add_f32(y, a, b, n); break;
    case KERN_STACK_SUB: k->sub_f32(y, a, b, n); break;
    case KERN_STACK_MUL: k->mul_f32(y, a, b, n); break;
    case KERN_STACK_DIV: k->div_f32(y, a, b, n); break;
    case KERN_STACK_RELU: k->relu_f32(y, a, n); break;
    case KERN_STACK_SIGMOID: k->sigmoid_f32(y, a, n); break;
    case KERN_STACK_TANH: k->tanh_f32(y, a, n); break;
    case KERN_STACK_COPY: memcpy(y, a, n * sizeof *y); break;
    default:
        for (size_t i = 0; i < n; i += 16) {
            k->tanh_f32(both[0], a + i, 16);
            k->sigmoid_f32(both[1], b + i, 16);
            k->mul_f32(y + i, both[0], both[1], 16);
        }
    }
}

static void elements_check(struct check *t, size_t n)
{
    float *a = check_buf(t, n, false), *b = check_buf(t, n, true), *ref = check_buf(t, n, false),
          *got = check_buf(t, n, false);
    for (int op = KERN_STACK_COPY; op < KERN_STACK_OPS; op++) {
        struct kern_stack_step s = {
            .op = op, .to = { 2, 0 }, .a = { 0, 0 }, .b = { 1, 0 }, .n = n
        };
        (op % 2 ? check_fill : check_fill_bits)(t, a, n);
        check_fill(t, b, n);
        element_reference(&t->ref, op, ref, a, b, n);
        run(&t->new, &s, 1, (float *[]) { a, b, got });
        check_same(t, "stack_f32 elements", ref, got, n, "op %d n %zu", op, n);
    }
    check_drop(t);
}

/* Loaded, moved down over itself by a row, and stored. */
static void moves_check(struct check *t, size_t channels, size_t rows)
{
    size_t lanes = lanes_of(channels), n = channels * rows;
    float *x = check_buf(t, n, false), *mid = check_buf(t, lanes * rows, false),
          *y = check_buf(t, n, false), *ref = check_buf(t, n, false);
    /* clang-format off */
    struct kern_stack_step s[3] = {
        { .op = KERN_STACK_LOAD, .to = { 1, 0 }, .a = { 0, 0 }, .n = channels, .rows = rows,
          .ld = lanes },
        { .op = KERN_STACK_COPY, .to = { 1, 0 }, .a = { 1, rows > 1 ? lanes : 0 },
          .n = (rows - 1) * lanes },
        { .op = KERN_STACK_STORE, .to = { 2, 0 }, .a = { 1, 0 }, .n = channels, .rows = rows,
          .ld = lanes },
    };
    /* clang-format on */
    check_fill_bits(t, x, n);
    for (size_t i = 0; i < n; i++)
        ref[i] = x[i % rows + 1 < rows ? i + 1 : i];
    run(&t->new, s, 3, (float *[]) { x, mid, y });
    check_same(t, "stack_f32 moves", ref, y, n, "%zu channels %zu rows", channels, rows);
    for (size_t r = 0; r < rows; r++)
        for (size_t i = channels; i < lanes; i++)
            t->failed += mid[r * lanes + i] != 0;
    check_drop(t);
}

void check_stack(struct check *t)
{
    static const size_t channels[] = { 1, 5, 12, 16, 33 };
    for (size_t c = 0; c < sizeof channels / sizeof *channels; c++)
        for (size_t rows = 1; rows <= 9; rows++)
            for (size_t panels = 1; panels <= 7; panels++) {
                size_t odd = c + rows + panels;
                product_check(t,
                              &(struct shape) { channels[c], 1 + odd % 4, 1 + odd % 3,
                                                1 + odd / 2 % 2, rows, panels },
                              odd % 2);
            }
    for (size_t n = 16; n <= 80; n += 16)
        elements_check(t, n);
    for (size_t c = 0; c < sizeof channels / sizeof *channels; c++)
        for (size_t rows = 1; rows <= 9; rows += 2)
            moves_check(t, channels[c], rows);
}
