/* SPDX-License-Identifier: MIT */
#include "pulse/settled.h"
#include "pulse/bands.h"
#include "pulse/byte_scores.h"
#include "pulse/tracks.h"

/* Whether n lets weights through at keys outside the sequence that may be no numbers: of a query
 * that sees no key of the sequence, of which the whole run hides all. Where it lets those of the
 * query's own frame through, the whole run has none either. */
static bool lets_none_through(const struct pulser *p, const struct node *n, const struct operand *o,
                              const struct stream_fact *s)
{
    const struct node *by = node_is(n, OP_WHERE) ? graph_producer(p->src, n->in[0]) : NULL;
    bool lets = false;
    if (!s->weights || !node_is(n, OP_WHERE) || (by && node_is(by, OP_ISNAN)))
        return false;
    const int query = track_in(p, n, 0, s->axis), key = track_in(p, n, 0, s->key_axis);
    for (unsigned i = 1; i < 3; i++)
        lets |= o[i].part == PART_SCORES && o[i].flow.sf.weights &&
            !band_diagonal(p, n->in[0], i == 1 ? SHOWS_TRUE : SHOWS_FALSE, query, key);
    return lets;
}

bool wire_hides(const struct pulser *p, uint32_t w, double *ret_zero)
{
    *ret_zero = 0;
    return dtype_is_float(pulser_fact(p, w)->type) || bytes_quantiser(p, w, ret_zero);
}

bool operands_settled(const struct pulser *p, const struct node *n, const struct operand *o,
                      const struct stream_fact *s)
{
    static const enum op_id weigh[] = { OP_SOFTMAX, OP_EXP, OP_SIGMOID };
    bool turns = node_is_among(n, weigh, sizeof weigh / sizeof *weigh), settled = false,
         open = false;
    double zero;
    for (unsigned i = 0; i < n->n_in; i++) {
        if (o[i].part != PART_SCORES || !wire_hides(p, o[i].w, &zero))
            continue;
        bool is = s->weights ? o[i].flow.sf.weights || (turns && o[i].flow.sf.masked)
                             : o[i].flow.sf.masked;
        settled |= is;
        open |= !is;
    }
    return settled && !open && !lets_none_through(p, n, o, s);
}
