/* SPDX-License-Identifier: MIT */
/* One plan on many blocks. Only steps that gain by it take all blocks at once: between them each
 * block runs alone, so that what one step wrote is still in the nearest cache when the next one
 * reads it. */
#include "engine/plan/steps.h"

void node_step_run_many(const struct step *s, unsigned char *const *mem, unsigned n)
{
    const struct node_step *node = s->args;
    struct eval e[OP_MANY_MAX];
    for (unsigned i = 0; i < n; i++)
        e[i] = node_step_eval(node, mem[i]);
    e[0].node->op->eval_many(e, n);
}

static const struct step *steps_alone(const struct step *s, const struct step *end,
                                      unsigned char *mem)
{
    for (; s != end && !s->run_many; s++)
        s->run(s, mem);
    return s;
}

/* n > 0 blocks. */
static void blocks_run(const struct plan *p, unsigned char *const *mem, unsigned n)
{
    const struct step *s = p->steps, *end = s + p->n_steps;
    for (unsigned i = 0; i < n; i++)
        plan_bind(p, mem[i]);
    while (s != end) {
        const struct step *next = steps_alone(s, end, mem[0]);
        for (unsigned i = 1; i < n; i++)
            steps_alone(s, end, mem[i]);
        if (next != end) {
            next->run_many(next, mem, n);
            next++;
        }
        s = next;
    }
}

/* More share no more: rows of eight fill the tiles of products and the vectors of cells, and what
 * they all keep between such steps has to stay near. */
#define BLOCKS_AT_ONCE 8

void plan_run_many(const struct plan *p, unsigned char *const *mem, unsigned n)
{
    for (unsigned now; n; n -= now, mem += now) {
        now = n < BLOCKS_AT_ONCE ? n : BLOCKS_AT_ONCE;
        blocks_run(p, mem, now);
    }
}
