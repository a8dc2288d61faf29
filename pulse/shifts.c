/* SPDX-License-Identifier: MIT */
#include "pulse/shifts.h"
#include "engine/ops/attrs.h"
#include "engine/typing/probe.h"
#include "pulse/axes.h"
#include "pulse/ints.h"
#include "pulse/pieces.h"
#include "pulse/places.h"
#include "pulse/positions.h"
#include "pulse/tracks.h"

#define FAR_OFF (INT64_MAX / 4)
#define LENGTHS 12       /* that a chain is tried with */
#define LENGTH_MAX 4096  /* of the stream */
#define LENGTHS_WIDE 3   /* that hold every distance of a window */
#define LENGTH_ALL 300   /* a chain that is a shift there is one at all lengths, where none of */
#define CONSTANT_MAX 128 /* its sizes has a larger constant */
#define NUMBERS_MAX ((int64_t) 1 << 24)
#define LENGTH_WIDE_MAX ((int64_t) 1 << 22)
#define TRIED_MAX ((int64_t) 1 << 29)      /* elements of all chains of a graph */
#define TRIAL_BYTES_MAX ((size_t) 1 << 30) /* of one length */

/* ---- chains ---- */

/* The two time axes, one behind the other. */
static bool rows_of(const struct pulser *p, uint32_t w, int *ret_axis)
{
    int axes[2];
    if (w == WIRE_NONE || time_axes(p, w, axes) != 2 || axes[1] != axes[0] + 1)
        return false;
    *ret_axis = axes[0];
    return true;
}

static bool is_product(const struct node *n)
{
    return (node_is(n, OP_MATMUL) || node_is(n, OP_EINSUM)) && n->n_in == 2 && n->n_out == 1;
}

/* A product of queries and a table: rows are queries. */
static bool starts(const struct pulser *p, const struct node *n, unsigned *ret_table)
{
    int at, axes[2];
    if (!is_product(n) || !rows_of(p, n->out[0], &at))
        return false;
    for (unsigned i = 0; i < 2; i++)
        if (places_known(p, n->in[i]) && !places_known(p, n->in[1 - i]) &&
            time_axes(p, n->in[i], axes) == 1 && track_out(p, n, i, axes[0]) == at + 1 &&
            time_axes(p, n->in[1 - i], axes) == 1 && track_out(p, n, 1 - i, axes[0]) == at) {
            *ret_table = i;
            return true;
        }
    return false;
}

static bool is_single(const struct pulser *p, uint32_t w)
{
    return pulser_fact(p, w)->value && tensor_count(pulser_fact(p, w)->value) == 1;
}

/* Element by element, with one number. */
static bool scales(const struct pulser *p, const struct node *n, uint32_t w)
{
    bool all = (n->op->flags & OP_POINTWISE) && n->n_out == 1;
    for (unsigned i = 0; i < n->n_in; i++)
        all = all && n->in[i] != WIRE_NONE && (n->in[i] == w || is_single(p, n->in[i]));
    return all;
}

/* Moves elements, by what depends on positions and sizes alone. */
static bool goes_on(const struct pulser *p, const struct node *n, uint32_t w, const bool *fixed)
{
    static const enum op_id moves[] = { OP_CONCAT,    OP_FLATTEN,  OP_GATHER, OP_GATHER_ELEMENTS,
                                        OP_PAD,       OP_RESHAPE,  OP_SLICE,  OP_SQUEEZE,
                                        OP_TRANSPOSE, OP_UNSQUEEZE };
    if (!n || n->n_out != 1 || !node_is_among(n, moves, sizeof moves / sizeof *moves))
        return n && n->n_out == 1 && scales(p, n, w);
    for (unsigned i = 0; i < n->n_in; i++)
        if (n->in[i] != WIRE_NONE && n->in[i] != w && !fixed[n->in[i]])
            return false;
    return true;
}

static bool node_is_fixed(const struct node *n, const bool *fixed)
{
    bool is = n->n_in > 0 && n->n_body == 0 && !(n->op->flags & OP_RANDOM);
    for (unsigned i = 0; i < n->n_in; i++)
        is = is && (n->in[i] == WIRE_NONE || fixed[n->in[i]]);
    return is;
}

static bool *fixed_find(const struct pulser *p)
{
    const struct graph *g = p->src;
    bool *fixed = arena_array(p->arena, bool, g->n_wires + 1);
    for (uint32_t w = 0; fixed && w < g->n_wires; w++)
        fixed[w] = g->wires[w].fact.value != NULL;
    for (uint32_t i = 0; fixed && i < g->n_nodes; i++)
        for (unsigned k = 0; k < g->nodes[i].n_out; k++)
            if (g->nodes[i].out[k] != WIRE_NONE)
                fixed[g->nodes[i].out[k]] = node_is_fixed(&g->nodes[i], fixed);
    return fixed;
}

/* The one reader of each wire; NULL: there are several, or none, or it is an output. */
static const struct node **readers_find(const struct pulser *p)
{
    const struct graph *g = p->src;
    const struct node **of = arena_array(p->arena, const struct node *, g->n_wires + 1);
    bool *several = arena_array(p->arena, bool, g->n_wires + 1);
    if (!of || !several)
        return NULL;
    for (uint32_t i = 0; i < g->n_outputs; i++)
        several[g->outputs[i]] = true;
    for (uint32_t i = 0; i < g->n_nodes; i++)
        for (unsigned k = 0; k < g->nodes[i].n_in; k++) {
            uint32_t w = g->nodes[i].in[k];
            if (w == WIRE_NONE)
                continue;
            several[w] |= of[w] != NULL;
            of[w] = &g->nodes[i];
        }
    for (uint32_t w = 0; w < g->n_wires; w++)
        of[w] = several[w] ? NULL : of[w];
    return of;
}

/* ---- where elements come from, for one length of the sequence ---- */

/* A number for each element of the wire, from 1 on, which f32 holds exactly. */
static const struct tensor *numbers_of(const struct pulser *p, uint32_t w, int64_t length,
                                       struct arena *a)
{
    const struct fact *f = pulser_fact(p, w);
    int64_t shape[RANK_MAX], count = 1;
    for (int i = 0; i < f->rank; i++)
        if (!dim_eval(f->shape[i], p->symbol, length, &shape[i]) || shape[i] < 1 ||
            __builtin_mul_overflow(count, shape[i], &count) || count > NUMBERS_MAX)
            return NULL;
    struct tensor *t = tensor_new(a, f->type, f->rank, shape);
    for (int64_t i = 0; t && i < count; i++)
        tensor_set_f64(t, t->data, i, (double) i + 1);
    return t;
}

static int64_t product(const struct tensor *t, int from, int to)
{
    int64_t n = 1;
    for (int i = from; i < to; i++)
        n *= t->dim[i];
    return n;
}

/* Rows and columns from `axis` on, with what stands around them. */
struct table {
    int64_t lead, rows, columns, trail;
};

static struct table table_of(const struct tensor *t, int axis)
{
    return (struct table) { product(t, 0, axis), t->dim[axis], t->dim[axis + 1],
                            product(t, axis + 2, t->rank) };
}

/* Narrows what is known of the shift by the diagonal that element [i, j] lies on; false: the
 * queries' own frames are not where they should be. */
static bool diagonal_missed(int64_t i, int64_t j, struct shift *s)
{
    if (i > j && i - j - 1 < s->before)
        s->before = i - j - 1;
    if (j > i && j - i - 1 < s->after)
        s->after = j - i - 1;
    return i != j;
}

/* By one length: x is the product's, y the chain's end. False: it is no shift. */
static bool shift_learn(const struct table *x, const struct table *y, const struct tensor *v,
                        bool first, struct shift *s)
{
    int64_t at = (int64_t) tensor_get_f64(v, v->data, 0) - 1;
    if (y->lead != x->lead || y->trail != x->trail || y->rows != x->rows || y->columns != x->rows ||
        at < 0)
        return false;
    if (first)
        s->first = at / x->trail - x->rows;
    for (int64_t k = 0; k < tensor_count(v); k++) {
        int64_t t = k % y->trail, j = k / y->trail % y->columns,
                i = k / y->trail / y->columns % y->rows, l = k / y->trail / y->columns / y->rows,
                column = x->rows + s->first + (s->ascends ? i - j : j - i);
        int64_t want = ((l * x->rows + i) * x->columns + column) * x->trail + t;
        bool is = column >= 0 && column < x->columns &&
            (int64_t) tensor_get_f64(v, v->data, k) - 1 == want;
        if (!is && !diagonal_missed(i, j, s))
            return false;
    }
    return true;
}

/* The end is the last of the nodes. False: nothing of that length runs, or it is no shift. */
static bool chain_try(const struct pulser *p, struct shift *s, int64_t length, bool first,
                      struct arena *a)
{
    struct probe probe;
    uint32_t from = s->node[0]->out[0], to = s->node[s->n - 1]->out[0];
    int at, end;
    const struct tensor *x = numbers_of(p, from, length, a), *y;
    if (!x || !rows_of(p, from, &at) || !rows_of(p, to, &end) ||
        !probe_begin(&probe, p->src, p->symbol, length, from, x, a))
        return false;
    probe.left = s->left;
    *s->left -= tensor_count(x);
    for (unsigned k = 1; k < s->n; k++) /* what scales moves nothing */
        if (scales(p, s->node[k], s->node[k - 1]->out[0]))
            probe.value[s->node[k]->out[0]] = probe_wire(&probe, s->node[k - 1]->out[0]);
    y = probe_wire(&probe, to);
    if (!y || y->type != x->type)
        return false;
    const struct table before = table_of(x, at), behind = table_of(y, end);
    return shift_learn(&before, &behind, y, first, s);
}

static bool order_learn(const struct pulser *p, struct shift *s)
{
    int at, end;
    int64_t rows, tried = 0;
    uint32_t w = s->node[0]->out[0];
    if (!rows_of(p, w, &at) || !rows_of(p, s->node[s->n - 1]->out[0], &end))
        return false;
    s->rows = pulser_fact(p, w)->shape[at];
    s->before = s->after = FAR_OFF;
    for (int64_t length = 1; length < LENGTH_MAX && tried < LENGTHS; length++) {
        struct arena work = { .limit_bytes = TRIAL_BYTES_MAX, .owner = p->arena };
        if (!dim_eval(s->rows, p->symbol, length, &rows) || rows < 1)
            continue;
        bool fits = chain_try(p, s, length, tried == 0, &work);
        arena_drop(&work);
        if (!fits)
            return false;
        tried++;
    }
    return tried == LENGTHS;
}

/* Rows by distances that descend, or ascend: those that tell more keys apart. */
static bool chain_learn(const struct pulser *p, struct shift *s)
{
    struct shift other = *s;
    other.ascends = true;
    const bool learnt = order_learn(p, s);
    if (learnt && (s->before > 0 || s->after > 0))
        return true;
    if (!order_learn(p, &other))
        return learnt;
    *s = other;
    return true;
}

/* The last node does more than scaling, and ends in rows. */
static bool moves_rows(const struct pulser *p, const struct shift *s)
{
    const struct node *last = s->node[s->n - 1];
    int at;
    return rows_of(p, last->out[0], &at) && !scales(p, last, s->node[s->n - 2]->out[0]);
}

static rill_status tried_refuse(const struct pulser *p, const struct node *n)
{
    return op_fail(p->err, RILL_LIMIT, n,
                   "what its product with a table of positions goes through is too long, or there "
                   "is too much of it in the graph, to find out whether it shifts the rows; fewer "
                   "heads a product, or a smaller window, would do");
}

static rill_status chain_find(const struct pulser *p, struct shifts *all, const struct node *start,
                              const struct node *const *reader)
{
    struct shift s = { .n = 0, .left = &all->left }, *kept;
    if (!starts(p, start, &s.table))
        return RILL_OK;
    for (const struct node *n = start; s.n < SHIFT_NODES_MAX;) {
        s.node[s.n++] = n;
        const struct node *next = reader[n->out[0]];
        if (!goes_on(p, next, n->out[0], all->fixed))
            break;
        n = next;
    }
    while (s.n > 1 && !(moves_rows(p, &s) && chain_learn(p, &s)))
        s.n--;
    if (all->left < 0)
        return tried_refuse(p, start);
    if (s.n == 1)
        return RILL_OK;
    if (!(kept = arena_copy(p->arena, &s, sizeof s)))
        return pulser_no_memory(p);
    all->of[s.node[s.n - 1]->out[0]] = kept;
    for (unsigned k = 0; k + 1 < s.n; k++)
        all->inside[s.node[k]->out[0]] = true;
    return RILL_OK;
}

rill_status shifts_find(struct pulser *p)
{
    struct shifts *s = arena_new(p->arena, struct shifts);
    const struct node **reader = readers_find(p);
    if (!s || !reader)
        return pulser_no_memory(p);
    s->of = arena_array(p->arena, struct shift *, p->src->n_wires + 1);
    s->inside = arena_array(p->arena, bool, p->src->n_wires + 1);
    s->fixed = fixed_find(p);
    s->left = TRIED_MAX;
    if (!s->of || !s->inside || !s->fixed)
        return pulser_no_memory(p);
    for (uint32_t i = 0; i < p->src->n_nodes; i++)
        TRY(chain_find(p, s, &p->src->nodes[i], reader));
    p->shifts = s;
    return RILL_OK;
}

const struct shift *shift_of(const struct pulser *p, uint32_t w)
{
    return p->shifts && w != WIRE_NONE ? p->shifts->of[w] : NULL;
}

/* ---- what stands for a chain ---- */

/* Rows of `width` columns, of which row i begins at column pulse - 1 - i. */
static rill_status skew_emit(struct pulser *p, const char *name, int axis, int64_t pulse,
                             int64_t width, int64_t keys, uint32_t *wire)
{
    const struct fact f = *pulser_dst_fact(p, *wire);
    int64_t shape[RANK_MAX];
    uint32_t in[2] = { *wire };
    if (pulse == 1)
        return RILL_OK;
    int rank = 0;
    for (int a = 0; a < f.rank; a++)
        if (a != axis + 1)
            shape[rank++] = a == axis ? pulse * width : dim_value(f.shape[a]);
    TRY(pulser_ints(p, name, shape, (unsigned) rank, &in[1]));
    TRY(pulser_emit_op(p, OP_RESHAPE, name, NULL, 0, in, 2, wire));
    TRY(pulser_slice(p, name, *wire, axis, pulse - 1, pulse - 1 + pulse * (width - 1), wire));
    for (int a = 0; a < f.rank; a++)
        shape[a] = a == axis ? pulse : a == axis + 1 ? width - 1 : dim_value(f.shape[a]);
    in[0] = *wire;
    TRY(pulser_ints(p, name, shape, (unsigned) f.rank, &in[1]));
    TRY(pulser_emit_op(p, OP_RESHAPE, name, NULL, 0, in, 2, wire));
    return pulser_slice(p, name, *wire, axis + 1, 0, keys, wire);
}

static rill_status scaled_emit(struct pulser *p, const struct shift *s, unsigned k, uint32_t *wire)
{
    const struct node *n = s->node[k];
    uint32_t w = s->node[k - 1]->out[0], *in = arena_array(p->arena, uint32_t, n->n_in + 1);
    if (!in)
        return pulser_no_memory(p);
    for (unsigned i = 0; i < n->n_in; i++)
        in[i] = n->in[i] == w ? *wire : p->map[n->in[i]];
    return pulser_emit(p, n->op, n->name, n->attr, in, n->n_in, wire, 1);
}

/* With the axes of one element that the end has. */
static rill_status end_emit(struct pulser *p, const struct shift *s, int64_t pulse, int64_t keys,
                            uint32_t *wire)
{
    const struct fact *f = pulser_fact(p, s->node[s->n - 1]->out[0]), *now;
    int64_t shape[RANK_MAX];
    uint32_t in[2] = { *wire };
    int axis = 0;
    rows_of(p, s->node[s->n - 1]->out[0], &axis);
    now = pulser_dst_fact(p, *wire);
    bool same = now->rank == f->rank;
    for (int a = 0; a < f->rank; a++) {
        shape[a] = a == axis ? pulse : a == axis + 1 ? keys : dim_value(f->shape[a]);
        same = same && dim_is(now->shape[a], shape[a]);
    }
    if (same)
        return RILL_OK;
    TRY(pulser_ints(p, s->node[s->n - 1]->name, shape, (unsigned) f->rank, &in[1]));
    return pulser_emit_op(p, OP_RESHAPE, s->node[s->n - 1]->name, NULL, 0, in, 2, wire);
}

/* The shift as it is for sequences of that many rows and a few more. A distance that is clipped
 * shows in none that are shorter. False: there are none, or it is no shift there. */
static bool shift_widen(const struct pulser *p, struct shift *s, int64_t least)
{
    int64_t rows, tried = 0;
    for (int64_t length = 1; length < LENGTH_WIDE_MAX && tried < LENGTHS_WIDE; length++) {
        struct arena work = { .limit_bytes = TRIAL_BYTES_MAX, .owner = p->arena };
        if (!dim_eval(s->rows, p->symbol, length, &rows) || rows < least + tried ||
            !dims_allow(p->dst->dims, p->symbol, length))
            continue;
        bool fits = chain_try(p, s, length, false, &work);
        arena_drop(&work);
        if (!fits)
            return false;
        tried++;
    }
    return tried == LENGTHS_WIDE;
}

static rill_status shift_check(struct pulser *p, const struct shift *of,
                               const struct shift_window *w)
{
    struct shift s = *of;
    const struct node *end = s.node[s.n - 1];
    const int64_t before = w->before, after = w->after, rows = larger(before, after) + 2;
    bool known = shift_widen(p, &s, rows);
    if (*s.left < 0)
        return tried_refuse(p, end);
    if (!known)
        return op_fail(p->err, RILL_UNSUPPORTED, end,
                       "cannot stream: whether the shift of positions takes a product of its own "
                       "for each distance that its mask shows is not known for sequences of %lld "
                       "frames",
                       (long long) rows);
    if (before <= s.before && after <= s.after)
        return RILL_OK;
    return op_fail(p->err, RILL_UNSUPPORTED, end,
                   "cannot stream: the shift of positions takes other queries' products, or those "
                   "of other distances, for keys more than %lld frames %s their query, which its "
                   "mask shows",
                   (long long) (after > s.after ? s.after : s.before),
                   after > s.after ? "behind" : "before");
}

/* Of rows `at` of the table, each of which is one frame further than the one before it, those that
 * queries meet in `keys` keys. */
static rill_status rows_emit(struct pulser *p, const struct shift *s, uint32_t queries,
                             const struct places *at, int64_t pulse, int64_t keys, uint32_t *ret)
{
    const struct node *n = s->node[0];
    uint32_t in[2];
    int axis = 0;
    TRY(places_emit(p, n, n->in[s->table], at, &in[s->table]));
    in[1 - s->table] = queries;
    TRY(pulser_emit(p, n->op, n->name, n->attr, in, 2, ret, 1));
    rows_of(p, n->out[0], &axis);
    for (unsigned k = 1; k < s->n; k++)
        if (scales(p, s->node[k], s->node[k - 1]->out[0]))
            TRY(scaled_emit(p, s, k, ret));
    TRY(skew_emit(p, n->name, axis, pulse, keys + pulse - 1, keys, ret));
    return end_emit(p, s, pulse, keys, ret);
}

/* Row `rows` + by of the table; NULL: its length is not known. */
static const struct dim *row_at(const struct pulser *p, const struct shift *s, const struct dim *by)
{
    const struct dim *rows = positions_dim(p->positions, s->rows, p->symbol);
    return rows ? dim_add(p->positions->dims, rows, by) : NULL;
}

static rill_status length_refuse(struct pulser *p, const struct shift *s)
{
    return op_fail(p->err, RILL_UNSUPPORTED, s->node[0], "cannot stream: its length is not known");
}

rill_status shift_emit(struct pulser *p, const struct shift *s, uint32_t queries,
                       const struct shift_window *w, uint32_t *ret)
{
    const struct positions *ps = p->positions;
    const int64_t keys = w->left + w->pulse + w->right, way = s->ascends ? -1 : 1,
                  first = way * s->first - (w->pulse - 1 + w->left);
    int axes[2];
    TRY(shift_check(p, s, w));
    time_axes(p, s->node[0]->in[s->table], axes);
    const struct places at = { .axis = { axes[0], AXIS_NONE },
                               .at = { row_at(p, s, dim_mul_int(ps->dims, ps->place[0], way)) },
                               .first = { first, 0 },
                               .count = { keys + w->pulse - 1, 0 },
                               .unseen = { w->left - w->before + w->pulse - 1,
                                           w->right - w->after + w->pulse - 1 } };
    return at.at[0] ? rows_emit(p, s, queries, &at, w->pulse, keys, ret) : length_refuse(p, s);
}

/* ---- the first keys of the sequence ---- */

/* Whether e is part of d. */
static bool holds_part(const struct dim *d, const struct dim *e)
{
    const struct dim_parts x = dim_parts(d);
    bool is = d == e;
    for (unsigned i = 0; !is && i < x.n; i++)
        is = holds_part(x.arg[i], e);
    return is;
}

static bool holds_quotient(const struct dim *d)
{
    const struct dim_parts x = dim_parts(d);
    bool is = x.form == DIM_FORM_QUOTIENT;
    for (unsigned i = 0; !is && i < x.n; i++)
        is = holds_quotient(x.arg[i]);
    return is;
}

static bool is_small(int64_t v)
{
    return v <= CONSTANT_MAX && v >= -CONSTANT_MAX;
}

/* Sums and products, leasts and mosts of the symbol that the rows are counted by, with no large
 * constants; where those are a quotient, of that. */
static bool made_by_rows(const struct dim *d, const struct dim *rows)
{
    const struct dim_parts x = dim_parts(d);
    static const enum dim_form forms[] = { DIM_FORM_INT, DIM_FORM_SUM, DIM_FORM_PRODUCT,
                                           DIM_FORM_LEAST, DIM_FORM_MOST };
    bool is = false;
    if (x.form == DIM_FORM_QUOTIENT || x.form == DIM_FORM_SYMBOL)
        return holds_part(rows, d) && (x.form == DIM_FORM_QUOTIENT || !holds_quotient(rows));
    for (unsigned i = 0; i < sizeof forms / sizeof *forms; i++)
        is |= x.form == forms[i];
    is = is && (x.form != DIM_FORM_SUM || is_small(x.value));
    for (unsigned i = 0; is && i < x.n; i++)
        is = made_by_rows(x.arg[i], rows);
    return is;
}

/* Nor does a least or a most of it turn behind LENGTH_ALL. */
static bool grows_by_rows(const struct dim *d, const struct dim *rows)
{
    return made_by_rows(d, rows) && pieces_reach(d, LENGTH_ALL) < LENGTH_ALL;
}

/* The same where rows are no more than `longest`: looked at one by one, it is a polynomial of the
 * second degree in them. */
static bool even_by_rows(const struct pulser *p, const struct dim *d, const struct dim *rows,
                         int64_t longest)
{
    int64_t n, v, at = 0, was[2] = { 0, 0 }, step[2] = { 0, 0 }, k = 0;
    for (int64_t length = 1; length < LENGTH_WIDE_MAX; length++) {
        if (!dim_eval(rows, p->symbol, length, &n) || !dim_eval(d, p->symbol, length, &v))
            return false;
        if (n > longest)
            return true;
        if (n < 1 || (k > 0 && n == at && v == was[0]))
            continue;
        if ((k > 0 && n == at) || (k > 1 && n - at != step[0]) ||
            (k > 2 && v - was[0] - (was[0] - was[1]) != step[1]))
            return false;
        step[1] = v - was[0] - (was[0] - was[1]);
        step[0] = n - at;
        was[1] = was[0];
        was[0] = v;
        at = n;
        k++;
    }
    return true;
}

/* A chain, and of how many rows it is the question: INT64_MAX: however many. */
struct moves {
    const struct pulser *p;
    struct shift *s;
    int64_t longest;
};

static bool size_moves(const struct moves *m, const struct dim *d)
{
    return m->longest == INT64_MAX ? grows_by_rows(d, m->s->rows)
                                   : even_by_rows(m->p, d, m->s->rows, m->longest);
}

/* How far a Pad or a Slice moves: by small numbers, or as rows grow; to the end. */
static bool amounts_move(const struct moves *m, const struct tensor *t)
{
    bool is = t != NULL;
    for (int64_t k = 0; is && !dtype_is_float(t->type) && k < tensor_count(t); k++) {
        const int64_t v = t->type == DTYPE_DIM ? 0 : tensor_get_i64(t, t->data, k);
        is = t->type == DTYPE_DIM ? size_moves(m, ((const struct dim *const *) t->data)[k])
                                  : is_small(v) || v >= INT32_MAX || v <= -INT32_MAX;
    }
    return is;
}

static bool node_moves_by_rows(const struct moves *m, const struct node *n)
{
    static const enum op_id picks[] = { OP_GATHER, OP_GATHER_ELEMENTS },
                            by[] = { OP_PAD, OP_SLICE };
    const struct fact *f = pulser_fact(m->p, n->out[0]);
    bool is = !node_is_among(n, picks, sizeof picks / sizeof *picks);
    for (int a = 0; is && a < f->rank; a++)
        is = size_moves(m, f->shape[a]);
    for (unsigned i = 1; is && node_is_among(n, by, sizeof by / sizeof *by) && i < n->n_in; i++)
        is = n->in[i] == WIRE_NONE || amounts_move(m, pulser_fact(m->p, n->in[i])->value);
    return is;
}

/* Whether nodes that have no places to take from move rows by sizes of the length alone. Nothing
 * turns at a length of its own then: what is a shift at the lengths that are tried, the last of
 * them longer than each constant and least, or the longest, is one at all. */
static bool moves_by_length(const struct moves *m)
{
    bool is = true;
    for (unsigned k = 0; is && k < m->s->n; k++)
        is = node_moves_by_rows(m, m->s->node[k]);
    return is && shift_widen(m->p, m->s, smaller(LENGTH_ALL, m->longest - LENGTHS_WIDE + 1));
}

/* longest: so many frames the table has rows for. */
static rill_status shift_check_all(struct pulser *p, const struct shift *of, int64_t ahead,
                                   int64_t longest)
{
    struct shift s = *of;
    const struct node *end = s.node[s.n - 1];
    const bool known = moves_by_length(&(struct moves) { p, &s, longest });
    if (*s.left < 0)
        return tried_refuse(p, end);
    return known && s.before == FAR_OFF && s.after >= ahead
        ? RILL_OK
        : op_fail(p->err, RILL_UNSUPPORTED, end,
                  "cannot stream: its mask shows the first keys of the sequence beside a window, "
                  "and whether the shift of positions takes a product of its own for each "
                  "distance, however long the sequence is, is not known; rows of distances from "
                  "T-1 to -(T-1) that are padded, reshaped and cut, by sizes of the length, and "
                  "not picked by an index, would stream");
}

rill_status shift_first_emit(struct pulser *p, const struct shift *s, uint32_t queries,
                             const struct shift_first *w, uint32_t *ret)
{
    const struct positions *ps = p->positions;
    const int64_t way = s->ascends ? -1 : 1;
    int64_t rows = INT64_MAX;
    int axes[2];
    time_axes(p, s->node[0]->in[s->table], axes);
    const struct dim *by =
        dim_add_int(ps->dims, dim_mul_int(ps->dims, ps->place[0], -way), s->first + way * w->ahead);
    const struct places at = { .axis = { axes[0], AXIS_NONE },
                               .at = { row_at(p, s, by) },
                               .count = { w->first + w->pulse - 1, 0 },
                               .running = true,
                               .queries = w->distances,
                               .ends = &rows };
    if (!at.at[0])
        return length_refuse(p, s);
    TRY(rows_emit(p, s, queries, &at, w->pulse, w->first, ret));
    return shift_check_all(p, s, w->ahead, rows == INT64_MAX ? rows : rows - w->ahead);
}
