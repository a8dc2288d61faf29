/* SPDX-License-Identifier: MIT */
/* sections.h - wires with time on two axes, queries and keys, that depend on data.
 *
 * What lies between the ops that make such wires (products of queries and keys) and those that sum
 * over the keys is a section. All its wires have one window of keys in a run: what all sums of the
 * section see. */
#ifndef RILL_PULSE_SECTIONS_H
#define RILL_PULSE_SECTIONS_H
#include "pulse/bands.h"

#define NO_DELAY INT64_MIN

struct section {
    struct band band;
    const struct node *sums;  /* a node that sees frames without a bound; NULL: none does */
    const struct node *blind; /* it may see all frames where a query sees none; NULL: none does */
    const struct node *stuck; /* what cannot be in a section; NULL: nothing */
    int64_t delay;    /* of the first of its scores in this walk; NO_DELAY: none is made yet */
    int64_t waits[2]; /* the delays of queries and keys that those wait for */
    int64_t more[2];  /* by how much those of later scores and sums, which have to wait, are
                         more than that, as the walks before have found; or NO_DELAY */
    int64_t heads;    /* first queries that are taken apart, at most, as its scores have found */
    int64_t apart;    /* the most that were in this walk */
    bool fewer;       /* some of its scores had more of them than are left */
    bool news;        /* this walk found more of it */
    bool any;         /* something sums over its keys */
};

/* A stream that is repeated along the other time axis, and where it runs; axis -1: it is none. */
struct spread {
    uint32_t stream;
    int axis, moves; /* nodes between */
};

struct reader {
    uint32_t node;
    unsigned input;
    uint32_t next;
};

struct sections {
    uint32_t *root;        /* per wire, WIRE_NONE of others */
    int8_t *key;           /* the axis of keys; -1: not known */
    struct section *of;    /* per root */
    struct spread *spread; /* per wire */
    bool *scores;          /* per wire: it is of a section */
    bool *lazy;            /* per node: only the places of what it makes are wanted */
    uint32_t *first_reader;
    struct reader *reader; /* of all wires, each linked to the next of its wire */
};

/* Sets p->sections. p->positions, p->made, p->shifts and p->bands are set. */
rill_status sections_find(struct pulser *p);

/* The first reader of a wire, and the one behind `last`; NULL: there are no more. */
const struct reader *section_reader(const struct pulser *p, uint32_t src_wire,
                                    const struct reader *last);

/* Whether the wire is a stream with one time axis that is repeated along another, and was moved at
 * most since; that stream, and on which axis of the wire it runs. */
bool is_spread(const struct pulser *p, uint32_t src_wire, uint32_t *ret_stream, int *ret_axis);

/* The stream that wire w repeats, as it runs in a run, on the axis of w that it is repeated to,
 * which has `count` indices; the other time axis has one. *wire: that of the stream; of any other w
 * it stays. */
rill_status spread_emit(struct pulser *p, uint32_t w, int64_t count, uint32_t *wire);

/* Before each walk. */
void sections_begin(const struct pulser *p);
/* Before walks at another pulse. */
void sections_forget(const struct pulser *p);
/* Whether a section would come earlier in another walk, as all that it waits for is known now. */
bool sections_have_news(const struct pulser *p);
/* Something of it waits for queries and keys of those delays, or of one, the other being NO_DELAY,
 * and so comes later than its first scores. */
void section_waits(struct section *s, int64_t queries, int64_t keys);
/* So many first queries of it, at most, may be taken apart. */
void section_heads(struct section *s, int64_t heads);

/* The section of a wire, or of any wire of the node; NULL: none. */
struct section *section_of(const struct pulser *p, uint32_t src_wire);
struct section *section_of_node(const struct pulser *p, const struct node *n);
int section_key(const struct pulser *p, uint32_t src_wire);
int section_query(const struct pulser *p, uint32_t src_wire);

bool node_sums_products(const struct node *n); /* of matrices, of floats or bytes */

/* Whether node n sums input i, which has two time axes, along one of them: that, and what of it
 * counts. A softmax is one, too. */
bool sums_along(const struct pulser *p, const struct node *n, unsigned i, int *ret_axis,
                enum shows *ret_what);
#endif
