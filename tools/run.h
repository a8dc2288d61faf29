/* SPDX-License-Identifier: MIT */
/* run.h - a model's graph on any data: what goes in, and what is compared with what comes out. */
#ifndef TOOLS_RUN_H
#define TOOLS_RUN_H
#include "check/step_model.h"
#include "engine/graph/graph.h"
#include "models/npz.h"
#include "tools/tool.h"

/* Data that was given for inputs; where nothing was, random numbers. */
struct run_inputs {
    struct arena *arena;
    struct npz given;
    const char **files; /* where each of given came from */
    uint32_t seed;
    int64_t steps;
    unsigned rate; /* of audio, Hz; 0: any */
    /* The first n_in inputs of the graph are the model's; n_cut behind them take no data; those
     * behind them are states, whose data is what they begin with. */
    uint32_t n_in, n_cut;
};

/* NAME=FILE or FILE (.npy, .npz, .pb, audio) for inputs of g, after what was read before. */
rill_status run_inputs_read(struct run_inputs *in, const struct graph *g, const char *item,
                            rill_error *reterr);

/* The shapes of what items give by name, as the files have them, which may be of no input; of audio
 * none. What is wrong with a file is told as it is read. */
rill_status run_inputs_shapes(const struct opt_list *items, struct arena *a,
                              struct step_shape **ret, uint32_t *ret_n, rill_error *reterr);

/* The tensor of input k of g at a step: an array with an axis of steps in front gives one for each.
 * Names the input where type or shape do not fit. */
rill_status run_input_at(struct run_inputs *in, const struct graph *g, uint32_t k, int64_t step,
                         struct arena *a, const struct tensor **ret, rill_error *reterr);

/* One tensor that is compared with a reference. */
struct run_compared {
    const char *name;
    const struct tensor *want; /* an axis of steps in front, where there are several */
    double most;               /* largest difference */
    bool differs;
    char where[200]; /* the first place */
};

struct run_tolerance {
    double absolute, relative;
};

/* Takes a step of got; n_steps: as many as want has in front, if more than one. */
void run_compare(struct run_compared *c, const struct tensor *got, int64_t step, int64_t n_steps,
                 const struct run_tolerance *tolerance);

/* What a wire is, and its first numbers. */
void run_wire_print(const char *name, const struct tensor *t);

/* Tells of all that have a reference, of which the first n_out are outputs, and names the first
 * that differs; g, which may be NULL, has more wires. TOOL_OK or TOOL_FAILED. */
int run_compared_print(const struct run_compared *list, uint32_t n, uint32_t n_out,
                       const struct npz *want, const struct graph *g);

/* Ops and how many of each, bodies included. */
struct run_op {
    const struct op *op;
    unsigned nodes;
};
/* What people call it. */
const char *run_op_name(const struct run_op *o);
/* Sorted by name; free it. */
struct run_op *run_ops(const struct graph *g, unsigned *ret_n);

/* What a graph is to have of ops. */
struct run_asked {
    struct opt_list op_counts; /* "OP=N" */
    const char *only_ops;      /* "A,B,.."; NULL: any */
};
/* Before there is a graph: INVALID where something is no op, or no number. */
rill_status run_asked_check(const struct run_asked *a, rill_error *reterr);
/* END: g has others, and that was told. */
rill_status run_asked_of(const struct run_asked *a, const struct graph *g);

/* What a run may keep, of an option in megabytes; 0: half of the machine's memory, or of what it
 * lets a process have. */
size_t run_memory_max(int64_t mb);
/* Of the limit of `all`, what it and `more` have not taken, and 1 where nothing is left. */
size_t run_memory_left(const struct arena *all, const struct arena *more);
/* Why a has no more. */
rill_status run_memory_out(const struct arena *a, rill_error *err);
/* s, and what helps where that is for the limit of a. */
rill_status run_memory_told(const struct arena *a, rill_status s, rill_error *err);

/* What the graph has and does, as words or JSON. last: nothing is done with its sizes after, and
 * open ones may be tried, which can leave an error in them. */
void run_audit(const struct graph *g, const char *model, bool json, bool last);
#endif
