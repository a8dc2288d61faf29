/* SPDX-License-Identifier: MIT */
#include "engine/plan/shares.h"
#include "engine/plan/cost.h"

/* Measured (docs/speed.md, "Threads"): a step that a helper shares costs half a microsecond more
 * where the helper looks for work, 32 where it has to be woken. In multiply-adds at full speed: */
#define SHARE_EFFORT ((uint64_t) 200000) /* a share of less is not worth handing over: 5 us */
#define RUN_EFFORT ((uint64_t) 4000000)  /* nor is waking for less in a run: 100 us */

#define SCRATCH_ALIGN_BYTES ((size_t) 64)

static size_t aligned(size_t bytes)
{
    return (bytes + SCRATCH_ALIGN_BYTES - 1) & ~(SCRATCH_ALIGN_BYTES - 1);
}

/* How many shares an effort is worth. */
static unsigned shares_most(const struct lower *l, uint64_t effort)
{
    const uint64_t n = effort / (l->share_effort ? l->share_effort : SHARE_EFFORT);
    return n < l->shares_most ? (unsigned) n : l->shares_most;
}

rill_status node_divide(struct lower *l, const struct graph *g, const struct node *n,
                        struct prep *c, struct node_step *step)
{
    if (!l->crew || g != l->top || !n->op->divide || n->n_in + n->n_out > OP_OPERANDS_DIVIDED_MAX)
        return RILL_OK;
    const uint64_t effort = cost_of_node(g, n);
    const unsigned most = shares_most(l, effort);
    if (most < 2)
        return RILL_OK;
    TRY(n->op->divide(c, most, &step->shares));
    step->crew = step->shares.n ? l->crew : NULL;
    step->scratch_step_bytes = aligned(step->shares.scratch_bytes);
    l->shared_effort += step->shares.n ? effort : 0;
    return RILL_OK;
}

size_t node_scratch_bytes(const struct prep *c, const struct node_step *step)
{
    const size_t all = step->scratch_step_bytes * step->shares.n;
    return all > c->scratch_bytes ? all : c->scratch_bytes;
}

void shares_settle(struct lower *l, const struct steps *all)
{
    const bool pays = l->shared_effort >= (l->share_effort ? 1 : RUN_EFFORT);
    for (uint32_t i = 0; i < all->n; i++) {
        if (all->s[i].run != shared_step_run)
            continue;
        l->p->n_shared_steps += pays;
        if (!pays)
            all->s[i].run = node_step_run;
    }
}

/* ---- run time ---- */

struct shared_run {
    const struct node_step *step;
    struct eval whole;
};

static void share_run(void *arg, unsigned i)
{
    const struct shared_run *r = arg;
    const struct share *s = &r->step->shares.share[i];
    const size_t *shift = s->shift_bytes;
    const void *x[OP_OPERANDS_DIVIDED_MAX];
    void *y[OP_OPERANDS_DIVIDED_MAX];
    struct eval e = r->whole;
    for (unsigned k = 0; k < e.n_in; k++)
        x[k] = e.x[k] ? (const char *) e.x[k] + shift[k] : NULL;
    for (unsigned k = 0; k < e.n_out; k++)
        y[k] = e.y[k] ? (char *) e.y[k] + shift[e.n_in + k] : NULL;
    e.x = x;
    e.y = y;
    e.args = s->args;
    e.in = s->in ? s->in : e.in;
    e.out = s->out ? s->out : e.out;
    e.scratch = (char *) e.scratch + i * r->step->scratch_step_bytes;
    e.node->op->eval(&e);
}

void shared_step_run(const struct step *s, unsigned char *mem)
{
    const struct node_step *n = s->args;
    struct shared_run r = { n, node_step_eval(n, mem) };
    const uint32_t alone = *(const uint32_t *) (const void *) (mem + n->alone_offset);
    if (alone || !crew_run(n->crew, share_run, &r, n->shares.n))
        r.whole.node->op->eval(&r.whole);
}
