/* SPDX-License-Identifier: MIT */
/* step_model.h - a bare file opened as a stream of steps, with the states and shapes the caller
 * declares. */
#ifndef RILL_CHECK_STEP_MODEL_H
#define RILL_CHECK_STEP_MODEL_H
#include "engine/base/arena.h"
#include "lib/model.h"

/* An axis is a number, or an expression of symbols where text is not NULL. stored: of data that is
 * at hand, for an input that a transform may have made; nothing where the file has none. of_steps:
 * of data that may have an axis of steps in front, which tells what the file leaves open. A symbol
 * that gets a number has it in all inputs without a shape here. */
struct step_shape {
    const char *name;
    int rank;
    int64_t dim[RANK_MAX];
    const char *text[RANK_MAX];
    bool stored, of_steps;
};
struct step_const {
    const char *name;
    double value;
};
struct step_state {
    const char *in, *out;
};

/* Symbols by their names. */
#define STEP_SYMBOLS_MAX 16
struct step_symbols {
    const char *name[STEP_SYMBOLS_MAX];
    uint32_t n;
};

struct step_decl {
    struct arena arena;
    struct step_shape *shapes;
    struct step_const *consts;
    struct step_state *states;
    uint32_t n_shapes, n_consts, n_states, cap_shapes, cap_consts, cap_states;
    const char *time;                /* axes of the file with that symbol stay; NULL: none do */
    bool found;                      /* the states, or that they grow, by step_decl_find_states */
    struct step_symbols grows, ones; /* of those: what grows, and what is 1 with it */
    int64_t reserve_frames;          /* of states that grow; 0: 1024 */
    bool one_run;                    /* what would grow from run to run is no state */
    bool looks;                      /* for states: constants of open size are not made yet */
};

/* "name=1,S,2*S", "name=16000", "in:out": adds to d; false if the text is not of that form, or
 * without memory. */
bool step_decl_shape(struct step_decl *d, const char *text);
bool step_decl_const(struct step_decl *d, const char *text);
bool step_decl_state(struct step_decl *d, const char *text);

/* The same of what is known; names are borrowed. NULL, false: no memory. */
struct step_shape *step_decl_add_shape(struct step_decl *d, const char *name);
bool step_decl_add_const(struct step_decl *d, const char *name, double value);
bool step_decl_add_state(struct step_decl *d, const char *in, const char *out);

/* Whether names tell that an output is the next value of an input. */
bool step_names_pair(const char *in, const char *out);

/* Adds the states that the file's ports tell by their names (cached_x and new_cached_x, past_x and
 * present_x, h and hn ...), where type and shape of both are the same and an input is left beside
 * them; else nothing. Symbols in shapes of such inputs do not count time: they are 1 wherever they
 * stand, unless opts set them. But where the output is longer along one axis, whose size is a
 * symbol (past_key_values.0.key [1,8,past,64] and present.0.key [1,8,past + 1,64]), the state grows
 * and that symbol stays. Where d declares states itself none are added,
 * and what grows of them is found. */
rill_status step_decl_find_states(struct step_decl *d, const char *path,
                                  const rill_model_opts *opts, rill_error *reterr);

/* Frees all that; a model that was opened with d borrows it and goes first. */
void step_decl_drop(struct step_decl *d);

/* Whether the path is a folder or an archive of NNEF, which no model.conf stands beside as far as
 * the name tells. */
bool step_model_is_text(const char *path);

/* Opens an ONNX or .tflite file, or such a text, as a model without a time axis: each run takes
 * every input whole. State outputs stay outputs as well, but those that grow; a constant whose size
 * grows with them has its value at every size. Then opts, which may be NULL, are applied. A stream
 * that they name is time, and so is a symbol of the declared shapes that is named like it. Names
 * that the file does not have are refused with the ones it has. */
rill_status step_model_open(rill_model **ret, const char *path, const struct step_decl *d,
                            const rill_model_opts *opts, rill_error *reterr);
#endif
