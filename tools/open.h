/* SPDX-License-Identifier: MIT */
/* open.h - how commands open what they are given: a library model, or a bare file with
 * declarations. */
#ifndef TOOLS_OPEN_H
#define TOOLS_OPEN_H
#include "check/step_model.h"
#include "tools/tool.h"

struct open_opts {
    bool declares;                          /* the command takes those: OPEN_OPTS */
    struct opt_list shapes, consts, states; /* of bare files */
    int64_t reserve_frames;                 /* of states that grow; 0: not said */
    bool one_run;                           /* those are inputs and outputs like others */
    const struct step_shape *data;          /* of each step; they tell sizes beside states */
    uint32_t n_data;
    bool data_tells; /* of a file without states, too, what it leaves open */
    struct opt_list transforms, sets, asserts;
    const char *stream;
    int64_t threads;     /* that share steps: THREADS_OPT; 0: as model.conf says */
    const char *latency; /* "40ms", "40frames": BUDGET_OPTS; NULL: not asked for */
};

/* The same as a program gives them. */
rill_model_opts open_opts_of(const struct open_opts *o);

/* A file, or a text of NNEF, that says nothing of what its numbers mean. */
bool open_is_bare(const char *name);

/* Adds what is declared of a bare file to d. */
rill_status open_decl_add(struct step_decl *d, const struct open_opts *o, rill_error *reterr);

/* Adds the states that the names of a network's ports tell, unless o names some, and says so. */
rill_status open_find_states(struct step_decl *d, const char *path, const struct open_opts *o,
                             rill_error *reterr);

/* What can be done to any model. */
#define MODEL_OPTS(o)                                                                               \
    { "transform",     't',    OPT_LIST,                                                            \
      &(o).transforms, "SPEC", "change the model; in order (inspect --transforms lists them)" },    \
        { "set",     0,          OPT_LIST,                                                          \
          &(o).sets, "SYM=EXPR", "replace a symbol by a number or expression, before transforms" }, \
        { "assert",     0,      OPT_LIST,                                                           \
          &(o).asserts, "TEXT", "what may be assumed of symbols, as in \"S>=1\"" },                 \
    {                                                                                               \
        "stream", 0, OPT_TEXT, &(o).stream, "SYM",                                                  \
            "the symbol that counts time (default: guessed by its name)"                            \
    }

#define OPEN_OPTS(o)                                                                                  \
    {                                                                                                 \
        "shape",     0,           OPT_LIST,                                                           \
        &(o).shapes, "IN=1,S,..", "the shape of an input of a bare file; S: a symbol or expression"   \
    },                                                                                                \
        { "const", 0, OPT_LIST, &(o).consts, "IN=VALUE", "make an input of a bare file a constant" }, \
        { "state",                                                                                    \
          0,                                                                                          \
          OPT_LIST,                                                                                   \
          &(o).states,                                                                                \
          "IN:OUT",                                                                                   \
          "an output of a bare file is fed back as an input; none: nor those that names tell" },      \
        { "reserve", 0,                                                                               \
          OPT_INT,   INT_FROM_TO(&(o).reserve_frames, 1, 1 << 20),                                    \
          "N",       "frames that states which grow may have (default 1024)" },                       \
        MODEL_OPTS(o)

/* A pool of so many threads, 0: as model.conf says; NULL where one computes alone. */
rill_status open_pool(rill_pool **ret, int64_t threads, const rill_model *m, rill_error *reterr);
#define THREADS_OPT(to)                                                                            \
    {                                                                                              \
        "threads", 0, OPT_INT, INT_FROM_TO(&(to), 1, 16), "N",                                     \
            "so many threads share large steps, to the same bits (default: as model.conf says, "   \
            "or 1)"                                                                                \
    }

/* Library name, folder or file; with declarations the file is opened as a stream of steps. */
rill_status open_any(rill_model **ret, const char *name, const struct open_opts *o,
                     rill_error *reterr);

/* Adds to a refusal of `name` what a model folder says that a bare network cannot; returns the
 * refusal. */
rill_status open_bare_tell(rill_status refusal, rill_error *err, const char *name);

/* The same for what looks at the graph of the whole sequence, which a compiled plan has no more:
 * UNSUPPORTED. */
rill_status open_uncompiled(rill_model **ret, const char *name, const struct open_opts *o,
                            rill_error *reterr);

/* Refuses an input that does not run along time, or whose rate nobody states. */
rill_status open_rate_check(const rill_port *in, const char *name, rill_error *reterr);

/* Refuses audio that comes out at another rate than it goes in, as the daemon does: sample n of
 * what is written or played is sample n of the input. */
rill_status open_audio_check(const rill_port *out, const char *name, rill_error *reterr);
#endif
