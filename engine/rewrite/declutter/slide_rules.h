/* SPDX-License-Identifier: MIT */
/* slide_rules.h - what the rules of slide_rules.c and slide_windows.c share. A rule fills in `way`
 * and gives NULL, or the reason why the node stays. */
#ifndef RILL_ENGINE_REWRITE_DECLUTTER_SLIDE_RULES_H
#define RILL_ENGINE_REWRITE_DECLUTTER_SLIDE_RULES_H
#include "engine/rewrite/declutter/slide.h"

struct slider {
    const struct graph *g;
    const struct node *n;
    const struct place *in;
    struct way *way;
    rill_status status;
};

#define PADDED "it is padded along the window, and the stream goes on there"
#define ENDS "pads reach so much of its window that little would be saved"
#define WHOLE "it takes all frames of the window at once"
#define SIZED "its sizes are not known"
#define OPERANDS "its other operands differ from frame to frame"
#define STRIDE "its stride does not divide the frames between windows"
#define APART "windows do not overlap behind it"
#define OTHER "it is of an op that is not known to slide"

static inline const struct fact *fact_of(const struct slider *s, unsigned i)
{
    return &s->g->wires[s->n->in[i]].fact;
}

static inline int rank_of(const struct slider *s, unsigned i)
{
    return fact_of(s, i)->rank;
}

static inline int64_t at(struct attr_ints list, int i, int64_t otherwise)
{
    return i < (int) list.n ? list.v[i] : otherwise;
}

/* Only input 0 runs along the stream. */
static inline bool first_only(const struct slider *s)
{
    for (unsigned i = 1; i < s->n->n_in; i++)
        if (s->in[i].axis >= 0)
            return false;
    return s->in[0].axis >= 0;
}

static inline const char *moved_to(struct slider *s, int axis)
{
    s->way->out = s->in[0];
    s->way->out.axis = axis;
    return NULL;
}

/* slide_windows.c: convolutions and pools. */
const char *conv_slides(struct slider *s);
const char *pool_slides(struct slider *s);
const char *byte_conv_slides(struct slider *s);
const char *byte_pool_slides(struct slider *s);
#endif
