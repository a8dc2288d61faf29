/* SPDX-License-Identifier: MIT */
#include "engine/graph/bodies.h"
#include "engine/graph/control.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FACT_TEXT 160
#define SHOWN_MAX 6

struct checker {
    const struct dim *fixed;
    struct body_reports *to;
    struct arena scratch; /* what inferring again makes */
    unsigned depth;
    rill_error *err;
};

/* One node with bodies being checked. */
struct visit {
    struct checker *c;
    const struct graph *g; /* that the node stands in */
    const struct node *n;
    const struct graph *body;
    const char *where; /* which body, for texts; "" where there is one */
    struct body_report r;
    char text[1600];
    int first_len; /* of the first drift's text */
};

__attribute__((format(printf, 2, 3))) static void drift(struct visit *v, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    size_t at = strlen(v->text), room = sizeof v->text - at;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    v->r.n_drifts++;
    int n = v->r.n_shown == SHOWN_MAX
        ? 0
        : snprintf(v->text + at, room, "%s%s%s", at ? "; " : "", v->where, text);
    if (n <= 0 || (size_t) n >= room) {
        v->text[at] = 0;
        return;
    }
    v->first_len = at ? v->first_len : n;
    v->r.n_shown++;
}

/* ---- facts ---- */

/* Nothing that both know differs. */
static bool facts_agree(const struct fact *a, const struct fact *b)
{
    if (a->type && b->type && a->type != b->type)
        return false;
    if (a->rank < 0 || b->rank < 0)
        return true;
    for (int i = 0; a->rank == b->rank && i < a->rank; i++)
        if (a->shape[i] != b->shape[i])
            return false;
    return a->rank == b->rank;
}

static bool fact_known(const struct fact *f)
{
    return f->type && f->rank >= 0;
}

static const struct fact *outer_fact(const struct visit *v, uint32_t w)
{
    static const struct fact unknown = { .rank = -1 };
    return w == WIRE_NONE ? &unknown : &v->g->wires[w].fact;
}

static const struct fact *input_fact(const struct visit *v, unsigned i)
{
    return &v->body->wires[v->body->inputs[i]].fact;
}

static const struct fact *output_fact(const struct visit *v, unsigned i)
{
    return &v->body->wires[v->body->outputs[i]].fact;
}

/* ---- slots ---- */

static void slot_check(struct visit *v, const char *slot, unsigned i, const char *kind,
                       const struct fact *outside, const struct fact *inside)
{
    char a[FACT_TEXT], b[FACT_TEXT];
    if (facts_agree(outside, inside))
        return;
    fact_print(outside, a, sizeof a);
    fact_print(inside, b, sizeof b);
    drift(v, "%s %u (%s): outside %s, in the body %s", slot, i, kind, a, b);
}

static void iterations_check(struct visit *v, const char *slot, unsigned i, const struct dim *d)
{
    char a[FACT_TEXT], b[FACT_TEXT];
    if (v->r.iterations && v->r.iterations != d) {
        dim_print(d, a, sizeof a);
        dim_print(v->r.iterations, b, sizeof b);
        drift(v, "%s %u (scanned): %s iterations, those before it have %s", slot, i, a, b);
    }
    v->r.iterations = v->r.iterations ? v->r.iterations : d;
}

/* A slot whose outer wire has the scanned axis and whose body's wire has not. */
static void scanned_check(struct visit *v, const char *slot, unsigned i, int axis,
                          const struct fact *outside, const struct fact *inside)
{
    char a[FACT_TEXT], b[FACT_TEXT];
    if (outside->rank < 0)
        return;
    fact_print(outside, a, sizeof a);
    if (axis < 0) {
        drift(v, "%s %u (scanned): outside %s has no such axis", slot, i, a);
        return;
    }
    struct fact slice = { .type = outside->type };
    for (int k = 0; k < outside->rank; k++)
        if (k != axis)
            slice.shape[slice.rank++] = outside->shape[k];
    if (!facts_agree(&slice, inside)) {
        fact_print(inside, b, sizeof b);
        drift(v, "%s %u (scanned): outside %s along axis %d, in the body %s", slot, i, a, axis, b);
    }
    iterations_check(v, slot, i, outside->shape[axis]);
}

/* State k: its start, what the body reads and writes, its last value. */
static void state_check(struct visit *v, unsigned in, unsigned body_in, unsigned k,
                        unsigned body_out)
{
    char a[FACT_TEXT], b[FACT_TEXT];
    const struct fact *from = input_fact(v, body_in), *to = output_fact(v, body_out);
    slot_check(v, "slot", in, "state", outer_fact(v, v->n->in[in]), from);
    if (!facts_agree(from, to)) {
        fact_print(from, a, sizeof a);
        fact_print(to, b, sizeof b);
        drift(v, "slot %u (state): goes into the body as %s and comes out as %s", in, a, b);
    }
    slot_check(v, "output", k, "state", outer_fact(v, v->n->out[k]), to);
}

/* The body has as many inputs and outputs as the node asks for, of which `fixed` inputs and
 * `states` outputs at least. */
static bool counts_check(struct visit *v, unsigned n_in, unsigned n_out, unsigned fixed,
                         unsigned states)
{
    if (v->body->n_inputs != n_in || n_in < fixed)
        drift(v, "inputs: %u outside, %u in the body, at least %u wanted", n_in, v->body->n_inputs,
              fixed);
    else if (v->body->n_outputs < n_out || n_out < states)
        drift(v, "outputs: %u outside, %u in the body, at least %u wanted", n_out,
              v->body->n_outputs, states);
    else
        return true;
    return false;
}

/* ---- the three ops ---- */

static void scan_check(struct visit *v)
{
    const struct node *n = v->n;
    const struct scan_attr *at = n->attr;
    unsigned states = (unsigned) at->n_states, fixed = states + (unsigned) at->n_scanned;
    v->r.n_states = states;
    v->r.n_scanned = (unsigned) at->n_scanned;
    v->r.n_captures = n->n_in > fixed ? n->n_in - fixed : 0;
    if (!counts_check(v, n->n_in, n->n_out, fixed, states))
        return;
    for (unsigned i = 0; i < states; i++)
        state_check(v, i, i, i, i);
    for (unsigned i = states; i < n->n_in; i++) {
        const struct fact *f = outer_fact(v, n->in[i]);
        if (i < fixed)
            scanned_check(v, "slot", i, scan_axis(at->in_axes, i - states, f->rank), f,
                          input_fact(v, i));
        else
            slot_check(v, "slot", i, "capture", f, input_fact(v, i));
    }
    for (unsigned i = states; i < n->n_out; i++) {
        const struct fact *f = outer_fact(v, n->out[i]);
        scanned_check(v, "output", i, scan_axis(at->out_axes, i - states, f->rank), f,
                      output_fact(v, i));
    }
}

/* Iterations of a Loop that only counts. */
static const struct dim *loop_trips(const struct visit *v)
{
    const struct tensor *t = outer_fact(v, v->n->in[0])->value;
    bool counts = t && t->type == DTYPE_I64 && tensor_count(t) == 1 && v->n->in[1] == WIRE_NONE;
    return counts ? dim_int(v->g->dims, tensor_get_i64(t, t->data, 0)) : NULL;
}

static void loop_check(struct visit *v)
{
    static const struct fact counter = { .type = DTYPE_I64 }, condition = { .type = DTYPE_BOOL };
    const struct node *n = v->n;
    const struct loop_attr *at = n->attr;
    unsigned states = (unsigned) at->n_states, fixed = 2 + states;
    v->r.n_states = states;
    v->r.n_captures = n->n_in > fixed ? n->n_in - fixed : 0;
    if (!counts_check(v, n->n_in, n->n_out + 1, fixed, 1 + states))
        return;
    v->r.iterations = loop_trips(v);
    slot_check(v, "slot", 0, "iteration", &counter, input_fact(v, 0));
    slot_check(v, "slot", 1, "condition", &condition, input_fact(v, 1));
    for (unsigned i = 0; i < states; i++)
        state_check(v, 2 + i, 2 + i, i, 1 + i);
    for (unsigned i = fixed; i < n->n_in; i++)
        slot_check(v, "slot", i, "capture", outer_fact(v, n->in[i]), input_fact(v, i));
    for (unsigned i = states; i < n->n_out; i++) {
        const struct fact *f = outer_fact(v, n->out[i]);
        scanned_check(v, "output", i, f->rank > 0 ? 0 : -1, f, output_fact(v, 1 + i));
    }
}

static void branch_check(struct visit *v)
{
    const struct node *n = v->n;
    v->r.n_captures = n->n_in - 1;
    if (!counts_check(v, n->n_in - 1, n->n_out, 0, 0))
        return;
    for (unsigned i = 1; i < n->n_in; i++)
        slot_check(v, "slot", i, "capture", outer_fact(v, n->in[i]), input_fact(v, i - 1));
    for (unsigned i = 0; i < n->n_out; i++)
        slot_check(v, "output", i, "value", outer_fact(v, n->out[i]), output_fact(v, i));
}

static void slots_check(struct visit *v)
{
    if (v->n->op == &op_scan)
        scan_check(v);
    else if (v->n->op == &op_loop)
        loop_check(v);
    else
        branch_check(v);
}

/* ---- inside of a body ---- */

static bool value_mentions(const struct tensor *t, const struct dim *symbol)
{
    for (int64_t i = 0; t && t->type == DTYPE_DIM && i < tensor_count(t); i++)
        if (dim_mentions(((const struct dim *const *) t->data)[i], symbol))
            return true;
    return false;
}

/* A wire that still speaks of a symbol that has got a number. */
static bool wire_check_fixed(struct visit *v, const struct node *n, const char *side, unsigned i,
                             uint32_t w)
{
    const struct dim *symbol = v->c->fixed;
    if (!symbol || w == WIRE_NONE)
        return true;
    const struct fact *f = &v->body->wires[w].fact;
    bool stale = value_mentions(f->value, symbol);
    for (int k = 0; k < f->rank; k++)
        stale |= dim_mentions(f->shape[k], symbol);
    if (!stale)
        return true;
    char a[FACT_TEXT], s[64];
    fact_print(f, a, sizeof a);
    dim_print(symbol, s, sizeof s);
    drift(v, "node '%.80s' (%s): %s %u: in the body %s%s, outside %s is a number", n->name,
          n->op->name, side, i, a, f->value ? " with symbols" : "", s);
    return false;
}

static bool node_check_fixed(struct visit *v, const struct node *n)
{
    bool ok = true;
    for (unsigned i = 0; ok && i < n->n_in; i++)
        ok = wire_check_fixed(v, n, "input", i, n->in[i]);
    for (unsigned i = 0; ok && i < n->n_out; i++)
        ok = wire_check_fixed(v, n, "output", i, n->out[i]);
    return ok;
}

/* Facts of all inputs; false: one is not known yet, as those of a file's floats of 16 bits, which
 * ops take once they are typed. */
static bool node_facts(const struct visit *v, const struct node *n, const struct fact **ret)
{
    for (unsigned i = 0; i < n->n_in; i++) {
        ret[i] = n->in[i] == WIRE_NONE ? NULL : &v->body->wires[n->in[i]].fact;
        if (ret[i] && (!fact_known(ret[i]) || dtype_is_half(ret[i]->type)))
            return false;
    }
    return true;
}

static rill_status node_infer(struct visit *v, const struct node *n, const struct fact *const *in,
                              struct fact *out, rill_error *err)
{
    TRY(op_check_arity_made(n, err));
    TRY(op_infer(n, in, out, v->g->dims, &v->c->scratch, err));
    return dims_status(v->g->dims, err);
}

static void node_outputs_check(struct visit *v, const struct node *n, const struct fact *made,
                               const struct fact *again)
{
    char a[FACT_TEXT], b[FACT_TEXT];
    for (unsigned i = 0; i < n->n_out; i++) {
        const struct fact *f = n->out[i] == WIRE_NONE ? NULL : &v->body->wires[n->out[i]].fact;
        if (!f || facts_agree(f, &made[i]) || !facts_agree(&made[i], &again[i]))
            continue;
        fact_print(f, a, sizeof a);
        fact_print(&made[i], b, sizeof b);
        drift(v, "node '%.80s' (%s): output %u: in the body %s, its inputs make %s", n->name,
              n->op->name, i, a, b);
    }
}

/* Inferred twice, because an op may answer with a fresh symbol, which equals nothing. */
static rill_status node_check(struct visit *v, const struct node *n)
{
    const struct fact **in = arena_array(&v->c->scratch, const struct fact *, n->n_in + 1);
    struct fact *out = arena_array(&v->c->scratch, struct fact, 2 * n->n_out + 2);
    rill_error why;
    if (!in || !out)
        return err_set(v->c->err, RILL_NOMEM, "out of memory while checking bodies");
    struct fact *again = out + n->n_out;
    if (!node_check_fixed(v, n) || !n->op->infer || !node_facts(v, n, in))
        return RILL_OK;
    rill_status s = node_infer(v, n, in, out, &why);
    s = s == RILL_OK ? node_infer(v, n, in, again, &why) : s;
    if (s == RILL_NOMEM)
        return err_set(v->c->err, RILL_NOMEM, "%s", why.text);
    if (s != RILL_OK)
        drift(v, "%s", why.text);
    else
        node_outputs_check(v, n, out, again);
    return RILL_OK;
}

static rill_status body_check(struct visit *v)
{
    slots_check(v);
    for (uint32_t i = 0; i < v->body->n_nodes; i++)
        if (!v->body->nodes[i].n_body)
            TRY(node_check(v, &v->body->nodes[i]));
    return RILL_OK;
}

/* ---- walking ---- */

static rill_status visit_end(struct visit *v)
{
    struct body_reports *to = v->c->to;
    v->r.drift = v->text;
    if (!to)
        return v->r.n_drifts
            ? op_fail(v->c->err, RILL_INTERNAL, v->n, "%.*s", v->first_len, v->text)
            : RILL_OK;
    *(v->n->op == &op_scan ? &to->n_scans : &to->n_others) += 1;
    to->n_drifting += v->r.n_drifts > 0;
    if (to->each)
        to->each(to->self, &v->r);
    return RILL_OK;
}

static rill_status graph_visit(struct checker *c, const struct graph *g);

static rill_status node_visit(struct checker *c, const struct graph *g, const struct node *n)
{
    static const char *const branches[2] = { "then: ", "else: " };
    struct visit v = { .c = c, .g = g, .n = n, .r = { .node = n, .depth = c->depth } };
    for (unsigned b = 0; b < n->n_body; b++) {
        v.body = n->body[b];
        v.where = n->op == &op_if && b < 2 ? branches[b] : "";
        TRY(body_check(&v));
    }
    TRY(visit_end(&v));
    c->depth++;
    for (unsigned b = 0; b < n->n_body; b++)
        TRY(graph_visit(c, n->body[b]));
    c->depth--;
    return RILL_OK;
}

static rill_status graph_visit(struct checker *c, const struct graph *g)
{
    for (uint32_t i = 0; i < g->n_nodes; i++)
        if (g->nodes[i].n_body)
            TRY(node_visit(c, g, &g->nodes[i]));
    return RILL_OK;
}

rill_status graph_check_bodies(const struct graph *g, const struct dim *fixed,
                               struct body_reports *to, rill_error *reterr)
{
    struct checker c = { .fixed = fixed, .to = to, .err = reterr };
    rill_status s = graph_visit(&c, g);
    arena_drop(&c.scratch);
    return s;
}
