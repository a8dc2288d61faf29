/* SPDX-License-Identifier: MIT */
/* if_parts.h - Ifs whose condition is an input of one value a run, and what their branches are made
 * of. Recipes (graph_build.h) take the struct that each names as ctx. */
#ifndef RILL_TESTS_PULSE_IF_PARTS_H
#define RILL_TESTS_PULSE_IF_PARTS_H
#include "tests/pulse/oracle.h"
#include "tests/pulse/steps.h"

#define CHANNELS 2

struct branches {
    struct chain chain[2];
};

/* What the branch gives of x, alone or within an If by `gate`. ctx: struct branches. */
void branches_recipe(struct gb *b, const void *ctx);

/* Where the first frame is taken that one branch takes off, the other one convolves: of its input
 * or of what it makes of it, in the branch; there, where a cell begins with it; outside; or by the
 * If, of either, for what is behind. */
enum first_where { OF_INPUT, OF_MADE, BEGINS, OUTSIDE, RESULT };

struct first_taken {
    const char *name;
    int branch;
    enum first_where where;
};

/* Its output, of the captures. */
typedef uint32_t branch_of(struct gb *b, const uint32_t *in, const void *ctx, int branch);
/* Puts the outputs of a branch. */
typedef void branch_put(struct gb *b, const uint32_t *in, const void *ctx, int branch);

/* x [1, CHANNELS, time]; whether the gate is above 0; a convolution of 3 taps. */
uint32_t time_input(struct gb *b);
uint32_t gate_on(struct gb *b);
uint32_t convolved(struct gb *b, uint32_t x, const char *pads);

/* An If of two bodies of captures, x the first of them; each puts n_out outputs. */
void chosen_put(struct gb *b, uint32_t on, branch_put *put, const void *ctx,
                const uint32_t *captures, unsigned n_captures, uint32_t *out, unsigned n_out);
/* The one of one output; chosen: by gate_on. */
uint32_t chosen_by(struct gb *b, uint32_t on, branch_of *branch, const void *ctx,
                   const uint32_t *captures, unsigned n_captures);
uint32_t chosen(struct gb *b, branch_of *branch, const void *ctx, const uint32_t *captures,
                unsigned n_captures);

/* All of them; ctx: one of them. */
#define FIRST_TAKEN 10
extern const struct first_taken first_taken[FIRST_TAKEN];
void first_recipe(struct gb *b, const void *ctx);

struct attended {
    const char *name;
    int64_t left, right, first, tokens; /* what a query sees; tokens stand in front of the keys */
    bool nested;
    float hidden; /* the scores of what it does not see; 0: -1e9 */
    bool chosen;  /* it sees its own key, and of the others some, by their numbers */
    bool sloped;  /* scores fall with the distance */
};

uint32_t attention(struct gb *b, const struct attended *t, uint32_t x);
/* Attention, or the input negated. ctx: struct attended. */
uint32_t attended_branch(struct gb *b, const uint32_t *in, const void *ctx, int branch);
void attended_recipe(struct gb *b, const void *ctx);
#endif
