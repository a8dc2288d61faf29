/* SPDX-License-Identifier: MIT */
#include "pulse/running.h"
#include "engine/ops/attrs.h"
#include "engine/ops/einsum.h"
#include "pulse/decays.h"
#include "pulse/running_sum.h"

#define STEPS_MAX 16
#define SUMMED 'y' /* the label that queries and keys have in common */

static const struct node *producer(const struct looked *l, uint32_t w)
{
    return graph_producer(l->e->g, w);
}

/* ---- where axes go ---- */

static bool is_product(const struct node *n)
{
    return (node_is(n, OP_MATMUL) || node_is(n, OP_EINSUM)) && n->n_in == 2;
}

/* The axis of the output of a product that axis `axis` of input i becomes; -1: it is summed. */
static int axis_behind(const struct looked *l, const struct node *n, unsigned i, int axis)
{
    const int ranks[2] = { fact_at(l, n->in[0])->rank, fact_at(l, n->in[1])->rank };
    const int out = fact_at(l, n->out[0])->rank;
    if (node_is(n, OP_EINSUM))
        return einsum_output_axis(n, ranks, i, axis);
    const int back = ranks[i] - axis;
    return back == (i == 0 ? 1 : 2) ? -1 : out - back;
}

/* Whether it sums along one axis of each input. */
static bool sums_once(const struct looked *l, const struct node *n)
{
    const int ranks[2] = { fact_at(l, n->in[0])->rank, fact_at(l, n->in[1])->rank };
    int axes[2];
    return node_is(n, OP_EINSUM) ? einsum_summed(n, ranks, axes) : ranks[0] > 1 && ranks[1] > 1;
}

/* The two axes that have one symbolic size; false: there are none. */
static bool has_square(const struct looked *l, uint32_t w)
{
    const struct fact *f = fact_at(l, w);
    for (int i = 0; i < f->rank; i++)
        for (int k = 0; k < i; k++)
            if (f->shape[i] == f->shape[k] && dim_has_symbol(f->shape[i]))
                return true;
    return false;
}

/* ---- what weights are multiplied by ---- */

static bool positions_want(struct looked *l)
{
    const struct graph *g = l->e->g;
    const struct dim *symbols[2];
    unsigned n = 0;
    if (l->tried)
        return l->found;
    l->tried = true;
    for (uint32_t i = 0; i < g->n_inputs; i++)
        for (int k = 0; k < fact_at(l, g->inputs[i])->rank; k++)
            n = dim_symbols(fact_at(l, g->inputs[i])->shape[k], symbols, n, 2);
    const rill_status s =
        n == 1 ? positions_find(l->ps, g, symbols[0], &l->scratch, l->err) : RILL_UNSUPPORTED;
    l->found = s == RILL_OK;
    l->status = s == RILL_NOMEM ? s : RILL_OK;
    return l->found;
}

static struct falling falling_of(const struct looked *l, const struct sum *s)
{
    return (struct falling) { l->e->g, l->ps, fact_at(l, s->w)->rank, s->query, s->key };
}

/* Axes of w as those of a wire that is broadcast to it; -1: it has no such axis, or one element. */
static int axis_within(const struct looked *l, const struct sum *s, uint32_t small, int axis)
{
    const struct falling f = falling_of(l, s);
    return falling_axis(&f, small, axis);
}

/* Whether elements of `mask` (its opposite) are 1 where a key is not behind its query, 0 elsewhere;
 * ret_strict: nor at it. */
static bool is_causal(const struct looked *l, const struct sum *s, uint32_t mask, bool opposite,
                      bool *ret_strict)
{
    const struct position *at = &l->ps->of[mask];
    const int query = axis_within(l, s, mask, s->query), key = axis_within(l, s, mask, s->key);
    struct dims *ds = l->ps->dims;
    if (query < 0 || key < 0 || !at->e || at->parts > 1 ||
        (at->pair && (opposite || at->one != 1 || at->zero != 0)))
        return false;
    const struct dim *i = l->ps->axis[query], *j = l->ps->axis[key],
                     *not_shown = dim_sub(ds, dim_int(ds, 1), at->e),
                     *shown = opposite ? not_shown : at->e;
    not_shown = opposite ? at->e : not_shown;
    *ret_strict = shown == dim_ge(ds, i, dim_add_int(ds, j, 1)) || not_shown == dim_ge(ds, j, i);
    return *ret_strict || shown == dim_ge(ds, i, j) ||
        not_shown == dim_ge(ds, j, dim_add_int(ds, i, 1));
}

static bool mask_take(struct looked *l, struct sum *s, uint32_t mask, bool opposite)
{
    bool strict;
    if (!positions_want(l) || !is_causal(l, s, mask, opposite, &strict))
        return false;
    s->strict |= strict;
    return s->causal = true;
}

/* One number for all keys of a query. */
static bool is_of_query(const struct looked *l, const struct sum *s, uint32_t w)
{
    return fact_at(l, w)->rank <= fact_at(l, s->w)->rank && axis_within(l, s, w, s->key) < 0;
}

static bool factor_add(uint32_t *list, unsigned *n, uint32_t w)
{
    if (*n == FACTORS_MAX)
        return false;
    list[(*n)++] = w;
    return true;
}

static bool is_zero(const struct looked *l, uint32_t w)
{
    const struct tensor *v = fact_at(l, w)->value;
    const struct node *n = producer(l, w);
    if (n && node_is(n, OP_EXPAND))
        return is_zero(l, n->in[0]);
    if (n && node_is(n, OP_CONSTANT_OF_SHAPE)) {
        v = value_attr_of(n)->value;
        return !v || tensor_get_f64(v, v->data, 0) == 0;
    }
    return v && v->type != DTYPE_DIM && tensor_count(v) == 1 && tensor_get_f64(v, v->data, 0) == 0;
}

/* Axes are put in front, or repeated: those that there are lie from the last one on as they did. */
static bool moves_in_front(const struct looked *l, const struct node *n)
{
    static const enum op_id ids[] = { OP_IDENTITY, OP_EXPAND, OP_UNSQUEEZE };
    if (!node_is_among(n, ids, sizeof ids / sizeof *ids))
        return false;
    const struct fact *x = fact_at(l, n->in[0]), *y = fact_at(l, n->out[0]);
    for (int i = 0; node_is(n, OP_UNSQUEEZE) && i < y->rank; i++)
        if (i < y->rank - x->rank ? !dim_is(y->shape[i], 1)
                                  : y->shape[i] != x->shape[i - y->rank + x->rank])
            return false;
    return true;
}

/* 0 where x is not a number, x elsewhere: how powers of keys behind their query are cleared. */
static bool clears_nan(const struct looked *l, const struct node *n)
{
    const struct node *of = node_is(n, OP_WHERE) ? producer(l, n->in[0]) : NULL;
    return of && node_is(of, OP_ISNAN) && of->in[0] == n->in[2] && is_zero(l, n->in[1]);
}

static uint32_t behind_casts(const struct looked *l, uint32_t w)
{
    const struct node *n = producer(l, w);
    while (n && node_is(n, OP_CAST)) {
        w = n->in[0];
        n = producer(l, w);
    }
    return w;
}

/* x, or what other numbers were put into where it is none, or infinite. */
static bool is_within(const struct looked *l, uint32_t x, uint32_t of)
{
    for (int steps = 0; x != of && steps < STEPS_MAX; steps++) {
        const struct node *n = producer(l, x);
        if (!n || !node_is(n, OP_WHERE))
            return false;
        x = n->in[2];
    }
    return x == of;
}

/* Whether it is true of infinite x only. */
static bool asks_infinite(const struct looked *l, uint32_t w, uint32_t x, int depth)
{
    const struct node *n = producer(l, behind_casts(l, w));
    if (n && node_is(n, OP_AND) && depth < STEPS_MAX)
        return asks_infinite(l, n->in[0], x, depth + 1) || asks_infinite(l, n->in[1], x, depth + 1);
    return n && node_is(n, OP_ISINF) && is_within(l, x, behind_casts(l, n->in[0]));
}

/* Another number where x is infinite, x elsewhere. */
static bool clears_infinite(const struct looked *l, const struct node *n)
{
    return node_is(n, OP_WHERE) && asks_infinite(l, n->in[0], n->in[2], 0);
}

static bool decay_take(struct looked *l, struct sum *s, uint32_t w)
{
    const struct falling f = falling_of(l, s);
    struct arena *a = l->e->g->arena;
    uint32_t mask;
    bool opposite;
    if (s->n_decays == FACTORS_MAX)
        return false;
    const struct tensor *decay = decay_of(&f, w, a);
    if (!decay && (decay = decay_hidden(&f, w, a, &mask, &opposite)) &&
        !mask_take(l, s, mask, opposite))
        return false;
    if (decay)
        s->decay[s->n_decays++] = decay;
    return decay != NULL;
}

/* The side of a triangle that n keeps: keys that are not behind their query, or only those before
 * it; what is cut off is 0. */
static bool triangle_take(const struct looked *l, struct sum *s, const struct node *n)
{
    const int last = fact_at(l, n->in[0])->rank - 1;
    const int query = axis_within(l, s, n->in[0], s->query),
              key = axis_within(l, s, n->in[0], s->key);
    const struct tensor *v = node_has_input(n, 1) ? fact_at(l, n->in[1])->value : NULL;
    if (query < 0 || key < 0 || query + key != 2 * last - 1 || (node_has_input(n, 1) && !v))
        return false;
    const bool upper = trilu_attr_of(n)->upper != 0;
    const int64_t k = v ? tensor_get_i64(v, v->data, 0) : 0, ahead = upper ? k : -k;
    if (upper != (query == last) || ahead < 0 || ahead > 1)
        return false;
    s->strict |= ahead == 1;
    return s->causal = true;
}

static bool factor_take(struct looked *l, struct sum *s, uint32_t w, int depth);

/* A factor that is 0 at the keys which a mask, or a triangle, hides; what it is made of beside
 * positions is numbers, which 0 instead of them is, too. */
static bool hidden_take(struct looked *l, struct sum *s, const struct node *n, int depth)
{
    const unsigned times = s->n_times, over = s->n_over,
                   zero = node_is(n, OP_WHERE) && is_zero(l, n->in[1]) ? 1 : 2;
    if (node_is(n, OP_WHERE) ? !is_zero(l, n->in[zero]) || !mask_take(l, s, n->in[0], zero == 1)
                             : !triangle_take(l, s, n))
        return false;
    if (!factor_take(l, s, n->in[node_is(n, OP_WHERE) ? 3 - zero : 0], depth + 1))
        return false;
    bool numbers = s->n_over == over;
    for (unsigned i = times; i < s->n_times; i++)
        numbers &= is_number(l, s->times[i]);
    return numbers;
}

/* Whether w is made of masks, of what is alike for all keys and of decays; those go into s. */
static bool factor_take(struct looked *l, struct sum *s, uint32_t w, int depth)
{
    const struct node *n = producer(l, w);
    if (!positions_want(l) || fact_at(l, w)->rank > fact_at(l, s->w)->rank || depth == STEPS_MAX)
        return false;
    if (mask_take(l, s, w, false))
        return true;
    if (is_of_query(l, s, w))
        return factor_add(s->times, &s->n_times, w);
    if (!n || n->n_out != 1)
        return false;
    if (node_is(n, OP_MUL))
        return factor_take(l, s, n->in[0], depth + 1) && factor_take(l, s, n->in[1], depth + 1);
    if (node_is(n, OP_DIV))
        return factor_take(l, s, n->in[0], depth + 1) && is_of_query(l, s, n->in[1]) &&
            factor_add(s->over, &s->n_over, n->in[1]);
    if (moves_in_front(l, n) || clears_nan(l, n))
        return factor_take(l, s, n->in[moves_in_front(l, n) ? 0 : 2], depth + 1);
    if (clears_infinite(l, n)) { /* masks and decays are finite */
        const unsigned of_queries = s->n_times + s->n_over;
        return factor_take(l, s, n->in[2], depth + 1) && s->n_times + s->n_over == of_queries;
    }
    if (node_is(n, OP_TRILU) ||
        (node_is(n, OP_WHERE) && (is_zero(l, n->in[1]) || is_zero(l, n->in[2]))))
        return hidden_take(l, s, n, depth);
    return decay_take(l, s, w);
}

/* Whether n only multiplies weights by what is known of it; those are in *ret_w. */
static bool step_take(struct looked *l, struct sum *s, const struct node *n, uint32_t *ret_w)
{
    if (node_is(n, OP_IDENTITY)) {
        *ret_w = n->in[0];
        return true;
    }
    if (node_is(n, OP_WHERE)) {
        const unsigned zero = is_zero(l, n->in[1]) ? 1 : 2;
        *ret_w = n->in[3 - zero];
        return is_zero(l, n->in[zero]) && mask_take(l, s, n->in[0], zero == 1);
    }
    if (node_is(n, OP_DIV)) {
        *ret_w = n->in[0];
        return is_of_query(l, s, n->in[1]) && factor_add(s->over, &s->n_over, n->in[1]);
    }
    const struct sum before = *s;
    for (unsigned i = 0; node_is(n, OP_MUL) && i < 2; i++) {
        *ret_w = n->in[1 - i];
        if (!has_square(l, *ret_w))
            continue;
        if (is_of_query(l, s, n->in[i]))
            return factor_add(s->times, &s->n_times, n->in[i]);
        if (factor_take(l, s, n->in[i], 0))
            return true;
        *s = before;
    }
    return false;
}

/* Whether the weights are those of positions alone: of a sum that each key's value goes into. */
static bool weights_known(struct looked *l, struct sum *s)
{
    const struct sum before = *s;
    s->product = WIRE_NONE;
    if (is_product(&l->e->g->nodes[s->at]) && factor_take(l, s, s->w, 0) && s->causal)
        return true;
    *s = before;
    return false;
}

/* From the sum up to the product of queries and keys. */
static bool weights_follow(struct looked *l, struct sum *s)
{
    uint32_t w = s->w;
    if (weights_known(l, s))
        return true;
    for (int steps = 0; steps < STEPS_MAX; steps++) {
        const struct node *n = producer(l, w);
        if (!n || n->n_out != 1 || fact_at(l, w)->rank != fact_at(l, s->w)->rank)
            return false;
        if (is_product(n)) {
            s->product =
                fact_at(l, n->out[0])->type == DTYPE_F32 ? l->e->g->wires[w].node : WIRE_NONE;
            return s->causal && s->product != WIRE_NONE && sums_once(l, n);
        }
        if (!step_take(l, s, n, &w))
            return false;
    }
    return false;
}

/* ---- labels ---- */

/* Each label has one size. */
static bool sizes_agree(const struct looked *l, struct sum *s, uint32_t w, const char *labels)
{
    const struct fact *f = fact_at(l, w);
    for (int i = 0; i < f->rank; i++) {
        const struct dim **size = &s->size[(unsigned char) labels[i]];
        if (*size && *size != f->shape[i])
            return false;
        *size = f->shape[i];
    }
    return true;
}

/* The sizes of the weights. */
static bool sizes_note(const struct looked *l, struct sum *s)
{
    char labels[LABELS] = "";
    for (int k = 0; k < fact_at(l, s->w)->rank; k++)
        labels[k] = label_of(k);
    return sizes_agree(l, s, s->w, labels);
}

/* Queries and keys: axes of the weights, and the one that is summed. */
static bool product_label(const struct looked *l, struct sum *s)
{
    const struct node *n = &l->e->g->nodes[s->product];
    char labels[2][LABELS] = { "" };
    s->in_q = s->in_k = WIRE_NONE;
    if (s->product == WIRE_NONE)
        return sizes_note(l, s);
    for (unsigned i = 0; i < 2; i++) {
        for (int k = 0; k < fact_at(l, n->in[i])->rank; k++) {
            const int to = axis_behind(l, n, i, k);
            labels[i][k] = to < 0 ? SUMMED : label_of(to);
        }
        if (!sizes_agree(l, s, n->in[i], labels[i]))
            return false;
    }
    const unsigned of_key = strchr(labels[1], label_of(s->key)) ? 1 : 0;
    s->in_k = n->in[of_key];
    s->in_q = n->in[1 - of_key];
    memcpy(s->k, labels[of_key], LABELS);
    memcpy(s->q, labels[1 - of_key], LABELS);
    return strchr(s->k, label_of(s->key)) && strchr(s->q, label_of(s->query)) &&
        !strchr(s->k, label_of(s->query)) && !strchr(s->q, label_of(s->key));
}

/* Values: axes of the weights, and others. What comes out has those of both. */
static bool values_label(const struct looked *l, struct sum *s, const struct node *n)
{
    const unsigned other = 1 - s->weights;
    char label = label_of(fact_at(l, s->w)->rank);
    s->in_v = n->in[other];
    for (int k = 0; k < fact_at(l, s->w)->rank; k++) {
        const int to = axis_behind(l, n, s->weights, k);
        if (to >= 0)
            s->y[to] = label_of(axis_turned(s, k));
    }
    for (int k = 0; k < fact_at(l, s->in_v)->rank; k++) {
        const int to = axis_behind(l, n, other, k);
        if (to >= 0 && !s->y[to])
            s->y[to] = label++;
        s->v[k] = to < 0 ? label_of(s->key) : s->y[to];
    }
    return sizes_agree(l, s, s->in_v, s->v) && !strchr(s->v, label_of(s->query)) &&
        (int) strlen(s->y) == fact_at(l, n->out[0])->rank;
}

static void total_label(const struct looked *l, struct sum *s)
{
    char *y = s->y;
    for (int k = 0; k < fact_at(l, s->w)->rank; k++)
        if (k != s->key)
            *y++ = label_of(k);
}

/* Axes of the state along which decays differ are its own. */
static bool decays_fit(const struct looked *l, const struct sum *s)
{
    for (unsigned i = 0; i < s->n_decays; i++)
        for (int k = 0; k < s->decay[i]->rank; k++)
            if (s->decay[i]->dim[k] != 1 &&
                !strchr(s->state, label_of(k + fact_at(l, s->w)->rank - s->decay[i]->rank)))
                return false;
    return true;
}

/* What comes out has the axes of the state, in their order. */
static bool is_state_shown(const struct sum *s)
{
    char y[LABELS];
    memcpy(y, s->y, LABELS);
    label_drop(y, label_of(s->query));
    return !strcmp(y, s->state);
}

/* Labels of keys and values but time: all sizes are numbers. */
static bool state_label(const struct looked *l, struct sum *s)
{
    size_t n = 0;
    const char *both[2] = { s->k, s->v };
    for (int i = 0; i < 2; i++)
        for (const char *at = both[i]; *at; at++)
            if (*at != label_of(s->key) && !strchr(s->state, *at)) {
                const struct dim *size = s->size[(unsigned char) *at];
                if (n == RANK_MAX || !size || !dim_is_const(size))
                    return false;
                s->state[n++] = *at;
            }
    s->stack = (int) (strchr(s->y, label_of(s->query)) - s->y);
    return decays_fit(l, s) && (s->product != WIRE_NONE || is_state_shown(s));
}

/* ---- which sums ---- */

/* Queries and keys of a sum that node `at` is over one of two axes of input i. */
static bool axes_find(const struct looked *l, struct sum *s, const struct node *n)
{
    const struct fact *f = fact_at(l, s->w);
    s->key = -1;
    if (is_product(n)) {
        for (int k = 0; k < f->rank; k++)
            s->key = axis_behind(l, n, s->weights, k) < 0 ? axis_turned(s, k) : s->key;
    } else {
        const struct tensor *v = node_has_input(n, 1) ? fact_at(l, n->in[1])->value : NULL;
        if (v && dtype_is_int(v->type) && tensor_count(v) == 1)
            s->key = axis_normalise(tensor_get_i64(v, v->data, 0), f->rank);
        s->keeps_key = reduce_attr_of(n)->keepdims != 0;
    }
    for (int k = 0; s->key >= 0 && k < f->rank; k++)
        if (k != s->key && f->shape[k] == f->shape[s->key]) {
            s->query = k;
            return dim_has_symbol(f->shape[k]);
        }
    return false;
}

/* Of lower rank only the last axes are turned. */
static bool turns_within(const struct sum *s, int rank_w, int rank)
{
    for (int k = 0; k < rank_w - rank; k++)
        if (axis_turned(s, k) != k)
            return false;
    return true;
}

/* Factors of queries lie on the axes of what comes out as they do on those of the weights. */
static bool factor_fits(const struct looked *l, const struct sum *s, uint32_t w, bool turned)
{
    const int rank_w = fact_at(l, s->w)->rank, rank = fact_at(l, w)->rank;
    if (!s->perm.n || is_number(l, w))
        return true;
    for (int k = 0; turned && k < rank_w; k++) {
        const int axis = k - rank_w + rank;
        if (axis_turned(s, k) == s->key && axis >= 0 && !dim_is(fact_at(l, w)->shape[axis], 1))
            return false;
    }
    return rank <= rank_w && (turned || turns_within(s, rank_w, rank));
}

static bool factors_fit(const struct looked *l, const struct sum *s)
{
    bool plain = true, fit = s->keeps_key || s->in_v != WIRE_NONE;
    for (unsigned i = 0; i < s->n_times; i++)
        plain &= is_number(l, s->times[i]);
    for (unsigned i = 0; i < s->n_over; i++)
        plain &= is_number(l, s->over[i]);
    for (unsigned i = 0; i < s->n_times; i++)
        fit &= factor_fits(l, s, s->times[i], i < s->turned_times);
    for (unsigned i = 0; i < s->n_over; i++)
        fit &= factor_fits(l, s, s->over[i], i < s->turned_over);
    const int front = (int) strlen(s->y) - fact_at(l, s->w)->rank; /* axes that only values have */
    for (int k = 0; s->in_v != WIRE_NONE && k < fact_at(l, s->w)->rank; k++)
        fit &= front >= 0 &&
            (axis_turned(s, k) == s->key || s->y[front + k] == label_of(axis_turned(s, k)));
    return plain || fit;
}

/* What n does to weights that were turned: *ret_w are those; false: something else. */
static bool turned_step(const struct looked *l, struct sum *s, const struct node *n,
                        uint32_t *ret_w)
{
    const unsigned of = node_is(n, OP_MUL) && !has_square(l, n->in[0]) ? 1 : 0;
    *ret_w = n->in[of];
    if (node_is(n, OP_IDENTITY))
        return true;
    if ((!node_is(n, OP_MUL) && !node_is(n, OP_DIV)) || has_square(l, n->in[1 - of]))
        return false;
    return node_is(n, OP_MUL) ? factor_add(s->times, &s->n_times, n->in[1 - of])
                              : factor_add(s->over, &s->n_over, n->in[1]);
}

/* The weights are those in front of a Transpose, behind which factors may lie. */
static bool weights_turn(const struct looked *l, struct sum *s)
{
    uint32_t w = s->w;
    const struct node *n = producer(l, w);
    for (int steps = 0; n && !node_is(n, OP_TRANSPOSE) && steps < STEPS_MAX; steps++) {
        if (n->n_out != 1 || !turned_step(l, s, n, &w))
            return false;
        n = producer(l, w);
    }
    if (!n || !node_is(n, OP_TRANSPOSE) ||
        transpose_attr_of(n)->perm.n != (uint32_t) fact_at(l, s->w)->rank)
        return false;
    s->turned_times = s->n_times;
    s->turned_over = s->n_over;
    s->perm = transpose_attr_of(n)->perm;
    s->w = n->in[0];
    return true;
}

static bool sum_read(struct looked *l, struct sum *s)
{
    const struct node *n = &l->e->g->nodes[s->at];
    if (!has_square(l, s->w) || !axes_find(l, s, n) || !weights_follow(l, s) ||
        !product_label(l, s))
        return false;
    if (!is_product(n))
        total_label(l, s);
    else if (!sums_once(l, n) || !values_label(l, s, n))
        return false;
    return state_label(l, s) && factors_fit(l, s);
}

static bool sum_find(struct looked *l, uint32_t at, unsigned i, struct sum *s)
{
    const struct node *n = &l->e->g->nodes[at];
    const struct sum plain = { .at = at, .weights = i, .w = n->in[i], .in_v = WIRE_NONE };
    *s = plain;
    if (plain.w == WIRE_NONE || sum_read(l, s))
        return plain.w != WIRE_NONE;
    *s = plain;
    return is_product(n) && weights_turn(l, s) && sum_read(l, s);
}

static rill_status node_look(struct looked *l, uint32_t at)
{
    const struct node *n = &l->e->g->nodes[at];
    struct sum s;
    if (n->n_out != 1 || n->out[0] == WIRE_NONE || fact_at(l, n->out[0])->type != DTYPE_F32)
        return RILL_OK;
    const unsigned sums = is_product(n) ? 2 : node_is(n, OP_REDUCE_SUM) ? 1 : 0;
    for (unsigned i = 0; i < sums; i++)
        if (sum_find(l, at, i, &s)) {
            l->any = true;
            return running_sum_put(l, &s);
        }
    return l->status;
}

rill_status graph_with_running_sums(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct edit e;
    struct positions ps = { 0 };
    struct looked l = { .e = &e, .ps = &ps, .scratch.owner = g->arena, .err = reterr };
    TRY(edit_begin(&e, ret, g, reterr));
    rill_status s = RILL_OK;
    for (uint32_t i = 0; s == RILL_OK && i < e.n_nodes; i++)
        s = node_look(&l, i);
    if (l.tried)
        positions_drop(&ps);
    arena_drop(&l.scratch);
    return s == RILL_OK ? edit_end(&e, reterr) : s;
}
