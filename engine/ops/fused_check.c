/* SPDX-License-Identifier: MIT */
#include "engine/ops/clock.h"
#include "engine/ops/fused.h"

int fused_function(enum op_id id)
{
    /* One more, so that 0 is none. */
    static const unsigned char functions[OP_COUNT] = {
#define X(number, name, operands) [OP_##number] = KERN_##number + 1,
        KERN_POINTWISE_OPS(X)
#undef X
    };
    return functions[id] - 1;
}

unsigned fused_operands(int function)
{
    static const unsigned char operands_of[KERN_POINTWISE_COUNT] = {
#define X(number, name, operands) [KERN_##number] = operands,
        KERN_POINTWISE(X)
#undef X
    };
    return operands_of[function];
}

const char *fused_function_name(int function)
{
    static const char *const names[KERN_POINTWISE_COUNT] = {
#define X(number, name, operands) [KERN_##number] = #name "_f32",
        KERN_POINTWISE(X)
#undef X
    };
    return names[function];
}

struct fused_value fused_value_at(const struct fused_attr *a, int64_t i)
{
    return (struct fused_value) { a->values.v[2 * i], a->values.v[2 * i + 1] };
}

struct fused_product fused_product_at(const struct fused_attr *a, int64_t i)
{
    const int64_t *p = a->products.v + i * FUSED_PRODUCT_INTS;
    return (struct fused_product) { p[0], p[1], p[2], p[3] };
}

struct fused_window fused_window_at(const struct fused_attr *a, int64_t i)
{
    const int64_t *w = a->windows.v + i * FUSED_WINDOW_INTS;
    return (struct fused_window) { w[0], w[1], w[2] };
}

struct kern_pad fused_pad_at(const struct fused_attr *a, int64_t i)
{
    const int64_t *p = a->pads.v + i * FUSED_PAD_INTS;
    return (struct kern_pad) { p[0], p[1], (size_t) p[2] };
}

struct fused_value fused_source_at(const struct fused_attr *a, int64_t i)
{
    if (i < fused_values(a))
        return fused_value_at(a, i);
    struct fused_window w = fused_window_at(a, i - fused_values(a));
    return (struct fused_value) { w.channels, w.frames };
}

struct fused_value fused_whole(const struct fused_attr *a)
{
    struct fused_value whole = { 1, 1 };
    for (int64_t i = 0; i < fused_values(a); i++) {
        struct fused_value v = fused_value_at(a, i);
        whole.rows = v.rows > whole.rows ? v.rows : whole.rows;
        whole.columns = v.columns > whole.columns ? v.columns : whole.columns;
    }
    return whole;
}

static bool within(int64_t v, int64_t from, int64_t to)
{
    return v >= from && v <= to;
}

static bool alike(struct fused_value a, struct fused_value b)
{
    return a.rows == b.rows && a.columns == b.columns;
}

/* A program that is checked, for so many inputs and outputs. */
struct check {
    const struct fused_attr *a;
    struct fused_value whole; /* of a flat one */
    int64_t loads, stores;
};

static bool value_fits(const struct check *c, struct fused_value v)
{
    if (fused_in_frames(c->a))
        return within(v.rows, 1, FUSED_CHANNELS_MAX) && within(v.columns, 1, FUSED_WINDOW_MAX);
    return (v.rows == 1 || v.rows == c->whole.rows) &&
        (v.columns == 1 || v.columns == c->whole.columns);
}

static bool lists_fit(const struct check *c)
{
    const struct fused_attr *a = c->a;
    int64_t count;
    if (fused_steps(a) > FUSED_STEPS_MAX || fused_values(a) > FUSED_VALUES_MAX ||
        a->steps.n % FUSED_STEP_INTS || a->values.n % 2 || a->products.n % FUSED_PRODUCT_INTS ||
        a->windows.n % FUSED_WINDOW_INTS || a->pads.n % FUSED_PAD_INTS ||
        __builtin_mul_overflow(c->whole.rows, c->whole.columns, &count))
        return false;
    for (int64_t i = 0; i < fused_values(a); i++)
        if (!value_fits(c, fused_value_at(a, i)))
            return false;
    for (int64_t i = 0; i < fused_windows(a); i++) {
        struct fused_window w = fused_window_at(a, i);
        if (!within(w.channels, 1, FUSED_CHANNELS_MAX) || !within(w.frames, 1, FUSED_WINDOW_MAX) ||
            !within(w.fresh, 1, w.frames))
            return false;
    }
    for (int64_t i = 0; i < fused_pads(a); i++)
        if (!within(a->pads.v[i * FUSED_PAD_INTS + 2], 0, CLOCK_SIZE - 1))
            return false;
    return true;
}

static bool product_fits(const struct fused_attr *a, const int64_t *s)
{
    int64_t values = fused_values(a);
    if (!within(s[3], 0, fused_products(a) - 1) || !within(s[2], 0, values + fused_windows(a) - 1))
        return false;
    struct fused_product p = fused_product_at(a, s[3]);
    if (!within(p.parts, 1, FUSED_PARTS_MAX) || !within(s[1], 0, values - p.parts))
        return false;
    struct fused_value x = fused_source_at(a, s[2]), y = fused_value_at(a, s[1]);
    if (!within(p.taps, 1, FUSED_WINDOW_MAX) || !within(p.dilation, 1, FUSED_WINDOW_MAX) ||
        !within(p.stride, 1, FUSED_WINDOW_MAX) ||
        (y.columns - 1) * p.stride + (p.taps - 1) * p.dilation >= x.columns ||
        (s[0] == KERN_DEPTHWISE && (p.parts > 1 || y.rows != x.rows)))
        return false;
    for (int64_t i = 1; i < p.parts; i++)
        if (fused_value_at(a, s[1] + i).columns != y.columns)
            return false;
    return true;
}

static bool window_fits(const struct fused_attr *a, const int64_t *s)
{
    if (!within(s[1], 0, fused_windows(a) - 1) || !within(s[2], 0, fused_values(a) - 1))
        return false;
    struct fused_window w = fused_window_at(a, s[1]);
    return alike(fused_value_at(a, s[2]), (struct fused_value) { w.channels, w.fresh });
}

static bool past_fits(const struct fused_attr *a, const int64_t *s)
{
    if (!within(s[1], 0, fused_values(a) - 1) || !within(s[2], 0, fused_windows(a) - 1))
        return false;
    struct fused_window w = fused_window_at(a, s[2]);
    struct fused_value y = fused_value_at(a, s[1]);
    return y.rows == w.channels && within(s[3], 0, w.frames - y.columns);
}

static bool pad_fits(const struct fused_attr *a, const int64_t *s)
{
    int64_t last = fused_values(a) - 1;
    return fused_in_frames(a) && within(s[1], 0, last) && within(s[2], 0, last) &&
        within(s[3], 0, fused_pads(a) - 1) &&
        alike(fused_value_at(a, s[1]), fused_value_at(a, s[2]));
}

bool fused_element_fits(const int64_t *step, int64_t n_values)
{
    return within(step[0], 0, KERN_POINTWISE_COUNT - 1) && within(step[1], 0, n_values - 1) &&
        within(step[2], 0, n_values - 1) && within(step[3], 0, n_values - 1);
}

/* Flat: what is made is whole, and what a function of one operand reads has whole rows. */
static bool elements_fit(const struct check *c, const int64_t *s)
{
    const struct fused_attr *a = c->a;
    if (!fused_element_fits(s, fused_values(a)))
        return false;
    struct fused_value to = fused_value_at(a, s[1]), x = fused_value_at(a, s[2]);
    if (fused_in_frames(a))
        return alike(to, x) && alike(to, fused_value_at(a, s[3]));
    return alike(to, c->whole) &&
        (fused_operands((int) s[0]) == 2 || x.columns == c->whole.columns);
}

static bool step_fits(const struct check *c, const int64_t *s)
{
    const struct fused_attr *a = c->a;
    int64_t last = fused_values(a) - 1;
    if (within(s[0], 0, KERN_POINTWISE_COUNT - 1))
        return elements_fit(c, s);
    switch (s[0]) {
    case KERN_LOAD: return within(s[1], 0, last) && within(s[2], 0, c->loads - 1);
    case KERN_STORE: return within(s[1], 0, c->stores - 1) && within(s[2], 0, last);
    case KERN_PRODUCT:
    case KERN_DEPTHWISE: return product_fits(a, s);
    case KERN_PAD: return pad_fits(a, s);
    case FUSED_PAST: return past_fits(a, s);
    case FUSED_PUSH: return window_fits(a, s);
    case FUSED_SHIFT: return within(s[1], 0, fused_windows(a) - 1);
    case FUSED_JOIN:
        return fused_in_frames(a) && within(s[1], 0, last) && within(s[2], 0, last) &&
            alike(fused_value_at(a, s[1]), fused_value_at(a, s[2]));
    default: return false;
    }
}

/* Each input is loaded once, each output stored once. */
struct ports_seen {
    bool loaded[FUSED_BUFFERS_MAX], stored[FUSED_BUFFERS_MAX];
    int64_t n_loaded, n_stored;
};

static bool port_is_new(struct ports_seen *p, const int64_t *s)
{
    bool load = s[0] == KERN_LOAD, *seen = load ? &p->loaded[s[2]] : &p->stored[s[1]];
    bool first = !*seen;
    *seen = true;
    *(load ? &p->n_loaded : &p->n_stored) += 1;
    return first;
}

bool fused_fits(const struct fused_attr *a, int64_t loads, int64_t stores, int64_t *ret_step)
{
    const struct check c = { a, fused_whole(a), loads, stores };
    struct ports_seen ports = { 0 };
    *ret_step = -1;
    if (loads > FUSED_BUFFERS_MAX || stores > FUSED_BUFFERS_MAX || !lists_fit(&c))
        return false;
    for (int64_t i = 0; i < fused_steps(a); i++) {
        const int64_t *s = a->steps.v + i * FUSED_STEP_INTS;
        bool port = s[0] == KERN_LOAD || s[0] == KERN_STORE;
        if (!step_fits(&c, s) || (port && !port_is_new(&ports, s))) {
            *ret_step = i;
            return false;
        }
    }
    return ports.n_loaded == loads && ports.n_stored == stores;
}

int64_t fused_product_panels(const struct fused_attr *a, const int64_t *step)
{
    int64_t panels = 0, parts = fused_product_at(a, step[3]).parts;
    for (int64_t i = 0; i < parts; i++)
        panels += fused_lanes(fused_value_at(a, step[1] + i).rows) / KERN_LANES;
    return panels;
}

/* Of each output of a product. */
static int64_t terms(const struct fused_attr *a, const int64_t *step)
{
    return (step[0] == KERN_DEPTHWISE ? 1 : fused_source_at(a, step[2]).rows) *
        fused_product_at(a, step[3]).taps;
}

int64_t fused_product_floats(const struct fused_attr *a, const int64_t *step)
{
    return fused_product_panels(a, step) * KERN_LANES * (1 + terms(a, step));
}

uint64_t fused_multiply_adds(const struct fused_attr *a)
{
    uint64_t n = 0;
    for (int64_t i = 0; i < fused_steps(a); i++) {
        const int64_t *s = a->steps.v + i * FUSED_STEP_INTS;
        int64_t parts = fused_is_product(s) ? fused_product_at(a, s[3]).parts : 0;
        for (int64_t k = 0; k < parts; k++) {
            struct fused_value y = fused_value_at(a, s[1] + k);
            n += (uint64_t) (y.rows * y.columns * terms(a, s));
        }
    }
    return n;
}
