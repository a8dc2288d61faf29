/* SPDX-License-Identifier: MIT */
/* operands.h - what the inputs of a node of a section are: parts of scores in the making. */
#ifndef RILL_PULSE_OPERANDS_H
#define RILL_PULSE_OPERANDS_H
#include "pulse/key_window.h"

enum part {
    PART_STATIC,
    PART_PLACES, /* a function of positions with two time axes */
    PART_SCORES,
    PART_QUERIES, /* a stream along the axis of queries */
    PART_KEYS
};

struct operand {
    enum part part;
    uint32_t w,
        stream;     /* stream: what runs along one of the axes, which w may repeat along another */
    int query, key; /* axes, or AXIS_NONE */
    struct flow flow;
    struct keys keys;    /* of PART_KEYS */
    struct padded given; /* of PART_QUERIES: .is: they may be taken without what is in front of them
                            (first_queries.h) */
};

/* Input i of node n of a section. */
rill_status operand_of(const struct pulser *p, const struct node *n, unsigned i,
                       struct operand *ret);
/* All inputs, o[0..n_in). Refuses those that are not as long as the scores for every length of the
 * stream, and a softmax over no keys. */
rill_status operands_of(const struct pulser *p, const struct node *n, struct operand *o);

/* The node on inputs of s->pulse queries and s->keys keys. */
rill_status scores_op(struct pulser *p, const struct node *n, const struct stream_fact *s,
                      uint32_t *in, uint32_t *ret);
/* Whether dst wire w has as many. */
bool scores_fit(const struct pulser *p, uint32_t w, const struct stream_fact *s);
#endif
