/* SPDX-License-Identifier: MIT */
/* running_sum.h - what a sum over keys is found to be made of (running.c), and the Scan that is put
 * in its stead (running_scan.c). */
#ifndef RILL_PULSE_RUNNING_SUM_H
#define RILL_PULSE_RUNNING_SUM_H
#include "engine/graph/edit.h"
#include "pulse/positions.h"

#include <string.h>

#define FACTORS_MAX 8 /* of weights, between their product and the sum */
#define LABELS (RANK_MAX + 1)

struct looked {
    struct edit *e;
    struct positions *ps; /* found once they are wanted */
    bool any, tried;
    bool found;         /* there are positions */
    rill_status status; /* of looking for them, where there was no memory */
    struct arena scratch;
    rill_error *err;
};

/* What the sum over keys that node `at` is is made of. Labels: a letter for each axis. */
struct sum {
    uint32_t at;
    unsigned weights;      /* the input of that node */
    uint32_t w, product;   /* WIRE_NONE: the weights are those of positions alone */
    int query, key;        /* axes of w */
    struct attr_ints perm; /* by which a Transpose turns w in front of the sum; none: as it is */
    uint32_t times[FACTORS_MAX], over[FACTORS_MAX];
    unsigned n_times, n_over;
    unsigned turned_times, turned_over; /* the first of them, which lie behind that Transpose */
    const struct tensor *decay[FACTORS_MAX]; /* factors of the state in each step */
    unsigned n_decays;
    bool causal, strict; /* keys up to that of the query's frame; only those before it */
    char q[LABELS], k[LABELS], v[LABELS], y[LABELS], state[LABELS];
    uint32_t in_q, in_k, in_v;
    const struct dim *size[128]; /* by label */
    int stack;                   /* the axis of frames in what comes out */
    bool keeps_key;              /* as an axis of one element */
};

static inline const struct fact *fact_at(const struct looked *l, uint32_t w)
{
    return &l->e->g->wires[w].fact;
}

static inline char label_of(int axis)
{
    return (char) ('a' + axis);
}

static inline void label_drop(char *labels, char label)
{
    char *at = strchr(labels, label);
    if (at)
        memmove(at, at + 1, strlen(at));
}

static inline bool is_number(const struct looked *l, uint32_t w)
{
    const struct tensor *v = fact_at(l, w)->value;
    return v && tensor_count(v) == 1;
}

/* The axis of w that axis k of what the sum reads is. */
static inline int axis_turned(const struct sum *s, int k)
{
    return s->perm.n ? (int) s->perm.v[k] : k;
}

/* Puts the sum as a Scan in the stead of its node. */
rill_status running_sum_put(struct looked *l, struct sum *s);
#endif
