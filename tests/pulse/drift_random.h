/* SPDX-License-Identifier: MIT */
/* drift_random.h - Loops and Ifs for gb graphs, and random graphs full of nested bodies. */
#ifndef TESTS_PULSE_DRIFT_RANDOM_H
#define TESTS_PULSE_DRIFT_RANDOM_H
#include "tests/pulse/graph_build.h"

/* Loop of (trip count, condition, states.., captures..); the node's outputs are states, then
 * stacked ones. */
struct node *drift_loop(struct gb *b, struct gb *body, const uint32_t *in, unsigned n_in,
                        unsigned n_states, unsigned n_stacked);
/* If of (condition, captures..). */
struct node *drift_if(struct gb *b, struct gb branch[2], const uint32_t *in, unsigned n_in,
                      unsigned n_out);

/* A recipe: Scans, Loops and Ifs in each other up to three deep, over axes of numbers and of time;
 * `streams`: only of kinds that stream. */
struct drift_opts {
    uint32_t seed;
    bool streams;
};
gb_recipe drift_random;
#endif
