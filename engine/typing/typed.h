/* SPDX-License-Identifier: MIT */
/* typed.h - the typed graph: types and shapes on every wire, constants folded, dead nodes gone. */
#ifndef RILL_ENGINE_TYPING_TYPED_H
#define RILL_ENGINE_TYPING_TYPED_H
#include "engine/graph/graph.h"

/* What the caller knows better than the file: a shape for an input, or its value (then the input
 * disappears and is folded). */
struct typed_input {
    const char *name;
    struct fact fact; /* value set: a constant */
};

/* What cannot be typed, or has outputs of unknown size, before data is known: nodes of m that are
 * left, and those that read what they make. */
struct typed_left {
    enum left_kind {
        LEFT_NOT,
        LEFT_ITSELF, /* all that it reads is there */
        LEFT_BEHIND  /* it reads what another one makes that is left */
    } *
        kind;                    /* one per node of m, zeroed */
    const struct tensor **value; /* one per wire of m: what it turned out to be; NULL: not known */
    uint32_t
        *outputs; /* room for the wires of m; set: those that the typed graph gives, in order */
    uint32_t n_outputs;
    struct left_why {
        struct left_why *next;
        uint32_t node;
        rill_error err;
    } * why; /* of nodes that are left themselves */
};

struct typed_opts {
    const struct typed_input *inputs;
    unsigned n_inputs;
    uint64_t fold_bytes_max; /* one folded constant may not be larger; 0: 64 MiB */
    struct fact *ret_facts;  /* one per wire of m, or NULL: what each turned out to be, also where
                              * typing failed further on (DTYPE_NONE: it was not reached) */
    struct typed_left *left; /* set: nodes are left instead of refused; outputs are those of m that
                              * are there, and what nodes that are left read */
};

/* Infers, folds, inlines Ifs whose condition is known, drops what no output needs. Everything made
 * lives in m's arena. opts may be NULL. */
rill_status tgraph_from_mgraph(struct tgraph *ret, const struct mgraph *m,
                               const struct typed_opts *opts, rill_error *reterr);
#endif
