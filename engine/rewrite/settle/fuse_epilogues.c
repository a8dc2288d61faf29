/* SPDX-License-Identifier: MIT */
/* Element-wise ops behind a convolution, a product or a cell that nobody else reads become its
 * epilogue. */
#include "engine/ops/epilogue.h"
#include "engine/graph/edit.h"
#include "engine/rewrite/settle/element.h"
#include "engine/rewrite/settle/passes.h"
#include "engine/rewrite/settle/program_build.h"

/* A step to be: node `head`, one that takes epilogues, takes in the op of the element's node. It
 * stands where the op stood, behind all that the op reads, or stays where that is a constant. */
struct step {
    uint32_t head;
    struct element element;
    unsigned own;     /* the operand that the head makes */
    unsigned other;   /* the input of the head's that is the other operand, or behind its last */
    bool takes_input; /* another wire than the head's inputs */
    bool stays;
};

static bool shape_of(const struct graph *g, uint32_t wire, struct tensor *ret)
{
    return fact_to_tensor(&g->wires[wire].fact, ret) && ret->type == DTYPE_F32;
}

/* Nobody needs its further outputs up to the node that takes its place, which included. */
static bool others_wait(const struct graph *g, uint32_t head, uint32_t node)
{
    const struct node *h = &g->nodes[head];
    for (unsigned o = 1; o < h->n_out; o++)
        for (uint32_t i = head + 1; h->out[o] != WIRE_NONE && i <= node; i++)
            for (unsigned k = 0; k < g->nodes[i].n_in; k++)
                if (g->nodes[i].in[k] == h->out[o])
                    return false;
    return true;
}

/* The other operand, among the inputs of the head's epilogue or behind them. */
static void other_find(const struct graph *g, const struct node *head, struct step *s)
{
    unsigned first = head->op->epilogue_in;
    uint32_t wire = s->element.in[1 - s->own];
    bool is_own = s->element.in[0] == s->element.in[1];
    for (s->other = first; s->other < head->n_in && head->in[s->other] != wire;)
        s->other++;
    s->takes_input = !is_own && s->other >= head->n_in;
    s->stays = is_own || g->wires[wire].fact.value;
}

/* Operand `own` of the element is made by a node with room for the step, the other one
 * is as an epilogue wants it. */
static bool operand_fits(const struct edit *e, unsigned own, struct step *s)
{
    const struct graph *g = e->g;
    const struct element *l = &s->element;
    uint32_t made = g->nodes[l->node].out[0];
    struct tensor y, other;
    s->own = own;
    if (!edit_sole_producer(e, l->in[own], &s->head) || !shape_of(g, made, &y) ||
        !fact_same(&g->wires[made].fact, &g->wires[l->in[own]].fact))
        return false;
    const struct node *head = &g->nodes[s->head];
    if (!head->op->epilogue_in || head->out[0] != l->in[own])
        return false;
    other_find(g, head, s);
    if (!s->stays && !others_wait(g, s->head, l->node))
        return false;
    int axis = epilogue_axis(head->op, y.rank);
    unsigned inputs = epilogue_inputs(head->op, head->n_in);
    if (epilogue_steps_of(head)->n == EPILOGUE_STEPS_MAX * FUSED_STEP_INTS ||
        (s->takes_input && inputs == EPILOGUE_IN_MAX))
        return false;
    return !s->takes_input ||
        (shape_of(g, l->in[1 - own], &other) && epilogue_reads(&other, &y, axis));
}

static bool step_find(const struct edit *e, uint32_t node, struct step *ret)
{
    *ret = (struct step) { 0 };
    if (!element_read(e->g, node, &ret->element))
        return false;
    return (ret->element.n_in == 2 && operand_fits(e, 1, ret)) || operand_fits(e, 0, ret);
}

/* Value 0 is the head's, `other` the other operand's. */
static void step_append(struct program_builder *p, struct attr_ints was, const struct step *s,
                        int64_t other)
{
    program_begin(p);
    program_steps_copy(p, was);
    program_step(p, s->element.function, 0, s->own ? other : 0, s->own ? 0 : other);
}

static bool step_join(struct edit *e, struct program_builder *p, const struct step *s)
{
    struct graph *g = e->g;
    const struct element *l = &s->element;
    struct node head = g->nodes[s->head];
    const uint32_t y = g->nodes[l->node].out[0], at = s->stays ? s->head : l->node;
    unsigned first = head.op->epilogue_in, n_in = head.n_in < first ? first : head.n_in;
    uint32_t *list = arena_array(g->arena, uint32_t, n_in + 1),
             *out = arena_array(g->arena, uint32_t, head.n_out);
    step_append(p, *epilogue_steps_of(&head), s, l->in[0] == l->in[1] ? 0 : 1 + s->other - first);
    if (p->no_memory || !list || !out)
        return false;
    for (unsigned i = 0; i < n_in; i++)
        list[i] = i < head.n_in ? head.in[i] : WIRE_NONE;
    list[n_in] = l->in[1 - s->own];
    g->wires[head.out[0]].node = WIRE_NONE;
    out[0] = y;
    for (unsigned o = 1; o < head.n_out; o++)
        if ((out[o] = head.out[o]) != WIRE_NONE)
            g->wires[out[o]].node = at;
    head.out = out;
    if (s->takes_input) {
        head.in = list;
        head.n_in = n_in + 1;
    }
    e->gone[l->node] = e->gone[s->head] = true;
    e->gone[at] = false;
    g->nodes[at] = head;
    g->wires[y].node = at;
    void *attr = edit_attr(e, at);
    if (attr)
        *epilogue_steps(head.op, attr) = program_steps(p);
    return attr != NULL;
}

rill_status graph_with_epilogues_fused(struct graph *ret, const struct graph *g, rill_error *reterr)
{
    struct edit e;
    struct step s;
    struct program_builder p;
    TRY(edit_begin(&e, ret, g, reterr));
    bool made = program_builder_init(&p, &e, 0);
    for (uint32_t i = 0; made && i < g->n_nodes; i++)
        made = !step_find(&e, i, &s) || step_join(&e, &p, &s);
    if (!made)
        return err_set(reterr, RILL_NOMEM, "out of memory");
    return edit_end(&e, reterr);
}
