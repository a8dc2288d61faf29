/* SPDX-License-Identifier: MIT */
/* steps.h - chains of streaming steps as one line of text: "conv k=3 s=2 l=2; add; slice from=1".
 *
 * The wire between steps is [1, C, T]; the first step gets the input. Tables are written in it,
 * random graphs are printed in it, and RILL_GRAPH takes it back. */
#ifndef TESTS_PULSE_STEPS_H
#define TESTS_PULSE_STEPS_H
#include "tests/pulse/graph_build.h"

#define STEPS_MAX 8
#define FORMS 4
#define PARAMS_MAX 8
#define PARAMS_PAST 2 /* so far past their rows do fuzzers take sizes */

struct step_param {
    const char *name;
    int least, most, otherwise;
};

struct stage {
    uint32_t wire;
    int channels;
};

struct step_kind {
    const char *name;
    struct step_param params[PARAMS_MAX];
    void (*emit)(struct gb *b, struct stage *s, const int *v);
};

struct chain_step {
    const struct step_kind *kind;
    int v[PARAMS_MAX];
};

struct chain {
    int channels, times; /* of the input: [1, channels, times * S] */
    int form; /* 0: as said; 1: [T, C]; 2: [C, T]; 3: [1, T, 1, C], and the output likewise */
    unsigned n;
    struct chain_step steps[STEPS_MAX];
    int taps; /* bit i: what step i gives is an output too */
};

extern const struct step_kind steps_window[], steps_other[], steps_state[], steps_nets[],
    steps_moves[], steps_masks[], steps_windows[],
    steps_lengths[]; /* a row without a name ends each */

/* Of all tables; NULL past the last. */
const struct step_kind *step_kind_at(unsigned i);

struct chain chain_draw(uint32_t *seed);

/* "2: conv k=3; ..." where 2 is the number of channels ("2x3@1:": of 3*S frames, form 1); false:
 * not understood. */
bool chain_parse(struct chain *c, const char *text);
int chain_print(const struct chain *c, char *buf, size_t cap);

gb_recipe chain_recipe; /* ctx: struct chain */

/* Whether it has a step of attention: a whole run multiplies the frames that a mask hides by 0 and
 * sums, and a sum of nothing may be -0 there. */
bool chain_attends(const struct chain *c);
#endif
