/* SPDX-License-Identifier: MIT */
/* Steps of a fused program become instructions of kernels/program.h, their values places. */
#include "engine/ops/fused.h"

struct compiler {
    struct prep *c;
    const struct fused_attr *a;
    struct fused *ret;
    bool frames; /* the layout */
    struct kern_instr *instr;
    struct kern_operand *at; /* of each value */
    int64_t *last;           /* the last step that touches it */
    int64_t *joined;         /* what a product adds to it, plus 1 */
    bool *made;
    size_t *free_at, *free_floats, n_free, floats; /* of scratch */
    const float *w;
    size_t w_left;
};

/* ---- places ---- */

/* Of a value that is passed on only: a flat one lives no longer than a block. */
static size_t value_floats(const struct compiler *m, int64_t i)
{
    struct fused_value v = fused_value_at(m->a, i);
    return m->frames ? (size_t) (fused_lanes(v.rows) * v.columns) : KERN_PROGRAM_BLOCK;
}

static size_t place_take(struct compiler *m, size_t floats)
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

/* A value lies where it is loaded from or stored (flat), where its window has its newest frames, or
 * in scratch. */
static bool value_make(struct compiler *m, int64_t v)
{
    if (m->made[v])
        return false;
    m->made[v] = true;
    if (m->at[v].buffer == FUSED_BUFFER_SCRATCH)
        m->at[v].at = place_take(m, value_floats(m, v));
    return true;
}

static void value_drop(struct compiler *m, int64_t v, int64_t step)
{
    if (m->last[v] != step || m->at[v].buffer != FUSED_BUFFER_SCRATCH || !m->made[v])
        return;
    m->last[v] = -1;
    m->free_at[m->n_free] = m->at[v].at;
    m->free_floats[m->n_free++] = value_floats(m, v);
}

static bool is_elements(const int64_t *s)
{
    return s[0] < KERN_POINTWISE_COUNT;
}

/* The values that a step reads; -1: none. */
static void step_reads(const struct fused_attr *a, const int64_t *s, int64_t ret[2])
{
    bool value = s[0] == KERN_STORE || s[0] == FUSED_PUSH || s[0] == FUSED_JOIN ||
        s[0] == KERN_PAD || (fused_is_product(s) && s[2] < fused_values(a));
    ret[0] = value || is_elements(s) ? s[2] : -1;
    ret[1] = is_elements(s) ? s[3] : -1;
}

/* The values that it makes are *ret_first .. + the number returned. */
static int64_t step_makes(const struct fused_attr *a, const int64_t *s, int64_t *ret_first)
{
    *ret_first = s[1];
    return fused_is_product(s)
        ? fused_product_at(a, s[3]).parts
        : s[0] == KERN_LOAD || s[0] == KERN_PAD || s[0] == FUSED_PAST || is_elements(s);
}

static uint32_t load_buffer(const struct compiler *m, int64_t i)
{
    return FUSED_BUFFER_WINDOWS + m->ret->n_windows + (uint32_t) i;
}

static uint32_t store_buffer(const struct compiler *m, int64_t i)
{
    return load_buffer(m, m->ret->n_loads) + (uint32_t) i;
}

static uint32_t clock_buffer(const struct compiler *m)
{
    return store_buffer(m, m->ret->n_stores);
}

static struct kern_operand window_place(const struct compiler *m, int64_t i, int64_t frame)
{
    int64_t lanes = fused_lanes(fused_window_at(m->a, i).channels);
    return (struct kern_operand) { .buffer = FUSED_BUFFER_WINDOWS + (uint32_t) i,
                                   .at = (size_t) (frame * lanes) };
}

/* A value that one window takes in, and is no other's, is made there; a flat one that is loaded
 * lies in the input, a made one that is stored in its output. */
static void place_choose(struct compiler *m, const int64_t *s)
{
    if (s[0] == FUSED_PUSH && m->at[s[2]].buffer == FUSED_BUFFER_SCRATCH) {
        struct fused_window w = fused_window_at(m->a, s[1]);
        m->at[s[2]] = window_place(m, s[1], w.frames - w.fresh);
    }
    if (m->frames)
        return;
    if (s[0] == KERN_LOAD) {
        bool one = fused_value_at(m->a, s[1]).columns == 1;
        m->at[s[1]] = (struct kern_operand) { .buffer = load_buffer(m, s[2]),
                                              .one = one,
                                              .walk = one ? 0 : SIZE_MAX };
    } else if (s[0] == KERN_STORE && m->at[s[2]].buffer == FUSED_BUFFER_SCRATCH) {
        m->at[s[2]] = (struct kern_operand) { .buffer = store_buffer(m, s[1]), .walk = SIZE_MAX };
    }
}

static void lifetimes_find(struct compiler *m)
{
    const struct fused_attr *a = m->a;
    for (int64_t i = 0; i < fused_steps(a); i++) {
        const int64_t *s = a->steps.v + i * FUSED_STEP_INTS;
        int64_t first, reads[2], n = step_makes(a, s, &first);
        for (int64_t k = 0; k < n; k++)
            m->last[first + k] = i;
        step_reads(a, s, reads);
        for (int k = 0; k < 2; k++)
            if (reads[k] >= 0)
                m->last[reads[k]] = i;
        if (s[0] == FUSED_JOIN)
            m->joined[s[1]] = s[2] + 1;
        for (int64_t k = 0; fused_is_product(s) && k < n; k++)
            if (m->joined[first + k])
                m->last[m->joined[first + k] - 1] = i;
        place_choose(m, s);
    }
}

/* ---- instructions ---- */

struct kern_instr fused_element(const int64_t *step, const struct kern_operand *at)
{
    return (struct kern_instr) {
        .op = (enum kern_instr_op) step[0], .to = at[step[1]], .a = at[step[2]], .b = at[step[3]]
    };
}

static bool panels_make(struct compiler *m, const int64_t *s, struct kern_panel *p)
{
    int64_t parts = fused_product_at(m->a, s[3]).parts;
    for (int64_t i = s[1]; i < s[1] + parts; i++) {
        int64_t add = m->joined[i] - 1;
        if (add >= 0 && !m->made[add])
            return false;
        int64_t ld = fused_lanes(fused_value_at(m->a, i).rows);
        for (int64_t o = 0; o < ld; o += KERN_LANES, p++) {
            *p = (struct kern_panel) { .to = m->at[i], .ld = (size_t) ld, .adds = add >= 0 };
            p->to.at += (size_t) o;
            if (p->adds) {
                p->add = m->at[add];
                p->add.at += (size_t) o;
            }
        }
    }
    return true;
}

static bool product_make(struct compiler *m, const int64_t *s, struct kern_instr *k)
{
    const struct fused_attr *a = m->a;
    struct fused_product geo = fused_product_at(a, s[3]);
    int64_t values = fused_values(a), channels = fused_source_at(a, s[2]).rows;
    size_t lanes = (size_t) fused_lanes(channels), floats = (size_t) fused_product_floats(a, s),
           panels = (size_t) fused_product_panels(a, s);
    struct kern_product *p = arena_new(m->c->arena, struct kern_product);
    struct kern_panel *panel = arena_array(m->c->arena, struct kern_panel, panels);
    if (!p || !panel || floats > m->w_left || !panels_make(m, s, panel))
        return false;
    *p = (struct kern_product) { .channels = (size_t) channels,
                                 .rows = (size_t) fused_value_at(a, s[1]).columns,
                                 .n_taps = (size_t) geo.taps,
                                 .tap_step = (size_t) geo.dilation * lanes,
                                 .row_step = (size_t) geo.stride * lanes,
                                 .n_panels = panels,
                                 .panel = panel,
                                 .w = m->w };
    k->a = s[2] < values ? m->at[s[2]] : window_place(m, s[2] - values, 0);
    k->product = p;
    m->w += floats;
    m->w_left -= floats;
    return true;
}

/* A tensor that is loaded or stored has the elements of its value; flat, each row of it moves the
 * buffer. */
static bool port_fits(struct compiler *m, const struct tensor *t, uint32_t buffer, int64_t v)
{
    struct fused_value x = fused_value_at(m->a, v);
    m->ret->row_step[buffer] = x.rows > 1 ? (size_t) x.columns : 0;
    return t && t->type == DTYPE_F32 && tensor_count(t) == x.rows * x.columns;
}

/* Flat: nothing to do, as the value lies there. */
static bool port_make(struct compiler *m, const int64_t *s, struct kern_instr *k)
{
    bool load = s[0] == KERN_LOAD;
    int64_t v = load ? s[1] : s[2];
    struct kern_operand tensor = { .buffer = load ? load_buffer(m, s[2]) : store_buffer(m, s[1]) };
    struct fused_value x = fused_value_at(m->a, v);
    *k = (struct kern_instr) { .op = (enum kern_instr_op) s[0],
                               .to = load ? m->at[v] : tensor,
                               .a = load ? tensor : m->at[v],
                               .n = (size_t) x.rows,
                               .rows = (size_t) x.columns,
                               .ld = (size_t) fused_lanes(x.rows) };
    const struct tensor *t = load ? m->c->in[m->ret->n_first + (size_t) s[2]] : m->c->out[s[1]];
    return port_fits(m, t, tensor.buffer, v) && (m->frames || m->at[v].buffer == tensor.buffer);
}

static bool pad_make(struct compiler *m, const int64_t *s, struct kern_instr *k)
{
    struct kern_pad *p = arena_new(m->c->arena, struct kern_pad);
    struct fused_value x = fused_value_at(m->a, s[1]);
    if (!p)
        return false;
    *p = fused_pad_at(m->a, s[3]);
    *k = (struct kern_instr) { .op = KERN_PAD,
                               .to = m->at[s[1]],
                               .a = m->at[s[2]],
                               .b = { .buffer = clock_buffer(m) },
                               .n = value_floats(m, s[1]),
                               .rows = (size_t) x.columns,
                               .ld = (size_t) fused_lanes(x.rows),
                               .pad = p };
    return true;
}

static bool past_make(struct compiler *m, const int64_t *s, struct kern_instr *k)
{
    *k = (struct kern_instr) { .op = KERN_COPY,
                               .to = m->at[s[1]],
                               .a = window_place(m, s[2], s[3]),
                               .n = value_floats(m, s[1]) };
    return true;
}

static bool copy_make(struct compiler *m, const int64_t *s, struct kern_instr *k)
{
    struct fused_window w = fused_window_at(m->a, s[1]);
    bool push = s[0] == FUSED_PUSH;
    int64_t frames = push ? w.fresh : w.frames - w.fresh;
    *k = (struct kern_instr) { .op = KERN_COPY,
                               .to = window_place(m, s[1], push ? w.frames - w.fresh : 0),
                               .a = push ? m->at[s[2]] : window_place(m, s[1], w.fresh),
                               .n = (size_t) (frames * fused_lanes(w.channels)) };
    return true;
}

static bool instr_make(struct compiler *m, const int64_t *s, struct kern_instr *k)
{
    switch (s[0]) {
    case KERN_LOAD:
    case KERN_STORE: return port_make(m, s, k);
    case FUSED_PUSH:
    case FUSED_SHIFT: return copy_make(m, s, k);
    case FUSED_JOIN: return true;
    case FUSED_PAST: return past_make(m, s, k);
    case KERN_PAD: return pad_make(m, s, k);
    case KERN_PRODUCT:
    case KERN_DEPTHWISE:
        *k = (struct kern_instr) { .op = (enum kern_instr_op) s[0] };
        return product_make(m, s, k);
    default:
        *k = fused_element(s, m->at);
        k->n = m->frames ? value_floats(m, s[1]) : 0;
        return true;
    }
}

/* Of the steps from one on. */
struct steps_from {
    const struct compiler *m;
    int64_t first;
};

/* Of a value that is loaded. */
static const struct tensor *loaded(const void *of, int64_t v)
{
    const struct compiler *m = ((const struct steps_from *) of)->m;
    uint32_t buffer = m->at[v].buffer, first = load_buffer(m, 0);
    return buffer >= first && buffer < store_buffer(m, 0)
        ? m->c->in[m->ret->n_first + buffer - first]
        : NULL;
}

static bool ends(const void *of, int64_t v, int64_t i)
{
    const struct steps_from *s = of;
    return s->m->last[v] == s->first + i;
}

/* Drops what the steps from i on were the last to read. */
static void steps_drop(struct compiler *m, int64_t i, int64_t n)
{
    for (int64_t k = i; k < i + n; k++) {
        int64_t reads[2];
        step_reads(m->a, m->a->steps.v + k * FUSED_STEP_INTS, reads);
        for (int r = 0; r < 2; r++)
            if (reads[r] >= 0)
                value_drop(m, reads[r], k);
    }
}

/* What the first of the steps reads is there. */
static bool reads_made(const struct compiler *m, const int64_t *s)
{
    int64_t reads[2];
    step_reads(m->a, s, reads);
    for (int r = 0; r < 2; r++)
        if (reads[r] >= 0 && !m->made[reads[r]])
            return false;
    return true;
}

/* Returns how many steps from i on are one instruction that rounds; 0: none. */
static int64_t grid_compile(struct compiler *m, int64_t i, struct kern_instr *k)
{
    const struct steps_from from = { m, i };
    const struct fused_reader r = { &from, loaded, ends, m->at };
    const int64_t *s = m->a->steps.v + i * FUSED_STEP_INTS;
    if (m->frames || s[0] > KERN_DIV || !reads_made(m, s))
        return 0;
    struct kern_grid *g = arena_array(m->c->arena, struct kern_grid, 2);
    int64_t n = g ? fused_rounded(&r, s, fused_steps(m->a) - i, g, k) : 0;
    if (!n && g && s[0] == KERN_DIV && !m->at[s[2]].one) {
        n = fused_grid(&r, s, fused_steps(m->a) - i, g);
        *k = (struct kern_instr) { .op = KERN_GRID, .a = m->at[s[2]], .grid = g };
    }
    const int64_t to = n ? s[(n - 1) * FUSED_STEP_INTS + 1] : 0;
    if (!n || !value_make(m, to))
        return 0;
    k->to = m->at[to];
    steps_drop(m, i, n);
    value_drop(m, to, i + n - 1);
    return n;
}

/* What is loaded and stored in place, a sum that its product makes, a push of what was made in its
 * place. */
static bool is_idle(const struct compiler *m, const int64_t *s, const struct kern_instr *k)
{
    if (s[0] == FUSED_JOIN || (!m->frames && (s[0] == KERN_LOAD || s[0] == KERN_STORE)))
        return true;
    return k->op == KERN_COPY && (!k->n || (k->to.buffer == k->a.buffer && k->to.at == k->a.at));
}

static bool step_compile(struct compiler *m, int64_t i, struct kern_instr *k)
{
    const struct fused_attr *a = m->a;
    const int64_t *s = a->steps.v + i * FUSED_STEP_INTS;
    int64_t first, reads[2], makes = step_makes(a, s, &first);
    step_reads(a, s, reads);
    for (int r = 0; r < 2; r++)
        if (reads[r] >= 0 && !m->made[reads[r]])
            return false;
    if (s[0] == FUSED_JOIN && m->made[s[1]])
        return false; /* its product has been */
    for (int64_t v = 0; v < makes; v++)
        if (!value_make(m, first + v))
            return false;
    if (!instr_make(m, s, k))
        return false;
    for (int r = 0; r < 2; r++)
        if (reads[r] >= 0)
            value_drop(m, reads[r], i);
    for (int64_t v = first; v < first + makes; v++) {
        value_drop(m, v, i);
        if (m->joined[v])
            value_drop(m, m->joined[v] - 1, i);
    }
    return true;
}

static rill_status steps_compile(struct compiler *m)
{
    size_t n = 0;
    for (int64_t i = 0; i < fused_steps(m->a); i++) {
        int64_t rounds = grid_compile(m, i, &m->instr[n]);
        if (rounds) {
            i += rounds - 1;
            n++;
            continue;
        }
        if (!step_compile(m, i, &m->instr[n]))
            return prep_fail(m->c, "step %lld of its program does not fit", (long long) i);
        n += !is_idle(m, m->a->steps.v + i * FUSED_STEP_INTS, &m->instr[n]);
    }
    m->ret->program = (struct kern_program) { m->instr, n };
    return RILL_OK;
}

rill_status fused_compile(struct prep *c, struct fused *ret)
{
    const struct fused_attr *a = c->attr;
    size_t values = (size_t) fused_values(a);
    struct arena *ar = c->arena;
    struct compiler m = { .c = c, .a = a, .ret = ret, .frames = fused_in_frames(a) };
    m.instr = arena_array(ar, struct kern_instr, (size_t) fused_steps(a) + 1);
    m.at = arena_array(ar, struct kern_operand, values + 1);
    m.last = arena_array(ar, int64_t, values + 1);
    m.joined = arena_array(ar, int64_t, values + 1);
    m.made = arena_array(ar, bool, values + 1);
    m.free_at = arena_array(ar, size_t, values + 1);
    m.free_floats = arena_array(ar, size_t, values + 1);
    if (!m.instr || !m.at || !m.last || !m.joined || !m.made || !m.free_at || !m.free_floats)
        return op_fail(c->err, RILL_NOMEM, c->node, "out of memory");
    if (m.frames) {
        m.w = c->in[0]->data;
        m.w_left = (size_t) tensor_count(c->in[0]);
    }
    struct fused_value whole = fused_whole(a);
    ret->rows = m.frames ? 1 : (size_t) whole.rows;
    ret->columns = m.frames ? 1 : (size_t) whole.columns;
    lifetimes_find(&m);
    TRY(steps_compile(&m));
    c->scratch_bytes = m.floats * sizeof(float);
    return RILL_OK;
}
