/* SPDX-License-Identifier: MIT */
/* step_model.h - a bare file opened as a stream of steps, with the states and shapes the caller
 * declares. */
#ifndef RILL_CHECK_STEP_MODEL_H
#define RILL_CHECK_STEP_MODEL_H
#include "lib/model.h"

/* An axis is a number, or an expression of symbols where text is not NULL. stored: of data that is
 * at hand, for an input that a transform may have made; nothing where the file has none. */
struct step_shape {
    const char *name;
    int rank;
    int64_t dim[RANK_MAX];
    const char *text[RANK_MAX];
    bool stored;
};
struct step_const {
    const char *name;
    double value;
};
struct step_state {
    const char *in, *out;
};

#define STEP_LIST_MAX 32

struct step_decl {
    struct step_shape shapes[STEP_LIST_MAX];
    struct step_const consts[STEP_LIST_MAX];
    struct step_state states[STEP_LIST_MAX];
    unsigned n_shapes, n_consts, n_states;
    const char *time; /* axes of the file with that symbol stay; NULL: none do */
    char *owned[(2 + RANK_MAX) * STEP_LIST_MAX]; /* what step_decl_* cut out of texts */
    unsigned n_owned;
};

/* "name=1,S,2*S", "name=16000", "in:out": adds to d; false if the text is not of that form. Borrows
 * text. */
bool step_decl_shape(struct step_decl *d, const char *text);
bool step_decl_const(struct step_decl *d, const char *text);
bool step_decl_state(struct step_decl *d, const char *text);

/* Frees what those took; a model that was opened with d borrows it and goes first. */
void step_decl_drop(struct step_decl *d);

/* Opens an ONNX or .tflite file as a model without a time axis: each run takes every input whole.
 * State outputs stay outputs as well. Then opts are applied. A stream that they name is time, and
 * so is a symbol of the declared shapes that is named like it. Names that the file does not have
 * are refused with the ones it has. */
rill_status step_model_open(rill_model **ret, const char *path, const struct step_decl *d,
                            const rill_model_opts *opts, rill_error *reterr);
#endif
