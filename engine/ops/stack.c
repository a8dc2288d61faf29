/* SPDX-License-Identifier: MIT */
#include "engine/ops/stack.h"
#include "kernels/stack.h"

#include <string.h>

#define INTS(member)                                                                               \
    {                                                                                              \
        .name = #member, .kind = ATTR_INTS, .offset = offsetof(struct stack_attr, member)          \
    }

static const struct attr_spec stack_attrs[] = { INTS(steps), INTS(values), INTS(windows), { 0 } };

/* ---- the program ---- */

struct value {
    int64_t channels, frames;
};
struct win {
    int64_t channels, frames, fresh;
};

static int64_t n_values(const struct stack_attr *a)
{
    return a->values.n / 2;
}
static int64_t n_windows(const struct stack_attr *a)
{
    return a->windows.n / 3;
}
static int64_t n_steps(const struct stack_attr *a)
{
    return a->steps.n / STACK_STEP_INTS;
}

static struct value value_at(const struct stack_attr *a, int64_t i)
{
    return (struct value) { a->values.v[2 * i], a->values.v[2 * i + 1] };
}

static struct win window_at(const struct stack_attr *a, int64_t i)
{
    return (struct win) { a->windows.v[3 * i], a->windows.v[3 * i + 1], a->windows.v[3 * i + 2] };
}

/* A product reads a value or a window. */
static struct value source_at(const struct stack_attr *a, int64_t i)
{
    if (i < n_values(a))
        return value_at(a, i);
    struct win w = window_at(a, i - n_values(a));
    return (struct value) { w.channels, w.frames };
}

static bool within(int64_t v, int64_t from, int64_t to)
{
    return v >= from && v <= to;
}

static bool lists_fit(const struct stack_attr *a)
{
    if (a->steps.n % STACK_STEP_INTS || a->values.n % 2 || a->windows.n % 3)
        return false;
    for (int64_t i = 0; i < n_values(a); i++) {
        struct value v = value_at(a, i);
        if (!within(v.channels, 1, STACK_CHANNELS_MAX) || !within(v.frames, 1, STACK_WINDOW_MAX))
            return false;
    }
    for (int64_t i = 0; i < n_windows(a); i++) {
        struct win w = window_at(a, i);
        if (!within(w.channels, 1, STACK_CHANNELS_MAX) || !within(w.frames, 1, STACK_WINDOW_MAX) ||
            !within(w.fresh, 1, w.frames))
            return false;
    }
    return true;
}

static bool alike(struct value a, struct value b)
{
    return a.channels == b.channels && a.frames == b.frames;
}

static bool product_fits(const struct stack_attr *a, const int64_t *s)
{
    int64_t values = n_values(a), parts = s[3];
    if (!within(s[2], 0, values + n_windows(a) - 1) || !within(parts, 1, STACK_PARTS_MAX) ||
        !within(s[1], 0, values - parts))
        return false;
    struct value x = source_at(a, s[2]), y = value_at(a, s[1]);
    if (!within(s[4], 1, STACK_WINDOW_MAX) || !within(s[5], 1, STACK_WINDOW_MAX) ||
        !within(s[6], 1, STACK_WINDOW_MAX) || (y.frames - 1) * s[6] + (s[4] - 1) * s[5] >= x.frames)
        return false;
    for (int64_t i = 1; i < parts; i++)
        if (value_at(a, s[1] + i).frames != y.frames)
            return false;
    return true;
}

/* Numbers exist, sizes agree. ports: of inputs that are loaded, and of stored outputs. */
static bool step_fits(const struct stack_attr *a, const int64_t *s, int64_t loads, int64_t stores)
{
    int64_t values = n_values(a), windows = n_windows(a);
    switch (s[0]) {
    case STACK_LOAD: return within(s[1], 0, values - 1) && within(s[2], 0, loads - 1);
    case STACK_STORE: return within(s[1], 0, stores - 1) && within(s[2], 0, values - 1);
    case STACK_SHIFT: return within(s[1], 0, windows - 1);
    case STACK_JOIN:
        return within(s[1], 0, values - 1) && within(s[2], 0, values - 1) &&
            alike(value_at(a, s[1]), value_at(a, s[2]));
    case STACK_PUSH: {
        if (!within(s[1], 0, windows - 1) || !within(s[2], 0, values - 1))
            return false;
        struct win w = window_at(a, s[1]);
        return alike(value_at(a, s[2]), (struct value) { w.channels, w.fresh });
    }
    case STACK_PRODUCT: return product_fits(a, s);
    default:
        return within(s[0], STACK_GATE, STACK_TANH) && within(s[1], 0, values - 1) &&
            within(s[2], 0, values - 1) && within(s[3], 0, values - 1) &&
            alike(value_at(a, s[1]), value_at(a, s[2])) &&
            alike(value_at(a, s[1]), value_at(a, s[3]));
    }
}

static int64_t product_panels(const struct stack_attr *a, const int64_t *s)
{
    int64_t panels = 0;
    for (int64_t i = 0; i < s[3]; i++)
        panels += stack_lanes(value_at(a, s[1] + i).channels) / KERN_LANES;
    return panels;
}

static int64_t product_floats(const struct stack_attr *a, const int64_t *s)
{
    return product_panels(a, s) * KERN_LANES * (1 + source_at(a, s[2]).channels * s[4]);
}

uint64_t stack_multiply_adds(const struct stack_attr *a)
{
    uint64_t n = 0;
    for (int64_t i = 0; i < n_steps(a); i++) {
        const int64_t *s = a->steps.v + i * STACK_STEP_INTS;
        for (int64_t k = 0; s[0] == STACK_PRODUCT && k < s[3]; k++) {
            struct value y = value_at(a, s[1] + k);
            n += (uint64_t) (y.channels * y.frames * source_at(a, s[2]).channels * s[4]);
        }
    }
    return n;
}

/* ---- infer ---- */

static rill_status stack_infer(struct infer *c)
{
    const struct stack_attr *a = c->attr;
    int64_t stores = (int64_t) c->n_out - n_windows(a),
            loads = (int64_t) c->n_in - 1 - n_windows(a);
    if (!lists_fit(a) || stores < 0 || loads < 0 || c->n_in + c->n_out > STACK_ROOMS_MAX)
        return infer_fail(c, "its lists are none of a program");
    for (int64_t i = 0; i < n_steps(a); i++) {
        const int64_t *s = a->steps.v + i * STACK_STEP_INTS;
        if (!step_fits(a, s, loads, stores))
            return infer_fail(c, "step %lld of its program is none", (long long) i);
        if (s[0] != STACK_STORE)
            continue;
        struct value v = value_at(a, s[2]);
        infer_shape(c, (unsigned) s[1], DTYPE_F32, 3,
                    (const struct dim *[]) { dim_int(c->dims, 1), dim_int(c->dims, v.channels),
                                             dim_int(c->dims, v.frames) });
    }
    for (int64_t i = 0; i < stores; i++)
        if (!c->out[i].rank)
            return infer_fail(c, "its program stores no output %lld", (long long) i);
    for (int64_t i = 0; i < n_windows(a); i++) {
        struct win w = window_at(a, i);
        infer_shape(c, (unsigned) (stores + i), DTYPE_F32, 2,
                    (const struct dim *[]) { dim_int(c->dims, w.frames),
                                             dim_int(c->dims, stack_lanes(w.channels)) });
    }
    return RILL_OK;
}

/* ---- prepare ---- */

struct stack {
    struct kern_stack program;
    unsigned n_loads, n_stores, n_windows;
    size_t *window_bytes;
};

/* Rooms: scratch, windows, what is loaded, what is stored. */
#define ROOM_SCRATCH 0
#define ROOM_WINDOWS 1

struct maker {
    struct prep *c;
    const struct stack_attr *a;
    struct stack *ret;
    struct kern_stack_step *step;
    struct kern_stack_at *at; /* of each value */
    int64_t *last;            /* the last step that touches it */
    int64_t *joined;          /* what a product adds to it, plus 1 */
    bool *made;
    size_t *free_at, *free_floats, n_free, floats; /* of scratch */
    const float *w;
    size_t w_left;
};

static size_t value_floats(const struct stack_attr *a, int64_t i)
{
    struct value v = value_at(a, i);
    return (size_t) (stack_lanes(v.channels) * v.frames);
}

static size_t place_take(struct maker *m, size_t floats)
{
    for (size_t i = 0; i < m->n_free; i++)
        if (m->free_floats[i] == floats) {
            size_t at = m->free_at[i];
            m->free_floats[i] = m->free_floats[--m->n_free];
            m->free_at[i] = m->free_at[m->n_free];
            return at;
        }
    m->floats += floats;
    return m->floats - floats;
}

/* A value lies where its window has its newest frames, or in scratch. */
static bool value_make(struct maker *m, int64_t v)
{
    if (m->made[v])
        return false;
    m->made[v] = true;
    if (m->at[v].room == ROOM_SCRATCH)
        m->at[v].at = place_take(m, value_floats(m->a, v));
    return true;
}

static void value_drop(struct maker *m, int64_t v, int64_t step)
{
    if (m->last[v] != step || m->at[v].room != ROOM_SCRATCH || !m->made[v])
        return;
    m->last[v] = -1;
    m->free_at[m->n_free] = m->at[v].at;
    m->free_floats[m->n_free++] = value_floats(m->a, v);
}

/* The values that a step reads: first .. first + n - 1. */
static void step_reads(const struct stack_attr *a, const int64_t *s, int64_t ret[2])
{
    ret[0] = ret[1] = -1;
    if (s[0] == STACK_STORE || s[0] == STACK_PUSH || s[0] == STACK_JOIN ||
        (s[0] == STACK_PRODUCT && s[2] < n_values(a)))
        ret[0] = s[2];
    if (s[0] >= STACK_GATE) {
        ret[0] = s[2];
        ret[1] = s[3];
    }
}

/* The values that it makes are *ret_first .. + the number returned. */
static int64_t step_makes(const int64_t *s, int64_t *ret_first)
{
    *ret_first = s[1];
    return s[0] == STACK_PRODUCT ? s[3] : s[0] == STACK_LOAD || s[0] >= STACK_GATE ? 1 : 0;
}

static struct kern_stack_at window_place(const struct stack_attr *a, int64_t i, int64_t frame)
{
    return (struct kern_stack_at) { ROOM_WINDOWS + (size_t) i,
                                    (size_t) (frame * stack_lanes(window_at(a, i).channels)) };
}

/* A value that one window takes in, and is no other's, is made there. */
static void lifetimes_find(struct maker *m)
{
    const struct stack_attr *a = m->a;
    for (int64_t i = 0; i < n_steps(a); i++) {
        const int64_t *s = a->steps.v + i * STACK_STEP_INTS;
        int64_t first, reads[2], n = step_makes(s, &first);
        for (int64_t k = 0; k < n; k++)
            m->last[first + k] = i;
        step_reads(a, s, reads);
        for (int k = 0; k < 2; k++)
            if (reads[k] >= 0)
                m->last[reads[k]] = i;
        if (s[0] == STACK_JOIN)
            m->joined[s[1]] = s[2] + 1;
        for (int64_t k = 0; s[0] == STACK_PRODUCT && k < s[3]; k++)
            if (m->joined[first + k])
                m->last[m->joined[first + k] - 1] = i;
        if (s[0] == STACK_PUSH && m->at[s[2]].room == ROOM_SCRATCH) {
            struct win w = window_at(a, s[1]);
            m->at[s[2]] = window_place(a, s[1], w.frames - w.fresh);
        }
    }
}

static bool product_make(struct maker *m, const int64_t *s, struct kern_stack_step *k)
{
    const struct stack_attr *a = m->a;
    struct value x = source_at(a, s[2]);
    int64_t lanes = stack_lanes(x.channels);
    struct kern_stack_panel *p =
        arena_array(m->c->arena, struct kern_stack_panel, (size_t) product_panels(a, s));
    size_t floats = (size_t) product_floats(a, s);
    if (!p || floats > m->w_left)
        return false;
    k->a = s[2] < n_values(a) ? m->at[s[2]] : window_place(a, s[2] - n_values(a), 0);
    k->n = (size_t) x.channels;
    k->rows = (size_t) value_at(a, s[1]).frames;
    k->n_taps = (size_t) s[4];
    k->tap_step = (size_t) (s[5] * lanes);
    k->row_step = (size_t) (s[6] * lanes);
    k->panel = p;
    k->w = m->w;
    for (int64_t i = s[1]; i < s[1] + s[3]; i++) {
        int64_t add = m->joined[i] - 1;
        if (add >= 0 && !m->made[add])
            return false;
        for (int64_t o = 0, ld = stack_lanes(value_at(a, i).channels); o < ld;
             o += KERN_LANES, k->n_panels++, p++) {
            *p = (struct kern_stack_panel) { .to = { m->at[i].room, m->at[i].at + (size_t) o },
                                             .ld = (size_t) ld };
            if ((p->adds = add >= 0))
                p->add = (struct kern_stack_at) { m->at[add].room, m->at[add].at + (size_t) o };
        }
    }
    m->w += floats;
    m->w_left -= floats;
    return true;
}

/* A tensor that is loaded or stored. */
static bool port_make(struct maker *m, struct kern_stack_step *k, const struct tensor *t, int64_t v)
{
    struct value x = value_at(m->a, v);
    k->n = (size_t) x.channels;
    k->rows = (size_t) x.frames;
    k->ld = (size_t) stack_lanes(x.channels);
    return t && t->type == DTYPE_F32 && tensor_count(t) == x.channels * x.frames;
}

static bool step_make(struct maker *m, const int64_t *s, struct kern_stack_step *k)
{
    /* clang-format off */
    static const enum kern_stack_op ops[STACK_KINDS] = {
        [STACK_LOAD] = KERN_STACK_LOAD,       [STACK_STORE] = KERN_STACK_STORE,
        [STACK_PUSH] = KERN_STACK_COPY,       [STACK_SHIFT] = KERN_STACK_COPY,
        [STACK_PRODUCT] = KERN_STACK_PRODUCT, [STACK_GATE] = KERN_STACK_GATE,
        [STACK_ADD] = KERN_STACK_ADD,         [STACK_SUB] = KERN_STACK_SUB,
        [STACK_MUL] = KERN_STACK_MUL,         [STACK_DIV] = KERN_STACK_DIV,
        [STACK_RELU] = KERN_STACK_RELU,       [STACK_SIGMOID] = KERN_STACK_SIGMOID,
        [STACK_TANH] = KERN_STACK_TANH,
    };
    /* clang-format on */
    const struct stack_attr *a = m->a;
    *k = (struct kern_stack_step) { .op = ops[s[0]] };
    size_t loads = ROOM_WINDOWS + m->ret->n_windows, stores = loads + m->ret->n_loads;
    switch (s[0]) {
    case STACK_LOAD:
        k->to = m->at[s[1]];
        k->a = (struct kern_stack_at) { loads + (size_t) s[2], 0 };
        return port_make(m, k, m->c->in[1 + s[2]], s[1]);
    case STACK_STORE:
        k->to = (struct kern_stack_at) { stores + (size_t) s[1], 0 };
        k->a = m->at[s[2]];
        return port_make(m, k, m->c->out[s[1]], s[2]);
    case STACK_PUSH: {
        struct win w = window_at(a, s[1]);
        k->to = window_place(a, s[1], w.frames - w.fresh);
        k->a = m->at[s[2]];
        k->n = (size_t) (w.fresh * stack_lanes(w.channels));
        return true;
    }
    case STACK_SHIFT: {
        struct win w = window_at(a, s[1]);
        k->to = window_place(a, s[1], 0);
        k->a = window_place(a, s[1], w.fresh);
        k->n = (size_t) ((w.frames - w.fresh) * stack_lanes(w.channels));
        return true;
    }
    case STACK_JOIN: return true;
    case STACK_PRODUCT: return product_make(m, s, k);
    default:
        k->to = m->at[s[1]];
        k->a = m->at[s[2]];
        k->b = m->at[s[3]];
        k->n = value_floats(a, s[1]);
        return true;
    }
}

/* A push of what was made in its place. */
static bool is_idle(const struct kern_stack_step *k)
{
    return k->op == KERN_STACK_COPY && (!k->n || (k->to.room == k->a.room && k->to.at == k->a.at));
}

static rill_status steps_make(struct maker *m)
{
    const struct stack_attr *a = m->a;
    size_t n = 0;
    for (int64_t i = 0; i < n_steps(a); i++) {
        const int64_t *s = a->steps.v + i * STACK_STEP_INTS;
        int64_t first, reads[2], makes = step_makes(s, &first);
        bool fits = true;
        step_reads(a, s, reads);
        for (int k = 0; k < 2; k++)
            fits = fits && (reads[k] < 0 || m->made[reads[k]]);
        for (int64_t k = 0; k < makes && fits; k++)
            fits = value_make(m, first + k);
        if (!fits || !step_make(m, s, &m->step[n]))
            return prep_fail(m->c, "step %lld of its program does not fit", (long long) i);
        n += s[0] != STACK_JOIN && !is_idle(&m->step[n]);
        for (int k = 0; k < 2; k++)
            if (reads[k] >= 0)
                value_drop(m, reads[k], i);
        for (int64_t k = 0; k < makes; k++) {
            value_drop(m, first + k, i);
            if (m->joined[first + k])
                value_drop(m, m->joined[first + k] - 1, i);
        }
    }
    m->ret->program = (struct kern_stack) { m->step, n };
    return RILL_OK;
}

static rill_status windows_make(struct maker *m)
{
    struct stack *p = m->ret;
    for (unsigned i = 0; i < p->n_windows; i++) {
        struct win w = window_at(m->a, i);
        const struct tensor *old = m->c->in[1 + p->n_loads + i], *next = m->c->out[p->n_stores + i];
        int64_t floats = w.frames * stack_lanes(w.channels);
        if (!old || !next || old->type != DTYPE_F32 || next->type != DTYPE_F32 ||
            tensor_count(old) != floats || tensor_count(next) != floats)
            return prep_fail(m->c, "window %u has no past of its size", i);
        p->window_bytes[i] = (size_t) floats * sizeof(float);
    }
    return RILL_OK;
}

static rill_status stack_prepare(struct prep *c)
{
    const struct stack_attr *a = c->attr;
    struct arena *ar = c->arena;
    size_t values = (size_t) n_values(a), windows = (size_t) n_windows(a);
    struct maker m = { .c = c, .a = a, .ret = arena_new(ar, struct stack) };
    m.step = arena_array(ar, struct kern_stack_step, (size_t) n_steps(a) + 1);
    m.at = arena_array(ar, struct kern_stack_at, values + 1);
    m.last = arena_array(ar, int64_t, values + 1);
    m.joined = arena_array(ar, int64_t, values + 1);
    m.made = arena_array(ar, bool, values + 1);
    m.free_at = arena_array(ar, size_t, values + 1);
    m.free_floats = arena_array(ar, size_t, values + 1);
    if (!m.ret || !m.step || !m.at || !m.last || !m.joined || !m.made || !m.free_at ||
        !m.free_floats || !(m.ret->window_bytes = arena_array(ar, size_t, windows + 1)))
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    if (!c->in[0] || !c->in[0]->data || c->in[0]->type != DTYPE_F32)
        return prep_fail(c, "its weights are not constant");
    m.w = c->in[0]->data;
    m.w_left = (size_t) tensor_count(c->in[0]);
    m.ret->n_windows = (unsigned) windows;
    m.ret->n_loads = c->n_in - 1 - (unsigned) windows;
    m.ret->n_stores = c->n_out - (unsigned) windows;
    TRY(windows_make(&m));
    lifetimes_find(&m);
    TRY(steps_make(&m));
    c->args = m.ret;
    c->scratch_bytes = m.floats * sizeof(float);
    c->kernel = "stack_f32";
    return RILL_OK;
}

/* ---- eval ---- */

static void stack_eval(const struct eval *e)
{
    const struct stack *p = e->args;
    float *room[1 + STACK_ROOMS_MAX] = { e->scratch };
    unsigned n = ROOM_WINDOWS;
    const void *const *old = e->x + 1 + p->n_loads;
    void *const *next = e->y + p->n_stores;
    for (unsigned i = 0; i < p->n_windows; i++) {
        if (next[i] != old[i])
            memcpy(next[i], old[i], p->window_bytes[i]);
        room[n++] = next[i];
    }
    for (unsigned i = 0; i < p->n_loads; i++)
        room[n++] = (float *) (uintptr_t) e->x[1 + i]; /* only read */
    for (unsigned i = 0; i < p->n_stores; i++)
        room[n++] = e->y[i];
    e->kern->stack_f32(&p->program, room);
}

/* A window's next value lies where the old one did. */
static int stack_base(const struct node *n, unsigned output)
{
    unsigned windows = (unsigned) n_windows(n->attr), stores = n->n_out - windows;
    return output < stores ? -1 : (int) (n->n_in - windows + output - stores);
}

const struct op op_pulse_stack = {
    .id = OP_PULSE_STACK,
    .name = "PulseStack",
    .attrs = stack_attrs,
    .attr_bytes = sizeof(struct stack_attr),
    .min_in = 1,
    .max_in = -1,
    .min_out = 1,
    .max_out = -1,
    .infer = stack_infer,
    .prepare = stack_prepare,
    .eval = stack_eval,
    .base = stack_base,
    .help = "convolutions along time over a few frames, with what stands between them",
};
