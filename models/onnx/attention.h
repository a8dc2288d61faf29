/* SPDX-License-Identifier: MIT */
/* attention.h - attention written out, for the ops of every domain that have it. */
#ifndef RILL_MODELS_ONNX_ATTENTION_H
#define RILL_MODELS_ONNX_ATTENTION_H
#include "models/onnx/internal.h"

/* Which scores are an output, too. */
enum attention_scores { SCORES_RAW, SCORES_CAPPED, SCORES_MASKED, SCORES_SOFTMAX };

/* All of q, k and v are [batch, heads, frames, width], k and v with what was cached; heads of k and
 * v serve as many of q each. */
struct attention {
    uint32_t q, k, v;
    uint32_t bias;    /* added to the scores; WIRE_NONE: nothing is */
    uint32_t allowed; /* bool, of the scores; WIRE_NONE: all are */
    uint32_t before;  /* frames in front of the first of q: i64 [1], or [batch,1,1,1] */
    bool rows_empty;  /* a frame of q may see none of k; what it gives is 0 then */
    bool causal;
    int64_t left, right; /* frames of k that are seen beside that of q; -1: no bound */
    float scale;         /* 0: one over the root of the width */
    bool scaled_once;    /* scores are; else q and k are by its root, as the standard has it */
    float softcap;       /* 0: none */
    uint32_t sink;       /* a score of each head, [heads], beside those of keys; WIRE_NONE: none */
    int64_t precision;   /* element type of the softmax, as the format numbers it; 0: that of q */
    enum attention_scores shown;
    bool joined; /* what comes out is [batch, frames, heads * width] */
};

/* Everything absent or 0. */
struct attention attention_none(void);

/* [batch, frames, heads * width], which it holds to, -> [batch, heads, frames, width]. */
uint32_t attention_heads(struct emitter *e, uint32_t x, int64_t heads);
/* x with so much behind it along its last axis that it is as long as k has frames. */
uint32_t attention_padded(struct emitter *e, uint32_t x, uint32_t k, uint32_t behind);
/* Adds what the distance of frames allows. */
void attention_window(struct emitter *e, struct attention *a);
/* Outputs 0 (y) and 3 (scores), the last to be emitted. */
void attention_put(struct emitter *e, const struct attention *a);

/* For forms of the domain com.microsoft: an attribute that asks for what is not here is refused,
 * and so are inputs from first to end - 1, but one. */
rill_status attention_attrs_absent(struct conversion *l, const char *const *name, unsigned n);
rill_status attention_inputs_absent(const struct conversion *l, unsigned first, unsigned end,
                                    unsigned but);

/* Turns pairs of numbers of x by angles [.., width / 2], which broadcast to halves of x. woven:
 * pairs are neighbours, not halves (RoFormer, Su et al. 2021); x has rank 4 then. */
uint32_t rotary_put(struct emitter *e, uint32_t x, uint32_t cosine, uint32_t sine, bool woven);
/* Both inputs hold as many angles a frame, as far as the file says. */
rill_status rotary_caches_check(const struct conversion *l, unsigned cosine, unsigned sine);
/* Turns the first width numbers of the last axis and leaves those behind them; 0: turns all. */
uint32_t rotary_part_put(struct emitter *e, uint32_t x, uint32_t cosine, uint32_t sine, bool woven,
                         int64_t width);
/* From first on, every step-th number of the last axis, up to end. */
uint32_t last_sliced(struct emitter *e, uint32_t x, int64_t first, int64_t end, int64_t step);
#endif
