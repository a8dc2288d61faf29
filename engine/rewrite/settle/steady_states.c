/* SPDX-License-Identifier: MIT */
/* What a state holds was rounded to a grid as it was written. Where rounding every number of that
 * grid again gives it back, and so for what the state begins with, copies that read the state move
 * such elements as they are: a history is rounded as it comes in, and not in every run. */
#include "engine/rewrite/quantised.h"
#include "engine/rewrite/settle/copies.h"
#include "engine/rewrite/settle/passes.h"

#include <math.h>
#include <string.h>

#define COPIES_MAX 8 /* that an element is followed through */

/* What a copy rounds numbers to, as its attribute has it. A first scale of 0: it does not. */
struct grid {
    float at[COPY_GRID_FLOATS];
};

struct steady {
    struct edit e;
    struct arena work;
    struct origin **from; /* of each node: where its elements come from; NULL: not asked yet */
    struct grid *holds;   /* of each element of the state at hand */
    size_t count;
    rill_error *err;
};

static rill_status no_memory(const struct steady *s)
{
    return err_set(s->err, RILL_NOMEM, "out of memory");
}

/* ---- grids ---- */

/* -128 - zero .. 127 - zero. */
static float whole_of(float n, float zero)
{
    const float least = -128 - zero, most = 127 - zero;
    return n < least ? least : n > most ? most : n + 0.0f;
}

/* As the copies round. */
static float rounded(float x, const struct grid *g)
{
    for (int i = 0; i < COPY_GRID_FLOATS && g->at[i] > 0; i += 2)
        x = whole_of(rintf(x / g->at[i]), g->at[i + 1]) * g->at[i];
    return x;
}

static bool keeps(const struct grid *g, float x)
{
    const float y = rounded(x, g);
    return !memcmp(&x, &y, sizeof x);
}

/* Rounding gives back all that was rounded to the other grid. */
static bool keeps_all(const struct grid *g, const struct grid *of)
{
    const float zero = of->at[1];
    bool all = of->at[0] > 0;
    for (float n = -128 - zero; all && n <= 127 - zero; n++)
        all = keeps(g, rounded(n * of->at[0], of));
    return all;
}

static bool is_grid(const struct grid *g)
{
    return g->at[0] > 0;
}

static struct grid input_grid(const struct node *n, int64_t input)
{
    const struct attr_floats *a = &copy_attr(n)->grids;
    struct grid ret = { 0 };
    if (a->n)
        memcpy(ret.at, a->v + input * COPY_GRID_FLOATS, sizeof ret.at);
    return ret;
}

/* ---- what a state holds ---- */

struct walked {
    struct origin *o;
    int32_t input;
};

static void origin_note(void *to, int64_t from, int64_t at)
{
    struct walked *w = to;
    w->o[at] = (struct origin) { w->input, (uint32_t) from };
}

/* Of each element that a copy makes. NULL: no memory. */
static struct origin *origins_of(struct steady *s, const struct node *n, size_t count)
{
    const struct piece *p = (const void *) copy_attr(n)->pieces.v;
    struct walked w = { .o = arena_array(&s->work, struct origin, count + 1) };
    for (uint32_t i = 0; w.o && i < copy_attr(n)->pieces.n / PIECE_INTS; i++) {
        w.input = (int32_t) p[i].input;
        piece_walk(&p[i], origin_note, &w);
    }
    return w.o;
}

static bool count_of(const struct graph *g, uint32_t wire, size_t *ret)
{
    struct tensor t;
    bool known = fact_to_tensor(&g->wires[wire].fact, &t) && t.type == DTYPE_F32;
    *ret = known ? (size_t) tensor_count(&t) : 0;
    return known && *ret <= COPY_ELEMENTS_MAX;
}

/* The grid that an element of a wire was rounded to last, and only moved since. False: no memory.
 */
static bool element_grid(struct steady *s, uint32_t wire, size_t at, struct grid *ret)
{
    const struct graph *g = s->e.g;
    struct rounded_wire r;
    size_t count;
    *ret = (struct grid) { 0 };
    for (int left = COPIES_MAX; left > 0; left--) {
        const uint32_t node = g->wires[wire].node;
        const struct node *n = node == WIRE_NONE ? NULL : &g->nodes[node];
        if (!n || !node_is(n, OP_STRIDED_COPY) || !count_of(g, wire, &count))
            break;
        if (!s->from[node] && !(s->from[node] = origins_of(s, n, count)))
            return false;
        const struct origin o = s->from[node][at];
        *ret = input_grid(n, o.input);
        if (is_grid(ret))
            return true;
        wire = n->in[o.input];
        at = o.at;
    }
    if (wire_is_rounded(g, wire, &r) && r.op == OP_ROUND_S8)
        *ret = (struct grid) { { r.scale, r.zero } };
    return true;
}

/* Rounding keeps what the state begins with. */
static bool keeps_first(const struct state *st, const struct grid *grid)
{
    bool all = st->init || keeps(grid, 0);
    for (int64_t i = 0; all && st->init && i < tensor_count(st->init); i++)
        all = keeps(grid, ((const float *) st->init->data)[i]);
    return all;
}

/* Numbers of a state, of a copy, that the copy need not round. */
struct moved {
    const struct state *state;
    uint32_t node;
    struct origin *o; /* of each element of the copy */
    size_t count;
    uint32_t elements;
};

/* Elements of one input of the copy that its grid keeps are taken from input `plain`. */
static void input_move(const struct steady *s, struct moved *m, int32_t input, int32_t plain)
{
    const struct node *n = &s->e.g->nodes[m->node];
    const struct grid grid = input_grid(n, input);
    struct grid last = { 0 };
    bool kept = false;
    if (!keeps_first(m->state, &grid))
        return;
    for (size_t i = 0; i < m->count; i++) {
        if (m->o[i].input != input)
            continue;
        const struct grid of = s->holds[m->o[i].at];
        if (memcmp(&of, &last, sizeof of))
            kept = keeps_all(&grid, &of);
        last = of;
        m->o[i].input = kept ? plain : input;
        m->elements += kept;
    }
}

static bool input_rounds(const struct node *n, int64_t input)
{
    const struct grid g = input_grid(n, input);
    return is_grid(&g);
}

static bool pieces_fit(const struct node *n, const struct piece *p, uint32_t n_pieces)
{
    for (uint32_t i = 0; i < n_pieces; i++)
        if (p[i].input < n->n_in && input_rounds(n, p[i].input) && !piece_has_rows(&p[i]))
            return false;
    return n_pieces <= copy_attr(n)->pieces.n / PIECE_INTS + COPY_PIECES_MORE;
}

/* The copy reads the state once more, and does not round that. */
static rill_status copy_change(struct steady *s, const struct moved *m)
{
    struct graph *g = s->e.g;
    const struct node n = g->nodes[m->node];
    uint32_t n_pieces;
    struct piece *p = pieces_from_origins(g->arena, m->o, m->count, &n_pieces);
    if (p && !pieces_fit(&n, p, n_pieces))
        return RILL_OK;
    struct strided_copy_attr *a = edit_attr(&s->e, m->node);
    uint32_t *in = arena_array(g->arena, uint32_t, n.n_in + 1);
    float *grids = arena_array(g->arena, float, (n.n_in + 1) * COPY_GRID_FLOATS);
    if (!p || !a || !in || !grids)
        return no_memory(s);
    memcpy(in, n.in, n.n_in * sizeof *in);
    in[n.n_in] = m->state->in;
    memcpy(grids, a->grids.v, n.n_in * COPY_GRID_FLOATS * sizeof *grids);
    const bool patched = a->base >= 0;
    a->pieces = (struct attr_ints) { (uint32_t) (n_pieces * PIECE_INTS), (const void *) p };
    a->grids = (struct attr_floats) { (n.n_in + 1) * COPY_GRID_FLOATS, grids };
    a->patch = (struct attr_ints) { 0 };
    a->base = -1;
    a->again = 0;
    if (patched && !copy_patch_state(g, &s->work, &n, in, a))
        return no_memory(s);
    return edit_inputs(&s->e, m->node, in, n.n_in + 1) ? RILL_OK : no_memory(s);
}

static rill_status copy_steady(struct steady *s, const struct state *st, uint32_t node)
{
    const struct node *n = &s->e.g->nodes[node];
    struct moved m = { .state = st, .node = node };
    bool rounds = false;
    for (unsigned k = 0; node_is(n, OP_STRIDED_COPY) && k < n->n_in; k++)
        rounds = rounds || (n->in[k] == st->in && input_rounds(n, k));
    if (!rounds || !count_of(s->e.g, n->out[0], &m.count))
        return RILL_OK;
    if (!(m.o = origins_of(s, n, m.count)))
        return no_memory(s);
    for (unsigned k = 0; k < n->n_in; k++)
        if (n->in[k] == st->in && input_rounds(n, k))
            input_move(s, &m, (int32_t) k, (int32_t) n->n_in);
    return m.elements ? copy_change(s, &m) : RILL_OK;
}

/* Its next value is made by a copy; what that holds is found before any copy is changed. */
static rill_status state_steady(struct steady *s, const struct state *st)
{
    const struct graph *g = s->e.g;
    const uint32_t maker = g->wires[st->out].node;
    size_t count;
    if (maker == WIRE_NONE || !node_is(&g->nodes[maker], OP_STRIDED_COPY) ||
        !count_of(g, st->in, &count))
        return RILL_OK;
    memset(s->from, 0, s->e.n_nodes * sizeof(struct origin *));
    s->holds = arena_array(&s->work, struct grid, count + 1);
    for (size_t i = 0; s->holds && i < count; i++)
        if (!element_grid(s, st->out, i, &s->holds[i]))
            return no_memory(s);
    if (!s->holds)
        return no_memory(s);
    for (uint32_t i = 0; i < s->e.n_nodes; i++)
        TRY(copy_steady(s, st, i));
    arena_drop(&s->work);
    return RILL_OK;
}

rill_status graph_with_steady_states(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct steady s = { .work.owner = g->arena, .err = reterr };
    rill_status made = RILL_OK;
    TRY(edit_begin(&s.e, ret, g, reterr));
    if (!(s.from = arena_array(ret->arena, struct origin *, s.e.n_nodes + 1)))
        return no_memory(&s);
    for (uint32_t i = 0; i < ret->n_states && made == RILL_OK; i++)
        made = state_steady(&s, &ret->states[i]);
    arena_drop(&s.work);
    TRY(made);
    return edit_end(&s.e, reterr);
}
