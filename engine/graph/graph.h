/* SPDX-License-Identifier: MIT */
/* graph.h - nodes and wires: what every stage before the plan is made of.
 *
 * Nodes stand in topological order: an input wire is a graph input, a constant, a state, or written
 * by an earlier node. Each wire is written once. Bodies (of If, Loop, Scan) are closed: what they
 * use from outside is an explicit input of the node, appended after its formal inputs in the order
 * of the body's extra inputs.
 *
 * Stages are distinct structs around one struct graph, so that an untyped graph cannot be handed to
 * the pulser: mgraph is what a file says, in a tgraph every wire has a fact, a dgraph is
 * decluttered, then comes pgraph (engine/graph/pulsed.h), and an sgraph is settled. Each is made
 * from the one before and constant afterwards. */
#ifndef RILL_ENGINE_GRAPH_GRAPH_H
#define RILL_ENGINE_GRAPH_GRAPH_H
#include "engine/base/dim.h"
#include "engine/graph/tensor.h"

#define WIRE_NONE UINT32_MAX /* an optional input that is absent, or an output nobody wants */

/* Type and shape of a wire; value where it is known before running. */
struct fact {
    enum dtype type;   /* DTYPE_NONE: not known yet */
    enum dtype number; /* of DIM, as in struct tensor; of F32: F16, BF16 where the file has that and
                        * the numbers are all of it (engine/typing/half.h) */
    int rank;          /* -1: not known yet */
    const struct dim *shape[RANK_MAX];
    const struct tensor *value; /* borrowed, lives as long as the graph */
};

/* What a file, or its format, says of a tensor that a node makes. */
struct declared {
    const char *tensor;
    uint32_t like;         /* wire whose shape it has; WIRE_NONE: not said */
    enum dtype type;       /* NONE: not said */
    int rank;              /* -1: not said */
    int64_t dim[RANK_MAX]; /* -1: not said */
    bool is_hint;          /* nothing is wrong where it turns out to be something else */
};

struct wire {
    const char *name; /* printable, unique in its graph where the file's names were */
    struct fact fact;
    uint32_t node;                   /* producer; WIRE_NONE for inputs, constants and states */
    const struct declared *declared; /* in an mgraph; NULL: nothing */
};

struct op;
struct graph;

struct node {
    const char *name;   /* for messages: the file's node name, or the first output's name */
    const char *origin; /* for messages: what of the file it is part of; NULL: its name says it */
    const char
        *claim; /* the same: what it checks of the data, said where that fails; NULL: nothing */
    const struct op *op;
    const void *attr;   /* the op's own attribute struct, parsed */
    uint32_t *in, *out; /* wires */
    unsigned n_in, n_out;
    struct graph **body; /* subgraphs: If {then, else}, Loop {body}, Scan {body} */
    unsigned n_body;
};

/* A value carried from one run to the next, declared (never guessed). */
struct state {
    const char *name;
    uint32_t in, out;          /* wires: read at the start of a run, read back at its end */
    const struct tensor *init; /* NULL: zeros */
};

struct graph {
    struct arena *arena; /* owns everything below; shared with bodies */
    struct dims *dims;
    const char *name;
    struct wire *wires;
    struct node *nodes;
    uint32_t *inputs, *outputs; /* wires; an output may be an input or a constant */
    struct state *states;
    uint32_t n_wires, n_nodes, n_inputs, n_outputs, n_states;
    uint32_t cap_wires, cap_nodes, cap_inputs, cap_outputs, cap_states;
    struct {
        const char *key, *value;
    } * meta; /* metadata of the file, for people and conventions */
    uint32_t n_meta;
};

struct mgraph {
    struct graph g;
}; /* as the file says; facts of inputs and constants at least */
struct tgraph {
    struct graph g;
}; /* every wire has a type and a shape; constants folded; no dead nodes */
struct dgraph {
    struct graph g;
}; /* decluttered: typed, rewritten by shapes and constants, the same for every pulse */
struct sgraph {
    struct graph g;
}; /* settled: pulsed, sizes known, ready to be planned */

/* All builders return WIRE_NONE or NULL when the arena is full; callers report RILL_NOMEM. */
void graph_init(struct graph *g, struct arena *a, struct dims *ds, const char *name);
/* of an empty graph: room for so many */
bool graph_reserve(struct graph *g, uint32_t n_wires, uint32_t n_nodes);
/* fact may be NULL */
uint32_t graph_add_wire(struct graph *g, const char *name, const struct fact *fact);
uint32_t graph_add_input(struct graph *g, const char *name, const struct fact *fact);
/* WIRE_NONE, too, where there was no memory for the name or the value: NULL. */
uint32_t graph_add_const(struct graph *g, const char *name, const struct tensor *value);
/* A name for the wire that is added next, from its node's. NULL: no memory */
const char *graph_name_next(const struct graph *g, const char *node);
bool graph_add_output(struct graph *g, uint32_t wire);
bool graph_add_state(struct graph *g, const char *name, uint32_t in, uint32_t out,
                     const struct tensor *init);

/* Copies the two wire lists. attr must live as long as the graph. Body pointers are set by the
 * caller. */
struct node *graph_add_node(struct graph *g, const struct op *op, const char *name,
                            const void *attr, const uint32_t *in, unsigned n_in,
                            const uint32_t *out, unsigned n_out);
/* A node of n's op, name, attributes, bodies and number of outputs, on wires of g. */
struct node *graph_copy_node(struct graph *g, const struct node *n, const uint32_t *in,
                             unsigned n_in, const uint32_t *out);

/* The node that makes a wire; NULL: none does, or it is WIRE_NONE. */
const struct node *graph_producer(const struct graph *g, uint32_t wire);

/* Finds a wire by name; WIRE_NONE if there is none. Linear. */
uint32_t graph_find_wire(const struct graph *g, const char *name);
/* What the file says of a wire: what it leaves open is not known, nor is all of one that it does
 * not speak of. */
struct fact graph_declared(const struct graph *g, uint32_t wire);

/* Whether w is an output, or what a state becomes. Linear. */
bool graph_wire_is_given(const struct graph *g, uint32_t w);
/* Whether a node, an output or a state of g reads w. Linear. */
bool graph_wire_is_read(const struct graph *g, uint32_t w);

/* Checks the order and index rules above; INTERNAL with the node's name where one is broken. */
rill_status graph_check(const struct graph *g, rill_error *reterr);

unsigned graph_count_nodes(const struct graph *g); /* with those of bodies */

/* A copy of g in its arena to work on: wires keep their numbers, lists may be written to. */
rill_status graph_copied(struct graph *ret, const struct graph *g, rill_error *reterr);

/* Puts nodes of g that stand in any order into one where producers come before consumers; INVALID
 * with a wire's name where a wire depends on itself. Changes g. */
rill_status graph_sort(struct graph *g, rill_error *reterr);

void fact_of_tensor(struct fact *f, struct dims *ds, const struct tensor *t); /* with value = t */
/* DIM without symbols as the numbers it stands for, any other tensor as it is; NULL: no memory. */
const struct tensor *tensor_resolved(struct arena *a, const struct tensor *t);
bool fact_is_single(const struct fact *f); /* a scalar, or a list of one */
bool fact_is_static(const struct fact *f); /* type and every dimension are known integers */
/* description (no data); false unless static */
bool fact_to_tensor(const struct fact *f, struct tensor *ret);
/* The same of a wire that nothing made, as the file declares it: open axes have no places. */
bool wire_to_tensor(const struct wire *w, struct tensor *ret);
int fact_print(const struct fact *f, char *buf, size_t cap); /* "f32[1,257,S]" */
/* A slice of an axis, and what stacks d of them along it; values are not kept. */
struct fact fact_without_axis(const struct fact *f, int axis);
struct fact fact_with_axis(const struct fact *f, int axis, const struct dim *d);
bool fact_same(const struct fact *a, const struct fact *b); /* type, rank and shape */
enum dtype fact_number(const struct fact *f);               /* its type once no symbol is left */
#endif
