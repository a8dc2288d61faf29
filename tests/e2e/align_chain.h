/* SPDX-License-Identifier: MIT */
/* align_chain.h - random chains of elements that move, pad, cut, frame or hold back samples and
 * change none, as NNEF text and as a whole-sequence program of its own that says what comes out,
 * which sample each frame stands for, and what it has to wait for. */
#ifndef TEST_E2E_ALIGN_CHAIN_H
#define TEST_E2E_ALIGN_CHAIN_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define UNIT 720                  /* a sample of the input, in which times are counted */
#define AT_END (INT64_C(1) << 40) /* waits for the input's end */
#define SYMBOL_SAMPLES 4          /* of a chain whose input is that many times its symbol */

enum element_kind {
    ELEMENT_CONV,   /* size: one-hot at `place`; before and after: its own pads */
    ELEMENT_PAD,    /* before, after, mode */
    ELEMENT_SLICE,  /* before, after */
    ELEMENT_ZEROS,  /* before: put in front by a concat */
    ELEMENT_DOWN,   /* size: so many samples become channels of one frame */
    ELEMENT_UP,     /* the opposite */
    ELEMENT_FRAMES, /* size, hop, before, mode of the end; then overlapped and added */
    ELEMENT_KEEP,   /* one sample of `size` */
    ELEMENT_REPEAT  /* each sample `size` times */
};

struct element {
    enum element_kind kind;
    int size, hop, place, before, after, mode;
};

#define ELEMENTS_MAX 48

struct chain {
    struct element element[ELEMENTS_MAX];
    int n;
    bool of_symbol;    /* the input is SYMBOL_SAMPLES long for one of its symbol */
    bool level;        /* so far as long as the input, or as its rate was at first */
    int least_samples; /* shorter inputs are no case: something would be cut away whole */
};

/* Where a wire lies that an equally long one lies beside. */
struct anchor {
    int64_t length_id, more, hop, origin;
    bool is_set;
};

/* A wire of a whole sequence: n frames of c channels. Times in UNITs. */
struct wave {
    float *y;
    int64_t *need;             /* last input sample that a frame hangs on, -1, or AT_END */
    int64_t n, c, hop, origin; /* frame k stands for origin + k * hop */
    int64_t length_id, more;   /* symbolic length: what it is `more` than, times the hop */
    int64_t before, after;     /* pads that no window has reached over */
    struct anchor root, rate;
};

void chain_seed(uint32_t seed);
uint32_t chain_random(uint32_t n); /* 0..n-1 */

/* other_rate: it ends in frames that are faster or slower than the input. */
void chain_make(struct chain *ch, bool other_rate);
void chain_print(const struct chain *ch, FILE *f); /* a line for people */

/* graph.nnef. apart: an op between any two elements, so that none is taken into another. */
void chain_text(const struct chain *ch, bool apart, FILE *f);

struct wave chain_run(const struct chain *ch, const float *x, int64_t n);
void wave_free(struct wave *w);

/* Frames that an aligned output has, and the k-th of them; k may be negative. */
int64_t wave_frames(const struct wave *w, int64_t n_samples);
float wave_aligned(const struct wave *w, int64_t k);
#endif
